//! The difference of two plans.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{Expansion, Pair, Plan};
use crate::time::Day;
use crate::token::Token;

/// The name and version of the document.
pub const PLAN_DIFF: &str = "romer/fleet-plan-diff/1";

/// What changes from one plan to another on the same day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDiff {
    /// [`PLAN_DIFF`].
    pub schema: String,
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

impl PlanDiff {
    /// Whether nothing changes besides the revision.
    pub fn is_empty(&self) -> bool {
        let names = [
            &self.agents_added,
            &self.agents_removed,
            &self.agents_changed,
            &self.traffic_added,
            &self.traffic_removed,
            &self.traffic_changed,
        ];
        names.into_iter().all(Vec::is_empty)
            && self.pairs_added.is_empty()
            && self.pairs_removed.is_empty()
            && !self.limits_changed
            && !self.retention_changed
    }
}

/// The difference from an old plan to a new one, each with its expansion of the same day.
pub fn diff((old, before): (&Plan, &Expansion), (new, after): (&Plan, &Expansion)) -> PlanDiff {
    let day = after.day;
    let [before, after] = [before, after].map(|one| one.pairs.iter().collect::<BTreeSet<&Pair>>());
    let agents = changes(&old.agents, &new.agents);
    let traffic = changes(&old.traffic, &new.traffic);
    PlanDiff {
        schema: PLAN_DIFF.into(),
        from_revision: old.revision,
        to_revision: new.revision,
        day,
        agents_added: agents.added,
        agents_removed: agents.removed,
        agents_changed: agents.changed,
        traffic_added: traffic.added,
        traffic_removed: traffic.removed,
        traffic_changed: traffic.changed,
        pairs_added: after.difference(&before).map(|pair| (*pair).clone()).collect(),
        pairs_removed: before.difference(&after).map(|pair| (*pair).clone()).collect(),
        limits_changed: old.limits != new.limits,
        retention_changed: old.retention != new.retention,
    }
}

/// Names of what is added, removed and changed.
struct Changes {
    added: Vec<Token>,
    removed: Vec<Token>,
    changed: Vec<Token>,
}

fn changes<T: PartialEq>(old: &BTreeMap<Token, T>, new: &BTreeMap<Token, T>) -> Changes {
    let missing = |from: &BTreeMap<Token, T>, in_other: &BTreeMap<Token, T>| {
        from.keys().filter(|name| !in_other.contains_key(*name)).cloned().collect()
    };
    let differs = |(name, value): &(&Token, &T)| new.get(*name).is_some_and(|other| other != *value);
    Changes {
        added: missing(new, old),
        removed: missing(old, new),
        changed: old.iter().filter(differs).map(|(name, _)| name.clone()).collect(),
    }
}
