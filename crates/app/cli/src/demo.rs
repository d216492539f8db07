//! `romer demo`: a lab, a responder on one of its hosts, voice streams from the other, the report.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration as StdDuration, Instant};

use romer_lab::{Host, Kind, Lab, Running, Standing};
use romer_measure::ThreadOptions;
use romer_measure::measure::{self, MeasureOptions, Outcome, ProbeSize, StreamOptions, WAITING_TIME};
use romer_measure::names::{Family, Target};
use romer_record::document::{DEMO, Demo, MEASUREMENT, Measurements, Way};
use romer_record::manifest::StampRequest;
use romer_traffic::{Limit, Request, TrafficModel};
use romer_units::{Dscp, Duration, Ecn};

use crate::args::DemoArgs;
use crate::failure::Failure;
use crate::live::{Narrator, Talk};
use crate::measure::{exit_code, expected, location};
use crate::{output, report, signals};

/// The second voice stream: one packet each 20 ms, as G.711 sends them.
const VOICE_INTERVAL: Duration = Duration::from_millis(20);
/// What the prefix of a demonstration's lab begins with; its process number follows.
const PREFIX: &str = "rdemo";
/// Address of the lab's second host.
const FAR: &str = "198.18.0.3";
/// How long a responder may take to be ready.
const PATIENCE: StdDuration = StdDuration::from_secs(10);

/// Shows the whole story, and gives the exit code.
pub(crate) fn run(arguments: &DemoArgs) -> Result<u8, Failure> {
    match &arguments.inside {
        Some(target) => inside(arguments, target),
        None => outside(arguments),
    }
}

fn outside(arguments: &DemoArgs) -> Result<u8, Failure> {
    output::check_target(arguments.output.json.as_deref(), arguments.output.force)?;
    let interrupted = signals::every()?;
    let say = |text: &str| {
        if !arguments.output.quiet {
            output::eprint_line(text);
        }
    };
    say("Two hosts are made on this machine, A and B, with a path between them.");
    let standing = Standing::up(Kind::Path, PREFIX)?;
    let lab = standing.lab();
    say(
        "Two voice streams go in both directions at once, as in a call: MELP, 14 octets each 45 ms; and one each 20 ms.",
    );
    let program = std::env::current_exe().map_err(|error| {
        Failure::environment(format!("cannot find this program (demo): {error}; call it by its path"))
    })?;
    let _responder = respond(lab, &program)?;
    let mut command = lab.command(Host::A, &program)?;
    command.args(["demo", "--inside", FAR]).args(std::env::args_os().skip(2));
    // What comes from the terminal is ours to hand on, once for each time it comes.
    command.process_group(0);
    let mut child = Running::start(command).map_err(|error| spawn_failed(&error))?;
    loop {
        match child.ended() {
            Ok(Some(status)) => {
                return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
            }
            Ok(None) => {}
            Err(error) => {
                return Err(Failure::environment(format!(
                    "cannot wait for the measurement (demo): {error}; try again"
                )));
            }
        }
        // The first ends the measurement in good order, the second at once; the lab goes in both cases.
        if interrupted.swap(false, Ordering::AcqRel) {
            child.interrupt();
        }
        std::thread::sleep(StdDuration::from_millis(50));
    }
}

fn spawn_failed(error: &std::io::Error) -> Failure {
    Failure::environment(format!(
        "cannot start a program on the lab's host (demo): {error}; see `romer doctor`"
    ))
}

fn respond(lab: &Lab, program: &std::path::Path) -> Result<Running, Failure> {
    let mut command = lab.command(Host::B, program)?;
    let listen = format!("{FAR}:862");
    command
        .args(["respond", "--listen", &listen])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    let mut child = Running::start(command).map_err(|error| spawn_failed(&error))?;
    let ready = child.child().stdout.take();
    let started = Instant::now();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = ready.map(|out| std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line));
        let _ = tell.send(matches!(read, Some(Ok(length)) if length > 0));
    });
    match told.recv_timeout(PATIENCE.saturating_sub(started.elapsed())) {
        Ok(true) => Ok(child),
        _ => Err(Failure::environment(
            "the responder did not start on the lab's host (demo): it said nothing; try `romer lab up path` and \
             `romer lab run B -- romer respond` by hand",
        )),
    }
}

/// The part that runs on the lab's first host.
fn inside(arguments: &DemoArgs, target: &Target) -> Result<u8, Failure> {
    let stream = |model, interval| StreamOptions {
        target: target.clone(),
        traffic: Request { interval, ..Request::new(model, Limit::Duration(arguments.duration)) },
        size: ProbeSize::Natural,
    };
    let options = MeasureOptions {
        direction: Way::Both,
        streams: vec![stream(TrafficModel::MELP, None), stream(TrafficModel::Periodic, Some(VOICE_INTERVAL))],
        family: Family::Any,
        stamp_only: false,
        key: None,
        stamp: StampRequest::Best,
        dscp: Dscp::EF,
        ecn: Ecn::NotEct,
        ttl: None,
        source: None,
        interface: None,
        waiting_time: WAITING_TIME,
        limits: Vec::new(),
        comment: Some("demonstration between two hosts of this machine".into()),
        command: format!("romer demo --duration {}", arguments.duration),
        calibration: None,
        location: location(arguments.keep.out.as_deref(), arguments.output.force, "demo")?,
        threads: ThreadOptions::default(),
        report_every: Duration::from_millis(250),
    };
    let interrupted = signals::interruption()?;
    let talk = Talk { quiet: arguments.output.quiet, stream: false, color: arguments.output.color };
    let mut observer = Narrator::new(talk, expected(&options), options.waiting_time);
    let outcome = measure::measure(&options, &interrupted, &mut observer)?;
    observer.finish();
    conclude(&outcome, arguments)
}

fn conclude(outcome: &Outcome, arguments: &DemoArgs) -> Result<u8, Failure> {
    let measurements = outcome.measurements();
    if !arguments.output.quiet && !arguments.output.json_to_stdout() {
        output::print(&report::summary(&measurements, arguments.output.color, Some(&outcome.folder)));
    }
    if let Some(file) = &arguments.output.json {
        let demo = Demo {
            schema: DEMO.into(),
            measurement: Measurements { schema: MEASUREMENT.into(), measurements },
            emulation: None,
            comparison: None,
        };
        let mut text = serde_json::to_string_pretty(&demo).map_err(Failure::own)?;
        text.push('\n');
        output::write_document(file, &text, arguments.output.force)
            .map_err(|failure| failure.but_kept(&outcome.folder))?;
    }
    exit_code(outcome)
}
