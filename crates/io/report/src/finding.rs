//! Findings, and what happened to clocks and path, in words.

use romer_record::document::{ClockEvent, ClockState, Measurement, ProbeDirection};
use romer_record::finding::{Finding, GridQuantity, Pattern};

use crate::number::{NO_BREAK, capital, count, counted, percent, time, time_with_half};
use crate::sentence::unless_set;
use crate::table::{MeasuredPath, ways};
use crate::words::Words;

/// Clocks of computers tick as coarsely as that, nanoseconds.
const TICK_NS: f64 = 100.0;
/// What was found of a delay and what is told of its path are one change where they lie no further apart, and their sizes by no more than this part.
const TIME_TOLERANCE_NS: u64 = 2_000_000_000;
const SIZE_TOLERANCE: f64 = 0.1;

impl Words {
    /// A finding: what it is, its direction where there is more than one, and its figures.
    pub(crate) fn finding(self, m: &Measurement, finding: &Finding) -> String {
        let way = MeasuredPath::from(finding.direction);
        let direction = if ways(m) == [way] { String::new() } else { format!(", {}", way.name()) };
        let figures = self.figures_of(finding, &m.findings, &m.clock, may_be_clocks(m));
        format!("{}{direction}: {figures}", name(&finding.pattern))
    }

    /// What happened to clocks and to the path, without sudden changes of a delay that are findings.
    pub(crate) fn clock_events(self, m: &Measurement) -> Vec<String> {
        let is_finding = |event: &&ClockEvent| {
            event.lasted_until().is_none()
                && m.findings.iter().any(|finding| match (&finding.pattern, ways_of(finding)) {
                    (Pattern::DelayStep { size_ns, .. }, Some([way, _])) => {
                        is_of_path(event, way) && is_change(event, finding, *size_ns)
                    }
                    _ => false,
                })
        };
        let events = m.clock.events.iter().filter(|event| !is_finding(event));
        events.map(|event| capital(&self.clock_event(m, event))).collect()
    }

    /// What happened to a clock or to the path, and when. Of a way that changed at once, that a clock may have been set instead,
    /// where nothing tells.
    fn clock_event(self, m: &Measurement, event: &ClockEvent) -> String {
        let at_once = event.lasted_until().is_none();
        match event.size_ns.filter(|_| event.kind == "path-change" && at_once && may_be_clocks(m)) {
            Some(size) => {
                let alone = self.event_by_itself(&ClockEvent { alternative_kind: None, ..event.clone() });
                format!("{alone}, {}", unless_set(size < 0))
            }
            None => self.event_by_itself(event),
        }
    }

    /// The same without what else it may be because packets go one way.
    pub(crate) fn event_by_itself(self, event: &ClockEvent) -> String {
        let signed = |size: i64| format!("{}{}", if size > 0 { "+" } else { "" }, self.size(event, size));
        let size = event.size_ns.map_or_else(String::new, |size| format!(" of {}", signed(size)));
        let way = event.direction.as_deref().filter(|way| *way != "both");
        let way = way.map_or_else(String::new, |way| format!(", {way},"));
        let other = event
            .alternative_kind
            .as_ref()
            .map_or_else(String::new, |other| format!(" or {} (indistinguishable)", kind(other)));
        let text = format!("{}{other}{size}{way} {}", kind(&event.kind), self.when(event));
        text
    }

    /// `at t = 12.0 s`, or `from t = 12.0 s to 15.0 s`.
    fn when(self, event: &ClockEvent) -> String {
        let from = self.moment_of(event.at_ns);
        match event.lasted_until() {
            Some(until) => format!("from {from} to {}", self.time_of(until)),
            None => format!("at {from}"),
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

    /// That a clock was set or slewed, and when; nothing of what happened to the path.
    pub(crate) fn clock_set(self, event: &ClockEvent) -> Option<String> {
        let is_of_clock = matches!(event.kind.as_str(), "clock-step" | "slew");
        is_of_clock.then(|| format!("{}; removed from one-way delays", capital(&self.event_by_itself(event))))
    }

    /// The figures of a finding; and of a delay that changed at once, what it may be instead, where nothing tells.
    fn figures_of(self, finding: &Finding, all: &[Finding], clock: &ClockState, one_way: bool) -> String {
        let text = self.pattern(finding, all, &clock.events);
        let Pattern::DelayStep { size_ns, .. } = finding.pattern else { return text };
        if one_way {
            format!("{text}, {}", unless_set(size_ns < 0.0))
        } else if may_be_a_clock(finding, size_ns, clock) {
            format!("{text}, or a clock step of the same size (indistinguishable)")
        } else {
            text
        }
    }

    /// What was found, beside all that was and what is known of clocks and path.
    fn pattern(self, finding: &Finding, all: &[Finding], events: &[ClockEvent]) -> String {
        let time = |nanos: f64| time(nanos, self.unicode);
        let with_interval = |value: f64, interval: &Option<[f64; 2]>| match interval {
            Some([low, high]) => time_with_half(value, (high - low) / 2.0, self.unicode),
            None => time(value),
        };
        let at = finding.at_ns.map_or_else(String::new, |at| format!(" at {}", self.moment_of(at)));
        match &finding.pattern {
            Pattern::PeriodicDelaySpikes {
                period_ns,
                period_interval_ns,
                height_ns,
                spikes,
                cycles,
                multiple_of_ns,
                ..
            } => {
                let multiple = multiple_of_ns.map_or_else(String::new, |short| {
                    let times = period_ns / short;
                    // With the digits that it has by itself.
                    let interval = all.iter().find_map(|other| match other.pattern {
                        Pattern::PeriodicDelaySpikes { period_ns, period_interval_ns, .. }
                            if other.direction == finding.direction && (period_ns - short).abs() < 0.5 =>
                        {
                            Some(period_interval_ns)
                        }
                        _ => None,
                    });
                    format!(
                        "; {times:.0} times the period of {}: possibly every {} of those spikes, without a cause of its own",
                        with_interval(short, &interval),
                        ordinal(times)
                    )
                });
                format!(
                    "+{} every {} ({} of {} expected spikes seen){multiple}",
                    time(*height_ns),
                    with_interval(*period_ns, &Some(*period_interval_ns)),
                    count(*spikes),
                    count(*cycles)
                )
            }
            Pattern::DelayGrid {
                step_ns,
                step_interval_ns,
                offset_ns,
                offset_interval_ns,
                points,
                strength_ratio,
                doubtful,
                ..
            } => {
                let doubt = match doubtful {
                    true if *step_ns <= TICK_NS => {
                        "; so small a step may be the resolution of the clocks, not of the path"
                    }
                    true => {
                        "; the time stamps resolve little less: the step may be the resolution of the clocks, not of the path"
                    }
                    false => "",
                };
                // Where the first step begins is not known where the clocks' offset is not.
                let step = with_interval(*step_ns, step_interval_ns);
                let offset = offset_ns.filter(|offset| *offset > 0.0).map_or_else(String::new, |offset| {
                    format!(" plus {}", with_interval(offset, offset_interval_ns))
                });
                let steps = match offset_ns {
                    Some(_) => format!("multiples of {step}{offset}"),
                    None => format!("steps of {step}"),
                };
                format!(
                    "{steps} ({} of the values near one of {points} steps, 25{NO_BREAK}% expected without){doubt}",
                    percent(*strength_ratio)
                )
            }
            Pattern::DelayStep { at_interval_ns, size_ns, .. } => {
                // The first packet after the step left at `at`; the step was before.
                let at = finding.at_ns.zip(*at_interval_ns).map_or(at, |(at, [low, high])| {
                    let half = as_float((at - low).max(high - at));
                    format!(" at t = {}", time_with_half(as_float(at), half, self.unicode))
                });
                format!("{}{at}", self.change_of_path(finding, *size_ns, events))
            }
            Pattern::RouteChange { ttl_from, ttl_to, delay_step_ns } => {
                let delay =
                    delay_step_ns.map_or_else(String::new, |size| format!(", delay {}", self.change(size)));
                format!("TTL on arrival from {ttl_from} to {ttl_to}{at}{delay}")
            }
            Pattern::SeveralRoutes { ttl_min, ttl_max, changes, .. } => format!(
                "TTL on arrival changed {} between {ttl_min} and {ttl_max}",
                counted(*changes, "time", "times")
            ),
            Pattern::DuplicateBurst { packets, copies, .. } => format!(
                "{} consecutive {} with {}{at}",
                count(*packets),
                if *packets == 1 { "packet" } else { "packets" },
                counted(*copies, "extra copy", "extra copies")
            ),
            Pattern::LossByLength { longest_arrived_bytes, shortest_lost_bytes, packets, .. } => format!(
                "{} of {shortest_lost_bytes}{NO_BREAK}B payload or more, all lost; up to {longest_arrived_bytes}{NO_BREAK}B arrived: \
                 a hop drops packets by length (MTU, fragments)",
                counted(*packets, "packet", "packets"),
            ),
            Pattern::PeriodicLoss { period_ns, period_interval_ns, groups, cycles, packets, .. } => format!(
                "{} lost every {} ({} of {} expected groups seen)",
                counted(*packets, "packet", "packets"),
                with_interval(*period_ns, &Some(*period_interval_ns)),
                count(*groups),
                count(*cycles)
            ),
            Pattern::CoalescedArrivals { within_ns, mean_packets, strength_ratio, .. } => format!(
                "{} of the packets arrived within {} of the previous one, in groups of {mean_packets:.1} on average, although sent \
                 apart",
                percent(*strength_ratio),
                time(*within_ns)
            ),
        }
    }

    fn change(self, size: f64) -> String {
        format!("{}{}", plus(size), time(size, self.unicode))
    }

    /// The same with the number that the change of the path has among what happened to clocks and path, if it is there: levels tell it better than
    /// medians do, and two numbers of one change would ask which is true.
    fn change_of_path(self, finding: &Finding, size: f64, events: &[ClockEvent]) -> String {
        let Some([way, _]) = ways_of(finding) else { return self.change(size) };
        let same = events.iter().filter(|event| is_of_path(event, way) && is_change(event, finding, size));
        let apart = |event: &ClockEvent| apart(event, finding);
        match same.min_by_key(|event| apart(event)).and_then(|event| Some((event, event.size_ns?))) {
            Some((event, known)) => format!("{}{}", plus(as_float(known)), self.size(event, known)),
            None => self.change(size),
        }
    }
}

/// What a pattern is called.
pub(crate) const fn name(pattern: &Pattern) -> &'static str {
    match pattern {
        Pattern::PeriodicDelaySpikes { .. } => "Periodic delay spikes",
        Pattern::DelayGrid { quantity: GridQuantity::Delay, .. } => "Quantized delay",
        Pattern::DelayGrid { quantity: GridQuantity::Ipdv, .. } => "Quantized delay variation (IPDV)",
        Pattern::DelayStep { .. } => "Delay step",
        Pattern::RouteChange { .. } => "Route change",
        Pattern::SeveralRoutes { .. } => "Several routes in parallel",
        Pattern::DuplicateBurst { .. } => "Burst of duplicates",
        Pattern::LossByLength { .. } => "Loss by packet length",
        Pattern::PeriodicLoss { .. } => "Periodic loss",
        Pattern::CoalescedArrivals { .. } => "Coalesced arrivals",
    }
}

/// What a kind of an event of the clocks and the path is called.
fn kind(kind: &str) -> String {
    match kind {
        "slew" => "clock slew".into(),
        "path-change" => "path delay change".into(),
        other => other.replace('-', " "),
    }
}

const fn plus(size: f64) -> &'static str {
    if size > 0.0 { "+" } else { "" }
}

/// Whether a way that changed at once may as well be a clock that was set: packets of a file that go one way, of which
/// nobody watched the clocks.
fn may_be_clocks(m: &Measurement) -> bool {
    m.source.is_some() && !m.clock.is_shared() && ways(m).len() == 1 && ways(m)[0] != MeasuredPath::RoundTrip
}

/// The way that a finding is of, and the other one.
const fn ways_of(finding: &Finding) -> Option<[&'static str; 2]> {
    match finding.direction {
        ProbeDirection::Forward => Some(["forward", "reverse"]),
        ProbeDirection::Reverse => Some(["reverse", "forward"]),
        ProbeDirection::RoundTrip | ProbeDirection::Both => None,
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
    apart(event, finding) <= TIME_TOLERANCE_NS
        && event.size_ns.is_some_and(|told| (as_float(told) - size).abs() <= size.abs() * SIZE_TOLERANCE)
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
        Some(_) => told.any(|event| event.alternative_kind.is_some()),
        None => clock.delay_error_ns.is_some_and(|error| error >= size.abs()),
    }
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
                alternative_kind: None,
                direction: Some("both".into()),
                size_ns: Some(-3_000_000),
                size_interval_ns: until_ns.is_none().then_some([-3_051_000, -2_949_000]),
            };
            Words { unicode: true }.clock_set(&event).map(|text| text.replace(NO_BREAK, " "))
        };
        assert_eq!(
            say("clock-step", None).unwrap(),
            "Clock step of -3.00 ± 0.05 ms at t = 12.0 s; removed from one-way delays"
        );
        assert_eq!(
            say("slew", Some(15_000_000_000)).unwrap(),
            "Clock slew of -3.00 ms from t = 12.0 s to 15.0 s; removed from one-way delays"
        );
        assert_eq!(say("path-change", None), None);
        let event = ClockEvent {
            at_ns: 240_000_000_000,
            until_ns: None,
            kind: "path-change".into(),
            alternative_kind: None,
            direction: Some("forward".into()),
            size_ns: Some(3_980_000),
            size_interval_ns: Some([3_920_000, 4_045_800]),
        };
        let said = |unicode| Words { unicode }.event_by_itself(&event).replace(NO_BREAK, " ");
        assert_eq!(said(true), "path delay change of +3.98 ± 0.07 ms, forward, at t = 240 s");
        assert_eq!(said(false), "path delay change of +3.98 +- 0.07 ms, forward, at t = 240 s");
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
            alternative_kind: None,
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
            Words { unicode: true }.figures_of(finding, &[], &clock, false).replace(NO_BREAK, " ")
        };
        let say = |finding: &Finding| beside(std::slice::from_ref(&told), 1e3, finding);
        assert!(say(&step(ProbeDirection::Forward, 1.99e6)).contains("+2.000 ± 0.001 ms at t = 24.0 s"));
        // What may be a clock's is no fact, in neither direction.
        let open = ClockEvent { alternative_kind: Some("clock-step".into()), ..told.clone() };
        let words = Words { unicode: true };
        let may = |finding: &Finding| beside(std::slice::from_ref(&open), 1e3, finding);
        let or = " at t = 24.0 s, or a clock step of the same size (indistinguishable)";
        assert!(may(&step(ProbeDirection::Forward, 1.99e6)).ends_with(&format!("+2.000 ± 0.001 ms{or}")));
        assert!(may(&step(ProbeDirection::Reverse, -2.05e6)).ends_with(or));
        assert!(may(&step(ProbeDirection::Reverse, 2.05e6)).ends_with("at t = 24.0 s"));
        // Nor is what came at once within what is told to have come by and by.
        let slow = ClockEvent { at_ns: 20_000_000_000, until_ns: Some(24_100_000_000), ..open.clone() };
        assert!(beside(&[slow], 1e3, &step(ProbeDirection::Forward, 2e6)).ends_with(or));
        // Nor of what nothing is told, if delays may be off by as much.
        assert!(beside(&[], 3e6, &step(ProbeDirection::Forward, 2e6)).ends_with(or));
        assert!(beside(&[], 1e3, &step(ProbeDirection::Forward, 2e6)).ends_with("at t = 24.0 s"));
        assert!(
            beside(std::slice::from_ref(&told), 3e6, &step(ProbeDirection::Forward, 2e6))
                .ends_with("at t = 24.0 s")
        );
        assert_eq!(
            words.event_by_itself(&open).replace(NO_BREAK, " "),
            "path delay change or clock step (indistinguishable) of +2.000 ± 0.001 ms, forward, at t = 24.0 s"
        );
        let slew = ClockEvent {
            kind: "slew".into(),
            alternative_kind: Some("path-change".into()),
            until_ns: Some(29_020_000_000),
            size_interval_ns: None,
            ..told.clone()
        };
        assert_eq!(
            words.clock_set(&slew).unwrap().replace(NO_BREAK, " "),
            "Clock slew or path delay change (indistinguishable) of +2.00 ms, forward, from t = 24.0 s to 29.0 s; removed from \
             one-way delays"
        );
        // Of the other way, or of another size, it is another change.
        assert!(say(&step(ProbeDirection::Reverse, 1.99e6)).contains("+1.99 ms"));
        assert!(say(&step(ProbeDirection::Forward, 1.2e6)).contains("+1.20 ms"));
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
                direction: ProbeDirection::Forward,
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
            quantity: GridQuantity::Delay,
            step_ns,
            step_interval_ns: None,
            offset_ns: None,
            offset_interval_ns: None,
            points: 7,
            strength_ratio: 0.5,
            doubtful,
        };
        for (at, pattern, sentence) in [
            (None, spikes(None), "+24.3 ms every 10.240 ± 0.001 s (58 of 59 expected spikes seen)"),
            (
                None,
                spikes(Some(5.12e9)),
                "+24.3 ms every 10.240 ± 0.001 s (58 of 59 expected spikes seen); 2 times the period of 5.1200 ± 0.0003 s: possibly \
                 every 2nd of those spikes, without a cause of its own",
            ),
            (
                None,
                grid(10e6, false),
                "steps of 10.0 ms (50.0 % of the values near one of 7 steps, 25 % expected without)",
            ),
            (
                None,
                Pattern::DelayGrid {
                    quantity: GridQuantity::Ipdv,
                    step_ns: 10.0001e6,
                    step_interval_ns: Some([9.9998e6, 10.0004e6]),
                    offset_ns: Some(4.8051e6),
                    offset_interval_ns: Some([4.8031e6, 4.8071e6]),
                    points: 7,
                    strength_ratio: 0.5,
                    doubtful: false,
                },
                "multiples of 10.0001 ± 0.0003 ms plus 4.805 ± 0.002 ms (50.0 % of the values near one of 7 steps, 25 % expected \
                 without)",
            ),
            (
                None,
                grid(70.0, true),
                "steps of 70 ns (50.0 % of the values near one of 7 steps, 25 % expected without); so small a step may be the \
                 resolution of the clocks, not of the path",
            ),
            (
                Some(24_000_000_000),
                Pattern::DelayStep {
                    at_interval_ns: Some([23_980_000_000, 24_040_000_000]),
                    size_ns: 2e6,
                    size_interval_ns: None,
                    strength_ratio: 2.0,
                },
                "+2.00 ms at t = 24.00 ± 0.04 s",
            ),
            (
                Some(24_000_000_000),
                Pattern::DelayStep {
                    at_interval_ns: None,
                    size_ns: 2e6,
                    size_interval_ns: None,
                    strength_ratio: 2.0,
                },
                "+2.00 ms at t = 24.0 s",
            ),
            (
                Some(24_000_000_000),
                Pattern::RouteChange { ttl_from: 60, ttl_to: 57, delay_step_ns: None },
                "TTL on arrival from 60 to 57 at t = 24.0 s",
            ),
            (
                None,
                Pattern::SeveralRoutes { ttl_min: 57, ttl_max: 61, changes: 800, strength_ratio: 0.5 },
                "TTL on arrival changed 800 times between 57 and 61",
            ),
            (
                Some(1_000_000_000),
                Pattern::DuplicateBurst { first_sequence: 50, packets: 12, copies: 13, strength_ratio: 1.0 },
                "12 consecutive packets with 13 extra copies at t = 1.00 s",
            ),
            (
                None,
                Pattern::CoalescedArrivals {
                    within_ns: 100e3,
                    groups: 90,
                    mean_packets: 3.04,
                    strength_ratio: 0.66,
                },
                "66.0 % of the packets arrived within 100 µs of the previous one, in groups of 3.0 on average, although sent apart",
            ),
            (
                None,
                Pattern::PeriodicLoss {
                    period_ns: 63e9,
                    period_interval_ns: [62.99e9, 63.01e9],
                    phase_ns: 1e9,
                    groups: 9,
                    cycles: 10,
                    packets: 41,
                    strength_ratio: 0.9,
                },
                "41 packets lost every 63.00 ± 0.01 s (9 of 10 expected groups seen)",
            ),
            (
                None,
                Pattern::LossByLength {
                    longest_arrived_bytes: 594,
                    shortest_lost_bytes: 1472,
                    packets: 1,
                    strength_ratio: 0.9,
                },
                "1 packet of 1472 B payload or more, all lost; up to 594 B arrived: a hop drops packets by length (MTU, fragments)",
            ),
        ] {
            assert_eq!(say(at, pattern), sentence);
        }
    }
}
