use super::*;

fn known(tos: u8) -> StreamInfo {
    StreamInfo { name: "a".into(), tos, tag: UNTAGGED, overhead: 46, expect_drop: false }
}

/// A flight of one stream: departures every 2 ms, and arrivals as given, in order of arrival.
fn flight(arrivals: &[(u32, i64)]) -> TrialTrace {
    let left: Vec<SentFrame> =
        (0..6).map(|n| SentFrame { due: n * 2_000_000, sent: n * 2_000_000, octets: 64 }).collect();
    let came = arrivals.iter().map(|(sequence, received)| ReceivedFrame {
        received: received * 1_000_000,
        sent: i64::from(*sequence) * 2_000_000,
        sequence: *sequence,
        stream: 0,
        octets: 64,
        tos: 0,
        tag: UNTAGGED,
        intact: true,
        comparable: true,
    });
    TrialTrace {
        streams: vec![known(0)],
        intended: vec![6],
        intended_octets: [6 * 84, 6 * 18],
        came: came.collect(),
        left: vec![left],
        length: Duration::from_millis(12),
        line: LineRate::new(100_000_000),
        real_line: None,
        ..TrialTrace::default()
    }
}

#[test]
fn every_frame_is_accounted_for() {
    // 0 comes, 1 comes twice, 2 is overtaken, 3 comes, 4 is lost, 5 is lost.
    let found = figures(&flight(&[(0, 1), (1, 3), (1, 4), (3, 7), (2, 8)]));
    let outcome = &found.outcome;
    assert_eq!((outcome.intended, outcome.offered, outcome.forwarded, outcome.lost), (6, 6, 4, 2));
    assert_eq!((found.duplicated, found.reordered, found.altered), (1, 1, 0));
    assert_eq!(outcome.first_loss_at, Some(Duration::from_millis(8)));
    assert_eq!(outcome.last_loss_at, Some(Duration::from_millis(10)));
    assert_eq!(found.latency.count, 4);
    assert_eq!((&found.per_second, &found.offered_per_second), (&vec![5], &vec![6]));
    assert_eq!(found.streams[0].forwarded_per_second, [5]);
    assert_eq!(found.streams[0].latency_histogram.counts.iter().sum::<u64>(), 4);
    assert_eq!(found.streams[0].frame_octets, Some(64.0));
    assert!((found.offered.pps - 500.0).abs() < 1e-6 && (found.forwarded.pps - 4.0 / 0.012).abs() < 1e-6);
    assert!((found.offered.percent - 6.0 * 84.0 * 8.0 / 0.012 / 1e6).abs() < 1e-9);
    assert!((found.forwarded.payload_percent - 4.0 * 18.0 * 8.0 / 0.012 / 1e6).abs() < 1e-9);
}

#[test]
fn what_an_overloaded_device_still_holds_is_carried_but_not_in_the_trials_time() {
    // Each takes 1 ms at the least; of six, one is lost and two come when nothing is sent any more.
    let found = figures(&flight(&[(0, 1), (1, 5), (2, 9), (3, 13), (4, 17)]));
    assert_eq!((found.forwarded.frames, found.outcome.lost), (5, 1));
    assert!((found.forwarded.pps - 4.0 / 0.012).abs() < 1e-6, "{:?}", found.forwarded);
    assert!((found.streams[0].forwarded_l2_bps - 4.0 * 64.0 * 8.0 / 0.012).abs() < 1e-6);
    // Nor is it where it holds all that is too much, and loses nothing.
    let found = figures(&flight(&[(0, 1), (1, 9), (2, 17), (3, 25), (4, 33), (5, 41)]));
    assert_eq!((found.forwarded.frames, found.outcome.lost), (6, 0));
    assert!((found.forwarded.pps - 2.0 / 0.012).abs() < 1e-6, "{:?}", found.forwarded);
}

#[test]
fn where_latencies_only_vary_all_that_came_was_carried() {
    // 1 to 8 ms: two come when nothing is sent any more, and as many were under way before.
    let mut varies = flight(&[(0, 1), (3, 7), (1, 10), (2, 12), (5, 14), (4, 16)]);
    let found = figures(&varies);
    assert!((found.forwarded.pps - 500.0).abs() < 1e-6, "{:?}", found.forwarded);
    varies.in_time_only = true;
    assert!((figures(&varies).forwarded.pps - 4.0 / 0.012).abs() < 1e-6);
    // Where some are lost, those that come late may have waited before a full queue.
    let found = figures(&flight(&[(0, 1), (1, 10), (2, 12), (5, 14), (4, 16)]));
    assert!((found.forwarded.pps - 3.0 / 0.012).abs() < 1e-6, "{:?}", found.forwarded);
    // What the tester gave late comes late: 4 and 5 were due at 8 and 10 ms, and left when no more was due.
    let mut late = flight(&[(0, 1), (1, 3), (2, 5), (3, 7), (4, 15), (5, 16)]);
    for sequence in [4, 5] {
        late.left[0][sequence].sent = 14_000_000;
        late.came[sequence].sent = 14_000_000;
    }
    assert!((figures(&late).forwarded.pps - 500.0).abs() < 1e-6);
    // Each stream by itself: the second waits, and the first does not.
    let mut both = flight(&[(0, 1), (1, 3), (2, 5), (3, 7), (4, 9), (5, 11)]);
    both.streams.push(known(0));
    both.left.push(both.left[0].clone());
    both.intended.push(6);
    for (sequence, received) in [(0, 2), (1, 9), (2, 16), (3, 23), (4, 30), (5, 37)] {
        let first = both.came[0];
        let sent = i64::from(sequence) * 2_000_000;
        both.came.push(ReceivedFrame { stream: 1, sequence, sent, received: received * 1_000_000, ..first });
    }
    let of = |place: usize| figures(&both).streams[place].forwarded_l2_bps * 0.012 / 8.0 / 64.0;
    assert!((of(0) - 6.0).abs() < 1e-6 && (of(1) - 2.0).abs() < 1e-6, "{} {}", of(0), of(1));
}

#[test]
fn a_silence_is_between_two_frames_that_came() {
    assert_eq!(figures(&flight(&[(0, 1), (1, 3), (2, 5)])).silence, None);
    let found = figures(&flight(&[(0, 1), (2, 5), (5, 11)])).silence;
    let silence = Silence {
        from: Duration::from_millis(6),
        length: Duration::from_millis(4),
        frames: 2,
        still: Duration::from_millis(2),
    };
    assert_eq!(found, Some(silence));
}

#[test]
fn frames_that_were_not_sent_are_not_lost() {
    let mut short = flight(&[(0, 1), (1, 3)]);
    short.left[0].truncate(2);
    let found = figures(&short);
    assert_eq!((found.outcome.intended, found.outcome.offered, found.outcome.lost), (6, 2, 0));
    // 1 - 0.05^(1/2).
    assert!((found.loss_ratio_bound.unwrap() - 0.776_393).abs() < 1e-5);
    assert_eq!(loss_bound(0, 0), None);
    let bound = loss_bound(0, 1_000_000).unwrap();
    assert!((bound * 1e6 - 2.995_7).abs() < 1e-3, "three over N: {bound}");
}

#[test]
fn markings_and_altered_frames_are_seen() {
    let mut marked = flight(&[(0, 1), (1, 3), (2, 5)]);
    marked.streams[0].tos = 46 << 2;
    marked.came[0].tos = 46 << 2;
    marked.came[1].tos = 8 << 2;
    marked.came[2].octets = 60;
    marked.came[2].tag = 5 << 13 | 30;
    let found = figures(&marked);
    assert!(found.ecns.is_empty(), "nobody asked for it: {:?}", found.ecns);
    let ef = &found.markings["ef"];
    assert_eq!((ef["ef"], ef["cs1"], ef["cs0"]), (1, 1, 1));
    assert_eq!(found.altered, 1);
    assert_eq!(found.priorities["untagged"]["5"], 1);
    assert_eq!(found.vlans["untagged"]["30"], 1);
    marked.streams[0].tos |= 2;
    marked.came[0].tos |= 2;
    marked.came[1].tos |= 3;
    marked.streams[0].tag = 1 << 13 | 20;
    let found = figures(&marked);
    let ect0 = &found.ecns["ect0"];
    assert_eq!((ect0["ect0"], ect0["ce"], ect0["not-ect"]), (1, 1, 1));
    let vlan = &found.vlans["20"];
    assert_eq!((vlan["untagged"], vlan["30"]), (2, 1));
}

#[test]
fn the_jitters_are_those_of_the_seeds_cases() {
    // Arrivals of the cases of Chadda 2004, table 2.1; what its columns and the definitions make of them: means of
    // method 1, 2, 3, 4, and RFC 3550.
    let cases: [(&str, [i64; 6], [f64; 4], f64); 5] = [
        ("constant", [2, 4, 6, 8, 10, 12], [0.0, 0.0, 0.0, 0.0], 0.0),
        ("saw tooth", [1, 5, 5, 9, 9, 13], [2.0, 4.0, 2.0, 1.0], 0.5516),
        ("spike", [1, 3, 11, 7, 9, 11], [6.0, 3.0, 2.4, 1.666_667], 0.7266),
        ("step", [1, 3, 5, 9, 11, 13], [2.0, 1.0, 0.4, 1.0], 0.1099),
        ("steps", [1, 4, 7, 9, 10, 11], [2.0, 0.5, 0.8, 0.666_667], 0.2209),
    ];
    for (name, arrivals, means, rfc3550) in cases {
        let mut came: Vec<(u32, i64)> = (0..6).zip(arrivals).collect();
        came.sort_by_key(|(sequence, at)| (*at, *sequence));
        let found = figures(&flight(&came)).jitter;
        let of = |summary: &Summary| summary.mean.unwrap() / 1e6;
        let all = [
            of(&found.peak_to_peak),
            of(&found.inter_arrival_difference),
            of(&found.delay_difference),
            of(&found.deviation_from_mean),
        ];
        for (found, expected) in all.into_iter().zip(means) {
            assert!((found - expected).abs() < 1e-5, "{name}: {all:?}");
        }
        assert!((found.rfc3550.unwrap() / 1e6 - rfc3550).abs() < 5e-5, "{name}");
    }
}

#[test]
fn rfc_4689s_jitter_is_of_frames_that_came_one_after_the_other() {
    // Sent 2 ms apart; 1 is lost, 3 comes before 2. Delays in order of arrival: 1 (0), 2 (3), 5 (2), 3 (4), 4 (5) ms.
    let found = figures(&flight(&[(0, 1), (3, 8), (2, 9), (4, 11), (5, 14)]));
    let rfc4689 = &found.jitter_rfc4689;
    // |2 - 1|, |5 - 2|, |3 - 5|, |4 - 3|: as many as frames came, but one.
    assert_eq!((rfc4689.count, rfc4689.mean, rfc4689.max), (4, Some(1.75e6), Some(3e6)));
    // Method 3 has no pair with the lost frame, and the others in order of sending: |2 - 5|, |3 - 2|, |4 - 3|.
    assert_eq!((found.jitter.delay_difference.count, found.jitter.delay_difference.max), (3, Some(3e6)));
    assert_eq!(found.streams[0].jitter_rfc4689_ns, *rfc4689);
}

#[test]
fn the_variations_of_latency_are_those_of_rfc_3393_and_rfc_5481() {
    // Sent 2 ms apart; 1 is lost. Delays: 1, -, 5, 2, 3, 4 ms.
    let found = figures(&flight(&[(0, 1), (3, 8), (2, 9), (4, 11), (5, 14)]));
    let [ipdv, pdv] = &found.variation;
    // Of consecutive frames that both came, with their signs: 2 - 5, 3 - 2, 4 - 3.
    assert_eq!(
        (ipdv.count, ipdv.min, ipdv.max, ipdv.mean),
        (3, Some(-3e6), Some(1e6), Some(-333_333.333_333_333_26))
    );
    // Above the least: 0, 4, 1, 2, 3.
    assert_eq!((pdv.count, pdv.min, pdv.max, pdv.mean), (5, Some(0.0), Some(4e6), Some(2e6)));
    assert_eq!((&found.streams[0].ipdv_ns, &found.streams[0].pdv_ns), (ipdv, pdv));
}

#[test]
fn a_time_in_which_nothing_came_out_has_the_frames_that_left_in_it() {
    // Sent at 0, 2, 4, 6, 8, 10 ms; those of 2, 4 and 6 come with that of 8, which none of them is lost by.
    let found = figures(&flight(&[(0, 1), (1, 9), (2, 9), (3, 9), (4, 9), (5, 11)]));
    let held = found.standstill.unwrap();
    assert_eq!((held.from, held.length), (Duration::from_millis(1), Duration::from_millis(8)));
    assert_eq!((held.frames, found.silence), (4, None));
    // Between 9 and 11 ms nothing came out either, but for one frame there was nothing that could.
    assert_eq!(figures(&flight(&[(0, 1)])).standstill, None);
}

#[test]
fn what_overtakes_another_flow_is_in_order() {
    let mut seen = flight(&[(0, 1), (3, 8), (2, 9), (1, 10), (4, 11)]);
    assert_eq!(figures(&seen).reordered, 2);
    // 0, 2 and 4 of one flow, 1, 3 and 5 of another: of those only 1 comes after 3.
    seen.flows = vec![vec![7, 9, 7, 9, 7, 9]];
    let found = figures(&seen);
    assert_eq!((found.reordered, found.streams[0].reordered), (1, 1));
    // Each of its own: nothing has an order to keep.
    seen.flows = vec![(0..6).collect()];
    assert_eq!(figures(&seen).reordered, 0);
    // Whatever the flows, the stream's delays are compared in the order in which its frames came as well.
    assert!(figures(&seen).jitter.inter_arrival_difference_in_order_of_arrival.is_some());
}

#[test]
fn a_changed_payload_is_counted_with_its_stream() {
    let mut damaged = flight(&[(0, 1), (1, 3), (2, 5)]);
    damaged.came[1].intact = false;
    let found = figures(&damaged);
    assert_eq!((found.corrupted, found.streams[0].corrupted, found.altered), (1, 1, 0));
    assert_eq!(found.outcome.forwarded, 3, "it came all the same");
}

#[test]
fn a_real_lines_latencies_convert_between_the_definitions() {
    // RFC 1242: 64 octets take 5.12 us at 100 Mbit/s.
    let mut real = flight(&[(0, 1), (1, 3)]);
    real.real_line = LineRate::new(100_000_000);
    let found = figures(&real);
    assert_eq!(found.conversion, LatencyConversion { fifo: -5_120, lifo: -10_240, lilo: -5_120 });
    let by_definition = found.latency_by_definition.unwrap();
    assert_eq!(by_definition.fifo.mean, Some(1e6 - 5_120.0));
    assert_eq!(by_definition.lifo.max, Some(1e6 - 10_240.0));
    assert_eq!(by_definition.fifo, by_definition.lilo);
    let virtual_line = figures(&flight(&[(0, 1), (1, 3)]));
    assert_eq!(virtual_line.conversion, LatencyConversion::default());
    assert_eq!(virtual_line.latency_by_definition, None);
}

#[test]
fn latencies_of_a_mixture_convert_each_by_its_own_size() {
    // A store-and-forward device: each frame is in it for 100 us after its last bit, whatever its size, and then
    // takes its time on the line once more.
    let line = LineRate::new(100_000_000).unwrap();
    let sizes = [64, 1_518, 570, 64, 1_518, 64];
    let mut mixed = flight(&[]);
    mixed.real_line = Some(line);
    for (n, octets) in (0_u32..).zip(sizes) {
        let left = &mut mixed.left[0][usize::try_from(n).unwrap()];
        left.octets = octets;
        let time = i64::from(octets) * 80;
        mixed.came.push(ReceivedFrame {
            received: left.sent + 2 * time + 100_000,
            sent: left.sent,
            sequence: n,
            stream: 0,
            octets: u16::try_from(octets).unwrap(),
            tos: 0,
            tag: UNTAGGED,
            intact: true,
            comparable: true,
        });
    }
    let found = figures(&mixed);
    let by_definition = found.latency_by_definition.unwrap();
    assert_eq!((by_definition.lifo.min, by_definition.lifo.max), (Some(100_000.0), Some(100_000.0)));
    assert_eq!(by_definition.lilo.max, Some(100_000.0 + 1_518.0 * 80.0));
    assert!(found.latency.max.unwrap() > 300_000.0, "what was measured varies with the size");
    // Of the mean, the mean of the sizes.
    let mean = f64::from(sizes.iter().sum::<u32>()) * 80.0 / 6.0;
    assert!((found.conversion.lifo as f64 + 2.0 * mean).abs() < 2.0, "{:?}", found.conversion);
}

#[test]
fn when_a_frame_was_at_the_policer_is_known_from_those_around_it() {
    // 1 is stopped; before it a frame takes 1 ms, after it one takes 3.
    let sent = flight(&[(0, 1), (2, 7), (3, 7), (4, 9), (5, 11)]);
    let frames: Vec<Policed> = policed(&sent, &[]).into_iter().map(|(_, frame)| frame).collect();
    let blurs: Vec<i64> = frames.iter().map(|frame| frame.blur / 1_000_000).collect();
    assert_eq!(blurs, [0, 2, 2, 0, 0, 0]);
    let passed: Vec<bool> = frames.iter().map(|frame| frame.passed).collect();
    assert_eq!(passed, [true, false, true, true, true, true]);
    // Where what conforms is to come out otherwise, none of these did.
    assert!(policed(&sent, &[Dscp::EF]).iter().all(|(_, frame)| !frame.passed));
    // 64 octets with header and check sequence are an IP packet of 46, and 42 with a tag.
    assert_eq!(frames[0].octets, 46);
    let mut tagged = flight(&[]);
    tagged.streams[0].tag = 5 << 13;
    assert_eq!(policed(&tagged, &[])[0].1.octets, 42);
}
