//! The conversion in passes held against the one in memory.

use std::io;

use proptest::prelude::*;
use romer_exchange::csv::Fault;
use romer_exchange::qtcp::{self, Entry, Options, Selection};
use romer_record::warning::QtcpNote;
use romer_report::warning::Text as _;
use romer_units::random::{RandomStream as Random, Seed};

use super::receiver::StepsBack;
use super::{Conversion, KEPT, ReadOptions, SkewOutcome, SkewRefusal, Unconverted, method, to_log};

/// What is asked for: the number of `-k`, that of `-c`, and which lines.
#[derive(Clone, Copy, Debug)]
struct Asked {
    k: u8,
    calibration: u64,
    selection: Selection,
}

impl Asked {
    fn plainly(k: u8, calibration: u64) -> Self {
        Self { k, calibration, selection: Selection::default() }
    }
}

type Log = (String, SkewOutcome, u64, u64);

/// All packets at hand.
fn in_memory(text: &str, asked: Asked) -> Result<Log, Unconverted> {
    let mut found = qtcp::read(text.as_bytes(), Options::default(), |_| Ok(()))?;
    let raw = found.entries.clone();
    let mut outcome = to_log(&mut found.entries, method(asked.k), asked.calibration, true)?;
    if asked.k == 3 {
        outcome.notes.extend(left_in(&raw, &found.entries, found.notes.received_back));
    }
    let mut out = Vec::new();
    let lines = qtcp::write(&mut out, &found.entries, &found.lost, asked.selection).unwrap();
    Ok((String::from_utf8(out).unwrap(), outcome, lines, found.lost.len() as u64))
}

/// That the receiver's clock went back first by so much, and that this or more is `left` in, where it is so. Who has all packets at
/// hand has them in order of arrival, in which it never goes back: of a file in another order, only the passes say it.
fn left_in(raw: &[Entry], left: &[Entry], received_back: Option<(u64, i64)>) -> Option<QtcpNote> {
    let mut back = StepsBack::from_units(received_back?.1);
    for ((place, raw), left) in (0..).zip(raw).zip(left) {
        back.push(place, *raw, *left);
    }
    let step = back.first()?;
    let before = &left[..usize::try_from(step.place).unwrap()];
    let high = before.iter().rev().take_while(|entry| entry.latency() > step.above);
    Some(back.note(step, high.last().map_or(0, |entry| entry.sequence)))
}

/// Whether a step of the receiver's clock is left in.
fn is_left_in(note: &QtcpNote) -> bool {
    matches!(note, QtcpNote::StepNotCompensated { .. })
}

fn in_passes(text: &str, asked: Asked, kept: usize) -> Result<Log, Unconverted> {
    let reading = ReadOptions { kept, ..ReadOptions::default() };
    let open = || io::Result::Ok(text.as_bytes());
    let mut conversion = Conversion::read(open, reading, method(asked.k))?;
    let outcome = conversion.plan(method(asked.k), asked.calibration, true)?;
    let mut out = Vec::new();
    let lines = conversion.write(&mut out, asked.selection)?;
    let lost = conversion.examined().lost_count();
    Ok((String::from_utf8(out).unwrap(), outcome, lines, lost))
}

fn same(text: &str, asked: Asked, kept: usize) {
    let plain = |found: Result<Log, Unconverted>| found.map_err(|error| error.to_string());
    assert_eq!(plain(in_passes(text, asked, kept)), plain(in_memory(text, asked)), "{asked:?}\n{text}");
}

fn text(entries: &[Entry]) -> String {
    let line = |entry: &Entry| {
        let Entry { sent, received, size, sequence } = entry;
        format!("{sent}:{received}:{}:{size}:{sequence}\n", entry.latency())
    };
    entries.iter().map(line).collect()
}

/// Packets 20 ms apart, in order of arrival: clocks that drift by 40 parts in a million, exponential queues of 200 us on
/// average, now and then one lost, one copied, and one that takes 50 ms more.
fn drifting(packets: u64) -> Vec<Entry> {
    let random = Random::new(Seed([11; 6]), [1, 0]);
    let mut entries = Vec::new();
    for sequence in 0..packets {
        let sent = 5_000_000 + i64::try_from(sequence).unwrap() * 200_000;
        #[expect(clippy::cast_possible_truncation, reason = "a queue is short")]
        let queue = (-2_000.0 * (1.0 - random.unit(sequence)).ln()) as i64;
        let late = if sequence % 401 == 7 { 500_000 } else { 0 };
        let received = sent - 4_000_000 + 300 + queue + late + (sent - 5_000_000) * 40 / 1_000_000;
        let copies = match sequence % 97 {
            13 => 0,
            50 => 2,
            _ => 1,
        };
        entries.extend((0..copies).map(|copy| Entry {
            sent,
            received: received + copy * 90,
            size: 64,
            sequence,
        }));
    }
    entries.sort_by_key(|entry| entry.received);
    entries
}

/// Both clocks set, twice the receiver's and once the sender's.
fn set(mut entries: Vec<Entry>) -> Vec<Entry> {
    let last = entries.iter().map(|entry| entry.sequence).max().unwrap_or(0);
    for entry in &mut entries {
        if entry.sequence >= last / 4 {
            entry.received += 700_000;
        }
        if entry.sequence >= last / 2 + 3 {
            entry.received += 700_000;
        }
        if entry.sequence >= last / 4 * 3 {
            entry.sent -= 900_000;
        }
    }
    entries
}

fn every_way() -> impl Iterator<Item = Asked> {
    let selections = [(false, 1), (true, 1), (true, 10)].map(|(dummies, every)| Selection { dummies, every });
    (0..=3).flat_map(move |k| {
        [0, 2, 150, 4_000]
            .into_iter()
            .flat_map(move |calibration| selections.map(|selection| Asked { k, calibration, selection }))
    })
}

#[test]
fn a_file_of_which_all_packets_are_kept_gives_the_same_octets_and_words() {
    for asked in every_way() {
        same(&text(&drifting(3_000)), asked, KEPT);
        same(&text(&set(drifting(3_000))), asked, KEPT);
        same(&text(&drifting(1)), asked, KEPT);
    }
}

#[test]
fn without_skew_to_fit_it_does_not_matter_how_many_are_kept() {
    for asked in every_way().filter(|asked| asked.k == 0) {
        same(&text(&set(drifting(3_000))), asked, 16);
    }
}

#[test]
fn calibration_packets_that_fit_are_all_used_however_many_follow() {
    // The first 300 numbers are fewer than are kept; the packets are more.
    for k in [2, 3] {
        let (log, outcome, ..) = in_passes(&text(&drifting(3_000)), Asked::plainly(k, 300), 400).unwrap();
        let (plain, expected, ..) = in_memory(&text(&drifting(3_000)), Asked::plainly(k, 300)).unwrap();
        assert_eq!((log, outcome), (plain, expected), "-k {k}");
    }
}

#[test]
fn least_squares_uses_every_packet_however_few_are_kept() {
    for calibration in [0, 1_000] {
        let asked = Asked::plainly(1, calibration);
        let (log, outcome, ..) = in_passes(&text(&drifting(20_000)), asked, 64).unwrap();
        let (plain, expected, ..) = in_memory(&text(&drifting(20_000)), asked).unwrap();
        assert_eq!(outcome.notes, expected.notes);
        let off = outcome.skew_ppm.unwrap() - expected.skew_ppm.unwrap();
        assert!(off.abs() < 1e-6, "{off}");
        // What rounds differently in the last place of a float may do so by a unit.
        for (one, other) in log.lines().zip(plain.lines()) {
            let latency = |line: &str| line.split(':').nth(2).unwrap().parse::<i64>().unwrap();
            assert!((latency(one) - latency(other)).abs() <= 1, "{one} {other}");
        }
    }
}

#[test]
fn of_more_packets_than_are_kept_a_part_says_the_skew_and_that_is_said() {
    let text = text(&drifting(60_000));
    let (_, outcome, lines, _) = in_passes(&text, Asked::plainly(2, 0), 8_192).unwrap();
    // Of 2,048 packets or more over 20 minutes, whose middle half lies within 220 us: the error of the slope is below 0.03 parts
    // in a million (its deviation; beyond ten of them fewer than one in 10^20 lie).
    let skew = outcome.skew_ppm.unwrap();
    assert!((skew - 40.0).abs() < 0.3, "{skew}");
    let is_sampled = |note: &QtcpNote| matches!(note, QtcpNote::PacketsSampled { .. });
    assert!(outcome.notes.iter().any(is_sampled), "{:?}", outcome.notes);
    let (_, expected, expected_lines, _) = in_memory(&text, Asked::plainly(2, 0)).unwrap();
    assert_eq!((outcome.notes.len(), lines), (expected.notes.len() + 1, expected_lines));
}

#[test]
fn jumps_are_at_their_packets_however_few_are_kept() {
    let text = text(&set(drifting(60_000)));
    let (log, outcome, ..) = in_passes(&text, Asked::plainly(3, 0), 8_192).unwrap();
    let (plain, expected, ..) = in_memory(&text, Asked::plainly(3, 0)).unwrap();
    assert!(outcome.notes.contains(&QtcpNote::JumpsCompensated { jumps: 2 }), "{outcome:?}");
    // (Of one of another size nothing said that it was left in.)
    for notes in [&outcome.notes, &expected.notes] {
        assert!(notes.contains(&QtcpNote::OneJumpSize), "{notes:?}");
    }
    assert!(outcome.notes.contains(&QtcpNote::SentBack { steps: 1 }), "{outcome:?}");
    let numbers = |line: &str| -> Vec<i64> { line.split(':').map(|field| field.parse().unwrap()).collect() };
    for (one, other) in log.lines().zip(plain.lines()) {
        let (one, other) = (numbers(one), numbers(other));
        assert_eq!(one[0], other[0], "the send times are the same");
        // A packet on the wrong side of a jump would be off by 70 ms.
        assert!((one[2] - other[2]).abs() < 1_000, "{one:?} {other:?} {expected:?}");
    }
}

/// (None was sought there, and the latencies after one were off by all of it.)
#[test]
fn jumps_after_the_calibration_are_compensated_however_many_packets_are_kept() {
    let mut entries = drifting(6_000);
    entries.iter_mut().filter(|entry| entry.sequence >= 3_000).for_each(|entry| entry.received += 700_000);
    let text = text(&entries);
    for kept in [KEPT, 1_024] {
        let asked = Asked::plainly(3, 500);
        let (log, outcome, ..) = in_passes(&text, asked, kept).unwrap();
        assert!(outcome.notes.contains(&QtcpNote::JumpsCompensated { jumps: 1 }), "{outcome:?}");
        let told = outcome.notes.iter().find_map(|note| {
            let text = note.text();
            let most = text.strip_prefix("delays after a compensated clock step may be off by up to ")?;
            most.split_once(" (95 %)")?
                .0
                .replace(' ', "")
                .replace('µ', "u")
                .parse::<romer_units::Duration>()
                .ok()
        });
        // Its rate is that of the calibration: as of one without the jump.
        let (_, plain, ..) = in_memory(&self::text(&drifting(6_000)), Asked::plainly(2, 500)).unwrap();
        let off = outcome.skew_ppm.unwrap() - plain.skew_ppm.unwrap();
        assert!(off.abs() < 1e-9, "{kept}: {off}");
        let mut sides = [Vec::new(), Vec::new()];
        for line in log.lines() {
            let fields: Vec<i64> = line.split(':').map(|field| field.parse().unwrap()).collect();
            sides[usize::from(fields[4] >= 3_000)].push(fields[2]);
        }
        let [before, after] = sides.map(|mut side| {
            let middle = side.len() / 2;
            *side.select_nth_unstable(middle).1
        });
        // What the rate of ten seconds is off by adds up over the minute between them; and by how much a jump of 70 ms was, so many
        // packets beside it tell to some 20 us, and those of a thousand that are kept to some 60.
        let drifted = (40.0 - outcome.skew_ppm.unwrap()) * 60.0 * 10.0;
        #[expect(clippy::cast_precision_loss, reason = "some milliseconds")]
        let off = (after - before) as f64 - drifted;
        assert!(off.abs() < 4_000.0, "{kept}: {before} {after}, {drifted}");
        // The sides' own medians are off by chance as well, by no more than that.
        let all = off + drifted;
        #[expect(clippy::cast_precision_loss, reason = "some milliseconds")]
        let most = told.unwrap().as_nanos() as f64 / 100.0;
        assert!(all.abs() < 2.0 * most && most < 20_000.0, "{kept}: {all} beside {most}");
    }
}

#[test]
fn that_calibration_packets_are_counted_from_zero_is_said_where_it_is_so() {
    let told = |first: u64, calibration: u64, whole: bool| {
        let mut entries = drifting(400);
        entries.retain(|entry| entry.sequence >= first && (!whole || entry.sequence % 97 != 13));
        if whole {
            // As if none between had been lost.
            let mut numbers: Vec<u64> = entries.iter().map(|entry| entry.sequence).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let place = |number| first + numbers.partition_point(|other| *other < number) as u64;
            entries.iter_mut().for_each(|entry| entry.sequence = place(entry.sequence));
        }
        let asked = Asked::plainly(2, calibration);
        same(&text(&entries), asked, KEPT);
        let (_, outcome, ..) = in_passes(&text(&entries), asked, KEPT).unwrap();
        outcome.notes.contains(&QtcpNote::CalibrationFromZero { first: 5, calibration })
    };
    assert!(told(5, 150, false));
    assert!(!told(0, 150, false), "the first is there");
    assert!(!told(5, 0, false), "none are stated");
    assert!(!told(5, 4, false), "numbers that begin beyond those stated begin anywhere");
    assert!(!told(5, 150, true), "none is missing");
}

#[test]
fn a_file_that_changes_between_passes_is_noticed() {
    let before = text(&drifting(500));
    let changed = before.replacen(":64:250\n", ":65:250\n", 1);
    for (later, whole) in
        [(&before, true), (&changed, false), (&before[..before.len() / 2].to_owned(), false)]
    {
        let mut passes = 0;
        let open = || {
            passes += 1;
            io::Result::Ok(if passes == 1 { before.as_bytes() } else { later.as_bytes() })
        };
        let mut conversion = Conversion::read(open, ReadOptions::default(), method(0)).unwrap();
        let planned = conversion.plan(method(0), 0, false);
        assert_eq!(planned.is_ok(), whole);
        assert!(whole || matches!(planned, Err(Unconverted::Changed)));
    }
    // What a file has grown by since is left out.
    let grown = format!("{before}9999999999:9999999999:0:64:9999\n");
    let mut passes = 0;
    let open = || {
        passes += 1;
        io::Result::Ok(if passes == 1 { before.as_bytes() } else { grown.as_bytes() })
    };
    let mut conversion = Conversion::read(open, ReadOptions::default(), method(0)).unwrap();
    assert!(conversion.plan(method(0), 0, false).is_ok());
}

#[test]
fn what_cannot_be_converted_is_refused_alike() {
    let text = text(&drifting(100));
    for k in 1..=3 {
        let asked = Asked::plainly(k, 5_000);
        for refused in [in_passes(&text, asked, 16), in_memory(&text, asked)] {
            let told = matches!(
                refused,
                Err(Unconverted::Refused(SkewRefusal::Calibration { stated: 5_000, there: 100 }))
            );
            assert!(told, "-k {k}");
        }
    }
    assert!(matches!(
        in_passes("1:2\n", Asked::plainly(2, 0), 16),
        Err(Unconverted::Fault(Fault::Line { line: 1, .. }))
    ));
}

/// Packets of the differences to the number and the regular send time of the one before, and with their latencies: from a place on
/// the sender's clock is set by so much.
fn stepping(lines: &[(i64, i64, u64)], sender: (usize, i64)) -> Vec<Entry> {
    let (mut entries, mut number) = (Vec::new(), 0);
    for ((skipped, latency, what), place) in lines.iter().zip(0usize..) {
        number = match what {
            0 => number,
            1 => number + 3,
            _ => number + 1,
        };
        let set = if place >= sender.0 { sender.1 } else { 0 };
        let sent = 100_000 + 1_000 * i64::try_from(number).unwrap() + skipped + set;
        entries.push(Entry { sent, received: sent + 50_000 + latency, size: 64, sequence: number });
    }
    entries
}

proptest! {
    #[test]
    fn any_file_gives_the_same_octets(
        lines in prop::collection::vec((0i64..40, 0i64..3_000, 0u64..8), 1..60),
        k in 0u8..=3,
        calibration in 0u64..40,
        dummies in any::<bool>(),
        every in 1u64..4,
        sender in (0usize..60, -40_000i64..100),
        by_arrival in any::<bool>(),
    ) {
        let mut entries = stepping(&lines, sender);
        if by_arrival {
            entries.sort_by_key(|entry| entry.received);
        }
        let selection = Selection { dummies, every };
        same(&text(&entries), Asked { k, calibration, selection }, KEPT);
    }
}

#[test]
fn a_step_back_that_is_left_in_is_told_with_the_latencies_before_it() {
    // As chance found it.
    let latencies = [
        &[(0, 0), (0, 0), (0, 0)][..],
        &[
            (2_217, 0),
            (2_217, 1),
            (2_217, 0),
            (0, 0),
            (1_825, 0),
            (2_217, 1),
            (2_190, 0),
            (1_803, 1),
            (2_190, 0),
        ],
        &[(0, 1), (1_970, 1), (0, 0), (1_936, 1), (1_936, 0), (0, 0), (1_936, 1), (0, 0), (42, 2)],
        &[(0, 1), (0, 1), (0, 1), (0, 0)],
    ];
    let lines: Vec<(i64, i64, u64)> =
        latencies.concat().into_iter().map(|(latency, what)| (0, latency, what)).collect();
    let text = text(&stepping(&lines, (21, -3_926)));
    same(&text, Asked::plainly(3, 4), KEPT);
    let (_, outcome, ..) = in_passes(&text, Asked::plainly(3, 4), KEPT).unwrap();
    assert!(outcome.notes.iter().any(is_left_in), "{outcome:?}");
}

#[test]
fn a_stretch_between_two_steps_that_is_too_short_to_be_compensated_is_named() {
    let mut entries = drifting(20_000);
    for entry in &mut entries {
        // In blocks of a hundred packets, thirty tell nothing.
        if (6_000..6_030).contains(&entry.sequence) || entry.sequence >= 14_000 {
            entry.received += 900_000;
        }
    }
    // As the receiver wrote them: it does not sort by its clock.
    entries.sort_by_key(|entry| entry.sequence);
    let (log, outcome, ..) = in_passes(&text(&entries), Asked::plainly(3, 0), KEPT).unwrap();
    let high = |line: &str| {
        let fields: Vec<i64> = line.split(':').map(|field| field.parse().unwrap()).collect();
        (fields[2] > 800_000).then_some(fields[4])
    };
    let left: Vec<i64> = log.lines().filter_map(high).collect();
    let told = outcome.notes.iter().find_map(|note| match note {
        QtcpNote::StepNotCompensated { since, before, more: 0, .. } => Some([*since, *before]),
        _ => None,
    });
    assert!(left.len() >= 25, "{left:?}");
    let stretch = [left[0], left[left.len() - 1]].map(|number| u64::try_from(number).unwrap());
    assert_eq!(told, Some(stretch), "{outcome:?}");
    // Where it is long enough, nothing is left to tell.
    let mut entries = drifting(20_000);
    for entry in entries.iter_mut().filter(|entry| (6_000..10_000).contains(&entry.sequence)) {
        entry.received += 900_000;
    }
    entries.sort_by_key(|entry| entry.sequence);
    let (_, outcome, ..) = in_passes(&text(&entries), Asked::plainly(3, 0), KEPT).unwrap();
    assert!(!outcome.notes.iter().any(is_left_in), "{outcome:?}");
    assert!(outcome.notes.contains(&QtcpNote::JumpsCompensated { jumps: 2 }), "{outcome:?}");
}
