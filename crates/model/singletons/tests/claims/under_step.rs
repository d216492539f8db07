//! Round trips that are under way when a clock is set.

use romer_record::log::{Entry, ResponderRecord};
use romer_record::manifest::{ClockRelation, SkewRequest, StampRequest};
use romer_record::{Fate, RoundTrip, assemble};
use romer_singletons::{ResponderLog, Selection, StreamSingletons, correct_clocks, relate};
use romer_units::Duration;
use romer_units::random::{RandomStream, Seed};

const WAITING: Duration = Duration::from_secs(2);

/// Forty seconds of round trips, one each 50 ms, 30 ms a way at the least and at the responder for 10 ms; in the midst, while one
/// is on its way back, a clock is set by `sender` or `responder` seconds.
fn rows(seed: u32, sender: f64, responder: f64) -> Vec<RoundTrip> {
    let chances = RandomStream::new(Seed([seed, 0x756e_6465, 0, 0, 0, 0]), [0, 0]);
    let mut draws = 1..;
    let mut waits = || -5e-4 * (1.0 - draws.next().map_or(0.0, |draw| chances.unit(draw))).ln();
    #[expect(clippy::cast_possible_truncation, reason = "a minute")]
    let by = |time: f64, step: f64, from: f64| {
        let set = if time < from { 0.0 } else { step };
        ((1_000.0 + time + set) * 1e9).round() as i64
    };
    let entries: Vec<Entry> = (0_u64..800)
        .flat_map(|sequence| {
            let left = 0.05 * sequence as f64;
            let came = left + 0.03 + waits();
            let answered = came + 0.01;
            let home = answered + 0.03 + waits();
            let [t1, t4] = [left, home].map(|time| by(time, sender, 20.055));
            // While probe 400 lies there.
            let [t2, t3] = [came, answered].map(|time| by(time * (1.0 + 1e-5), responder, 20.035));
            [
                Entry::Sent { sequence, size: 44, wake_error_ns: 0, user_ns: t1 },
                Entry::Far(ResponderRecord {
                    sequence,
                    t2_user_ns: t2,
                    t2_kernel_ns: None,
                    t3_user_ns: Some(t3),
                    t3_kernel_ns: None,
                    ttl: None,
                    tos: None,
                }),
                Entry::Returned {
                    sequence,
                    user_ns: t4,
                    kernel_ns: None,
                    told_t2_ns: Some(t2),
                    told_t3_ns: Some(t3),
                    ttl: None,
                    tos: None,
                    told_ttl: None,
                    reply_number: None,
                },
            ]
        })
        .collect();
    assemble(&entries)
}

fn judged(rows: &[RoundTrip]) -> (StreamSingletons, usize) {
    let selection = Selection::choose(rows, StampRequest::Best, true);
    let related = relate(rows, &selection, ClockRelation::Unknown, WAITING, ResponderLog::Complete);
    correct_clocks(related, &SkewRequest::default()).related.without_steps_under_way(WAITING)
}

#[test]
fn a_step_is_in_no_round_trip_that_was_under_way() {
    for seed in 0..8 {
        // (The least was 15 ms, and the greatest 160 ms or 2.06 s, which is late.)
        for (sender, responder) in
            [(-0.045, 0.0), (0.1, 0.0), (2.0, 0.0), (0.0, 0.2), (0.0, -0.045), (0.015, 0.0), (-0.015, 0.0)]
        {
            let (related, mended) = judged(&rows(seed, sender, responder));
            let steps = related.clock.events.iter().filter(|event| event.kind == "clock-step").count();
            assert_eq!(steps, 1, "{seed} {sender} {responder}: {:?}", related.clock.events);
            let delays = related.round_trip.iter().map(|one| one.delay.unwrap().as_nanos());
            let [least, most] = [delays.clone().min().unwrap(), delays.max().unwrap()];
            let told = format!("{seed} {sender} {responder}: {least} to {most}, {mended} mended");
            // Sixteen hundred waits of 0.5 ms in the mean: one is of 12 ms once in ten million.
            assert!((60_000_000..80_000_000).contains(&least) && most < 80_000_000, "{told}");
            assert!((1..=2).contains(&mended), "{told}");
            assert!(related.round_trip.iter().all(|one| one.fate == Fate::Arrived), "{told}");
        }
    }
}

#[test]
fn where_no_round_trip_was_under_way_none_is_changed() {
    for seed in 0..4 {
        let all = rows(seed, 0.0, 0.0);
        let (related, mended) = judged(&all);
        assert_eq!((mended, related.clock.events.len()), (0, 0), "{seed}");
        // The responder is set between two probes, when nothing lies there.
        let moved = |row: &RoundTrip| {
            let mut row = *row;
            if row.sequence >= 400 {
                row.t2.user = row.t2.user.map(|at| at + Duration::from_millis(50));
                row.t3.user = row.t3.user.map(|at| at + Duration::from_millis(50));
            }
            row
        };
        let moved: Vec<RoundTrip> = all.iter().map(moved).collect();
        let (related, mended) = judged(&moved);
        assert_eq!((mended, related.clock.events.len()), (0, 1), "{seed}: {:?}", related.clock.events);
    }
}
