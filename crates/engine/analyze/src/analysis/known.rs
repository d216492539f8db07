//! Steps of clocks that are out of the stamps but for a little, which the clocks' estimate finds: so it tells how large they were.

use romer_clock::skew::{ChangeKind, ClockChange, Estimate, InTurn, sharpened};
use romer_record::OneWaySingleton;
use romer_record::event::{ClockStep, Event, EventDetail, EventLocation};
use romer_record::manifest::SkewRequest;
use romer_units::{Direction, Timestamp};

use super::set_back::{BackwardStep, step_event};

/// A step that was taken out of the stamps.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Whose clock was set.
    pub(super) location: EventLocation,
    /// The first packet after it, in its file.
    pub(super) place: usize,
    /// Stamps from which what was taken out is gone are of after it from here on.
    pub(super) from_ns: i64,
    /// What was taken out, and what was left of it, nanoseconds.
    pub(super) taken_ns: i64,
    pub(super) left_ns: i64,
    /// How uncertain the whole is, and what besides is not known of it that the packets of both clocks do not tell.
    pub(super) uncertain_ns: i64,
    pub(super) common_ns: i64,
    /// Between which moments it was by the sender's clock.
    pub(super) since_ns: i64,
    pub(super) near_ns: i64,
    /// The stamps on either side of it, as they were taken.
    pub(super) before_ns: i64,
    pub(super) after_ns: i64,
}

/// Known steps, with what is still to be taken out of the stamps of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled {
    steps: Vec<(Known, i64, Option<i64>)>,
}

impl Settled {
    /// What an `estimate` of stamps that have a little of each step in them says of these, which it then knows nothing of any more.
    pub(super) fn by(
        estimate: &mut Estimate,
        known: &[Known],
        forward: &[OneWaySingleton],
        reverse: &[OneWaySingleton],
    ) -> Self {
        let mut settled = Self::default();
        for one in known {
            let found = one.detect(estimate, forward, reverse);
            let (left, error) = found.map_or((one.left_ns, None), |(left, error)| (left, Some(error)));
            settled.steps.push((one.clone(), left, error));
        }
        for (moment, left) in settled.steps_of_side(EventLocation::Sender) {
            for correction in &mut estimate.corrections {
                let since = moment.saturating_sub(correction.origin_ns);
                let later = correction.legs.iter_mut().filter(|leg| leg.from_ns >= since);
                later.for_each(|leg| leg.from_ns = leg.from_ns.saturating_sub(left));
            }
            for event in estimate.events.iter_mut().filter(|event| event.at_ns >= moment) {
                event.at_ns = event.at_ns.saturating_sub(left);
                event.until_ns = event.until_ns.map(|until| until.saturating_sub(left));
            }
        }
        settled
    }

    /// The same of packets of one direction, where there is any such step.
    pub(super) fn one_way(known: &[Known], forward: impl FnOnce() -> Vec<OneWaySingleton>) -> Self {
        if known.is_empty() {
            return Self::default();
        }
        let forward = forward();
        let mut estimate = sharpened(&SkewRequest::default(), &forward, &[], &InTurn);
        Self::by(&mut estimate, known, &forward, &[])
    }

    /// From which stamps of a clock on how much is to be taken out, the last first.
    fn steps_of_side(&self, location: EventLocation) -> impl Iterator<Item = (i64, i64)> {
        let own = self.steps.iter().rev().filter(move |(known, ..)| known.location == location);
        own.map(|(known, left, _)| (known.from_ns, *left))
    }

    /// One direction without what is left of the steps.
    pub(super) fn undo(
        &self,
        mut singletons: Vec<OneWaySingleton>,
        heading: Direction,
    ) -> Vec<OneWaySingleton> {
        let (departing, arriving) = match heading {
            Direction::Forward => (EventLocation::Sender, EventLocation::Responder),
            Direction::Reverse => (EventLocation::Responder, EventLocation::Sender),
        };
        let undone = |stamp: i64, location: EventLocation| {
            self.steps_of_side(location)
                .filter(|(from, _)| stamp >= *from)
                .fold(stamp, |stamp, (_, left)| stamp - left)
        };
        for singleton in singletons.iter_mut().filter(|_| !self.steps.is_empty()) {
            let departure = singleton.departure.map(|stamp| undone(stamp.as_nanos(), departing));
            let arrival = singleton.arrival.map(|stamp| undone(stamp.as_nanos(), arriving));
            singleton.departure = departure.map(Timestamp::from_nanos);
            singleton.arrival = arrival.map(Timestamp::from_nanos);
        }
        singletons
    }

    /// The steps as events; the `first` packet left at that moment.
    pub(super) fn events(&self, first: i64) -> Vec<Event> {
        self.steps.iter().map(|(known, left, error)| known.event(*left, *error, first)).collect()
    }
}

/// What was left of a step in the stamps.
#[derive(Clone, Copy, Debug)]
struct Left {
    location: EventLocation,
    /// Between which packets it was, by the sender's clock.
    between: [i64; 2],
    left_ns: i64,
}

impl Left {
    /// Which of the events of an estimate it is.
    fn place(
        &self,
        estimate: &Estimate,
        forward: &[OneWaySingleton],
        reverse: &[OneWaySingleton],
    ) -> Option<usize> {
        /// An event that is the step lies within such a part of the run from it, and is so large, in parts of what was left.
        const NEAR: u64 = 50;
        const LIKE: [i64; 2] = [4, 3];
        let moments = forward.iter().filter_map(|one| one.departure).map(Timestamp::as_nanos);
        let backs = reverse.iter().filter_map(|one| one.arrival).map(Timestamp::as_nanos);
        let (low, high) =
            moments.chain(backs).fold((i64::MAX, i64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        let near = high.saturating_sub(low).unsigned_abs() / NEAR;
        let like = self.left_ns / LIKE[0]..self.left_ns * LIKE[1];
        let [from, to] = self.between;
        let away = |at: i64| at.abs_diff(at.clamp(from, to.max(from)));
        let is_it = |at: i64, size: i64| away(at) <= near && like.contains(&(self.sign() * size));
        // Of one direction a step is told as the path's.
        let is_step = |one: &ClockChange| one.kind == ChangeKind::ClockStep || reverse.is_empty();
        estimate
            .events
            .iter()
            .enumerate()
            .filter(|(_, one)| is_step(one) && one.until_ns.is_none())
            .filter(|(_, one)| is_it(one.at_ns, one.size_ns))
            .min_by_key(|(_, one)| away(one.at_ns))
            .map(|(place, _)| place)
    }

    const fn sign(&self) -> i64 {
        if matches!(self.location, EventLocation::Sender) { -1 } else { 1 }
    }

    /// How much of it an event tells, and half the width of its interval.
    fn told_by(&self, event: &ClockChange) -> (i64, i64) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "an error of a step is within the range of its size"
        )]
        let error = event.error_ns.ceil() as i64;
        (self.sign() * event.size_ns, error)
    }
}

/// So much of a step whose size is not known to better is left in stamps, nanoseconds, that the estimate finds it.
pub(super) const fn left(uncertain_ns: i64) -> i64 {
    /// Besides so many times what it is not known to.
    const LEFT: (i64, i64) = (1_000_000, 6);
    LEFT.0.saturating_add(LEFT.1.saturating_mul(uncertain_ns))
}

/// Leaves a little of these steps in the stamps, where their sizes are to be told by the estimate.
pub(super) fn leaving(steps: &[BackwardStep]) -> Vec<Event> {
    let left = |found: &BackwardStep| {
        let mut event = found.event.clone();
        if let (Some(step), Some(uncertain_ns)) = (&mut event.step, found.uncertain_ns) {
            step.size_ns = step.size_ns.saturating_sub(left(uncertain_ns));
        }
        event
    };
    steps.iter().map(left).collect()
}

/// The steps with their sizes, as an estimate tells them of singletons that have a [little](leaving) of each in them.
pub(super) fn sized(
    steps: Vec<BackwardStep>,
    forward: &[OneWaySingleton],
    reverse: &[OneWaySingleton],
) -> Vec<Event> {
    let estimate = sharpened(&SkewRequest::default(), forward, reverse, &InTurn);
    let first = forward.iter().filter_map(|one| one.departure).min().map_or(0, Timestamp::as_nanos);
    let sized = |found: BackwardStep| {
        let BackwardStep { mut event, uncertain_ns, until_ns, .. } = found;
        let (Some(step), Some(uncertain_ns)) = (&mut event.step, uncertain_ns) else { return event };
        let left_ns = left(uncertain_ns);
        let between = [event.at_ns, until_ns].map(|at| first.saturating_add(at));
        let left = Left { location: event.location, between, left_ns };
        let told = left.place(&estimate, forward, reverse).and_then(|place| estimate.events.get(place));
        let (size_ns, error) = told.map_or((left_ns, 4 * uncertain_ns), |event| left.told_by(event));
        step.size_ns = step.size_ns.saturating_add(size_ns.saturating_sub(left_ns));
        step.size_interval_ns =
            Some([step.size_ns.saturating_sub(error), step.size_ns.saturating_add(error)]);
        event
    };
    steps.into_iter().map(sized).collect()
}

impl Known {
    /// What of it the estimate has found, and to what half the width of its interval; it is taken out of the estimate.
    fn detect(
        &self,
        estimate: &mut Estimate,
        forward: &[OneWaySingleton],
        reverse: &[OneWaySingleton],
    ) -> Option<(i64, i64)> {
        if self.left_ns == 0 {
            return None;
        }
        let left =
            Left { location: self.location, between: [self.since_ns, self.near_ns], left_ns: self.left_ns };
        let place = left.place(estimate, forward, reverse)?;
        let event = *estimate.events.get(place)?;
        // Of one direction, the clocks are estimated anew without the step.
        if !reverse.is_empty() && !estimate.take_out(&event) {
            return None;
        }
        estimate.events.remove(place);
        Some(left.told_by(&event))
    }

    fn event(&self, left: i64, error: Option<i64>, first: i64) -> Event {
        let size_ns = self.taken_ns.saturating_add(left);
        // Without an estimate the level of the packets beside it tells, to what that varies.
        let error = error.unwrap_or(4 * self.uncertain_ns).saturating_add(self.common_ns);
        let interval = Some([size_ns.saturating_sub(error), size_ns.saturating_add(error)]);
        let (before_ns, after_ns) = (self.before_ns, self.after_ns);
        let step = ClockStep { size_ns, size_interval_ns: interval, before_ns, after_ns };
        step_event(self.location, EventDetail::CaptureOrder, self.near_ns.saturating_sub(first), step)
    }
}
