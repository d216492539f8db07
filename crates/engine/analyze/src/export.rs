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
    let singletons = match way {
        ProbeDirection::Forward => &evaluated.related.forward,
        ProbeDirection::Reverse => &evaluated.related.reverse,
        ProbeDirection::RoundTrip | ProbeDirection::Both => &evaluated.related.round_trip,
    };
    let late = late(singletons);
    let unobserved: HashMap<u64, Fate> = singletons
        .iter()
        .filter(|singleton| !singleton.fate.is_observed())
        .map(|singleton| (singleton.sequence, singleton.fate))
        .collect();
    let not_lost = |sequence: u64, fate: Fate| {
        let there = || if way.is_one_way() { None } else { fate_of(&evaluated.related.forward, sequence) };
        match fate {
            Fate::InFlight => "in-flight",
            _ if way == ProbeDirection::Forward || there() == Some(Fate::InstrumentDrop) => {
                "instrument-drop-forward"
            }
            _ => "instrument-drop-reverse",
        }
    };
    let complete = stream.responder_log && stream.responder_log_complete;
    let lost = |row: &RoundTrip| -> &'static str {
        match row {
            RoundTrip { way: ProbeDirection::Reverse, .. } => "lost-reverse",
            RoundTrip { seen_by_responder: true, .. } => "lost-reverse",
            _ if complete => "lost-forward",
            _ if way == ProbeDirection::Forward => "unknown",
            _ => match fate_of(&evaluated.related.forward, row.sequence) {
                Some(Fate::Lost) => "lost-forward",
                Some(Fate::Arrived | Fate::Late) => "lost-reverse",
                Some(Fate::Unknown | Fate::InFlight | Fate::InstrumentDrop) | None => "lost",
            },
        }
    };
    let fate = |row: &RoundTrip| -> &'static str {
        let arrival = match way {
            ProbeDirection::Forward => row.t2.at(selection.t2).map(Timestamp::as_nanos),
            _ => row.t4.at(selection.t4).map(Timestamp::as_nanos),
        };
        match row {
            RoundTrip { copy: 1.., .. } => "duplicate",
            _ if arrival.is_some_and(|arrival| late.contains(&(row.sequence, arrival))) => "late",
            RoundTrip { returned: true, .. } => "arrived",
            RoundTrip { way: ProbeDirection::Forward, seen_by_responder: true, .. } => "arrived",
            _ => match unobserved.get(&row.sequence) {
                Some(fate) => not_lost(row.sequence, *fate),
                None => lost(row),
            },
        }
    };
    if !way.is_one_way() {
        return csv::round_trips(out, rows, places, name_fates, fate);
    }
    let these = rows.iter().filter(|row| row.way == way);
    csv::one_way(out, these, places, way == ProbeDirection::Reverse, name_fates, fate)
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
