//! Round trips that were under way when a clock was set.
//!
//! A round trip is the difference of two stamps of the sender, less one of the responder's. So a step that is known from the delays
//! of one way, and taken out of these, is in the round trips that were under way: by itself where the sender was set, and turned
//! over where the responder was set while it had the probe. Which of them that is shows in the round trips: such a one lies where no
//! other does, and among the others without the step.

use romer_record::{Fate, OneWaySingleton};
use romer_units::{Duration, Sender, Timestamp};

use crate::relate::StreamSingletons;
use romer_clock::skew::ChangeKind;

/// A round trip that left so near to a step, or nearer than all steps are large, may have been under way.
const NEAR_NS: i64 = 2_000_000_000;
/// Of fewer others it cannot be said where round trips lie.
const OTHERS: usize = 20;

impl StreamSingletons {
    /// The stream without the steps of [`clock`](Self::clock) in the round trips that were under way, and how many these are. What
    /// then took no more than `waiting_time` was not late.
    #[must_use]
    pub fn without_steps_under_way(mut self, waiting_time: Duration) -> (Self, usize) {
        let changed = self.remove_steps_under_way(waiting_time);
        (self, changed)
    }

    fn remove_steps_under_way(&mut self, waiting_time: Duration) -> usize {
        let sizes: Vec<(i64, i64)> = self
            .clock
            .events
            .iter()
            .filter(|event| event.kind == ChangeKind::ClockStep.name() && event.until_ns.is_none())
            .filter_map(|event| Some((event.at_ns, event.size_ns.filter(|size| *size != 0)?)))
            .collect();
        let first: Option<Timestamp<Sender>> = self
            .round_trip
            .iter()
            .find_map(|singleton| singleton.departure)
            .map(|at| Timestamp::from_nanos(at.as_nanos()));
        let Some(first) = first.filter(|_| !sizes.is_empty()) else { return 0 };
        let reach =
            sizes.iter().fold(NEAR_NS, |reach, (_, size)| reach.saturating_add(size.saturating_abs()));
        let is_near = |singleton: &OneWaySingleton, at: i64| {
            let left = singleton.departure.map(|left| left.as_nanos().saturating_sub(first.as_nanos()));
            left.is_some_and(|left| left.abs_diff(at) <= reach.unsigned_abs())
        };
        let others = || {
            let far = |singleton: &&OneWaySingleton| !sizes.iter().any(|(at, _)| is_near(singleton, *at));
            self.round_trip.iter().filter(far).filter_map(|singleton| singleton.delay).map(Duration::as_nanos)
        };
        let (Some(least), Some(greatest)) = (others().min(), others().max()) else { return 0 };
        if others().count() < OTHERS {
            return 0;
        }
        let mut changed = 0;
        for (at, size) in &sizes {
            let (half, some) = (size.saturating_abs() / 2, size.saturating_abs() / 10);
            for singleton in self.round_trip.iter_mut().filter(|singleton| is_near(singleton, *at)) {
                let Some(delay) = singleton.delay.map(Duration::as_nanos) else { continue };
                let without = delay.saturating_add(*size);
                let is_out = delay < least.saturating_sub(half) || delay > greatest.saturating_add(half);
                let fits = least.saturating_sub(some) <= without && without <= greatest.saturating_add(some);
                if !(is_out && fits) {
                    continue;
                }
                let without = Duration::from_nanos(without);
                singleton.delay = Some(without);
                if singleton.fate == Fate::Late && without <= waiting_time {
                    singleton.fate = Fate::Arrived;
                }
                changed += 1;
            }
        }
        changed
    }
}
