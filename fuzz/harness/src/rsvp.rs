//! RSVP packets that a sender, a receiver and a router receive.

use core::net::Ipv4Addr;

use romer_rsvp::{
    Adspec, Arrival, End, Filter, Hop, Interface, Moment, Outgoing, Packet, PayloadTraffic, QosService,
    Receiver, ReceiverAction, ReceiverConfig, RefreshPeriod, Router, RouterAction, RouterConfig, Sender,
    SenderAction, SenderConfig, Session, Tspec,
};
use romer_units::Duration;
use romer_units::random;
use romer_wire::checksum::checksum;

use crate::{Seed, assert_message};

const SENDER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 2);
const ROUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 19, 0, 1)];
const PORT: u16 = 5_003;
/// What the router may reserve, in octets/s.
const RESERVABLE: f64 = 16_000.0;
const SEED: random::Seed = random::Seed([2, 2, 0, 5, 4, 6]);
const WAIT: Duration = Duration::from_secs(30);
const ORIGIN: Moment = Moment::from_nanos(0);

struct Nodes {
    sender: Sender,
    receiver: Receiver,
    router: Router,
    now: Moment,
}

fn session() -> Session {
    Session::new(RECEIVER, 17, PORT).expect("an address and a protocol")
}

fn sender() -> Sender {
    let traffic =
        PayloadTraffic { payload: 64, rate: 3_000.0, bucket: 64.0, policed_unit: 64, packet_size: 64 };
    let config = SenderConfig {
        session: session(),
        source: Filter::new(SENDER, PORT).expect("an address"),
        tspec: Tspec::prorated(&traffic).expect("legal traffic"),
        adspec: Some(Adspec::announce(1_500, &[QosService::Guaranteed, QosService::ControlledLoad])),
        period: RefreshPeriod::DEFAULT,
        wait: WAIT,
    };
    let (sender, actions) = Sender::start(config, SEED, ORIGIN).expect("an address of a node");
    assert!(matches!(actions[..], [SenderAction::Send(_)]));
    sender
}

fn router() -> Router {
    let interface = |address| Interface {
        address: Hop::new(address, 0).expect("an address of a node"),
        mtu: 1_500,
        bandwidth: 16_000.0,
        reservable: RESERVABLE,
        latency: Some(50),
    };
    let route = |prefix: &str, number| (prefix.parse().expect("a prefix"), number);
    let config = RouterConfig {
        interfaces: ROUTER.map(interface).to_vec(),
        routes: vec![route("198.18.0.0/24", 0), route("0.0.0.0/0", 1)],
        period: RefreshPeriod::DEFAULT,
        most_flows: 4,
    };
    Router::new(config, SEED).expect("routes to its interfaces")
}

impl Nodes {
    fn new() -> Self {
        let config = ReceiverConfig {
            session: session(),
            address: RECEIVER,
            service: None,
            confirm: true,
            mtu: 1_500,
            period: RefreshPeriod::DEFAULT,
            wait: WAIT,
        };
        let receiver = Receiver::start(config, SEED, ORIGIN).expect("an address of a node");
        Self { sender: sender(), receiver, router: router(), now: ORIGIN }
    }

    /// Gives a packet to all nodes, as the router would receive it at `interface`.
    fn deliver(&mut self, interface: usize, ttl: u8, octets: &[u8]) {
        let arrival = Arrival { interface, ttl, octets };
        for action in self.sender.receive(&arrival, self.now) {
            match action {
                SenderAction::Send(packet) => assert_sound(&packet),
                SenderAction::PathError(error) => assert_message(&error, 200),
                SenderAction::Discarded(why) => assert_message(&why, 200),
                _ => {}
            }
        }
        for action in self.receiver.receive(&arrival, self.now) {
            match action {
                ReceiverAction::Send(packet) => assert_sound(&packet),
                ReceiverAction::ReservationError(_, error) => assert_message(&error, 200),
                ReceiverAction::Discarded(why) => assert_message(&why, 200),
                _ => {}
            }
        }
        self.assert_router_actions(|router, now| router.receive(&arrival, now));
        let deadlines = [self.sender.deadline(), self.receiver.deadline(), self.router.deadline()];
        assert!(deadlines.into_iter().flatten().all(|at| at > self.now), "something is still due");
    }

    fn assert_router_actions(&mut self, act: impl FnOnce(&mut Router, Moment) -> Vec<RouterAction>) {
        for action in act(&mut self.router, self.now) {
            match action {
                RouterAction::Send(packet) => assert_sound(&packet),
                RouterAction::Discarded(why) => assert_message(&why, 200),
                RouterAction::Install(reservation) => {
                    assert!(reservation.expires > self.now, "a reservation has a lifetime");
                }
                RouterAction::Remove(_) => {}
            }
        }
        for interface in 0..ROUTER.len() {
            assert!(
                self.router.reserved_rate(interface) <= RESERVABLE * (1.0 + 1e-9),
                "too much is reserved"
            );
        }
        assert!(self.router.paths().count() <= 4, "too many flows");
    }

    /// Without packets all state ends.
    fn end(mut self) {
        // No lifetime is longer than 52.5 minutes.
        self.now = self.now + Duration::from_secs(3_151);
        let _ = (self.sender.expire(self.now), self.receiver.expire(self.now));
        self.assert_router_actions(|router, now| router.expire(now));
        assert_eq!((self.router.paths().count(), self.receiver.requests().count()), (0, 0));
        assert_eq!(self.sender.reservation(), None);
    }
}

/// What a node sends is a legal message, and is sent again as the same octets.
fn assert_sound(packet: &Outgoing) {
    let read = Packet::parse(&packet.octets).expect("a node sends legal messages");
    assert_eq!(read.send_ttl, packet.ttl);
    assert_eq!(read.message.kind().has_router_alert(), packet.router_alert);
    assert_eq!(read.emit().as_ref(), Ok(&packet.octets));
}

/// The message with the length and the checksum that belong to it.
fn sealed(mut octets: Vec<u8>) -> Vec<u8> {
    if let (Ok(length), true) = (u16::try_from(octets.len()), octets.len() >= 8) {
        octets[6..8].copy_from_slice(&length.to_be_bytes());
        octets[2..4].fill(0);
        let checksum = checksum(&octets).to_be_bytes();
        octets[2..4].copy_from_slice(&checksum);
    }
    octets
}

/// Packets one after another: an octet with the interface (lowest bit), whether length and checksum stay as they are (next
/// bit), and seconds that pass before; an octet with the TTL; two with the length; and the message.
pub(crate) fn run(octets: &[u8]) {
    let mut nodes = Nodes::new();
    let mut rest = octets;
    while let Some((&[how, ttl, high, low], after)) = rest.split_first_chunk::<4>() {
        let length = usize::from(u16::from_be_bytes([high, low])).min(after.len());
        let (message, next) = after.split_at(length);
        rest = next;
        nodes.now = nodes.now + Duration::from_secs(i64::from(how >> 2));
        let message = if how & 2 == 0 { sealed(message.to_vec()) } else { message.to_vec() };
        if let Ok(packet) = Packet::parse(&message) {
            let emitted = packet.emit().expect("what is read is not too long");
            assert_eq!(Packet::parse(&emitted), Ok(packet), "what is sent is read as the same");
        }
        nodes.deliver(usize::from(how & 1), ttl, &message);
    }
    nodes.end();
}

/// A packet in a script.
fn packet(how: u8, ttl: u8, message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX).to_be_bytes();
    [&[how, ttl], &length[..], message].concat()
}

/// A test vector of the crate.
fn vector(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.trim().chars().filter_map(|digit| digit.to_digit(16)?.try_into().ok()).collect();
    digits.as_chunks().0.iter().map(|[high, low]| high << 4 | low).collect()
}

macro_rules! vector {
    ($name:literal) => {
        vector(include_str!(concat!("../../../crates/model/rsvp/tests/vectors/", $name, ".hex")))
    };
}

/// The message with an object of class `number` after its header.
fn with_object(message: &[u8], number: u8) -> Vec<u8> {
    let (header, objects) = message.split_at(8);
    [header, &[0, 8, number, 1, 1, 2, 3, 4], objects].concat()
}

/// The message with the destination port zero in its SESSION object, which is the first.
fn with_zero_port(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    message[18..20].fill(0);
    message
}

pub(crate) fn seeds() -> Vec<Seed> {
    let (path, resv, load) = (vector!("path"), vector!("resv_gr"), vector!("resv_cl"));
    let (path_tear, resv_tear) = (vector!("pathtear"), vector!("resvtear"));
    let (confirmation, refusal) = (vector!("resvconf"), vector!("resverr_admission"));
    let first = packet(0, 255, &path);
    let reserved = [&first[..], &packet(1, 255, &resv)].concat();
    let after = |messages: &[Vec<u8>]| [&reserved[..], &messages.concat()].concat();
    vec![
        Seed::new("path", first.clone()),
        Seed::new("reservation", reserved.clone()),
        Seed::new("controlled_load", after(&[packet(1, 255, &load)])),
        Seed::new("path_teardown", after(&[packet(0, 255, &path_tear)])),
        Seed::new("reservation_teardown", after(&[packet(1, 255, &resv_tear)])),
        Seed::new("confirmation", after(&[packet(0, 255, &confirmation)])),
        Seed::new("refusal", after(&[packet(0, 255, &refusal)])),
        Seed::new(
            "refreshes",
            after(&[packet(252, 255, &path), packet(253, 255, &resv), packet(252, 255, &path)]),
        ),
        Seed::new("hop_without_rsvp", packet(0, 250, &path)),
        Seed::new("unknown_class", packet(0, 255, &with_object(&path, 0x3d))),
        Seed::new("ignored_class", packet(0, 255, &with_object(&path, 0x80))),
        Seed::new(
            "forwarded_class",
            [packet(0, 255, &with_object(&path, 0xc0)), packet(1, 255, &resv)].concat(),
        ),
        Seed::new("as_it_is", packet(2, 255, &path)),
        Seed::new("cut", packet(0, 255, &path[..40])),
        Seed::new(
            "fault_with_zero_port",
            [first.clone(), packet(1, 255, &with_object(&with_zero_port(&resv), 0x3d))].concat(),
        ),
        Seed::new("empty", []),
    ]
}
