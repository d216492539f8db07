//! A stream's packets as a table for other programs.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use romer_exchange::csv::{self, Places, WrittenCounts};
use romer_record::document::ProbeDirection;
use romer_record::manifest::Stream;
use romer_record::{Fate, OneWaySingleton, RoundTrip};
use romer_units::{Clock, Timestamp};

use crate::evaluate::{Evaluated, left};

/// Writes the packets of `stream` that went `way` (not both), whose document was computed from `rows`; what did not leave is not among
/// them. With `name_fates` a last column says in a
/// word what became of each: `arrived`, `late` (after the waiting time, and so counted lost), `duplicate`, or
/// `lost-forward`, `lost-reverse`, and `lost` where the way is not known (the far end keeps no log, and what its numbers prove
/// does not tell of this probe); `instrument-drop-forward` or `instrument-drop-reverse` of what came to a host that did not read it, and `in-flight` of what had not
/// arrived when the run was killed; of a one-way stream whose far end's log did not come
/// back, `unknown`.
///
/// # Errors
/// Of `out`.
pub fn csv(
    out: &mut (impl Write + ?Sized),
    stream: &Stream,
    evaluated: &Evaluated,
    rows: &[RoundTrip],
    way: ProbeDirection,
    name_fates: bool,
) -> io::Result<WrittenCounts> {
    let rows = &*left(stream, rows);
    let selection = evaluated.selection;
    let places = Places { t1: selection.t1, t2: selection.t2, t3: selection.t3, t4: selection.t4 };
    let fates = Fates::new(stream, evaluated, way);
    let fate = |row: &RoundTrip| fates.word(row);
    if !way.is_one_way() {
        return csv::round_trips(out, rows, places, name_fates, fate);
    }
    let these = rows.iter().filter(|row| row.way == way);
    csv::one_way(out, these, places, way == ProbeDirection::Reverse, name_fates, fate)
}

/// The singletons of a direction.
pub(crate) fn singletons_of(evaluated: &Evaluated, way: ProbeDirection) -> &[OneWaySingleton] {
    match way {
        ProbeDirection::Forward => &evaluated.related.forward,
        ProbeDirection::Reverse => &evaluated.related.reverse,
        ProbeDirection::RoundTrip | ProbeDirection::Both => &evaluated.related.round_trip,
    }
}

/// What became of the packets of a stream in one direction, in words.
#[derive(Debug)]
pub(crate) struct Fates<'a> {
    evaluated: &'a Evaluated,
    way: ProbeDirection,
    /// The responder's whole log is there.
    complete: bool,
    late: HashSet<(u64, i64)>,
    unobserved: HashMap<u64, Fate>,
}

impl<'a> Fates<'a> {
    pub(crate) fn new(stream: &Stream, evaluated: &'a Evaluated, way: ProbeDirection) -> Self {
        let singletons = singletons_of(evaluated, way);
        let unobserved = singletons
            .iter()
            .filter(|singleton| !singleton.fate.is_observed())
            .map(|singleton| (singleton.sequence, singleton.fate))
            .collect();
        Self {
            evaluated,
            way,
            complete: stream.responder_log && stream.responder_log_complete,
            late: late(singletons),
            unobserved,
        }
    }

    /// The word for a row: see [`csv`].
    pub(crate) fn word(&self, row: &RoundTrip) -> &'static str {
        let selection = &self.evaluated.selection;
        let arrival = match self.way {
            ProbeDirection::Forward => row.t2.at(selection.t2).map(Timestamp::as_nanos),
            _ => row.t4.at(selection.t4).map(Timestamp::as_nanos),
        };
        match row {
            RoundTrip { copy: 1.., .. } => "duplicate",
            _ if arrival.is_some_and(|arrival| self.late.contains(&(row.sequence, arrival))) => "late",
            RoundTrip { returned: true, .. } => "arrived",
            RoundTrip { way: ProbeDirection::Forward, seen_by_responder: true, .. } => "arrived",
            _ => match self.unobserved.get(&row.sequence) {
                Some(fate) => self.not_lost(row.sequence, *fate),
                None => self.lost(row),
            },
        }
    }

    fn not_lost(&self, sequence: u64, fate: Fate) -> &'static str {
        let there =
            || if self.way.is_one_way() { None } else { fate_of(&self.evaluated.related.forward, sequence) };
        match fate {
            Fate::InFlight => "in-flight",
            _ if self.way == ProbeDirection::Forward || there() == Some(Fate::InstrumentDrop) => {
                "instrument-drop-forward"
            }
            _ => "instrument-drop-reverse",
        }
    }

    fn lost(&self, row: &RoundTrip) -> &'static str {
        match row {
            RoundTrip { way: ProbeDirection::Reverse, .. } => "lost-reverse",
            RoundTrip { seen_by_responder: true, .. } => "lost-reverse",
            _ if self.complete => "lost-forward",
            _ if self.way == ProbeDirection::Forward => "unknown",
            _ => match fate_of(&self.evaluated.related.forward, row.sequence) {
                Some(Fate::Lost) => "lost-forward",
                Some(Fate::Arrived | Fate::Late) => "lost-reverse",
                Some(Fate::Unknown | Fate::InFlight | Fate::InstrumentDrop) | None => "lost",
            },
        }
    }
}

/// What became of a packet, by its first copy among singletons in order of sequence.
pub(crate) fn fate_of(singletons: &[OneWaySingleton], sequence: u64) -> Option<Fate> {
    let place = singletons.partition_point(|singleton| singleton.sequence < sequence);
    singletons.get(place).filter(|singleton| singleton.sequence == sequence).map(|singleton| singleton.fate)
}

/// The late packets, by number and arrival.
fn late(singletons: &[OneWaySingleton]) -> HashSet<(u64, i64)> {
    let late = singletons.iter().filter(|singleton| singleton.fate == Fate::Late);
    late.filter_map(|singleton| Some((singleton.sequence, nanos(singleton.arrival?)))).collect()
}

fn nanos<C: Clock>(time: Timestamp<C>) -> i64 {
    time.as_nanos()
}
