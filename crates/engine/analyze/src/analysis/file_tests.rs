//! Files of talk spurts and pauses whose hosts' clocks are set meanwhile.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use romer_record::document::Measurement;
use romer_record::manifest::SkewRequest;
use romer_units::random::{RandomStream, Seed};

use super::{Analysis, analyze, read_log};

pub(super) const MS: i64 = 1_000_000;
pub(super) const SECOND: i64 = 1_000 * MS;
/// By how much the responder's clock is ahead at first, and how much faster it runs.
const OFFSET: i64 = 123_456_789;
const PPM: i64 = 30;

/// A packet by true time: when it left and when it came.
pub(super) type Packet = (i64, Option<i64>);

/// What is set, and when.
#[derive(Clone, Copy, Debug)]
struct ClockSetting {
    at: i64,
    near: i64,
    far: i64,
}

impl ClockSetting {
    fn near(&self, at: i64) -> i64 {
        1_700_000_000 * SECOND + at + if at >= self.at { self.near } else { 0 }
    }

    fn far(&self, at: i64) -> i64 {
        let set = if at >= self.at { self.far } else { 0 };
        1_700_000_000 * SECOND + at + OFFSET + at * PPM / 1_000_000 + set
    }
}

/// Two minutes of packets each 20 ms in spurts of up to 3 s, with pauses of up to 4.5 s between them; and their answers. With the first departures
/// after pauses.
fn spurts(seed: u32) -> ([Vec<Packet>; 2], Vec<usize>) {
    let random = RandomStream::new(Seed([seed, 9, 0, 0, 0, 0]), [0, 0]);
    let mut drawn = 0;
    let mut unit = || {
        drawn += 1;
        random.unit(drawn)
    };
    #[expect(clippy::cast_possible_truncation, reason = "some seconds")]
    let mut between = |low: f64, high: f64| ((low + (high - low) * unit()) * 1e9) as i64;
    let (mut there, mut back, mut pauses) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    while at < 120 * SECOND {
        pauses.push(there.len());
        let end = at + between(0.4, 3.0);
        while at < end {
            // A tenth of a millisecond on average, more or less, and one in a hundred is lost.
            let mut pass =
                |at: i64| (between(0.0, 100.0) > SECOND).then_some(at + 5 * MS + between(0.0, 0.000_3));
            let came = pass(at);
            there.push((at, came));
            let answered = came.map(|came| came + MS / 10);
            back.extend(answered.map(|left| (left, pass(left))));
            at += 20 * MS;
        }
        at += between(0.5, 4.5);
    }
    ([there, back], pauses)
}

pub(super) fn table(file: &Path, packets: &[Packet], left: impl Fn(i64) -> i64, came: impl Fn(i64) -> i64) {
    let mut text = "sequence,size,sent_ns,received_ns\n".to_owned();
    for (n, (departure, arrival)) in packets.iter().enumerate() {
        let arrival = arrival.map_or(String::new(), |at| came(at).to_string());
        writeln!(text, "{n},100,{},{arrival}", left(*departure)).unwrap();
    }
    std::fs::write(file, text).unwrap();
}

/// The document of the way there alone, or of both.
fn analyzed(
    folder: &Path,
    [there, back]: &[Vec<Packet>; 2],
    set: ClockSetting,
    is_both: bool,
) -> Measurement {
    let files: [PathBuf; 2] = ["there.csv", "back.csv"].map(|name| folder.join(name));
    table(&files[0], there, |at| set.near(at), |at| set.far(at));
    table(&files[1], back, |at| set.far(at), |at| set.near(at));
    let mut analysis = Analysis::new(&files[0], String::new());
    analysis.reverse = is_both.then(|| files[1].clone());
    analyze(&analysis).unwrap().measurement
}

/// Asserts that nothing is lost that was not, that no delay has a step in it, and that these are told, by how much further ahead the
/// responder's clock is after each, and nothing else.
fn assert_told(m: &Measurement, packets: &[Vec<Packet>; 2], is_both: bool, expected: &[i64], name: &str) {
    for (way, packets) in [&m.forward, &m.reverse].into_iter().zip(packets).take(if is_both { 2 } else { 1 })
    {
        let lost = packets.iter().filter(|(_, came)| came.is_none()).count() as u64;
        assert_eq!(
            way.packets.lost,
            Some(lost),
            "{name} {:#?} {:#?} {:?}",
            m.clock.events,
            m.events,
            m.warnings
        );
        let spread = way.delay_ns.max.unwrap() - way.delay_ns.min.unwrap();
        assert!(spread < 0.6e6, "{name}: {spread} ns");
    }
    let mut told: Vec<i64> = m.clock.events.iter().map(|event| event.size_ns.unwrap()).collect();
    let mut expected = expected.to_vec();
    told.sort_unstable();
    expected.sort_unstable();
    assert!(m.clock.events.iter().all(|event| event.kind == "clock-step"), "{name}: {:?}", m.clock.events);
    let is_near = |(told, expected): (&i64, &i64)| (told - expected).abs() < MS / 5;
    assert!(told.len() == expected.len() && told.iter().zip(&expected).all(is_near), "{name}: {told:?}");
}

pub(super) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("romer-files-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The moment in the middle of a pause about half way, and one within the spurt after it.
fn moments([there, _]: &[Vec<Packet>; 2], pauses: &[usize]) -> [i64; 2] {
    let place = pauses[pauses.len() / 2];
    [there[place - 1].0.midpoint(there[place].0), there[place + 6].0 - 3 * MS]
}

/// Either clock is set, in a pause and in a spurt, and nothing else is told.
fn assert_either_is_told(name: &str, seeds: [u32; 2], sizes: &[i64], is_both: bool) {
    let folder = folder(name);
    for seed in seeds {
        let (packets, pauses) = spurts(seed);
        for at in moments(&packets, &pauses) {
            for (near, far) in sizes.iter().flat_map(|size| [(*size, 0), (0, *size)]) {
                let name = format!("{near} {far} at {at}, seed {seed}");
                let m = analyzed(&folder, &packets, ClockSetting { at, near, far }, is_both);
                assert_told(&m, &packets, is_both, &[far - near], &name);
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_clock_that_is_set_in_a_pause_or_in_a_spurt_loses_no_packet_of_one_direction() {
    let sizes = [-3_600, -5, 5, 3_600].map(|size| size * SECOND);
    assert_either_is_told("one-way", [1, 2], &sizes, false);
}

#[test]
fn a_clock_that_is_set_back_in_a_pause_or_in_a_spurt_loses_no_packet_of_two_directions() {
    assert_either_is_told("both-ways", [3, 4], &[-3_600 * SECOND, -5 * SECOND], true);
}

#[test]
fn clocks_that_are_set_back_at_one_moment_lose_no_packet_and_no_way_changes() {
    let folder = folder("at-once");
    let (packets, pauses) = spurts(5);
    let [_, at] = moments(&packets, &pauses);
    for size in [-3_600 * SECOND, -5 * SECOND] {
        for is_both in [false, true] {
            let m = analyzed(&folder, &packets, ClockSetting { at, near: size, far: size }, is_both);
            assert_told(&m, &packets, is_both, &[size, -size], &format!("{size} {is_both}"));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn pauses_alone_are_no_steps() {
    let folder = folder("pauses");
    for seed in [6, 7] {
        let (packets, _) = spurts(seed);
        for is_both in [false, true] {
            let m = analyzed(&folder, &packets, ClockSetting { at: i64::MAX, near: 0, far: 0 }, is_both);
            assert_told(&m, &packets, is_both, &[], &format!("{seed} {is_both}"));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The document of the way there alone, as Qtcp records it: lines in order of arrival.
fn recorded(folder: &Path, there: &[Packet], set: ClockSetting) -> Measurement {
    let file = folder.join("there.raw");
    let came = |(n, (left, came)): (usize, &Packet)| Some(((*came)?, n, *left));
    let mut lines: Vec<(i64, usize, i64)> = there.iter().enumerate().filter_map(came).collect();
    lines.sort_unstable();
    let mut text = String::new();
    for (came, n, left) in lines {
        let [sent, received] = [set.near(left), set.far(came)].map(|stamp| stamp / 100);
        writeln!(text, "{sent}:{received}:{}:100:{n}", received - sent).unwrap();
    }
    std::fs::write(&file, text).unwrap();
    analyze(&Analysis::new(&file, String::new())).unwrap().measurement
}

/// The whole of the step is told and taken out, whether the clocks' estimate tells it at the one end of the pause or at the other. (In 24 of 24 such plays
/// what the clocks drift apart in the pause was left, as a change of the path.)
#[test]
fn a_receiver_that_is_set_back_in_a_pause_leaves_no_change_of_the_path() {
    let folder = folder("recorded");
    for seed in 1..5 {
        let (packets, pauses) = spurts(seed);
        for at in moments(&packets, &pauses) {
            for size in [-3_600 * SECOND, -5 * SECOND] {
                let name = format!("{size} at {at}, seed {seed}");
                let m = recorded(&folder, &packets[0], ClockSetting { at, near: 0, far: size });
                let spread = m.forward.delay_ns.max.unwrap() - m.forward.delay_ns.min.unwrap();
                assert!(spread < 0.6e6, "{name}: {spread} ns");
                let [told] = &m.clock.events[..] else { panic!("{name}: {:?}", m.clock.events) };
                assert_eq!(told.kind, "clock-step", "{name}");
                assert!((told.size_ns.unwrap() - size).abs() < MS / 5, "{name}: {told:?}");
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a report draws are the packets of which the figures are: those for calibration are none, and events count from these.
#[test]
fn charts_are_of_measured_phase() {
    let folder = folder("phases");
    let file = folder.join("phases.csv");
    let packets: Vec<Packet> =
        (0..200).map(|n| (n * 20 * MS, Some(n * 20 * MS + 5 * MS + n * 7_919 % 99_991))).collect();
    table(&file, &packets, |at| at, |at| at);
    for (calibration, drawn) in [(None, 200), (Some(50), 150)] {
        let skew = SkewRequest { method: "least-absolute".into(), calibration, ..SkewRequest::default() };
        let log = read_log(&Analysis { skew, ..Analysis::new(&file, String::new()) }).unwrap();
        let singletons = log.evaluated.for_report().singletons.unwrap();
        assert_eq!(singletons.forward.len(), drawn);
        assert_eq!(log.evaluated.measurement.forward.packets.sent, Some(drawn as u64));
        assert_eq!(singletons.begins_ns, calibration.map_or(0, |packets| packets.cast_signed() * 20 * MS));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The packets of a run are not read without its folder.
#[test]
fn parquet_names_the_run() {
    let folder = folder("parquet");
    let file = folder.join("packets.parquet");
    std::fs::write(&file, b"PAR1\x15\0").unwrap();
    let error = analyze(&Analysis::new(&file, String::new())).unwrap_err().to_string();
    assert!(error.contains("romer analyze RUN"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
