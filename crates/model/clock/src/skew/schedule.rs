//! Whether a program sent at equal times, though its clock was set in between.
//!
//! All moments of an even schedule have its interval in common. A clock that is set by 3 ms leaves the moments after it 3 ms beside those
//! before it, so that all of them have no more than a millisecond in common, as if the clock told no less. Within a short time
//! they still have the interval.

use super::resolution::Step;

/// Times that are looked at, each by itself, at the most.
const TIMES: usize = 64;
/// Moments of a time, on average at least; and in one that counts.
const EACH: u64 = 16;
const FEWEST: u64 = 8;
/// In so many of a hundred moments' times they lie at equal distances, where a program sent so.
const MOST: u64 = 60;
/// The shortest time is two to this power, nanoseconds.
const SHORTEST: u32 = 20;

/// Moments, by short times of one length; the length is the least with which there are not too many of them, in whatever order moments come.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// In order of time.
    times: Vec<Time>,
    /// The length of each is two to this power, nanoseconds.
    power: u32,
}

/// The moments of a short time.
#[derive(Clone, Copy, Debug)]
struct Time {
    number: u64,
    count: u64,
    first: i64,
    last: i64,
    common: Step,
}

impl Default for Schedule {
    fn default() -> Self {
        Self { times: Vec::new(), power: SHORTEST }
    }
}

impl Schedule {
    pub(super) fn push(&mut self, moment: i64) {
        // From the earliest moment that there is, so that times on both sides of 0 are joined as well.
        let number = (moment.cast_unsigned() ^ (1 << 63)).checked_shr(self.power).unwrap_or(0);
        // As a rule they come in order.
        let place = match self.times.last() {
            Some(last) if last.number == number => Ok(self.times.len() - 1),
            _ => self.times.binary_search_by_key(&number, |one| one.number),
        };
        match place {
            Ok(place) => {
                let time = &mut self.times[place];
                time.count += 1;
                (time.first, time.last) = (time.first.min(moment), time.last.max(moment));
                time.common.take(moment);
            }
            Err(place) => {
                let mut common = Step::default();
                common.take(moment);
                self.times.insert(place, Time { number, count: 1, first: moment, last: moment, common });
                self.join_to(TIMES);
            }
        }
    }

    pub(super) fn absorb(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.power < other.power {
            self.double();
        }
        while other.power < self.power {
            other.double();
        }
        self.times.append(&mut other.times);
        self.times.sort_by_key(|one| one.number);
        self.join();
        self.join_to(TIMES);
    }

    /// Whether moments lie at equal distances, as `is_even` says of how long a time is, what its moments have in common, and how many they are,
    /// in most of the times.
    pub(super) fn is_even(&self, is_even: impl Fn(u64, u64, u64) -> bool) -> bool {
        let all: u64 = self.times.iter().map(|one| one.count).sum();
        let mut joined = self.clone();
        joined.join_to(usize::try_from(all / EACH).unwrap_or(TIMES).clamp(1, TIMES));
        let telling = joined.times.iter().filter(|one| one.count >= FEWEST);
        let [mut even, mut told] = [0_u64; 2];
        for one in telling {
            told += one.count;
            if is_even(one.last.abs_diff(one.first), one.common.length(), one.count) {
                even += one.count;
            }
        }
        told > 0 && even.saturating_mul(100) >= told.saturating_mul(MOST)
    }

    fn join_to(&mut self, most: usize) {
        while self.times.len() > most {
            self.double();
        }
    }

    fn double(&mut self) {
        self.power += 1;
        self.times.iter_mut().for_each(|one| one.number >>= 1);
        self.join();
    }

    /// Joins what has one number.
    fn join(&mut self) {
        self.times.dedup_by(|one, before| {
            let same = one.number == before.number;
            if same {
                before.count += one.count;
                (before.first, before.last) = (before.first.min(one.first), before.last.max(one.last));
                before.common.absorb(one.common);
            }
            same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_even(moments: impl Iterator<Item = i64> + Clone) -> bool {
        let even = |span: u64, step: u64, count: u64| span / step.max(1) < 8 * count;
        let mut one = Schedule::default();
        moments.clone().for_each(|moment| one.push(moment));
        let mut halves = [Schedule::default(), Schedule::default()];
        moments.enumerate().for_each(|(n, moment)| halves[usize::from(n % 3 > 0)].push(moment));
        let [mut first, second] = halves;
        first.absorb(&second);
        assert_eq!(first.is_even(even), one.is_even(even), "in whatever order");
        one.is_even(even)
    }

    #[test]
    fn equal_times_are_told_though_a_clock_was_set_between() {
        for number in [100, 300, 3_000, 100_000] {
            let set = |n: i64| if n > number / 3 { 3_000_001 } else { 0 };
            assert!(is_even((0..number).map(|n| n * 20_000_000 + set(n))), "{number}");
        }
    }

    /// Moments before and after 0, and as far apart as there are, are few enough to be joined.
    #[test]
    fn times_around_zero_are_joined() {
        assert!(is_even((-8..8).map(|n| n * 20_000_000)));
        assert!(is_even((-15..15).map(|n| n * 600_000_000_000_000_000)));
    }

    #[test]
    fn times_by_a_coarse_clock_are_not_equal() {
        for number in [100, 300, 3_000, 100_000] {
            let uneven = |n: i64| n * n % 9_973 * 1_237_003 % 15_000_000;
            assert!(!is_even((0..number).map(|n| (n * 20_000_000 + uneven(n)) / 1_000_000 * 1_000_000)));
        }
    }
}
