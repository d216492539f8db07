//! Which of the latest numbers of a stream have come.

/// So many of the latest numbers are known one by one: those of three seconds at 20,000 a second.
pub const SPAN: u64 = 1 << 16;

/// The latest [`SPAN`] numbers, and which of them have come. It takes 8 KiB once one has, and a number costs at most as many steps
/// as that has words, however far it lies ahead: the sender chooses the numbers.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    latest: Option<u64>,
    /// A bit for each of them; empty until one has come.
    seen: Vec<u64>,
    /// How many words have been written.
    written: u64,
}

impl Recent {
    /// The greatest number that has come.
    pub const fn latest(&self) -> Option<u64> {
        self.latest
    }

    /// `number` has come. Gives whether it is known that it had not come before: what lies too far back may have.
    pub fn insert(&mut self, number: u64) -> bool {
        let latest = match self.latest {
            Some(latest) => latest.max(number),
            None => {
                self.seen = vec![0; usize::try_from(SPAN / 64).unwrap_or(0)];
                number
            }
        };
        if let Some(before) = self.latest {
            self.pass(before, latest);
        }
        self.latest = Some(latest);
        if latest - number >= SPAN {
            return false;
        }
        let word = &mut self.seen[place(number)];
        let is_first = *word & bit(number) == 0;
        *word |= bit(number);
        self.written += 1;
        is_first
    }

    /// Whether `number` may have come: what lies too far back is taken to have.
    pub fn may_contain(&self, number: u64) -> bool {
        let Some(latest) = self.latest.filter(|latest| number <= *latest) else { return false };
        latest - number >= SPAN || self.seen[place(number)] & bit(number) != 0
    }

    /// What lies behind `before`, up to `latest`, has not come, whatever stood in its place.
    fn pass(&mut self, before: u64, latest: u64) {
        if latest - before >= SPAN {
            self.written += SPAN / 64;
            return self.seen.fill(0);
        }
        let mut next = before;
        while next < latest {
            next += 1;
            let end = (next | 63).min(latest);
            // The bits from that of `next` to that of `end`.
            let bits = (u64::MAX << (next % 64)) & (u64::MAX >> (63 - end % 64));
            self.seen[place(next)] &= !bits;
            self.written += 1;
            next = end;
        }
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number % SPAN / 64).unwrap_or(0)
}

const fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_latest_are_known_one_by_one() {
        let mut recent = Recent::default();
        assert!(recent.latest().is_none() && !recent.may_contain(0));
        for (number, is_first) in [
            (2, true),
            (0, true),
            (2, false),
            (1, true),
            (0, false),
            (SPAN + 1, true),
            (1, false),
            (2, false),
            (3, true),
            (5 * SPAN, true),
            (5 * SPAN - 1, true),
            (5 * SPAN, false),
            (u64::MAX, true),
            (u64::MAX - SPAN + 1, true),
            (u64::MAX - SPAN, false),
        ] {
            assert_eq!(recent.insert(number), is_first, "{number}");
        }
        assert_eq!(recent.latest(), Some(u64::MAX));
    }

    proptest! {
        #[test]
        fn it_knows_what_a_set_of_all_knows(steps in prop::collection::vec((0..3 * SPAN, any::<bool>()), 1..200)) {
            let (mut recent, mut all) = (Recent::default(), BTreeSet::new());
            let mut base = 2 * SPAN;
            prop_assert!(recent.insert(base) && all.insert(base));
            for (step, is_ahead) in steps {
                let number = if is_ahead { base + step / 8 } else { base.saturating_sub(step / 2) };
                base = base.max(number);
                let is_known = base - number < SPAN;
                prop_assert_eq!(recent.insert(number), all.insert(number) && is_known);
                for asked in [number + 1, base - base.min(step), base + 1] {
                    let may_have_come = asked <= base && (base - asked >= SPAN || all.contains(&asked));
                    prop_assert_eq!(recent.may_contain(asked), may_have_come);
                }
            }
        }
    }

    /// A number costs as many words as lie between it and the latest, and at most all.
    #[test]
    fn jumps_cost_little() {
        let mut recent = Recent::default();
        let mut cost = |number: u64| {
            let before = recent.written;
            recent.insert(number);
            recent.written - before
        };
        assert_eq!([0, 1, 63, 64, 0, 640].map(&mut cost), [1, 2, 2, 2, 1, 10 + 1]);
        let mut number = 640;
        for jump in [SPAN - 1, SPAN, SPAN + 1, 1 << 31, 1 << 62] {
            number += jump;
            let words = cost(number);
            assert!(words <= SPAN / 64 + 2, "{jump}: {words} words");
        }
    }
}
