//! The slope of a floor, and how sure it is.

use std::sync::LazyLock;

use super::arithmetic::{many, median, rounded};

/// Scales of the stamps' lateness that are considered, in units of what floors lie above the lowest, and how many of them.
const LATENESS: [f64; 2] = [0.02, 2.0];
const SCALES: usize = 8;
/// How stamps may be late: by the sum of so many exponential times (one is also what packets look like of which many do
/// not wait at all; two is what the ends of a path give), or by a normal error.
const KINDS: [Lateness; 4] =
    [Lateness::Stages(1), Lateness::Stages(2), Lateness::Stages(4), Lateness::Normal];
/// The prior that no stamp is late; and that those of both directions are late, or not, in the same way: each direction has a stamp
/// of each host.
const EXACT: f64 = 0.5;
const ALIKE: f64 = 0.9;
/// So many deviations below the mean no normal error lies.
const NORMAL_REACH: f64 = 4.0;
/// The share of the floors whose height counts; of the higher ones only that they are higher. Where now and then no packet
/// of a stretch passes without waiting, its floor says nothing of how thin the waiting is near nothing.
const COUNTED: f64 = 0.8;
/// How many heights of a group's level are summed over, and from which share of the stamps' lateness below its lowest floor on.
const LEVELS: usize = 16;
const HIGHEST: f64 = 0.03;
/// Steps in which the logarithm of the waiting's scale is summed over.
const STEP: f64 = 0.15;
/// What is so much less likely, as the difference of logarithms, does not count.
const NEGLIGIBLE: f64 = 12.0;
/// And where heights of levels are asked for; and at how many of them the likelihood is computed.
const COUNTING: f64 = 7.0;
const DEPTHS: usize = 24;
/// Slopes at which the likelihood is computed, and while the range of those that count is looked for; and how often that is.
const SLOPES: usize = 49;
const ROUGH: usize = 17;
const ROUNDS: usize = 12;
/// Steps of what the distributions are tabulated by, in scales, and up to where; what lies lower and higher is computed.
const TABLE: f64 = 1.0 / 32.0;
const TABULATED: [f64; 2] = [0.5, 16.0];
/// How often a line is looked at anew with a better slope taken out, at the most.
const AGAIN: usize = 4;
/// Slopes that stand for the whole.
const DRAWS: u32 = 4_000;

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

/// What is known of a slope, nanoseconds a second.
#[derive(Clone, Debug)]
pub(crate) struct SlopePosterior {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
    /// Slopes of equal probability, in order.
    pub(crate) draws: Vec<f64>,
}

/// What the observations of one direction, or of two, each by itself, leave open of the slope; each with the sign by which
/// the slope enters it.
///
/// Packets wait an exponential time near the floor, and their stamps may be late by a time of their own, the sum of
/// exponential ones; of many packets the least counts. Levels, the waiting's scale, and whether and how stamps are
/// late are all unknown, and are summed over, for each slope. The likelihoods of two directions are multiplied: whether and how
/// stamps are late is the same in both, or each direction's own. Then the estimate with the least mean square is the mean over the
/// slopes, and their quantiles are its interval.
pub(crate) fn told(sides: &[(&Line, f64)]) -> Option<SlopePosterior> {
    by(sides, SLOPES, 1)
}

/// The same from fewer slopes and scales: how sure a direction is by itself, about.
pub(crate) fn roughly(line: &Line, sign: f64) -> Option<SlopePosterior> {
    by(&[(line, sign)], SLOPES / 2, 2)
}

fn by(sides: &[(&Line, f64)], number: usize, every: usize) -> Option<SlopePosterior> {
    let excess = sides.iter().map(|(line, _)| line.excess);
    let (least, most) =
        excess.fold((f64::INFINITY, 0.0f64), |(low, high), one| (low.min(one), high.max(one)));
    let ratio = (LATENESS[1] * most / LATENESS[0] / least).powf(1.0 / many(SCALES - 1));
    let scales = (0..SCALES).map(|place| LATENESS[0] * least * ratio.powi(i32::try_from(place).unwrap_or(0)));
    let scales: Vec<f64> = scales.collect();
    let ways = |every: usize, kinds: &[Lateness]| -> Vec<(f64, Lateness)> {
        let scales = scales.iter().step_by(every);
        scales.flat_map(|scale| kinds.iter().map(move |kind| (*scale, *kind))).collect()
    };
    let (rough, fine) = (ways(3, &KINDS[1..2]), ways(every, &KINDS));
    let (from, to) = range(sides, |slope| likelihood(sides, slope, &rough))?;
    let slopes: Vec<f64> = (0..number).map(|n| from + (to - from) * many(n) / many(number - 1)).collect();
    let logs: Vec<f64> = slopes.iter().map(|slope| likelihood(sides, *slope, &fine)).collect();
    let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let densities: Vec<f64> = logs.iter().map(|log| (log - highest).exp()).collect();
    highest.is_finite().then(|| summed(&slopes, &densities))
}

/// The range of slopes that count.
fn range(sides: &[(&Line, f64)], log: impl Fn(f64) -> f64) -> Option<(f64, f64)> {
    let weights: f64 = sides.iter().map(|(line, _)| line.unit().powi(-2)).sum();
    let middle =
        sides.iter().map(|(line, sign)| sign * line.start * line.unit().powi(-2)).sum::<f64>() / weights;
    let starts = sides.iter().map(|(line, sign)| (sign * line.start - middle).abs() + 4.0 * line.unit());
    let half = starts.fold(0.0, f64::max);
    let (mut from, mut to) = (middle - half, middle + half);
    for _ in 0..ROUNDS {
        let width = (to - from) / many(ROUGH - 1);
        let slopes: Vec<f64> = (0..ROUGH).map(|n| from + width * many(n)).collect();
        let logs: Vec<f64> = slopes.iter().map(|slope| log(*slope)).collect();
        let highest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let counts = |value: &f64| *value > highest - NEGLIGIBLE;
        let (first, last) = (logs.iter().position(counts)?, logs.iter().rposition(counts)?);
        if !highest.is_finite() {
            return None;
        }
        let open = first == 0 || last + 1 == ROUGH;
        let narrow = last - first < ROUGH / 2;
        let (low, high) = (slopes[first] - width, slopes[last] + width);
        if open {
            (from, to) = (low - (high - low) / 2.0, high + (high - low) / 2.0);
            continue;
        }
        (from, to) = (low, high);
        if !narrow {
            break;
        }
    }
    Some((from, to))
}

/// The logarithm of the likelihood of a slope.
fn likelihood(sides: &[(&Line, f64)], slope: f64, ways: &[(f64, Lateness)]) -> f64 {
    let each: Vec<Vec<f64>> = sides
        .iter()
        .map(|(line, sign)| {
            let at = line.at(sign * slope);
            let late = ways.iter().map(|(scale, kind)| at.late(*scale, *kind) - many(ways.len()).ln());
            std::iter::once(at.exact()).chain(late).collect()
        })
        .collect();
    let prior = |place: usize| if place == 0 { EXACT.ln() } else { (1.0 - EXACT).ln() };
    let own: f64 = each
        .iter()
        .map(|logs| sum_of_logs(logs.iter().enumerate().map(|(place, log)| prior(place) + log)))
        .sum();
    if sides.len() < 2 {
        return own;
    }
    // What each way's share of the prior is, it is once for both.
    let again = |place: usize| if place == 0 { 0.0 } else { many(ways.len()).ln() };
    let alike = sum_of_logs((0..=ways.len()).map(|place| {
        prior(place) + again(place) * many(sides.len() - 1) + each.iter().map(|logs| logs[place]).sum::<f64>()
    }));
    sum_of_logs([ALIKE.ln() + alike, (1.0 - ALIKE).ln() + own].into_iter())
}

fn sum_of_logs(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let highest = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    if highest.is_finite() {
        highest + logs.map(|log| (log - highest).exp()).sum::<f64>().ln()
    } else {
        highest
    }
}

/// Mean, variance and quantiles of a density that is straight between `slopes`.
fn summed(slopes: &[f64], densities: &[f64]) -> SlopePosterior {
    let mut sums = vec![0.0];
    let mut sum = 0.0;
    for pair in densities.windows(2) {
        sum += f64::midpoint(pair[0], pair[1]);
        sums.push(sum);
    }
    let width = slopes[1] - slopes[0];
    let quantile = |share: f64| {
        let wanted = share * sum;
        let right = sums.partition_point(|one| *one <= wanted).clamp(1, sums.len() - 1);
        let (a, b, rest) = (densities[right - 1], densities[right], wanted - sums[right - 1]);
        // The area below a straight line from a to b, solved for where it is the rest.
        let root = (a * a + 2.0 * (b - a) * rest).max(0.0).sqrt();
        slopes[right - 1] + width * (2.0 * rest / (a + root).max(1e-300)).min(1.0)
    };
    let draws: Vec<f64> = (0..DRAWS).map(|n| quantile((f64::from(n) + 0.5) / f64::from(DRAWS))).collect();
    let mean = draws.iter().sum::<f64>() / many(draws.len());
    let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / many(draws.len());
    SlopePosterior { mean, variance, draws }
}

/// The shape of the stamps' lateness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lateness {
    Stages(i32),
    Normal,
}

impl Lateness {
    /// So many scales below the lowest of its floors a level may lie because of it.
    fn reach(self) -> f64 {
        match self {
            Self::Stages(stages) => f64::from(stages) + 3.0 * f64::from(stages).sqrt() + 3.0,
            Self::Normal => NORMAL_REACH + 4.0,
        }
    }
}

/// A direction's observations, made ready.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    groups: Vec<Vec<Point>>,
    /// The middle of each group, seconds, and its lowest height with the slope taken out, nanoseconds.
    bases: Vec<(f64, f64)>,
    /// How many count with their height.
    counted: f64,
    /// The slope that is taken out, nanoseconds a second.
    start: f64,
    /// What is usually above the lowest, nanoseconds; and how far the observations lie from the middle of their group, seconds.
    excess: f64,
    spread: f64,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    /// Seconds from the middle of the group.
    x: f64,
    height: f64,
    /// Its weight where packets wait as long as usually.
    weight: f64,
    /// It is higher than that.
    higher: bool,
}

/// The heights above the lowest of their group for one slope.
struct At<'a> {
    line: &'a Line,
    /// With the sum of the weights.
    groups: Vec<(Vec<Point>, f64)>,
    /// The lowest of each group, where the line with the slope passes the beginning of time, nanoseconds.
    lowest: Vec<f64>,
    /// The sum of the heights by their weights.
    sum: f64,
}

impl Line {
    /// Of observations, with `start` for a first slope. `None` where there are too few.
    pub(crate) fn new(observations: &[Observation], start: f64) -> Option<Self> {
        let mut line = Self::about(observations, start)?;
        // Which heights are high depends on the slope that is taken out.
        for _ in 0..AGAIN {
            let SlopePosterior { mean, variance, .. } = by(&[(&line, 1.0)], SLOPES / 2, 3)?;
            if (mean - line.start).powi(2) <= variance {
                break;
            }
            line = Self::about(observations, mean)?;
        }
        Some(line)
    }

    /// With this slope taken out.
    fn about(observations: &[Observation], start: f64) -> Option<Self> {
        let groups = observations.iter().map(|one| one.group).max()? + 1;
        let mut middles = vec![(0.0, 0.0, f64::INFINITY); groups];
        for one in observations {
            let middle = &mut middles[one.group];
            *middle = (middle.0 + one.x, middle.1 + 1.0, middle.2.min(one.y - start * one.x));
        }
        let about = |one: &Observation| one.x - middles[one.group].0 / middles[one.group].1;
        let squares = observations.iter().map(|one| about(one).powi(2)).sum::<f64>();
        let spread = (squares / many(observations.len())).sqrt();
        let above = |one: &Observation| one.y - start * one.x - middles[one.group].2;
        let excess = median(&mut observations.iter().map(above).collect::<Vec<_>>()).max(0.5);
        if spread <= 0.0 || observations.len() < 6 {
            return None;
        }
        let mut sorted: Vec<f64> = observations.iter().map(|one| above(one) / one.scale).collect();
        sorted.sort_by(f64::total_cmp);
        let place = usize::try_from(rounded(COUNTED * many(sorted.len()))).unwrap_or(0);
        let cut = sorted[place.min(sorted.len() - 1)];
        let bases = middles.iter().map(|(sum, count, lowest)| (sum / count, *lowest)).collect();
        let groups = vec![Vec::new(); groups];
        let mut line = Self { groups, bases, counted: 0.0, start, excess, spread };
        for one in observations {
            let height = above(one) / one.scale;
            line.groups[one.group].push(Point {
                x: about(one),
                height: height.min(cut) * one.scale,
                weight: one.weight / one.scale,
                higher: height > cut,
            });
            line.counted += f64::from(u8::from(height <= cut));
        }
        Some(line)
    }

    /// By how much the slope may be off, about.
    fn unit(&self) -> f64 {
        self.excess / self.spread / self.counted.sqrt()
    }

    fn at(&self, slope: f64) -> At<'_> {
        let mut sum = 0.0;
        let more = slope - self.start;
        let mut heights = Vec::with_capacity(self.groups.len());
        let used = self.groups.iter().zip(&self.bases).filter(|(group, _)| !group.is_empty());
        let groups = used.map(|(group, (middle, base))| {
            let mut points: Vec<Point> =
                group.iter().map(|point| Point { height: point.height - more * point.x, ..*point }).collect();
            let lowest = points.iter().map(|point| point.height).fold(f64::INFINITY, f64::min);
            points.iter_mut().for_each(|point| point.height -= lowest);
            heights.push(base + lowest - more * middle);
            sum += points.iter().map(|point| point.weight * point.height).sum::<f64>();
            let weight = points.iter().map(|point| point.weight).sum::<f64>();
            (points, weight)
        });
        let groups = groups.collect();
        At { line: self, groups, lowest: heights, sum: sum.max(1e-6) }
    }

    /// By how much the level of a group is higher than that of another, for one slope: mean and variance of what is left open of it.
    /// Each pair has the group before and the one after.
    pub(crate) fn rises(&self, slope: f64, pairs: &[[usize; 2]]) -> Vec<(f64, f64)> {
        let at = self.at(slope);
        let ratio = (LATENESS[1] / LATENESS[0]).powf(1.0 / many(SCALES - 1));
        let scales = (0..SCALES)
            .map(|place| LATENESS[0] * self.excess * ratio.powi(i32::try_from(place).unwrap_or(0)));
        let ways = scales.flat_map(|scale| KINDS.map(|kind| (scale, kind)));
        let prior = (1.0 - EXACT).ln() - many(SCALES * KINDS.len()).ln();
        let mut all = vec![(EXACT.ln() + at.exact(), None)];
        all.extend(ways.map(|(scale, kind)| {
            let (log, rate) = at.late_at(scale, kind);
            (prior + log, Some((scale, kind, rate.exp())))
        }));
        let highest = all.iter().map(|one| one.0).fold(f64::NEG_INFINITY, f64::max);
        let mut sums = vec![(0.0, 0.0, 0.0); pairs.len()];
        for (log, way) in all.into_iter().filter(|one| one.0 > highest - COUNTING) {
            let share = (log - highest).exp();
            let depths: Vec<(f64, f64)> = (0..at.groups.len()).map(|group| at.depth(group, way)).collect();
            for (sum, [before, after]) in sums.iter_mut().zip(pairs) {
                let level = |group: usize| at.lowest[group] - depths[group].0;
                let rise = level(*after) - level(*before);
                sum.0 += share;
                sum.1 += share * rise;
                sum.2 += share * (rise * rise + depths[*before].1 + depths[*after].1);
            }
        }
        let told = |(share, sum, squares): (f64, f64, f64)| {
            let mean = sum / share;
            (mean, (squares / share - mean * mean).max(0.0))
        };
        sums.into_iter().map(told).collect()
    }
}

impl At<'_> {
    /// Packets that count beyond one for each level.
    fn free(&self) -> f64 {
        (self.line.counted - many(self.groups.len())).max(1.0)
    }

    /// The logarithm of the likelihood, levels and scale summed over, if no stamp is late.
    fn exact(&self) -> f64 {
        let weights: f64 = self.groups.iter().map(|group| group.1.ln()).sum();
        libm::lgamma(self.free()) - self.free() * self.sum.ln() - weights
    }

    /// The same if stamps are late.
    fn late(&self, scale: f64, kind: Lateness) -> f64 {
        self.late_at(scale, kind).0
    }

    /// How far below the lowest of a group its level lies: mean and variance, if no stamp is late, or if stamps are late by this scale and kind and
    /// packets come down to the floor at this rate.
    fn depth(&self, group: usize, way: Option<(f64, Lateness, f64)>) -> (f64, f64) {
        let (points, weight) = &self.groups[group];
        let Some((scale, kind, rate)) = way else {
            // The rate's own distribution is a gamma one.
            let mean = self.sum / (self.free() - 1.0).max(1.0) / weight;
            return (mean, mean * mean * (self.free() / (self.free() - 2.0).max(1.0)));
        };
        let log = |depth: f64| {
            let each = points.iter().map(|point| {
                let (log, area) = kind.passed((point.height + depth) / scale);
                f64::from(u8::from(!point.higher)) * log - rate * scale * point.weight * area
            });
            each.sum::<f64>()
        };
        let (mut low, mut high) = (0.0, kind.reach() * scale + 8.0 / (rate * weight));
        let mut told = (0.0, 0.0);
        for _ in 0..ROUNDS {
            let width = (high - low) / many(DEPTHS);
            let depths = (0..DEPTHS).map(|n| low + width * (many(n) + 0.5));
            let logs: Vec<(f64, f64)> = depths.map(|depth| (depth, log(depth))).collect();
            let highest = logs.iter().map(|one| one.1).fold(f64::NEG_INFINITY, f64::max);
            let counts = |one: &&(f64, f64)| one.1 > highest - COUNTING;
            let (mut share, mut sum, mut squares) = (0.0, 0.0, 0.0);
            let first = logs.iter().find(counts).map_or(low, |one| one.0);
            for (depth, log) in logs.iter().filter(counts) {
                let part = (log - highest).exp();
                (share, sum, squares) =
                    (share + part, sum + part * (depth - first), squares + part * (depth - first).powi(2));
            }
            let mean = sum / share;
            told = (first + mean, (squares / share - mean * mean).max(0.0));
            if logs.iter().filter(counts).count() >= DEPTHS / 2 {
                break;
            }
            let last = logs.iter().rfind(counts).map_or(high, |one| one.0);
            (low, high) = ((first - width).max(0.0), last + width);
        }
        told
    }

    /// The same as [`late`](Self::late), with the logarithm of the rate at which packets come down to the floor most likely.
    fn late_at(&self, scale: f64, kind: Lateness) -> (f64, f64) {
        let usual = self.free() / self.sum;
        let levels: Vec<Vec<(f64, f64)>> = self
            .groups
            .iter()
            .map(|(points, weight)| levels(points, scale, kind, 1.0 / (usual * weight)))
            .collect();
        // The logarithm of what is summed over, for the logarithm of the rate at which packets come down to the floor.
        let log = |rate: f64| {
            let inverse = rate.exp();
            let each = levels.iter().map(|levels| {
                let logs = levels.iter().map(|(log, area)| log - inverse * area);
                sum_of_logs(logs)
            });
            self.line.counted * rate + each.sum::<f64>()
        };
        let mut rate = usual.ln();
        let mut best = log(rate);
        for way in [STEP, -STEP] {
            loop {
                let next = log(rate + way);
                if next <= best {
                    break;
                }
                (rate, best) = (rate + way, next);
            }
        }
        let likeliest = rate;
        let mut sum = 1.0;
        for way in [STEP, -STEP] {
            let mut there = rate + way;
            loop {
                let less = best - log(there);
                sum += (-less).exp();
                if less > NEGLIGIBLE {
                    break;
                }
                there += way;
            }
        }
        (best + (sum * STEP).ln(), likeliest)
    }
}

/// For each of some heights of a group's level, the logarithm of its share and of what the heights of the points are like there but for
/// the waiting, and what they add up to with the lateness taken off: `below` is how far it usually lies below the lowest if no stamp is late.
fn levels(points: &[Point], scale: f64, kind: Lateness, below: f64) -> Vec<(f64, f64)> {
    let (low, high) = (HIGHEST * scale, kind.reach() * scale + 8.0 * below);
    let ratio = (high / low).powf(1.0 / many(LEVELS - 1));
    let mut depth = low / ratio;
    let mut found = Vec::with_capacity(LEVELS);
    for _ in 0..LEVELS {
        depth *= ratio;
        let (mut areas, mut logs) = (0.0, 0.0);
        for point in points {
            let (log, area) = kind.passed((point.height + depth) / scale);
            areas += point.weight * area;
            logs += if point.higher { 0.0 } else { log };
        }
        found.push((logs + (depth * ratio.ln()).ln(), areas * scale));
    }
    found
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

/// The logarithm of each kind's distribution, and the area below it, by steps.
type Table = Vec<(f64, f64)>;
static TABLES: LazyLock<[Table; KINDS.len()]> = LazyLock::new(|| {
    KINDS.map(|kind| {
        let steps = rounded(TABULATED[1] / TABLE) + 2;
        (0..steps).map(|step| kind.computed(step as f64 * TABLE)).collect()
    })
});

impl Lateness {
    /// The logarithm of the distribution of the lateness at `z`, and the area below the distribution from 0 to `z`.
    fn passed(self, z: f64) -> (f64, f64) {
        if z >= TABULATED[1] {
            return (0.0, z - self.mean());
        }
        if z < TABULATED[0] {
            return self.computed(z);
        }
        let table = match self {
            Self::Stages(1) => &TABLES[0],
            Self::Stages(2) => &TABLES[1],
            Self::Stages(_) => &TABLES[2],
            Self::Normal => &TABLES[3],
        };
        let place = z / TABLE;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 16 to 512")]
        let left = place as usize;
        let (part, a, b) = (place - left as f64, table[left], table[left + 1]);
        (a.0 + part * (b.0 - a.0), a.1 + part * (b.1 - a.1))
    }

    fn mean(self) -> f64 {
        match self {
            Self::Stages(stages) => f64::from(stages),
            Self::Normal => NORMAL_REACH,
        }
    }

    fn computed(self, z: f64) -> (f64, f64) {
        let (share, area) = match self {
            Self::Stages(stages) => staged(z, stages),
            Self::Normal => {
                let t = z - NORMAL_REACH;
                let share = 0.5 * libm::erfc(-t * std::f64::consts::FRAC_1_SQRT_2);
                let density = (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
                (share.max(1e-150), (t * share + density).max(0.0))
            }
        };
        (share.ln(), area)
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
