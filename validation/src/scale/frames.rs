//! The benchmark of a device: what generator and analyser hold together on a link, how late frames leave, what of a
//! latency is the tester's own, and how long a sweep of the laboratory's router takes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, bail};
use romer_host::netns;
use romer_metrics::summary;
use romer_record::benchmark::{Baseline, Benchmark, Difference, Overall, Trial};
use romer_units::Duration;
use serde::Serialize;
use serde_json::Value;

use super::to_the_end;
use crate::circumstances::Circumstances;
use crate::figures::Figures;
use crate::hosts::{FAR, Hosts, NEAR};
use crate::romer_runner::{self, RoundTrips};

/// 148,809 frames of 64 octets a second, as `romer bench` takes it.
const LINE: &str = "100Mbit";
/// More than any generator of this kind sends.
const BEYOND: &str = "1000Mbit";
/// Nobody's, so that no host answers test frames.
const UNUSED_MAC: &str = "02:00:00:18:00:66";
/// Where test frames go, beside the far host.
const UNUSED_ADDRESS: &str = "198.18.7.66";
/// How long others send.
const PEERS: StdDuration = StdDuration::from_secs(3);
/// Frames that trafgen is to send, and octets of its frames without check sequence.
const TRAFGEN: u64 = 600_000;
/// Probes whose delays by the kernel's stamps are the floor, and octets of their IP packets, the smallest of their kind.
const PROBES: u64 = 5_000;
const PROBE: u32 = 72;
/// Sizes, loads and cases of the sweep.
pub(crate) const SWEEP: [&str; 2] = ["64,128,512,1024,1518", "10%..100%:10%"];

/// One run on the link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Frames {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    /// At 148,809 a second: frames of the schedule, sent, lost, and with their latency.
    pub(crate) requested: u64,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    pub(crate) with_latency: u64,
    /// The greatest rate at which nothing is lost.
    pub(crate) highest_pps: Option<f64>,
    /// What came of trafgen's frames, a second.
    pub(crate) trafgen_pps: f64,
    /// What iperf 3 sends a second, and the share of it that is lost.
    pub(crate) iperf3_pps: f64,
    pub(crate) iperf3_lost_ratio: f64,
    /// At 14,881 a second: how late frames leave, and the longest gap of the host.
    pub(crate) lateness_p50_ns: f64,
    pub(crate) lateness_p99_ns: f64,
    pub(crate) longest_gap_ns: i64,
    /// What of a latency is the tester's own.
    pub(crate) baseline: Baseline,
    /// One way over the same link by the kernel's stamps, which nothing above the kernel can undercut.
    pub(crate) floor: Floor,
}

/// Delays of one way by the kernel's stamps, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Floor {
    #[serde(flatten)]
    pub(crate) figures: Figures,
    pub(crate) median_ns: f64,
}

impl Floor {
    /// Of probes that go over the link.
    fn measure(hosts: &Hosts, interrupted: &AtomicBool) -> Result<Self> {
        let responder = romer_runner::respond(hosts)?;
        let rows = romer_runner::measure(hosts, PROBES, Duration::from_millis(1), PROBE, interrupted)?;
        drop(responder);
        Self::from_delays(&RoundTrips::from_rows(&rows).forward)
            .context("no probe of the floor has the kernel's stamps")
    }

    fn from_delays(delays: &[i64]) -> Option<Self> {
        Some(Self { figures: Figures::from_values(delays)?, median_ns: summary(delays).median? })
    }
}

/// What was found on the link, but for the circumstances.
#[derive(Clone, Debug)]
pub(crate) struct LinkResult {
    whole: Trial,
    late: Trial,
    highest_pps: Option<f64>,
    baseline: Baseline,
    floor: Floor,
}

impl LinkResult {
    /// With what others reach.
    pub(crate) fn beside(self, circumstances: Circumstances, trafgen_pps: f64, iperf3: [f64; 2]) -> Frames {
        let Self { whole, late, highest_pps, baseline, floor } = self;
        Frames {
            circumstances,
            requested: whole.intended_load.frames,
            sent: whole.offered.frames,
            lost: whole.lost,
            with_latency: whole.latency_ns.count,
            highest_pps,
            trafgen_pps,
            iperf3_pps: iperf3[0],
            iperf3_lost_ratio: iperf3[1],
            lateness_p50_ns: late.lateness_ns.median.unwrap_or(f64::INFINITY),
            lateness_p99_ns: late.lateness_ns.p99.unwrap_or(f64::INFINITY),
            longest_gap_ns: late.host_gaps.longest_ns.unwrap_or_default(),
            baseline,
            floor,
        }
    }
}

/// Sends over the link between the two hosts.
pub(crate) fn run(hosts: &Hosts, program: &Path, interrupted: &AtomicBool) -> Result<LinkResult> {
    let at = |load: &str| {
        let words = ["latency", "--line-rate", LINE, "--loads", load, "--trial", "10s"];
        let document = link(hosts, program, &words, interrupted)?;
        document.trials.into_iter().next_back().context("there was no trial")
    };
    let (whole, late) = (at("100%")?, at("10%")?);
    let words = ["throughput", "--line-rate", BEYOND, "--trial", "2s", "--search-trial", "500ms"];
    let search = link(hosts, program, &[&words[..], &["--resolution", "1%"]].concat(), interrupted)?;
    let found = search.results.iter().find(|result| result.quantity == "throughput_pps");
    let own = link(hosts, program, &["self-test", "--line-rate", LINE, "--trial", "1s"], interrupted)?;
    let baseline = own.calibration.context("the self-test tells no baseline")?;
    let floor = Floor::measure(hosts, interrupted)?;
    Ok(LinkResult { whole, late, highest_pps: found.and_then(|result| result.mean), baseline, floor })
}

/// A benchmark whose ports are the two ends of the link.
fn link(hosts: &Hosts, program: &Path, words: &[&str], interrupted: &AtomicBool) -> Result<Benchmark> {
    let mut command = Hosts::command(&hosts.near, program)?;
    command.arg("bench").args(words).args(["--tx", "v0", "--rx"]).arg(format!("{}/v1", hosts.far));
    command.args(["--source", &NEAR.to_string(), "--destination", UNUSED_ADDRESS, "--next-hop", UNUSED_MAC]);
    command.args(["--settle", "200ms"]);
    if words.first() != Some(&"self-test") {
        command.args(["--frame-sizes", "64", "--skip-self-test"]);
    }
    document(command, interrupted)
}

fn document(mut command: Command, interrupted: &AtomicBool) -> Result<Benchmark> {
    let folder = tempfile::tempdir().context("cannot make a folder for a benchmark")?;
    let run = folder.path().join("run");
    command.arg("--quiet").arg("--out").arg(&run);
    let ended = to_the_end(command, super::POLL_INTERVAL, interrupted, |_, _| ());
    // A test of the tester that was not held ends with a code of its own, and what it came to is there.
    let document = run.join("benchmark.json");
    if !document.exists() || interrupted.load(Ordering::Acquire) {
        ended?;
    }
    let text = fs::read_to_string(document).context("a benchmark left no document")?;
    serde_json::from_str(&text).context("cannot read a benchmark's document")
}

/// Frames that come of trafgen's, a second.
pub(crate) fn trafgen(hosts: &Hosts) -> Result<f64> {
    let folder = tempfile::tempdir().context("cannot make a folder for trafgen")?;
    let file = folder.path().join("frame.cfg");
    let frame = "{ 0x02,0x00,0x00,0x18,0x00,0x66, 0x02,0x00,0x00,0x18,0x00,0x02, 0x08,0x00, fill(0,46) }\n";
    fs::write(&file, frame).context("cannot write trafgen's frame")?;
    let mut command = Hosts::command(&hosts.near, "trafgen")?;
    command.args(["--dev", "v0", "--cpus", "1", "--num", &TRAFGEN.to_string(), "--conf"]).arg(&file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (before, begin) = (arrived(hosts)?, Instant::now());
    let status = command.status().context("cannot start trafgen; it is in the package netsniff-ng")?;
    let seconds = begin.elapsed().as_secs_f64();
    if !status.success() {
        bail!("trafgen ended with {status}");
    }
    Ok(real(arrived(hosts)?.saturating_sub(before)) / seconds)
}

/// Frames that the far host's end has received.
fn arrived(hosts: &Hosts) -> Result<u64> {
    let read = || fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    received(&netns::with_namespace(&hosts.far, read)?, "v1").context("the link has no counters")
}

/// The frames that an interface has received, by the kernel's table.
fn received(table: &str, interface: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// What iperf 3 sends a second as fast as it can, and the share that is lost.
pub(crate) fn iperf3(hosts: &Hosts) -> Result<[f64; 2]> {
    let mut server = Hosts::command(&hosts.far, "iperf3")?;
    server.args(["-s", "-1", "-B", &FAR.to_string()]);
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = super::Running(server.spawn().context("cannot start iperf3; its package has this name")?);
    crate::peers::ready_after(&hosts.far, "tcp", 5_201)?;
    let mut client = Hosts::command(&hosts.near, "iperf3")?;
    client.args(["-c", &FAR.to_string(), "-u", "-b", "0", "-l", "18", "-J"]);
    client.args(["-t", &PEERS.as_secs().to_string()]);
    let told = client.stdin(Stdio::null()).output().context("cannot run iperf3")?;
    drop(server);
    sums(&serde_json::from_slice(&told.stdout).context("iperf3 tells no JSON")?)
        .context("iperf3 tells no sums")
}

fn sums(document: &Value) -> Option<[f64; 2]> {
    let sum = document.pointer("/end/sum")?;
    let of = |name: &str| sum.get(name).and_then(Value::as_f64);
    let packets = of("packets").filter(|packets| *packets > 0.0)?;
    Some([packets / of("seconds").filter(|seconds| *seconds > 0.0)?, of("lost_packets")? / packets])
}

/// A sweep of the laboratory's router in three cases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Sweep {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    /// Places in each case, repeats, and trials in all.
    pub(crate) places: u64,
    pub(crate) repeats: u32,
    pub(crate) trials: u64,
    /// Of those, how many told nothing of the router.
    pub(crate) invalid: u64,
    pub(crate) seconds: f64,
    /// What each case costs over the one before it: the median latency at each place.
    pub(crate) differences: Vec<Difference>,
    /// The same over all sizes and loads together.
    pub(crate) overall: Vec<Overall>,
}

impl Sweep {
    /// The sizes and loads at which one case has a difference from another with an interval.
    pub(crate) fn places(&self, from: &str, to: &str) -> usize {
        let of = |one: &&Difference| (one.from.as_str(), one.to.as_str()) == (from, to);
        self.differences.iter().filter(of).filter(|one| one.interval.is_some()).count()
    }
}

/// The sweep, and how long it took.
pub(crate) fn sweep(program: &Path, interrupted: &AtomicBool) -> Result<(Benchmark, f64)> {
    let prefix = format!("rv{}", std::process::id());
    let lab = |words: &[&str]| {
        let status = Command::new(program)
            .arg("lab")
            .args(words)
            .args(["--prefix", &prefix])
            .stdout(Stdio::null())
            .status()
            .context("cannot start romer lab")?;
        if status.success() { Ok(()) } else { bail!("romer lab ended with {status}") }
    };
    lab(&["up", "router"])?;
    let mut command = Command::new(program);
    command.args(["lab", "run", "A", "--prefix", &prefix, "--"]).arg(program);
    command.args(["bench", "load-sweep", "--frame-sizes", SWEEP[0], "--loads", SWEEP[1]]);
    command.args(["--line-rate", "20Mbit", "--trial", "1s", "--repeat", "5"]);
    command.args(["--tx", &format!("{prefix}A/t0"), "--rx", &format!("{prefix}B/t1")]);
    for case in ["none", "classify", "remark"] {
        let set = format!("{case}='{}' lab case {case} --prefix {prefix}", program.display());
        command.args(["--case", &set]);
    }
    let begin = Instant::now();
    let found = document(command, interrupted);
    let seconds = begin.elapsed().as_secs_f64();
    lab(&["down"])?;
    Ok((found?, seconds))
}

/// What the sweep says.
pub(crate) fn swept(document: &Benchmark, seconds: f64, circumstances: Circumstances) -> Sweep {
    let forwarded = document.results.iter().filter(|result| result.quantity == "forwarded_percent");
    let first = document.results.first().map(|result| result.case.clone()).unwrap_or_default();
    let latency = document.differences.iter().filter(|one| one.quantity == "latency_median_ns");
    Sweep {
        circumstances,
        places: forwarded.filter(|result| result.case == first).count() as u64,
        repeats: document.setup.repeats,
        trials: document.trials.len() as u64,
        invalid: document.trials.iter().filter(|trial| trial.invalid.is_some()).count() as u64,
        seconds,
        differences: latency.cloned().collect(),
        overall: document.overall.iter().filter(|one| one.quantity == "latency_median_ns").cloned().collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of frames are below 2^53")]
const fn real(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::circumstances;
    use crate::steal_log::Condition;

    #[test]
    fn the_tables_and_sums_of_others_are_read() {
        let table = "Inter-|   Receive\n face |bytes    packets errs\n    lo:       0       0    0\n    v1: 5000 70 0 0\n";
        assert_eq!(received(table, "v1"), Some(70));
        assert_eq!(received(table, "v2"), None);
        let told = serde_json::json!({"end": {"sum": {"packets": 300, "lost_packets": 30, "seconds": 3.0}}});
        let [rate, lost] = sums(&told).unwrap();
        assert!((rate - 100.0).abs() < 1e-9 && (lost - 0.1).abs() < 1e-9);
        assert_eq!(sums(&serde_json::json!({"error": "x"})), None);
    }

    #[test]
    fn the_floor_is_of_delays_by_the_kernels_stamps() {
        let floor = Floor::from_delays(&[400, 500, 900, 600]).unwrap();
        assert_eq!((floor.figures.count, floor.figures.min_ns, floor.median_ns), (4, 400.0, 550.0));
        // Deviations -200, -100, 300, 0: the root of 140,000 / 4.
        assert!((floor.figures.stddev_ns - 35_000_f64.sqrt()).abs() < 1e-9, "{}", floor.figures.stddev_ns);
        assert_eq!(Floor::from_delays(&[]), None);
    }

    #[test]
    fn the_places_of_a_case_are_those_with_an_interval_over_the_one_that_is_meant() {
        let difference = |from: &str, interval| Difference {
            from: from.into(),
            to: "remark".into(),
            mean: Some(1.0),
            interval,
            ..Difference::default()
        };
        let known = Some([0.0, 1.0]);
        let sweep = Sweep {
            circumstances: circumstances(1, Condition::Idle),
            places: 3,
            repeats: 2,
            trials: 18,
            invalid: 0,
            seconds: 1.0,
            differences: vec![
                difference("classify", known),
                difference("none", known),
                difference("classify", known),
                difference("classify", None),
            ],
            overall: Vec::new(),
        };
        assert_eq!((sweep.places("classify", "remark"), sweep.places("none", "classify")), (2, 0));
    }
}
