//! Probes that arrived damaged.

use core::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most bins of [`DamagedProbes::bit_positions`].
const MOST_BINS: usize = 1_024;
/// Most flipped bits of a probe that are counted apart; more are counted with these.
const MOST_FLIPPED: usize = 64;
/// Widths of a bin in bits. The longest UDP payload has 2^19 bits.
const WIDTHS: RangeInclusive<u32> = 1..=1 << 19;

/// Damaged probes by direction (`--checksum header`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Damage {
    /// Damaged probes that arrived at the responder; `null` if it does not count them.
    pub forward: Option<DamagedProbes>,
    /// Damaged probes, or damaged replies, that arrived at the initiator; `null` if it does not count them.
    pub reverse: Option<DamagedProbes>,
}

impl Damage {
    /// Both together: one has the forward and the other the reverse direction.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { forward: self.forward.or(other.forward), reverse: self.reverse.or(other.reverse) }
    }
}

/// Damaged probes of one direction. They count as lost (RFC 7680 section 2.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedProbes {
    /// Number of damaged probes.
    pub probes: u64,
    /// Damaged probes by their number of flipped bits in the pattern, from 0; the last of 65 elements counts 64 or more bits. The
    /// damage of probes with 0 is in the headers or in the fields of the probe.
    pub flipped_bits: Vec<u64>,
    /// Width of a bin of `bit_positions` in bits: 1, or a larger power of two for long payloads.
    pub bits_per_bin: u32,
    /// Flipped bits by their position in the UDP payload: element i counts positions from i times `bits_per_bin`. Position 0 is the
    /// most significant bit of the first octet.
    pub bit_positions: Vec<u64>,
}

impl Default for DamagedProbes {
    fn default() -> Self {
        Self { probes: 0, flipped_bits: Vec::new(), bits_per_bin: 1, bit_positions: Vec::new() }
    }
}

impl DamagedProbes {
    /// Counts a probe with flipped bits at these positions of its UDP payload.
    pub fn add(&mut self, positions: impl Iterator<Item = u32>) {
        self.probes = self.probes.saturating_add(1);
        let mut flipped = 0_usize;
        for position in positions {
            flipped += 1;
            self.add_position(position);
        }
        increment(&mut self.flipped_bits, flipped.min(MOST_FLIPPED));
    }

    fn add_position(&mut self, position: u32) {
        let bin = |width: u32| usize::try_from(position / width.max(1)).unwrap_or(usize::MAX);
        while bin(self.bits_per_bin) >= MOST_BINS && self.bits_per_bin < *WIDTHS.end() {
            self.bits_per_bin *= 2;
            let pairs = self.bit_positions.chunks(2);
            self.bit_positions =
                pairs.map(|pair| pair.iter().fold(0_u64, |a, b| a.saturating_add(*b))).collect();
        }
        increment(&mut self.bit_positions, bin(self.bits_per_bin).min(MOST_BINS - 1));
    }

    /// Whether these can be counts of [`DamagedProbes::add`].
    pub fn is_plausible(&self) -> bool {
        WIDTHS.contains(&self.bits_per_bin)
            && self.bits_per_bin.is_power_of_two()
            && self.bit_positions.len() <= MOST_BINS
            && self.flipped_bits.len() <= MOST_FLIPPED + 1
    }
}

/// One more in bin `bin`.
fn increment(counts: &mut Vec<u64>, bin: usize) {
    if counts.len() <= bin {
        counts.resize(bin + 1, 0);
    }
    if let Some(count) = counts.get_mut(bin) {
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of probes and of bits agree, and bins are joined for long payloads without losing any.
    #[test]
    fn histograms_keep_every_bit() {
        let mut damaged = DamagedProbes::default();
        damaged.add([].into_iter());
        damaged.add([400, 401].into_iter());
        assert_eq!((damaged.probes, &damaged.flipped_bits[..]), (2, &[1, 0, 1][..]));
        assert_eq!((damaged.bits_per_bin, damaged.bit_positions[401]), (1, 1));
        damaged.add([3_000].into_iter());
        assert_eq!((damaged.bits_per_bin, damaged.bit_positions[100], damaged.bit_positions[750]), (4, 2, 1));
        damaged.add(0..5_000);
        assert_eq!(damaged.bit_positions.iter().sum::<u64>(), 5_003);
        assert_eq!(damaged.flipped_bits.iter().sum::<u64>(), damaged.probes);
        assert!(damaged.is_plausible() && damaged.flipped_bits.len() == MOST_FLIPPED + 1);
    }

    /// A far end cannot make this host keep more than a histogram.
    #[test]
    fn longer_histograms_are_implausible() {
        let of = |bits_per_bin, bins| DamagedProbes {
            bits_per_bin,
            bit_positions: vec![0; bins],
            ..DamagedProbes::default()
        };
        assert!(of(1, MOST_BINS).is_plausible());
        for (bits_per_bin, bins) in [(1, MOST_BINS + 1), (0, 1), (3, 1), (1 << 20, 1)] {
            assert!(!of(bits_per_bin, bins).is_plausible(), "{bits_per_bin}, {bins}");
        }
    }
}
