//! What a run folder says about itself, written before the first probe so that a killed run can be read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::PlaceError;
use crate::document::{ChecksumErrors, Metadata, Replies, Traffic};
use crate::event::Event;
pub use crate::incomplete::{CutShort, EntryKind, NotLogged};
use crate::note::LogGap;
use crate::voice::VoiceRequest;
use crate::warning::CalibrationUnused;

/// The name of the manifest's schema.
pub const MANIFEST: &str = "romer/manifest/1";
/// The most streams of a run. Each has threads and sockets while it is measured, and a document.
pub const MOST_STREAMS: usize = 1_024;

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is being written, or its program was killed.
    Running,
    /// It ended as requested.
    Complete,
    /// It was interrupted; the results until then are stored.
    Partial,
    /// Its program was killed; what was acknowledged has been recovered from the log.
    Recovered,
}

/// A run folder's table of contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// `romer/manifest/1`.
    pub schema: String,
    /// The folder's name.
    pub name: String,
    /// When it was begun, UTC (RFC 3339).
    pub created: String,
    /// How far it came.
    pub status: Status,
    /// Version of romer that made it.
    pub software: String,
    /// The streams, by their number in the log.
    pub streams: Vec<Stream>,
}

/// How the two ends' clocks are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockRelation {
    /// Both ends read one clock (one host, one boot).
    Shared,
    /// Two clocks with unknown offset.
    Unknown,
}

/// What is needed, in addition to its log, to compute the measurement document of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stream {
    /// The target as it was given.
    pub target: String,
    /// The address and port that the probes go to; `null` where none was found, and of files.
    #[serde(default)]
    pub address: Option<String>,
    /// When the first probe was due, UTC (RFC 3339).
    pub started: String,
    /// When it ended; `null` while it runs.
    pub ended: Option<String>,
    /// What was sent.
    pub traffic: Traffic,
    /// Circumstances.
    pub metadata: Metadata,
    /// The two clocks.
    pub clock_relation: ClockRelation,
    /// The responder stores a log and returns it; without it, the direction of a loss is unknown.
    pub responder_log: bool,
    /// The far log was brought back whole.
    pub responder_log_complete: bool,
    /// What is missing from it, and why; of several directions each. Omitted if nothing is known to be missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responder_log_gaps: Vec<LogGap>,
    /// Entries missing from this host's packet log. Omitted if none is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_logged: Vec<NotLogged>,
    /// Why it ended before it was to; `null` where it did not.
    #[serde(default)]
    pub cut_short: Option<CutShort>,
    /// Why nothing was measured: the target, one of several, did not answer or refused; `null` where it did not.
    #[serde(default)]
    pub unreachable: Option<String>,
    /// Stamps requested.
    pub stamp_request: StampRequest,
    /// How the clocks are to be related, where they are not one.
    #[serde(default)]
    pub skew: SkewRequest,
    /// What the user states of the telephone call that the stream is.
    #[serde(default)]
    pub voice: VoiceRequest,
    /// Limits that were stated, as they were written.
    #[serde(default)]
    pub limits: Vec<String>,
    /// The calibration of the measuring host, where it has one.
    #[serde(default)]
    pub calibration: Option<CalibrationUse>,
    /// The measuring host ignores ICMP errors about packets too long for a link of the path (this is the value of
    /// `net.ipv4.ip_no_pmtu_disc`, 2 or 3), and some probes may be too long. Omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routers_unheard: Option<u32>,
    /// The same of the responder's host, and of its replies and probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responder_routers_unheard: Option<u32>,
    /// Packets other than valid replies that arrived at the measuring host's port. Omitted if there are none.
    #[serde(default, skip_serializing_if = "Replies::is_empty")]
    pub replies: Replies,
    /// Datagrams that both hosts dropped as damaged.
    #[serde(default)]
    pub checksum_errors: ChecksumErrors,
    /// Events during it.
    #[serde(default)]
    pub events: Vec<Event>,
}

/// How the error of the clocks is to be taken out of one-way delays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkewRequest {
    /// The method, as `--skew` has it; empty: the best.
    pub method: String,
    /// Number of first packets of a direction to which alone the clocks are fitted.
    pub calibration: Option<u64>,
    /// Minimum delay of each direction, which narrows the bounds of the offset.
    pub path_minimum_ns: Option<i64>,
}

/// A calibration as a run uses it, so that its documents can be made again on any machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationUse {
    /// When the machine was calibrated, UTC (RFC 3339).
    pub measured: String,
    /// The tool's error by the place of the stamps.
    pub places: Vec<PlaceError>,
    /// Whether the baseline was to be subtracted.
    pub subtract: bool,
    /// Why the calibration is not used, where it is not: it is of another machine.
    pub refused: Option<CalibrationUnused>,
}

/// Stamps requested (`--stamp`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StampRequest {
    /// The nearest to the wire that both ends have.
    #[default]
    Best,
    /// By the network card.
    Nic,
    /// By the kernel.
    Kernel,
    /// By the program.
    User,
}
