//! The schedule: departures one after the other.

use romer_units::Duration;
use romer_units::random::{Seed, Stream};

use crate::{DEFAULT_INTERVAL, TrafficError, TrafficModel};

/// One packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When, after the start of the schedule.
    pub offset: Duration,
    /// Payload of UDP in octets that the traffic asks for: the codec's frames, or the size of the request; 0
    /// where neither says anything. A probe's header may need more; the sender decides what is really sent.
    pub size: u32,
}

/// Where a schedule ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// After this many departures.
    Count(u64),
    /// Before this much time has passed: all departures with a smaller offset.
    Duration(Duration),
}

/// What a schedule is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// How departures follow one another.
    pub model: TrafficModel,
    /// Mean time between departures; `None` for the codec's own, or else [`DEFAULT_INTERVAL`].
    pub interval: Option<Duration>,
    /// Payload of UDP in octets; `None` for the codec's own.
    pub size: Option<u32>,
    /// Codec frames in a packet; `None` for the codec's own number.
    pub bundle: Option<u32>,
    /// Where it ends.
    pub limit: Limit,
    /// Seed of the random models.
    pub seed: Seed,
}

impl Request {
    /// `model` until `limit`, all else as the model has it, with a seed of zeros.
    pub const fn new(model: TrafficModel, limit: Limit) -> Self {
        Self { model, interval: None, size: None, bundle: None, limit, seed: Seed([0; 6]) }
    }
}

/// Names the stream of gaps, so that other uses of the seed draw other numbers.
const GAPS: [u32; 2] = [u32::from_be_bytes(*b"traf"), u32::from_be_bytes(*b"gaps")];

/// No gap is longer than this many means: 53 random bits reach ln(2^53), which is 36.7.
const LONGEST_GAP: u64 = 37;

/// How offsets are found.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// Ordinal times the interval: nothing is accumulated, so nothing drifts.
    Multiples,
    /// The sum of the gaps up to and including the ordinal's own.
    Gaps(Stream),
}

/// The departures that a [`Request`] asks for, in order of time. Offsets never decrease.
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    interval: Duration,
    size: u32,
    limit: Limit,
    ordinal: u64,
    last: Duration,
}

impl Schedule {
    /// The schedule of `request`.
    ///
    /// # Errors
    /// [`TrafficError`] where the request contradicts itself or the model, or leaves the range of time.
    pub fn new(request: &Request) -> Result<Self, TrafficError> {
        let bundled = request.model.bundled(request.bundle)?;
        let interval = match (bundled, request.interval) {
            (Some(own), Some(_)) => {
                return Err(TrafficError::IntervalOfCodec { model: request.model, own: own.interval });
            }
            (Some(own), None) => own.interval,
            (None, asked) => asked.unwrap_or(DEFAULT_INTERVAL),
        };
        if interval <= Duration::ZERO {
            return Err(TrafficError::IntervalNotPositive { interval });
        }
        let needed = bundled.map_or(0, |own| own.octets);
        let size = request.size.unwrap_or(needed);
        if size < needed {
            return Err(TrafficError::SizeTooSmall { size, needed });
        }
        let pace = match request.model {
            TrafficModel::Periodic | TrafficModel::Melp => Pace::Multiples,
            TrafficModel::Poisson => Pace::Gaps(Stream::new(request.seed, GAPS)),
        };
        in_range(request.limit, interval, pace)?;
        Ok(Self { pace, interval, size, limit: request.limit, ordinal: 0, last: Duration::ZERO })
    }

    /// Mean time between departures.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Payload of UDP in octets that every departure of this schedule asks for.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// Where the schedule ends.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// How many departures there are from the start; for a random schedule that ends by time, how many are to be
    /// expected.
    pub fn expected_count(&self) -> u64 {
        match self.limit {
            Limit::Count(count) => count,
            Limit::Duration(duration) => {
                duration.as_nanos().unsigned_abs().div_ceil(self.interval.as_nanos().unsigned_abs())
            }
        }
    }

    /// The offset that follows `self.last`, or `None` where it leaves the range of time.
    fn offset(&self) -> Option<Duration> {
        match self.pace {
            Pace::Multiples => self.interval.checked_mul(i64::try_from(self.ordinal).ok()?),
            Pace::Gaps(stream) => self.last.checked_add(exponential(&stream, self.ordinal, self.interval)),
        }
    }
}

impl Iterator for Schedule {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        if matches!(self.limit, Limit::Count(count) if self.ordinal >= count) {
            return None;
        }
        let offset = self.offset()?;
        if matches!(self.limit, Limit::Duration(end) if offset >= end) {
            return None;
        }
        self.last = offset;
        self.ordinal += 1;
        Some(Departure { offset, size: self.size })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self.limit {
            Limit::Count(count) => {
                let left = usize::try_from(count - self.ordinal).ok();
                (left.unwrap_or(usize::MAX), left)
            }
            Limit::Duration(_) => (0, None),
        }
    }
}

/// The gap before departure `ordinal`, exponentially distributed with mean `mean`, to the nearest nanosecond. It
/// depends on the stream and the ordinal only. The logarithm is a software one: those of the machines differ in
/// their last digit.
#[expect(clippy::cast_precision_loss, reason = "the gap is random to more than the rounding")]
#[expect(clippy::cast_possible_truncation, reason = "saturates, and `in_range` keeps the sum within range")]
fn exponential(stream: &Stream, ordinal: u64, mean: Duration) -> Duration {
    // A unit lies in [0, 1), so that its complement is never 0 and is exact in binary.
    let gap = -libm::log(1.0 - stream.unit(ordinal)) * mean.as_nanos() as f64;
    Duration::from_nanos(libm::round(gap) as i64)
}

/// Refuses a limit that has no meaning, or whose last departure could lie outside the range of time.
fn in_range(limit: Limit, interval: Duration, pace: Pace) -> Result<(), TrafficError> {
    let longest = match pace {
        Pace::Multiples => 1,
        Pace::Gaps(_) => LONGEST_GAP,
    };
    match limit {
        Limit::Count(count) => {
            let step = interval.as_nanos().unsigned_abs().checked_mul(longest);
            let end = step.and_then(|step| step.checked_mul(count));
            if end.is_none_or(|end| i64::try_from(end).is_err()) {
                return Err(TrafficError::TooLong { count, interval });
            }
        }
        Limit::Duration(duration) if duration <= Duration::ZERO => {
            return Err(TrafficError::DurationNotPositive { duration });
        }
        Limit::Duration(_) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(model: TrafficModel, interval_ns: i64, limit: Limit) -> Request {
        Request { interval: Some(Duration::from_nanos(interval_ns)), ..Request::new(model, limit) }
    }

    fn offsets(request: &Request) -> Vec<i64> {
        Schedule::new(request).unwrap().map(|departure| departure.offset.as_nanos()).collect()
    }

    #[test]
    fn a_million_periodic_departures_are_exact_multiples() {
        // A third of a millisecond and a prime: nothing that a float would hold exactly.
        for interval in [333_333, 1, 7_919] {
            let schedule = request(TrafficModel::Periodic, interval, Limit::Count(1_000_001));
            let wrong = offsets(&schedule).into_iter().zip(0..).find(|(offset, n)| *offset != n * interval);
            assert_eq!(wrong, None);
        }
        let melp = Request::new(TrafficModel::Melp, Limit::Count(1_000_001));
        assert_eq!(offsets(&melp).last(), Some(&45_000_000_000_000));
    }

    #[test]
    fn a_duration_ends_before_itself() {
        let count = |limit_ns| {
            offsets(&request(TrafficModel::Periodic, 10, Limit::Duration(Duration::from_nanos(limit_ns))))
                .len()
        };
        assert_eq!((count(1), count(10), count(11), count(100), count(101)), (1, 1, 2, 10, 11));
        let schedule =
            Schedule::new(&request(TrafficModel::Periodic, 10, Limit::Duration(Duration::from_nanos(101))));
        assert_eq!(schedule.unwrap().expected_count(), 11);
    }

    #[test]
    fn melp_asks_for_seven_octets_a_frame_and_keeps_its_own_interval() {
        let plain = Request::new(TrafficModel::Melp, Limit::Count(2));
        let departures: Vec<Departure> = Schedule::new(&plain).unwrap().collect();
        assert_eq!(departures[1], Departure { offset: Duration::from_millis(45), size: 14 });
        let five = Request { bundle: Some(5), ..plain };
        assert_eq!(Schedule::new(&five).unwrap().interval(), Duration::from_micros(112_500));
        assert_eq!(Schedule::new(&five).unwrap().size(), 35);
        let large = Request { size: Some(64), ..plain };
        assert_eq!(Schedule::new(&large).unwrap().size(), 64);
    }

    #[test]
    fn a_request_that_contradicts_itself_is_refused() {
        let melp = Request::new(TrafficModel::Melp, Limit::Count(1));
        let periodic = Request::new(TrafficModel::Periodic, Limit::Count(1));
        let zero = Some(Duration::ZERO);
        for wrong in [
            Request { interval: Some(Duration::from_millis(45)), ..melp },
            Request { size: Some(13), ..melp },
            Request { bundle: Some(6), ..melp },
            Request { bundle: Some(2), ..periodic },
            Request { interval: zero, ..periodic },
            Request { interval: Some(Duration::from_nanos(-1)), ..periodic },
            Request { limit: Limit::Duration(Duration::ZERO), ..periodic },
            Request { limit: Limit::Count(u64::MAX), ..periodic },
            Request { model: TrafficModel::Poisson, limit: Limit::Count(u64::MAX / 40), ..periodic },
        ] {
            assert!(Schedule::new(&wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(Schedule::new(&periodic).unwrap().interval(), DEFAULT_INTERVAL);
    }

    #[test]
    fn a_seed_replays_and_another_seed_differs() {
        let one = request(TrafficModel::Poisson, 1_000_000, Limit::Count(1_000));
        let other = Request { seed: Seed([1, 0, 0, 0, 0, 0]), ..one };
        assert_eq!(offsets(&one), offsets(&one));
        assert_ne!(offsets(&one), offsets(&other));
    }

    #[test]
    fn poisson_offsets_are_those_of_every_machine() {
        // Pinned: a change here breaks every seed that was ever printed.
        let pinned = Request {
            seed: Seed([1, 2, 3, 4, 5, 6]),
            ..request(TrafficModel::Poisson, 1_000_000, Limit::Count(5))
        };
        assert_eq!(offsets(&pinned), PINNED);
    }

    const PINNED: [i64; 5] = [1_361_663, 1_502_578, 1_653_627, 1_835_253, 2_089_766];

    #[test]
    fn poisson_gaps_are_exponential() {
        // Kolmogorov's test against 1 - exp(-x): P(sqrt(n) D > 2.694) is 1e-6.
        let mean = 1e6;
        let count = 100_000;
        let all = offsets(&request(TrafficModel::Poisson, 1_000_000, Limit::Count(count)));
        let mut gaps: Vec<f64> = std::iter::once(all[0])
            .chain(all.windows(2).map(|w| w[1] - w[0]))
            .map(|gap| gap as f64)
            .collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps.iter().enumerate().fold(0.0_f64, |worst, (i, gap)| {
            let expected = 1.0 - (-gap / mean).exp();
            worst.max((expected - i as f64 / n).abs()).max(((i + 1) as f64 / n - expected).abs())
        });
        assert!(n.sqrt() * distance < 2.694, "{distance}");
    }

    #[test]
    fn poisson_gaps_do_not_depend_on_their_neighbours() {
        // The lag-1 correlation of n independent gaps is normal with variance 1/n: 4.9 sigma is 1e-6.
        let count = 100_000;
        let all = offsets(&request(TrafficModel::Poisson, 1_000_000, Limit::Count(count)));
        let gaps: Vec<f64> = all.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6 - 1.0).collect();
        let products: f64 = gaps.windows(2).map(|w| w[0] * w[1]).sum();
        let squares: f64 = gaps.iter().map(|gap| gap * gap).sum();
        let correlation = products / squares;
        assert!(correlation.abs() * (gaps.len() as f64).sqrt() < 4.9, "{correlation}");
    }

    #[test]
    fn a_poisson_schedule_by_time_has_the_expected_number_of_departures() {
        // 100,000 expected: the count is Poisson, deviation 316; 4.9 of these is 1e-6.
        let schedule = request(TrafficModel::Poisson, 10_000, Limit::Duration(Duration::from_secs(1)));
        let count = offsets(&schedule).len() as f64;
        assert!((count - 100_000.0).abs() < 4.9 * 316.3, "{count}");
    }

    proptest! {
        #[test]
        fn a_gap_depends_on_seed_and_ordinal_only(seed: [u32; 6], ordinal: u32, mean in 1i64..1_000_000_000_000) {
            let stream = Stream::new(Seed(seed), GAPS);
            let mean = Duration::from_nanos(mean);
            let alone = exponential(&stream, u64::from(ordinal), mean);
            for other in 0..8 {
                exponential(&stream, other, mean);
            }
            prop_assert_eq!(exponential(&stream, u64::from(ordinal), mean), alone);
            let longest = mean.as_nanos() * i64::try_from(LONGEST_GAP).unwrap();
            prop_assert!((0..=longest).contains(&alone.as_nanos()));
        }

        #[test]
        fn offsets_are_running_sums_of_the_gaps(seed: [u32; 6], count in 0u64..200) {
            let asked = Request { seed: Seed(seed), ..request(TrafficModel::Poisson, 20_000_000, Limit::Count(count)) };
            let stream = Stream::new(Seed(seed), GAPS);
            let mut sum = 0;
            for (offset, ordinal) in offsets(&asked).into_iter().zip(0..) {
                sum += exponential(&stream, ordinal, Duration::from_millis(20)).as_nanos();
                prop_assert_eq!(offset, sum);
            }
        }

        #[test]
        fn a_count_is_kept_and_offsets_never_decrease(count in 0u64..500, interval in 1i64..1_000_000_000, which in 0usize..2) {
            let model = [TrafficModel::Periodic, TrafficModel::Poisson][which];
            let all = offsets(&request(model, interval, Limit::Count(count)));
            prop_assert_eq!(all.len() as u64, count);
            prop_assert!(all.is_sorted());
        }

        #[test]
        fn no_request_panics(interval: i64, size: Option<u32>, bundle: Option<u32>, limit: i64, by_count: bool, which in 0usize..3) {
            let model = [TrafficModel::Periodic, TrafficModel::Poisson, TrafficModel::Melp][which];
            let limit =
                if by_count { Limit::Count(limit.unsigned_abs()) } else { Limit::Duration(Duration::from_nanos(limit)) };
            let asked = Request { interval: Some(Duration::from_nanos(interval)), size, bundle, ..Request::new(model, limit) };
            if let Ok(schedule) = Schedule::new(&asked) {
                prop_assert!(schedule.take(50).map(|d| d.offset).is_sorted());
            }
        }
    }
}
