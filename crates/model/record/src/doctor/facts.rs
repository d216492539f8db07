//! Facts that may be unknown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a check observed, or why it could not observe anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Facts<T> {
    /// Observed facts.
    Known(T),
    /// The check failed.
    Unknown {
        /// The error.
        error: String,
    },
}
