//! Packet logs that other programs wrote, or romer exported, as measurement documents.

mod absent;
mod capture_flows;
mod capture_steps;
#[cfg(test)]
mod capture_tests;
mod captures;
mod counted_losses;
mod document;
mod eras;
mod error;
#[cfg(test)]
mod file_tests;
mod formats;
mod known;
#[cfg(test)]
mod one_way_tests;
mod overtaken;
mod packets;
mod pause;
#[cfg(test)]
mod ping_tests;
mod received;
mod reference;
mod request;
mod rows;
#[cfg(test)]
mod sequence_tests;
mod set_back;
mod stepped;
mod table;
#[cfg(test)]
mod twice_tests;
#[cfg(test)]
mod two_way_tests;
mod unit;
#[cfg(test)]
mod vector_tests;

use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use romer_clock::skew::{
    ChangeKind, Continuous, Estimate, InTurn, Method, SetBack, correct, method_of, remove_steps_back, state,
    usable,
};
use romer_exchange::csv::Shape;
use romer_record::RoundTrip;
use romer_record::document::{ClockState, Measurement, ProbeDirection};
use romer_record::event::{Event, EventLocation};
use romer_record::finding::Finding;
use romer_record::manifest::Stream;
use romer_record::voice::Voice;
use romer_record::warning::MeasurementWarning;
use romer_singletons::{Corrected, StreamSingletons, correct_clocks};
use romer_units::Direction;

use crate::evaluate::{Accumulated, Evaluated, gather, with_steps};
use crate::limits::Limit;
use document::{of_table, stream};
pub use error::AnalysisError;
use known::{Known, Settled};
pub use reference::compare_stamps;
pub use request::{Analysis, FlowChoice};
use set_back::BackwardStep;
use table::Table;

/// A packet log that was read.
#[derive(Debug)]
pub struct PacketLog {
    /// Its document, with what that comes from.
    pub evaluated: Evaluated,
    /// What a manifest would say of its stream.
    pub stream: Stream,
    /// Where its packets are.
    pub files: LogFiles,
}

/// The files of a packet log, from which its packets are had again.
#[derive(Clone, Debug)]
pub enum LogFiles {
    /// A table, and the unit of its stamps where that is [stated](Analysis::unit_ns).
    One(PathBuf, Option<i64>),
    /// A table that is in no file: its name, and its text.
    Memory(PathBuf, Arc<[u8]>),
    /// Two captures, and which of their flows.
    Captures([PathBuf; 2], Option<FlowChoice>),
}

impl LogFiles {
    /// The packets, read again; of two tables, those of the first.
    ///
    /// # Errors
    /// As [`analyze`]: the file is not what it was.
    pub fn rows(&self) -> Result<Vec<RoundTrip>, AnalysisError> {
        let table = match self {
            Self::One(file, unit_ns) => Table::read(file, true, *unit_ns)?,
            Self::Memory(name, text) => Table::of_text(name, &text[..])?,
            Self::Captures([near, far], flow) => captures::read(near, far, *flow)?.there,
        };
        let mut rows = table.packets.rows();
        if table.shape == Shape::OneWay {
            rows.iter_mut().for_each(|row| row.way = ProbeDirection::Forward);
        }
        Ok(rows)
    }
}

/// Whether a file is taken for a packet log: by its name (gzip's ending does not count), or by what it begins with. Anything else is a
/// run, or nothing.
pub fn is_log(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    match table::ending(path) {
        Some("csv" | "raw" | "log" | "json") => true,
        // It is none, and is refused with what to do with it.
        Some("pcap" | "pcapng" | "cap") => true,
        Some(_) => table::content(path).is_some(),
        None => table::content(path).is_some() || table::begins_as_csv(path),
    }
}

/// Whether a packet log is taken for a `.raw` or `.log` of Qtcp, by its name. Output of ping may have such a name, too.
pub fn is_of_qtcp(path: &Path) -> bool {
    is_log(path) && matches!(table::ending(path), Some("raw" | "log")) && table::content(path).is_none()
}

/// Reads a packet log and computes its measurement document: the same figures as of a run, so far as the stamps alone
/// give them.
///
/// # Errors
/// [`AnalysisError`] where the file cannot be read, is not in the format, or holds no packet.
pub fn analyze(analysis: &Analysis) -> Result<Evaluated, AnalysisError> {
    Ok(read_log(analysis)?.evaluated)
}

/// The same, with where its packets are.
///
/// # Errors
/// As [`analyze`].
pub fn read_log(analysis: &Analysis) -> Result<PacketLog, AnalysisError> {
    let (there, mut back, known) = match &analysis.capture_b {
        Some(far) => {
            let captured = captures::read(&analysis.file, far, analysis.flow)?;
            (captured.there, captured.back.map(|back| (far, back)), captured.known)
        }
        None => {
            let table = match &analysis.content {
                Some(text) => Table::of_text(&analysis.file, &text[..])?,
                None => Table::read(&analysis.file, analysis.any_size, analysis.unit_ns)?,
            };
            (table, None, Vec::new())
        }
    };
    if let Some(reverse) = &analysis.reverse {
        let reflected = if there.shape == Shape::FourStamps {
            Some(&analysis.file)
        } else {
            Table::is_reflected(reverse)?.then_some(reverse)
        };
        if let Some(file) = reflected {
            let why =
                "its packets are reflected, and it has both directions; analyse it alone, without --reverse";
            return Err(AnalysisError::Line { path: file.clone(), line: 1, why: why.into() });
        }
        back = Some((reverse, Table::read(reverse, analysis.any_size, analysis.unit_ns)?));
    }
    let refuted = refutes_one_clock(analysis, &there, back.as_ref());
    let analysis = &Analysis { one_clock: analysis.one_clock && refuted.is_none(), ..analysis.clone() };
    // One clock that is set is set for both ends.
    let known = if analysis.one_clock { Vec::new() } else { known };
    enough(analysis, &there, back.as_ref().map(|(_, back)| back))?;
    let mut stream = stream(analysis, &analysis.file, &there);
    let mut evaluated = match back {
        Some((file, back)) if analysis.one_clock => {
            let of = |stream: &Stream, table: &Table| {
                of_table(stream, table.shape, &table.packets, table.about.clone(), uncorrected)
            };
            let mut evaluated = of(&stream, &there);
            add_reverse(&mut evaluated, of(&self::stream(analysis, file, &back), &back));
            evaluated
        }
        Some((file, back)) => both_ways(analysis, &mut stream, &there, file, &back, &known),
        None => {
            if !analysis.one_clock {
                stream.events = of_one(analysis, &stream, &there);
            }
            let first = first_departure(&there);
            let settled = Settled::one_way(&known, || gather(&stream, &there.packets).into_forward());
            let Table { shape, packets, about, .. } = there;
            let one_way = shape == Shape::OneWay;
            let counted = about.counted;
            let clocks = |mut related: StreamSingletons| {
                related.forward = settled.undo(take(&mut related.forward), Direction::Forward);
                if let Some(counted) = &counted {
                    counted_losses::apply(counted, &mut related);
                }
                correct_clocks(related, &analysis.skew)
            };
            let mut evaluated = of_table(&stream, shape, packets, about, clocks);
            add_events(&mut evaluated.measurement, settled.events(first));
            // Captures have an order of their own.
            if analysis.capture_b.is_none() && one_way {
                let told = overtaken::warnings(&evaluated.related.forward, &evaluated.measurement);
                evaluated.measurement.warnings.extend(told);
            }
            evaluated
        }
    };
    let m = &mut evaluated.measurement;
    m.warnings.extend(may_be_one_clock(analysis, &m.clock).filter(|_| refuted.is_none()));
    m.warnings.extend(refuted);
    m.limits = Limit::judge_all(&analysis.limits, m);
    stream.events.clone_from(&m.events);
    let files = match (&analysis.capture_b, &analysis.content) {
        (Some(far), _) => LogFiles::Captures([analysis.file.clone(), far.clone()], analysis.flow),
        (None, Some(text)) => LogFiles::Memory(analysis.file.clone(), Arc::clone(text)),
        (None, None) => LogFiles::One(analysis.file.clone(), analysis.unit_ns),
    };
    Ok(PacketLog { evaluated, stream, files })
}

/// That one clock is stated and the stamps are of two, where that is so: then nothing follows from what is stated.
fn refutes_one_clock(
    analysis: &Analysis,
    there: &Table,
    back: Option<&(&PathBuf, Table)>,
) -> Option<MeasurementWarning> {
    let of = |file: &Path, table: &Table| {
        gather(&stream(analysis, file, table), &table.packets).contradicts_one_clock()
    };
    let found = || {
        let theirs = || back.and_then(|(file, table)| of(file, table));
        of(&analysis.file, there).or_else(theirs)
    };
    analysis.one_clock.then(found).flatten().map(MeasurementWarning::OneClockContradicted)
}

/// That the stamps of two files may be of one clock, as those of two captures on one host, where nothing speaks against it.
fn may_be_one_clock(analysis: &Analysis, clock: &ClockState) -> Option<MeasurementWarning> {
    let two_files = analysis.capture_b.is_some() || analysis.reverse.is_some();
    let differs = clock.skew_interval_ppm.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
        || clock.events.iter().any(|event| event.kind != ChangeKind::PathChange.name());
    let [low, high] = clock.offset_bounds_ns.filter(|_| two_files && !analysis.one_clock && !differs)?;
    (low <= 0 && 0 <= high).then_some(MeasurementWarning::OneClockPossible)
}

/// The steps of both clocks that a table by itself shows.
fn of_one(analysis: &Analysis, stream: &Stream, table: &Table) -> Vec<Event> {
    let mut steps = set_back::steps(table.packets.firsts(), table.shape, analysis.waiting_time.as_nanos());
    if !table.set_back.is_empty() {
        // The order of the lines tells it better than the delays.
        steps.retain(|found| found.event.location == EventLocation::Sender);
    }
    let with = |events: Vec<Event>| gather(&Stream { events, ..stream.clone() }, &table.packets);
    let mut events = known::leaving(&steps);
    if steps.iter().any(|found| found.uncertain_ns.is_some()) {
        let [forward, reverse] = with(events).into_ways();
        events = known::sized(steps, &forward, &reverse);
    }
    if !table.set_back.is_empty() {
        let as_stamped = with(events.clone()).into_forward();
        events.extend(received::events(&table.set_back, &as_stamped));
        events.sort_by_key(|event| event.at_ns);
    }
    events
}

/// Refuses a hull of so few packets that it would be the line through two of them.
fn enough(analysis: &Analysis, there: &Table, back: Option<&Table>) -> Result<(), AnalysisError> {
    const MIN_HULL_PACKETS: usize = 4;
    if method_of(&analysis.skew) != Method::Hull {
        return Ok(());
    }
    let stamped = |table: &Table| {
        let both = |first: &packets::First| first.departure.is_some() && first.arrival.is_some();
        table.packets.firsts().filter(both).count()
    };
    let most = stamped(there).max(back.map_or(0, stamped));
    // Without any stamp of the far end the figures are those of the round trips, which need no hull.
    if most >= MIN_HULL_PACKETS || (most == 0 && there.shape == Shape::FourStamps) {
        return Ok(());
    }
    Err(AnalysisError::Line {
        path: analysis.file.clone(),
        line: 1,
        why: format!(
            "n too small for hull: it takes {MIN_HULL_PACKETS} packets with both stamps, and there {}; --skew none leaves the skew in",
            if most == 1 { "is 1".into() } else { format!("are {most}") }
        ),
    })
}

/// The document of two tables that each go one way: their clocks are related by both together. The `stream` is that of the
/// first, and takes up what happened to the clocks.
fn both_ways(
    analysis: &Analysis,
    stream_there: &mut Stream,
    there: &Table,
    file: &Path,
    back: &Table,
    known: &[Known],
) -> Evaluated {
    // What both clocks show together, the estimate sees by itself; the departures tell when one was set back, and what
    // arrived by that clock is of the other file.
    let [own, theirs] = [there, back].map(|table| {
        let mut steps = set_back::steps(table.packets.firsts(), Shape::FourStamps, 0);
        // Of the other clock the other file tells.
        steps.retain(|found| found.event.location == EventLocation::Sender);
        steps
    });
    let steps: Vec<BackwardStep> =
        own.into_iter().chain(theirs.iter().map(BackwardStep::of_responder)).collect();
    let mut stream_back = stream(analysis, file, back);
    let mut with = |events: Vec<Event>| {
        let turned = |event: &Event| Event { location: event.location.other(), ..event.clone() };
        stream_back.events = events.iter().map(turned).collect();
        stream_there.events = events;
        [gather(stream_there, &there.packets), gather(&stream_back, &back.packets)]
            .map(Accumulated::into_forward)
    };
    let [mut forward, mut reverse] = with(known::leaving(&steps));
    if steps.iter().any(|found| found.uncertain_ns.is_some()) {
        [forward, reverse] = with(known::sized(steps, &forward, &reverse));
    }
    let (mut estimate, warnings) = usable(&analysis.skew, &forward, &reverse, &InTurn);
    let settled = Settled::by(&mut estimate, known, &forward, &reverse);
    let singletons = [settled.undo(forward, Direction::Forward), settled.undo(reverse, Direction::Reverse)];
    let Continuous { estimate, set_back, warnings, .. } =
        remove_steps_back(&analysis.skew, (estimate, warnings), singletons, &InTurn);
    let mut least = [None; 2];
    let [first, second] = &mut least;
    let method = &analysis.skew.method;
    let found = (&estimate, &settled, &set_back);
    let mut evaluated = of_table(
        stream_there,
        there.shape,
        &there.packets,
        there.about.clone(),
        by(Direction::Forward, found, method, first),
    );
    add_reverse(
        &mut evaluated,
        of_table(
            &stream_back,
            back.shape,
            &back.packets,
            back.about.clone(),
            by(Direction::Reverse, found, method, second),
        ),
    );
    evaluated.related.corrections.clone_from(&estimate.corrections);
    evaluated.related.not_identifiable.clone_from(&estimate.why_not);
    let related = &evaluated.related;
    let m = &mut evaluated.measurement;
    let (clock, contradiction) = state(&analysis.skew, &estimate, &related.forward, &related.reverse, least);
    m.clock = with_steps(&m.events, clock);
    m.warnings.extend(warnings.into_iter().chain(contradiction));
    add_events(m, settled.events(first_departure(there)));
    evaluated
}

/// When the first packet left, by its stamp.
fn first_departure(table: &Table) -> i64 {
    table.packets.firsts().filter_map(|first| first.departure).min().unwrap_or(0)
}

/// Adds steps that are out of the stamps already.
fn add_events(m: &mut Measurement, steps: Vec<Event>) {
    m.clock = with_steps(&steps, take(&mut m.clock));
    m.events.extend(steps);
    m.events.sort_by_key(|event| event.at_ns);
}

/// A stream from which nothing is to be removed.
fn uncorrected(related: StreamSingletons) -> Corrected {
    Corrected { related, warnings: Vec::new() }
}

/// Takes an estimate of both directions' clocks out of a file's one way, and keeps its least difference.
fn by<'a>(
    heading: Direction,
    (estimate, settled, set_back): (&'a Estimate, &'a Settled, &'a SetBack),
    method: &'a str,
    least: &'a mut Option<i128>,
) -> impl FnOnce(StreamSingletons) -> Corrected + 'a {
    move |mut related| {
        related.forward = set_back.undo(settled.undo(take(&mut related.forward), heading), heading);
        related.number_copies();
        *least = correct(&mut related.forward, heading, estimate, &InTurn);
        related.clock.method = method.to_owned();
        uncorrected(related)
    }
}

/// Takes what the other file says of its one way for the way back.
fn add_reverse(evaluated: &mut Evaluated, back: Evaluated) {
    let (m, other) = (&mut evaluated.measurement, back.measurement);
    m.reverse = other.forward;
    m.traffic.direction = ProbeDirection::Both;
    m.location_error_ns.responder.departure = other.location_error_ns.sender.departure;
    m.location_error_ns.sender.arrival = other.location_error_ns.responder.arrival;
    m.stamps.responder_departure = other.stamps.sender_departure;
    m.stamps.sender_arrival = other.stamps.responder_arrival;
    m.stamps.missing.responder_departure = other.stamps.missing.sender_departure;
    m.stamps.missing.sender_arrival = other.stamps.missing.responder_arrival;
    // The events of both files' clocks are with the first already.
    m.events.sort_by_key(|event| event.at_ns);
    for warning in other.warnings {
        if !m.warnings.contains(&warning) {
            m.warnings.push(warning);
        }
    }
    m.findings
        .extend(other.findings.into_iter().map(|one| Finding { direction: ProbeDirection::Reverse, ..one }));
    m.voice.extend(other.voice.into_iter().map(|one| Voice { direction: ProbeDirection::Reverse, ..one }));
    m.findings.sort_by_key(|finding| finding.at_ns);
    evaluated.related.reverse = back.related.forward;
}
