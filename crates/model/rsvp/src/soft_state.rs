//! Refreshes and lifetimes of soft state (RFC 2205 section 3.7).

use romer_units::random::{RandomStream, Seed};
use romer_units::{Duration, Monotonic, Timestamp};

use crate::object::RefreshPeriod;

/// K: in the worst case K - 1 successive refreshes may be lost without loss of the state.
pub const K: i64 = 3;

/// The longest refresh period by which a lifetime is computed: 10 minutes, 20 times the usual one. A message that anybody can forge
/// must not hold state for months.
const MAX_PERIOD_NS: i64 = 600_000_000_000;

/// A moment of a node's clock.
pub type Moment = Timestamp<Monotonic>;

const fn nanos(period: RefreshPeriod) -> i64 {
    period.0.get() as i64 * 1_000_000
}

/// How long state lives after its last refresh: `(K + 0.5) * 1.5 * R`, 157.5 s for 30 s. At most 52.5 minutes: a longer R counts as 10
/// minutes.
pub const fn lifetime(period: RefreshPeriod) -> Duration {
    let period = nanos(period);
    let period = if period > MAX_PERIOD_NS { MAX_PERIOD_NS } else { period };
    Duration::from_nanos(period / 4 * 3 * (2 * K + 1))
}

/// The times of a node's own refreshes: after 0.5 to 1.5 periods, at random.
#[derive(Clone, Debug)]
pub(crate) struct RefreshTimes {
    stream: RandomStream,
    drawn: u64,
    period: RefreshPeriod,
}

impl RefreshTimes {
    /// The words that name the stream of random numbers: "rsvp", "time".
    const NAME: [u32; 2] = [0x7273_7670, 0x7469_6d65];

    pub(crate) const fn new(period: RefreshPeriod, seed: Seed) -> Self {
        Self { stream: RandomStream::new(seed, Self::NAME), drawn: 0, period }
    }
    pub(crate) const fn period(&self) -> RefreshPeriod {
        self.period
    }
    /// The time of the refresh after one at `now`.
    pub(crate) fn next(&mut self, now: Moment) -> Moment {
        let share = 0.5 + self.stream.unit(self.drawn);
        self.drawn += 1;
        now + Duration::from_nanos_f64(nanos(self.period) as f64 * share)
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU32;

    use super::*;

    /// 157.5 s for the default period; a longer period than 10 minutes counts as 10 minutes.
    #[test]
    fn lifetimes_follow_rfc_2205() {
        assert_eq!(lifetime(RefreshPeriod::DEFAULT), Duration::from_millis(157_500));
        assert_eq!(lifetime(RefreshPeriod(NonZeroU32::MIN)), Duration::from_micros(5_250));
        let [before, longest] =
            [599_000, 600_000].map(|millis| lifetime(RefreshPeriod(NonZeroU32::new(millis).unwrap())));
        assert!(before < longest);
        assert_eq!(longest, Duration::from_millis(3_150_000));
        assert_eq!(lifetime(RefreshPeriod(NonZeroU32::MAX)), longest);
    }

    /// Refreshes are between 0.5 and 1.5 periods apart, spread over that range, and the same for the same seed.
    #[test]
    fn refreshes_are_random_within_limits() {
        let seed = Seed([1, 2, 3, 4, 5, 6]);
        let origin = Moment::from_nanos(0);
        let times = || RefreshTimes::new(RefreshPeriod::DEFAULT, seed);
        let (mut first, mut second) = (times(), times());
        let gaps: Vec<i64> = (0..1_000).map(|_| first.next(origin).as_nanos()).collect();
        assert!(gaps.iter().all(|gap| (15_000_000_000..=45_000_000_000).contains(gap)));
        assert!(gaps.iter().any(|gap| *gap < 16_000_000_000) && gaps.iter().any(|gap| *gap > 44_000_000_000));
        assert!(gaps.iter().all(|gap| second.next(origin).as_nanos() == *gap));
    }
}
