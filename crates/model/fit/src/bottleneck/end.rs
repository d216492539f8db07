//! The lower end of a law of delays.
//!
//! Without queue all delays are equal but for the noise of time stamps. So the law has an atom at its end b if the queue is often empty. The
//! values below c are used: those within the noise of the least one, and [`EXTREMES`] more. They have the law
//!
//! ```text
//! x ~ share * Normal(b, noise) + (1 - share) * (Uniform(b, c) + Normal(0, noise))
//! ```
//!
//! The end is a place, and c - b a scale. For these the posterior of the prior 1 / (c - b) has the frequencies of its probabilities. Without
//! noise and without an atom it is the rule of Robson and Whitlock (1964): the distance of b from the least of k values exceeds x times
//! their range with the probability (1 + x)^-k.
//!
//! A priori there is an atom with probability 1/2, and its share of all values is even between 0 and 1. So a few values near the end are
//! seldom one.

use statrs::function::erf::erfc;

use crate::optimum::maximum;
use crate::series::RESOLUTION;

/// The fewest values beyond the noise.
const EXTREMES: usize = 10;
/// Deviations of the noise on either side of an atom that hold all of it: all but one of 30,000 values.
const NOISE: f64 = 4.0;
/// Deviations of the noise from the end at which the noise is 0.
const FAR: f64 = 7.0;
/// Noises that are less probable than this, given the most probable end, are left out of the integral.
const LEAST_PROBABILITY: f64 = 1e-6;
/// The most values of the sum. Of an atom of more, every second or fewer are used.
const MOST_VALUES: usize = 200;
/// Shares of an atom that are distinguished; 0 is another one.
const SHARES: usize = 16;
/// Noises that are distinguished where the noise is unknown, evenly in their logs from the least one to [`RESOLUTION`].
const NOISES: u32 = 8;
/// The least noise in seconds.
const LEAST_NOISE: f64 = 100e-9;
/// Places where the posterior is first looked at: quantiles of the values, and as many below the least value.
const PLACES: usize = 24;
/// The least distance of a place from the least value, and from the maximum, as a share of the greatest one.
const NEAREST: f64 = 1e-4;
/// The log of the posterior falls by this much at the ends of the range that is integrated.
const DROP: f64 = 12.0;
/// Halvings of the search for these ends.
const HALVINGS: usize = 6;
/// Steps of the integral on either side of the maximum.
const STEPS: u32 = 50;
/// Factors that are multiplied before their log is taken: none is beyond 1e9.
const FACTORS: usize = 32;

/// The end of a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct End {
    /// The median of the posterior, and the ends of its middle 95 %.
    pub(crate) value: f64,
    pub(crate) interval: [f64; 2],
    /// The deviation of the noise of a value: as it was given, else its mean at the maximum of the posterior.
    pub(crate) noise: f64,
    /// The values near the end that were used.
    pub(crate) used: usize,
}

/// The lower end of the law of `values`. `noise` is the deviation of a value, if it is known. `None` where there are too few values.
pub(crate) fn lower(values: &[f64], noise: Option<f64>) -> Option<End> {
    let mut window = Window::new(values, noise)?;
    let (best, around) = window.maximum();
    let probabilities = window.noise_probabilities(best);
    let mean = window.noises.iter().zip(&probabilities).map(|(noise, probability)| noise * probability).sum();
    let mut probabilities = probabilities.into_iter();
    window.noises.retain(|_| probabilities.next().is_some_and(|one| one >= LEAST_PROBABILITY));
    let [from, to] = window.range(best, around);
    // Places on both sides of the maximum, farther and farther apart: what is near it may be narrow.
    let distance = |step: u32| NEAREST.powf(f64::from(STEPS - step) / f64::from(STEPS));
    let before = (1..=STEPS).rev().map(|step| best - (best - from) * distance(step));
    let after = (1..=STEPS).map(|step| best + (to - best) * distance(step));
    let places: Vec<f64> = before.chain([best]).chain(after).collect();
    let peak = window.log_posterior(best);
    let densities: Vec<f64> =
        places.iter().map(|place| (window.log_posterior(*place) - peak).exp()).collect();
    let shares: Vec<f64> = places
        .windows(2)
        .zip(densities.windows(2))
        .map(|(places, densities)| (places[1] - places[0]) * (densities[0] + densities[1]))
        .collect();
    let whole: f64 = shares.iter().sum();
    let quantile = |p: f64| {
        let mut below = 0.0;
        for (share, places) in shares.iter().zip(places.windows(2)) {
            if below + share >= p * whole {
                return places[0] + (places[1] - places[0]) * (p * whole - below) / share;
            }
            below += share;
        }
        to
    };
    whole.is_finite().then(|| End {
        value: quantile(0.5),
        interval: [0.025, 0.975].map(quantile),
        noise: mean,
        used: window.values.len(),
    })
}

/// The log of the sum of numbers with these logs.
fn log_sum(logs: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = logs.collect();
    let greatest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !greatest.is_finite() {
        return greatest;
    }
    greatest + logs.iter().map(|log| (log - greatest).exp()).sum::<f64>().ln()
}

/// The values from the end up to a value that is not among them.
struct Window {
    /// Ascending.
    values: Vec<f64>,
    /// The value beyond them.
    cut: f64,
    noises: Vec<f64>,
    /// The shares of an atom, with the prior of each.
    shares: Vec<[f64; 2]>,
}

impl Window {
    fn new(values: &[f64], noise: Option<f64>) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let widest = noise.unwrap_or(RESOLUTION).max(LEAST_NOISE);
        let atom = sorted.first()? + 2.0 * NOISE * widest;
        let count = (sorted.partition_point(|value| *value <= atom) + EXTREMES).min(sorted.len() - 1);
        if count < EXTREMES {
            return None;
        }
        // Where all values are within the noise, nothing is known beyond it.
        let cut = sorted[count].max(atom);
        let near: Vec<f64> = values.iter().copied().filter(|value| *value < cut).collect();
        let mut near: Vec<f64> =
            near.iter().copied().step_by(near.len().div_ceil(MOST_VALUES).max(1)).collect();
        near.sort_by(f64::total_cmp);
        near.first()?;
        let noises = match noise {
            Some(_) => vec![widest],
            None => (0..NOISES)
                .map(|step| {
                    LEAST_NOISE * (RESOLUTION / LEAST_NOISE).powf(f64::from(step) / f64::from(NOISES - 1))
                })
                .collect(),
        };
        // The share of an atom among these values is greater than among all.
        let among = count as f64 / sorted.len() as f64;
        let share = |step: usize| {
            let angle = std::f64::consts::FRAC_PI_2 * (step as f64 + 0.5) / SHARES as f64;
            let width = std::f64::consts::FRAC_PI_2 / SHARES as f64 * (2.0 * angle).sin();
            [angle.sin().powi(2), among * width]
        };
        let shares = std::iter::once([0.0, 1.0]).chain((0..SHARES).map(share)).collect();
        Some(Self { values: near, cut, noises, shares })
    }

    /// The log of the posterior density of an end, without a constant.
    fn log_posterior(&self, end: f64) -> f64 {
        log_sum(self.noises.iter().flat_map(|noise| self.log_likelihoods(end, *noise)))
            - (self.cut - end).ln()
    }

    /// The probability of each noise, given the end.
    fn noise_probabilities(&self, end: f64) -> Vec<f64> {
        let log = |noise: &f64| log_sum(self.log_likelihoods(end, *noise).into_iter());
        let logs: Vec<f64> = self.noises.iter().map(log).collect();
        let whole = log_sum(logs.iter().copied());
        logs.into_iter().map(|log| (log - whole).exp()).collect()
    }

    /// With each share of an atom, and its prior.
    fn log_likelihoods(&self, end: f64, noise: f64) -> Vec<f64> {
        let below = |x: f64| 0.5 * erfc(-x / std::f64::consts::SQRT_2);
        let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let width = (self.cut - end) / noise;
        // What the cut leaves of both laws, in units of the noise.
        let (of_atom, of_rest) = (below(width), width * below(width) + density(width));
        // Far from the end the noise changes nothing.
        let near = self.values.partition_point(|value| *value < end + FAR * noise);
        let far = (self.values.len() - near) as f64;
        let mut rest = -far * of_rest.ln() - self.values.len() as f64 * noise.ln();
        let mut ratios = Vec::with_capacity(near);
        for value in &self.values[..near] {
            let x = (value - end) / noise;
            let even = (below(x) / of_rest).max(f64::MIN_POSITIVE);
            rest += even.ln();
            ratios.push(density(x) / of_atom / even);
        }
        let log = |[share, prior]: &[f64; 2]| {
            let factor =
                |chunk: &[f64]| chunk.iter().map(|ratio| 1.0 - share + share * ratio).product::<f64>().ln();
            let factors: f64 = ratios.chunks(FACTORS).map(factor).sum();
            rest + factors + far * (1.0 - share).ln() + prior.ln()
        };
        self.shares.iter().map(log).collect()
    }

    /// The maximum of the posterior, and the distance of the places around it that were looked at.
    fn maximum(&self) -> (f64, f64) {
        let (least, last) = (self.values[0], self.values.len() - 1);
        let range = self.cut - least;
        let beyond = |step: usize| least - range * NEAREST.powf(1.0 - (step as f64 + 1.0) / PLACES as f64);
        let quantile = |step: usize| self.values[last * step / PLACES];
        let mut places: Vec<f64> = (0..PLACES).map(beyond).chain((0..PLACES).map(quantile)).collect();
        places.sort_by(f64::total_cmp);
        let logs: Vec<f64> = places.iter().map(|place| self.log_posterior(*place)).collect();
        let best = (0..logs.len()).max_by(|a, b| logs[*a].total_cmp(&logs[*b])).unwrap_or(0);
        let [before, after] = [best.saturating_sub(1), (best + 1).min(places.len() - 1)].map(|at| places[at]);
        (maximum(|place| self.log_posterior(place), before, after, 4), after - before)
    }

    /// The ends of the range around the maximum that has nearly all of the posterior.
    fn range(&self, best: f64, around: f64) -> [f64; 2] {
        let level = self.log_posterior(best) - DROP;
        [-1.0, 1.0].map(|towards| {
            // Beyond the cut there is no end.
            let place = |distance: f64| (best + towards * distance).min(self.cut);
            let is_inside =
                |distance: f64| place(distance) < self.cut && self.log_posterior(place(distance)) >= level;
            let mut outside = around.max(LEAST_NOISE);
            while is_inside(outside) {
                outside *= 2.0;
            }
            let mut inside = 0.0;
            for _ in 0..HALVINGS {
                let middle = (inside + outside) / 2.0;
                *(if is_inside(middle) { &mut inside } else { &mut outside }) = middle;
            }
            place(outside)
        })
    }
}

#[cfg(test)]
mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;
    use crate::correlated::tests::normal;

    /// Of 200 intervals of 95 %, 180 to 197 contain the end (a binomial number is outside once in 200 times; the seeds are fixed), 90 to 98 %:
    /// of an even law with a value every 4 us, with little and with much noise, and of a law with an atom. So they do where the noise is
    /// unknown.
    #[test]
    fn ends_are_recovered() {
        for (atom, noise) in [(0.0, 0.1e-6), (0.0, 2e-6), (0.0, 10e-6), (0.5, 2e-6)] {
            for is_known in [true, false] {
                let covered = (0..200).filter(|name| {
                    let random = RandomStream::new(Seed([8, 2, 8, 1, 8, 2]), [*name, 0]);
                    let mut normal = normal(name + 5_000);
                    let value = |n: u64| {
                        let is_waiting = random.unit(2 * n) >= atom;
                        let wait = if is_waiting { random.unit(2 * n + 1) * 1.2e-3 } else { 0.0 };
                        wait + noise * normal()
                    };
                    let values: Vec<f64> = (0..300).map(value).collect();
                    let [low, high] = lower(&values, is_known.then_some(noise)).unwrap().interval;
                    (low..=high).contains(&0.0)
                });
                let covered = covered.count();
                assert!((180..=197).contains(&covered), "{covered} of 200: {atom} {noise} {is_known}");
            }
        }
    }

    /// Equal values are their own end, and too few values have none.
    #[test]
    fn equal_values_are_the_end() {
        let found = lower(&[0.02; 50], Some(1e-6)).unwrap();
        assert!(
            (found.value - 0.02).abs() < 1e-6 && found.interval[1] - found.interval[0] < 2e-6,
            "{found:?}"
        );
        assert_eq!(lower(&[0.02; 10], None), None);
    }
}
