//! The same bridge over XDP sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use romer_emulate::live::{DataPlane, LiveBridge, LiveError};
use romer_host::ethtool::Offload;
use romer_host::netns;
use romer_impair::{Cause, Path};

use crate::live::{Bench, assert_balanced, delayed};
use romer_testnet::frames::kinds;
use romer_testnet::link::may_load_programs;
use romer_testnet::namespace::with_network;

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
                assert_eq!(&hosts[to].next_frame(), octets, "{name}");
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

/// Frames of twelve kinds, each with so many tags.
fn twelve(tags: &[(u16, u16)]) -> Vec<(String, Vec<u8>)> {
    const TO: [u8; 6] = [2, 0, 0, 0, 0, 2];
    let more = 4 * tags.len();
    let made = |ether_type, length: usize| romer_testnet::frames::frame(TO, tags, ether_type, length + more);
    let mut kinds: Vec<(String, Vec<u8>)> = [60, 61, 64, 128, 759, 1_280, 1_514]
        .map(|length| {
            (format!("{length} octets"), made(0x88b5, length - if length == 1_514 { more } else { 0 }))
        })
        .into();
    kinds.push(("ARP".into(), made(0x0806, 60)));
    kinds.push(("IPv6 that is none".into(), made(0x86dd, 90)));
    kinds.push(("802.3 length".into(), made(46, 60)));
    // UDP over IPv4 with right checksums, and with a checksum of UDP that is wrong and stays so.
    for (name, checksum) in
        [("UDP with its checksum", None), ("UDP with a wrong checksum", Some([0xba, 0xd0]))]
    {
        let mut octets = made(0x0800, 100);
        let (header, total) = (14 + more, 86_u16);
        octets[header..header + 12].copy_from_slice(&[0x45, 0, 0, 86, 0, 7, 0x40, 0, 64, 17, 0, 0]);
        octets[header + 12..header + 20].copy_from_slice(&[198, 18, 0, 2, 198, 18, 0, 3]);
        let sum = romer_wire::checksum::checksum(&octets[header..header + 20]);
        octets[header + 10..header + 12].copy_from_slice(&sum.to_be_bytes());
        octets[header + 20..header + 28].copy_from_slice(&[0, 9, 0, 9, 0, 0, 0, 0]);
        octets[header + 24..header + 26].copy_from_slice(&(total - 20).to_be_bytes());
        let right = romer_wire::transport::ChecksumField::locate(&octets).unwrap().right().to_be_bytes();
        octets[header + 26..header + 28].copy_from_slice(&checksum.unwrap_or(right));
        kinds.push((name.into(), octets));
    }
    assert_eq!(kinds.len(), 12);
    kinds
}

#[test]
fn every_kind_with_every_tag_passes_every_plane_whatever_the_hosts_offloads() {
    with_network("planes::every_kind_with_every_tag_passes_every_plane_whatever_the_hosts_offloads", || {
        const TAGS: [&[(u16, u16)]; 3] = [&[], &[(0x8100, 0x2064)], &[(0x88a8, 7), (0x8100, 0x600a)]];
        let planes = if may_load_programs() {
            vec![DataPlane::Packet, DataPlane::Xdp]
        } else {
            vec![DataPlane::Packet]
        };
        for offloads in [true, false] {
            let bench = Bench::new();
            if !offloads {
                bench.near.networks()[0].disable_offloads("v0").unwrap();
                bench.far.networks()[1].disable_offloads("v1").unwrap();
            }
            for data_plane in &planes {
                let options = bench.options(delayed(1_000));
                let options = romer_emulate::live::LiveOptions { data_plane: *data_plane, ..options };
                let bridge = LiveBridge::start(&options).unwrap();
                let mut hosts = bench.hosts();
                for tags in TAGS {
                    for (name, octets) in twelve(tags) {
                        for (from, to) in [(0, 1), (1, 0)] {
                            assert_eq!(hosts[from].send(&octets).frames, 1, "{name} {tags:?}");
                            assert_eq!(
                                hosts[to].next_frame(),
                                octets,
                                "{name} {tags:?} {data_plane:?} {offloads}"
                            );
                        }
                    }
                }
                let snapshot = bridge.stop().unwrap();
                assert_balanced(&snapshot);
                assert!(snapshot.directions.iter().all(|way| way.ledger.transmitted == 36));
            }
        }
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
    to.set_read_timeout(Some(romer_testnet::link::TIMEOUT)).unwrap();
    for number in 0..200_u16 {
        from.send_to(&number.to_be_bytes(), "198.18.0.3:7002").unwrap();
        let mut octets = [0; 4];
        assert_eq!(to.recv(&mut octets).unwrap(), 2);
        assert_eq!(octets[..2], number.to_be_bytes());
    }
}
