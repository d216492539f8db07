//! Other programs over the same path, and `romer measure` as users have it.

pub(crate) mod ditg;
pub(crate) mod iperf;
pub(crate) mod irtt;
mod ping;
mod program;
pub(crate) mod sockperf;
pub(crate) mod stamp_suite;

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, bail};
use romer_host::netns;

use crate::figures::{Figures, Timed};
pub(crate) use ping::ping;
pub(crate) use program::program;

/// Octets of IPv4 and UDP header, and of IPv4 and ICMP header.
const HEADERS: u32 = 28;
/// How long a server may take to be ready.
const READY_TIMEOUT: StdDuration = StdDuration::from_secs(5);

/// A server on the far host. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct Server(Child);

impl Server {
    /// Starts it, without waiting for it.
    fn start(mut command: Command, name: &str) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let package =
            if name == "stamp-suite" { "scripts/peers builds it" } else { "its package has this name" };
        Ok(Self(command.spawn().with_context(|| format!("cannot start {name}; {package}"))?))
    }
}

impl AsRef<Child> for Server {
    fn as_ref(&self) -> &Child {
        &self.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a program tells of its packets.
#[derive(Debug)]
pub(crate) struct PeerSummary {
    pub(crate) figures: Figures,
    /// Each packet with its time of day, where the program tells that.
    pub(crate) timed: Vec<Timed>,
}

impl PeerSummary {
    /// Of packets whose times of day are not known; `None` of none.
    fn from_values(values: &[i64]) -> Option<Self> {
        Some(Self { figures: Figures::from_values(values)?, timed: Vec::new() })
    }

    /// Of packets whose times of day are known; `None` of none.
    fn at_times(timed: Vec<Timed>) -> Option<Self> {
        let values: Vec<i64> = timed.iter().map(|one| one.nanos).collect();
        Some(Self { figures: Figures::from_values(&values)?, timed })
    }
}

/// Waits until somebody listens at `port` of `host`.
pub(crate) fn ready_after(host: &str, protocol: &str, port: u16) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < READY_TIMEOUT {
        // A socket of IPv6 may serve IPv4 as well.
        let tables = netns::with_namespace(host, || {
            ["", "6"].map(|family| {
                std::fs::read_to_string(format!("/proc/thread-self/net/{protocol}{family}"))
                    .unwrap_or_default()
            })
        })?;
        if tables.iter().any(|table| listens(table, port)) {
            return Ok(());
        }
        std::thread::sleep(StdDuration::from_millis(20));
    }
    bail!("nobody listens at port {port} ({protocol}) of the far host")
}

/// Whether a local address of the kernel's table (`1: 0207C612:2B67 00000000:0000 ...`) has this port.
fn listens(table: &str, port: u16) -> bool {
    let end = format!(":{port:04X}");
    table.lines().filter_map(|line| line.split_whitespace().nth(1)).any(|local| local.ends_with(&end))
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

    #[test]
    fn a_listener_is_found_by_its_port() {
        let table = "  sl  local_address rem_address\n 1: 0207C612:2B67 00000000:0000 07\n";
        assert!(listens(table, 11_111) && !listens(table, 11_112));
    }

    #[test]
    fn decimals_keep_every_digit() {
        assert_eq!(decimal("1767225600.123456", 9), Some(1_767_225_600_123_456_000));
        assert_eq!(decimal("5", 3), Some(5_000));
        for text in ["", "x", "1.2345", "1.-2", "1.2.3"] {
            assert_eq!(decimal(text, 3), None, "{text}");
        }
    }
}
