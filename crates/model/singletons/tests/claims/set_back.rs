//! A responder's clock that is set in a run sets no packet out of order.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use romer_metrics::{duplicate_spacings, inter_arrivals, reordering};
use romer_record::document::ProbeDirection;
use romer_record::manifest::{ClockRelation, SkewRequest, StampRequest};
use romer_record::{OneWaySingleton, RoundTrip, Stamps};
use romer_singletons::{ResponderLog, Selection, StreamSingletons, correct_clocks, relate};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Clock, Duration, Timestamp};

const MS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000 * MS;
const PACKETS: u64 = 2_000;
/// One packet in a hundred is held back by so much that others overtake it.
const HELD_BACK: i64 = 47 * MS;
const COPY_AFTER: i64 = MS / 4;

/// The responder's clock is ahead by so much from these moments on, and runs 20 ppm faster.
#[derive(Clone, Debug)]
struct Far(Vec<(i64, i64)>);

impl Far {
    fn read(&self, at: i64) -> i64 {
        let set = self.0.iter().rfind(|(from, _)| *from <= at).map_or(0, |(_, ahead)| *ahead);
        START + at + at / 50_000 + 5_000 * MS + set
    }
}

struct SteppedRun {
    far: Far,
    seed: u64,
    way: ProbeDirection,
    /// Nanoseconds that packets wait on average, and between departures.
    waits: i64,
    interval: i64,
    /// Packets are held back, and duplicated.
    is_odd: bool,
}

impl SteppedRun {
    fn random(&self, kind: u32, n: u64) -> f64 {
        RandomStream::new(Seed([u32::try_from(self.seed).unwrap(), 1, 2, 3, 4, 5]), [kind, 0]).unit(n)
    }

    fn way(&self, kind: u32, n: u64) -> i64 {
        let waits = -(1.0 - self.random(kind, n)).ln() * self.waits as f64;
        let held = if self.is_odd && self.random(kind + 10, n) < 0.01 { HELD_BACK } else { 0 };
        #[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
        let waits = waits as i64;
        8 * MS + waits + held
    }

    /// The rows of all packets of one way, or there and back.
    fn rows(&self, way: ProbeDirection) -> Vec<RoundTrip> {
        let mut rows = Vec::new();
        for sequence in 0..PACKETS {
            let kind = if way == ProbeDirection::Reverse { 3 } else { 0 };
            let is_lost = |kind: u32| self.is_odd && self.random(kind + 20, sequence) < 0.01;
            let left = i64::try_from(sequence).unwrap() * self.interval + self.interval / 3;
            let came = left + self.way(kind, sequence);
            let mut row = RoundTrip { way, sequence, seen_by_responder: true, ..RoundTrip::default() };
            if way == ProbeDirection::Reverse {
                row.t3 = stamps(self.far.read(left));
                row.returned = !is_lost(kind);
                row.t4 = stamps(START + came);
                rows.push(if row.returned { row } else { RoundTrip { t4: Stamps::default(), ..row } });
                continue;
            }
            row.t1 = stamps(START + left);
            if is_lost(kind) {
                rows.push(RoundTrip { seen_by_responder: false, ..row });
                continue;
            }
            let copies = if self.is_odd && self.random(kind + 30, sequence) < 0.01 { 2 } else { 1 };
            for copy in 0..copies {
                let came = came + i64::from(copy) * COPY_AFTER;
                let mut row = RoundTrip { copy, forward_copy: copy, ..row };
                row.t2 = stamps(self.far.read(came));
                if way == ProbeDirection::RoundTrip {
                    let back = came + MS / 20 + self.way(1, sequence + 10_000 * u64::from(copy));
                    row.t3 = stamps(self.far.read(came + MS / 20));
                    row.returned = true;
                    row.t4 = stamps(START + back);
                }
                rows.push(row);
            }
        }
        rows
    }

    fn related(&self) -> StreamSingletons {
        let rows = match self.way {
            ProbeDirection::Both => {
                [self.rows(ProbeDirection::Forward), self.rows(ProbeDirection::Reverse)].concat()
            }
            way => self.rows(way),
        };
        let selection = Selection::choose(&rows, StampRequest::Best, true);
        let waiting = Duration::from_nanos(30_000 * MS);
        let related = relate(&rows, &selection, ClockRelation::Unknown, waiting, ResponderLog::Complete);
        correct_clocks(related, &SkewRequest::default()).related
    }

    /// The same world with a clock that nobody sets.
    fn untouched(&self) -> Self {
        Self { far: Far(Vec::new()), ..*self }
    }
}

fn stamps<C: Clock>(nanos: i64) -> Stamps<C> {
    Stamps { kernel: Some(Timestamp::from_nanos(nanos)), ..Stamps::default() }
}

/// The packets that others overtook.
fn ordered(singletons: &[OneWaySingleton]) -> Vec<u64> {
    reordering(singletons).iter().map(|one| one.sequence).collect()
}

fn median(singletons: &[OneWaySingleton]) -> i64 {
    let mut delays: Vec<i64> =
        singletons.iter().filter_map(|singleton| singleton.delay.map(Duration::as_nanos)).collect();
    delays.sort_unstable();
    delays[delays.len() / 2]
}

fn far_off(one: &[i64], other: &[i64]) -> i64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).max().unwrap_or(0)
}

fn steps() -> Vec<Far> {
    let half = i64::try_from(PACKETS).unwrap() / 2 * 20 * MS;
    let mut all: Vec<Far> =
        [-1_000 * MS, -100 * MS, -25 * MS, 1_000 * MS, 100 * MS, 25 * MS, -3_600_000 * MS]
            .into_iter()
            .map(|size| Far(vec![(half, size)]))
            .collect();
    for size in [-1_000 * MS, 1_000 * MS] {
        all.push(Far(vec![(half / 2, size), (3 * half / 2, 0)]));
        // Set back again before long, within the part of the run that tells of a step's levels.
        all.push(Far(vec![(half, size), (half + 3_500 * MS, 0)]));
    }
    all
}

#[test]
fn a_responder_that_is_set_sets_no_packet_out_of_order() {
    for way in [ProbeDirection::RoundTrip, ProbeDirection::Both] {
        for (seed, waits) in [(1, MS / 10), (2, MS)] {
            let world = |far| SteppedRun { far, seed, way, waits, interval: 20 * MS, is_odd: true };
            let untouched = world(Far(Vec::new())).related();
            steps().into_iter().for_each(|far| same_order(&world(far), &untouched));
        }
    }
}

#[test]
fn steps_of_some_milliseconds_between_packets_as_near_to_each_other_are_none_of_order_either() {
    for way in [ProbeDirection::RoundTrip, ProbeDirection::Both] {
        for seed in 10..14 {
            for size in [-5 * MS, 5 * MS] {
                let at = 1_000 * 2 * MS + i64::try_from(seed).unwrap() * MS / 7;
                let far = Far(vec![(at, size)]);
                let world = SteppedRun { far, seed, way, waits: MS / 10, interval: 2 * MS, is_odd: true };
                same_order(&world, &world.untouched().related());
            }
        }
    }
}

/// The sender was not set ahead where its packets would have left at one moment, or before one another.
#[test]
fn a_step_back_by_about_the_time_between_packets_sets_none_out_of_order() {
    for (interval, size) in [(20, -20), (20, -21), (20, -15), (50, -50)].map(|(a, b)| (a * MS, b * MS)) {
        for seed in 20..24 {
            let at = 1_000 * interval + i64::try_from(seed).unwrap() * interval / 37;
            let far = Far(vec![(at, size)]);
            // What is held back is overtaken where packets are near to each other.
            let is_odd = interval < HELD_BACK;
            let world =
                SteppedRun { far, seed, way: ProbeDirection::RoundTrip, waits: MS / 3, interval, is_odd };
            same_order(&world, &world.untouched().related());
        }
    }
}

/// A step changes nothing of the order, and times between arrivals by no more than its size is known to.
fn same_order(world: &SteppedRun, untouched: &StreamSingletons) {
    let related = world.related();
    let name = format!("{:?} {:?} seed {} waits {}", world.far, world.way, world.seed, world.waits);
    let ways = [(&related.forward, &untouched.forward), (&related.reverse, &untouched.reverse)];
    for (place, (set, calm)) in ways.into_iter().enumerate() {
        assert_eq!(ordered(set), ordered(calm), "{name} {place}");
        // A step's size is known to what the floors tell.
        let spacing = far_off(&inter_arrivals(set), &inter_arrivals(calm));
        assert!(spacing < world.waits / 2 + MS / 10, "{name} {place}: {spacing}");
        let late = (median(set) - median(calm)).abs();
        assert!(late < world.waits / 2 + MS / 10, "{name} {place}: {late}");
        let copies = far_off(&duplicate_spacings(set), &duplicate_spacings(calm));
        assert!(copies < world.waits / 2 + MS / 10, "{name} {place}: {copies}");
    }
    if world.is_odd {
        assert!(ordered(&related.forward).len() > 5, "{name}: packets that were overtaken count");
    }
    let told = related.clock.events.iter().filter(|event| event.kind == "clock-step").count();
    assert_eq!(told, world.far.0.len(), "{name}: {:?}", related.clock.events);
}
