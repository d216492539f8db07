//! What the document of a file says: of its packets all that the stamps alone give, and of what was sent, when, and where the stamps
//! were taken so far as the file tells.

use std::path::Path;

use romer_exchange::csv::Shape;
use romer_record::SOFTWARE;
use romer_record::document::{
    ClockEvent, ClockState, DelayDefinition, DelaySpan, Measurement, Metadata, ProbeDirection, StampPlaces,
    Traffic,
};
use romer_record::event::EventLocation;
use romer_record::manifest::{ClockRelation, StampRequest, Stream};
use romer_record::warning::{MeasurementWarning, StampsRemedy};
use romer_singletons::{Corrected, StreamSingletons};
use romer_units::TimestampPoint;

use super::packets::Numbered;
use super::request::Analysis;
use super::rows::LogPresence;
use super::table::{About, Table};
use crate::evaluate::stamps::{defined, includes_far_time};
use crate::evaluate::{Evaluated, gather};

/// Times that are taken for the time of day: from 2001 to 2096, in nanoseconds since 1970. Others are from an origin
/// that the file does not tell.
const TIME_OF_DAY: std::ops::Range<i64> = 1_000_000_000_000_000_000..4_000_000_000_000_000_000;

/// The document of one file alone, whose `stream` has what happened to the clocks. Packets that nobody needs any more make
/// room for what is computed of them.
pub(super) fn of_table(
    stream: &Stream,
    shape: Shape,
    packets: impl Numbered,
    mut about: About,
    clocks: impl FnOnce(StreamSingletons) -> Corrected,
) -> Evaluated {
    let missing = packets.missing();
    let passed = gather(stream, packets);
    let mut evaluated = passed.with_unread(std::mem::take(&mut about.unread)).conclude(stream, clocks);
    let m = &mut evaluated.measurement;
    m.source = Some(m.target.clone());
    if shape == Shape::OneWay {
        (m.reverse, m.round_trip) = Default::default();
        m.findings.retain(|finding| finding.direction == ProbeDirection::Forward);
        m.voice.retain(|voice| voice.direction == ProbeDirection::Forward);
        leave_open(&mut m.clock);
    }
    m.stamps = places(shape, &about, m);
    m.stamps.delay_definition = defined(&m.stamps.delay_definition, &[], &evaluated.related);
    m.stamps.round_trip_includes_responder =
        shape == Shape::FourStamps && includes_far_time(&evaluated.related);
    if evaluated.related.far_time_unknown {
        untimed(&evaluated.related, about.stamps_missing, m);
    }
    m.warnings.extend(about.notes);
    let undone = |location: EventLocation| {
        m.events.iter().any(|event| event.location == location && event.step.is_some())
    };
    let kept = about.stepped.into_iter().zip([EventLocation::Sender, EventLocation::Responder]);
    let kept: Vec<_> = kept.filter(|(_, location)| !undone(*location)).filter_map(|(step, _)| step).collect();
    m.warnings.extend(kept);
    m.warnings.extend(gaps(missing).filter(|_| !about.tells_missing));
    evaluated
}

/// Of one direction whose clocks nobody watched, a way that changed at once may as well be a clock that was set.
fn leave_open(clock: &mut ClockState) {
    let sudden = |event: &&mut ClockEvent| event.kind == "path-change" && event.lasted_until().is_none();
    for event in clock.events.iter_mut().filter(sudden) {
        event.alternative_kind = Some("clock-step".into());
        #[expect(clippy::cast_precision_loss, reason = "a bound of what is known")]
        let size = event.size_ns.map_or(0.0, |size| size.unsigned_abs() as f64);
        clock.delay_error_ns = clock.delay_error_ns.map(|error| error.max(size));
    }
}

/// What a manifest would say of the stream, so far as the file tells.
pub(super) fn stream(analysis: &Analysis, file: &Path, table: &Table) -> Stream {
    let (traffic, first) = traffic(analysis, file, table);
    let started = first.filter(|first| TIME_OF_DAY.contains(first)).map(time_of_day);
    let told = Some(table.about.started.clone()).filter(|started| !started.is_empty());
    Stream {
        target: file.to_string_lossy().into_owned(),
        started: told.or(started).unwrap_or_default(),
        ended: None,
        traffic,
        metadata: Metadata {
            command: analysis.command.clone(),
            software: SOFTWARE.into(),
            host: table.about.host.clone(),
            ..Metadata::default()
        },
        clock_relation: if analysis.one_clock { ClockRelation::Shared } else { ClockRelation::Unknown },
        responder_log: table.responder_log != LogPresence::None,
        responder_log_complete: table.responder_log == LogPresence::Complete,
        not_logged: Vec::new(),
        responder_log_gaps: Vec::new(),
        early_end: None,
        unreachable: None,
        stamp_request: StampRequest::Kernel,
        skew: analysis.skew.clone(),
        voice: analysis.voice.clone(),
        limits: Vec::new(),
        calibration: None,
        ip_no_pmtu_disc: None,
        responder_ip_no_pmtu_disc: None,
        address: None,
        replies: Default::default(),
        checksum_errors: Default::default(),
        damage: None,
        events: Vec::new(),
    }
}

/// What was sent, and when the first packet was.
fn traffic(analysis: &Analysis, file: &Path, table: &Table) -> (Traffic, Option<i64>) {
    let (mut count, mut octets, mut least, mut most) = (0_u64, 0_u64, u32::MAX, 0);
    let mut spacing = Spacing::default();
    for packet in table.packets.firsts() {
        count += 1;
        octets += u64::from(packet.size);
        (least, most) = (least.min(packet.size), most.max(packet.size));
        if let Some(departure) = packet.departure {
            spacing.take(packet.sequence, departure);
        }
    }
    let varying = |octets| (least < most).then_some(octets);
    let traffic = Traffic {
        model: format!("trace:{}", file.to_string_lossy()),
        interval_ns: table.about.interval_ns.or_else(|| spacing.mean_ns()).unwrap_or(0),
        payload_octets: u32::try_from((octets + count / 2) / count.max(1)).unwrap_or(u32::MAX),
        payload_octets_min: varying(least),
        payload_octets_max: varying(most),
        count: Some(count),
        waiting_time_ns: analysis.waiting_time.as_nanos(),
        dscp: table.about.dscp,
        protocol: table.about.protocol.clone(),
        direction: if table.shape == Shape::OneWay {
            ProbeDirection::Forward
        } else {
            ProbeDirection::RoundTrip
        },
        ..Traffic::default()
    };
    (traffic, spacing.first_ns)
}

/// How far apart packets leave: the mean over neighbours, which are packets whose numbers are as near to each other as any two are.
/// Where lost packets have no line, they are left out of it with the gaps that they leave.
#[derive(Default)]
struct Spacing {
    first_ns: Option<i64>,
    last: Option<(u64, i64)>,
    /// What the last pair is of the sum; a departure after which they go back may be a false one.
    newest_ns: Option<i128>,
    went_back: bool,
    /// The step between numbers of neighbours, and what lies between the departures of so many pairs.
    step: u64,
    sum_ns: i128,
    pairs: i128,
}

impl Spacing {
    /// Takes packets in order of their numbers.
    fn take(&mut self, sequence: u64, departure: i64) {
        self.first_ns = Some(self.first_ns.map_or(departure, |first| first.min(departure)));
        let before = self.last.replace((sequence, departure));
        let Some((before, departed)) = before.filter(|(before, _)| *before < sequence) else { return };
        // Departures that go back are those of a clock that was set, or one of the two is false: neither makes a pair.
        let newest = self.newest_ns.take();
        if departure < departed {
            self.sum_ns -= newest.unwrap_or(0);
            self.pairs -= i128::from(newest.is_some());
            self.went_back = true;
            return;
        }
        if std::mem::take(&mut self.went_back) {
            return;
        }
        let step = sequence - before;
        if self.pairs == 0 || step < self.step {
            (self.step, self.sum_ns, self.pairs) = (step, 0, 0);
        }
        if step == self.step {
            let apart = i128::from(departure) - i128::from(departed);
            self.sum_ns += apart;
            self.pairs += 1;
            self.newest_ns = Some(apart);
        }
    }

    fn mean_ns(&self) -> Option<i64> {
        self.sum_ns.checked_div(self.pairs).and_then(|mean| i64::try_from(mean).ok())
    }
}

fn time_of_day(nanos: i64) -> String {
    let since = std::time::Duration::from_nanos(nanos.unsigned_abs());
    humantime::format_rfc3339_nanos(std::time::UNIX_EPOCH + since).to_string()
}

/// Where the stamps were taken, so far as the file tells.
fn places(shape: Shape, about: &About, m: &Measurement) -> StampPlaces {
    let place = about.place;
    let one_way = |direction| {
        (direction, DelaySpan::OneWay { departure: place, arrival: place, includes_responder: false })
    };
    let spans: &[_] = match shape {
        Shape::OneWay => &[one_way(ProbeDirection::Forward)],
        Shape::FourStamps => &[
            one_way(ProbeDirection::Forward),
            one_way(ProbeDirection::Reverse),
            (ProbeDirection::RoundTrip, DelaySpan::RoundTrip),
        ],
    };
    let definition = |&(direction, span): &_| DelayDefinition { direction, span, baseline_ns: None };
    let back = place.filter(|_| shape == Shape::FourStamps);
    StampPlaces {
        sender_departure: place,
        responder_arrival: place,
        responder_departure: back,
        sender_arrival: back,
        delay_definition: spans.iter().map(definition).collect(),
        round_trip_includes_responder: false,
        missing: m.stamps.missing.clone(),
        nic: None,
    }
}

/// Says of a file without the far end's arrivals or departures what its round trips contain, and by what remedy it would have them.
fn untimed(related: &StreamSingletons, remedy: Option<StampsRemedy>, m: &mut Measurement) {
    let none = |stamped: bool, place: &mut Option<TimestampPoint>| *place = place.filter(|_| stamped);
    none(related.forward.iter().any(|one| one.arrival.is_some()), &mut m.stamps.responder_arrival);
    let is_stamped = related.reverse.iter().any(|one| one.departure.is_some());
    none(is_stamped, &mut m.stamps.responder_departure);
    let is_whole = is_stamped && related.forward.iter().any(|one| one.arrival.is_some());
    for warning in m.warnings.iter_mut().filter(|_| !is_whole) {
        if let MeasurementWarning::ResponderTimeIncluded { remedy: stated, .. } = warning {
            *stated = remedy;
        }
    }
}

/// That numbers are left out, if any are: who wrote the file may have left out lost packets.
fn gaps(missing: u64) -> Option<MeasurementWarning> {
    (missing > 0).then_some(MeasurementWarning::SequenceGaps { missing })
}
