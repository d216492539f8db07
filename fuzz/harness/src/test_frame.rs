//! What the tester of a benchmark reads of any frame that a device sends it: test frames, and questions for its address.

use std::net::IpAddr;

use romer_units::Dscp;
use romer_wire::ethernet::{MacAddress, Tag, TagProtocol};
use romer_wire::ip::Ecn;
use romer_wire::neighbour::{Message, ask, read, reply};
use romer_wire::test_frame::{Carried, Form, MARK, Mark, Signature, locate};

use crate::Seed;

const SIGNATURE: Signature = Signature(0x1851_0917);
const OURS: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const THEIRS: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

pub(crate) fn run(octets: &[u8]) {
    if let Some(seen) = locate(octets)
        && let Some(place) = octets.get(seen.mark..)
        && let Some(mark) = SIGNATURE.read(place)
    {
        let mut again = [0; MARK];
        assert!(SIGNATURE.emit(mark, &mut again));
        assert_eq!(again[..16], place[..16], "a mark is what was written");
        assert_eq!(SIGNATURE.read(&again), Some(mark));
    }
    if let Some(Message::Asks { target, asker, asker_mac }) = read(octets) {
        assert_eq!(target.is_ipv4(), asker.is_ipv4(), "a question is of one version");
        if let Some(answer) = reply(target, OURS, asker, asker_mac) {
            assert!(answer.len() <= 128, "an answer is short");
            assert_eq!(read(&answer), Some(Message::Tells { address: target, mac: OURS }));
        }
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    let address = |text: &str| -> IpAddr { text.parse().expect("an address") };
    let (v4, v6) =
        ([address("198.18.0.2"), address("198.19.0.2")], [address("2001:2::2"), address("2001:2::3")]);
    let frame = |addresses: [IpAddr; 2], carried, tag| {
        let form = Form {
            destination_mac: THEIRS,
            source_mac: OURS,
            tag,
            source: addresses[0],
            destination: addresses[1],
            dscp: Dscp::EF,
            ecn: Ecn::of_tos(0),
            ttl: 64,
            carried,
        };
        let mut template = form.template(form.least()).expect("its least size");
        let mark = Mark { stream: 3, sequence: 77, sent: 1_000_000 };
        SIGNATURE.emit(mark, &mut template.octets[template.mark..]);
        template.octets
    };
    let udp = Carried::Udp { source: 50_000, destination: 50_001 };
    let tcp = Carried::Tcp { source: 50_000, destination: 50_001 };
    let question = |addresses: [IpAddr; 2]| ask(addresses[1], addresses[0], THEIRS).unwrap_or_default();
    vec![
        Seed::new("udp_v4", frame(v4, udp, None)),
        Seed::new("udp_v6", frame(v6, udp, None)),
        Seed::new("tcp_tagged", frame(v4, tcp, Tag::new(TagProtocol::Customer, 5, false, 10))),
        Seed::new("plain", frame(v4, Carried::Plain, None)),
        Seed::new("arp_question", question(v4)),
        Seed::new("neighbour_solicitation", question(v6)),
        Seed::new("arp_answer", reply(v4[0], OURS, v4[1], THEIRS).unwrap_or_default()),
        Seed::new("neighbour_advertisement", reply(v6[0], OURS, v6[1], THEIRS).unwrap_or_default()),
        Seed::new("tcp_v6", frame(v6, tcp, None)),
        Seed::new("service_tagged", frame(v6, udp, Tag::new(TagProtocol::Service, 0, true, 4_094))),
        Seed::new("cut_in_its_mark", frame(v4, udp, None)[..50].to_vec()),
    ]
}
