//! Tables whose sequence numbers wrap, repeat or count in steps, and tables with numbers in place of missing stamps.
//!
//! The files are in `tests/vectors/packet-logs`; the right values are known by how they were made.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use romer_record::Exit;
use romer_record::document::Measurement;

use super::file_tests::folder;
use super::{Analysis, AnalysisError, analyze};

fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/packet-logs").join(name)
}

fn document(file: &Path) -> Measurement {
    analyze(&Analysis::new(file, String::new())).unwrap().measurement
}

/// Sent, received, lost, out of order, and copies.
fn counts(m: &Measurement) -> [Option<u64>; 5] {
    let packets = &m.forward.packets;
    [packets.sent, packets.received, packets.lost, packets.reordered, packets.duplicated]
}

fn says(m: &Measurement, part: &str) -> bool {
    serde_json::to_string(&m.warnings).unwrap().contains(part)
}

/// 100 packets 20 ms apart of one run: nothing lost, nothing out of order, no event of a clock.
#[test]
fn wrapped_numbers_are_one_run() {
    for (name, width) in [("wrap16.csv", 16), ("wrap32.csv", 32)] {
        let m = document(&vector(name));
        assert_eq!(counts(&m), [100, 100, 0, 0, 0].map(Some), "{name}");
        assert_eq!(m.traffic.interval_ns, 20_000_000, "{name}");
        assert!(m.clock.events.is_empty() && m.events.is_empty(), "{name}: {:?}", m.clock.events);
        assert!(says(&m, &format!(r#""counter_bits":{width}"#)), "{:?}", m.warnings);
        assert!(m.forward.delay_ns.max.unwrap() < 1e6, "{name}");
    }
}

/// 70,000 packets of RTP from the number 30,000 on, each 200th lost.
#[test]
fn rtp_wraps_with_losses() {
    let folder = folder("rtp");
    let file = folder.join("rtp.csv");
    let mut text = "sequence,size,sent_ns,received_ns\n".to_owned();
    for n in 0..70_000_i64 {
        let sent = 1_700_000_000_000_000_000 + n * 20_000_000;
        let received =
            if n % 200 == 100 { String::new() } else { (sent + 5_000_000 + n * 7_919 % 997).to_string() };
        writeln!(text, "{},172,{sent},{received}", (n + 30_000) % 65_536).unwrap();
    }
    std::fs::write(&file, text).unwrap();
    let m = document(&file);
    assert_eq!(counts(&m), [70_000, 69_650, 350, 0, 0].map(Some));
    assert_eq!(m.traffic.interval_ns, 20_000_000);
    assert!(m.clock.events.is_empty(), "{:?}", m.clock.events);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A number that comes again with another departure is another packet: the second run is named by its first line.
#[test]
fn two_runs_are_refused() {
    let error = analyze(&Analysis::new(&vector("two-runs.csv"), String::new())).unwrap_err();
    assert_eq!(error.exit(), Exit::BadData);
    let AnalysisError::Line { line, why, .. } = error else { panic!("{error}") };
    assert_eq!(line, 52);
    assert!(why.contains("the second begins at line 52") && why.contains("head -n 51"), "{why}");
}

/// A number that comes again with the same departure is a copy, whether the lines have stamps of the far end or not.
#[test]
fn copies_need_no_far_stamps() {
    let folder = folder("copies");
    let file = folder.join("copies.csv");
    for is_stamped in [true, false] {
        let mut text = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n".to_owned();
        // The second comes back twice, and the third, fourth and sixth do not.
        let returned_after_us = [
            (1, Some(11_600)),
            (2, Some(12_400)),
            (2, Some(13_200)),
            (3, None),
            (4, None),
            (5, Some(123_000)),
            (6, None),
        ];
        for (n, after_us) in returned_after_us {
            let sent = (n - 1) * 200_000_000_i64;
            let far = |after: i64| if is_stamped { (sent + after).to_string() } else { String::new() };
            let stamps = after_us.map(|us: i64| format!("{},{},{}", far(1), far(2), sent + us * 1_000));
            writeln!(text, "{n},56,{sent},{}", stamps.unwrap_or_else(|| ",,".into())).unwrap();
        }
        std::fs::write(&file, text).unwrap();
        let m = document(&file);
        let packets = &m.round_trip.packets;
        let counts = [packets.sent, packets.received, packets.lost, packets.reordered, packets.duplicated];
        assert_eq!(counts, [6, 3, 3, 0, 1].map(Some), "{is_stamped}");
        assert_eq!((m.forward.packets.sent, m.round_trip.delay_ns.count), (Some(6), 3), "{is_stamped}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The interval follows from the departures, whatever the numbers count in; numbers between are no losses.
#[test]
fn numbers_in_tens_are_consecutive() {
    let m = document(&vector("by10.csv"));
    assert_eq!(counts(&m), [100, 100, 0, 0, 0].map(Some));
    assert_eq!(m.traffic.interval_ns, 20_000_000);
    assert!(says(&m, r#""step":10"#), "{:?}", m.warnings);
    assert!(m.forward.ipdv_ns.count > 90, "successive packets are compared");
}

/// Ten stamps of 0 stand for none: 90 delays, and no time in 1970.
#[test]
fn zero_stamps_are_missing_stamps() {
    let m = document(&vector("zero-stamp.csv"));
    assert_eq!(counts(&m), [100, 90, 10, 0, 0].map(Some));
    assert_eq!(m.forward.delay_ns.count, 90);
    assert!(m.forward.delay_ns.max.unwrap() < 1e6);
    assert!(says(&m, r#""column":"received_ns","stamps":10,"first_line":5"#), "{:?}", m.warnings);
    assert!(m.clock.events.is_empty(), "{:?}", m.clock.events);
    let folder = folder("minus-one");
    let file = folder.join("minus-one.csv");
    std::fs::write(
        &file,
        std::fs::read_to_string(vector("zero-stamp.csv")).unwrap().replace(",0\n", ",-1\n"),
    )
    .unwrap();
    assert_eq!(counts(&document(&file)), counts(&m));
    std::fs::remove_dir_all(folder).unwrap();
}

/// The same log with and without the change of NTP's era in it, at either end or both: the same figures, and no step of a clock.
#[test]
fn era_change_is_no_step() {
    const ERA: i64 = (1 << 32) * 1_000_000_000;
    const NEXT: i64 = 2_085_978_496_000_000_000;
    let folder = folder("era");
    let of = |name: &str, lost: [bool; 2]| {
        let file = folder.join(name);
        let mut text = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n".to_owned();
        for n in 0..400_i64 {
            let t1 = NEXT + (n - 150) * 20_000_000;
            let t2 = t1 + 5_000_000 + n * 7_919 % 99_991;
            let t4 = t2 + 5_050_000 + n * 104_729 % 99_991;
            let [t1, t4] = [t1, t4].map(|at| at - if lost[0] && at >= NEXT { ERA } else { 0 });
            let [t2, t3] = [t2, t2 + 50_000].map(|at| at - if lost[1] && at >= NEXT { ERA } else { 0 });
            writeln!(text, "{n},60,{t1},{t2},{t3},{t4}").unwrap();
        }
        std::fs::write(&file, text).unwrap();
        document(&file)
    };
    let whole = of("whole.csv", [false; 2]);
    assert!(!says(&whole, "ntp-era-unwrapped"), "{:?}", whole.warnings);
    for lost in [[true, true], [false, true], [true, false]] {
        let m = of("era.csv", lost);
        assert_eq!(m.clock, whole.clock, "{lost:?}");
        assert_eq!(
            (&m.forward, &m.reverse, &m.round_trip),
            (&whole.forward, &whole.reverse, &whole.round_trip)
        );
        assert!(m.events.is_empty() && says(&m, "ntp-era-unwrapped"), "{lost:?} {:?}", m.events);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Two runs with ascending numbers cannot be told from one with a pause: the note names the lines beside it, and how to split.
#[test]
fn long_pause_is_noted() {
    let folder = folder("pause");
    let of = |name: &str, numbers: [i64; 2], pause: i64| {
        let file = folder.join(name);
        let mut text = "sequence,size,sent_ns,received_ns\n".to_owned();
        for (first, start) in numbers.into_iter().zip([0, 150 * 20_000_000 + pause]) {
            for n in 0..150_i64 {
                let sent = start + n * 20_000_000;
                writeln!(text, "{},60,{sent},{}", first + n, sent + 5_000_000 + n * 7_919 % 9_973).unwrap();
            }
        }
        std::fs::write(&file, text).unwrap();
        document(&file)
    };
    for numbers in [[0, 150], [0, 200]] {
        let m = of("joined.csv", numbers, 3_600_000_000_000);
        let note = r#""before_line":151,"after_line":152"#;
        assert!(says(&m, note), "{:?}", m.warnings);
    }
    let m = of("whole.csv", [0, 150], 2_000_000_000);
    assert!(!says(&m, "long-pause"), "{:?}", m.warnings);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A second run with lower numbers, none of which the first has, is refused where it begins.
#[test]
fn lower_second_run_is_refused() {
    let folder = folder("lower-run");
    let file = folder.join("runs.csv");
    let mut text = "sequence,size,sent_ns,received_ns\n".to_owned();
    for (first, start) in [(1_000, 0), (0, 60_000_000_000_i64)] {
        for n in 0..1_000_i64 {
            let sent = start + n * 20_000_000;
            writeln!(text, "{},60,{sent},{}", first + n, sent + 5_000_000 + n * 7_919 % 9_973).unwrap();
        }
    }
    std::fs::write(&file, text).unwrap();
    let error = analyze(&Analysis::new(&file, String::new())).unwrap_err();
    let AnalysisError::Line { line, why, .. } = error else { panic!("{error}") };
    assert_eq!(line, 1_002);
    assert!(why.contains("lower than the number in line 2: two runs are in one file"), "{why}");
    assert!(why.contains("the second begins at line 1002; split it there (head -n 1001"), "{why}");
    std::fs::remove_dir_all(folder).unwrap();
}
