//! A part of many things that is drawn from all of them evenly, and is of bounded size.

use romer_units::random::{RandomStream, Seed};

/// The seed of what is left to chance: the same things give the same part.
const SEED: Seed = Seed([0x7468_696e, 0, 0, 0, 0, 0]);

/// Keeps everything up to some number. Beyond that it keeps one thing of every two, four, eight ... that follow each other,
/// which one being left to chance: a pattern in their order, as of packets that are sent in groups, is not met by it.
#[derive(Debug)]
pub(super) struct Thinned<T> {
    kept: Vec<(u64, T)>,
    /// What is kept whole, and what is kept where that is exceeded.
    most: [usize; 2],
    /// One of so many powers of two is kept.
    halvings: u32,
    seen: u64,
}

impl<T> Thinned<T> {
    /// Everything is kept up to `whole` things; of more, half as many at most.
    pub(super) fn new(whole: usize) -> Self {
        Self { kept: Vec::new(), most: [whole, whole / 2], halvings: 0, seen: 0 }
    }

    /// Takes in the next, whose number is greater than that of the one before.
    pub(super) fn push(&mut self, number: u64, value: T) {
        self.seen += 1;
        if (1..=self.halvings).all(|halving| stays(number, halving)) {
            self.kept.push((number, value));
        }
        while self.kept.len() > self.most[usize::from(self.halvings > 0)] {
            self.halvings += 1;
            let halving = self.halvings;
            self.kept.retain(|(number, _)| stays(*number, halving));
        }
    }

    /// Whether all are kept.
    pub(super) fn is_whole(&self) -> bool {
        self.halvings == 0
    }

    /// How many there were.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Up to how many are all kept.
    pub(super) fn whole(&self) -> usize {
        self.most[0]
    }

    /// Those that are kept, in their order, each with its number.
    pub(super) fn values(&self) -> &[(u64, T)] {
        &self.kept
    }
}

/// Whether the one of this number is kept where of each two that were left one is taken out, for the `halving`th time.
fn stays(number: u64, halving: u32) -> bool {
    let chance = RandomStream::new(SEED, [halving, 0]).bits(number >> halving) & 1;
    (number >> (halving - 1)) & 1 == chance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(many: u64, whole: usize) -> Thinned<u64> {
        let mut thinned = Thinned::new(whole);
        (0..many).for_each(|n| thinned.push(n, n * 10));
        thinned
    }

    #[test]
    fn all_are_kept_while_they_are_few_enough() {
        let thinned = of(64, 64);
        assert!(thinned.is_whole() && thinned.seen() == 64);
        assert!(
            thinned.values().iter().zip(0..).all(|((number, value), n)| (*number, *value) == (n, 10 * n))
        );
    }

    #[test]
    fn of_more_one_of_each_stretch_is_kept_and_it_is_no_fixed_place_of_it() {
        for many in [65, 1_000, 1 << 14] {
            let thinned = of(many, 64);
            let kept: Vec<u64> = thinned.values().iter().map(|(number, _)| *number).collect();
            assert!((8..=32).contains(&kept.len()), "{many}: {kept:?}");
            let stretches: Vec<u64> = kept.iter().map(|number| number >> thinned.halvings).collect();
            let whole = many >> thinned.halvings;
            assert_eq!(stretches[..usize::try_from(whole).unwrap()], (0..whole).collect::<Vec<_>>());
            assert!(kept.iter().any(|number| number % 2 == 0) && kept.iter().any(|number| number % 2 == 1));
        }
    }
}
