//! Where the floor of the delays changes: the segmentation with the least cost, by dynamic programming.

use super::arithmetic::{many, median};
use super::estimate::coarse;
use super::floors::Floor;

/// Floors of a segment, at least.
const LEAST: usize = 3;
/// What a further segment costs, in logarithms of the number of floors; and within one that is looked at once more.
const PENALTY: f64 = 8.0;
const AGAIN: f64 = 5.0;
/// Floors that tell whether they lie about a line rather than above one; and what a point costs more that lies about it with a normal error
/// than one that lies above it with an exponential one of the same deviation: half the logarithm of 2 pi / e.
const MANY: f64 = 12.0;
const NORMAL: f64 = 0.418_938_533_204_672_8;
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
    /// The line through them, where they are enough to tell it; and whether it explains them better than the one below them.
    pub(crate) through: Option<Through>,
    pub(crate) is_soft: bool,
}

/// The line through floors with the least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Through {
    /// As those of a [`Segment`].
    pub(crate) slope: f64,
    pub(crate) error: f64,
    pub(crate) level: f64,
    /// By how much floors differ from it.
    pub(crate) scatter: f64,
}

impl Segment {
    pub(crate) fn count(&self) -> f64 {
        many(self.to - self.from)
    }

    /// The line through its floors, where that explains them better.
    fn soft(&self) -> Option<Through> {
        self.through.filter(|_| self.is_soft)
    }

    /// Its slope and that one's error, by the line that explains its floors better.
    pub(crate) fn rate(&self) -> (f64, f64) {
        self.soft().map_or((self.slope, self.error), |line| (line.slope, line.error))
    }

    /// By what floors lie off it usually: a level that itself moves a little moves by no more.
    pub(crate) fn doubt(&self) -> f64 {
        self.soft().map_or(self.excess, |line| line.scatter)
    }

    /// The line at a moment.
    pub(crate) fn at(&self, x: f64) -> f64 {
        self.level + self.slope * (x - self.middle)
    }
}

/// A lower hull that grows to the right, with the means and the sums of squares that a line below all points needs, and one through them.
#[derive(Default)]
struct Line {
    corners: Vec<(f64, f64)>,
    count: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Line {
    fn push(&mut self, x: f64, y: f64) {
        let (dx, dy) = (x - self.x, y - self.y);
        self.count += 1.0;
        (self.x, self.y) = (self.x + dx / self.count, self.y + dy / self.count);
        let rest = 1.0 - 1.0 / self.count;
        (self.xx, self.xy, self.yy) =
            (self.xx + rest * dx * dx, self.xy + rest * dx * dy, self.yy + rest * dy * dy);
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
        let middle = self.x;
        let right =
            self.corners.partition_point(|corner| corner.0 <= middle).clamp(1, self.corners.len() - 1);
        let (a, b) = (self.corners[right - 1], self.corners[right]);
        let slope = (b.1 - a.1) / (b.0 - a.0);
        let level = a.1 + slope * (middle - a.0);
        (slope, level, self.y - level)
    }

    /// By how much points differ from the line through them with the least squares.
    fn scatter(&self) -> f64 {
        let left = self.yy - self.xy * self.xy / self.xx.max(1e-12);
        (left.max(0.0) / (self.count - 2.0).max(1.0)).sqrt()
    }

    /// What it costs that points lie as they do: by what they lie above the line below them, or, if there are enough to tell, by what
    /// they lie off the line through them, whichever explains them better. It is minus the logarithm of the likelihood, less what is
    /// the same for every point.
    fn cost(&self, least: f64) -> f64 {
        let firm = self.fit().2.max(least).ln();
        let soft = (self.count >= MANY).then(|| self.scatter().max(least).ln() + NORMAL);
        self.count * soft.map_or(firm, |soft| firm.min(soft))
    }

    fn segment(&self, from: usize, to: usize, grain: f64) -> Segment {
        let (slope, level, excess) = self.fit();
        let middle = self.x;
        let spread = (self.xx / self.count).sqrt();
        // What an exponential floor gives, with room for other shapes.
        let error = 2.0 * excess / (self.count.sqrt() * self.count.sqrt().min(8.0) * spread.max(1e-9));
        // What the stamps do not tell tilts all of a segment, however many floors it has.
        let error = error.hypot(coarse(grain) / spread.max(1e-9));
        let scatter = self.scatter();
        let through = (self.count >= MANY).then(|| Through {
            slope: self.xy / self.xx.max(1e-12),
            error: (scatter / (self.count.sqrt() * spread.max(1e-9))).hypot(coarse(grain) / spread.max(1e-9)),
            level: self.y,
            scatter,
        });
        let is_soft = through.is_some() && scatter.max(grain).ln() + NORMAL < excess.max(grain).ln();
        Segment { from, to, slope, error, middle, level, excess, through, is_soft }
    }
}

/// Cuts floors, with `slope` taken out, where that explains them best: each segment has a line of its own below it, and
/// costs its number of floors times the logarithm of what they lie above the line on average (the likelihood of an
/// exponential excess), plus a penalty. Where that costs less, floors lie about a line through them with a normal error: of noise without a
/// firm floor the lowest lies far below the others by chance, and that alone is no other line. What stamps do not tell apart is `grain`, nanoseconds: no line is better than that.
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
    let least_excess = (0.1 * median(&mut jumps)).max(grain);
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
            let cost = before + penalty + line.cost(least_excess);
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
