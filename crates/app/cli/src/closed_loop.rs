//! `romer loop`: measure a path, model it, emulate the model in a lab, measure again with the same plan, and compare.

mod folder;
mod plan;

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use romer_analyze::evaluate::Evaluated;
use romer_analyze::reading::{self, RunContents};
use romer_emulate::model_fit::{Fitted, ModelKind};
use romer_emulate::read_departures;
use romer_endpoint::names::Target;
use romer_measure::{MeasureOptions, StreamOptions};
use romer_record::Exit;
use romer_record::closed_loop::{ClosedLoop, LoopDirection, LoopVerdict};
use romer_record::emulation::{EmulatedPacket, Emulation};
use romer_record::manifest::Stream;
use romer_report::closed_loop::{EmulatedModel, closed_loop, page};
use romer_report::comparison::Subject;
use romer_report::escape;
use romer_store::{Location, untrusted};
use romer_traffic::Trace;
use romer_units::Duration;

use crate::args::{LoopArgs, LoopLimit};
use crate::failure::Failure;
use crate::lab_path::{FAR, LabPath};
use crate::measure::{exit_code, random_seed, size, with_progress};
use crate::output::Color;
use crate::{command, model, output, signals, traffic};
pub(crate) use folder::LoopFolder;

/// What the prefix of a loop's lab begins with; its process number follows.
const PREFIX: &str = "rloop";
/// The largest document of an emulation that is read, octets.
const LARGEST: u64 = 64 << 20;
/// The most packets of a direction of which the delay in the emulator is read.
const MOST: usize = 10_000_000;

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
        path.plan(&far()?, run)?;
        let folder = LoopFolder::make(arguments.out.as_deref(), arguments.output.force, "run")?;
        let interrupted = signals::every()?;
        return close(arguments, &folder, &path, &interrupted);
    }
    let Some(target) = &arguments.target else {
        return Err(Failure::usage("missing argument (TARGET): name a target, or a run with --run RUN"));
    };
    let trace = traffic::trace(&arguments.traffic)?;
    let folder = LoopFolder::make(arguments.out.as_deref(), arguments.output.force, &target.host)?;
    let interrupted = signals::every()?;
    output::say(
        arguments.output.quiet,
        arguments.output.color,
        &format!("Measuring the path to {}.", target.text),
    );
    let options = options(arguments, target, trace, &folder);
    let (outcome, _) = with_progress(&arguments.output, false, &options, &interrupted)?;
    match exit_code(&outcome)? {
        Exit::Success => {}
        // What was measured is kept, and can be continued with.
        other => return Ok(other),
    }
    drop(outcome);
    close(arguments, &folder, &PathRun::read(&folder.path(), 0)?, &interrupted)
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
        dscp: arguments.dscp,
        ..MeasureOptions::new(vec![stream], command::with_seed(fresh_seed), location)
    }
}

/// The part on the lab's first host: measures `target` by the plan of `run`, into `out`.
fn measure_again(arguments: &LoopArgs, run: &Path, target: &Target, out: &Path) -> Result<Exit, Failure> {
    let options = PathRun::read(run, arguments.stream_number)?.plan(target, out)?;
    let interrupted = signals::interruption()?;
    exit_code(&with_progress(&arguments.output, false, &options, &interrupted)?.0)
}

/// A stream of a run.
pub(crate) struct PathRun {
    folder: PathBuf,
    number: u16,
    manifest: Stream,
    stream: Evaluated,
}

impl PathRun {
    /// Reads stream `number` of the run in `folder`.
    pub(crate) fn read(folder: &Path, number: u16) -> Result<Self, Failure> {
        let RunContents { run, mut streams, .. } = reading::read(folder)?;
        let place = usize::from(number);
        let Some(manifest) = run.manifest().streams.get(place).filter(|_| place < streams.len()) else {
            return Err(Failure::no_stream(number, "the run", streams.len()));
        };
        let manifest = manifest.clone();
        Ok(Self { folder: folder.into(), number, manifest, stream: streams.swap_remove(place) })
    }

    /// The plan by which `target` is measured as this was, into `out`.
    fn plan(&self, target: &Target, out: &Path) -> Result<MeasureOptions, Failure> {
        let location = Location::Folder { path: out.into(), force: true };
        plan::of_stream(&self.manifest, &self.stream.measurement, target, &location)
    }

    fn subject<'a>(&'a self, name: &'a str) -> Subject<'a> {
        Subject { name, stream: self.stream.for_report() }
    }
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
    let quiet = arguments.output.quiet;
    let closed = LabPath::up("loop", PREFIX)
        .and_then(|mut lab| close_in(&mut lab, folder, path, quiet, interrupted))
        .map_err(|failure| {
            let run = escape::terminal(&path.folder.to_string_lossy());
            failure.and_then(&format!("the path is measured: continue with `romer loop --run {run}`"))
        })?;
    let closed = match closed {
        Ok(closed) => closed,
        Err(exit) => return Ok(exit),
    };
    if !quiet && !arguments.output.json_to_stdout() {
        output::print_summary(&text(&closed, folder, arguments.output.color));
    }
    if let Some(file) = &arguments.output.json {
        output::write_document(file, &output::document_text(&closed)?, arguments.output.force)?;
    }
    match (arguments.limit, closed.verdict) {
        (None, _) | (Some(LoopLimit::Fidelity), LoopVerdict::Reproduced) => Ok(Exit::Success),
        (Some(LoopLimit::Fidelity), verdict) => Err(Failure::with_exit(
            Exit::LimitFailed,
            format!("the limit failed (--limit fidelity): {}", failed(verdict, &closed.directions)),
        )),
    }
}

/// The result for this terminal.
pub(crate) fn text(closed: &ClosedLoop, folder: &LoopFolder, color: Color) -> String {
    let page = folder.folder().join(folder::PAGE);
    let text = romer_report::closed_loop::text(closed, &output::style(color));
    format!("{text}\nReport: {}\n", escape::terminal(&page.to_string_lossy()))
}

/// Why the limit on the verdict does not hold.
fn failed(verdict: LoopVerdict, directions: &[LoopDirection]) -> String {
    let those = directions.iter().filter(|direction| direction.verdict == verdict);
    let names: Vec<&str> = those.map(|direction| direction.direction.as_str()).collect();
    let names = names.join(", ").replace('_', " ");
    match verdict {
        LoopVerdict::Undecided => format!("the run is too short for a verdict ({names}); measure longer"),
        LoopVerdict::Reproduced | LoopVerdict::NotReproduced => {
            format!("the emulation does not reproduce the path ({names}); see the figures marked \"differs\"")
        }
    }
}

/// The scenario of the path, written with its files.
fn fit(folder: &LoopFolder, path: &PathRun) -> Result<Fitted, Failure> {
    let run = path.folder.to_string_lossy();
    let fitted =
        model::fit(&path.stream, &run, folder::STEM, ModelKind::Models, true, Duration::ZERO)?.fitted;
    for (name, text) in &fitted.files {
        folder.write(name, text)?;
    }
    folder.write(folder::SCENARIO, &fitted.text)?;
    Ok(fitted)
}

/// Models the path, emulates the model in `lab`, measures that with the same plan, and compares: the document and the page are in `folder`
/// then. The inner error is the exit code of a measurement that failed, and has said why.
pub(crate) fn close_in(
    lab: &mut LabPath,
    folder: &LoopFolder,
    path: &PathRun,
    quiet: bool,
    interrupted: &AtomicBool,
) -> Result<Result<ClosedLoop, Exit>, Failure> {
    let fitted = fit(folder, path)?;
    let scenario = folder.scenario();
    lab.emulate("--scenario", scenario.as_os_str(), &folder.emulation(), Some(&folder.samples()))?;
    let inside = |command: &mut Command| {
        command
            .args(["loop", "--inside", FAR, "--stream-number", &path.number.to_string(), "--run"])
            .arg(&path.folder);
        command.arg("--out").arg(folder.emulated()).args(quiet.then_some("--quiet"));
    };
    match lab.measure(inside, interrupted)? {
        Exit::Success => {}
        other => return Ok(Err(other)),
    }
    lab.end_emulation();
    let emulated = PathRun::read(&folder.emulated(), 0)?;
    let emulation: Option<Emulation> = untrusted::read_text(&folder.emulation(), LARGEST)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    let model = EmulatedModel {
        scenario: fitted.text,
        stream: path.number,
        seed: emulation.map(|emulation| emulation.seed),
        model: fitted.directions,
        warnings: fitted.warnings,
        emulator_delay_ns: emulator_delays(&folder.samples()),
    };
    let name = match path.folder.strip_prefix(folder.folder()) {
        Ok(within) => within.to_string_lossy(),
        Err(_) => path.folder.to_string_lossy(),
    };
    let runs = [path.subject(&name), emulated.subject(folder::EMULATED)];
    let Some(closed) = closed_loop(&runs[0], &runs[1], model) else {
        return Err(Failure::with_exit(
            Exit::BadData,
            format!(
                "nothing to compare ({}): no direction has known delays or losses in both runs; see romer report {}",
                escape::terminal(&name),
                escape::terminal(&folder.emulated().to_string_lossy())
            ),
        ));
    };
    folder.write(folder::DOCUMENT, &output::document_text(&closed)?)?;
    folder.write(folder::PAGE, &page(&closed, &runs[0], &runs[1]).map_err(Failure::own)?)?;
    Ok(Ok(closed))
}

/// The mean delay of the probes of each direction in the emulator, nanoseconds.
fn emulator_delays(samples: &Path) -> [Option<f64>; 2] {
    let read = || {
        let file = untrusted::open_input(samples).ok()?;
        read_departures(samples, BufReader::new(file), MOST).ok()
    };
    let Some(departures) = read() else { return [None; 2] };
    departures.packets.each_ref().map(|packets| {
        let delay = |packet: &EmulatedPacket| {
            // Packets that are no probes pass without a delay.
            packet.requested_delay_ns.filter(|requested| *requested > 0)?;
            packet.departure_ns?.checked_sub(packet.arrival_ns).filter(|_| packet.copy == 0)
        };
        let (mut sum, mut count) = (0.0, 0.0);
        for delay in packets.iter().filter_map(delay) {
            sum += Duration::from_nanos(delay).as_secs_f64();
            count += 1.0;
        }
        (count > 0.0).then(|| 1e9 * sum / count)
    })
}
