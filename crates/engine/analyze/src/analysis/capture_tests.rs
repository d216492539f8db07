//! Captures of a stream by hosts whose clocks are set while they capture.

use std::path::{Path, PathBuf};

use romer_record::document::Measurement;
use romer_record::warning::{MeasurementWarning, Warning as _};
use romer_session::association;
use romer_testing::pcap;
use romer_units::random::{RandomStream, Seed};

use super::{Analysis, analyze};

const MS: i64 = 1_000_000;
const PACKETS: u32 = 1_500;

/// A packet of a capture: when by true time, whether it answers, and which it is.
type Packet = (i64, bool, u32);

/// Both captures' packets by true time, the near one's first: some are lost, some come twice, and some are overtaken.
fn captured(seed: u32) -> [Vec<Packet>; 2] {
    let random =
        |kind: u32, n: u32| RandomStream::new(Seed([seed, 7, 0, 0, 0, 0]), [kind, 0]).unit(u64::from(n));
    let (mut near, mut far) = (Vec::new(), Vec::new());
    let pass = |kind: u32, n: u32| {
        #[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
        let waits = (-(1.0 - random(kind, n)).ln() * 1e6) as i64;
        let held = if random(kind + 10, n) < 0.01 { 45 * MS } else { 0 };
        (random(kind + 20, n) >= 0.01).then_some(6 * MS + waits + held)
    };
    for n in 0..PACKETS {
        let left = i64::from(n) * 20 * MS;
        near.push((left, false, n));
        let Some(there) = pass(0, n) else { continue };
        far.push((left + there, false, n));
        if random(5, n) < 0.005 {
            far.push((left + there + MS / 5, false, n));
        }
        let answered = left + there + MS / 3;
        far.push((answered, true, n));
        near.extend(pass(1, n).map(|back| (answered + back, true, n)));
    }
    near.sort_unstable();
    far.sort_unstable();
    [near, far]
}

/// From here on a packet's number stands for a datagram by which a session of romer makes itself known.
const ASSOCIATING: u32 = 1 << 30;

/// What a packet carries: what tells it from the others.
fn payload(answers: bool, n: u32) -> Vec<u8> {
    if n < ASSOCIATING {
        return (n * 2 + u32::from(answers)).to_be_bytes().repeat(11);
    }
    association::datagram([7; association::TOKEN]).into()
}

/// Writes a capture in the order of true time, or of its stamps, by a clock that is set at a moment.
fn write(file: &Path, packets: &[Packet], (at, size): (i64, i64), is_sorted: bool) {
    let mut octets = pcap::file(65_535, pcap::RAW);
    let stamp = |moment: &i64| 1_000_000_000_000_000 + moment + if *moment >= at { size } else { 0 };
    let mut packets: Vec<&Packet> = packets.iter().collect();
    if is_sorted {
        packets.sort_by_key(|(moment, ..)| stamp(moment));
    }
    for (moment, answers, n) in packets {
        let stamp = stamp(moment);
        let (from, to) = if *answers { (2, 1) } else { (1, 2) };
        let end = |host: u8| (host, 5_000 * u16::from(host));
        let packet = pcap::udp(end(from), end(to), 64, &payload(*answers, *n));
        pcap::add_whole(&mut octets, stamp, &packet);
    }
    std::fs::write(file, octets).unwrap();
}

/// What both ways lost, had twice and had out of order, and the sizes of the steps with their intervals.
#[derive(Debug, PartialEq)]
struct CaptureTotals {
    counts: [[Option<u64>; 4]; 2],
    steps: Vec<(i64, i64, [i64; 2])>,
}

impl CaptureTotals {
    fn new(m: &Measurement) -> Self {
        let counts = [&m.forward, &m.reverse].map(|way| {
            let packets = &way.packets;
            [packets.sent, packets.lost, packets.duplicated, packets.reordered]
        });
        let steps = m.clock.events.iter().filter(|event| event.kind == "clock-step");
        let steps = steps.map(|event| (event.at_ns, event.size_ns.unwrap(), event.size_interval_ns.unwrap()));
        Self { counts, steps: steps.collect() }
    }
}

fn analyzed(folder: &Path, seed: u32, steps: [(i64, i64); 2], is_swapped: bool) -> CaptureTotals {
    detected(folder, &captured(seed), steps, is_swapped, [false; 2])
}

fn detected(
    folder: &Path,
    captured: &[Vec<Packet>; 2],
    steps: [(i64, i64); 2],
    is_swapped: bool,
    sorted: [bool; 2],
) -> CaptureTotals {
    let files: [PathBuf; 2] = ["a.pcap", "b.pcap"].map(|name| folder.join(name));
    for (((file, packets), step), is_sorted) in files.iter().zip(captured).zip(steps).zip(sorted) {
        write(file, packets, step, is_sorted);
    }
    let [first, second] = if is_swapped { [&files[1], &files[0]] } else { [&files[0], &files[1]] };
    let mut analysis = Analysis::new(first, String::new());
    analysis.capture_b = Some(second.clone());
    CaptureTotals::new(&analyze(&analysis).unwrap().measurement)
}

#[test]
fn a_clock_that_is_set_during_a_capture_loses_no_packet_and_is_told_with_its_size() {
    let folder = std::env::temp_dir().join(format!("romer-captures-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let length = i64::from(PACKETS) * 20 * MS;
    let never = (i64::MAX, 0);
    for (seed, sizes) in [(1, [-3_600_000, 1_000, 10]), (2, [3_600_000, -1_000, -10])] {
        let calm = [false, true].map(|is_swapped| analyzed(&folder, seed, [never; 2], is_swapped));
        assert_eq!(calm[0].counts[0], calm[1].counts[1]);
        for size in sizes.map(|ms| ms * MS) {
            for at in [length / 3, length / 2] {
                for (whose, is_swapped) in [(0, false), (0, true), (1, false), (1, true)] {
                    let name = format!("{size} of {whose} at {at}, {is_swapped}, seed {seed}");
                    let mut steps = [never; 2];
                    steps[whose] = (at, size);
                    let told = analyzed(&folder, seed, steps, is_swapped);
                    assert_eq!(told.counts, calm[usize::from(is_swapped)].counts, "{name}");
                    // By how much further ahead the second one's clock is.
                    let expected = if (whose == 1) == is_swapped { -size } else { size };
                    // What is small beside the times between packets, the order does not show.
                    if size.abs() < 100 * MS {
                        continue;
                    }
                    let [(at_ns, told_ns, [low, high])] = told.steps[..] else { panic!("{name}: {told:?}") };
                    assert!((at_ns - at).abs() < 400 * MS, "{name}: {told:?}");
                    let half = (high - low) / 2;
                    assert!(half < MS && (told_ns - expected).abs() < half * 2, "{name}: {told:?}");
                }
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn clocks_that_are_set_back_at_one_moment_lose_no_packet_and_both_are_told() {
    let folder = std::env::temp_dir().join(format!("romer-captures-both-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = i64::from(PACKETS) * 9 * MS;
    for seed in [3, 4] {
        let calm = analyzed(&folder, seed, [(i64::MAX, 0); 2], false);
        for size in [-3_600_000, -5_000].map(|ms| ms * MS) {
            let told = analyzed(&folder, seed, [(at, size); 2], false);
            assert_eq!(told.counts, calm.counts, "{size} {seed}");
            // What it was by both is not known to better than packets are apart; that it was the same is.
            let [(_, one, _), (_, other, _)] = told.steps[..] else { panic!("{size} {seed}: {told:?}") };
            assert!((one.abs() + size).abs() < 40 * MS, "{size} {seed}: {told:?}");
            assert!((one + other).abs() < MS / 5, "{size} {seed}: {told:?}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_capture_that_was_sorted_after_its_clock_was_set_back_is_put_in_the_order_of_the_other() {
    let folder = std::env::temp_dir().join(format!("romer-captures-sorted-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = i64::from(PACKETS) * 11 * MS;
    let never = (i64::MAX, 0);
    for (seed, size) in [(5, -3_600_000), (6, -5_000)].map(|(seed, ms)| (seed, ms * MS)) {
        let calm = analyzed(&folder, seed, [never; 2], false);
        for whose in [0, 1] {
            let (mut steps, mut sorted) = ([never; 2], [false; 2]);
            (steps[whose], sorted[whose]) = ((at, size), true);
            let told = detected(&folder, &captured(seed), steps, false, sorted);
            let lost = |told: &CaptureTotals| told.counts.map(|counts| counts[1]);
            assert_eq!(lost(&told), lost(&calm), "{size} of {whose}");
            let expected = if whose == 1 { size } else { -size };
            let [(_, one, _)] = told.steps[..] else { panic!("{size} of {whose}: {told:?}") };
            assert!((one - expected).abs() < MS / 5, "{size} of {whose}: {told:?}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_clock_that_is_set_is_told_where_all_packets_go_one_way_too() {
    let folder = std::env::temp_dir().join(format!("romer-captures-one-way-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = i64::from(PACKETS) * 9 * MS;
    let mut one_way = captured(7);
    one_way.iter_mut().for_each(|packets| packets.retain(|(_, answers, _)| !answers));
    let never = (i64::MAX, 0);
    let calm = detected(&folder, &one_way, [never; 2], false, [false; 2]);
    for size in [-3_600_000, -5_000, 5_000].map(|ms| ms * MS) {
        for whose in [0, 1] {
            let mut steps = [never; 2];
            steps[whose] = (at, size);
            let told = detected(&folder, &one_way, steps, false, [false; 2]);
            assert_eq!(told.counts[0], calm.counts[0], "{size} of {whose}");
            let expected = if whose == 1 { size } else { -size };
            let [(_, one, [low, high])] = told.steps[..] else { panic!("{size} of {whose}: {told:?}") };
            assert!(low <= expected && expected <= high, "{size} of {whose}: {told:?}");
            assert!((one - expected).abs() < MS / 5, "{size} of {whose}: {told:?}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// (Five of 1,605 packets of such a stream were those of its session, told as alike; and four of them, there where packets come
/// from the responder, made a stream of one direction one of both.)
#[test]
fn the_packets_by_which_a_session_makes_itself_known_are_none_of_its_stream() {
    let folder = std::env::temp_dir().join(format!("romer-captures-session-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let analyzed = |packets: &[Vec<Packet>; 2]| {
        let files: [PathBuf; 2] = ["a.pcap", "b.pcap"].map(|name| folder.join(name));
        for (file, packets) in files.iter().zip(packets) {
            write(file, packets, (i64::MAX, 0), false);
        }
        let mut analysis = Analysis::new(&files[0], String::new());
        analysis.capture_b = Some(files[1].clone());
        analyze(&analysis).unwrap().measurement
    };
    // Once the session's own go along with the stream, and once against it.
    for answers in [false, true] {
        let mut packets = captured(20);
        packets.iter_mut().for_each(|packets| packets.retain(|(_, answers, _)| !answers));
        let plain = analyzed(&packets);
        for n in 0..5 {
            let at = if n == 4 { 5_000 * MS } else { -500 * MS } + i64::from(n) * 100 * MS;
            let [near, far] = if answers { [at + 3 * MS, at] } else { [at, at + 3 * MS] };
            packets[0].push((near, answers, ASSOCIATING));
            packets[1].push((far, answers, ASSOCIATING));
        }
        packets.iter_mut().for_each(|packets| packets.sort_unstable());
        let m = analyzed(&packets);
        assert_eq!(m.traffic.direction, plain.traffic.direction, "answers {answers}");
        assert_eq!((&m.forward, &m.reverse), (&plain.forward, &plain.reverse), "answers {answers}");
        assert!(
            m.warnings.contains(&MeasurementWarning::AssociationPacketsIgnored { packets: 5 }),
            "{:?}",
            m.warnings
        );
        assert!(!m.warnings.iter().any(|one| one.code() == "packets-indistinguishable"), "{:?}", m.warnings);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// One step is told and no more: what is left of it in the stamps is found again, wherever in the pause. (In half of such plays that was told beside it.)
#[test]
fn a_clock_that_is_set_while_no_packet_passes_is_told_once() {
    let folder = std::env::temp_dir().join(format!("romer-captures-pause-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let never = (i64::MAX, 0);
    let half = i64::from(PACKETS) * 10 * MS;
    for (seed, pause) in [(10, 300), (10, 2_000), (11, 300), (17, 2_000)].map(|(seed, ms)| (seed, ms * MS)) {
        let mut packets = captured(seed);
        for all in &mut packets {
            let later = all.iter_mut().filter(|(_, _, n)| i64::from(*n) * 20 * MS >= half);
            later.for_each(|packet| packet.0 += pause);
            all.sort_unstable();
        }
        let at = half + 60 * MS + pause / 2;
        for size in [-5_000, 5_000].map(|ms| ms * MS) {
            for whose in [0, 1] {
                let mut steps = [never; 2];
                steps[whose] = (at, size);
                let name = format!("{size} of {whose}, seed {seed}, pause {pause}");
                let told = detected(&folder, &packets, steps, false, [false; 2]);
                let expected = if whose == 1 { size } else { -size };
                let [(_, one, _)] = told.steps[..] else { panic!("{name}: {told:?}") };
                assert!((one - expected).abs() < MS, "{name}: {told:?}");
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Writes a capture of a stream whose answers carry what they answer, of IP headers without an identification, between two such ends.
fn write_echoed(file: &Path, packets: &[Packet], ends: [(u8, u16); 2]) {
    let mut octets = pcap::file(65_535, pcap::RAW);
    for (moment, answers, n) in packets {
        let [here, there] = ends;
        let (from, to) = if *answers { (there, here) } else { (here, there) };
        pcap::add_whole(
            &mut octets,
            1_000_000_000_000_000 + moment,
            &pcap::udp(from, to, 64, &payload(false, *n)),
        );
    }
    std::fs::write(file, octets).unwrap();
}

/// (Each answer was taken for a copy of its probe, and no answer was lost.)
#[test]
fn what_an_echo_carries_does_not_make_it_a_copy_of_the_probe() {
    let folder = std::env::temp_dir().join(format!("romer-captures-echoed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files: [PathBuf; 2] = ["a.pcap", "b.pcap"].map(|name| folder.join(name));
    let near = [(1, 5_000), (2, 10_000)];
    // Whose address, or port, or all of it is another one beyond a NAT.
    let fars = [
        near,
        [(77, 61_000), near[1]],
        [(77, near[0].1), near[1]],
        [near[0], (77, 7)],
        [(77, 61_000), (78, 62_000)],
        [(99, 4_000), (3, 3_000)],
    ];
    for seed in [30, 31] {
        let calm = analyzed(&folder, seed, [(i64::MAX, 0); 2], false);
        let [there, back] = calm.counts;
        assert!(there[1].unwrap() > 5 && there[2].unwrap() > 2 && back[1].unwrap() > 5 && back[2] == Some(0));
        let packets = captured(seed);
        for far in fars {
            write_echoed(&files[0], &packets[0], near);
            write_echoed(&files[1], &packets[1], far);
            for is_swapped in [false, true] {
                let [first, second] =
                    if is_swapped { [&files[1], &files[0]] } else { [&files[0], &files[1]] };
                let mut analysis = Analysis::new(first, String::new());
                analysis.capture_b = Some(second.clone());
                let m = analyze(&analysis).unwrap().measurement;
                let name = format!("{far:?}, {is_swapped}, seed {seed}");
                let counts = CaptureTotals::new(&m).counts;
                let expected = if is_swapped { [back, there] } else { [there, back] };
                assert_eq!(counts, expected, "{name}");
                let is_told = m.warnings.iter().any(|one| one.code() == "flow-translated");
                assert_eq!(is_told, far != near, "{name}: {:?}", m.warnings);
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_capture_without_a_packet_of_udp_is_refused_with_what_there_is_and_what_to_do() {
    let folder = std::env::temp_dir().join(format!("romer-captures-kinds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files: [PathBuf; 2] = ["a.pcap", "b.pcap"].map(|name| folder.join(name));
    let mut icmp = pcap::udp((1, 1), (2, 2), 64, &[7; 40]);
    icmp[9] = 1;
    for (count, said) in [(0, "no packet is in it"), (3, "no UDP packet is in it, and 3 of other kinds")] {
        let mut octets = pcap::file(65_535, pcap::RAW);
        (0..count).for_each(|n| pcap::add_whole(&mut octets, 1_000_000_000 + n, &icmp));
        files.iter().for_each(|file| std::fs::write(file, &octets).unwrap());
        let mut analysis = Analysis::new(&files[0], String::new());
        analysis.capture_b = Some(files[1].clone());
        let refused = analyze(&analysis).unwrap_err().to_string();
        assert!(refused.contains(said) && refused.contains("romer measure"), "{refused}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
