//! How large romer's own error is.
//!
//! Two hosts are made on this machine with nothing between them but a pair of virtual links, over which a packet takes
//! next to no time. What is measured there is the tool's own error. See `README.md` beside this crate.

mod analyse;
mod circumstances;
mod clock;
mod closed_loop;
mod figures;
mod hosts;
mod in_packet;
mod machine;
mod page;
mod parameters;
mod peers;
mod reflect;
mod reservation;
mod results;
mod romer_runner;
mod scale;
mod steal_log;
mod suite;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, SystemTime};

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use romer_host::{host_info, process, userns};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use hosts::Hosts;
use machine::Machine;
use parameters::ACCURACY;
use results::{Claim, Results};
use romer_runner::Interrupted;
use suite::Suite;

/// A claim does not hold.
const BROKEN: u8 = 6;
/// The environment does not allow the measurement.
const ENVIRONMENT: u8 = 4;
const INTERRUPTED: u8 = 130;
/// Runs and probes of what is published.
const RUNS: u32 = 5;
const PROBES: u64 = 1_000;
/// Plays of each scenario of clocks.
const PLAYS: u32 = 200;
/// Packets of a run that is analysed.
const PACKETS: u64 = 10_000_000;
/// Seconds for which reservations are held: 20 refresh periods.
const HOLD: u64 = 600;
/// Probes to each of two responders, one of which answers in the kernel.
const REFLECTED: u64 = 1_000_000;
/// Probes with in-packet stamps.
const STAMPED: u32 = 1_000_000;
const RESULTS: &str = "validation/results";
/// Where `scripts/peers` puts it.
const STAMP_SUITE: &str = ".tools/bin/stamp-suite";

/// Measures how large romer's own error is.
#[derive(Debug, Parser)]
struct Arguments {
    /// What to measure.
    #[arg(value_enum, default_value_t = SuitePart::All)]
    part: SuitePart,
    /// How often.
    #[arg(long, default_value_t = RUNS, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Probes of each sample of the tables.
    #[arg(long, default_value_t = PROBES, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    probes: u64,
    /// How many seconds this machine is given to come to rest before each measurement.
    #[arg(long, default_value_t = 60)]
    patience: u64,
    /// How often each scenario of clocks is played.
    #[arg(long, default_value_t = PLAYS, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    plays: u32,
    /// Only this scenario of clocks (S1 to S15, S1/10ms, S1/120s, drawn; repeatable): what it gives is shown, and not published.
    #[arg(long = "scenario", value_name = "NAME", value_parser = clock::scenario)]
    scenarios: Vec<String>,
    /// The seed of the first play of each scenario of clocks; the next has the next.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    first_seed: u32,
    /// Only rows of clock-events whose name contains this (repeatable): the result is shown, and not published.
    #[arg(long = "row", value_name = "TEXT")]
    rows: Vec<String>,
    /// Methods of `--skew` for clock-events (repeatable); the first is the reference of the others.
    #[arg(long = "method", value_name = "METHOD", default_value = "best")]
    methods: Vec<String>,
    /// Packets of a run that is analysed.
    #[arg(long, default_value_t = PACKETS, value_parser = clap::value_parser!(u64).range(1_000..=50_000_000))]
    packets: u64,
    /// For how many seconds reservations are held.
    #[arg(long, default_value_t = HOLD, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    hold: u64,
    /// Folder of recorded links in mahimahi's format (`*.up`, `*.down`), for the closed loop.
    #[arg(long, value_name = "FOLDER")]
    traces: Option<PathBuf>,
    /// Look at a voice stream for an hour, not for a minute that an hour is told from.
    #[arg(long)]
    long: bool,
    /// Where the results go. Without, a part that is published is replaced by a whole measurement of it only (5 runs of
    /// 1000 probes or more), and anything less is just shown.
    #[arg(long)]
    out: Option<PathBuf>,
    /// This process is in a user namespace of its own already.
    #[arg(long, hide = true)]
    rootless: bool,
}

/// A part of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SuitePart {
    /// Everything.
    All,
    /// The tool's own error, and that of other programs beside it: tables, wake and peers.
    Accuracy,
    /// Round trips by user and kernel stamps: tables I and II of Chen et al. 2013.
    Tables,
    /// How late the sender wakes.
    Wake,
    /// Other programs, and `romer measure`, beside the engine: ping, irtt, iperf 2, D-ITG, sockperf, stamp-suite.
    Peers,
    /// 100,000 one-way probes a second, iperf 2 beside them.
    Fast,
    /// 200 targets in one process, one target alone beside them.
    Many,
    /// What a voice stream costs, irtt beside it.
    Voice,
    /// The benchmark's generator and analyser on a link, trafgen and iperf 3 beside them, and a sweep of the lab's router.
    Bench,
    /// How well the emulator holds packets, at which rates: Pham 2004's tables 7.2 to 7.7.
    Emulate,
    /// Replies from the kernel, beside those of the responder's thread.
    Reflect,
    /// In-packet time stamps, beside those of the kernel and of user space.
    InPacket,
    /// Every method of `--skew` over simulated clocks: no packet is sent.
    Clock,
    /// Rates, events and delays by the estimate of the clocks in simulated runs with known truth: no packet is sent.
    ClockEvents,
    /// How long the analysis of ten million packets takes, and in how much memory: no packet is sent.
    Analyse,
    /// The closed loop: paths are measured, modelled, emulated and compared at other packet spacings: no packet is sent.
    Loop,
    /// A call with and without a reservation on the lab's router (Qtcp, appendix D), and the spacing of shaped streams.
    Reserve,
    /// Two hundred reservations that are refreshed: a part of `make soak`, and not of everything.
    Hold,
}

impl SuitePart {
    /// Whether it is computed, and needs no host.
    const fn is_computed(self) -> bool {
        matches!(self, Self::Clock | Self::ClockEvents | Self::Analyse | Self::Loop)
    }

    /// Whether it makes its hosts itself, by `romer lab`.
    const fn has_own_hosts(self) -> bool {
        matches!(self, Self::Reserve | Self::Hold)
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    machine: &'a Machine,
    claims: &'a [Claim],
    #[serde(flatten)]
    results: &'a Results,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) if error.is::<Interrupted>() => {
            complain("interrupted: nothing was written");
            ExitCode::from(INTERRUPTED)
        }
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::from(ENVIRONMENT)
        }
    }
}

fn run(arguments: &Arguments) -> Result<u8> {
    let computed = arguments.part.is_computed();
    if process::user() != 0 && !arguments.rootless && !computed {
        return in_a_user_namespace();
    }
    if arguments.rootless {
        userns::own_names().context("cannot keep namespaces of our own")?;
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register(signal, Arc::clone(&interrupted)).context("cannot listen for signals")?;
    }
    if arguments.part == SuitePart::ClockEvents {
        return clock_events(arguments, &interrupted);
    }
    let started_unix_s = unix_time();
    let mut results = if computed || arguments.part.has_own_hosts() {
        Results::default()
    } else {
        measured(arguments, &interrupted)?
    };
    if matches!(arguments.part, SuitePart::All | SuitePart::Clock) {
        let wanted = clock::Wanted {
            plays: arguments.plays as usize,
            first_seed: arguments.first_seed,
            scenarios: &arguments.scenarios,
        };
        results.clocks = Some(clock::run(&wanted, &interrupted, &say)?);
    }
    if matches!(arguments.part, SuitePart::All | SuitePart::Analyse) {
        match program() {
            Some(program) => {
                results.analysed = analyse::run(&program, arguments.packets, &interrupted, &say)?;
            }
            None => say(
                "note: there is no romer beside this program (cargo build --release -p romer): the analysis is left out",
            ),
        }
    }
    if matches!(arguments.part, SuitePart::All | SuitePart::Loop) {
        results.loops = Some(closed_loop::run(arguments.traces.as_deref(), &interrupted, &say)?);
    }
    reserve(arguments, &interrupted, &mut results)?;
    conclude(arguments, &results, started_unix_s)
}

/// Compares the estimate of the clocks with the truth of simulated runs. A part of the rows, or of the plays, is shown only.
fn clock_events(arguments: &Arguments, interrupted: &AtomicBool) -> Result<u8> {
    let plan = romer_clock_events::Plan {
        plays: arguments.plays,
        first_seed: arguments.first_seed,
        rows: arguments.rows.clone(),
        methods: arguments.methods.clone(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let results = match romer_clock_events::run(&plan, interrupted, &say) {
        Err(_) if interrupted.load(Ordering::Acquire) => bail!(Interrupted),
        other => other?,
    };
    let whole = arguments.plays >= PLAYS && arguments.rows.is_empty() && arguments.first_seed == 1;
    match arguments.out.clone().or_else(|| whole.then(|| PathBuf::from(RESULTS))) {
        Some(folder) => {
            results.write(&folder)?;
            say(&format!("written: {0}/clock-events.md, {0}/clock-events.csv", folder.display()));
        }
        None => say(&results.page()),
    }
    Ok(0)
}

/// What is measured on the lab's router.
fn reserve(arguments: &Arguments, interrupted: &AtomicBool, results: &mut Results) -> Result<()> {
    let reserves = matches!(arguments.part, SuitePart::All | SuitePart::Reserve);
    let holds = arguments.part == SuitePart::Hold;
    if !reserves && !holds {
        return Ok(());
    }
    let Some(program) = program() else {
        say(
            "note: there is no romer beside this program (cargo build --release -p romer): reservations are left out",
        );
        return Ok(());
    };
    if reserves {
        results.reservations = Some(reservation::run(&program, arguments.runs, interrupted, &say)?);
    }
    if holds {
        let length = StdDuration::from_secs(arguments.hold);
        results.held = Some(reservation::hold(&program, length, interrupted, &say)?);
    }
    Ok(())
}

/// What is measured between two hosts.
fn measured(arguments: &Arguments, interrupted: &Arc<AtomicBool>) -> Result<Results> {
    let plan = plan(arguments);
    if plan.needs_program() && plan.program.is_none() {
        say(
            "note: there is no romer beside this program (cargo build --release -p romer): what needs it is left out",
        );
    }
    if plan.peers && plan.stamp_suite.is_none() {
        say("note: there is no stamp-suite (scripts/peers builds it): it is left out");
    }
    let hosts = Hosts::make()?;
    let mut results = suite::carry_out(&plan, &hosts, interrupted, &say)?;
    if matches!(arguments.part, SuitePart::All | SuitePart::Reflect) {
        results.reflected = reflect::run(&hosts, REFLECTED, interrupted, &say)?;
    }
    // The last, because it changes the links.
    if matches!(arguments.part, SuitePart::All | SuitePart::InPacket) {
        results.stamped = in_packet::run(&hosts, STAMPED, interrupted, &say)?;
    }
    Ok(results)
}

fn conclude(arguments: &Arguments, results: &Results, started_unix_s: u64) -> Result<u8> {
    let machine = Machine {
        started_unix_s,
        ended_unix_s: unix_time(),
        software: romer_record::SOFTWARE,
        kernel: host_info::kernel_release().unwrap_or_default(),
        processor: processor(),
        cores: host_info::processors(),
        clock_source: host_info::clock_source().unwrap_or_default(),
        root: !arguments.rootless,
        runs: arguments.runs,
        probes: arguments.probes,
    };
    let mut code = 0;
    for (group, results) in results.groups() {
        let claims = results.claims();
        let page = page::page(&machine, &results, &claims);
        say("");
        say(&page);
        if let Some(folder) = folder(arguments, group) {
            let document = Document {
                schema: "romer/accuracy/1",
                machine: &machine,
                claims: &claims,
                results: &results,
            };
            write(&folder, group, &page, &document)?;
            say(&format!("written: {0}/{group}.md, {0}/{group}.json", folder.display()));
        }
        for claim in claims.iter().filter(|claim| !claim.passed) {
            complain(&format!("not held: {}: {}: {}", claim.claim, claim.subject, page::verdict(claim)));
            code = BROKEN;
        }
    }
    Ok(code)
}

/// Where a group of results goes: what is published is replaced by a whole measurement of the group only.
fn folder(arguments: &Arguments, group: &str) -> Option<PathBuf> {
    let alone = matches!(arguments.part, SuitePart::Tables | SuitePart::Wake) && group == ACCURACY;
    let enough = if group == "clock" {
        arguments.plays >= PLAYS && arguments.scenarios.is_empty() && arguments.first_seed == 1
    } else if group == "analyse" {
        arguments.packets >= PACKETS
    } else if matches!(group, "loop" | "reflect" | "in-packet") {
        true
    } else if group == "hold" {
        arguments.hold >= HOLD
    } else {
        arguments.runs >= RUNS && arguments.probes >= PROBES
    };
    let whole = !alone && enough;
    arguments.out.clone().or_else(|| whole.then(|| PathBuf::from(RESULTS)))
}

fn plan(arguments: &Arguments) -> Suite {
    let accuracy = arguments.part == SuitePart::Accuracy;
    let wants = |part| arguments.part == SuitePart::All || arguments.part == part;
    Suite {
        runs: arguments.runs,
        probes: arguments.probes,
        tables: accuracy || wants(SuitePart::Tables),
        wakes: accuracy || wants(SuitePart::Wake),
        peers: accuracy || wants(SuitePart::Peers),
        fast: wants(SuitePart::Fast),
        many: wants(SuitePart::Many),
        voice: wants(SuitePart::Voice),
        bench: wants(SuitePart::Bench),
        emulate: wants(SuitePart::Emulate),
        long: arguments.long,
        patience: StdDuration::from_secs(arguments.patience),
        stamp_suite: Some(PathBuf::from(STAMP_SUITE)).filter(|program| program.exists()),
        program: program(),
    }
}

/// The `romer` beside this program.
fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    Some(own.with_file_name("romer")).filter(|program| program.exists())
}

/// Runs this program again where it has the rights it needs.
fn in_a_user_namespace() -> Result<u8> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(std::env::args_os().skip(1)).arg("--rootless");
    let status = userns::into_command(command)
        .status()
        .context("cannot make a user namespace; run this as root, or allow unprivileged user namespaces")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn write(folder: &Path, group: &str, page: &str, document: &Document<'_>) -> Result<()> {
    let failed = || format!("cannot write the results to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(failed)?;
    std::fs::write(folder.join(format!("{group}.md")), page).with_context(failed)?;
    let mut text = serde_json::to_string_pretty(document).context("cannot write JSON")?;
    text.push('\n');
    std::fs::write(folder.join(format!("{group}.json")), text).with_context(failed)
}

/// The processor's name, as the kernel has it.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name"));
    line.and_then(|line| line.split_once(": ")).map_or_else(String::new, |(_, name)| name.trim().to_owned())
}

fn unix_time() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A line for whoever looks on. A reader that has gone away is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
