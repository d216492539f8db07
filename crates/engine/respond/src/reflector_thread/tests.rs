//! What a fault of the reflecting thread does to its service.

use std::net::UdpSocket;
use std::num::NonZeroU16;
use std::sync::mpsc::sync_channel;
use std::time::Duration as StdDuration;

use romer_endpoint::threads::STOOD_STILL;
use romer_host::socket::Outgoing;
use romer_wire::stamp::{SHORTEST_RECOGNISABLE, SenderPacket, WireTime};

use super::*;
use crate::watchdog::Watchdog;

/// A thread that reflects and is not started, and what is needed to order it and to hear it.
struct Bench {
    reflecting: ReflectorThread,
    address: SocketAddr,
    waker: Arc<Waker>,
    stop: Arc<AtomicBool>,
    totals: Arc<Mutex<Totals>>,
    commands: SyncSender<Command>,
    told: Receiver<ThreadEvent>,
}

impl Bench {
    fn new() -> Self {
        let options = RespondOptions { stateful: true, ..RespondOptions::default() };
        let socket = SocketOptions { kernel_stamps: true, ..SocketOptions::default() };
        let socket = StampingSocket::bind("127.0.0.1:0".parse().unwrap(), &socket).unwrap();
        let address = socket.local_address();
        let [waker, control_waker] = [(), ()].map(|()| Arc::new(Waker::new().unwrap()));
        let (stop, totals) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Totals::default())));
        let ((commands, orders), (notes, told)) = (sync_channel(8), sync_channel(1_024));
        let links = Links {
            orders,
            notes,
            waker: Arc::clone(&waker),
            control_waker,
            stop: Arc::clone(&stop),
            totals: Arc::clone(&totals),
            stats: Arc::new(StatsRequest::new()),
            cards: Vec::new(),
            pulse: Arc::new(SchedulingWatch::new(clock::monotonic_now())),
            turn: Watchdog::default().watch("test"),
            in_kernel: None,
            key: Arc::new(CurrentKey::new(None)),
            in_packet: None,
        };
        let reflecting = ReflectorThread::new(vec![socket], &options, links);
        Self { reflecting, address, waker, stop, totals, commands, told }
    }

    /// Opens session 3 for a sender on this host.
    fn open(&self, token: Token) {
        let open = Command::Open {
            session: 3,
            token,
            ssid: 7,
            peer: self.address.ip(),
            probes: None,
            sends: None,
            rate: 1,
        };
        self.commands.send(open).unwrap();
    }

    /// Has session 3 opened and its sender proved to be at `address`, which sends by `send`.
    fn prove(&mut self, send: impl FnOnce(&[u8])) {
        self.open([1; 16]);
        self.reflecting.obey_orders();
        send(&association::datagram([1; 16]));
        self.read();
        let is_proved =
            self.told.try_iter().any(|note| matches!(note, ThreadEvent::Associated { session: 3, .. }));
        assert!(is_proved);
    }

    /// Reads what has come. On loopback a datagram has come once it is sent. Gives how many replies that made.
    fn read(&mut self) -> u64 {
        let before = self.reflecting.reflector.counters().reflected;
        let mut batch = ReceiveBatch::new(32, 65_535);
        self.reflecting.receive(0, &mut batch);
        self.reflecting.collect_stamps(0);
        self.reflecting.reflector.counters().reflected - before
    }

    /// Sends by the socket of this responder.
    fn send(&self, payload: &[u8], to: SocketAddr) {
        let outgoing = Outgoing { payload, to, from: None, tos: None, ttl: None, id: 0, may_fragment: false };
        self.reflecting.ports[0].socket.send(&outgoing).unwrap();
    }

    /// A sender on this host.
    fn sender(&self) -> UdpSocket {
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(self.address).unwrap();
        sender.set_read_timeout(Some(StdDuration::from_secs(60))).unwrap();
        sender
    }
}

/// Gives the length of the reply to a request.
fn answered(sender: &UdpSocket) -> usize {
    sender.send(&[0; 44]).unwrap();
    sender.recv(&mut [0; 64]).unwrap()
}

/// A fault in the answer to one datagram drops that datagram; another fault ends the sessions. Both are counted, and requests are
/// answered on.
#[test]
fn panics_end_no_service() {
    let mut bench = Bench::new();
    // There is no place for a reply that waits for its stamp: the answer panics, and so does the stamp.
    bench.reflecting.ports[0].waiting = Vec::new();
    bench.open([1; 16]);
    let sender = bench.sender();
    let Bench { reflecting, waker, stop, totals, told, .. } = bench;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| reflecting.run());
        assert_eq!(answered(&sender), 44);
        let failed = told.recv_timeout(StdDuration::from_secs(60));
        assert!(matches!(failed, Ok(ThreadEvent::Failed { session: 3 })), "{failed:?}");
        assert_eq!(answered(&sender), 44);
        assert!(!thread.is_finished());
        stop.store(true, Ordering::Release);
        waker.wake();
        thread.join().unwrap();
    });
    let totals = *totals.lock().unwrap();
    assert_eq!((totals.failed_iterations, totals.reflector.reflected), (2, 2));
}

/// An association is reported when it changes the address of its session, or when the sender may not know of the address. A sender
/// that alternates between two ports changes its address once, and then once a second.
#[test]
fn reported_associations_are_bounded() {
    let mut bench = Bench::new();
    bench.open([1; 16]);
    bench.reflecting.obey_orders();
    let (one, other) = (bench.sender(), bench.sender());
    let mut batch = ReceiveBatch::new(32, 65_535);
    let mut reported = |bench: &mut Bench, token: Token, senders: &[&UdpSocket]| {
        let datagram = association::datagram(token);
        let (began, mut read) = (clock::monotonic_now(), 0);
        for sender in senders {
            sender.send(&datagram).unwrap();
            // On loopback it has come once it is sent.
            read += bench.reflecting.ports[0].socket.receive_batch(&mut batch).unwrap();
            batch.iter().for_each(|datagram| bench.reflecting.associate(0, token, &datagram));
        }
        assert_eq!(read, senders.len());
        let seconds = (clock::monotonic_now() - began).as_nanos() / 1_000_000_000;
        let is_association = |note: &ThreadEvent| matches!(note, ThreadEvent::Associated { session: 3, .. });
        (i64::try_from(bench.told.try_iter().filter(is_association).count()).unwrap(), seconds)
    };
    assert_eq!(reported(&mut bench, [1; 16], &[&one; 200]).0, 1);
    let (count, seconds) = reported(&mut bench, [1; 16], &[&other, &one].repeat(100));
    assert!((1..=1 + seconds).contains(&count), "{count} in {seconds} s");
    // The conversation goes on over another connection.
    bench.reflecting.obey(Command::Move { session: 3, token: [2; 16], peer: bench.address.ip() });
    let (count, seconds) = reported(&mut bench, [2; 16], &[&one, &one, &other, &one, &other]);
    assert!((1..=2 + seconds).contains(&count), "{count} in {seconds} s");
}

/// A request of session 7 in so many octets.
fn request(octets: usize) -> Vec<u8> {
    let error = ErrorEstimate::from_bits(0x8001);
    let packet = SenderPacket { sequence: 5, timestamp: WireTime(0), error, ssid: NonZeroU16::new(7) };
    let mut payload = vec![0; octets.max(14)];
    packet.emit(&mut payload).unwrap();
    payload.truncate(octets);
    payload
}

/// Two responders, each of which a session has proved to the other as its sender, as somebody can who is behind one NAT with both.
/// Whatever is sent to one in the name of the other, one reply is made of it at the most.
#[test]
fn proved_responders_start_no_loop() {
    let mut both = [Bench::new(), Bench::new()];
    let addresses = [both[0].address, both[1].address];
    let [one, other] = &mut both;
    one.prove(|datagram| other.send(datagram, addresses[0]));
    other.prove(|datagram| one.send(datagram, addresses[1]));
    let mut answered = 0;
    for octets in 0..=200 {
        for payload in [vec![0; octets], vec![0xff; octets], request(octets)] {
            both[1].send(&payload, addresses[0]);
            let replies: u64 = (0..8).map(|turn: usize| both[turn % 2].read()).sum();
            assert!(replies <= 1, "{replies} replies, {octets} octets of {payload:?}");
            answered += replies;
        }
    }
    assert!(answered > 300, "{answered} were answered at all");
    assert!(both.iter().all(|one| one.reflecting.proved.len() == 1), "the sessions are there");
}

/// What a proved address is granted is for datagrams that name its session, and for as long as the session is at that address.
#[test]
fn proofs_are_of_address_and_session() {
    let mut bench = Bench::new();
    let sender = bench.sender();
    bench.prove(|datagram| assert_eq!(sender.send(datagram).unwrap(), 44));
    let mut another = request(SHORTEST_RECOGNISABLE);
    another[15] += 1;
    let mut length_of_reply = |payload: &[u8]| {
        sender.send(payload).unwrap();
        assert_eq!(bench.read(), 1);
        sender.recv(&mut [0; 64]).unwrap()
    };
    assert_eq!(length_of_reply(&request(SHORTEST_RECOGNISABLE)), SHORTEST_RECOGNISABLE);
    assert_eq!(length_of_reply(&another), 44);
    // Another session with this number has proved the same address since.
    let from = sender.local_addr().unwrap();
    bench.reflecting.proved.insert((from, 7), 4);
    bench.reflecting.obey(Command::Close { session: 3 });
    assert_eq!(bench.reflecting.proved.get(&(from, 7)), Some(&4));
}

/// A request of a session that is read more than ten seconds after it came gets no reply, which no responder could recognise. The log
/// of the session has that it came.
#[test]
fn late_requests_are_told() {
    let mut bench = Bench::new();
    let sender = bench.sender();
    bench.prove(|datagram| assert_eq!(sender.send(datagram).unwrap(), 44));
    sender.send(&request(44)).unwrap();
    let mut batch = ReceiveBatch::new(32, 65_535);
    assert_eq!(bench.reflecting.ports[0].socket.receive_batch(&mut batch).unwrap(), 1);
    for datagram in batch.iter() {
        let came = |seconds: i64| Realtime::from_nanos(datagram.user.as_nanos() - seconds * 1_000_000_000);
        for seconds in [9, 11] {
            let kernel = Some(came(seconds));
            bench.reflecting.answer(0, &Datagram { kernel, user: came(seconds), ..datagram });
        }
    }
    bench.reflecting.give_up_waiting(clock::monotonic_now() + Duration::from_secs(60));
    let answered: Vec<bool> = bench
        .told
        .try_iter()
        .filter_map(|note| match note {
            ThreadEvent::Record { session: 3, record, .. } => Some(record.t3_user_ns.is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(answered, [false, true]);
    assert_eq!((bench.reflecting.reflector.counters().reflected, bench.reflecting.not_sent), (1, 1));
    let refused = bench.reflecting.sessions.get_mut(&3).unwrap().refusals.take();
    assert_eq!(refused.map(|refused| (refused.count, refused.errno)), Some((1, STOOD_STILL)));
}
