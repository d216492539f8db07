//! The Internet checksum: whole (RFC 1071), and adjusted for a change (RFC 1624).
//!
//! The checksum of some octets is the complement of their one's-complement sum in 16-bit words. When a part
//! of them changes, [`update_u16`] and its kin apply equation 3 of RFC 1624, `HC' = ~(~HC + ~m + m')`: the
//! *old* value is complemented, the new one is not. (The procedure printed in Chen et al. 2013 complements the new
//! time stamp; with its placeholder of all ones, a zero of one's complement, the stamp must be added as it
//! is.)
//!
//! An adjusted checksum equals one computed from scratch as long as the octets are not all zero after the
//! change: one's complement has two zeros, and only a sum of nothing but zeros gives the other one (RFC 1624
//! section 3). An IPv4 header (its version) and a UDP datagram with its pseudo-header (its protocol) are
//! never all zero.

use core::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// How many octets are added before the carries are folded; far below what 64 bits could hold.
const BLOCK: usize = 1 << 16;

/// A one's-complement sum being collected. Parts may have odd lengths: a part that begins at an odd place is
/// added with its octets exchanged (RFC 1071 section 2, part B), so that the parts together give the sum of
/// the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    folded: u16,
    odd: bool,
}

impl Sum {
    /// The sum of nothing.
    pub const fn new() -> Self {
        Self { folded: 0, odd: false }
    }

    /// This sum with `octets` appended.
    #[must_use]
    pub fn octets(self, octets: &[u8]) -> Self {
        let part = octets.chunks(BLOCK).fold(0, |sum, block| add(sum, sum_of_block(block)));
        let part = if self.odd { part.swap_bytes() } else { part };
        Self { folded: add(self.folded, part), odd: self.odd ^ (octets.len() % 2 == 1) }
    }

    /// This sum with a big-endian 16-bit word appended.
    #[must_use]
    pub fn u16(self, word: u16) -> Self {
        self.octets(&word.to_be_bytes())
    }

    /// This sum with a big-endian 32-bit word appended.
    #[must_use]
    pub fn u32(self, word: u32) -> Self {
        self.octets(&word.to_be_bytes())
    }

    /// The sum itself, in 16 bits.
    pub const fn folded(self) -> u16 {
        self.folded
    }

    /// The checksum: the complement of the sum.
    pub const fn checksum(self) -> u16 {
        !self.folded
    }

    /// Whether octets that hold their own checksum, all of them added here, are undamaged: the sum is all
    /// ones (RFC 1071 section 1).
    pub const fn is_right(self) -> bool {
        self.folded == u16::MAX
    }
}

/// The folded sum of at most [`BLOCK`] octets that begin at an even place.
fn sum_of_block(block: &[u8]) -> u16 {
    let (words, rest) = block.as_chunks::<4>();
    let words: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    fold(words + u64::from(u32::from_be_bytes(last)))
}

/// A wide sum in 16 bits, its carries added back in.
#[expect(clippy::cast_possible_truncation, reason = "after the folds the value has 16 bits")]
const fn fold(mut wide: u64) -> u16 {
    while wide > 0xffff {
        wide = (wide & 0xffff) + (wide >> 16);
    }
    wide as u16
}

/// One's-complement addition.
const fn add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + carry as u16
}

/// The checksum of `octets` (RFC 1071), a field for it within them being zero. An odd last octet counts as if
/// a zero followed.
pub fn checksum(octets: &[u8]) -> u16 {
    Sum::new().octets(octets).checksum()
}

/// The checksum after a 16-bit word at an even place changed from `old` to `new` (RFC 1624 equation 3).
pub const fn update_u16(checksum: u16, old: u16, new: u16) -> u16 {
    !add(add(!checksum, !old), new)
}

/// The checksum after a 32-bit field at an even place changed from `old` to `new`.
pub fn update_u32(checksum: u16, old: u32, new: u32) -> u16 {
    replaced(checksum, Sum::new().u32(old), Sum::new().u32(new))
}

/// The checksum after a 64-bit field at an even place (a time stamp, say) changed from `old` to `new`.
pub fn update_u64(checksum: u16, old: u64, new: u64) -> u16 {
    replaced(checksum, Sum::new().octets(&old.to_be_bytes()), Sum::new().octets(&new.to_be_bytes()))
}

/// The two ranges of a replacement are not of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{old} octets cannot be replaced by {new}: the ranges must have one length")]
pub struct UnequalRanges {
    /// Octets that were there.
    pub old: usize,
    /// Octets to put there.
    pub new: usize,
}

/// The checksum after the octets from `offset` on changed from `old` to `new`. `offset` counts from where the
/// checksum's coverage begins, and may be odd.
///
/// # Errors
/// [`UnequalRanges`] where the two are not of one length.
pub fn update_range(checksum: u16, offset: usize, old: &[u8], new: &[u8]) -> Result<u16, UnequalRanges> {
    if old.len() != new.len() {
        return Err(UnequalRanges { old: old.len(), new: new.len() });
    }
    let start = Sum { folded: 0, odd: offset % 2 == 1 };
    Ok(replaced(checksum, start.octets(old), start.octets(new)))
}

const fn replaced(checksum: u16, old: Sum, new: Sum) -> u16 {
    update_u16(checksum, old.folded, new.folded)
}

/// What UDP sends for a computed checksum: zero would mean that there is none, so all ones, the other zero,
/// is sent instead (RFC 768).
pub const fn udp_sent(checksum: u16) -> u16 {
    if checksum == 0 { u16::MAX } else { checksum }
}

/// [`update_range`] for a UDP checksum field: a datagram without a checksum (0) stays without one, and a
/// result of zero is sent as all ones.
///
/// # Errors
/// [`UnequalRanges`] where the two are not of one length.
pub fn udp_update_range(field: u16, offset: usize, old: &[u8], new: &[u8]) -> Result<u16, UnequalRanges> {
    let updated = update_range(field, offset, old, new)?;
    Ok(if field == 0 { 0 } else { udp_sent(updated) })
}

/// The addresses that a transport's checksum covers beside its own octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pseudo {
    /// Of IPv4 (RFC 768).
    V4 {
        /// The source address.
        source: Ipv4Addr,
        /// The final destination address.
        destination: Ipv4Addr,
    },
    /// Of IPv6 (RFC 8200 section 8.1).
    V6 {
        /// The source address.
        source: Ipv6Addr,
        /// The final destination address.
        destination: Ipv6Addr,
    },
}

impl Pseudo {
    /// The sum of the pseudo-header for `length` octets of transport `protocol`. Add those octets to it.
    pub fn sum(self, protocol: u8, length: u32) -> Sum {
        let addresses = match self {
            Self::V4 { source, destination } => {
                Sum::new().octets(&source.octets()).octets(&destination.octets())
            }
            Self::V6 { source, destination } => {
                Sum::new().octets(&source.octets()).octets(&destination.octets())
            }
        };
        // The two layouts differ in the width of the length and the place of the protocol. All lie on even
        // places, and leading zeros add nothing, so one sum serves both.
        addresses.u32(length).u16(u16::from(protocol))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, one word at a time, with nothing clever.
    fn by_definition(octets: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in octets.chunks(2) {
            sum += u32::from(pair[0]) * 256 + u32::from(*pair.get(1).unwrap_or(&0));
            if sum > 0xffff {
                sum -= 0xffff;
            }
        }
        !u16::try_from(sum).unwrap()
    }

    #[test]
    fn the_sum_is_that_of_rfc_1071_section_3() {
        let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::new().octets(&octets).folded(), 0xddf2);
        assert_eq!(checksum(&octets), 0x220d);
    }

    #[test]
    fn the_update_is_that_of_rfc_1624_section_4() {
        assert_eq!(update_u16(0xdd2f, 0x5555, 0x3285), 0x0000);
        let before = Sum::new().u16(0xcd7a).u16(0x5555).checksum();
        assert_eq!(before, 0xdd2f);
        assert_eq!(Sum::new().u16(0xcd7a).u16(0x3285).checksum(), 0x0000);
    }

    #[test]
    fn the_checksum_of_a_header_is_found_and_confirmed() {
        // A header often used as an example: 172.16.10.99 to 172.16.10.12, TCP, checksum b1e6.
        let mut header = [
            0x45, 0x00, 0x00, 0x3c, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0xb1, 0xe6, 0xac, 0x10, 0x0a, 0x63,
            0xac, 0x10, 0x0a, 0x0c,
        ];
        assert!(Sum::new().octets(&header).is_right());
        assert_eq!(by_definition(&header), 0);
        header[10..12].fill(0);
        assert_eq!(checksum(&header), 0xb1e6);
        assert_eq!(by_definition(&header), 0xb1e6);
    }

    #[test]
    fn a_stamp_over_a_placeholder_of_ones_is_added_and_not_its_complement() {
        // Chen et al. 2013: the place of the stamp holds all ones when the checksum is computed.
        let mut octets = *b"probe:\xff\xff\xff\xff\xff\xff\xff\xff tail";
        let old = checksum(&octets);
        let stamp = 0x0123_4567_89ab_cdefu64;
        octets[6..14].copy_from_slice(&stamp.to_be_bytes());
        assert_eq!(update_u64(old, u64::MAX, stamp), checksum(&octets));
        let printed = !Sum { folded: !old, odd: false }.octets(&(!stamp).to_be_bytes()).folded();
        assert_ne!(printed, checksum(&octets), "the printed step would be right");
    }

    #[test]
    fn every_word_at_the_corner_of_the_two_zeros_is_updated_as_computed() {
        // The rest sums to `rest`, so that the word ~rest brings the sum to all ones and the checksum to
        // 0x0000.
        for rest in [0x0001u16, 0x00ff, 0x1234, 0x7fff, 0x8000, 0xcd7a, 0xfffe, 0xffff] {
            for old in [0, 1, !rest, 0x7fff, 0xfffe, 0xffff] {
                for new in [0, 1, !rest, 0x8000, 0xfffe, 0xffff] {
                    let before = Sum::new().u16(rest).u16(old).checksum();
                    let after = Sum::new().u16(rest).u16(new).checksum();
                    assert_eq!(update_u16(before, old, new), after, "{rest:04x}: {old:04x} to {new:04x}");
                }
            }
        }
    }

    #[test]
    fn udp_never_sends_the_zero_that_means_none() {
        assert_eq!(udp_sent(0), 0xffff);
        assert_eq!(udp_sent(0xffff), 0xffff);
        assert_eq!(udp_sent(1), 1);
        assert_eq!(udp_update_range(0, 8, &[1, 2], &[3, 4]), Ok(0), "none stays none");
        assert_eq!(udp_update_range(0xdd2f, 0, &[0x55, 0x55], &[0x32, 0x85]), Ok(0xffff));
    }

    #[test]
    fn ranges_of_two_lengths_are_refused() {
        assert_eq!(update_range(1, 0, &[1], &[1, 2]), Err(UnequalRanges { old: 1, new: 2 }));
        assert_eq!(udp_update_range(0, 0, &[1], &[]), Err(UnequalRanges { old: 1, new: 0 }));
    }

    #[test]
    fn many_octets_of_ones_do_not_overflow() {
        let octets = vec![0xff; 3 * BLOCK + 1];
        assert_eq!(checksum(&octets), by_definition(&octets));
    }

    #[test]
    fn every_position_of_a_datagram_is_updated_as_computed() {
        // Every offset and every length to the end, odd ones included; the first octet stays, and is not
        // zero.
        let before: Vec<u8> = (0..61).map(|i| if i == 0 { 0x45 } else { u8::wrapping_mul(i, 37) }).collect();
        let old = checksum(&before);
        for start in 1..before.len() {
            for end in start..=before.len() {
                for fill in [0x00, 0xff, 0x5a] {
                    let mut after = before.clone();
                    after[start..end].fill(fill);
                    assert_eq!(
                        update_range(old, start, &before[start..end], &after[start..end]),
                        Ok(checksum(&after)),
                        "{start}..{end} {fill:02x}"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_whole_sum_is_the_definition(octets: Vec<u8>) {
            prop_assert_eq!(checksum(&octets), by_definition(&octets));
        }

        #[test]
        fn parts_give_the_sum_of_the_whole(parts: Vec<Vec<u8>>) {
            let by_parts = parts.iter().fold(Sum::new(), |sum, part| sum.octets(part));
            prop_assert_eq!(by_parts.checksum(), checksum(&parts.concat()));
        }

        #[test]
        fn an_update_is_the_whole_computed_again(
            head in 1u8..,
            (old, new) in (0usize..100).prop_flat_map(|len| (
                proptest::collection::vec(any::<u8>(), len),
                proptest::collection::vec(any::<u8>(), len),
            )),
            gap in proptest::collection::vec(any::<u8>(), 0..20),
            tail in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let lead = [&[head], gap.as_slice()].concat();
            let before = [lead.as_slice(), &old, &tail].concat();
            let after = [lead.as_slice(), &new, &tail].concat();
            let updated = update_range(checksum(&before), lead.len(), &old, &new).unwrap();
            prop_assert_eq!(updated, checksum(&after));
            prop_assert_eq!(updated, by_definition(&after));
        }

        #[test]
        fn fields_are_updated_as_ranges(checksum: u16, old: u64, new: u64) {
            let bytes = (old.to_be_bytes(), new.to_be_bytes());
            let by_range = update_range(checksum, 4, &bytes.0, &bytes.1);
            prop_assert_eq!(Ok(update_u64(checksum, old, new)), by_range);
            let [old, new] = [old, new].map(|word| u32::try_from(word >> 32).unwrap());
            let bytes = (old.to_be_bytes(), new.to_be_bytes());
            let by_range = update_range(checksum, 4, &bytes.0, &bytes.1);
            prop_assert_eq!(Ok(update_u32(checksum, old, new)), by_range);
        }

        #[test]
        fn an_update_never_changes_what_a_damaged_checksum_says(
            wrong in 1u16..0xffff, old: u16, new: u16, rest in 1u16..,
        ) {
            // RFC 1624 keeps an error visible: a checksum that was off by `wrong` is off by it afterwards.
            let before = !add(Sum::new().u16(rest).u16(old).folded(), wrong);
            let updated = update_u16(before, old, new);
            prop_assert!(!Sum::new().u16(rest).u16(new).u16(updated).is_right());
        }
    }
}
