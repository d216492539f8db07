//! Khlifi's combined algorithm (Chen et al. 2013, equation (1)).

use super::arithmetic::many;
use super::correction::Leg;
use super::hull::{Hull, Point};

/// Windows of a fixed length; of each the slope of its hull, and of these an exponential mean.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    length: i64,
    weight: f64,
    began: Option<i64>,
    hull: Hull,
    smoothed: Option<f64>,
    /// Number, sum and sum of squares of the windows' slopes, from the first.
    seen: (usize, f64, f64),
    first: f64,
    legs: Vec<Leg>,
}

impl Windows {
    pub(crate) fn new(length: i64, weight: f64) -> Self {
        Self {
            length,
            weight,
            began: None,
            hull: Hull::default(),
            smoothed: None,
            seen: (0, 0.0, 0.0),
            first: 0.0,
            legs: Vec::new(),
        }
    }

    /// Takes a packet in; those that come late count in the window that is open.
    pub(crate) fn push(&mut self, point: Point) {
        let began = *self.began.get_or_insert(point.at);
        if point.at.saturating_sub(began) >= self.length {
            self.close(began);
            let windows = point.at.saturating_sub(began) / self.length;
            self.began = Some(began.saturating_add(windows.saturating_mul(self.length)));
        }
        self.hull.push(point);
    }

    fn close(&mut self, began: i64) {
        let hull = std::mem::take(&mut self.hull);
        let Some(slope) = hull.slope() else { return };
        let smoothed = match self.smoothed {
            Some(before) => self.weight * before + (1.0 - self.weight) * slope,
            None => slope,
        };
        if self.seen.0 == 0 {
            self.first = slope;
        }
        let away = slope - self.first;
        self.seen = (self.seen.0 + 1, self.seen.1 + away, self.seen.2 + away * away);
        let value_ns = self.legs.last().map_or(0.0, |leg| leg.at(began));
        self.legs.push(Leg { from_ns: began, value_ns, slope: smoothed });
        self.smoothed = Some(smoothed);
    }

    /// The slope at the end, its 95 % interval, and the legs.
    pub(crate) fn result(&self) -> Option<([f64; 3], Vec<Leg>)> {
        let mut whole = self.clone();
        // What is left over counts as a window where it is at least half of one, or all there is.
        if let (Some(began), Some(last)) = (whole.began, whole.hull.corners().last())
            && (last.at.saturating_sub(began) >= whole.length / 2 || whole.smoothed.is_none())
        {
            whole.close(began);
        }
        let slope = whole.smoothed?;
        let (number, sum, squares) = whole.seen;
        if number < 2 {
            return None;
        }
        let variance = ((squares - sum * sum / many(number)) / many(number - 1)).max(0.0);
        // Var of the exponential mean that began with the first window's slope.
        let ahead = whole.weight.powi(i32::try_from(2 * (number - 1)).unwrap_or(i32::MAX));
        let own = (1.0 - whole.weight) / (1.0 + whole.weight);
        let error = (variance * (own + (1.0 - own) * ahead)).sqrt() * student(number - 1);
        Some(([slope, slope - error, slope + error], whole.legs))
    }
}

/// The 97.5 % quantile of Student's distribution (Hill's expansion; within 1 % from 3 degrees on).
pub(crate) fn student(degrees: usize) -> f64 {
    const EXACT: [f64; 3] = [12.706, 4.303, 3.182];
    if let Some(exact) = EXACT.get(degrees.saturating_sub(1)) {
        return *exact;
    }
    let (z, n) = (1.959_964_f64, many(degrees));
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    z + first / n + second / (n * n)
}
