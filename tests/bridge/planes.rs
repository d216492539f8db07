//! The same bridge over XDP sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use romer_emulate::live::{DataPlane, LiveBridge, LiveError};
use romer_host::ethtool::Offload;
use romer_host::netns;
use romer_impair::{Cause, Path};

use crate::context::with_network;
use crate::frames::kinds;
use crate::link::may_load_programs;
use crate::live::{Bench, assert_balanced, delayed};

/// Starts a bridge over XDP sockets; `None` where this user may load no program, which the kernel must say then.
fn start(bench: &Bench, path: Path) -> Option<LiveBridge> {
    let options = bench.options(path);
    match LiveBridge::start(&romer_emulate::live::LiveOptions { data_plane: DataPlane::Xdp, ..options }) {
        Ok(bridge) => {
            assert!(bridge.control().data_plane().starts_with("xdp-"), "{}", bridge.control().data_plane());
            Some(bridge)
        }
        Err(LiveError::Port { source, .. }) if source.is_permission() => {
            assert!(!may_load_programs(), "{source}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_kind_of_frame_passes_and_is_held() {
    with_network("planes::every_kind_of_frame_passes_and_is_held", || {
        let bench = Bench::new();
        let Some(bridge) = start(&bench, delayed(1_000_000)) else { return };
        let mut hosts = bench.hosts();
        let kinds = kinds();
        for (name, octets) in &kinds {
            for (from, to) in [(0, 1), (1, 0)] {
                assert_eq!(hosts[from].send(octets).frames, 1, "{name}");
                assert_eq!(&hosts[to].next(), octets, "{name}");
            }
        }
        let snapshot = bridge.stop().unwrap();
        assert_balanced(&snapshot);
        for direction in &snapshot.directions {
            assert_eq!(direction.ledger.received, kinds.len() as u64);
            assert_eq!(direction.ledger.transmitted, kinds.len() as u64);
            assert_eq!(direction.delay_error.count, kinds.len() as u64);
            assert!(direction.actual_delay.min.is_some_and(|least| least >= 1_000_000.0));
        }
    });
}

#[test]
fn hosts_that_leave_their_checksums_to_the_link_understand_each_other() {
    with_network("planes::hosts_that_leave_their_checksums_to_the_link_understand_each_other", || {
        let bench = Bench::new();
        let Some(bridge) = start(&bench, delayed(200_000)) else { return };
        assert_hosts_understand(&bench);
        assert_balanced(&bridge.stop().unwrap());
    });
}

#[test]
fn hosts_that_join_their_packets_understand_each_other_over_packet_sockets() {
    with_network("planes::hosts_that_join_their_packets_understand_each_other_over_packet_sockets", || {
        let bench = Bench::new();
        let sender = &bench.near.networks()[0];
        assert_eq!(sender.offload("v0", Offload::TcpSegmentation).unwrap(), Some(true));
        let options = bench.options(delayed(200_000));
        let options = romer_emulate::live::LiveOptions { data_plane: DataPlane::Packet, ..options };
        let bridge = LiveBridge::start(&options).unwrap();
        assert_hosts_understand(&bench);
        let snapshot = bridge.stop().unwrap();
        assert_balanced(&snapshot);
        for direction in &snapshot.directions {
            assert_eq!(direction.ledger.lost_for(Cause::Oversize), 0, "{:?}", direction.ledger);
        }
        // Each segment is a packet of its own, as on a wire.
        let least = u64::try_from(OCTETS / 1_460).unwrap();
        assert!(snapshot.directions[0].ledger.received >= least, "{:?}", snapshot.directions[0].ledger);
    });
}

/// Octets of the transfer.
const OCTETS: usize = 2_000_000;

/// A transfer over TCP, and datagrams, between the hosts of both ends.
fn assert_hosts_understand(bench: &Bench) {
    let hosts = [(&bench.near, 0, "198.18.0.2"), (&bench.far, 1, "198.18.0.3")];
    for (link, end, address) in hosts {
        let network = &link.networks()[end];
        network.add_address(&format!("v{end}"), address.parse().unwrap(), 24).unwrap();
    }
    let inside = [&bench.near.ends[0].0, &bench.far.ends[1].0];
    let listener = netns::with_namespace(inside[1], || TcpListener::bind("198.18.0.3:7000"));
    let listener = listener.unwrap().unwrap();
    let sink = std::thread::spawn(move || {
        let mut received = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
        received
    });
    let stream = netns::with_namespace(inside[0], || TcpStream::connect("198.18.0.3:7000"));
    let mut stream = stream.unwrap().unwrap();
    let text: Vec<u8> = (0..OCTETS).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect();
    stream.write_all(&text).unwrap();
    drop(stream);
    assert!(sink.join().unwrap() == text);
    let udp = |host: usize, address: &str| {
        netns::with_namespace(inside[host], || UdpSocket::bind(address)).unwrap().unwrap()
    };
    let (from, to) = (udp(0, "198.18.0.2:7001"), udp(1, "198.18.0.3:7002"));
    to.set_read_timeout(Some(crate::link::PATIENCE)).unwrap();
    for number in 0..200_u16 {
        from.send_to(&number.to_be_bytes(), "198.18.0.3:7002").unwrap();
        let mut octets = [0; 4];
        assert_eq!(to.recv(&mut octets).unwrap(), 2);
        assert_eq!(octets[..2], number.to_be_bytes());
    }
}
