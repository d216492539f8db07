//! The probe records that the lines of one packet make.

use std::collections::HashMap;

use romer_exchange::csv::Row;
use romer_record::RoundTrip;
use romer_record::document::ProbeDirection;
use romer_units::{Clock, Timestamp};

/// How much of the responder's own log a file has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LogPresence {
    None,
    Partial,
    Complete,
}

/// Adds the rows of one packet that went `way` to `all`: one for each copy that went further than the others of no trace.
pub(super) fn rows(lines: &[Row], way: ProbeDirection, responder_log: LogPresence, all: &mut Vec<RoundTrip>) {
    // As nearly all have it, and much sooner.
    if let [line] = lines {
        all.push(RoundTrip { way, ..row(line, 0, 0, responder_log) });
        return;
    }
    let traced = |line: &&Row| (1..4).any(|place| line.stamps[place].is_some() || line.user[place].is_some());
    let untraced = lines.first().filter(|_| !lines.iter().any(|line| traced(&line)));
    let mut arrivals = HashMap::new();
    let kept = lines.iter().filter(traced).chain(untraced);
    all.extend(kept.zip(0..).map(|(line, copy)| {
        // One way, each line is an arrival, however coarse the stamps are. What came there once and came back twice has the
        // far end's stamps twice.
        let forward_copy = if way == ProbeDirection::RoundTrip { arrival(line, &mut arrivals) } else { copy };
        RoundTrip { way, ..row(line, copy, forward_copy, responder_log) }
    }));
}

/// The far end's stamps of a packet.
type Arrival = [Option<i64>; 4];

/// Which of the `arrivals` at the far end a line is of.
fn arrival(line: &Row, arrivals: &mut HashMap<Arrival, u32>) -> u32 {
    let arrival = [line.stamps[1], line.user[1], line.stamps[2], line.user[2]];
    let next = u32::try_from(arrivals.len()).unwrap_or(u32::MAX);
    *arrivals.entry(arrival).or_insert(next)
}

fn row(line: &Row, copy: u32, forward_copy: u32, responder_log: LogPresence) -> RoundTrip {
    let mut row = RoundTrip {
        sequence: line.sequence,
        copy,
        forward_copy,
        size: line.size,
        seen_by_responder: line.has_responder_stamp() && responder_log != LogPresence::None,
        returned: line.came_back(),
        ..RoundTrip::default()
    };
    row.t1.kernel = time(line.stamps[0]);
    row.t4.kernel = time(line.stamps[3]);
    // Without a log there the far end's stamps are what its packets told.
    let (t2, t3) = (time(line.stamps[1]), time(line.stamps[2]));
    if responder_log == LogPresence::None {
        (row.t2.told, row.t3.told) = (t2, t3);
    } else {
        (row.t2.kernel, row.t3.kernel) = (t2, t3);
    }
    row.t1.user = time(line.user[0]);
    row.t2.user = time(line.user[1]);
    row.t3.user = time(line.user[2]);
    row.t4.user = time(line.user[3]);
    row
}

pub(super) fn time<C: Clock>(nanos: Option<i64>) -> Option<Timestamp<C>> {
    nanos.map(Timestamp::from_nanos)
}
