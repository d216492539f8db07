//! Mutations of a corpus that every machine repeats exactly.

use romer_units::random::{RandomStream, Seed};

/// Values that sit at the edges of length fields and of signs.
const EDGES: [u8; 8] = [0x00, 0x01, 0x07, 0x7f, 0x80, 0x81, 0xfe, 0xff];
/// Longest input; lengths beyond it show nothing that shorter ones do not.
const MAX_INPUT_OCTETS: usize = 4096;

/// A source of mutations. Each depends only on the seed, on its ordinal and on the corpus.
#[derive(Clone, Copy, Debug)]
pub struct Mutations {
    stream: RandomStream,
}

/// The words of as many blocks as one mutation needs.
struct Dice {
    stream: RandomStream,
    block: u64,
    next: usize,
}

impl Dice {
    /// The dice of mutation `ordinal`, which has 256 blocks to itself.
    const fn new(stream: RandomStream, ordinal: u64) -> Self {
        Self { stream, block: ordinal << 8, next: 0 }
    }

    /// A number below `end`; 0 where `end` is 0.
    fn below(&mut self, end: usize) -> usize {
        let words = self.stream.block(self.block);
        let word = words[self.next];
        self.next += 1;
        if self.next == words.len() {
            (self.block, self.next) = (self.block + 1, 0);
        }
        if end == 0 { 0 } else { word as usize % end }
    }

    fn octet(&mut self) -> u8 {
        self.below(256).to_le_bytes()[0]
    }
}

impl Mutations {
    /// The mutations of `seed`.
    pub const fn new(seed: Seed) -> Self {
        // The stream's name: "fuzz", "mut1".
        Self { stream: RandomStream::new(seed, [0x6675_7a7a, 0x6d75_7431]) }
    }

    /// Mutation `ordinal` (below 2^56) of `corpus`: one of its entries, changed in one to four ways.
    pub fn nth(&self, ordinal: u64, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut dice = Dice::new(self.stream, ordinal);
        let pick = |dice: &mut Dice| corpus.get(dice.below(corpus.len())).map_or(&[][..], Vec::as_slice);
        let mut octets = pick(&mut dice).to_vec();
        for _ in 0..=dice.below(4) {
            let other = pick(&mut dice);
            change(&mut octets, other, &mut dice);
        }
        octets.truncate(MAX_INPUT_OCTETS);
        octets
    }
}

fn change(octets: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let way = dice.below(8);
    let at = dice.below(octets.len());
    let len = dice.below(octets.len().saturating_sub(at).min(64) + 1);
    match way {
        0 => octets.truncate(at),
        1 => drop(octets.drain(at..at + len)),
        2 => {
            let again = octets[at..at + len].to_vec();
            octets.splice(at..at, again);
        }
        3 => {
            let value = dice.octet();
            octets.splice(at..at, std::iter::repeat_n(value, len + 1));
        }
        4 => {
            let tail = other.get(dice.below(other.len() + 1)..).unwrap_or_default();
            octets.splice(at.., tail.iter().copied());
        }
        _ => {
            let bit = 1 << dice.below(8);
            let (edge, any) = (EDGES[dice.below(EDGES.len())], dice.octet());
            if let Some(octet) = octets.get_mut(at) {
                *octet = match way {
                    5 => *octet ^ bit,
                    6 => edge,
                    _ => any,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_repeat_and_differ() {
        let corpus = [b"one entry".to_vec(), b"another one".to_vec()];
        let mutations =
            |seed| (0..500).map(move |i| Mutations::new(Seed(seed)).nth(i, &[b"one entry".to_vec()]));
        assert!(mutations([1; 6]).eq(mutations([1; 6])));
        assert!(mutations([1; 6]).ne(mutations([2; 6])));
        let changed = (0..500).filter(|i| !corpus.contains(&Mutations::new(Seed([1; 6])).nth(*i, &corpus)));
        assert!(changed.count() > 400);
    }

    #[test]
    fn an_empty_corpus_is_survived() {
        for ordinal in 0..100 {
            assert!(Mutations::new(Seed([3; 6])).nth(ordinal, &[]).len() <= MAX_INPUT_OCTETS);
            assert!(Mutations::new(Seed([3; 6])).nth(ordinal, &[vec![]]).len() <= MAX_INPUT_OCTETS);
        }
    }
}
