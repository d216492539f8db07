//! From a stream's manifest and rows to its measurement document. Nothing else goes in, so that the document can
//! be made again from a run folder at any time.

use std::borrow::Cow;

use crate::limits::Limit;
use happened::{causes, in_place, mark_instrument_drops};
use rejected::ResponderStampFaults;
use romer_clock::skew::for_calibration;
use romer_clock::steps::undo_steps;
use romer_metrics::findings::LOOKED_AT;
use romer_metrics::{INTERVAL_METHOD, Markings};
use romer_record::document::{CalibrationPhase, Damage, DelayKind, MEASUREMENT, Measurement, ProbeDirection};
use romer_record::event::{Event, EventKind, EventLocation};
use romer_record::manifest::{ClockRelation, EarlyEnd, SkewRequest, Stream};
use romer_record::warning::{EarlyArrivals, MeasurementWarning};
use romer_record::{OneWaySingleton, RoundTrip};
use romer_singletons::calibration::apply;
use romer_singletons::causes::Causes;
use romer_singletons::dropped::{Dropped, is_of_queue, withdraw_dropped};
use romer_singletons::{
    CardEvidence, Corrected, Fractions, LocationDifferences, LocationSeries, LocationThinning,
    RejectedStamps, Relating, ResponderLog, Selection, StampCheck, StreamSingletons, Tallies,
    correct_clocks_by, withdraw_unsent,
};
use romer_units::{Dscp, Duration, Ecn, saturating_sum};
use standstill::{Standstill, late_departures};
pub(crate) use under_way::known;
use under_way::mark_in_flight;
use without_delay::without_delay;

pub(crate) use carried::Unread;
use coarse::Units;
use figures::StreamFigures;
use phases::Phases;
pub(crate) use steps_seen::with_steps;
pub(crate) use workers::Workers;

mod cards;
mod carried;
mod coarse;
mod figures;
mod happened;
mod not_logged;
mod numbers;
mod phases;
mod queued;
#[cfg(test)]
mod reflector_tests;
mod rejected;
mod small;
pub(crate) mod stamps;
mod standstill;
mod steps_seen;
#[cfg(test)]
mod synchronised_tests;
mod under_way;
mod unheard;
mod without_delay;
mod workers;

/// Points that are kept of each series of stamp differences.
const LOCATION_POINTS: usize = 1_000;

/// A stream's singletons by direction, as the charts of a report want them, with its document.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The document.
    pub measurement: Measurement,
    /// The singletons behind it.
    pub related: StreamSingletons,
    /// The stamps that were chosen.
    pub selection: Selection,
    /// How far the program's stamps lie from the kernel's, over time.
    pub location: LocationSeries,
    /// The causes of its losses.
    pub causes: Causes,
}

impl Evaluated {
    /// As a report takes it: what it draws is of the packets that the document's figures are of.
    pub fn for_report(&self) -> romer_report::Stream<'_> {
        let calibration = self.measurement.calibration_phase.as_ref().map_or(0, |phase| phase.packets);
        let related = &self.related;
        let all = [&related.round_trip, &related.forward, &related.reverse];
        let [round_trip, forward, reverse] =
            all.map(|singletons| &singletons[for_calibration(singletons, calibration).len()..]);
        let first = |singletons: &[OneWaySingleton]| singletons.iter().filter_map(|one| one.departure).min();
        let of_one = all.into_iter().zip([round_trip, forward, reverse]).find(|(all, _)| !all.is_empty());
        let begins = of_one.and_then(|(all, measured)| Some((first(measured)? - first(all)?).as_nanos()));
        romer_report::Stream {
            measurement: &self.measurement,
            singletons: Some(romer_report::Singletons {
                begins_ns: begins.unwrap_or(0),
                forward,
                reverse,
                round_trip,
                corrections: [&self.related.corrections[0], &self.related.corrections[1]],
                location: &self.location,
            }),
        }
    }
}

/// Computes the document of `stream` from its `rows`, which are in order of sequence and copy. `killed` says that the
/// run's program did not live to its end.
pub fn evaluate(stream: &Stream, rows: &[RoundTrip], killed: bool) -> Evaluated {
    concluded(stream, gathered(stream, rows), killed, |related| corrected(stream, related))
}

/// Removes the clocks' error from the delays.
fn corrected(stream: &Stream, related: StreamSingletons) -> Corrected {
    let workers = Workers::for_singletons(related.forward.len().max(related.reverse.len()));
    let synchronisation = stream.skew.synchronisation.map(|stated| stated.after(&stream.events));
    let request = SkewRequest { synchronisation, ..stream.skew.clone() };
    correct_clocks_by(related, &request, &workers)
}

/// What rows say that are all at hand.
fn gathered(stream: &Stream, rows: &[RoundTrip]) -> Accumulated {
    let Undisturbed { rows, left_out, dropped } = not_stall_affected(stream, rows);
    let mut tallies = Tallies::default();
    tallies.take(&rows);
    let selection = tallies.choose(stream.stamp_request, stream.responder_log);
    let mut pass = Pass::new(stream, selection, rows.len());
    pass.take(&rows);
    Accumulated { left_out, dropped, ..pass.finish() }
}

/// Rows that can be had in parts more than once; those of one packet come together, in order of sequence and copy.
pub(crate) trait Rows: Sized {
    /// How many there are, about.
    fn number(&self) -> usize;

    /// Gives all of them.
    fn go_through(&self, take: &mut dyn FnMut(&[RoundTrip]));

    /// Gives all of them for the last time.
    fn finally_go_through(self, take: &mut dyn FnMut(&[RoundTrip]));
}

impl<R: Rows> Rows for &R {
    fn number(&self) -> usize {
        R::number(self)
    }

    fn go_through(&self, take: &mut dyn FnMut(&[RoundTrip])) {
        R::go_through(self, take);
    }

    fn finally_go_through(self, take: &mut dyn FnMut(&[RoundTrip])) {
        R::go_through(self, take);
    }
}

/// What such rows say.
pub(crate) fn gather(stream: &Stream, rows: impl Rows) -> Accumulated {
    let number = rows.number();
    if is_stall_affected(stream) {
        let mut all = Vec::with_capacity(number);
        rows.finally_go_through(&mut |part| all.extend_from_slice(part));
        return gathered(stream, &all);
    }
    let mut tallies = Tallies::default();
    rows.go_through(&mut |part| tallies.take(part));
    let selection = tallies.choose(stream.stamp_request, stream.responder_log);
    let mut pass = Pass::new(stream, selection, number);
    rows.finally_go_through(&mut |part| pass.take(part));
    pass.finish()
}

impl Accumulated {
    /// What contradicts one clock for both ends.
    pub(crate) fn contradicts_one_clock(&self) -> Option<EarlyArrivals> {
        self.related.contradicts_one_clock()
    }

    /// The way there, with the clocks' error in it.
    pub(crate) fn into_forward(self) -> Vec<OneWaySingleton> {
        self.related.forward
    }

    /// Both ways, with the clocks' error in them.
    pub(crate) fn into_ways(self) -> [Vec<OneWaySingleton>; 2] {
        [self.related.forward, self.related.reverse]
    }

    /// With the packets of which it is told that a host dropped them unread.
    pub(crate) fn with_unread(self, unread: Unread) -> Self {
        Self { unread, ..self }
    }

    /// The document, where `clocks` removes the clocks' error from the delays.
    pub(crate) fn conclude(
        self,
        stream: &Stream,
        clocks: impl FnOnce(StreamSingletons) -> Corrected,
    ) -> Evaluated {
        concluded(stream, self, false, clocks)
    }
}

/// The rows of a stream that come in parts: which stamps are to be chosen is known at the end only, but the first part
/// nearly always tells, and the rest is gone through as if it had.
pub(crate) struct Sweep<'a> {
    stream: &'a Stream,
    rows: usize,
    tallies: Tallies,
    chosen: Option<Selection>,
    way: EvaluationMode,
}

/// What a pass over a stream's rows gives.
pub(crate) enum Swept {
    /// The document.
    Evaluated(Box<Evaluated>),
    /// The choice of stamps by all rows, where it is another than that by the first part: a second pass has to be told it.
    Choice(Selection),
}

enum EvaluationMode {
    /// No part has come.
    Nothing,
    /// A clock was set, or a link went down: that takes all rows at once.
    Kept(Vec<RoundTrip>),
    Passing(Box<Pass>),
}

impl<'a> Sweep<'a> {
    /// For `rows` rows. `chosen` are the stamps to be chosen, where it is known.
    pub(crate) fn new(stream: &'a Stream, rows: usize, chosen: Option<Selection>) -> Self {
        let way = if is_stall_affected(stream) {
            EvaluationMode::Kept(Vec::with_capacity(rows))
        } else {
            EvaluationMode::Nothing
        };
        Self { stream, rows, tallies: Tallies::default(), chosen, way }
    }

    /// The next rows, in order of sequence and copy; those of a probe come together.
    pub(crate) fn take(&mut self, rows: &[RoundTrip]) {
        if let EvaluationMode::Kept(kept) = &mut self.way {
            kept.extend_from_slice(rows);
            return;
        }
        self.tallies.take(rows);
        if let EvaluationMode::Nothing = self.way {
            let likely = self.chosen.unwrap_or_else(|| self.choice());
            self.way = EvaluationMode::Passing(Box::new(Pass::new(self.stream, likely, self.rows)));
        }
        if let EvaluationMode::Passing(pass) = &mut self.way {
            pass.take(rows);
        }
    }

    fn choice(&self) -> Selection {
        self.tallies.choose(self.stream.stamp_request, self.stream.responder_log)
    }

    /// The document, or what a second pass is to choose.
    pub(crate) fn finish(self, killed: bool) -> Swept {
        let choice = self.choice();
        let stream = self.stream;
        match self.way {
            EvaluationMode::Nothing => Swept::Evaluated(Box::new(evaluate(stream, &[], killed))),
            EvaluationMode::Kept(rows) => Swept::Evaluated(Box::new(evaluate(stream, &rows, killed))),
            EvaluationMode::Passing(pass) if pass.accepted.selection == choice => {
                let clocks = |related: StreamSingletons| corrected(stream, related);
                Swept::Evaluated(Box::new(concluded(stream, pass.finish(), killed, clocks)))
            }
            EvaluationMode::Passing(_) => Swept::Choice(choice),
        }
    }
}

/// Goes through rows once, with the stamps that are chosen, of which those are left out that cannot be true.
struct Pass {
    check: StampCheck,
    accepted: Accepted,
}

/// Goes through rows whose stamps are accepted.
struct Accepted {
    selection: Selection,
    relating: Relating,
    differences: LocationDifferences,
    location: LocationThinning,
    cards: CardEvidence,
    standstill: Standstill,
    fractions: Fractions,
    markings: Option<Markings>,
    any: bool,
}

/// Statistics accumulated over rows.
pub(crate) struct Accumulated {
    selection: Selection,
    related: StreamSingletons,
    differences: LocationDifferences,
    location: LocationSeries,
    cards: CardEvidence,
    standstill: Standstill,
    far_stamps: ResponderStampFaults,
    markings: Vec<MeasurementWarning>,
    any: bool,
    left_out: u64,
    dropped: Vec<Dropped>,
    unread: Unread,
}

impl Pass {
    fn new(stream: &Stream, selection: Selection, rows: usize) -> Self {
        let responder_log = match (stream.responder_log, stream.responder_log_complete) {
            (false, _) => ResponderLog::None,
            (true, false) => ResponderLog::Partial,
            (true, true) => ResponderLog::Complete,
        };
        let waiting = Duration::from_nanos(stream.traffic.waiting_time_ns);
        let accepted = Accepted {
            selection,
            relating: Relating::new(selection, stream.clock_relation, waiting, responder_log, rows),
            differences: LocationDifferences::default(),
            location: LocationThinning::new(rows, LOCATION_POINTS),
            cards: CardEvidence::default(),
            standstill: Standstill::default(),
            fractions: Fractions::default(),
            markings: octet_sent(stream).map(|octet| Markings::new(octet, stream.responder_log)),
            any: false,
        };
        Self { check: StampCheck::new(selection), accepted }
    }

    fn take(&mut self, rows: &[RoundTrip]) {
        let accepted = &mut self.accepted;
        accepted.fractions.take(rows, &accepted.selection);
        self.check.take(rows, &mut |rows| accepted.take(rows));
    }

    fn finish(mut self) -> Accumulated {
        let rejected = self.check.finish(&mut |rows| self.accepted.take(rows));
        self.accepted.finish(rejected)
    }
}

impl Accepted {
    fn take(&mut self, rows: &[RoundTrip]) {
        self.any |= !rows.is_empty();
        self.relating.take(rows);
        self.differences.take(rows);
        self.location.take(rows);
        self.cards.take(rows);
        self.standstill.take(rows);
        if let Some(markings) = &mut self.markings {
            markings.take(rows);
        }
    }

    fn finish(self, rejected: RejectedStamps) -> Accumulated {
        Accumulated {
            selection: self.selection,
            related: self.relating.finish_unrelated(),
            differences: self.differences,
            location: self.location.finish(),
            cards: self.cards,
            standstill: self.standstill,
            far_stamps: ResponderStampFaults {
                rejected,
                false_unit: self.fractions.false_unit(),
                constant: self.fractions.constant(),
            },
            markings: self.markings.as_ref().map(Markings::warnings).unwrap_or_default(),
            any: self.any,
            left_out: 0,
            dropped: Vec::new(),
            unread: Unread::default(),
        }
    }
}

/// From what the rows say to the document.
fn concluded(
    stream: &Stream,
    gathered: Accumulated,
    killed: bool,
    clocks: impl FnOnce(StreamSingletons) -> Corrected,
) -> Evaluated {
    let Accumulated {
        selection,
        mut related,
        differences,
        location,
        cards,
        standstill,
        far_stamps,
        markings,
        any,
        left_out,
        dropped,
        unread,
    } = gathered;
    let early_end = stream.early_end.or(killed.then_some(EarlyEnd::Killed));
    let responder_log_complete = stream.responder_log.then_some(stream.responder_log_complete);
    let lacks = responder_log_complete == Some(false) && stream.traffic.direction.is_one_way();
    let not_logged = !stream.not_logged.is_empty();
    let resolutions_ns = related.resolutions_ns();
    far_stamps.withdraw(&mut related);
    let Corrected { related, warnings: mut clock_warnings } = clocks(related);
    let waiting = Duration::from_nanos(stream.traffic.waiting_time_ns);
    let (mut related, under_way) = related.without_steps_under_way(waiting);
    if related.clock.is_synchronised() && selection.uses_cards() {
        // A delay is the difference of two time stamps, each of which was converted from a card's clock.
        let stamps_ns = 2.0 * f64::from(cards.error_ns());
        related.clock.delay_error_ns = related.clock.delay_error_ns.map(|bound_ns| bound_ns + stamps_ns);
    }
    clock_warnings.extend(under_step(under_way));
    related.find_late(waiting);
    let impossible =
        related.round_trip.iter().filter_map(|one| one.delay).filter(|delay| *delay < Duration::ZERO).count();
    let (calibration, calibration_warnings) = apply(&mut related, &selection, stream.calibration.as_ref());
    let mut events = stream.events.clone();
    queued::push_event(&mut events, &dropped);
    not_logged::leave_unknown(stream, &mut related);
    mark_instrument_drops(stream, &mut related);
    unread.mark(&mut related);
    if killed {
        mark_in_flight(&mut related, waiting);
    }
    let causes = causes(stream, &events, &related);
    let phases = Phases::compute(stream, &related);
    let measured = phases.as_ref().map_or(&related, |phases| &phases.measured);
    let mut figures = StreamFigures::compute(stream, measured, &causes, differences);
    let calibration_phase = phases.as_ref().map(|phases| {
        let figures =
            StreamFigures::compute(stream, &phases.calibration, &causes, LocationDifferences::default());
        let StreamFigures { forward, reverse, round_trip, .. } = figures;
        Box::new(CalibrationPhase { packets: phases.packets, forward, reverse, round_trip })
    });
    let units = Units::new(resolutions_ns, &related);
    units.widen([&mut figures.forward, &mut figures.reverse, &mut figures.round_trip]);
    small::leave_out(&mut figures.findings, &figures.location_error, &selection, &measured.corrections);
    let ways = [&figures.forward, &figures.reverse, &figures.round_trip];
    // What was to leave and was refused, each of it, is nothing as well.
    let none_left = ways.iter().filter_map(|way| way.packets.sent).max() == Some(0);
    let nothing = (!any || none_left) && stream.traffic.count != Some(0);
    let partial = early_end.is_some() || stream.unreachable.is_some() || nothing || lacks || not_logged;
    let mut measurement = Measurement {
        schema: MEASUREMENT.into(),
        target: stream.target.clone(),
        address: stream.address.clone(),
        source: None,
        started: stream.started.clone(),
        ended: stream.ended.clone(),
        partial,
        early_end,
        responder_log_complete,
        not_logged: stream.not_logged.clone(),
        traffic: stream.traffic.clone(),
        calibration,
        limits: Vec::new(),
        replies: stream.replies.clone(),
        checksum_errors: stream.checksum_errors,
        damage: stream.damage.clone(),
        metadata: stream.metadata.clone(),
        stamps: stamps::places(stream, &related, &selection),
        location_error_ns: figures.location_error,
        forward: figures.forward,
        reverse: figures.reverse,
        round_trip: figures.round_trip,
        calibration_phase,
        clock: with_steps(&stream.events, related.clock.clone()),
        events: in_place(stream, events, &related),
        findings: figures.findings,
        voice: Vec::new(),
        voice_unrated: Vec::new(),
        interval_method: INTERVAL_METHOD.into(),
        warnings: warnings(stream, &related, &selection, any, early_end),
    };
    if let Some(damage) = &stream.damage {
        count_damaged(damage, &mut measurement);
    }
    if none_left && measurement.calibration_phase.is_some() {
        measurement.warnings.push(MeasurementWarning::CalibrationLeavesNothing);
    }
    if stream.unreachable.is_none() {
        measurement.warnings.extend(markings);
        measurement.warnings.extend(cards::warnings(stream, &selection, &cards, any));
    }
    for one in &mut measurement.stamps.delay_definition {
        // Nothing else in the stamps shows a delay without the baseline.
        one.baseline_ns = measurement.calibration.as_ref().and_then(|all| all.taken_out(one.direction));
    }
    measurement.stamps.nic = selection.uses_cards().then(|| cards.document());
    measurement.warnings.extend(late_departures(&measurement));
    let is_here = stream.clock_relation == ClockRelation::Shared;
    let is_told = stream.metadata.responder_software.is_some();
    measurement.warnings.extend(standstill.warning(&stream.events, is_told, is_here));
    (measurement.voice, measurement.voice_unrated) = crate::call::ratings(stream, measured, &measurement);
    measurement.warnings.extend(clock_warnings);
    measurement.warnings.extend(calibration_warnings);
    measurement.warnings.extend(without_delay(stream, &related, far_stamps.rejected.back.replies));
    measurement.warnings.extend(far_stamps.warnings());
    measurement.warnings.extend(rejected::without_order(&related));
    measurement.warnings.extend(rejected::too_quick(&related));
    measurement.warnings.extend(units.note(&measurement));
    measurement.warnings.extend(stamps::includes_responder(&measurement, &related));
    measurement.warnings.extend(figures.only_until.map(only_until));
    if impossible > 0 {
        measurement.warnings.push(MeasurementWarning::RoundTripsNegative { packets: impossible as u64 });
    }
    if left_out > 0 {
        measurement.warnings.push(MeasurementWarning::ClockStepStampsDiscarded { stamps: left_out });
    }
    // Limits were read before the run began; what a later romer wrote and this one does not know is left out.
    let limits: Vec<Limit> = stream.limits.iter().filter_map(|text| text.parse().ok()).collect();
    measurement.limits = Limit::judge_all(&limits, &measurement);
    let location = LocationSeries { shapes: figures.location_shapes, ..location };
    Evaluated { measurement, related, selection, location, causes }
}

/// That so many round trips were under way when a clock was set.
fn under_step(count: usize) -> Option<MeasurementWarning> {
    (count > 0).then_some(MeasurementWarning::ClockStepUnderWay { packets: count as u64 })
}

/// Probe records without the steps of the clocks, and without the probes that never left.
struct Undisturbed<'a> {
    rows: Cow<'a, [RoundTrip]>,
    /// Stamps that are discarded, since it is not known on which side of a step they are.
    left_out: u64,
    /// Which probes the hosts' own queues dropped.
    dropped: Vec<Dropped>,
}

fn not_stall_affected<'a>(stream: &Stream, rows: &'a [RoundTrip]) -> Undisturbed<'a> {
    // Rows of a long run are copied only where something happened.
    if !is_stall_affected(stream) {
        return Undisturbed { rows: Cow::Borrowed(rows), left_out: 0, dropped: Vec::new() };
    }
    let mut rows = rows.to_vec();
    withdraw_unsent(&mut rows, &stream.events);
    let dropped = withdraw_dropped(&mut rows, &stream.events);
    let left_out = undo_steps(&mut rows, &stream.events, stream.clock_relation);
    Undisturbed { rows: Cow::Owned(rows), left_out, dropped }
}

/// The rows of what left: without the probes that were handed to an interface which let nothing out, or that a host's own queue
/// dropped, as the document has it.
pub(crate) fn left<'a>(stream: &Stream, rows: &'a [RoundTrip]) -> Cow<'a, [RoundTrip]> {
    if !stream.events.iter().any(|event| event.kind == EventKind::LinkDown || is_of_queue(event)) {
        return Cow::Borrowed(rows);
    }
    let mut rows = rows.to_vec();
    withdraw_unsent(&mut rows, &stream.events);
    withdraw_dropped(&mut rows, &stream.events);
    Cow::Owned(rows)
}

/// Whether something happened that shows in stamps.
fn is_stall_affected(stream: &Stream) -> bool {
    let shows =
        |event: &Event| event.step.is_some() || event.kind == EventKind::LinkDown || is_of_queue(event);
    stream.events.iter().any(shows)
}

/// The ECN bits that were asked for, where that is known.
fn ecn_sent(stream: &Stream) -> Option<Ecn> {
    stream.traffic.ecn.as_ref()?.parse().ok()
}

/// The service octet with which the probes left, where it is known.
fn octet_sent(stream: &Stream) -> Option<u8> {
    let code_point = stream.traffic.dscp.and_then(Dscp::new);
    code_point.zip(ecn_sent(stream)).map(|(dscp, ecn)| dscp.tos() | ecn.bits())
}

/// Counts the damaged probes of each direction. Of round trips, a probe is damaged once at most: a responder does not answer a
/// damaged one.
fn count_damaged(damage: &Damage, measurement: &mut Measurement) {
    let [forward, reverse] = [&damage.forward, &damage.reverse].map(|way| Some(way.as_ref()?.probes));
    measurement.forward.packets.corrupted = forward;
    measurement.reverse.packets.corrupted = reverse;
    if measurement.traffic.direction == ProbeDirection::RoundTrip {
        measurement.round_trip.packets.corrupted =
            forward.zip(reverse).map(|(forward, reverse)| forward.saturating_add(reverse));
    }
}

/// That of a long stream only the beginning was searched for patterns.
fn only_until((packets, until_ns): (usize, i64)) -> MeasurementWarning {
    MeasurementWarning::FindingsLimited {
        searched: LOOKED_AT as u64,
        delays: packets as u64,
        until_ns: until_ns / 1_000_000_000 * 1_000_000_000,
    }
}

fn warnings(
    stream: &Stream,
    related: &StreamSingletons,
    selection: &Selection,
    any: bool,
    early_end: Option<EarlyEnd>,
) -> Vec<MeasurementWarning> {
    if let Some(reason) = &stream.unreachable {
        return vec![MeasurementWarning::NothingMeasured { reason: reason.clone() }];
    }
    let mut warnings = Vec::new();
    warnings.extend(early_end.map(|cause| MeasurementWarning::RunCutShort { cause }));
    if saturating_sum(stream.not_logged.iter().map(|one| one.entries)) > 0 {
        warnings.push(MeasurementWarning::EntriesNotLogged { entries: stream.not_logged.clone() });
    }
    if !any {
        warnings.push(MeasurementWarning::NoProbeSent);
    }
    if !stream.responder_log && any {
        warnings.extend(numbers::warnings(related.numbers.as_ref()));
    }
    let one_way = stream.traffic.direction.is_one_way();
    if (one_way || stream.responder_log) && !stream.responder_log_complete {
        let gaps = stream.responder_log_gaps.clone();
        warnings.push(MeasurementWarning::ResponderLogIncomplete { one_way, gaps });
    }
    let rejected = &stream.replies.rejected;
    if rejected.total() > 0 {
        warnings.push(MeasurementWarning::DatagramsRejected { rejected: rejected.clone(), one_way });
    }
    warnings.extend(stream.replies.other_length.map(MeasurementWarning::ReplyLengthDiffers));
    let has_forward = stream.traffic.direction != ProbeDirection::Reverse;
    if stream.damage.as_ref().is_some_and(|damage| has_forward && damage.forward.is_none()) {
        warnings.push(MeasurementWarning::DamageUncounted);
    }
    let errors = stream.checksum_errors;
    if [errors.sender, errors.responder].into_iter().flatten().any(|count| count > 0) {
        warnings.push(MeasurementWarning::ChecksumErrors(errors));
    }
    warnings.extend(unheard::warnings(stream, related));
    // Where nothing arrived there are no delays for the clocks to be in.
    let mut delays = related.forward.iter().chain(&related.reverse);
    let any_delay = delays.any(|singleton| singleton.delay.is_some());
    if related.delay_kind == DelayKind::Variable && any_delay {
        warnings.push(MeasurementWarning::ClockOffsetUnknown);
        if related.clock.method == "none" {
            warnings.push(MeasurementWarning::ClockSkewIncluded);
        }
    }
    let not_replied = if !one_way && stream.responder_log { related.not_replied } else { 0 };
    let not_sent = [
        (EventLocation::Sender, related.not_sent, false),
        (EventLocation::Responder, related.reverse_not_sent, false),
        (EventLocation::Responder, not_replied, true),
    ];
    let not_sent = not_sent.into_iter().filter(|(_, packets, _)| *packets > 0);
    warnings.extend(not_sent.map(|(location, packets, replies)| MeasurementWarning::PacketsNotSent {
        location,
        packets,
        replies,
    }));
    warnings.extend(stamps::missing(&related.missing, selection));
    warnings
}
