//! The compact probe: a one-way test packet that fits where a STAMP packet does not, from [`SHORTEST`] octets up.
//!
//! A voice packet of two MELP frames has 14 octets of payload, and what a network does to it is only seen with a
//! packet of that size. So the probe carries nothing but what tells it from others; the stamps of its departure and
//! arrival stand in the logs of the two ends, and are joined by the sequence number afterwards.
//!
//! ```text
//!  octet 0     2        5           9
//!        +-----+--------+-----------+---------- - -
//!        | no. | seq.   | tag       | zeros
//!        +-----+--------+-----------+---------- - -
//! ```
//!
//! - *no.*: the session's number, 16 bits.
//! - *seq.*: the low 24 bits of the probe's sequence number.
//! - *tag*: the low 32 bits of SipHash-2-4 (Aumasson and Bernstein, 2012), under the session's key, over the session's
//!   number, the direction, the payload's length and the **whole** 64-bit sequence number.
//! - *zeros*: padding up to the size that is wanted.
//!
//! All numbers are big-endian. Because the tag covers the whole number, the receiver finds out which 64-bit number the
//! 24 bits are of by trying those near to the latest one: after losses of up to [`ERAS`] times 2^24 packets in a row,
//! reordering, and any number of wraps. A forger who has not seen the session hits a tag once in 2^32 attempts; a
//! replayed probe is a duplicate while it is recent and nothing at all afterwards.

use romer_units::Direction;
use siphasher::sip::SipHasher24;

use core::hash::Hasher;

/// The shortest probe, in octets: the header alone.
pub const SHORTEST: usize = 9;
/// Numbers that 24 bits can tell apart.
const ERA: u64 = 1 << 24;
/// How many times the 24 bits may have run through between two probes that arrive one after the other.
pub const ERAS: u64 = 8;

/// The secret of a session, known to its two ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Key {
    /// The key of these octets.
    pub const fn new(octets: [u8; 16]) -> Self {
        Self(octets)
    }
}

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // It stays secret, also in a log.
        f.write_str("Key(..)")
    }
}

/// Who may read and write the probes of one direction of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The session's number.
    pub number: u16,
    /// Its key.
    pub key: Key,
    /// Which end sends the probes, so that a reflected one is not taken for the other end's: forward, the end that requested
    /// the session.
    pub direction: Direction,
}

impl Session {
    fn tag(&self, sequence: u64, octets: usize) -> [u8; 4] {
        let mut hasher = SipHasher24::new_with_key(&self.key.0);
        let mut told = [0; 20];
        told[..2].copy_from_slice(&self.number.to_be_bytes());
        told[2] = u8::from(self.direction == Direction::Reverse);
        told[4..12].copy_from_slice(&u64::try_from(octets).unwrap_or(u64::MAX).to_be_bytes());
        told[12..].copy_from_slice(&sequence.to_be_bytes());
        hasher.write(&told);
        let [.., a, b, c, d] = hasher.finish().to_be_bytes();
        [a, b, c, d]
    }

    /// Fills `payload` with probe `sequence`. `false`, and nothing is written, where it is shorter than
    /// [`SHORTEST`].
    pub fn emit(&self, sequence: u64, payload: &mut [u8]) -> bool {
        let octets = payload.len();
        let Some((header, padding)) = payload.split_at_mut_checked(SHORTEST) else { return false };
        header[..2].copy_from_slice(&self.number.to_be_bytes());
        header[2..5].copy_from_slice(&sequence.to_be_bytes()[5..]);
        header[5..].copy_from_slice(&self.tag(sequence, octets));
        padding.fill(0);
        true
    }

    /// The sequence number of the probe in `payload`; `None` where it is none of this session's. `latest` is the
    /// highest number that has arrived before, or `None` for the first.
    pub fn read(&self, payload: &[u8], latest: Option<u64>) -> Option<u64> {
        let header = payload.first_chunk::<SHORTEST>()?;
        let [n0, n1, s0, s1, s2, tag @ ..] = *header;
        if u16::from_be_bytes([n0, n1]) != self.number {
            return None;
        }
        let low = u64::from(u32::from_be_bytes([0, s0, s1, s2]));
        candidates(low, latest).find(|sequence| self.tag(*sequence, payload.len()) == tag)
    }

    /// The number of this session's probe whose payload begins so, as an ICMP error returns it: the latest of those up to
    /// `latest`, the highest that has left. It claims less than [`Session::read`], for of the tag not all is there.
    pub fn number_of_beginning(&self, beginning: [u8; 8], latest: u64) -> Option<u64> {
        let [n0, n1, s0, s1, s2, ..] = beginning;
        let low = u64::from(u32::from_be_bytes([0, s0, s1, s2]));
        let back = (latest & (ERA - 1)).wrapping_sub(low) & (ERA - 1);
        let number = latest.checked_sub(back)?;
        (u16::from_be_bytes([n0, n1]) == self.number).then_some(number)
    }
}

/// The session's number in `payload`, if that is long enough for a probe. It claims nothing: [`Session::read`] tells
/// whether it is one.
pub fn number_of(payload: &[u8]) -> Option<u16> {
    let [n0, n1, ..] = *payload.first_chunk::<SHORTEST>()?;
    Some(u16::from_be_bytes([n0, n1]))
}

/// The numbers that end in the 24 bits `low`, the likely ones first: in the era of `latest`, in the ones after it up
/// to [`ERAS`], and in the one before it.
fn candidates(low: u64, latest: Option<u64>) -> impl Iterator<Item = u64> {
    let base = latest.unwrap_or(0) & !(ERA - 1);
    let nearest_first = [Some(base), base.checked_sub(ERA)];
    let ahead = (1..=ERAS).map(move |era| base.checked_add(era * ERA));
    let [own, before] = nearest_first;
    [own].into_iter().chain(ahead).chain([before]).flatten().map(move |era| era | low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn session() -> Session {
        Session { number: 0xbeef, key: Key::new([7; 16]), direction: Direction::Forward }
    }
    #[test]
    fn the_beginning_of_a_probe_tells_which_of_the_latest_it_was() {
        let beginning = |sequence| *probe(sequence, 14).first_chunk::<8>().unwrap();
        for (sequence, latest) in [(7, 7), (7, 90), (ERA - 1, ERA + 5), (3 * ERA + 2, 4 * ERA + 1)] {
            assert_eq!(session().number_of_beginning(beginning(sequence), latest), Some(sequence));
        }
        assert_eq!(session().number_of_beginning(beginning(8), 7), None, "it has not left");
        let other = Session { number: 0xbee0, ..session() };
        assert_eq!(other.number_of_beginning(beginning(7), 7), None);
    }

    fn probe(sequence: u64, octets: usize) -> Vec<u8> {
        let mut payload = vec![0xff; octets];
        assert!(session().emit(sequence, &mut payload));
        payload
    }

    #[test]
    fn a_probe_fits_nine_octets_and_no_fewer() {
        assert_eq!(session().read(&probe(5, SHORTEST), None), Some(5));
        let mut short = [0xff; SHORTEST - 1];
        assert!(!session().emit(5, &mut short));
        assert_eq!(short, [0xff; SHORTEST - 1]);
        assert_eq!(session().read(&short, None), None);
        assert_eq!(number_of(&short), None);
    }

    #[test]
    fn the_layout_is_the_one_that_is_written_down() {
        let payload = probe(0x0102_0304_0506, 14);
        assert_eq!(payload[..5], [0xbe, 0xef, 0x04, 0x05, 0x06]);
        assert_eq!(payload[9..], [0; 5]);
        assert_eq!(number_of(&payload), Some(0xbeef));
    }

    #[test]
    fn another_session_direction_key_or_length_is_not_ours() {
        let payload = probe(5, 14);
        let others = [
            Session { number: 1, ..session() },
            Session { key: Key::new([8; 16]), ..session() },
            Session { direction: Direction::Reverse, ..session() },
        ];
        for other in others {
            assert_eq!(other.read(&payload, None), None);
        }
        assert_eq!(session().read(&payload[..13], None), None, "cut short");
        assert_eq!(session().read(&[&payload[..], &[0]].concat(), None), None, "made longer");
    }

    #[test]
    fn a_replay_from_long_ago_is_nothing() {
        assert_eq!(session().read(&probe(5, 14), Some(3 * ERA)), None);
        assert_eq!(session().read(&probe(5, 14), Some(ERA)), Some(5), "reordered across a wrap");
    }

    /// Loss, reordering and wraps at once: whatever arrives, in whatever order within an era, has its whole number.
    #[test]
    fn numbers_are_whole_again_after_losses_reordering_and_wraps() {
        let mut latest = None;
        let mut sequence = ERA - 40;
        for step in 0..4_000_u64 {
            // A stride that is no divisor of the era, with a leap of several eras now and then.
            sequence += if step % 500 == 499 { 3 * ERA + 77 } else { step * 7_919 % 90_001 };
            for arrived in [sequence + 3, sequence, sequence + 1, sequence] {
                assert_eq!(session().read(&probe(arrived, 9), latest), Some(arrived), "after {latest:?}");
                latest = latest.max(Some(arrived));
            }
        }
        assert!(latest.unwrap() > 20 * ERA);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_near_to_the_latest(
            sequence in 0u64..(1 << 50), back in 0u64..ERA, ahead in 0u64..(ERAS * ERA), octets in 9usize..200,
        ) {
            let payload = probe(sequence, octets);
            prop_assert_eq!(session().read(&payload, Some(sequence + back)), Some(sequence));
            prop_assert_eq!(session().read(&payload, Some(sequence.saturating_sub(ahead))), Some(sequence));
        }

        #[test]
        fn any_bytes_are_read_without_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..80), latest in any::<Option<u64>>(),
        ) {
            let _ = session().read(&bytes, latest);
            let _ = number_of(&bytes);
        }
    }
}
