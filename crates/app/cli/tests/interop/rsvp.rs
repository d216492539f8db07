//! tshark (Wireshark) reads every RSVP message that sender, router and receiver send.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use romer_rsvp::{
    Adspec, Arrival, End, Filter, Hop, Interface, Moment, Outgoing, PayloadTraffic, QosService, Receiver,
    ReceiverConfig, RefreshPeriod, Router, RouterAction, RouterConfig, Sender, SenderConfig, Session, Tspec,
};
use romer_units::random::Seed;
use romer_units::{Duration, Prefix};

use super::common::process;

const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
const FAR: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 2);
const SEED: Seed = Seed([1, 2, 3, 4, 5, 6]);
/// UDP.
const PROTOCOL: u8 = 17;
/// The rate of a flow with headers, octets/s: 3,000 of 64-octet packets.
const RATE: f64 = 4_312.5;

/// Two hosts with a router between them, and every packet that they have sent.
struct Network {
    senders: Vec<Sender>,
    router: Router,
    receivers: Vec<Receiver>,
    sent: Vec<Outgoing>,
}

impl Network {
    /// The router has room for one reservation and two flows.
    fn new() -> Self {
        let interface = |network| Interface {
            address: Hop::new(Ipv4Addr::new(198, network, 0, 1), 0).unwrap(),
            mtu: 1_500,
            bandwidth: 16_000.0,
            reservable: RATE,
            latency: Some(10),
        };
        let route =
            |network, number| (Prefix::new(Ipv4Addr::new(198, network, 0, 0).into(), 24).unwrap(), number);
        let config = RouterConfig {
            interfaces: vec![interface(18), interface(19)],
            routes: vec![route(18, 0), route(19, 1)],
            period: RefreshPeriod::DEFAULT,
            most_flows: 2,
        };
        let router = Router::new(config, SEED).unwrap();
        Self { senders: Vec::new(), router, receivers: Vec::new(), sent: Vec::new() }
    }

    fn now() -> Moment {
        Moment::from_nanos(0)
    }

    fn receive_flow(&mut self, port: u16, service: QosService) {
        let config = ReceiverConfig {
            session: Session::new(FAR, PROTOCOL, port).unwrap(),
            address: FAR,
            service: Some(service),
            confirm: true,
            mtu: 1_500,
            period: RefreshPeriod::DEFAULT,
            wait: Duration::from_secs(30),
        };
        self.receivers.push(Receiver::start(config, SEED, Self::now()).unwrap());
    }

    fn send_flow(&mut self, port: u16) {
        let traffic =
            PayloadTraffic { payload: 64, rate: 3_000.0, bucket: 64.0, policed_unit: 64, packet_size: 64 };
        let config = SenderConfig {
            session: Session::new(FAR, PROTOCOL, port).unwrap().with_e_police(true),
            source: Filter::new(NEAR, port).unwrap(),
            tspec: Tspec::prorated(&traffic).unwrap(),
            adspec: Some(Adspec::announce(1_500, &[QosService::Guaranteed, QosService::ControlledLoad])),
            period: RefreshPeriod::DEFAULT,
            wait: Duration::from_secs(30),
        };
        let (sender, actions) = Sender::start(config, SEED, Self::now()).unwrap();
        self.senders.push(sender);
        self.deliver(packets::<Sender>(actions), 0);
    }

    /// Delivers packets of a host at the router's interface of this number, and all that follows.
    fn deliver(&mut self, of_hosts: Vec<Outgoing>, number: usize) {
        let mut queue: Vec<(usize, Outgoing)> = of_hosts.into_iter().map(|packet| (number, packet)).collect();
        while !queue.is_empty() {
            let (interface, packet) = queue.remove(0);
            let arrival = Arrival { interface, ttl: packet.ttl, octets: &packet.octets };
            let actions = self.router.receive(&arrival, Self::now());
            self.sent.push(packet);
            for action in actions {
                let RouterAction::Send(packet) = action else { continue };
                let arrival = Arrival { interface: 0, ttl: packet.ttl, octets: &packet.octets };
                let answers: Vec<Outgoing> = if packet.interface == 0 {
                    let receive = |sender: &mut Sender| sender.receive(&arrival, Self::now());
                    self.senders.iter_mut().flat_map(receive).filter_map(packet_of::<Sender>).collect()
                } else {
                    let receive = |receiver: &mut Receiver| receiver.receive(&arrival, Self::now());
                    self.receivers.iter_mut().flat_map(receive).filter_map(packet_of::<Receiver>).collect()
                };
                queue.extend(answers.into_iter().map(|answer| (packet.interface, answer)));
                self.sent.push(packet);
            }
        }
    }
}

fn packet_of<E: End>(action: E::Action) -> Option<Outgoing> {
    E::sent_packet(action).ok()
}

fn packets<E: End>(actions: Vec<E::Action>) -> Vec<Outgoing> {
    actions.into_iter().filter_map(packet_of::<E>).collect()
}

/// A capture of IP packets without a link layer (pcap, link type 101).
fn capture(packets: &[Outgoing]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0]);
    file.extend([0, 0, 65_535, 101_u32].iter().flat_map(|word| word.to_le_bytes()));
    for packet in packets {
        let octets = packet.to_ipv4().unwrap();
        let length = u32::try_from(octets.len()).unwrap();
        file.extend([0, 0, length, length].iter().flat_map(|word| word.to_le_bytes()));
        file.extend(octets);
    }
    file
}

/// What tshark prints of a capture with these arguments; `None` where there is none, which CI does not allow.
fn tshark(file: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-o", "ip.check_checksum:TRUE"]).args(arguments);
    match command.output() {
        Ok(output) => Some(process::Ended::from(output).with_code(0).stdout),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "tshark: {error}; scripts/need tshark installs it");
            None
        }
    }
}

/// Every kind of message, of hosts and of the router, is decoded without a fault, with right checksums of IP and RSVP, and with the
/// objects of RFC 2210.
#[test]
fn tshark_decodes_every_message() {
    let mut network = Network::new();
    for (port, service) in [
        (5_003, QosService::Guaranteed),
        (5_004, QosService::ControlledLoad),
        (5_005, QosService::Guaranteed),
    ] {
        network.receive_flow(port, service);
        // The second is refused its reservation, and the third its path state.
        network.send_flow(port);
    }
    let mut receivers = std::mem::take(&mut network.receivers);
    for receiver in &mut receivers {
        network.deliver(packets::<Receiver>(receiver.stop()), 1);
    }
    let mut senders = std::mem::take(&mut network.senders);
    for sender in &mut senders {
        network.deliver(packets::<Sender>(sender.stop()), 0);
    }

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rsvp.pcap");
    std::fs::write(&file, capture(&network.sent)).unwrap();
    let fields = ["-T", "fields", "-e", "rsvp.msg", "-e", "ip.checksum.status", "-e", "_ws.expert.message"];
    let Some(listed) = tshark(&file, &fields) else { return };
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), network.sent.len(), "{listed}");
    let mut kinds = [0; 8];
    for line in &lines {
        let mut columns = line.split('\t');
        let kind: usize = columns.next().unwrap().parse().unwrap_or_else(|_| panic!("not decoded: {line:?}"));
        kinds[kind] += 1;
        assert_eq!(columns.next(), Some("1"), "the checksum of IP: {line:?}");
        assert_eq!(columns.next().unwrap_or_default(), "", "{line:?}");
    }
    assert!(kinds[1..].iter().all(|count| *count > 0), "each of the seven kinds: {kinds:?}");

    let text = tshark(&file, &["-V"]).unwrap();
    let has = |part: &str| text.matches(part).count();
    assert_eq!(has("Message Checksum: 0x"), lines.len(), "{text}");
    assert_eq!(
        text.lines()
            .filter(|line| line.contains("Message Checksum: ") && line.ends_with("[correct]"))
            .count(),
        lines.len()
    );
    assert_eq!(has("Malformed"), 0, "{text}");
    for part in ["SENDER TSPEC: ", "FLOWSPEC: ", "ADSPEC\n", "Router Alert", "Token bucket rate"] {
        assert!(has(part) > 0, "{part}: {text}");
    }
}
