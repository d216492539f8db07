//! Delay spikes that repeat: one period that the findings of a measurement have, the course of a spike, and the delays without spikes.
//!
//! The packets are folded by the period. From the moment at which spikes begin on, time is cut into bins as long as the packet spacing. A
//! bin belongs to the spike while most of its packets take longer than 95 % of those half a period away. The scenario has a state for
//! each bin, in a chain in time that has the period.

use romer_fit::{Estimate, Observation, Series};
use romer_impair::Nanos;
use romer_record::document::ProbeDirection;
use romer_record::fidelity::ModelParameter;
use romer_record::finding::{Finding, Pattern};

use crate::predictive_check::{count, quantile, real};

/// The most bins of a spike. Each is a delay in time, of which a scenario has a limited number.
const MOST_BINS: usize = 16;
/// The spike is at most this share of the period. The packets of the middle half of a period show the usual delays.
const MOST_OF_PERIOD: f64 = 0.25;
/// The share of usual delays that most packets of a spike exceed.
const USUAL: f64 = 0.95;
/// Half of the width of a 95 % interval of a median in ranks, over the root of the number of values.
const RANKS: f64 = 0.98;

/// Delay spikes that repeat.
#[derive(Clone, Debug)]
pub(super) struct Spikes {
    /// The time between two, in seconds.
    pub(super) period: Estimate,
    /// How much longer than usual the slowest packet of a spike takes, in seconds: the median over the spikes.
    pub(super) height: Estimate,
    /// The length of a bin, in seconds.
    bin: f64,
    /// The number of bins.
    bins: usize,
    /// A moment at which the first bin begins, on the clock of departures.
    onset: Nanos,
}

/// A chain in time that repeats spikes: states in their order, of which the first and the last have the usual delays. Lengths in nanoseconds.
pub(super) struct Course {
    /// From the first departure to the first spike.
    pub(super) before: Nanos,
    /// Of each bin.
    pub(super) bin: Nanos,
    /// From the end of a spike to that of the period.
    pub(super) after: Nanos,
    /// The delays of the packets in each bin, in seconds.
    pub(super) delays: Vec<Vec<f64>>,
}

impl Spikes {
    /// Those that add most delay, of the `findings` in `direction`. These count time from the departure `origin`; the series begins with the
    /// departure `first`. `None` where there are none, or where a spike has no clear end.
    pub(super) fn new(
        findings: &[Finding],
        direction: ProbeDirection,
        origin: Nanos,
        series: &Series,
        first: Nanos,
    ) -> Option<Self> {
        let known = |finding: &Finding| match finding.pattern {
            Pattern::PeriodicDelaySpikes {
                period_ns,
                period_interval_ns,
                phase_ns,
                height_ns,
                multiple_of_ns: None,
                ..
            } if finding.direction == direction && period_ns > 0.0 => {
                Some((height_ns / period_ns, period_ns, period_interval_ns, phase_ns))
            }
            _ => None,
        };
        let largest = findings.iter().filter_map(known).max_by(|a, b| a.0.total_cmp(&b.0));
        let (_, period_ns, interval_ns, phase_ns) = largest?;
        let bin = series.spacing(0.5);
        let mut spikes = Self {
            period: Estimate { value: period_ns / 1e9, interval: Some(interval_ns.map(|end| end / 1e9)) },
            height: Estimate { value: 0.0, interval: None },
            bin,
            bins: 0,
            // The moment that a finding has is that of the packets that first wait: they are halfway in the first bin.
            onset: origin.saturating_add(nanos(phase_ns / 1e9 - bin / 2.0)),
        };
        let period = spikes.period.value;
        if bin <= 0.0 || bin >= MOST_OF_PERIOD * period {
            return None;
        }
        let folded: Vec<(f64, f64, f64)> = series
            .observations()
            .iter()
            .filter_map(|one| {
                let (cycle, after) = spikes.place(one, first);
                Some((cycle, after, one.delay?))
            })
            .collect();
        let middle = (MOST_OF_PERIOD * period)..((1.0 - MOST_OF_PERIOD) * period);
        let usual = folded.iter().filter(|(_, after, _)| middle.contains(after)).map(|(_, _, delay)| *delay);
        let mut usual: Vec<f64> = usual.collect();
        if usual.is_empty() {
            return None;
        }
        usual.sort_by(f64::total_cmp);
        let (limit, typical) = (quantile(&usual, USUAL), quantile(&usual, 0.5));
        let is_high = |number: &usize| {
            let from = bin * count(*number);
            let within = folded.iter().filter(|(_, after, _)| (from..from + bin).contains(after));
            let mut delays: Vec<f64> = within.map(|(_, _, delay)| *delay).collect();
            delays.sort_by(f64::total_cmp);
            !delays.is_empty() && quantile(&delays, 0.5) > limit
        };
        spikes.bins = (0..=MOST_BINS).take_while(is_high).count();
        let length = spikes.length();
        if spikes.bins == 0 || spikes.bins > MOST_BINS || length > MOST_OF_PERIOD * period {
            return None;
        }
        spikes.height = height(&folded, length, typical)?;
        Some(spikes)
    }

    /// The length of a spike in seconds.
    fn length(&self) -> f64 {
        self.bin * count(self.bins)
    }

    /// The number of the period in which a packet departs, and how long after the beginning of that, in seconds. The series begins with the
    /// departure `first`.
    fn place(&self, one: &Observation, first: Nanos) -> (f64, f64) {
        let at = one.at - real(self.onset.saturating_sub(first)) / 1e9;
        ((at / self.period.value).floor(), at.rem_euclid(self.period.value))
    }

    /// The series, in which the delays within spikes are unknown.
    pub(super) fn without(&self, series: &Series, first: Nanos) -> Series {
        let one = |one: &Observation| {
            let is_within = self.place(one, first).1 < self.length();
            Observation { delay: one.delay.filter(|_| !is_within), ..*one }
        };
        Series::new(series.observations().iter().map(one).collect())
    }

    /// The chain for this series, which begins with the departure `first`. The first spike may come up to a bin early or late, so that no
    /// state is shorter.
    pub(super) fn course(&self, series: &Series, first: Nanos) -> Course {
        let [period, bin] = [self.period.value, self.bin].map(nanos);
        let bins = i64::try_from(self.bins).unwrap_or(i64::MAX);
        let usual = period.saturating_sub(bin.saturating_mul(bins));
        let before = self.onset.saturating_sub(first).rem_euclid(period.max(1));
        let before = before.min(usual.saturating_sub(bin)).max(bin);
        let mut delays = vec![Vec::new(); self.bins];
        for one in series.observations() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to a period")]
            let bin = (self.place(one, first).1 / self.bin) as usize;
            if let (Some(delays), Some(delay)) = (delays.get_mut(bin), one.delay) {
                delays.push(delay);
            }
        }
        Course { before, bin, after: usual.saturating_sub(before).max(bin), delays }
    }

    /// The parameters, as the document of a model has them.
    pub(super) fn parameters(&self) -> [ModelParameter; 2] {
        let parameter = |name: &str, estimate: Estimate| ModelParameter {
            name: name.into(),
            value: estimate.value * 1e9,
            interval: estimate.interval.map(|ends| ends.map(|end| end * 1e9)),
        };
        [parameter("spikes.period_ns", self.period), parameter("spikes.height_ns", self.height)]
    }
}

/// The median over the periods of how much longer than `typical` their slowest packet in a spike of this length takes, with the interval of
/// its order statistics.
fn height(folded: &[(f64, f64, f64)], length: f64, typical: f64) -> Option<Estimate> {
    let mut slowest: Vec<(f64, f64)> = Vec::new();
    for (cycle, _, delay) in folded.iter().filter(|(_, after, _)| *after < length) {
        match slowest.last_mut() {
            Some((last, slow)) if *last >= *cycle => *slow = slow.max(*delay),
            _ => slowest.push((*cycle, *delay)),
        }
    }
    let mut heights: Vec<f64> = slowest.into_iter().map(|(_, delay)| delay - typical).collect();
    heights.sort_by(f64::total_cmp);
    let half = RANKS / count(heights.len()).sqrt();
    (!heights.is_empty()).then(|| Estimate {
        value: quantile(&heights, 0.5),
        interval: Some([0.5 - half, 0.5 + half].map(|p| quantile(&heights, p.clamp(0.0, 1.0)))),
    })
}

/// Seconds as nanoseconds.
#[expect(clippy::cast_possible_truncation, reason = "far below 2^63, and the cast saturates")]
fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9).round() as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The course of a spike ends where packets take no longer than usual. Its delays are unknown in the rest, and the chain has the period
    /// whatever packet comes first.
    #[test]
    fn spikes_are_separated() {
        let finding = |period_ns: f64| Finding {
            direction: ProbeDirection::Forward,
            at_ns: None,
            until_ns: None,
            false_alarm_probability: None,
            pattern: Pattern::PeriodicDelaySpikes {
                period_ns,
                period_interval_ns: [0.99 * period_ns, 1.01 * period_ns],
                phase_ns: 3e8,
                height_ns: 3e7,
                spikes: 30,
                cycles: 30,
                strength_ratio: 1.0,
                multiple_of_ns: None,
            },
        };
        // Every second from 0.3 s on: 30 ms more, then 10 ms more.
        let packet = |number: u32| {
            let more = match (number + 85) % 50 {
                0 => 0.03,
                1 => 0.01,
                _ => 0.0,
            };
            let usual = 0.02 + 0.001 * f64::from(number % 7);
            Observation {
                at: f64::from(number) * 0.02,
                size: None,
                is_lost: false,
                delay: Some(usual + more),
            }
        };
        let series = Series::new((0..1_500).map(packet).collect());
        let first = 5_000_000_000;
        let of = |findings: &[Finding]| Spikes::new(findings, ProbeDirection::Forward, first, &series, first);
        let spikes = of(&[finding(1e9)]).unwrap();
        assert_eq!(spikes.bins, 2);
        assert!((spikes.height.value - 0.03).abs() < 0.004, "{spikes:?}");
        let rest = spikes.without(&series, first);
        assert_eq!(series.delays().len() - rest.delays().len(), 60);
        assert!(rest.delays().iter().all(|delay| *delay < 0.027), "{rest:?}");
        let course = spikes.course(&series, first);
        assert_eq!((course.before, course.bin, course.after), (290_000_000, 20_000_000, 670_000_000));
        assert!(course.delays[0].iter().all(|delay| (0.05..0.057).contains(delay)), "{:?}", course.delays);
        assert!(course.delays[1].iter().all(|delay| (0.03..0.037).contains(delay)), "{:?}", course.delays);
        // Not of this direction, and of another period, by which no moment has longer delays.
        assert!(of(&[Finding { direction: ProbeDirection::Reverse, ..finding(1e9) }]).is_none());
        assert!(of(&[finding(0.77e9)]).is_none());
    }
}
