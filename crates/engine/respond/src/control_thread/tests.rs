//! What one conversation may do to others.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration as StdDuration;

use romer_endpoint::byte_stream::ByteStream;
use romer_endpoint::responder_host_monitor::Remembered;
use romer_endpoint::scheduling_watch::SchedulingWatch;
use romer_endpoint::tls::ResponderChannelOptions;
use romer_session::control::{ClientHello, ClockIdentity, Decoder, Granted, Resume, VERSION};
use romer_session::send_limit::SendRates;

use super::*;

/// A connection at which this responder panics when it reads.
#[derive(Debug)]
struct Panics(TcpStream);

impl Read for Panics {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        panic!("as the test wants it")
    }
}

impl Write for Panics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl ByteStream for Panics {
    fn set_patience(&self, patience: Option<StdDuration>) -> io::Result<()> {
        self.0.set_patience(patience)
    }
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A control thread that is not started, and what it orders of the others.
struct Bench {
    controlling: ControlThread,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    totals: Arc<Mutex<Totals>>,
    notes: SyncSender<ThreadEvent>,
    orders: Receiver<Command>,
}

impl Bench {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let [waker, reflecting_waker] = [(), ()].map(|()| Arc::new(Waker::new().unwrap()));
        let (commands, orders) = sync_channel(1_024);
        let (notes, events) = sync_channel(2 * thread_events::NOTES);
        let (stop, totals) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Totals::default())));
        let links = Links {
            commands,
            events,
            notes: notes.clone(),
            waker: Arc::clone(&waker),
            reflecting_waker,
            stop: Arc::clone(&stop),
            totals: Arc::clone(&totals),
            send_limit: Arc::new(Mutex::new(SendLimit::new(SendRates::new(1_000, false)))),
            turn: Watchdog::default().watch("test"),
            watchdog: Arc::default(),
            in_kernel: None,
            key: Arc::new(CurrentKey::new(None)),
            channel: Arc::new(ResponderChannel::open(ResponderChannelOptions::default()).unwrap()),
        };
        let pulse = Arc::new(SchedulingWatch::new(clock::monotonic_now()));
        let occurrences = ResponderHostMonitor::begin(Arc::new(Mutex::new(Remembered::default())), pulse);
        let options = RespondOptions::default();
        let controlling =
            ControlThread::new(vec![listener], Limits::default(), 862, &options, links, occurrences);
        Self { controlling: controlling.unwrap(), address, stop, waker, totals, notes, orders }
    }

    /// Runs the thread meanwhile. Gives the totals, and what it ordered.
    fn run(self, work: impl FnOnce(SocketAddr, &SyncSender<ThreadEvent>)) -> (Totals, Vec<Command>) {
        let Self { controlling, address, stop, waker, totals, notes, orders } = self;
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| controlling.run());
            work(address, &notes);
            stop.store(true, Ordering::Release);
            waker.wake();
            thread.join().unwrap();
        });
        let totals = *totals.lock().unwrap();
        (totals, orders.try_iter().collect())
    }
}

fn say(stream: &mut TcpStream, message: &Message) {
    let mut octets = Vec::new();
    message.encode(&mut octets);
    stream.write_all(&octets).unwrap();
}

/// The next message; `None` where the connection was closed.
fn hear(stream: &mut TcpStream, decoder: &mut Decoder) -> Option<Message> {
    let mut buffer = [0; 4_096];
    loop {
        if let Some(message) = decoder.next().unwrap() {
            return Some(message);
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => decoder.extend(&buffer[..count]),
            _ => return None,
        }
    }
}

/// Greets, and asks for a session that lasts.
fn ask(stream: &mut TcpStream) -> Option<Message> {
    let mut decoder = Decoder::default();
    let clock = ClockIdentity { boot_id: String::new(), realtime_minus_boottime_ns: 0 };
    let hello = ClientHello { version: VERSION, software: "test".into(), clock, features: Vec::new() };
    say(stream, &Message::Hello(hello));
    let Some(Message::Welcome(_)) = hear(stream, &mut decoder) else { return None };
    let request = romer_session::control::Request {
        ssid: 1,
        interval_ns: 1_000_000_000,
        count: 1_000,
        payload_octets: 44,
        direction: ProbeDirection::RoundTrip,
        stream: None,
    };
    say(stream, &Message::Request(request));
    hear(stream, &mut decoder)
}

/// A panic in one conversation closes that connection, is counted, and disturbs no other.
#[test]
fn panics_close_one_conversation() {
    let mut bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut other_end = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, peer) = listener.accept().unwrap();
    bench.controlling.converse_over(Box::new(Panics(stream)), peer.ip(), None);
    let (totals, _) = bench.run(|address, _| {
        let mut before = TcpStream::connect(address).unwrap();
        assert!(matches!(ask(&mut before), Some(Message::Granted(_))));
        say(&mut other_end, &Message::Ask);
        assert_eq!(hear(&mut other_end, &mut Decoder::default()), None, "it is closed");
        say(&mut before, &Message::Ask);
        let heard = hear(&mut before, &mut Decoder::default());
        assert!(matches!(heard, Some(Message::Heard(_))), "{heard:?}");
        let mut after = TcpStream::connect(address).unwrap();
        assert!(matches!(ask(&mut after), Some(Message::Granted(_))));
    });
    assert_eq!((totals.failed_conversations, totals.sessions), (1, 2));
}

/// A session of which the sending thread has failed is ended, and its place is free.
#[test]
fn failed_senders_end_their_session() {
    let (totals, orders) = Bench::new().run(|address, notes| {
        let mut stream = TcpStream::connect(address).unwrap();
        assert!(matches!(ask(&mut stream), Some(Message::Granted(_))));
        notes.send(ThreadEvent::Failed { session: 0 }).unwrap();
        say(&mut stream, &Message::Ask);
        let mut decoder = Decoder::default();
        while hear(&mut stream, &mut decoder).is_some() {}
    });
    assert_eq!(totals.failed_conversations, 1);
    assert!(matches!(orders[..], [Command::Open { .. }, Command::Close { session: 0 }]), "{orders:?}");
}

/// However many sessions there are, of however many networks, what they may buffer together is bounded.
#[test]
fn buffered_records_are_bounded() {
    assert_eq!(buffered(BUFFERED, 0, 0), BUFFERED);
    let (mut all, mut count) = (0, 0);
    for _ in 0..16 {
        let mut own = 0;
        for _ in 0..1_024 {
            let granted = buffered(BUFFERED, all, own);
            (all, own, count) = (all + granted, own + granted, count + 1);
        }
        assert!(own <= MOST_RECORDS / 2 + 1_024 * LEAST_RECORDS, "{own}");
    }
    assert!(all <= MOST_RECORDS + count * LEAST_RECORDS, "{all}");
}

/// What asks for a session.
#[derive(Clone, Debug)]
struct Asking {
    request: romer_session::control::Request,
    /// Departures of a recorded stream, which are told before.
    departures: usize,
    features: Vec<String>,
}

impl From<romer_session::control::Request> for Asking {
    fn from(request: romer_session::control::Request) -> Self {
        Self { request, departures: 0, features: Vec::new() }
    }
}

fn round_trip(interval_ns: i64) -> romer_session::control::Request {
    romer_session::control::Request {
        ssid: 1,
        interval_ns,
        count: (10_000_000_000_000 / interval_ns).unsigned_abs(),
        payload_octets: 44,
        direction: ProbeDirection::RoundTrip,
        stream: None,
    }
}

/// A stream that the responder sends.
fn reverse(model: &str, interval_ns: Option<i64>, size: Option<u32>) -> romer_session::control::Request {
    let stream = serde_json::json!({
        "model": model, "interval_ns": interval_ns, "size": size, "count": 100_000, "seed": [0, 0, 0, 0, 0, 0],
        "ipv6": false, "floor": 9, "dscp": 0, "ecn": 0, "ttl": 255, "recorded_sizes": interval_ns.is_none().then_some(true)
    });
    romer_session::control::Request {
        payload_octets: 14,
        direction: ProbeDirection::Reverse,
        stream: Some(serde_json::from_value(stream).unwrap()),
        ..round_trip(1_000_000_000)
    }
}

fn greeting(features: Vec<String>) -> Vec<u8> {
    let clock = ClockIdentity { boot_id: String::new(), realtime_minus_boottime_ns: 0 };
    encoded(&Message::Hello(ClientHello { version: VERSION, software: "test".into(), clock, features }))
}

fn encoded(message: &Message) -> Vec<u8> {
    let mut octets = Vec::new();
    message.encode(&mut octets);
    octets
}

/// A control thread that is not started, and the other ends of its connections.
struct Hosts {
    controlling: ControlThread,
    ends: Vec<TcpStream>,
}

impl Hosts {
    fn new() -> Self {
        let mut controlling = Bench::new().controlling;
        controlling.limits.own_bits_per_second = Some(10_000_000);
        controlling.limits.all_own_bits_per_second = Some(100_000_000);
        Self { controlling, ends: Vec::new() }
    }

    /// Begins a conversation with a host of network `network`. Gives the connection.
    fn connect(&mut self, network: u8) -> usize {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        self.ends.push(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let index = self.controlling.connections.next();
        self.controlling.converse_over(Box::new(stream), [192, 0, network, 1].into(), None);
        index
    }

    /// Asks at `then` for a session, as a host of network `network` that does not begin its test. Gives the connection, and what is
    /// granted.
    fn ask_at(
        &mut self,
        network: u8,
        asking: &Asking,
        then: Timestamp<Monotonic>,
    ) -> Option<(usize, Granted)> {
        let index = self.connect(network);
        let mut octets = greeting(asking.features.clone());
        let departure =
            |number| romer_traffic::Departure { offset: Duration::from_millis(10 * number), size: 44 };
        let departures: Vec<_> = (0_i64..).take(asking.departures).map(departure).collect();
        departures.chunks(1_000).for_each(|part| octets.extend(encoded(&Message::Part(part.to_vec()))));
        octets.extend(encoded(&Message::Request(asking.request.clone())));
        let controlling = &mut self.controlling;
        let busy = controlling.allow(index);
        let actions = controlling.connections[index].server.on_bytes(&octets, busy, then);
        let granted = actions.iter().find_map(|action| match action {
            Action::Send(Message::Granted(granted)) => Some(granted.clone()),
            _ => None,
        });
        controlling.carry_out(index, actions);
        let now = clock::monotonic_now();
        controlling.account(index, now);
        controlling.make_room(index, now);
        Some((index, granted?))
    }

    /// Resumes over a new connection the session of which `granted` has the secret, as a host of network `network`.
    fn resume_from(&mut self, granted: &Granted, network: u8) {
        let from = self.connect(network);
        let mut octets = greeting(FEATURES.map(str::to_owned).to_vec());
        let resume = Resume { secret: granted.secret.clone().unwrap(), heard: 0, silent_ns: 0 };
        octets.extend(encoded(&Message::Resume(resume)));
        self.controlling.take_bytes(from, &octets);
    }
}

/// Where all rates, bits, recorded departures or sessions in which this end sends are held, an idle session makes room for another
/// network: the one idle for longest. One that is not idle yet makes none.
#[test]
fn idle_sessions_make_room() {
    // 1,250 octets of IP: 1,000 a second are 10 Mbit/s.
    let bits = reverse("periodic", Some(1_000_000), Some(1_222));
    let departures =
        Asking { departures: MOST_DEPARTURES / NETWORKS, ..reverse("trace:recorded", None, None).into() };
    for (asking, networks, of_each) in [
        (round_trip(10_000).into(), NETWORKS, 1),
        (reverse("periodic", Some(1_000_000_000), Some(14)).into(), NETWORKS, MOST_SENDERS / NETWORKS),
        (bits.into(), 10, 1),
        (departures, NETWORKS, 1),
    ] {
        for (age, is_idle) in [(15, false), (60, true)] {
            let mut hosts = Hosts::new();
            let begun = clock::monotonic_now() - Duration::from_secs(age);
            let all = networks * of_each;
            for number in 0..all {
                let network = u8::try_from(number / of_each).unwrap();
                let then = begun + Duration::from_millis(10 * i64::try_from(number).unwrap());
                assert!(hosts.ask_at(network, &asking, then).is_some(), "{number}");
            }
            assert_eq!(hosts.controlling.by_session.len(), all);
            let newcomer = hosts.ask_at(100, &asking, clock::monotonic_now());
            let controlling = &hosts.controlling;
            assert_eq!(newcomer.is_some(), is_idle, "{:?}", asking.request);
            assert_eq!(controlling.totals().evicted_sessions, u64::from(is_idle));
            assert_eq!(
                (controlling.by_session.len(), controlling.by_session.contains_key(&0)),
                (all, !is_idle)
            );
        }
    }
}

/// However many notes there are, a turn takes a bounded number of them, and the next one continues at once.
#[test]
fn notes_of_a_turn_are_bounded() {
    let mut controlling = Bench::new().controlling;
    for count in 0..thread_events::NOTES + 10 {
        let note = ThreadEvent::Departed { session: 0, count: u64::try_from(count).unwrap() };
        controlling.links.notes.try_send(note).unwrap();
    }
    assert!(controlling.take_notes(), "there may be more");
    let next = controlling.links.events.try_recv();
    let all = u64::try_from(thread_events::NOTES).unwrap();
    assert!(matches!(next, Ok(ThreadEvent::Departed { count, .. }) if count == all), "{next:?}");
    assert!(!controlling.take_notes() && controlling.links.events.try_recv().is_err());
}

/// However often sessions change their addresses, a bounded number of routes is looked up between two looks at deadlines. Every
/// session has its turn, and a change of the port alone causes no look-up.
#[test]
fn route_lookups_are_bounded() {
    let mut hosts = Hosts::new();
    let now = clock::monotonic_now();
    let sessions: Vec<usize> = (0..40)
        .map(|number| hosts.ask_at(number % 4, &round_trip(1_000_000_000).into(), now).unwrap().0)
        .collect();
    let controlling = &mut hosts.controlling;
    let associate = |controlling: &mut ControlThread, port: u16| {
        for index in &sessions {
            let address = SocketAddr::new(controlling.connections[*index].peer, port);
            let (moves, others) = (Vec::new(), Vec::new());
            let session = controlling.connections[*index].number().unwrap();
            let note = ThreadEvent::Associated { session, address, moves, others, path: None };
            controlling.links.notes.try_send(note).unwrap();
        }
        controlling.take_notes();
    };
    let looked_up = |controlling: &ControlThread, by: Timestamp<Monotonic>| {
        let is_done = |index: &&usize| controlling.connections[**index].reached.unwrap().due > by;
        sessions.iter().filter(is_done).count()
    };
    for port in 1..=20 {
        associate(controlling, port);
    }
    let then = clock::monotonic_now();
    assert_eq!((controlling.routes_left, looked_up(controlling, then)), (0, ROUTES));
    let later = then + Duration::from_secs(3_600);
    for look in 1..=sessions.len() / ROUTES {
        controlling.look_up_routes(later);
        assert_eq!(looked_up(controlling, later), look * ROUTES);
    }
    controlling.look_up_routes(later);
    (1..=20).for_each(|port| associate(controlling, port));
    assert_eq!((controlling.routes_left, looked_up(controlling, later)), (ROUTES, sessions.len()));
}

/// A session that can be resumed.
fn resumable(request: romer_session::control::Request) -> Asking {
    Asking { features: FEATURES.map(str::to_owned).to_vec(), ..request.into() }
}

fn event() -> romer_record::event::Event {
    serde_json::from_value(serde_json::json!({
        "code": "link-up", "location": "responder", "detail": "interface-up", "interface": "x".repeat(300), "at_ns": 1,
        "clock_ns": 1
    }))
    .unwrap()
}

/// However many sessions keep messages that nobody acknowledges, these are bounded together, and the sessions go on.
#[test]
fn kept_messages_are_bounded_in_total() {
    let mut hosts = Hosts::new();
    let now = clock::monotonic_now();
    let mut sessions = Vec::new();
    for network in 0..20 {
        let (index, _) = hosts.ask_at(network, &resumable(round_trip(1_000_000_000)), now).unwrap();
        hosts.controlling.lose(index);
        sessions.push(index);
    }
    let controlling = &mut hosts.controlling;
    let mut said = 0;
    for index in sessions.iter().copied().cycle().take(20 * 4_000) {
        let actions = controlling.connections[index].server.on_event(event());
        said += 300;
        controlling.carry_out(index, actions);
        let kept = controlling.connections.iter().map(|(_, one)| one.server.kept_memory()).sum::<usize>();
        assert!(kept <= MOST_BUFFERED && controlling.shares.all().buffered == kept, "{kept}");
    }
    assert!(said > MOST_BUFFERED, "more was said than is kept");
    assert_eq!(controlling.by_session.len(), 20);
}

/// A session that goes on in another network counts there: it does not where that network would have more than its share.
#[test]
fn resumed_sessions_count_where_they_are() {
    let departures = MOST_DEPARTURES / NETWORKS;
    let recorded = Asking { departures, ..resumable(reverse("trace:recorded", None, None)) };
    for (asking, most) in [
        (resumable(round_trip(10_000)), 1),
        (resumable(round_trip(1_000_000_000)), 2),
        (resumable(reverse("periodic", Some(1_000_000), Some(1_222))), 1),
        (recorded, 1),
    ] {
        let mut hosts = Hosts::new();
        hosts.controlling.most_sessions = 2 * NETWORKS;
        let now = clock::monotonic_now();
        let granted: Vec<Granted> =
            (0..=most).map(|network| hosts.ask_at(network, &asking, now).unwrap().1).collect();
        let sessions_of = |hosts: &Hosts, network| {
            hosts
                .controlling
                .shares
                .network(ClientNetwork::from_address([192, 0, network, 1].into()))
                .sessions
        };
        for (number, granted) in (0..).zip(&granted) {
            hosts.resume_from(granted, 100);
            let sessions = sessions_of(&hosts, 100);
            assert_eq!(sessions, usize::from((number + 1).min(most)), "{:?}", asking.request);
        }
        assert_eq!(hosts.controlling.by_session.len(), granted.len(), "a session that does not move stays");
        // In its own network it goes on.
        hosts.controlling.lose(usize::from(most));
        hosts.resume_from(&granted[usize::from(most)], most);
        assert_eq!(sessions_of(&hosts, most), 1, "{:?}", asking.request);
        assert!(hosts.controlling.connections[usize::from(most)].stream.is_some());
    }
}

/// A session that goes on in another network counts in both until its new address is proved: its probes go to the old one.
#[test]
fn unproved_sessions_count_in_both_networks() {
    let mut hosts = Hosts::new();
    let now = clock::monotonic_now();
    let asking = resumable(reverse("periodic", Some(1_000_000), Some(1_222)));
    let (index, granted) = hosts.ask_at(0, &asking, now).unwrap();
    hosts.resume_from(&granted, 100);
    let senders = |hosts: &Hosts| {
        let in_network = |network| ClientNetwork::from_address([192, 0, network, 1].into());
        let of = |network| hosts.controlling.in_use.network(in_network(network)).senders;
        (of(0), of(100), hosts.controlling.in_use.all().senders)
    };
    assert_eq!(senders(&hosts), (1, 1, 1));
    let controlling = &mut hosts.controlling;
    let address = SocketAddr::new(controlling.connections[index].peer, 9);
    let (moves, others) = (Vec::new(), Vec::new());
    let note = ThreadEvent::Associated { session: 0, address, moves, others, path: None };
    controlling.links.notes.try_send(note).unwrap();
    controlling.take_notes();
    assert_eq!(senders(&hosts), (0, 1, 1));
}

/// A sender that floods the connection over which it resumes its session, or over which the log comes back at the end, and reads
/// nothing, takes little memory. It is served once it reads.
#[test]
fn floods_of_sessions_cost_little() {
    for has_finished in [false, true] {
        let mut hosts = Hosts::new();
        let now = clock::monotonic_now();
        let (index, granted) = hosts.ask_at(0, &resumable(round_trip(1_000_000_000)), now).unwrap();
        hosts.resume_from(&granted, 0);
        let (controlling, mut other_end) = (&mut hosts.controlling, hosts.ends.pop().unwrap());
        let flood = if has_finished {
            let finishing =
                controlling.connections[index].server.on_bytes(&encoded(&Message::Stop), false, now);
            controlling.carry_out(index, finishing);
            let last = controlling.connections[index].server.finish();
            controlling.carry_out(index, last);
            encoded(&Message::Stop)
        } else {
            encoded(&Message::Ask)
        };
        other_end.set_nonblocking(true).unwrap();
        let flood = flood.repeat(1 << 10);
        let mut given = 0;
        for _ in 0..20_000 {
            if let Ok(count) = other_end.write(&flood[given % flood.len()..]) {
                given += count;
            }
            controlling.converse(index);
            let buffered = controlling.connections[index].buffered();
            assert!(buffered <= LONGEST_ANSWER, "{buffered}");
        }
        assert!(!controlling.connections[index].outbox.is_empty(), "it does not read what it is answered");
        let mut read = 0;
        while !controlling.connections[index].outbox.is_empty() {
            read += other_end.read(&mut [0; 1 << 16]).unwrap_or(0);
            controlling.converse(index);
        }
        while let Ok(count @ 1..) = other_end.read(&mut [0; 1 << 16]) {
            read += count;
        }
        assert!(read > LONGEST_ANSWER, "{read}");
    }
}
