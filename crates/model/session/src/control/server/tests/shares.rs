//! What one address may have in all of its sessions.

use super::*;

fn limits(coming: u64, own: u64) -> Limits {
    let others = Others { coming, own, ..Others::default() };
    Limits { packets_per_second: 1_000, own_packets_per_second: 1_000, others, ..Limits::default() }
}

fn forward(interval_ns: i64) -> Message {
    Message::Request(Request { interval_ns, direction: ProbeDirection::Forward, ..request() })
}

fn refused(actions: &[Action]) -> &Refused {
    let [Action::Send(Message::Refused(refused))] = actions else { panic!("{actions:?}") };
    refused
}

#[test]
fn what_is_left_of_an_addresss_rate_is_granted_and_no_more_with_the_rest_that_others_have() {
    for message in [forward(1_200_000), Message::Request(Request { interval_ns: 1_200_000, ..request() })] {
        let mut server = server(limits(833, 0));
        say(&mut server, &hello());
        let actions = say(&mut server, &message);
        let refused = refused(&actions);
        assert_eq!(
            (refused.code, refused.granted, refused.retry_after_seconds),
            (RefusalCode::Rate, Some(167), None)
        );
        let reason =
            Refusal::Rate { packets_per_second: 833, limit: 1_000, scope: LimitScope::Network, others: 833 };
        assert_eq!(refused.reason, reason);
        server.allow(Others { coming: 167, ..Others::default() }, 0, 16);
        assert!(matches!(say(&mut server, &message)[..], [Action::Open(_), _]), "the other one has ended");
    }
    let mut none_left = server(limits(1_000, 0));
    say(&mut none_left, &hello());
    let actions = say(&mut none_left, &forward(1_000_000_000));
    assert_eq!(refused(&actions).retry_after_seconds, Some(10));
    // What the responder sends is another matter.
    assert!(matches!(say(&mut none_left, &reverse(stream()))[..], [Action::Open(_), _]));
    let mut sent_all = server(limits(0, 950));
    say(&mut sent_all, &hello());
    let actions = say(&mut sent_all, &reverse(stream()));
    let reason =
        Refusal::Rate { packets_per_second: 100, limit: 1_000, scope: LimitScope::Network, others: 950 };
    assert_eq!(refused(&actions).reason, reason);
}

/// Who is refused because of sessions in which the responder sends is told whose they are.
#[test]
fn sender_limits_are_named() {
    for (others, scope) in [
        (Others { all_send: true, ..Others::default() }, LimitScope::All),
        (Others { network_sends: true, ..Others::default() }, LimitScope::Network),
    ] {
        let mut server = server(limits(0, 0));
        say(&mut server, &hello());
        server.allow(others, 0, 16);
        let actions = say(&mut server, &reverse(stream()));
        let refused = refused(&actions);
        assert_eq!((refused.code, refused.retry_after_seconds), (RefusalCode::Busy, Some(10)));
        assert_eq!(refused.reason, Refusal::SendingSessions { scope });
    }
}

/// A stream of more bits than the responder sends to one network, or to all, is refused with the limit and the remedies; so is one
/// of more than other sessions leave.
#[test]
fn bits_are_refused_at_the_grant() {
    let limits = |others| Limits {
        own_bits_per_second: Some(10_000_000),
        all_own_bits_per_second: Some(100_000_000),
        others,
        ..Limits::default()
    };
    let asks = |others, interval_ns, size, count| {
        let mut server = server(limits(others));
        say(&mut server, &hello());
        let asked = ReverseStreamRequest {
            interval_ns: Some(interval_ns),
            size: Some(size),
            count: Some(count),
            ..stream()
        };
        let actions = say(&mut server, &reverse(asked));
        (matches!(actions[..], [Action::Open(_), _]).then(|| server.own_bits()), actions)
    };
    let none = Others::default();
    // 1,250 octets of IP: 1,000 a second are 10 Mbit/s.
    assert_eq!(asks(none, 1_000_000, 1_222, 9_000).0, Some(10_000_000));
    let (_, actions) = asks(none, 500_000, 1_222, 9_000);
    let told = refused(&actions);
    assert_eq!((told.code, told.granted, told.retry_after_seconds), (RefusalCode::Rate, Some(1_000), None));
    let reason = Refusal::BitRate {
        packets_per_second: 2_000,
        packet_bytes: 1_250,
        bps: 20_000_000,
        limit_bps: 10_000_000,
        scope: LimitScope::Network,
        others_bps: 0,
    };
    assert_eq!(told.reason, reason);
    // A short train is no more than its packets.
    assert_eq!(asks(none, 10_000, 1_222, 900).0, Some(9_000_000));
    let others = Others { own_bits: 4_000_000, all_own_bits: 95_000_000, ..none };
    let (_, actions) = asks(others, 1_000_000, 1_222, 9_000);
    let told = refused(&actions);
    let reason = Refusal::BitRate {
        packets_per_second: 1_000,
        packet_bytes: 1_250,
        bps: 10_000_000,
        limit_bps: 10_000_000,
        scope: LimitScope::Network,
        others_bps: 4_000_000,
    };
    assert_eq!((told.granted, &told.reason), (Some(600), &reason));
    let (_, actions) = asks(others, 1_700_000, 1_222, 9_000);
    let told = refused(&actions);
    let is_of_all = matches!(
        told.reason,
        Refusal::BitRate { limit_bps: 100_000_000, scope: LimitScope::All, others_bps: 95_000_000, .. }
    );
    assert!(is_of_all, "{told:?}");
    assert_eq!(asks(others, 2_100_000, 1_222, 9_000).0, Some(4_760_000));
}

/// Many networks together cannot have more than all may have.
#[test]
fn rates_are_bounded_in_total() {
    for (message, others) in [
        (forward(1_200_000), Others { all_coming: 3_500, ..Others::default() }),
        (reverse(stream()), Others { all_own: 3_990, ..Others::default() }),
    ] {
        let mut server = server(Limits { all_packets_per_second: 4_000, ..limits(0, 0) });
        say(&mut server, &hello());
        server.allow(others, 0, 16);
        let actions = say(&mut server, &message);
        let refused = refused(&actions);
        assert_eq!((refused.code, refused.retry_after_seconds), (RefusalCode::Rate, Some(10)));
        let is_of_all = matches!(refused.reason, Refusal::Rate { limit: 4_000, scope: LimitScope::All, .. });
        assert!(is_of_all, "{refused:?}");
    }
}

/// A session holds its rate until it stops, and becomes idle 20 seconds after its last probe. Messages do not prevent this before
/// it stops; afterwards they do.
#[test]
fn rates_are_held_until_idle() {
    let features = [RESUME, LAST_WORD].map(str::to_owned).to_vec();
    let asks = ClientHello { version: VERSION, software: "t".into(), clock: clock(), features };
    let mut server = server(Limits::default());
    say(&mut server, &Message::Hello(asks));
    assert_eq!(server.coming_rate(), 0);
    assert!(!server.is_idle(at(100)), "it has no session");
    say(&mut server, &Message::Request(request()));
    server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
    assert_eq!((server.coming_rate(), server.own_rate()), (100, 0));
    server.on_record(ResponderRecord { t3_user_ns: Some(1), ..ResponderRecord::default() });
    server.on_probe(at(30));
    for second in 31..60 {
        server.on_bytes(&bytes(&Message::Ask), false, at(second));
        server.on_written(at(second));
        server.on_associated("192.0.2.1:9".parse().unwrap(), at(second));
        assert_eq!(server.is_idle(at(second)), second > 50, "{second} s");
    }
    server.on_probe(at(60));
    assert!(!server.is_idle(at(80)) && server.is_idle(at(81)), "a probe ends the idle time");
    server.on_bytes(&bytes(&Message::Stop), false, at(90));
    assert_eq!(server.coming_rate(), 0, "it sends no more");
    server.on_bytes(&bytes(&Message::Ask), false, at(100));
    assert!(!server.is_idle(at(120)) && server.is_idle(at(121)), "its log is transferred");
}

/// A session that is associated, and has not begun.
fn associated(message: &Message) -> Server {
    let mut server = server(Limits::default());
    say(&mut server, &hello());
    assert!(matches!(say(&mut server, message)[..], [Action::Open(_), _]));
    server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
    server
}

/// Messages do not keep a session that never began: no probe has come, or the stream of the responder was not started.
#[test]
fn sessions_never_begun_become_idle() {
    for message in [Message::Request(request()), forward(10_000_000), reverse(stream())] {
        let mut server = associated(&message);
        for second in 2..60 {
            server.on_bytes(&bytes(&Message::Ask), false, at(second));
            assert_eq!(server.is_idle(at(second)), second > 21, "{second} s: {message:?}");
        }
    }
    let mut started = associated(&reverse(stream()));
    assert_eq!(started.on_bytes(&bytes(&Message::Start), false, at(15)), [Action::Start]);
    started.on_bytes(&bytes(&Message::Ask), false, at(30));
    assert!(!started.is_idle(at(35)) && started.is_idle(at(36)), "its stream has not begun");
}
