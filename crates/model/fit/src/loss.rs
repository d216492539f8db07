//! Losses: independent ones, or a chain of two states in time.
//!
//! The chain leaves the good state after an exponential time with mean `good`, and the bad state after one with mean `bad`. Packets in
//! each state are lost independently, with the loss ratio of the state. The likelihood of fates at irregular times is that of a hidden Markov
//! chain, by the forward algorithm.

use crate::Estimate;
use crate::optimum::{climb, half_widths};
use crate::series::Observation;

/// The family of a model of losses, in order of size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossFamily {
    /// No loss.
    None,
    /// Independent losses.
    Bernoulli,
    /// Two states in time: no packet of the good state is lost, and each of the bad one.
    Bursts,
    /// Two states in time: no packet of the good state is lost, and some of the bad one.
    Gilbert,
    /// Two states in time: some packets of each state are lost.
    GilbertElliott,
}

impl LossFamily {
    /// Families with losses, by size.
    pub const WITH_LOSSES: [Self; 4] = [Self::Bernoulli, Self::Bursts, Self::Gilbert, Self::GilbertElliott];

    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bernoulli => "bernoulli",
            Self::Bursts => "bursts",
            Self::Gilbert => "gilbert",
            Self::GilbertElliott => "gilbert-elliott",
        }
    }

    /// The number of its parameters.
    pub const fn parameters(self) -> usize {
        match self {
            Self::None => 0,
            Self::Bernoulli => 1,
            Self::Bursts => 2,
            Self::Gilbert => 3,
            Self::GilbertElliott => 4,
        }
    }
}

/// A model of losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossModel {
    /// Its family.
    pub family: LossFamily,
    /// The share of packets that are lost.
    pub ratio: f64,
    /// The two states, of a family that has them.
    pub states: Option<TwoStates>,
}

/// Two states in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoStates {
    /// The mean time in the good state, in seconds.
    pub good: Estimate,
    /// The mean time in the bad state, in seconds.
    pub bad: Estimate,
    /// Loss ratio in the good state.
    pub loss_good: Estimate,
    /// Loss ratio in the bad state.
    pub loss_bad: Estimate,
}

/// The values of [`TwoStates`] alone.
#[derive(Clone, Copy, Debug)]
struct Chain {
    good: f64,
    bad: f64,
    loss: [f64; 2],
}

/// Log of times and log odds of ratios beyond this are at a bound.
const BOUND: f64 = 12.0;

impl Chain {
    /// From the logs of the times in units of `unit`, and the log odds of the ratios.
    fn from_logs(family: LossFamily, logs: &[f64], unit: f64) -> Option<Self> {
        if logs.iter().any(|log| log.abs() > BOUND) {
            return None;
        }
        let ratio = |place: usize| logs.get(place).map(|log| 1.0 / (1.0 + (-log).exp()));
        let (bad, good) = match family {
            LossFamily::Gilbert => (ratio(2)?, 0.0),
            LossFamily::GilbertElliott => (ratio(2)?, ratio(3)?),
            _ => (1.0, 0.0),
        };
        (bad > good).then(|| Self {
            good: logs[0].exp() * unit,
            bad: logs[1].exp() * unit,
            loss: [good, bad],
        })
    }

    /// The stationary probability of the bad state.
    fn share(&self) -> f64 {
        self.bad / (self.good + self.bad)
    }

    fn log_likelihood(&self, segment: &[Observation]) -> f64 {
        let (share, rate) = (self.share(), 1.0 / self.good + 1.0 / self.bad);
        let mut sum = 0.0;
        // The probabilities of the fates so far with each state, over a factor whose log is in the sum: few logs and divisions are taken.
        let (mut good, mut bad) = (1.0 - share, share);
        let fates = [self.loss.map(|loss| 1.0 - loss), self.loss];
        let (mut before, mut last_gap) = (None::<f64>, f64::NAN);
        // Of a packet that arrives, and of one that is lost: the matrix from both states before the gap to those after the fate.
        let mut steps = [[0.0; 4]; 2];
        for one in segment {
            let fate = usize::from(one.is_lost);
            if let Some(before) = before {
                let gap = one.at - before;
                if last_gap.is_nan() || (gap - last_gap).abs() > 1e-9 {
                    let changes = -(-gap * rate).exp_m1();
                    let (leaves, returns) = (share * changes, (1.0 - share) * changes);
                    steps = fates.map(|[in_good, in_bad]| {
                        [
                            (1.0 - leaves) * in_good,
                            returns * in_good,
                            leaves * in_bad,
                            (1.0 - returns) * in_bad,
                        ]
                    });
                    last_gap = gap;
                }
                let [good_to_good, bad_to_good, good_to_bad, bad_to_bad] = steps[fate];
                (good, bad) =
                    (good_to_good * good + bad_to_good * bad, good_to_bad * good + bad_to_bad * bad);
            } else {
                let [in_good, in_bad] = fates[fate];
                (good, bad) = (good * in_good, bad * in_bad);
            }
            before = Some(one.at);
            let both = good + bad;
            if both < 1e-100 {
                let both = both.max(1e-300);
                sum += both.ln();
                (good, bad) = (good / both, bad / both);
            }
        }
        sum + (good + bad).max(1e-300).ln()
    }
}

impl LossModel {
    /// The log-likelihood of the fates of a segment of time.
    pub fn log_likelihood(&self, segment: &[Observation]) -> f64 {
        match self.states {
            Some(states) => Chain {
                good: states.good.value,
                bad: states.bad.value,
                loss: [states.loss_good.value, states.loss_bad.value],
            }
            .log_likelihood(segment),
            None => {
                let lost = segment.iter().filter(|one| one.is_lost).count();
                let ratio = self.ratio.clamp(1e-300, 1.0 - 1e-16);
                lost as f64 * ratio.ln() + (segment.len() - lost) as f64 * (1.0 - ratio).ln()
            }
        }
    }
}

/// Fits one family to segments of time; `spacing` is that of the packets. The search begins at `near`, or at several places. `None` where the family has no maximum within the bounds: the
/// losses are not in bursts.
///
/// A ratio of independent losses is at least half a packet, so that an unseen loss has a probability.
pub fn fit(
    family: LossFamily,
    segments: &[&[Observation]],
    spacing: f64,
    near: Option<&LossModel>,
) -> Option<LossModel> {
    let sent: usize = segments.iter().map(|segment| segment.len()).sum();
    let lost: usize = segments.iter().map(|segment| segment.iter().filter(|one| one.is_lost).count()).sum();
    let ratio = lost as f64 / sent.max(1) as f64;
    match family {
        LossFamily::None => return Some(LossModel { family, ratio, states: None }),
        LossFamily::Bernoulli => {
            let ratio = ratio.max(0.5 / (sent + 1) as f64);
            return Some(LossModel { family, ratio, states: None });
        }
        _ => {}
    }
    if lost == 0 || lost == sent || spacing <= 0.0 {
        return None;
    }
    let likelihood = |logs: &[f64]| {
        Chain::from_logs(family, logs, spacing).map_or(f64::NEG_INFINITY, |chain| {
            segments.iter().map(|segment| chain.log_likelihood(segment)).sum::<f64>()
        })
    };
    let odds = |ratio: f64| (ratio / (1.0 - ratio)).ln();
    let number = family.parameters();
    let starts: Vec<[f64; 4]> = if let Some(states) = near.and_then(|near| near.states) {
        let [good, bad] = [states.good, states.bad].map(|time| (time.value / spacing).ln());
        let [loss_bad, loss_good] =
            [states.loss_bad, states.loss_good].map(|loss| odds(loss.value.clamp(1e-5, 1.0 - 1e-5)));
        vec![[good, bad, loss_bad, loss_good]]
    } else {
        let pairs: &[(f64, f64)] =
            if family == LossFamily::Bursts { &[(1.0, 0.0)] } else { &[(0.9, 0.05), (0.5, 0.3)] };
        let start = |bad: f64, (loss_bad, loss_good): (f64, f64)| {
            let loss_bad = loss_bad.max(ratio);
            let share = (ratio / loss_bad).clamp(0.001, 0.6);
            let good = (bad * (1.0 - share) / share).min(1e5);
            [good.ln(), bad.ln(), odds(loss_bad.min(0.99)), odds((loss_good * ratio).max(1e-4))]
        };
        [1.5, 10.0, 100.0]
            .into_iter()
            .flat_map(|bad| pairs.iter().map(move |pair| start(bad, *pair)))
            .collect()
    };
    let climbs = starts.iter().map(|start| climb(likelihood, &start[..number], 0.5, 100));
    let best = climbs.max_by(|a, b| a.1.total_cmp(&b.1));
    let (logs, value) = best?;
    if !value.is_finite() {
        return None;
    }
    let (logs, _) = climb(likelihood, &logs, 0.2, 150);
    let chain = Chain::from_logs(family, &logs, spacing)?;
    let widths = half_widths(likelihood, &logs);
    let time = |place: usize| {
        let value: f64 = logs[place];
        let interval =
            widths[place].map(|width| [value - width, value + width].map(|log| log.exp() * spacing));
        Estimate { value: value.exp() * spacing, interval }
    };
    let part = |place: usize, fixed: f64| {
        let Some(value) = logs.get(place) else {
            return Estimate { value: fixed, interval: Some([fixed; 2]) };
        };
        let of = |log: f64| 1.0 / (1.0 + (-log).exp());
        let interval = widths[place].map(|width| [of(value - width), of(value + width)]);
        Estimate { value: of(*value), interval }
    };
    let states = TwoStates { good: time(0), bad: time(1), loss_bad: part(2, 1.0), loss_good: part(3, 0.0) };
    let ratio = (1.0 - chain.share()) * chain.loss[0] + chain.share() * chain.loss[1];
    Some(LossModel { family, ratio, states: Some(states) })
}

#[cfg(test)]
pub(crate) mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;

    /// Fates of packets every `spacing` seconds: mean times in the two states, and their loss ratios.
    pub(crate) fn fates(
        name: u32,
        packets: u32,
        spacing: f64,
        means: [f64; 2],
        loss: [f64; 2],
    ) -> Vec<Observation> {
        let random = RandomStream::new(Seed([8, 9, 7, 9, 3, 2]), [name, 7]);
        let mut ordinal = 0;
        let mut unit = || {
            ordinal += 1;
            random.unit(ordinal)
        };
        let (mut state, mut until) = (0, -means[0] * (1.0 - unit()).ln());
        (0..packets)
            .map(|n| {
                let at = f64::from(n) * spacing;
                while until <= at {
                    state = 1 - state;
                    until -= means[state] * (1.0 - unit()).ln();
                }
                Observation { at, size: None, is_lost: unit() < loss[state], delay: None }
            })
            .collect()
    }

    /// Times and ratios of two states are recovered: of 40 intervals of 95 % for each parameter, at least 33 contain it (binomial: below
    /// 33 once in 2,000 times; the seeds are fixed).
    #[test]
    fn two_states_are_recovered() {
        let mut covered = [0; 3];
        for name in 0..40 {
            let series = fates(name, 6_000, 0.02, [2.0, 0.2], [0.0, 0.6]);
            let model = fit(LossFamily::Gilbert, &[&series], 0.02, None).unwrap();
            let states = model.states.unwrap();
            for (covered, (found, truth)) in
                covered.iter_mut().zip([(states.good, 2.0), (states.bad, 0.2), (states.loss_bad, 0.6)])
            {
                *covered +=
                    usize::from(found.interval.is_some_and(|[low, high]| (low..=high).contains(&truth)));
            }
        }
        assert!(covered.iter().all(|covered| *covered >= 33), "{covered:?} of 40");
    }

    /// A burst keeps its length in time, whatever the spacing of the packets.
    #[test]
    fn bursts_last_as_long_at_any_spacing() {
        for spacing in [0.005, 0.02, 0.1] {
            let series = fates(1, 40_000, spacing, [10.0, 0.5], [0.0, 1.0]);
            let states = fit(LossFamily::Bursts, &[&series], spacing, None).unwrap().states.unwrap();
            assert!((states.bad.value - 0.5).abs() < 0.2, "{spacing}: {states:?}");
            let [low, high] = states.bad.interval.unwrap();
            assert!(low < states.bad.value && states.bad.value < high, "{states:?}");
        }
    }
}
