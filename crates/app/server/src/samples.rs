//! Samples of packets, as they pass: a table with a line for each packet and copy.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use romer_emulate::DEPARTURES_HEADER;
use romer_emulate::live::FeedOptions;

use crate::emulation::Emulation;
use crate::problem::Problem;

/// Packets that can be asked for at once.
pub(crate) const MAX_PACKETS: u32 = 10_000;
/// How long can be waited for them.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(20);
/// How often is looked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Waits for so many packets, each `every`-th, or until the time is over, and gives what there was.
pub(crate) fn table(
    emulation: &Emulation,
    packets: u32,
    every: NonZeroU32,
    wait: Duration,
) -> Result<String, Problem> {
    let options = FeedOptions { capacity: packets.saturating_mul(4).max(1_024), every, octets: false };
    let mut feed = emulation.samples(options)?;
    let end = Instant::now() + wait.min(MAX_WAIT);
    let (mut table, mut taken) = (format!("{DEPARTURES_HEADER},rate_queue_ns\n").into_bytes(), 0);
    loop {
        feed.drain(|packet| {
            if taken < packets {
                taken += 1;
                // A vector takes everything.
                let _ = packet.write_with_rate_queue(&mut table);
            }
        });
        if taken >= packets || feed.has_ended() || Instant::now() >= end {
            return Ok(String::from_utf8_lossy(&table).into_owned());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}
