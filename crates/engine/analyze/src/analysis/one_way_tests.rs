//! Files of one direction: what tells a clock that was set from a queue that fills to seconds and empties.

use romer_record::document::Measurement;
use romer_record::finding::Pattern;
use romer_record::warning::Warning as _;
use romer_units::random::{RandomStream, Seed};

use super::file_tests::{MS, Packet, SECOND, folder, table};
use super::{Analysis, analyze};

/// One packet in so long.
const INTERVAL: i64 = 20 * MS;

/// Chances of a mean, from 0.
fn waits(seed: u32, mean: i64) -> impl FnMut() -> i64 {
    let random = RandomStream::new(Seed([seed, 8, 0, 0, 0, 0]), [0, 0]);
    let mut drawn = 0;
    move || {
        drawn += 1;
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "some milliseconds")]
        let wait = (-(1.0 - random.unit(drawn)).ln() * mean as f64) as i64;
        wait
    }
}

/// A minute of packets that wait, by a receiver whose clock runs 12 parts in a million faster and is set half way.
fn set(name: &str, seed: u32, size: i64) -> Measurement {
    set_at(name, seed, size, 30 * SECOND)
}

/// The same at another moment.
fn set_at(name: &str, seed: u32, size: i64, moment: i64) -> Measurement {
    let folder = folder(name);
    let file = folder.join("there.csv");
    let mut wait = waits(seed, MS / 3);
    let packets: Vec<Packet> =
        (0..3_000).map(|n| (n * INTERVAL, Some(n * INTERVAL + 10 * MS + wait()))).collect();
    let came = |at: i64| 500 * SECOND + at + at * 12 / 1_000_000 + if at < moment { 0 } else { size };
    table(&file, &packets, |at| 500 * SECOND + at, came);
    let m = analyze(&Analysis::new(&file, String::new())).unwrap().measurement;
    std::fs::remove_dir_all(&folder).unwrap();
    m
}

/// (A way that is shorter by so much was told, and 59 to 104 packets of 3,000 out of order; by 2 s up to 1,500 were lost.)
#[test]
fn a_receiver_that_is_set_back_loses_no_packet_and_sets_none_out_of_order_whatever_is_waited_for() {
    for seed in 0..3 {
        for size in [-1_100, -1_500, -1_990, -2_000, -2_001, -2_500].map(|size| size * MS) {
            let m = set("set-back", seed, size);
            let packets = &m.forward.packets;
            assert_eq!((packets.lost, packets.reordered), (Some(0), Some(0)), "{size}: {packets:?}");
            let [told] = &m.clock.events[..] else { panic!("{size}: {:?}", m.clock.events) };
            assert_eq!(told.kind, "clock-step", "{size}");
            assert!((told.size_ns.unwrap() - size).abs() < MS, "{size}: {told:?}");
            let [event] = &m.events[..] else { panic!("{size}: {:?}", m.events) };
            assert_eq!(event.detail, Some(romer_record::event::EventDetail::DelaysShift));
        }
    }
}

#[test]
fn a_receiver_that_is_set_ahead_by_as_much_as_is_waited_for_loses_no_packet() {
    for seed in 0..3 {
        for size in [1_200, 1_990, 2_000, 2_500].map(|size| size * MS) {
            let m = set("set-ahead", seed, size);
            assert_eq!(m.forward.packets.lost, Some(0), "{size}: {:?}", m.clock.events);
        }
    }
}

/// A receiver's clock that is set near an end of the run makes no packet late: no queue lets packets overtake those before them,
/// and none that fills at once stays full.
#[test]
fn step_near_an_end_loses_no_packet() {
    for (packet, size) in [(2_994, -3), (2_970, -3), (2_850, -10), (8, -3), (8, 3), (60, 3), (2_900, 3)] {
        let m = set_at("end-step", 1, size * SECOND, packet * INTERVAL + 5 * MS);
        assert_eq!(m.forward.packets.lost, Some(0), "{packet} {size}: {:?}", m.clock.events);
        assert_eq!(m.forward.packets.reordered, Some(0), "{packet} {size}");
        assert!(m.forward.delay_ns.max < Some(20e6), "{packet} {size}: {:?}", m.forward.delay_ns);
    }
}

/// A minute of packets through a link that carries one in so long, stands still for a while, and drops what would wait for too long.
fn queue(seed: u32, carries: i64, stands: [i64; 2], room: i64, pauses: &[(i64, i64)]) -> Vec<Packet> {
    let mut wait = waits(seed, MS / 30);
    let (mut left, mut free, mut last) = (0, 0, 0);
    let pass = |n: i64| {
        left += INTERVAL + pauses.iter().filter(|(at, _)| *at == n).map(|(_, longer)| longer).sum::<i64>();
        let start = left.max(free);
        let start = if start < stands[0] { start } else { start.max(stands[1]) };
        if start - left > room {
            return (left, None);
        }
        free = start + carries;
        last = (free + 10 * MS + wait()).max(last + 1);
        (left, Some(last))
    };
    (0..3_000).map(pass).collect()
}

/// (In 46 of 240 plays of such queues a clock was told, which now is in 8.)
#[test]
fn a_queue_that_fills_to_seconds_is_no_clock_that_was_set() {
    let still = [i64::MAX, i64::MAX];
    let stops = |from: i64, seconds: i64| [from * SECOND, (from + seconds) * SECOND];
    let plays = [
        // Full throughout, with a sender that pauses and goes on.
        (22 * MS, still, 3 * SECOND, &[(1_500, 8 * MS), (2_200, 50 * MS)][..]),
        // A link that stands still, and carries what was kept meanwhile in much or little time.
        (4 * MS, stops(20, 5), 10 * SECOND, &[]),
        (15 * MS, stops(20, 9), 10 * SECOND, &[]),
        (18 * MS, stops(20, 3), 10 * SECOND, &[]),
        (18 * MS, stops(20, 3), 2_500 * MS, &[(2_000, 3 * MS)]),
    ];
    let folder = folder("queues");
    let file = folder.join("there.csv");
    for seed in 0..3 {
        for (play, (carries, stands, room, pauses)) in plays.iter().enumerate() {
            let packets = queue(seed, *carries, *stands, *room, pauses);
            table(&file, &packets, |at| at, |at| at + at / 100_000 + SECOND);
            let m = analyze(&Analysis::new(&file, String::new())).unwrap().measurement;
            assert!(m.events.is_empty(), "{play}, seed {seed}: {:?}", m.events);
            let clocks = m.clock.events.iter().filter(|event| event.kind == "clock-step").count();
            assert_eq!(clocks, 0, "{play}, seed {seed}: {:?}", m.clock.events);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_may_be_the_receivers_clock_is_left_open_in_the_document_too() {
    for size in [-700 * MS, 5 * MS] {
        let m = set("open", 1, size);
        let [told] = &m.clock.events[..] else { panic!("{size}: {:?}", m.clock.events) };
        assert_eq!(
            (told.kind.as_str(), told.alternative_kind.as_deref()),
            ("path-change", Some("clock-step")),
            "{size}"
        );
        let error = m.clock.delay_error_ns.unwrap();
        #[expect(clippy::cast_precision_loss, reason = "of a second")]
        let least = 0.99 * size.abs() as f64;
        assert!(error >= least, "{size}: {error}");
    }
}

/// (Of 12 such files 3 had 28 to 49 packets out of order and no word of why; of these plays the note tells it in some.)
#[test]
fn of_packets_that_a_receiver_set_back_puts_out_of_order_beside_a_full_queue_it_is_said() {
    let folder = folder("sawtooth");
    let file = folder.join("there.csv");
    let mut by_note = 0;
    for seed in 0..24 {
        let mut wait = waits(seed, 2 * MS);
        let random = RandomStream::new(Seed([seed, 8, 1, 0, 0, 0]), [0, 0]);
        let mut drawn = 0;
        let mut between = |from: f64, to: f64| {
            drawn += 1;
            from + (to - from) * random.unit(drawn)
        };
        // A queue that an upload fills, which lets go of a third or so whenever it is full, milliseconds.
        let (mut queued, most, cycle) = (between(30.0, 100.0), between(60.0, 200.0), between(100.0, 600.0));
        let mut last = 0;
        let packets: Vec<Packet> = (0..3_000)
            .map(|n| {
                queued += most / 2.0 / cycle * between(0.2, 1.8);
                if queued > most {
                    queued *= between(0.55, 0.75);
                }
                #[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
                let stood = (queued * 1e6) as i64;
                last = (n * INTERVAL + 20 * MS + stood + wait()).max(last + 1_000);
                (n * INTERVAL, Some(last))
            })
            .collect();
        let (at, size) = (i64::from(seed) * SECOND + 15 * SECOND, -(500 + 20 * i64::from(seed)) * MS);
        table(&file, &packets, |at| at, |came| came + SECOND + if came < at { 0 } else { size });
        let m = analyze(&Analysis::new(&file, String::new())).unwrap().measurement;
        assert!(m.forward.packets.reordered > Some(20), "{seed}: {:?}", m.forward.packets);
        let noted = m.warnings.iter().any(|one| one.code() == "delay-drop-reorders");
        let step =
            |pattern: &Pattern| matches!(pattern, Pattern::DelayStep { size_ns, .. } if *size_ns < -0.4e9);
        let told = m.findings.iter().any(|finding| step(&finding.pattern))
            || m.clock.events.iter().any(|event| event.size_ns < Some(-400 * MS));
        assert!(noted != told, "{seed}: {noted}, {:?}, {:?}", m.findings, m.clock.events);
        by_note += usize::from(noted);
    }
    assert!(by_note > 0);
    std::fs::remove_dir_all(&folder).unwrap();
}
