//! The direction of packets through an emulation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A direction of an emulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PortDirection {
    /// From port a to port b.
    #[default]
    AToB,
    /// From port b to port a.
    BToA,
}
