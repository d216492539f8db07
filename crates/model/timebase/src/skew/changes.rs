//! Where the floor of the delays changes: the segmentation with the least cost, by dynamic programming.

use super::estimator::coarse;
use super::floors::Floor;
use super::many;

/// Floors of a segment, at least.
const LEAST: usize = 3;
/// What a further segment costs, in logarithms of the number of floors; and within one that is looked at once more.
const PENALTY: f64 = 8.0;
const AGAIN: f64 = 5.0;
/// Floors that lie so many times higher above their line than those of the segments beside it are of more than one line; and those of
/// a segment at an end of the run.
const UNLIKE: (f64, f64) = (2.0, 1.3);

/// Floors `from..to` that lie above one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Slope beyond the one that was taken out, nanoseconds a second, and its error.
    pub(crate) slope: f64,
    pub(crate) error: f64,
    /// The middle of its floors, seconds, and the line there.
    pub(crate) middle: f64,
    pub(crate) level: f64,
    /// What the floors lie above the line on average.
    pub(crate) excess: f64,
}

impl Segment {
    pub(crate) fn count(&self) -> f64 {
        many(self.to - self.from)
    }

    /// The line at a moment.
    pub(crate) fn at(&self, x: f64) -> f64 {
        self.level + self.slope * (x - self.middle)
    }
}

/// A lower hull that grows to the right, with the sums that a line below all points needs.
#[derive(Default)]
struct Line {
    corners: Vec<(f64, f64)>,
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
}

impl Line {
    fn push(&mut self, x: f64, y: f64) {
        (self.count, self.x, self.y, self.xx) = (self.count + 1.0, self.x + x, self.y + y, self.xx + x * x);
        let corners = &mut self.corners;
        while let [.., a, b] = corners[..] {
            if (b.0 - a.0) * (y - a.1) > (b.1 - a.1) * (x - a.0) {
                break;
            }
            corners.pop();
        }
        corners.push((x, y));
    }

    /// Slope of the best line, its height at the middle, and what the points lie above it on average.
    fn fit(&self) -> (f64, f64, f64) {
        let middle = self.x / self.count;
        let right =
            self.corners.partition_point(|corner| corner.0 <= middle).clamp(1, self.corners.len() - 1);
        let (a, b) = (self.corners[right - 1], self.corners[right]);
        let slope = (b.1 - a.1) / (b.0 - a.0);
        let level = a.1 + slope * (middle - a.0);
        (slope, level, self.y / self.count - level)
    }

    fn segment(&self, from: usize, to: usize, grain: f64) -> Segment {
        let (slope, level, excess) = self.fit();
        let middle = self.x / self.count;
        let spread = (self.xx / self.count - middle * middle).max(0.0).sqrt();
        // What an exponential floor gives, with room for other shapes.
        let error = 2.0 * excess / (self.count.sqrt() * self.count.sqrt().min(8.0) * spread.max(1e-9));
        // What the stamps do not tell tilts all of a segment, however many floors it has.
        let error = error.hypot(coarse(grain) / spread.max(1e-9));
        Segment { from, to, slope, error, middle, level, excess }
    }
}

/// Cuts floors, with `slope` taken out, where that explains them best: each segment has a line of its own below it, and
/// costs its number of floors times the logarithm of what they lie above the line on average (the likelihood of an
/// exponential excess), plus a penalty. What stamps do not tell apart is `grain`, nanoseconds: no line is better than that.
pub(crate) fn segments(floors: &[Floor], slope: f64, grain: f64) -> Vec<Segment> {
    cut(floors, slope, grain, PENALTY)
}

/// The segments with those cut once more that stand beside others, of which `moves` says that they have another rate, and whose
/// floors lie much higher above their line than those beside: a slew between times without one may be a line with another slope, if
/// that is what costs least.
pub(crate) fn finer(
    cuts: &[Segment],
    floors: &[Floor],
    slope: f64,
    grain: f64,
    moves: impl Fn(&Segment) -> bool,
) -> Vec<Segment> {
    let beside = |place: usize| {
        let before = place.checked_sub(1).and_then(|before| cuts.get(before));
        match (before, cuts.get(place + 1)) {
            (Some(before), Some(after)) => Some(UNLIKE.0 * before.excess.max(after.excess)),
            (Some(one), None) | (None, Some(one)) => Some(UNLIKE.1 * one.excess),
            (None, None) => None,
        }
    };
    let again = |(place, one): (usize, &Segment)| {
        let unlike = beside(place).is_some_and(|most| one.excess > most);
        if !(unlike && moves(one)) {
            return vec![*one];
        }
        let parts = cut(&floors[one.from..one.to], slope, grain, AGAIN).into_iter();
        parts.map(|part| Segment { from: part.from + one.from, to: part.to + one.from, ..part }).collect()
    };
    cuts.iter().enumerate().flat_map(again).collect()
}

fn cut(floors: &[Floor], slope: f64, grain: f64, penalty: f64) -> Vec<Segment> {
    let total = floors.len();
    if total < 2 * LEAST {
        return Vec::new();
    }
    let points: Vec<(f64, f64)> = floors.iter().map(|floor| (floor.x, floor.above(slope))).collect();
    let mut jumps: Vec<f64> = points.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).collect();
    let least_excess = (0.1 * super::median(&mut jumps)).max(grain);
    let penalty = penalty * many(total).ln();
    let mut best = vec![(f64::INFINITY, 0); total + 1];
    best[0].0 = 0.0;
    for from in 0..=total - LEAST {
        let before = best[from].0;
        if !before.is_finite() {
            continue;
        }
        let mut line = Line::default();
        for (to, (x, y)) in (from + 1..).zip(&points[from..]) {
            line.push(*x, *y);
            if to - from < LEAST {
                continue;
            }
            let cost = before + penalty + line.count * line.fit().2.max(least_excess).ln();
            if cost < best[to].0 {
                best[to] = (cost, from);
            }
        }
    }
    let mut cuts = Vec::new();
    let mut to = total;
    while to > 0 {
        let from = best[to].1;
        let mut line = Line::default();
        points[from..to].iter().for_each(|(x, y)| line.push(*x, *y));
        cuts.push(line.segment(from, to, grain));
        to = from;
    }
    cuts.reverse();
    cuts
}
