//! The arrivals at the responder of one probe, however many copies it has.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// Which numbers of arrivals (`forward_copy`) came already. A row costs the same whatever came before it, so that the time for
/// a probe grows as its copies do.
#[derive(Debug, Default)]
pub struct ArrivalsSeen<S = RandomState> {
    /// All numbers below it came. Arrivals are numbered from 0 as they become known, so that these are nearly all.
    below: u32,
    others: HashSet<u32, S>,
}

impl ArrivalsSeen {
    /// Of a probe of which no row came.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S: BuildHasher> ArrivalsSeen<S> {
    /// Whether the arrival is one that did not come before.
    pub fn is_new(&mut self, arrival: u32) -> bool {
        if arrival < self.below {
            return false;
        }
        if arrival > self.below || arrival == u32::MAX {
            return self.others.insert(arrival);
        }
        // One that came out of order stays among the others, too: it is found below or there.
        let is_new = !self.others.contains(&arrival);
        self.below += 1;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::hash::DefaultHasher;
    use std::rc::Rc;

    /// Counts the look-ups and insertions.
    #[derive(Clone, Default)]
    struct Counting(Rc<Cell<usize>>);

    impl BuildHasher for Counting {
        type Hasher = DefaultHasher;

        fn build_hasher(&self) -> DefaultHasher {
            self.0.set(self.0.get() + 1);
            DefaultHasher::new()
        }
    }

    /// A row is looked up at most a few times, growth of the table included, whatever the order of the numbers.
    #[test]
    fn work_grows_with_rows() {
        const ROWS: u32 = 10_000;
        for number in [|row| row, |row| ROWS - row, |_| 7, |row| row * 7_919 % ROWS] as [fn(u32) -> u32; 4] {
            let counting = Counting::default();
            let mut seen = ArrivalsSeen { below: 0, others: HashSet::with_hasher(counting.clone()) };
            (0..ROWS).for_each(|row| {
                seen.is_new(number(row));
            });
            assert!(counting.0.get() <= 4 * ROWS as usize, "{}", counting.0.get());
        }
    }

    proptest! {
        /// An arrival is new exactly if none of the rows before has its number.
        #[test]
        fn new_arrivals(arrivals in prop::collection::vec(prop_oneof![0_u32..6, u32::MAX - 2..=u32::MAX], 0..40)) {
            let mut seen = ArrivalsSeen::new();
            for (place, arrival) in arrivals.iter().enumerate() {
                prop_assert_eq!(seen.is_new(*arrival), !arrivals[..place].contains(arrival));
            }
        }
    }
}
