//! `romer demo`: a lab, an emulator between its hosts, a responder on one of them, voice streams from the other, the
//! report, a comparison of the scenario with the measurement, and the closed loop of one stream.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use romer_endpoint::ThreadOptions;
use romer_endpoint::names::Target;
use romer_loop::{FAR, LabPath, LoopFolder, PathRun, Talk};
use romer_measure::{MeasureOptions, MeasurementOutcome, ProbeSize, StreamOptions};
use romer_record::Exit;
use romer_record::closed_loop::ClosedLoop;
use romer_record::document::{DEMO, Demo, DemoLoop, MEASUREMENT, Measurements, ProbeDirection};
use romer_record::emulation::{EmulatedDirection, Emulation};
use romer_record::fidelity::{Fidelity, FidelityVerdict};
use romer_record::warning::FidelityWarning;
use romer_report::text::wrap;
use romer_report::warning::Text;
use romer_traffic::{Limit, Request, TrafficModel};
use romer_units::{Dscp, Duration, counted};

use crate::args::DemoArgs;
use crate::failure::Failure;
use crate::measure::{exit_code, location, with_progress};
use crate::{closed_loop, model, output, report, signals};

/// The second voice stream: one packet each 20 ms, as G.711 sends them.
const VOICE_INTERVAL: Duration = Duration::from_millis(20);
/// The stream of which the loop is closed: the second.
const LOOP_STREAM: u16 = 1;
/// What the prefix of a demonstration's lab begins with; its process number follows.
const PREFIX: &str = "rdemo";
/// What the emulator does. Its delays vary so little that some seconds of packets decide the verdict of the loop.
const PRESET: &str = "demo";
/// What this machine may add to every delay around the emulator; it is reported.
const AROUND: Duration = Duration::from_millis(5);
/// Files of the scratch folder.
const EMULATED: &str = "emulation.json";
const MEASURED: &str = "measured.json";

/// Runs the demonstration, and gives the exit code.
pub(crate) fn run(arguments: &DemoArgs) -> Result<Exit, Failure> {
    match &arguments.inside {
        Some(target) => inside(arguments, target),
        None => outside(arguments),
    }
}

fn outside(arguments: &DemoArgs) -> Result<Exit, Failure> {
    arguments.output.check()?;
    // Before hosts are made and an emulator is started for nothing.
    location(arguments.keep.out.as_deref(), arguments.output.force, "demo")?.check()?;
    if let Some(run) = &arguments.keep.out {
        LoopFolder::check(&loop_folder(run), arguments.output.force)?;
    }
    let interrupted = signals::every()?;
    let say = |text: &str| output::say(arguments.output.quiet, arguments.output.color, text);
    say("1. Lab: two hosts, A and B, in network namespaces, with an emulator between them.");
    let mut path = LabPath::up("demo", PREFIX)?;
    let scratch = Scratch(path.make_scratch()?);
    path.emulate("--preset", PRESET.as_ref(), &scratch.file(EMULATED), None)?;
    say("2. Emulation: a congested mobile network (romer emulate --preset demo).");
    say(
        "3. Measurement: two voice streams, forward and reverse: MELP, 14 bytes every 45 ms, and one packet every 20 ms.",
    );
    let options = |command: &mut Command| {
        command.args(["demo", "--inside", FAR, "--hand-over"]).arg(scratch.file(MEASURED));
        command.args(std::env::args_os().skip(2));
    };
    let exit = path.measure(options, &interrupted, |_| {})?;
    path.end_emulation();
    // Where the measurement failed it has said why.
    let Some(mut measured) = scratch.read::<Measured>(MEASURED) else { return Ok(exit) };
    let emulation: Option<Emulation> = scratch.read(EMULATED);
    if let Some(emulation) = &emulation {
        let late = late_directions(&measured.comparison, emulation);
        measured.comparison.warnings.extend(late);
    }
    let is_silent = arguments.output.is_silent();
    if !is_silent {
        output::print_summary(&comparison_text(arguments, &measured, emulation.as_ref()));
    }
    let closed = (exit == Exit::Success).then(|| {
        say(
            "4. Closed loop: the stream of one packet every 20 ms is modelled, emulated, and measured again (romer loop).",
        );
        close(arguments, &mut path, &measured.folder, emulation.as_ref(), &interrupted)
    });
    let closed_loop = match &closed {
        Some(Ok(Ok((closed, folder)))) => Some(demo_loop(closed, folder)),
        _ => None,
    };
    write_document(arguments, measured, emulation, closed_loop)?;
    match closed {
        None => Ok(exit),
        Some(Err(failure)) => Err(failure),
        Some(Ok(Err(exit))) => Ok(exit),
        Some(Ok(Ok((closed, folder)))) => {
            if !is_silent {
                output::print("\n");
                output::print_summary(&closed_loop::text(&closed, &folder, arguments.output.color));
            }
            Ok(exit)
        }
    }
}

/// Where the loop of the run in a folder that was named is kept.
fn loop_folder(run: &Path) -> PathBuf {
    output::with_suffix(run, "-loop")
}

/// Closes the loop of the second stream, in a folder beside that of the run.
fn close(
    arguments: &DemoArgs,
    lab: &mut LabPath,
    run: &Path,
    emulation: Option<&Emulation>,
    interrupted: &AtomicBool,
) -> Result<Result<(ClosedLoop, LoopFolder), Exit>, Failure> {
    let beside = arguments.keep.out.is_some().then(|| loop_folder(run));
    let folder = closed_loop::make_folder(beside.as_deref(), arguments.output.force, "demo")?;
    let path = PathRun::read(run, LOOP_STREAM)?;
    let path = match emulation {
        Some(emulation) => path.with_emulation(emulation),
        None => path,
    };
    let talk = Talk::Terminal { quiet: arguments.output.quiet };
    let closed = romer_loop::close(lab, &folder, &path, talk, &mut (), interrupted)?;
    Ok(closed.map(|closed| (closed, folder)))
}

/// A folder for what the parts of the demonstration hand over; it goes with the lab.
struct Scratch(PathBuf);

impl Scratch {
    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn read<T: serde::de::DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(&fs::read_to_string(self.file(name)).ok()?).ok()
    }
}

/// What the part on the first host leaves for the one that began it.
#[derive(serde::Serialize, serde::Deserialize)]
struct Measured {
    measurement: Measurements,
    comparison: Fidelity,
    /// Where the run is kept.
    folder: PathBuf,
}

/// The comparison of the scenario with the measurement, and where the report is.
fn comparison_text(arguments: &DemoArgs, measured: &Measured, emulation: Option<&Emulation>) -> String {
    let style = output::style(arguments.output.color);
    let mut text = format!(
        "\nRequested vs. measured:\n\n{}",
        romer_report::fidelity::verdicts(&measured.comparison, &style)
    );
    let is_late = |warning: &&FidelityWarning| matches!(warning, FidelityWarning::EmulatorLate { .. });
    for warning in measured.comparison.warnings.iter().filter(is_late) {
        text.push_str(&(wrap(&format!("Note: {}", warning.text()), style.width).join("\n") + "\n"));
    }
    if let Some(emulation) = emulation {
        text.push_str(&(wrap(&counters(emulation), style.width).join("\n") + "\n"));
    }
    if let Some(page) = report::page_of(&measured.folder) {
        text.push_str(&format!("\nReport: {}\n", romer_report::escape::path(&page)));
    }
    text + "\n"
}

/// A note for each direction that differs from the scenario while the emulator was late by more than the allowance for 1 % of the packets.
fn late_directions(comparison: &Fidelity, emulation: &Emulation) -> Vec<FidelityWarning> {
    let allowed = 1e9 * AROUND.as_secs_f64();
    let directions = [
        (ProbeDirection::Forward, "forward", &emulation.a_to_b),
        (ProbeDirection::Reverse, "reverse", &emulation.b_to_a),
    ];
    let note = |(direction, name, counts): (ProbeDirection, &str, &EmulatedDirection)| {
        let differs = comparison
            .directions
            .iter()
            .any(|one| one.direction == name && one.verdict == FidelityVerdict::Differs);
        let late_ns = counts.delay_error_ns.p99.filter(|late| differs && *late > allowed)?;
        Some(FidelityWarning::EmulatorLate { direction, late_ns })
    };
    directions.into_iter().filter_map(note).collect()
}

/// The loop, as the document has it.
fn demo_loop(closed: &ClosedLoop, folder: &LoopFolder) -> DemoLoop {
    DemoLoop {
        name: folder.folder().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        document: folder.document().to_string_lossy().into_owned(),
        verdict: closed.verdict,
    }
}

/// Writes the document, if there is to be one.
fn write_document(
    arguments: &DemoArgs,
    measured: Measured,
    emulation: Option<Emulation>,
    closed_loop: Option<DemoLoop>,
) -> Result<(), Failure> {
    let Some(file) = &arguments.output.json else { return Ok(()) };
    let Measured { measurement, comparison, .. } = measured;
    let comparison = Some(comparison).filter(|found| !found.directions.is_empty());
    let demo = Demo { schema: DEMO.into(), measurement, emulation, comparison, closed_loop };
    output::write_document(file, &output::document_text(&demo)?, arguments.output.force)
}

/// The counters of the emulator.
fn counters(emulation: &Emulation) -> String {
    let directions =
        [("Forward", &emulation.a_to_b), ("Reverse", &emulation.b_to_a)].map(|(name, counts)| {
            let lost: u64 = counts.lost.values().sum();
            format!(
                "{name}: {} in, {} created, {} out, {lost} lost.",
                counted(counts.received, "packet"),
                counted(counts.duplicates_created, "duplicate"),
                counts.transmitted,
            )
        });
    format!("Emulator counters (all traffic). {}", directions.join(" "))
}

/// The part that runs on the lab's first host.
fn inside(arguments: &DemoArgs, target: &Target) -> Result<Exit, Failure> {
    let stream = |model, interval| StreamOptions {
        target: target.clone(),
        traffic: Request { interval, ..Request::new(model, Limit::Duration(arguments.duration)) },
        size: ProbeSize::Natural,
    };
    let streams =
        vec![stream(TrafficModel::MELP, None), stream(TrafficModel::Periodic, Some(VOICE_INTERVAL))];
    let command = format!("romer demo --duration {}", arguments.duration);
    let location = location(arguments.keep.out.as_deref(), arguments.output.force, "demo")?;
    let options = MeasureOptions {
        direction: ProbeDirection::Both,
        dscp: Dscp::EF,
        report: true,
        comment: Some("demonstration between two hosts on this machine".into()),
        threads: ThreadOptions::in_lab(),
        ..MeasureOptions::new(streams, command, location)
    };
    let interrupted = signals::interruption()?;
    let (outcome, _) = with_progress(&arguments.output, false, &options, &interrupted, None)?;
    conclude(&outcome, arguments)
}

fn conclude(outcome: &MeasurementOutcome, arguments: &DemoArgs) -> Result<Exit, Failure> {
    let measurements = outcome.measurements();
    if !arguments.output.is_silent() {
        let color = arguments.output.color;
        output::print_summary(&report::summary(&measurements, color, Some(&outcome.folder), false));
    }
    if let Some(file) = &arguments.hand_over {
        let scenario = romer_emulate::open_preset(PRESET)?.scenario;
        let comparison = model::compare(&scenario.config, &outcome.streams, AROUND, false);
        let measurement = Measurements { schema: MEASUREMENT.into(), measurements };
        let text =
            serde_json::to_string(&Measured { measurement, comparison, folder: outcome.folder.clone() })
                .map_err(Failure::own)?;
        output::put_file(file, text.as_bytes())
            .map_err(|error| {
                Failure::environment(format!("cannot write the results (demo): {error}; free some space"))
            })
            .map_err(|failure| failure.but_kept(&outcome.folder))?;
    }
    exit_code(outcome)
}
