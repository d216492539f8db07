//! Lines through delays: least squares, least absolute deviation, and the latter with jumps.

use super::hull::Point;
use super::{many, median};

/// The 97.5 % quantile of the normal distribution.
pub(crate) const NORMAL: f64 = 1.959_964;

/// Least squares, one packet at a time, without a sum that could grow beyond measure.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LeastSquares {
    count: f64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl LeastSquares {
    pub(crate) fn push(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        let (dx, dy) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += dx / self.count;
        self.mean_y += dy / self.count;
        self.xx += dx * (x - self.mean_x);
        self.xy += dx * (y - self.mean_y);
        self.yy += dy * (y - self.mean_y);
    }

    pub(crate) fn of(points: &[(f64, f64)]) -> Self {
        points.iter().fold(Self::default(), |mut sums, (x, y)| {
            sums.push(*x, *y);
            sums
        })
    }

    pub(crate) fn mean_x(&self) -> f64 {
        self.mean_x
    }

    /// The slope and its standard error. `None` of fewer than three packets, or of one moment.
    pub(crate) fn slope(&self) -> Option<(f64, f64)> {
        if self.count < 3.0 || self.xx <= 0.0 {
            return None;
        }
        let slope = self.xy / self.xx;
        let left = (self.yy - slope * self.xy).max(0.0) / (self.count - 2.0);
        Some((slope, (left / self.xx).sqrt()))
    }
}

/// Packets as floats, for the methods that go over all of them several times.
pub(crate) fn floats(points: &[Point]) -> Vec<(f64, f64)> {
    points.iter().map(|point| (point.at as f64, point.delay as f64)).collect()
}

/// A slope with its 95 % interval.
pub(crate) type Sloped = [f64; 3];

/// Least absolute deviation: the slope `b` at which, with `a` the median of `d - b x`, the sum of `x sgn(d - a - b x)`
/// changes its sign. It is bracketed from the least-squares slope in steps of three of its standard errors, and then
/// bisected (`medfit` in Numerical Recipes). The interval holds the slopes at which that sum is no larger than chance
/// makes it for independent packets.
pub(crate) fn least_absolute(points: &[(f64, f64)]) -> Option<Sloped> {
    Some(Fit::of(points, &[])?.solve())
}

/// Lines of one slope, each through its own packets.
struct Fit<'a> {
    parts: Vec<Part<'a>>,
    start: f64,
    error: f64,
    chance: f64,
    left: Vec<f64>,
}

struct Part<'a> {
    points: &'a [(f64, f64)],
    mean_x: f64,
}

impl<'a> Fit<'a> {
    /// `points` in order of time, cut where the moments `cuts` say.
    fn of(points: &'a [(f64, f64)], cuts: &[f64]) -> Option<Self> {
        let mut parts = Vec::new();
        let (mut xx, mut xy, mut yy, mut free) = (0.0, 0.0, 0.0, -1.0);
        let mut rest = points;
        for cut in cuts.iter().copied().chain([f64::INFINITY]) {
            let (part, after) = rest.split_at(rest.partition_point(|point| point.0 < cut));
            rest = after;
            if part.len() < 3 {
                continue;
            }
            let sums = LeastSquares::of(part);
            parts.push(Part { points: part, mean_x: sums.mean_x });
            (xx, xy, yy, free) = (xx + sums.xx, xy + sums.xy, yy + sums.yy, free + sums.count - 1.0);
        }
        if xx <= 0.0 || free < 1.0 {
            return None;
        }
        let start = xy / xx;
        let error = ((yy - start * xy).max(0.0) / free / xx).sqrt();
        Some(Self { parts, start, error, chance: NORMAL * xx.sqrt(), left: Vec::new() })
    }

    fn solve(&mut self) -> Sloped {
        if self.error <= 0.0 {
            return [self.start; 3];
        }
        let slope = self.root(self.start, 0.0);
        [slope, self.root(slope, self.chance), self.root(slope, -self.chance)]
    }

    /// The sum at a slope; it falls as the slope grows.
    fn sum(&mut self, slope: f64) -> f64 {
        let mut sum = 0.0;
        for part in &self.parts {
            self.left.clear();
            self.left.extend(part.points.iter().map(|(x, y)| y - slope * (x - part.mean_x)));
            let level = median(&mut self.left);
            for (x, y) in part.points {
                let left = y - slope * (x - part.mean_x) - level;
                sum += if left == 0.0 { 0.0 } else { (x - part.mean_x) * left.signum() };
            }
        }
        sum
    }

    /// The level of each part at moment 0.
    fn levels(&mut self, slope: f64) -> Vec<f64> {
        let mut levels = Vec::new();
        for part in &self.parts {
            self.left.clear();
            self.left.extend(part.points.iter().map(|(x, y)| y - slope * x));
            levels.push(median(&mut self.left));
        }
        levels
    }

    /// The slope at which the sum is `wanted`, to a thousandth of `error`.
    fn root(&mut self, start: f64, wanted: f64) -> f64 {
        let error = self.error;
        let mut step = 3.0 * error;
        let (mut low, mut high) = (start, start);
        while self.sum(low) < wanted && step.is_finite() {
            low -= step;
            step *= 2.0;
        }
        step = 3.0 * error;
        while self.sum(high) > wanted && step.is_finite() {
            high += step;
            step *= 2.0;
        }
        while high - low > 1e-3 * error {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                break;
            }
            if self.sum(middle) > wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        f64::midpoint(low, high)
    }
}

/// A jump of the clock that least-absolute-jumps compensates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Jump {
    /// The moment of the first packet after it.
    pub(crate) at: f64,
    /// How much later packets have more, nanoseconds.
    pub(crate) size: f64,
}

/// Blocks whose medians are compared.
const BLOCKS: usize = 200;
/// Packets in a block, at least.
const LEAST_BLOCK: usize = 5;
/// Blocks on either side of a jump that say how large it is.
const SIDE: usize = 8;
/// A jump stands out of the blocks' differences by so many of their deviations.
const OUTSTANDING: f64 = 8.0;
/// Jumps of one kind differ in size by at most this share.
const ALIKE: f64 = 0.25;
/// Rounds of fitting and finding.
const ROUNDS: usize = 4;

/// Least absolute deviation between jumps of one size (the seed: the clock "sets itself forward or backward a specific
/// amount every so often"; how it finds them it does not say, so this is ours). Medians of blocks of packets differ
/// from one block to the next by the slope and by chance; what stands out is a jump. Of jumps of different sizes those
/// stay whose size most others have; a single one stays. `points` are in order of time.
pub(crate) fn least_absolute_jumps(points: &[(f64, f64)]) -> Option<(Sloped, Vec<Jump>)> {
    let mut jumps = jumps(points);
    let cuts: Vec<f64> = jumps.iter().map(|jump| jump.at).collect();
    let mut fit = Fit::of(points, &cuts)?;
    let slope = fit.solve();
    let levels = fit.levels(slope[0]);
    // With all packets at hand the sizes become exact.
    if levels.len() == jumps.len() + 1 {
        for (jump, pair) in jumps.iter_mut().zip(levels.windows(2)) {
            jump.size = pair[1] - pair[0];
        }
    }
    Some((slope, jumps))
}

fn jumps(points: &[(f64, f64)]) -> Vec<Jump> {
    let length = (points.len() / BLOCKS).max(LEAST_BLOCK);
    let blocks: Vec<(f64, f64)> = points
        .chunks_exact(length)
        .map(|block| {
            let mut delays: Vec<f64> = block.iter().map(|point| point.1).collect();
            (block[length / 2].0, median(&mut delays))
        })
        .collect();
    if blocks.len() < 2 * SIDE {
        return Vec::new();
    }
    let mut found: Vec<(usize, f64)> = Vec::new();
    for _ in 0..ROUNDS {
        let again = outstanding(&blocks, &found);
        if again == found {
            break;
        }
        found = again;
    }
    of_one_size(&mut found);
    found
        .into_iter()
        .map(|(block, size)| Jump { at: edge(points, block * length, length, size), size })
        .collect()
}

/// Blocks before which there is a jump, with its size, given those known so far.
fn outstanding(blocks: &[(f64, f64)], known: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let mut rates: Vec<f64> =
        blocks.windows(2).map(|pair| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0).max(1.0)).collect();
    let slope = median(&mut rates);
    let level = |block: usize| blocks[block].1 - slope * (blocks[block].0 - blocks[0].0);
    let across = |block: usize| {
        let near = |range: core::ops::Range<usize>| median(&mut range.map(level).collect::<Vec<_>>());
        let begin = known.iter().map(|jump| jump.0).rfind(|other| *other < block).unwrap_or(0);
        let end = known.iter().map(|jump| jump.0).find(|other| *other > block).unwrap_or(blocks.len());
        near(block.saturating_sub(SIDE).max(begin)..block) - near(block..(block + SIDE).min(end))
    };
    let changes: Vec<f64> = (1..blocks.len()).map(|block| -across(block)).collect();
    let deviation = 1.4826 * median(&mut changes.iter().map(|change| change.abs()).collect::<Vec<_>>());
    let mut found: Vec<(usize, f64)> = Vec::new();
    for (block, change) in (1..).zip(&changes) {
        if change.abs() <= OUTSTANDING * deviation.max(1.0) {
            continue;
        }
        match found.last_mut() {
            Some(last) if block - last.0 <= SIDE => {
                if last.1.abs() < change.abs() {
                    *last = (block, *change);
                }
            }
            _ => found.push((block, *change)),
        }
    }
    found
}

/// Keeps the jumps whose size most others have.
fn of_one_size(found: &mut Vec<(usize, f64)>) {
    let alike = |a: f64, b: f64| (a.abs() - b.abs()).abs() <= ALIKE * a.abs().max(b.abs());
    let support = |size: f64| found.iter().filter(|other| alike(other.1, size)).count();
    let best = found
        .iter()
        .map(|jump| jump.1)
        .max_by(|a, b| support(*a).cmp(&support(*b)).then(a.abs().total_cmp(&b.abs())));
    if let Some(best) = best {
        found.retain(|jump| alike(jump.1, best));
    }
}

/// The moment of the packet that divides low from high best, near the beginning of a block.
fn edge(points: &[(f64, f64)], start: usize, length: usize, size: f64) -> f64 {
    let from = start.saturating_sub(length);
    let near = &points[from..(start + length).min(points.len())];
    // Midway between the levels of the blocks on either side of where it can be.
    let level = |points: &[(f64, f64)]| {
        let mut delays: Vec<f64> = points.iter().map(|point| point.1).collect();
        if delays.is_empty() { None } else { Some(median(&mut delays)) }
    };
    let before = level(&points[from.saturating_sub(length)..from]);
    let after = level(&points[(start + length).min(points.len())..(start + 2 * length).min(points.len())]);
    let middle = match (before, after) {
        (Some(before), Some(after)) => f64::midpoint(before, after),
        (Some(before), None) => before + size / 2.0,
        (None, Some(after)) => after - size / 2.0,
        (None, None) => return many(start),
    };
    let sign = size.signum();
    let (mut best, mut best_sum, mut sum) = (near.len() / 2, f64::NEG_INFINITY, 0.0);
    for (index, point) in near.iter().enumerate() {
        // The more packets before are on the old side and from here on the new, the better.
        if sum > best_sum {
            (best, best_sum) = (index, sum);
        }
        sum -= sign * (point.1 - middle).signum();
    }
    near.get(best).map_or(many(start), |point| point.0)
}
