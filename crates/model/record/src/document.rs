//! The JSON documents (`romer/measurement/1` and others): what other programs rely on.
//!
//! Field names are `snake_case`; times end in `_ns`; what is unknown is `null`. A later version may add fields;
//! it does not change or remove them without a new number in `schema`.

pub(crate) mod circumstances;
mod delay_definition;
mod direction;
pub(crate) mod replies;

use std::collections::BTreeMap;

use romer_units::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::Share;
use crate::event::Event;
use crate::incomplete::{CutShort, NotLogged};
use crate::note::Note;
pub use crate::probe_direction::ProbeDirection;
pub use crate::summary::Summary;
use crate::warning::{MeasurementWarning, SkewUnknown};
pub use circumstances::{Chrony, ClockSync, Hop, HopAnswer, Metadata};
pub use delay_definition::{DelayDefinition, DelaySpan, NoDelay};
pub use direction::{
    DelayKind, DirectionResults, DscpSeen, Duplicates, EcnSeen, Histogram, Histograms, Jitter, LISTED, Loss,
    LossCause, LossPeriod, LossesByCause, Packets, Reordering, Tally, Ttl, TtlChange,
};
pub use replies::{ChecksumErrors, MissingStamps, OtherLength, Rejected, Replies};

/// The name of the measurement document's schema.
pub const MEASUREMENT: &str = "romer/measurement/1";
/// The name of the demonstration's schema.
pub const DEMO: &str = "romer/demo/1";
/// The name of the doctor's schema.
pub const DOCTOR: &str = "romer/doctor/1";
/// The name of the schema of a line of `--stream`.
pub const STREAM: &str = "romer/stream/1";

/// One measured stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// `romer/measurement/1`.
    pub schema: String,
    /// The target as it was given; of a file, its name.
    pub target: String,
    /// The address and port that the probes went to; `null` where none was found, and where packets were read from a file.
    #[serde(default)]
    pub address: Option<String>,
    /// The file that the packets were read from; `null` where romer measured them itself.
    #[serde(default)]
    pub source: Option<String>,
    /// When the first probe was due, UTC (RFC 3339); empty if a file does not say.
    pub started: String,
    /// When the last reflection was waited for, UTC (RFC 3339).
    pub ended: Option<String>,
    /// The run was cut short, nothing was sent in it, this target of several did not answer, or, of one-way probes, the log of
    /// the responder or of this host is incomplete: the statistics are those of a part.
    pub partial: bool,
    /// Why it ended before it was to; `null` where it did not. Of a run that was cut short counts may be known in part only:
    /// `received_at_least` of the packets says so.
    #[serde(default)]
    pub cut_short: Option<CutShort>,
    /// The responder's log was received completely: packets that are not in it did not arrive there, or were not sent.
    /// `null` if there is none.
    #[serde(default)]
    pub responder_log_complete: Option<bool>,
    /// Entries missing from this host's packet log, by kind. It is unknown whether a packet in their range arrived
    /// unless an entry says so. Omitted if none is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_logged: Vec<NotLogged>,
    /// What was sent.
    pub traffic: Traffic,
    /// The tool's own baseline on this machine, where `romer calibrate` has found it.
    pub calibration: Option<Calibration>,
    /// Limits that were stated, and whether they passed.
    pub limits: Vec<Limit>,
    /// Packets other than valid replies that arrived at the measuring host's port. Omitted if there are none.
    #[serde(default, skip_serializing_if = "Replies::is_empty")]
    pub replies: Replies,
    /// Datagrams that both hosts dropped as damaged.
    #[serde(default)]
    pub checksum_errors: ChecksumErrors,
    /// Circumstances.
    pub metadata: Metadata,
    /// Where each of the four stamps was taken.
    pub stamps: StampPlaces,
    /// How much later or earlier the program's own stamps were than the best ones (Chen et al. 2013): departure = best -
    /// user, arrival = user - best.
    pub location_error_ns: LocationError,
    /// From sender to responder.
    pub forward: DirectionResults,
    /// From responder to sender.
    pub reverse: DirectionResults,
    /// There and back, without the responder's own time: (t4-t1)-(t3-t2).
    pub round_trip: DirectionResults,
    /// The first packets of each direction, to which the clocks are fitted (`--calibration`). They are excluded from
    /// all other figures, losses and ratings; times are from the first packet after them. Events are of the whole run.
    /// Omitted without calibration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration_phase: Option<Box<CalibrationPhase>>,
    /// What can be said of the two clocks.
    pub clock: ClockState,
    /// Events of the hosts and of the path during it, in order of time.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Patterns in the packets that chance does not explain.
    #[serde(default)]
    pub findings: Vec<crate::finding::Finding>,
    /// The rating of each direction as a telephone call (ITU-T G.107); empty where the stream is no call.
    #[serde(default)]
    pub voice: Vec<crate::voice::Voice>,
    /// The directions of a call that have no rating, and why.
    #[serde(default)]
    pub voice_unrated: Vec<crate::voice::Unrated>,
    /// How the intervals of the summaries were found.
    #[serde(default)]
    pub interval_method: String,
    /// What a reader should know before relying on the figures.
    pub warnings: Vec<MeasurementWarning>,
}

impl Measurement {
    /// Whether no packet left, and none was refused, though none was not what was requested.
    pub fn sent_nothing(&self) -> bool {
        let ways = [&self.forward.packets, &self.reverse.packets, &self.round_trip.packets];
        let counts = ways.iter().flat_map(|way| [way.sent, way.received, way.not_sent]);
        self.traffic.count != Some(0) && counts.flatten().all(|count| count == 0)
    }
}

/// Several streams measured side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurements {
    /// `romer/measurement/1`.
    pub schema: String,
    /// One for each target.
    pub measurements: Vec<Measurement>,
}

/// What was sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// The direction of the probes. With `both`, the random schedule of the target has the seed with a last number that
    /// is higher by one (2^32 - 1 is followed by 0).
    #[serde(default)]
    pub direction: ProbeDirection,
    /// The schedule, as `--traffic` takes it.
    pub model: String,
    /// How the sender perturbed its schedule, as `--departure-jitter` takes it; `null` where it did not.
    #[serde(default)]
    pub departure_jitter: Option<String>,
    /// Mean time between departures, nanoseconds; silence included where the model falls silent.
    pub interval_ns: i64,
    /// Codec frames in a packet; `null` where the packets are of no codec.
    #[serde(default)]
    pub frames_per_packet: Option<u32>,
    /// Payload of UDP, octets; where sizes vary, the mean that the model has, rounded.
    pub payload_octets: u32,
    /// The smallest payload that the model has, octets; `null` where sizes do not vary.
    #[serde(default)]
    pub payload_octets_min: Option<u32>,
    /// The largest payload that the model has, octets; `null` where sizes do not vary.
    #[serde(default)]
    pub payload_octets_max: Option<u32>,
    /// IP packet with `payload_octets` of payload, octets; `null` where the version of IP is not known.
    pub packet_octets: Option<u32>,
    /// Probes requested; `null` where a duration was.
    pub count: Option<u64>,
    /// Time requested; `null` where a count was.
    pub duration_ns: Option<i64>,
    /// Code point requested; `null` where it is not known.
    pub dscp: Option<u8>,
    /// ECN bits requested: `not-ect`, `ect0`, `ect1` or `ce`; `null` where they are not known.
    #[serde(default)]
    pub ecn: Option<String>,
    /// TTL or hop limit requested; `null` for the system's default.
    pub ttl: Option<u8>,
    /// Seed of random schedules, six unsigned 32-bit integers.
    pub seed: Option<[u32; 6]>,
    /// How long a reflection is waited for; later ones count as lost.
    pub waiting_time_ns: i64,
    /// The protocol of the probes, in words.
    pub protocol: String,
}

/// The packets that were sent to fit the clocks by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationPhase {
    /// How many were stated to be for it, of each direction.
    pub packets: u64,
    /// From sender to responder.
    pub forward: DirectionResults,
    /// From responder to sender.
    pub reverse: DirectionResults,
    /// There and back.
    pub round_trip: DirectionResults,
}

/// The tool's own error on this machine, as `romer calibrate` has found it for stamps of these places.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Minimum delay that the tool itself adds to a round trip.
    pub baseline_ns: Option<f64>,
    /// How far above the baseline its share of a round trip goes (99 % of the packets of the calibration).
    pub uncertainty_ns: Option<f64>,
    /// Whether the baselines are subtracted in this document.
    pub subtracted: bool,
    /// The share of a delay from sender to responder; `null` where such delays are not absolute.
    #[serde(default)]
    pub forward: Option<Share>,
    /// The same from responder to sender.
    #[serde(default)]
    pub reverse: Option<Share>,
    /// When the machine was calibrated, UTC (RFC 3339).
    #[serde(default)]
    pub measured: Option<String>,
}

impl Calibration {
    /// What is taken out of the delays of `way`, nanoseconds; `None` where nothing is.
    pub fn taken_out(&self, way: ProbeDirection) -> Option<f64> {
        let baseline = match way {
            ProbeDirection::Forward => self.forward.map(|share| share.baseline_ns),
            ProbeDirection::Reverse => self.reverse.map(|share| share.baseline_ns),
            ProbeDirection::RoundTrip => self.baseline_ns,
            ProbeDirection::Both => None,
        };
        baseline.filter(|_| self.subtracted)
    }
}

/// A stated limit and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// As it was stated.
    pub limit: String,
    /// The measured value.
    pub value: Option<f64>,
    /// Whether it passed.
    pub held: bool,
}

/// Where each stamp was taken; `null` where the responder does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StampPlaces {
    /// t1; `null` where nothing left.
    pub sender_departure: Option<Place>,
    /// t4; `null` where nothing came back.
    pub sender_arrival: Option<Place>,
    /// t2; `null` if nothing arrived there, or if its place is unknown.
    pub responder_arrival: Option<Place>,
    /// t3; `null` if nothing left there, or if its place is unknown.
    pub responder_departure: Option<Place>,
    /// What the delays of each direction span.
    pub delay_definition: Vec<DelayDefinition>,
    /// The round trips contain the time that the responder took to answer, because its stamps do not give that time.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub round_trip_includes_responder: bool,
    /// Stamps that never came, by moment.
    pub missing: MissingStamps,
    /// Quality of the network cards' time stamps, compared with the kernels'; omitted if none are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<NicStamps>,
}

/// Network cards' stamps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NicStamps {
    /// Maximum error of any of them from the conversion of the card's clock to the host's.
    pub error_ns: u32,
    /// How far the kernel's stamp of the same moment lies from the card's, inwards: departure = card - kernel, arrival =
    /// kernel - card.
    pub kernel_error_ns: LocationError,
}

/// Location errors by host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocationError {
    /// At the sender.
    pub sender: LocationErrors,
    /// At the responder.
    pub responder: LocationErrors,
}

/// Location errors by moment, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocationErrors {
    /// Best stamp minus user stamp.
    pub departure: Summary,
    /// User stamp minus best stamp.
    pub arrival: Summary,
}

/// What can be said of the two clocks. The offset is the responder's clock minus the sender's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockState {
    /// `shared` (one clock), or the estimator's name, or `none`.
    pub method: String,
    /// Number of first packets of a direction for calibration, to which alone the skew is fitted. Omitted without
    /// calibration, and with methods that follow the clocks through the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration_packets: Option<u64>,
    /// Whether skew could be identified.
    pub identifiable: bool,
    /// How much faster the responder's clock runs, parts in a million.
    pub skew_ppm: Option<f64>,
    /// 95 % interval of the skew.
    pub skew_interval_ppm: Option<[f64; 2]>,
    /// By how much corrected one-way delays may be off because of the clocks, at most, at 95 %; `null` where they are not
    /// corrected.
    #[serde(default)]
    pub delay_error_ns: Option<f64>,
    /// Bounds of the offset at the first packet that causality guarantees, no symmetry assumed.
    pub offset_bounds_ns: Option<[i64; 2]>,
    /// Steps, slews, path changes.
    pub events: Vec<ClockEvent>,
}

/// Something that happened to a clock or to the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockEvent {
    /// When, after the start.
    pub at_ns: i64,
    /// When it was over, after the start; `null` where it came at once.
    #[serde(default)]
    pub until_ns: Option<i64>,
    /// `clock-step`, `slew` or `path-change`.
    pub kind: String,
    /// What it may be as well, of these three, because the data do not decide: delays are as for `kind`, and `delay_error_ns` has in it
    /// that it may have been the other. `null` where it is known.
    #[serde(default)]
    pub alternative_kind: Option<String>,
    /// `forward`, `reverse` or `both`.
    pub direction: Option<String>,
    /// Size. Of a clock: change of the offset, which is the responder's clock minus the sender's (a sender's step of -5
    /// ms gives +5 ms). Of a path: change of its delay.
    pub size_ns: Option<i64>,
    /// Lower and upper bound of that: from the host's clocks if they show the step, else at 95 % from the delays before
    /// and after it. `null` if the method of `--skew` has none.
    #[serde(default)]
    pub size_interval_ns: Option<[i64; 2]>,
}

impl ClockEvent {
    /// When it was over, where it took a while; `None` where it came at once.
    pub fn lasted_until(&self) -> Option<i64> {
        self.until_ns.filter(|until| *until > self.at_ns)
    }
}

/// The demonstration: an emulated path, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Demo {
    /// `romer/demo/1`.
    pub schema: String,
    /// The streams that were measured.
    pub measurement: Measurements,
    /// The requested emulation between the hosts, and its counts; `null` where it said nothing.
    pub emulation: Option<crate::emulation::Emulation>,
    /// The requested emulation, compared with what was measured; `null` where nothing was.
    pub comparison: Option<crate::fidelity::Fidelity>,
}

/// What this machine can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// `romer/doctor/1`.
    pub schema: String,
    /// Version of romer.
    pub software: String,
    /// The findings, the important ones first.
    pub findings: Vec<DoctorFinding>,
}

/// How a finding is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// As good as it gets.
    Good,
    /// Works, with a consequence to know.
    Limited,
    /// Does not work here.
    Missing,
}

/// One thing the doctor looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorFinding {
    /// What was looked at, a stable name.
    pub name: String,
    /// How it stands.
    pub verdict: CheckVerdict,
    /// What was found, in words.
    pub found: String,
    /// What follows for the user.
    pub consequence: String,
    /// What to do about it, where something can be done.
    pub fix: Option<String>,
    /// Values behind it, by name.
    pub values: BTreeMap<String, serde_json::Value>,
}

/// One line of `--stream`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamLine {
    /// What has happened up to now.
    Interval(Box<StreamInterval>),
    /// An event, or another note.
    Event {
        /// `romer/stream/1`.
        schema: String,
        /// Which stream, from 0.
        stream: u16,
        /// What it is: an event, or another note.
        #[serde(flatten)]
        note: Note,
        /// The same as a sentence.
        text: String,
    },
    /// Lines were skipped, because their reader was too slow. The counts of the next interval are from the start of the
    /// run and include the skipped intervals; their delays are missing.
    Skipped {
        /// `romer/stream/1`.
        schema: String,
        /// How many lines, since the last line of this kind.
        lines: u64,
    },
    /// The whole document, at the end.
    Final {
        /// `romer/stream/1`.
        schema: String,
        /// Which stream, from 0.
        stream: u16,
        /// The measurement.
        measurement: Box<Measurement>,
        /// How many lines were skipped in all, of any streams; left out where none was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skipped_lines: Option<u64>,
    },
}

/// The state of a running stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamInterval {
    /// `romer/stream/1`.
    pub schema: String,
    /// Which stream, from 0.
    pub stream: u16,
    /// The target as it was given.
    pub target: String,
    /// Since the start.
    pub elapsed_ns: i64,
    /// Probes that both hosts have sent since the start; of the responder's, those that are known.
    pub sent: u64,
    /// Reflections back from the start up to now (a running total); of one-way probes, those that are known to have arrived.
    pub returned: u64,
    /// Of `sent`, the probes of which it is known by now whether they came (a running total): those that left at least the waiting
    /// time ago; of one-way probes, those up to the last that has arrived.
    #[serde(default)]
    pub settled: u64,
    /// Of `settled`, those that did not come, or came after the waiting time (a running total). A one-way probe that others have
    /// overtaken is among them until it arrives.
    #[serde(default)]
    pub lost: u64,
    /// Probes that were sent, have not come and are not counted as lost: on their way, or lost.
    #[serde(default)]
    pub outstanding: u64,
    /// Entries of the packet log that are safe from a kill of the program.
    pub kept_entries: u64,
    /// All probes with numbers below this one have a stored departure.
    pub durable_sent: u64,
    /// Delays of the round trip within this interval, from the stamps that are at hand while it runs: the program's own
    /// for the departure. The final document has those of the stamps nearest to the wire, which are less.
    pub round_trip_delay_ns: Summary,
    /// Of one-way probes with the responder's log during the run (`--live-delays`), results of the forward direction:
    /// delays that became known within this interval, counts from the start. Omitted if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<StreamWay>,
    /// The same of the reverse direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<StreamWay>,
    /// What can be said of the two ends' clocks by now; `None` where they are one, and where it is known at the end only.
    /// For those who look on; it is not written.
    #[serde(skip)]
    pub clock: Option<ClockSoFar>,
}

/// Results of one-way probes during the run, of those in the logs of both hosts so far, up to one interval after their
/// arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamWay {
    /// What the delays are: absolute, or above the least that came so far. How far one clock runs from the other is still in
    /// the latter; the final document takes it out.
    pub delay_kind: DelayKind,
    /// How many delays became known within this interval.
    pub delays: u64,
    /// Their median.
    pub delay_median_ns: Option<f64>,
    /// Their 99 % quantile.
    pub delay_p99_ns: Option<f64>,
    /// Interarrival jitter (RFC 3550, section 6.4.1), since the start.
    pub jitter_rfc3550_ns: Option<f64>,
    /// Probes from the start up to now (a running total) of which it is time that they have arrived.
    pub sent: Option<u64>,
    /// Those of them that have, as far as it is known: a running total as well.
    pub arrived: Option<u64>,
}

/// What is known of two clocks while packets are measured, from the stamps that are at hand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockSoFar {
    /// How it was found.
    pub method: String,
    /// How much faster the responder's clock runs, parts in a million; `None` where it is not identifiable yet.
    pub skew_ppm: Option<f64>,
    /// Its 95 % interval.
    pub skew_interval_ppm: Option<[f64; 2]>,
    /// Why it is not identifiable yet.
    pub why_not: Option<SkewUnknown>,
}
