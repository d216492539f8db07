//! Claims about sums of minutes.

use proptest::prelude::*;

use super::*;

fn name(text: &str) -> Token {
    Token::new(text).unwrap()
}

fn key(target: &str) -> SumKey {
    SumKey {
        agent: name("a"),
        target: name(target),
        target_site: name("s"),
        traffic: name("t"),
        direction: RowDirection::RoundTrip,
    }
}

/// A round trip that was sent at `sent`, with delays of 100 forward and 200 in reverse, 10 in the responder, and a clock offset of 1,000.
fn row(sequence: u64, sent: i64, fate: RowFate) -> Row {
    let has = |wanted: bool, time: i64| wanted.then_some(time);
    let arrived = fate == RowFate::Arrived;
    let was_there = arrived || fate == RowFate::LostReverse;
    Row {
        stream: 0,
        direction: RowDirection::RoundTrip,
        sequence,
        copy: 0,
        size: 56,
        t1_ns: Some(sent),
        t2_ns: has(was_there, sent + 1_100),
        t3_ns: has(was_there, sent + 1_110),
        t4_ns: has(arrived, sent + 310),
        forward_ttl: was_there.then_some(60),
        reverse_ttl: arrived.then_some(61),
        forward_tos: None,
        reverse_tos: None,
        fate,
    }
}

/// Each outcome has its counter, and the counters of sent packets add up.
#[test]
fn outcomes_are_counted() {
    let rows: Vec<Row> = (0..)
        .zip(RowFate::ALL)
        .map(|(n, fate)| row(n, 1_000_000 * i64::try_from(n).unwrap(), fate))
        .collect();
    let mut sum = PairSum::new(key("b"), Minute(5));
    sum.add_rows(&rows, Some(1_000));
    assert_eq!((sum.sent, sum.received, sum.late, sum.duplicates, sum.unobserved), (5, 1, 1, 1, 3));
    assert_eq!((sum.lost_forward, sum.lost_reverse, sum.lost_unknown), (1, 1, 1));
    assert_eq!(sum.sent, sum.received + sum.lost());
    // The forward delay is also known of the packet that was lost in reverse.
    let counts = [&sum.round_trip, &sum.forward, &sum.reverse].map(|delays| delays.sketch.count());
    assert_eq!(counts, [1, 2, 1]);
    let least = [&sum.round_trip, &sum.forward, &sum.reverse].map(|delays| delays.min_ns);
    assert_eq!(least, [Some(300), Some(100), Some(200)]);
    assert_eq!(
        (sum.forward_ttl.clone(), sum.reverse_ttl.clone()),
        (BTreeSet::from([60]), BTreeSet::from([61]))
    );
}

/// Without an offset there are no one-way delays, and rows of other directions are left out.
#[test]
fn one_way_delays_need_an_offset() {
    let mut sum = PairSum::new(key("b"), Minute(5));
    let other = Row { direction: RowDirection::Forward, ..row(1, 0, RowFate::Arrived) };
    sum.add_rows(&[row(0, 0, RowFate::Arrived), other], None);
    assert_eq!((sum.sent, sum.round_trip.max_ns), (1, Some(300)));
    assert_eq!((sum.forward.clone(), sum.reverse.clone()), (DelaySum::default(), DelaySum::default()));
}

/// A packet that arrives at the responder after its successor is reordered there; its reply, which keeps that order, is not.
#[test]
fn reordering_has_a_direction() {
    let mut first = row(0, 0, RowFate::Arrived);
    [first.t2_ns, first.t3_ns, first.t4_ns] = [Some(9_000), Some(9_010), Some(9_200)];
    let rows = [first, row(1, 500, RowFate::Arrived), row(2, 9_500, RowFate::Arrived)];
    let mut sum = PairSum::new(key("b"), Minute(5));
    sum.add_rows(&rows, None);
    assert_eq!((sum.reordered_forward, sum.reordered_reverse), (1, 0));
    let mut rows = rows;
    // Its reply arrives after that of the next but one.
    rows[1].t4_ns = Some(20_000);
    let mut sum = PairSum::new(key("b"), Minute(5));
    sum.add_rows(&rows, None);
    assert_eq!((sum.reordered_forward, sum.reordered_reverse), (1, 1));
}

/// Sums of different pairs are not merged, and the error names both.
#[test]
fn other_pairs_are_refused() {
    let mut one = PairSum::new(key("b"), Minute(5));
    let error = one.merge(&PairSum::new(key("c"), Minute(5))).unwrap_err();
    assert_eq!(error.to_string(), "sums of different pairs cannot be merged: a to b and a to c");
    assert_eq!(one, PairSum::new(key("b"), Minute(5)));
}

/// A path has one hash, which depends on the order of its hops and on silent ones, and which JSON keeps whole.
#[test]
fn paths_have_hashes() {
    let address = |last: u8| Some(IpAddr::from([192, 0, 2, last]));
    let hash = PathHash::of_hops(&[address(1), None, address(2)]);
    assert_eq!(hash, PathHash::of_hops(&[address(1), None, address(2)]));
    assert_ne!(hash, PathHash::of_hops(&[address(2), None, address(1)]));
    assert_ne!(hash, PathHash::of_hops(&[address(1), address(2)]));
    let text = serde_json::to_string(&PathHash(u64::MAX)).unwrap();
    assert_eq!(text, "\"ffffffffffffffff\"");
    assert_eq!(serde_json::from_str::<PathHash>(&text).unwrap(), PathHash(u64::MAX));
    for text in ["", "1", "+fffffffffffffff", "fffffffffffffffff"] {
        assert!(text.parse::<PathHash>().is_err(), "{text}");
    }
}

prop_compose! {
    fn sums()(
        minute in 0_i64..100,
        delays in prop::collection::vec(-1_000_000_000_i64..10_000_000_000, 0..30),
        counts in prop::array::uniform4(0_u64..1_000),
        offset in prop::option::of((-1_000_i64..0, 0_i64..1_000)),
        paths in prop::collection::vec(0_u64..40, 0..30),
        ttl in prop::collection::btree_set(0_u8..255, 0..5),
    ) -> PairSum {
        let mut sum = PairSum::new(key("b"), Minute(minute));
        delays.iter().for_each(|delay| sum.round_trip.add(*delay));
        delays.iter().for_each(|delay| sum.forward.add(delay / 2));
        [sum.sent, sum.late, sum.duplicates, sum.reordered_forward] = counts;
        sum.offset = offset.map(|(low_ns, high_ns)| OffsetBound { low_ns, high_ns });
        paths.iter().for_each(|path| sum.paths.insert(PathHash(*path)));
        sum.stamps.insert(StampSource { initiator: Some(TimestampPoint::Kernel), responder: None });
        sum.forward_ttl = ttl;
        sum
    }
}

fn merged(one: &PairSum, other: &PairSum) -> PairSum {
    let mut sum = one.clone();
    sum.merge(other).unwrap();
    sum
}

proptest! {
    /// Sums can be merged in any order and grouping, with the same result.
    #[test]
    fn merging_is_associative_and_commutative(a in sums(), b in sums(), c in sums()) {
        prop_assert_eq!(merged(&a, &b), merged(&b, &a));
        prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
    }

    /// A sum is the same after JSON.
    #[test]
    fn json_keeps_sums(sum in sums()) {
        let text = serde_json::to_string(&sum).unwrap();
        prop_assert_eq!(serde_json::from_str::<PairSum>(&text).unwrap(), sum);
    }

    /// The sum of two halves of a minute is the sum of the minute, except for reordering between the halves.
    #[test]
    fn parts_add_up(delays in prop::collection::vec(1_i64..1_000_000_000, 1..60), cut in 0_usize..60) {
        let rows: Vec<Row> = (0..)
            .zip(&delays)
            .map(|(number, delay)| {
                let sent = i64::try_from(number).unwrap() * 2_000_000_000;
                Row { t4_ns: Some(sent + 10 + delay), ..row(number, sent, RowFate::Arrived) }
            })
            .collect();
        let sum = |rows: &[Row]| {
            let mut sum = PairSum::new(key("b"), Minute(0));
            sum.add_rows(rows, Some(1_000));
            sum
        };
        let (first, second) = rows.split_at(cut.min(rows.len()));
        prop_assert_eq!(merged(&sum(first), &sum(second)), sum(&rows));
    }
}
