use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};

use romer_record::document::ProbeDirection;
use romer_record::event::{ClockStep, EventKind, EventLocation};
use romer_record::log::CardMoment;
use romer_session::control::{Associated, Departed, Events, Moved, ProtocolError, Resumed};

use super::*;

/// A connection over which this comes before it is reset.
#[derive(Debug)]
struct Breaking {
    bytes: Vec<u8>,
    descriptor: TcpListener,
}

impl Read for Breaking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.len().min(buffer.len());
        let bytes = self.bytes.drain(..count);
        buffer.iter_mut().zip(bytes).for_each(|(octet, given)| *octet = given);
        if count == 0 { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(count) }
    }
}

impl Write for Breaking {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ByteStream for Breaking {
    fn set_patience(&self, _: Option<StdDuration>) -> io::Result<()> {
        Ok(())
    }
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A token of a plain connection to `address`.
fn resume_token(address: SocketAddr, heard: u64, most: u64) -> ResumeToken {
    ResumeToken {
        address,
        from: Origin::default(),
        channel: PeerChannel::plain(),
        secret: [1; 16],
        heard,
        most,
    }
}

/// A connection over which the same frame comes again and again, up to so many octets.
#[derive(Debug)]
struct Repeating {
    frame: Vec<u8>,
    given: usize,
    most: usize,
    descriptor: TcpListener,
}

impl Read for Repeating {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given >= self.most {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let frame = self.frame.iter().cycle().skip(self.given % self.frame.len());
        buffer.iter_mut().zip(frame).for_each(|(octet, given)| *octet = *given);
        self.given += buffer.len();
        Ok(buffer.len())
    }
}

impl Write for Repeating {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ByteStream for Repeating {
    fn set_patience(&self, _: Option<StdDuration>) -> io::Result<()> {
        Ok(())
    }
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A frame of a type that nobody knows.
const UNKNOWN: [u8; 5] = [0, 0, 0, 1, 200];

fn encoded(message: &Message) -> Vec<u8> {
    let mut frame = Vec::new();
    message.encode(&mut frame);
    frame
}

/// Whatever a far end repeats, little of it is taken at a time, and not for ever; what its probes can make is taken.
#[test]
fn endless_messages_are_given_up() {
    const PROBES: u64 = 40_000;
    let log = Message::Log(vec![ResponderRecord::default(); Message::RECORDS_IN_A_FRAME]);
    let associated =
        |address: String| Message::Associated(Associated { address, moved_ns: None, earlier: Vec::new() });
    let known = [log, associated("127.0.0.1:862".into()), associated("1".repeat(60_000)), Message::Ask];
    let mut frames = known.map(|message| encoded(&message));
    frames[3] = UNKNOWN.to_vec();
    for frame in frames {
        let descriptor = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = descriptor.local_addr().unwrap();
        let kind = frame[4];
        let stream = Repeating { frame, given: 0, most: 1 << 28, descriptor };
        let mut conversation = Conversation::over(address, Box::new(stream), None);
        conversation.secret = Some([1; 16]);
        conversation.budget.probes = PROBES;
        let (mut turns, mut rows) = (0, 0);
        while !conversation.is_broken() && turns < 10_000 {
            let before = conversation.budget.spent();
            let told = conversation.news();
            turns += 1;
            rows += counted(told.entries.len());
            let taken = conversation.budget.spent() - before;
            let one = counted(Message::RECORDS_IN_A_FRAME) + 1 + (1 << 16) / OCTETS_OF_ONE;
            assert!(taken <= TURN + one, "{kind}: {taken}");
        }
        assert!(
            conversation.is_broken() && conversation.fault() == Some(ProtocolFault::TooMuch),
            "{kind}: {turns}"
        );
        assert!(conversation.way_on().is_none(), "{kind}");
        if kind == 8 {
            assert!((4 * PROBES..PROBES * FOR_A_PROBE + BESIDES).contains(&rows), "{rows}");
        }
    }
}

/// What comes back of a log at the end is bounded as well.
#[test]
fn endless_last_words_are_given_up() {
    const PROBES: u64 = 1_000;
    let mut frames =
        [Message::Log(vec![ResponderRecord::default(); Message::RECORDS_IN_A_FRAME]), Message::Ask]
            .map(|message| encoded(&message));
    frames[1] = UNKNOWN.to_vec();
    for frame in frames {
        let descriptor = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = descriptor.local_addr().unwrap();
        let stream = Repeating { frame, given: 0, most: 1 << 28, descriptor };
        let mut conversation = Conversation::over(address, Box::new(stream), None);
        conversation.secret = Some([1; 16]);
        conversation.budget.probes = PROBES;
        let mut rows = 0;
        let mut keep = |told: ResponderReport| rows += counted(told.entries.len());
        assert_eq!(conversation.hear_last(StdDuration::from_secs(600), &mut keep), None);
        assert!(conversation.is_broken() && conversation.way_on().is_none());
        assert_eq!(conversation.fault(), Some(ProtocolFault::TooMuch));
        let one = counted(Message::RECORDS_IN_A_FRAME);
        assert!(rows <= PROBES * FOR_A_PROBE + BESIDES + EACH_SECOND * 600 + one, "{rows}");
    }
}

/// A far end that floods the connection over which its session is to go on is given up, too.
#[test]
fn flooded_resumptions_are_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4_096]).unwrap();
            let welcome = Conversation::over(address, Box::new(stream.try_clone().unwrap()), None).welcome;
            stream
                .write_all(&encoded(&Message::Welcome(ServerHello {
                    version: VERSION,
                    test_port: 862,
                    ..welcome
                })))
                .unwrap();
            let flood = UNKNOWN.repeat(1 << 12);
            while stream.write_all(&flood).is_ok() {}
        });
        let way_on = resume_token(address, 0, 0);
        let absent = Conversation::resume(&way_on, None, StdDuration::ZERO).unwrap_err();
        assert!(absent.why() == protocol_fault(ProtocolFault::TooMuch) && !absent.may_pass(), "{absent:?}");
    });
}

/// A conversation of a session of 10 probes in which `message` came, and what was taken of it.
fn hostile(message: &Message) -> (Conversation, ResponderReport) {
    let descriptor = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = descriptor.local_addr().unwrap();
    let stream = Breaking { bytes: encoded(message), descriptor };
    let mut conversation = Conversation::over(address, Box::new(stream), None);
    conversation.secret = Some([1; 16]);
    conversation.budget.probes = 10;
    let told = conversation.news();
    (conversation, told)
}

/// A far end that reports more departures than its session has probes is given up.
#[test]
fn impossible_counts_of_departures() {
    for count in [11, 1 << 32, u64::MAX] {
        let (conversation, told) = hostile(&Message::Departed(Departed { count }));
        assert_eq!(
            (told.departed, conversation.fault()),
            (None, Some(ProtocolFault::ImpossibleNumbers)),
            "{count}"
        );
        assert!(conversation.is_broken() && conversation.way_on().is_none(), "{count}");
    }
    let (conversation, told) = hostile(&Message::Departed(Departed { count: 10 }));
    assert_eq!((told.departed, conversation.fault()), (Some(10), None));
}

/// Departures of probes that the session does not have end the conversation, and none of them is taken.
#[test]
fn impossible_departures() {
    for (last, is_possible) in [(9, true), (10, false), (u64::MAX, false)] {
        let records = [0, last]
            .map(|sequence| ResponderDeparture { sequence, ..ResponderDeparture::default() })
            .to_vec();
        let (conversation, told) = hostile(&Message::Departures(records));
        let found = (told.entries.len(), conversation.fault());
        assert_eq!(
            found,
            if is_possible { (2, None) } else { (0, Some(ProtocolFault::ImpossibleNumbers)) },
            "{last}"
        );
    }
}

/// Times that cannot be end the conversation in whichever message they stand, and none of it is taken.
#[test]
fn impossible_times() {
    for extreme in [i64::MIN, i64::MAX] {
        let card = Card {
            sequence: 1,
            moment: CardMoment::ArrivedThere,
            arrival_ns: 1,
            card_ns: extreme,
            error_ns: 1,
        };
        let step = ClockStep { size_ns: extreme, size_interval_ns: None, before_ns: 1, after_ns: 2 };
        let event =
            Event { step: Some(step), ..Event::new(EventKind::ClockStep, EventLocation::Responder, 1, 2) };
        let moved = Moved { address: "[::1]:5".into(), moved_ns: [1, extreme] };
        let associated = |moved_ns, earlier| {
            Message::Associated(Associated { address: "[::1]:4".into(), moved_ns, earlier })
        };
        for message in [
            Message::Log(vec![
                ResponderRecord::default(),
                ResponderRecord { t2_user_ns: extreme, ..ResponderRecord::default() },
            ]),
            Message::Departures(vec![ResponderDeparture {
                user_ns: extreme,
                ..ResponderDeparture::default()
            }]),
            Message::Cards(vec![card]),
            Message::Events(Events { events: vec![event] }),
            associated(Some([extreme, 1]), Vec::new()),
            associated(None, vec![moved]),
        ] {
            let (conversation, told) = hostile(&message);
            assert_eq!(conversation.fault(), Some(ProtocolFault::ImplausibleTimes), "{message:?}");
            assert!(
                told.entries.is_empty() && told.events.is_empty() && told.places.is_empty(),
                "{message:?}"
            );
            assert!(conversation.is_broken() && conversation.way_on().is_none(), "{message:?}");
        }
    }
}

/// What a conversation makes of a welcome.
fn welcomed(welcome: ServerHello) -> Result<ServerHello, Absent> {
    let descriptor = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = descriptor.local_addr().unwrap();
    let bytes = encoded(&Message::Welcome(welcome));
    let mut conversation = Conversation::over(address, Box::new(Breaking { bytes, descriptor }), None);
    conversation.be_welcomed(None).map(|()| conversation.welcome)
}

/// A welcome without a port for the test packets, or with an error of its clock that cannot be, is refused with the reason.
#[test]
fn impossible_welcomes() {
    let usual = ServerHello::new("romer", clock_identity(), 862);
    let sync = ClockSync { maximum_error_ns: Some(i64::MIN), ..ClockSync::default() };
    for (welcome, fault) in [
        (ServerHello { test_port: 0, ..usual.clone() }, ProtocolFault::NoTestPort),
        (ServerHello { clock_sync: Some(sync), ..usual.clone() }, ProtocolFault::ImplausibleTimes),
    ] {
        assert_eq!(welcomed(welcome).unwrap_err().why(), protocol_fault(fault));
    }
    assert_eq!(welcomed(usual).unwrap().test_port, 862);
}

/// Every text of a welcome is cut, and their number is bounded.
#[test]
fn overlong_texts_of_welcomes() {
    let long = || "\u{1b}x".repeat(500);
    let chrony = Chrony { reference: long(), ..Chrony::default() };
    let sync = ClockSync {
        state: Some(long()),
        sync_daemons: vec![long(); 8],
        chrony: Some(chrony),
        ..ClockSync::default()
    };
    let welcome = ServerHello { clock_sync: Some(sync), ..ServerHello::new(&long(), clock_identity(), 862) };
    let welcome = welcomed(welcome).unwrap();
    let sync = welcome.clock_sync.unwrap();
    assert_eq!(sync.sync_daemons.len(), 8);
    let texts =
        sync.sync_daemons.into_iter().chain(sync.state).chain(sync.chrony.map(|chrony| chrony.reference));
    for text in texts.chain([welcome.software]) {
        assert_eq!(text, "x".repeat(300));
    }
    let sync_daemons = vec![String::new(); 10_000];
    let sync = ClockSync { sync_daemons, ..ClockSync::default() };
    let many = ServerHello { clock_sync: Some(sync), ..ServerHello::new("", clock_identity(), 862) };
    assert_eq!(welcomed(many).unwrap().clock_sync.unwrap().sync_daemons.len(), MOST_SYNC_DAEMONS);
}

/// A session of round trips has no key of one-way probes, and one of one-way probes has one.
#[test]
fn keys_of_the_wrong_sessions() {
    let key = Some(hex([2; 16]));
    for (direction, key, is_granted) in [
        (ProbeDirection::RoundTrip, None, true),
        (ProbeDirection::RoundTrip, key.clone(), false),
        (ProbeDirection::RoundTrip, Some(String::new()), false),
        (ProbeDirection::Forward, key, true),
        (ProbeDirection::Forward, None, false),
    ] {
        let granted = Granted { token: hex([1; 16]), buffered_records: 1, key: key.clone(), secret: None };
        let descriptor = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = descriptor.local_addr().unwrap();
        let bytes = encoded(&Message::Granted(granted));
        let mut conversation = Conversation::over(address, Box::new(Breaking { bytes, descriptor }), None);
        let (interval_ns, payload_octets) = (10_000_000, 44);
        let request = Request { ssid: 5, interval_ns, count: 3, payload_octets, direction, stream: None };
        assert_eq!(conversation.request(request).is_ok(), is_granted, "{direction:?}, {key:?}");
    }
}

/// Long text in place of an address is not taken, and the words of a far end are short.
#[test]
fn overlong_texts_of_far_ends() {
    for address in ["1".repeat(60_000), format!("[fe80::1%{}1]:5", "0".repeat(60_000))] {
        let message = Message::Associated(Associated { address, moved_ns: None, earlier: Vec::new() });
        let (_, told) = hostile(&message);
        assert!(told.places.iter().all(|(place, _)| place.len() <= 64), "{:?}", told.places);
    }
    let complaint = ProtocolError { code: ComplaintCode::State, message: "\n1".repeat(20_000) };
    let (_, told) = hostile(&Message::Complaint(complaint));
    let objection = told.objection.unwrap();
    assert!(objection.len() <= 300 && !objection.contains('\n'), "{}", objection.len());
}

/// A far end whose session continues with a message that it cannot have sent is refused.
#[test]
fn impossible_resumptions() {
    for (next, is_possible) in [(2, false), (3, true), (10, true), (11, false), (u64::MAX, false)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let resumed = std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4_096]).unwrap();
                let welcome = ServerHello::new("", clock_identity(), 862);
                let token = hex([1; 16]);
                let mut bytes = encoded(&Message::Welcome(welcome));
                bytes.extend(encoded(&Message::Resumed(Resumed { token, next })));
                stream.write_all(&bytes).unwrap();
                let _ = stream.read(&mut [0; 4_096]);
            });
            let way_on = resume_token(address, 3, 10);
            Conversation::resume(&way_on, None, StdDuration::ZERO)
        });
        match resumed {
            Ok((conversation, _)) => assert!(is_possible && conversation.inbox.heard() == next, "{next}"),
            Err(absent) => assert!(!is_possible && !absent.may_pass(), "{next}: {absent:?}"),
        }
    }
}

#[test]
fn what_comes_right_before_the_connection_breaks_counts_as_heard_and_is_told() {
    let mut bytes = Vec::new();
    Message::Departed(Departed { count: 7 }).encode(&mut bytes);
    let descriptor = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = descriptor.local_addr().unwrap();
    let mut conversation = Conversation::over(address, Box::new(Breaking { bytes, descriptor }), None);
    conversation.secret = Some([1; 16]);
    conversation.budget.probes = 7;
    let told = conversation.news();
    assert_eq!((told.departed, conversation.is_broken()), (Some(7), true));
    assert_eq!(conversation.way_on().unwrap().heard, 1);
}

/// A responder that hangs up before it confirms the association ends the attempt at once, with the reason.
#[test]
fn hang_up_before_the_association() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stream = std::net::TcpStream::connect(address).unwrap();
    drop(listener.accept().unwrap());
    let mut conversation = Conversation::over(address, Box::new(stream), None);
    let error = conversation.associated(StdDuration::from_secs(600)).unwrap_err().to_string();
    assert!(error.contains("the responder closed the connection"), "{error}");
}
