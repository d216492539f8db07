//! The reproducible integer stream: a counter-based generator that gives the same integers on every machine and
//! in every thread layout, for ever, because it is ours.
//!
//! The cipher is ChaCha (RFC 8439) with 8 rounds, used as a function of a counter and not as a sequence: the
//! value for `(seed, stream, ordinal)` does not depend on which others were drawn before it. The 256-bit key is
//! the six words of the [`Seed`] followed by the two words of the stream's name; the ordinal is the 64-bit block
//! counter (words 12 and 13); words 14 and 15 are the draw within one ordinal, and zero.

use core::fmt;
use core::str::FromStr;

use chacha20::rand_core::SeedableRng;
use chacha20::rand_core::block::Generator;
use chacha20::variants::Legacy;
use chacha20::{ChaChaCore, R8};
use serde::{Deserialize, Serialize};

use crate::quantity::QuantityError;

/// Six unsigned 32-bit integers (Pham 2004 has six fields; every random run prints its own).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub [u32; 6]);

impl FromStr for Seed {
    type Err = QuantityError;

    /// Reads `1,2,3,4,5,6`: six numbers from 0 to 4294967295, not all 0, which stand for no seed (a scenario that has them
    /// asks for a random one, and a recurrence such as Pham 2004's combined generator never comes away from them).
    ///
    /// # Errors
    /// Other than six numbers, one beyond the range, or six zeros.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let wrong = || QuantityError::NotANumber {
            text: crate::words::excerpt(text, 80),
            what: "a seed".into(),
            example: "six numbers from 0 to 4294967295, such as 1,2,3,4,5,6".into(),
        };
        let mut words = [0; 6];
        let mut parts = text.split(',');
        for word in &mut words {
            *word = parts.next().ok_or_else(wrong)?.trim().parse().map_err(|_| wrong())?;
        }
        match (parts.next(), words) {
            (Some(_), _) => Err(wrong()),
            (None, [0, 0, 0, 0, 0, 0]) => Err(QuantityError::OutOfRange {
                text: crate::words::excerpt(text, 80),
                allowed: "six zeros stand for no seed: write six numbers that are not all 0, or leave the seed out for a \
                          random one"
                    .into(),
            }),
            (None, words) => Ok(Self(words)),
        }
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a},{b},{c},{d},{e},{g}")
    }
}

/// One named stream of a seed, for instance a port's loss stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomStream {
    key: [u32; 8],
}

impl RandomStream {
    /// The stream named by two words.
    pub const fn new(seed: Seed, name: [u32; 2]) -> Self {
        let [a, b, c, d, e, f] = seed.0;
        Self { key: [a, b, c, d, e, f, name[0], name[1]] }
    }
    /// The first 64 bits of block `ordinal`.
    pub fn bits(&self, ordinal: u64) -> u64 {
        first_bits(&self.block(ordinal))
    }
    /// All sixteen words of block `ordinal`.
    pub fn block(&self, ordinal: u64) -> [u32; 16] {
        let [low, high] = halves(ordinal);
        chacha::<8>(self.key, [low, high, 0, 0])
    }
    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&self, ordinal: u64) -> f64 {
        unit(self.bits(ordinal))
    }
}

#[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

fn first_bits(words: &[u32; 16]) -> u64 {
    u64::from(words[0]) | (u64::from(words[1]) << 32)
}

/// How many blocks the cipher makes at once.
const BATCH: usize = 4;
/// Words of a block.
const WORDS: usize = 16;

/// The blocks of a stream for one who asks for ordinals that mostly follow one another: the same as [`RandomStream::block`]'s,
/// made some at once by the processor's wide registers, which takes a quarter of the time.
#[derive(Debug)]
pub struct Blocks {
    stream: RandomStream,
    cipher: ChaChaCore<R8, Legacy>,
    /// The ordinal of the first of those that are there; none are where it is no multiple of their number.
    first: u64,
    words: [u32; BATCH * WORDS],
}

impl Blocks {
    /// The blocks of `stream`.
    pub fn new(stream: RandomStream) -> Self {
        let mut key = [0; 32];
        for (octets, word) in key.chunks_exact_mut(4).zip(stream.key) {
            octets.copy_from_slice(&word.to_le_bytes());
        }
        Self { stream, cipher: ChaChaCore::from_seed(key), first: 1, words: [0; BATCH * WORDS] }
    }

    /// All sixteen words of block `ordinal`.
    pub fn block(&mut self, ordinal: u64) -> &[u32; 16] {
        const MASK: u64 = BATCH as u64 - 1;
        let first = ordinal & !MASK;
        if first != self.first {
            self.first = first;
            self.cipher.set_block_pos(first);
            self.cipher.generate(&mut self.words);
        }
        let [low, _] = halves(ordinal & MASK);
        &self.words.as_chunks().0[low as usize]
    }

    /// [`RandomStream::unit`].
    pub fn unit(&mut self, ordinal: u64) -> f64 {
        unit(first_bits(self.block(ordinal)))
    }
}

impl Clone for Blocks {
    fn clone(&self) -> Self {
        Self::new(self.stream)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "splitting into halves is the point")]
const fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// The ChaCha block function with `ROUNDS` rounds over `key` and the four words of counter and nonce.
fn chacha<const ROUNDS: usize>(key: [u32; 8], tail: [u32; 4]) -> [u32; 16] {
    let mut start = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    start[4..12].copy_from_slice(&key);
    start[12..].copy_from_slice(&tail);
    let mut s = start;
    for _ in 0..ROUNDS / 2 {
        for [a, b, c, d] in [
            [0, 4, 8, 12],
            [1, 5, 9, 13],
            [2, 6, 10, 14],
            [3, 7, 11, 15],
            [0, 5, 10, 15],
            [1, 6, 11, 12],
            [2, 7, 8, 13],
            [3, 4, 9, 14],
        ] {
            s[a] = s[a].wrapping_add(s[b]);
            s[d] = (s[d] ^ s[a]).rotate_left(16);
            s[c] = s[c].wrapping_add(s[d]);
            s[b] = (s[b] ^ s[c]).rotate_left(12);
            s[a] = s[a].wrapping_add(s[b]);
            s[d] = (s[d] ^ s[a]).rotate_left(8);
            s[c] = s[c].wrapping_add(s[d]);
            s[b] = (s[b] ^ s[c]).rotate_left(7);
        }
    }
    for (word, first) in s.iter_mut().zip(start) {
        *word = word.wrapping_add(first);
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_function_is_that_of_rfc_8439() {
        // RFC 8439 section 2.3.2, with 20 rounds.
        let key = core::array::from_fn(|i| {
            let first = u32::try_from(i * 4).unwrap();
            u32::from_le_bytes(core::array::from_fn(|j| {
                u8::try_from(first + u32::try_from(j).unwrap()).unwrap()
            }))
        });
        let out = chacha::<20>(key, [1, 0x0900_0000, 0x4a00_0000, 0]);
        let expected = [
            0xe4e7_f110,
            0x1559_3bd1,
            0x1fdd_0f50,
            0xc471_20a3,
            0xc7f4_d1c7,
            0x0368_c033,
            0x9aaa_2204,
            0x4e6c_d4c3,
            0x4664_82d2,
            0x09aa_9f07,
            0x05d7_c214,
            0xa202_8bd9,
            0xd19c_12b5,
            0xb94e_16de,
            0xe883_d0cb,
            0x4e3c_50a2,
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn blocks_made_at_once_are_those_of_the_definition() {
        let stream = RandomStream::new(Seed([1, 2, 3, 4, 5, 0xffff_fff0]), [7, 8]);
        let mut blocks = Blocks::new(stream);
        let far = u64::from(u32::MAX) - 2;
        for ordinal in (0..70).chain([9, 3, 4]).chain(far..far + 9).chain(u64::MAX - 9..=u64::MAX) {
            assert_eq!(*blocks.block(ordinal), stream.block(ordinal), "{ordinal}");
            assert_eq!(blocks.unit(ordinal).to_bits(), stream.unit(ordinal).to_bits(), "{ordinal}");
        }
    }

    #[test]
    fn a_value_depends_on_seed_stream_and_ordinal_only() {
        let stream = RandomStream::new(Seed([1, 2, 3, 4, 5, 6]), [7, 8]);
        let forward: Vec<u64> = (0..64).map(|i| stream.bits(i)).collect();
        let backward: Vec<u64> = (0..64).rev().map(|i| stream.bits(i)).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
        assert_ne!(
            forward,
            (0..64).map(|i| RandomStream::new(Seed([1, 2, 3, 4, 5, 7]), [7, 8]).bits(i)).collect::<Vec<_>>()
        );
        assert_ne!(
            forward,
            (0..64).map(|i| RandomStream::new(Seed([1, 2, 3, 4, 5, 6]), [7, 9]).bits(i)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn units_lie_in_the_half_open_interval_and_fill_it_evenly() {
        // 100,000 draws in 10 cells: chi-squared with 9 degrees of freedom, error probability 1e-6 at 46.
        let stream = RandomStream::new(Seed([9, 8, 7, 6, 5, 4]), [0, 0]);
        let mut cells = [0u32; 10];
        for ordinal in 0..100_000 {
            let unit = stream.unit(ordinal);
            assert!((0.0..1.0).contains(&unit));
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
            let cell = (unit * 10.0) as usize;
            cells[cell] += 1;
        }
        let chi: f64 = cells.iter().map(|n| (f64::from(*n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi < 46.0, "{chi}");
    }

    #[test]
    fn seeds_read_back() {
        let seed = Seed([1, 2, 3, 4, 5, 4_294_967_295]);
        assert_eq!(seed.to_string().parse(), Ok(seed));
        for text in ["", "1,2,3,4,5", "1,2,3,4,5,6,7", "abc", "1,2,3,4,5,4294967296", "1,2,3,4,5,-6"] {
            assert!(text.parse::<Seed>().is_err(), "{text} was accepted");
        }
        for zeros in ["0,0,0,0,0,0", "0, 00, 0,0,0,0"] {
            let error = zeros.parse::<Seed>().unwrap_err().to_string();
            assert!(error.contains("not all 0"), "{error}");
        }
        assert_eq!("0,0,0,0,0,1".parse(), Ok(Seed([0, 0, 0, 0, 0, 1])));
    }
}
