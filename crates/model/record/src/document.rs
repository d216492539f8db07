//! The JSON documents (`romer/measurement/1` and others): what other programs rely on.
//!
//! Field names are `snake_case`; times end in `_ns`; what is unknown is `null`. A later version may add fields;
//! it does not change or remove them without a new number in `schema`.

pub(crate) mod circumstances;
mod damage;
mod delay_definition;
mod direction;
pub(crate) mod replies;
mod returned;

use romer_units::TimestampPoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::AddedDelay;
use crate::event::{Event, EventKind};
use crate::incomplete::{EarlyEnd, NotLogged};
use crate::note::Note;
pub use crate::probe_direction::ProbeDirection;
use crate::service::{KernelShaping, Service};
pub use crate::summary::Summary;
use crate::warning::{MeasurementWarning, SkewUnknown, SynchronisationLoss};
pub use circumstances::{Chrony, ClockSync, Hop, HopAnswer, Metadata, Pps, Ptp};
pub use damage::{Damage, DamagedProbes};
pub use delay_definition::{DelayDefinition, DelaySpan, NoDelay};
pub use direction::{
    DelayKind, DirectionResults, DscpSeen, Duplicates, EcnSeen, Histogram, Histograms, Jitter, LISTED, Loss,
    LossCause, LossPeriod, LossesByCause, Packets, Reordering, Tally, Ttl, TtlChange,
};
pub use replies::{ChecksumErrors, MissingStamps, OtherLength, Rejected, Replies};
pub use returned::{ReturnedWay, StreamReturn};

/// The name of the measurement document's schema.
pub const MEASUREMENT: &str = "romer/measurement/1";
/// The name of the demonstration's schema.
pub const DEMO: &str = "romer/demo/1";
/// The name of the doctor's schema.
pub const DOCTOR: &str = "romer/doctor/1";
/// The name of the schema of a line of `--json-lines`.
pub const STREAM: &str = "romer/stream/1";

/// Results of one measured stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// `romer/measurement/1`.
    pub schema: String,
    /// Target as given; name of a file.
    pub target: String,
    /// Address and port of the target; `null` if the name was not resolved, and for files.
    #[serde(default)]
    pub address: Option<String>,
    /// Name of the file that was read; `null` for a measurement by romer.
    #[serde(default)]
    pub source: Option<String>,
    /// Scheduled time of the first probe, UTC (RFC 3339); empty if a file does not state it.
    pub started: String,
    /// End time, with the wait for the last replies, UTC (RFC 3339).
    pub ended: Option<String>,
    /// Whether the results cover a part of the run only: it ended early, sent nothing, this target of several
    /// did not answer, or, for one-way probes, the records of the responder or of this host are incomplete.
    pub partial: bool,
    /// Reason why the stream ended early; `null` if it did not. Counts may then be lower bounds: see
    /// `received_at_least`.
    #[serde(default)]
    pub early_end: Option<EarlyEnd>,
    /// Whether all records of the responder were received: packets without a record did not arrive there, or
    /// were not sent. `null` if the responder keeps no records.
    #[serde(default)]
    pub responder_log_complete: Option<bool>,
    /// Entries missing from this host's packet log, by kind. It is unknown whether a packet in their range arrived
    /// unless an entry says so. Omitted if none is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_logged: Vec<NotLogged>,
    /// Traffic: model, sizes, direction.
    pub traffic: Traffic,
    /// Measurement error of romer on this machine, if `romer calibrate` has measured it.
    pub calibration: Option<Calibration>,
    /// Requested limits, and whether each passed.
    pub limits: Vec<Limit>,
    /// Rejected and unusual datagrams at the initiator's port. Omitted if there are none.
    #[serde(default, skip_serializing_if = "Replies::is_empty")]
    pub replies: Replies,
    /// Datagrams that the hosts dropped because of a wrong UDP checksum.
    #[serde(default)]
    pub checksum_errors: ChecksumErrors,
    /// Damaged probes, with the positions of the flipped bits (`--checksum header`). Omitted if they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<Box<Damage>>,
    /// Hosts, command, comment and route.
    pub metadata: Metadata,
    /// Sources of the four time stamps.
    pub stamps: StampPlaces,
    /// Difference between user-space time stamps and the best time stamps, nanoseconds (Chen et al. 2013):
    /// departure = best - user, arrival = user - best.
    pub location_error_ns: LocationError,
    /// Forward direction (initiator to responder).
    pub forward: DirectionResults,
    /// Reverse direction (responder to initiator).
    pub reverse: DirectionResults,
    /// Round trip, without the processing time of the responder: (t4-t1)-(t3-t2).
    pub round_trip: DirectionResults,
    /// The first packets of each direction, to which the clocks are fitted (`--calibration`). They are excluded from
    /// all other figures, losses and ratings; times are from the first packet after them. Events are of the whole run.
    /// Omitted without calibration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration_phase: Option<Box<CalibrationPhase>>,
    /// Relation of the two clocks.
    pub clock: ClockState,
    /// Events of the hosts and of the path during the run, in order of time.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Significant patterns in delay, loss, duplication and TTL.
    #[serde(default)]
    pub findings: Vec<crate::finding::Finding>,
    /// Voice rating of each direction (ITU-T G.107); empty if the stream is no call.
    #[serde(default)]
    pub voice: Vec<crate::voice::Voice>,
    /// Directions of a call without a rating, and the reason.
    #[serde(default)]
    pub voice_unrated: Vec<crate::voice::Unrated>,
    /// Method of the confidence intervals.
    #[serde(default)]
    pub interval_method: String,
    /// Warnings about the results.
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

/// Results of several streams measured at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurements {
    /// `romer/measurement/1`.
    pub schema: String,
    /// Results of each stream.
    pub measurements: Vec<Measurement>,
}

/// What was sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Direction of the probes. With `both`, the seed of the responder's random schedule has a last number
    /// that is one higher (2^32 - 1 is followed by 0).
    #[serde(default)]
    pub direction: ProbeDirection,
    /// Traffic model, as for `--traffic`.
    pub model: String,
    /// Random offsets of the departures, as for `--departure-jitter`; `null` if none.
    #[serde(default)]
    pub departure_jitter: Option<String>,
    /// Mean time between departures, nanoseconds, including silence of the model.
    pub interval_ns: i64,
    /// Codec frames per packet; `null` without a codec.
    #[serde(default)]
    pub frames_per_packet: Option<u32>,
    /// UDP payload, bytes; for varying sizes the rounded mean of the model.
    pub payload_octets: u32,
    /// Minimum UDP payload of the model, bytes; `null` if sizes do not vary.
    #[serde(default)]
    pub payload_octets_min: Option<u32>,
    /// Maximum UDP payload of the model, bytes; `null` if sizes do not vary.
    #[serde(default)]
    pub payload_octets_max: Option<u32>,
    /// Size of an IP packet with `payload_octets` of payload, bytes; `null` if the IP version is unknown.
    pub packet_octets: Option<u32>,
    /// Requested number of probes; `null` with a duration.
    pub count: Option<u64>,
    /// Requested duration, nanoseconds; `null` with a count.
    pub duration_ns: Option<i64>,
    /// Requested DSCP; `null` if unknown.
    pub dscp: Option<u8>,
    /// Requested ECN codepoint: `not-ect`, `ect0`, `ect1` or `ce`; `null` if unknown.
    #[serde(default)]
    pub ecn: Option<String>,
    /// Requested TTL or hop limit; `null` for the default of the system.
    pub ttl: Option<u8>,
    /// Service level that set the marks (`--service`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// Priority of the packets within the sending host, which a VLAN maps to the one of IEEE 802.1p.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Shaping by the kernel of the sending host (`--shape`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_shaping: Option<KernelShaping>,
    /// Seed of random schedules, six unsigned 32-bit integers.
    pub seed: Option<[u32; 6]>,
    /// Waiting time for replies, nanoseconds; later ones count as lost.
    pub waiting_time_ns: i64,
    /// Protocol of the probes, as text.
    pub protocol: String,
}

/// Packets for the calibration of the clocks (`--calibration`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationPhase {
    /// Requested number of packets of each direction.
    pub packets: u64,
    /// Forward packets of the calibration.
    pub forward: DirectionResults,
    /// Reverse packets of the calibration.
    pub reverse: DirectionResults,
    /// Round trips of the calibration.
    pub round_trip: DirectionResults,
}

/// Measurement error of romer on this machine, from `romer calibrate`, for the sources of these time stamps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Minimum delay that romer and the host add to a round trip, nanoseconds.
    pub baseline_ns: Option<f64>,
    /// Added delay of a round trip above the baseline, for 99 % of the packets of the calibration,
    /// nanoseconds.
    pub uncertainty_ns: Option<f64>,
    /// Whether the baselines are subtracted from the delays of this document.
    pub subtracted: bool,
    /// Added forward delay; `null` if forward delays are not absolute.
    #[serde(default)]
    pub forward: Option<AddedDelay>,
    /// Added reverse delay; `null` if reverse delays are not absolute.
    #[serde(default)]
    pub reverse: Option<AddedDelay>,
    /// Time of the calibration, UTC (RFC 3339).
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
    pub passed: bool,
}

/// Sources of the time stamps; `null` if the responder does not state them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StampPlaces {
    /// Source of departures at the initiator (t1); `null` if nothing left.
    pub sender_departure: Option<TimestampPoint>,
    /// Source of arrivals at the initiator (t4); `null` if nothing arrived.
    pub sender_arrival: Option<TimestampPoint>,
    /// Source of arrivals at the responder (t2); `null` if nothing arrived there, or if unknown.
    pub responder_arrival: Option<TimestampPoint>,
    /// Source of departures at the responder (t3); `null` if nothing left there, or if unknown.
    pub responder_departure: Option<TimestampPoint>,
    /// Definition of the delays of each direction.
    pub delay_definition: Vec<DelayDefinition>,
    /// Whether round-trip delays include the processing time of the responder, because its time stamps do not
    /// give it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub round_trip_includes_responder: bool,
    /// Missing time stamps, by event.
    pub missing: MissingStamps,
    /// Quality of the network cards' time stamps, compared with the kernels'; omitted if none are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<NicStamps>,
}

/// Quality of the time stamps of network cards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NicStamps {
    /// Maximum error of the conversion from the card's clock to the host's clock, nanoseconds.
    pub error_ns: u32,
    /// Difference between kernel time stamps and those of the card, inwards, nanoseconds: departure = card -
    /// kernel, arrival = kernel - card.
    pub kernel_error_ns: LocationError,
}

/// Location errors by host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocationError {
    /// Location error at the initiator.
    pub sender: LocationErrors,
    /// Location error at the responder.
    pub responder: LocationErrors,
}

/// Location errors by time stamp, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocationErrors {
    /// Best time stamp minus user-space time stamp of departures.
    pub departure: Summary,
    /// User-space time stamp minus the best time stamp of arrivals.
    pub arrival: Summary,
}

/// Relation of the two clocks. The offset is the responder's clock minus the initiator's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockState {
    /// Estimation method; `shared` for one clock, `synchronised` for two clocks with a known bound of their
    /// difference, `none` without a method.
    pub method: String,
    /// Synchronisation of the two clocks, as stated by the hosts or by the user. Omitted if unknown. It is not
    /// used where the time stamps contradict it: `method` is then that of the estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synchronisation: Option<Synchronisation>,
    /// Number of first packets of a direction for calibration, to which alone the skew is fitted. Omitted
    /// without calibration, and with methods that follow the clocks through the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration_packets: Option<u64>,
    /// Whether the skew was estimated.
    pub identifiable: bool,
    /// Skew: rate of the responder's clock relative to the initiator's, ppm; positive if it is faster.
    pub skew_ppm: Option<f64>,
    /// 95 % confidence interval of the skew, ppm.
    pub skew_interval_ppm: Option<[f64; 2]>,
    /// Bound of the error of one-way delays caused by the clocks, nanoseconds: at 95 % of corrected delays; of
    /// synchronised clocks the stated bound. `null` if they are not corrected.
    #[serde(default)]
    pub delay_error_ns: Option<f64>,
    /// Bounds of the clock offset at the first packet that follow from causality alone, without assuming
    /// symmetric delays, nanoseconds.
    pub offset_bounds_ns: Option<[i64; 2]>,
    /// Clock steps, slews and path changes.
    pub events: Vec<ClockEvent>,
}

impl ClockState {
    /// The method of two hosts that read one clock.
    pub const SHARED: &'static str = "shared";
    /// The method of two clocks with a known bound of their difference.
    pub const SYNCHRONISED: &'static str = "synchronised";

    /// Whether both hosts read one clock.
    pub fn is_shared(&self) -> bool {
        self.method == Self::SHARED
    }

    /// Whether one-way delays are absolute because the clocks are synchronised.
    pub fn is_synchronised(&self) -> bool {
        self.method == Self::SYNCHRONISED
    }
}

/// Synchronisation of two clocks with a bound of its error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Synchronisation {
    /// Source of the bound.
    pub source: SynchronisationSource,
    /// Bound of the difference of the two clocks, nanoseconds: the sum of the bounds of both hosts, or as stated
    /// by the user.
    pub bound_ns: i64,
    /// Bound of the error of the initiator's clock, nanoseconds; `null` if the user states the sum.
    pub initiator_bound_ns: Option<i64>,
    /// Bound of the error of the responder's clock, nanoseconds; `null` if the user states the sum.
    pub responder_bound_ns: Option<i64>,
    /// Known offset (responder minus initiator), subtracted from the delays, nanoseconds (`--clock-offset`).
    pub offset_ns: i64,
    /// First loss of synchronisation during the run, by which the bounds of the hosts do not hold. Omitted without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<SynchronisationLoss>,
}

impl Synchronisation {
    /// By what both hosts state about their clocks; `None` where either states no bound at the start.
    pub fn by_hosts(metadata: &Metadata, offset_ns: i64) -> Option<Self> {
        let [initiator, responder] = metadata.clock_bounds_ns()?;
        Some(Self {
            source: SynchronisationSource::Hosts,
            bound_ns: initiator.saturating_add(responder),
            initiator_bound_ns: Some(initiator),
            responder_bound_ns: Some(responder),
            offset_ns,
            lost: None,
        })
    }

    /// As the user states it.
    pub const fn by_user(bound_ns: i64, offset_ns: i64) -> Self {
        Self {
            source: SynchronisationSource::User,
            bound_ns,
            initiator_bound_ns: None,
            responder_bound_ns: None,
            offset_ns,
            lost: None,
        }
    }

    /// The same after these events: what both hosts state holds until the first loss of synchronisation. What the user states
    /// holds whatever the daemons report.
    #[must_use]
    pub fn after(self, events: &[Event]) -> Self {
        let losses = events.iter().filter(|event| event.kind == EventKind::ClockSyncLost);
        let first =
            losses.min_by_key(|event| event.at_ns).filter(|_| self.source == SynchronisationSource::Hosts);
        let lost = first.map(|event| SynchronisationLoss { location: event.location, at_ns: event.at_ns });
        Self { lost, ..self }
    }
}

/// Source of the bound of synchronised clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SynchronisationSource {
    /// Synchronisation daemons of both hosts.
    Hosts,
    /// The user (`--clocks`).
    User,
}

/// A change of a clock or of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockEvent {
    /// Start of the event, nanoseconds after the start of the run.
    pub at_ns: i64,
    /// End of the event, nanoseconds after the start of the run; `null` if it is instantaneous.
    #[serde(default)]
    pub until_ns: Option<i64>,
    /// `clock-step`, `slew` or `path-change`.
    pub kind: String,
    /// Other possible kind, if the data do not decide between them: delays are those for `kind`, and
    /// `delay_error_ns` covers both. `null` if the kind is known.
    #[serde(default)]
    pub alternative_kind: Option<String>,
    /// Affected direction: `forward`, `reverse` or `both`.
    pub direction: Option<String>,
    /// Size, nanoseconds. Of a clock: change of the offset, which is the responder's clock minus the
    /// initiator's (a step of -5 ms at the initiator gives +5 ms). Of a path: change of its delay.
    pub size_ns: Option<i64>,
    /// Lower and upper bound of the size, nanoseconds: from the host's clocks if they show the step, else at
    /// 95 % from the delays before and after it. `null` if the method of `--skew` has none.
    #[serde(default)]
    pub size_interval_ns: Option<[i64; 2]>,
}

impl ClockEvent {
    /// When it was over, where it took a while; `None` where it came at once.
    pub fn lasted_until(&self) -> Option<i64> {
        self.until_ns.filter(|until| *until > self.at_ns)
    }
}

/// Results of the demonstration: an emulated path and its measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Demo {
    /// `romer/demo/1`.
    pub schema: String,
    /// Measured streams.
    pub measurement: Measurements,
    /// Requested emulation and its counters; `null` if the emulator reported nothing.
    pub emulation: Option<crate::emulation::Emulation>,
    /// Requested emulation compared with the measurement; `null` if nothing was measured.
    pub comparison: Option<crate::fidelity::Fidelity>,
    /// The closed loop of the last stream; `null` if it was not closed.
    #[serde(default)]
    pub closed_loop: Option<DemoLoop>,
}

/// The closed loop of a demonstration, whose document is `romer/loop/1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DemoLoop {
    /// Name of the loop and its folder.
    pub name: String,
    /// Path of its document.
    pub document: String,
    /// The verdict: that of the worst direction.
    pub verdict: crate::closed_loop::LoopVerdict,
}

/// One line of `romer measure --json-lines`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamLine {
    /// State of the stream up to now.
    Interval(Box<StreamInterval>),
    /// A probe that returned (`--each`).
    Return(Box<StreamReturn>),
    /// An event or a note.
    Event {
        /// `romer/stream/1`.
        schema: String,
        /// Stream number, from 0.
        stream: u16,
        /// Event or note.
        #[serde(flatten)]
        note: Note,
        /// Description as text.
        text: String,
    },
    /// Lines were skipped because their reader was too slow. The counters of the next interval include the
    /// skipped intervals; their delays are missing.
    Skipped {
        /// `romer/stream/1`.
        schema: String,
        /// Number of skipped lines, since the last line of this kind.
        lines: u64,
    },
    /// Final measurement document.
    Final {
        /// `romer/stream/1`.
        schema: String,
        /// Stream number, from 0.
        stream: u16,
        /// The measurement.
        measurement: Box<Measurement>,
        /// Number of all skipped lines, of all streams; omitted if none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skipped_lines: Option<u64>,
    },
}

/// State of a running stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamInterval {
    /// `romer/stream/1`.
    pub schema: String,
    /// Stream number, from 0.
    pub stream: u16,
    /// Target as given.
    pub target: String,
    /// Time since the start, nanoseconds.
    pub elapsed_ns: i64,
    /// Probes that both hosts have sent since the start; of the responder's, those that are known.
    pub sent: u64,
    /// Replies received since the start; of one-way probes, those known to have arrived.
    pub returned: u64,
    /// Probes counted by `sent` that are known to be received or lost, since the start: those that left at
    /// least the waiting time ago; of one-way probes, those up to the last that has arrived.
    #[serde(default)]
    pub settled: u64,
    /// Packets counted by `settled` that did not arrive within the waiting time, since the start. A one-way
    /// probe that others have overtaken is included until it arrives.
    #[serde(default)]
    pub lost: u64,
    /// Probes sent that are neither received nor counted as lost.
    #[serde(default)]
    pub outstanding: u64,
    /// Entries of the packet log that are stored, even if the process is killed.
    pub durable_entries: u64,
    /// The departures of all probes with numbers below this one are stored.
    pub durable_sent: u64,
    /// Round-trip delays within this interval, nanoseconds, with the time stamps available during the run:
    /// user space for the departure. The final document uses the time stamps nearest to the wire, which give
    /// lower delays.
    pub round_trip_delay_ns: Summary,
    /// Forward results during the run, of round trips, and of one-way probes with `--live-delays`: delays that
    /// became known within this interval, counters since the start. Omitted if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<StreamWay>,
    /// Reverse results during the run, of round trips, and of one-way probes with `--live-delays`: delays that
    /// became known within this interval, counters since the start. Omitted if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverse: Option<StreamWay>,
    /// Relation of the two clocks so far; omitted if both ends use one clock, or if it is estimated at the
    /// end only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockSoFar>,
}

/// Results of one direction during the run: of one-way probes, from the records of both hosts so far, up to one
/// interval after their arrival; of round trips, from the time stamps in the replies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamWay {
    /// Kind of the delays: absolute, or relative to the minimum so far. Relative delays of round trips are
    /// without the clock skew that is estimated so far; those of one-way probes still include it. The final
    /// document removes it.
    pub delay_kind: DelayKind,
    /// Number of delays that became known within this interval.
    pub delays: u64,
    /// Median of these delays, nanoseconds.
    pub delay_median_ns: Option<f64>,
    /// 99 % quantile of these delays, nanoseconds.
    pub delay_p99_ns: Option<f64>,
    /// Interarrival jitter (RFC 3550, section 6.4.1) since the start, nanoseconds.
    pub jitter_rfc3550_ns: Option<f64>,
    /// Probes since the start that should have arrived by now.
    pub sent: Option<u64>,
    /// Probes counted by `sent` that are known to have arrived, since the start.
    pub arrived: Option<u64>,
}

/// What is known of two clocks while packets are measured, from the stamps that are at hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockSoFar {
    /// Estimation method.
    pub method: String,
    /// Skew: rate of the responder's clock relative to the initiator's, ppm; `null` if it cannot be estimated
    /// yet.
    pub skew_ppm: Option<f64>,
    /// 95 % confidence interval of the skew, ppm.
    pub skew_interval_ppm: Option<[f64; 2]>,
    /// Reason why it cannot be estimated yet.
    pub why_not: Option<SkewUnknown>,
    /// Greatest change of earlier one-way delays by a new estimate of the skew, nanoseconds; in the first
    /// interval after the estimate, omitted in others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision_ns: Option<f64>,
}
