//! The known contents of probes of which damage is counted: a pattern behind the fields of a probe.
//!
//! The pattern repeats eight octets, the probe's sequence number and the session's tag, both big-endian. Each octet is XORed
//! with a mask that depends on its place only. Every bit of the pattern is therefore known to a receiver that knows the tag, and
//! the sequence number is the majority of its copies ([`Pattern::read`]). [`Pattern::marks`] are the places of the tag: a damaged
//! probe that has one of them left can be recognised, whatever its headers say.
//!
//! ```
//! use romer_wire::pattern::Pattern;
//!
//! let pattern = Pattern::new(0x1234_5678);
//! let mut octets = [0; 40];
//! pattern.fill(7, &mut octets);
//! octets[9] ^= 0x20;
//! let reading = pattern.read(&octets).unwrap();
//! assert_eq!((reading.sequence, reading.flipped), (7, vec![9 * 8 + 2]));
//! ```

use crate::oneway_probe;
use crate::stamp::tlv::TlvWriter;
use crate::stamp::{AUTHENTICATED_BASE, BASE};

/// The shortest pattern, octets: four copies of sequence number and tag.
pub const SHORTEST: usize = 4 * COPY;
/// Octets of the header of the Extra Padding TLV (RFC 8972 section 4.1) that the pattern of a STAMP packet is the value of.
pub const TLV_HEADER: usize = 4;

/// Octets of sequence number and tag.
const COPY: usize = 8;
/// Octets of the sequence number.
const SEQUENCE: usize = 4;
/// A pattern with more than one wrong bit in so many is not of the session. In random octets, four copies of a sequence
/// number differ from their majority in 5 bits of 32 on average, and half of the 128 bits of the tags are wrong.
const BITS_PER_WRONG_BIT: usize = 8;

/// Where the pattern of a probe begins in its UDP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// An unauthenticated STAMP packet, or its reply.
    Stamp,
    /// An authenticated STAMP packet, or its reply.
    AuthenticatedStamp,
    /// A compact one-way probe.
    OneWay,
}

impl Carrier {
    /// Octets of UDP payload before the pattern.
    pub const fn offset(self) -> usize {
        match self {
            Self::Stamp => BASE + TLV_HEADER,
            Self::AuthenticatedStamp => AUTHENTICATED_BASE + TLV_HEADER,
            Self::OneWay => oneway_probe::SHORTEST,
        }
    }

    /// The shortest UDP payload with a pattern, octets.
    pub const fn shortest_payload(self) -> usize {
        self.offset() + SHORTEST
    }

    /// Writes the pattern of probe `sequence` behind the fields of `payload`, which are written. `false`, and nothing is
    /// written, if there is no room for [`SHORTEST`] octets of it.
    pub fn write(self, pattern: Pattern, sequence: u32, payload: &mut [u8]) -> bool {
        if payload.len() < self.shortest_payload() {
            return false;
        }
        match self {
            Self::OneWay => payload.get_mut(self.offset()..).map(|octets| pattern.fill(sequence, octets)),
            Self::Stamp | Self::AuthenticatedStamp => {
                let extensions = payload.get_mut(self.offset() - TLV_HEADER..);
                extensions.and_then(|octets| {
                    let length = octets.len() - TLV_HEADER;
                    TlvWriter::new(octets).padding(length, |value| pattern.fill(sequence, value)).ok()
                })
            }
        }
        .is_some()
    }
}

/// The pattern of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    tag: u32,
}

/// A pattern that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Sequence number of the probe, modulo 2^32.
    pub sequence: u32,
    /// The wrong bits, ascending, from 0 for the most significant bit of the pattern's first octet.
    pub flipped: Vec<u32>,
}

impl Pattern {
    /// The pattern of the session with this tag, which its initiator draws at random.
    pub const fn new(tag: u32) -> Self {
        Self { tag }
    }

    /// The session's tag.
    pub const fn tag(self) -> u32 {
        self.tag
    }

    /// Octet `place` of the pattern of probe `sequence`.
    fn octet(self, sequence: u32, place: usize) -> u8 {
        let [sequence, tag] = [sequence, self.tag].map(u32::to_be_bytes);
        let place_in_copy = place % COPY;
        let plain = match place_in_copy.checked_sub(SEQUENCE) {
            None => sequence[place_in_copy],
            Some(place_in_tag) => tag[place_in_tag],
        };
        plain ^ mask(place)
    }

    /// Fills `octets` with the pattern of probe `sequence`.
    pub fn fill(self, sequence: u32, octets: &mut [u8]) {
        for (place, octet) in octets.iter_mut().enumerate() {
            *octet = self.octet(sequence, place);
        }
    }

    /// The places of the first four copies of the tag, in octets from the beginning of the pattern, and the big-endian words that
    /// stand there.
    pub fn marks(self) -> [(usize, u32); 4] {
        [0, 1, 2, 3].map(|copy| {
            let place = copy * COPY + SEQUENCE;
            (place, u32::from_be_bytes([0, 1, 2, 3].map(|octet| self.octet(0, place + octet))))
        })
    }

    /// Reads a pattern that may be damaged; `None` if `octets` are too few, or are not a pattern of this session.
    pub fn read(self, octets: &[u8]) -> Option<Reading> {
        if octets.len() < SHORTEST {
            return None;
        }
        let sequence = majority(octets);
        let mut flipped = Vec::new();
        for (place, octet) in octets.iter().enumerate() {
            let wrong = octet ^ self.octet(sequence, place);
            if wrong == 0 {
                continue;
            }
            let first = u32::try_from(8 * place).unwrap_or(u32::MAX);
            flipped.extend((0..8).filter(|bit| wrong & (0x80_u8 >> bit) != 0).map(|bit| first + bit));
        }
        (flipped.len() * BITS_PER_WRONG_BIT <= octets.len() * 8).then_some(Reading { sequence, flipped })
    }
}

/// The sequence number that most copies in `octets` have, bit by bit.
fn majority(octets: &[u8]) -> u32 {
    let mut votes = [0_i64; 32];
    for (place, octet) in octets.iter().enumerate().filter(|(place, _)| place % COPY < SEQUENCE) {
        let plain = octet ^ mask(place);
        for bit in 0..8 {
            let vote = if plain & (0x80_u8 >> bit) == 0 { -1 } else { 1 };
            votes[place % COPY * 8 + bit] += vote;
        }
    }
    votes.iter().fold(0_u32, |sequence, votes| (sequence << 1) | u32::from(*votes > 0))
}

/// What octet `place` is XORed with: the high octet of the place times 2^32 divided by the golden ratio, so that neighbouring
/// octets differ (Knuth, The Art of Computer Programming, volume 3, section 6.4).
fn mask(place: usize) -> u8 {
    let place = u32::try_from(place).unwrap_or(u32::MAX);
    let [high, ..] = place.wrapping_add(1).wrapping_mul(0x9e37_79b9).to_be_bytes();
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(tag: u32, sequence: u32, octets: usize) -> Vec<u8> {
        let mut pattern = vec![0; octets];
        Pattern::new(tag).fill(sequence, &mut pattern);
        pattern
    }

    proptest! {
        /// Every single flipped bit is located, in the sequence number and in the tag as well.
        #[test]
        fn single_bits_are_located(tag: u32, sequence: u32, octets in SHORTEST..200, bit: prop::sample::Index) {
            let mut pattern = filled(tag, sequence, octets);
            prop_assert_eq!(
                Pattern::new(tag).read(&pattern),
                Some(Reading { sequence, flipped: Vec::new() })
            );
            let bit = bit.index(8 * octets);
            pattern[bit / 8] ^= 0x80 >> (bit % 8);
            let flipped = vec![u32::try_from(bit).unwrap()];
            prop_assert_eq!(Pattern::new(tag).read(&pattern), Some(Reading { sequence, flipped }));
        }

        /// Any octets are read without panic.
        #[test]
        fn any_octets_are_read(tag: u32, octets: Vec<u8>) {
            let _ = Pattern::new(tag).read(&octets);
        }

        /// A session's marks are in each of its patterns, and one flipped bit leaves at least three of them.
        #[test]
        fn marks_survive(tag: u32, sequence: u32, bit in 0..8 * SHORTEST) {
            let mut pattern = filled(tag, sequence, SHORTEST);
            pattern[bit / 8] ^= 0x80 >> (bit % 8);
            let marks = Pattern::new(tag).marks();
            let left = marks.iter().filter(|(place, word)| pattern[*place..place + 4] == word.to_be_bytes());
            prop_assert!(left.count() >= 3);
        }
    }

    /// Patterns of another session and random octets are refused. The octets are those of a fixed generator.
    #[test]
    fn other_octets_are_refused() {
        assert_eq!(Pattern::new(1).read(&filled(0xfeed_beef, 5, 64)), None);
        let mut state = 1_u32;
        for _ in 0..1_000 {
            let random: Vec<u8> = (0..SHORTEST)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    state.to_be_bytes()[0]
                })
                .collect();
            assert_eq!(Pattern::new(0xfeed_beef).read(&random), None);
        }
        assert_eq!(Pattern::new(1).read(&filled(1, 5, SHORTEST - 1)), None);
    }

    /// A pattern takes the octets behind the fields of its probe and leaves these as they are.
    #[test]
    fn fields_are_left_alone() {
        for carrier in [Carrier::Stamp, Carrier::AuthenticatedStamp, Carrier::OneWay] {
            let mut payload = vec![0xaa; carrier.shortest_payload()];
            assert!(carrier.write(Pattern::new(9), 3, &mut payload), "{carrier:?}");
            let (fields, pattern) = payload.split_at(carrier.offset());
            assert_eq!(Pattern::new(9).read(pattern).map(|reading| reading.sequence), Some(3));
            let header = if carrier == Carrier::OneWay { 0 } else { TLV_HEADER };
            assert!(fields[..fields.len() - header].iter().all(|octet| *octet == 0xaa));
            payload.pop();
            let before = payload.clone();
            assert!(!carrier.write(Pattern::new(9), 4, &mut payload));
            assert_eq!(payload, before);
        }
    }
}
