//! The loads of all agents.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expand::Expansion;
use super::types::{Limits, Plan};
use crate::time::Day;
use crate::token::Token;

/// The name and version of the document.
pub const PLAN_SUMMARY: &str = "romer/fleet-plan-summary/1";

/// A plan on a day: its size, and what each agent sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSummary {
    /// [`PLAN_SUMMARY`].
    pub schema: String,
    /// The tenant.
    pub tenant: Token,
    /// Revision of the plan.
    pub revision: u64,
    /// The day.
    pub day: Day,
    /// Whether pairs change every day.
    pub has_levels: bool,
    /// Sites.
    pub sites: usize,
    /// Pairs of agents and traffic.
    pub pairs: usize,
    /// The agents.
    pub agents: Vec<AgentSummary>,
}

/// What an agent sends: its probes, and its replies to the probes of other agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSummary {
    /// The agent.
    pub agent: Token,
    /// Its site.
    pub site: Token,
    /// Its pairs.
    pub pairs: usize,
    /// Pairs that it owns: it sends the probes.
    pub owned: usize,
    /// Probes and replies per second, rounded up.
    pub probes_per_second: u64,
    /// Bytes per second, with headers, rounded up.
    pub bytes_per_second: u64,
    /// Its limits.
    pub limits: Limits,
}

impl PlanSummary {
    /// The summary of a plan and its expansion.
    pub fn new(plan: &Plan, expansion: &Expansion) -> Self {
        let agents = expansion.agents.values().map(|agent| {
            let load = expansion.loads.get(&agent.agent).copied().unwrap_or_default();
            AgentSummary {
                agent: agent.agent.clone(),
                site: agent.site.clone(),
                pairs: load.pairs,
                owned: load.owned,
                probes_per_second: load.probes_per_second(),
                bytes_per_second: load.bytes_per_second(),
                limits: agent.limits,
            }
        });
        let sites: BTreeSet<&Token> = plan.agents.values().map(|agent| &agent.site).collect();
        Self {
            schema: PLAN_SUMMARY.into(),
            tenant: plan.tenant.clone(),
            revision: plan.revision,
            day: expansion.day,
            has_levels: plan.has_levels(),
            sites: sites.len(),
            pairs: expansion.pairs.len(),
            agents: agents.collect(),
        }
    }
}
