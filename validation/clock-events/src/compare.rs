//! A method compared with the reference, row by row: is it as good?

use crate::draws::Draws;
use crate::judge::Counts;
use crate::play::Kind;
use crate::row::{Figures, rms, share};

/// Largest ratio of the root mean square errors.
pub(crate) const RMS_RATIO: f64 = 1.10;
/// Largest loss of recall or precision.
pub(crate) const LOSS: f64 = 0.01;
/// The share of intervals that should contain the truth, lowest and highest, without chance.
pub(crate) const COVERAGE: [f64; 2] = [0.93, 0.97];
/// Standard errors that chance is allowed.
const ERRORS: f64 = 3.0;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 1_000;

/// A method and the reference over the same plays.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Ratio of the root mean square errors over the plays in which both give a rate, and the 95 % interval of the paired bootstrap.
    pub(crate) ratio: Option<(f64, [f64; 2])>,
    /// Whether the method's coverage is 93 to 97 %, or as far from that as the reference's, give or take three standard errors.
    pub(crate) covers: Option<bool>,
    /// Change of recall and of precision over all kinds.
    pub(crate) recall: Option<f64>,
    pub(crate) precision: Option<f64>,
    /// Plays with exactly the true changes: of the reference alone, of the method alone.
    pub(crate) exact_alone: [usize; 2],
    /// Refusals: of the reference, of the method.
    pub(crate) refused: [usize; 2],
}

impl Comparison {
    /// Compares `method` with `reference`, of the same row.
    pub(crate) fn new(reference: &Figures, method: &Figures) -> Self {
        let pairs: Vec<[f64; 2]> = reference
            .outcomes
            .iter()
            .zip(&method.outcomes)
            .filter(|_| method.has_rate)
            .filter_map(|(one, other)| Some([one.rate?.0, other.rate?.0]))
            .collect();
        let gain = |part: &dyn Fn(&Figures) -> Option<f64>| Some(part(method)? - part(reference)?);
        let alone = |a: &Figures, b: &Figures| {
            a.outcomes.iter().zip(&b.outcomes).filter(|(a, b)| a.is_exact() && !b.is_exact()).count()
        };
        Self {
            ratio: ratio(&pairs),
            covers: covers(reference, method),
            recall: gain(&recall),
            precision: gain(&precision),
            exact_alone: [alone(reference, method), alone(method, reference)],
            refused: [reference.refused(), method.refused()],
        }
    }

    /// What is worse than allowed.
    pub(crate) fn worse(&self) -> Vec<&'static str> {
        let lost = |change: Option<f64>| change.is_some_and(|change| change < -LOSS);
        let checks = [
            (self.ratio.is_some_and(|(ratio, [low, _])| ratio > RMS_RATIO && low > 1.0), "RMS"),
            (self.covers == Some(false), "coverage"),
            (lost(self.recall), "recall"),
            (lost(self.precision), "precision"),
            (self.refused[1] > self.refused[0], "refusals"),
        ];
        checks.into_iter().filter(|(is_worse, _)| *is_worse).map(|(_, what)| what).collect()
    }
}

/// Ratio of the second to the first, with its interval.
fn ratio(pairs: &[[f64; 2]]) -> Option<(f64, [f64; 2])> {
    let of = |pairs: &[[f64; 2]]| -> Option<f64> {
        let [one, other] =
            [0, 1].map(|place| rms(&pairs.iter().map(|pair| pair[place]).collect::<Vec<f64>>()));
        Some(other? / one?.max(1e-12))
    };
    let point = of(pairs)?;
    let mut draws = Draws::new(1, 99);
    let mut resampled: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| of(&pairs.iter().map(|_| draws.pick(pairs)).collect::<Vec<[f64; 2]>>()))
        .collect();
    resampled.sort_by(f64::total_cmp);
    let [low, high] = [RESAMPLES / 40, RESAMPLES - RESAMPLES / 40].map(|place| resampled.get(place).copied());
    Some((point, [low?, high?]))
}

fn covers(reference: &Figures, method: &Figures) -> Option<bool> {
    let (own, other) = (method.coverage()?, reference.coverage()?);
    let number = method.outcomes.len().max(1) as f64;
    let spare = |share: f64| ERRORS * (share * (1.0 - share) / number).sqrt();
    let is_within = own >= COVERAGE[0] - spare(COVERAGE[0]) && own <= COVERAGE[1] + spare(COVERAGE[1]);
    let is_as_near = (own - 0.95).abs() <= (other - 0.95).abs() + 1e-9;
    Some(is_within || is_as_near)
}

/// Share of true changes that are reported.
pub(crate) fn recall(figures: &Figures) -> Option<f64> {
    let Counts { truths, matched, .. } = total(figures);
    (truths > 0).then(|| share(matched, truths))
}

/// Share of events that are true changes, or of plays without events if there is none to report.
pub(crate) fn precision(figures: &Figures) -> Option<f64> {
    let Counts { truths, events, matched, .. } = total(figures);
    if truths == 0 {
        return Some(figures.exact());
    }
    (events > 0).then(|| share(matched, events))
}

/// Counts of all kinds over all plays.
fn total(figures: &Figures) -> Counts {
    let mut sum = Counts::default();
    (0..Kind::ALL.len()).for_each(|place| sum.add(figures.counts(place)));
    sum
}
