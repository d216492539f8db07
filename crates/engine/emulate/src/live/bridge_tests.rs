//! The bridge between ports that refuse, forget and fail as a test wants.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use romer_impair::config::{DEFAULT_FLUSH, Duplicate, Model, TimelineStep};
use romer_impair::{Decision, Limits, Path};
use romer_port::{PortError, Received, Sent};
use romer_scenario::Scenario;
use romer_units::random::{RandomStream, Seed};

use super::super::subscription::{FeedOptions, SampleFeed, Sampled, feed};
use super::*;
use crate::{Arrival, Arrivals};

/// What a port takes and gives, seen from outside.
#[derive(Default)]
struct Wire {
    /// To be received: numbers.
    coming: VecDeque<u32>,
    /// The same with stamps of their own, before these.
    stamped: VecDeque<(u32, Timestamp<Monotonic>)>,
    /// It says that more is waiting than it gives.
    is_backlogged: bool,
    /// What was sent.
    sent: Vec<u32>,
    /// What the kernel is said to have dropped, until it is read.
    dropped: u64,
    /// What frames before it in `sent` were refused for, one after the other.
    refusals: VecDeque<Option<Refusal>>,
    link: Option<LinkState>,
    /// It takes frames and drops them.
    swallows: bool,
}

struct Faulty {
    wire: Arc<Mutex<Wire>>,
    wake: UnixStream,
}

impl AsFd for Faulty {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl Port for Faulty {
    fn rx_burst(&mut self, arena: &mut Arena, frames: &mut Vec<Frame>) -> Result<Received, PortError> {
        let mut wire = self.wire.lock().unwrap();
        let mut received = Received::default();
        while received.frames < BURST
            && let Some((number, stamp)) =
                wire.stamped.pop_front().or_else(|| Some((wire.coming.pop_front()?, monotonic_now())))
        {
            match arena.frame(&[&number.to_be_bytes()[..], &[0; 56]].concat(), stamp) {
                Some(frame) => {
                    frames.push(frame);
                    received.frames += 1;
                }
                None => received.without_slot += 1,
            }
        }
        received.more = wire.is_backlogged || !wire.stamped.is_empty() || !wire.coming.is_empty();
        Ok(received)
    }

    fn tx_burst(&mut self, arena: &mut Arena, frames: &mut VecDeque<Frame>) -> Sent {
        let mut wire = self.wire.lock().unwrap();
        let mut sent = Sent::default();
        while let Some(frame) = frames.front() {
            if let Some(Some(refusal)) = wire.refusals.pop_front() {
                sent.refused = Some(refusal);
                break;
            }
            let number = u32::from_be_bytes(arena.octets_of(frame)[..4].try_into().unwrap());
            if !wire.swallows {
                wire.sent.push(number);
            }
            sent.frames += 1;
            arena.release(frames.pop_front().unwrap());
        }
        sent
    }

    fn reclaim(&mut self, _: &mut Arena) -> usize {
        0
    }

    fn kernel_drops(&mut self) -> Result<u64, PortError> {
        Ok(std::mem::take(&mut self.wire.lock().unwrap().dropped))
    }

    fn link(&self) -> LinkState {
        self.wire.lock().unwrap().link.unwrap_or(LinkState::Up)
    }

    fn carries(&self) -> bool {
        !self.wire.lock().unwrap().swallows
    }

    fn mtu(&self) -> u32 {
        1_500
    }

    fn data_plane(&self) -> &'static str {
        "faulty"
    }
}

/// A bridge over two of these, whose packets are copied now and then, with an arena of so many slots.
fn bridge(slots: u32) -> (Bridge, [Arc<Mutex<Wire>>; 2], Vec<UnixStream>) {
    bridge_from(monotonic_now(), slots)
}

/// Such a bridge that begins at `start`.
fn bridge_from(start: Timestamp<Monotonic>, slots: u32) -> (Bridge, [Arc<Mutex<Wire>>; 2], Vec<UnixStream>) {
    let duplicate = Duplicate { decision: Decision::Bernoulli { probability: 0.2 }, delay: 0 };
    let path = Arc::new(Path { duplicate: Model::Plain(duplicate), flush: DEFAULT_FLUSH, ..Path::default() });
    let mut config = Config { seed: Some(Seed([1, 2, 3, 4, 5, 6])), ..Config::default() };
    config.base.paths = [vec![Some(Arc::clone(&path))], vec![Some(path)]];
    bridge_of(Engine::new(config, Limits::fixed(64), start.as_nanos()), start, slots, None)
}

/// Two such ports with this engine between them.
fn bridge_of(
    engine: Engine,
    start: Timestamp<Monotonic>,
    slots: u32,
    tap: Option<Producer>,
) -> (Bridge, [Arc<Mutex<Wire>>; 2], Vec<UnixStream>) {
    let wires = [Arc::<Mutex<Wire>>::default(), Arc::default()];
    let mut others = Vec::new();
    let ports = wires.each_ref().map(|wire| {
        let (wake, other) = UnixStream::pair().unwrap();
        others.push(other);
        Box::new(Faulty { wire: Arc::clone(wire), wake }) as Box<dyn Port>
    });
    let names = ["a0", "b0"].map(|name| name.parse().unwrap());
    let arena = Arena::new(slots, 1_526).unwrap();
    (Bridge::new(engine, start, arena, ports, names, tap), wires, others)
}

/// Both ledgers, which balance.
fn ledgers(bridge: &Bridge) -> [Ledger; 2] {
    PortId::BOTH.map(|way| {
        let ledger = bridge.ledger(way);
        assert!(ledger.balances(), "{ledger:?}");
        ledger
    })
}

/// Whatever ports refuse, every packet is accounted for and none is sent twice.
#[test]
fn refused_packets_are_accounted_for() {
    let (mut bridge, wires, _others) = bridge(64);
    let chance = RandomStream::new(Seed([9, 8, 7, 6, 5, 4]), [1, 1]);
    let mut offered = [0_u64; 2];
    let mut dropped = [0_u64; 2];
    for round in 0..3_000_u64 {
        let [burst, what, count, side, down, ..] = chance.block(round);
        let index = usize::from(side % 2 == 0);
        {
            let mut wire = wires[index].lock().unwrap();
            for _ in 0..burst % 40 {
                wire.coming.push_back(u32::try_from(offered[index]).unwrap());
                offered[index] += 1;
            }
            let refusal = match what % 8 {
                0 => Some(Refusal::Busy),
                1 => Some(Refusal::Oversize),
                2 => Some(Refusal::Undeliverable),
                _ => None,
            };
            // After some that go: as where a queue fills up in the middle of a burst (ENOBUFS).
            wire.refusals.extend(std::iter::repeat_n(None, usize::try_from(count % 5).unwrap()));
            wire.refusals.push_back(refusal);
            if what % 31 == 0 {
                wire.dropped += 3;
                dropped[index] += 3;
            }
            wire.link = Some(if down % 9 == 0 { LinkState::Down } else { LinkState::Up });
        }
        bridge.receive(None).unwrap();
        bridge.release(monotonic_now());
        bridge.flush();
        if round % 4 == 0 {
            bridge.poll_link().unwrap();
        }
        ledgers(&bridge);
    }
    for wire in &wires {
        let mut wire = wire.lock().unwrap();
        (wire.link, wire.refusals) = (Some(LinkState::Up), VecDeque::new());
    }
    bridge.poll_link().unwrap();
    while bridge.receive(None).unwrap() > 0 {
        bridge.release(monotonic_now());
        bridge.flush();
    }
    let before = ledgers(&bridge);
    let snapshot = bridge.end(None).unwrap();
    for way in PortId::BOTH {
        let ledger = &snapshot.directions[way.index()].ledger;
        assert!(ledger.balances() && ledger.queued == 0, "{ledger:?}");
        assert_eq!(ledger.received, offered[way.index()] + dropped[way.index()], "{ledger:?}");
        assert_eq!(ledger.lost_for(Cause::Kernel), dropped[way.index()]);
        for cause in [Cause::Oversize, Cause::Undeliverable, Cause::Queue] {
            assert!(ledger.lost_for(cause) > 0, "{cause:?}: {before:?}");
        }
        let sent = &wires[way.other().index()].lock().unwrap().sent;
        assert_eq!(sent.len() as u64, ledger.transmitted);
        let mut once = sent.clone();
        once.sort_unstable();
        once.dedup();
        assert!(
            sent.len() - once.len() <= usize::try_from(ledger.duplicates_created).unwrap(),
            "only copies twice"
        );
    }
}

#[test]
fn what_waits_at_a_port_from_before_the_beginning_is_none_of_its_packets() {
    let (mut bridge, wires, _others) = bridge_from(monotonic_now() + Duration::from_secs(3_600), 64);
    wires[0].lock().unwrap().coming.extend(0..20);
    wires[0].lock().unwrap().dropped = 7;
    bridge.forget_drops().unwrap();
    assert_eq!(bridge.receive(None).unwrap(), 0);
    bridge.count_kernel_drops().unwrap();
    assert_eq!(ledgers(&bridge)[0].received, 0);
    // Their slots are free again.
    assert_eq!(bridge.arena.free(), 64);
    bridge.start = monotonic_now();
    wires[0].lock().unwrap().coming.extend(20..40);
    assert_eq!(bridge.receive(None).unwrap(), 20);
}

#[test]
fn what_a_port_takes_and_drops_because_its_link_is_down_has_not_left() {
    let (mut bridge, wires, _others) = bridge(1_024);
    let mut offered = 0;
    for (swallows, link) in [
        (false, LinkState::Up),
        // The link is down, and nobody has seen it yet.
        (true, LinkState::Up),
        // It is seen, for it was asked.
        (true, LinkState::Down),
        (false, LinkState::Up),
    ] {
        {
            let mut wire = wires[1].lock().unwrap();
            (wire.swallows, wire.link) = (swallows, Some(link));
        }
        wires[0].lock().unwrap().coming.extend(offered..offered + 20);
        offered += 20;
        // It is time to ask again.
        bridge.sides[1].asked = Timestamp::from_nanos(0);
        bridge.receive(None).unwrap();
        bridge.release(monotonic_now());
        bridge.flush();
        let sent = wires[1].lock().unwrap().sent.len() as u64;
        let [ledger, _] = ledgers(&bridge);
        assert_eq!((ledger.transmitted, ledger.queued), (sent, 0), "{ledger:?}");
        assert_eq!(
            ledger.lost_for(Cause::Undeliverable),
            u64::from(offered) + ledger.duplicates_created - sent,
            "{ledger:?}"
        );
    }
    let sent = &wires[1].lock().unwrap().sent;
    assert!(sent.iter().all(|number| *number < 20 || *number >= 60), "{sent:?}");
}

/// A bridge of this scenario with its samples, and what a replay of them needs.
struct Recorded {
    scenario: Scenario,
    bridge: Bridge,
    wires: [Arc<Mutex<Wire>>; 2],
    _others: Vec<UnixStream>,
    feed: SampleFeed,
    samples: Vec<Sampled>,
    start: Timestamp<Monotonic>,
}

impl Recorded {
    fn new(text: &str) -> Self {
        let start = monotonic_now() - Duration::from_secs(10);
        let mut scenario = crate::read_scenario(text, "test.toml").unwrap().scenario;
        scenario.config.seed = Some(SEED);
        let engine = Engine::new(scenario.config.clone(), Limits::fixed(8_192), start.as_nanos());
        let (tap, feed) = feed(FeedOptions::default(), 1_526, 0);
        let (bridge, wires, others) = bridge_of(engine, start, 16_384, Some(tap));
        Self { scenario, bridge, wires, _others: others, feed, samples: Vec::new(), start }
    }

    fn drain(&mut self) {
        let samples = &mut self.samples;
        self.feed.drain(|packet| samples.push(packet.clone()));
    }

    /// Lets all that is held leave.
    fn finish(&mut self) {
        for way in PortId::BOTH {
            self.bridge.engine.set_received_until(way, i64::MAX);
        }
        self.bridge.release(Timestamp::from_nanos(i64::MAX));
        self.bridge.flush();
        self.drain();
        assert_eq!(self.feed.missed(), 0);
    }

    /// When packets of a port counted as arrived.
    fn arrivals(&self, way: PortId) -> Vec<Timestamp<Monotonic>> {
        let of_port = self.samples.iter().filter(|packet| packet.way() == way);
        of_port.map(|packet| self.start + Duration::from_nanos(packet.arrival)).collect()
    }

    /// The lines of departures, live and of a replay of the samples, sorted and without the moments of departure.
    fn lines(&self) -> [Vec<String>; 2] {
        let of = |text: Vec<u8>| {
            let text = String::from_utf8(text).unwrap();
            let mut lines: Vec<String> = text
                .lines()
                .filter(|line| *line != crate::offline::HEADER)
                .map(|line| {
                    let mut fields: Vec<&str> = line.split(',').collect();
                    fields.remove(5);
                    fields.join(",")
                })
                .collect();
            lines.sort_unstable();
            lines
        };
        let mut live = Vec::<u8>::new();
        self.samples.iter().for_each(|packet| packet.write(&mut live).unwrap());
        let arrival = |packet: &Sampled| Arrival::new(packet.arrival, packet.way(), packet.size);
        let mut packets: Vec<Arrival> = self.samples.iter().map(arrival).collect();
        packets.sort_by_key(|arrival| arrival.time);
        let mut replayed = Vec::<u8>::new();
        let arrivals = Arrivals { packets, ..Arrivals::default() };
        crate::offline::run(&self.scenario, "", SEED, &arrivals, &mut replayed).unwrap();
        [of(live), of(replayed)]
    }
}

const SEED: Seed = Seed([1, 2, 3, 4, 5, 6]);

/// Whenever the bridge's thread runs, packets count by their stamps, and a replay of the samples has the same fates, delays and
/// order of departures: also with a sequential generator, delayed copies, `flush` and a full queue.
#[test]
fn replays_of_samples_are_exact() {
    const PACKETS: u32 = 3_000;
    let stages = r#"
        loss = { model = "gilbert-elliott", p = 0.05, r = 0.3 }
        duplicate = { probability = 0.2, delay = "150us" }
        reorder = { probability = 0.1, displacement = { model = "uniform", low = 1, high = 4 }, flush = "300us" }
        delay = { fixed = "10us", variable = { model = "exponential", mean = "200us" }, order = "fifo" }
        rate = { limit = "20Mbit", layer = "l2", queue = { bytes = "1KiB" } }
    "#;
    let mut recorded = Recorded::new(&format!("generator = \"mrg\"\n[a_to_b]{stages}\n[b_to_a]{stages}"));
    let chance = RandomStream::new(Seed([4, 4, 4, 4, 4, 4]), [1, 1]);
    let mut stamps = [recorded.start; 2];
    let mut stamped = [Vec::new(), Vec::new()];
    let mut sent = 0;
    for wire in &recorded.wires {
        wire.lock().unwrap().is_backlogged = true;
    }
    for round in 0_u64.. {
        if sent >= PACKETS {
            break;
        }
        let [side, burst, act, ahead, gaps @ ..] = chance.block(round);
        let index = usize::from(side % 2 == 0);
        for number in 0..burst % 40 {
            let gap = gaps[usize::try_from(number).unwrap() % gaps.len()] >> (number % 8);
            // Now and then two have one stamp, and now and then the queue runs empty.
            let gap = if gap % 7 == 0 { 0 } else { 1 + i64::from(gap % 60_000) };
            stamps[index] = stamps[index] + Duration::from_nanos(gap);
            stamped[index].push(stamps[index]);
            recorded.wires[index].lock().unwrap().stamped.push_back((sent, stamps[index]));
            sent += 1;
        }
        match act % 4 {
            0 => {
                recorded.bridge.receive(None).unwrap();
            }
            1 => recorded.bridge.release(stamps[index] + Duration::from_nanos(i64::from(ahead % 2_000_000))),
            2 => recorded.bridge.run_deadline().unwrap(),
            _ => recorded.bridge.flush(),
        }
        recorded.drain();
    }
    while recorded.wires.iter().any(|wire| !wire.lock().unwrap().stamped.is_empty()) {
        recorded.bridge.receive(None).unwrap();
        recorded.drain();
    }
    recorded.finish();
    assert!(PortId::BOTH.map(|way| recorded.arrivals(way)) == stamped, "all count by their stamps");
    let [live, replayed] = recorded.lines();
    assert!(live.len() > usize::try_from(sent).unwrap(), "copies have lines");
    assert!(live.iter().any(|line| line.contains("lost:queue")), "the queue was full");
    assert_eq!(live, replayed);
}

/// A change holds from a moment that samples and document state: what comes to light later counts from then on at the
/// earliest, and a timeline with this step repeats the run.
#[test]
fn changes_are_ordered_with_arrivals() {
    let mut recorded = Recorded::new("[a_to_b.delay]\nfixed = \"1ms\"\n");
    let stamp = |age: i64| monotonic_now() - Duration::from_micros(age);
    let send = |recorded: &Recorded, numbers: std::ops::Range<u32>| {
        let mut wire = recorded.wires[0].lock().unwrap();
        wire.stamped.extend(numbers.map(|number| (number, stamp(500 - i64::from(number)))));
    };
    send(&recorded, 0..40);
    let mut after =
        crate::read_scenario("[a_to_b.loss]\nprobability = 1\n", "after.toml").unwrap().scenario.config;
    after.generator = recorded.scenario.config.generator;
    let moment = recorded.bridge.apply(after.clone());
    assert!(
        recorded.wires[0].lock().unwrap().stamped.is_empty(),
        "what came before is of the time before it"
    );
    send(&recorded, 40..50);
    recorded.bridge.receive(None).unwrap();
    recorded.drain();
    let at = (moment - recorded.start).as_nanos();
    recorded.scenario.config.timeline = vec![TimelineStep { at, setting: after.base }];
    recorded.finish();
    assert!(recorded.arrivals(PortId::A)[40..].iter().all(|arrival| *arrival >= moment));
    let [live, replayed] = recorded.lines();
    assert_eq!(live.iter().filter(|line| line.contains("lost:model")).count(), 10, "{live:?}");
    assert_eq!(live, replayed);
}
