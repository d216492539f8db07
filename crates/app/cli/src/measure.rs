//! `romer measure`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use romer_analyze::evaluate::Evaluated;
use romer_endpoint::names::Family;
use romer_measure::{
    MeasureOptions, MeasurementOutcome, Observer, ProbeSize, Profile, StreamOptions, Telemetry,
    TrafficControl,
};
use romer_record::Exit;
use romer_record::document::{Measurement, ProbeDirection, STREAM, StreamInterval, StreamLine, StreamReturn};
use romer_record::event::{EventDetail, EventKind};
use romer_record::manifest::{SkewRequest, StampRequest};
use romer_record::note::Note;
use romer_record::service::Service;
use romer_report::replies;
use romer_report::warning::Text;
use romer_store::{Location, Runs, document_of};
use romer_telemetry::ProbeMetrics;
use romer_traffic::{Schedule, Trace};
use romer_units::Duration;
use romer_units::random::Seed;

use crate::args::{ChecksumCoverage, DirectionOption, MeasureArgs, OutputArgs, StampPlace, TrafficArgs};
use crate::failure::Failure;
use crate::ndjson;
use crate::progress::{ProgressOutput, ProgressPrinter};
use crate::repeat::RepeatSchedule;
use crate::telemetry::Exporter;
use crate::tui::{self, MeasurementPicture, Painter, Screen};
use crate::{after, command, confinement, marks, output, report, signals};

impl From<DirectionOption> for ProbeDirection {
    fn from(direction: DirectionOption) -> Self {
        match direction {
            DirectionOption::RoundTrip => Self::RoundTrip,
            DirectionOption::Forward => Self::Forward,
            DirectionOption::Reverse => Self::Reverse,
            DirectionOption::Both => Self::Both,
        }
    }
}

impl From<StampPlace> for StampRequest {
    fn from(place: StampPlace) -> Self {
        match place {
            StampPlace::Best => Self::Best,
            StampPlace::Nic => Self::Nic,
            StampPlace::Kernel => Self::Kernel,
            StampPlace::User => Self::User,
            StampPlace::InPacket => Self::InPacket,
        }
    }
}

/// Measures, and gives the exit code.
pub(crate) fn run(arguments: &MeasureArgs) -> Result<Exit, Failure> {
    if arguments.json_lines && arguments.output.json_to_stdout() {
        return Err(Failure::usage(
            "options cannot be combined (--json-lines, --json -): both write to standard output; name a file for \
             --json, or take the last line of --json-lines, which holds the document",
        ));
    }
    if arguments.turns.every.is_some()
        && arguments.output.json.is_some()
        && !arguments.output.json_to_stdout()
    {
        return Err(Failure::usage(
            "options cannot be combined (--every, --json FILE): each run has a document of its own, in its folder \
             under --out; take them there, or write them all to standard output (--json -)",
        ));
    }
    if arguments.live_delays && ProbeDirection::from(arguments.direction) == ProbeDirection::RoundTrip {
        return Err(Failure::usage(
            "options cannot be combined (--live-delays, --direction round-trip): delays there and back are known as \
             each packet returns; leave --live-delays out, or name the one way",
        ));
    }
    if arguments.each && ProbeDirection::from(arguments.direction) != ProbeDirection::RoundTrip {
        return Err(Failure::usage(
            "options cannot be combined (--each, --direction): only round trips return; leave --each out, or measure round trips",
        ));
    }
    output::check_open(arguments.json_lines)?;
    arguments.output.check()?;
    if arguments.tui {
        tui::check()?;
    }
    let mut turns = RepeatSchedule::new(&arguments.turns, arguments.output.quiet)?;
    // Once for all runs, and while a signal still ends the program: a pipe may never have a writer.
    let trace = crate::traffic::trace(&arguments.traffic)?;
    if arguments.turns.start.is_some() || arguments.turns.after.is_some() {
        // What cannot be is told now, and not when the time has come.
        options(arguments, trace.clone())?;
    }
    let exporter = Exporter::start(&arguments.exporter)?;
    let telemetry = exporter.as_ref().map(|exporter| target_metrics(exporter, arguments));
    let interrupted = signals::interruption()?;
    if let Some(test) = &arguments.turns.after {
        let family = family(arguments.ipv4, arguments.ipv6);
        let is_ended = || interrupted.load(Ordering::Acquire);
        if !after::wait(test, family, arguments.output.quiet, &is_ended)? {
            return Ok(Exit::Interrupted);
        }
    }
    if !turns.repeat() {
        return turns.wait(&interrupted).map_or(Ok(Exit::Interrupted), |at| {
            let (outcome, skipped_lines) = once(arguments, (trace, telemetry), at, &interrupted)?;
            conclude(&outcome, skipped_lines, arguments, &interrupted)
        });
    }
    again_and_again(&mut turns, arguments, &(trace, telemetry), &interrupted)
}

/// What is the same in every run: the recorded schedule, and the metrics.
type Repeated = (Option<Trace>, Option<Telemetry>);

/// The metrics of all targets, which exist from now on.
fn target_metrics(exporter: &Exporter, arguments: &MeasureArgs) -> Telemetry {
    let metrics = ProbeMetrics::new(&exporter.registry);
    for target in &arguments.targets {
        metrics.target(&target.text);
    }
    if !arguments.output.quiet {
        output::eprint_line(exporter.text().trim_end());
    }
    Telemetry { metrics: Arc::new(metrics), delays_at_end: arguments.turns.every.is_some() }
}

/// Measures at every turn, whatever became of the one before, and gives the first exit code that is not 0.
fn again_and_again(
    turns: &mut RepeatSchedule,
    arguments: &MeasureArgs,
    repeated: &Repeated,
    interrupted: &Arc<AtomicBool>,
) -> Result<Exit, Failure> {
    let mut worst = Exit::Success;
    while let Some(at) = turns.wait(interrupted) {
        let number = turns.number();
        let code = match once(arguments, repeated.clone(), at, interrupted) {
            Err(failure) if failure.is_usage() => return Err(failure),
            Err(failure) => failure.of_run(&format!("run {number}")).print(),
            Ok((outcome, skipped_lines)) => {
                let concluded = conclude(&outcome, skipped_lines, arguments, interrupted);
                concluded.unwrap_or_else(|failure| failure.of_run(&name(number, &outcome)).print())
            }
        };
        worst = if worst == Exit::Success { code } else { worst };
    }
    Ok(if interrupted.load(Ordering::Acquire) { Exit::Interrupted } else { worst })
}

/// How one run of many is named.
fn name(number: u64, outcome: &MeasurementOutcome) -> String {
    let began = outcome.streams.first().map_or("", |stream| stream.measurement.started.as_str());
    format!("run {number}, started at {began}, saved to {}", outcome.folder.display())
}

/// One run, whose first probes leave at `at`; and how many lines of `--json-lines` were skipped.
fn once(
    arguments: &MeasureArgs,
    (trace, telemetry): Repeated,
    at: Option<SystemTime>,
    interrupted: &Arc<AtomicBool>,
) -> Result<(MeasurementOutcome, u64), Failure> {
    let options = MeasureOptions { at, telemetry, ..options(arguments, trace)? };
    if !arguments.tui {
        let (output, stream) = (&arguments.output, arguments.json_lines);
        return with_progress(output, stream, &options, interrupted, Some(arguments));
    }
    let picture = MeasurementPicture::new(options.direction, expected(&options));
    let screen = Screen::take(&picture, interrupted)?;
    let mut painter = Painter::new(picture);
    let mut observer = ConfiningObserver { observer: &mut painter, arguments };
    let outcome = romer_measure::measure(&options, interrupted, &mut observer);
    drop(screen);
    Ok((outcome?, 0))
}

/// Confines this process when the sessions and the run folder are there, before the first probe.
struct ConfiningObserver<'a> {
    observer: &'a mut dyn Observer,
    arguments: &'a MeasureArgs,
}

impl Observer for ConfiningObserver<'_> {
    fn on_start(&mut self, folder: &Path, streams: usize) {
        self.observer.on_start(folder, streams);
        let confined = confinement::start(&confinement::of_measurement(self.arguments, folder));
        if self.arguments.verbose && !self.arguments.output.quiet {
            output::eprint_line(&format!("note: {}", confined.trim_end()));
        }
    }

    fn on_note(&mut self, stream: u16, note: &Note) {
        self.observer.on_note(stream, note);
    }

    fn on_interval(&mut self, interval: &StreamInterval) {
        self.observer.on_interval(interval);
    }

    fn on_return(&mut self, returned: &StreamReturn) {
        self.observer.on_return(returned);
    }
}

/// Measures, and prints the progress; with `stream` as JSON lines, of which the number that was skipped is given. The process is
/// confined if it only measures, by these arguments.
pub(crate) fn with_progress(
    output: &OutputArgs,
    stream: bool,
    options: &MeasureOptions,
    interrupted: &Arc<AtomicBool>,
    only_measures: Option<&MeasureArgs>,
) -> Result<(MeasurementOutcome, u64), Failure> {
    let talk = ProgressOutput { quiet: output.quiet, stream, color: output.color };
    let mut printer = ProgressPrinter::new(talk, options.direction, expected(options));
    let outcome = match only_measures {
        Some(arguments) => {
            let mut observer = ConfiningObserver { observer: &mut printer, arguments };
            romer_measure::measure(options, interrupted, &mut observer)
        }
        None => romer_measure::measure(options, interrupted, &mut printer),
    };
    let skipped_lines = printer.finish(interrupted);
    Ok((outcome?, skipped_lines))
}

fn conclude(
    outcome: &MeasurementOutcome,
    skipped_lines: u64,
    arguments: &MeasureArgs,
    interrupted: &AtomicBool,
) -> Result<Exit, Failure> {
    let measurements = outcome.measurements();
    if arguments.json_lines {
        let last = measurements.iter().zip(0..).map(|(measurement, stream)| StreamLine::Final {
            schema: STREAM.into(),
            stream,
            measurement: Box::new(measurement.clone()),
            skipped_lines: Some(skipped_lines).filter(|lines| *lines > 0),
        });
        ndjson::write_last(last.collect(), interrupted);
    }
    let stdout_is_taken = arguments.json_lines || arguments.output.json_to_stdout();
    if !arguments.output.quiet && !stdout_is_taken {
        let (color, verbose) = (arguments.output.color, arguments.verbose);
        output::print_summary(&report::summary(&measurements, color, Some(&outcome.folder), verbose));
    }
    if let Some(file) = &arguments.output.json {
        let mut text = document_of(&measurements).map_err(Failure::own)?;
        if arguments.turns.every.is_some() {
            // One after the other, so that who reads lines has a document in each. A line break is in no string.
            text = text.lines().map(str::trim_start).collect::<String>() + "\n";
        }
        output::write_document(file, &text, arguments.output.force)
            .map_err(|failure| failure.but_kept(&outcome.folder))?;
    }
    exit_code(outcome)
}

/// The exit code of a measurement that has been shown, or the failure that remains to be told.
pub(crate) fn exit_code(outcome: &MeasurementOutcome) -> Result<Exit, Failure> {
    if let Some(error) = &outcome.not_kept {
        return Err(Failure::with_exit(error.exit(), error));
    }
    if outcome.partial {
        return Ok(Exit::Interrupted);
    }
    if let Some(gone) = &outcome.responder_lost {
        return Err(Failure::with_exit(Exit::Unreachable, gone));
    }
    match &outcome.unreachable[..] {
        [] => {}
        [one] => return Err(Failure::with_exit(Exit::Unreachable, one)),
        [first, others @ ..] => {
            return Err(Failure::with_exit(
                Exit::Unreachable,
                format!("{first} (and {} more targets)", others.len()),
            ));
        }
    }
    if let [target, ..] = &outcome.unanswering[..] {
        return Err(Failure::with_exit(
            Exit::Unreachable,
            format!(
                "no probe was sent ({target}): the next hop does not answer ARP or neighbour discovery; check that it is up and on \
                 this link (ip route get, ip neigh)"
            ),
        ));
    }
    if let Some(stuck) = outcome.streams.iter().find(|stream| is_stuck(stream)) {
        return Err(Failure::environment(format!(
            "no probe was sent ({}): {}; check the routes and the packet filter of this host",
            stuck.measurement.target,
            why_stuck(stuck)
        )));
    }
    if outcome.streams.iter().all(|stream| stream.measurement.sent_nothing())
        && let Some(first) = outcome.streams.first()
    {
        return Err(Failure::usage(format!(
            "no probe was sent ({}): the random schedule has none within the duration; set a longer --duration, or --count",
            first.measurement.target
        )));
    }
    let silent: Vec<_> = outcome.streams.iter().filter(|stream| is_silent(&stream.measurement)).collect();
    match silent.first() {
        None => report::check_limits(&outcome.measurements()),
        Some(first) if first.measurement.replies.rejected.total() > 0 => {
            let Measurement { target, replies, .. } = &first.measurement;
            let came = replies::came(&replies.rejected, "replies");
            let remedy = replies::remedy(&replies.rejected);
            Err(Failure::with_exit(
                Exit::Unreachable,
                format!("no reply to a probe ({target}): {came}; {remedy}"),
            ))
        }
        Some(first) => {
            let target = &first.measurement.target;
            Err(Failure::with_exit(
                Exit::Unreachable,
                match closed_port(&first.measurement) {
                    Some(port) => format!(
                        "no answer ({target}): nothing listens at UDP port {port} (ICMP port unreachable); start `romer respond` there"
                    ),
                    None => format!(
                        "no answer ({target}): no reply was received; check that a reflector listens there, that both ends have the \
                         same key (--key-file), and that no firewall drops UDP to its port"
                    ),
                },
            ))
        }
    }
}

/// The port that the target reported as closed (ICMP).
fn closed_port(measurement: &Measurement) -> Option<u16> {
    measurement.events.iter().find_map(|event| match event.detail {
        Some(EventDetail::PortUnreachable { port, .. }) => Some(port),
        _ => None,
    })
}

/// Probes were to be sent, and this host took none.
fn is_stuck(stream: &Evaluated) -> bool {
    let document = &stream.measurement;
    let way = match document.traffic.direction {
        ProbeDirection::RoundTrip => &document.round_trip,
        _ => &document.forward,
    };
    stream.related.not_sent > 0 && way.packets.sent == Some(0)
}

/// Why this host sent no probe, in the words of the run's event where there is one.
fn why_stuck(stream: &Evaluated) -> String {
    let events = &stream.measurement.events;
    events
        .iter()
        .rfind(|event| event.kind == EventKind::NotSent)
        .map_or_else(
            || {
                format!(
                    "this host refused all {} of them; check its route to the target (ip route get) and its packet filter",
                    stream.related.not_sent
                )
            },
            Text::text,
        )
}

/// Nothing came back, and nothing else tells that there is anybody: with a far log, all lost is a result.
fn is_silent(measurement: &Measurement) -> bool {
    let round_trip = &measurement.round_trip.packets;
    round_trip.sent.is_some_and(|sent| sent > 0)
        && round_trip.received == Some(0)
        && measurement.forward.packets.lost.is_none()
}

/// What the engine is to measure, with a fresh seed where none is given.
pub(crate) fn options(arguments: &MeasureArgs, trace: Option<Trace>) -> Result<MeasureOptions, Failure> {
    let seed = arguments.traffic.seed.unwrap_or_else(random_seed);
    let traffic = crate::traffic::request(&arguments.traffic, trace, seed);
    let size = size(&arguments.traffic);
    let streams = arguments
        .targets
        .iter()
        .map(|target| StreamOptions { target: target.clone(), traffic: traffic.clone(), size })
        .collect();
    let fresh_seed = (traffic.is_random() && arguments.traffic.seed.is_none()).then_some(traffic.seed);
    let name = arguments.targets.first().map_or("run", |target| target.host.as_str());
    let marked =
        arguments.service.map(|service| marks::marks(service, arguments.marks.as_deref())).transpose()?;
    let in_profile = |bucket| -> Result<Profile, Failure> {
        Ok(Profile { bucket, marks: marks::marks(Service::NonConforming, arguments.marks.as_deref())? })
    };
    let profile = arguments.profile.map(in_profile).transpose()?;
    let (stated, clock_offset) = arguments.clocks.stated.statement()?;
    Ok(MeasureOptions {
        clocks: stated,
        clock_offset,
        streams,
        direction: arguments.direction.into(),
        family: family(arguments.ipv4, arguments.ipv6),
        stamp_only: arguments.stamp_only,
        key: crate::respond::key(arguments.key_file.as_deref(), arguments.output.quiet)?,
        channel: arguments.channel.options(),
        authenticate: arguments.authenticate,
        stamp: arguments.stamp.into(),
        dscp: marked.map_or(arguments.dscp, |marks| marks.dscp),
        ecn: arguments.ecn,
        ttl: arguments.ttl,
        traffic_control: TrafficControl {
            shaper: arguments.shape,
            service: arguments.service,
            priority: marked.map(|marks| marks.priority),
            profile,
        },
        source: arguments.source,
        interface: arguments.interface.clone(),
        route: !arguments.no_route,
        waiting_time: arguments.waiting_time,
        skew: clocks(arguments)?,
        voice: arguments.voice.request(),
        limits: arguments.limit.clone(),
        comment: arguments.comment.clone(),
        command: command::with_seed(fresh_seed),
        location: match (&arguments.keep.out, arguments.turns.every) {
            (Some(runs), Some(_)) => Location::Under { runs: runs.clone(), name: name.into() },
            (out, _) => location(out.as_deref(), arguments.output.force, name)?,
        },
        calibration: crate::calibrate::of_this_machine(arguments.subtract_baseline)?,
        telemetry: None,
        threads: arguments.threads.into(),
        live_delays: arguments.live_delays || arguments.tui,
        report_returns: arguments.each,
        count_damage: arguments.checksum == ChecksumCoverage::Header,
        at: None,
        // Whoever looks at the terminal may want to look at the charts too.
        report: arguments.report
            || (output::is_interactive() && !arguments.output.quiet && arguments.turns.every.is_none()),
        report_every: if arguments.json_lines {
            arguments.json_lines_interval
        } else {
            Duration::from_millis(250)
        },
    })
}

/// How large probes are.
pub(crate) fn size(arguments: &TrafficArgs) -> ProbeSize {
    match (arguments.size, arguments.packet_size) {
        (Some(octets), _) => ProbeSize::Payload(octets),
        (None, Some(octets)) => ProbeSize::Packet(octets),
        (None, None) => ProbeSize::Natural,
    }
}

/// How the clocks are related, by so many packets as are stated to be for calibration.
fn clocks(arguments: &MeasureArgs) -> Result<SkewRequest, Failure> {
    if let (Some(stated), Some(count)) = (arguments.calibration, arguments.traffic.count)
        && stated >= count
    {
        return Err(Failure::usage(format!(
            "no packets are left to measure (--calibration {stated}): --count {count} are sent; state fewer, or send more"
        )));
    }
    arguments.clocks.request(arguments.calibration)
}

/// Where a run is kept.
pub(crate) fn location(out: Option<&Path>, force: bool, name: &str) -> Result<Location, Failure> {
    match out {
        Some(path) => Ok(Location::Folder { path: path.to_path_buf(), force }),
        None => Ok(Runs::of_user()?.location(name)),
    }
}

/// The family that `-4` and `-6` state.
pub(crate) const fn family(ipv4: bool, ipv6: bool) -> Family {
    match (ipv4, ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    }
}

/// Six fresh words.
pub(crate) fn random_seed() -> Seed {
    Seed(romer_endpoint::random_words())
}

/// How long the measurement will take, where that is known.
pub(crate) fn expected(options: &MeasureOptions) -> Option<Duration> {
    options
        .streams
        .iter()
        .map(|stream| Some(Schedule::new(&stream.traffic).ok()?.expected_length()))
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .max()
}
