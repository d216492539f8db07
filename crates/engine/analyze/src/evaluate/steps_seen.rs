//! Steps of the clocks that were seen by other means than delays, among those that delays tell of.

use romer_record::document::{ClockEvent, ClockState};
use romer_record::event::{Event, EventLocation};

/// What a step was seen to be and what is left of it lie no farther apart, nanoseconds, where stamps are not farther apart by the step.
const TOGETHER_NS: i64 = 1_000_000_000;

/// The state of the clocks, with the steps that were seen: by how much the responder's clock is further ahead of the sender's
/// after each, so that a sender that is set ahead has a size below 0. Where the size of a step is known nearly, as packets beside it
/// have it, what the delays tell to be left of it is no step of its own.
pub(crate) fn with_steps(events: &[Event], mut clock: ClockState) -> ClockState {
    for event in events {
        let Some(step) = event.step else { continue };
        let is_ours = event.location == EventLocation::Sender;
        let further = |size: i64| if is_ours { size.saturating_neg() } else { size };
        let mut size_interval_ns = step.size_interval_ns.map(|interval| interval.map(further));
        size_interval_ns.iter_mut().for_each(|interval| interval.sort_unstable());
        let mut size_ns = further(step.size_ns);
        if size_interval_ns.is_none() {
            let is_rest = |one: &ClockEvent| is_rest(one, event.at_ns, size_ns);
            if let Some(place) = clock.events.iter().position(is_rest) {
                let rest = clock.events.remove(place);
                size_interval_ns =
                    rest.size_interval_ns.map(|ends| ends.map(|end| end.saturating_add(size_ns)));
                size_ns = size_ns.saturating_add(rest.size_ns.unwrap_or(0));
            }
        }
        clock.events.push(ClockEvent {
            at_ns: event.at_ns,
            until_ns: None,
            kind: "clock-step".into(),
            alternative_kind: None,
            direction: Some("both".into()),
            size_ns: Some(size_ns),
            size_interval_ns,
        });
    }
    clock.events.sort_by_key(|event| event.at_ns);
    clock
}

/// Whether `one` is what is left of a step then, of about this size.
fn is_rest(one: &ClockEvent, at_ns: i64, size_ns: i64) -> bool {
    one.kind == "clock-step"
        && one.until_ns.is_none()
        && one.size_interval_ns.is_some()
        && one.at_ns.abs_diff(at_ns) <= TOGETHER_NS.unsigned_abs()
        && one.size_ns.is_some_and(|rest| rest.saturating_abs() < size_ns.saturating_abs() / 2)
}

#[cfg(test)]
mod tests {
    use romer_record::event::{ClockStep, EventKind};

    use super::*;

    fn seen(at_ns: i64, size_ns: i64, size_interval_ns: Option<[i64; 2]>) -> Event {
        Event {
            step: Some(ClockStep { size_ns, size_interval_ns, before_ns: 0, after_ns: 1 }),
            ..Event::new(EventKind::ClockStep, EventLocation::Sender, at_ns, at_ns)
        }
    }

    fn event(at_ns: i64, size_ns: i64, half: i64) -> ClockEvent {
        ClockEvent {
            at_ns,
            until_ns: None,
            kind: "clock-step".into(),
            alternative_kind: None,
            direction: Some("both".into()),
            size_ns: Some(size_ns),
            size_interval_ns: Some([size_ns - half, size_ns + half]),
        }
    }

    fn steps(events: &[Event], of: Vec<ClockEvent>) -> Vec<(i64, i64, Option<[i64; 2]>)> {
        let clock = with_steps(events, ClockState { events: of, ..ClockState::default() });
        clock.events.iter().map(|one| (one.at_ns, one.size_ns.unwrap(), one.size_interval_ns)).collect()
    }

    #[test]
    fn what_delays_tell_to_be_left_of_a_step_is_in_its_size_and_gives_its_interval() {
        const S: i64 = 1_000_000_000;
        let left = || vec![event(15 * S, 2_250, 20), event(40 * S, 3_000, 10)];
        // A sender that is set back leaves the responder's clock further ahead.
        assert_eq!(
            steps(&[seen(15 * S + 1, -100_000_000, None)], left()),
            [
                (15 * S + 1, 100_002_250, Some([100_002_230, 100_002_270])),
                (40 * S, 3_000, Some([2_990, 3_010]))
            ]
        );
        // Of what is known by the host's clocks nothing is left.
        let known = steps(&[seen(15 * S, -100_000_000, Some([-100_000_100, -99_999_900]))], left());
        assert_eq!(known.len(), 3, "{known:?}");
        // Another step, and no rest: as large, or elsewhere.
        assert_eq!(steps(&[seen(15 * S, -4_000, None)], left()).len(), 3);
        assert_eq!(steps(&[seen(27 * S, -100_000_000, None)], left()).len(), 3);
    }
}
