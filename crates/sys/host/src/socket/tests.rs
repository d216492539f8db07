use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use proptest::prelude::*;
use romer_units::{Dscp, Duration};

use super::identity::Identities;
use super::*;

const LOOPBACKS: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];
const TIMEOUT: Option<Duration> = Some(Duration::from_secs(10));

fn bind(address: &str, options: &SocketOptions) -> StampingSocket {
    StampingSocket::bind(address.parse().unwrap(), options)
        .expect("loopback addresses of both families are there")
}

fn pair(address: &str, options: &SocketOptions) -> (StampingSocket, StampingSocket) {
    (bind(address, options), bind(address, options))
}

/// Receives until `count` datagrams have come, and gives what `probe` makes of each.
fn receive<T>(socket: &StampingSocket, count: usize, mut look: impl FnMut(&Datagram<'_>) -> T) -> Vec<T> {
    let mut batch = ReceiveBatch::new(16, 65_535);
    let mut seen = Vec::new();
    while seen.len() < count {
        assert!(!socket.wait(TIMEOUT).unwrap().timed_out(), "{} of {count} datagrams came", seen.len());
        socket.receive_batch(&mut batch).unwrap();
        seen.extend(batch.iter().map(|datagram| look(&datagram)));
    }
    seen
}

fn stamps(socket: &StampingSocket, count: usize) -> Vec<TransmitStamp> {
    let mut events = TransmitEvents::new(64);
    let mut seen = Vec::new();
    while seen.len() < count {
        assert!(!socket.wait(TIMEOUT).unwrap().timed_out(), "{} of {count} stamps came", seen.len());
        socket.transmit_events(&mut events).unwrap();
        seen.extend_from_slice(events.stamps());
    }
    seen
}

/// A datagram arrives with payload, addresses and both time stamps.
#[test]
fn datagrams_have_addresses_and_stamps() {
    for address in LOOPBACKS {
        let (one, other) = pair(address, &SocketOptions::default());
        let sent = one.send(&Outgoing::new(b"hello", other.local_address(), 1)).unwrap();
        receive(&other, 1, |datagram| {
            assert_eq!(datagram.payload, b"hello");
            assert_eq!((datagram.length, datagram.truncated), (5, false));
            assert_eq!(datagram.peer, one.local_address());
            assert_eq!(datagram.destination, Some(other.local_address().ip()));
            assert_ne!(datagram.interface, 0);
            assert!(datagram.user >= sent.user);
            if let Some(kernel) = datagram.kernel {
                assert!(kernel >= sent.user && kernel <= datagram.user);
            }
        });
        let stamp = stamps(&one, 1)[0];
        assert_eq!(stamp.id, 1);
        assert!(stamp.kernel >= sent.user);
    }
}

#[test]
fn a_receiver_gets_what_its_peer_sends_and_the_sender_keeps_the_stamps_and_the_rest() {
    for address in LOOPBACKS {
        let options = SocketOptions::default();
        let (one, peer) = pair(address, &options);
        let stranger = bind(address, &options);
        let receiver = one.receiver_from(peer.local_address(), &options).unwrap();
        assert_eq!(receiver.local_address(), one.local_address());
        // The kernel begins to stamp a moment after somebody has asked for it.
        let mut is_stamped = false;
        while !is_stamped {
            peer.send(&Outgoing::new(b"first", one.local_address(), 0)).unwrap();
            receive(&receiver, 1, |datagram| is_stamped = datagram.kernel.is_some());
        }
        for number in 0..20 {
            one.send(&Outgoing::new(b"to", peer.local_address(), number)).unwrap();
            peer.send(&Outgoing::new(b"back", one.local_address(), number)).unwrap();
            stranger.send(&Outgoing::new(b"strange", one.local_address(), number)).unwrap();
        }
        receive(&receiver, 20, |datagram| {
            assert_eq!((datagram.payload, datagram.peer), (&b"back"[..], peer.local_address()));
            assert!(datagram.kernel.is_some());
        });
        receive(&one, 20, |datagram| assert_eq!(datagram.payload, b"strange"));
        receive(&peer, 20, |datagram| assert_eq!(datagram.peer, one.local_address()));
        let ids: Vec<u32> = stamps(&one, 20).iter().map(|stamp| stamp.id).collect();
        assert_eq!(ids, (0..20).collect::<Vec<_>>());
        let nothing = Some(Duration::ZERO);
        assert!(receiver.wait(nothing).unwrap().timed_out() && one.wait(nothing).unwrap().timed_out());
    }
}

#[test]
fn a_sender_has_a_receiver_for_each_peer_and_no_other_socket_takes_its_port() {
    let options = SocketOptions::default();
    let (one, peer) = pair(LOOPBACKS[0], &options);
    let other = bind(LOOPBACKS[0], &options);
    let receivers = [&peer, &other].map(|from| one.receiver_from(from.local_address(), &options).unwrap());
    assert!(StampingSocket::bind(one.local_address(), &options).is_err());
    for (from, receiver) in [&peer, &other].into_iter().zip(&receivers) {
        from.send(&Outgoing::new(b"back", one.local_address(), 0)).unwrap();
        receive(receiver, 1, |datagram| assert_eq!(datagram.peer, from.local_address()));
    }
}

#[test]
fn a_batch_keeps_order_and_its_capacity() {
    let (one, other) = pair(LOOPBACKS[0], &SocketOptions::default());
    for number in 0..40_u8 {
        one.send(&Outgoing::new(&[number], other.local_address(), u32::from(number))).unwrap();
    }
    let mut batch = ReceiveBatch::new(16, 100);
    assert_eq!(batch.capacity(), 16);
    let mut seen = Vec::new();
    while seen.len() < 40 {
        assert!(!other.wait(TIMEOUT).unwrap().timed_out());
        let count = other.receive_batch(&mut batch).unwrap();
        assert!(count <= 16 && count == batch.len());
        seen.extend(batch.iter().map(|datagram| datagram.payload[0]));
    }
    assert_eq!(seen, (0..40).collect::<Vec<u8>>());
    assert_eq!(other.receive_batch(&mut batch).unwrap(), 0);
    assert!(batch.is_empty());
}

#[test]
fn a_datagram_longer_than_its_room_is_cut_and_says_so() {
    let (one, other) = pair(LOOPBACKS[1], &SocketOptions::default());
    let mut batch = ReceiveBatch::new(1, 100);
    for (sent, kept) in [(300, 100), (100, 100), (0, 0)] {
        one.send(&Outgoing::new(&vec![9; sent], other.local_address(), 1)).unwrap();
        assert!(!other.wait(TIMEOUT).unwrap().timed_out());
        assert_eq!(other.receive_batch(&mut batch).unwrap(), 1);
        let datagram = batch.iter().next().unwrap();
        assert_eq!(datagram.payload, vec![9; kept]);
        assert_eq!((datagram.length, datagram.truncated), (sent, sent > kept));
    }
}

#[test]
fn the_longest_datagrams_pass_whole() {
    for (address, longest) in [(LOOPBACKS[0], 65_507), (LOOPBACKS[1], 65_527)] {
        let (one, other) = pair(address, &SocketOptions::default());
        one.send(&Outgoing::new(&vec![7; longest], other.local_address(), 1)).unwrap();
        assert_eq!(receive(&other, 1, |datagram| datagram.payload.len()), [longest]);
        let error = one.send(&Outgoing::new(&vec![7; longest + 1], other.local_address(), 2)).unwrap_err();
        assert!(error.is_too_long(), "{error}");
    }
}

#[test]
fn class_and_time_to_live_are_set_for_the_socket_and_class_for_a_datagram() {
    for address in LOOPBACKS {
        let options = SocketOptions { dscp: Dscp::EF, ttl: Some(77), ..SocketOptions::default() };
        let (one, other) = pair(address, &options);
        one.send(&Outgoing::new(b"a", other.local_address(), 1)).unwrap();
        let marked = Outgoing { tos: Some(0x2a), ..Outgoing::new(b"b", other.local_address(), 2) };
        one.send(&marked).unwrap();
        let seen = receive(&other, 2, |datagram| (datagram.tos, datagram.ttl));
        assert_eq!(seen, [(Some(0xb8), Some(77)), (Some(0x2a), Some(77))], "{address}");
    }
}

#[test]
fn a_datagram_may_choose_its_source() {
    let receiver = bind("127.0.0.1:0", &SocketOptions::default());
    let everywhere = bind("0.0.0.0:0", &SocketOptions::default());
    let address: IpAddr = "127.9.8.7".parse().unwrap();
    let source = Source { address, interface: 0 };
    let datagram = Outgoing { from: Some(source), ..Outgoing::new(b"x", receiver.local_address(), 1) };
    everywhere.send(&datagram).unwrap();
    assert_eq!(receive(&receiver, 1, |datagram| datagram.peer.ip()), [address]);
}

#[test]
fn an_oversized_probe_is_refused_where_fragments_are_forbidden() {
    let options = SocketOptions { dont_fragment: true, ..SocketOptions::default() };
    // Loopback's MTU is 65,536: with 20 + 8 octets of header, nothing that UDP allows is too long for it. So an
    // IPv6 socket, whose longest payload with 40 + 8 octets of header is.
    let (one, other) = pair(LOOPBACKS[1], &options);
    let error = one.send(&Outgoing::new(&vec![0; 65_500], other.local_address(), 1)).unwrap_err();
    assert!(error.is_too_long(), "{error}");
    one.send(&Outgoing::new(&vec![0; 65_488], other.local_address(), 2)).unwrap();
}

#[test]
fn a_datagram_that_may_be_taken_apart_arrives_where_fragments_are_forbidden_and_they_stay_so() {
    let options = SocketOptions { dont_fragment: true, ..SocketOptions::default() };
    let (one, other) = pair(LOOPBACKS[1], &options);
    let payload = vec![0; 65_500];
    let whole = Outgoing::new(&payload, other.local_address(), 1);
    one.send(&Outgoing { may_fragment: true, ..whole }).unwrap();
    assert_eq!(receive(&other, 1, |datagram| datagram.payload.len()), [65_500]);
    let error = one.send(&whole).unwrap_err();
    assert!(error.is_too_long(), "{error}");
}

#[test]
fn without_kernel_stamps_there_are_user_stamps_only() {
    let options = SocketOptions { kernel_stamps: false, ..SocketOptions::default() };
    let (one, other) = pair(LOOPBACKS[0], &options);
    assert!(!one.has_kernel_stamps());
    one.send(&Outgoing::new(b"x", other.local_address(), 1)).unwrap();
    assert_eq!(receive(&other, 1, |datagram| datagram.kernel), [None]);
    assert_eq!(one.transmit_events(&mut TransmitEvents::new(16)).unwrap(), 0);
}

#[test]
fn where_no_card_stamps_the_kernels_stamps_are_as_they_were() {
    let options = SocketOptions { card_stamps: true, ..SocketOptions::default() };
    for identities in [Identities::best(), Identities::counted()] {
        let one = StampingSocket::bind_with(LOOPBACKS[0].parse().unwrap(), &options, identities).unwrap();
        let other = bind(LOOPBACKS[0], &options);
        for id in 5..9 {
            one.send(&Outgoing::new(b"x", other.local_address(), id)).unwrap();
        }
        let arrived = receive(&other, 4, |datagram| (datagram.kernel.is_some(), datagram.card));
        assert_eq!(arrived, [(true, None); 4]);
        let mut events = TransmitEvents::new(64);
        one.transmit_events(&mut events).unwrap();
        assert_eq!(events.stamps().iter().map(|stamp| stamp.id).collect::<Vec<_>>(), [5, 6, 7, 8]);
        assert!(events.card_stamps().is_empty());
    }
}

#[test]
fn datagrams_that_found_no_room_are_counted() {
    let (one, other) =
        pair(LOOPBACKS[0], &SocketOptions { receive_buffer: 4_096, ..SocketOptions::default() });
    assert_eq!(other.kernel_drops().unwrap(), 0);
    for id in 0..200 {
        one.send(&Outgoing::new(&[0; 500], other.local_address(), id)).unwrap();
    }
    let mut batch = ReceiveBatch::new(64, 500);
    let mut received = 0;
    while received + other.kernel_drops().unwrap() < 200 {
        let ready = other.wait(TIMEOUT).unwrap();
        assert!(!ready.timed_out(), "{received} received, {} dropped", other.kernel_drops().unwrap());
        received += u32::try_from(other.receive_batch(&mut batch).unwrap()).unwrap();
    }
    assert!(received < 200, "the buffer was too large for this test");
    assert_eq!(received + other.kernel_drops().unwrap(), 200);
}

#[test]
fn an_icmp_error_is_reported_apart_and_never_as_the_fate_of_another_datagram() {
    for address in LOOPBACKS {
        let options = SocketOptions { path_errors: true, ..SocketOptions::default() };
        let one = bind(address, &options);
        let other = bind(address, &options);
        let closed = {
            let gone = bind(address, &options);
            gone.local_address()
        };
        let mut events = TransmitEvents::new(64);
        let mut errors = Vec::new();
        for round in 0..10 {
            one.send(&Outgoing::new(b"x", closed, 1_000 + round)).unwrap();
            one.send(&Outgoing::new(b"y", other.local_address(), round)).unwrap();
        }
        let mut left = Vec::new();
        while errors.len() < 10 || left.len() < 20 {
            assert!(!one.wait(TIMEOUT).unwrap().timed_out());
            one.transmit_events(&mut events).unwrap();
            left.extend(events.stamps().iter().map(|stamp| stamp.id));
            errors.extend_from_slice(events.path_errors());
        }
        assert_eq!(receive(&other, 10, |datagram| datagram.payload.to_vec()), vec![b"y".to_vec(); 10]);
        assert!(errors.iter().all(|error| error.kind == PathErrorKind::PortUnreachable));
        assert!(errors.iter().all(|error| error.to.map(|to| to.port()) == Some(closed.port())), "{errors:?}");
        assert!(errors.iter().all(|error| error.reporter == Some(one.local_address().ip())), "{errors:?}");
        left.sort_unstable();
        assert_eq!(left, (0..10).chain(1_000..1_010).collect::<Vec<_>>());
    }
}

#[test]
fn a_socket_that_asks_for_no_path_errors_gets_none() {
    let one = bind(LOOPBACKS[0], &SocketOptions::default());
    let closed = bind(LOOPBACKS[0], &SocketOptions::default()).local_address();
    for id in 0..20 {
        one.send(&Outgoing::new(b"x", closed, id)).unwrap();
    }
    assert_eq!(stamps(&one, 20).len(), 20);
}

/// Sends datagrams of which some must fail, and checks that each stamp that comes bears the right id.
fn ids_survive_failures(socket: &StampingSocket, to: SocketAddr, plan: &[bool]) -> Result<(), TestCaseError> {
    let too_long = vec![0; 66_000];
    let mut sent = std::collections::HashMap::new();
    let mut events = TransmitEvents::new(64);
    for (index, fails) in plan.iter().enumerate() {
        let id = 5_000 + u32::try_from(index).unwrap();
        if *fails {
            prop_assert!(socket.send(&Outgoing::new(&too_long, to, id)).is_err());
        } else {
            let user = socket.send(&Outgoing::new(b"x", to, id)).unwrap().user;
            // Loopback transmits within the send call, so the stamp is there; taking it now keeps a later
            // failure from making it unknown.
            prop_assert_eq!(socket.transmit_events(&mut events).unwrap(), 1);
            prop_assert_eq!(events.stamps()[0].id, id);
            prop_assert!(events.stamps()[0].kernel >= user);
            sent.insert(id, user);
        }
    }
    prop_assert_eq!(events.unmatched(), 0);
    Ok(())
}

proptest! {
    #[test]
    fn ids_are_right_after_failed_sends_when_datagrams_bring_them(plan in proptest::collection::vec(any::<bool>(), 1..40)) {
        let (one, other) = pair(LOOPBACKS[0], &SocketOptions::default());
        ids_survive_failures(&one, other.local_address(), &plan)?;
    }

    #[test]
    fn ids_are_right_after_failed_sends_when_they_are_counted(plan in proptest::collection::vec(any::<bool>(), 1..40)) {
        let options = SocketOptions::default();
        let address = LOOPBACKS[1].parse().unwrap();
        let one = StampingSocket::bind_with(address, &options, Identities::counted()).unwrap();
        let other = bind(LOOPBACKS[1], &options);
        ids_survive_failures(&one, other.local_address(), &plan)?;
    }
}

#[test]
fn a_counted_stamp_from_before_a_failure_is_never_taken_for_another() {
    let options = SocketOptions::default();
    let one =
        StampingSocket::bind_with(LOOPBACKS[0].parse().unwrap(), &options, Identities::counted()).unwrap();
    let other = bind(LOOPBACKS[0], &options);
    for id in 0..3 {
        one.send(&Outgoing::new(b"old", other.local_address(), id)).unwrap();
    }
    assert!(one.send(&Outgoing::new(&vec![0; 66_000], other.local_address(), 3)).is_err());
    for id in 10..12 {
        one.send(&Outgoing::new(b"new", other.local_address(), id)).unwrap();
    }
    let mut events = TransmitEvents::new(64);
    assert_eq!(one.transmit_events(&mut events).unwrap(), 5);
    assert_eq!(events.stamps().iter().map(|stamp| stamp.id).collect::<Vec<_>>(), [10, 11]);
    assert_eq!(events.unmatched(), 3);
}

#[test]
fn a_waker_ends_a_wait_and_is_spent_by_it() {
    let socket = bind(LOOPBACKS[0], &SocketOptions::default());
    let waker = Waker::new().unwrap();
    let ready = std::thread::scope(|scope| {
        scope.spawn(|| waker.wake());
        wait_any(&[socket.as_fd()], Some(&waker), None).unwrap()
    });
    assert!(ready.woken() && !ready.readable(0) && !ready.errors(0));
    assert!(wait_any(&[socket.as_fd()], Some(&waker), Some(Duration::ZERO)).unwrap().timed_out());
}

#[test]
fn one_wait_watches_several_sockets() {
    let (one, other) = pair(LOOPBACKS[0], &SocketOptions::default());
    let idle = bind(LOOPBACKS[1], &SocketOptions::default());
    one.send(&Outgoing::new(b"x", other.local_address(), 1)).unwrap();
    assert!(other.wait(TIMEOUT).unwrap().readable(0));
    let watched = [idle.as_fd(), one.as_fd(), other.as_fd()];
    let ready = wait_any(&watched, None, TIMEOUT).unwrap();
    assert_eq!([0, 1, 2].map(|index| ready.readable(index)), [false, false, true]);
    assert_eq!([0, 1, 2].map(|index| ready.errors(index)), [false, true, false]);
    assert!(wait_any(&[idle.as_fd(); MAX_WAITED + 1], None, None).is_err());
}

#[test]
fn an_address_that_is_not_ours_is_named_in_the_error() {
    let error =
        StampingSocket::bind("192.0.2.1:862".parse().unwrap(), &SocketOptions::default()).unwrap_err();
    assert_eq!(error.errno(), Some(libc::EADDRNOTAVAIL));
    assert!(error.to_string().contains("192.0.2.1:862"), "{error}");
    let options = SocketOptions { interface: Some("no-such-port".into()), ..SocketOptions::default() };
    let error = StampingSocket::bind("127.0.0.1:0".parse().unwrap(), &options).unwrap_err();
    assert_eq!(error.errno(), Some(libc::ENODEV));
    assert!(error.to_string().contains("no-such-port"), "{error}");
}

#[test]
fn a_datagram_tells_how_many_were_dropped_before_it() {
    for address in LOOPBACKS {
        let options = SocketOptions { receive_buffer: 1, ..SocketOptions::default() };
        let (one, other) = (bind(address, &SocketOptions::default()), bind(address, &options));
        let send = |count: u32| {
            for id in 0..count {
                one.send(&Outgoing::new(&[0; 100], other.local_address(), id)).unwrap();
            }
        };
        send(200);
        let dropped = other.kernel_drops().unwrap();
        assert!((1..200).contains(&dropped), "{dropped}");
        let read = usize::try_from(200 - dropped).unwrap();
        let told = receive(&other, read, |datagram| datagram.dropped_before);
        assert_eq!((told.len(), told[0]), (read, 0), "they came before the socket was full");
        send(1);
        assert_eq!(receive(&other, 1, |datagram| datagram.dropped_before), [dropped]);
    }
}
