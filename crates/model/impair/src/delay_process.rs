//! Delay as a process in time: the delay of a packet is a function of the moment at which it reaches the stage, and of
//! nothing else. Packets at any spacing see the same process, and what other packets there are makes no difference.
//!
//! # What is wanted
//! A process D(t) that has the law F at every moment, whose normal scores have the autocorrelation exp(-gap/time), and of
//! which t + D(t) never falls, so that no packet overtakes another.
//!
//! # How
//! **Knots.** On a grid of moments the normal scores follow a chain of first order with the correlation exp(-grid/time). A step that
//! would change the delay by more than the grid is refused, and a second one proposed within a window, as in `order`: both
//! kinds of step leave the normal law of the scores as it is, so that the delay at each knot has the law F exactly.
//!
//! **Between knots.** The scores of 2^level points follow a bridge of Ornstein and Uhlenbeck: halves, halves of halves and so
//! on, each normal given its neighbours. Between two points a and b at distance u of 1, of correlation ρ, the score is
//! ((1-u) a + u b) / √((1-u)² + u² + 2ρu(1-u)): that is normal of variance 1, too. The delays of [`PIECES`] places follow, and lie on
//! straight lines between them. If one of these is steeper than 1, half as many points serve, and in the end the
//! straight line between the knots, which is not.
//!
//! **The grid.** Points are as near to one another as steps of the chain are seldom steeper than 1 ([`REFUSED`]): the distance d
//! must be long against 2·deviation²/time. Knots are up to 2^[`MOST_LEVELS`] times further apart, at most a
//! [`KNOTS`]th of the correlation time. Where d is longer than that, because the law is wide and the correlation time short, order
//! does not allow the autocorrelation: the delays are alike for longer ([`DelayProcess::slowest`]). The law stays.
//!
//! **Any moment at once.** The chain begins anew every [`BLOCK`] knots, with a score drawn from the block's own numbers. So the delay at any moment
//! costs at most that many steps, after any idle time. The first [`BRIDGE`] grids of a block lead from the one chain to the
//! next. In laws with a long tail they can be too short for that; then packets wait for those before them.
//!
//! All numbers are those of the counter-based generator: block n of its own stream for knot n, and blocks from 2^62 on for
//! the points between knots.
//!
//! # The quantiles
//! Scores become delays by a table of quantiles at [`TABLE`] + 1 scores from -[`REACH`] to [`REACH`], linear in between. A law of
//! more values than the table has places is met to within a two-thousandth in probability.

use std::sync::Arc;

use romer_units::random::{Blocks, RandomStream};

use crate::convert;
use crate::distribution::DelayDistribution;
use crate::generator::{Owner, Purpose};
use crate::nanos::{LONGEST_DELAY, Nanos};
use crate::special_functions::{normal_below, normal_quantile};

/// Places of the table of quantiles.
const TABLE: usize = 4_096;
/// Scores that the table covers, either side of 0: beyond lies a share of 1e-10.
const REACH: f64 = 6.4;
/// The share of steps between points that are steeper than order allows. With less, points are further apart, and delays of a long-tailed
/// law alike for longer; with more, the steps that are left are too short for the correlation time.
const REFUSED: f64 = 0.02;
/// Knots in a correlation time, at least, where order allows as many.
const KNOTS: Nanos = 16;
/// A segment between knots has at most 2 to the power of this many steps.
const MOST_LEVELS: u32 = 6;
/// Straight lines of a segment.
const PIECES: usize = 1 << MOST_LEVELS;
/// The shortest distance of points, nanoseconds: a knot costs the processor some 100 ns.
const SHORTEST_STEP: Nanos = 10_000;
/// Knots after which the chain begins anew.
const BLOCK: i64 = 2_048;
/// Grids that lead from the one chain to the next.
const BRIDGE: i64 = 16;
/// The narrowest window of a second proposal is narrower than the grid by the exponential of this.
const NARROWEST: f64 = 3.0;
/// The first block of random numbers for points between knots.
const POINTS: u64 = 1 << 62;

/// One law and one correlation time.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayProcess {
    time: Nanos,
    /// Delays, by normal score.
    quantiles: Box<[f64]>,
    /// The distance of knots.
    grid: Nanos,
    /// Steps between knots: 2 to this power.
    level: u32,
}

impl DelayProcess {
    /// The process of `law` with the correlation time `time`, nanoseconds, at least 1.
    pub(crate) fn new(law: &DelayDistribution, time: Nanos) -> Self {
        let score =
            |place: usize| (2.0 * convert::count(place as u64) / convert::count(TABLE as u64) - 1.0) * REACH;
        let quantiles = (0..=TABLE).map(|place| {
            let score = score(place);
            // Longer delays are an hour anyway.
            law.quantile(normal_below(score), normal_below(-score)).min(convert::real(LONGEST_DELAY))
        });
        let mut process =
            Self { time: time.max(1), quantiles: quantiles.collect(), grid: SHORTEST_STEP, level: 0 };
        let target = process.time / KNOTS;
        let mut step = (target >> MOST_LEVELS).max(SHORTEST_STEP);
        while step < LONGEST_DELAY && process.steep_share(step) > REFUSED {
            step += step / 5;
        }
        while process.level < MOST_LEVELS && step << (process.level + 1) <= target {
            process.level += 1;
        }
        process.grid = step << process.level;
        process
    }

    /// The correlation time that was asked for, nanoseconds.
    pub const fn time(&self) -> Nanos {
        self.time
    }

    /// How long delays stay alike at least, nanoseconds, where order does not allow the correlation time.
    pub fn slowest(&self) -> Option<Nanos> {
        let step = self.grid >> self.level;
        (step > self.time / 8).then_some(step)
    }

    fn correlation_over(&self, nanos: f64) -> f64 {
        libm::exp(-nanos / convert::real(self.time))
    }

    /// The delay of a normal score.
    fn delay(&self, score: f64) -> f64 {
        let place = ((score / REACH + 1.0) * (0.5 * convert::count(TABLE as u64)))
            .clamp(0.0, convert::count(TABLE as u64));
        let lower = convert::index(place).min(TABLE - 1);
        let (a, b) = (self.quantiles[lower], self.quantiles[lower + 1]);
        a + (b - a) * (place - convert::count(lower as u64))
    }

    /// The least score of which the delay is not below `x`, or the greatest of which it is not above.
    fn score(&self, x: f64, greatest: bool) -> f64 {
        let after = self.quantiles.partition_point(|delay| if greatest { *delay <= x } else { *delay < x });
        let place = match after {
            0 => 0.0,
            after if after > TABLE => convert::count(TABLE as u64),
            after => {
                let (a, b) = (self.quantiles[after - 1], self.quantiles[after]);
                convert::count(after as u64 - 1)
                    + if b > a { ((x - a) / (b - a)).clamp(0.0, 1.0) } else { 0.0 }
            }
        };
        (2.0 * place / convert::count(TABLE as u64) - 1.0) * REACH
    }

    /// The share of steps of the chain over `step` that are steeper than 1: as a whole, and where they are long against the correlation
    /// time, anywhere on the way.
    fn steep_share(&self, step: Nanos) -> f64 {
        let places = if step < self.time / 4 { 1 } else { 8 };
        let length = convert::real(step);
        let correlation = self.correlation_over(length);
        let rest = libm::sqrt(1.0 - correlation * correlation);
        let most = length / f64::from(places);
        let (mut steep, mut all) = (0.0, 0.0);
        for from in -20..=20 {
            let from = f64::from(from) / 5.0;
            for fresh in -40..=40 {
                let fresh = f64::from(fresh) / 10.0;
                let share = libm::exp(-0.5 * (from * from + fresh * fresh));
                let to = correlation * from + rest * fresh;
                all += share;
                let mut before = self.delay(from);
                for place in 1..=places {
                    let delay =
                        self.delay(between(from, to, correlation, f64::from(place) / f64::from(places)));
                    if (delay - before).abs() > most {
                        steep += share;
                        break;
                    }
                    before = delay;
                }
            }
        }
        steep / all
    }

    /// The score at a knot after `score`; the units are random.
    fn step(&self, score: f64, units: [f64; 6]) -> f64 {
        let grid = convert::real(self.grid);
        let correlation = self.correlation_over(grid);
        let rest = 1.0 - correlation * correlation;
        let [fresh, narrower, width, place, within, taken] = units;
        let first = correlation * score + libm::sqrt(rest) * normal_quantile(fresh);
        let (x, proposed) = (self.delay(score), self.delay(first));
        if (proposed - x).abs() <= grid {
            return first;
        }
        let window = if narrower < 0.5 { grid * libm::exp(-NARROWEST * width) } else { grid };
        let low = x - place * window;
        let second = within_scores(self.score(low, false), self.score(low + window, true), within);
        let [back, there] = [second, score].map(|from| first - correlation * from);
        let ratio = libm::exp((there * there - back * back) / (2.0 * rest));
        let is_taken = (proposed - self.delay(second)).abs() > grid && taken < ratio;
        if is_taken { second } else { score }
    }
}

/// The score a `share` of the way between two that are correlated; of variance 1, as both are.
fn between(from: f64, to: f64, correlation: f64, share: f64) -> f64 {
    let left = 1.0 - share;
    let variance = left * left + share * share + 2.0 * correlation * share * left;
    (left * from + share * to) / libm::sqrt(variance)
}

/// A normal number between `low` and `high`, for a uniformly distributed one.
fn within_scores(low: f64, high: f64, unit: f64) -> f64 {
    // From the end at which shares are exact.
    let sign = if low + high < 0.0 { 1.0 } else { -1.0 };
    let (from, to) = (normal_below(sign * low), normal_below(sign * high));
    let share = (from + unit * (to - from)).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
    (sign * normal_quantile(share)).clamp(low, high)
}

/// Where one user of a process is in it.
#[derive(Clone, Debug)]
pub(crate) struct ProcessState {
    stream: RandomStream,
    knots: Blocks,
    /// Of which process all else is.
    process: Option<Arc<DelayProcess>>,
    /// A knot, and its score.
    knot: i64,
    score: f64,
    /// The segment that was last in use: its begin, its length, and the delays of its places.
    begin: Nanos,
    length: Nanos,
    delays: [f64; PIECES + 1],
}

impl ProcessState {
    pub(crate) fn new(owner: Owner) -> Self {
        let stream = owner.counter_stream(Purpose::DelayProcess);
        Self {
            stream,
            knots: Blocks::new(stream),
            process: None,
            knot: 0,
            score: 0.0,
            begin: 0,
            length: 0,
            delays: [0.0; PIECES + 1],
        }
    }

    /// The delay at a moment since the process began; nanoseconds.
    pub(crate) fn at(&mut self, process: &Arc<DelayProcess>, moment: Nanos) -> f64 {
        if !self.process.as_ref().is_some_and(|known| Arc::ptr_eq(known, process)) {
            (self.knot, self.length) = (-1, 0);
            self.process = Some(Arc::clone(process));
        }
        let moment = moment.max(0);
        let within = moment - self.begin;
        if !(0..self.length).contains(&within) {
            self.enter(process, moment);
        }
        let place =
            convert::real(moment - self.begin) * convert::count(PIECES as u64) / convert::real(self.length);
        let lower = convert::index(place).min(PIECES - 1);
        let (a, b) = (self.delays[lower], self.delays[lower + 1]);
        a + (b - a) * (place - convert::count(lower as u64))
    }

    /// Computes the segment of a moment.
    fn enter(&mut self, process: &DelayProcess, moment: Nanos) {
        let knot = moment / process.grid;
        let begin = knot - knot % BLOCK;
        if begin > 0 && knot - begin < BRIDGE {
            let from = self.score_at(process, begin, begin - BLOCK);
            let to = self.fresh(begin + BRIDGE);
            (self.begin, self.length) = (begin * process.grid, BRIDGE * process.grid);
            self.fill(process, from, to, None);
        } else {
            let from = self.score_at(process, knot, begin);
            let to = process.step(from, self.units(knot + 1));
            (self.begin, self.length) = (knot * process.grid, process.grid);
            self.fill(process, from, to, Some(knot));
        }
    }

    /// The score of a knot of the block that begins at `block`.
    fn score_at(&mut self, process: &DelayProcess, knot: i64, block: i64) -> f64 {
        let first = if block > 0 { block + BRIDGE } else { 0 };
        if !(first..=knot).contains(&self.knot) {
            (self.knot, self.score) = (first, self.fresh(first));
        }
        while self.knot < knot {
            self.knot += 1;
            self.score = process.step(self.score, self.units(self.knot));
        }
        self.score
    }

    /// The score with which a chain begins.
    fn fresh(&mut self, knot: i64) -> f64 {
        normal_quantile(self.units(knot)[0])
    }

    fn units(&mut self, knot: i64) -> [f64; 6] {
        let block = self.knots.block(knot.unsigned_abs());
        core::array::from_fn(|place| unit(block, place))
    }

    /// The delays of the segment between two scores: over a knot's grid, or between independent ones.
    fn fill(&mut self, process: &DelayProcess, from: f64, to: f64, knot: Option<i64>) {
        let level = if knot.is_some() { process.level } else { 0 };
        let mut scores = [0.0; PIECES + 1];
        let steps = 1 << level;
        (scores[0], scores[steps]) = (from, to);
        if let Some(knot) = knot {
            self.bridge(process, &mut scores[..=steps], knot);
        }
        let most = convert::real(self.length) / convert::count(PIECES as u64);
        for coarser in 0..=level {
            let (stride, steps) = (1 << coarser, 1_usize << (level - coarser));
            let over = convert::real(self.length) / convert::count(steps as u64);
            let correlation = if knot.is_some() { process.correlation_over(over) } else { 0.0 };
            let pieces = PIECES / steps;
            for step in 0..steps {
                let (a, b) = (scores[step * stride], scores[(step + 1) * stride]);
                for piece in 0..pieces {
                    let share = convert::count(piece as u64) / convert::count(pieces as u64);
                    self.delays[step * pieces + piece] = process.delay(between(a, b, correlation, share));
                }
            }
            self.delays[PIECES] = process.delay(to);
            if self.delays.windows(2).all(|pair| (pair[1] - pair[0]).abs() <= most) {
                return;
            }
        }
        let (a, b) = (process.delay(from), process.delay(to));
        for (place, delay) in self.delays.iter_mut().enumerate() {
            *delay = a + (b - a) * convert::count(place as u64) / convert::count(PIECES as u64);
        }
    }

    /// Draws the scores between the first and the last: halves, halves of halves and so on.
    fn bridge(&self, process: &DelayProcess, scores: &mut [f64], knot: i64) {
        let steps = scores.len() - 1;
        let blocks = (PIECES / 8) as u64;
        let mut stride = steps;
        let mut block = (u64::MAX, [0; 16]);
        while stride > 1 {
            let half = stride / 2;
            let over =
                convert::real(process.grid) * convert::count(half as u64) / convert::count(steps as u64);
            let correlation = process.correlation_over(over);
            let square = correlation * correlation;
            let deviation = libm::sqrt((1.0 - square) / (1.0 + square));
            for from in (0..steps).step_by(stride) {
                let place = from + half;
                let wanted = POINTS + knot.unsigned_abs() * blocks + place as u64 / 8;
                if block.0 != wanted {
                    block = (wanted, self.stream.block(wanted));
                }
                let mean = correlation * (scores[from] + scores[from + stride]) / (1.0 + square);
                scores[place] = mean + deviation * normal_quantile(unit(&block.1, place % 8));
            }
            stride = half;
        }
    }
}

/// The number in (0, 1) of two words of a block.
pub(crate) fn unit(block: &[u32; 16], place: usize) -> f64 {
    convert::open_unit(u64::from(block[2 * place]) | (u64::from(block[2 * place + 1]) << 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Generator;
    use romer_units::random::Seed;

    fn state(seed: u32) -> ProcessState {
        let seed = Seed([seed, 2, 3, 4, 5, 6]);
        ProcessState::new(Owner { seed, generator: Generator::Counter, port: 0, flow: 0 })
    }

    const SECOND: Nanos = 1_000_000_000;

    /// The delay at a moment is the same whoever asked for which before.
    #[test]
    fn a_moment_has_one_delay() {
        let laws = [
            (DelayDistribution::Gamma { shape: 2.0, scale: 1e6 }, 50_000_000),
            (DelayDistribution::Exponential { mean: 1e7 }, 10_000_000),
            (DelayDistribution::Empirical([1e6, 1e6, 2e6, 9e6].into()), SECOND),
        ];
        for (law, time) in laws {
            let process = Arc::new(DelayProcess::new(&law, time));
            let numbers = RandomStream::new(Seed([9; 6]), [1, 1]);
            let mut moments: Vec<Nanos> = (0..20_000)
                .map(|n| convert::nanos(numbers.unit(n) * 500.0 * convert::real(SECOND)))
                .collect();
            let mut there = state(1);
            let at_random: Vec<(Nanos, f64)> =
                moments.iter().map(|at| (*at, there.at(&process, *at))).collect();
            moments.sort_unstable();
            let mut in_order = state(1);
            let sorted: std::collections::BTreeMap<Nanos, u64> =
                moments.iter().map(|at| (*at, in_order.at(&process, *at).to_bits())).collect();
            assert!(at_random.iter().all(|(at, delay)| sorted[at] == delay.to_bits()));
        }
    }

    /// The normal scores have the autocorrelation exp(-gap/time), where the correlation time is 100 deviations, and nearly
    /// so where it is 10 and order asks for more. The standard error of a correlogram over 4,000 correlation times is below 0.02.
    #[test]
    fn autocorrelation_falls_by_the_time() {
        let law = DelayDistribution::Normal { mean: 5e7, stddev: 5e6 };
        for (time, tolerance) in [(500_000_000, 0.04), (50_000_000, 0.08)] {
            let process = Arc::new(DelayProcess::new(&law, time));
            let mut state = state(3);
            let gap = time / 100;
            let scores: Vec<f64> = (0..400_000).map(|n| (state.at(&process, n * gap) - 5e7) / 5e6).collect();
            let variance = scores.iter().map(|score| score * score).sum::<f64>();
            for lag in [1, 5, 20, 50, 100, 200_usize] {
                let found = scores.iter().zip(&scores[lag..]).map(|(a, b)| a * b).sum::<f64>() / variance;
                let expected = libm::exp(-(lag as f64) / 100.0);
                assert!((found - expected).abs() < tolerance, "{time} {lag}: {found} for {expected}");
            }
        }
    }

    /// Whether order allows the correlation time.
    #[test]
    fn a_time_that_order_does_not_allow_is_known() {
        let slowest =
            |time| DelayProcess::new(&DelayDistribution::Normal { mean: 5e7, stddev: 5e6 }, time).slowest();
        assert_eq!(slowest(500_000_000), None);
        let least = slowest(5_000_000).unwrap();
        assert!((5_000_000..50_000_000).contains(&least), "{least}");
    }
}
