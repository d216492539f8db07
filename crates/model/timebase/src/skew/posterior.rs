//! The slope of a floor, and how sure it is.

use romer_units::random::{Seed, Stream};

use super::{many, median};

/// Scales of the stamps' lateness that are considered, in units of what floors lie above the lowest.
const LATENESS: [f64; 2] = [0.02, 2.0];
/// How stamps may be late: by the sum of so many exponential times (one is also what packets look like of which many do
/// not wait at all; two is what the ends of a path give), or by a normal error.
const KINDS: [Lateness; 4] =
    [Lateness::Stages(1), Lateness::Stages(2), Lateness::Stages(4), Lateness::Normal];
/// So many deviations below the mean no normal error lies.
const NORMAL_REACH: f64 = 4.0;
/// The share of the floors whose height counts; of the higher ones only that they are higher. Where now and then no packet
/// of a stretch passes without waiting, its floor says nothing of how thin the waiting is near nothing.
const COUNTED: f64 = 0.8;
/// Rounds that are thrown away while the steps find their size, and rounds that count.
const WARM_UP: usize = 600;
const ROUNDS: usize = 3_600;

/// A floor of a group: packets of one group wait above one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Observation {
    /// Seconds, nanoseconds.
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Packets whose least it is, in proportion to the mean.
    pub(crate) weight: f64,
    /// By how much more than elsewhere packets wait there.
    pub(crate) scale: f64,
    pub(crate) group: usize,
}

/// How far the slope of a line may be off, nanoseconds a second, for each nanosecond by which the heights of the
/// observations may, whichever of them are too low and whichever too high.
pub(crate) fn leverage(observations: &[Observation]) -> f64 {
    let (mut away, mut squares) = (0.0, 0.0);
    for group in observations.chunk_by(|a, b| a.group == b.group) {
        let middle = group.iter().map(|one| one.x).sum::<f64>() / many(group.len());
        away += group.iter().map(|one| (one.x - middle).abs()).sum::<f64>();
        squares += group.iter().map(|one| (one.x - middle).powi(2)).sum::<f64>();
    }
    if squares > 0.0 { away / squares } else { 0.0 }
}

/// Draws from what the observations leave open of the slope, nanoseconds a second.
///
/// Packets wait an exponential time near the floor, and their stamps may be late by a time of their own, the sum of
/// exponential ones; of many packets the least counts. Levels, slope, the waiting's scale, and whether and how stamps are
/// late are all unknown; stamps without lateness have half the prior. The waiting's scale is integrated out, the rest is
/// walked through by Metropolis' rule with a fixed seed. Then the estimate with the least mean square is the mean of the
/// draws, and their quantiles are its interval.
pub(crate) fn slopes(observations: &[Observation], start: f64) -> Option<Vec<f64>> {
    let groups = observations.iter().map(|one| one.group).max()? + 1;
    let mut chain = Chain::new(observations, groups, start)?;
    let mut draws = Vec::with_capacity(ROUNDS);
    for round in 0..WARM_UP + ROUNDS {
        chain.round(round < WARM_UP);
        if round >= WARM_UP {
            draws.push(start + chain.state[0] * chain.unit);
        }
    }
    Some(draws)
}

/// The shape of the stamps' lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lateness {
    Stages(i32),
    Normal,
}

struct Scaled {
    x: f64,
    height: f64,
    weight: f64,
    scale: f64,
    group: usize,
    /// It is higher than that.
    higher: bool,
}

struct Chain {
    /// Moments about their group's middle in units of the spread, delays in units of the excess, with the start taken
    /// out.
    points: Vec<Scaled>,
    /// How many of them count with their height.
    counted: f64,
    /// Slope; lateness, without any below 0; its stages; and the logarithm of what each group's level lies below the lowest it may be.
    state: Vec<f64>,
    steps: Vec<f64>,
    value: f64,
    unit: f64,
    levels: Vec<f64>,
    heights: Vec<f64>,
    stream: Stream,
    ordinal: u64,
}

impl Chain {
    fn new(observations: &[Observation], groups: usize, start: f64) -> Option<Self> {
        let mut middles = vec![(0.0, 0.0, f64::INFINITY); groups];
        for one in observations {
            let middle = &mut middles[one.group];
            *middle = (middle.0 + one.x, middle.1 + 1.0, middle.2.min(one.y - start * one.x));
        }
        let about = |one: &Observation| one.x - middles[one.group].0 / middles[one.group].1;
        let spread = (observations.iter().map(|one| about(one).powi(2)).sum::<f64>()
            / many(observations.len()))
        .sqrt();
        let mut above: Vec<f64> =
            observations.iter().map(|one| one.y - start * one.x - middles[one.group].2).collect();
        let excess = median(&mut above).max(0.5);
        if spread <= 0.0 || observations.len() < 6 {
            return None;
        }
        let heights = || {
            observations.iter().map(|one| (one.y - start * one.x - middles[one.group].2) / excess / one.scale)
        };
        let mut sorted: Vec<f64> = heights().collect();
        sorted.sort_by(f64::total_cmp);
        let place = usize::try_from(super::rounded(COUNTED * many(sorted.len()))).unwrap_or(0);
        let cut = sorted[place.min(sorted.len() - 1)];
        let points: Vec<Scaled> = observations
            .iter()
            .zip(heights())
            .map(|(one, height)| Scaled {
                x: about(one) / spread,
                height: height.min(cut) * one.scale,
                weight: one.weight,
                scale: one.scale,
                group: one.group,
                higher: height > cut,
            })
            .collect();
        let counted = many(points.iter().filter(|point| !point.higher).count());
        let mut state = vec![0.0, 0.1, -0.5];
        state.extend(middles.iter().map(|middle| -middle.1.ln()));
        let mut chain = Self {
            points,
            counted,
            steps: vec![0.3; state.len()],
            state,
            value: f64::NEG_INFINITY,
            unit: excess / spread,
            levels: vec![0.0; groups],
            heights: vec![0.0; observations.len()],
            stream: Stream::new(Seed([0x736b_6577, 0, 0, 0, 0, 0]), [0, 0]),
            ordinal: 0,
        };
        chain.steps[0] = 2.0 / many(observations.len()).sqrt();
        let state = chain.state.clone();
        chain.value = chain.density(&state);
        Some(chain)
    }

    /// The logarithm of the density of a state.
    fn density(&mut self, state: &[f64]) -> f64 {
        let (slope, late, stages, below) = (state[0], state[1], state[2], &state[3..]);
        let within = |value: &f64| (-1.0..1.0).contains(value);
        if !within(&late) || !within(&stages) || below.iter().any(|one| !(-20.0..4.0).contains(one)) {
            return f64::NEG_INFINITY;
        }
        self.levels.fill(f64::INFINITY);
        for (height, point) in self.heights.iter_mut().zip(&self.points) {
            *height = point.height - slope * point.x;
            let level = &mut self.levels[point.group];
            *level = level.min(*height);
        }
        let mut log = 0.0;
        for (level, below) in self.levels.iter_mut().zip(below) {
            *level -= below.exp();
            log += below;
        }
        let above = self.heights.iter().zip(&self.points);
        let lateness = LATENESS[0] * (LATENESS[1] / LATENESS[0]).powf(late);
        let kind = kind(stages);
        // The logarithm of a product of many is taken of a few factors at a time.
        let (mut sum, mut logs, mut product) = (0.0, 0.0, 1.0f64);
        for (height, point) in above {
            let excess = height - self.levels[point.group];
            if late < 0.0 {
                sum += point.weight * excess / point.scale;
                continue;
            }
            let (share, area) = passed(excess / lateness, kind);
            sum += point.weight * area * lateness / point.scale;
            if !point.higher {
                product *= share;
                if product < 1e-150 {
                    logs += product.ln();
                    product = 1.0;
                }
            }
        }
        log + logs + product.ln() - self.counted * sum.ln()
    }

    /// Moves each part of the state once.
    fn round(&mut self, learning: bool) {
        for part in 0..self.state.len() {
            let mut next = self.state.clone();
            let block = self.stream.block(self.ordinal);
            self.ordinal += 1;
            next[part] += self.steps[part] * normal([block[0], block[1]]);
            let value = self.density(&next);
            let taken = value - self.value > unit(block[2]).ln();
            if taken {
                (self.state, self.value) = (next, value);
            }
            if learning {
                self.steps[part] *= if taken { 1.12 } else { 0.92 };
                self.steps[part] = self.steps[part].clamp(1e-9, 3.0);
            }
        }
    }
}

/// A number between 0 and 1, of a word that may be any.
pub(super) fn unit(word: u32) -> f64 {
    (f64::from(word) + 0.5) / 4_294_967_296.0
}

/// A number of the standard normal distribution, of two such words (Box and Muller).
pub(super) fn normal(words: [u32; 2]) -> f64 {
    let [a, b] = words.map(unit);
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// The kind of lateness that a number from -1 to 1 stands for.
fn kind(number: f64) -> Lateness {
    let place = super::rounded(((number + 1.0) / 2.0 * many(KINDS.len())).floor());
    KINDS[usize::try_from(place).unwrap_or(0).min(KINDS.len() - 1)]
}

/// The distribution of the lateness at `z`, and the area below it from 0 to `z`.
fn passed(z: f64, kind: Lateness) -> (f64, f64) {
    match kind {
        Lateness::Stages(stages) => staged(z, stages),
        Lateness::Normal => {
            let t = z - NORMAL_REACH;
            let share = 0.5 * libm::erfc(-t * std::f64::consts::FRAC_1_SQRT_2);
            let density = (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
            (share.max(1e-150), (t * share + density).max(0.0))
        }
    }
}

/// The distribution of the sum of `stages` exponential times at `z`, and the area below it from 0 to `z`.
fn staged(z: f64, stages: i32) -> (f64, f64) {
    let k = f64::from(stages);
    if z < 0.3 {
        let first = (1..=stages).fold(1.0, |product, stage| product * z / f64::from(stage));
        let share = first * (1.0 - z * k / (k + 1.0) + z * z * k / (2.0 * (k + 2.0)));
        return (share.max(1e-150), first * z / (k + 1.0) * (1.0 - z * k / (k + 2.0)));
    }
    let (mut term, mut tail, mut area) = ((-z).exp(), 0.0, z - k);
    for stage in 0..stages {
        let stage = f64::from(stage);
        tail += term;
        area += (k - stage) * term;
        term *= z / (stage + 1.0);
    }
    (1.0 - tail, area)
}
