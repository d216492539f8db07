//! What a finding states.

use romer_record::doctor::Facts;

/// An observation, and its consequence for the user.
pub(super) struct Statement {
    pub(super) observed: String,
    pub(super) consequence: String,
}

impl Statement {
    pub(super) fn new(observed: impl Into<String>, consequence: impl Into<String>) -> Self {
        Self { observed: observed.into(), consequence: consequence.into() }
    }

    /// That of a check that failed.
    pub(super) fn unknown(error: &str, consequence: &str) -> Self {
        Self::new(format!("Unknown: {error}."), consequence)
    }

    /// That of known facts, or of a check that failed, whose possible consequence this is.
    pub(super) fn from_facts<T>(facts: &Facts<T>, consequence: &str, known: impl FnOnce(&T) -> Self) -> Self {
        match facts {
            Facts::Known(facts) => known(facts),
            Facts::Unknown { error } => Self::unknown(error, consequence),
        }
    }
}
