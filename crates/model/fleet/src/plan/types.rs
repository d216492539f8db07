//! The types of a plan and of what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use romer_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::time::Day;
use crate::token::Token;

/// The version of plans that this release writes. It also reads the one before it.
pub const PLAN_SCHEMA: u32 = 1;
/// A mesh of more agents than this is divided into levels.
pub const MAX_FLAT_MESH: usize = 200;
/// Headers of a probe besides its UDP payload, bytes: IPv6 (RFC 8200, 40) and UDP (RFC 768, 8). IPv4 has 20 fewer.
pub const HEADER_BYTES: u64 = 48;

/// The plan of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// Version of its form.
    pub schema: u32,
    /// The tenant: agents of different tenants do not see each other.
    pub tenant: Token,
    /// Revision, which increases with each change.
    pub revision: u64,
    /// Limits of each agent that has none of its own.
    #[serde(default)]
    pub limits: Limits,
    /// How long data are kept.
    #[serde(default)]
    pub retention: Retention,
    /// The kinds of traffic by name.
    pub traffic: BTreeMap<Token, Traffic>,
    /// The agents by name.
    pub agents: BTreeMap<Token, Agent>,
    /// Who measures whom.
    pub groups: Vec<Group>,
}

/// What an agent may send at most. A pair costs both agents the same: one sends the probes, the other one the replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Probes and replies that an agent sends in a second.
    pub probes_per_second: u64,
    /// Bytes of IP packets that an agent sends in a second, with the headers of IPv6 ([`HEADER_BYTES`]).
    pub bytes_per_second: u64,
}

impl Default for Limits {
    /// 1,000 probes a second and 1 MB/s: ten times the load of 100 targets at one probe a second.
    fn default() -> Self {
        Self { probes_per_second: 1_000, bytes_per_second: 1_000_000 }
    }
}

/// How long data are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retention {
    /// Packet rows in the archive.
    pub rows_ns: Duration,
    /// Minute sums in the archive.
    pub sums_ns: Duration,
    /// Rows and sums that an agent has not yet shipped: their age at most.
    pub spool_ns: Duration,
    /// Rows and sums that an agent has not yet shipped: bytes at most.
    pub spool_bytes: u64,
}

impl Default for Retention {
    /// Rows for 30 days, sums for 400 days, 72 hours and 1 GB in the spool.
    fn default() -> Self {
        const DAY: i64 = 86_400;
        Self {
            rows_ns: Duration::from_secs(30 * DAY),
            sums_ns: Duration::from_secs(400 * DAY),
            spool_ns: Duration::from_secs(3 * DAY),
            spool_bytes: 1_000_000_000,
        }
    }
}

/// The probes of a pair: the interval, the size, and options of `romer measure`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// Time between two probes.
    pub interval_ns: Duration,
    /// UDP payload, bytes.
    pub size: u32,
    /// Time between the starts of two runs.
    pub every_ns: Duration,
    /// Length of a run. `null`: until the next start, so that there is no pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<Duration>,
    /// Options of `romer measure` by their long names, as in the file of `romer agent`. They are checked by the program, not here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, OptionValue>,
}

impl Traffic {
    /// The length of a run.
    pub fn run_length(&self) -> Duration {
        self.duration_ns.unwrap_or(self.every_ns)
    }
}

/// The value of an option of `romer measure`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OptionValue {
    /// A flag: `true` sets it.
    Flag(bool),
    /// One value, as it is written on the command line.
    Value(String),
    /// Several values: the option is repeated.
    Values(Vec<String>),
}

/// A measuring host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its site.
    pub site: Token,
    /// Where other agents reach it: HOST or HOST:PORT, as a target of `romer measure`.
    pub address: String,
    /// Its own limits. `null`: those of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// Agents that measure each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Its name, which no other group has.
    pub name: Token,
    /// Its traffic.
    pub traffic: Token,
    /// Its pairs.
    #[serde(flatten)]
    pub shape: Shape,
}

/// The pairs of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Shape {
    /// Each agent with each other; above [`MAX_FLAT_MESH`] agents, in levels.
    Mesh {
        /// The agents.
        members: BTreeSet<Token>,
        /// Agents of a site that form a full mesh, if the group is divided into levels.
        representatives: usize,
        /// Pairs between two sites, if the group is divided into levels.
        pairs_between_sites: usize,
    },
    /// Each centre with each other agent.
    Star {
        /// The centres. Two centres are no pair.
        centres: BTreeSet<Token>,
        /// The other agents.
        members: BTreeSet<Token>,
    },
    /// The pairs of a list.
    Pairs {
        /// The pairs.
        pairs: Vec<[Token; 2]>,
    },
}

/// Two agents and their traffic. The session gives both directions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The agent that sends the probes and stores the rows.
    pub owner: Token,
    /// The agent that replies.
    pub responder: Token,
    /// The traffic.
    pub traffic: Token,
}

/// What one agent does: the value of its key in the plan's bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPlan {
    /// Version of its form.
    pub schema: u32,
    /// The tenant.
    pub tenant: Token,
    /// Revision of the fleet's plan.
    pub revision: u64,
    /// The day for which the pairs of large groups were chosen; `null` if the plan has no such group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Day>,
    /// The agent.
    pub agent: Token,
    /// Its site.
    pub site: Token,
    /// What it may send.
    pub limits: Limits,
    /// How long data are kept.
    pub retention: Retention,
    /// The pairs that it owns: it sends the probes.
    pub targets: Vec<Target>,
    /// The agents that send probes to it.
    pub initiators: BTreeSet<Token>,
    /// The traffic that its targets name.
    pub traffic: BTreeMap<Token, Traffic>,
}

/// An agent to which another one sends probes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The agent that replies.
    pub agent: Token,
    /// Its site.
    pub site: Token,
    /// Where it is reached: HOST or HOST:PORT.
    pub address: String,
    /// Name of the traffic.
    pub traffic: Token,
    /// Time of the first probe after a multiple of the interval, so that the probes of many pairs do not leave together.
    pub phase_ns: Duration,
}

/// Why a plan that was read cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpandError {
    /// A group names an agent that the plan does not have.
    #[error(
        "unknown agent (group {group}): no site has the agent {agent}; add it to [site.NAME.agents] or remove it from the group"
    )]
    UnknownAgent {
        /// The group.
        group: Token,
        /// The agent.
        agent: Token,
    },
    /// A group names a traffic that the plan does not have.
    #[error("unknown traffic (group {group}): the plan has no traffic {traffic}; add [traffic.{traffic}]")]
    UnknownTraffic {
        /// The group.
        group: Token,
        /// The traffic.
        traffic: Token,
    },
    /// A pair of an agent with itself.
    #[error("pair of an agent with itself (group {group}): {agent}; name two agents")]
    SelfPair {
        /// The group.
        group: Token,
        /// The agent.
        agent: Token,
    },
    /// An agent would send more probes and replies than it may.
    #[error(
        "too many probes (agent {agent}): {planned} a second in {pairs} pairs, and its limit is {limit}; \
         lengthen the interval, use fewer pairs, or raise limits.probes_per_second"
    )]
    TooManyProbes {
        /// The agent.
        agent: Token,
        /// Probes and replies a second, rounded up.
        planned: u64,
        /// Its pairs.
        pairs: usize,
        /// The limit.
        limit: u64,
    },
    /// An agent would send more bytes than it may.
    #[error(
        "too many bytes (agent {agent}): {planned} a second in {pairs} pairs, and its limit is {limit}; \
         send smaller probes, lengthen the interval, use fewer pairs, or raise limits.bytes_per_second"
    )]
    TooManyBytes {
        /// The agent.
        agent: Token,
        /// Bytes a second, rounded up.
        planned: u64,
        /// Its pairs.
        pairs: usize,
        /// The limit.
        limit: u64,
    },
}

impl Plan {
    /// Whether a group is divided into levels, so that its pairs change every day.
    pub fn has_levels(&self) -> bool {
        self.groups.iter().any(|group| group.shape.has_levels())
    }

    /// The limits of an agent: its own, or those of the plan.
    pub fn limits_of(&self, agent: &Agent) -> Limits {
        agent.limits.unwrap_or(self.limits)
    }
}

impl Shape {
    /// Whether it is divided into levels.
    pub fn has_levels(&self) -> bool {
        matches!(self, Self::Mesh { members, .. } if members.len() > MAX_FLAT_MESH)
    }
}
