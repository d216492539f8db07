//! Both ends on the loopback interface.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use romer_clock::skew::Method;
use romer_host::stream::{Origin, connect};
use romer_qtcp::{
    Console, Key, Notice, QtcpError, ReceiveOptions, Received, ReservationEvent, SendOptions,
    await_calibration, evaluate, receive, send,
};
use romer_qtcp_protocol::{HEADER_LEN, Packet, PacketKind, Quota, ReceiverEnd, ReceiverPlan, SenderPlan};
use romer_record::qtcp::{QtcpSender, QtcpSenderEnd};
use romer_traffic::TokenBucket;

/// A user who enters what a channel gives, and whose notices go to another.
struct User<'a> {
    keys: Receiver<Key>,
    notices: Sender<Notice>,
    interrupted: &'a AtomicBool,
}

impl Console for User<'_> {
    fn show(&mut self, notice: Notice) {
        // A test need not look.
        let _ = self.notices.send(notice);
    }

    fn show_reservation(&mut self, _: &ReservationEvent) {}

    fn key(&mut self) -> Option<Key> {
        self.keys.try_recv().ok()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }
}

/// A port that is free for UDP and TCP.
fn free_port() -> u16 {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = socket.local_addr().unwrap().port();
    drop(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).unwrap());
    port
}

fn sender_plan(calibration: u64, packets: u64) -> SenderPlan {
    SenderPlan {
        session: 77,
        size: 64,
        bucket: TokenBucket::new(200_000, 64).unwrap(),
        calibration,
        quota: Quota::Packets(packets),
        pause: true,
        wait: true,
        shape: true,
        reservation: None,
    }
}

fn receiver_plan(packets: u64) -> ReceiverPlan {
    ReceiverPlan { calibration: 20, quota: Quota::Packets(packets), kernel_stamps: true, wait: true }
}

/// Runs both ends. `at_prompt` is entered after the sender's prompt.
fn run(
    plan: SenderPlan,
    receiving: ReceiverPlan,
    at_prompt: &Key,
) -> (Result<QtcpSender, QtcpError>, Received) {
    let port = free_port();
    let never = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (ready, is_ready) = channel();
        let (_silent, no_keys) = channel();
        let mut receiver = User { keys: no_keys, notices: ready, interrupted: &never };
        let receiver =
            scope.spawn(move || receive(&ReceiveOptions { port, plan: receiving }, &mut receiver).unwrap());
        while is_ready.recv().unwrap() != Notice::WaitingForSender {}
        let (enter, keys) = channel();
        let (notices, seen) = channel();
        let mut user = User { keys, notices, interrupted: &never };
        let sender = scope.spawn(move || {
            let options = SendOptions {
                addresses: vec![(Ipv4Addr::LOCALHOST, port).into()],
                plan,
                compressible: false,
                service: None,
            };
            send(&options, &mut user)
        });
        while let Ok(notice) = seen.recv() {
            if notice == Notice::Prompt {
                enter.send(at_prompt.clone()).unwrap();
            }
        }
        (sender.join().unwrap(), receiver.join().unwrap())
    })
}

/// A whole test arrives whole, in order and with its announcement; the kernel's departures are known of all packets, if it takes any.
#[test]
fn whole_tests_arrive_whole() {
    let (sent, received) = run(sender_plan(20, 200), receiver_plan(200), &Key::Line("c".into()));
    let sent = sent.unwrap();
    assert_eq!((sent.end, sent.all.packets, sent.measured.packets), (QtcpSenderEnd::AllSent, 220, 200));
    assert_eq!(received.end, ReceiverEnd::Quota);
    assert_eq!(received.session, Some(77));
    assert_eq!(received.offer.unwrap().calibration, 20);
    let numbers: Vec<u64> = received.arrivals.iter().map(|arrival| arrival.sequence).collect();
    assert_eq!(numbers, (0..220).collect::<Vec<_>>());
    assert!(received.arrivals.iter().all(|arrival| arrival.size == 64));
    let known = received.offsets.iter().filter(|offset| offset.is_some()).count();
    assert!(!sent.kernel_stamps || known == 220, "{known}");
    let evaluation = evaluate(&received, Method::None, 20, false);
    assert_eq!((evaluation.document.all.packets, evaluation.document.measured.packets), (220, 200));
    assert!(evaluation.raw.iter().all(|entry| entry.received >= entry.sent), "one clock");
}

/// A receiver that expects fewer packets ends the test of both.
#[test]
fn receivers_end_both() {
    let (sent, received) = run(sender_plan(20, 1_000_000), receiver_plan(30), &Key::Line("c".into()));
    let sent = sent.unwrap();
    assert_eq!((sent.end, sent.partial), (QtcpSenderEnd::ReceiverEnded, true));
    assert_eq!((received.end, received.expected), (ReceiverEnd::Quota, 50));
}

/// Without anybody at the prompt the sender fails, and the receiver has the calibration packets.
#[test]
fn nobody_at_the_prompt_is_an_error() {
    let (sent, received) = run(sender_plan(20, 200), receiver_plan(200), &Key::End);
    assert!(matches!(sent, Err(QtcpError::NobodyContinued)), "{sent:?}");
    assert_eq!(received.arrivals.len(), 20);
    assert!(received.is_cut_short);
    assert!(matches!(received.end, ReceiverEnd::Termination | ReceiverEnd::Done));
}

/// A second sender is refused while the first one has the receiver.
#[test]
fn second_senders_are_refused() {
    let port = free_port();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let user = || {
            let ((_, keys), (notices, seen)) = (channel(), channel());
            (User { keys, notices, interrupted: &stop }, seen)
        };
        let (mut console, ready) = user();
        let options = ReceiveOptions { port, plan: receiver_plan(1_000_000) };
        let receiver = scope.spawn(move || receive(&options, &mut console).unwrap());
        while ready.recv().unwrap() != Notice::WaitingForSender {}
        let to = |plan| SendOptions {
            addresses: vec![(Ipv4Addr::LOCALHOST, port).into()],
            plan,
            compressible: true,
            service: None,
        };
        // It waits at its prompt.
        let (mut console, seen) = user();
        let first = to(sender_plan(20, 200));
        let first = scope.spawn(move || send(&first, &mut console));
        while seen.recv().unwrap() != Notice::Prompt {}
        let (mut console, _) = user();
        let second = send(&to(SenderPlan { session: 78, ..sender_plan(20, 200) }), &mut console);
        assert!(matches!(second, Err(QtcpError::Busy { .. })), "{second:?}");
        stop.store(true, Ordering::Release);
        let first = first.join().unwrap().unwrap();
        assert!(first.partial && first.end != QtcpSenderEnd::AllSent, "{first:?}");
        assert_eq!(receiver.join().unwrap().arrivals.len(), 20);
    });
}

/// Connections that offer nothing keep no sender of another network out, however many they are.
#[test]
fn idle_connections_keep_no_place() {
    const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
    let port = free_port();
    let stop = AtomicBool::new(false);
    let answer = std::thread::scope(|scope| {
        let ((ready, is_ready), (_silent, keys)) = (channel(), channel());
        let mut user = User { keys, notices: ready, interrupted: &stop };
        let options = ReceiveOptions { port, plan: receiver_plan(10) };
        let receiver = scope.spawn(move || receive(&options, &mut user));
        while is_ready.recv().unwrap() != Notice::WaitingForSender {}
        let talk = || -> std::io::Result<String> {
            let address = (Ipv4Addr::LOCALHOST, port).into();
            let crowd = Origin { address: Some(Ipv4Addr::new(127, 0, 1, 1).into()), ..Origin::default() };
            let idle: Vec<TcpStream> =
                (0..20).map(|_| connect(address, &crowd, TIMEOUT)).collect::<Result<_, _>>()?;
            let mut sender = connect(address, &Origin::default(), TIMEOUT)?;
            sender.set_read_timeout(Some(TIMEOUT))?;
            sender.write_all(
                b"TEST session=0123456789abcdef size=64 calibration=0 packets=9 rate=3000 depth=64\n",
            )?;
            let mut answer = String::new();
            BufReader::new(&sender).read_line(&mut answer)?;
            drop(idle);
            Ok(answer)
        };
        let answer = talk();
        stop.store(true, Ordering::Release);
        assert_eq!(receiver.join().unwrap().unwrap().end, ReceiverEnd::Interrupted);
        answer
    });
    assert_eq!(answer.unwrap(), "READY stamps=kernel\n");
}

/// A datagram gets no answer, whether it is a packet of the test, of another one, or none.
#[test]
fn datagrams_get_no_answer() {
    let port = free_port();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let ((ready, is_ready), (_silent, keys)) = (channel(), channel());
        let mut user = User { keys, notices: ready, interrupted: &stop };
        let plan = ReceiverPlan { wait: false, calibration: 0, ..receiver_plan(2) };
        let receiver = scope.spawn(move || receive(&ReceiveOptions { port, plan }, &mut user).unwrap());
        while is_ready.recv().unwrap() != Notice::WaitingForSender {}
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let packet = |kind, sequence, session| {
            let mut header = [0; HEADER_LEN];
            Packet { kind, sequence, sent: 0, user: 0, session }.write(&mut header);
            header.to_vec()
        };
        for datagram in [
            Vec::new(),
            vec![0; 1_000],
            packet(PacketKind::Termination, 1, 9),
            packet(PacketKind::Measured, 0, 5),
            packet(PacketKind::Measured, 7, 6),
            packet(PacketKind::Measured, u64::MAX, 5),
            packet(PacketKind::Measured, 1, 5),
        ] {
            socket.send_to(&datagram, (Ipv4Addr::LOCALHOST, port)).unwrap();
        }
        let received = receiver.join().unwrap();
        assert_eq!((received.end, received.arrivals.len(), received.ignored), (ReceiverEnd::Quota, 2, 5));
        // What is sent over loopback has arrived when the call returns.
        socket.set_nonblocking(true).unwrap();
        assert_eq!(socket.recv(&mut [0; 100]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    });
}

/// A program that waits for the calibration goes on after the last calibration packet and before the first measured one: it is there
/// before the test begins, and the sender pauses until it has gone on. One that comes later goes on at once.
#[test]
fn calibrations_are_awaited() {
    let port = free_port();
    let never = AtomicBool::new(false);
    let address = [SocketAddr::from((Ipv4Addr::LOCALHOST, port))];
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| await_calibration(&address, &|| false).unwrap());
        let (ready, is_ready) = channel();
        let (_silent, no_keys) = channel();
        let mut receiver = User { keys: no_keys, notices: ready, interrupted: &never };
        let plan = receiver_plan(200);
        let receiver = scope.spawn(move || receive(&ReceiveOptions { port, plan }, &mut receiver).unwrap());
        while is_ready.recv().unwrap() != Notice::WaitingForSender {}
        let (enter, keys) = channel();
        let (notices, seen) = channel();
        let mut user = User { keys, notices, interrupted: &never };
        let sender = scope.spawn(move || {
            let plan = sender_plan(20, 200);
            let options =
                SendOptions { addresses: address.to_vec(), plan, compressible: false, service: None };
            send(&options, &mut user)
        });
        while seen.recv().unwrap() != Notice::Prompt {}
        assert!(waiting.join().unwrap());
        assert!(await_calibration(&address, &|| false).unwrap(), "it is complete");
        enter.send(Key::Line("c".into())).unwrap();
        assert_eq!(sender.join().unwrap().unwrap().measured.packets, 200);
        assert_eq!(receiver.join().unwrap().arrivals.len(), 220);
    });
}

/// Who waits is ended by its user, without a receiver and with one that has no test; a receiver that ends is an error.
#[test]
fn waits_for_calibrations_end() {
    let port = free_port();
    let address = [SocketAddr::from((Ipv4Addr::LOCALHOST, port))];
    let looks = AtomicUsize::new(0);
    let is_ended = || looks.fetch_add(1, Ordering::Relaxed) > 4;
    assert!(!await_calibration(&address, &is_ended).unwrap());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    looks.store(0, Ordering::Relaxed);
    assert!(!await_calibration(&address, &is_ended).unwrap());
    drop(listener.accept().unwrap());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| await_calibration(&address, &|| false));
        let (stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert_eq!(line, "AWAIT\n");
        assert!(matches!(waiting.join().unwrap(), Err(QtcpError::NoCalibration { .. })));
    });
}
