//! A change of a clock or of the path, by both directions.

use super::estimate::ChangeKind;
use super::transition::Transition;
use romer_units::Direction;

/// Changes in both directions belong together if they are no further apart than this share of the run.
pub(crate) const TOGETHER: f64 = 0.02;
/// Two changes cancel each other if what remains is no more than so many errors, or than this share of the greater.
const CANCEL: (f64, f64) = (6.0, 0.1);
/// A longer transition is a slew, as a share of the run.
pub(crate) const GRADUAL: f64 = 0.008;
/// No clock is slewed faster, in nanoseconds a second: a kernel lets one run a tenth faster or slower at the most.
pub(crate) const FASTEST_SLEW: f64 = 1e8;

/// Something that happened, with both directions put together.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) transition: Transition,
    /// When a jump was forward and in reverse, where those were found apart: moments are the sender's clock's, and the
    /// responder stamps a packet later than it left and earlier than it came back.
    pub(crate) apart: Option<[f64; 2]>,
    pub(crate) kind: ChangeKind,
    pub(crate) heading: Option<Direction>,
    /// The direction that tells its moment, where the other does not.
    pub(crate) dated_by: Option<Direction>,
    /// What it may be as well.
    pub(crate) may_be: Option<ChangeKind>,
}

impl Event {
    /// The transition as a direction sees it.
    pub(crate) fn seen(&self, heading: Direction) -> Transition {
        match self.apart {
            Some([forward, reverse]) => {
                let at = if heading == Direction::Forward { forward } else { reverse };
                Transition { from: at, to: at, ..self.transition }
            }
            None => self.transition,
        }
    }
}

impl Event {
    /// Leaves open whether it was a clock's or the path's.
    pub(crate) fn leave_open(&mut self) {
        let of_a_clock = match self.transition.to > self.transition.from {
            true => ChangeKind::Slew,
            false => ChangeKind::ClockStep,
        };
        self.may_be = Some(match self.kind {
            ChangeKind::PathChange => of_a_clock,
            _ => ChangeKind::PathChange,
        });
    }

    /// By how much longer a direction's packets of a moment take for it, by the clocks.
    pub(crate) fn longer(&self, heading: Direction, x: f64) -> f64 {
        let one = self.seen(heading);
        match (self.kind, self.heading) {
            (ChangeKind::PathChange, Some(whose)) if whose != heading => 0.0,
            (ChangeKind::PathChange, _) => one.gone(x),
            _ => heading.sign() * one.gone(x),
        }
    }
}

/// A step of the responder's clock.
pub(crate) fn step(transition: Transition) -> Event {
    Event {
        transition,
        apart: None,
        kind: ChangeKind::ClockStep,
        heading: None,
        dated_by: None,
        may_be: None,
    }
}

/// Whether the changes of one direction and those of the other cancel each other.
pub(crate) fn cancel(ones: &[Transition], others: &[Transition]) -> bool {
    let size = |all: &[Transition]| all.iter().map(|one| one.size).sum::<f64>();
    let error = ones.iter().chain(others).fold(0.0, |error: f64, one| error.hypot(one.error));
    let rest = (size(ones) + size(others)).abs();
    rest <= CANCEL.0 * error || rest <= CANCEL.1 * size(ones).abs().max(size(others).abs())
}

/// How far a clock went that both directions show, each by what its own error leaves open, and how far that may be off.
pub(crate) fn by_both(forward: &Transition, reverse: &Transition) -> (f64, f64) {
    let (a, b) = (forward.error.powi(-2), reverse.error.powi(-2));
    ((a * forward.size - b * reverse.size) / (a + b), (a + b).powf(-0.5))
}
