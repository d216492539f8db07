//! Requests and admission.

use romer_rsvp::message::{Flow, Forwarded};
use romer_rsvp::{
    Adspec, Breaks, End, ErrorCode, Filter, Flowspec, Hop, Message, Packet, PathReport, QosService,
    ReceiverAction, ReceiverConfig, RefreshPeriod, RouterAction, RouterConfig, SenderAction, SenderConfig,
    Tspec,
};

use crate::common::{
    BOTH, Chain, PORT, RECEIVER, ROUTER, SENDER, Seen, at, guaranteed, read, receiver_config, router_config,
    sender_config, session, source, tspec,
};

const RATE: f64 = 4_312.5;

fn errors(seen: &Seen) -> Vec<(Filter, ErrorCode, bool)> {
    let error = |action: &ReceiverAction| match action {
        ReceiverAction::ReservationError(source, error) => Some((*source, error.code, error.in_place)),
        _ => None,
    };
    seen.receiver.iter().filter_map(error).collect()
}

fn report(seen: &Seen) -> PathReport {
    let report = |action: &ReceiverAction| match action {
        ReceiverAction::Path(report) => Some(*report),
        _ => None,
    };
    seen.receiver.iter().find_map(report).unwrap()
}

/// The octets of a Resv message from the receiver.
fn resv(flowspec: Flowspec, port: u16) -> Vec<u8> {
    let message = Message::Resv {
        session: session(),
        hop: Hop::new(RECEIVER, 0).unwrap(),
        period: RefreshPeriod::DEFAULT,
        confirm: None,
        flows: Flow { flowspec, filter: source(port) }.into(),
        forwarded: Forwarded::new(),
    };
    Packet { send_ttl: 255, message }.emit().unwrap()
}

fn load(rate: f32) -> Flowspec {
    Flowspec::controlled_load(Tspec::new(rate, 92.0, f32::INFINITY, 92, 92).unwrap())
}

/// A reservation goes from the receiver to the sender, and the confirmation back; refreshes then request none.
#[test]
fn reservations_are_confirmed() {
    let mut chain = Chain::new(router_config(RATE), receiver_config());
    let seen = chain.start(sender_config(PORT));
    let reserved = guaranteed();
    assert_eq!(seen.sender, [SenderAction::Reserved(reserved)]);
    assert!(matches!(seen.router[..], [RouterAction::Install(install)]
        if install.flowspec == reserved && install.interface == 1));
    let confirmed = ReceiverAction::Confirmed(source(PORT), SENDER);
    assert_eq!(seen.receiver, [ReceiverAction::Path(report(&seen)), confirmed]);
    assert_eq!(chain.senders[0].reservation(), Some(reserved));
    assert!((chain.router.reserved_rate(1) - RATE).abs() < 1e-9);

    let kinds: Vec<&str> = chain.packets.iter().map(|packet| kind(&read(packet).message)).collect();
    assert_eq!(kinds, ["path", "path", "resv", "resv", "resvconf", "resvconf"]);
    for packet in &chain.packets {
        let Packet { send_ttl, message } = read(packet);
        assert_eq!((send_ttl, packet.router_alert), (packet.ttl, message.kind().has_router_alert()));
    }
    let addresses: Vec<_> = chain.packets.iter().map(|packet| (packet.source, packet.destination)).collect();
    let hops = [(RECEIVER, ROUTER[1]), (ROUTER[0], SENDER), (SENDER, RECEIVER), (ROUTER[1], RECEIVER)];
    assert_eq!(addresses, [&[(SENDER, RECEIVER); 2][..], &hops].concat());
    // The router decrements the TTL of the Path message and polices.
    assert_eq!(chain.packets[1].ttl, 254);
    assert!(read(&chain.packets[0]).message.session().e_police());
    assert!(!read(&chain.packets[1]).message.session().e_police());

    // The router's own refresh requests no second confirmation.
    let confirms = |action: &RouterAction| match action {
        RouterAction::Send(packet) => match read(packet).message {
            Message::Resv { confirm, .. } => Some(confirm),
            _ => None,
        },
        _ => None,
    };
    let refreshes = chain.router.clone().expire(at(46.0));
    assert_eq!(refreshes.iter().filter_map(confirms).collect::<Vec<_>>(), [None]);

    chain.packets.clear();
    let quiet = chain.advance(at(600.0));
    assert_eq!(quiet, Seen::default());
    let requests = chain.packets.iter().map(read).filter(|packet| {
        assert!(!matches!(packet.message, Message::ResvConf { .. }));
        matches!(packet.message, Message::Resv { confirm: Some(_), .. })
    });
    assert_eq!(requests.count(), 0);
    assert!(chain.packets.len() > 60, "{} refreshes in ten minutes", chain.packets.len());
}

const fn kind(message: &Message) -> &'static str {
    match message {
        Message::Path { .. } => "path",
        Message::Resv { .. } => "resv",
        Message::ResvConf { .. } => "resvconf",
        _ => "other",
    }
}

/// The router admits until the sum of the rates is what it may reserve, and not one unit of the last place more.
#[test]
fn admission_is_exact_at_its_limit() {
    for (reservable, admitted) in
        [(2.0 * RATE, 2), (2.0 * RATE - 0.001, 1), (RATE, 1), (RATE - 0.001, 0), (0.0, 0)]
    {
        let mut chain = Chain::new(router_config(reservable), receiver_config());
        let ports = [PORT, PORT + 1, PORT + 2];
        for (index, port) in ports.into_iter().enumerate() {
            let seen = chain.start(sender_config(port));
            let refused = vec![(source(port), ErrorCode::BANDWIDTH, false)];
            assert_eq!(errors(&seen), if index < admitted { vec![] } else { refused });
            assert_eq!(chain.senders[index].reservation().is_some(), index < admitted);
        }
        assert_eq!(chain.router.reservations().count(), admitted);
    }
}

/// 60 flows hold their reservations for ten minutes, and the next refresh uses the rate of one that has ended.
#[test]
fn released_rates_are_reserved_again() {
    let config = RouterConfig { most_flows: 1_000, ..router_config(60.0 * RATE) };
    let mut chain = Chain::new(config, receiver_config());
    for port in 1..=60 {
        assert!(errors(&chain.start(sender_config(port))).is_empty());
    }
    assert_eq!(errors(&chain.start(sender_config(61))).len(), 1);
    let seen = chain.advance(at(600.0));
    assert!(
        errors(&seen).iter().all(|(source, code, _)| source.port() == 61 && *code == ErrorCode::BANDWIDTH)
    );
    assert!(seen.sender.iter().all(|action| *action == SenderAction::NoReservation));
    assert_eq!(chain.router.reservations().count(), 60);
    let _ = chain.stop_sender(0);
    let seen = chain.advance(at(646.0));
    assert_eq!(seen.sender, [SenderAction::Reserved(guaranteed())]);
    assert!(errors(&seen).is_empty());
}

/// A refused increase leaves the reservation in place and says so; a decrease is never refused.
#[test]
fn refused_increases_keep_reservations() {
    let mut chain = Chain::new(router_config(RATE), receiver_config());
    let _ = chain.start(sender_config(PORT));
    let seen = chain.inject(1, &resv(load(4_313.0), PORT));
    assert_eq!(errors(&seen), [(source(PORT), ErrorCode::BANDWIDTH, true)]);
    assert!(seen.receiver.iter().any(|action| matches!(action, ReceiverAction::ReservationError(_, error)
        if error.to_string() == "198.19.0.1 reports: the requested bandwidth is not available (code 1, value 2); \
            the earlier reservation is still in place")));
    assert!((chain.router.reserved_rate(1) - RATE).abs() < 1e-9);
    let seen = chain.inject(1, &resv(load(4_000.0), PORT));
    assert!(matches!(seen.router[..], [RouterAction::Install(install)] if install.flowspec == load(4_000.0)));
    assert_eq!(seen.sender, [SenderAction::Reserved(load(4_000.0))]);
    assert!((chain.router.reserved_rate(1) - 4_000.0).abs() < 1e-9);
}

/// A request without path state, for another sender, or with packets above the MTU is refused with its own code.
#[test]
fn requests_need_a_path() {
    let mut chain = Chain::new(router_config(RATE), receiver_config());
    let codes = |chain: &mut Chain, octets: &[u8]| {
        let first = chain.packets.len();
        let _ = chain.inject(1, octets);
        let code = |message| match message {
            Message::ResvErr { error, hop, .. } if hop.address() == ROUTER[1] => Some(error.code),
            _ => None,
        };
        let codes = chain.packets[first..].iter().filter_map(|packet| code(read(packet).message));
        codes.collect::<Vec<_>>()
    };
    assert_eq!(codes(&mut chain, &resv(load(1.0), PORT)), [ErrorCode::NO_PATH]);
    let _ = chain.start(sender_config(PORT));
    assert_eq!(codes(&mut chain, &resv(load(1.0), PORT + 1)), [ErrorCode::NO_SENDER]);
    let large = Flowspec::controlled_load(Tspec::new(1.0, 1.0, 1.0, 1, 1_501).unwrap());
    assert_eq!(codes(&mut chain, &resv(large, PORT)), [ErrorCode::MTU]);
    // A request from the side of the sender has no effect.
    let seen = chain.inject(0, &resv(load(1.0), PORT));
    assert!(matches!(seen.router[..], [RouterAction::Discarded(_)]));
    assert!((chain.router.reserved_rate(1) - RATE).abs() < 1e-9);
}

/// The receiver requests the service that it wants, or the best one offered, and none that is not offered.
#[test]
fn services_are_those_offered() {
    let cases: [(&[QosService], Option<QosService>, Option<QosService>); 6] = [
        (&BOTH, None, Some(QosService::Guaranteed)),
        (&BOTH, Some(QosService::ControlledLoad), Some(QosService::ControlledLoad)),
        (&BOTH[1..], None, Some(QosService::ControlledLoad)),
        (&BOTH[1..], Some(QosService::Guaranteed), None),
        (&BOTH[..1], Some(QosService::ControlledLoad), None),
        (&[], None, None),
    ];
    for (offered, service, requested) in cases {
        let mut chain = Chain::new(router_config(RATE), ReceiverConfig { service, ..receiver_config() });
        let adspec = Some(Adspec::announce(1_500, offered));
        let seen = chain.start(SenderConfig { adspec, ..sender_config(PORT) });
        let reserved = chain.senders[0].reservation().map(|flowspec| flowspec.service());
        assert_eq!(reserved, requested, "{offered:?} {service:?}");
        let refused = seen.receiver.contains(&ReceiverAction::NotOffered(source(PORT)));
        assert_eq!(refused, requested.is_none());
    }
    let mut chain = Chain::new(router_config(RATE), receiver_config());
    let seen = chain.start(SenderConfig { adspec: None, ..sender_config(PORT) });
    let PathReport { mtu, hops, delay_bound, .. } = report(&seen);
    assert_eq!((mtu, hops, delay_bound), (None, None, None));
    assert_eq!(chain.senders[0].reservation(), Some(guaranteed()));
}

/// The receiver knows the hops, the path MTU and the delay bound: b/R + C/R + D with C = M = 92 and D = 1500 octets at
/// 128 kbit/s.
#[test]
fn paths_are_reported() {
    let mut chain = Chain::new(router_config(RATE), receiver_config());
    let seen = chain.start(sender_config(PORT));
    let found = report(&seen);
    assert_eq!((found.mtu, found.hops, found.breaks), (Some(1_500), Some(1), Breaks::default()));
    assert_eq!((found.tspec, found.flowspec), (tspec(), guaranteed()));
    let bound = found.delay_bound.unwrap();
    let expected = 2.0 * 92.0 / RATE + 1_500.0 / 16_000.0;
    assert!((bound.as_secs_f64() - expected).abs() < 1e-6, "{bound:?}");

    // Controlled load has no bound, and the smallest MTU limits the packets of the request.
    let mut config = router_config(16_000.0);
    config.interfaces[1].mtu = 576;
    let service = Some(QosService::ControlledLoad);
    let mut chain = Chain::new(config, ReceiverConfig { service, ..receiver_config() });
    let large = Tspec::new(1_000.0, 1_500.0, f32::INFINITY, 1_000, 1_500).unwrap();
    let found = report(&chain.start(SenderConfig { tspec: large, ..sender_config(PORT) }));
    assert_eq!((found.mtu, found.delay_bound), (Some(576), None));
    let requested = found.flowspec.tspec();
    assert_eq!((requested.policed_unit(), requested.packet_size()), (576, 576));
    assert_eq!(chain.senders[0].reservation(), Some(found.flowspec));
}

/// A hop without RSVP is visible by its TTL, to a router and to the receiver. There is no delay bound then.
#[test]
fn hops_without_rsvp_are_reported() {
    let mut chain = Chain::new(router_config(RATE), receiver_config());
    let _ = chain.start(sender_config(PORT));
    let path = chain.packets[0].octets.clone();
    let actions =
        chain.router.receive(&romer_rsvp::Arrival { interface: 0, ttl: 254, octets: &path }, at(1.0));
    let [RouterAction::Send(forwarded)] = &actions[..] else { panic!("{actions:?}") };
    let arrival = crate::common::arrival(forwarded, 0);
    let actions = chain.receiver.receive(&arrival, at(1.0));
    let [ReceiverAction::Path(found), _] = &actions[..] else { panic!("{actions:?}") };
    assert!(found.breaks.path && !found.breaks.service);
    assert_eq!((found.delay_bound, found.flowspec), (None, guaranteed()));

    let arrival = romer_rsvp::Arrival { ttl: 100, ..arrival };
    let mut direct = romer_rsvp::Receiver::start(receiver_config(), crate::common::SEED, at(0.0)).unwrap();
    let actions = direct.receive(&arrival, at(1.0));
    assert!(matches!(&actions[..], [ReceiverAction::Path(found), _] if found.breaks.path));
}

/// The receiver stops to reserve for further senders at its limit, and the router at its own.
#[test]
fn tables_are_bounded() {
    let config = RouterConfig { most_flows: 3, ..router_config(1e6) };
    let mut chain = Chain::new(config, receiver_config());
    for port in 1..=3 {
        let _ = chain.start(sender_config(port));
    }
    let seen = chain.start(sender_config(4));
    let error = romer_rsvp::ErrorSpec::new(ROUTER[0], ErrorCode::TABLE_FULL);
    assert_eq!(seen.sender, [SenderAction::PathError(error)]);
    assert_eq!(chain.router.paths().count(), 3);

    let most = u16::try_from(romer_rsvp::MOST_SENDERS).unwrap();
    let mut chain = Chain::new(router_config(1e6), receiver_config());
    for port in 1..=most + 1 {
        let _ = chain.start(sender_config(port));
    }
    assert_eq!(chain.receiver.requests().count(), romer_rsvp::MOST_SENDERS);
}

/// An address that no node has, and a route to an interface that does not exist, are refused.
#[test]
fn wrong_configurations_are_refused() {
    let mut config = router_config(1.0);
    config.routes.push(("10.0.0.0/8".parse().unwrap(), 2));
    assert!(romer_rsvp::Router::new(config, crate::common::SEED).is_none());
    let multicast = Filter::new("224.0.0.1".parse().unwrap(), 1).unwrap();
    let config = SenderConfig { source: multicast, ..sender_config(PORT) };
    assert!(romer_rsvp::Sender::start(config, crate::common::SEED, at(0.0)).is_none());
}
