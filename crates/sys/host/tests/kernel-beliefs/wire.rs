//! Beliefs about what a UDP socket does and sees on a link.

use std::net::{SocketAddr, UdpSocket};

use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket};
use romer_host::{HostError, netns};
use romer_units::{Dscp, Duration};

use romer_testnet::namespace::{Pair, as_ordinary_user, with_network};

const TIMEOUT: Option<Duration> = Some(Duration::from_secs(10));

/// Relied on by `measure` for the columns of TTL and DSCP, and by the reflector, which reports both (RFC 8762
/// section 4.2.1, RFC 8972).
#[test]
fn hop_limit_and_class_arrive_as_they_were_sent() {
    with_network("wire::hop_limit_and_class_arrive_as_they_were_sent", || {
        let pair = Pair::create();
        for family in 0..2 {
            let options = SocketOptions { dscp: Dscp::EF, ttl: Some(255), ..SocketOptions::default() };
            let [one, other] = pair.sockets(family, &options);
            one.send(&Outgoing::new(b"x", other.local_address(), 1)).unwrap();
            let mut batch = ReceiveBatch::new(1, 64);
            while other.receive_batch(&mut batch).unwrap() == 0 {
                assert!(!other.wait(TIMEOUT).unwrap().timed_out());
            }
            let datagram = batch.iter().next().unwrap();
            assert_eq!((datagram.ttl, datagram.tos), (Some(255), Some(Dscp::EF.tos())));
            assert_eq!(datagram.destination, Some(other.local_address().ip()));
        }
    });
}

/// Relied on by `measure --packet-size`: where fragments are forbidden, what exceeds the link is an error of its
/// send, and what fits exactly is not.
#[test]
fn what_exceeds_the_link_is_refused_where_fragments_are_forbidden() {
    with_network("wire::what_exceeds_the_link_is_refused_where_fragments_are_forbidden", || {
        let pair = Pair::create();
        let options = SocketOptions { dont_fragment: true, ..SocketOptions::default() };
        for (family, headers) in [(0, 28), (1, 48)] {
            let [one, other] = pair.sockets(family, &options);
            let send = |size: usize| one.send(&Outgoing::new(&vec![0; size], other.local_address(), 1));
            send(1_500 - headers).unwrap();
            assert!(send(1_501 - headers).unwrap_err().is_too_long());
        }
    });
}

/// Relied on by `--interface`: since Linux 5.7 it takes no right.
#[test]
fn an_ordinary_user_can_bind_a_socket_to_an_interface() {
    as_ordinary_user("wire::an_ordinary_user_can_bind_a_socket_to_an_interface", || {
        let options = SocketOptions { interface: Some("lo".into()), ..SocketOptions::default() };
        StampingSocket::bind("127.0.0.1:0".parse().unwrap(), &options).unwrap();
    });
}

/// Relied on by `--interface`: the socket hears nothing from elsewhere.
#[test]
fn a_socket_bound_to_an_interface_hears_that_interface_only() {
    with_network("wire::a_socket_bound_to_an_interface_hears_that_interface_only", || {
        let pair = Pair::create();
        let options = SocketOptions { interface: Some("v1".into()), ..SocketOptions::default() };
        let bound = pair.other.bind("0.0.0.0".parse().unwrap(), &options);
        let port = bound.local_address().port();
        netns::with_namespace(&pair.other.0, || {
            let local = UdpSocket::bind("127.0.0.1:0").unwrap();
            local.send_to(b"by loopback", ("127.0.0.1", port)).unwrap();
        })
        .unwrap();
        let [one, _] = pair.sockets(0, &SocketOptions::default());
        let to = SocketAddr::new(Pair::ADDRESSES[0][1].parse().unwrap(), port);
        one.send(&Outgoing::new(b"by the link", to, 1)).unwrap();
        let mut batch = ReceiveBatch::new(4, 64);
        while bound.receive_batch(&mut batch).unwrap() == 0 {
            assert!(!bound.wait(TIMEOUT).unwrap().timed_out());
        }
        let heard: Vec<_> = batch.iter().map(|datagram| datagram.payload.to_vec()).collect();
        assert_eq!(heard, [b"by the link"]);
    });
}

/// Relied on by `respond`, which listens to both families with a socket each.
#[test]
fn both_families_can_listen_at_one_port() {
    let options = SocketOptions::default();
    // Another program may take the port in between; then another is tried.
    let found = (0..20).any(|_| {
        let v4 = StampingSocket::bind("0.0.0.0:0".parse().unwrap(), &options).unwrap();
        let v6 = SocketAddr::new("::".parse().unwrap(), v4.local_address().port());
        match StampingSocket::bind(v6, &options) {
            Ok(_) => true,
            Err(error @ HostError::System { .. }) if error.errno() == Some(libc::EADDRINUSE) => false,
            Err(error) => panic!("{error}"),
        }
    });
    assert!(found, "an IPv6 socket does not leave its port to IPv4");
}

/// Relied on by the laboratory: without offloads a datagram on a veth has its true checksum, which programs in the
/// kernel and packet sockets see.
#[test]
fn the_offloads_of_a_veth_can_be_switched_off() {
    use romer_host::ethtool::Offload;
    with_network("wire::the_offloads_of_a_veth_can_be_switched_off", || {
        let pair = Pair::create();
        let network = pair.one.network();
        network.disable_offloads("v0").unwrap();
        for offload in Offload::ALL {
            assert_ne!(network.offload("v0", offload).unwrap(), Some(true), "{offload:?}");
        }
        assert_eq!(network.driver("v0").unwrap().as_deref(), Some("veth"));
    });
}
