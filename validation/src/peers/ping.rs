//! iputils' ping.

use anyhow::{Context, Result};
use romer_host::clock::Realtime;
use romer_units::Duration;

use super::{HEADERS, PeerSummary, decimal, output};
use crate::figures::Timed;
use crate::hosts::{FAR, Hosts};

/// Round trips as ping tells them.
pub(crate) fn ping(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<PeerSummary> {
    let mut command = Hosts::command(&hosts.near, "ping")?;
    command
        .args(["-n", "-D", "-c", &count.to_string(), "-i", &format!("{:.6}", interval.as_secs_f64())])
        .args(["-s", &octets.saturating_sub(HEADERS).to_string(), &FAR.to_string()])
        .env("LC_ALL", "C");
    PeerSummary::at_times(read_ping(&output(command, "ping")?)).context("no packet of ping came back")
}

/// The lines of `ping -D`: `[1767225600.123456] 492 bytes from 198.18.7.2: icmp_seq=1 ttl=64 time=0.041 ms`. The
/// moment in brackets is that of the arrival.
fn read_ping(text: &str) -> Vec<Timed> {
    text.lines()
        .filter_map(|line| {
            let (moment, rest) = line.strip_prefix('[')?.split_once(']')?;
            let (_, time) = rest.split_once("time=")?;
            let millis = time.strip_suffix(" ms")?;
            let nanos = decimal(millis, 6)?;
            let to = Realtime::from_nanos(decimal(moment, 9)?);
            Some(Timed { nanos, from: Realtime::from_nanos(to.as_nanos().saturating_sub(nanos)), to })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ping_is_a_round_trip_that_ends_at_its_moment() {
        let text = "PING 198.18.7.2 (198.18.7.2) 484(512) bytes of data.\n\
                    [1767225600.123456] 492 bytes from 198.18.7.2: icmp_seq=1 ttl=64 time=0.041 ms\n\
                    [1767225600.125456] 492 bytes from 198.18.7.2: icmp_seq=2 ttl=64 time=12.3 ms\n\
                    rtt min/avg/max/mdev = 0.041/6.170/12.300/6.129 ms\n";
        let found = read_ping(text);
        assert_eq!(found.iter().map(|trip| trip.nanos).collect::<Vec<_>>(), [41_000, 12_300_000]);
        assert_eq!(found[0].to.as_nanos(), 1_767_225_600_123_456_000);
        assert_eq!(found[0].from.as_nanos(), 1_767_225_600_123_415_000);
    }
}
