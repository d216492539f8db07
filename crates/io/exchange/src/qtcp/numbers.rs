//! Which numbers there are, in memory that does not grow with how many there are where they lie together.

use std::collections::BTreeMap;

/// The bits of a number within its block, and the numbers of a block.
const BITS: u32 = 16;
const BLOCK: u32 = 1 << BITS;
/// From so many numbers on, or so many that are missing, a bit for each of the block takes less.
const MIN_FOR_BITMAP: usize = 2_048;
const WORDS: usize = BLOCK as usize / 64;
/// What a block takes besides its list, octets, more or less.
const OVERHEAD: usize = 96;
/// The most that all blocks may take, octets: of a thousand million numbers that lie together, of which some of every block
/// are missing, it is 120 MiB.
const MAX_MEMORY_OCTETS: usize = 144 << 20;

/// A set of numbers.
#[derive(Debug, Default)]
pub(super) struct NumberSet {
    blocks: BTreeMap<u64, Block>,
    /// The block of the last number, which is not among the others.
    own: Option<(u64, Block)>,
    /// What the others take.
    octets: usize,
    /// How many there are.
    count: u64,
    /// The least and the greatest.
    span: Option<[u64; 2]>,
}

#[derive(Debug)]
enum Block {
    /// These, ascending.
    These(Vec<u16>),
    /// All but these, ascending.
    AllBut(Vec<u16>),
    /// Those whose bit is set, and how many.
    Bits(Box<[u64; WORDS]>, usize),
}

/// More memory than the set may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooScattered;

impl NumberSet {
    /// Puts a number in, and gives whether it was not there.
    pub(super) fn insert(&mut self, number: u64) -> Result<bool, TooScattered> {
        let (key, low) = (number >> BITS, low(number));
        if self.own.as_ref().is_none_or(|(own, _)| *own != key) {
            self.turn_to(key)?;
        }
        let Some((_, block)) = &mut self.own else { return Ok(false) };
        let new = block.insert(low);
        if new {
            self.count += 1;
            let [least, greatest] = self.span.unwrap_or([number; 2]);
            self.span = Some([least.min(number), greatest.max(number)]);
        }
        Ok(new)
    }

    /// Puts the block of the last number to the others, and takes another out of them.
    fn turn_to(&mut self, key: u64) -> Result<(), TooScattered> {
        self.put_back();
        if self.octets > MAX_MEMORY_OCTETS {
            return Err(TooScattered);
        }
        let block = self.blocks.remove(&key);
        self.octets -= block.as_ref().map_or(0, Block::octets);
        self.own = Some((key, block.unwrap_or_else(|| Block::These(Vec::new()))));
        Ok(())
    }

    /// Puts the block of the last number to the others: afterwards all can be asked for.
    pub(super) fn put_back(&mut self) {
        if let Some((key, mut block)) = self.own.take() {
            block.shorten();
            self.octets += block.octets();
            self.blocks.insert(key, block);
        }
    }

    /// Takes all out.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The least and the greatest.
    pub(super) fn span(&self) -> Option<[u64; 2]> {
        self.span
    }

    /// The first number from `from` on that is there; of those that were [put back](Self::put_back).
    pub(super) fn next(&self, from: u64) -> Option<u64> {
        let first = from >> BITS;
        self.blocks.range(first..).find_map(|(key, block)| {
            let begin = if *key == first { low(from) } else { 0 };
            Some((key << BITS) + u64::from(block.next(begin.into(), true)?))
        })
    }

    /// The first number from `from` on that is missing, up to the greatest there is, and the last of those that follow it and
    /// are missing, too.
    pub(super) fn next_missing(&self, from: u64) -> Option<[u64; 2]> {
        let [_, greatest] = self.span?;
        let mut at = from;
        while at < greatest {
            let key = at >> BITS;
            let Some(block) = self.blocks.get(&key) else { break };
            match block.next(low(at).into(), false) {
                Some(low) => {
                    at = (key << BITS) + u64::from(low);
                    break;
                }
                None => at = (key + 1) << BITS,
            }
        }
        Some([at, self.next(at).filter(|next| *next > at)? - 1])
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the bits within a block")]
fn low(number: u64) -> u16 {
    number as u16
}

/// A number of things in a block.
#[expect(clippy::cast_possible_truncation, reason = "a block has 2^16")]
fn small(count: usize) -> u32 {
    count as u32
}

impl Block {
    fn octets(&self) -> usize {
        OVERHEAD
            + match self {
                Self::These(list) | Self::AllBut(list) => 2 * list.capacity(),
                Self::Bits(..) => 8 * WORDS,
            }
    }

    fn insert(&mut self, number: u16) -> bool {
        match self {
            Self::These(list) => {
                let Err(place) = list.binary_search(&number) else { return false };
                list.insert(place, number);
                if list.len() > MIN_FOR_BITMAP {
                    let mut bits = Box::new([0; WORDS]);
                    list.iter().for_each(|one| bits[usize::from(one / 64)] |= 1 << (one % 64));
                    *self = Self::Bits(bits, list.len());
                }
                true
            }
            Self::AllBut(list) => {
                let found = list.binary_search(&number);
                found.map(|place| list.remove(place)).is_ok()
            }
            Self::Bits(bits, count) => {
                let word = &mut bits[usize::from(number / 64)];
                let new = *word & (1 << (number % 64)) == 0;
                *word |= 1 << (number % 64);
                *count += usize::from(new);
                new
            }
        }
    }

    /// Makes a list of the few that are missing, where a block has many.
    fn shorten(&mut self) {
        match self {
            Self::Bits(_, count) if BLOCK as usize - *count < MIN_FOR_BITMAP => {
                let mut missing = Vec::with_capacity(BLOCK as usize - *count);
                let mut from = 0;
                while let Some(one) = self.next(from, false) {
                    missing.push(low(one.into()));
                    from = one + 1;
                }
                *self = Self::AllBut(missing);
            }
            Self::These(list) | Self::AllBut(list) => list.shrink_to_fit(),
            Self::Bits(..) => {}
        }
    }

    /// The first number of the block from `from` on that is there, or with `there` false, that is not.
    fn next(&self, from: u32, there: bool) -> Option<u32> {
        match self {
            Self::These(list) => listed(list, from, there),
            Self::AllBut(list) => listed(list, from, !there),
            Self::Bits(bits, _) => {
                let of = |word: u64| if there { word } else { !word };
                let first = from as usize / 64;
                let mut word = of(*bits.get(first)?) & (u64::MAX << (from % 64));
                let mut place = first;
                while word == 0 {
                    place += 1;
                    word = of(*bits.get(place)?);
                }
                Some(small(place) * 64 + word.trailing_zeros())
            }
        }
    }
}

/// The first number from `from` on that is in the list, or with `in_it` false, that is not.
fn listed(list: &[u16], from: u32, in_it: bool) -> Option<u32> {
    let rest = &list[list.partition_point(|one| u32::from(*one) < from)..];
    if in_it {
        return rest.first().copied().map(u32::from);
    }
    let follow = rest.iter().zip(from..).take_while(|(one, expected)| u32::from(**one) == *expected).count();
    let next = from + small(follow);
    (next < BLOCK).then_some(next)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Asks for everything that can be asked, of what a plain set says.
    fn compare(numbers: &[u64]) {
        let (mut ours, mut plain) = (NumberSet::default(), BTreeSet::new());
        for number in numbers {
            assert_eq!(ours.insert(*number), Ok(plain.insert(*number)), "{number}");
        }
        ours.put_back();
        assert_eq!(ours.count(), plain.len() as u64);
        let there: Vec<u64> = plain.iter().copied().collect();
        assert_eq!(ours.span(), there.first().map(|first| [*first, there[there.len() - 1]]));
        let mut found = Vec::new();
        while let Some(next) = ours.next(found.last().map_or(0, |last| last + 1)) {
            found.push(next);
        }
        assert_eq!(found, there);
        let expected: Vec<[u64; 2]> = there
            .windows(2)
            .filter(|pair| pair[1] > pair[0] + 1)
            .map(|pair| [pair[0] + 1, pair[1] - 1])
            .collect();
        let (mut missing, mut from) = (Vec::new(), there[0]);
        while let Some(run) = ours.next_missing(from) {
            missing.push(run);
            from = run[1] + 1;
        }
        assert_eq!(missing, expected);
    }

    #[test]
    fn blocks_that_are_full_nearly_full_half_full_and_nearly_empty_tell_what_is_missing() {
        let most = |n: &u64| !(n.is_multiple_of(97) || (70_000..130_900).contains(n));
        compare(&(5..400_000).filter(most).collect::<Vec<_>>());
        compare(&(0..140_000).rev().filter(|n| n % 3 > 0).collect::<Vec<_>>());
        compare(&(65_530..65_542).chain(131_072..262_144).collect::<Vec<_>>());
        compare(&[7, (1 << 40) + 3, 1 << 61]);
        // A block that was nearly full is filled later.
        compare(
            &(0..140_000)
                .filter(|n| n % 50 > 0)
                .chain((0..140_000).filter(|n| n % 50 == 0))
                .collect::<Vec<_>>(),
        );
    }

    #[test]
    fn numbers_that_lie_together_take_a_bit_each_at_most_and_none_where_all_are_there() {
        let mut numbers = NumberSet::default();
        (0..1 << 22).for_each(|n| assert_eq!(numbers.insert(n), Ok(true)));
        numbers.put_back();
        assert!(numbers.octets < 64 * 200, "{}", numbers.octets);
        numbers.clear();
        (0..1 << 22).filter(|n| n % 8 > 0).for_each(|n| assert_eq!(numbers.insert(n), Ok(true)));
        numbers.put_back();
        assert!(numbers.octets < (1 << 19) + 64 * 200, "{}", numbers.octets);
    }

    #[test]
    fn numbers_that_are_scattered_are_refused_before_they_fill_the_memory() {
        let mut numbers = NumberSet::default();
        let refused = (0..3_000_000u64).position(|n| numbers.insert(n << BITS).is_err());
        assert!(refused.is_some_and(|at| at > 1_000_000), "{refused:?}");
    }

    proptest! {
        #[test]
        fn any_numbers_are_told_as_a_plain_set_tells_them(
            numbers in prop::collection::vec(prop_oneof![0u64..300, 65_500u64..65_600, 0u64..1 << 20], 1..300),
        ) {
            compare(&numbers);
        }
    }
}
