//! The sender perturbs its own schedule (Hershberger 2005 section 11.2): the jitter that the system which is imitated puts
//! on its packets, added on purpose and repeatably, in place of whatever the host happens to add.

use core::fmt;
use core::str::FromStr;

use romer_units::Duration;
use romer_units::random::{RandomStream, Seed};

use crate::draw;
use crate::parse_error::ParseError;

/// The longest delay that can be asked for; a hundredth of the range of time stays free for the tails.
const MAX_DELAY: Duration = Duration::from_secs(3_600);

/// How much later than scheduled a packet leaves.
///
/// Delays of different packets are independent, and are never negative. Packets keep their order: one whose delay
/// would have it overtake the packet before it leaves at the same time as that one. Packets that a token bucket let
/// through may be nearer to one another afterwards than it would have let them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepartureJitter {
    /// Evenly distributed from `low` to `high`, written `uniform:0ms,10ms`.
    Uniform {
        /// The least delay.
        low: Duration,
        /// The greatest.
        high: Duration,
    },
    /// Normally distributed, cut at zero, written `normal:5ms,1ms`.
    Normal {
        /// The mean before the cut.
        mean: Duration,
        /// The deviation before the cut.
        stddev: Duration,
    },
    /// Exponentially distributed, written `exponential:2ms`.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Until the next tick of a clock of this period, which ticks at the start of the schedule, written
    /// `tick:10ms`: what a program sees whose system wakes it only when its timer interrupts. Not random.
    Tick {
        /// Time between two ticks.
        period: Duration,
    },
}

impl DepartureJitter {
    /// The forms that are understood.
    pub const FORMS: [&str; 4] =
        ["uniform:LOW,HIGH", "normal:MEAN,STDDEV", "exponential:MEAN", "tick:PERIOD"];

    /// Whether the delays depend on the seed.
    pub const fn is_random(self) -> bool {
        !matches!(self, Self::Tick { .. })
    }
}

impl DepartureJitter {
    /// A delay that is not to be expected more than once in a million packets.
    pub(crate) fn reach(self) -> Duration {
        match self {
            Self::Uniform { high, .. } => high,
            Self::Normal { mean, stddev } => mean + Duration::from_nanos(stddev.as_nanos().saturating_mul(5)),
            Self::Exponential { mean } => Duration::from_nanos(mean.as_nanos().saturating_mul(14)),
            Self::Tick { period } => period,
        }
    }
}

impl FromStr for DepartureJitter {
    type Err = ParseError;

    /// Reads one of [`DepartureJitter::FORMS`]; delays are 0 to 1 h.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        read(text).map_err(|why| ParseError::Jitter { text: romer_units::excerpt(text, 64), why })
    }
}

fn read(text: &str) -> Result<DepartureJitter, String> {
    let forms = || format!("it has none of the forms; use {}", DepartureJitter::FORMS.join(", "));
    let (name, values) = text.split_once(':').ok_or_else(forms)?;
    let name = name.to_ascii_lowercase();
    if !DepartureJitter::FORMS.iter().any(|form| form.split(':').next() == Some(&name)) {
        return Err(forms());
    }
    let values = values.split(',').map(delay).collect::<Result<Vec<_>, _>>()?;
    match (name.as_str(), values.as_slice()) {
        ("uniform", &[low, high]) if low > high => {
            Err(format!("the least delay, {low}, is above the greatest, {high}; exchange them"))
        }
        ("uniform", &[low, high]) => Ok(DepartureJitter::Uniform { low, high }),
        ("normal", &[mean, stddev]) => Ok(DepartureJitter::Normal { mean, stddev }),
        ("exponential", &[mean]) => Ok(DepartureJitter::Exponential { mean }),
        ("tick", &[period]) if period > Duration::ZERO => Ok(DepartureJitter::Tick { period }),
        _ => Err(forms()),
    }
}

fn delay(text: &str) -> Result<Duration, String> {
    let delay: Duration = text.parse().map_err(|error: romer_units::QuantityError| error.to_string())?;
    if (Duration::ZERO..=MAX_DELAY).contains(&delay) {
        Ok(delay)
    } else {
        Err(format!("a delay of {delay} is out of range; use 0ms to {MAX_DELAY}"))
    }
}

impl fmt::Display for DepartureJitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform { low, high } => write!(f, "uniform:{low},{high}"),
            Self::Normal { mean, stddev } => write!(f, "normal:{mean},{stddev}"),
            Self::Exponential { mean } => write!(f, "exponential:{mean}"),
            Self::Tick { period } => write!(f, "tick:{period}"),
        }
    }
}

/// A jitter with its streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Perturbation {
    model: DepartureJitter,
    one: RandomStream,
    other: RandomStream,
    /// When the packet before left.
    before: Duration,
}

impl Perturbation {
    pub(crate) const fn new(model: DepartureJitter, seed: Seed) -> Self {
        Self {
            model,
            one: draw::stream(seed, b"jita"),
            other: draw::stream(seed, b"jitb"),
            before: Duration::ZERO,
        }
    }

    /// When packet number `ordinal`, scheduled for `offset`, leaves.
    pub(crate) fn perturbed(&mut self, ordinal: u64, offset: Duration) -> Duration {
        self.before = self.before.max(offset + self.delay(ordinal, offset));
        self.before
    }

    #[expect(clippy::cast_precision_loss, reason = "delays are at most an hour of nanoseconds, below 2^53")]
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and delays are at most some hours")]
    fn delay(&self, ordinal: u64, offset: Duration) -> Duration {
        match self.model {
            DepartureJitter::Uniform { low, high } => {
                let (low, high) = (low.as_nanos().unsigned_abs(), high.as_nanos().unsigned_abs());
                let drawn = draw::integer(&self.one, ordinal, low, high);
                Duration::from_nanos(i64::try_from(drawn).unwrap_or(i64::MAX))
            }
            DepartureJitter::Normal { mean, stddev } => {
                let drawn = draw::normal(&self.one, &self.other, ordinal);
                let delay = drawn * stddev.as_nanos() as f64 + mean.as_nanos() as f64;
                Duration::from_nanos(libm::round(delay.max(0.0)) as i64)
            }
            DepartureJitter::Exponential { mean } => draw::exponential(&self.one, ordinal, mean),
            DepartureJitter::Tick { period } => {
                let past = offset.as_nanos().rem_euclid(period.as_nanos());
                if past == 0 { Duration::ZERO } else { Duration::from_nanos(period.as_nanos() - past) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::tests::{KOLMOGOROV, kolmogorov};
    use proptest::prelude::*;

    const SEED: Seed = Seed([1, 1, 2, 3, 5, 8]);

    /// Delays in milliseconds of packets so far apart that none waits for another.
    fn delays(text: &str) -> Vec<f64> {
        let mut jitter = Perturbation::new(text.parse().unwrap(), SEED);
        (0..50_000)
            .map(|n| {
                let offset = Duration::from_secs(i64::try_from(n).unwrap());
                (jitter.perturbed(n, offset) - offset).as_secs_f64() * 1e3
            })
            .collect()
    }

    #[test]
    fn delays_have_the_distribution_that_is_asked_for() {
        let uniform = kolmogorov(delays("uniform:2ms,10ms"), |x| ((x - 2.0) / 8.0).clamp(0.0, 1.0));
        assert!(uniform < KOLMOGOROV, "{uniform}");
        let exponential = kolmogorov(delays("exponential:3ms"), |x| 1.0 - (-x / 3.0).exp());
        assert!(exponential < KOLMOGOROV, "{exponential}");
        let phi = |x: f64| 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2);
        let normal = kolmogorov(delays("normal:5ms,500us"), |x| phi((x - 5.0) / 0.5));
        assert!(normal < KOLMOGOROV, "{normal}");
    }

    #[test]
    fn a_normal_delay_is_cut_at_zero() {
        // Half of the delays: 25,000 expected, deviation 112; 4.9 of these are 1e-6.
        let none = delays("normal:0ms,1ms").into_iter().filter(|delay| *delay <= 0.0).count();
        assert!((none as f64 - 25_000.0).abs() < 4.9 * 112.0, "{none}");
    }

    #[test]
    fn a_tick_holds_packets_until_it_comes() {
        let mut jitter = Perturbation::new("tick:10ms".parse().unwrap(), SEED);
        let at = |ms| Duration::from_micros(ms);
        let left: Vec<i64> = [0, 5_000, 10_000, 22_500, 29_999, 30_001]
            .into_iter()
            .zip(0..)
            .map(|(us, n)| jitter.perturbed(n, at(us)).as_nanos() / 1_000)
            .collect();
        assert_eq!(left, [0, 10_000, 10_000, 30_000, 30_000, 40_000]);
    }

    #[test]
    fn a_jitter_is_read_and_printed_back() {
        for text in ["uniform:0ns,10ms", "normal:5ms,1ms", "exponential:2ms", "tick:10ms", "TICK:1us"] {
            let jitter: DepartureJitter = text.parse().unwrap();
            assert_eq!(jitter.to_string().parse(), Ok(jitter));
        }
        for wrong in [
            "",
            "uniform",
            "uniform:",
            "uniform:1ms",
            "uniform:2ms,1ms",
            "normal:1ms",
            "normal:-1ms,1ms",
            "exponential:1",
            "exponential:2h",
            "tick:0ms",
            "gauss:1ms",
            "tick:1ms,2ms",
        ] {
            let error = wrong.parse::<DepartureJitter>().unwrap_err().to_string();
            assert!(error.len() < 300 && !error.contains('\n') && error.contains("; "), "{error}");
        }
    }

    proptest! {
        #[test]
        fn packets_keep_their_order_and_never_leave_early(seed: [u32; 6], gaps in prop::collection::vec(0i64..5_000_000, 1..200), which in 0usize..4) {
            let text = ["uniform:1ms,20ms", "normal:5ms,4ms", "exponential:4ms", "tick:7ms"][which];
            let mut jitter = Perturbation::new(text.parse().unwrap(), Seed(seed));
            let mut again = jitter;
            let (mut offset, mut before) = (Duration::ZERO, Duration::ZERO);
            for (gap, n) in gaps.into_iter().zip(0..) {
                offset += Duration::from_nanos(gap);
                let left = jitter.perturbed(n, offset);
                prop_assert!(left >= offset && left >= before);
                prop_assert_eq!(left, again.perturbed(n, offset), "a seed replays");
                before = left;
            }
        }

        #[test]
        fn no_text_of_a_jitter_panics(text in "(uniform|normal|exponential|tick)?:?[0-9.,msu-]{0,30}") {
            let _ = text.parse::<DepartureJitter>();
        }
    }
}
