//! Reservations on the laboratory's router, by the program in processes of its own: what a telephone call gains from one under cross
//! traffic (Qtcp, appendix D), how evenly the kernel and the program space packets, and whether two hundred reservations are held.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, bail};
use romer_analyze::reading;
use romer_endpoint::rsvp::{self, RsvpEnd};
use romer_host::clock::monotonic_now;
use romer_host::netns;
use romer_record::qtcp::QtcpReceiver;
use romer_rsvp::{
    Adspec, End, Filter, PayloadTraffic, QosService, Receiver, ReceiverConfig, RefreshPeriod, Sender,
    SenderConfig, Session, Tspec,
};
use romer_units::Duration;
use romer_units::random::Seed;
use romer_wire::ip::protocol::UDP;

use crate::results::reservation::{Held, Reservations, Spacing, Trial};
use crate::romer_runner::Interrupted;
use crate::scale::{Memory, Running, Usage, to_the_end};

/// The two ends of the lab.
const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const FAR: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 2);
/// The rate of the router's lines in the trials (Qtcp, appendix D).
const LINE: &str = "128kbit";
/// Calibration and measured packets of a trial.
const CALL: [&str; 2] = ["-c200", "-n1000"];
/// Token buckets of payload: octets per second, octets of a packet.
const BUCKETS: [(u32, u32); 2] = [(16_000, 64), (100_000, 1_472)];
/// Packets of which the spacing is measured.
const SPACED_PACKETS: &str = "500";
/// Reservations that are held, their first port, and the lines that carry them.
const HELD: u16 = 200;
const FIRST_PORT: u16 = 20_000;
const HELD_LINE: &str = "1Mbit";
/// Between two looks.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(50);
const SEED: Seed = Seed([2205, 2210, 2211, 2212, 2215, 4]);

/// A lab with a router, which is taken down when this is dropped.
struct Lab {
    program: PathBuf,
    prefix: String,
}

impl Lab {
    fn up(program: &Path) -> Result<Self> {
        let lab = Self { program: program.into(), prefix: format!("rvr{}", std::process::id()) };
        lab.lab(&["up", "router"])?;
        Ok(lab)
    }

    fn lab(&self, words: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("lab").args(words).args(["--prefix", &self.prefix]).stdout(Stdio::null());
        let status = command.status().context("cannot start romer lab")?;
        if status.success() { Ok(()) } else { bail!("romer lab ended with {status}") }
    }

    /// The program on a host.
    fn romer(&self, host: &str, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["lab", "run", host, "--prefix", &self.prefix, "--"]).arg(&self.program).args(words);
        command
    }

    /// The router that reserves, once it is ready, and what it prints.
    fn route(&self, rate: &str) -> Result<(Running, BufReader<ChildStdout>)> {
        let mut command = Command::new(&self.program);
        command.args(["lab", "case", "rsvp", "--rate", rate, "--prefix", &self.prefix]);
        ready(command, "reserving by RSVP")
    }

    /// The name of a host's network namespace.
    fn namespace(&self, host: &str) -> String {
        format!("{}{host}", self.prefix)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.lab(&["down"]);
    }
}

/// Starts a program in the background.
fn start(mut command: Command) -> Result<Running> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    Ok(Running(command.spawn().context("cannot start a program")?))
}

/// Starts a program, and waits for its first line.
fn ready(mut command: Command, line: &str) -> Result<(Running, BufReader<ChildStdout>)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut running = Running(command.spawn().context("cannot start a program")?);
    let mut output = BufReader::new(running.0.stdout.take().context("a program has no output")?);
    let mut first = String::new();
    output.read_line(&mut first).context("cannot read what a program says")?;
    if first.starts_with(line) { Ok((running, output)) } else { bail!("a program does not begin: {first:?}") }
}

/// Measures spacings and trials `runs` times.
pub(crate) fn run(
    program: &Path,
    runs: u32,
    interrupted: &AtomicBool,
    say: &impl Fn(&str),
) -> Result<Reservations> {
    let lab = Lab::up(program)?;
    let mut found = Reservations::default();
    for run in 1..=runs {
        let (_responder, _output) = ready(lab.romer("B", &["respond"]), "responding")?;
        for bucket in BUCKETS {
            for in_kernel in [false, true] {
                let spacing = spacing(&lab, run, bucket, in_kernel, interrupted)?;
                say(&crate::page::reservation::progress_spacing(&spacing));
                found.spacings.push(spacing);
            }
        }
    }
    let (_router, _output) = lab.route(LINE)?;
    let _sink = start(lab.romer("B", &["noise", "sink", "--quiet"]))?;
    for run in 1..=runs {
        for reserved in [false, true] {
            let trial = trial(&lab, run, reserved, interrupted)?;
            say(&crate::page::reservation::progress_trial(&trial));
            found.trials.push(trial);
        }
    }
    Ok(found)
}

/// The distance in time between arrivals of a stream that a token bucket shapes.
fn spacing(
    lab: &Lab,
    run: u32,
    (octets_per_second, payload): (u32, u32),
    in_kernel: bool,
    interrupted: &AtomicBool,
) -> Result<Spacing> {
    let folder = tempfile::tempdir().context("cannot make a folder for the run")?;
    let kept = folder.path().join("run");
    let (far, bucket) = (FAR.to_string(), format!("token-bucket:{octets_per_second}Bps,{payload}B"));
    let mut command = lab.romer("A", &["measure", &far, "--traffic", &bucket, "--count", SPACED_PACKETS]);
    command.args(["--direction", "forward", "--no-route", "--quiet", "--out"]).arg(&kept);
    if in_kernel {
        command.args(["--shape", "kernel"]);
    }
    to_the_end(command, POLL_INTERVAL, interrupted, |_, _| ())?;
    let mut rows = reading::read(&kept).and_then(|run| run.rows()).context("cannot read the run")?;
    let rows = rows.remove(&0).unwrap_or_default();
    let firsts = rows.iter().filter(|row| row.copy == 0);
    let mut arrivals: Vec<(u64, i64)> =
        firsts.filter_map(|row| Some((row.sequence, row.t2.kernel?.as_nanos()))).collect();
    arrivals.sort_unstable();
    let pairs = arrivals.windows(2).filter_map(|pair| match pair {
        [(first, earlier), (second, later)] if first + 1 == *second => Some(later - earlier),
        _ => None,
    });
    let mut gaps: Vec<i64> = pairs.collect();
    gaps.sort_unstable();
    let at = |share: usize| gaps.get(gaps.len().saturating_sub(1) * share / 100).copied();
    let ideal_ns = f64::from(payload) / f64::from(octets_per_second) * 1e9;
    let close = gaps.iter().filter(|gap| (real(**gap) / ideal_ns - 1.0).abs() <= 0.05);
    Ok(Spacing {
        run,
        in_kernel,
        payload,
        octets_per_second,
        gaps: gaps.len() as u64,
        ideal_ns,
        within_5_percent: close.count() as u64,
        p1_ns: at(1).context("no packet arrived")?,
        median_ns: at(50).context("no packet arrived")?,
        p99_ns: at(99).context("no packet arrived")?,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a gap of less than an hour")]
const fn real(nanos: i64) -> f64 {
    nanos as f64
}

/// A call of 64-octet packets at 3 kB/s over a line with 100 kbit/s of other traffic, which starts after the calibration.
fn trial(lab: &Lab, run: u32, reserved: bool, interrupted: &AtomicBool) -> Result<Trial> {
    let folder = tempfile::tempdir().context("cannot make a folder for the results")?;
    let file = folder.path().join("received.json");
    let far = FAR.to_string();
    let mut receiver = lab.romer("B", &["qtcp", "-r", "-k0", "-P", "--quiet"]);
    receiver.args(CALL).arg("--json").arg(&file);
    let mut receiver = start(receiver)?;
    let noise = ["noise", "source", &far, "--mix", "imix:simple", "--rate", "100kbit", "--layer", "l3"];
    let mut noise = lab.romer("A", &noise);
    noise.args(["--quiet", "--after", &far]);
    let _noise = start(noise)?;
    let mut sender = lab.romer("A", &["qtcp", "-t", &far, "-l64", "-R3", "-y", "--quiet"]);
    sender.args(CALL);
    if reserved {
        sender.args(["-S", "GR"]);
    }
    to_the_end(sender, POLL_INTERVAL, interrupted, |_, _| ())?;
    while receiver.0.try_wait().context("cannot wait for the receiver")?.is_none() {
        if interrupted.load(Ordering::Acquire) {
            bail!(Interrupted);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let text = std::fs::read_to_string(&file).context("the receiver has written no results")?;
    let document: QtcpReceiver = serde_json::from_str(&text).context("cannot read the receiver's results")?;
    let delay = document.measured.queuing_delay_ns.context("no packet arrived")?;
    Ok(Trial {
        run,
        reserved,
        received: document.measured.packets,
        lost: document.measured.lost,
        median_ns: delay.median,
        p99_ns: delay.p99,
        max_ns: delay.max,
    })
}

/// Holds [`HELD`] reservations for `length`, with refreshes, and watches the memory of the router.
pub(crate) fn hold(
    program: &Path,
    length: StdDuration,
    interrupted: &AtomicBool,
    say: &impl Fn(&str),
) -> Result<Held> {
    let lab = Lab::up(program)?;
    let (router, output) = lab.route(HELD_LINE)?;
    let [reserved, removed, refused] = [const { AtomicU64::new(0) }; 3];
    let held = std::thread::scope(|scope| {
        scope.spawn(|| {
            for line in output.lines().map_while(Result::ok) {
                for (begin, count) in
                    [("reserved: ", &reserved), ("removed: ", &removed), ("refused: ", &refused)]
                {
                    count.fetch_add(u64::from(line.starts_with(begin)), Ordering::Relaxed);
                }
            }
        });
        let held = hold_ends(&lab, router.0.id(), length, interrupted);
        let counts = [&reserved, &removed, &refused].map(|count| count.load(Ordering::Relaxed));
        // The thread ends with what the router prints.
        drop(router);
        held.map(|memory| (memory, counts))
    });
    let (memory, [reserved, removed, refused]) = held?;
    let held = Held { flows: HELD.into(), seconds: length.as_secs(), reserved, removed, refused, memory };
    say(&crate::page::reservation::progress_held(&held));
    Ok(held)
}

/// Runs both ends of all flows for `length`. Gives the memory of process `router`.
fn hold_ends(lab: &Lab, router: u32, length: StdDuration, interrupted: &AtomicBool) -> Result<Memory> {
    let mut senders = Vec::new();
    let mut receivers = Vec::new();
    let begin = Instant::now();
    for port in (FIRST_PORT..).take(usize::from(HELD)) {
        receivers.push(receiver(lab, port)?);
        senders.push(sender(lab, port)?);
    }
    let mut looks = Vec::new();
    while begin.elapsed() < length {
        if interrupted.load(Ordering::Acquire) {
            bail!(Interrupted);
        }
        let now = monotonic_now();
        // What is lost is seen at the router.
        senders.iter_mut().for_each(|sender| drop(sender.poll(now)));
        receivers.iter_mut().for_each(|receiver| drop(receiver.poll(now)));
        looks.extend(Usage::sample(router, begin.elapsed()));
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(Memory::from_samples(&looks, length))
}

fn session(port: u16) -> Result<Session> {
    Session::new(FAR, UDP, port).context("no session")
}

/// How long an end waits for the other one: they begin at once.
const WAIT: Duration = Duration::from_secs(30);

fn sender(lab: &Lab, port: u16) -> Result<RsvpEnd<Sender>> {
    let traffic = PayloadTraffic { payload: 64, rate: 64.0, bucket: 64.0, policed_unit: 64, packet_size: 64 };
    let config = SenderConfig {
        session: session(port)?.with_e_police(true),
        source: Filter::new(NEAR, port).context("no source")?,
        tspec: Tspec::prorated(&traffic).context("no traffic")?,
        adspec: Some(Adspec::announce(1_500, &[QosService::Guaranteed, QosService::ControlledLoad])),
        period: RefreshPeriod::DEFAULT,
        wait: WAIT,
    };
    let (machine, actions) = Sender::start(config, seed(port), monotonic_now()).context("no sender")?;
    at_host(lab, "A", machine, actions)
}

fn receiver(lab: &Lab, port: u16) -> Result<RsvpEnd<Receiver>> {
    let config = ReceiverConfig {
        session: session(port)?,
        address: FAR,
        service: None,
        confirm: true,
        mtu: 1_500,
        period: RefreshPeriod::DEFAULT,
        wait: WAIT,
    };
    let machine = Receiver::start(config, seed(port), monotonic_now()).context("no receiver")?;
    at_host(lab, "B", machine, Vec::new())
}

/// An end with a socket of a host of the lab.
fn at_host<E: End>(lab: &Lab, host: &str, machine: E, actions: Vec<E::Action>) -> Result<RsvpEnd<E>> {
    let socket = netns::with_namespace(&lab.namespace(host), rsvp::open)?.context("cannot open a socket")?;
    let (end, _) = RsvpEnd::start(machine, actions, socket);
    Ok(end)
}

/// The seed of a flow's refreshes.
fn seed(port: u16) -> Seed {
    let [first, rest @ ..] = SEED.0;
    let [a, b, c, d, e] = rest;
    Seed([first + u32::from(port), a, b, c, d, e])
}
