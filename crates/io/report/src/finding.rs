//! What stands out, in sentences.

use romer_record::document::{ClockEvent, ClockState, Measurement, Way as Asked};
use romer_record::finding::{Finding, GridOf, Pattern};

use crate::figure::capital;
use crate::number::{NO_BREAK, count, counted, percent, time, time_with_half};
use crate::table::{Way, ways};
use crate::words::Words;

/// Clocks of computers tick as coarsely as that, nanoseconds.
const TICK_NS: f64 = 100.0;
/// What was found of a delay and what is told of its path are one change where they lie no further apart, and their sizes by no more than this part.
const BESIDE_NS: u64 = 2_000_000_000;
const ALIKE: f64 = 0.1;

impl Words {
    /// A finding as a sentence, with its way in front where there is more than one.
    pub(crate) fn finding(self, m: &Measurement, finding: &Finding) -> String {
        let sentence = self.told(finding, &m.findings, &m.clock, may_be_clocks(m));
        let way = match finding.direction {
            Asked::Forward => Way::Forward,
            Asked::Reverse => Way::Reverse,
            Asked::RoundTrip | Asked::Both => Way::RoundTrip,
        };
        if ways(m) == [way] {
            return capital(&sentence);
        }
        format!("{}: {sentence}", way.name())
    }

    /// What happened to a clock or to the path, and when: from one moment to another, where it took a while. Of a way that changed at
    /// once, that a clock may have been set instead, where nothing tells.
    pub(crate) fn clock_event(self, m: &Measurement, event: &ClockEvent) -> String {
        let at_once = event.lasted_until().is_none();
        match event.size_ns.filter(|_| event.kind == "path-change" && at_once && may_be_clocks(m)) {
            Some(size) => {
                let told = self.event_by_itself(&ClockEvent { may_be: None, ..event.clone() });
                format!("{told}, {}", unless_set(size < 0))
            }
            None => self.event_by_itself(event),
        }
    }

    /// The same without what else it may be because packets go one way.
    pub(crate) fn event_by_itself(self, event: &ClockEvent) -> String {
        let signed = |size: i64| format!("{}{}", if size > 0 { "+" } else { "" }, self.size(event, size));
        let size = event.size_ns.map_or_else(String::new, |size| format!(" of {}", signed(size)));
        let way = event.direction.as_deref().filter(|way| *way != "both");
        let way = way.map_or_else(String::new, |way| format!(", {way}"));
        let from = self.time_of(event.at_ns);
        let when = match event.lasted_until() {
            Some(until) => format!("from {from} to {} after the start", self.time_of(until)),
            None => format!("{from} after the start"),
        };
        // What cannot be told apart is no fact.
        match &event.may_be {
            Some(other) => {
                format!("{} or {other}{size}{way}, {when}; which of them cannot be told", event.kind)
            }
            None => format!("{}{size}{way}, {when}", event.kind),
        }
    }

    /// A size, with how far that may be off where it is known: as far as its interval reaches to the farther end.
    fn size(self, event: &ClockEvent, size: i64) -> String {
        match (event.size_ns, event.size_interval_ns) {
            (Some(found), Some([least, most])) => {
                let half = found.saturating_sub(least).max(most.saturating_sub(found));
                time_with_half(as_float(size), as_float(half), self.unicode)
            }
            _ => self.time_of(size),
        }
    }

    /// That a clock was set or slewed, and when, as a sentence; nothing of what happened to the path.
    pub(crate) fn clock_set(self, event: &ClockEvent) -> Option<String> {
        let size =
            event.size_ns.map_or_else(String::new, |size| format!(" by {}", self.size(event, size.abs())));
        let from = self.time_of(event.at_ns);
        let what = match (event.kind.as_str(), event.lasted_until()) {
            ("clock-step" | "slew", None) => format!("{from} after the start a clock was set{size}"),
            ("clock-step" | "slew", Some(until)) => {
                format!("From {from} to {} after the start a clock was slewed{size}", self.time_of(until))
            }
            _ => return None,
        };
        let other = event.may_be.as_ref().map_or("", |_| ", or the path changed, which cannot be told");
        Some(format!("{what}{other}: the one-way delays are without it."))
    }

    /// What was found, and of a way that changed at once, what it may be instead, where nothing tells.
    fn told(self, finding: &Finding, all: &[Finding], clock: &ClockState, one_way: bool) -> String {
        let sentence = self.pattern(finding, all, &clock.events);
        let Pattern::DelayStep { size_ns, .. } = finding.pattern else { return sentence };
        let doubt = if one_way {
            unless_set(size_ns < 0.0)
        } else if may_be_a_clock(finding, size_ns, clock) {
            "or a clock was set by as much, which cannot be told"
        } else {
            return sentence;
        };
        format!("{}, {doubt}.", sentence.trim_end_matches('.'))
    }

    /// What was found, beside all that was and what is told of clocks and path.
    fn pattern(self, finding: &Finding, all: &[Finding], events: &[ClockEvent]) -> String {
        let time = |nanos: f64| time(nanos, self.unicode);
        let when =
            finding.at_ns.map_or_else(String::new, |at| format!("{} after the start ", time(as_float(at))));
        match &finding.pattern {
            Pattern::PeriodicDelaySpikes {
                period_ns,
                period_interval_ns: [low, high],
                height_ns,
                spikes,
                cycles,
                multiple_of_ns,
                ..
            } => {
                let of = multiple_of_ns.map_or_else(String::new, |short| {
                    let times = period_ns / short;
                    // With the digits that it has in its own sentence.
                    let half = all.iter().find_map(|other| match other.pattern {
                        Pattern::PeriodicDelaySpikes {
                            period_ns,
                            period_interval_ns: [low, high],
                            ..
                        } if other.direction == finding.direction && (period_ns - short).abs() < 0.5 => {
                            Some((high - low) / 2.0)
                        }
                        _ => None,
                    });
                    let shown = half.map_or_else(|| time(short), |half| time_with_half(short, half, self.unicode));
                    format!(
                        " That is {times:.0} times the period of {}, which was found too: these may be every {} of its spikes, and \
                         not have a cause of their own.",
                        shown,
                        ordinal(times)
                    )
                });
                format!(
                    "every {} packets wait {} longer than usual, at {} of the {} moments at which that was due.{of}",
                    time_with_half(*period_ns, (high - low) / 2.0, self.unicode),
                    time(*height_ns),
                    count(*spikes),
                    count(*cycles)
                )
            }
            Pattern::DelayGrid {
                of,
                step_ns,
                step_interval_ns,
                offset_ns,
                offset_interval_ns,
                points,
                strength_ratio,
                doubtful,
            } => {
                let known = |value: f64, interval: &Option<[f64; 2]>| match interval {
                    Some([low, high]) => time_with_half(value, (high - low) / 2.0, self.unicode),
                    None => time(value),
                };
                let what = match of {
                    GridOf::Delay => "delays",
                    GridOf::Ipdv => "differences of consecutive delays",
                };
                let offset = offset_ns.filter(|offset| *offset > 0.0).map_or_else(String::new, |offset| {
                    format!(", offset by {}", known(offset, offset_interval_ns))
                });
                let doubt = match doubtful {
                    true if *step_ns <= TICK_NS => {
                        " So small a step may be that of the clocks by which they were stamped, and none of the path's."
                    }
                    true => {
                        " The stamps tell apart little less than such a step: it may be that of the clocks by which they were made, and none of \
                         the path's."
                    }
                    false => "",
                };
                // From where on is not known where the clocks' offset is not.
                let step = known(*step_ns, step_interval_ns);
                let keep = match offset_ns {
                    Some(_) => format!("keep to multiples of {step}{offset}"),
                    None => format!("lie whole steps of {step} apart"),
                };
                format!(
                    "the {what} {keep}: {} lie near one of {points} points, by chance a quarter would.{doubt}",
                    percent(*strength_ratio)
                )
            }
            Pattern::DelayStep { at_interval_ns, size_ns, .. } => {
                // The first packet after the step left at `at`; the step was before.
                let when = finding.at_ns.zip(*at_interval_ns).map_or(when, |(at, [low, high])| {
                    let half = as_float((at - low).max(high - at));
                    format!("{} after the start ", time_with_half(as_float(at), half, self.unicode))
                });
                format!(
                    "{when}the delay changed at once: packets take {} from then on.",
                    self.change_as_told(finding, *size_ns, events)
                )
            }
            Pattern::RouteChange { ttl_from, ttl_to, delay_step_ns } => {
                let delay = delay_step_ns
                    .map_or_else(String::new, |size| format!(", and take {}", self.change(size)));
                format!(
                    "{when}the route changed: packets arrive with a TTL of {ttl_to} instead of {ttl_from}{delay}."
                )
            }
            Pattern::SeveralRoutes { ttl_min, ttl_max, changes, .. } => format!(
                "packets come by several routes at once: their TTL changed {} between {ttl_min} and {ttl_max}.",
                counted(*changes, "time", "times")
            ),
            Pattern::DuplicateBurst { packets, copies, .. } => format!(
                "{when}{} in a row came more than once, with {} too many.",
                counted(*packets, "packet", "packets"),
                counted(*copies, "copy", "copies")
            ),
            Pattern::LossByLength { longest_arrived_bytes, shortest_lost_bytes, packets, .. } => format!(
                "all packets of {shortest_lost_bytes}{NO_BREAK}B of payload and more were lost, {} of them, while up to \
                 {longest_arrived_bytes}{NO_BREAK}B arrived: something on the way drops packets for their length.",
                count(*packets),
            ),
            Pattern::CoalescedArrivals { within_ns, mean_packets, strength_ratio, .. } => format!(
                "packets that were sent apart arrive together: {} of them within {} of the one before, in groups of \
                 {mean_packets:.1} on average.",
                percent(*strength_ratio),
                time(*within_ns)
            ),
        }
    }

    fn change(self, size: f64) -> String {
        format!("{}{NO_BREAK}{}", time(size.abs(), self.unicode), aside(size))
    }

    /// The same with the number that the change of the path has among what happened to clocks and path, if it is there: levels tell it better than
    /// medians do, and two numbers of one change would ask which is true.
    fn change_as_told(self, finding: &Finding, size: f64, events: &[ClockEvent]) -> String {
        let Some([way, _]) = ways_of(finding) else { return self.change(size) };
        let told = events.iter().filter(|event| is_of_path(event, way) && is_change(event, finding, size));
        let apart = |event: &ClockEvent| apart(event, finding);
        match told.min_by_key(|event| apart(event)).and_then(|event| Some((event, event.size_ns?))) {
            Some((event, told)) => {
                format!("{}{NO_BREAK}{}", self.size(event, told.saturating_abs()), aside(size))
            }
            None => self.change(size),
        }
    }
}

/// Whether a way that changed at once may as well be a clock that was set: packets of a file that go one way, of which
/// nobody watched the clocks.
fn may_be_clocks(m: &Measurement) -> bool {
    m.source.is_some() && m.clock.method != "shared" && ways(m).len() == 1 && ways(m)[0] != Way::RoundTrip
}

/// That a way which changed may be none of the path's, where packets go one way: the receiver's clock may have been set. By a clock that was set
/// `back`, packets would be out of order that are not.
pub const fn unless_set(back: bool) -> &'static str {
    if back {
        "unless the receiver's clock was set back by as much, which sets no packet out of order: one direction alone does not tell"
    } else {
        "unless the receiver's clock was set ahead by as much: one direction alone does not tell"
    }
}

/// The way that a finding is of, and the other one.
const fn ways_of(finding: &Finding) -> Option<[&'static str; 2]> {
    match finding.direction {
        Asked::Forward => Some(["forward", "reverse"]),
        Asked::Reverse => Some(["reverse", "forward"]),
        Asked::RoundTrip | Asked::Both => None,
    }
}

fn is_of_path(event: &ClockEvent, way: &str) -> bool {
    event.kind == "path-change" && event.direction.as_deref() == Some(way)
}

/// How far what is told of clocks and path lies from what was found.
fn apart(event: &ClockEvent, finding: &Finding) -> u64 {
    let at_ns = finding.at_ns.unwrap_or(i64::MIN);
    at_ns.abs_diff(at_ns.clamp(event.at_ns, event.lasted_until().unwrap_or(event.at_ns)))
}

/// Whether both are one change, of this size.
fn is_change(event: &ClockEvent, finding: &Finding, size: f64) -> bool {
    apart(event, finding) <= BESIDE_NS
        && event.size_ns.is_some_and(|told| (as_float(told) - size).abs() <= size.abs() * ALIKE)
}

/// Whether what was found of a way may be a clock's, which is opposite in the other way: what is told of both says so, or says nothing, and the
/// delays may be off by as much.
fn may_be_a_clock(finding: &Finding, size: f64, clock: &ClockState) -> bool {
    let Some([way, other]) = ways_of(finding) else { return false };
    let is_it = |event: &&ClockEvent| {
        is_of_path(event, way) && is_change(event, finding, size)
            || is_of_path(event, other) && is_change(event, finding, -size)
    };
    let mut told = clock.events.iter().filter(is_it).peekable();
    match told.peek() {
        Some(_) => told.any(|event| event.may_be.is_some()),
        None => clock.delay_error_ns.is_some_and(|error| error >= size.abs()),
    }
}

/// Of a change of the delay.
const fn aside(size: f64) -> &'static str {
    if size < 0.0 { "less" } else { "longer" }
}

/// `2nd`, `3rd`, `4th` and so on, of a number that is nearly whole.
fn ordinal(number: f64) -> String {
    let text = format!("{number:.0}");
    let ending = match text.as_bytes() {
        [.., b'1', _] => "th",
        [.., b'1'] => "st",
        [.., b'2'] => "nd",
        [.., b'3'] => "rd",
        _ => "th",
    };
    format!("{text}{ending}")
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
const fn as_float(nanos: i64) -> f64 {
    nanos as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_clocks_steps_and_slews_are_told_and_of_the_path_nothing() {
        let say = |kind: &str, until_ns| {
            let event = ClockEvent {
                at_ns: 12_000_000_000,
                until_ns,
                kind: kind.into(),
                may_be: None,
                direction: Some("both".into()),
                size_ns: Some(-3_000_000),
                size_interval_ns: until_ns.is_none().then_some([-3_051_000, -2_949_000]),
            };
            Words { unicode: true }.clock_set(&event).map(|text| text.replace(NO_BREAK, " "))
        };
        assert_eq!(
            say("clock-step", None).unwrap(),
            "12.0 s after the start a clock was set by 3.00 ± 0.05 ms: the one-way delays are without it."
        );
        assert_eq!(
            say("slew", Some(15_000_000_000)).unwrap(),
            "From 12.0 s to 15.0 s after the start a clock was slewed by 3.00 ms: the one-way delays are without it."
        );
        assert_eq!(say("path-change", None), None);
        let event = ClockEvent {
            at_ns: 240_000_000_000,
            until_ns: None,
            kind: "path-change".into(),
            may_be: None,
            direction: Some("forward".into()),
            size_ns: Some(3_980_000),
            size_interval_ns: Some([3_920_000, 4_045_800]),
        };
        let said = |unicode| Words { unicode }.event_by_itself(&event).replace(NO_BREAK, " ");
        assert_eq!(said(true), "path-change of +3.98 ± 0.07 ms, forward, 240 s after the start");
        assert_eq!(said(false), "path-change of +3.98 +- 0.07 ms, forward, 240 s after the start");
    }

    #[test]
    fn a_change_of_the_path_has_the_one_number_that_is_told_of_it() {
        let step = |direction, size_ns| Finding {
            direction,
            at_ns: Some(24_000_000_000),
            until_ns: None,
            false_alarm_probability: None,
            pattern: Pattern::DelayStep {
                at_interval_ns: None,
                size_ns,
                size_interval_ns: None,
                strength_ratio: 2.0,
            },
        };
        let told = ClockEvent {
            at_ns: 24_020_000_000,
            until_ns: None,
            kind: "path-change".into(),
            may_be: None,
            direction: Some("forward".into()),
            size_ns: Some(2_000_000),
            size_interval_ns: Some([1_999_000, 2_001_000]),
        };
        let beside = |events: &[ClockEvent], delay_error_ns: f64, finding: &Finding| {
            let clock = ClockState {
                events: events.to_vec(),
                delay_error_ns: Some(delay_error_ns),
                ..ClockState::default()
            };
            Words { unicode: true }.told(finding, &[], &clock, false).replace(NO_BREAK, " ")
        };
        let say = |finding: &Finding| beside(std::slice::from_ref(&told), 1e3, finding);
        assert!(say(&step(Asked::Forward, 1.99e6)).contains("take 2.000 ± 0.001 ms longer from then on"));
        // What may be a clock's is no fact, in neither direction.
        let open = ClockEvent { may_be: Some("clock-step".into()), ..told.clone() };
        let words = Words { unicode: true };
        let may = |finding: &Finding| beside(std::slice::from_ref(&open), 1e3, finding);
        let or = "from then on, or a clock was set by as much, which cannot be told.";
        assert!(may(&step(Asked::Forward, 1.99e6)).ends_with(&format!("2.000 ± 0.001 ms longer {or}")));
        assert!(may(&step(Asked::Reverse, -2.05e6)).ends_with(or));
        assert!(may(&step(Asked::Reverse, 2.05e6)).ends_with("longer from then on."));
        // Nor is what came at once within what is told to have come by and by.
        let slow = ClockEvent { at_ns: 20_000_000_000, until_ns: Some(24_100_000_000), ..open.clone() };
        assert!(beside(&[slow], 1e3, &step(Asked::Forward, 2e6)).ends_with(or));
        // Nor of what nothing is told, if delays may be off by as much.
        assert!(beside(&[], 3e6, &step(Asked::Forward, 2e6)).ends_with(or));
        assert!(beside(&[], 1e3, &step(Asked::Forward, 2e6)).ends_with("longer from then on."));
        assert!(
            beside(std::slice::from_ref(&told), 3e6, &step(Asked::Forward, 2e6))
                .ends_with("longer from then on.")
        );
        assert_eq!(
            words.event_by_itself(&open).replace(NO_BREAK, " "),
            "path-change or clock-step of +2.000 ± 0.001 ms, forward, 24.0 s after the start; which of them cannot be told"
        );
        let slew = ClockEvent {
            kind: "slew".into(),
            may_be: Some("path-change".into()),
            until_ns: Some(29_020_000_000),
            size_interval_ns: None,
            ..told.clone()
        };
        assert_eq!(
            words.clock_set(&slew).unwrap().replace(NO_BREAK, " "),
            "From 24.0 s to 29.0 s after the start a clock was slewed by 2.00 ms, or the path changed, which cannot be told: the one-way \
             delays are without it."
        );
        // Of the other way, or of another size, it is another change.
        assert!(say(&step(Asked::Reverse, 1.99e6)).contains("take 1.99 ms longer"));
        assert!(say(&step(Asked::Forward, 1.2e6)).contains("take 1.20 ms longer"));
    }

    #[test]
    fn each_kind_of_pattern_is_a_sentence() {
        let shorter = Pattern::PeriodicDelaySpikes {
            period_ns: 5.12e9,
            period_interval_ns: [5.1197e9, 5.1203e9],
            phase_ns: 0.0,
            height_ns: 24.3e6,
            spikes: 58,
            cycles: 59,
            strength_ratio: 58.0 / 59.0,
            multiple_of_ns: None,
        };
        let say = |at_ns, pattern| {
            let finding = Finding {
                direction: Asked::Forward,
                at_ns,
                until_ns: None,
                false_alarm_probability: None,
                pattern,
            };
            let shorter = Finding { pattern: shorter.clone(), ..finding.clone() };
            Words { unicode: true }.pattern(&finding, &[shorter], &[]).replace(NO_BREAK, " ")
        };
        let spikes = |multiple_of_ns| Pattern::PeriodicDelaySpikes {
            period_ns: 10.24e9,
            period_interval_ns: [10.239e9, 10.241e9],
            phase_ns: 0.0,
            height_ns: 24.3e6,
            spikes: 58,
            cycles: 59,
            strength_ratio: 58.0 / 59.0,
            multiple_of_ns,
        };
        let grid = |step_ns, doubtful| Pattern::DelayGrid {
            of: GridOf::Delay,
            step_ns,
            step_interval_ns: None,
            offset_ns: None,
            offset_interval_ns: None,
            points: 7,
            strength_ratio: 0.5,
            doubtful,
        };
        for (at, pattern, sentence) in [
            (
                None,
                spikes(None),
                "every 10.240 ± 0.001 s packets wait 24.3 ms longer than usual, at 58 of the 59 moments at which that was due.",
            ),
            (
                None,
                spikes(Some(5.12e9)),
                "every 10.240 ± 0.001 s packets wait 24.3 ms longer than usual, at 58 of the 59 moments at which that was due. \
                 That is 2 times the period of 5.1200 ± 0.0003 s, which was found too: these may be every 2nd of its spikes, and not have \
                 a cause of their own.",
            ),
            (
                None,
                grid(10e6, false),
                "the delays lie whole steps of 10.0 ms apart: 50.0 % lie near one of 7 points, by chance a quarter would.",
            ),
            (
                None,
                Pattern::DelayGrid {
                    of: GridOf::Ipdv,
                    step_ns: 10.0001e6,
                    step_interval_ns: Some([9.9998e6, 10.0004e6]),
                    offset_ns: Some(4.8051e6),
                    offset_interval_ns: Some([4.8031e6, 4.8071e6]),
                    points: 7,
                    strength_ratio: 0.5,
                    doubtful: false,
                },
                "the differences of consecutive delays keep to multiples of 10.0001 ± 0.0003 ms, offset by 4.805 ± 0.002 ms: \
                 50.0 % lie near one of 7 points, by chance a quarter would.",
            ),
            (
                None,
                grid(70.0, true),
                "the delays lie whole steps of 70 ns apart: 50.0 % lie near one of 7 points, by chance a quarter would. So small a \
                 step may be that of the clocks by which they were stamped, and none of the path's.",
            ),
            (
                Some(24_000_000_000),
                Pattern::DelayStep {
                    at_interval_ns: Some([23_980_000_000, 24_040_000_000]),
                    size_ns: 2e6,
                    size_interval_ns: None,
                    strength_ratio: 2.0,
                },
                "24.00 ± 0.04 s after the start the delay changed at once: packets take 2.00 ms longer from then on.",
            ),
            (
                Some(24_000_000_000),
                Pattern::DelayStep {
                    at_interval_ns: None,
                    size_ns: 2e6,
                    size_interval_ns: None,
                    strength_ratio: 2.0,
                },
                "24.0 s after the start the delay changed at once: packets take 2.00 ms longer from then on.",
            ),
            (
                Some(24_000_000_000),
                Pattern::RouteChange { ttl_from: 60, ttl_to: 57, delay_step_ns: None },
                "24.0 s after the start the route changed: packets arrive with a TTL of 57 instead of 60.",
            ),
            (
                None,
                Pattern::SeveralRoutes { ttl_min: 57, ttl_max: 61, changes: 800, strength_ratio: 0.5 },
                "packets come by several routes at once: their TTL changed 800 times between 57 and 61.",
            ),
            (
                Some(1_000_000_000),
                Pattern::DuplicateBurst { first_sequence: 50, packets: 12, copies: 13, strength_ratio: 1.0 },
                "1.00 s after the start 12 packets in a row came more than once, with 13 copies too many.",
            ),
            (
                None,
                Pattern::CoalescedArrivals {
                    within_ns: 100e3,
                    groups: 90,
                    mean_packets: 3.04,
                    strength_ratio: 0.66,
                },
                "packets that were sent apart arrive together: 66.0 % of them within 100 µs of the one before, in groups of \
                 3.0 on average.",
            ),
            (
                None,
                Pattern::LossByLength {
                    longest_arrived_bytes: 594,
                    shortest_lost_bytes: 1472,
                    packets: 1,
                    strength_ratio: 0.9,
                },
                "all packets of 1472 B of payload and more were lost, 1 of them, while up to 594 B arrived: something on the way drops \
                 packets for their length.",
            ),
        ] {
            assert_eq!(say(at, pattern), sentence);
        }
    }
}
