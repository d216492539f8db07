//! What scenarios do to packets, where that hangs on what their text leaves out or covers.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use romer_impair::{Cause, Engine, Headers, Limits, Outcome, Packet, PortId};
use romer_scenario::parse;

/// What becomes of packets of so many octets with these headers that arrive at port a at these moments.
fn run(scenario: &str, arrivals: impl Iterator<Item = (i64, u32, Headers)>) -> Vec<Outcome> {
    let text = format!("seed=[1,2,3,4,5,6]\n{scenario}");
    let config = parse(&text, "s.toml", &mut |_| Err("no file".into())).unwrap().config;
    let mut engine = Engine::new(config, Limits::growing(), 0);
    let mut outcomes = Vec::new();
    for (slot, (arrival, length, headers)) in (0..).zip(arrivals) {
        outcomes.extend(std::iter::from_fn(|| engine.poll(arrival - 1)));
        engine.admit(&Packet { headers, ..Packet::new(slot, PortId::A, length, arrival) });
    }
    outcomes.extend(std::iter::from_fn(|| engine.poll(i64::MAX)));
    outcomes.sort_by_key(|outcome| outcome.slot);
    outcomes
}

#[test]
fn flows_are_told_apart_by_ranges_of_addresses_of_both_kinds_at_both_ends() {
    let scenario = r#"
a_to_b.delay.fixed = "1ms"
[[flow]]
match = { source = "198.18.0.0/16", destination = "203.0.113.128/25" }
a_to_b.delay.fixed = "2ms"
[[flow]]
match = { source = "198.18.0.0/16" }
a_to_b.delay.fixed = "3ms"
[[flow]]
match = { destination = "2001:db8:7::/48", protocol = "udp" }
a_to_b.delay.fixed = "4ms"
[[flow]]
match = { source = "::/0" }
a_to_b.delay.fixed = "5ms"
[[flow]]
match = { destination = "192.0.2.1" }
a_to_b.delay.fixed = "6ms"
"#;
    let packets = [
        ("198.18.255.1", "203.0.113.200", 17, 2),
        ("198.18.255.1", "203.0.113.100", 17, 3),
        ("198.19.0.1", "203.0.113.200", 17, 1),
        ("198.17.255.255", "192.0.2.1", 17, 6),
        ("198.17.255.255", "192.0.2.2", 17, 1),
        ("2001:db8::1", "2001:db8:7:ffff::1", 17, 4),
        ("2001:db8::1", "2001:db8:7:ffff::1", 6, 5),
        ("2001:db8::1", "2001:db8:8::1", 17, 5),
    ];
    let arrivals = (0..).zip(&packets).map(|(number, (source, destination, protocol, _))| {
        let headers = Headers {
            source: source.parse().ok(),
            destination: destination.parse().ok(),
            protocol: Some(*protocol),
            ..Headers::default()
        };
        (number * 100_000_000, 64, headers)
    });
    // What is no IP packet has no address, and belongs to no range, were it of all addresses.
    let arrivals =
        arrivals.chain([(900_000_000, 64, Headers { ethertype: Some(0x0806), ..Headers::default() })]);
    let found: Vec<i64> =
        run(scenario, arrivals).iter().map(|outcome| outcome.requested / 1_000_000).collect();
    let expected = packets.iter().map(|packet| packet.3).chain([1]).collect::<Vec<i64>>();
    assert_eq!(found, expected);
}

/// Frames of 1,000 octets so far apart, at port a.
fn frames(gap: i64, count: i64) -> impl Iterator<Item = (i64, u32, Headers)> {
    (0..count).map(move |number| (number * gap, 1_000, Headers::default()))
}

/// 10 Mbit/s with 64 KiB before it: 800 us a frame of 1,000 octets, 65 of which fit.
fn before_10mbit(discipline: &str, frames: impl Iterator<Item = (i64, u32, Headers)>) -> Vec<Outcome> {
    let queue = format!("queue = {{ bytes = \"64KiB\", discipline = \"{discipline}\" }}");
    run(&format!("[a_to_b.rate]\nlimit = \"10Mbit\"\nlayer = \"l2\"\n{queue}\n"), frames)
}

#[test]
fn red_as_it_is_by_default_holds_a_shorter_queue_than_tail_drop_and_spares_bursts() {
    const COUNT: i64 = 40_000;
    // One and a half times the rate.
    let under_load = |discipline: &str| {
        let settled = before_10mbit(discipline, frames(533_333, COUNT)).split_off(10_000);
        let lost = settled.iter().filter(|outcome| outcome.lost == Some(Cause::Queue)).count();
        let left = settled.iter().filter(|outcome| outcome.lost.is_none());
        let waits: Vec<i64> = left.map(|outcome| outcome.time - outcome.arrival).collect();
        let mean = waits.iter().sum::<i64>() / i64::try_from(waits.len()).unwrap();
        (lost, mean, waits.into_iter().max().unwrap())
    };
    let (dropped, mean, most) = under_load("tail-drop");
    // It stays full: 65 frames of 800 us.
    assert!((51_000_000..=52_000_000).contains(&mean) && most <= 52_000_000, "{mean} {most}");
    let (early, held, longest) = under_load("red");
    assert!(held < mean / 2, "{held} with red, {mean} with tail drop");
    assert!(longest < 48_000_000, "the queue is never full: {longest}");
    // Either loses what the rate does not carry: a third of 30,000, but for what the queue's length swings by.
    for lost in [dropped, early] {
        assert!(lost.abs_diff(10_000) < 70, "{dropped} with tail drop, {early} with red");
    }
    // Sixty frames at once, twice a second, fit and are let through; so is a load just below the rate.
    let burst = (0..100_i64).flat_map(|n| (0..60).map(move |_| (n * 500_000_000, 1_000, Headers::default())));
    let below = before_10mbit("red", frames(820_000, COUNT));
    for outcomes in [before_10mbit("red", burst), below] {
        assert!(outcomes.iter().all(|outcome| outcome.lost.is_none()));
    }
}

#[test]
fn what_finds_the_queue_of_red_full_moves_its_average_too() {
    // 1 ms for each frame of 1,000 octets, ten of which fit.
    let scenario = r#"
[a_to_b.rate]
limit = "8Mbit"
layer = "l2"
queue = { bytes = "10000B", discipline = "red", low = "3000B", high = "4500B", probability = 0.1, weight = 0.05 }
"#;
    // Of a hundred at once ten find room, by which the average has come to some 2,000. The others bring it beyond twice `high`,
    // above which all is lost, also what comes when there is room again.
    let after_a_burst = |burst: usize| {
        let arrivals = std::iter::repeat_n(0, burst).chain([2_500_000]);
        let outcomes = run(scenario, arrivals.map(|arrival| (arrival, 1_000, Headers::default())));
        let carried = outcomes.iter().filter(|outcome| outcome.lost.is_none()).count();
        assert!((9..=11).contains(&carried), "{carried}");
        outcomes.last().unwrap().lost
    };
    assert_eq!(after_a_burst(100), Some(Cause::Queue));
    assert_eq!(after_a_burst(10), None);
}
