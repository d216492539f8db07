//! stamp-suite: its sender against its reflector.

use std::path::Path;

use anyhow::{Context, Result};
use romer_units::Duration;
use serde_json::Value;

use super::{HEADERS, PeerSummary, Server, output, ready_after};
use crate::figures::Figures;
use crate::hosts::{FAR, Hosts, NEAR};

/// Port of its reflector; 862 is ours.
const PORT: u16 = 8_620;
/// Octets of a STAMP packet without extensions, and of the head of an extension (RFC 8972).
const STAMP: u32 = 44;
const TLV_HEAD: u32 = 4;

/// stamp-suite's reflector on the far host.
pub(crate) fn serve(hosts: &Hosts, program: &Path) -> Result<Server> {
    let mut command = Hosts::command(&hosts.far, program)?;
    command.args(["-i", "-S", &FAR.to_string(), "-o", &PORT.to_string()]);
    let server = Server::start(command, "stamp-suite")?;
    ready_after(&hosts.far, "udp", PORT)?;
    Ok(server)
}

/// Round trips as stamp-suite tells them: without the time at its reflector, by the stamps of its program.
pub(crate) fn stamp_suite(
    hosts: &Hosts,
    program: &Path,
    count: u64,
    interval: Duration,
    octets: u32,
) -> Result<PeerSummary> {
    let padding = octets.saturating_sub(HEADERS + STAMP + TLV_HEAD);
    let mut command = Hosts::command(&hosts.near, program)?;
    command
        .args(["-r", &FAR.to_string(), "-S", &NEAR.to_string(), "-p", &PORT.to_string()])
        .args(["-c", &count.to_string(), "-d", &(interval.as_nanos() / 1_000_000).max(1).to_string()])
        .args(["-L", "2", "--extra-padding", &padding.to_string(), "--output-format", "json"]);
    let document: Value = serde_json::from_str(&output(command, "stamp-suite")?)
        .context("cannot read what stamp-suite says")?;
    let figures = read(&document).context("stamp-suite tells no round trips")?;
    Ok(PeerSummary { figures, timed: Vec::new() })
}

fn read(document: &Value) -> Option<Figures> {
    let of = |name: &str| Some(document.get(name)?.as_f64()? * 1e6);
    Some(Figures {
        count: document.get("packets_received")?.as_u64()?,
        min_ns: of("min_rtt_ms")?,
        mean_ns: of("avg_rtt_ms")?,
        max_ns: of("max_rtt_ms")?,
        stddev_ns: of("std_dev_ms")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_summary_gives_round_trips_in_milliseconds() {
        let document = json!({ "packets_sent": 100, "packets_received": 99, "min_rtt_ms": 0.25, "max_rtt_ms": 4.5,
            "avg_rtt_ms": 0.5, "std_dev_ms": 0.125 });
        let expected = Figures {
            count: 99,
            min_ns: 250_000.0,
            mean_ns: 500_000.0,
            max_ns: 4_500_000.0,
            stddev_ns: 125_000.0,
        };
        assert_eq!(read(&document), Some(expected));
        assert_eq!(read(&json!({ "packets_received": 0, "min_rtt_ms": null })), None);
    }
}
