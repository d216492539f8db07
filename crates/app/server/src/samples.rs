//! Samples of packets, as they pass: a table with a line for each packet and copy.

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use romer_emulate::live::{Fate, FeedOptions, Sampled};

use crate::emulation::Emulation;
use crate::problem::Problem;

/// The line at the head, which `--departures` of the command line has as well.
const HEADER: &str =
    "ordinal,copy,port,size,arrival_ns,departure_ns,departure_rank,fate,requested_delay_ns,displacement\n";
/// Packets that can be asked for at once.
pub(crate) const MOST: u32 = 10_000;
/// How long can be waited for them.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(20);

/// Waits for so many packets, each `every`-th, or until the time is over, and gives what there was.
pub(crate) fn table(
    emulation: &Emulation,
    packets: u32,
    every: NonZeroU32,
    wait: Duration,
) -> Result<String, Problem> {
    let options = FeedOptions { capacity: packets.saturating_mul(4).max(1_024), every, octets: false };
    let mut feed = emulation.samples(options)?;
    let end = Instant::now() + wait.min(LONGEST);
    let (mut text, mut taken) = (HEADER.to_owned(), 0);
    loop {
        feed.drain(|packet| {
            if taken < packets {
                taken += 1;
                lines(&mut text, packet);
            }
        });
        if taken >= packets || feed.has_ended() || Instant::now() >= end {
            return Ok(text);
        }
        std::thread::sleep(LOOK);
    }
}

fn lines(text: &mut String, packet: &Sampled) {
    for fate in &packet.fates {
        line(text, packet, fate);
    }
}

fn line(text: &mut String, packet: &Sampled, fate: &Fate) {
    let port = if packet.port == 0 { 'a' } else { 'b' };
    let (departure, rank) = fate
        .departure
        .map_or((String::new(), String::new()), |(time, rank)| (time.to_string(), rank.to_string()));
    let lost = fate.lost.map_or_else(|| "sent".to_owned(), |cause| format!("lost:{}", cause.name()));
    let requested = fate.requested.map(|delay| delay.to_string()).unwrap_or_default();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{},{},{port},{},{},{departure},{rank},{lost},{requested},{}",
        packet.ordinal, fate.copy, packet.size, packet.arrival, fate.displacement
    );
}
