//! The difference of two plans.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{ExpandError, Pair, Plan};
use crate::time::Day;
use crate::token::Token;

/// What changes from one plan to another on the same day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDiff {
    /// Revision of the old plan.
    pub from_revision: u64,
    /// Revision of the new plan.
    pub to_revision: u64,
    /// The day of which the pairs are.
    pub day: Day,
    /// Agents that are added.
    pub agents_added: Vec<Token>,
    /// Agents that are removed.
    pub agents_removed: Vec<Token>,
    /// Agents with another site, address or limits.
    pub agents_changed: Vec<Token>,
    /// Traffic that is added.
    pub traffic_added: Vec<Token>,
    /// Traffic that is removed.
    pub traffic_removed: Vec<Token>,
    /// Traffic with other parameters.
    pub traffic_changed: Vec<Token>,
    /// Pairs that are added.
    pub pairs_added: Vec<Pair>,
    /// Pairs that are removed.
    pub pairs_removed: Vec<Pair>,
    /// Whether the limits of the plan change.
    pub limits_changed: bool,
    /// Whether the retention changes.
    pub retention_changed: bool,
}

/// The difference from an old plan to a new one, with their pairs of a day.
///
/// # Errors
/// [`ExpandError`] of either plan.
pub fn diff(old: &Plan, new: &Plan, day: Day) -> Result<PlanDiff, ExpandError> {
    let _ = (old.expand(day)?, new.expand(day)?);
    Ok(PlanDiff { from_revision: old.revision, to_revision: new.revision, day, ..PlanDiff::default() })
}
