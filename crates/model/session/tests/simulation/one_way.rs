//! One-way sessions: each end sends its own probes, the other logs them, and both logs together say what happened.

use std::collections::{BTreeMap, BTreeSet};

use romer_record::document::ProbeDirection;
use romer_record::log::{Entry, ResponderDeparture, ResponderRecord};
use romer_record::{RoundTrip, assemble_as};
use romer_session::control::{
    Action, ClientHello, ClockIdentity, Decoder, Limits, Message, Request, ReverseStreamRequest, Server,
    ServerHello, SessionTotals, VERSION,
};
use romer_session::sender::{Departures, Due, Form, OneWayReceiver};
use romer_sim::{HostClock, Link, Network, True};
use romer_traffic::{Limit, Schedule as Departing, TrafficModel};
use romer_units::random::Seed;
use romer_units::{Direction, Duration, Monotonic, Timestamp};
use romer_wire::oneway_probe::{Key, SHORTEST, Session};

use crate::common::{Dice, addresses, clock, deliver, link, schedules, with_seeds};

const NUMBER: u16 = 0x5131;
const KEY: [u8; 16] = [0x6b; 16];

#[derive(Clone, Debug)]
enum Happening {
    Depart(Due),
    Arrive { payload: Vec<u8>, hostile: bool },
}

/// A session of one way under one random schedule.
struct OneWaySession {
    way: ProbeDirection,
    network: Network<Happening>,
    /// Of the end that sends, and of the one that receives.
    clocks: [HostClock; 2],
    dice: Dice,
    request: Request,
    probes: Session,
    server: Server,
    to_sender: Decoder,
    comings: OneWayReceiver,
    /// What the end that measures logs itself.
    entries: Vec<Entry>,
    sent: BTreeMap<u64, u32>,
    refused: BTreeSet<u64>,
    arrived: BTreeMap<u64, u64>,
}

fn far_stream(interval: Duration, count: u64, size: u32) -> ReverseStreamRequest {
    let request = romer_traffic::Request {
        interval: Some(interval),
        size: Some(size),
        ..romer_traffic::Request::new(TrafficModel::Periodic, Limit::Count(count))
    };
    ReverseStreamRequest::new(&request, 9, 0, 255)
}

impl OneWaySession {
    fn new(seed: Seed, way: ProbeDirection) -> Self {
        let mut dice = Dice::new(seed);
        let links: [Link; 1] = [link(&mut dice)];
        let clocks = [clock(&mut dice), clock(&mut dice)];
        let interval = Duration::from_micros(i64::from(dice.below(50_000)) + 100);
        let count = u64::from(dice.below(60)) + 1;
        let size = [9, 14, 44, 1_472][usize::try_from(dice.below(4)).unwrap()];
        let request = Request {
            ssid: NUMBER,
            interval_ns: interval.as_nanos(),
            count,
            payload_octets: size,
            direction: way,
            stream: (way == ProbeDirection::Reverse).then(|| far_stream(interval, count, size)),
        };
        let buffered = usize::try_from(dice.below(40)).unwrap() + 2;
        let (server, to_sender) = conversation(&request, buffered);
        let heading = if way == ProbeDirection::Reverse { Direction::Reverse } else { Direction::Forward };
        let probes = Session { number: NUMBER, key: Key::new(KEY), direction: heading };
        Self {
            way,
            network: Network::new(seed, &links),
            clocks,
            dice,
            request,
            probes,
            server,
            to_sender,
            comings: OneWayReceiver::new(probes, None, count),
            entries: Vec::new(),
            sent: BTreeMap::new(),
            refused: BTreeSet::new(),
            arrived: BTreeMap::new(),
        }
    }

    /// The schedule as the end that sends makes it.
    fn schedule(&self) -> Vec<(Duration, u32)> {
        let stream = self.request.stream.clone().unwrap_or_else(|| {
            let interval = Duration::from_nanos(self.request.interval_ns);
            far_stream(interval, self.request.count, self.request.payload_octets)
        });
        let departing: Departing = stream.schedule().unwrap();
        departing.map(|departure| (departure.offset, departure.size)).collect()
    }

    fn run(&mut self) -> SessionTotals {
        if self.way == ProbeDirection::Reverse {
            assert_eq!(self.say(&Message::Start), [Action::Start]);
        }
        let start = Timestamp::<Monotonic>::from_nanos(0);
        let mut departures = Departures::new(self.schedule().into_iter(), start, Form::Compact(self.probes));
        while let Some(due) = departures.next_due() {
            self.network.schedule(Timestamp::from_nanos(due.at.as_nanos()), Happening::Depart(due));
        }
        for _ in 0..self.dice.below(20) {
            let at = Timestamp::<True>::from_nanos(self.dice.nanos(3_000_000_000).as_nanos());
            let payload = self.hostile();
            self.network.schedule(at, Happening::Arrive { payload, hostile: true });
        }
        while let Some(event) = self.network.next_event() {
            match event.what {
                Happening::Depart(due) => self.depart(&departures, &due),
                Happening::Arrive { payload, hostile } => self.arrive(&payload, hostile),
            }
        }
        if self.way == ProbeDirection::Reverse {
            let sent = u64::try_from(self.sent.len()).unwrap();
            let told = self.server.on_departed(sent);
            deliver(told, &mut self.to_sender);
        }
        assert_eq!(self.say(&Message::Stop), [Action::Finish]);
        deliver(self.server.finish(), &mut self.to_sender);
        self.hear()
    }

    /// Random octets, another direction's probe, or a probe of ours under another key.
    fn hostile(&mut self) -> Vec<u8> {
        let length = self.dice.below(60);
        let mut payload = self.dice.bytes(length);
        let forged = match self.dice.below(3) {
            0 => return payload,
            1 => Session {
                direction: if self.way == ProbeDirection::Reverse {
                    Direction::Forward
                } else {
                    Direction::Reverse
                },
                ..self.probes
            },
            _ => Session { key: Key::new([0x6c; 16]), ..self.probes },
        };
        payload.resize(payload.len().max(SHORTEST), 0);
        assert!(forged.emit(u64::from(self.dice.below(60)), &mut payload));
        payload
    }

    fn say(&mut self, message: &Message) -> Vec<Action> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.server.on_bytes(&bytes, false, Timestamp::from_nanos(self.network.now().as_nanos()))
    }

    fn depart<S: Iterator<Item = (Duration, u32)>>(&mut self, departures: &Departures<S>, due: &Due) {
        let left = self.clocks[0].read::<True>(self.network.now()).as_nanos();
        let mut payload = vec![0xff; usize::try_from(due.size).unwrap()];
        assert_eq!(departures.write(due, left, &mut payload), Some(payload.len()));
        let refused = self.dice.maybe(0.05);
        if self.way == ProbeDirection::Reverse {
            let stamped = self.dice.maybe(0.9) && !refused;
            let record = ResponderDeparture {
                sequence: due.sequence,
                size: due.size,
                wake_error_ns: 5,
                user_ns: left,
                kernel_ns: stamped.then_some(left),
                refused,
            };
            let actions = self.server.on_departure(record);
            deliver(actions, &mut self.to_sender);
        } else if refused {
            let (sequence, size) = (due.sequence, due.size);
            self.entries.push(Entry::NotSent { sequence, size, errno: 101, user_ns: left });
        } else {
            let (sequence, size) = (due.sequence, due.size);
            self.entries.push(Entry::Sent { sequence, size, wake_error_ns: 5, user_ns: left });
            self.entries.push(Entry::SentStamp { sequence, kernel_ns: left });
        }
        if refused {
            self.refused.insert(due.sequence);
        } else {
            self.sent.insert(due.sequence, due.size);
            self.network.send(0, &Happening::Arrive { payload, hostile: false });
        }
    }

    fn arrive(&mut self, payload: &[u8], hostile: bool) {
        let at = self.clocks[1].read::<True>(self.network.now()).as_nanos();
        let source = addresses()[usize::from(self.way == ProbeDirection::Reverse)];
        let Ok(coming) = self.comings.on_datagram(payload, source) else {
            assert!(hostile, "a probe was taken for a stray");
            return;
        };
        assert!(!hostile, "a forged datagram was taken for a probe: {payload:?}");
        let copies = self.arrived.entry(coming.sequence).or_default();
        assert_eq!(coming.first, *copies == 0);
        *copies += 1;
        if self.way == ProbeDirection::Reverse {
            self.entries.push(Entry::Came {
                sequence: coming.sequence,
                size: u32::try_from(payload.len()).unwrap(),
                user_ns: at,
                kernel_ns: Some(at),
                ttl: Some(60),
                tos: Some(0),
            });
            return;
        }
        if coming.first {
            self.server.on_first_arrival();
        }
        let record = ResponderRecord {
            sequence: coming.sequence,
            t2_user_ns: at,
            t2_kernel_ns: Some(at),
            t3_user_ns: None,
            t3_kernel_ns: None,
            ttl: Some(60),
            tos: Some(0),
        };
        let actions = self.server.on_record(record);
        deliver(actions, &mut self.to_sender);
    }

    /// What came back over the control channel joins the log; gives the last word.
    fn hear(&mut self) -> SessionTotals {
        let mut end = None;
        let mut departed = None;
        while let Some(message) = self.to_sender.next().unwrap() {
            match message {
                Message::Log(records) => self.entries.extend(records.into_iter().map(Entry::Far)),
                Message::Departures(records) => self.entries.extend(records.into_iter().map(Entry::FarSent)),
                Message::Departed(told) => departed = Some(told.count),
                Message::End(totals) => end = Some(totals),
                _ => {}
            }
        }
        let sent = u64::try_from(self.sent.len()).unwrap();
        assert_eq!(departed, (self.way == ProbeDirection::Reverse).then_some(sent));
        end.expect("the totals are the last word")
    }
}

/// A conversation in which `request` was granted and associated.
fn conversation(request: &Request, buffered: usize) -> (Server, Decoder) {
    let now = Timestamp::<Monotonic>::from_nanos(0);
    let clock = ClockIdentity { boot_id: "far".into(), realtime_minus_boottime_ns: 0 };
    let welcome = ServerHello { kernel_stamps: true, ..ServerHello::new("simulated", clock.clone(), 862) };
    let limits = Limits { buffered_records: buffered, ..Limits::default() };
    let mut server = Server::new(limits, welcome, [9; 16], now).with_one_way(KEY);
    let mut to_sender = Decoder::default();
    let mut bytes = Vec::new();
    Message::Hello(ClientHello {
        version: VERSION,
        software: "simulated".into(),
        clock,
        features: Vec::new(),
    })
    .encode(&mut bytes);
    Message::Request(request.clone()).encode(&mut bytes);
    deliver(server.on_bytes(&bytes, false, now), &mut to_sender);
    deliver(server.on_associated(addresses()[0], now), &mut to_sender);
    (server, to_sender)
}

fn check(world: &OneWaySession, end: &SessionTotals, rows: &[RoundTrip]) {
    assert_eq!(end.records_lost, 0, "a buffer that is sent back when half full never overflows");
    let way =
        if world.way == ProbeDirection::Reverse { ProbeDirection::Reverse } else { ProbeDirection::Forward };
    assert!(rows.iter().all(|row| row.way == way));
    let told: BTreeSet<u64> = rows.iter().map(|row| row.sequence).collect();
    let happened: BTreeSet<u64> = world.sent.keys().chain(&world.refused).copied().collect();
    assert_eq!(told, happened, "every probe has a row and nothing else has");
    for row in rows {
        assert_eq!(row.not_sent, world.refused.contains(&row.sequence), "{row:?}");
    }
    for (sequence, size) in &world.sent {
        let own: Vec<&RoundTrip> = rows.iter().filter(|row| row.sequence == *sequence).collect();
        let came = |row: &&&RoundTrip| {
            if way == ProbeDirection::Reverse { row.returned } else { row.seen_by_responder }
        };
        let arrivals = u64::try_from(own.iter().filter(came).count()).unwrap();
        assert_eq!(arrivals, world.arrived.get(sequence).copied().unwrap_or(0), "arrivals of {sequence}");
        assert!(own.iter().all(|row| row.size == *size), "{own:?}");
        let departure = |row: &RoundTrip| {
            if way == ProbeDirection::Reverse { row.t3.user.is_some() } else { row.t1.kernel.is_some() }
        };
        assert!(own.iter().all(|row| departure(row)), "{own:?}");
    }
    assert_eq!(world.comings.distinct(), u64::try_from(world.arrived.len()).unwrap());
    assert_eq!(world.comings.distinct() + world.comings.copies(), world.arrived.values().sum::<u64>());
}

#[test]
fn both_logs_of_a_one_way_session_say_what_happened_under_every_schedule() {
    for (which, way) in [(0x0f0a, ProbeDirection::Forward), (0x0f0b, ProbeDirection::Reverse)] {
        with_seeds(which, schedules(2_000), |seed| {
            let mut world = OneWaySession::new(seed, way);
            let end = world.run();
            let rows = assemble_as(way, &world.entries);
            check(&world, &end, &rows);
        });
    }
}
