//! Messages that tshark decodes with all their objects, byte for byte.

use romer_rsvp::message::{Flow, Forwarded, SenderReference};
use romer_rsvp::object::{Confirm, Style};
use romer_rsvp::{ErrorCode, ErrorSpec, Flowspec, Hop, Message, Packet, RefreshPeriod, Sender, SenderAction};

use crate::common::{
    PORT, RECEIVER, ROUTER, SEED, SENDER, at, guaranteed, sender_config, session, source, tspec,
};

pub(crate) const VECTORS: [(&str, &str); 7] = [
    ("path", include_str!("../vectors/path.hex")),
    ("pathtear", include_str!("../vectors/pathtear.hex")),
    ("resv_cl", include_str!("../vectors/resv_cl.hex")),
    ("resv_gr", include_str!("../vectors/resv_gr.hex")),
    ("resvconf", include_str!("../vectors/resvconf.hex")),
    ("resverr_admission", include_str!("../vectors/resverr_admission.hex")),
    ("resvtear", include_str!("../vectors/resvtear.hex")),
];
const CAPTURE: &[u8] = include_bytes!("../vectors/v.pcap");

/// Octets in hexadecimal.
pub(crate) fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.trim().bytes().collect();
    let pair = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

/// The same messages from this crate's types.
fn messages() -> [(&'static str, Message); 7] {
    let session = session();
    let hop = |address| Hop::new(address, 0).unwrap();
    let (period, forwarded) = (RefreshPeriod::DEFAULT, Forwarded::new());
    let filter = source(PORT);
    let flow = Flow { flowspec: guaranteed(), filter };
    let torn = Flow { flowspec: Some(guaranteed()), filter };
    let resv = |flowspec| Message::Resv {
        session,
        hop: hop(RECEIVER),
        period,
        confirm: Some(Confirm(RECEIVER)),
        flows: Flow { flowspec, filter }.into(),
        forwarded: Forwarded::new(),
    };
    let (_, actions) = Sender::start(sender_config(PORT), SEED, at(0.0)).unwrap();
    let [SenderAction::Send(path)] = &actions[..] else { panic!("{actions:?}") };
    let tear = SenderReference { template: filter, tspec: Some(tspec()), adspec: None };
    [
        ("path", Packet::parse(&path.octets).unwrap().message),
        (
            "pathtear",
            Message::PathTear { session, hop: hop(SENDER), sender: tear, forwarded: forwarded.clone() },
        ),
        ("resv_cl", resv(Flowspec::controlled_load(tspec()))),
        ("resv_gr", resv(guaranteed())),
        (
            "resvconf",
            Message::ResvConf {
                session,
                error: ErrorSpec::new(SENDER, ErrorCode::CONFIRMATION),
                confirm: Confirm(RECEIVER),
                flows: flow.into(),
                forwarded: forwarded.clone(),
            },
        ),
        (
            "resverr_admission",
            Message::ResvErr {
                session,
                hop: hop(SENDER),
                error: ErrorSpec::new(ROUTER[0], ErrorCode::BANDWIDTH),
                style: Style::FIXED_FILTER,
                flow: Some(torn),
                forwarded: forwarded.clone(),
            },
        ),
        ("resvtear", Message::ResvTear { session, hop: hop(RECEIVER), flows: torn.into(), forwarded }),
    ]
}

/// This crate emits the vectors.
#[test]
fn emitted_messages_equal_vectors() {
    for ((name, hex), (own, message)) in VECTORS.into_iter().zip(messages()) {
        assert_eq!(name, own);
        let emitted = Packet { send_ttl: 255, message }.emit().unwrap();
        assert_eq!(emitted, octets(hex), "{name}");
    }
}

/// This crate reads the vectors, with every field.
#[test]
fn parsed_vectors_equal_messages() {
    for ((name, hex), (_, message)) in VECTORS.into_iter().zip(messages()) {
        assert_eq!(Packet::parse(&octets(hex)), Ok(Packet { send_ttl: 255, message }), "{name}");
    }
}

/// The capture has the messages in IPv4 packets with TTL 255 and protocol 46. Path, PathTear and ResvConf have Router Alert,
/// and a sender's first packet equals that of the capture.
#[test]
fn captured_packets_equal_vectors() {
    let mut rest = &CAPTURE[24..];
    let mut count = 0;
    while !rest.is_empty() {
        let length = usize::try_from(u32::from_le_bytes(rest[8..12].try_into().unwrap())).unwrap();
        let (packet, next) = rest[16..].split_at(length);
        rest = next;
        let header = usize::from(packet[0] & 15) * 4;
        let (ip, message) = packet.split_at(header);
        assert!(VECTORS.iter().any(|(_, hex)| octets(hex) == message));
        assert_eq!((ip[8], ip[9]), (romer_rsvp::TTL, romer_rsvp::PROTOCOL));
        let kind = Packet::parse(message).unwrap().message.kind();
        assert_eq!(ip[20..] == [0x94, 4, 0, 0], kind.has_router_alert(), "{kind:?}");
        assert_eq!(ip.len() == 24, kind.has_router_alert(), "{kind:?}");
        count += 1;
    }
    assert_eq!(count, 7);
    let (_, actions) = Sender::start(sender_config(PORT), SEED, at(0.0)).unwrap();
    let [SenderAction::Send(path)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(path.octets, octets(VECTORS[0].1));
    assert_eq!((path.source, path.destination), (SENDER, RECEIVER));
    assert!(path.router_alert && path.ttl == romer_rsvp::TTL);
}

/// A wrong checksum, length, version or type is a fault; a checksum of zero means that there is none.
#[test]
fn damaged_headers_are_refused() {
    let good = octets(VECTORS[0].1);
    let changed = |place: usize, octet: u8| {
        let mut bad = good.clone();
        bad[place] = octet;
        Packet::parse(&bad)
    };
    for (place, octet) in good.iter().enumerate() {
        assert!(changed(place, octet ^ 0x40).is_err(), "octet {place}");
    }
    assert!(Packet::parse(&[&good[..], &[0; 4]].concat()).is_err());
    let mut without = good;
    without[2..4].fill(0);
    assert!(Packet::parse(&without).is_ok());
}

/// A sum of zero is sent as all ones, because zero means that there is no checksum.
#[test]
fn checksums_are_never_zero() {
    let Message::ResvTear { session, flows, forwarded, .. } = messages().into_iter().last().unwrap().1 else {
        panic!()
    };
    let mut ones = 0;
    for handle in 0..=u32::from(u16::MAX) {
        let hop = Hop::new(RECEIVER, handle).unwrap();
        let message = Message::ResvTear { session, hop, flows: flows.clone(), forwarded: forwarded.clone() };
        let octets = Packet { send_ttl: 255, message }.emit().unwrap();
        assert_ne!(octets[2..4], [0, 0], "handle {handle}");
        ones += u32::from(octets[2..4] == [0xff, 0xff]);
        assert!(Packet::parse(&octets).is_ok());
    }
    assert!(ones > 0, "no handle gives a sum of zero");
}
