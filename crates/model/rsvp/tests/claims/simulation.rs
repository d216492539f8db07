//! Soft state under loss: a sender host, two routers and a receiver, whose packets are lost and delayed at random.
//!
//! `ROMER_SCHEDULES` sets the number of schedules (10,000 by default). A failure names the seed that replays it. A
//! second account, kept from the delivered messages alone, says at every event which state each router must have: it lives
//! exactly for `5.25 R` after the last refresh that arrived. So no reservation lives longer than its lifetime, and none is lost
//! while refreshes arrive.

use core::cmp::Reverse;
use core::net::Ipv4Addr;
use core::num::NonZeroU32;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use romer_rsvp::{
    Arrival, End, ErrorCode, FlowKey, Message, Moment, Outgoing, Packet, Receiver, ReceiverAction,
    ReceiverConfig, RefreshPeriod, Router, RouterAction, RouterConfig, Sender, SenderAction, SenderConfig,
};
use romer_units::Duration;
use romer_units::random::{RandomStream, Seed};

use crate::common::{PORT, ROUTER, at, interface, read, receiver_config, router_config, sender_config};

/// The routers' addresses on the link between them.
const BETWEEN: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 1, 1), Ipv4Addr::new(198, 18, 1, 2)];
/// Successive refreshes that may be lost: K - 1.
const MOST_LOST: u32 = 2;

struct Dice {
    stream: RandomStream,
    drawn: u64,
}

impl Dice {
    fn unit(&mut self) -> f64 {
        self.drawn += 1;
        self.stream.unit(self.drawn)
    }
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

/// What routers must know of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    path: Option<Moment>,
    reservation: Option<Moment>,
}

/// The account of one router.
#[derive(Debug, Default)]
struct Account(BTreeMap<FlowKey, Expected>);

impl Account {
    fn advance(&mut self, now: Moment) {
        for expected in self.0.values_mut() {
            expected.path = expected.path.filter(|end| now < *end);
            expected.reservation = expected.reservation.filter(|end| now < *end && expected.path.is_some());
        }
    }
    fn deliver(&mut self, octets: &[u8], now: Moment) {
        self.advance(now);
        let message = Packet::parse(octets).unwrap().message;
        let session = message.session().key();
        let lives = |period: RefreshPeriod| now + Duration::from_micros(i64::from(period.0.get()) * 5_250);
        match message {
            Message::Path { period, sender, .. } => {
                let key = FlowKey { session, source: sender.template };
                self.0.entry(key).or_default().path = Some(lives(period));
            }
            Message::PathTear { sender, .. } => {
                self.0.remove(&FlowKey { session, source: sender.template });
            }
            Message::Resv { period, flows, .. } => {
                let key = FlowKey { session, source: flows[0].filter };
                if let Some(expected) = self.0.get_mut(&key).filter(|expected| expected.path.is_some()) {
                    expected.reservation = Some(lives(period));
                }
            }
            Message::ResvTear { flows, .. } => {
                if let Some(expected) = self.0.get_mut(&FlowKey { session, source: flows[0].filter }) {
                    expected.reservation = None;
                }
            }
            _ => {}
        }
    }
    fn check(&self, router: &Router) {
        let flows = |has: fn(&Expected) -> bool| -> BTreeSet<FlowKey> {
            self.0.iter().filter(|(_, expected)| has(expected)).map(|(key, _)| *key).collect()
        };
        let paths: BTreeSet<FlowKey> = router.paths().collect();
        assert_eq!(paths, flows(|expected| expected.path.is_some()), "paths");
        let reservations: BTreeSet<FlowKey> = router.reservations().map(|one| one.flow).collect();
        assert_eq!(reservations, flows(|expected| expected.reservation.is_some()), "reservations");
        for one in router.reservations() {
            assert_eq!(Some(one.expires), self.0[&one.flow].reservation);
        }
    }
}

/// The flow that a Path or Resv message refreshes.
fn refreshed(packet: &Outgoing) -> Option<FlowKey> {
    let message = read(packet).message;
    let session = message.session().key();
    match message {
        Message::Path { sender, .. } => Some(FlowKey { session, source: sender.template }),
        Message::Resv { flows, .. } => Some(FlowKey { session, source: flows[0].filter }),
        _ => None,
    }
}

/// The nodes by number: the senders' host, two routers, and the receiver. A link leads from each to the next.
const HOST: usize = 0;
const LAST: usize = 3;

/// A packet on a link: arrival time, ordinal, node, interface, TTL and octets.
type Flying = (i64, u64, usize, usize, u8, Vec<u8>);

struct World {
    dice: Dice,
    period: f64,
    loss: f64,
    /// Whether at most [`MOST_LOST`] successive Path or Resv messages of a flow are lost on a link.
    is_bounded: bool,
    /// Successive losses by link and flow; Path messages go downstream, Resv messages upstream.
    lost: BTreeMap<(usize, bool, FlowKey), u32>,
    senders: Vec<Sender>,
    routers: [Router; 2],
    accounts: [Account; 2],
    receiver: Receiver,
    /// Nodes that have vanished.
    dead: [bool; 4],
    flying: BinaryHeap<Reverse<Flying>>,
    sent: u64,
    now: Moment,
    /// Whether a reservation was removed or expired anywhere.
    removed: u32,
    reserved: u32,
}

impl World {
    fn new(seed: u32) -> Self {
        let seed = Seed([seed, 40, 2_205, 2_210, 2_212, 1]);
        let mut dice = Dice { stream: RandomStream::new(seed, [0x7465_7374, 1]), drawn: 0 };
        let millis = dice.between(1_000.0, 30_000.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1,000 to 30,000")]
        let period = RefreshPeriod(NonZeroU32::new(millis as u32).unwrap());
        let is_bounded = dice.unit() < 0.5;
        let loss = if is_bounded { dice.between(0.0, 1.0) } else { dice.between(0.0, 0.7) };
        let router = |addresses: [Ipv4Addr; 2], near: &str, salt: u32| {
            let interfaces = addresses.map(|address| interface(address, 1e9)).to_vec();
            let routes = vec![(near.parse().unwrap(), 0), ("0.0.0.0/0".parse().unwrap(), 1)];
            let config = RouterConfig { interfaces, routes, period, ..router_config(0.0) };
            let Seed([a, b, c, d, e, _]) = seed;
            Router::new(config, Seed([a, b, c, d, e, salt])).unwrap()
        };
        let routers = [
            router([ROUTER[0], BETWEEN[0]], "198.18.0.0/24", 2),
            router([BETWEEN[1], ROUTER[1]], "198.18.0.0/23", 3),
        ];
        let config = ReceiverConfig { period, ..receiver_config() };
        let receiver = Receiver::start(config, seed, at(0.0)).unwrap();
        let mut world = Self {
            dice,
            period: f64::from(period.0.get()) / 1e3,
            loss,
            is_bounded,
            lost: BTreeMap::new(),
            senders: Vec::new(),
            routers,
            accounts: [Account::default(), Account::default()],
            receiver,
            dead: [false; 4],
            flying: BinaryHeap::new(),
            sent: 0,
            now: at(0.0),
            removed: 0,
            reserved: 0,
        };
        let flows = if world.dice.unit() < 0.5 { 1 } else { 2 };
        for port in PORT..PORT + flows {
            let config = SenderConfig { period, ..sender_config(port) };
            let (sender, actions) = Sender::start(config, seed, at(0.0)).unwrap();
            world.senders.push(sender);
            world.of_sender(actions);
        }
        world
    }

    /// Sends from `node` over its link downstream or upstream, with loss and delay.
    fn send(&mut self, node: usize, downstream: bool, packet: Outgoing) {
        let (link, to) = if downstream { (node, node + 1) } else { (node - 1, node - 1) };
        let interface = usize::from(!downstream && to != HOST);
        let drawn = self.dice.unit() < self.loss;
        let is_lost = match refreshed(&packet) {
            Some(flow) => {
                let lost = self.lost.entry((link, downstream, flow)).or_default();
                let is_lost = drawn && !(self.is_bounded && *lost >= MOST_LOST);
                *lost = if is_lost { *lost + 1 } else { 0 };
                is_lost
            }
            None => drawn,
        };
        if is_lost {
            return;
        }
        let arrival = (self.now + Duration::from_nanos_f64(self.dice.between(0.0, 5e6))).as_nanos();
        self.sent += 1;
        self.flying.push(Reverse((arrival, self.sent, to, interface, packet.ttl, packet.octets)));
    }
    fn of_sender(&mut self, actions: Vec<SenderAction>) {
        for action in actions {
            match action {
                SenderAction::Send(packet) => self.send(HOST, true, packet),
                SenderAction::ReservationTorn | SenderAction::ReservationExpired => self.removed += 1,
                SenderAction::Reserved(_) => self.reserved += 1,
                SenderAction::NoReservation => {}
                other => panic!("{other:?}"),
            }
        }
    }
    fn of_receiver(&mut self, actions: Vec<ReceiverAction>) {
        for action in actions {
            match action {
                ReceiverAction::Send(packet) => self.send(LAST, false, packet),
                ReceiverAction::PathTorn(_) | ReceiverAction::PathExpired(_) => self.removed += 1,
                ReceiverAction::Path(_) | ReceiverAction::Confirmed(..) | ReceiverAction::NoPath => {}
                // The router has lost its path state, and the receiver has not.
                ReceiverAction::ReservationError(_, error) => {
                    assert!([ErrorCode::NO_PATH, ErrorCode::NO_SENDER].contains(&error.code), "{error}");
                    assert!(self.loss > 0.0);
                }
                other => panic!("{other:?}"),
            }
        }
    }
    fn of_router(&mut self, index: usize, actions: Vec<RouterAction>) {
        for action in actions {
            match action {
                RouterAction::Send(packet) => self.send(index + 1, packet.interface == 1, packet),
                RouterAction::Remove(_) => self.removed += 1,
                RouterAction::Install(_) => {}
                // Loss and loss of state make messages without state.
                RouterAction::Discarded(romer_rsvp::Discard::NoState) => assert!(self.loss > 0.0),
                RouterAction::Discarded(other) => panic!("{other}"),
            }
        }
    }

    fn deadline(&self) -> Option<Moment> {
        let living = |node: usize| !self.dead[node];
        let senders = self.senders.iter().filter(|_| living(HOST)).filter_map(Sender::deadline);
        let routers = self.routers.iter().filter_map(Router::deadline);
        let receiver = self.receiver.deadline().filter(|_| living(LAST));
        let flying = self.flying.peek().map(|Reverse(packet)| Moment::from_nanos(packet.0));
        senders.chain(routers).chain(receiver).chain(flying).min()
    }

    fn run(&mut self, end: Moment) {
        while let Some(due) = self.deadline().filter(|due| *due <= end) {
            self.now = due;
            while let Some(Reverse(packet)) = self.flying.peek()
                && packet.0 <= due.as_nanos()
            {
                let Some(Reverse((_, _, node, interface, ttl, octets))) = self.flying.pop() else { break };
                self.deliver(node, &Arrival { interface, ttl, octets: &octets });
            }
            if !self.dead[HOST] {
                for index in 0..self.senders.len() {
                    let actions = self.senders[index].expire(due);
                    self.of_sender(actions);
                }
            }
            for index in 0..2 {
                let actions = self.routers[index].expire(due);
                self.accounts[index].advance(due);
                self.accounts[index].check(&self.routers[index]);
                self.of_router(index, actions);
            }
            if !self.dead[LAST] {
                let actions = self.receiver.expire(due);
                self.of_receiver(actions);
            }
        }
        self.now = end;
    }
    fn deliver(&mut self, node: usize, arrival: &Arrival<'_>) {
        if self.dead[node] {
            return;
        }
        match node {
            HOST => {
                for index in 0..self.senders.len() {
                    let actions = self.senders[index].receive(arrival, self.now);
                    self.of_sender(actions);
                }
            }
            LAST => {
                let actions = self.receiver.receive(arrival, self.now);
                self.of_receiver(actions);
            }
            router => {
                let index = router - 1;
                let actions = self.routers[index].receive(arrival, self.now);
                self.accounts[index].deliver(arrival.octets, self.now);
                self.accounts[index].check(&self.routers[index]);
                self.of_router(index, actions);
            }
        }
    }

    /// One schedule: a flow that lives for a while, the end of one or both hosts, and the time after.
    fn play(&mut self) {
        self.run(at(8.0 * self.period));
        if self.is_bounded {
            // Each of six hops needs at most three refreshes; usually triggered messages need none.
            self.run(at(30.0 * self.period));
            assert!(self.senders.iter().all(|sender| sender.reservation().is_some()), "set up");
            assert_eq!(self.removed, 0, "lost while refreshes arrive");
            assert_eq!(usize::try_from(self.reserved), Ok(self.senders.len()));
        }
        match self.dice.between(0.0, 4.0) {
            stops if stops < 1.0 => {
                for index in 0..self.senders.len() {
                    let actions = self.senders[index].stop();
                    self.of_sender(actions);
                }
            }
            stops if stops < 2.0 => {
                let actions = self.receiver.stop();
                self.of_receiver(actions);
            }
            vanishes if vanishes < 3.0 => self.dead[LAST] = true,
            _ => {}
        }
        let rest = self.dice.between(0.0, 10.0) * self.period;
        self.run(self.now + Duration::from_nanos_f64(rest * 1e9));
        // Both hosts vanish. State lives one lifetime in the first router, and one more in the second.
        self.dead = [true, false, false, true];
        self.run(
            self.now + Duration::from_nanos_f64(2.0 * 5.25 * self.period * 1e9) + Duration::from_millis(6),
        );
        for router in &self.routers {
            assert_eq!((router.paths().count(), router.reservations().count()), (0, 0), "after both hosts");
            assert_eq!(router.deadline(), None);
        }
    }
}

/// State lives exactly as long as its refreshes allow, whatever is lost; K - 1 successive losses remove no reservation; and
/// all state ends after its hosts.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test's own environment, not the model's")]
fn soft_state_follows_its_refreshes() {
    let schedules = std::env::var("ROMER_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut removed = 0;
    for seed in 0..schedules {
        let played = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            world.play();
            world.removed
        });
        match played {
            Ok(count) => removed += count,
            Err(panic) => {
                eprintln!("schedule {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(removed >= schedules, "{removed} removals: hardly any loss");
}
