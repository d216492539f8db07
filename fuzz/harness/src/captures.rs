//! Captures of UDP traffic, as `romer analyze` reads them.

use romer_exchange::capture::{read, read_beginnings};

use crate::{Seed, assert_message};

/// The longest message: what was written is cut before it is shown.
const LONGEST_MESSAGE: usize = 1_000;
/// Octets of the shortest record of a capture.
const SHORTEST_RECORD: usize = 16;

pub(crate) fn run(octets: &[u8]) {
    let outcomes =
        [read(octets), read_beginnings(octets, 24, |payload| payload.starts_with(b"romer"), |_| Ok(()))];
    for outcome in outcomes {
        match outcome {
            Ok(capture) => {
                let packets = capture.packets.len();
                assert!(packets <= octets.len() / SHORTEST_RECORD, "{packets} of {} octets", octets.len());
            }
            Err(fault) => assert_message(&fault, LONGEST_MESSAGE),
        }
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    crate::arrivals::captures()
}
