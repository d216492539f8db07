//! Addresses, configurations and packets that the claims share.

use core::net::Ipv4Addr;

use romer_rsvp::message::View;
use romer_rsvp::{
    Adspec, Arrival, End, Filter, Flowspec, Hop, Interface, Moment, Outgoing, Packet, PayloadTraffic,
    QosService, Receiver, ReceiverAction, ReceiverConfig, RefreshPeriod, Router, RouterAction, RouterConfig,
    Sender, SenderAction, SenderConfig, Session, Tspec,
};
use romer_units::Duration;
use romer_units::random::Seed;

pub(crate) const SENDER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
pub(crate) const RECEIVER: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 2);
/// The router towards the sender and the receiver.
pub(crate) const ROUTER: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 19, 0, 1)];
pub(crate) const PORT: u16 = 5_003;
pub(crate) const SEED: Seed = Seed([1, 2, 3, 4, 5, 6]);
pub(crate) const BOTH: [QosService; 2] = [QosService::Guaranteed, QosService::ControlledLoad];
pub(crate) const WAIT: Duration = Duration::from_secs(30);
/// 128 kbit/s.
pub(crate) const BANDWIDTH: f32 = 16_000.0;

pub(crate) fn at(seconds: f64) -> Moment {
    Moment::from_nanos(0) + Duration::from_nanos_f64(seconds * 1e9)
}

pub(crate) fn session() -> Session {
    Session::new(RECEIVER, 17, PORT).unwrap().with_e_police(true)
}

pub(crate) fn source(port: u16) -> Filter {
    Filter::new(SENDER, port).unwrap()
}

/// 64 octets at 3 kB/s.
pub(crate) fn tspec() -> Tspec {
    let traffic =
        PayloadTraffic { payload: 64, rate: 3_000.0, bucket: 64.0, policed_unit: 64, packet_size: 64 };
    Tspec::prorated(&traffic).unwrap()
}

pub(crate) fn guaranteed() -> Flowspec {
    Flowspec::guaranteed(tspec(), tspec().rate(), 0).unwrap()
}

pub(crate) fn sender_config(port: u16) -> SenderConfig {
    SenderConfig {
        session: session(),
        source: source(port),
        tspec: tspec(),
        adspec: Some(Adspec::announce(1_500, &BOTH)),
        period: RefreshPeriod::DEFAULT,
        wait: WAIT,
    }
}

pub(crate) fn receiver_config() -> ReceiverConfig {
    ReceiverConfig {
        session: session(),
        address: RECEIVER,
        service: None,
        confirm: true,
        mtu: 1_500,
        period: RefreshPeriod::DEFAULT,
        wait: WAIT,
    }
}

pub(crate) fn interface(address: Ipv4Addr, reservable: f64) -> Interface {
    let address = Hop::new(address, 0).unwrap();
    Interface { address, mtu: 1_500, bandwidth: BANDWIDTH, reservable, latency: None }
}

pub(crate) fn router_config(reservable: f64) -> RouterConfig {
    RouterConfig {
        interfaces: ROUTER.map(|address| interface(address, reservable)).to_vec(),
        routes: vec![("198.18.0.0/24".parse().unwrap(), 0), ("198.19.0.0/24".parse().unwrap(), 1)],
        period: RefreshPeriod::DEFAULT,
        most_flows: 100,
    }
}

/// The packet as it arrives at the next node.
pub(crate) fn arrival(packet: &Outgoing, interface: usize) -> Arrival<'_> {
    Arrival { interface, ttl: packet.ttl, octets: &packet.octets }
}

/// Octets with the length and the checksum that belong to them.
pub(crate) fn sealed(mut octets: Vec<u8>) -> Vec<u8> {
    let length = u16::try_from(octets.len()).unwrap();
    if octets.len() >= 8 {
        octets[6..8].copy_from_slice(&length.to_be_bytes());
        octets[2..4].fill(0);
        let checksum = romer_wire::checksum::checksum(&octets);
        octets[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
    octets
}

/// The packet with an object appended.
pub(crate) fn with_object(octets: &[u8], class: u8, ctype: u8) -> Vec<u8> {
    sealed([octets, &[0, 8, class, ctype, 1, 2, 3, 4]].concat())
}

/// The objects of a packet as class number and octets with header.
pub(crate) fn objects(octets: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let view = View::parse(octets).unwrap();
    let whole = |object: romer_rsvp::object::RawObject<'_>| {
        let length = u16::try_from(object.body.len() + 4).unwrap().to_be_bytes();
        (object.class, [&length[..], &[object.class, object.ctype], object.body].concat())
    };
    view.objects().map(|object| whole(object.unwrap())).collect()
}

/// The packet with its objects replaced.
pub(crate) fn with_objects(octets: &[u8], objects: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let body = objects.iter().flat_map(|(_, object)| object.iter().copied());
    sealed(octets[..8].iter().copied().chain(body).collect())
}

/// What a network of one sender host, one router and one receiver did, without its packets.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) sender: Vec<SenderAction>,
    pub(crate) receiver: Vec<ReceiverAction>,
    pub(crate) router: Vec<RouterAction>,
}

/// A sender host, a router and a receiver, whose packets arrive at once.
pub(crate) struct Chain {
    pub(crate) senders: Vec<Sender>,
    pub(crate) router: Router,
    pub(crate) receiver: Receiver,
    pub(crate) now: Moment,
    /// All packets that were sent, in order.
    pub(crate) packets: Vec<Outgoing>,
}

enum Event {
    Sender(SenderAction),
    Router(RouterAction),
    Receiver(ReceiverAction),
}

impl Chain {
    pub(crate) fn new(router: RouterConfig, receiver: ReceiverConfig) -> Self {
        let now = at(0.0);
        Self {
            senders: Vec::new(),
            router: Router::new(router, SEED).unwrap(),
            receiver: Receiver::start(receiver, SEED, now).unwrap(),
            now,
            packets: Vec::new(),
        }
    }

    /// Adds a sender, and delivers everything that follows.
    pub(crate) fn start(&mut self, config: SenderConfig) -> Seen {
        let (sender, actions) = Sender::start(config, SEED, self.now).unwrap();
        self.senders.push(sender);
        self.run(actions.into_iter().map(Event::Sender).collect())
    }
    pub(crate) fn stop_sender(&mut self, index: usize) -> Seen {
        let actions = self.senders[index].stop();
        self.run(actions.into_iter().map(Event::Sender).collect())
    }
    pub(crate) fn stop_receiver(&mut self) -> Seen {
        let actions = self.receiver.stop();
        self.run(actions.into_iter().map(Event::Receiver).collect())
    }
    /// Gives octets to the router.
    pub(crate) fn inject(&mut self, interface: usize, octets: &[u8]) -> Seen {
        let actions = self.router.receive(&Arrival { interface, ttl: 255, octets }, self.now);
        self.run(actions.into_iter().map(Event::Router).collect())
    }
    /// Does all that is due until `end`.
    pub(crate) fn advance(&mut self, end: Moment) -> Seen {
        let mut seen = Seen::default();
        loop {
            let deadlines = self.senders.iter().map(Sender::deadline);
            let due = deadlines.chain([self.router.deadline(), self.receiver.deadline()]).flatten().min();
            let Some(due) = due.filter(|due| *due <= end) else { break };
            self.now = due;
            let mut events: Vec<Event> = Vec::new();
            for sender in &mut self.senders {
                events.extend(sender.expire(due).into_iter().map(Event::Sender));
            }
            events.extend(self.router.expire(due).into_iter().map(Event::Router));
            events.extend(self.receiver.expire(due).into_iter().map(Event::Receiver));
            let Seen { sender, receiver, router } = self.run(events);
            seen.sender.extend(sender);
            seen.receiver.extend(receiver);
            seen.router.extend(router);
        }
        self.now = end;
        seen
    }

    fn run(&mut self, events: Vec<Event>) -> Seen {
        let mut seen = Seen::default();
        let mut queue = std::collections::VecDeque::from(events);
        while let Some(event) = queue.pop_front() {
            match event {
                Event::Sender(SenderAction::Send(packet)) => queue.extend(self.deliver_to_router(packet, 0)),
                Event::Receiver(ReceiverAction::Send(packet)) => {
                    queue.extend(self.deliver_to_router(packet, 1));
                }
                Event::Router(RouterAction::Send(packet)) => queue.extend(self.deliver_to_host(packet)),
                Event::Sender(action) => seen.sender.push(action),
                Event::Receiver(action) => seen.receiver.push(action),
                Event::Router(action) => seen.router.push(action),
            }
        }
        seen
    }
    fn deliver_to_router(&mut self, packet: Outgoing, interface: usize) -> Vec<Event> {
        let actions = self.router.receive(&arrival(&packet, interface), self.now);
        self.packets.push(packet);
        actions.into_iter().map(Event::Router).collect()
    }
    fn deliver_to_host(&mut self, packet: Outgoing) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::new();
        if packet.interface == 0 {
            for sender in &mut self.senders {
                let actions = sender.receive(&arrival(&packet, 0), self.now);
                events.extend(actions.into_iter().map(Event::Sender));
            }
        } else {
            let actions = self.receiver.receive(&arrival(&packet, 0), self.now);
            events.extend(actions.into_iter().map(Event::Receiver));
        }
        self.packets.push(packet);
        events
    }
}

/// The message of a packet.
pub(crate) fn read(packet: &Outgoing) -> Packet {
    Packet::parse(&packet.octets).unwrap()
}
