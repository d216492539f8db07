//! The direction of probes.

use romer_units::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Direction of the probes of a stream, or of a metric.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProbeDirection {
    /// To the responder and back (reflected).
    #[default]
    RoundTrip,
    /// From the initiator to the responder only.
    Forward,
    /// From the responder to the initiator only.
    Reverse,
    /// Both directions at the same time: each host sends its own packets.
    Both,
}

impl From<Direction> for ProbeDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Forward,
            Direction::Reverse => Self::Reverse,
        }
    }
}

impl ProbeDirection {
    /// Whether the target sends one-way packets.
    pub const fn has_reverse(self) -> bool {
        matches!(self, Self::Reverse | Self::Both)
    }
    /// Whether the packets are not reflected.
    pub const fn is_one_way(self) -> bool {
        !matches!(self, Self::RoundTrip)
    }
    /// The directions in which packets go, each by itself.
    pub const fn parts(self) -> &'static [Self] {
        match self {
            Self::RoundTrip => &[Self::RoundTrip],
            Self::Forward => &[Self::Forward],
            Self::Reverse => &[Self::Reverse],
            Self::Both => &[Self::Forward, Self::Reverse],
        }
    }
}
