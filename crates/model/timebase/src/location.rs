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

fn apart<C: Clock>(earlier: Option<Timestamp<C>>, later: Option<Timestamp<C>>) -> Option<i64> {
    i64::try_from(elapsed(earlier?, later?)).ok()
}
