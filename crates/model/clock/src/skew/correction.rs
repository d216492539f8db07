//! What is to be taken out of raw delays.

use super::arithmetic::rounded;
use romer_units::Direction;

/// From one moment on, a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// From here on, nanoseconds after the correction's origin.
    pub from_ns: i64,
    /// What is taken out there, nanoseconds.
    pub value_ns: f64,
    /// How much more it becomes for each nanosecond.
    pub slope: f64,
}

impl Leg {
    /// What it takes out so long after the correction's origin, also before it begins and after the next one does.
    pub(crate) fn at(&self, since_ns: i64) -> f64 {
        self.value_ns + self.slope * since_ns.saturating_sub(self.from_ns) as f64
    }

    /// By how much the next one does not begin where this one ends.
    pub(crate) fn jump_to(&self, next: &Self) -> f64 {
        next.value_ns - self.at(next.from_ns)
    }
}

/// What is to be taken out of the raw delays of one direction, as a function of time on the sender's clock: straight
/// lines, with or without a jump between them. It says how the clocks' difference *changes*, never how large it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correction {
    /// The moment, on the sender's clock, from which the legs count.
    pub origin_ns: i64,
    /// In order of time; before the first the first holds. None: nothing is taken out.
    pub legs: Vec<Leg>,
    /// How far the correction may be off, at 95 %: nanoseconds for each nanosecond from `anchor_ns`.
    pub rate_error: f64,
    /// And this much besides.
    pub floor_error_ns: f64,
    /// Nanoseconds after the origin: where the fit is best.
    pub anchor_ns: i64,
}

impl Correction {
    /// What is to be taken out of the delay of a packet of the moment `at_ns` on the sender's clock (its departure
    /// there, or its arrival there), nanoseconds, if it did not wait.
    pub fn at(&self, at_ns: i64) -> i64 {
        let since = at_ns.saturating_sub(self.origin_ns);
        let Some(leg) = self.leg(since) else { return 0 };
        rounded(leg.at(since))
    }

    /// What is to be taken out more of the delay of a packet that waited so long: the responder stamped it as much later than it left, or
    /// earlier than it came back, nanoseconds.
    pub fn more(&self, at_ns: i64, heading: Direction, waited_ns: i64) -> i64 {
        let slope = self.leg(at_ns.saturating_sub(self.origin_ns)).map_or(0.0, |leg| leg.slope);
        // The responder's clock gains so much in a nanosecond of the sender's.
        let gain = heading.sign() * slope;
        rounded(gain / (1.0 + gain) * waited_ns as f64)
    }

    fn leg(&self, since: i64) -> Option<&Leg> {
        if let [one] = &self.legs[..] {
            return Some(one);
        }
        let later = self.legs.partition_point(|leg| leg.from_ns <= since);
        self.legs.get(later.saturating_sub(1))
    }

    /// The leg before which it jumps by about so much, nearest to a moment on the sender's clock, and when that is, nanoseconds after the origin.
    pub(crate) fn jump_near(&self, at_ns: i64, size_ns: i64) -> Option<(usize, i64)> {
        /// To such a part.
        const ABOUT: f64 = 0.25;
        let since = at_ns.saturating_sub(self.origin_ns);
        let jumps = self.legs.windows(2).zip(1..).filter_map(|(pair, leg)| {
            let off = pair[0].jump_to(&pair[1]) - size_ns as f64;
            (off.abs() <= ABOUT * (size_ns as f64).abs()).then_some((leg, pair[1].from_ns))
        });
        jumps.min_by_key(|jump| jump.1.abs_diff(since))
    }

    /// Has a leg begin at another moment, nanoseconds after the origin.
    pub(crate) fn put_jump(&mut self, leg: usize, from_ns: i64) {
        let leg = &mut self.legs[leg];
        leg.value_ns = leg.at(from_ns);
        leg.from_ns = from_ns;
    }

    /// Half the width of the 95 % interval of a corrected delay at that moment, nanoseconds, with the least delay held
    /// for exact.
    pub fn error_at(&self, at_ns: i64) -> f64 {
        let away = at_ns.saturating_sub(self.origin_ns).saturating_sub(self.anchor_ns);
        self.floor_error_ns + self.rate_error * (away as f64).abs()
    }

    /// Whether it takes anything out.
    pub fn is_empty(&self) -> bool {
        self.legs.is_empty()
    }
}
