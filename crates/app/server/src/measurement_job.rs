//! Measurements started from the console: the same as `romer measure`, each on its own thread.

use std::path::Path;
use std::str::FromStr;
use std::time::SystemTime;

use axum::http::StatusCode;
use romer_analyze::limits::Limit;
use romer_endpoint::EndpointError;
use romer_endpoint::names::Target;
use romer_endpoint::tls::{ChannelOptions, TlsFiles};
use romer_host::clock::rfc3339;
use romer_measure::{MeasureOptions, MeasurementOutcome, Observer, ProbeSize, StreamOptions};
use romer_record::Exit;
use romer_record::document::{self, Measurement, ProbeDirection, StreamInterval};
use romer_record::emulation::PortDirection;
use romer_record::manifest::{CalibrationUse, StampRequest};
use romer_record::note::{Note, Notice};
use romer_record::voice::VoiceRequest;
use romer_store::{CalibrationFile, Runs};
use romer_traffic::{Request, Schedule, Trace, TrafficModel};
use romer_units::random::Seed;
use romer_units::{Dscp, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::interval_store::IntervalStore;
use crate::jobs::{Hand, JobState, Jobs, Work};
use crate::limits;
use crate::linked_emulation::LinkedEmulation;
use crate::log_tail::{Follower, LiveStream};
use crate::problem::{FieldError, Problem};
use crate::warning_text::ExplainedWarning;

/// Notes and targets that are kept of each.
const NOTES: usize = 100;
const TARGETS: usize = 8;
/// Octets of JSON of each field but the trace: every page gets them with each change of the measurement.
const LONGEST_FIELD: usize = 4 << 10;
/// The longest measurement that is started from a page.
const MAX_MEASUREMENT_TIME: Duration = Duration::from_secs(7 * 86_400);

/// Request for a measurement. All fields except `targets` are optional. Quantities have units, as on the
/// command line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = crate::request_defaults::may_be_left_out)]
pub(crate) struct MeasurementRequest {
    /// Targets: `HOST`, `HOST:CONTROLPORT` or `[IPV6]:CONTROLPORT`; one to eight.
    pub(crate) targets: Vec<String>,
    /// Direction of the probes: `round_trip`, `forward`, `reverse` or `both`.
    #[serde(default)]
    pub(crate) direction: ProbeDirection,
    /// Traffic model, as for `--traffic`: `periodic`, `melp`, `g711`, ...
    #[serde(default)]
    pub(crate) traffic: Option<String>,
    /// Mean time between probes, with unit: `20ms`.
    #[serde(default)]
    pub(crate) interval: Option<String>,
    /// Duration, with unit: `10s`.
    #[serde(default)]
    pub(crate) duration: Option<String>,
    /// Number of probes, instead of a duration.
    #[serde(default)]
    pub(crate) count: Option<u64>,
    /// UDP payload, with unit: `160B`.
    #[serde(default)]
    pub(crate) size: Option<String>,
    /// Codec frames per packet.
    #[serde(default)]
    pub(crate) bundle: Option<u32>,
    /// DSCP: `ef`, `af41` or a number.
    #[serde(default)]
    pub(crate) dscp: Option<String>,
    /// The target is a STAMP reflector other than romer: no control channel.
    #[serde(default)]
    pub(crate) stamp_only: bool,
    /// Fetch the records of the responder for one-way packets only at the end. Otherwise they are sent during
    /// the run (about 40 bytes per packet), so that delays, jitter and losses are reported live.
    #[serde(default)]
    pub(crate) log_at_end: bool,
    /// Limits of the results: `forward.delay_ns.p99<30ms`.
    #[serde(default)]
    pub(crate) limits: Vec<String>,
    /// Comment that is stored with the run.
    #[serde(default)]
    pub(crate) comment: Option<String>,
    /// Seed of random schedules: six numbers, not all 0. Default: random.
    #[serde(default)]
    pub(crate) seed: Option<[u32; 6]>,
    /// Source of the time stamps: `best`, `nic`, `kernel`, `user` or `in_packet`.
    #[serde(default)]
    pub(crate) stamp: StampRequest,
    /// Text of the file for the traffic model `trace:FILE`.
    #[serde(default)]
    pub(crate) trace: Option<String>,
    /// Direction of the emulation of this server that forward packets pass. The settings of the emulation
    /// during the run are stored with it. Default: `a_to_b` if an emulation is running; `null`: the packets
    /// do not pass through it.
    #[serde(default, deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PortDirection>")]
    pub(crate) emulated: Option<Option<PortDirection>>,
}

/// What is said, were it that there is none.
fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<PortDirection>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A measurement that this server started.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Job {
    /// Identifier.
    pub(crate) id: u64,
    /// The request.
    pub(crate) request: MeasurementRequest,
    /// Equivalent command line.
    pub(crate) command: String,
    /// State.
    pub(crate) state: JobState,
    /// Start time, RFC 3339.
    pub(crate) started: String,
    /// Expected duration in nanoseconds; `null` if unknown.
    pub(crate) expected_ns: Option<i64>,
    /// Name of the run in which the measurement is stored.
    pub(crate) run: Option<String>,
    /// Notes of the run.
    pub(crate) notes: Vec<ExplainedWarning<Note>>,
    /// Reason why the measurement failed or is incomplete.
    pub(crate) error: Option<String>,
    /// Failed limits, as text.
    pub(crate) failed_limits: Vec<String>,
    /// State of each stream.
    pub(crate) streams: Vec<StreamInterval>,
    /// Results of the last interval, by stream.
    pub(crate) live: Vec<LiveStream>,
    /// What came of all intervals, which is told apart.
    #[serde(skip)]
    pub(crate) watched: IntervalStore,
}

impl Work for Job {
    const NAME: &'static str = "measurement";
    const AT_ONCE: usize = 4;
    const REMEMBERED: usize = 50;

    fn id(&self) -> u64 {
        self.id
    }

    fn state(&self) -> JobState {
        self.state
    }
}

/// Measurements started by this server.
pub(crate) type Measurements = Jobs<Job>;

/// Starts one, which is kept among `runs`.
pub(crate) fn start(
    measurements: &Measurements,
    runs: &Runs,
    asked: MeasurementRequest,
    through: Option<LinkedEmulation>,
) -> Result<Job, Problem> {
    let options = checked(&asked, runs)?;
    let expected_ns = expected_ns(&options);
    let command = options.command.clone();
    let make = move |id| Job {
        id,
        // A recorded schedule is not told to every page each second.
        request: MeasurementRequest { trace: None, ..asked },
        command,
        state: JobState::Running,
        started: rfc3339(SystemTime::now()),
        expected_ns,
        run: None,
        notes: Vec::new(),
        error: None,
        failed_limits: Vec::new(),
        streams: Vec::new(),
        live: Vec::new(),
        watched: IntervalStore::default(),
    };
    measurements.start(make, move |hand, stop| {
        let mut teller = MeasurementObserver { hand, follower: None, through };
        let outcome = romer_measure::measure(&options, stop, &mut teller);
        if let Some(Err(why)) = teller.through.take().map(LinkedEmulation::end) {
            teller.on_note(0, &Notice::EmulationNotSaved { error: why }.into());
        }
        teller.hand.change(|job| job.end(outcome));
    })
}

/// The options that a request names, with sizes that can be sent.
pub(crate) fn checked(asked: &MeasurementRequest, runs: &Runs) -> Result<MeasureOptions, Problem> {
    let options = options(asked, runs)?;
    romer_measure::check_sizes(&options).map_err(|error| about_size(&error))?;
    Ok(options)
}

/// Validates a request without starting anything.
pub(crate) fn check(asked: &MeasurementRequest, runs: &Runs) -> Result<(), Problem> {
    checked(asked, runs).map(|_| ())
}

/// How long a measurement takes by its schedules, nanoseconds.
pub(crate) fn expected_ns(options: &MeasureOptions) -> Option<i64> {
    let lengths = options.streams.iter().filter_map(|stream| Schedule::new(&stream.traffic).ok());
    lengths.map(|schedule| schedule.expected_length().as_nanos()).max()
}

/// Whether one of them writes to the run of this name.
pub(crate) fn is_written(measurements: &Measurements, run: &str) -> bool {
    measurements.any_running(|job| job.run.as_deref() == Some(run))
}

/// Why a measurement is incomplete that was not interrupted.
pub(crate) fn shortfall(outcome: &MeasurementOutcome) -> Option<String> {
    let not_kept = outcome.not_kept.as_ref().map(ToString::to_string);
    not_kept.or_else(|| outcome.responder_lost.as_ref().map(ToString::to_string))
}

impl Job {
    fn end(&mut self, outcome: Result<MeasurementOutcome, EndpointError>) {
        match outcome {
            Ok(outcome) => {
                self.state = JobState::Done;
                self.error = shortfall(&outcome);
                self.failed_limits = limits::broken(
                    &outcome.measurements().iter().map(limits_of).collect::<Vec<_>>(),
                    outcome.partial,
                );
                if outcome.partial || self.error.is_some() {
                    self.state = JobState::Partial;
                }
            }
            Err(error) => {
                self.state = JobState::Failed;
                self.error = Some(error.to_string());
            }
        }
    }
}

/// A measurement's target, and the verdicts on its limits.
fn limits_of(one: &Measurement) -> (&str, &[document::Limit]) {
    (&one.target, &one.limits)
}

/// Receives the progress of a measurement, stores and publishes it.
struct MeasurementObserver {
    hand: Hand<Job>,
    follower: Option<Follower>,
    through: Option<LinkedEmulation>,
}

impl Observer for MeasurementObserver {
    fn on_start(&mut self, folder: &Path, _streams: usize) {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        self.follower = Some(Follower::new(folder));
        self.hand.change(|job| job.run = name);
        if let Some(Err(why)) = self.through.as_mut().map(|through| through.store_request(folder)) {
            self.on_note(0, &Notice::EmulationNotSaved { error: why }.into());
        }
    }

    fn on_note(&mut self, _stream: u16, note: &Note) {
        let note = ExplainedWarning::from(note.clone());
        self.hand.change(|job| keep_note(&mut job.notes, note));
    }

    fn on_interval(&mut self, interval: &StreamInterval) {
        let follower = self.follower.as_mut();
        let live = follower.and_then(|log| log.interval(interval.stream, interval.elapsed_ns));
        self.hand.change(|job| {
            job.watched.take(interval, live.as_ref());
            renew(&mut job.streams, interval.clone(), |one| one.stream);
            if let Some(live) = live {
                renew(&mut job.live, live, |one| one.stream);
            }
        });
    }
}

/// Keeps a note, up to [`NOTES`]. What goes on is reported again and again, each time with another time.
fn keep_note(notes: &mut Vec<ExplainedWarning<Note>>, note: ExplainedWarning<Note>) {
    if notes.len() < NOTES && notes.iter().all(|one| one.text() != note.text()) {
        notes.push(note);
    }
}

/// Puts the news of a stream in the place of what was known of it.
fn renew<T>(all: &mut Vec<T>, news: T, stream: impl Fn(&T) -> u16) {
    match all.iter_mut().find(|one| stream(one) == stream(&news)) {
        Some(one) => *one = news,
        None => all.push(news),
    }
}

/// A field's text as its type.
fn field<T: FromStr<Err: std::fmt::Display>>(
    name: &str,
    text: Option<&String>,
) -> Result<Option<T>, Problem> {
    let Some(text) = text.map(|text| text.trim()).filter(|text| !text.is_empty()) else { return Ok(None) };
    text.parse().map(Some).map_err(|error: T::Err| wrong(name, &error.to_string()))
}

/// A refusal that names a field.
pub(crate) fn wrong(name: &str, why: &str) -> Problem {
    let error = FieldError { field: name.into(), detail: why.into(), line: None, column: None };
    Problem::unprocessable("fields", format!("{name}: {why}")).about(error)
}

fn check_lengths(asked: &MeasurementRequest) -> Result<(), Problem> {
    let fields = serde_json::to_value(asked).ok().and_then(|asked| asked.as_object().cloned());
    let mut fields = fields.unwrap_or_default().into_iter().filter(|(name, _)| name != "trace");
    let long = fields.find(|(_, value)| value.to_string().len() > LONGEST_FIELD);
    long.map_or(Ok(()), |(name, _)| {
        Err(wrong(&name, &format!("takes at most {LONGEST_FIELD} bytes of JSON")))
    })
}

fn options(asked: &MeasurementRequest, runs: &Runs) -> Result<MeasureOptions, Problem> {
    check_lengths(asked)?;
    if asked.targets.is_empty() || asked.targets.len() > TARGETS {
        return Err(wrong("targets", &format!("name one to {TARGETS} hosts")));
    }
    let targets = asked
        .targets
        .iter()
        .map(|text| text.parse::<Target>().map_err(|why| wrong("targets", &why)))
        .collect::<Result<Vec<_>, _>>()?;
    let traffic = request(asked)?;
    let size = field::<romer_units::Size>("size", asked.size.as_ref())?;
    let size = match size {
        None => ProbeSize::Natural,
        Some(size) => {
            ProbeSize::Payload(u32::try_from(size.octets()).map_err(|_| wrong("size", "is too large"))?)
        }
    };
    let limits = asked
        .limits
        .iter()
        .filter(|text| !text.trim().is_empty())
        .map(|text| text.parse::<Limit>().map_err(|why| wrong("limits", &why.to_string())))
        .collect::<Result<Vec<_>, _>>()?;
    let voice = VoiceRequest::default();
    let codec = romer_analyze::call::codec_to_send(&voice, &traffic).map_err(|why| wrong("traffic", &why))?;
    limits
        .iter()
        .try_for_each(|limit| limit.fits(asked.direction, codec.as_ref()))
        .map_err(|why| wrong("limits", &why))?;
    let comment = asked.comment.as_ref().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if let Some(comment) = &comment
        && (comment.chars().count() > 500 || comment.chars().any(char::is_control))
    {
        return Err(wrong("comment", "write at most 500 characters on one line"));
    }
    let name = targets.first().map_or("run", |target| target.host.as_str()).to_owned();
    let fresh = traffic.is_random() && asked.seed.is_none();
    let command = command("measure", asked, fresh.then_some(traffic.seed));
    let streams =
        targets.into_iter().map(|target| StreamOptions { target, traffic: traffic.clone(), size }).collect();
    Ok(MeasureOptions {
        direction: asked.direction,
        stamp_only: asked.stamp_only,
        channel: ChannelOptions::Tls(TlsFiles::default()),
        stamp: asked.stamp,
        dscp: field::<Dscp>("dscp", asked.dscp.as_ref())?.unwrap_or_default(),
        route: true,
        voice,
        limits,
        comment,
        calibration: calibration(),
        report_every: Duration::from_millis(500),
        live_delays: !asked.log_at_end,
        ..MeasureOptions::new(streams, command, runs.location(&name))
    })
}

/// As a measurement takes it that does not ask for the baseline to be subtracted.
fn calibration() -> Option<CalibrationUse> {
    match CalibrationFile::of_user().ok()?.read() {
        Ok(record) => Some(romer_calibrate::choose(&record?, &romer_calibrate::this_machine(), false)),
        Err(why) => Some(romer_calibrate::unreadable(&why)),
    }
}

fn request(asked: &MeasurementRequest) -> Result<Request, Problem> {
    let model = field::<TrafficModel>("traffic", asked.traffic.as_ref())?.unwrap_or(TrafficModel::Periodic);
    let trace = recorded(&model, asked)?;
    let duration = field::<Duration>("duration", asked.duration.as_ref())?;
    if duration.is_some_and(|duration| duration <= Duration::ZERO || duration > MAX_MEASUREMENT_TIME) {
        return Err(wrong("duration", "write from 1ms to 7days, such as 10s"));
    }
    let limit = match (asked.count, duration) {
        (Some(_), Some(_)) => {
            return Err(wrong("count", "cannot be combined with a duration; omit one of them"));
        }
        (Some(count), None) => romer_traffic::Limit::Count(count),
        (None, duration) => match (&trace, duration) {
            (Some(trace), None) => romer_traffic::Limit::Count(trace.len()),
            (_, duration) => romer_traffic::Limit::Duration(duration.unwrap_or(Duration::from_secs(10))),
        },
    };
    let interval = field::<Duration>("interval", asked.interval.as_ref())?;
    if asked.seed == Some([0; 6]) {
        return Err(wrong(
            "seed",
            "six zeros are not a seed: write other numbers, or omit it for a random one",
        ));
    }
    let seed = Seed(asked.seed.unwrap_or_else(romer_endpoint::random_words));
    let request = Request { interval, bundle: asked.bundle, seed, trace, ..Request::new(model, limit) };
    Schedule::new(&request).map_err(|error| wrong(error.about(), &error.to_string()))?;
    Ok(request)
}

/// A size that probes cannot have: the command line's words without its option.
fn about_size(error: &EndpointError) -> Problem {
    let text = error.to_string();
    // The option stands in parentheses, with its value where it has one.
    let option =
        text.split_once(" (--size").and_then(|(before, rest)| Some((before, rest.split_once(')')?.1)));
    match option {
        Some((before, after)) => wrong("size", &format!("{before}{after}")),
        None => wrong("traffic", &text.replacen(" (traffic)", "", 1)),
    }
}

/// The recorded schedule that the traffic names, whose text was sent with it: no file of the server's is read.
fn recorded(model: &TrafficModel, asked: &MeasurementRequest) -> Result<Option<Trace>, Problem> {
    match (model.trace_file(), &asked.trace) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(wrong("trace", "is given, but the traffic is no trace; write trace:FILE")),
        (Some(_), None) => Err(wrong("trace", "the traffic is a recorded one; send the text of its file")),
        (Some(_), Some(text)) => {
            let read = Trace::parse(text.as_bytes());
            read.map(Some).map_err(|error| wrong("trace", &format!("line {}: {}", error.line, error.fault)))
        }
    }
}

/// The command line of `romer VERB` that does the same, with the seed that was drawn.
pub(crate) fn command(verb: &str, asked: &MeasurementRequest, drawn: Option<Seed>) -> String {
    let mut words = vec!["romer".to_owned(), verb.to_owned()];
    words.extend(asked.targets.iter().cloned());
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()) {
            words.push(name.into());
            words.push(value);
        }
    };
    let direction = match asked.direction {
        ProbeDirection::RoundTrip => None,
        ProbeDirection::Forward => Some("forward"),
        ProbeDirection::Reverse => Some("reverse"),
        ProbeDirection::Both => Some("both"),
    };
    option("--direction", direction.map(Into::into));
    option("--traffic", asked.traffic.clone());
    option("--interval", asked.interval.clone());
    option("--duration", asked.duration.clone());
    option("--count", asked.count.map(|count| count.to_string()));
    option("--size", asked.size.clone());
    option("--bundle", asked.bundle.map(|bundle| bundle.to_string()));
    let stamp = match asked.stamp {
        StampRequest::Best => None,
        StampRequest::Nic => Some("nic"),
        StampRequest::Kernel => Some("kernel"),
        StampRequest::User => Some("user"),
        StampRequest::InPacket => Some("in-packet"),
    };
    option("--stamp", stamp.map(Into::into));
    option("--dscp", asked.dscp.clone());
    option("--comment", asked.comment.clone());
    option("--seed", asked.seed.map(Seed).or(drawn).map(|seed| seed.to_string()));
    for limit in &asked.limits {
        option("--limit", Some(limit.clone()));
    }
    if asked.stamp_only {
        words.push("--stamp-only".into());
    }
    if asked.direction != ProbeDirection::RoundTrip && !asked.log_at_end {
        words.push("--live-delays".into());
    }
    romer_report::escape::shell(&words)
}

impl From<&EndpointError> for Problem {
    fn from(error: &EndpointError) -> Self {
        let status = match error.exit() {
            Exit::Usage | Exit::BadData => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, "measure", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::event::{Event, EventKind, EventLocation};

    /// An event that occurs again is kept once, whatever its time.
    #[test]
    fn repeated_notes_are_kept_once() {
        let mut notes = Vec::new();
        for at_ns in 0..3 {
            let event = Event::new(EventKind::LinkDown, EventLocation::Sender, at_ns, at_ns);
            keep_note(&mut notes, ExplainedWarning::from(Note::from(event)));
        }
        assert_eq!(notes.len(), 1);
    }

    /// `null` (not through the emulation) differs from an absent field.
    #[test]
    fn null_emulation_differs_from_absent() {
        let of = |text: &str| serde_json::from_str::<MeasurementRequest>(text).unwrap().emulated;
        assert_eq!(of(r#"{"targets":["a"]}"#), None);
        assert_eq!(of(r#"{"targets":["a"],"emulated":null}"#), Some(None));
        assert_eq!(of(r#"{"targets":["a"],"emulated":"b_to_a"}"#), Some(Some(PortDirection::BToA)));
        let told = serde_json::to_value(MeasurementRequest {
            emulated: Some(None),
            ..MeasurementRequest::default()
        })
        .unwrap();
        assert_eq!(told["emulated"], serde_json::Value::Null);
    }
}
