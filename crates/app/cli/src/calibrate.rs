//! `romer calibrate`: the tool's own error, measured in a laboratory and kept.

mod common_event;

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use romer_calibrate::{
    CalibrateError, CalibrationOptions, ClockOptions, RunAtRate, choose, this_machine, unreadable,
};
use romer_clock::SimulatedClock;
use romer_host::ending::{self, Stage};
use romer_lab::{Host, LabGuard, Running, Topology};
use romer_record::Exit;
use romer_record::calibration::{CalibrationRecord, TWO_RATES, TwoRuns};
use romer_record::manifest::CalibrationUse;
use romer_report::warning::calibration_unused;
use romer_store::CalibrationFile;
use romer_units::Duration;

use crate::args::CalibrateArgs;
use crate::compare::with_packets;
use crate::failure::Failure;
use crate::{output, signals};

/// What the prefix of a calibration's lab begins with; its process number follows.
const PREFIX: &str = "rcalibrate";

/// Between two round trips of the proof of the clock, and what its clock is ahead at first.
const CLOCK_INTERVAL: Duration = Duration::from_millis(5);
const PRETENDED_OFFSET_NS: i64 = 12_345_678_901;
impl From<CalibrateError> for Failure {
    fn from(error: CalibrateError) -> Self {
        Self::with_exit(error.exit(), error)
    }
}

/// The calibration of this machine, for a measurement; `None` where there is none and none is needed.
pub(crate) fn of_this_machine(subtract: bool) -> Result<Option<CalibrationUse>, Failure> {
    let file = match CalibrationFile::of_user() {
        // Nobody asked for it, and there is no place where it could be.
        Err(_) if !subtract => return Ok(None),
        file => file?,
    };
    let found = match file.read() {
        // Nobody asked for it, but somebody calibrated: the run goes on without, and says so.
        Err(why) if !subtract => return Ok(Some(unreadable(&why))),
        found => found?,
    };
    let used = found.map(|record| choose(&record, &this_machine(), subtract));
    if !subtract {
        return Ok(used);
    }
    let not = |why: &str| {
        Failure::environment(format!("the baseline cannot be subtracted (--subtract-baseline): {why}"))
    };
    match used {
        None => Err(not("this machine has no calibration; run `romer calibrate` first")),
        Some(CalibrationUse { refused: Some(why), .. }) => Err(not(&calibration_unused(&why))),
        used => Ok(used),
    }
}

/// Calibrates, and gives the exit code.
pub(crate) fn run(arguments: &CalibrateArgs) -> Result<Exit, Failure> {
    if arguments.clock {
        return clock(arguments);
    }
    if let Some([one, other]) = arguments.rates.as_deref() {
        return rates(arguments, [one, other]);
    }
    if let Some(given) = arguments.common_event.as_deref() {
        return common_event::run(arguments, given);
    }
    match &arguments.inside {
        Some(prefix) => inside(arguments, prefix),
        None => outside(arguments),
    }
}

/// Computes the constant error of a network card from two runs at two rates.
fn rates(arguments: &CalibrateArgs, given: [&(PathBuf, u64); 2]) -> Result<Exit, Failure> {
    output::read_from(given.iter().map(|(run, _)| run.as_path()));
    arguments.output.check()?;
    let one = |run: &Path| {
        let mut streams = with_packets(run)?;
        match streams.len() {
            1 => Ok(streams.swap_remove(0)),
            count => Err(Failure::usage(format!(
                "too many streams (--rates {}): it has {count}, and a run of one stream is needed",
                run.display()
            ))),
        }
    };
    let [slow, fast] = given.map(|(run, _)| run.as_path());
    let runs = [one(slow)?, one(fast)?];
    let at = |place: usize| RunAtRate { run: &runs[place], bits_per_second: given[place].1 };
    let found = romer_calibrate::two_runs([at(0), at(1)]).map_err(|error| {
        Failure::with_exit(Exit::BadData, format!("no error can be computed (--rates): {error}"))
    })?;
    if !arguments.output.is_silent() {
        output::print_summary(&romer_report::calibration::two_rates_text(
            &found,
            &output::style(arguments.output.color),
        ));
    }
    let document = TwoRuns {
        schema: TWO_RATES.into(),
        runs: [slow, fast].map(|run| run.to_string_lossy().into_owned()),
        two_rates: found,
    };
    output::write_json(arguments.output.json.as_deref(), &document, arguments.output.force)?;
    Ok(Exit::Success)
}

/// Proves that a clock's error is found.
fn clock(arguments: &CalibrateArgs) -> Result<Exit, Failure> {
    arguments.output.check()?;
    let duration = arguments.duration;
    let mut steps: Vec<(i64, i64)> =
        arguments.clock_step.iter().map(|(at, size)| (at.as_nanos(), size.as_nanos())).collect();
    if steps.is_empty() {
        let third = duration.as_nanos() / 3;
        steps = vec![(third, 4_000_000), (2 * third, -2_500_000)];
    }
    steps.sort_unstable();
    if let Some((at, _)) = steps.iter().find(|(at, _)| *at >= duration.as_nanos()) {
        return Err(Failure::usage(format!(
            "clock step after the end (--clock-step {}): the run ends after {duration}; set an earlier time or a longer \
             --duration",
            Duration::from_nanos(*at)
        )));
    }
    let clock = SimulatedClock { offset_ns: PRETENDED_OFFSET_NS, skew_ppm: arguments.clock_skew, steps };
    let options = ClockOptions { clock, duration, interval: CLOCK_INTERVAL };
    let stop = signals::interruption()?;
    let proof = romer_calibrate::prove_clock(&options, &stop)?;
    let quiet = arguments.output.is_silent();
    if !quiet {
        output::print_summary(&romer_report::calibration::clock_text(
            &proof,
            &output::style(arguments.output.color),
        ));
    }
    output::write_json(arguments.output.json.as_deref(), &proof, arguments.output.force)?;
    Ok(if proof.passed { Exit::Success } else { Exit::LimitFailed })
}

fn outside(arguments: &CalibrateArgs) -> Result<Exit, Failure> {
    arguments.output.check()?;
    let file = CalibrationFile::of_user()?;
    let interrupted = signals::every()?;
    let standing = LabGuard::up(Topology::Path, PREFIX)?;
    let (status, text) = measured(arguments, &standing, &interrupted)?;
    drop(standing);
    if !status.success() {
        // It has said why itself.
        return Ok(Exit::from_process(status.code()));
    }
    let record: CalibrationRecord = serde_json::from_str(&text).map_err(Failure::own)?;
    file.write(&record)?;
    if !arguments.output.is_silent() {
        output::print_summary(&romer_report::calibration::text(
            &record,
            &output::style(arguments.output.color),
        ));
        let shown = romer_report::escape::terminal(&file.path().to_string_lossy());
        output::eprint_line(&format!("Saved to {shown}; later measurements report it"));
    }
    if let Some(target) = &arguments.output.json {
        output::write_document(target, &text, arguments.output.force)?;
    }
    Ok(Exit::Success)
}

/// Runs the part inside the laboratory. Gives how it ended and its document.
fn measured(
    arguments: &CalibrateArgs,
    standing: &LabGuard,
    interrupted: &AtomicBool,
) -> Result<(ExitStatus, String), Failure> {
    let failed = |what: &str, error: &std::io::Error| {
        Failure::environment(format!("cannot {what} (calibrate): {error}; see `romer doctor`"))
    };
    let program = std::env::current_exe().map_err(|error| failed("find this program", &error))?;
    let mut command = standing.lab().command(Host::A, program)?;
    command
        .args(["calibrate", "--inside", standing.lab().prefix()])
        .args(["--rounds", &arguments.rounds.to_string(), "--probes", &arguments.probes.to_string()])
        .args(arguments.output.quiet.then_some("--quiet"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // What comes from the terminal is ours to hand on, once for each time it comes.
        .process_group(0);
    let mut child = Running::start(command).map_err(|error| failed("start a program in the lab", &error))?;
    let mut pipe = child.child().stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = pipe.as_mut().map(|pipe| pipe.read_to_string(&mut text));
        text
    });
    // It ends in time itself, and evaluates what it has measured.
    let _waiting = Stage::begin(ending::EVALUATION);
    loop {
        if let Some(status) = child.ended().map_err(|error| failed("wait for the measurement", &error))? {
            return Ok((status, reader.join().unwrap_or_default()));
        }
        if interrupted.swap(false, Ordering::AcqRel) {
            child.interrupt();
        }
        std::thread::sleep(StdDuration::from_millis(50));
    }
}

/// The part that runs in the laboratory.
fn inside(arguments: &CalibrateArgs, prefix: &str) -> Result<Exit, Failure> {
    let stop = signals::interruption()?;
    let options = CalibrationOptions { rounds: arguments.rounds, probes: arguments.probes };
    let mut say = |text: &str| {
        if !arguments.output.quiet {
            output::eprint_line(text);
        }
    };
    let record = romer_calibrate::calibrate(prefix, &options, &stop, &mut say)?;
    let text = output::document_text(&record)?;
    output::print(&text);
    Ok(Exit::Success)
}
