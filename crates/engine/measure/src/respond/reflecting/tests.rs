//! What a fault of the reflecting thread does to its service.

use std::net::UdpSocket;
use std::sync::mpsc::sync_channel;
use std::time::Duration as StdDuration;

use super::*;
use crate::respond::watchdog::Watchdog;

/// A fault in the answer to one datagram drops that datagram; another fault ends the sessions. Both are counted, and requests are
/// answered on.
#[test]
fn panics_end_no_service() {
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
    let mut reflecting = Reflecting::new(vec![socket], &options, links);
    // There is no place for a reply that waits for its stamp: the answer panics, and so does the stamp.
    reflecting.ports[0].waiting = Vec::new();
    let open = Order::Open {
        session: 3,
        token: [1; 16],
        ssid: 7,
        peer: address.ip(),
        probes: None,
        sends: None,
        rate: 1,
    };
    commands.send(open).unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(address).unwrap();
    sender.set_read_timeout(Some(StdDuration::from_secs(60))).unwrap();
    let answered = || {
        sender.send(&[0; 44]).unwrap();
        sender.recv(&mut [0; 64]).unwrap()
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| reflecting.run());
        assert_eq!(answered(), 44);
        let failed = told.recv_timeout(StdDuration::from_secs(60));
        assert!(matches!(failed, Ok(Note::Failed { session: 3 })), "{failed:?}");
        assert_eq!(answered(), 44);
        assert!(!thread.is_finished());
        stop.store(true, Ordering::Release);
        waker.wake();
        thread.join().unwrap();
    });
    let totals = *totals.lock().unwrap();
    assert_eq!((totals.failed_turns, totals.reflector.reflected), (2, 2));
}
