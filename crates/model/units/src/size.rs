//! Sizes in octets, and the size of an Ethernet frame on the wire.

use core::fmt;
use core::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{self, QuantityError, Unit};

/// A number of octets.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Size(u64);

impl Size {
    /// `octets` octets.
    pub const fn from_octets(octets: u64) -> Self {
        Self(octets)
    }
    /// This size in octets.
    pub const fn octets(self) -> u64 {
        self.0
    }
}

const SIZE_UNITS: &[Unit] = &[
    Unit { name: "B", nanos_or_one: 1 },
    Unit { name: "kB", nanos_or_one: 1_000 },
    Unit { name: "MB", nanos_or_one: 1_000_000 },
    Unit { name: "GB", nanos_or_one: 1_000_000_000 },
    Unit { name: "KiB", nanos_or_one: 1 << 10 },
    Unit { name: "MiB", nanos_or_one: 1 << 20 },
    Unit { name: "GiB", nanos_or_one: 1 << 30 },
];

impl FromStr for Size {
    type Err = QuantityError;

    /// Reads `64B`, `1500B`, `64KiB`, `4GB`. Octets only; a bare number is refused.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let octets =
            quantity::sum_of_parts(text, text, SIZE_UNITS, "a size in bytes", "64B, 1500B or 64KiB")?;
        u64::try_from(octets).map(Self).map_err(|_| QuantityError::OutOfRange {
            text: text.into(),
            allowed: "write at most 2^64-1 bytes".into(),
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}B", self.0))
    }
}

/// The size of an Ethernet frame in octets, from the destination address to the frame check sequence, both
/// included (RFC 2544 section 9 counts so): 64 is the smallest that the medium carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameSize(u32);

impl FrameSize {
    /// Preamble and start-of-frame delimiter (8) and the inter-frame gap (12), in octets.
    pub const OVERHEAD: u32 = 20;
    /// The smallest frame.
    pub const MINIMUM: Self = Self(64);

    /// A frame of `octets` octets with its frame check sequence; `None` below 64.
    pub const fn new(octets: u32) -> Option<Self> {
        if octets < 64 { None } else { Some(Self(octets)) }
    }
    /// The frame that carries an IP packet of `octets` octets without VLAN tag: 18 octets more, padded to 64.
    pub const fn of_ip_packet(octets: u32) -> Self {
        let frame = octets.saturating_add(18);
        Self(if frame < 64 { 64 } else { frame })
    }
    /// Octets from destination address to frame check sequence.
    pub const fn octets(self) -> u32 {
        self.0
    }
    /// Octets of line time: the frame with preamble and gap.
    pub const fn on_the_line(self) -> u32 {
        self.0 + Self::OVERHEAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, octets) in
            [("64B", 64), ("1500B", 1500), ("64KiB", 65_536), ("1.5kB", 1_500), ("4GB", 4_000_000_000)]
        {
            assert_eq!(text.parse::<Size>().unwrap().octets(), octets, "{text}");
        }
        for text in ["64", "64b", "-1B", "B", "1.5B", "1e3B", "99999999999999999999GB"] {
            assert!(text.parse::<Size>().is_err(), "{text} was accepted");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_the_same(octets: u64) {
            prop_assert_eq!(Size::from_octets(octets).to_string().parse::<Size>().unwrap().octets(), octets);
        }
    }
}
