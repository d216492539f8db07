//! Messages that a node reports to their origin, and objects of unknown classes.

use romer_rsvp::message::{Forwarded, SenderDescriptor};
use romer_rsvp::object::class;
use romer_rsvp::{
    Adspec, Discard, End, ErrorCode, ErrorSpec, Filter, Hop, Message, Outgoing, Packet, ReceiverAction,
    RefreshPeriod, RouterAction, SenderAction, Session,
};

use crate::common::{
    BOTH, Chain, PORT, RECEIVER, ROUTER, SENDER, Seen, at, objects, read, receiver_config, router_config,
    sender_config, session, source, tspec, with_object, with_objects,
};
use crate::vectors::{VECTORS, octets};

fn chain() -> Chain {
    Chain::new(router_config(16_000.0), receiver_config())
}

/// The vector of this name.
fn vector(name: &str) -> Vec<u8> {
    octets(VECTORS.iter().find(|vector| vector.0 == name).unwrap().1)
}

/// The vector with one octet of its object of class `number` changed.
fn changed(name: &str, number: u8, place: usize, octet: u8) -> Vec<u8> {
    let good = vector(name);
    let mut all = objects(&good);
    let object = all.iter_mut().find(|object| object.0 == number).unwrap();
    object.1[place] = octet;
    with_objects(&good, &all)
}

fn path_errors(seen: &Seen) -> Vec<ErrorSpec> {
    let error = |action: &SenderAction| match action {
        SenderAction::PathError(error) => Some(*error),
        _ => None,
    };
    seen.sender.iter().filter_map(error).collect()
}

/// What the router answers to `octets` at `interface`, and to whom.
fn answer(octets: &[u8], interface: usize) -> Option<(Outgoing, Message)> {
    let mut chain = chain();
    let _ = chain.start(sender_config(PORT));
    chain.packets.clear();
    let seen = chain.inject(interface, octets);
    assert!(seen.router.iter().any(|action| matches!(action, RouterAction::Discarded(_))));
    chain.packets.first().map(|packet| (packet.clone(), read(packet).message))
}

/// RFC 2205 section 3.10 and appendix B: the faults of a Path message that reach its sender, as text.
#[test]
fn path_faults_reach_the_sender() {
    let mut chain = chain();
    let _ = chain.start(sender_config(PORT));
    let path = vector("path");
    let cases = [
        (with_object(&path, 0x3d, 7), "an object class is not known (code 13, class 61, C-Type 7)"),
        (
            changed("path", class::SENDER_TSPEC, 3, 1),
            "an object C-Type is not known (code 14, class 12, C-Type 1)",
        ),
        (changed("path", class::SENDER_TSPEC, 12, 0xff), "the SENDER_TSPEC is wrong (code 21, value 4)"),
        (changed("path", class::ADSPEC, 4, 0x10), "the ADSPEC is wrong (code 21, value 5)"),
    ];
    for (octets, text) in cases {
        let seen = chain.inject(0, &octets);
        let errors: Vec<String> = path_errors(&seen).iter().map(ToString::to_string).collect();
        assert_eq!(errors, [format!("{} reports: {text}", ROUTER[0])]);
        assert_eq!(
            chain.packets.last().map(|packet| (packet.source, packet.destination)),
            Some((ROUTER[0], SENDER))
        );
    }
    assert!(chain.senders[0].reservation().is_some(), "an error changes no state");
}

/// The same for a Resv message and its receiver.
#[test]
fn reservation_faults_reach_the_receiver() {
    let cases = [
        (with_object_before_style(0x3d), ErrorCode::new(13, 0x3d07)),
        (changed("resv_gr", class::FLOWSPEC, 3, 1), ErrorCode::new(14, 0x0901)),
        (changed("resv_gr", class::FLOWSPEC, 8, 6), ErrorCode::UNSUPPORTED_SERVICE),
        (changed("resv_gr", class::FLOWSPEC, 16, 0xff), ErrorCode::BAD_FLOWSPEC),
        (changed("resv_gr", class::STYLE, 7, 0b10001), ErrorCode::UNKNOWN_STYLE),
    ];
    for (octets, code) in cases {
        let (packet, message) = answer(&octets, 1).unwrap();
        assert_eq!((packet.source, packet.destination), (ROUTER[1], RECEIVER));
        let Message::ResvErr { error, hop, style, .. } = message else { panic!("{message:?}") };
        assert_eq!((error, hop.address()), (ErrorSpec::new(ROUTER[1], code), ROUTER[1]));
        assert_eq!(style.is_fixed_filter(), code != ErrorCode::UNKNOWN_STYLE);
    }
}

/// A Resv message with an object of an unknown class.
fn with_object_before_style(number: u8) -> Vec<u8> {
    let good = vector("resv_gr");
    let mut all = objects(&good);
    all.insert(2, (number, vec![0, 8, number, 7, 1, 2, 3, 4]));
    with_objects(&good, &all)
}

/// A report of one fault quotes the filter as it is, though its port contradicts the session's (RFC 2205 section 3.2).
#[test]
fn conflicting_port_is_quoted() {
    let faulty = with_object_before_style(0x3d);
    let mut all = objects(&faulty);
    let session = all.iter_mut().find(|object| object.0 == class::SESSION).unwrap();
    session.1[10..12].fill(0);
    let (_, message) = answer(&with_objects(&faulty, &all), 1).unwrap();
    let Message::ResvErr { flow: Some(flow), session, .. } = message else { panic!("{message:?}") };
    assert_eq!(session.port(), 0);
    assert_ne!(flow.filter.port(), 0);
}

/// Faults of the format, and faults of messages that report or remove something, are not answered.
#[test]
fn other_faults_stay_local() {
    let good = vector("path");
    let hop = objects(&good).into_iter().filter(|object| object.0 != class::RSVP_HOP).collect::<Vec<_>>();
    for octets in [
        with_objects(&good, &hop),
        changed("path", class::SESSION, 8, 0),
        changed("path", class::TIME_VALUES, 6, 0).split_off(1),
        with_object(&vector("pathtear"), 0x3d, 7),
        with_object(&vector("resverr_admission"), 0x3d, 7),
        with_object(&vector("resvconf"), 0x3d, 7),
    ] {
        assert_eq!(answer(&octets, 0), None);
    }
}

/// Class numbers from 128 are ignored; those from 192 are kept, and every Path and Resv message has them. Object class 0 has
/// no meaning.
#[test]
fn unknown_classes_follow_their_number() {
    let classes = |octets: &[u8]| -> Vec<u8> { objects(octets).into_iter().map(|object| object.0).collect() };
    for (number, forwarded) in
        [(0x00, false), (0x80, false), (0xbf, false), (0xc0, true), (0xff, true), (14, true)]
    {
        let mut chain = chain();
        let _ = chain.inject(0, &with_object(&vector("path"), number, 1));
        let path = chain.packets.iter().find(|packet| packet.interface == 1).unwrap().octets.clone();
        assert_eq!(classes(&path).contains(&number), forwarded, "class {number} of a Path message");

        chain.packets.clear();
        let _ = chain.inject(1, &with_object_before_style(number));
        let resv = chain.packets.iter().find(|packet| packet.interface == 0 && packet.source == ROUTER[0]);
        // Without a change there is nothing to forward at once.
        let sent = resv.is_some_and(|packet| classes(&packet.octets).contains(&number));
        assert_eq!(sent, forwarded, "class {number} of a Resv message");
        // All refreshes have them too; they are due within 1.5 periods.
        let refreshes = chain.router.expire(at(46.0));
        let has = |action: &RouterAction| match action {
            RouterAction::Send(packet) => classes(&packet.octets).contains(&number),
            _ => panic!("{action:?}"),
        };
        assert_eq!(refreshes.iter().map(has).collect::<Vec<_>>(), [forwarded; 2]);
    }
}

/// A Path message.
fn path(session: Session, source: Filter, hop: core::net::Ipv4Addr) -> Vec<u8> {
    let message = Message::Path {
        session,
        hop: Hop::new(hop, 0).unwrap(),
        period: RefreshPeriod::DEFAULT,
        sender: SenderDescriptor {
            template: source,
            tspec: tspec(),
            adspec: Some(Adspec::announce(1_500, &BOTH)),
        },
        forwarded: Forwarded::new(),
    };
    Packet { send_ttl: 255, message }.emit().unwrap()
}

/// Sessions and senders are all with ports or all without (RFC 2205 section 3.2).
#[test]
fn ports_are_consistent() {
    let portless = Session::new(RECEIVER, 17, 0).unwrap();
    let zero = Filter::new(SENDER, 0).unwrap();
    let mut chain = chain();
    let _ = chain.start(sender_config(PORT));
    let codes = |chain: &mut Chain, octets: &[u8]| {
        chain.packets.clear();
        let _ = chain.inject(0, octets);
        let code =
            |message| if let Message::PathErr { error, .. } = message { Some(error.code) } else { None };
        chain.packets.iter().find_map(|packet| code(read(packet).message))
    };
    assert_eq!(codes(&mut chain, &path(portless, zero, SENDER)), Some(ErrorCode::DESTINATION_PORTS));
    assert_eq!(codes(&mut chain, &path(session(), zero, SENDER)), Some(ErrorCode::SENDER_PORTS));
    assert_eq!(codes(&mut chain, &path(portless, source(1), SENDER)), None);
    assert_eq!(chain.router.paths().count(), 1);
}

/// A flow whose previous hop changes gets its reservation refreshed there at once, though nothing changes for the receiver.
#[test]
fn moved_paths_are_reserved_at_once() {
    let mut chain = chain();
    let _ = chain.start(sender_config(PORT));
    chain.packets.clear();
    let detour = "198.18.0.77".parse().unwrap();
    let _ = chain.inject(0, &path(session(), source(PORT), detour));
    let resv = chain.packets.iter().find(|packet| packet.destination == detour).unwrap();
    assert!(matches!(read(resv).message, Message::Resv { .. }));
}

/// A Path message for the router itself, back to where it came from, or with a used TTL is not forwarded.
#[test]
fn unroutable_paths_are_discarded() {
    let mut chain = chain();
    let own = Session::new(ROUTER[1], 17, PORT).unwrap();
    let back = Session::new(SENDER, 17, PORT).unwrap();
    let nowhere = Session::new("203.0.113.1".parse().unwrap(), 17, PORT).unwrap();
    for session in [own, back, nowhere] {
        let seen = chain.inject(0, &path(session, source(PORT), SENDER));
        let discarded = Discard::NoRoute(session.destination());
        assert_eq!(seen.router, [RouterAction::Discarded(discarded)]);
    }
    let octets = path(session(), source(PORT), SENDER);
    for ttl in [0, 1] {
        let actions =
            chain.router.receive(&romer_rsvp::Arrival { interface: 0, ttl, octets: &octets }, at(0.0));
        assert_eq!(actions, [RouterAction::Discarded(Discard::Ttl)]);
    }
    assert_eq!(chain.router.paths().count(), 0);
}

/// An end reports the faults of its own session only.
#[test]
fn ends_report_faults_of_their_session() {
    let arrival = |octets| romer_rsvp::Arrival { interface: 0, ttl: 255, octets };
    let mut receiver = romer_rsvp::Receiver::start(receiver_config(), crate::common::SEED, at(0.0)).unwrap();
    let sends = |actions: &[ReceiverAction]| {
        actions.iter().filter(|action| matches!(action, ReceiverAction::Send(_))).count()
    };
    let bad = with_object(&vector("path"), 0x3d, 7);
    assert_eq!(sends(&receiver.receive(&arrival(&bad), at(0.0))), 1);
    let mut all = objects(&bad);
    all[0].1[11] ^= 1;
    let foreign = with_objects(&bad, &all);
    assert_eq!(sends(&receiver.receive(&arrival(&foreign), at(0.0))), 0);

    let (mut sender, _) =
        romer_rsvp::Sender::start(sender_config(PORT), crate::common::SEED, at(0.0)).unwrap();
    let bad = changed("resv_gr", class::STYLE, 7, 0b10010);
    let actions = sender.receive(&arrival(&bad), at(0.0));
    let [SenderAction::Send(report), SenderAction::Discarded(_)] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert!(matches!(read(report).message, Message::ResvErr { flow: None, .. }));
    assert_eq!(report.destination, RECEIVER);
}
