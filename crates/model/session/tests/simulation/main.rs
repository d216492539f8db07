//! The session machines in a seeded simulation: loss, duplication, reordering, outages, clock faults and hostile
//! datagrams, every fate known. What the two logs say must be what happened.
//!
//! `ROMER_SCHEDULES` sets the number of schedules (10,000 by default). A failure names the seed that replays it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod one_way;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use common::{Dice, addresses, clock, deliver, estimate, link, schedules, with_seeds};
use romer_record::document::ProbeDirection;
use romer_record::log::{Entry, ResponderRecord};
use romer_record::{RoundTrip, assemble};
use romer_session::control::{
    Action, ClientHello, ClockIdentity, Decoder, Limits, Message, Request, Server, ServerHello, VERSION,
};
use romer_session::limit::Limiter;
use romer_session::reflector::{Incoming, Reflector, ReflectorAction};
use romer_session::sender::{Arrival, Departures, Due, EchoedFields, Form, ReplyMatcher};
use romer_session::{association, control};
use romer_sim::{HostClock, Link, Network, True};
use romer_units::random::Seed;
use romer_units::{Duration, Monotonic, Responder, Sender, Timestamp};
use romer_wire::stamp::BASE;

const FORWARD: usize = 0;
const REVERSE: usize = 1;

#[derive(Clone, Debug)]
enum Happening {
    Depart(Due),
    AtResponder { payload: Vec<u8>, hostile: bool },
    AtSender { payload: Vec<u8>, source: SocketAddr, hostile: bool },
    TransmitStamp(ResponderRecord),
}

/// One random schedule.
struct Schedule {
    links: [Link; 2],
    clocks: [HostClock; 2],
    interval: Duration,
    count: u32,
    size: u32,
    hostile: u32,
    buffered: usize,
    stamp_loss: f64,
}

impl Schedule {
    fn draw(dice: &mut Dice) -> Self {
        let sizes = [36, 44, 64, 172, 1472];
        Self {
            links: [link(dice), link(dice)],
            clocks: [clock(dice), clock(dice)],
            interval: Duration::from_micros(i64::from(dice.below(50_000)) + 100),
            count: dice.below(60) + 1,
            size: sizes[usize::try_from(dice.below(5)).unwrap()],
            hostile: if dice.maybe(0.3) { dice.below(20) } else { 0 },
            buffered: usize::try_from(dice.below(40)).unwrap() + 2,
            stamp_loss: if dice.maybe(0.3) { 0.2 } else { 0.0 },
        }
    }
}

/// What really happened.
#[derive(Default)]
struct Truth {
    sent: BTreeMap<u64, Timestamp<True>>,
    arrived: BTreeMap<u64, Vec<Timestamp<True>>>,
    returned: BTreeMap<u64, Vec<Timestamp<True>>>,
    octets: [u64; 2],
}

fn sequence_of(payload: &[u8]) -> u64 {
    u64::from(u32::from_be_bytes(payload[..4].try_into().unwrap()))
}

struct World {
    network: Network<Happening>,
    schedule: Schedule,
    dice: Dice,
    reflector: Reflector,
    returns: ReplyMatcher,
    server: Server,
    to_sender: Decoder,
    far: Vec<ResponderRecord>,
    entries: Vec<Entry>,
    truth: Truth,
    pending_stamps: u32,
    echoes: Arc<EchoedFields>,
}

const SSID: u16 = 0x5131;

impl World {
    fn new(seed: Seed) -> Self {
        let mut dice = Dice::new(seed);
        let schedule = Schedule::draw(&mut dice);
        let now = Timestamp::<Monotonic>::from_nanos(0);
        let clock = ClockIdentity { boot_id: "far".into(), realtime_minus_boottime_ns: 0 };
        let limits = Limits { buffered_records: schedule.buffered, ..Limits::default() };
        let welcome =
            ServerHello { kernel_stamps: true, ..ServerHello::new("simulated", clock.clone(), 862) };
        let mut server = Server::new(limits, welcome, [9; 16], now);
        let mut to_sender = Decoder::default();
        let request = Request {
            ssid: SSID,
            interval_ns: schedule.interval.as_nanos(),
            count: schedule.count.into(),
            payload_octets: schedule.size,
            direction: ProbeDirection::RoundTrip,
            stream: None,
        };
        let mut bytes = Vec::new();
        Message::Hello(ClientHello {
            version: VERSION,
            software: "simulated".into(),
            clock,
            features: Vec::new(),
        })
        .encode(&mut bytes);
        Message::Request(request).encode(&mut bytes);
        deliver(server.on_bytes(&bytes, false, now), &mut to_sender);
        deliver(server.on_associated(addresses()[0], now), &mut to_sender);
        let echoes = Arc::new(EchoedFields::new(schedule.count.into()));
        let returns =
            ReplyMatcher::new(addresses()[1], Some(SSID), schedule.count.into(), Arc::clone(&echoes));
        Self {
            network: Network::new(seed, &schedule.links),
            reflector: Reflector::new(Limiter::new(1_000_000, 16, (1, 2), now), Vec::new()),
            returns,
            server,
            to_sender,
            far: Vec::new(),
            entries: Vec::new(),
            truth: Truth::default(),
            pending_stamps: 0,
            echoes,
            schedule,
            dice,
        }
    }

    fn sender_clock(&self) -> Timestamp<Sender> {
        self.schedule.clocks[0].read(self.network.now())
    }
    fn responder_clock(&self) -> Timestamp<Responder> {
        self.schedule.clocks[1].read(self.network.now())
    }

    fn run(&mut self) {
        let gaps = (0..self.schedule.count)
            .map(|n| (self.schedule.interval.checked_mul(n.into()).unwrap(), self.schedule.size));
        let mut departures = Departures::new(
            gaps.collect::<Vec<_>>().into_iter(),
            Timestamp::from_nanos(0),
            Form::Stamp { ssid: SSID, error: estimate(), echoes: Arc::clone(&self.echoes) },
        );
        while let Some(due) = departures.next_due() {
            self.network.schedule(Timestamp::from_nanos(due.at.as_nanos()), Happening::Depart(due));
        }
        self.schedule_hostile();
        while let Some(event) = self.network.next_event() {
            match event.what {
                Happening::Depart(due) => self.depart(&departures, &due),
                Happening::AtResponder { payload, hostile } => self.at_responder(&payload, hostile),
                Happening::AtSender { payload, source, hostile } => self.at_sender(&payload, source, hostile),
                Happening::TransmitStamp(record) => {
                    self.pending_stamps -= 1;
                    deliver(self.server.on_record(record), &mut self.to_sender);
                }
            }
        }
        let now = Timestamp::from_nanos(self.network.now().as_nanos());
        let mut stop = Vec::new();
        Message::Stop.encode(&mut stop);
        assert_eq!(self.server.on_bytes(&stop, false, now), [Action::Finish]);
        deliver(self.server.finish(), &mut self.to_sender);
        let mut end = None;
        while let Some(message) = self.to_sender.next().unwrap() {
            match message {
                Message::Log(records) => self.far.extend(records),
                Message::End(totals) => end = Some(totals),
                _ => {}
            }
        }
        let end = end.expect("the totals are the last word");
        assert_eq!(end.received, u64::try_from(self.far.len()).unwrap() + end.records_lost);
        assert_eq!(end.records_lost, 0, "a buffer that is sent back when half full never overflows");
        self.entries.extend(self.far.iter().map(|far| Entry::Far(*far)));
    }

    fn schedule_hostile(&mut self) {
        for _ in 0..self.schedule.hostile {
            let at = Timestamp::from_nanos(self.dice.nanos(3_000_000_000).as_nanos());
            let length = self.dice.below(100);
            let payload = self.dice.bytes(length);
            let what = if self.dice.maybe(0.5) {
                Happening::AtResponder { payload, hostile: true }
            } else {
                let [_, target] = addresses();
                let source = if self.dice.maybe(0.5) { target } else { "192.0.2.66:862".parse().unwrap() };
                Happening::AtSender { payload, source, hostile: true }
            };
            self.network.schedule(at, what);
        }
    }

    fn depart<S: Iterator<Item = (Duration, u32)>>(&mut self, departures: &Departures<S>, due: &Due) {
        let t1 = self.sender_clock().as_nanos();
        let mut payload = vec![0; usize::try_from(due.size).unwrap()];
        assert_eq!(departures.write(due, t1, &mut payload), Some(payload.len()));
        self.truth.sent.insert(due.sequence, self.network.now());
        self.entries.push(Entry::Sent {
            sequence: due.sequence,
            size: due.size,
            wake_error_ns: 0,
            user_ns: t1,
        });
        self.entries.push(Entry::SentStamp { sequence: due.sequence, kernel_ns: t1 });
        self.network.send(FORWARD, &Happening::AtResponder { payload, hostile: false });
    }

    fn at_responder(&mut self, payload: &[u8], hostile: bool) {
        let [sender, responder] = addresses();
        let arrived = self.responder_clock();
        let source = if hostile { "192.0.2.66:5000".parse().unwrap() } else { sender };
        let incoming = Incoming {
            payload,
            source,
            destination: responder,
            ttl: Some(60),
            tos: Some(0),
            arrived,
            proved: !hostile,
            expected: false,
        };
        let now = Timestamp::from_nanos(self.network.now().as_nanos());
        self.truth.octets[0] += u64::try_from(payload.len()).unwrap();
        let ReflectorAction::Answer(answer) = self.reflector.on_datagram(&incoming, now) else {
            assert!(hostile, "a probe of ours was refused");
            return;
        };
        let length = if hostile { payload.len().max(BASE) } else { payload.len() };
        let mut reply = vec![0; length];
        let written = answer.write(arrived, estimate(), &mut reply).expect("there is room");
        assert_eq!(written.octets, length);
        assert!((length + 28) * 100 <= (payload.len() + 28) * 172, "amplification");
        self.reflector.on_reflected(&written);
        self.truth.octets[1] += u64::try_from(reply.len()).unwrap();
        if hostile {
            return;
        }
        let sequence = sequence_of(payload);
        self.truth.arrived.entry(sequence).or_default().push(self.network.now());
        let missing = self.dice.maybe(self.schedule.stamp_loss);
        let record = ResponderRecord {
            sequence,
            t2_user_ns: arrived.as_nanos(),
            t2_kernel_ns: Some(arrived.as_nanos()),
            t3_user_ns: Some(arrived.as_nanos()),
            t3_kernel_ns: (!missing).then_some(arrived.as_nanos()),
            ttl: Some(60),
            tos: Some(0),
        };
        let later = self.network.now() + self.dice.nanos(1_000_000);
        self.pending_stamps += 1;
        self.network.schedule(later, Happening::TransmitStamp(record));
        self.network
            .send(REVERSE, &Happening::AtSender { payload: reply, source: responder, hostile: false });
    }

    fn at_sender(&mut self, payload: &[u8], source: SocketAddr, hostile: bool) {
        let t4 = self.sender_clock().as_nanos();
        let arrival =
            Arrival { payload, source, user_ns: t4, kernel_ns: Some(t4), ttl: Some(61), tos: Some(0) };
        let sent = u64::try_from(self.truth.sent.len()).unwrap();
        match self.returns.on_datagram(&arrival, sent) {
            Ok(entry) => {
                assert!(!hostile, "a forged datagram was taken for a reflection: {payload:?}");
                self.entries.push(entry);
                let sequence = sequence_of(payload);
                let at = self.network.now();
                self.truth.returned.entry(sequence).or_default().push(at);
            }
            Err(_) => assert!(hostile, "a reflection was taken for a stray"),
        }
    }
}

fn check(world: &World, rows: &[RoundTrip]) {
    let truth = &world.truth;
    assert_eq!(world.pending_stamps, 0);
    let sequences: BTreeSet<u64> = rows.iter().map(|row| row.sequence).collect();
    assert_eq!(sequences, truth.sent.keys().copied().collect(), "every probe has a row and nothing else has");
    for sequence in truth.sent.keys() {
        let own: Vec<&RoundTrip> = rows.iter().filter(|row| row.sequence == *sequence).collect();
        let arrived = truth.arrived.get(sequence).map_or(0, Vec::len);
        let returned = truth.returned.get(sequence).map_or(0, Vec::len);
        assert_eq!(own.iter().filter(|row| row.returned).count(), returned, "reflections of {sequence}");
        assert_eq!(own.iter().any(|row| row.seen_by_responder), arrived > 0, "arrival of {sequence}");
        let distinct: BTreeSet<u32> =
            own.iter().filter(|row| row.seen_by_responder).map(|row| row.forward_copy).collect();
        assert_eq!(distinct.len(), arrived, "arrivals of {sequence} at the responder");
        for row in own {
            assert!(row.t1.kernel.is_some());
            if row.returned {
                assert!(row.seen_by_responder && row.t2.kernel.is_some() && row.t4.kernel.is_some());
                assert!(row.t2.told.is_some() && row.t3.told.is_some());
            }
        }
    }
    assert_eq!(world.returns.distinct(), u64::try_from(truth.returned.len()).unwrap());
    let counters = world.reflector.counters();
    assert_eq!(counters.octets_received, truth.octets[0]);
    assert_eq!(counters.octets_reflected, truth.octets[1]);
}

#[test]
fn both_logs_say_what_happened_under_every_schedule() {
    with_seeds(0x0520, schedules(10_000), |seed| {
        let mut world = World::new(seed);
        world.run();
        let rows = assemble(&world.entries);
        check(&world, &rows);
    });
}

#[test]
fn an_association_of_the_conversation_is_the_one_on_the_wire() {
    let token = [0xa5; association::TOKEN];
    let text = control::hex(token);
    assert_eq!(control::unhex(&text), Some(token));
    assert_eq!(association::token(&association::datagram(token)), Some(token));
    assert_eq!(control::unhex(&text[..30]), None);
    assert_eq!(control::unhex("zz00000000000000000000000000000000"), None);
}
