//! The emulator between two hosts: how well it holds what it is asked to hold, and at which rates.

mod cases;
mod ends;
mod engine;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, bail};
use romer_emulate::live::{DataPlane, LiveBridge, LiveOptions, Snapshot};
use romer_host::link::Network;
use romer_host::netns;
use romer_impair::{Cause, Ledger};
use romer_port::{PortName, TestReceiver, TestSender};
use romer_units::Duration;
use serde::Serialize;

use super::{Memory, Running, Usage};
use crate::circumstances::Circumstances;
use crate::figures::Lateness;
use crate::hosts::{Hosts, namespace};
use crate::romer_runner::Interrupted;
pub(crate) use cases::{Case, CaseGroup, MAX_PACKETS_PER_SECOND, Target, cases};
pub(crate) use ends::Offered;
use ends::{FrameLoad, ReceivedFrames, receive, send};
pub(crate) use engine::{ALL, Cost, costs};

/// Time for which frames are sent, and where packets are to be accounted for at the full rate.
const LENGTH: StdDuration = StdDuration::from_millis(1_500);
const FULL_RATE_TIME: StdDuration = StdDuration::from_secs(5);
/// What there may be to wait for at the end beside the delay itself.
const END_TIMEOUT: StdDuration = StdDuration::from_secs(5);
/// Between two looks at whether all has come.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(20);
/// For how long memory is looked at.
const MEMORY: StdDuration = StdDuration::from_secs(10);

/// What came of one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Emulated {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    #[serde(flatten)]
    pub(crate) case: Case,
    /// How frames came in and went out.
    pub(crate) data_plane: &'static str,
    /// What the generator managed, frames a second each way.
    pub(crate) offered_pps: f64,
    /// Frames sent, of all ways.
    pub(crate) sent: u64,
    /// Frames that the emulator says it received, made as copies, transmitted and lost, and those that came out.
    pub(crate) received: u64,
    pub(crate) copies: u64,
    pub(crate) transmitted: u64,
    pub(crate) lost: u64,
    /// Of these, not because it was asked for.
    pub(crate) dropped: u64,
    pub(crate) came: u64,
    /// What it held beyond what was asked for, by its own account.
    pub(crate) hold_error_p50_ns: Option<f64>,
    pub(crate) hold_error_p99_ns: Option<f64>,
    /// From the generator's clock before it gave a frame to the link to the kernel's stamp at the far end, without what
    /// was asked for; of constant delays.
    pub(crate) external: Option<Lateness>,
    /// The same, in the median, of such frames over the first link alone: what generator and link take by themselves.
    pub(crate) link_p50_ns: Option<f64>,
}

impl Emulated {
    /// Frames that nobody accounts for.
    pub(crate) fn unaccounted(&self) -> u64 {
        self.sent.abs_diff(self.received)
            + self.transmitted.abs_diff(self.came)
            + (self.received + self.copies).abs_diff(self.transmitted + self.lost)
    }
}

/// What generator and receivers do without an emulator between them, both ways at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Alone {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    /// At the full rate: frames a second each way, frames of both ways sent, and come.
    pub(crate) offered_pps: f64,
    pub(crate) sent: u64,
    pub(crate) came: u64,
    /// As fast as it can, each way.
    pub(crate) most_pps: f64,
}

/// Resident memory of `romer emulate` at the full rate and 100 ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Resident {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    pub(crate) offered_pps: f64,
    #[serde(flatten)]
    pub(crate) memory: Memory,
}

/// Two hosts, and a third between them on which the emulator has a port to either.
pub(crate) struct Testbed {
    names: [String; 3],
}

impl Testbed {
    pub(crate) fn make() -> Result<Self> {
        let line = Self { names: ["left", "middle", "right"].map(namespace) };
        for name in &line.names {
            netns::create(name).context("cannot make a network namespace")?;
            let network = Network::open(Some(name))?;
            for scope in ["all", "default"] {
                // Kernels without IPv6 send nothing by it.
                let _ = network.set_parameter(&format!("net/ipv6/conf/{scope}/disable_ipv6"), "1");
            }
        }
        for (end, (host, port)) in [(0, ("w0", "e0")), (2, ("w1", "e1"))] {
            let network = Network::open(Some(&line.names[end]))?;
            network.add_veth(host, port, Some(&line.names[1]))?;
            network.set_up(host, true)?;
            Network::open(Some(&line.names[1]))?.set_up(port, true)?;
        }
        Ok(line)
    }

    fn port(&self, host: usize, interface: &str) -> Result<PortName> {
        format!("{}/{interface}", self.names[host]).parse().context("a name of ours is none")
    }

    /// The outer ends.
    fn ends(&self) -> Result<[PortName; 2]> {
        Ok([self.port(0, "w0")?, self.port(2, "w1")?])
    }

    /// The emulator's ports.
    fn ports(&self) -> Result<[PortName; 2]> {
        Ok([self.port(1, "e0")?, self.port(1, "e1")?])
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = netns::delete(name);
        }
    }
}

/// Sends `ways` ways at once from the outer ends, while `settled` says when all has come, and receives at `to`.
fn exchange(
    line: &Testbed,
    ways: usize,
    to: &[PortName; 2],
    load: FrameLoad,
    interrupted: &AtomicBool,
    settled: impl FnOnce(Offered) -> Result<()>,
) -> Result<(Offered, Vec<ReceivedFrames>)> {
    let ends = line.ends()?;
    let stop = AtomicBool::new(false);
    let seconds = load.length.as_secs() + 1;
    // Twice as many as are asked for, for copies; without a rate, none is looked at.
    let expected = usize::try_from(2 * seconds * u64::from(load.pps.unwrap_or(0))).unwrap_or(0);
    std::thread::scope(|scope| {
        let open = |name| TestReceiver::open(name).context("cannot open the receiving end");
        let receivers: Vec<_> = to[..ways].iter().map(open).collect::<Result<_>>()?;
        let stop_ref = &stop;
        let receivers: Vec<_> = receivers
            .into_iter()
            .map(|receiver| scope.spawn(move || receive(receiver, expected, stop_ref)))
            .collect();
        let sent = (|| -> Result<Offered> {
            let open = |name| TestSender::open(name).context("cannot open the sending end");
            let mut senders: Vec<_> = ends[..ways].iter().map(open).collect::<Result<_>>()?;
            let sent = send(&mut senders, load, interrupted);
            settled(sent)?;
            Ok(sent)
        })();
        stop.store(true, Ordering::Release);
        let came = receivers.into_iter().filter_map(|receiver| receiver.join().ok()).collect();
        if interrupted.load(Ordering::Acquire) {
            bail!(Interrupted);
        }
        Ok((sent?, came))
    })
}

/// Runs a case.
pub(crate) fn run(line: &Testbed, case: &Case, interrupted: &AtomicBool) -> Result<CaseResult> {
    let options = LiveOptions {
        ports: line.ports()?,
        scenario: cases::config(case).into(),
        least_hold: Duration::ZERO,
        samples: None,
        allow_default_route: false,
        data_plane: if case.table == CaseGroup::ByXdp { DataPlane::Xdp } else { DataPlane::Auto },
    };
    let bridge = LiveBridge::start(&options).context("the emulator does not begin")?;
    let data_plane = bridge.control().data_plane();
    let [left, right] = line.ends()?;
    let length = if case.is_accounted_for() { FULL_RATE_TIME } else { LENGTH };
    let load = FrameLoad { octets: case.octets, pps: Some(case.pps), length };
    let patience = END_TIMEOUT + StdDuration::from_nanos(case.target.constant().unwrap_or(0).unsigned_abs());
    let (sent, came) = exchange(line, case.table.ways(), &[right, left], load, interrupted, |sent| {
        settle(&bridge, sent.frames, patience)
    })?;
    let snapshot = bridge.stop().context("the emulator ended before its time")?;
    Ok(CaseResult { snapshot: Box::new(snapshot), data_plane, sent, came })
}

/// Waits until the emulator has received and let go of everything.
fn settle(bridge: &LiveBridge, sent: u64, patience: StdDuration) -> Result<()> {
    let begin = Instant::now();
    loop {
        let snapshot = bridge.control().snapshot().context("the emulator has ended")?;
        let [received, queued] = [|ledger: &Ledger| ledger.received, |ledger: &Ledger| ledger.queued]
            .map(|of| snapshot.directions.iter().map(|way| of(&way.ledger)).sum::<u64>());
        let is_settled = received >= sent && queued == 0;
        std::thread::sleep(POLL_INTERVAL);
        if is_settled || begin.elapsed() > patience {
            return Ok(());
        }
    }
}

/// What a case gave.
pub(crate) struct CaseResult {
    snapshot: Box<Snapshot>,
    data_plane: &'static str,
    sent: Offered,
    came: Vec<ReceivedFrames>,
}

impl CaseResult {
    /// What is to be kept of it; `link_p50_ns` as [`link`] has found it.
    pub(crate) fn judged(
        &self,
        case: &Case,
        link_p50_ns: Option<f64>,
        circumstances: Circumstances,
    ) -> Emulated {
        let ways = &self.snapshot.directions;
        let all = |of: fn(&Ledger) -> u64| ways.iter().map(|way| of(&way.ledger)).sum::<u64>();
        let asked = all(|ledger| ledger.lost_for(Cause::Model));
        let lost = all(Ledger::lost_in_all);
        let is_plain = case.table != CaseGroup::Everything;
        let external = case.target.constant().filter(|_| is_plain).and_then(|fixed| {
            let latencies = self.came.iter().flat_map(|came| &came.latencies);
            Lateness::from_values(&latencies.map(|latency| latency - fixed).collect::<Vec<_>>())
        });
        Emulated {
            circumstances,
            case: *case,
            data_plane: self.data_plane,
            offered_pps: self.sent.pps,
            sent: self.sent.frames,
            received: all(|ledger| ledger.received),
            copies: all(|ledger| ledger.duplicates_created),
            transmitted: all(|ledger| ledger.transmitted),
            lost,
            dropped: lost - asked,
            came: self.came.iter().map(|came| came.frames).sum(),
            hold_error_p50_ns: ways[0].delay_error.median,
            hold_error_p99_ns: ways[0].delay_error.p99,
            external,
            link_p50_ns,
        }
    }
}

/// How long the frames of a case take to where the emulator would receive them, in the median.
pub(crate) fn link(line: &Testbed, case: &Case, interrupted: &AtomicBool) -> Result<Option<f64>> {
    let load = FrameLoad { octets: case.octets, pps: Some(case.pps), length: LENGTH };
    let (_, came) = exchange(line, case.table.ways(), &line.ports()?, load, interrupted, |_| {
        std::thread::sleep(POLL_INTERVAL);
        Ok(())
    })?;
    let latencies: Vec<_> = came.iter().flat_map(|came| &came.latencies).copied().collect();
    Ok(Lateness::from_values(&latencies).map(|latency| latency.p50_ns))
}

/// Both ways without an emulator: at the full rate, and as fast as can be.
pub(crate) fn alone(line: &Testbed, interrupted: &AtomicBool) -> Result<[(Offered, u64); 2]> {
    let ports = line.ports()?;
    let through = |pps| -> Result<(Offered, u64)> {
        let load = FrameLoad { octets: 64, pps, length: LENGTH };
        let (sent, came) = exchange(line, 2, &ports, load, interrupted, |_| {
            std::thread::sleep(POLL_INTERVAL);
            Ok(())
        })?;
        Ok((sent, came.iter().map(|came| came.frames).sum()))
    };
    Ok([through(Some(MAX_PACKETS_PER_SECOND))?, through(None)?])
}

/// Runs `romer emulate` at the full rate and 100 ms, and looks at its memory. Gives what was sent with it.
pub(crate) fn resident(
    line: &Testbed,
    program: &Path,
    interrupted: &AtomicBool,
) -> Result<(Offered, Memory)> {
    let mut command = Hosts::command(&line.names[1], program)?;
    command.args(["emulate", "--port", "a=e0", "--port", "b=e1", "--delay", "100ms"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut emulator = Running(command.spawn().context("cannot start romer emulate")?);
    let output = emulator.0.stdout.take().context("romer emulate has no output")?;
    let mut output = BufReader::new(output);
    let mut first = String::new();
    output.read_line(&mut first).context("cannot read what romer emulate says")?;
    if !first.starts_with("emulating") {
        bail!("romer emulate does not begin");
    }
    let id = emulator.0.id();
    let done = AtomicBool::new(false);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut looks = Vec::new();
            while !done.load(Ordering::Acquire) {
                looks.extend(Usage::sample(id, begin.elapsed()));
                std::thread::sleep(super::POLL_INTERVAL);
            }
            looks
        });
        let [left, right] = line.ends()?;
        let load = FrameLoad { octets: 64, pps: Some(MAX_PACKETS_PER_SECOND), length: MEMORY };
        let sent = exchange(line, 1, &[right, left], load, interrupted, |_| Ok(()));
        done.store(true, Ordering::Release);
        let looks = watch.join().ok().context("the watch has failed")?;
        Ok((sent?.0, Memory::from_samples(&looks, MEMORY)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_accounts_for_is_counted() {
        let whole = crate::results::emulated::tests::emulated(1, cases()[0]);
        assert_eq!(whole.unaccounted(), 0);
        assert_eq!(Emulated { came: 97, ..whole.clone() }.unaccounted(), 1);
        assert_eq!(Emulated { received: 99, ..whole }.unaccounted(), 2);
    }
}
