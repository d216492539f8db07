//! Heartbeats and events.

use romer_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mesh_clock::MeshFinding;
use crate::rows::SchemaRefusal;
use crate::sums::PathHash;
use crate::time::Minute;
use crate::token::Token;

/// The version of heartbeats and events that this release writes.
pub const MESSAGE_SCHEMA: u32 = 1;
/// Time between two heartbeats of an agent.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);
/// An agent without a heartbeat for this time is silent: three heartbeats were missed.
pub const SILENCE_AFTER: Duration = Duration::from_secs(30);

/// The state of an agent, which it publishes every [`HEARTBEAT_INTERVAL`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heartbeat {
    /// Version of its form.
    pub schema: u32,
    /// The tenant.
    pub tenant: Token,
    /// The agent.
    pub agent: Token,
    /// Its site.
    pub site: Token,
    /// Its program with its version.
    pub software: String,
    /// The version of rows and sums that it writes.
    pub row_schema: u32,
    /// Time of the heartbeat on its clock, nanoseconds since 1970-01-01 UTC.
    pub at_ns: i64,
    /// Number of the heartbeat since the agent started, from 0.
    pub sequence: u64,
    /// Revision of the plan that it carries out; `null` before the first one.
    pub revision: Option<u64>,
    /// Its run; `null` if it does not measure.
    pub run: Option<Token>,
    /// Pairs that it owns.
    pub targets: u64,
    /// Pairs of these whose responder replies.
    pub replying: u64,
    /// The state of its clock.
    pub clock: ClockState,
    /// What it has not yet shipped.
    pub spool: SpoolState,
}

impl Heartbeat {
    /// Whether the agent is silent at a time; nanoseconds since 1970-01-01 UTC.
    pub const fn is_silent_at(&self, now_ns: i64) -> bool {
        now_ns.saturating_sub(self.at_ns) > SILENCE_AFTER.as_nanos()
    }
}

/// The state of an agent's clock, as its kernel reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockState {
    /// Whether a time service keeps it; `null` if unknown.
    pub synchronised: Option<bool>,
    /// The greatest error that the kernel reports, nanoseconds; `null` if unknown.
    pub max_error_ns: Option<i64>,
    /// Steps of the clock since the agent started.
    pub steps: u64,
}

/// What an agent has not yet shipped, and what it dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpoolState {
    /// Bytes on the disk.
    pub bytes: u64,
    /// Blobs on the disk.
    pub blobs: u64,
    /// Blobs that were published and are not yet acknowledged.
    pub unacknowledged: u64,
    /// The oldest minute on the disk; `null` if it is empty.
    pub oldest: Option<Minute>,
    /// The last minute that was acknowledged; `null` before the first one.
    pub acknowledged: Option<Minute>,
    /// Packet rows dropped since the agent started, because the spool was full.
    pub dropped_rows: u64,
    /// Blobs dropped since the agent started.
    pub dropped_blobs: u64,
}

/// Something that happened to an agent or that it found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Version of its form.
    pub schema: u32,
    /// The tenant.
    pub tenant: Token,
    /// The agent.
    pub agent: Token,
    /// Time of the event on its clock, nanoseconds since 1970-01-01 UTC.
    pub at_ns: i64,
    /// What happened.
    #[serde(flatten)]
    pub detail: EventDetail,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventDetail {
    /// The agent started.
    Started {
        /// Its program with its version.
        software: String,
    },
    /// The agent ends by request.
    Stopping,
    /// The agent carries out a revision of the plan.
    PlanApplied {
        /// The revision.
        revision: u64,
        /// Pairs that it owns.
        targets: u64,
    },
    /// The agent cannot carry out a revision and keeps the one before it.
    PlanRefused {
        /// The revision; `null` if it could not be read.
        revision: Option<u64>,
        /// Why.
        why: PlanRefusal,
    },
    /// A run began.
    RunStarted {
        /// The run.
        run: Token,
    },
    /// A run ended.
    RunEnded {
        /// The run.
        run: Token,
        /// The error message of the run; `null` after a success.
        error: Option<String>,
    },
    /// The connection to the server was lost.
    Disconnected,
    /// The connection to the server was made again.
    Reconnected {
        /// Time without a connection, nanoseconds.
        after_ns: i64,
    },
    /// The spool was full, and the oldest rows were dropped.
    RowsDropped {
        /// Packet rows.
        rows: u64,
        /// The first minute of these rows.
        first: Minute,
        /// The last minute of these rows.
        last: Minute,
    },
    /// The server or the archive refused rows or sums for their version.
    SchemaRefused {
        /// The reason.
        refusal: SchemaRefusal,
    },
    /// The clock of the agent was stepped.
    ClockStepped {
        /// By how much, nanoseconds.
        step_ns: i64,
    },
    /// The path to a target changed.
    PathChanged {
        /// The target.
        target: Token,
        /// The path before; `null` if unknown.
        from: Option<PathHash>,
        /// The path now.
        to: PathHash,
    },
    /// Bounds of clock offsets in the mesh contradict each other.
    MeshClock {
        /// The finding.
        finding: MeshFinding,
    },
}

/// Why an agent does not carry out a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum PlanRefusal {
    /// Its version is not read.
    Schema {
        /// The reason.
        refusal: SchemaRefusal,
    },
    /// It is not a plan.
    Malformed {
        /// The message of the reader.
        message: String,
    },
    /// It is the plan of another agent or tenant.
    OtherAgent {
        /// The agent of the plan.
        agent: Token,
    },
    /// Its traffic has an option that `romer measure` does not accept.
    Traffic {
        /// The traffic.
        traffic: Token,
        /// The message of the program.
        message: String,
    },
    /// Its revision is lower than the one that is carried out.
    Outdated {
        /// The revision that is carried out.
        current: u64,
    },
}
