//! 100,000 one-way probes a second: each logged at both ends.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration as StdDuration;

use anyhow::{Context, Result};
use romer_analyze::reading;
use romer_record::RoundTrip;
use romer_units::Duration;
use serde::Serialize;

use super::process::share;
use super::{Memory, measure, respond, watched};
use crate::circumstances::Circumstances;
use crate::hosts::{FAR, Hosts};
use crate::peers::iperf;

/// Time between two probes.
pub(crate) const INTERVAL: Duration = Duration::from_micros(10);
/// Octets of the IP packet.
const OCTETS: u32 = 64;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Fast {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    /// Probes of the schedule.
    pub(crate) requested: u64,
    pub(crate) counts: Counts,
    pub(crate) sender: Memory,
    pub(crate) responder: Memory,
    /// Shares of a core while packets are sent.
    pub(crate) sender_cpu_ratio: Option<f64>,
    pub(crate) responder_cpu_ratio: Option<f64>,
    /// iperf 2 at the same rate: packets sent, and lost.
    pub(crate) iperf_sent: u64,
    pub(crate) iperf_lost: u64,
}

/// What the packet log holds of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Probes with the kernel's stamps of both ends.
    pub(crate) stamped: u64,
    /// From the first departure to the last, over the probes.
    pub(crate) rate_pps: f64,
}

impl Counts {
    fn from_rows(rows: &[RoundTrip]) -> Self {
        let mut counts = Self::default();
        let mut departures: Option<(i64, i64)> = None;
        for row in rows.iter().filter(|row| row.copy == 0 && !row.not_sent) {
            counts.sent += 1;
            counts.received += u64::from(row.seen_by_responder);
            counts.stamped += u64::from(row.t1.kernel.is_some() && row.t2.kernel.is_some());
            if let Some(left) = row.t1.user.map(|time| time.as_nanos()) {
                let (first, last) = departures.unwrap_or((left, left));
                departures = Some((first.min(left), last.max(left)));
            }
        }
        if let Some((first, last)) = departures.filter(|(first, last)| last > first) {
            let gaps = StdDuration::from_secs(counts.sent.saturating_sub(1)).as_secs_f64();
            counts.rate_pps = gaps / Duration::from_nanos(last - first).as_secs_f64();
        }
        counts
    }
}

/// What was found, but for the circumstances.
pub(crate) type FastResult = (Counts, [Memory; 2], [Option<f64>; 2]);

/// Sends `length` of probes.
pub(crate) fn run(
    hosts: &Hosts,
    program: &Path,
    length: StdDuration,
    interrupted: &AtomicBool,
) -> Result<FastResult> {
    let listen = format!("{FAR}:862");
    let responder = respond(hosts, program, &["--listen", &listen, "--rate", "200000pps"])?;
    let folder = tempfile::tempdir().context("cannot make a folder for the run")?;
    let run = folder.path().join("run");
    let (interval, octets) = (INTERVAL.to_string(), format!("{OCTETS}B"));
    let (length_text, target) = (format!("{}ms", length.as_millis()), FAR.to_string());
    let arguments = ["--direction", "forward", "--interval", &interval, "--packet-size", &octets];
    let arguments = [&arguments[..], &["--duration", &length_text, &target]].concat();
    let looks = watched(measure(hosts, program, &run, &arguments)?, &responder, interrupted)?;
    drop(responder);
    let mut rows = reading::read(&run).and_then(|run| run.rows()).context("cannot read the run")?;
    let rows = rows.remove(&0).unwrap_or_default();
    let second = StdDuration::from_secs(1);
    let shares = [0, 1].map(|end: usize| share(&looks[end], second, length));
    let memory = [0, 1].map(|end: usize| Memory::from_samples(&looks[end], length));
    Ok((Counts::from_rows(&rows), memory, shares))
}

/// Packets that iperf 2 sends and loses at the same rate in a part of the time.
pub(crate) fn peer(hosts: &Hosts, length: StdDuration) -> Result<(u64, u64)> {
    let _server = iperf::serve(hosts, OCTETS)?;
    let count = length.as_nanos() / u128::from(INTERVAL.as_nanos().unsigned_abs().max(1));
    iperf::losses(hosts, u64::try_from(count).unwrap_or(u64::MAX), INTERVAL, OCTETS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::Stamps;
    use romer_units::Timestamp;

    #[test]
    fn probes_are_counted_by_what_both_ends_logged_of_them() {
        let row = |sequence, stamped, seen| RoundTrip {
            sequence,
            t1: Stamps {
                nic: None,
                kernel: Some(Timestamp::from_nanos(5)),
                user: Some(Timestamp::from_nanos(i64::try_from(sequence).unwrap() * 1_000)),
                told: None,
            },
            t2: Stamps {
                nic: None,
                kernel: Some(Timestamp::from_nanos(7)).filter(|_| stamped),
                user: None,
                told: None,
            },
            seen_by_responder: seen,
            ..RoundTrip::default()
        };
        let refused = RoundTrip { not_sent: true, ..row(3, true, true) };
        let counts =
            Counts::from_rows(&[row(0, true, true), row(1, false, true), row(2, false, false), refused]);
        assert_eq!((counts.sent, counts.received, counts.stamped), (3, 2, 1));
        assert!((counts.rate_pps - 1e6).abs() < 1e-3, "{}", counts.rate_pps);
    }
}
