//! The family that predicts held-out blocks of time best.
//!
//! The series is cut into [`BLOCKS`] blocks of equal time. Each of [`FOLDS`] folds leaves out every fifth block, fits each family to the
//! rest, and sums the log-likelihood of each block left out. Of the families within two standard errors of the best, the smallest is
//! chosen. The standard error is that of the differences between blocks.
//!
//! Losses in bursts can be so rare that most blocks have none. Then blocks do not decide, and a larger family of losses is also chosen if
//! its likelihood over the whole series exceeds that of the smaller one by [`RARE_EVIDENCE`] after the penalty of Schwarz (1978).
//!
//! Where the series shows a rate, the families are also compared for the delays without transmission. The best of them, behind the
//! [`bottleneck`], is larger than each family without one.

use crate::bottleneck::{self, Bottleneck};
use crate::correlated::{self, CorrelationTime};
use crate::loss::{self, LossFamily, LossModel};
use crate::regimes::{self, Regimes};
use crate::scores::Scores;
use crate::series::{MOST_COMPARED, Observation, RESOLUTION, Series};

/// Blocks of a series.
pub const BLOCKS: usize = 10;
/// Fits for the held-out likelihood.
pub const FOLDS: usize = 5;
/// Fewer delays than this have no correlation and no regimes.
pub const FEWEST_DELAYS: usize = 100;
/// A difference of log-likelihood that does not count: a larger family has that much by chance.
pub const LEAST_DIFFERENCE: f64 = 2.0;
/// The gain of a larger family of losses, in twice the log-likelihood after Schwarz's penalty: "very strong" by Kass and Raftery (1995).
pub const RARE_EVIDENCE: f64 = 10.0;

/// The family of a model of delay, in order of size.
#[derive(Clone, Debug, PartialEq)]
pub enum DelayModel {
    /// There are no delays.
    Unknown,
    /// One delay for all packets, within 20 µs.
    Constant,
    /// A law, and a correlation time of its normal scores.
    Correlated(CorrelationTime),
    /// A chain in time over laws of delay and loss ratios.
    Regimes(Regimes),
}

impl DelayModel {
    /// Its name in documents.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Constant => "constant",
            Self::Correlated(time) if time.is_bound => "independent",
            Self::Correlated(_) => "correlated",
            Self::Regimes(_) => "regimes",
        }
    }
}

/// A process of delay that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Process {
    Unknown,
    Constant,
    Independent,
    Correlated,
    /// With this many regimes.
    Regimes(usize),
}

/// A family and how well it predicts held-out blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The families of delay and of loss, as `correlated + bernoulli`, `regimes 3`, or `bottleneck + correlated + none`.
    pub name: String,
    /// The log-likelihood of each block left out, less that of independent delays with the same law.
    pub blocks: Vec<f64>,
    /// Whether a check of it failed, so that it is not chosen.
    pub is_refused: bool,
    process: Process,
    has_bottleneck: bool,
}

impl Candidate {
    const fn new(name: String, process: Process, blocks: Vec<f64>) -> Self {
        Self { name, blocks, is_refused: false, process, has_bottleneck: false }
    }

    /// The sum over the blocks.
    pub fn held_out(&self) -> f64 {
        self.blocks.iter().sum()
    }
}

/// What was chosen, and from what.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The bottleneck, if there is one.
    pub bottleneck: Option<Bottleneck>,
    /// Of delay, fitted to the whole series. With a bottleneck, of [`Bottleneck::waiting`].
    pub delay: DelayModel,
    /// Of loss, fitted to the whole series. With [`DelayModel::Regimes`], the regimes have the losses.
    pub loss: LossModel,
    /// The families that were compared, by size.
    pub candidates: Vec<Candidate>,
    /// The place of the chosen one.
    pub chosen: usize,
}

/// Chooses a family for delay and loss, and fits it to the whole series.
pub fn choose(series: &Series) -> Choice {
    let (loss, mut candidates) = compared(series);
    let is_process = |candidates: &[Candidate], series: &Series| {
        series.delays().len() >= FEWEST_DELAYS && candidates[0].process != Process::Unknown
    };
    if is_process(&candidates, series) && candidates[0].process != Process::Constant {
        candidates.extend(
            behind_bottleneck(series)
                .filter(|(waiting, behind)| is_process(behind, waiting))
                .into_iter()
                .flat_map(|(_, behind)| behind),
        );
    }
    Choice { bottleneck: None, delay: DelayModel::Unknown, loss, candidates, chosen: 0 }.with_best(series)
}

/// The waiting before a bottleneck, if there is one, and the families that were compared for it.
fn behind_bottleneck(series: &Series) -> Option<(Series, Vec<Candidate>)> {
    let bottleneck = bottleneck::fit(series)?;
    let waiting = bottleneck.waiting(series);
    let (_, mut candidates) = compared(&waiting);
    let every = thinning(series);
    let ratios = bottleneck.log_ratios(series, &waiting);
    let mut ratios = ratios.into_iter().step_by(every);
    let thinned = series.thinned(every);
    let gains: Vec<f64> =
        thinned.blocks(BLOCKS).iter().map(|block| ratios.by_ref().take(block.len()).sum()).collect();
    for candidate in &mut candidates {
        candidate.name.insert_str(0, "bottleneck + ");
        candidate.has_bottleneck = true;
        candidate.blocks.iter_mut().zip(&gains).for_each(|(block, gain)| *block += gain);
    }
    Some((waiting, candidates))
}

/// Every so many packets are compared: larger models cost more time.
fn thinning(series: &Series) -> usize {
    series.observations().len().div_ceil(MOST_COMPARED)
}

/// The model of losses, and the families of delay, without a bottleneck, in order of size.
fn compared(series: &Series) -> (LossModel, Vec<Candidate>) {
    let spacing = series.spacing(0.5);
    let (loss, losses) = choose_loss(series, spacing);
    let delays = series.delays();
    let scores = Scores::new(&delays);
    let thinned = series.thinned(thinning(series));
    let step = thinned.spacing(0.5);
    let losses = if thinned.observations().len() == series.observations().len() {
        losses
    } else {
        held_out(
            &thinned,
            |train| loss::fit(loss.family, train, step, Some(&loss)).unwrap_or(loss),
            LossModel::log_likelihood,
        )
    };
    let ends = delays
        .iter()
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], delay| [low.min(*delay), high.max(*delay)]);
    let name = |delay: &str| format!("{delay} + {}", loss.family.name());
    if delays.is_empty() || ends[1] - ends[0] <= RESOLUTION {
        let (delay, process) = if delays.is_empty() {
            (DelayModel::Unknown, Process::Unknown)
        } else {
            (DelayModel::Constant, Process::Constant)
        };
        return (loss, vec![Candidate::new(name(delay.name()), process, losses)]);
    }
    let mut candidates = vec![Candidate::new(name("independent"), Process::Independent, losses.clone())];
    if delays.len() < FEWEST_DELAYS {
        return (loss, candidates);
    }
    let correlated = held_out(
        &thinned,
        |train| correlated::fit(train, &scores, step),
        |time, block| {
            if time.is_bound {
                return 0.0;
            }
            correlated::log_likelihood(&correlated::scored(block, &scores), time.time.value)
        },
    );
    let both = losses.iter().zip(&correlated).map(|(a, b)| a + b).collect();
    candidates.push(Candidate::new(name("correlated"), Process::Correlated, both));
    let mut best = f64::NEG_INFINITY;
    for states in 2..=regimes::MOST_REGIMES {
        let blocks = held_out(
            &thinned,
            |train| regimes::fit(states, train, &scores, step, false),
            |regimes, block| {
                let regimes = regimes.as_ref();
                regimes.map_or(f64::NEG_INFINITY, |regimes| regimes.log_likelihood(block, &scores))
            },
        );
        let candidate = Candidate::new(format!("regimes {states}"), Process::Regimes(states), blocks);
        let sum = candidate.held_out();
        candidates.push(candidate);
        if sum <= best || !sum.is_finite() {
            break;
        }
        best = sum;
    }
    (loss, candidates)
}

/// A process fitted to a series. `None` where the series has too few packets for the regimes.
fn fitted(process: Process, series: &Series) -> Option<DelayModel> {
    let scores = Scores::new(&series.delays());
    let spacing = series.spacing(0.5);
    let time = || correlated::fit(&[series.observations()], &scores, spacing);
    Some(match process {
        Process::Unknown => DelayModel::Unknown,
        Process::Constant => DelayModel::Constant,
        Process::Independent if series.delays().len() < FEWEST_DELAYS => {
            let time = crate::Estimate { value: 0.0, interval: None };
            DelayModel::Correlated(CorrelationTime { time, is_bound: true })
        }
        Process::Independent => {
            let longest = time().time.interval.map(|[_, high]| high);
            DelayModel::Correlated(CorrelationTime::independent(spacing, longest))
        }
        Process::Correlated => DelayModel::Correlated(time()),
        Process::Regimes(states) => {
            let thinned = series.thinned(thinning(series));
            let step = thinned.spacing(0.5);
            DelayModel::Regimes(regimes::fit(states, &[thinned.observations()], &scores, step, true)?)
        }
    })
}

impl Choice {
    /// Whether the chosen family is refused.
    pub fn is_refused(&self) -> bool {
        self.candidates.get(self.chosen).is_some_and(|candidate| candidate.is_refused)
    }

    /// Refuses the chosen family, because a check of it failed: of regimes, all numbers of them. `false` if none is left that predicts
    /// held-out blocks about as well as the best one: a check does not refuse a model whose own runs differ too much from each other.
    pub fn refuse(&mut self) -> bool {
        let Some(chosen) = self.candidates.get(self.chosen).cloned() else { return false };
        let is_regimes = |candidate: &Candidate| matches!(candidate.process, Process::Regimes(_));
        for candidate in self.candidates.iter_mut().filter(|one| one.has_bottleneck == chosen.has_bottleneck)
        {
            candidate.is_refused |=
                candidate.process == chosen.process || (is_regimes(candidate) && is_regimes(&chosen));
        }
        smallest_of_the_best(&self.candidates).is_some()
    }

    /// Accepts the best family although a check of it failed, if it has a bottleneck; whether it has. Nothing else has its rate.
    pub fn accept_bottleneck(&mut self) -> bool {
        let best = self.candidates.iter_mut().max_by(|a, b| a.held_out().total_cmp(&b.held_out()));
        let Some(best) = best.filter(|best| best.has_bottleneck) else { return false };
        best.is_refused = false;
        true
    }

    /// The best family of those that are not refused, fitted to the series.
    #[must_use]
    pub fn with_best(mut self, series: &Series) -> Self {
        loop {
            self.chosen = smallest_of_the_best(&self.candidates).unwrap_or(0);
            let Candidate { process, has_bottleneck, .. } = self.candidates[self.chosen];
            self.bottleneck = has_bottleneck.then(|| bottleneck::fit(series)).flatten();
            let waiting = self.bottleneck.as_ref().map(|bottleneck| bottleneck.waiting(series));
            if let Some(delay) = fitted(process, waiting.as_ref().unwrap_or(series)) {
                self.delay = delay;
                return self;
            }
            self.candidates[self.chosen].is_refused = true;
        }
    }

    /// The same families, fitted to another series of the same path. What that series cannot show stays.
    #[must_use]
    pub fn refitted(&self, series: &Series) -> Self {
        let bottleneck =
            self.bottleneck.as_ref().map(|same| bottleneck::fit(series).unwrap_or_else(|| same.clone()));
        let waiting = bottleneck.as_ref().map(|bottleneck| bottleneck.waiting(series));
        let series = waiting.as_ref().unwrap_or(series);
        let spacing = series.spacing(0.5);
        let whole = [series.observations()];
        let scores = Scores::new(&series.delays());
        let delay = match &self.delay {
            DelayModel::Correlated(time) if !time.is_bound => {
                let time = correlated::fit(&whole, &scores, spacing);
                DelayModel::Correlated(time)
            }
            DelayModel::Regimes(regimes) => {
                let fitted = regimes::fit(regimes.regimes.len(), &whole, &scores, regimes.step, false);
                DelayModel::Regimes(fitted.unwrap_or_else(|| regimes.clone()))
            }
            same => same.clone(),
        };
        let loss = loss::fit(self.loss.family, &whole, spacing, Some(&self.loss))
            .or_else(|| loss::fit(LossFamily::Bernoulli, &whole, spacing, None))
            .unwrap_or(self.loss);
        Self { bottleneck, delay, loss, candidates: Vec::new(), chosen: 0 }
    }
}

/// A value for each block, from a fit to the blocks of the other folds.
fn held_out<M>(
    series: &Series,
    fit: impl Fn(&[&[Observation]]) -> M,
    value: impl Fn(&M, &[Observation]) -> f64,
) -> Vec<f64> {
    let blocks = series.blocks(BLOCKS);
    let mut values = vec![0.0; BLOCKS];
    for fold in 0..FOLDS {
        let model = fit(&series.segments(BLOCKS, |block| block % FOLDS != fold));
        for number in (fold..BLOCKS).step_by(FOLDS) {
            values[number] = value(&model, blocks[number]);
        }
    }
    values
}

/// Of the candidates within two standard errors, or [`LEAST_DIFFERENCE`], of the best one, the first that is not refused. The best one may
/// be refused itself.
fn smallest_of_the_best(candidates: &[Candidate]) -> Option<usize> {
    let best = candidates.iter().max_by(|a, b| a.held_out().total_cmp(&b.held_out()))?;
    let is_as_good = |candidate: &Candidate| {
        let differences: Vec<f64> = best.blocks.iter().zip(&candidate.blocks).map(|(a, b)| a - b).collect();
        let count = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let variance = differences.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
        mean <= 2.0 * (variance / count).sqrt() || mean * count <= LEAST_DIFFERENCE
    };
    candidates.iter().position(|candidate| !candidate.is_refused && is_as_good(candidate))
}

/// The model of losses, and the log-likelihood of each block left out.
fn choose_loss(series: &Series, spacing: f64) -> (LossModel, Vec<f64>) {
    let whole = [series.observations()];
    let none = LossModel { family: LossFamily::None, ratio: 0.0, states: None };
    if series.lost() == 0 {
        return (none, vec![0.0; BLOCKS]);
    }
    let mut models = Vec::new();
    let mut candidates = Vec::new();
    for family in LossFamily::WITH_LOSSES {
        let Some(model) = loss::fit(family, &whole, spacing, None) else { continue };
        let blocks = held_out(
            series,
            |train| {
                loss::fit(family, train, spacing, Some(&model))
                    .or_else(|| loss::fit(LossFamily::Bernoulli, train, spacing, None))
                    .unwrap_or(none)
            },
            LossModel::log_likelihood,
        );
        models.push(model);
        candidates.push(Candidate::new(family.name().into(), Process::Unknown, blocks));
    }
    let mut chosen = smallest_of_the_best(&candidates).unwrap_or(0);
    let packets = (series.observations().len().max(1) as f64).ln();
    let schwarz = |model: &LossModel| {
        2.0 * model.log_likelihood(series.observations()) - model.family.parameters() as f64 * packets
    };
    for larger in chosen + 1..models.len() {
        if schwarz(&models[larger]) > schwarz(&models[chosen]) + RARE_EVIDENCE {
            chosen = larger;
        }
    }
    (models[chosen], candidates.swap_remove(chosen).blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlated::tests::delays;
    use crate::loss::tests::fates;

    /// The share of 50 draws in which the generating family or a smaller one is chosen, for losses: at least 80 %, and the very family
    /// in at least half.
    #[test]
    fn the_generating_losses_are_chosen() {
        for (family, means, ratios) in [
            (LossFamily::Bernoulli, [1.0, 1e-9], [0.05, 0.05]),
            (LossFamily::Bursts, [2.0, 0.2], [0.0, 1.0]),
            (LossFamily::Gilbert, [2.0, 0.4], [0.0, 0.5]),
        ] {
            let (mut at_most, mut same) = (0, 0);
            for name in 0..50 {
                let series = Series::new(fates(name, 2_000, 0.02, means, ratios));
                let chosen = choose_loss(&series, 0.02).0.family;
                at_most += u32::from(chosen <= family);
                same += u32::from(chosen == family);
            }
            assert!(at_most >= 40 && same >= 25, "{family:?}: {at_most} {same}");
        }
    }

    /// One outage in a run of two minutes is a burst, though nine of ten blocks have no loss.
    #[test]
    fn one_outage_is_a_burst() {
        let packet = |n: u32| Observation {
            at: f64::from(n) * 0.02,
            size: None,
            is_lost: (2_000..2_025).contains(&n),
            delay: None,
        };
        let series = Series::new((0..6_000).map(packet).collect());
        let (model, _) = choose_loss(&series, 0.02);
        assert_eq!(model.family, LossFamily::Bursts, "{model:?}");
        let bad = model.states.unwrap().bad.value;
        assert!((0.2..1.2).contains(&bad), "{bad}");
    }

    /// Delays that are independent, and delays that are correlated, are recognised in at least 40 of 50 draws.
    #[test]
    fn the_generating_delays_are_chosen() {
        for (time, name) in [(1e-6, "independent"), (0.1, "correlated")] {
            let right = (0..50_u32).filter(|draw| {
                let series = Series::new(delays(*draw, time, (0..1_500).map(|n| f64::from(n) * 0.02)));
                choose(&series).delay.name() == name
            });
            let right = right.count();
            assert!(right >= 40, "{name}: {right}");
        }
    }
}
