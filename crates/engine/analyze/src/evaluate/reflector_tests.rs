//! Reflectors whose time stamps are wrong in one way each: what the document says of them. All of them answer each probe, so that
//! nothing is lost or late, whatever the stamps show.

use romer_record::document::{DelayKind, DelaySpan, Measurement, ProbeDirection};
use romer_record::manifest::{ClockRelation, SkewRequest, Stream};
use romer_record::warning::MeasurementWarning;
use romer_record::{RoundTrip, Stamps};
use romer_units::random::{self, Seed};
use romer_units::{Clock, Timestamp};

use super::evaluate;

const US: i64 = 1_000;
const MS: i64 = 1_000 * US;
const SECOND: i64 = 1_000 * MS;
/// The first probe leaves in 2023.
const START: i64 = 1_700_000_000 * SECOND;
/// Delays of the path without queueing, and the time that the reflector takes.
const THERE: i64 = 5 * MS;
const BACK: i64 = 4 * MS;
const ANSWER: i64 = 100 * US;

/// The true moments at which a probe arrived at the reflector, and left it.
#[derive(Clone, Copy, Debug)]
struct Moments {
    number: i64,
    t2: i64,
    t3: i64,
}

/// What the document must say of the one-way delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OneWay {
    /// They are given, of all probes but so many, and none is longer than its round trip.
    Without(u64),
    /// There are none.
    Refused,
}

/// A run with a reflector.
struct ReflectorRun {
    count: i64,
    interval: i64,
    /// How long the reflector takes to answer.
    answer: i64,
    skew: SkewRequest,
    /// By how much the way there grows, parts in a million.
    growth_ppm: i64,
}

impl Default for ReflectorRun {
    fn default() -> Self {
        Self { count: 200, interval: 47 * MS, answer: ANSWER, skew: SkewRequest::default(), growth_ppm: 0 }
    }
}

impl ReflectorRun {
    /// The rows of a run whose reflector writes `stamps` for the true moments.
    fn rows(&self, stamps: impl Fn(Moments) -> (i64, i64)) -> Vec<RoundTrip> {
        fn at<C: Clock>(nanos: i64) -> Stamps<C> {
            let at = Some(Timestamp::from_nanos(nanos));
            Stamps { kernel: at, user: at, ..Stamps::default() }
        }
        fn told<C: Clock>(nanos: i64) -> Stamps<C> {
            Stamps { told: Some(Timestamp::from_nanos(nanos)), ..Stamps::default() }
        }
        let random = random::RandomStream::new(Seed([36, 0, 0, 0, 0, 0]), [0, 0]);
        let mut drawn = 0;
        #[expect(clippy::cast_possible_truncation, reason = "some microseconds")]
        let mut wait = || {
            drawn += 1;
            (-1e5 * (1.0 - random.unit(drawn)).ln()) as i64
        };
        let mut row = |number: i64| {
            let t1 = START + number * self.interval;
            let t2 = t1 + THERE + wait() + number * self.interval / 1_000_000 * self.growth_ppm;
            let t3 = t2 + self.answer;
            let t4 = t3 + BACK + wait();
            let (far2, far3) = stamps(Moments { number, t2, t3 });
            RoundTrip {
                sequence: number.unsigned_abs(),
                size: 60,
                t1: at(t1),
                t2: told(far2),
                t3: told(far3),
                t4: at(t4),
                returned: true,
                ..RoundTrip::default()
            }
        };
        (0..self.count).map(&mut row).collect()
    }

    fn document(&self, stamps: impl Fn(Moments) -> (i64, i64)) -> Measurement {
        self.evaluated(&self.rows(stamps))
    }

    fn evaluated(&self, rows: &[RoundTrip]) -> Measurement {
        let mut stream = Stream {
            clock_relation: ClockRelation::Unknown,
            responder_log: false,
            responder_log_complete: false,
            skew: self.skew.clone(),
            ..romer_testing::stream()
        };
        stream.traffic.direction = ProbeDirection::RoundTrip;
        stream.traffic.waiting_time_ns = 2 * SECOND;
        stream.traffic.interval_ns = self.interval;
        evaluate(&stream, rows, false).measurement
    }
}

fn unit_in_fraction(at: i64, unit_ns: i64) -> i64 {
    let (seconds, rest) = (at.div_euclid(SECOND), at.rem_euclid(SECOND));
    seconds * SECOND + rest / unit_ns * SECOND / (1 << 32)
}

/// A clock that is `rate` parts in a million fast.
fn fast(at: i64, ppm: i64) -> i64 {
    let since = at - START;
    at + since / 1_000_000 * ppm
}

/// Its warnings, as they are written.
fn said_of(m: &Measurement) -> String {
    serde_json::to_string(&m.warnings).unwrap()
}

/// What is wrong with a document.
fn faults(m: &Measurement, expected: OneWay, with_answer: bool) -> Vec<String> {
    let said = said_of(m);
    let mut faults = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            faults.push(what);
        }
    };
    let count = m.round_trip.packets.sent.unwrap();
    for (way, direction) in [("forward", &m.forward), ("reverse", &m.reverse), ("round trip", &m.round_trip)]
    {
        let packets = &direction.packets;
        let all =
            packets.lost == Some(0) && packets.received == Some(count) && packets.late.unwrap_or(0) == 0;
        expect(all, format!("{way} {packets:?}"));
    }
    let definition = &m.stamps.delay_definition;
    expect(m.stamps.round_trip_includes_responder == with_answer, format!("{definition:?}"));
    let is_defined = definition.iter().any(|one| one.span == DelaySpan::RoundTripWithResponder);
    expect(is_defined == with_answer, format!("{definition:?}"));
    let whole = &m.round_trip.delay_ns;
    let (least, most) = (whole.min.unwrap(), whole.max.unwrap());
    expect(least >= 9e6 && whole.count == count, format!("{whole:?}"));
    let ways = [&m.forward, &m.reverse];
    match expected {
        OneWay::Refused => {
            let none = ways.iter().all(|way| way.delay_ns.count == 0 && way.delay_ns.max.is_none());
            expect(none, format!("{:?}", m.forward.delay_ns));
            expect(m.voice.is_empty() && m.findings.is_empty(), format!("{:?} {:?}", m.voice, m.findings));
            expect(m.clock.skew_ppm.is_none() && m.clock.events.is_empty(), format!("{:?}", m.clock));
            let refused = ["one-way-delays-refused", "responder-time-stamps", r#""all_discarded":true"#];
            expect(refused.iter().any(|code| said.contains(code)), said.clone());
            let is_none = matches!(definition[0].span, DelaySpan::None { .. });
            expect(is_none && definition[0].direction == ProbeDirection::Forward, format!("{definition:?}"));
        }
        OneWay::Without(rejected) => {
            for way in ways {
                let delay = &way.delay_ns;
                expect(way.delay_kind == Some(DelayKind::Variable), format!("{:?}", way.delay_kind));
                expect(delay.count == count - rejected, format!("{delay:?}"));
                expect(delay.max.is_some_and(|max| max < most), format!("{delay:?} {:?}", m.clock));
                expect(way.packets.reordered.unwrap_or(0) == 0, format!("{:?}", way.packets));
            }
            let left_out = format!(r#""replies":{rejected},"first_sequence""#);
            expect(said.contains(&left_out) == (rejected > 0), said.clone());
        }
    }
    if !faults.is_empty() {
        faults.push(said);
    }
    faults
}

/// A reflector that leaves its stamps out of every second reply: these probes have the whole time that they were away, and no stamp is missed.
#[test]
fn every_second_reply_without_stamps() {
    let reflector = ReflectorRun::default();
    let mut rows = reflector.rows(|m| (m.t2, m.t3));
    for row in rows.iter_mut().filter(|row| row.sequence % 2 == 1) {
        (row.t2, row.t3) = Default::default();
    }
    let m = reflector.evaluated(&rows);
    let count = m.round_trip.packets.sent.unwrap();
    assert_eq!(m.round_trip.delay_ns.count, count);
    assert_eq!(m.forward.delay_ns.count, count.div_ceil(2));
    assert_eq!((m.stamps.missing.responder_arrival, m.stamps.missing.responder_departure), (0, 0));
    let said = said_of(&m);
    assert!(said.contains("responder-time-stamps-absent") && !said.contains("delay-missing"), "{said}");
}

/// A reply that came back twice is one round trip and a copy, whether its stamps are true, contradict each other or are absent, be it the
/// only such reply or not.
#[test]
fn copies_with_any_stamps_are_counted() {
    type Falsify = fn(&mut RoundTrip);
    let kinds: [(&str, Falsify); 3] = [
        ("true", |_| {}),
        ("contradictory", |row| std::mem::swap(&mut row.t2, &mut row.t3)),
        ("absent", |row| (row.t2, row.t3) = Default::default()),
    ];
    let places = [0, 100, 199].into_iter().flat_map(|copied| [true, false].map(|is_only| (copied, is_only)));
    for ((name, falsify), (copied, is_only)) in
        kinds.into_iter().flat_map(|kind| places.clone().map(move |place| (kind, place)))
    {
        let reflector = ReflectorRun::default();
        let mut rows = reflector.rows(|m| (m.t2, m.t3));
        let falsified = if is_only { &mut rows[copied..=copied] } else { &mut rows[..] };
        falsified.iter_mut().for_each(falsify);
        let later = rows[copied].t4.kernel.map(|at| Timestamp::from_nanos(at.as_nanos() + MS));
        let t4 = Stamps { kernel: later, user: later, ..Stamps::default() };
        rows.insert(copied + 1, RoundTrip { copy: 1, t4, ..rows[copied] });
        let m = reflector.evaluated(&rows);
        let packets = &m.round_trip.packets;
        let counts = [packets.sent, packets.received, packets.lost, packets.duplicated];
        assert_eq!(counts, [200, 200, 0, 1].map(Some), "{name}, {copied}, {is_only}");
        assert_eq!(m.forward.packets.sent, Some(200), "{name}, {copied}, {is_only}");
    }
}

/// A reply that came back before its probe left has no delay, and no round trip is below zero.
#[test]
fn false_return_is_rejected() {
    for is_stamped in [true, false] {
        let reflector = ReflectorRun::default();
        let mut rows = reflector.rows(|m| (m.t2, m.t3));
        for row in &mut rows {
            if !is_stamped {
                (row.t2, row.t3) = Default::default();
            }
        }
        let false_return = rows[20].t1.kernel.unwrap().as_nanos() - 400 * MS;
        rows[20].t4 = Stamps {
            kernel: Some(Timestamp::from_nanos(false_return)),
            user: Some(Timestamp::from_nanos(false_return)),
            ..Stamps::default()
        };
        let m = reflector.evaluated(&rows);
        let count = m.round_trip.packets.sent.unwrap();
        assert_eq!(m.round_trip.packets.received, Some(count));
        assert_eq!(m.round_trip.delay_ns.count, count - 1, "{is_stamped}");
        assert!(m.round_trip.delay_ns.min.unwrap() > 9e6, "{:?}", m.round_trip.delay_ns);
        let said = said_of(&m);
        let is_named = said.contains("replies-before-departure") && !said.contains("delay-missing");
        assert!(is_named && !said.contains("round-trips-negative"), "{said}");
    }
}

/// No probe that came back is late or lost one way, no one-way delay is longer than its round trip, and what contradicts causality
/// is refused.
#[test]
fn false_stamps_lose_nothing() {
    use OneWay::{Refused, Without};
    let ahead = 3 * SECOND + 17 * MS;
    type Stamp = Box<dyn Fn(Moments) -> (i64, i64)>;
    let only = |number: i64, off2: i64, off3: i64| -> Stamp {
        Box::new(move |m| {
            let off = if m.number == number { (off2, off3) } else { (0, 0) };
            (m.t2 + ahead + off.0, m.t3 + ahead + off.1)
        })
    };
    // Both stamps of these probes, off by so much.
    let pairs = |numbers: &'static [i64], off: i64| -> Stamp {
        Box::new(move |m| {
            let off = if numbers.contains(&m.number) { off } else { 0 };
            (m.t2 + ahead + off, m.t3 + ahead + off)
        })
    };
    let in_steps = |unit: i64| -> Stamp {
        Box::new(move |m| ((m.t2 + ahead) / unit * unit, (m.t3 + ahead) / unit * unit))
    };
    let both = |clock: fn(i64) -> i64| -> Stamp { Box::new(move |m| (clock(m.t2), clock(m.t3))) };
    let fast_answer = || ReflectorRun::default();
    let cases: Vec<(&str, ReflectorRun, Stamp, OneWay, bool)> = vec![
        ("honest", fast_answer(), both(|at| fast(at, 20) + 3 * SECOND), Without(0), false),
        ("zero", fast_answer(), both(|_| 0), Refused, true),
        ("constant", fast_answer(), both(|_| START + 77), Refused, true),
        ("two constants", fast_answer(), Box::new(|_| (START + 77, START + 1_077)), Refused, true),
        ("all ones", fast_answer(), both(|_| 4_294_967_295 * SECOND - 2_208_988_800 * SECOND), Refused, true),
        ("microseconds", fast_answer(), both(|at| unit_in_fraction(at, US)), Refused, true),
        ("nanoseconds", fast_answer(), both(|at| unit_in_fraction(at, 1)), Refused, true),
        ("swapped", fast_answer(), Box::new(|m| (m.t3, m.t2)), Refused, true),
        ("t2 a second early", fast_answer(), only(60, -SECOND, 0), Without(1), false),
        ("t2 a second late", fast_answer(), only(60, SECOND, 0), Without(1), false),
        ("t3 a second early", fast_answer(), only(60, 0, -SECOND), Without(1), false),
        ("t3 a second late", fast_answer(), only(60, 0, SECOND), Without(1), false),
        ("both a second early", fast_answer(), only(60, -SECOND, -SECOND), Without(1), false),
        ("both a second late", fast_answer(), only(60, SECOND, SECOND), Without(1), false),
        ("first pair a second late", fast_answer(), pairs(&[0], SECOND), Without(1), false),
        ("last pair a second early", fast_answer(), pairs(&[199], -SECOND), Without(1), false),
        ("two neighbours a second late", fast_answer(), pairs(&[99, 100], SECOND), Without(2), false),
        ("two neighbours 3 ms early", fast_answer(), pairs(&[99, 100], -3 * MS), Without(2), false),
        ("one pair 3 ms late", fast_answer(), pairs(&[60], 3 * MS), Without(1), false),
        ("one pair 15 ms early", fast_answer(), pairs(&[60], -15 * MS), Without(1), false),
        ("t2 8 ms early", fast_answer(), only(60, -8 * MS, 0), Without(1), false),
        ("whole seconds", fast_answer(), in_steps(SECOND), Refused, true),
        ("100 ms steps", fast_answer(), in_steps(100 * MS), Refused, true),
        ("1 ms steps", fast_answer(), in_steps(MS), Without(0), true),
        (
            "t2 = t3 after 15 ms",
            ReflectorRun { answer: 15 * MS, ..ReflectorRun::default() },
            Box::new(|m| (m.t2, m.t2)),
            Without(0),
            true,
        ),
        (
            "600 ppm, a probe a minute",
            ReflectorRun { count: 120, interval: 60 * SECOND + 7 * MS, ..ReflectorRun::default() },
            both(|at| fast(at, 600)),
            Without(0),
            false,
        ),
        ("5000 ppm", fast_answer(), both(|at| fast(at, -5_000)), Without(0), false),
        (
            "no skew taken out, two hours of 50 ppm",
            ReflectorRun {
                count: 120,
                interval: 60 * SECOND + 7 * MS,
                skew: SkewRequest { method: "none".into(), ..SkewRequest::default() },
                ..ReflectorRun::default()
            },
            both(|at| fast(at, 50)),
            Refused,
            false,
        ),
    ];
    let found: Vec<(&str, Vec<String>)> = cases
        .into_iter()
        .map(|(name, run, stamps, expected, answer)| (name, faults(&run.document(stamps), expected, answer)))
        .filter(|(_, faults)| !faults.is_empty())
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// The responder's clock measures the time of an answer; round trips have it as the sender's clock would have measured it.
#[test]
fn round_trips_are_by_the_senders_clock() {
    let run = |answer: i64| ReflectorRun { count: 1_000, answer, ..ReflectorRun::default() };
    let median = |m: &Measurement| m.round_trip.delay_ns.median.unwrap();
    for (ppm, answer) in [(83_300, 15 * MS), (500, 15 * MS), (-500, 15 * MS), (50, 200 * MS)] {
        let exact = |at: i64| at + (at - START) * ppm / 1_000_000;
        let found = run(answer).document(|m| (exact(m.t2), exact(m.t3)));
        let expected = run(answer).document(|m| (m.t2, m.t3));
        let off = median(&found) - median(&expected);
        assert!(off.abs() < 100.0, "{ppm} ppm: off by {off} ns, {:?}", found.clock);
        let [most, expected] = [&found, &expected].map(|m| m.forward.delay_ns.max.unwrap());
        assert!((most - expected).abs() < 2_000.0, "{ppm} ppm: {most} for {expected}");
    }
}

/// Of stamps in whole units the intervals of delays contain what is known of them, and a note names the unit; of stamps in nanoseconds
/// there is none.
#[test]
fn coarse_stamps_widen_intervals() {
    let run = ReflectorRun { count: 1_000, ..ReflectorRun::default() };
    let exact = run.document(|m| (m.t2, m.t3));
    assert!(!said_of(&exact).contains("time-stamps-coarse"), "{}", said_of(&exact));
    for unit in [MS, 10 * MS] {
        fn whole<C: Clock>(stamps: &mut Stamps<C>, unit: i64) {
            for stamp in [&mut stamps.kernel, &mut stamps.user, &mut stamps.told] {
                *stamp = stamp.map(|at| Timestamp::from_nanos(at.as_nanos().div_euclid(unit) * unit));
            }
        }
        let mut rows = run.rows(|m| (m.t2, m.t3));
        for row in &mut rows {
            whole(&mut row.t1, unit);
            whole(&mut row.t2, unit);
            whole(&mut row.t3, unit);
            whole(&mut row.t4, unit);
        }
        let m = run.evaluated(&rows);
        assert!(said_of(&m).contains(&format!(r#""resolution_ns":{unit}"#)), "{}", said_of(&m));
        let [found, expected] = [&m, &exact].map(|m| &m.round_trip.delay_ns);
        let holds = |interval: Option<[f64; 2]>, value: Option<f64>| {
            interval.zip(value).is_none_or(|([low, high], value)| (low..=high).contains(&value))
        };
        assert!(holds(found.median_interval, expected.median), "{found:?}");
        assert!(holds(found.mean_interval, expected.mean) && found.mean_interval.is_some(), "{found:?}");
    }
}

/// Where every reply lacks the time of its departure, a probe that was not answered may have been answered.
#[test]
fn unstamped_departures_are_no_missing_answers() {
    let run = ReflectorRun::default();
    let mut rows = run.rows(|m| (m.t2, m.t3));
    for row in &mut rows {
        row.t3 = Stamps::default();
        row.seen_by_responder = true;
        if row.sequence % 20 == 7 {
            (row.returned, row.t4) = (false, Stamps::default());
        }
    }
    let mut stream = Stream {
        clock_relation: ClockRelation::Unknown,
        responder_log: true,
        responder_log_complete: true,
        ..romer_testing::stream()
    };
    stream.traffic.direction = ProbeDirection::RoundTrip;
    stream.traffic.waiting_time_ns = 2 * SECOND;
    let m = evaluate(&stream, &rows, false).measurement;
    assert!(!said_of(&m).contains("packets-not-sent"), "{}", said_of(&m));
    assert_eq!((m.reverse.packets.sent, m.reverse.packets.lost), (None, None));
    assert_eq!(m.round_trip.packets.lost, Some(10));
}

/// What is said of stamps that show no time: none were sent, or they stand still, or they are coarser than the round trip.
#[test]
fn useless_stamps_are_named() {
    let said = |stamps: fn(Moments) -> (i64, i64)| said_of(&ReflectorRun::default().document(stamps));
    let zero = said(|_| (0, 0));
    assert!(zero.contains(r#""zero":true"#), "{zero}");
    let standing = said(|_| (START + 77, START + 77));
    assert!(standing.contains(r#""zero":false"#), "{standing}");
    let constant = said(|_| (START + 77, START + 1_077));
    assert!(constant.contains(r#""zero":false"#), "{constant}");
    let digits = |at: i64| at / SECOND * SECOND + at % SECOND / US;
    let digits = said_of(&ReflectorRun::default().document(|m| (digits(m.t2), digits(m.t3))));
    assert!(digits.contains("microseconds-for-nanoseconds"), "{digits}");
    let whole = said(|m| (m.t2 / SECOND * SECOND, m.t3 / SECOND * SECOND));
    assert!(whole.contains("one-way-delays-refused") && whole.contains("resolution_ns"), "{whole}");
}

/// A reply that is too short for one of the two stamps, or for both, has no equal stamps: what it lacks is named.
#[test]
fn missing_stamps_are_named() {
    let run = ReflectorRun::default();
    let warnings = |t2: bool, t3: bool| {
        let mut rows = run.rows(|m| (m.t2, m.t3));
        for row in &mut rows {
            row.t2.told = row.t2.told.filter(|_| t2);
            row.t3.told = row.t3.told.filter(|_| t3);
        }
        run.evaluated(&rows).warnings
    };
    for (t2, t3) in [(false, false), (false, true), (true, false)] {
        let found = warnings(t2, t3);
        let included = found.iter().find_map(|warning| match warning {
            MeasurementWarning::ResponderTimeIncluded { arrivals_stamped, departures_stamped, .. } => {
                Some((*arrivals_stamped, *departures_stamped))
            }
            _ => None,
        });
        assert_eq!(included, Some((t2, t3)), "{found:?}");
    }
}

/// What the estimator makes of a slew of a tenth and more, or of an era that is not counted, is right or refused.
#[test]
fn steep_changes_are_right_or_refused() {
    let slew = |at: i64, percent: i64, lasts: i64| at + (at - START).min(lasts) / 100 * percent;
    // The seconds of NTP begin anew in the middle of the run.
    let wrapped = |at: i64| at - if at < START + 5 * SECOND { 0 } else { (1 << 32) * SECOND };
    type Clock = Box<dyn Fn(i64) -> i64>;
    let cases: Vec<(&str, Clock)> = vec![
        ("slew of 10 %", Box::new(move |at| slew(at, 10, 3 * SECOND))),
        ("slew of -10 %", Box::new(move |at| slew(at, -10, 3 * SECOND))),
        ("slew of 20 %", Box::new(move |at| slew(at, 20, 2 * SECOND))),
        ("slew of 10 % to the end", Box::new(move |at| slew(at, 10, 100 * SECOND))),
        ("era", Box::new(wrapped)),
    ];
    for (name, clock) in cases {
        let m = ReflectorRun::default().document(|m| (clock(m.t2), clock(m.t3)));
        let rejected = m.round_trip.packets.sent.unwrap() - m.forward.delay_ns.count;
        let expected =
            if m.forward.delay_ns.count == 0 { OneWay::Refused } else { OneWay::Without(rejected) };
        let faults = faults(&m, expected, false);
        assert!(faults.is_empty(), "{name}: {faults:#?}");
    }
}

/// A way that grows by itself is not the clocks': the reverse direction does not show it.
#[test]
fn growing_path_is_not_the_clock() {
    let run =
        ReflectorRun { count: 300, interval: SECOND + 7 * MS, growth_ppm: 1_000, ..ReflectorRun::default() };
    let m = run.document(|m| (m.t2, m.t3));
    assert!(m.clock.skew_ppm.is_none_or(|ppm| ppm.abs() < 50.0), "{:?}", m.clock);
    assert!(m.forward.packets.lost == Some(0) && m.reverse.packets.lost == Some(0));
}
