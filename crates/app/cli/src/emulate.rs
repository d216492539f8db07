//! `romer emulate`.

mod follow;
mod impairments;
mod offline;
mod run_folder;
mod samples;
pub(crate) mod stored_report;
mod text;

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration as StdDuration, Instant};

use romer_emulate::Opened;
use romer_emulate::live::{Control, LiveBridge, LiveError, LiveOptions, Recorder};
use romer_host::ending::{self, Stage};
use romer_impair::Config;
use romer_port::{PortError, PortName};
use romer_record::Exit;
use romer_record::warning::RefitEvent;
use romer_report::escape;
use romer_report::warning::Text as _;
use romer_server::Server;
use romer_units::Duration;
use romer_units::random::Seed;

use crate::args::{DataPlane, EmulateArgs, PortArgument};
use crate::failure::Failure;
use crate::telemetry::Exporter;
use crate::tui::{self, EmulationPicture, Screen};
use crate::{confinement, console, output, signals};

/// How often the signals are looked at, and how often the line of a terminal is renewed.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(50);
const RENEW: StdDuration = StdDuration::from_secs(1);

/// Emulates until it is ended, and gives the exit code.
pub(crate) fn run(arguments: &EmulateArgs) -> Result<Exit, Failure> {
    if arguments.files.list_presets {
        return offline::list();
    }
    if arguments.files.print_scenario {
        output::print(&scenario(arguments)?.text);
        return Ok(Exit::Success);
    }
    let files = &arguments.files;
    output::read_from([&files.scenario, &files.arrivals].into_iter().flatten().map(PathBuf::as_path));
    if arguments.files.offline {
        return offline::run(arguments);
    }
    let ports = ports(&arguments.ports)?;
    arguments.output.check()?;
    let scenario = scenario(arguments)?;
    let mut followed = follow::Plan::read(&arguments.follow)?;
    if arguments.tui {
        tui::check()?;
    }
    let ending = signals::ending()?;
    // Before anything is changed for an emulation that could follow nothing.
    followed.as_mut().map(follow::Plan::check).transpose()?;
    let is_followed = followed.is_some();
    let may_change = arguments.api.is_some() || is_followed;
    let least_hold = if may_change { romer_server::LEAST_HOLD } else { Duration::ZERO };
    let options = LiveOptions {
        ports,
        scenario,
        least_hold,
        samples: samples::wanted(&arguments.samples),
        allow_default_route: arguments.allow_default_route,
        data_plane: arguments.data_plane.into(),
    };
    let exporter = Exporter::start(&arguments.exporter)?;
    let kept = run_folder::RunFolder::make(
        arguments.samples.out.as_deref(),
        arguments.output.force,
        &options.scenario.text,
        options.scenario.scenario.config.seed.unwrap_or(Seed([1; 6])),
    )?;
    let files = samples::Files::open(&arguments.samples, kept.as_ref(), arguments.output.force)?;
    let mut bridge =
        LiveBridge::start(&options).inspect_err(|_| samples::give_up(&arguments.samples, kept.as_ref()))?;
    let begin = Instant::now();
    let recorder = files.record(bridge.take_samples())?;
    let control = bridge.control();
    if let Some(exporter) = &exporter {
        romer_emulate::live::publish(&control, &exporter.registry);
    }
    let server = arguments.api.map(|listen| serve(listen, arguments, control.clone())).transpose()?;
    let prose = !arguments.output.quiet;
    let following = followed.as_ref().map(follow::Plan::text);
    let out = kept.as_ref().map(run_folder::RunFolder::path);
    let text = &options.scenario.text;
    let follower =
        followed.map(|plan| follow::Follower::start(plan, control.clone(), begin, text, out)).transpose()?;
    let confined = confinement::of_emulation(arguments).map(|needs| confinement::start(&needs));
    let mut told = control.warnings().to_vec();
    told.extend(control.scenario().notes.iter().cloned());
    if prose {
        let mut text = text::ready(&options, &bridge, &told);
        if let Some(following) = &following {
            text.push_str(&format!("  {following}\n"));
        }
        if let Some(server) = &server {
            text.push_str(&format!("console at {}\n", server.url()));
        }
        if let Some(exporter) = &exporter {
            text.push_str(&exporter.text());
        }
        text.push_str(confined.as_deref().unwrap_or_default());
        // Whoever reads the document from standard output gets nothing else there.
        if arguments.output.json_to_stdout() {
            output::eprint_line(text.trim_end());
        } else {
            output::print(&text);
        }
    }
    let picture = arguments.tui.then(EmulationPicture::new);
    let screen = picture.as_ref().map(|picture| Screen::take(picture, &ending.terminated)).transpose()?;
    let mut line = text::StatusLine::new(prose && screen.is_none() && io::stderr().is_terminal());
    let mut renewed = Instant::now();
    let mut refits = 0;
    while !ending.has_come()
        && !bridge.has_ended()
        && arguments.duration.is_none_or(|duration| begin.elapsed() < duration.to_std())
    {
        std::thread::sleep(POLL_INTERVAL);
        if is_followed && prose && screen.is_none() {
            refits += say_refits(&control.refits_after(refits), &mut line, arguments);
        }
        let is_watched = line.is_shown() || picture.is_some();
        if is_watched && renewed.elapsed() >= RENEW {
            renewed = Instant::now();
            if let Ok(snapshot) = control.snapshot() {
                line.show(&snapshot);
                if let Some(picture) = &picture {
                    let document = control.document_of(&snapshot);
                    tui::change(picture, |picture| picture.take(begin.elapsed().as_secs_f64(), document));
                }
            }
        }
    }
    drop(screen);
    line.clear();
    follower.iter().for_each(follow::Follower::halt);
    let snapshot = bridge.stop();
    let followed = follower.map(|follower| {
        let _ending = Stage::begin(ending::EVALUATION);
        follower.end()
    });
    let snapshot = snapshot?;
    drop(server);
    if let Some(exporter) = &exporter {
        romer_emulate::live::publish_snapshot(&snapshot, &exporter.registry);
    }
    // The last push.
    drop(exporter);
    if prose {
        say_refits(&control.refits_after(refits), &mut line, arguments);
    }
    let mut document = control.document_of(&snapshot);
    let keeping = Stage::begin(ending::EVALUATION);
    let recorded = recorder.map(Recorder::finish);
    document.warnings.extend(recorded.as_ref().and_then(samples::note));
    if prose && !arguments.output.json_to_stdout() {
        output::print(&output::to_ascii(&text::summary(&document, &told)));
    }
    output::write_json(arguments.output.json.as_deref(), &document, arguments.output.force)?;
    if let Some(kept) = &kept {
        let config = &options.scenario.scenario.config;
        kept.finish(&document, Some(config).filter(|_| control.scenario().revision == 1), is_followed)?;
        drop(keeping);
        if prose && !arguments.output.json_to_stdout() {
            output::print(&kept.text());
        }
    }
    if let Some(gone) = &snapshot.gone {
        return Err(Failure::environment(format!(
            "the emulation ended early (port {}): {gone}; restore it, and start again",
            gone.port
        )));
    }
    recorded.map_or(Ok(()), samples::written)?;
    followed.transpose()?;
    Ok(ending.exit())
}

/// Prints what became of periods of a followed path, a line each, and gives how many there were.
fn say_refits(events: &[RefitEvent], line: &mut text::StatusLine, arguments: &EmulateArgs) -> usize {
    if !events.is_empty() {
        line.clear();
    }
    for event in events {
        let text = output::to_ascii(&escape::terminal(&event.text())).into_owned();
        // Whoever reads the document from standard output gets nothing else there.
        if arguments.output.json_to_stdout() {
            output::eprint_line(&text);
        } else {
            output::print(&format!("{text}\n"));
        }
    }
    events.len()
}

/// Lets others watch and change the bridge.
fn serve(listen: SocketAddr, arguments: &EmulateArgs, control: Control) -> Result<Server, Failure> {
    let folder = arguments.files.scenario.as_ref().and_then(|file| file.parent());
    console::of_emulation(listen, &arguments.serving, control, folder)
}

/// Port a and port b.
fn ports(given: &[PortArgument]) -> Result<[PortName; 2], Failure> {
    let of = |place: usize, letter: char| {
        let mut all = given.iter().filter(|port| port.place == place);
        match (all.next(), all.next()) {
            (Some(port), None) => Ok(port.name.clone()),
            (None, _) => Err(Failure::usage(format!(
                "missing option (--port {letter}=IF): two ports are required; e.g. --port a=eth1 --port b=eth2"
            ))),
            (Some(_), Some(_)) => Err(Failure::usage(format!(
                "port given twice (--port {letter}=...): there is one port {letter}; give a and b once each"
            ))),
        }
    };
    Ok([of(0, 'a')?, of(1, 'b')?])
}

/// The scenario that is named, with the impairments of the command line, and with a seed.
fn scenario(arguments: &EmulateArgs) -> Result<Opened, Failure> {
    let (files, given) = (&arguments.files, &arguments.impairments);
    let is_named = files.scenario.is_some() || files.preset.is_some();
    let mut opened = if is_named { offline::open(arguments)? } else { Opened::from(Config::default()) };
    if given.is_any() || !is_named {
        let text = impairments::apply(&opened.text, given)?;
        opened = romer_emulate::read_scenario(&text, "the options")?;
    }
    let seed = offline::seed(arguments, &opened)?;
    if !is_named {
        opened.text = run_folder::seeded(&opened.text, seed);
    }
    opened.scenario.config.seed = Some(seed);
    Ok(opened)
}

impl From<DataPlane> for romer_emulate::live::DataPlane {
    fn from(plane: DataPlane) -> Self {
        match plane {
            DataPlane::Auto => Self::Auto,
            DataPlane::Packet => Self::Packet,
            DataPlane::Xdp => Self::Xdp,
        }
    }
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match &error {
            LiveError::SamePort(_) => {
                Self::usage(format!("both ports are the same (--port): {error}; give two interfaces"))
            }
            LiveError::Loop(..) => {
                Self::usage(format!("the ports form a loop (--port): {error}; use one end each of two pairs"))
            }
            LiveError::Buffer { .. } => Self::usage(format!(
                "the buffer is too small (delay times rate): {error}; request less delay, a lower rate or a shorter queue"
            )),
            LiveError::DefaultRoute(_) => Self::environment(format!(
                "refused to use a port (--port): {error}, and would lose its connections; use another, or give \
                 --allow-default-route"
            )),
            LiveError::Port { source, .. } if matches!(**source, PortError::InUse(_)) => Self::environment(
                format!("cannot open port (--port): {error}; end that program first, or use another port"),
            ),
            LiveError::Port { source, name } if source.is_permission() => {
                let lab = "romer lab run E -- romer emulate --port a=e0 --port b=e1";
                // Entering a network namespace needs more than the capabilities of a port.
                let remedy = match name.namespace() {
                    Some(_) => format!("run as root, or inside the lab: {lab}"),
                    None => format!(
                        "run as root, or `sudo setcap cap_net_raw,cap_net_admin+ep $(command -v romer)`, or use a lab: romer \
                         lab up path, {lab}"
                    ),
                };
                Self::environment(format!("cannot open port (--port): {error}; {remedy}"))
            }
            LiveError::Port { source, name } => {
                let do_what = match &**source {
                    PortError::Offload { .. } => {
                        "; use the underlying interface of a VLAN, macvlan or tunnel, or another one"
                            .to_owned()
                    }
                    PortError::NoXdp { .. } => String::new(),
                    PortError::Memory { .. } => "; request less delay or a shorter queue".to_owned(),
                    _ => format!("; `{}` lists the interfaces", name.ip("link")),
                };
                Self::environment(format!("cannot open port (--port): {error}{do_what}"))
            }
            LiveError::Host(_) => {
                Self::environment(format!("cannot emulate (system): {error}; see `romer doctor`"))
            }
            LiveError::Stale { .. } | LiveError::Feeds { .. } => {
                Self::own(format!("request failed (emulate): {error}"))
            }
            LiveError::Ended => Self::own("the bridge thread has ended (emulate): unknown cause"),
        }
    }
}
