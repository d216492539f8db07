//! The two directions of packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A direction of packets between the initiator and the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the initiator to the responder.
    Forward,
    /// From the responder to the initiator.
    Reverse,
}

impl Direction {
    /// Forward, then reverse.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    /// `forward` or `reverse`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }

    /// The opposite direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }

    /// 1 forward, -1 in reverse: the sign with which the offset of the responder's clock enters a raw delay.
    pub const fn sign(self) -> f64 {
        match self {
            Self::Forward => 1.0,
            Self::Reverse => -1.0,
        }
    }
}
