//! Steps of the sender's clock that its own departures show: packets leave one after another, so that a stamp below the
//! one before it, or one that is late by as much as its packet seems to have been quick, is a clock's that was set.
//!
//! In a file of one direction nothing else tells such a step from a change of the path. Of both directions, in one file or
//! two, the clocks' estimate sees it itself, unless the clock was set back: then moments repeat, and the estimate has no
//! order to go by.

use romer_exchange::csv::Shape;
use romer_record::event::{ClockStep, Event, EventDetail, EventLocation};

use super::packets::First;
use super::stepped::{self, Scan, Stamped, SteppedClock};

/// A step that was found, with how uncertain its size is, where the clocks' estimate is to say how large it was.
#[derive(Clone, Debug)]
pub(super) struct BackwardStep {
    pub(super) event: Event,
    pub(super) uncertain_ns: Option<i64>,
    /// Of a step of both clocks, what is not known of it, though the packets do not tell.
    pub(super) common_ns: Option<i64>,
    /// When the first packet after it left, counted as the event's moment is.
    pub(super) until_ns: i64,
}

/// The steps that the departures show, of the sender's clock, or of both, in order of time. `firsts` are in order of sequence. Of one direction
/// only, a way that is longer by more than `longest_ns` is none.
pub(super) fn steps(firsts: impl Iterator<Item = First>, shape: Shape, longest_ns: i64) -> Vec<BackwardStep> {
    let of = |first: First| {
        Some(Stamped { own: first.departure?, other: first.arrival.map(|arrival| (arrival, false)) })
    };
    let mut sent: Vec<Stamped> = firsts.filter_map(of).collect();
    let look = if shape == Shape::OneWay { Scan::OneWay(longest_ns) } else { Scan::Back };
    let first = sent.first().map_or(0, |packet| packet.own);
    let found = stepped::take_out(&mut sent, look).unwrap_or_default();
    let mut all = Vec::new();
    for step in &found {
        // By the clock as if it had not been set.
        let [at_ns, until_ns] =
            [step.place - 1, step.place].map(|place| sent[place].own.saturating_sub(first));
        let (size_ns, both) = (step.size_ns, step.whose == SteppedClock::Both);
        let uncertain_ns = Some(step.uncertain_ns).filter(|_| !step.is_exact);
        let common_ns = Some(step.uncertain_ns).filter(|_| both);
        if step.whose != SteppedClock::Others {
            let sizes = ClockStep {
                size_ns,
                // What the stamps themselves tell no estimate is asked for: it is known to what their times vary by.
                size_interval_ns: step.is_exact.then(|| step.interval_ns()),
                before_ns: step.before_ns,
                after_ns: step.after_ns,
            };
            let goes_back = step.after_ns < step.before_ns;
            let or_pause = matches!(look, Scan::OneWay(_)) && !goes_back;
            let detail = EventDetail::DeparturesShift { both_clocks: both, or_pause };
            all.push(BackwardStep {
                event: step_event(EventLocation::Sender, detail, at_ns, sizes),
                uncertain_ns,
                common_ns,
                until_ns,
            });
        }
        if step.whose != SteppedClock::Own {
            let Some((before_ns, after_ns)) = step.others else { continue };
            let sizes = ClockStep { size_ns, size_interval_ns: None, before_ns, after_ns };
            let event = step_event(EventLocation::Responder, EventDetail::DelaysShift, at_ns, sizes);
            all.push(BackwardStep { event, uncertain_ns, common_ns, until_ns });
        }
    }
    all
}

impl BackwardStep {
    /// The same of the other file, whose packets arrived by that clock.
    pub(super) fn of_responder(&self) -> Self {
        // Of both at once, how far the one went beyond the other is to be found out.
        let uncertain_ns = self.uncertain_ns.or(self.common_ns);
        Self {
            event: Event { location: EventLocation::Responder, ..self.event.clone() },
            uncertain_ns,
            ..*self
        }
    }
}

/// By how much the second raw delays lie lower than the first, by the quickest of both, and how uncertain that is: by what the
/// lowest quarter spans. `None` where there are less than `few` of either.
pub(super) fn lower(before: Vec<i64>, after: Vec<i64>, few: usize) -> Option<(i64, i64)> {
    let level = |mut raw: Vec<i64>| {
        if raw.len() < few {
            return None;
        }
        let quarter = raw.len() / 4;
        let (below, at, _) = raw.select_nth_unstable(quarter);
        let least = below.iter().copied().min().unwrap_or(*at);
        Some((least, at.saturating_sub(least)))
    };
    let (before, after) = (level(before)?, level(after)?);
    Some((before.0.saturating_sub(after.0), before.1.max(after.1)))
}

/// That an end's clock was set, at a moment after the first packet left.
pub(super) fn step_event(location: EventLocation, detail: EventDetail, at_ns: i64, step: ClockStep) -> Event {
    Event { step: Some(step), ..Event::with(detail, location, at_ns, step.after_ns) }
}

#[cfg(test)]
mod tests {
    use romer_record::RoundTrip;
    use romer_units::Timestamp;

    use super::*;

    /// Two minutes of packets, one in 20 ms, by a sender's clock that is set after the first minute.
    fn rows(size_ns: i64, paused_ns: i64, longer_ns: i64) -> Vec<RoundTrip> {
        let row = |n: i64| {
            let (set, paused, longer) = if n < 3_000 { (0, 0, 0) } else { (size_ns, paused_ns, longer_ns) };
            let left = n * 20_000_000 + paused;
            let waits = (n * 7_919) % 997 * (n % 13) * 100;
            let mut row = RoundTrip { sequence: n.unsigned_abs(), ..RoundTrip::default() };
            row.t1.kernel = Some(Timestamp::from_nanos(left + set));
            row.t2.kernel = Some(Timestamp::from_nanos(left + 5_000_000 + waits + longer));
            row
        };
        (0..6_000).map(row).collect()
    }

    const NONE: [i64; 0] = [];

    #[test]
    fn a_unit_of_coarse_stamps_is_no_step_and_many_are() {
        for (size, expected) in [(0, &NONE[..]), (40_000_000, &[40_000_000])] {
            let mut rows = rows(size, 0, 0);
            for row in &mut rows {
                let coarse = |nanos: i64| nanos.div_euclid(1_000_000) * 1_000_000;
                // The sender's clock runs 50 parts in a million faster: every 20 s its stamps are a unit further.
                row.t1.kernel = row.t1.kernel.map(|stamp| {
                    let nanos = stamp.as_nanos();
                    Timestamp::from_nanos(coarse(nanos + nanos / 20_000))
                });
                row.t2.kernel = row.t2.kernel.map(|stamp| Timestamp::from_nanos(coarse(stamp.as_nanos())));
            }
            // A size is known to a unit.
            let found = sizes(&rows, Shape::OneWay);
            let near = |(found, wanted): (&i64, &i64)| (found - wanted).abs() <= 1_000_000;
            assert!(found.len() == expected.len() && found.iter().zip(expected).all(near), "{found:?}");
        }
    }

    fn found(rows: &[RoundTrip], shape: Shape) -> Vec<BackwardStep> {
        steps(rows.iter().filter(|row| row.copy == 0).map(First::from_row), shape, 3_000_000_000)
    }

    fn sizes(rows: &[RoundTrip], shape: Shape) -> Vec<i64> {
        found(rows, shape).iter().filter_map(|found| Some(found.event.step?.size_ns)).collect()
    }

    #[test]
    fn a_clock_that_is_set_is_told_by_the_departures() {
        for size in [-3_000_000_000, -50_000_000, -25_000_000, 8_000_000, 2_000_000_000] {
            assert_eq!(sizes(&rows(size, 0, 0), Shape::OneWay), [size]);
            let found = found(&rows(size, 0, 0), Shape::OneWay);
            let interval = found[0].event.step.and_then(|step| step.size_interval_ns);
            let holds = |[low, high]: [i64; 2]| low <= size && size <= high && high - low < 1_000_000;
            assert!(interval.is_some_and(holds), "{size}: {interval:?}");
        }
        let found = found(&rows(-50_000_000, 0, 0), Shape::FourStamps);
        assert_eq!(found[0].event.at_ns, 2_999 * 20_000_000);
        let size_ns = found[0].event.step.map(|step| step.size_ns);
        assert!(size_ns.is_some_and(|size| (size + 50_000_000).abs() < 500_000), "{found:?}");
    }

    #[test]
    fn a_pause_a_longer_way_and_numbers_out_of_order_are_no_steps() {
        assert_eq!(sizes(&rows(0, 0, 0), Shape::OneWay), NONE);
        assert_eq!(sizes(&rows(0, 700_000_000, 0), Shape::OneWay), NONE, "a pause");
        assert_eq!(sizes(&rows(0, 0, 9_000_000), Shape::OneWay), NONE, "a longer way");
        assert_eq!(sizes(&rows(0, 700_000_000, -4_000_000), Shape::OneWay), NONE, "both");
        let mut mixed = rows(0, 0, 0);
        for pair in mixed.chunks_mut(2).step_by(50) {
            let first = pair[0].sequence;
            pair[0].sequence = pair[1].sequence;
            pair[1].sequence = first;
        }
        mixed.sort_by_key(|row| row.sequence);
        assert_eq!(sizes(&mixed, Shape::OneWay), NONE);
    }
}
