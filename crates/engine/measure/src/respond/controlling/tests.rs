//! What one conversation may do to others.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration as StdDuration;

use romer_session::control::{ClockIdentity, Decoder, Hello};
use romer_session::send_limit::SendRates;

use super::*;
use crate::occurrences::Remembered;
use crate::pulse::Pulse;

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
    controlling: Controlling,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    totals: Arc<Mutex<Totals>>,
    notes: SyncSender<Note>,
    orders: Receiver<Order>,
}

impl Bench {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let [waker, reflecting_waker] = [(), ()].map(|()| Arc::new(Waker::new().unwrap()));
        let (commands, orders) = sync_channel(1_024);
        let (notes, events) = sync_channel(1_024);
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
        };
        let pulse = Arc::new(Pulse::new(clock::monotonic_now()));
        let occurrences = Occurrences::begin(Arc::new(Mutex::new(Remembered::default())), pulse);
        let options = RespondOptions::default();
        let controlling =
            Controlling::new(vec![listener], Limits::default(), 862, &options, links, occurrences);
        Self { controlling: controlling.unwrap(), address, stop, waker, totals, notes, orders }
    }

    /// Runs the thread meanwhile. Gives the totals, and what it ordered.
    fn run(self, work: impl FnOnce(SocketAddr, &SyncSender<Note>)) -> (Totals, Vec<Order>) {
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
    let hello = Hello { version: VERSION, software: "test".into(), clock, features: Vec::new() };
    say(stream, &Message::Hello(hello));
    let Some(Message::Welcome(_)) = hear(stream, &mut decoder) else { return None };
    let request = romer_session::control::Request {
        ssid: 1,
        interval_ns: 1_000_000_000,
        count: 1_000,
        payload_octets: 44,
        direction: Way::RoundTrip,
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
        notes.send(Note::Failed { session: 0 }).unwrap();
        say(&mut stream, &Message::Ask);
        let mut decoder = Decoder::default();
        while hear(&mut stream, &mut decoder).is_some() {}
    });
    assert_eq!(totals.failed_conversations, 1);
    assert!(matches!(orders[..], [Order::Open { .. }, Order::Close { session: 0 }]), "{orders:?}");
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

/// Asks at `then` for a session, as a host of network `network` that does not begin its test. Gives whether it is granted.
fn ask_at(
    controlling: &mut Controlling,
    network: u8,
    request: &romer_session::control::Request,
    then: Timestamp<Monotonic>,
) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let other_end = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    other_end.set_nonblocking(true).unwrap();
    let index = controlling.connections.next();
    controlling.converse_over(Box::new(other_end), [192, 0, network, 1].into(), None);
    let clock = ClockIdentity { boot_id: String::new(), realtime_minus_boottime_ns: 0 };
    let hello = Hello { version: VERSION, software: "test".into(), clock, features: Vec::new() };
    let mut octets = Vec::new();
    Message::Hello(hello).encode(&mut octets);
    Message::Request(request.clone()).encode(&mut octets);
    let busy = controlling.allow(index);
    let actions = controlling.connections[index].server.on_bytes(&octets, busy, then);
    let is_granted = actions.iter().any(|action| matches!(action, Action::Open(_)));
    controlling.carry_out(index, actions);
    let now = clock::monotonic_now();
    controlling.account(index, now);
    controlling.make_room(index, now);
    is_granted
}

/// Where four networks hold all rates, or all sessions in which this end sends, an idle session makes room for a fifth network:
/// the one idle for longest. One that is not idle yet makes none.
#[test]
fn idle_sessions_make_room() {
    let round_trip = romer_session::control::Request {
        ssid: 1,
        interval_ns: 10_000,
        count: 1_000_000_000,
        payload_octets: 44,
        direction: Way::RoundTrip,
        stream: None,
    };
    let stream = serde_json::json!({
        "model": "periodic", "interval_ns": 1_000_000_000, "size": 14, "count": 100_000, "seed": [0, 0, 0, 0, 0, 0],
        "ipv6": false, "floor": 9, "dscp": 0, "ecn": 0, "ttl": 255
    });
    let reverse = romer_session::control::Request {
        interval_ns: 1_000_000_000,
        payload_octets: 14,
        direction: Way::Reverse,
        stream: Some(serde_json::from_value(stream).unwrap()),
        ..round_trip
    };
    for (request, of_each) in [(round_trip, 1), (reverse, MOST_SENDERS / NETWORKS)] {
        for (age, is_idle) in [(15, false), (60, true)] {
            let mut controlling = Bench::new().controlling;
            let begun = clock::monotonic_now() - Duration::from_secs(age);
            for number in 0..4 * of_each {
                let network = u8::try_from(number / of_each).unwrap();
                let then = begun + Duration::from_millis(10 * i64::try_from(number).unwrap());
                assert!(ask_at(&mut controlling, network, &request, then), "{number}");
            }
            assert_eq!(controlling.by_session.len(), 4 * of_each);
            assert_eq!(ask_at(&mut controlling, 5, &request, clock::monotonic_now()), is_idle);
            assert_eq!(controlling.totals().made_room, u64::from(is_idle));
            assert_eq!(
                (controlling.by_session.len(), controlling.by_session.contains_key(&0)),
                (4 * of_each, !is_idle)
            );
        }
    }
}
