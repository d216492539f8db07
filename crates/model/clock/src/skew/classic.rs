//! Lines through delays: least squares, least absolute deviation, and the latter with jumps.

use super::arithmetic::median;
use super::hull::Point;
use super::jumps::{Jump, jumps, measured_by};

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

    pub(crate) fn new(points: &[(f64, f64)]) -> Self {
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
/// bisected (`medfit` in Numerical Recipes); then once more in steps of what the middle half of the packets lies off it, since
/// one packet can make the least-squares error as large as it likes. The interval holds the slopes at which that sum is no
/// larger than chance makes it for independent packets.
pub(crate) fn least_absolute(points: &[(f64, f64)]) -> Option<Sloped> {
    Some(Fit::new(points, &[])?.solve())
}

/// Times that a slope is sought more finely, at most.
const FINER: usize = 8;

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
    fn new(points: &'a [(f64, f64)], cuts: &[f64]) -> Option<Self> {
        let mut parts = Vec::new();
        let (mut xx, mut xy, mut yy, mut free) = (0.0, 0.0, 0.0, -1.0);
        let mut rest = points;
        for cut in cuts.iter().copied().chain([f64::INFINITY]) {
            let (part, after) = rest.split_at(rest.partition_point(|point| point.0 < cut));
            rest = after;
            if part.len() < 3 {
                continue;
            }
            let sums = LeastSquares::new(part);
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
        let mut slope = self.root(self.start, 0.0);
        for _ in 0..FINER {
            let error = self.robust_error(slope).max(self.error * f64::EPSILON);
            if error > 0.5 * self.error {
                break;
            }
            self.error = error;
            slope = self.root(slope, 0.0);
        }
        let (low, high) = (self.root(slope, self.chance), self.root(slope, -self.chance));
        [slope, low.min(slope), high.max(slope)]
    }

    /// The error of the slope as the median distance from the lines has it, which a few packets do not move.
    fn robust_error(&mut self, slope: f64) -> f64 {
        let levels = self.levels(slope);
        self.left.clear();
        for (part, level) in self.parts.iter().zip(levels) {
            self.left.extend(part.points.iter().map(|(x, y)| (y - slope * x - level).abs()));
        }
        NORMAL * median(&mut self.left) / self.chance
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

/// Least absolute deviation between jumps of one size (the seed: the clock "sets itself forward or backward a specific
/// amount every so often"; how it finds them it does not say, so this is [ours](jumps)). `points` are in order of time. The slope is that
/// of `calibration`, in order of time as well, where there are such; jumps are those of all packets.
pub(crate) fn least_absolute_jumps(
    points: &[(f64, f64)],
    calibration: Option<&[(f64, f64)]>,
) -> Option<(Sloped, Vec<Jump>)> {
    let mut jumps = jumps(points);
    let cuts: Vec<f64> = jumps.iter().map(|jump| jump.at).collect();
    if let Some(calibration) = calibration {
        // How far a jump went, the packets beside it say: what waits after the calibration is another thing than what waited in it.
        let slope = Fit::new(calibration, &cuts)?.solve();
        measured_by(slope[0], points, &mut jumps);
        return Some((slope, jumps));
    }
    let mut fit = Fit::new(points, &cuts)?;
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
