//! Random numbers as functions of a stream and an ordinal: what was drawn before does not matter.

use romer_units::Duration;
use romer_units::random::{RandomStream, Seed};

/// No exponential length is more than this many means: 53 random bits reach ln(2^53), which is 36.7.
pub(crate) const LONGEST_GAP: u64 = 37;

/// The stream of `seed` that this crate uses for `purpose`, apart from all other uses of the seed.
pub(crate) const fn stream(seed: Seed, purpose: &[u8; 4]) -> RandomStream {
    RandomStream::new(seed, [u32::from_be_bytes(*b"traf"), u32::from_be_bytes(*purpose)])
}

/// An exponentially distributed length with mean `mean`, to the nearest nanosecond. The logarithm is a software
/// one: those of the machines differ in their last digit.
#[expect(clippy::cast_precision_loss, reason = "the length is random to more than the rounding")]
#[expect(clippy::cast_possible_truncation, reason = "saturates at the end of the range of time")]
pub(crate) fn exponential(stream: &RandomStream, ordinal: u64, mean: Duration) -> Duration {
    // A unit lies in [0, 1), so that its complement is never 0 and is exact in binary.
    let length = -libm::log(1.0 - stream.unit(ordinal)) * mean.as_nanos() as f64;
    Duration::from_nanos(libm::round(length) as i64)
}

/// One of the integers from `low` to `high`, both included, each as likely as the others to within 2^-32.
pub(crate) fn integer(stream: &RandomStream, ordinal: u64, low: u64, high: u64) -> u64 {
    let span = u128::from(high.saturating_sub(low)) + 1;
    low + ((u128::from(stream.bits(ordinal)) * span) >> 64) as u64
}

/// A normally distributed number with mean 0 and deviation 1, by the transformation of Box and Muller (1958) from
/// one number of each stream. It lies within 8.6 of 0, because its logarithm has 53 random bits.
pub(crate) fn normal(radius: &RandomStream, angle: &RandomStream, ordinal: u64) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - radius.unit(ordinal)));
    radius * libm::cos(core::f64::consts::TAU * angle.unit(ordinal))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The distance of Kolmogorov between a sample and a distribution, times the root of the sample's size. More
    /// than [`KOLMOGOROV`] has probability 1e-6 where the sample is of that distribution.
    pub(crate) fn kolmogorov(mut sample: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
        sample.sort_by(f64::total_cmp);
        let n = sample.len() as f64;
        let distance = sample.iter().enumerate().fold(0.0_f64, |worst, (i, x)| {
            let expected = distribution(*x);
            worst.max((expected - i as f64 / n).abs()).max(((i + 1) as f64 / n - expected).abs())
        });
        n.sqrt() * distance
    }

    /// See [`kolmogorov`].
    pub(crate) const KOLMOGOROV: f64 = 2.694;

    const SEED: Seed = Seed([6, 5, 4, 3, 2, 1]);

    #[test]
    fn normal_numbers_are_normal_and_bounded() {
        let (radius, angle) = (stream(SEED, b"tsta"), stream(SEED, b"tstb"));
        let sample: Vec<f64> = (0..100_000).map(|n| normal(&radius, &angle, n)).collect();
        assert!(sample.iter().all(|x| x.abs() < 8.6));
        let distance = kolmogorov(sample, |x| 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2));
        assert!(distance < KOLMOGOROV, "{distance}");
    }

    #[test]
    fn integers_fill_their_range_evenly() {
        // 110,000 draws in 11 cells: chi-squared with 10 degrees of freedom, error probability 1e-6 at 48.2.
        let stream = stream(SEED, b"tstc");
        let mut cells = [0u32; 11];
        for ordinal in 0..110_000 {
            cells[usize::try_from(integer(&stream, ordinal, 64, 74)).unwrap() - 64] += 1;
        }
        let chi: f64 = cells.iter().map(|n| (f64::from(*n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi < 48.2, "{chi}");
    }

    proptest! {
        #[test]
        fn an_exponential_length_depends_on_seed_and_ordinal_only(seed: [u32; 6], ordinal: u32, mean in 1i64..1_000_000_000_000) {
            let stream = stream(Seed(seed), b"gaps");
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
        fn an_integer_lies_in_its_range(seed: [u32; 6], ordinal: u64, low: u64, span: u32) {
            let high = low.saturating_add(u64::from(span));
            let drawn = integer(&stream(Seed(seed), b"tstd"), ordinal, low, high);
            prop_assert!((low..=high).contains(&drawn));
        }
    }
}
