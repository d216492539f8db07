//! Histograms with exponential buckets, as the native histograms of Prometheus have them.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Resolution: a bucket is 2^(2^-SCHEMA) times as wide as the one below it, here 1.0109 times. A quantile is therefore at most
/// 1.1 % from that of the values, whatever their distribution. Prometheus knows schemas from -4 to 8.
pub const SCHEMA: i32 = 6;

/// Buckets from one power of two to the next.
const PER_OCTAVE: usize = 1 << SCHEMA;
/// Exponent of the upper bound of the zero bucket, 0.93 ns: values are whole nanoseconds.
const ZERO_EXPONENT: i32 = -30;
/// Exponent of the greatest value that has a bucket of its own, 1024 s; greater values count in the last bucket.
const LAST_EXPONENT: i32 = 10;
/// Octaves of one sign.
const OCTAVES: usize = (LAST_EXPONENT - ZERO_EXPONENT).unsigned_abs() as usize;
const NANOS: f64 = 1e9;

/// The buckets from one power of two to the next, allocated with the first value in them.
type Octave = OnceLock<Box<[AtomicU64; PER_OCTAVE]>>;

/// A cumulative histogram of signed times. At most 40 kB, and 512 octets for each power of two that occurs.
///
/// [`Histogram::observe`] is wait-free, but for the first value of each octave.
#[derive(Debug, Default)]
pub struct Histogram {
    zero: AtomicU64,
    positive: Side,
    negative: Side,
    /// Sum since the last reading, nanoseconds: 292 years.
    recent_ns: AtomicI64,
    /// Sum of the time before that.
    earlier_ns: Mutex<i128>,
}

#[derive(Debug)]
struct Side([Octave; OCTAVES]);

impl Default for Side {
    fn default() -> Self {
        Self([const { OnceLock::new() }; OCTAVES])
    }
}

impl Side {
    fn count(&self, seconds: f64) {
        let bucket = (index(seconds) - 1 - first_index()).max(0).unsigned_abs() as usize;
        let octave = &self.0[(bucket / PER_OCTAVE).min(OCTAVES - 1)];
        let counts = octave.get_or_init(|| Box::new([const { AtomicU64::new(0) }; PER_OCTAVE]));
        let place = if bucket >= OCTAVES * PER_OCTAVE { PER_OCTAVE - 1 } else { bucket % PER_OCTAVE };
        counts[place].fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self) -> Vec<(i32, u64)> {
        let octaves = self.0.iter().zip((first_index() + 1..).step_by(PER_OCTAVE));
        let filled = octaves.filter_map(|(octave, first)| Some((octave.get()?, first)));
        let counts = filled.flat_map(|(counts, first)| {
            counts.iter().zip(first..).map(|(count, index)| (index, count.load(Ordering::Relaxed)))
        });
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

/// The index of the bucket below the first.
const fn first_index() -> i32 {
    ZERO_EXPONENT << SCHEMA
}

/// The index of the bucket of a positive value, by the definition of Prometheus: bucket `i` has the values above
/// 2^((i-1)/2^SCHEMA) and up to 2^(i/2^SCHEMA).
#[expect(clippy::cast_possible_truncation, reason = "a logarithm of a time is a small number")]
fn index(seconds: f64) -> i32 {
    (seconds.log2() * f64::from(1 << SCHEMA)).ceil() as i32
}

impl Histogram {
    /// Counts a time in nanoseconds, which may be negative.
    pub fn observe(&self, nanos: i64) {
        #[expect(clippy::cast_precision_loss, reason = "exact below 104 days, and rounded above")]
        let seconds = nanos as f64 / NANOS;
        match nanos {
            0 => _ = self.zero.fetch_add(1, Ordering::Relaxed),
            1.. => self.positive.count(seconds),
            _ => self.negative.count(-seconds),
        }
        self.recent_ns.fetch_add(nanos, Ordering::Relaxed);
    }

    /// What has been counted so far. A value that is counted meanwhile may be in the sum only, or in a bucket only.
    pub fn read(&self) -> HistogramValues {
        let sum_ns = {
            let mut earlier = self.earlier_ns.lock().unwrap_or_else(PoisonError::into_inner);
            *earlier += i128::from(self.recent_ns.swap(0, Ordering::Relaxed));
            *earlier
        };
        #[expect(clippy::cast_precision_loss, reason = "a sum in the precision of its format")]
        let sum = sum_ns as f64 / NANOS;
        HistogramValues {
            sum,
            zero: self.zero.load(Ordering::Relaxed),
            positive: self.positive.read(),
            negative: self.negative.read(),
        }
    }
}

/// The values of a [`Histogram`] at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistogramValues {
    /// Sum, seconds.
    pub sum: f64,
    /// Values that are 0.
    pub zero: u64,
    /// Indices of the buckets with positive values, ascending, and the number of these.
    pub positive: Vec<(i32, u64)>,
    /// The same of negative values, by their magnitude.
    pub negative: Vec<(i32, u64)>,
}

impl HistogramValues {
    /// Upper bound of the zero bucket, seconds.
    pub const ZERO_THRESHOLD: f64 = 1.0 / (1 << -ZERO_EXPONENT) as f64;

    /// Number of values.
    pub fn count(&self) -> u64 {
        let sum = |side: &[(i32, u64)]| side.iter().map(|(_, count)| count).sum::<u64>();
        self.zero + sum(&self.positive) + sum(&self.negative)
    }

    /// Buckets with fixed bounds, for scrapers without native histograms: each has the number of values up to its bound in
    /// seconds. The bounds are powers of two from 15 µs to 8 s, which are bounds of the native buckets as well.
    pub fn classic(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        const EXPONENTS: std::ops::RangeInclusive<i32> = -16..=3;
        let below = self.zero + self.negative.iter().map(|(_, count)| count).sum::<u64>();
        let (mut positive, mut up_to) = (self.positive.iter().peekable(), below);
        EXPONENTS.map(move |exponent| {
            while let Some((_, count)) = positive.next_if(|(index, _)| *index <= exponent << SCHEMA) {
                up_to += count;
            }
            (2_f64.powi(exponent), up_to)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value is between the bounds of its bucket, in both signs and from 1 ns to 1000 s.
    #[test]
    fn values_are_in_their_bucket() {
        let mut nanos = 1_i64;
        while nanos < 1_000_000_000_000 {
            let histogram = Histogram::default();
            histogram.observe(nanos);
            histogram.observe(-nanos);
            let values = histogram.read();
            assert_eq!((values.positive.len(), &values.positive), (1, &values.negative), "{nanos}");
            let upper = f64::from(values.positive[0].0) / f64::from(1 << SCHEMA);
            let lower = upper - 1.0 / f64::from(1 << SCHEMA);
            let seconds = nanos as f64 / NANOS;
            assert!(lower.exp2() < seconds * (1.0 + 1e-12), "{nanos}");
            assert!(seconds <= upper.exp2() * (1.0 + 1e-12), "{nanos}");
            nanos += nanos / 37 + 1;
        }
    }

    /// The extremes of the type count, in the first and last bucket, and the sum is exact.
    #[test]
    fn extreme_values_are_counted() {
        let histogram = Histogram::default();
        [i64::MAX, i64::MIN, 0, 1].into_iter().for_each(|nanos| histogram.observe(nanos));
        let values = histogram.read();
        assert_eq!((values.count(), values.zero), (4, 1));
        assert_eq!(values.positive, [(first_index() + 7, 1), (LAST_EXPONENT << SCHEMA, 1)]);
        assert_eq!(values.negative, [(LAST_EXPONENT << SCHEMA, 1)]);
        assert!(values.sum.abs() < 1e-6, "{}", values.sum);
        histogram.observe(5_000_000_000);
        assert!((histogram.read().sum - 5.0).abs() < 1e-6, "the sum goes on after a reading");
    }

    /// Classic buckets are cumulative, and values at a bound are below it.
    #[test]
    fn classic_buckets_have_all_below() {
        let histogram = Histogram::default();
        // Half a second is a bound.
        for nanos in [-5, 0, 500_000_000, 500_000_001, 20_000_000_000] {
            histogram.observe(nanos);
        }
        let values = histogram.read();
        let at = |bound: f64| values.classic().find(|(le, _)| (le - bound).abs() < 1e-9).map(|(_, n)| n);
        assert_eq!([at(0.25), at(0.5), at(1.0), at(8.0)], [Some(2), Some(3), Some(4), Some(4)]);
        assert_eq!(values.count(), 5);
    }

    /// Counts of several threads are all there.
    #[test]
    fn threads_count_together() {
        let histogram = Histogram::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (1..=10_000).for_each(|nanos| histogram.observe(nanos)));
            }
        });
        assert_eq!(histogram.read().count(), 40_000);
    }
}
