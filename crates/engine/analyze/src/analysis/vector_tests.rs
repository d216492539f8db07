//! Packet logs of reflectors with wrong clocks, with the right values (tests/vectors), and logs of one clock.

use std::path::Path;

use romer_record::document::{DelayKind, DelaySpan, Measurement, ProbeDirection};
use romer_record::manifest::SkewRequest;
use romer_record::voice::{DelayBasis, LossBasis, UnratedReason, VariationBasis, VoiceRequest};
use romer_record::warning::MeasurementWarning;

use super::file_tests::{MS, Packet, SECOND, folder, table};
use super::{Analysis, analyze};
use crate::limits::Limit;

fn analyzed(name: &str) -> Measurement {
    analyzed_by(name, false)
}

fn analyzed_by(name: &str, one_clock: bool) -> Measurement {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    let mut analysis = Analysis { one_clock, ..Analysis::new(&file, String::new()) };
    let limits = ["forward.loss.ratio<=0%", "reverse.loss.ratio<=0%", "round_trip.loss.ratio<=0%"];
    analysis.limits = limits.iter().map(|limit| limit.parse::<Limit>().unwrap()).collect();
    let m = analyze(&analysis).unwrap().measurement;
    assert!(m.limits.iter().all(|limit| limit.passed), "{name}: {:?}", m.limits);
    for way in [&m.forward, &m.reverse, &m.round_trip] {
        assert_eq!((way.packets.lost, way.packets.received), (Some(0), way.packets.sent), "{name}");
        assert_eq!(way.packets.late.unwrap_or(0), 0, "{name}");
    }
    m
}

fn refuses_one_way(m: &Measurement) -> bool {
    [&m.forward, &m.reverse].iter().all(|way| way.delay_ns.count == 0)
        && m.voice.is_empty()
        && m.findings.is_empty()
}

/// A reflector without a clock: nothing is lost, there are no one-way delays, and the round trips contain its own time.
#[test]
fn reflector_without_clock() {
    let m = analyzed("no-clock.csv");
    assert_eq!(m.round_trip.packets.received, Some(120));
    assert_eq!([m.forward.packets.reordered, m.reverse.packets.reordered], [None; 2]);
    assert_eq!(m.reverse.reordering.ratio, None);
    let limit: Limit = "reverse.packets.reordered<=0".parse().unwrap();
    let judged = Limit::judge_all(&[limit], &m).swap_remove(0);
    assert_eq!((judged.passed, judged.value), (false, None), "an unknown order keeps no limit");
    assert!(said(&m).contains(r#""code":"order-unknown""#), "{:?}", m.warnings);
    assert!(refuses_one_way(&m), "{:?} {:?}", m.forward.delay_ns, m.voice);
    assert!((m.round_trip.delay_ns.median.unwrap() - 10e6).abs() < 0.1e6, "{:?}", m.round_trip.delay_ns);
    let definition = &m.stamps.delay_definition;
    assert!(m.stamps.round_trip_includes_responder, "{definition:?}");
    let is_included = definition.iter().any(|one| one.span == DelaySpan::RoundTripWithResponder);
    assert!(is_included, "{definition:?}");
}

/// Microseconds in the fraction of NTP time stamps: the reason is named, and no call is rated.
#[test]
fn microseconds_in_the_fraction() {
    let m = analyzed("usec-fraction.csv");
    assert!(refuses_one_way(&m), "{:?} {:?}", m.forward.delay_ns, m.voice);
    assert!(said(&m).contains(r#""unit":"microseconds""#), "{:?}", m.warnings);
}

/// A call over round trips without one-way delays is rated by these, and the rating says so.
#[test]
fn call_without_one_way_delays() {
    for name in ["usec-fraction.csv", "no-clock.csv"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
        let voice = VoiceRequest { codec_name: Some("g711".into()), ..VoiceRequest::default() };
        let m = analyze(&Analysis { voice, ..Analysis::new(&file, String::new()) }).unwrap().measurement;
        assert_eq!((m.voice.len(), &m.voice_unrated[..]), (2, &[][..]), "{name}");
        for rated in &m.voice {
            let basis = (rated.delay_basis, rated.variation_basis);
            assert_eq!(basis, (Some(DelayBasis::HalfRoundTrip), VariationBasis::RoundTrip), "{name}");
        }
    }
}

/// A call of too few packets has no rating, and the document says why: also where one packet does not tell their spacing.
#[test]
fn short_call_says_why() {
    let folder = folder("short-call");
    let file = folder.join("short.csv");
    for count in [1, 60] {
        let packets: Vec<Packet> = (0..count).map(|n| (n * 20 * MS, Some(n * 20 * MS + 5 * MS))).collect();
        table(&file, &packets, |at| at, |at| at);
        let voice = VoiceRequest { codec_name: Some("g711".into()), ..VoiceRequest::default() };
        let skew = SkewRequest { method: "none".into(), ..SkewRequest::default() };
        let m =
            analyze(&Analysis { voice, skew, ..Analysis::new(&file, String::new()) }).unwrap().measurement;
        let [why] = &m.voice_unrated[..] else { panic!("{count}: {:?}", m.voice_unrated) };
        assert_eq!((why.reason, why.packets_min), (UnratedReason::TooFewPackets, 100));
        assert_eq!((why.direction, why.packets), (ProbeDirection::Forward, count.unsigned_abs()));
        assert_eq!(m.voice, []);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A clock that is 600 ppm fast: both directions show it, so that it is the clock's and is taken out.
#[test]
fn clock_of_600_ppm() {
    let m = analyzed("far-clock-600ppm.csv");
    assert!((m.clock.skew_ppm.unwrap() - 600.0).abs() < 0.1, "{:?}", m.clock);
    assert!(!m.clock.events.iter().any(|event| event.kind == "path-change"), "{:?}", m.clock.events);
    for way in [&m.forward, &m.reverse] {
        assert!(way.delay_ns.max.unwrap() < 1e6, "{:?}", way.delay_ns);
    }
}

/// One arrival stamp of a hundred is a second early: the other delays stand, and nothing is out of order.
#[test]
fn one_stamp_a_second_early() {
    let m = analyzed("one-second.csv");
    for way in [&m.forward, &m.reverse] {
        assert_eq!((way.delay_ns.count, way.packets.reordered.unwrap_or(0)), (99, 0), "{way:?}");
        assert!(way.delay_ns.max.unwrap() < 1e6, "{:?}", way.delay_ns);
    }
    let whole = &m.round_trip.delay_ns;
    assert!(whole.count == 100 && whole.min.unwrap() > 9.9e6 && whole.max.unwrap() < 11e6, "{whole:?}");
    let said = said(&m);
    assert!(
        said.contains(r#""all_discarded":false"#) && said.contains(r#""replies":1,"first_sequence":60"#),
        "{said}"
    );
    assert!(!said.contains("responder-slow") && !said.contains("round-trips-negative"), "{said}");
}

/// Two files by one clock give whole one-way delays; without being told so, a note says that they may.
#[test]
fn one_clock_gives_absolute_delays() {
    let packets = |delay: i64| -> Vec<Packet> {
        (0..200).map(|n| (n * 20 * MS, Some(n * 20 * MS + delay + n % 7 * MS / 10))).collect()
    };
    let folder = folder("one-clock");
    let [there, back] = ["there.csv", "back.csv"].map(|name| folder.join(name));
    let clock = |at: i64| 500 * SECOND + at;
    table(&there, &packets(5 * MS), clock, clock);
    table(&back, &packets(7 * MS), clock, clock);
    let of = |one_clock: bool, reverse: bool| {
        let reverse = reverse.then(|| back.clone());
        let analysis = Analysis { one_clock, reverse, ..Analysis::new(&there, String::new()) };
        analyze(&analysis).unwrap().measurement
    };
    let both = of(true, true);
    assert_eq!((both.traffic.direction, both.clock.method.as_str()), (ProbeDirection::Both, "shared"));
    for (way, least) in [(&both.forward, 5e6), (&both.reverse, 7e6)] {
        assert_eq!(way.delay_kind, Some(DelayKind::Absolute));
        assert_eq!(way.delay_ns.min, Some(least));
    }
    let one = of(true, false);
    assert_eq!((one.forward.delay_kind, one.forward.delay_ns.min), (Some(DelayKind::Absolute), Some(5e6)));
    let unknown = of(false, true);
    assert_eq!(unknown.forward.delay_kind, Some(DelayKind::Variable));
    assert!(unknown.warnings.contains(&MeasurementWarning::OneClockPossible), "{:?}", unknown.warnings);
    // Clocks of two rates are two, though nothing contradicts one of them at the first packet.
    let faster = |at: i64| clock(at + at / 3_000);
    table(&there, &packets(5 * MS), clock, faster);
    table(&back, &packets(7 * MS), faster, clock);
    let two = of(false, true);
    assert!(!two.warnings.contains(&MeasurementWarning::OneClockPossible), "{:?}", two.clock);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A log of two clocks that is stated to be of one: the statement is withdrawn, nothing is lost, and the rate is found all the same.
#[test]
fn refuted_clock_is_withdrawn() {
    for name in ["far-clock-600ppm.csv", "usec-fraction.csv", "no-clock.csv"] {
        let (stated, alone) = (analyzed_by(name, true), analyzed(name));
        let said = said(&stated);
        assert_eq!(said.contains("one-clock-contradicted"), name != "no-clock.csv", "{name}: {said}");
        for (one, other) in [(&stated.forward, &alone.forward), (&stated.reverse, &alone.reverse)] {
            assert_eq!(
                (&one.delay_ns, one.packets.received),
                (&other.delay_ns, other.packets.received),
                "{name}"
            );
        }
    }
    let far = analyzed_by("far-clock-600ppm.csv", true);
    assert!((far.clock.skew_ppm.unwrap() - 600.0).abs() < 0.1, "{:?}", far.clock);
}

/// Stamps of whole seconds give no delay below a second, of one clock as little as of two.
#[test]
fn whole_seconds_of_one_clock() {
    let folder = folder("whole-seconds");
    let file = folder.join("whole.csv");
    let mut lines = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n".to_owned();
    for n in 0..200_i64 {
        let t1 = 1_700_000_000 * SECOND + n * 20 * MS + n * n % 97 * 7_919;
        let far = (t1 + 5 * MS) / SECOND * SECOND;
        lines += &format!("{n},60,{t1},{far},{far},{}\n", t1 + 10 * MS + n * n % 89 * 6_007);
    }
    std::fs::write(&file, lines).unwrap();
    for one_clock in [false, true] {
        let m = analyze(&Analysis { one_clock, ..Analysis::new(&file, String::new()) }).unwrap().measurement;
        assert!(refuses_one_way(&m), "{one_clock}: {:?}", m.forward.delay_ns);
        assert_eq!((m.round_trip.delay_ns.count, m.forward.packets.lost), (200, Some(0)), "{one_clock}");
        let said = said(&m);
        assert!(
            said.contains("one-way-delays-refused") && said.contains("resolution_ns"),
            "{one_clock}: {said}"
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Two files of one direction each: where packets arrived before they left, they are not of one clock.
#[test]
fn negative_delays_refute_one_clock() {
    let packets = |delay: i64| -> Vec<Packet> {
        let wait = |n: i64| n * n % 97 * 7_919;
        (0..200).map(|n| (n * 20 * MS, Some(n * 20 * MS + delay + wait(n)))).collect()
    };
    let folder = folder("not-one-clock");
    let [there, back] = ["there.csv", "back.csv"].map(|name| folder.join(name));
    let own = |at: i64| 500 * SECOND + at;
    let far = |at: i64| 500 * SECOND + at + 9 * MS;
    table(&there, &packets(5 * MS), own, far);
    table(&back, &packets(5 * MS), far, own);
    for reverse in [Some(back.clone()), None] {
        let file = if reverse.is_some() { &there } else { &back };
        let analysis = Analysis { one_clock: true, reverse, ..Analysis::new(file, String::new()) };
        let m = analyze(&analysis).unwrap().measurement;
        assert_eq!(m.forward.delay_kind, Some(DelayKind::Variable), "{:?}", m.warnings);
        assert!(m.forward.delay_ns.min.unwrap() >= 0.0);
        let said = said(&m);
        assert!(said.contains(r#""forward":200,"forward_compared":200"#), "{said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A single packet that arrives before it leaves has a false stamp: it has no delay, and one clock stands.
#[test]
fn single_negative_delays_are_rejected() {
    let wait = |n: i64| n * n % 97 * 7_919;
    let packets: Vec<Packet> = (0..200)
        .map(|n| (n * 20 * MS, Some(n * 20 * MS + if n == 30 { -3 * MS } else { 5 * MS } + wait(n))))
        .collect();
    let folder = folder("one-negative");
    let file = folder.join("there.csv");
    let own = |at: i64| 500 * SECOND + at;
    table(&file, &packets, own, own);
    let m =
        analyze(&Analysis { one_clock: true, ..Analysis::new(&file, String::new()) }).unwrap().measurement;
    assert_eq!(m.forward.delay_kind, Some(DelayKind::Absolute), "{:?}", m.warnings);
    assert!(m.forward.delay_ns.min.unwrap() >= 5e6, "{:?}", m.forward.delay_ns.min);
    assert_eq!((m.forward.packets.received, m.forward.delay_ns.count), (Some(200), 199));
    let said = said(&m);
    assert!(said.contains(r#""packets":1,"compared":200"#), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Two hundred packets of one way that take 5 ms and wait a little, of which some are `early`; nothing waits for the processor of a file.
fn one_way_with(early: &[(usize, Packet)], one_clock: bool, as_reverse: bool) -> Measurement {
    let wait = |n: i64| n * n % 97 * 1_031;
    let good: Vec<Packet> = (0..200).map(|n| (n * 20 * MS, Some(n * 20 * MS + 5 * MS + wait(n)))).collect();
    let mut packets = good.clone();
    for (place, (left, came)) in early {
        let (departure, arrival) = packets[*place];
        packets[*place] = (departure + left, arrival.zip(*came).map(|(at, by)| at + by));
    }
    let folder = folder(&format!("early-{}-{one_clock}-{as_reverse}", early.len()));
    let [there, back] = ["there.csv", "back.csv"].map(|name| folder.join(name));
    let own = |at: i64| 500 * SECOND + at;
    table(&there, if as_reverse { &good } else { &packets }, own, own);
    table(&back, &packets, own, own);
    let reverse = as_reverse.then_some(back);
    let analysis = Analysis { one_clock, reverse, ..Analysis::new(&there, String::new()) };
    let m = analyze(&analysis).unwrap().measurement;
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(!said(&m).contains(r#""live":true"#), "{:?}", m.warnings);
    m
}

/// One stamp of one way that makes its packet too quick spoils neither the other delays nor the order, and is discarded with a warning.
#[test]
fn early_stamp_of_one_way() {
    for by in [3 * MS, 20 * MS, 100 * MS, SECOND] {
        for false_stamp in [(0, Some(-by)), (by, Some(0))] {
            for (one_clock, as_reverse) in [(false, false), (true, false), (false, true)] {
                let m = one_way_with(&[(50, false_stamp)], one_clock, as_reverse);
                let way = if as_reverse { &m.reverse } else { &m.forward };
                let least = if one_clock { 5e6 } else { 0.0 };
                assert!(way.delay_ns.min.unwrap() >= least, "{by} {:?}", way.delay_ns);
                assert!(way.delay_ns.max.unwrap() < least + 0.2e6, "{by} {:?}", way.delay_ns);
                assert_eq!((way.delay_ns.count, way.packets.received), (199, Some(200)));
                assert_eq!(way.packets.reordered, Some(0), "{by}");
                assert_eq!(m.traffic.interval_ns / 1_000, 20_000, "{by}");
                let said = said(&m);
                assert!(said.contains(r#""first_sequence":50"#), "{by}: {said}");
            }
        }
    }
}

/// What recurs is the path's: packets that take a quicker way keep their stamps, and it is said.
#[test]
fn quicker_way_of_one_way() {
    let quick: Vec<(usize, Packet)> = (0..10).map(|n| (10 + 19 * n, (0, Some(-3 * MS)))).collect();
    let m = one_way_with(&quick, false, false);
    assert_eq!((m.forward.delay_ns.count, m.forward.packets.reordered), (200, Some(0)));
    let said = said(&m);
    assert!(said.contains(r#""packets":10,"compared":200"#), "{said}");
}

/// Packets that were all for calibration leave nothing that was measured: they are not the result.
#[test]
fn calibration_leaves_nothing() {
    let folder = folder("all-for-calibration");
    let file = folder.join("there.csv");
    let packets: Vec<Packet> =
        (0..100).map(|n| (n * 20 * MS, Some(n * 20 * MS + n * n % 97 * 1_031))).collect();
    table(&file, &packets, |at| at, |at| at);
    for calibration in [100, 1_000] {
        let skew = SkewRequest {
            method: "least-squares".into(),
            calibration: Some(calibration),
            ..SkewRequest::default()
        };
        let m = analyze(&Analysis { skew, ..Analysis::new(&file, String::new()) }).unwrap().measurement;
        assert_eq!((m.forward.packets.sent, m.forward.delay_ns.count, m.partial), (Some(0), 0, true));
        assert_eq!(m.calibration_phase.unwrap().forward.packets.sent, Some(100));
        assert!(m.warnings.contains(&MeasurementWarning::CalibrationLeavesNothing), "{:?}", m.warnings);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Where one-way stamps are refused, no order follows from them, and a limit on it is not known to be broken.
#[test]
fn refused_stamps_give_no_order() {
    let folder = folder("refused-order");
    let file = folder.join("log.csv");
    let mut text = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n".to_owned();
    for n in 0..100_i64 {
        let t1 = 500 * SECOND + n * 20 * MS;
        let late = if n % 2 == 0 { SECOND } else { 0 };
        let [t2, t3] = [5_000_000, 5_100_000].map(|after| t1 + after + n * n % 97 * 1_031 + late);
        let t4 = t3 - late + 5_000_000 + n * n % 89 * 1_031;
        text += &format!("{n},60,{t1},{t2},{t3},{t4}\n");
    }
    std::fs::write(&file, text).unwrap();
    let m = analyze(&Analysis::new(&file, String::new())).unwrap().measurement;
    let way = |way: &romer_record::document::DirectionResults| (way.packets.reordered, way.delay_ns.count);
    assert_eq!([&m.forward, &m.reverse, &m.round_trip].map(way), [(None, 0), (None, 0), (Some(0), 100)]);
    let said = said(&m);
    assert!(said.contains("order"), "{said}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A reply without time stamps keeps its round trip, which is the time that the probe was away.
#[test]
fn unstamped_replies_keep_round_trips() {
    let m = with_stamps("unstamped", |n, row| {
        if n % 24 == 5 {
            (row[1], row[2]) = (Some(0), Some(0));
        }
    });
    assert_eq!((m.round_trip.delay_ns.count, m.forward.delay_ns.count), (240, 230));
    assert!(m.round_trip.delay_ns.max.unwrap() < 10.4e6);
    let said = said(&m);
    assert!(
        said.contains(r#""code":"responder-time-stamps-absent","replies":10,"first_sequence":5"#),
        "{said}"
    );
}

/// The document of 240 round trips 20 ms apart, of which `stamps` changes t1 to t4. `None` is an empty field.
fn with_stamps(name: &str, stamps: impl Fn(i64, &mut [Option<i64>; 4])) -> Measurement {
    let folder = folder(name);
    let file = folder.join("log.csv");
    let mut text = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n".to_owned();
    for n in 0..240_i64 {
        let t1 = 500 * SECOND + n * 20 * MS;
        let [t2, t3] = [5_000_000, 5_100_000].map(|after| t1 + after + n * n % 97 * 1_031);
        let t4 = t3 + 5_000_000 + n * n % 89 * 1_031;
        let mut row = [t1, t2, t3, t4].map(Some);
        stamps(n, &mut row);
        let fields = row.map(|stamp| stamp.map_or(String::new(), |at| at.to_string()));
        text += &format!("{n},60,{}\n", fields.join(","));
    }
    std::fs::write(&file, text).unwrap();
    let voice = VoiceRequest { codec_name: Some("g711".into()), ..VoiceRequest::default() };
    let m = analyze(&Analysis { voice, ..Analysis::new(&file, String::new()) }).unwrap().measurement;
    std::fs::remove_dir_all(&folder).unwrap();
    m
}

/// Where packets that came back have no stamps of the responder, a lost packet without them may be lost in either direction.
#[test]
fn losses_without_responder_stamps() {
    for absent in [None, Some(0), Some(-1)] {
        let m = with_stamps("no-responder-stamps", |n, row| {
            (row[1], row[2]) = (absent, absent);
            if n % 20 == 3 {
                row[3] = None;
            }
        });
        let lost = [&m.forward, &m.reverse, &m.round_trip].map(|way| way.packets.lost);
        assert_eq!(lost, [None, None, Some(12)], "{absent:?}");
        assert_eq!(m.forward.loss.ratio, None, "{absent:?}");
        // Each of the 12 may have been lost in either direction: a call in either is at least as good.
        for call in &m.voice {
            assert_eq!(call.loss_basis, LossBasis::RoundTrip, "{absent:?}");
            assert!((call.playout.loss_ratio - 12.0 / 240.0).abs() < 1e-9, "{absent:?}: {:?}", call.playout);
        }
        assert_eq!(m.voice.len(), 2, "{absent:?}");
    }
}

/// An empty field and a placeholder are told apart: where replies have placeholders, one does not mean that the packet was
/// lost before the responder.
#[test]
fn placeholder_of_a_lost_packet() {
    let m = with_stamps("placeholder-lost", |n, row| {
        let (is_lost_forward, is_lost_in_reverse) = (n % 20 == 3, n % 20 == 7);
        if n % 4 == 0 || n % 40 == 27 {
            (row[1], row[2]) = (Some(0), Some(0));
        }
        if is_lost_forward {
            (row[1], row[2]) = (None, None);
        }
        if is_lost_forward || is_lost_in_reverse {
            row[3] = None;
        }
    });
    assert_eq!((m.round_trip.packets.lost, m.forward.packets.lost), (Some(24), None));
    assert_eq!(m.forward.packets.lost_at_least, Some(12));
    assert_eq!(m.reverse.packets.lost_at_least.or(m.reverse.packets.lost), Some(6));
}

/// Replies without time stamps of their departure do not show whether a reply that did not come back was sent.
#[test]
fn replies_without_departure_may_be_lost() {
    let m = with_stamps("no-departures", |n, row| {
        row[2] = None;
        if n % 20 == 7 {
            row[3] = None;
        }
    });
    assert_eq!((m.forward.packets.lost, m.round_trip.packets.lost), (Some(0), Some(12)));
    assert_eq!((m.reverse.packets.lost, m.reverse.packets.not_sent.unwrap_or(0)), (None, 0));
    assert!(!said(&m).contains("packets-not-sent"), "{}", said(&m));
    let reverse = m.voice.iter().find(|call| call.direction == ProbeDirection::Reverse).unwrap();
    assert_eq!(reverse.loss_basis, LossBasis::RoundTrip);
    assert!((reverse.playout.loss_ratio - 12.0 / 240.0).abs() < 1e-9, "{:?}", reverse.playout);
}

/// A responder that takes 15 ms by a clock that runs 500 ppm fast adds nothing to the round trip.
#[test]
fn responder_time_by_a_fast_clock() {
    let m = with_stamps("fast-responder", |_, row| {
        let elapsed = |at: i64| at + (at - 500 * SECOND) / 2_000;
        row[1] = row[1].map(elapsed);
        row[2] = row[2].map(|at| elapsed(at + 15 * MS));
        row[3] = row[3].map(|at| at + 15 * MS);
    });
    assert!(m.clock.skew_ppm.is_some(), "{:?}", m.clock);
    let least = m.round_trip.delay_ns.min.unwrap();
    assert!((least - 10e6).abs() < 1e3, "{least}");
}

/// A clock that is set back by more than the run is long reorders no packet, also where one direction queues.
#[test]
fn step_longer_than_the_run_keeps_order() {
    let m = with_stamps("long-step", |n, row| {
        row[3] = row[3].map(|at| at + n * 7_919 % 97 * 80_000);
        if n >= 80 {
            (row[1], row[2]) = (row[1].map(|at| at - 10 * SECOND), row[2].map(|at| at - 10 * SECOND));
        }
    });
    let reordered = [&m.forward, &m.reverse].map(|way| way.packets.reordered);
    assert_eq!(reordered, [Some(0); 2], "{:?}", m.clock.events);
}

/// Two steps that are longer than the time between them reorder no packet.
#[test]
fn two_steps_keep_order() {
    for (first, second) in [(-23 * SECOND, -4 * SECOND), (-3 * SECOND, 46 * SECOND), (-60 * MS, -7 * SECOND)]
    {
        let m = with_stamps("two-steps", |n, row| {
            let set = if n >= 180 {
                first + second
            } else if n >= 90 {
                first
            } else {
                0
            };
            (row[1], row[2]) = (row[1].map(|at| at + set), row[2].map(|at| at + set));
        });
        let reordered = [&m.forward, &m.reverse].map(|way| way.packets.reordered);
        assert_eq!(reordered, [Some(0); 2], "{first} {second}: {:?}", m.clock.events);
    }
}

/// A clock that is set near an end of the run reorders no packet.
#[test]
fn step_near_an_end_keeps_order() {
    for (first, size) in [(235, -50 * MS), (232, -50 * MS), (235, -SECOND), (5, -50 * MS)] {
        let m = with_stamps("step-near-end", |n, row| {
            if (n >= first) == (first > 100) {
                (row[1], row[2]) = (row[1].map(|at| at + size), row[2].map(|at| at + size));
            }
        });
        let reordered = [&m.forward, &m.reverse].map(|way| way.packets.reordered);
        assert_eq!(reordered, [Some(0); 2], "{first} {size}: {:?}", m.clock.events);
    }
}

/// Its warnings, as they are written.
fn said(m: &Measurement) -> String {
    serde_json::to_string(&m.warnings).unwrap()
}
