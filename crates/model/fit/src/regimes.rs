//! Delay and loss together: a hidden Markov chain in time over regimes.
//!
//! The chain changes its state on a grid of [`Regimes::step`]. Each regime has a loss ratio, a law of delay, and a correlation time of the
//! normal scores of its own law. A new regime begins with a delay of its own. Laws are histograms over classes of delay
//! (`Scores::classes`): equal shares of all delays, divided at equal steps of delay. A rare regime with delays of its own has classes of
//! its own.
//! Between packets several steps apart the chain follows a power of its transition matrix.
//!
//! The parameters are found by expectation and maximisation (Baum and others 1970), from several starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Estimate;
use crate::correlated::ratio;
use crate::optimum::{half_widths, log_product};
use crate::scores::{Scores, normal_quantile};
use crate::series::Observation;

/// The most regimes.
pub const MOST_REGIMES: usize = 8;
/// The least probability with which a regime lasts until the next packet. Regimes that last for less than two packets on average are a pattern
/// of single packets, and nothing in time.
const LEAST_STAY: f64 = 0.5;
/// Rounds of expectation and maximisation from each start; then the best of them goes on.
const FIRST_ROUNDS: usize = 6;
/// Rounds at most.
const ROUNDS: usize = 60;
/// A round that gains less log-likelihood than this is the last.
const LEAST_GAIN: f64 = 0.2;
/// Packets whose ranks are averaged for a first guess of the regime.
const WINDOW: usize = 11;
/// Delays that each regime has in addition, evenly among all, so that no class is impossible.
const PRIOR: f64 = 10.0;
/// Cells of the table of a regime's scores over the ranks of delays.
const CELLS: usize = 400;
/// The smallest probability of a transition or fate.
const LEAST_PROBABILITY: f64 = 1e-6;
/// Correlations within a regime that are tried, at the grid's step: this many, evenly below [`HIGHEST_CORRELATION`].
const CORRELATIONS: u32 = 50;
const HIGHEST_CORRELATION: f64 = 0.98;
/// Steps from one score to the next that are distinguished; more count as this many.
const MOST_STEPS: usize = 64;
/// Steps between two packets from which on the chain has forgotten its state.
const LONGEST_GAP: usize = 1 << 14;

/// One regime.
#[derive(Clone, Debug, PartialEq)]
pub struct Regime {
    /// The mean time from its beginning to its end, in seconds.
    pub sojourn: Estimate,
    /// The share of its packets that are lost.
    pub loss_ratio: Estimate,
    /// The density of its delays over that of all delays, in each class.
    pub law: Vec<f64>,
    /// The correlation time of its delays in seconds; 0 where they are independent.
    pub correlation_time: Estimate,
    /// The share of time in it.
    pub share: f64,
}

/// A hidden chain over regimes.
#[derive(Clone, Debug, PartialEq)]
pub struct Regimes {
    /// Seconds from one step of the chain to the next.
    pub step: f64,
    /// The ends of the classes of delay, as ranks among all delays, from 0 to 1.
    pub classes: Vec<f64>,
    /// A row for each regime: the probabilities of the next one, itself included.
    pub transition: Vec<Vec<f64>>,
    /// By ascending mean of their delays.
    pub regimes: Vec<Regime>,
}

/// The parameters alone.
#[derive(Clone, Debug)]
struct Chain {
    step: f64,
    /// The ends of the classes of delay.
    classes: Vec<f64>,
    rows: Vec<Vec<f64>>,
    states: Vec<State>,
}

#[derive(Clone, Debug)]
struct State {
    loss: f64,
    /// The density of delays over that of all delays, in each class.
    law: Vec<f64>,
    /// The normal score within the law, by rank among all delays.
    scores: Vec<f64>,
    /// Of scores at one step.
    correlation: f64,
}

/// What one packet shows, in steps of the grid.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Steps since the packet before.
    gap: usize,
    is_lost: bool,
    /// Of its delay among all delays, and the class of it.
    rank: Option<f64>,
    class: usize,
    /// The rank before, and how many steps ago.
    before: Option<(f64, usize)>,
}

fn steps(time: f64, step: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, and at least 0")]
    let steps = (time / step).round().max(0.0) as usize;
    steps
}

fn points(segment: &[Observation], scores: &Scores, step: f64, classes: &[f64]) -> Vec<Point> {
    let mut last: Option<(f64, f64)> = None;
    let mut at = segment.first().map_or(0.0, |one| one.at);
    segment
        .iter()
        .map(|one| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "rounded, and at least 0"
            )]
            let gap = (((one.at - at) / step).round().max(0.0) as usize).min(LONGEST_GAP);
            at = one.at;
            let rank = one.delay.map(|delay| scores.rank(delay));
            let before = last.map(|(when, rank)| (rank, steps(one.at - when, step).clamp(1, MOST_STEPS)));
            if let Some(rank) = rank {
                last = Some((one.at, rank));
            }
            let class = rank.map_or(0, |rank| class(rank, classes));
            Point { gap, is_lost: one.is_lost, rank, class, before }
        })
        .collect()
}

fn multiply(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = a.len();
    let cell = |i: usize, j: usize| (0..n).map(|k| a[i][k] * b[k][j]).sum();
    (0..n).map(|i| (0..n).map(|j| cell(i, j)).collect()).collect()
}

/// Powers of a matrix that are needed.
fn powers(rows: &[Vec<f64>], exponents: impl Iterator<Item = usize>) -> BTreeMap<usize, Vec<Vec<f64>>> {
    let n = rows.len();
    let unit: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect();
    let mut powers = BTreeMap::new();
    for exponent in exponents {
        powers.entry(exponent).or_insert_with(|| {
            let (mut result, mut square, mut left) = (unit.clone(), rows.to_vec(), exponent);
            while left > 0 {
                if left % 2 == 1 {
                    result = multiply(&result, &square);
                }
                square = multiply(&square, &square);
                left /= 2;
            }
            result
        });
    }
    powers
}

/// The stationary distribution of a transition matrix.
fn stationary(rows: &[Vec<f64>]) -> Vec<f64> {
    let n = rows.len();
    let mut square = rows.to_vec();
    // 2^40 steps.
    for _ in 0..40 {
        square = multiply(&square, &square);
        for row in &mut square {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|value| *value /= sum);
        }
    }
    (0..n).map(|j| (0..n).map(|i| square[i][j]).sum::<f64>() / n as f64).collect()
}

/// Sums over weighted pairs of a score and the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    weight: f64,
    squares: f64,
    product: f64,
}

/// Sums of expectation for one regime.
#[derive(Clone, Debug)]
struct Weights {
    lost: f64,
    sent: f64,
    /// Of delays in each class.
    classes: Vec<f64>,
    /// Of pairs of delays so many steps apart, both in the regime.
    pairs: Vec<Moments>,
}

impl Weights {
    /// Of a regime with so many classes.
    fn new(classes: usize) -> Self {
        let pairs = vec![Moments::default(); MOST_STEPS + 1];
        Self { lost: 0.0, sent: 0.0, classes: vec![0.0; classes], pairs }
    }

    fn add(&mut self, point: &Point, weight: f64) {
        self.sent += weight;
        if point.is_lost {
            self.lost += weight;
        }
        if point.rank.is_some() {
            self.classes[point.class] += weight;
        }
    }
}

/// The number of the class of `rank`. `classes` has the ends of at least one.
fn class(rank: f64, classes: &[f64]) -> usize {
    classes[1..classes.len() - 1].partition_point(|end| *end <= rank)
}

/// The cell of `rank`, of `count` even ones.
fn place(rank: f64, count: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank is from 0 to 1")]
    let place = (rank * count as f64) as usize;
    place.min(count - 1)
}

fn power(base: f64, exponent: usize) -> f64 {
    base.powi(i32::try_from(exponent).unwrap_or(i32::MAX))
}

impl State {
    fn new(loss: f64, law: Vec<f64>, correlation: f64, classes: &[f64]) -> Self {
        // The share of its delays below each class.
        let mut below = Vec::with_capacity(law.len());
        let mut share = 0.0;
        for (density, ends) in law.iter().zip(classes.windows(2)) {
            below.push(share);
            share += density * (ends[1] - ends[0]);
        }
        let score = |cell: usize| {
            let rank = (cell as f64 + 0.5) / CELLS as f64;
            let class = class(rank, classes);
            normal_quantile((below[class] + law[class] * (rank - classes[class])).clamp(1e-5, 1.0 - 1e-5))
        };
        let scores = (0..CELLS).map(score).collect();
        Self { loss, law, scores, correlation }
    }

    /// From sums of expectation; what they do not show stays.
    fn improved(&self, weights: &Weights, classes: &[f64]) -> Self {
        let delays: f64 = weights.classes.iter().sum();
        let loss = if weights.sent > 0.0 { weights.lost / weights.sent } else { self.loss };
        let widths = classes.windows(2).map(|ends| ends[1] - ends[0]);
        let density = |(class, width): (&f64, f64)| (class / width + PRIOR) / (delays + PRIOR);
        Self::new(
            loss.clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY),
            weights.classes.iter().zip(widths).map(density).collect(),
            weights.correlation().unwrap_or(self.correlation),
            classes,
        )
    }

    fn score(&self, rank: f64) -> f64 {
        self.scores[place(rank, CELLS)]
    }

    /// The density of the fate and the delay over that of an independent delay: if the regime is new, and if it is that of the delay before.
    fn densities(&self, point: &Point) -> [f64; 2] {
        if point.is_lost {
            return [self.loss; 2];
        }
        let Some(rank) = point.rank else { return [1.0 - self.loss; 2] };
        let fresh = (1.0 - self.loss) * self.law[point.class];
        let Some((before, steps)) = point.before.filter(|_| self.correlation > 0.0) else {
            return [fresh; 2];
        };
        let correlation = power(self.correlation, steps);
        [fresh, fresh * ratio(self.score(before), self.score(rank), correlation)]
    }
}

/// What the forward pass gives.
struct Forward {
    /// Of each point and state, in rows of points: the probability given the points so far.
    probabilities: Vec<f64>,
    /// Likewise: the density if the state is new, and if it is that of the point before.
    densities: Vec<[f64; 2]>,
    scales: Vec<f64>,
    powers: BTreeMap<usize, Vec<Vec<f64>>>,
    log_likelihood: f64,
}

impl Chain {
    fn forward(&self, points: &[Point]) -> Forward {
        let n = self.states.len();
        let powers = powers(&self.rows, points.iter().map(|point| point.gap));
        let mut densities = Vec::with_capacity(points.len() * n);
        for point in points {
            densities.extend(self.states.iter().map(|state| state.densities(point)));
        }
        let mut forward = vec![0.0; points.len() * n];
        let mut scales = Vec::with_capacity(points.len());
        let start = stationary(&self.rows);
        for (number, point) in points.iter().enumerate() {
            let (past, rest) = forward.split_at_mut(number * n);
            let now = &mut rest[..n];
            let densities = &densities[number * n..(number + 1) * n];
            if number == 0 {
                (0..n).for_each(|k| now[k] = start[k] * densities[k][0]);
            } else {
                let before = &past[(number - 1) * n..];
                for ((j, row), before) in powers[&point.gap].iter().enumerate().zip(before) {
                    for (k, now) in now.iter_mut().enumerate() {
                        *now += before * row[k] * densities[k][usize::from(j == k)];
                    }
                }
            }
            let scale = now.iter().sum::<f64>().max(1e-150);
            now.iter_mut().for_each(|value| *value /= scale);
            scales.push(scale);
        }
        let log_likelihood = log_product(scales.iter().copied());
        Forward { probabilities: forward, densities, scales, powers, log_likelihood }
    }

    /// Adds the sums of expectation of a segment; its log-likelihood.
    fn expect(&self, points: &[Point], weights: &mut [Weights], counts: &mut [Vec<f64>]) -> f64 {
        let n = self.states.len();
        let passed = self.forward(points);
        let mut backward = vec![1.0; n];
        let mut earlier = vec![0.0; n];
        for (number, point) in points.iter().enumerate().rev() {
            let now = &passed.probabilities[number * n..(number + 1) * n];
            for (k, weights) in weights.iter_mut().enumerate() {
                weights.add(point, now[k] * backward[k]);
            }
            if number == 0 {
                break;
            }
            let rows = &passed.powers[&point.gap];
            let densities = &passed.densities[number * n..(number + 1) * n];
            let before = &passed.probabilities[(number - 1) * n..number * n];
            earlier.fill(0.0);
            for k in 0..n {
                for j in 0..n {
                    let density = densities[k][usize::from(j == k)];
                    let reached = rows[j][k] * density * backward[k] / passed.scales[number];
                    earlier[j] += reached;
                    let pair = before[j] * reached;
                    // Longer gaps do not show single transitions.
                    if point.gap == 1 {
                        counts[j][k] += pair;
                    }
                    if let (true, Some(rank), Some((from, steps))) = (j == k, point.rank, point.before) {
                        let [from, to] = [from, rank].map(|rank| self.states[k].score(rank));
                        let moments = &mut weights[k].pairs[steps];
                        moments.weight += pair;
                        moments.squares += pair * (from * from + to * to);
                        moments.product += pair * from * to;
                    }
                }
            }
            std::mem::swap(&mut backward, &mut earlier);
        }
        passed.log_likelihood
    }

    /// One round of expectation and maximisation; the log-likelihood before it.
    fn improve(&mut self, segments: &[Vec<Point>]) -> f64 {
        let n = self.states.len();
        let mut weights = vec![Weights::new(self.classes.len() - 1); n];
        let mut counts = vec![vec![0.0; n]; n];
        let sum = segments.iter().map(|points| self.expect(points, &mut weights, &mut counts)).sum();
        for (row, counts) in self.rows.iter_mut().zip(&counts) {
            let total: f64 = counts.iter().sum();
            if total > 0.0 {
                let share = |count: &f64| (count / total).max(LEAST_PROBABILITY);
                let whole: f64 = counts.iter().map(share).sum();
                row.iter_mut().zip(counts).for_each(|(value, count)| *value = share(count) / whole);
            }
        }
        for (state, weights) in self.states.iter_mut().zip(&weights) {
            *state = state.improved(weights, &self.classes);
        }
        sum
    }
}

impl Weights {
    /// The correlation at one step of greatest likelihood; `None` without pairs.
    fn correlation(&self) -> Option<f64> {
        let used: Vec<(usize, Moments)> =
            self.pairs.iter().copied().enumerate().filter(|(_, pairs)| pairs.weight > 0.0).collect();
        let value = |correlation: f64| -> f64 {
            let each = used.iter().map(|(steps, pairs)| {
                let c = power(correlation, *steps);
                let variance = 1.0 - c * c;
                -0.5 * (pairs.weight * variance.ln()
                    + (c * c * pairs.squares - 2.0 * c * pairs.product) / variance)
            });
            each.sum()
        };
        let tried = (0..CORRELATIONS).map(|number| {
            let correlation = HIGHEST_CORRELATION * f64::from(number) / f64::from(CORRELATIONS - 1);
            (correlation, value(correlation))
        });
        let best = tried.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (!used.is_empty()).then_some(best.0)
    }
}

/// First guesses of the regimes of all packets: by the mean rank around each, and in one guess by the losses around it.
fn guesses(states: usize, segments: &[Vec<Point>]) -> Vec<Vec<Vec<usize>>> {
    let mut levels: Vec<Vec<[f64; 2]>> = Vec::new();
    for points in segments {
        let around = |number: usize| {
            &points[number.saturating_sub(WINDOW / 2)..(number + WINDOW / 2 + 1).min(points.len())]
        };
        let level = |number: usize| {
            let around = around(number);
            let (sum, count) = around
                .iter()
                .filter_map(|point| point.rank)
                .fold((0.0, 0.0), |(sum, count), rank| (sum + rank, count + 1.0));
            let lost = around.iter().filter(|point| point.is_lost).count() as f64 / around.len() as f64;
            [if count > 0.0 { sum / count } else { 0.5 }, lost]
        };
        levels.push((0..points.len()).map(level).collect());
    }
    let mut sorted: Vec<f64> = levels.iter().flatten().map(|level| level[0]).collect();
    sorted.sort_by(f64::total_cmp);
    let lossy = levels.iter().flatten().any(|level| level[1] > 0.3);
    let by_level = |states: usize, value: f64, is_even: bool| {
        let class = (1..states).filter(|class| {
            let cut = if is_even {
                // Equal parts of the range between the outermost hundredths.
                let [low, high] = [sorted[sorted.len() / 100], sorted[sorted.len() - 1 - sorted.len() / 100]];
                low + (high - low) * *class as f64 / states as f64
            } else {
                sorted[sorted.len() * class / states]
            };
            value >= cut
        });
        class.count()
    };
    let guess = |has_lossy: bool, is_even: bool| -> Vec<Vec<usize>> {
        let one = |level: &[f64; 2]| match (has_lossy, level[1] > 0.3) {
            (true, true) => states - 1,
            (true, false) => by_level(states - 1, level[0], is_even),
            (false, _) => by_level(states, level[0], is_even),
        };
        levels.iter().map(|levels| levels.iter().map(one).collect()).collect()
    };
    let mut all = vec![guess(false, true), guess(false, false)];
    if lossy {
        all.push(guess(true, true));
    }
    all
}

/// A chain from a guess.
fn from_guess(
    states: usize,
    step: f64,
    classes: &[f64],
    segments: &[Vec<Point>],
    guess: &[Vec<usize>],
) -> Chain {
    let mut weights = vec![Weights::new(classes.len() - 1); states];
    let mut rows = vec![vec![0.5 / states as f64; states]; states];
    for (points, guess) in segments.iter().zip(guess) {
        points.iter().zip(guess).for_each(|(point, state)| weights[*state].add(point, 1.0));
        guess.windows(2).for_each(|pair| rows[pair[0]][pair[1]] += 1.0);
    }
    for row in &mut rows {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
    let even = State::new(0.01, vec![1.0; classes.len() - 1], 0.0, classes);
    let states = weights.iter().map(|weights| even.improved(weights, classes)).collect();
    Chain { step, classes: classes.to_vec(), rows, states }
}

#[expect(clippy::cast_possible_truncation, reason = "a step is far below a year")]
fn nanoseconds(seconds: f64) -> romer_impair::Nanos {
    (seconds * 1e9) as romer_impair::Nanos
}

/// Fits `states` regimes to segments of time; `step` is the spacing of the packets. Intervals are computed if `has_intervals`. `None` where
/// there are too few packets, a regime has less than 0.2 % of the time, or the emulator cannot play the chain because it remembers its
/// state for too many steps.
pub fn fit(
    states: usize,
    segments: &[&[Observation]],
    scores: &Scores,
    step: f64,
    has_intervals: bool,
) -> Option<Regimes> {
    let classes = scores.classes();
    let segments: Vec<Vec<Point>> =
        segments.iter().map(|segment| points(segment, scores, step, &classes)).collect();
    let packets: usize = segments.iter().map(Vec::len).sum();
    if packets < 50 * states || step <= 0.0 {
        return None;
    }
    let run = |chain: &mut Chain, rounds: usize| {
        let mut last = f64::NEG_INFINITY;
        for _ in 0..rounds {
            let value = chain.improve(&segments);
            if value - last < LEAST_GAIN {
                return value;
            }
            last = value;
        }
        last
    };
    let mut best: Option<(Chain, f64)> = None;
    for guess in guesses(states, &segments) {
        let mut chain = from_guess(states, step, &classes, &segments, &guess);
        let value = run(&mut chain, FIRST_ROUNDS);
        if best.as_ref().is_none_or(|best| value > best.1) {
            best = Some((chain, value));
        }
    }
    let (mut chain, _) = best?;
    run(&mut chain, ROUNDS);
    let mut order: Vec<usize> = (0..states).collect();
    // The mean rank of its delays: the densities over [0, 1] have the integral 1.
    let level = |state: usize| -> f64 {
        let law = chain.states[state].law.iter();
        law.zip(classes.windows(2))
            .map(|(density, ends)| density * (ends[1] * ends[1] - ends[0] * ends[0]) / 2.0)
            .sum()
    };
    order.sort_by(|a, b| level(*a).total_cmp(&level(*b)));
    chain = Chain {
        step,
        classes,
        rows: order.iter().map(|i| order.iter().map(|j| chain.rows[*i][*j]).collect()).collect(),
        states: order.iter().map(|i| chain.states[*i].clone()).collect(),
    };
    romer_impair::Regimes::new(nanoseconds(step), &chain.rows, (0..states).map(|_| Arc::new(())).collect())
        .ok()?;
    let share = stationary(&chain.rows);
    let estimates = |state: usize, is_measured: bool| -> Regime {
        let one = &chain.states[state];
        let stay = chain.rows[state][state].min(1.0 - LEAST_PROBABILITY);
        let of = |value: f64| Estimate { value, interval: None };
        let time = if one.correlation > 0.0 { -step / one.correlation.ln() } else { 0.0 };
        let mut regime = Regime {
            sojourn: of(step / (1.0 - stay)),
            loss_ratio: of(if one.loss <= 2.0 * LEAST_PROBABILITY { 0.0 } else { one.loss }),
            law: one.law.clone(),
            correlation_time: of(time),
            share: share[state],
        };
        if is_measured {
            chain.intervals(state, &segments, &mut regime);
        }
        regime
    };
    let is_sound = (0..states).all(|state| share[state] > 0.002 && chain.rows[state][state] >= LEAST_STAY);
    is_sound.then(|| Regimes {
        step,
        classes: chain.classes.clone(),
        regimes: (0..states).map(|state| estimates(state, has_intervals)).collect(),
        transition: chain.rows.clone(),
    })
}

impl Chain {
    /// The intervals of one regime, by the observed information of its parameters.
    fn intervals(&self, state: usize, segments: &[Vec<Point>], regime: &mut Regime) {
        let one = &self.states[state];
        let odds = |p: f64| (p / (1.0 - p)).ln();
        let back = |x: f64| 1.0 / (1.0 + (-x).exp());
        let stay = self.rows[state][state].clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY);
        let best = [odds(stay), odds(one.loss), odds(one.correlation.clamp(0.001, 0.999))];
        let likelihood = |place: &[f64]| {
            let mut chain = self.clone();
            let stay_now = back(place[0]);
            for (k, value) in chain.rows[state].iter_mut().enumerate() {
                *value = if k == state { stay_now } else { *value * (1.0 - stay_now) / (1.0 - stay) };
            }
            chain.states[state].loss = back(place[1]);
            if one.correlation > 0.0 {
                chain.states[state].correlation = back(place[2]);
            }
            segments.iter().map(|points| chain.forward(points).log_likelihood).sum()
        };
        // What is at a bound has no curvature.
        let free: Vec<usize> = (0..3)
            .filter(|place| match place {
                1 => one.loss > 2.0 * LEAST_PROBABILITY && one.loss < 1.0 - 2.0 * LEAST_PROBABILITY,
                2 => one.correlation > 0.0,
                _ => true,
            })
            .collect();
        let start: Vec<f64> = free.iter().map(|place| best[*place]).collect();
        let widths = half_widths(
            |values| {
                let mut place = best;
                free.iter().zip(values).for_each(|(at, value)| place[*at] = *value);
                likelihood(&place)
            },
            &start,
        );
        for (at, width) in free.iter().zip(widths) {
            let Some(width) = width else { continue };
            let ends = [best[*at] - width, best[*at] + width];
            match at {
                0 => regime.sojourn.interval = Some(ends.map(|end| self.step / (1.0 - back(end)).max(1e-12))),
                1 => regime.loss_ratio.interval = Some(ends.map(back)),
                _ => regime.correlation_time.interval = Some(ends.map(|end| -self.step / back(end).ln())),
            }
        }
    }
}

impl Regimes {
    fn chain(&self) -> Chain {
        let state = |regime: &Regime| {
            let time = regime.correlation_time.value;
            let correlation = if time > 0.0 { (-self.step / time).exp() } else { 0.0 };
            let loss = regime.loss_ratio.value.clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY);
            State::new(loss, regime.law.clone(), correlation, &self.classes)
        };
        Chain {
            step: self.step,
            classes: self.classes.clone(),
            rows: self.transition.clone(),
            states: self.regimes.iter().map(state).collect(),
        }
    }

    /// The same chain with a step of at least `shortest` seconds: a power of its transitions.
    #[must_use]
    pub fn with_step_from(&self, shortest: f64) -> Self {
        let mut chain = self.clone();
        while chain.step < shortest {
            chain.step *= 2.0;
            chain.transition = multiply(&chain.transition, &chain.transition);
        }
        chain
    }

    /// The log-likelihood of a segment of time, less that of independent delays with the same law.
    pub fn log_likelihood(&self, segment: &[Observation], scores: &Scores) -> f64 {
        self.chain().forward(&points(segment, scores, self.step, &self.classes)).log_likelihood
    }

    /// The most probable sequence of regimes: one for each observation (Viterbi 1967).
    pub fn decode(&self, segment: &[Observation], scores: &Scores) -> Vec<usize> {
        let chain = self.chain();
        let points = points(segment, scores, self.step, &self.classes);
        let n = chain.states.len();
        let powers = powers(&chain.rows, points.iter().map(|point| point.gap));
        let log = |value: f64| value.max(1e-300).ln();
        let start = stationary(&chain.rows);
        let mut values: Vec<f64> = Vec::new();
        let mut origins: Vec<Vec<usize>> = Vec::with_capacity(points.len());
        for (number, point) in points.iter().enumerate() {
            let mut now = vec![f64::NEG_INFINITY; n];
            let mut from = vec![0; n];
            for k in 0..n {
                let [fresh, following] = chain.states[k].densities(point).map(log);
                if number == 0 {
                    now[k] = log(start[k]) + fresh;
                    continue;
                }
                for (j, value) in values.iter().enumerate() {
                    let density = if j == k { following } else { fresh };
                    let reached = value + log(powers[&point.gap][j][k]) + density;
                    if reached > now[k] {
                        (now[k], from[k]) = (reached, j);
                    }
                }
            }
            values = now;
            origins.push(from);
        }
        let mut state = (0..n).max_by(|a, b| values[*a].total_cmp(&values[*b])).unwrap_or(0);
        let mut states = vec![0; points.len()];
        for number in (0..points.len()).rev() {
            states[number] = state;
            state = origins[number][state];
        }
        states
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;
    use crate::choice;
    use crate::correlated::tests::normal;
    use crate::series::Series;

    /// Two regimes with mean sojourns of 4 s and 1 s, delays about 10 ms and 40 ms, and no and 20 % loss; packets every 20 ms.
    pub(crate) fn handovers(name: u32, packets: u32) -> Vec<Observation> {
        let random = RandomStream::new(Seed([5; 6]), [name, 3]);
        let mut normal = normal(name);
        let mut state = 0;
        (0..packets)
            .map(|n| {
                let leaves = [0.02 / 4.0, 0.02 / 1.0][state];
                if random.unit(u64::from(n) * 2) < leaves {
                    state = 1 - state;
                }
                let is_lost = random.unit(u64::from(n) * 2 + 1) < [0.0, 0.2][state];
                let delay = [0.01, 0.04][state] + [0.001, 0.004][state] * normal().abs();
                Observation {
                    at: f64::from(n) * 0.02,
                    size: None,
                    is_lost,
                    delay: (!is_lost).then_some(delay),
                }
            })
            .collect()
    }

    /// Sojourns and loss ratios of two regimes are recovered: of 30 intervals of 95 % for each, at least 24 contain the truth (binomial:
    /// fewer once in 3,000 times; the seeds are fixed). Packets are assigned to their regime.
    #[test]
    fn two_regimes_are_recovered() {
        let mut covered = [0; 3];
        for name in 0..30 {
            let series = Series::new(handovers(name, 4_000));
            let scores = Scores::new(&series.delays());
            let found = fit(2, &[series.observations()], &scores, 0.02, true).unwrap();
            let inside = |estimate: Estimate, truth: f64| {
                usize::from(estimate.interval.is_some_and(|[low, high]| (low..=high).contains(&truth)))
            };
            covered[0] += inside(found.regimes[0].sojourn, 4.0);
            covered[1] += inside(found.regimes[1].sojourn, 1.0);
            covered[2] += inside(found.regimes[1].loss_ratio, 0.2);
            let states = found.decode(series.observations(), &scores);
            let wrong = states
                .iter()
                .zip(series.observations())
                .filter(|(state, one)| one.delay.is_some_and(|delay| usize::from(delay > 0.03) != **state));
            assert!(wrong.count() < 40, "{name}");
        }
        assert!(covered.iter().all(|covered| *covered >= 24), "{covered:?} of 30");
    }

    /// A regime that has one packet in thirty keeps this share, though one equal share of the delays holds all of its own.
    #[test]
    fn rare_regimes_keep_their_share() {
        let mut normal = normal(1);
        let mut score = 0.0_f64;
        let packet = |n: u32| {
            score = 0.9 * score + 0.19_f64.sqrt() * normal();
            let base = if n % 750 >= 725 { 0.06 } else { 0.025 };
            let delay = Some(base + 0.004 * (0.5 * score).exp());
            Observation { at: f64::from(n) * 0.02, size: None, is_lost: false, delay }
        };
        let series = Series::new((0..6_000).map(packet).collect());
        let scores = Scores::new(&series.delays());
        let found = fit(2, &[series.observations()], &scores, 0.02, false).unwrap();
        assert!((0.025..0.045).contains(&found.regimes[1].share), "{found:?}");
    }

    /// Two regimes are chosen in at least 16 of 20 draws.
    #[test]
    fn two_regimes_are_chosen() {
        let right = (0..20).filter(|name| {
            let choice = choice::choose(&Series::new(handovers(*name, 3_000)));
            matches!(&choice.delay, choice::DelayModel::Regimes(regimes) if regimes.regimes.len() == 2)
        });
        let right = right.count();
        assert!(right >= 16, "{right} of 20");
    }
}
