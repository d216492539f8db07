use std::sync::Arc;

use super::super::{Proof, Received, RefusalCode, Refused, Resumed, ReverseStreamRequest, possession};
use super::*;
use proptest::prelude::*;
use romer_record::document::ProbeDirection;
use romer_record::refusal::Refusal;
use romer_wire::stamp::Key;

mod fruitless;
mod shares;

fn at(seconds: i64) -> Timestamp<Monotonic> {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}
fn clock() -> ClockIdentity {
    ClockIdentity { boot_id: "b".into(), realtime_minus_boottime_ns: 0 }
}
fn server(limits: Limits) -> Server {
    let welcome = ServerHello {
        kernel_stamps: true,
        features: vec!["one-way".into()],
        ..ServerHello::new("romer", clock(), 862)
    };
    Server::new(limits, welcome, [7; 16], at(0)).with_one_way([8; 16]).with_resumption([9; 16])
}
fn bytes(message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(&mut out);
    out
}
fn hello() -> Message {
    Message::Hello(ClientHello {
        version: VERSION,
        software: "t".into(),
        clock: clock(),
        features: Vec::new(),
    })
}
fn hello_of_one_that_can_resume() -> Message {
    let features = vec![RESUME.to_owned()];
    Message::Hello(ClientHello { version: VERSION, software: "t".into(), clock: clock(), features })
}
fn request() -> Request {
    Request {
        ssid: 5,
        interval_ns: 10_000_000,
        count: 100,
        payload_octets: 44,
        direction: ProbeDirection::RoundTrip,
        stream: None,
    }
}
fn say(server: &mut Server, message: &Message) -> Vec<Action> {
    server.on_bytes(&bytes(message), false, at(1))
}

#[test]
fn a_whole_conversation_brings_every_record_and_the_totals() {
    let mut server = server(Limits::default());
    assert!(matches!(say(&mut server, &hello())[..], [Action::Send(Message::Welcome(_))]));
    let granted = say(&mut server, &Message::Request(request()));
    assert!(matches!(granted[..], [Action::Open(_), Action::Send(Message::Granted(_))]));
    let associated = server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
    assert!(matches!(associated[..], [Action::Send(Message::Associated(_))]));
    for sequence in 0..10 {
        let record = ResponderRecord { sequence, t3_user_ns: Some(1), ..ResponderRecord::default() };
        assert!(server.on_record(record).is_empty(), "nothing disturbs the path while it is measured");
    }
    assert_eq!(say(&mut server, &Message::Stop), [Action::Finish]);
    let last = server.finish();
    let [Action::Send(Message::Log(records)), Action::Send(Message::End(end)), Action::Close] = &last[..]
    else {
        panic!("{last:?}");
    };
    assert_eq!(records.len(), 10);
    assert_eq!(
        *end,
        SessionTotals { received: 10, reflected: 10, stamps_missing: 10, ..SessionTotals::default() }
    );
    assert!(server.is_over());
}

#[test]
fn card_stamps_go_home_with_the_records_to_a_sender_that_knows_them() {
    use romer_record::log::{Card, CardMoment};
    let card = Card { sequence: 1, moment: CardMoment::LeftThere, arrival_ns: 2, card_ns: 3, error_ns: 4 };
    for (features, expected) in [(vec![CARDS.to_owned()], 1), (Vec::new(), 0)] {
        let mut server = server(Limits::default());
        let hello = ClientHello { version: VERSION, software: "t".into(), clock: clock(), features };
        say(&mut server, &Message::Hello(hello));
        say(&mut server, &Message::Request(request()));
        server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
        server.on_record(ResponderRecord { sequence: 1, t3_user_ns: Some(1), ..ResponderRecord::default() });
        assert!(server.on_card(card).is_empty());
        say(&mut server, &Message::Stop);
        let told = server.finish();
        let cards = told.iter().filter_map(|action| match action {
            Action::Send(Message::Cards(cards)) => Some(cards.clone()),
            _ => None,
        });
        assert_eq!(cards.flatten().collect::<Vec<_>>(), vec![card; expected]);
        assert!(matches!(
            told[..],
            [Action::Send(Message::Log(_)), .., Action::Send(Message::End(_)), Action::Close]
        ));
    }
}

/// A responder with a key serves only clients that prove it, and proves it too.
#[test]
fn keys_are_proved_mutually() {
    let key = |fill| Key::new(&[fill; 32]).unwrap();
    let greeted = || {
        let mut server = server(Limits::default()).locked(Arc::new(key(1)), [[3; 16], [4; 16]]);
        let asked = say(&mut server, &hello());
        assert_eq!(asked, [Action::Send(Message::Challenge(Challenge::new([3; 16])))]);
        let early = say(&mut server, &Message::Request(request()));
        assert!(
            matches!(&early[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::State)
        );
        server
    };
    let mut server = greeted();
    let proof = Proof::new(&key(1), possession::End::Sender, [3; 16], [5; 16]);
    let [Action::Send(Message::Proof(answer)), Action::Send(Message::Welcome(_))] =
        &say(&mut server, &Message::Proof(proof))[..]
    else {
        panic!("not let in");
    };
    assert_eq!(answer.verified(&key(1), possession::End::Responder, [5; 16]), Some([4; 16]));
    assert!(!server.has_refused_proof());
    let granted = say(&mut server, &Message::Request(request()));
    assert!(matches!(granted[..], [Action::Open(_), Action::Send(Message::Granted(_))]));

    for (key, asked) in [(key(2), [3; 16]), (key(1), [6; 16])] {
        let mut server = greeted();
        let proof = Proof::new(&key, possession::End::Sender, asked, [5; 16]);
        let shut = say(&mut server, &Message::Proof(proof));
        assert!(
            matches!(&shut[..], [Action::Send(Message::Complaint(c)), Action::Close] if c.code == ComplaintCode::Proof)
        );
        assert!(server.has_refused_proof() && server.is_over());
    }
}

#[test]
fn what_happens_to_the_responder_is_told_while_there_is_a_session_and_not_before_or_after() {
    let event = Event::new(
        romer_record::event::EventKind::Pause,
        romer_record::event::EventLocation::Responder,
        1,
        2,
    );
    let mut server = server(Limits::default());
    say(&mut server, &hello());
    assert!(server.on_event(event.clone()).is_empty());
    say(&mut server, &Message::Request(request()));
    let told = [Action::Send(Message::Events(Events { events: vec![event.clone()] }))];
    assert_eq!(server.on_event(event.clone()), told);
    server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
    say(&mut server, &Message::Stop);
    assert_eq!(server.on_event(event.clone()), told, "before the totals");
    server.finish();
    assert!(server.on_event(event).is_empty());
}

/// The count of damaged probes is requested in a session alone, and reported before its totals.
#[test]
fn damaged_probes_are_reported_before_the_totals() {
    let count = Message::CountDamage(CountDamage { tag: 11 });
    let mut server = server(Limits::default());
    say(&mut server, &hello());
    assert!(!say(&mut server, &count).contains(&Action::CountDamage(11)), "there is no session yet");
    say(&mut server, &Message::Request(request()));
    assert_eq!(say(&mut server, &count), [Action::CountDamage(11)]);
    server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
    say(&mut server, &Message::Stop);
    let mut damaged = DamagedProbes::default();
    damaged.add([400].into_iter());
    let told = Message::Damaged(Damaged { forward: Some(damaged.clone()) });
    assert_eq!(server.on_damaged(Some(damaged.clone())), [Action::Send(told)]);
    server.finish();
    assert!(server.on_damaged(Some(damaged)).is_empty(), "the last word is said");
}

/// A half-full buffer is sent during the run; entries beyond a full one are counted.
#[test]
fn half_full_buffers_are_sent() {
    let mut server = server(Limits { buffered_records: 8, ..Limits::default() });
    say(&mut server, &hello());
    say(&mut server, &Message::Request(request()));
    let sent: usize = (0..20)
        .flat_map(|sequence| server.on_record(ResponderRecord { sequence, ..ResponderRecord::default() }))
        .map(|action| match action {
            Action::Send(Message::Log(records)) => records.len(),
            other => panic!("{other:?}"),
        })
        .sum();
    assert_eq!(sent, 20);
}

#[test]
fn an_arrival_counts_once_whichever_way_the_session_goes() {
    for (direction, received) in [(ProbeDirection::Forward, 3), (ProbeDirection::RoundTrip, 4)] {
        let mut server = server(Limits::default());
        say(&mut server, &hello());
        say(&mut server, &Message::Request(Request { direction, ..request() }));
        server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
        for sequence in 0..3 {
            if direction.is_one_way() {
                server.on_first_arrival();
            }
            server.on_record(ResponderRecord { sequence, ..ResponderRecord::default() });
        }
        // A copy: of round trips all that is in the log counts.
        server.on_record(ResponderRecord { sequence: 2, ..ResponderRecord::default() });
        let highest = direction.is_one_way().then_some(2);
        let heard = Progress { received, departed: 0, highest };
        assert_eq!(say(&mut server, &Message::Ask), [Action::Send(Message::Heard(heard))]);
    }
}

#[test]
fn what_is_fetched_during_the_run_comes_once_and_the_rest_at_the_end() {
    let mut server = server(Limits::default());
    say(&mut server, &hello_of_one_that_can_resume());
    let untimely = say(&mut server, &Message::Fetch);
    assert!(matches!(&untimely[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::State));
    say(&mut server, &Message::Request(Request { direction: ProbeDirection::Forward, ..request() }));
    server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
    assert_eq!(say(&mut server, &Message::Fetch), [], "there is nothing yet");
    let records = [0, 1, 2].map(|sequence| ResponderRecord { sequence, ..ResponderRecord::default() });
    for record in &records[..2] {
        assert!(server.on_record(*record).is_empty());
    }
    assert_eq!(say(&mut server, &Message::Fetch), [Action::Send(Message::Log(records[..2].to_vec()))]);
    assert_eq!(say(&mut server, &Message::Fetch), [], "each comes once");
    server.on_departure(ResponderDeparture { sequence: 9, ..ResponderDeparture::default() });
    assert!(
        matches!(&say(&mut server, &Message::Fetch)[..], [Action::Send(Message::Departures(sent))] if sent.len() == 1)
    );
    server.on_record(records[2]);
    say(&mut server, &Message::Stop);
    let last = server.finish();
    assert_eq!(last[0], Action::Send(Message::Log(records[2..].to_vec())));
    assert!(matches!(
        last[1],
        Action::Send(Message::End(SessionTotals { received: 3, records_lost: 0, .. }))
    ));
    assert!(say(&mut server, &Message::Fetch).is_empty(), "it is over");
}

fn stream() -> ReverseStreamRequest {
    ReverseStreamRequest {
        model: "periodic".into(),
        interval_ns: Some(10_000_000),
        size: Some(14),
        bundle: None,
        count: Some(100),
        duration_ns: None,
        seed: [0; 6],
        jitter: None,
        ipv6: false,
        floor: 9,
        dscp: 0,
        ecn: 0,
        ttl: 255,
        recorded_sizes: None,
        trace: None,
    }
}
fn reverse(stream: ReverseStreamRequest) -> Message {
    let request = Request { direction: ProbeDirection::Reverse, payload_octets: 14, ..request() };
    Message::Request(Request { stream: Some(stream), ..request })
}
fn running(message: &Message) -> Server {
    let mut server = server(Limits::default());
    say(&mut server, &hello());
    let granted = say(&mut server, message);
    let [Action::Open(session), Action::Send(Message::Granted(granted))] = &granted[..] else {
        panic!("{granted:?}")
    };
    assert_eq!((session.key, granted.key.as_deref()), ([8; 16], Some("08".repeat(16).as_str())));
    server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
    server
}

/// A responder sends after the start message, and its departures are reported.
#[test]
fn responders_send_after_start() {
    let mut server = running(&reverse(stream()));
    assert_eq!(server.own_rate(), 100);
    assert_eq!(say(&mut server, &Message::Start), [Action::Start]);
    assert!(matches!(say(&mut server, &Message::Start)[..], [Action::Send(Message::Complaint(_))]));
    for sequence in 0..3 {
        let refused = sequence == 2;
        assert!(
            server
                .on_departure(ResponderDeparture { sequence, refused, ..ResponderDeparture::default() })
                .is_empty()
        );
    }
    assert_eq!(
        say(&mut server, &Message::Ask),
        [Action::Send(Message::Heard(Progress { received: 0, departed: 2, highest: None }))]
    );
    assert_eq!(say(&mut server, &Message::Halt), [Action::Halt]);
    assert_eq!(server.on_departed(2), [Action::Send(Message::Departed(Departed { count: 2 }))]);
    assert_eq!(say(&mut server, &Message::Stop), [Action::Finish]);
    let last = server.finish();
    assert!(
        matches!(&last[..], [Action::Send(Message::Departures(d)), Action::Send(Message::End(_)), Action::Close] if d.len() == 3)
    );
}

#[test]
fn a_stream_of_less_than_a_packet_a_second_is_sent_as_any_other() {
    let slow =
        || reverse(ReverseStreamRequest { interval_ns: Some(3_000_000_000), count: Some(3), ..stream() });
    let mut server = running(&slow());
    assert_eq!(server.own_rate(), 1);
    assert_eq!(say(&mut server, &Message::Start), [Action::Start]);
    // Who is told to send no more before it began has sent nothing.
    let mut server = running(&slow());
    assert_eq!(say(&mut server, &Message::Halt), [Action::Send(Message::Departed(Departed { count: 0 }))]);
}

#[test]
fn a_far_end_sends_nothing_in_sessions_of_the_other_ways() {
    let forward = Message::Request(Request { direction: ProbeDirection::Forward, ..request() });
    let mut server = running(&forward);
    assert_eq!(server.own_rate(), 0);
    for message in [Message::Start, Message::Halt] {
        assert!(matches!(say(&mut server, &message)[..], [Action::Send(Message::Complaint(_))]));
    }
    server.on_first_arrival();
    let heard = Progress { received: 1, departed: 0, highest: None };
    assert_eq!(say(&mut server, &Message::Ask), [Action::Send(Message::Heard(heard))]);
}

/// The session of a silent one-way sender is closed.
#[test]
fn silent_one_way_senders_are_closed() {
    let mut server = running(&reverse(stream()));
    say(&mut server, &Message::Start);
    server.on_bytes(&bytes(&Message::Ask), false, at(10));
    assert!(server.on_time(at(29)).is_empty());
    assert_eq!(server.on_time(at(30)), [Action::Close]);
    assert!(server.is_over());
}

/// A stream that the responder would not send is refused with the reason.
#[test]
fn excess_reverse_streams_are_refused() {
    let base = stream;
    for (wrong, code, part) in [
        (ReverseStreamRequest { interval_ns: Some(9_000), ..base() }, RefusalCode::Rate, "Rate {"),
        (ReverseStreamRequest { size: Some(9_001), ..base() }, RefusalCode::Size, "Payload { bytes"),
        (ReverseStreamRequest { floor: 65_000, ..base() }, RefusalCode::Size, "Payload { bytes"),
        (
            ReverseStreamRequest { floor: 0, size: Some(8), ..base() },
            RefusalCode::Invalid,
            "PayloadTooShort { min_bytes: ",
        ),
        (ReverseStreamRequest { count: Some(1 << 34), ..base() }, RefusalCode::Length, "Duration {"),
        (ReverseStreamRequest { count: None, ..base() }, RefusalCode::Invalid, "count or a duration"),
        (ReverseStreamRequest { model: "trace:/dev/zero".into(), ..base() }, RefusalCode::Invalid, "trace"),
        (ReverseStreamRequest { model: "\u{1b}[31m".into(), ..base() }, RefusalCode::Invalid, "model"),
        (ReverseStreamRequest { dscp: 64, ..base() }, RefusalCode::Invalid, "Dscp"),
        (ReverseStreamRequest { ttl: 0, ..base() }, RefusalCode::Invalid, "Ttl"),
        (
            ReverseStreamRequest {
                model: "token-bucket:14MBps,1400000B".into(),
                interval_ns: None,
                ..base()
            },
            RefusalCode::Rate,
            "limit: ",
        ),
    ] {
        let mut server = server(Limits::default());
        say(&mut server, &hello());
        let refused = say(&mut server, &reverse(wrong.clone()));
        let [Action::Send(Message::Refused(Refused { code: found, reason, .. }))] = &refused[..] else {
            panic!("{wrong:?}: {refused:?}")
        };
        let reason = format!("{reason:?}");
        assert_eq!(*found, code, "{reason}");
        assert!(reason.contains(part), "{reason}");
    }
    let mut poor = server(Limits { own_packets_per_second: 99, ..Limits::default() });
    say(&mut poor, &hello());
    assert!(matches!(say(&mut poor, &reverse(stream()))[..], [Action::Send(Message::Refused(_))]));
    poor.limits.own_packets_per_second = 100;
    assert!(matches!(say(&mut poor, &reverse(stream()))[..], [Action::Open(_), _]));
}

/// A session of which a sender that can resume knows the secret.
fn resumable(message: &Message) -> Server {
    let mut server = server(Limits { buffered_records: 4, ..Limits::default() });
    say(&mut server, &hello_of_one_that_can_resume());
    let granted = say(&mut server, message);
    let [Action::Open(_), Action::Send(Message::Granted(granted))] = &granted[..] else {
        panic!("{granted:?}")
    };
    assert_eq!(granted.secret, Some(hex([9; 16])));
    server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
    server
}
fn resume(secret: Token, heard: u64) -> Resume {
    Resume { secret: hex(secret), heard, silent_ns: 0 }
}
/// A conversation that asks for the session of another.
fn asking(asked: &Resume) -> Server {
    let mut other = server(Limits::default());
    say(&mut other, &hello());
    assert_eq!(say(&mut other, &Message::Resume(asked.clone())), [Action::Resume(asked.clone())]);
    other
}

#[test]
fn a_session_goes_on_over_another_connection_and_nothing_that_was_said_is_lost() {
    let mut server = resumable(&Message::Request(request()));
    let sent: Vec<Action> = (0..4)
        .flat_map(|sequence| server.on_record(ResponderRecord { sequence, ..ResponderRecord::default() }))
        .collect();
    let [first, second] = &sent[..] else { panic!("{sent:?}") };
    // The first came, the second did not; what follows finds no connection.
    assert!(server.on_lost_connection(at(10)));
    let third = server.on_record(ResponderRecord { sequence: 4, ..ResponderRecord::default() });
    assert!(third.is_empty());
    let asked = resume([9; 16], 1);
    let mut other = asking(&asked);
    assert!(server.is_shown(&asked) && !other.is_shown(&asked));
    let actions = server.resume(&mut other, &asked, [5; 16], at(20)).unwrap();
    let [Action::Send(Message::Resumed(resumed)), Action::Repeat(frames)] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(*resumed, Resumed { token: hex([5; 16]), next: 1 });
    let Action::Send(second) = second else { panic!("{second:?}") };
    assert_eq!(*frames, bytes(second));
    assert_ne!(first, &Action::Send(second.clone()));
    assert!(other.is_over());
    // It is a session as before.
    let associated = server.on_associated("192.0.2.7:9".parse().unwrap(), at(21));
    assert!(matches!(associated[..], [Action::Send(Message::Associated(_))]));
    assert!(server.on_time(at(60)).is_empty(), "nobody is waited for any more");
    assert_eq!(say(&mut server, &Message::Stop), [Action::Finish]);
    let last = server.finish();
    assert!(
        matches!(&last[..], [Action::Send(Message::Log(log)), Action::Send(Message::End(end)), Action::Close]
            if log.len() == 1 && end.records_lost == 0 && end.received == 5)
    );
}

#[test]
fn what_was_fetched_and_did_not_come_is_said_again_over_another_connection() {
    let mut server = resumable(&Message::Request(request()));
    server.on_record(ResponderRecord::default());
    let fetched = say(&mut server, &Message::Fetch);
    let [Action::Send(log @ Message::Log(_))] = &fetched[..] else { panic!("{fetched:?}") };
    assert!(server.on_lost_connection(at(10)));
    let asked = resume([9; 16], 0);
    let actions = server.resume(&mut asking(&asked), &asked, [5; 16], at(20)).unwrap();
    assert_eq!(actions[1], Action::Repeat(bytes(log)));
}

/// A session without a connection is closed after the silence timeout.
#[test]
fn disconnected_sessions_expire() {
    let mut server = resumable(&Message::Request(request()));
    assert!(server.on_lost_connection(at(10)));
    assert!(server.on_lost_connection(at(25)), "the first loss counts");
    assert!(server.on_time(at(29)).is_empty());
    assert_eq!(server.on_time(at(30)), [Action::Close]);
    let mut late = asking(&resume([9; 16], 0));
    assert!(server.resume(&mut late, &resume([9; 16], 0), [5; 16], at(31)).is_err());
}

/// A session of which no resumption proves an address ends within the time of one handshake, whether or not its first was proved.
#[test]
fn resumptions_gain_no_time() {
    let asked = resume([9; 16], 0);
    for (is_proved, from) in [(false, 20), (true, 40)] {
        let mut server = resumable(&Message::Request(request()));
        server.resume(&mut asking(&asked), &asked, [5; 16], at(20)).unwrap();
        if is_proved {
            server.on_associated("192.0.2.7:9".parse().unwrap(), at(21));
            server.resume(&mut asking(&asked), &asked, [6; 16], at(from)).unwrap();
        }
        server.resume(&mut asking(&asked), &asked, [7; 16], at(from + 9)).unwrap();
        assert!(server.on_time(at(from + 9)).is_empty());
        assert_eq!(server.on_time(at(from + 10)), [Action::Close]);
    }
}

#[test]
fn a_sender_that_cannot_resume_is_given_no_secret_and_its_session_ends_with_its_connection() {
    let mut server = server(Limits::default());
    say(&mut server, &hello());
    let granted = say(&mut server, &Message::Request(request()));
    assert!(
        matches!(&granted[..], [Action::Open(_), Action::Send(Message::Granted(granted))] if granted.secret.is_none())
    );
    server.on_associated("192.0.2.1:9".parse().unwrap(), at(1));
    assert!(!server.on_lost_connection(at(2)));
    assert!(!server.is_shown(&resume([9; 16], 0)));
}

/// A resumption with a wrong secret or false claims is refused, and the session stays.
#[test]
fn false_resumptions_are_refused() {
    let mut server = resumable(&Message::Request(request()));
    assert!(!server.is_shown(&resume([8; 16], 0)));
    let claimed = resume([9; 16], 3);
    let mut other = asking(&claimed);
    let why = server.resume(&mut other, &claimed, [5; 16], at(3)).unwrap_err();
    assert!(!other.is_over());
    let refused = other.refuse_resumption(why);
    assert!(
        matches!(&refused[..], [Action::Send(Message::Refused(r)), Action::Close] if r.code == RefusalCode::Session)
    );
    assert!(other.is_over() && !server.is_over());
    let wrong = say(&mut server, &Message::Received(Received { messages: 1 }));
    assert!(matches!(&wrong[..], [Action::Send(Message::Complaint(_))]));
    // Out of its turn: a session cannot take another's place.
    let untimely = say(&mut server, &Message::Resume(resume([9; 16], 0)));
    assert!(matches!(&untimely[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::State));
}

fn departures_and_answer(packets: i64, gap_ns: i64) -> (Vec<Message>, Message) {
    let told: Vec<Departure> = (0..packets)
        .map(|number| Departure { offset: Duration::from_nanos(gap_ns * number), size: 44 })
        .collect();
    let parts = told.chunks(100).map(|part| Message::Part(part.to_vec())).collect();
    let stream = ReverseStreamRequest {
        model: "trace:recorded".into(),
        interval_ns: None,
        size: None,
        count: Some(1 << 40),
        recorded_sizes: Some(true),
        ..stream()
    };
    (parts, reverse(stream))
}

#[test]
fn a_recorded_stream_is_granted_by_what_was_told_of_it() {
    let mut server = server(Limits::default());
    say(&mut server, &hello());
    let (parts, request) = departures_and_answer(250, 10_000_000);
    for part in &parts {
        assert!(say(&mut server, part).is_empty());
    }
    assert_eq!(server.told_departures(), 250);
    let granted = say(&mut server, &request);
    let [Action::Open(session), Action::Send(Message::Granted(_))] = &granted[..] else {
        panic!("{granted:?}")
    };
    let stream = session.request.stream.as_ref().unwrap();
    assert_eq!(stream.schedule().unwrap().count(), 250);
    assert_eq!((server.own_rate(), server.told_departures()), (100, 250));
}

/// A recorded stream beyond a limit is refused with the reason and holds no memory.
#[test]
fn excess_recorded_streams_are_refused() {
    let limits = Limits { told_departures: 200, own_packets_per_second: 150, ..Limits::default() };
    for ((parts, request), code, part) in [
        (
            departures_and_answer(250, 10_000_000),
            RefusalCode::Length,
            "TracePackets { packets: 250, limit: 200 }",
        ),
        (departures_and_answer(150, 100_000_000_000_000), RefusalCode::Length, "Duration {"),
        (departures_and_answer(200, 900_000), RefusalCode::Rate, "Rate {"),
        (departures_and_answer(0, 0), RefusalCode::Invalid, "no packets"),
        (departures_and_answer(5, -1), RefusalCode::Invalid, "packet 2"),
    ] {
        let mut server = server(limits);
        say(&mut server, &hello());
        parts.iter().for_each(|part| drop(say(&mut server, part)));
        assert!(server.told_departures() <= 200);
        let refused = say(&mut server, &request);
        let [Action::Send(Message::Refused(refused))] = &refused[..] else { panic!("{refused:?}") };
        assert_eq!(refused.code, code, "{refused:?}");
        assert!(format!("{:?}", refused.reason).contains(part), "{refused:?}");
        assert_eq!(server.told_departures(), 0);
    }
}

#[test]
fn silence_and_slow_drips_end_by_their_deadlines() {
    let mut silent = server(Limits::default());
    assert!(silent.on_time(at(4)).is_empty());
    assert_eq!(silent.on_time(at(5)), [Action::Close]);
    let mut slow = server(Limits::default());
    say(&mut slow, &hello());
    assert!(slow.on_time(at(9)).is_empty());
    assert_eq!(slow.on_time(at(10)), [Action::Close]);
}

#[test]
fn what_is_over_a_limit_is_refused_with_the_limit_and_can_be_asked_again() {
    let mut server = server(Limits { packets_per_second: 1_000, ..Limits::default() });
    say(&mut server, &hello());
    let fast = Request { interval_ns: 10_000, ..request() };
    let refused = say(&mut server, &Message::Request(fast));
    let [Action::Send(Message::Refused(refused))] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!((refused.code, refused.granted), (RefusalCode::Rate, Some(1_000)));
    let long = Request { interval_ns: 1_000_000_000, count: u64::MAX, ..request() };
    assert!(matches!(
        say(&mut server, &Message::Request(long))[..],
        [Action::Send(Message::Refused(Refused { code: RefusalCode::Length, .. }))]
    ));
    let busy = server.on_bytes(&bytes(&Message::Request(request())), true, at(1));
    assert!(
        matches!(&busy[..], [Action::Send(Message::Refused(r))] if r.code == RefusalCode::Busy && r.retry_after_seconds.is_some())
    );
    assert!(matches!(say(&mut server, &Message::Request(request()))[..], [Action::Open(_), _]));
}

#[test]
fn a_peer_that_has_all_it_may_have_is_told_so() {
    let others = Others { all_sessions: true, ..Others::default() };
    let mut server = server(Limits { others, ..Limits::default() });
    say(&mut server, &hello());
    let refused = say(&mut server, &Message::Request(request()));
    let [Action::Send(Message::Refused(refused))] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!((refused.code, refused.retry_after_seconds), (RefusalCode::Busy, Some(10)));
    assert_eq!(refused.reason, Refusal::Sessions { scope: LimitScope::Network });
}

/// What one conversation has answered and read is bounded, whatever it says.
#[test]
fn a_conversation_has_a_work_budget() {
    let mut server = server(Limits::default());
    say(&mut server, &hello());
    let huge = ReverseStreamRequest { model: "imix:65536(a)".repeat(400), ..stream() };
    for (frame, faults) in [
        (bytes(&Message::Ask), 10),
        (vec![0, 0, 0, 1, 99], 10),
        (bytes(&Message::Request(Request { count: 0, ..request() })), 10),
        (bytes(&reverse(huge)), 10),
    ] {
        let mut server = self::server(Limits::default());
        say(&mut server, &hello());
        let actions = server.on_bytes(&frame.repeat(40), false, at(1));
        assert_eq!(actions.len(), faults + 1, "{:?}", actions.first());
        assert!(server.is_over() && actions.last() == Some(&Action::Close));
    }
    // Departures beyond what is held are read up to a bound.
    let part = bytes(&Message::Part(vec![Departure { offset: Duration::ZERO, size: 44 }; 4_000]));
    let frames = (0..1_000).find(|_| server.on_bytes(&part, false, at(1)).contains(&Action::Close));
    assert!(frames.is_some_and(|frames| frames * part.len() < 4 << 20), "{frames:?}");
}

/// What many questions at once are answered with comes in parts, and nothing is left out.
#[test]
fn answers_come_in_parts() {
    let mut server = server(Limits::default());
    say(&mut server, &hello());
    say(&mut server, &Message::Request(request()));
    let (mut answers, mut calls) = (0, 0);
    let mut asked = bytes(&Message::Ask).repeat(1_000);
    loop {
        let actions = server.on_bytes(&std::mem::take(&mut asked), false, at(1));
        assert!(actions.len() <= ANSWERS);
        (answers, calls) = (answers + actions.len(), calls + 1);
        if !server.has_more() {
            break;
        }
    }
    assert_eq!((answers, calls), (1_000, 1_000_usize.div_ceil(ANSWERS)));
}

/// Once a session is granted no long frame is collected.
#[test]
fn long_frames_are_for_requests_only() {
    let mut server = server(Limits::default());
    assert_eq!(server.on_bytes(&60_000_u32.to_be_bytes(), false, at(1)), [Action::Close], "before a welcome");
    let mut server = self::server(Limits::default());
    say(&mut server, &hello());
    assert!(server.on_bytes(&60_000_u32.to_be_bytes(), false, at(1)).is_empty());
    let mut server = self::server(Limits::default());
    say(&mut server, &hello());
    say(&mut server, &Message::Request(request()));
    assert_eq!(server.on_bytes(&60_000_u32.to_be_bytes(), false, at(1)), [Action::Close]);
}

#[test]
fn unknown_and_untimely_frames_are_named_and_the_connection_stays() {
    let mut server = server(Limits::default());
    let untimely = say(&mut server, &Message::Request(request()));
    assert!(matches!(&untimely[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::State));
    let unknown = server.on_bytes(&[0, 0, 0, 1, 99], false, at(1));
    assert!(
        matches!(&unknown[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::UnknownType)
    );
    let body = server.on_bytes(&[0, 0, 0, 2, 1, b'{'], false, at(1));
    assert!(matches!(&body[..], [Action::Send(Message::Complaint(c))] if c.code == ComplaintCode::Body));
    assert!(matches!(say(&mut server, &hello())[..], [Action::Send(Message::Welcome(_))]));
    assert_eq!(server.on_bytes(&[0xff; 4], false, at(1)), [Action::Close]);
}

#[test]
fn another_version_is_told_so_and_left() {
    let mut server = server(Limits::default());
    let other = Message::Hello(ClientHello {
        version: 2,
        software: "t".into(),
        clock: clock(),
        features: Vec::new(),
    });
    let actions = say(&mut server, &other);
    assert!(
        matches!(&actions[..], [Action::Send(Message::Complaint(c)), Action::Close] if c.code == ComplaintCode::Version)
    );
}

#[test]
fn one_clock_is_known_by_boot_and_by_the_distance_of_its_readings() {
    let here = ClockIdentity { boot_id: "a".into(), realtime_minus_boottime_ns: 1_000_000 };
    assert!(here.is_shared_with(&ClockIdentity { realtime_minus_boottime_ns: 1_010_000, ..here.clone() }));
    assert!(!here.is_shared_with(&ClockIdentity { realtime_minus_boottime_ns: 2_000_000, ..here.clone() }));
    assert!(!here.is_shared_with(&ClockIdentity { boot_id: "b".into(), ..here.clone() }));
    let unread = ClockIdentity { boot_id: String::new(), realtime_minus_boottime_ns: 0 };
    assert!(!unread.is_shared_with(&unread.clone()), "what could not be read proves nothing");
}

proptest! {
    #[test]
    fn any_bytes_end_in_an_answer_or_a_close_and_never_in_a_panic(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..30),
    ) {
        let mut server = server(Limits::default());
        for (chunk, second) in chunks.iter().zip(0..) {
            server.on_bytes(chunk, false, at(second));
            server.on_time(at(second));
        }
        server.on_time(at(1_000));
        prop_assert!(server.is_over());
    }
}
