//! Where chance comes from.
//!
//! By default every number is a function of (seed, port, flow, stage, ordinal, copy) and of nothing else: the block
//! of ChaCha with 8 rounds ([`romer_units::random`], RFC 8439's cipher with fewer rounds) whose key is the six words
//! of the seed, the word `impr`, and the word `port·2^24 + purpose·2^16 + flow`; whose counter is the packet's ordinal
//! at its port plus 2^56 times the number of the copy. Of the 16 words of that block each stage has two, its lane;
//! purpose 0 is these. What a stage draws besides (a chain's transitions, a turn of the exact order) comes from a
//! purpose of its own, counted by itself.
//!
//! `mrg` and `mrg32k3a` draw in sequence instead, as Pham 2004 did, from a stream for each of the same names, each
//! 2^100 steps from the next ([`crate::mrg`]). Nothing is kept in a pool that would repeat.

use romer_units::random::{Blocks, RandomStream, Seed};

use crate::convert;
use crate::mrg::{Family, Mrg, leva};
use crate::special_functions::normal_quantile;

/// Which generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// ChaCha8 by counter.
    #[default]
    Counter,
    /// L'Ecuyer 1996.
    Mrg,
    /// MRG32k3a.
    Mrg32k3a,
}

impl Generator {
    /// The name in scenario and document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Mrg => "mrg",
            Self::Mrg32k3a => "mrg32k3a",
        }
    }

    const fn family(self) -> Option<Family> {
        match self {
            Self::Counter => None,
            Self::Mrg => Some(Family::Cmrg),
            Self::Mrg32k3a => Some(Family::Mrg32k3a),
        }
    }

    /// Whether the generator can start from this seed (all zero is no start for a recurrence).
    pub fn accepts(self, seed: Seed) -> bool {
        self.family().is_none_or(|family| Mrg::new(family, seed).is_some())
    }
}

/// A stage's share of a packet's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Loss = 0,
    Duplicate = 1,
    Reorder = 2,
    Displacement = 3,
    Delay = 4,
    Corrupt = 5,
    Position = 6,
    Queue = 7,
}

/// What is drawn beside the lanes, each by its own count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    LossChain = 1,
    DuplicateChain = 2,
    ReorderChain = 3,
    DelayChain = 4,
    CorruptChain = 5,
    Order = 6,
    DelayProcess = 7,
    Regimes = 8,
}

/// Whose numbers: a flow of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) seed: Seed,
    pub(crate) generator: Generator,
    /// 0 or 1.
    pub(crate) port: u8,
    /// 0 is what belongs to no flow.
    pub(crate) flow: u16,
}

impl Owner {
    fn stream(self, purpose: u8) -> RandomStream {
        let name = (u32::from(self.port) << 24) | (u32::from(purpose) << 16) | u32::from(self.flow);
        RandomStream::new(self.seed, [u32::from_be_bytes(*b"impr"), name])
    }

    /// The counter-based stream of a purpose, whatever the generator.
    pub(crate) fn counter_stream(self, purpose: Purpose) -> RandomStream {
        self.stream(purpose as u8)
    }

    /// A sequential generator; where the seed is no start (see [`Generator::accepts`]), that of seed 1,1,1,1,1,1.
    fn sequential(self, family: Family, number: u8) -> Option<Mrg> {
        let number = u64::from(self.flow) * 64 + u64::from(self.port) * 32 + u64::from(number);
        let start = Mrg::new(family, self.seed).or_else(|| Mrg::new(family, Seed([1; 6])));
        start.map(|start| start.stream(number))
    }
}

/// The numbers of packets, by lane.
#[derive(Clone, Debug)]
pub(crate) struct Draws(BlockKind);

#[derive(Clone, Debug)]
enum BlockKind {
    /// The packets' own blocks, and the last copy's with its counter.
    Counter {
        blocks: Box<Blocks>,
        stream: RandomStream,
        copy: u64,
        block: [u32; 16],
    },
    Sequential(Box<[Mrg; 8]>),
}

impl Draws {
    pub(crate) fn new(owner: Owner) -> Self {
        let lanes = owner.generator.family().and_then(|family| {
            let mut lanes = Vec::with_capacity(8);
            for number in 0..8 {
                lanes.push(owner.sequential(family, number)?);
            }
            Box::<[Mrg; 8]>::try_from(lanes.into_boxed_slice()).ok()
        });
        Self(match lanes {
            Some(lanes) => BlockKind::Sequential(lanes),
            None => {
                let stream = owner.stream(0);
                BlockKind::Counter {
                    blocks: Box::new(Blocks::new(stream)),
                    stream,
                    copy: 0,
                    block: stream.block(0),
                }
            }
        })
    }

    /// The 64 bits of `lane` for the packet `ordinal` (below 2^56) and its copy.
    pub(crate) fn word(&mut self, lane: Lane, ordinal: u64, copy: u8) -> u64 {
        match &mut self.0 {
            BlockKind::Counter { blocks, stream, copy: last, block } => {
                let wanted = ordinal | (u64::from(copy) << 56);
                let block = if copy == 0 {
                    blocks.block(wanted)
                } else {
                    if wanted != *last {
                        *last = wanted;
                        *block = stream.block(wanted);
                    }
                    block
                };
                let at = lane as usize * 2;
                u64::from(block[at]) | (u64::from(block[at + 1]) << 32)
            }
            BlockKind::Sequential(lanes) => lanes[lane as usize].word(),
        }
    }

    /// The same as a number in (0, 1).
    pub(crate) fn unit(&mut self, lane: Lane, ordinal: u64, copy: u8) -> f64 {
        convert::open_unit(self.word(lane, ordinal, copy))
    }

    /// Whether numbers come in sequence.
    pub(crate) const fn sequential(&self) -> bool {
        matches!(self.0, BlockKind::Sequential(_))
    }

    /// A normal number of mean 0 and deviation 1: Leva's, which needs as many draws as it needs, of a generator that
    /// draws in sequence; by the inverse function of one that counts.
    pub(crate) fn normal(&mut self, lane: Lane, ordinal: u64, copy: u8) -> f64 {
        match &self.0 {
            BlockKind::Sequential(_) => leva(|| self.unit(lane, ordinal, copy)),
            BlockKind::Counter { .. } => normal_quantile(self.unit(lane, ordinal, copy)),
        }
    }
}

/// Numbers that are drawn one after another.
#[derive(Clone, Debug)]
pub(crate) struct Sequence(Next);

#[derive(Clone, Debug)]
enum Next {
    Counter { blocks: Box<Blocks>, next: u64 },
    Sequential(Mrg),
}

impl Sequence {
    pub(crate) fn new(owner: Owner, purpose: Purpose) -> Self {
        let sequential =
            owner.generator.family().and_then(|family| owner.sequential(family, 8 + purpose as u8));
        Self(match sequential {
            Some(generator) => Next::Sequential(generator),
            None => Next::Counter { blocks: Box::new(Blocks::new(owner.stream(purpose as u8))), next: 0 },
        })
    }

    /// How many numbers were drawn, of a generator that counts.
    #[cfg(test)]
    pub(crate) fn drawn(&self) -> u64 {
        match self.0 {
            Next::Counter { next, .. } => next,
            Next::Sequential(_) => 0,
        }
    }

    /// The next number in (0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        convert::open_unit(match &mut self.0 {
            Next::Counter { blocks, next } => {
                let [low, high, ..] = *blocks.block(*next);
                *next += 1;
                u64::from(low) | (u64::from(high) << 32)
            }
            Next::Sequential(generator) => generator.word(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner =
        Owner { seed: Seed([1, 2, 3, 4, 5, 6]), generator: Generator::Counter, port: 1, flow: 7 };

    #[test]
    fn the_map_from_seed_to_number_is_the_published_one() {
        // Key: seed, "impr", port 1, purpose 0, flow 7; counter 5 + copy 2 in the uppermost octet.
        let stream = RandomStream::new(OWNER.seed, [0x696d_7072, 0x0100_0007]);
        let block = stream.block(5 | (2 << 56));
        let mut draws = Draws::new(OWNER);
        let word = draws.word(Lane::Delay, 5, 2);
        assert_eq!(word, u64::from(block[8]) | (u64::from(block[9]) << 32));
        // The vector: whoever changes it changes every run that was ever printed with a seed.
        assert_eq!(word, 3_013_369_205_113_850_793);
    }

    #[test]
    fn the_vectors_of_the_manual_are_the_generators() {
        const LANES: [(&str, Lane); 3] =
            [("loss", Lane::Loss), ("delay", Lane::Delay), ("queue", Lane::Queue)];
        let manual = include_str!("../../../../docs/reference/random-generators.md");
        let rows = manual.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        let mut vectors = 0;
        for cells in rows.filter(|cells| cells.len() == 9) {
            let [_, seed, port, flow, ordinal, copy, stage, number, _] = cells[..] else { continue };
            let Ok(seed) = seed.parse::<Seed>() else { continue };
            let owner = Owner { seed, port: u8::from(port == "b"), flow: flow.parse().unwrap(), ..OWNER };
            let (_, lane) = LANES.into_iter().find(|(name, _)| *name == stage).unwrap();
            let word = Draws::new(owner).word(lane, ordinal.parse().unwrap(), copy.parse().unwrap());
            assert_eq!(word.to_string(), number, "{cells:?}");
            vectors += 1;
        }
        assert_eq!(vectors, 6);
    }

    #[test]
    fn a_lane_depends_on_ordinal_and_copy_only() {
        let mut draws = Draws::new(OWNER);
        let first = draws.word(Lane::Loss, 3, 0);
        draws.word(Lane::Queue, 9, 1);
        assert_eq!(draws.word(Lane::Loss, 3, 0), first);
        assert_ne!(draws.word(Lane::Loss, 3, 1), first);
    }

    #[test]
    fn the_owners_streams_differ_with_every_generator() {
        for generator in [Generator::Counter, Generator::Mrg, Generator::Mrg32k3a] {
            let owner = Owner { generator, ..OWNER };
            let mut seen: Vec<u64> = Vec::new();
            for owner in [owner, Owner { port: 0, ..owner }, Owner { flow: 8, ..owner }] {
                seen.push(Draws::new(owner).word(Lane::Loss, 1, 0));
                for purpose in [Purpose::LossChain, Purpose::Order] {
                    seen.push(Sequence::new(owner, purpose).unit().to_bits());
                }
            }
            let number = seen.len();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), number, "{generator:?}");
        }
    }
}
