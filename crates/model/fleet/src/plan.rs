//! The plan of a fleet: sites, agents, groups, traffic and limits; and the plan of each agent that follows from it.
//!
//! - `types`: the types of both plans.
//! - `read`: the plan in TOML, with line and column in errors.
//! - `expand`: from the plan to the pairs and to the plan of each agent.
//! - `summary`: the loads of all agents.
//! - `levels`: the choice of pairs in large groups.

mod expand;
mod levels;
mod read;
mod summary;
mod types;

pub use expand::{Expansion, Load};
pub use read::{MAX_PLAN_OCTETS, parse};
pub use summary::{AgentSummary, PLAN_SUMMARY, PlanSummary};
pub use types::{
    Agent, AgentPlan, ExpandError, Group, HEADER_BYTES, Limits, MAX_FLAT_MESH, OptionValue, PLAN_SCHEMA,
    Pair, Plan, Retention, Shape, Target, Traffic,
};

#[cfg(test)]
mod tests;
