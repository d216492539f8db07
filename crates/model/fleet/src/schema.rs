//! JSON schemas of the documents and messages of a fleet.

use schemars::Schema;

use crate::{diff, mesh_clock, messages, plan, rows, sums};

/// The schemas by their names.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("fleet-plan", schemars::schema_for!(plan::Plan)),
        ("fleet-agent-plan", schemars::schema_for!(plan::AgentPlan)),
        ("fleet-plan-summary", schemars::schema_for!(plan::PlanSummary)),
        ("fleet-plan-diff", schemars::schema_for!(diff::PlanDiff)),
        ("fleet-rows", schemars::schema_for!(rows::BlobHeader)),
        ("fleet-sums", schemars::schema_for!(sums::MinuteSums)),
        ("fleet-heartbeat", schemars::schema_for!(messages::Heartbeat)),
        ("fleet-event", schemars::schema_for!(messages::Event)),
        ("fleet-clocks", schemars::schema_for!(mesh_clock::MeshClocks)),
    ]
}
