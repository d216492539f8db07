//! From the plan to the pairs, and to the plan of each agent.

use std::collections::BTreeMap;

use super::{AgentPlan, ExpandError, Pair, Plan};
use crate::time::Day;
use crate::token::Token;

/// The pairs of a plan on a day, and what each agent does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The day.
    pub day: Day,
    /// All pairs, in order.
    pub pairs: Vec<Pair>,
    /// The plan of each agent.
    pub agents: BTreeMap<Token, AgentPlan>,
    /// What each agent sends.
    pub loads: BTreeMap<Token, Load>,
}

/// What an agent sends: its probes, and its replies to the probes of other agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Its pairs, as owner or as responder.
    pub pairs: usize,
    /// Pairs that it owns.
    pub owned: usize,
    /// Probes and replies in 1,000 seconds, rounded up for each pair.
    pub probes_per_kilosecond: u64,
    /// Bytes in 1,000 seconds, with headers, rounded up for each pair.
    pub bytes_per_kilosecond: u64,
}

impl Load {
    /// Probes and replies a second, rounded up.
    pub const fn probes_per_second(&self) -> u64 {
        self.probes_per_kilosecond.div_ceil(1_000)
    }

    /// Bytes a second, rounded up.
    pub const fn bytes_per_second(&self) -> u64 {
        self.bytes_per_kilosecond.div_ceil(1_000)
    }
}

pub(super) fn expand(plan: &Plan, day: Day) -> Result<Expansion, ExpandError> {
    let _ = plan;
    Ok(Expansion { day, pairs: Vec::new(), agents: BTreeMap::new(), loads: BTreeMap::new() })
}
