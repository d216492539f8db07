//! Steps of the sender's clock that its own departures show: packets leave one after another, so that a stamp below the
//! one before it, or one that is late by as much as its packet seems to have been quick, is a clock's that was set.
//!
//! In a file of one direction nothing else tells such a step from a change of the path. Of both directions, in one file or
//! two, the clocks' estimate sees it itself, unless the clock was set back: then moments repeat, and the estimate has no
//! order to go by.

use romer_exchange::csv::Shape;
use romer_record::event::{ClockStep, Event, EventKind, Side};
use romer_timebase::skew::Resolution;
use romer_units::Duration;

use super::packets::First;

/// Smaller steps are left to the clocks' estimate.
pub(super) const LEAST_NS: i64 = 200_000;
/// Packets on either side whose quickest tells the level of the raw delays.
pub(super) const BESIDE: usize = 64;
/// Departures must be so regular for a step forwards to be told from a pause: it is larger than so many times their spread.
const REGULAR: i64 = 20;
/// Both measures of a step, by departures and by delays, differ by no more than the greater's part in so many, besides
/// what either may be off.
pub(super) const PART: i64 = 10;
/// A step is larger than so many of what the stamps tell apart.
const UNITS: i64 = 3;
/// With more steps than this it is no clock that is set, but numbers that are not in the order of departure.
pub(super) const MOST: usize = 32;

/// A packet's departure, and what its arrival lies after it by the other clock.
struct Sent {
    departure: i64,
    raw: Option<i64>,
}

/// The steps, as events of the sender's clock, in order of time. `firsts` are in order of sequence.
pub(super) fn steps(firsts: impl Iterator<Item = First>, shape: Shape) -> Vec<Event> {
    let sent: Vec<Sent> = firsts.filter_map(Sent::of).collect();
    let mut gaps: Vec<i64> = apart(&sent).collect();
    if gaps.len() < 2 * BESIDE {
        return Vec::new();
    }
    let mut quantile = |share: usize| {
        let place = (gaps.len() - 1) * share / 100;
        *gaps.select_nth_unstable(place).1
    };
    let (usual, spread) = (quantile(50), quantile(95).saturating_sub(quantile(5)));
    let may_be = |gap: i64, least: i64| {
        let late = least.max(REGULAR.saturating_mul(spread));
        gap < -least || (shape == Shape::OneWay && gap.saturating_sub(usual) > late)
    };
    // As a rule there is none, and what the stamps tell apart need not be known.
    if !apart(&sent).any(|gap| may_be(gap, LEAST_NS)) {
        return Vec::new();
    }
    let (unit, least) = told_apart(sent.iter().filter_map(|packet| {
        Some((packet.departure, packet.raw.and_then(|raw| packet.departure.checked_add(raw))?))
    }));
    let mut found = Vec::new();
    for (place, gap) in apart(&sent).enumerate() {
        if !may_be(gap, least) {
            continue;
        }
        let size = gap.saturating_sub(usual);
        let Some((by_delays, uncertain)) = by_delays(&sent, place + 1) else { continue };
        let slack = size.saturating_abs().max(by_delays.saturating_abs()) / PART;
        let slack = slack.saturating_add(spread).saturating_add(uncertain).saturating_add(unit);
        if size.saturating_sub(by_delays).saturating_abs() > slack {
            continue;
        }
        let size_ns = if spread <= uncertain { size } else { by_delays };
        found.push((place, size_ns));
    }
    if found.len() > MOST {
        return Vec::new();
    }
    let mut set = 0;
    found.into_iter().map(|(place, size_ns)| event(&sent, place, size_ns, &mut set)).collect()
}

/// The same for the other file, whose packets arrived by that clock.
pub(super) fn of_responder(event: &Event) -> Event {
    let detail = event.detail.replace("the sender's", "the responder's");
    Event { side: Side::Responder, detail, ..event.clone() }
}

impl Sent {
    fn of(first: First) -> Option<Self> {
        let departure = first.departure?;
        Some(Self { departure, raw: first.arrival.and_then(|arrival| arrival.checked_sub(departure)) })
    }
}

/// What these departures and arrivals tell apart, and the least step that they may show.
pub(super) fn told_apart(stamps: impl Iterator<Item = (i64, i64)>) -> (i64, i64) {
    let mut resolution = Resolution::default();
    stamps.for_each(|(departure, arrival)| resolution.push(departure, arrival));
    let unit = i64::try_from(resolution.nanos()).unwrap_or(i64::MAX);
    (unit, LEAST_NS.max(unit.saturating_mul(UNITS)))
}

fn apart(sent: &[Sent]) -> impl Iterator<Item = i64> {
    sent.windows(2).map(|pair| pair[1].departure.saturating_sub(pair[0].departure))
}

/// By how much the clock was set before the packet at `place`, as the raw delays show it, and how uncertain that is: a
/// clock that is ahead makes them less.
fn by_delays(sent: &[Sent], place: usize) -> Option<(i64, i64)> {
    let raw = |part: &[Sent]| part.iter().filter_map(|packet| packet.raw).collect();
    let before = raw(&sent[place.saturating_sub(BESIDE)..place]);
    lower(before, raw(&sent[place..sent.len().min(place + BESIDE)]), BESIDE / 4)
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

/// The step between a packet and the next one. `set` is how much the clock was set before in all; the moment counts by the
/// clock as if it had not been.
fn event(sent: &[Sent], place: usize, size_ns: i64, set: &mut i64) -> Event {
    let (before_ns, after_ns) = (sent[place].departure, sent[place + 1].departure);
    let first = sent.first().map_or(0, |packet| packet.departure);
    let at_ns = before_ns.saturating_sub(*set).saturating_sub(first);
    *set = set.saturating_add(size_ns);
    let side = if size_ns < 0 { "back" } else { "ahead" };
    let detail = format!(
        "the sender's clock was set {side} by about {}, as the departures of its packets show",
        rounded(size_ns)
    );
    step_event(
        Side::Sender,
        detail,
        at_ns,
        ClockStep { size_ns, size_interval_ns: None, before_ns, after_ns },
    )
}

/// That an end's clock was set, at a moment after the first packet left.
pub(super) const fn step_event(side: Side, detail: String, at_ns: i64, step: ClockStep) -> Event {
    Event {
        at_ns,
        until_ns: None,
        kind: EventKind::ClockStep,
        side,
        detail,
        clock_ns: step.after_ns,
        step: Some(step),
        datagrams: None,
        mtu: None,
        sequence: None,
        noticed_late_ns: None,
    }
}

/// Its size with three digits, for people.
pub(super) fn rounded(nanos: i64) -> Duration {
    let magnitude = nanos.saturating_abs();
    let unit = 10_i64.saturating_pow(magnitude.max(1).ilog10().saturating_sub(2));
    Duration::from_nanos(magnitude.saturating_add(unit / 2) / unit * unit)
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

    fn found(rows: &[RoundTrip], shape: Shape) -> Vec<Event> {
        steps(rows.iter().filter(|row| row.copy == 0).map(First::of), shape)
    }

    fn sizes(rows: &[RoundTrip], shape: Shape) -> Vec<i64> {
        found(rows, shape).iter().filter_map(|event| Some(event.step?.size_ns)).collect()
    }

    #[test]
    fn a_clock_that_is_set_is_told_by_the_departures() {
        for size in [-3_000_000_000, -50_000_000, -25_000_000, 8_000_000, 2_000_000_000] {
            assert_eq!(sizes(&rows(size, 0, 0), Shape::OneWay), [size]);
        }
        let found = found(&rows(-50_000_000, 0, 0), Shape::FourStamps);
        assert_eq!(found[0].at_ns, 2_999 * 20_000_000);
        assert!(found[0].detail.contains("set back by about 50ms"), "{found:?}");
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
