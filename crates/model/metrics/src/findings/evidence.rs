//! How improbable a finding must be, and what detectors report.

use romer_record::document::ProbeDirection;
use romer_record::finding::{Finding, Pattern};

use crate::sample::nearest;

/// The greatest probability of a false alarm that is told.
pub const FALSE_ALARM: f64 = 1e-6;

/// A finding without its direction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UndirectedFinding {
    pub(super) at: Option<f64>,
    pub(super) until: Option<f64>,
    /// The logarithm of the bound of the probability of a false alarm.
    pub(super) log_alarm: Option<f64>,
    pub(super) pattern: Pattern,
}

impl UndirectedFinding {
    pub(super) fn with_direction(self, direction: ProbeDirection) -> Finding {
        Finding {
            direction,
            at_ns: self.at.map(nearest),
            until_ns: self.until.map(nearest),
            // Below what a float can hold it is still not nothing.
            false_alarm_probability: self.log_alarm.map(|log| log.exp().max(f64::MIN_POSITIVE)),
            pattern: self.pattern,
        }
    }
}

/// Whether something is as improbable as it must be to be told.
pub(super) fn convinces(log_alarm: f64) -> bool {
    log_alarm <= FALSE_ALARM.ln()
}

/// Bounds the logarithm of the probability of `hits` or more of `of` events whose probabilities average `chance` (Chernoff
/// and Hoeffding: the relative entropy times the number). 0, which is certainty, where there are no more than expected.
pub(super) fn tail(hits: f64, of: f64, chance: f64) -> f64 {
    let share = hits / of;
    if of <= 0.0 || share <= chance {
        return 0.0;
    }
    if chance <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let missed = if share < 1.0 { (1.0 - share) * ((1.0 - share) / (1.0 - chance)).ln() } else { 0.0 };
    -of * (share * (share / chance).ln() + missed)
}
