//! Beliefs about kernel stamps.

use std::net::UdpSocket;

use romer_host::clock::{Realtime, realtime_now};
use romer_host::host_info::kernel_release;
use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket, TransmitEvents};
use romer_units::Duration;

use crate::raw;
use romer_testnet::namespace::{Pair, as_ordinary_user, with_network};

const TIMEOUT: Option<Duration> = Some(Duration::from_secs(10));

/// The four stamps of one datagram.
#[derive(Debug)]
struct Journey {
    sent: Realtime,
    departed: Realtime,
    arrived: Option<Realtime>,
    received: Realtime,
}

/// Sends one datagram and gathers its stamps.
fn journey(one: &StampingSocket, other: &StampingSocket, id: u32) -> Journey {
    let sent = one.send(&Outgoing::new(b"belief", other.local_address(), id)).unwrap().user;
    let mut batch = ReceiveBatch::new(1, 64);
    while other.receive_batch(&mut batch).unwrap() == 0 {
        assert!(!other.wait(TIMEOUT).unwrap().timed_out(), "datagram {id} did not arrive");
    }
    let mut events = TransmitEvents::new(16);
    while one.transmit_events(&mut events).unwrap() == 0 {
        assert!(!one.wait(TIMEOUT).unwrap().timed_out(), "no transmit stamp of datagram {id} came");
    }
    assert_eq!((events.stamps().len(), events.stamps()[0].id), (1, id));
    let datagram = batch.iter().next().unwrap();
    Journey { sent, departed: events.stamps()[0].kernel, arrived: datagram.kernel, received: datagram.user }
}

/// Every datagram has both kernel stamps, and the four stamps are in order of the way.
fn stamps_are_in_order(one: &StampingSocket, other: &StampingSocket) {
    // The kernel begins to stamp arrivals a moment after the first socket of the system asks for it.
    let begin = realtime_now();
    while journey(one, other, 0).arrived.is_none() {
        assert!(realtime_now().since(begin) < Duration::from_secs(10), "no arrival was ever stamped");
    }
    for id in 1..300 {
        let journey = journey(one, other, id);
        let arrived = journey.arrived.expect("once arrivals are stamped, each is");
        assert!(journey.sent <= journey.departed, "{journey:?}");
        assert!(journey.departed <= arrived, "{journey:?}");
        assert!(arrived <= journey.received, "{journey:?}");
    }
}

/// romer measures without any right, and subtracts these stamps: that they lie between two readings of
/// `CLOCK_REALTIME` shows that they are of that clock. Relied on by `measure` and `respond` for t1 to t4, and by
/// the location errors, which are never negative.
#[test]
fn an_ordinary_user_gets_ordered_real_time_stamps_on_loopback() {
    as_ordinary_user("stamps::an_ordinary_user_gets_ordered_real_time_stamps_on_loopback", || {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let bind = || StampingSocket::bind(address.parse().unwrap(), &SocketOptions::default()).unwrap();
            stamps_are_in_order(&bind(), &bind());
        }
    });
}

/// As above, where the laboratory's paths are: between two namespaces. Relied on by `demo`, `bench` and every
/// published figure of the tool's own error.
#[test]
fn both_stamps_are_taken_on_a_veth_in_order_of_the_way() {
    with_network("stamps::both_stamps_are_taken_on_a_veth_in_order_of_the_way", || {
        let pair = Pair::create();
        for family in 0..2 {
            let [one, other] = pair.sockets(family, &SocketOptions::default());
            stamps_are_in_order(&one, &other);
        }
    });
}

fn release() -> (u32, u32) {
    let text = kernel_release().unwrap();
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap(), parts.next().unwrap())
}

/// Relied on by the socket's choice between ids that datagrams bring and ids that are counted.
#[test]
fn a_datagram_can_bring_its_id_since_linux_6_13() {
    let (sender, receiver) = (raw::stamping_socket(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let answer = raw::send_with_id(&sender, receiver.local_addr().unwrap(), 0xdead_beef);
    if release() >= (6, 13) {
        answer.unwrap();
        assert_eq!(raw::next_number(&sender), Some(0xdead_beef));
    } else {
        assert_eq!(answer.unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}

/// Relied on by the count of older kernels: it begins at 0, goes up by one for each datagram, and begins at 0
/// again when the option is switched off and on.
#[test]
fn datagrams_are_numbered_from_zero_and_again_after_a_restart() {
    let (sender, receiver) = (raw::stamping_socket(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let to = receiver.local_addr().unwrap();
    for _ in 0..2 {
        for number in 0..50 {
            sender.send_to(b"x", to).unwrap();
            assert_eq!(raw::next_number(&sender), Some(number));
        }
        raw::ask_for_stamps(&sender, false);
        raw::ask_for_stamps(&sender, true);
    }
}

/// The count does not trust this: it is restarted after each failed send, because a refusal further down (a full
/// queue, a packet filter) does use up a number. The test shows that most refusals cost nothing but that restart.
#[test]
fn a_send_that_is_refused_early_uses_up_no_number() {
    let (sender, receiver) = (raw::stamping_socket(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let to = receiver.local_addr().unwrap();
    sender.send_to(b"x", to).unwrap();
    assert_eq!(raw::next_number(&sender), Some(0));
    let too_long = sender.send_to(&[0; 65_508], to).unwrap_err();
    assert_eq!(too_long.raw_os_error(), Some(libc::EMSGSIZE));
    // A socket bound to loopback can send to nobody else.
    assert!(sender.send_to(b"x", "198.51.100.1:9").is_err());
    sender.send_to(b"x", to).unwrap();
    assert_eq!(raw::next_number(&sender), Some(1));
}

/// Relied on by `StampingSocket::send`: the answer to an earlier datagram is given to a later send, which has not
/// been sent then, and only once.
#[test]
fn an_icmp_error_is_told_once_to_the_next_send_and_uses_up_no_number() {
    let sender = raw::stamping_socket();
    raw::set(&sender, libc::IPPROTO_IP, libc::IP_RECVERR, &1_i32.to_ne_bytes()).unwrap();
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let to = receiver.local_addr().unwrap();
    sender.send_to(b"lost", closed).unwrap();
    let refused = sender.send_to(b"told", to).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::ECONNREFUSED));
    sender.send_to(b"sent", to).unwrap();
    let mut payload = [0; 8];
    assert_eq!(receiver.recv(&mut payload).unwrap(), 4);
    assert_eq!(&payload[..4], b"sent");
    assert_eq!([raw::next_number(&sender), raw::next_number(&sender)], [Some(0), Some(1)]);
}

/// Why romer never trusts the option alone: without the fq or etf queue a departure time is taken without a word
/// and ignored. Whoever wants to use it must see that a datagram really left at its time.
#[test]
fn a_departure_time_is_accepted_and_ignored_without_its_queue() {
    let (sender, receiver) =
        (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    // struct sock_txtime: clock and flags.
    let mut option = [0; 8];
    option[..4].copy_from_slice(&libc::CLOCK_MONOTONIC.to_ne_bytes());
    raw::set(&sender, libc::SOL_SOCKET, libc::SO_TXTIME, &option).unwrap();
    let in_an_hour = romer_host::clock::monotonic_now() + Duration::from_secs(3_600);
    let time = in_an_hour.as_nanos().cast_unsigned().to_ne_bytes();
    raw::send_with(&sender, receiver.local_addr().unwrap(), libc::SOL_SOCKET, libc::SCM_TXTIME, &time)
        .unwrap();
    receiver.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
    assert_eq!(receiver.recv(&mut [0; 8]).expect("it arrives an hour early"), 1);
}

/// Relied on by `--stamp nic` and the doctor: what a driver says of its stamps is true of a virtual link, which has no
/// clock of its own, and nobody needs a right to ask.
#[test]
fn a_virtual_link_says_that_it_stamps_in_software_only() {
    with_network("stamps::a_virtual_link_says_that_it_stamps_in_software_only", || {
        let pair = Pair::create();
        let stamping = pair.one.network().stamping("v0").unwrap();
        assert!(!stamping.hardware_departures && !stamping.hardware_arrivals, "{stamping:?}");
        assert!(stamping.software_departures && stamping.clock.is_none(), "{stamping:?}");
    });
}

/// Relied on by the responder, which waits as long for the stamps of its replies and probes: what the kernel keeps while it does
/// not know the neighbour's hardware address is stamped when it leaves, and no earlier.
#[test]
fn what_waits_for_its_neighbour_is_stamped_when_it_leaves() {
    with_network("stamps::what_waits_for_its_neighbour_is_stamped_when_it_leaves", || {
        let pair = Pair::create();
        let [one, _] = pair.sockets(0, &SocketOptions::default());
        let unknown: std::net::SocketAddr = "198.18.0.9:9".parse().unwrap();
        let mut events = TransmitEvents::new(16);
        one.send(&Outgoing::new(b"belief", unknown, 7)).unwrap();
        one.wait(Some(Duration::from_millis(300))).unwrap();
        assert_eq!(one.transmit_events(&mut events).unwrap(), 0, "it has not left");
        let known = realtime_now();
        let mac = pair.other.network().link("v1").unwrap().mac.unwrap();
        pair.one.network().set_neighbour("v0", unknown.ip(), mac).unwrap();
        while one.transmit_events(&mut events).unwrap() == 0 {
            assert!(!one.wait(TIMEOUT).unwrap().timed_out(), "no transmit stamp came");
        }
        let stamp = events.stamps()[0];
        assert_eq!(stamp.id, 7);
        assert!(stamp.kernel >= known, "{stamp:?}, {known:?}");
    });
}
