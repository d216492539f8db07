//! What an estimator has found.

use super::correction::Correction;
use romer_record::warning::{MeasurementWarning, SkewUnknown};
use romer_units::Direction;

/// How much faster the responder's clock runs than the sender's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skew {
    /// Parts in a million.
    pub ppm: f64,
    /// 95 % interval.
    pub interval_ppm: [f64; 2],
}

/// What kind of event a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A clock was set: both directions change at once, by the same amount and in opposite senses.
    ClockStep,
    /// A clock ran at another rate for a while.
    Slew,
    /// The way became longer or shorter.
    PathChange,
}

impl ChangeKind {
    /// As the measurement document has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClockStep => "clock-step",
            Self::Slew => "slew",
            Self::PathChange => "path-change",
        }
    }
}

/// Something that happened to the clocks or to the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockChange {
    /// When it was seen first, on the sender's clock, nanoseconds.
    pub at_ns: i64,
    /// When it was over, likewise; `None` where it came at once.
    pub until_ns: Option<i64>,
    /// What it was.
    pub kind: ChangeKind,
    /// The direction of a path change; `None` where it was a clock's.
    pub heading: Option<Direction>,
    /// How much more the responder's clock shows after it, or how much longer the way takes, nanoseconds.
    pub size_ns: i64,
    /// Half the width of the 95 % interval of the size, nanoseconds; 0 where the method says nothing of it.
    pub error_ns: f64,
    /// The direction that tells its moment, where it is one of two.
    pub dated_by: Option<Direction>,
    /// What it may be as well, because that cannot be told.
    pub may_be: Option<ChangeKind>,
}

/// What an estimator has found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The skew; `None` where it is not identifiable, or was not looked for.
    pub skew: Option<Skew>,
    /// Why it is not identifiable.
    pub why_not: Option<SkewUnknown>,
    /// What it rests on where that is not both directions though there are both, and what is ambiguous.
    pub remarks: Vec<MeasurementWarning>,
    /// The direction whose least delay is that of a queue which is never empty, where it is only one.
    pub full: Option<Direction>,
    /// What happened, in order of time.
    pub events: Vec<ClockChange>,
    /// What is to be taken out of raw delays, forward and in reverse.
    pub corrections: [Correction; 2],
    /// The rate that both directions show alike, where it is more than free-running clocks differ by.
    pub beyond: Option<Skew>,
    /// By how much a raw delay may be off, at the most, because of what the stamps do not tell apart, nanoseconds; 0 where
    /// they tell single nanoseconds.
    pub coarse_ns: f64,
}

impl Estimate {
    /// What is to be taken out of the raw delays of a direction. For packets forward the moment is that of departure,
    /// in reverse that of arrival: the one on the sender's clock.
    pub fn correction(&self, heading: Direction) -> &Correction {
        &self.corrections[usize::from(heading == Direction::Reverse)]
    }

    /// The same, to be changed.
    pub fn correction_mut(&mut self, heading: Direction) -> &mut Correction {
        &mut self.corrections[usize::from(heading == Direction::Reverse)]
    }

    /// Whether the least delay of a direction is a queue's, which tells nothing of the clocks by itself.
    pub(crate) fn is_full(&self, heading: Direction) -> bool {
        self.full == Some(heading)
            || self.events.iter().any(|event| event.dated_by == Some(heading.opposite()))
    }

    /// Puts steps where the corrections jump, which packets tell better than the cells by which steps are found.
    pub(crate) fn date_steps(&mut self) {
        for event in self.events.iter_mut().filter(|event| event.kind == ChangeKind::ClockStep) {
            let heading = event.dated_by.unwrap_or(Direction::Forward);
            let size =
                if heading == Direction::Forward { event.size_ns } else { event.size_ns.saturating_neg() };
            let correction = &self.corrections[usize::from(heading == Direction::Reverse)];
            if let Some((_, from)) = correction.jump_near(event.at_ns, size) {
                event.at_ns = correction.origin_ns.saturating_add(from);
            }
        }
        self.events.sort_by_key(|event| event.at_ns);
    }

    pub(crate) fn refused(why: SkewUnknown) -> Self {
        Self { why_not: Some(why), ..Self::default() }
    }
}

/// Rates of clocks do not differ by more than the kernel can steer them: a greater slope of one direction alone may be the path's.
pub(crate) const PLAUSIBLE_PPM: f64 = 500.0;

/// What stamps do not tell, where that is more than a nanosecond.
pub(crate) fn coarse(grain: f64) -> f64 {
    if grain > 1.0 { grain } else { 0.0 }
}
