//! Location error: how far the program's own stamps lie from the best ones.

use romer_metrics::summary;
use romer_record::RoundTrip;
use romer_record::document::{LocationError, LocationErrors};
use romer_units::{Clock, Timestamp};

use crate::clocks::elapsed;

/// The differences between the kernel's stamp and the user's of the same moment, at each host and in each
/// direction, wherever both are there: departure = best - user, arrival = user - best, both positive where the
/// kernel is nearer to the wire (seed 004). Without kernel stamps there is nothing to compare, and the count is 0.
pub fn location_errors(rows: &[RoundTrip]) -> LocationError {
    let mut sender_departure = Vec::new();
    let mut sender_arrival = Vec::new();
    let mut responder_departure = Vec::new();
    let mut responder_arrival = Vec::new();
    for probe in rows.chunk_by(|a, b| (a.way, a.sequence) == (b.way, b.sequence)) {
        sender_departure.extend(apart(probe[0].t1.user, probe[0].t1.kernel));
        let mut seen = Vec::new();
        for row in probe {
            sender_arrival.extend(apart(row.t4.kernel, row.t4.user));
            if !seen.contains(&row.forward_copy) {
                seen.push(row.forward_copy);
                responder_arrival.extend(apart(row.t2.kernel, row.t2.user));
                responder_departure.extend(apart(row.t3.user, row.t3.kernel));
            }
        }
    }
    LocationError {
        sender: LocationErrors { departure: summary(&sender_departure), arrival: summary(&sender_arrival) },
        responder: LocationErrors {
            departure: summary(&responder_departure),
            arrival: summary(&responder_arrival),
        },
    }
}

/// The same differences over time: moments after the first stamp of their host, and nanoseconds, in the order of the rows,
/// thinned to at most `most` of a moment (at least 2) by keeping the least and the greatest of neighbours, so that none of
/// the greatest is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocationSeries {
    /// Departures from the sender.
    pub sender_departure: Vec<(i64, i64)>,
    /// Arrivals there.
    pub sender_arrival: Vec<(i64, i64)>,
    /// Arrivals at the responder.
    pub responder_arrival: Vec<(i64, i64)>,
    /// Departures from there.
    pub responder_departure: Vec<(i64, i64)>,
}

impl LocationSeries {
    /// Of a stream's rows.
    pub fn of(rows: &[RoundTrip], most: usize) -> Self {
        Self {
            sender_departure: series(rows, most, |row| (row.t1.user, row.t1.kernel)),
            sender_arrival: series(rows, most, |row| (row.t4.kernel, row.t4.user)),
            responder_arrival: series(rows, most, |row| (row.t2.kernel, row.t2.user)),
            responder_departure: series(rows, most, |row| (row.t3.user, row.t3.kernel)),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        [&self.sender_departure, &self.sender_arrival, &self.responder_arrival, &self.responder_departure]
            .iter()
            .all(|one| one.is_empty())
    }
}

/// A moment's earlier stamp and its later one.
type Pair<C> = (Option<Timestamp<C>>, Option<Timestamp<C>>);

fn series<C: Clock>(
    rows: &[RoundTrip],
    most: usize,
    pair: impl Fn(&RoundTrip) -> Pair<C>,
) -> Vec<(i64, i64)> {
    let of = |row: &RoundTrip| {
        let (earlier, later) = pair(row);
        Some((earlier?.as_nanos(), apart(earlier, later)?))
    };
    let Some(first) = rows.iter().filter_map(of).map(|(at, _)| at).min() else { return Vec::new() };
    let bucket = rows.len().div_ceil((most / 2).max(1)).max(1);
    let mut kept = Vec::new();
    for chunk in rows.chunks(bucket) {
        let points = || chunk.iter().filter_map(of).map(|(at, apart)| (at.saturating_sub(first), apart));
        if chunk.len() <= 2 {
            kept.extend(points());
            continue;
        }
        let (least, greatest) = (points().min_by_key(|point| point.1), points().max_by_key(|point| point.1));
        kept.extend(least.into_iter().chain(greatest.filter(|_| least != greatest)));
    }
    kept
}

fn apart<C: Clock>(earlier: Option<Timestamp<C>>, later: Option<Timestamp<C>>) -> Option<i64> {
    i64::try_from(elapsed(earlier?, later?)).ok()
}
