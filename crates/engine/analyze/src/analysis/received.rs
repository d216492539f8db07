//! Steps back of the receiver's clock that the order of a file's lines shows: who logs packets as they come cannot have
//! received one before the line above it, so that a stamp below that of the line before is of a clock that was set.
//!
//! A file may be in order of departure instead, and then the packet has overtaken. The delays tell which: the clock's step
//! is in all that follow, and what overtakes changes nothing for those behind it.

use romer_clock::skew::{InTurn, sharpened};
use romer_exchange::csv::Shape;
use romer_record::OneWaySingleton;
use romer_record::event::{ClockStep, Event, EventDetail, EventLocation};
use romer_record::manifest::SkewRequest;
use romer_units::Direction;

use super::packets::Gathering;
use super::set_back::{lower, step_event};
use super::stepped::{LEAST_NS, MAX_NEIGHBOUR_PACKETS, MAX_STEPS, PART, told_apart};

/// Lines on either side whose quickest tells the level of the raw delays, at least.
const MIN_NEIGHBOUR_LINES: usize = 4;
/// An event of the clocks' estimate is the step where it lies within this part of the file from it.
const NEAR: i64 = 100;

/// A line's stamps.
type Stamps = (i64, i64);

/// The receiver's clock was set back between two lines, which stand as they were logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Back {
    /// When the packets of both lines left, by the sender's clock.
    left_ns: i64,
    next_ns: i64,
    /// The stamps of both lines' arrivals.
    before_ns: i64,
    after_ns: i64,
    /// By how much it was set, below 0, as the raw delays on either side say.
    size_ns: i64,
}

/// The steps that a table of one direction shows, if its lines stand in order of arrival: a packet that was overtaken, and
/// so has its line after others with greater numbers, says that they do.
pub(super) fn of_lines(lines: &Gathering, shape: Shape) -> Vec<Back> {
    if shape == Shape::FourStamps || lines.in_order() {
        return Vec::new();
    }
    let found = steps(lines.len(), |line| {
        let row = lines.row(line);
        let [sent, received] = [0, 1].map(|place| row.stamps[place].or(row.user[place]));
        sent.zip(received)
    });
    found.unwrap_or_default()
}

/// The steps that `number` lines show which stand in order of arrival; `at` gives the stamps of one, if it has both. `None`
/// where a stamp goes back and the delays do not: the lines stand in another order, which tells nothing.
pub(super) fn steps(number: usize, at: impl Fn(usize) -> Option<Stamps>) -> Option<Vec<Back>> {
    let stamped = || (0..number).filter_map(&at);
    let goes_back = |pair: &(Stamps, Stamps)| pair.1.1 < pair.0.1;
    if !stamped().zip(stamped().skip(1)).any(|pair| goes_back(&pair)) {
        return Some(Vec::new());
    }
    let all: Vec<Stamps> = stamped().collect();
    let back = |place: &usize| all[place - 1].1.saturating_sub(all[*place].1);
    let places: Vec<usize> = (1..all.len()).filter(|place| back(place) > 0).collect();
    // Stamps of several queues or processors are not in order to the microsecond.
    let bounds: Vec<usize> = places.iter().copied().filter(|place| back(place) > LEAST_NS).collect();
    if bounds.len() > MAX_STEPS {
        return None;
    }
    let (_, least) = told_apart(all.iter().copied());
    let raw =
        |lines: &[Stamps]| lines.iter().map(|(sent, received)| received.saturating_sub(*sent)).collect();
    let mut found = Vec::new();
    for place in places {
        let from = bounds.iter().rfind(|bound| **bound < place).map_or(0, |bound| *bound);
        let to = bounds.iter().find(|bound| **bound > place).map_or(all.len(), |bound| *bound);
        let from = from.max(place.saturating_sub(MAX_NEIGHBOUR_PACKETS));
        let after = raw(&all[place..to.min(place + MAX_NEIGHBOUR_PACKETS)]);
        // Of fewer lines on a side it is not known what they show.
        let Some((lower, uncertain)) = lower(raw(&all[from..place]), after, MIN_NEIGHBOUR_LINES) else {
            continue;
        };
        let back = back(&place);
        // Time went on between the two lines, so that the clock was set by more than the stamps went back.
        let slack = lower / PART + uncertain;
        if lower > least.max(uncertain) && lower.saturating_add(slack) >= back {
            found.push(Back {
                left_ns: all[place - 1].0,
                next_ns: all[place].0,
                before_ns: all[place - 1].1,
                after_ns: all[place].1,
                size_ns: -lower.max(back),
            });
        } else if back > LEAST_NS {
            return None;
        }
    }
    (found.len() <= MAX_STEPS).then_some(found)
}

/// The events of these steps. Their sizes are those of the changes that the clocks' estimate finds there in `singletons`, which
/// have the steps still in them, so that nothing is left of a step once it is taken out.
pub(super) fn events(steps: &[Back], singletons: &[OneWaySingleton]) -> Vec<Event> {
    if steps.is_empty() {
        return Vec::new();
    }
    let departures = || singletons.iter().filter_map(|singleton| Some(singleton.departure?.as_nanos()));
    let (Some(first), Some(last)) = (departures().min(), departures().max()) else { return Vec::new() };
    let near = last.saturating_sub(first) / NEAR;
    let estimate = sharpened(&SkewRequest::default(), singletons, &[], &InTurn);
    let changes = estimate.events.iter().filter(|change| {
        change.until_ns.is_none() && change.heading.is_none_or(|heading| heading == Direction::Forward)
    });
    let sized = |step: &Back| {
        let here = changes.clone().filter(|change| {
            // In a pause it is told anywhere between the packets beside it.
            let (from, to) = (step.left_ns.min(step.next_ns), step.left_ns.max(step.next_ns));
            change.at_ns.abs_diff(change.at_ns.clamp(from, to)) <= near.unsigned_abs()
                && change.size_ns.abs_diff(step.size_ns) <= step.size_ns.unsigned_abs() / PART.unsigned_abs()
        });
        let nearest = here.min_by_key(|change| change.size_ns.abs_diff(step.size_ns));
        nearest
            .map_or(step.size_ns, |change| change.size_ns.min(step.after_ns.saturating_sub(step.before_ns)))
    };
    steps.iter().map(|step| event(step, sized(step), first)).collect()
}

fn event(step: &Back, size_ns: i64, first: i64) -> Event {
    let Back { left_ns, before_ns, after_ns, .. } = *step;
    let at_ns = left_ns.saturating_sub(first);
    step_event(
        EventLocation::Responder,
        EventDetail::LineOrder,
        at_ns,
        ClockStep { size_ns, size_interval_ns: None, before_ns, after_ns },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const INTERVAL: i64 = 20 * MS;

    /// What packets wait, up to `most`, and how much faster than this clock the other runs.
    fn logged(number: i64, most: i64, ppm: i64, set: impl Fn(i64) -> i64) -> Vec<(i64, Stamps)> {
        let packet = |n: i64| {
            let left = n * INTERVAL;
            let arrives = left + 5 * MS + (n * 7_919) % 997 * (n % 13) * most / 12_000;
            let drifts = arrives * ppm / 1_000_000;
            (arrives, n, (left, arrives + drifts + set(arrives)))
        };
        let mut packets: Vec<(i64, i64, Stamps)> = (0..number).map(packet).collect();
        packets.sort_unstable();
        packets.into_iter().map(|(_, n, stamps)| (n, stamps)).collect()
    }

    fn detect(lines: &[(i64, Stamps)]) -> Option<Vec<i64>> {
        let steps = steps(lines.len(), |line| Some(lines[line].1))?;
        Some(steps.iter().map(|step| step.size_ns).collect())
    }

    #[test]
    fn a_receiver_that_is_set_back_is_told_by_the_order_of_the_lines() {
        for size in [-25 * MS, -30 * MS, -300 * MS, -10_000 * MS] {
            for (number, most) in
                [(12, 2 * MS), (40, 2 * MS), (3_000, 100_000), (3_000, 2 * MS), (3_000, 15 * MS)]
            {
                for ppm in [-100, 0, 100] {
                    let half = number / 2 * INTERVAL;
                    let lines = logged(number, most, ppm, |arrives| if arrives < half { 0 } else { size });
                    let found = detect(&lines).unwrap();
                    let near = |found: &i64| (found - size).abs() < most + MS;
                    assert!(
                        found.len() == 1 && found.iter().all(near),
                        "{size} of {number}, {most}: {found:?}"
                    );
                }
            }
        }
        let twice = |arrives: i64| -> i64 {
            [1_000, 2_000, 2_030].iter().filter(|n| arrives >= **n * INTERVAL).map(|_| -40 * MS).sum()
        };
        assert_eq!(detect(&logged(3_000, 2 * MS, 0, twice)).unwrap().len(), 3);
    }

    #[test]
    fn what_does_not_go_back_and_what_only_overtakes_is_no_step() {
        let still = |_: i64| 0;
        assert_eq!(detect(&logged(3_000, 2 * MS, 50, still)), Some(Vec::new()));
        let ahead = |arrives: i64| if arrives < 30_000 * MS { 0 } else { 30 * MS };
        assert_eq!(detect(&logged(3_000, 2 * MS, 0, ahead)), Some(Vec::new()), "set ahead, or a longer way");
        // A shorter way, by which packets overtake others, has its lines in order of arrival all the same.
        let mut shorter = logged(3_000, 2 * MS, 0, still);
        shorter.iter_mut().filter(|(n, _)| *n >= 1_500).for_each(|(_, stamps)| stamps.1 -= 70 * MS);
        shorter.sort_by_key(|(_, stamps)| stamps.1);
        assert_eq!(detect(&shorter), Some(Vec::new()));
        // In order of departure, where packets overtake others now and then, a shorter way is none either.
        let mut sent = logged(3_000, 60 * MS, 0, still);
        sent.sort_by_key(|(n, _)| *n);
        assert_eq!(detect(&sent), None);
        sent.iter_mut().filter(|(n, _)| *n >= 1_500).for_each(|(_, stamps)| stamps.1 -= 300 * MS);
        assert_eq!(detect(&sent), None);
    }

    #[test]
    fn stamps_that_are_not_in_order_to_the_microsecond_are_no_steps_and_hide_none() {
        let set = |arrives: i64| if arrives < 30_000 * MS { 0 } else { -30 * MS };
        let mut lines = logged(3_000, MS, 0, set);
        for line in (1..lines.len()).step_by(7).filter(|line| !(1_490..1_510).contains(line)) {
            // A copy, which another processor stamped.
            let (n, stamps) = lines[line];
            lines[line - 1] = (n, (stamps.0, stamps.1 + 20_000));
        }
        assert_eq!(detect(&lines).unwrap().len(), 1);
    }
}
