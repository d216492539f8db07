//! `romer measure`.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::Duration as StdDuration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use romer_measure::evaluate::Evaluated;
use romer_measure::measure::{self, MeasureOptions, Observer, Outcome, ProbeSize, StreamOptions};
use romer_measure::names::Family;
use romer_record::document::{Measurement, STREAM, StreamInterval, StreamLine};
use romer_record::manifest::StampRequest;
use romer_store::{Location, Runs, document_of};
use romer_traffic::Schedule;
use romer_units::Duration;
use romer_units::random::Seed;

use crate::args::{MeasureArgs, StampPlace};
use crate::failure::Failure;
use crate::{command, output, report, signals};

impl From<StampPlace> for StampRequest {
    fn from(place: StampPlace) -> Self {
        match place {
            StampPlace::Best => Self::Best,
            StampPlace::Nic => Self::Nic,
            StampPlace::Kernel => Self::Kernel,
            StampPlace::User => Self::User,
        }
    }
}

/// Measures, and gives the exit code.
pub(crate) fn run(arguments: &MeasureArgs) -> Result<u8, Failure> {
    let options = options(arguments)?;
    if arguments.stream && arguments.output.json_to_stdout() {
        return Err(Failure::usage(
            "two arguments contradict each other (--stream, --json -): both write to standard output; name a file for \
             --json, or take the last line of --stream, which holds the document",
        ));
    }
    output::check_target(arguments.output.json.as_deref(), arguments.output.force)?;
    let interrupted = signals::interruption()?;
    let talk = Talk { quiet: arguments.output.quiet, stream: arguments.stream };
    let mut observer = Narrator::new(talk, expected(&options));
    let outcome = measure::measure(&options, &interrupted, &mut observer)?;
    observer.finish();
    conclude(&outcome, arguments)
}

fn conclude(outcome: &Outcome, arguments: &MeasureArgs) -> Result<u8, Failure> {
    let measurements = outcome.measurements();
    if arguments.stream {
        for (measurement, stream) in measurements.iter().zip(0..) {
            let line = StreamLine::Final {
                schema: STREAM.into(),
                stream,
                measurement: Box::new(measurement.clone()),
            };
            print_line(&line);
        }
    }
    let stdout_is_taken = arguments.stream || arguments.output.json_to_stdout();
    if !arguments.output.quiet && !stdout_is_taken {
        output::print(&report::summary(&measurements, arguments.output.color, Some(&outcome.folder)));
    }
    if let Some(file) = &arguments.output.json {
        let text = document_of(&measurements).map_err(Failure::own)?;
        output::write_document(file, &text, arguments.output.force)
            .map_err(|failure| failure.but_kept(&outcome.folder))?;
    }
    exit_code(outcome)
}

/// The exit code of a measurement that has been shown, or the failure that remains to be told.
pub(crate) fn exit_code(outcome: &Outcome) -> Result<u8, Failure> {
    if let Some(error) = &outcome.not_kept {
        return Err(Failure::with_code(error.exit_class().code(), error));
    }
    if outcome.partial {
        return Ok(130);
    }
    if let Some(stuck) = outcome.streams.iter().find(|stream| is_stuck(stream)) {
        return Err(Failure::environment(format!(
            "no probe was sent ({}): this host refused each of {}; see its route to there (ip route get), and its \
             packet filter",
            stuck.measurement.target, stuck.related.not_sent
        )));
    }
    let silent: Vec<_> = outcome.streams.iter().filter(|stream| is_silent(&stream.measurement)).collect();
    match silent.first() {
        None => report::hold_limits(&outcome.measurements()),
        Some(first) => Err(Failure::with_code(
            5,
            format!(
                "no answer ({}): not one probe came back; see that a reflector listens there and that UDP to its port \
                 passes the filters on the way",
                first.measurement.target
            ),
        )),
    }
}

/// Probes were to be sent, and this host took none.
fn is_stuck(stream: &Evaluated) -> bool {
    stream.related.not_sent > 0 && stream.measurement.round_trip.packets.sent == Some(0)
}

/// Nothing came back, and nothing else tells that there is anybody: with a far log, all lost is a result.
fn is_silent(measurement: &Measurement) -> bool {
    let round_trip = &measurement.round_trip.packets;
    round_trip.sent.is_some_and(|sent| sent > 0)
        && round_trip.received == Some(0)
        && measurement.forward.packets.lost.is_none()
}

fn options(arguments: &MeasureArgs) -> Result<MeasureOptions, Failure> {
    let traffic =
        crate::traffic::request(&arguments.traffic, arguments.traffic.seed.unwrap_or_else(random_seed))?;
    let size = match (arguments.traffic.size, arguments.traffic.packet_size) {
        (Some(octets), _) => ProbeSize::Payload(octets),
        (None, Some(octets)) => ProbeSize::Packet(octets),
        (None, None) => ProbeSize::Natural,
    };
    let streams = arguments
        .targets
        .iter()
        .map(|target| StreamOptions { target: target.clone(), traffic: traffic.clone(), size })
        .collect();
    let fresh_seed = (traffic.is_random() && arguments.traffic.seed.is_none()).then_some(traffic.seed);
    let name = arguments.targets.first().map_or("run", |target| target.host.as_str());
    Ok(MeasureOptions {
        streams,
        family: match (arguments.ipv4, arguments.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        },
        stamp_only: arguments.stamp_only,
        key: crate::respond::key(arguments.key_file.as_deref(), arguments.output.quiet)?,
        stamp: arguments.stamp.into(),
        dscp: arguments.dscp,
        ecn: arguments.ecn,
        ttl: arguments.ttl,
        source: arguments.source,
        interface: arguments.interface.clone(),
        waiting_time: arguments.waiting_time,
        limits: arguments.limit.clone(),
        comment: arguments.comment.clone(),
        command: command::with_seed(fresh_seed),
        location: location(arguments.keep.out.as_deref(), arguments.output.force, name)?,
        threads: arguments.threads.into(),
        report_every: if arguments.stream { arguments.stream_interval } else { Duration::from_millis(250) },
    })
}

/// Where a run is kept.
pub(crate) fn location(out: Option<&Path>, force: bool, name: &str) -> Result<Location, Failure> {
    match out {
        Some(path) => Ok(Location::Folder { path: path.to_path_buf(), force }),
        None => Ok(Runs::of_user()?.location(name)),
    }
}

/// Six fresh words.
pub(crate) fn random_seed() -> Seed {
    Seed(romer_measure::random_words())
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

/// What is told while measuring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    /// No prose.
    pub(crate) quiet: bool,
    /// JSON lines on standard output.
    pub(crate) stream: bool,
}

/// Tells how a measurement goes on: JSON lines, or a live line on a terminal.
pub(crate) struct Narrator {
    talk: Talk,
    bar: ProgressBar,
    expected: Option<Duration>,
    latest: Vec<StreamInterval>,
}

impl Narrator {
    /// A narrator of a measurement that takes `expected`.
    pub(crate) fn new(talk: Talk, expected: Option<Duration>) -> Self {
        let shown = !talk.quiet && io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let length = expected.map_or(0, |time| time.as_nanos().unsigned_abs() / 1_000_000);
        let bar = ProgressBar::with_draw_target(Some(length.max(1)), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        Self { talk, bar, expected, latest: Vec::new() }
    }

    /// The live line goes.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self) -> String {
        let sent: u64 = self.latest.iter().map(|one| one.sent).sum();
        let returned: u64 = self.latest.iter().map(|one| one.returned).sum();
        let elapsed = self.latest.iter().map(|one| one.elapsed_ns).max().unwrap_or(0) / 1_000_000_000;
        let of =
            self.expected.map_or(String::new(), |time| format!(" of {} s", time.as_nanos() / 1_000_000_000));
        let delay = self.latest.first().and_then(|one| one.round_trip_delay_ns.median);
        let delay = delay.map_or(String::new(), |ns| format!(", round trip {}", microseconds(ns)));
        format!("{elapsed} s{of}, {sent} sent, {returned} back{delay}")
    }
}

fn microseconds(nanos: f64) -> String {
    if nanos < 1e6 { format!("{:.1} us", nanos / 1e3) } else { format!("{:.2} ms", nanos / 1e6) }
}

fn print_line(line: &StreamLine) {
    if let Ok(mut text) = serde_json::to_string(line) {
        text.push('\n');
        output::print(&text);
    }
}

impl Observer for Narrator {
    fn on_start(&mut self, folder: &Path, _streams: usize) {
        if self.talk.stream {
            let folder = romer_report::escape::terminal(&folder.to_string_lossy());
            print_line(&StreamLine::Event {
                schema: STREAM.into(),
                stream: 0,
                text: format!("run kept in {folder}"),
            });
        }
        self.bar.enable_steady_tick(StdDuration::from_millis(250));
    }

    fn on_note(&mut self, stream: u16, text: &str) {
        let text = romer_report::escape::terminal(text);
        if self.talk.stream {
            print_line(&StreamLine::Event { schema: STREAM.into(), stream, text: text.clone() });
        }
        if !self.talk.quiet {
            self.bar.suspend(|| output::eprint_line(&format!("note: {text}")));
        }
    }

    fn on_interval(&mut self, interval: &StreamInterval) {
        if self.talk.stream {
            print_line(&StreamLine::Interval(Box::new(interval.clone())));
        }
        match self.latest.iter_mut().find(|one| one.stream == interval.stream) {
            Some(one) => one.clone_from(interval),
            None => self.latest.push(interval.clone()),
        }
        self.bar.set_position((interval.elapsed_ns / 1_000_000).unsigned_abs());
        self.bar.set_message(self.line());
    }
}
