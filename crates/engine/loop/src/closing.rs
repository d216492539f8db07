//! The steps of a loop in their order.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use romer_analyze::evaluate::Evaluated;
use romer_analyze::reading::{self, RunContents};
use romer_emulate::model_fit::{Fitted, ModelKind};
use romer_emulate::read_departures;
use romer_endpoint::names::Target;
use romer_measure::MeasureOptions;
use romer_record::Exit;
use romer_record::closed_loop::ClosedLoop;
use romer_record::emulation::{EmulatedPacket, Emulation};
use romer_record::manifest::Stream;
use romer_report::closed_loop::{EmulatedModel, EmulatorLateness, closed_loop, page};
use romer_report::comparison::Subject;
use romer_store::{Location, untrusted};
use romer_traffic::Trace;
use romer_units::Duration;
use serde::Serialize;

use crate::error::LoopError;
use crate::folder::{self, LoopFolder};
use crate::lab_path::{FAR, LabPath};
use crate::{path_model, plan};

/// The largest document of an emulation that is read, octets.
const LARGEST: u64 = 64 << 20;
/// The most packets of a direction of which the delay in the emulator is read.
const MOST: usize = 10_000_000;
/// The most that is read of what the second measurement prints, octets.
const MOST_PRINTED: u64 = 64 << 10;
/// The file of what the second measurement prints.
const PRINTED: &str = "printed";

/// A step of [`close`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopPhase {
    /// A scenario is made of the path's run.
    Modelling,
    /// The emulator starts in the lab.
    Emulating,
    /// The emulation is measured with the path's plan.
    MeasuringAgain,
    /// Both runs are compared, and the page is drawn.
    Comparing,
}

/// Receives the progress of [`close`]. `()` receives nothing.
pub trait LoopObserver {
    /// A step begins.
    fn on_phase(&mut self, phase: LoopPhase);

    /// The emulation is measured, since `elapsed`. Called some 20 times a second.
    fn on_progress(&mut self, elapsed: StdDuration);
}

impl LoopObserver for () {
    fn on_phase(&mut self, _phase: LoopPhase) {}

    fn on_progress(&mut self, _elapsed: StdDuration) {}
}

/// What the process that measures the emulation prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// On the terminal of this process: errors, and unless it is `quiet` the progress.
    Terminal {
        /// Errors alone.
        quiet: bool,
    },
    /// Nothing; its error is that of the loop ([`LoopError::Measurement`]).
    Silent,
}

/// A stream of a run.
pub struct PathRun {
    folder: PathBuf,
    number: u16,
    manifest: Stream,
    stream: Evaluated,
    lateness: EmulatorLateness,
}

impl PathRun {
    /// Reads stream `number` of the run in `folder`.
    ///
    /// # Errors
    /// [`LoopError::Store`], [`LoopError::NoStream`].
    pub fn read(folder: &Path, number: u16) -> Result<Self, LoopError> {
        let RunContents { run, mut streams, .. } = reading::read(folder)?;
        let place = usize::from(number);
        let Some(manifest) = run.manifest().streams.get(place).filter(|_| place < streams.len()) else {
            return Err(LoopError::NoStream { number, count: streams.len() });
        };
        let manifest = manifest.clone();
        let stream = streams.swap_remove(place);
        Ok(Self { folder: folder.into(), number, manifest, stream, lateness: EmulatorLateness::default() })
    }

    /// A stream whose path was an emulation on this host, whose port a received the forward packets.
    #[must_use]
    pub fn with_emulation(self, emulation: &Emulation) -> Self {
        Self { lateness: EmulatorLateness::from_emulation(emulation), ..self }
    }

    /// The folder of the run.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the recorded schedule that the stream had, which [`Self::plan`] needs; `None` where it had none.
    ///
    /// # Errors
    /// [`LoopError::NotRepeatable`], where the traffic model is unknown.
    pub fn trace_file(&self) -> Result<Option<String>, LoopError> {
        plan::trace_file(&self.manifest)
    }

    /// The plan by which `target` is measured as this was, into `out`. `command` is the command line that is kept with the run.
    ///
    /// # Errors
    /// [`LoopError::NotRepeatable`], or sizes that cannot be sent ([`LoopError::Endpoint`]).
    pub fn plan(
        &self,
        trace: Option<Trace>,
        target: &Target,
        out: &Path,
        command: &str,
    ) -> Result<MeasureOptions, LoopError> {
        let location = Location::Folder { path: out.into(), force: true };
        plan::of_stream(&self.manifest, &self.stream.measurement, trace, target, &location, command)
    }

    fn subject<'a>(&'a self, name: &'a str) -> Subject<'a> {
        Subject { name, stream: self.stream.for_report() }
    }
}

/// The scenario of the path, written with its files.
fn fit(folder: &LoopFolder, path: &PathRun) -> Result<Fitted, LoopError> {
    let run = path.folder.to_string_lossy();
    let modelled =
        path_model::fit(&path.stream, &run, folder::STEM, ModelKind::Models, true, Duration::ZERO)?;
    let fitted = modelled.fitted;
    for (name, text) in &fitted.files {
        folder.write(name, text)?;
    }
    folder.write(folder::SCENARIO, &fitted.text)?;
    Ok(fitted)
}

/// Models the path, emulates the model in `lab`, measures that with the same plan, and compares: the document and the page are in `folder`
/// then. The inner error is the exit code of a measurement that was interrupted, or that failed and has said why ([`Talk::Terminal`]).
///
/// # Errors
/// [`LoopError`].
pub fn close(
    lab: &mut LabPath,
    folder: &LoopFolder,
    path: &PathRun,
    talk: Talk,
    observer: &mut dyn LoopObserver,
    interrupted: &AtomicBool,
) -> Result<Result<ClosedLoop, Exit>, LoopError> {
    observer.on_phase(LoopPhase::Modelling);
    let fitted = fit(folder, path)?;
    if interrupted.load(Ordering::Acquire) {
        return Ok(Err(Exit::Interrupted));
    }
    observer.on_phase(LoopPhase::Emulating);
    let scenario = folder.scenario();
    lab.emulate("--scenario", scenario.as_os_str(), &folder.emulation(), Some(&folder.samples()))?;
    if interrupted.load(Ordering::Acquire) {
        return Ok(Err(Exit::Interrupted));
    }
    observer.on_phase(LoopPhase::MeasuringAgain);
    match measure_again(lab, folder, path, talk, observer, interrupted)? {
        Exit::Success => {}
        other => return Ok(Err(other)),
    }
    observer.on_phase(LoopPhase::Comparing);
    lab.end_emulation();
    compare(folder, path, fitted).map(Ok)
}

/// Measures the emulation in a process on the lab's first host, and gives its exit code.
fn measure_again(
    lab: &LabPath,
    folder: &LoopFolder,
    path: &PathRun,
    talk: Talk,
    observer: &mut dyn LoopObserver,
    interrupted: &AtomicBool,
) -> Result<Exit, LoopError> {
    let printed = match talk {
        Talk::Terminal { .. } => None,
        Talk::Silent => {
            let place = lab.make_scratch()?.join(PRINTED);
            let file = File::create(&place);
            let file =
                file.map_err(|source| LoopError::Make { what: "file", path: place.clone(), source })?;
            Some((place, file))
        }
    };
    let (place, file) = printed.unzip();
    let inside = |command: &mut Command| {
        command
            .args(["loop", "--inside", FAR, "--stream-number", &path.number.to_string(), "--run"])
            .arg(&path.folder);
        command.arg("--out").arg(folder.emulated());
        if talk != (Talk::Terminal { quiet: false }) {
            command.arg("--quiet");
        }
        if let Some(file) = file {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        }
    };
    let exit = lab.measure(inside, interrupted, |elapsed| observer.on_progress(elapsed))?;
    let Some(place) = place else { return Ok(exit) };
    match exit.code() {
        code if code == Exit::Success.code() => Ok(Exit::Success),
        code if code == Exit::Interrupted.code() => Ok(Exit::Interrupted),
        _ => Err(LoopError::Measurement { exit, why: last_error(&place) }),
    }
}

/// The last error in what a program has printed.
fn last_error(printed: &Path) -> Option<String> {
    let text = untrusted::read_text(printed, MOST_PRINTED).ok()?;
    text.lines().rev().find_map(|line| line.strip_prefix("error: ")).map(str::to_owned)
}

/// Compares the runs of the path and of the emulation, and writes the document and the page.
fn compare(folder: &LoopFolder, path: &PathRun, fitted: Fitted) -> Result<ClosedLoop, LoopError> {
    let emulated = PathRun::read(&folder.emulated(), 0)?;
    let emulation: Option<Emulation> = untrusted::read_text(&folder.emulation(), LARGEST)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok());
    let model = EmulatedModel {
        scenario: fitted.text,
        stream: path.number,
        seed: emulation.as_ref().map(|emulation| emulation.seed),
        model: fitted.directions,
        warnings: fitted.warnings,
        emulator_delay_ns: emulator_delays(&folder.samples()),
        lateness: [
            path.lateness.clone(),
            emulation.as_ref().map(EmulatorLateness::from_emulation).unwrap_or_default(),
        ],
    };
    let name = match path.folder.strip_prefix(folder.folder()) {
        Ok(within) => within.to_string_lossy(),
        Err(_) => path.folder.to_string_lossy(),
    };
    let runs = [path.subject(&name), emulated.subject(folder::EMULATED)];
    let Some(closed) = closed_loop(&runs[0], &runs[1], model) else {
        return Err(LoopError::NothingToCompare { path: name.into_owned(), emulated: folder.emulated() });
    };
    let page = page(&closed, &runs[0], &runs[1]).map_err(|error| LoopError::Document(error.to_string()))?;
    folder.write(folder::PAGE, &page)?;
    // The document last: a folder that has it is whole.
    folder.write(folder::DOCUMENT, &document_text(&closed)?)?;
    Ok(closed)
}

/// A document as text.
fn document_text(document: &impl Serialize) -> Result<String, LoopError> {
    let text = serde_json::to_string_pretty(document);
    text.map(|text| text + "\n").map_err(|error| LoopError::Document(error.to_string()))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a program is the last one that it has printed.
    #[test]
    fn last_error_is_found() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(PRINTED);
        std::fs::write(&file, "Note: x\nerror: first (a): b; c\nerror: last (d): e; f\nmore\n").unwrap();
        assert_eq!(last_error(&file).as_deref(), Some("last (d): e; f"));
        std::fs::write(&file, "Note: x\n").unwrap();
        assert_eq!(last_error(&file), None);
    }
}
