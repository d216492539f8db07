//! The two directions of packets.

use romer_record::document::Way;

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Heading {
    /// From the sender to the responder.
    Forward,
    /// From the responder to the sender.
    Reverse,
}

impl Heading {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    /// `forward` or `reverse`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }

    /// The same as documents have it.
    pub const fn way(self) -> Way {
        match self {
            Self::Forward => Way::Forward,
            Self::Reverse => Way::Reverse,
        }
    }

    /// The opposite one.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }

    /// 1 forward, -1 in reverse: how the difference of the clocks enters a raw delay.
    pub(crate) const fn sign(self) -> f64 {
        match self {
            Self::Forward => 1.0,
            Self::Reverse => -1.0,
        }
    }
}
