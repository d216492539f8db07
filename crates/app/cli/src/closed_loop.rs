//! `romer loop`: measure a path, model it, emulate the model in a lab, measure again with the same plan, and compare.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use romer_endpoint::ThreadOptions;
use romer_endpoint::names::Target;
use romer_loop::{FAR, LAB_STEM, LabPath, LoopError, LoopFolder, PathRun, Talk};
use romer_measure::{MeasureOptions, StreamOptions};
use romer_record::Exit;
use romer_record::closed_loop::{ClosedLoop, LoopVerdict};
use romer_report::escape;
use romer_store::{Location, Runs};
use romer_traffic::Trace;

use crate::args::{LoopArgs, LoopLimit};
use crate::failure::Failure;
use crate::measure::{exit_code, random_seed, size, with_progress};
use crate::output::Color;
use crate::{command, output, signals, traffic};

impl From<LoopError> for Failure {
    fn from(error: LoopError) -> Self {
        match error {
            LoopError::NoStream { number, count } => Self::no_stream(number, "the run", count),
            other => Self::with_exit(other.exit(), other),
        }
    }
}

/// Closes the loop, and gives the exit code.
pub(crate) fn run(arguments: &LoopArgs) -> Result<Exit, Failure> {
    if let (Some(target), Some(run), Some(out)) = (&arguments.inside, &arguments.run, &arguments.out) {
        return measure_again(arguments, run, target, out);
    }
    output::read_from(arguments.run.as_deref());
    arguments.output.check()?;
    if let Some(run) = &arguments.run {
        let path = PathRun::read(run, arguments.stream_number)?;
        // What cannot be repeated is said before anything is made.
        plan(&path, &far()?, run)?;
        let folder = make_folder(arguments.out.as_deref(), arguments.output.force, "run")?;
        let interrupted = signals::every()?;
        return close(arguments, &folder, &path, &interrupted);
    }
    let Some(target) = &arguments.target else {
        return Err(Failure::usage("missing argument (TARGET): name a target, or a run with --run RUN"));
    };
    let trace = traffic::trace(&arguments.traffic)?;
    let folder = make_folder(arguments.out.as_deref(), arguments.output.force, &target.host)?;
    let interrupted = signals::every()?;
    output::say(
        arguments.output.quiet,
        arguments.output.color,
        &format!("Measuring the path to {}.", target.text),
    );
    let options = options(arguments, target, trace, &folder);
    let (outcome, _) = with_progress(&arguments.output, false, &options, &interrupted, None)?;
    match exit_code(&outcome)? {
        Exit::Success => {}
        // What was measured is kept, and can be continued with.
        other => return Ok(other),
    }
    drop(outcome);
    close(arguments, &folder, &PathRun::read(&folder.path(), 0)?, &interrupted)
}

/// The folder `out`, or a new one for `name` among the user's runs.
pub(crate) fn make_folder(out: Option<&Path>, force: bool, name: &str) -> Result<LoopFolder, Failure> {
    Ok(match out {
        Some(folder) => LoopFolder::at(folder, force)?,
        None => LoopFolder::among(&Runs::of_user()?, name)?,
    })
}

/// The plan by which `target` is measured as `path` was, into `out`.
fn plan(path: &PathRun, target: &Target, out: &Path) -> Result<MeasureOptions, Failure> {
    let trace = path.trace_file()?.as_deref().map(traffic::read).transpose()?;
    let plan = path.plan(trace, target, out, &command::as_given())?;
    Ok(MeasureOptions { comment: Some("emulation of a measured path".into()), ..plan })
}

/// The second host of the lab.
fn far() -> Result<Target, Failure> {
    FAR.parse().map_err(Failure::own)
}

/// How the path is measured.
fn options(
    arguments: &LoopArgs,
    target: &Target,
    trace: Option<Trace>,
    folder: &LoopFolder,
) -> MeasureOptions {
    let given = &arguments.traffic;
    let seed = given.seed.unwrap_or_else(random_seed);
    let request = traffic::request(given, trace, seed);
    let fresh_seed = (request.is_random() && given.seed.is_none()).then_some(seed);
    let stream = StreamOptions { target: target.clone(), traffic: request, size: size(given) };
    let location = Location::Folder { path: folder.path(), force: arguments.output.force };
    MeasureOptions {
        direction: arguments.direction.into(),
        stamp_only: arguments.stamp_only,
        channel: arguments.channel.options(),
        dscp: arguments.dscp,
        ..MeasureOptions::new(vec![stream], command::with_seed(fresh_seed), location)
    }
}

/// The part on the lab's first host: measures `target` by the plan of `run`, into `out`.
fn measure_again(arguments: &LoopArgs, run: &Path, target: &Target, out: &Path) -> Result<Exit, Failure> {
    let plan = plan(&PathRun::read(run, arguments.stream_number)?, target, out)?;
    let options = MeasureOptions { threads: ThreadOptions::in_lab(), ..plan };
    let interrupted = signals::interruption()?;
    exit_code(&with_progress(&arguments.output, false, &options, &interrupted, None)?.0)
}

/// Puts a lab up, closes the loop in it, and gives the exit code.
fn close(
    arguments: &LoopArgs,
    folder: &LoopFolder,
    path: &PathRun,
    interrupted: &Arc<AtomicBool>,
) -> Result<Exit, Failure> {
    output::say(
        arguments.output.quiet,
        arguments.output.color,
        "Modelling the path, and emulating the model in a lab of this machine.",
    );
    let talk = Talk::Terminal { quiet: arguments.output.quiet };
    let closed = LabPath::up("loop", LAB_STEM)
        .and_then(|mut lab| romer_loop::close(&mut lab, folder, path, talk, &mut (), interrupted))
        .map_err(|error| {
            let run = escape::path(path.folder());
            let continued = format!("the path is measured: continue with `romer loop --run {run}`");
            Failure::from(error).and_then(&continued)
        })?;
    let closed = match closed {
        Ok(closed) => closed,
        Err(exit) => return Ok(exit),
    };
    if !arguments.output.is_silent() {
        output::print_summary(&text(&closed, folder, arguments.output.color));
    }
    output::write_json(arguments.output.json.as_deref(), &closed, arguments.output.force)?;
    match (arguments.limit, closed.verdict) {
        (None, _) | (Some(LoopLimit::Fidelity), LoopVerdict::Reproduced) => Ok(Exit::Success),
        (Some(LoopLimit::Fidelity), _) => Err(Failure::with_exit(
            Exit::LimitFailed,
            format!("the limit failed (--limit fidelity): {}", failed(&closed)),
        )),
    }
}

/// The result for this terminal.
pub(crate) fn text(closed: &ClosedLoop, folder: &LoopFolder, color: Color) -> String {
    let text = romer_report::closed_loop::text(closed, &output::style(color));
    format!("{text}\nReport: {}\n", escape::path(&folder.page()))
}

/// Why the limit on the verdict does not hold.
fn failed(closed: &ClosedLoop) -> String {
    let verdict = closed.verdict;
    let those = closed.directions.iter().filter(|direction| direction.verdict == verdict);
    let names: Vec<&str> = those.map(|direction| direction.direction.as_str()).collect();
    let names = names.join(", ").replace('_', " ");
    let is_late = romer_report::closed_loop::is_open_by_lateness(closed);
    match verdict {
        LoopVerdict::Undecided if is_late => {
            format!(
                "the emulator was late, which leaves the verdict open ({names}); repeat it on an idle machine"
            )
        }
        LoopVerdict::Undecided => format!("the run is too short for a verdict ({names}); measure longer"),
        LoopVerdict::Reproduced | LoopVerdict::NotReproduced => {
            format!("the emulation does not reproduce the path ({names}); see the figures marked \"differs\"")
        }
    }
}
