//! Other programs over the same path: iputils' ping, irtt, and `romer measure` as users have it.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, bail};
use romer_host::clock::Realtime;
use romer_units::Duration;
use serde_json::Value;

use crate::figures::{Figures, Timed};
use crate::hosts::{FAR, Hosts};

/// Octets of IPv4 and UDP header, and of IPv4 and ICMP header.
const HEADERS: u32 = 28;
/// How long irtt's server may take to be ready.
const PATIENCE: StdDuration = StdDuration::from_secs(5);

/// Round trips as ping tells them.
pub(crate) fn ping(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<Vec<Timed>> {
    let mut command = Hosts::command(&hosts.near, "ping")?;
    command
        .args(["-n", "-D", "-c", &count.to_string(), "-i", &format!("{:.6}", interval.as_secs_f64())])
        .args(["-s", &octets.saturating_sub(HEADERS).to_string(), &FAR.to_string()])
        .env("LC_ALL", "C");
    Ok(read_ping(&output(command, "ping")?))
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

/// A decimal number, times ten to the power of `places`, without the detour over a floating-point number that would
/// cost a time of day its last digits.
fn decimal(text: &str, places: usize) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() || part.len() > places || !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    format!("{whole}{part:0<places$}").parse().ok()
}

/// irtt's server on the far host. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct IrttServer(Child);

impl IrttServer {
    pub(crate) fn start(hosts: &Hosts) -> Result<Self> {
        let mut command = Hosts::command(&hosts.far, "irtt")?;
        command
            .args(["server", "-b", &format!("{FAR}:2112"), "-i", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let server = Self(command.spawn().context("cannot start irtt; the package irtt has it")?);
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            // Without a test: it greets the server, and comes back.
            let mut client = Hosts::command(&hosts.near, "irtt")?;
            client.args(["client", "-n", "-Q", &FAR.to_string()]);
            if client.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
                return Ok(server);
            }
            std::thread::sleep(StdDuration::from_millis(50));
        }
        bail!("irtt's server does not answer")
    }
}

impl Drop for IrttServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Round trips as irtt tells them: without the time at its server.
pub(crate) fn irtt(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<Vec<Timed>> {
    let all = interval.as_nanos().saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
    let mut command = Hosts::command(&hosts.near, "irtt")?;
    command
        .args(["client", "-Q", "-o", "-", "-i", &format!("{}us", interval.as_nanos() / 1_000)])
        .args(["-d", &format!("{}us", all / 1_000), "-l", &octets.saturating_sub(HEADERS).to_string()])
        .arg(FAR.to_string());
    let text = output(command, "irtt")?;
    let document: Value = serde_json::from_str(&text).context("cannot read what irtt says")?;
    Ok(read_irtt(&document))
}

fn read_irtt(document: &Value) -> Vec<Timed> {
    let Some(trips) = document.pointer("/round_trips").and_then(Value::as_array) else { return Vec::new() };
    trips
        .iter()
        .filter_map(|trip| {
            let nanos = trip.pointer("/delay/rtt")?.as_i64()?;
            let wall = |which| trip.pointer(&format!("/timestamps/client/{which}/wall"))?.as_i64();
            Some(Timed {
                nanos,
                from: Realtime::from_nanos(wall("send")?),
                to: Realtime::from_nanos(wall("receive")?),
            })
        })
        .collect()
}

/// What `program measure` says of the same path.
pub(crate) fn program(
    hosts: &Hosts,
    program: &Path,
    count: u64,
    interval: Duration,
    octets: u32,
) -> Result<Figures> {
    let folder = tempfile::tempdir().context("cannot make a folder for the run")?;
    let mut command = Hosts::command(&hosts.near, program)?;
    command
        .args(["measure", "--quiet", "--json", "-", "--count", &count.to_string()])
        .args(["--interval", &format!("{}us", interval.as_nanos() / 1_000)])
        .args(["--packet-size", &format!("{octets}B"), "--out"])
        .arg(folder.path().join("run"))
        .arg(FAR.to_string());
    let text = output(command, "romer")?;
    let document: Value = serde_json::from_str(&text).context("cannot read what romer says")?;
    read_program(&document).context("romer says nothing of the round trip")
}

fn read_program(document: &Value) -> Option<Figures> {
    let summary = document.pointer("/round_trip/delay_ns")?;
    let of = |name: &str| summary.get(name)?.as_f64();
    let count = summary.get("count")?.as_u64()?;
    // The document's deviation divides by n - 1.
    let n = of("count")?;
    Some(Figures {
        count,
        min_ns: of("min")?,
        mean_ns: of("mean")?,
        max_ns: of("max")?,
        stddev_ns: of("stddev")? * ((n - 1.0) / n).sqrt(),
    })
}

/// Runs `command` and gives what it prints.
fn output(mut command: Command, name: &str) -> Result<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let mut errors = child.stderr.take();
    // Read beside the output, so that neither pipe fills up while the other is read.
    let complaints = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = errors.as_mut().map(|errors| errors.read_to_string(&mut text));
        text
    });
    let mut text = String::new();
    if let Some(output) = &mut child.stdout {
        output.read_to_string(&mut text).with_context(|| format!("cannot read what {name} says"))?;
    }
    let status = child.wait().with_context(|| format!("cannot wait for {name}"))?;
    let complaints = complaints.join().unwrap_or_default();
    if !status.success() {
        bail!("{name} ended with {status}: {}", complaints.trim());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    #[test]
    fn decimals_keep_every_digit() {
        assert_eq!(decimal("1767225600.123456", 9), Some(1_767_225_600_123_456_000));
        assert_eq!(decimal("5", 3), Some(5_000));
        for text in ["", "x", "1.2345", "1.-2", "1.2.3"] {
            assert_eq!(decimal(text, 3), None, "{text}");
        }
    }

    #[test]
    fn irtts_round_trips_are_those_that_came_back() {
        let document = json!({ "round_trips": [
            { "lost": "false", "delay": { "rtt": 81_000 },
              "timestamps": { "client": { "send": { "wall": 10 }, "receive": { "wall": 90_000 } } } },
            { "lost": "true", "timestamps": { "client": { "send": { "wall": 20 } } } },
        ] });
        let found = read_irtt(&document);
        let expected =
            Timed { nanos: 81_000, from: Realtime::from_nanos(10), to: Realtime::from_nanos(90_000) };
        assert_eq!(found, [expected]);
        assert!(read_irtt(&json!({})).is_empty());
    }

    #[test]
    fn the_programs_deviation_is_brought_to_the_same_denominator() {
        let document = json!({ "round_trip": { "delay_ns":
            { "count": 4, "min": 1.0, "mean": 2.5, "max": 4.0, "stddev": (5.0_f64 / 3.0).sqrt() } } });
        let found = read_program(&document).unwrap();
        assert!((found.stddev_ns - (5.0_f64 / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(read_program(&json!({})), None);
    }
}
