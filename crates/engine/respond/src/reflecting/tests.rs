//! What a fault of the reflecting thread does to its service.

use std::net::UdpSocket;
use std::sync::mpsc::sync_channel;
use std::time::Duration as StdDuration;

use super::*;
use crate::watchdog::Watchdog;

/// A thread that reflects and is not started, and what is needed to order it and to hear it.
struct Bench {
    reflecting: Reflecting,
    address: SocketAddr,
    waker: Arc<Waker>,
    stop: Arc<AtomicBool>,
    totals: Arc<Mutex<Totals>>,
    commands: SyncSender<Order>,
    told: Receiver<Note>,
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
            asking: Arc::new(Asking::new()),
            cards: Vec::new(),
            pulse: Arc::new(Pulse::new(clock::monotonic_now())),
            turn: Watchdog::default().watch("test"),
        };
        let reflecting = Reflecting::new(vec![socket], &options, links);
        Self { reflecting, address, waker, stop, totals, commands, told }
    }

    /// Opens session 3 for a sender on this host.
    fn open(&self, token: Token) {
        let open = Order::Open {
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
        assert!(matches!(failed, Ok(Note::Failed { session: 3 })), "{failed:?}");
        assert_eq!(answered(&sender), 44);
        assert!(!thread.is_finished());
        stop.store(true, Ordering::Release);
        waker.wake();
        thread.join().unwrap();
    });
    let totals = *totals.lock().unwrap();
    assert_eq!((totals.failed_turns, totals.reflector.reflected), (2, 2));
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
        let is_association = |note: &Note| matches!(note, Note::Associated { session: 3, .. });
        (i64::try_from(bench.told.try_iter().filter(is_association).count()).unwrap(), seconds)
    };
    assert_eq!(reported(&mut bench, [1; 16], &[&one; 200]).0, 1);
    let (count, seconds) = reported(&mut bench, [1; 16], &[&other, &one].repeat(100));
    assert!((1..=1 + seconds).contains(&count), "{count} in {seconds} s");
    // The conversation goes on over another connection.
    bench.reflecting.obey(Order::Move { session: 3, token: [2; 16], peer: bench.address.ip() });
    let (count, seconds) = reported(&mut bench, [2; 16], &[&one, &one, &other, &one, &other]);
    assert!((1..=2 + seconds).contains(&count), "{count} in {seconds} s");
}
