//! Lower convex hulls in whole numbers.

use super::arithmetic::float;

/// A packet: a moment on the sender's clock and its raw delay, nanoseconds, each counted from that of the first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// When.
    pub at: i64,
    /// Raw delay.
    pub delay: i64,
}

impl Point {
    /// Twice the area of the triangle with `b` and `c`: positive where `c` lies to the left of the way from here to `b`.
    /// Exact for differences below 2^63.
    fn turn(self, b: Self, c: Self) -> i128 {
        // Most points of a hull are near each other: then 64 bits hold it all.
        const NEAR: i64 = 1 << 30;
        let sides = [
            b.at.wrapping_sub(self.at),
            c.delay.wrapping_sub(self.delay),
            b.delay.wrapping_sub(self.delay),
            c.at.wrapping_sub(self.at),
        ];
        let [x1, y2, y1, x2] = sides;
        let far = self.is_far() || b.is_far() || c.is_far();
        if !far && sides.iter().all(|side| (-NEAR..NEAR).contains(side)) {
            return i128::from(x1 * y2 - y1 * x2);
        }
        let wide = |high: i64, low: i64| i128::from(high) - i128::from(low);
        wide(b.at, self.at) * wide(c.delay, self.delay) - wide(b.delay, self.delay) * wide(c.at, self.at)
    }

    /// Whether differences of its coordinates with another's could overflow.
    const fn is_far(self) -> bool {
        const REACH: i64 = 1 << 61;
        self.at > REACH || self.at < -REACH || self.delay > REACH || self.delay < -REACH
    }

    /// Rise over run to a later point.
    pub(crate) fn slope_to(self, later: Self) -> f64 {
        let wide = |high: i64, low: i64| i128::from(high) - i128::from(low);
        float(wide(later.delay, self.delay)) / float(wide(later.at, self.at))
    }
}

/// The lower convex hull of points, which may come in any order; the last ones cost least.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hull {
    corners: Vec<Point>,
    count: u64,
    sum_at: i128,
}

impl Hull {
    /// Takes a point in.
    pub fn push(&mut self, point: Point) {
        self.count += 1;
        self.sum_at += i128::from(point.at);
        self.insert(point);
    }

    /// The corners from left to right.
    pub fn corners(&self) -> &[Point] {
        &self.corners
    }

    /// How many points were taken in.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn insert(&mut self, point: Point) {
        if self.corners.last().is_none_or(|last| last.at < point.at) {
            // Behind all others, as nearly all come: it is a corner, and those before it may be none any more.
            while let [.., a, b] = self.corners[..]
                && a.turn(b, point) <= 0
            {
                self.corners.pop();
            }
            self.corners.push(point);
            return;
        }
        let place = self.corners.partition_point(|corner| corner.at < point.at);
        let same = self.corners.get(place).filter(|corner| corner.at == point.at);
        if let Some(same) = same {
            if same.delay <= point.delay {
                return;
            }
            self.corners[place] = point;
        } else {
            let inside = place > 0
                && place < self.corners.len()
                && self.corners[place - 1].turn(point, self.corners[place]) <= 0;
            if inside {
                return;
            }
            self.corners.insert(place, point);
        }
        self.mend(place);
    }

    /// Takes away the corners beside `place` that are none any more.
    fn mend(&mut self, mut place: usize) {
        while place >= 2 && self.corners[place - 2].turn(self.corners[place - 1], self.corners[place]) <= 0 {
            self.corners.remove(place - 1);
            place -= 1;
        }
        while place + 2 < self.corners.len()
            && self.corners[place].turn(self.corners[place + 1], self.corners[place + 2]) <= 0
        {
            self.corners.remove(place + 1);
        }
    }

    /// The edge that spans the mean moment of all points. Its line solves the linear program of Moon, Skelly and
    /// Towsley: of all lines below every point, it has the least sum of distances to them. `None` of fewer than two
    /// moments.
    pub fn best_edge(&self) -> Option<(Point, Point)> {
        if self.corners.len() < 2 {
            return None;
        }
        let count = i128::from(self.count);
        let after = self.corners.partition_point(|corner| i128::from(corner.at) * count <= self.sum_at);
        let after = after.clamp(1, self.corners.len() - 1);
        Some((self.corners[after - 1], self.corners[after]))
    }

    /// The slope of [`best_edge`](Self::best_edge).
    pub fn slope(&self) -> Option<f64> {
        self.best_edge().map(|(a, b)| a.slope_to(b))
    }

    /// The mean moment of all points.
    pub fn mean_at(&self) -> f64 {
        float(self.sum_at) / (self.count.max(1) as f64)
    }

    /// The mean of the slope, and its 2.5 % and 97.5 % quantiles, if of packets that come near the floor the excess is
    /// exponential with `density` packets a nanosecond just above the floor: the likelihood of a slope `a` is then
    /// `exp(density (min(d - a x) + a mean(x)))`, whose logarithm is a straight line between the slopes of the hull's
    /// edges, so that all integrals are closed.
    pub(crate) fn posterior(&self, density: f64) -> Option<[f64; 3]> {
        let (a, b) = self.best_edge()?;
        let mode = a.slope_to(b);
        let level = a.delay as f64 + mode * (self.mean_at() - a.at as f64);
        let mut pieces = Vec::new();
        let slopes: Vec<f64> = self.corners.windows(2).map(|edge| edge[0].slope_to(edge[1])).collect();
        for (index, corner) in self.corners.iter().enumerate() {
            let from = if index == 0 { f64::NEG_INFINITY } else { slopes[index - 1] };
            let to = slopes.get(index).copied().unwrap_or(f64::INFINITY);
            let rate = density * (self.mean_at() - corner.at as f64);
            let height = density * (corner.delay as f64 + mode * (self.mean_at() - corner.at as f64) - level);
            pieces.push(Piece { from: from - mode, to: to - mode, height, rate });
        }
        let total: f64 = pieces.iter().map(|piece| piece.mass(piece.to)).sum();
        if !(total.is_finite() && total > 0.0) {
            return None;
        }
        let mean = pieces.iter().map(Piece::moment).sum::<f64>() / total;
        let quantile = |share: f64| {
            let mut wanted = share * total;
            for piece in &pieces {
                let mass = piece.mass(piece.to);
                if wanted <= mass {
                    return piece.quantile(wanted);
                }
                wanted -= mass;
            }
            pieces.last().map_or(0.0, |last| last.from)
        };
        Some([mode + mean, mode + quantile(0.025), mode + quantile(0.975)])
    }
}

/// `exp(height + rate a)` between two slopes.
struct Piece {
    from: f64,
    to: f64,
    height: f64,
    rate: f64,
}

impl Piece {
    fn at(&self, a: f64) -> f64 {
        if a.is_infinite() { 0.0 } else { (self.height + self.rate * a).exp() }
    }

    /// The integral from the beginning to `a`.
    fn mass(&self, a: f64) -> f64 {
        if self.rate == 0.0 {
            (a - self.from) * self.at(a)
        } else {
            (self.at(a) - self.at(self.from)) / self.rate
        }
    }

    /// The integral of `a exp(height + rate a)`.
    fn moment(&self) -> f64 {
        let term =
            |a: f64| if a.is_infinite() { 0.0 } else { (a / self.rate - self.rate.powi(-2)) * self.at(a) };
        if self.rate == 0.0 {
            f64::midpoint(self.to, self.from) * self.mass(self.to)
        } else {
            term(self.to) - term(self.from)
        }
    }

    fn quantile(&self, mass: f64) -> f64 {
        if self.rate == 0.0 {
            return self.from + mass / self.at(self.to);
        }
        ((self.at(self.from) + mass * self.rate).ln() - self.height) / self.rate
    }
}
