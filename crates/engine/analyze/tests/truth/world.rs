//! A sender and a reflector in a simulated network, and a protocol of what really happened there.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use romer_record::log::{Entry, ResponderRecord};
use romer_session::limit::Limiter;
use romer_session::reflector::{Incoming, Reflector, ReflectorAction};
use romer_session::sender::{Arrival, Departures, Due, EchoedFields, Form, ReplyMatcher};
use romer_sim::{Burst, Header, HostClock, Link, Marking, Network, Reroute, True};
use romer_units::random::{RandomStream, Seed};
use romer_units::{Duration, Responder, Sender, Timestamp};
use romer_wire::stamp::{ErrorEstimate, TimestampFormat};

const FORWARD: usize = 0;
const REVERSE: usize = 1;
const SSID: u16 = 0x0a11;
const ADDRESSES: [&str; 2] = ["198.51.100.1:40000", "203.0.113.2:862"];
/// With what TTL both ends send.
const TTL: u8 = 255;
/// Delays stay well below this, or well above.
pub(crate) const WAITING: Duration = Duration::from_millis(300);

/// A packet's arrival as it truly was.
#[derive(Clone, Debug)]
pub(crate) struct Came {
    pub(crate) at: i64,
    pub(crate) ttl: u8,
    pub(crate) tos: u8,
}

/// A reply as it truly was.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// When it left, and when the program said so.
    pub(crate) left: i64,
    pub(crate) told: i64,
    /// The kernel's stamp of its departure came.
    pub(crate) stamped: bool,
    pub(crate) came: Vec<Came>,
}

/// A probe as it truly was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probe {
    pub(crate) due: i64,
    /// `None` where the host refused it.
    pub(crate) left: Option<i64>,
    pub(crate) stamped: bool,
    /// Its arrivals at the reflector, with the replies.
    pub(crate) there: Vec<(Came, Option<Reply>)>,
}

#[derive(Clone, Debug)]
enum Happening {
    Wake(Due),
    Leave { sequence: u64, payload: Vec<u8> },
    There { payload: Vec<u8>, header: Header },
    Answer { sequence: u64, arrival: usize, reply: Vec<u8>, record: ResponderRecord, header: Header },
    Back { sequence: u64, arrival: usize, payload: Vec<u8>, header: Header },
}

pub(crate) struct Dice {
    stream: RandomStream,
    rolls: u64,
}

impl Dice {
    fn unit(&mut self) -> f64 {
        self.rolls += 1;
        self.stream.unit(self.rolls)
    }
    fn maybe(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
    fn nanos(&mut self, limit: i64) -> Duration {
        self.rolls += 1;
        let product = u128::from(self.stream.bits(self.rolls)) * u128::from(limit.unsigned_abs());
        Duration::from_nanos(i64::try_from(product >> 64).unwrap())
    }
}

/// How far apart the stamps of kernel and program lie, nanoseconds: at the sender's departure and arrival, at the
/// reflector's arrival and departure.
#[derive(Default)]
pub(crate) struct Gaps {
    pub(crate) sender: [Vec<i64>; 2],
    pub(crate) responder: [Vec<i64>; 2],
}

pub(crate) struct World {
    network: Network<Happening>,
    dice: Dice,
    pub(crate) clocks: [HostClock; 2],
    pub(crate) tos: u8,
    departures: Departures<std::vec::IntoIter<(Duration, u32)>>,
    reflector: Reflector,
    returns: ReplyMatcher,
    pub(crate) entries: Vec<Entry>,
    pub(crate) probes: BTreeMap<u64, Probe>,
    pub(crate) gaps: Gaps,
    pub(crate) back: usize,
    sent: u64,
}

fn link(dice: &mut Dice) -> Link {
    let marking = Marking { probability: dice.unit(), clear: 0b1111_1100, set: 8 << 2 };
    let bleach = Marking { probability: dice.unit(), clear: 0xff, set: 0 };
    let congest = Marking { probability: dice.unit() * 0.3, clear: 0, set: 0b11 };
    let reroute = Reroute {
        at: Timestamp::from_nanos(dice.nanos(2_000_000_000).as_nanos()),
        hops: 9,
        longer: dice.nanos(20_000_000),
    };
    Link {
        delay: dice.nanos(30_000_000) + Duration::from_nanos(1),
        variation: if dice.maybe(0.8) { dice.nanos(20_000_000) } else { Duration::ZERO },
        loss: if dice.maybe(0.5) { dice.unit() * 0.2 } else { 0.0 },
        duplication: if dice.maybe(0.5) { dice.unit() * 0.2 } else { 0.0 },
        outage: None,
        burst: dice.maybe(0.5).then_some(Burst { begin: 0.05, end: 0.3 }),
        held: if dice.maybe(0.5) { 0.1 } else { 0.0 },
        hold: if dice.maybe(0.5) { Duration::from_millis(500) } else { Duration::from_millis(40) },
        hops: 4,
        reroute: dice.maybe(0.5).then_some(reroute),
        marking: match dice.unit() {
            none if none < 0.4 => None,
            rewritten if rewritten < 0.6 => Some(marking),
            bleached if bleached < 0.8 => Some(bleach),
            _ => Some(congest),
        },
    }
}

fn estimate() -> ErrorEstimate {
    ErrorEstimate::at_least(Duration::from_micros(1), false, TimestampFormat::Ntp)
}

fn address(host: usize) -> SocketAddr {
    ADDRESSES[host].parse().unwrap()
}

impl World {
    /// A world drawn from `seed`; with `shared`, both hosts read one clock.
    pub(crate) fn new(seed: Seed, shared: bool) -> Self {
        let mut dice = Dice { stream: RandomStream::new(seed, [7, 7]), rolls: 0 };
        let links = [link(&mut dice), link(&mut dice)];
        let clock = |dice: &mut Dice| HostClock {
            offset: Duration::from_secs(1_700_000_000) + dice.nanos(20_000_000_000),
            ..HostClock::default()
        };
        let near = clock(&mut dice);
        let far = if shared { near.clone() } else { clock(&mut dice) };
        let interval = dice.nanos(20_000_000) + Duration::from_micros(200);
        let count = dice.nanos(150).as_nanos() + 1;
        let schedule: Vec<_> = (0..count).map(|n| (interval.checked_mul(n).unwrap(), 44)).collect();
        let echoes = Arc::new(EchoedFields::new(1_000));
        let now = Timestamp::from_nanos(0);
        Self {
            network: Network::new(seed, &links),
            tos: 46 << 2 | 2,
            departures: Departures::new(
                schedule.into_iter(),
                Timestamp::from_nanos(1_000_000),
                Form::Stamp { ssid: SSID, error: estimate(), echoes: Arc::clone(&echoes) },
            ),
            reflector: Reflector::new(Limiter::new(1_000_000, 16, (1, 2), now), Vec::new()),
            returns: ReplyMatcher::new(address(1), Some(SSID), 1_000, echoes),
            clocks: [near, far],
            entries: Vec::new(),
            probes: BTreeMap::new(),
            gaps: Gaps::default(),
            back: 0,
            sent: 0,
            dice,
        }
    }

    fn now(&self) -> i64 {
        self.network.now().as_nanos()
    }

    fn near(&self, true_ns: i64) -> i64 {
        self.clocks[0].read::<Sender>(Timestamp::from_nanos(true_ns)).as_nanos()
    }

    fn far(&self, true_ns: i64) -> i64 {
        self.clocks[1].read::<Responder>(Timestamp::from_nanos(true_ns)).as_nanos()
    }

    /// Between the stamp of a program and that of its kernel.
    fn gap(&mut self) -> i64 {
        self.dice.nanos(50_000).as_nanos() + 1
    }

    fn schedule(&mut self, at: i64, what: Happening) {
        self.network.schedule(Timestamp::<True>::from_nanos(at), what);
    }

    /// Lets everything happen.
    pub(crate) fn run(&mut self) {
        while let Some(due) = self.departures.next_due() {
            let late = self.dice.nanos(100_000).as_nanos();
            self.schedule(due.at.as_nanos() + late, Happening::Wake(due));
        }
        while let Some(event) = self.network.next_event() {
            match event.what {
                Happening::Wake(due) => self.wake(&due),
                Happening::Leave { sequence, payload } => self.leave(sequence, &payload),
                Happening::There { payload, header } => self.there(&payload, header),
                Happening::Answer { sequence, arrival, reply, record, header } => {
                    self.answer(sequence, arrival, &reply, record, header);
                }
                Happening::Back { sequence, arrival, payload, header } => {
                    self.back(sequence, arrival, &payload, header);
                }
            }
        }
    }

    fn wake(&mut self, due: &Due) {
        let (now, sequence) = (self.now(), due.sequence);
        let user_ns = self.near(now);
        let mut payload = vec![0; 44];
        assert_eq!(self.departures.write(due, user_ns, &mut payload), Some(44));
        self.sent = sequence + 1;
        self.probes.insert(sequence, Probe { due: due.at.as_nanos(), ..Probe::default() });
        if self.dice.maybe(0.03) {
            self.entries.push(Entry::NotSent { sequence, size: 44, errno: 105, user_ns });
            return;
        }
        let wake_error_ns = now - due.at.as_nanos();
        self.entries.push(Entry::Sent { sequence, size: 44, wake_error_ns, user_ns });
        let gap = self.gap();
        self.schedule(now + gap, Happening::Leave { sequence, payload });
    }

    fn leave(&mut self, sequence: u64, payload: &[u8]) {
        let now = self.now();
        let kernel_ns = self.near(now);
        let stamped = !self.dice.maybe(0.1);
        let probe = self.probes.get_mut(&sequence).unwrap();
        (probe.left, probe.stamped) = (Some(now), stamped);
        if stamped {
            self.entries.push(Entry::SentStamp { sequence, kernel_ns });
            let before = self.entries.iter().find_map(|entry| match entry {
                Entry::Sent { sequence: other, user_ns, .. } if *other == sequence => Some(*user_ns),
                _ => None,
            });
            self.gaps.sender[0].push(kernel_ns - before.unwrap());
        }
        let header = Header { ttl: TTL, tos: self.tos };
        self.network.carry(FORWARD, header, |header| Happening::There { payload: payload.to_vec(), header });
    }

    fn there(&mut self, payload: &[u8], header: Header) {
        let now = self.now();
        let t2 = self.far(now);
        let incoming = Incoming {
            payload,
            source: address(0),
            destination: address(1),
            ttl: Some(header.ttl),
            tos: Some(header.tos),
            arrived: Timestamp::from_nanos(t2),
            proved: true,
            expected: false,
        };
        let told = now + 10_000 + self.dice.nanos(3_000_000).as_nanos();
        let (t2_gap, t3_gap) = (self.gap(), self.gap());
        let mut reply = vec![0; payload.len()];
        let ReflectorAction::Answer(answer) =
            self.reflector.on_datagram(&incoming, Timestamp::from_nanos(self.network.now().as_nanos()))
        else {
            panic!("a probe was refused");
        };
        let t3_user = self.clocks[1].read::<Responder>(Timestamp::from_nanos(told));
        let written = answer.write(t3_user, estimate(), &mut reply).expect("there is room");
        assert_eq!(written.octets, payload.len());
        let sequence = u64::from(answer.sequence());
        let refused = self.dice.maybe(0.03);
        let record = ResponderRecord {
            sequence,
            t2_user_ns: t2 + t2_gap,
            t2_kernel_ns: Some(t2),
            t3_user_ns: (!refused).then_some(t3_user.as_nanos()),
            t3_kernel_ns: None,
            ttl: Some(header.ttl),
            tos: Some(header.tos),
        };
        self.gaps.responder[1].push(t2_gap);
        let probe = self.probes.get_mut(&sequence).unwrap();
        probe.there.push((Came { at: now, ttl: header.ttl, tos: header.tos }, None));
        let arrival = probe.there.len() - 1;
        if refused {
            self.entries.push(Entry::Far(record));
        } else {
            self.schedule(told + t3_gap, Happening::Answer { sequence, arrival, reply, record, header });
        }
    }

    fn answer(
        &mut self,
        sequence: u64,
        arrival: usize,
        payload: &[u8],
        mut record: ResponderRecord,
        header: Header,
    ) {
        let now = self.now();
        let stamped = !self.dice.maybe(0.1);
        let told = record.t3_user_ns.unwrap() - self.far(0);
        if stamped {
            record.t3_kernel_ns = Some(self.far(now));
            self.gaps.responder[0].push(now - told);
        }
        self.entries.push(Entry::Far(record));
        self.probes.get_mut(&sequence).unwrap().there[arrival].1 =
            Some(Reply { left: now, told, stamped, came: Vec::new() });
        let header = Header { ttl: TTL, tos: header.tos & 0b1111_1100 };
        let make = |header| Happening::Back { sequence, arrival, payload: payload.to_vec(), header };
        self.network.carry(REVERSE, header, make);
    }

    fn back(&mut self, sequence: u64, arrival: usize, payload: &[u8], header: Header) {
        let (now, gap) = (self.now(), self.gap());
        let t4 = self.near(now);
        let datagram = Arrival {
            payload,
            source: address(1),
            user_ns: t4 + gap,
            kernel_ns: Some(t4),
            ttl: Some(header.ttl),
            tos: Some(header.tos),
        };
        self.entries.push(self.returns.on_datagram(&datagram, self.sent).expect("it is a reflection"));
        self.gaps.sender[1].push(gap);
        self.back += 1;
        let reply = self.probes.get_mut(&sequence).unwrap().there[arrival].1.as_mut().unwrap();
        reply.came.push(Came { at: now, ttl: header.ttl, tos: header.tos });
    }
}
