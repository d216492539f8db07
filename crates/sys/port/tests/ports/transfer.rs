//! What comes through, and what is said of what does not.

use std::net::UdpSocket;

use romer_host::clock::monotonic_now;
use romer_host::netns;
use romer_port::{Arena, PacketPort, Port, Refusal};
use romer_wire::checksum::Pseudo;

use crate::in_network;
use romer_testnet::frames::{frame, kinds};
use romer_testnet::link::{Link, TestPort, wait_until};

#[test]
fn every_kind_of_frame_comes_through_octet_for_octet() {
    in_network!("every_kind_of_frame_comes_through_octet_for_octet")(|| {
        let link = Link::new(1_500);
        let mut ends = [link.open(0), link.open(1)];
        for (name, octets) in kinds() {
            for (from, to) in [(0, 1), (1, 0)] {
                assert_eq!(ends[from].send(&octets).frames, 1, "{name}");
                assert_eq!(ends[to].next_frame(), octets, "{name}");
            }
        }
    });
}

#[test]
fn jumbo_frames_come_through_and_frames_beyond_the_link_are_refused() {
    in_network!("jumbo_frames_come_through_and_frames_beyond_the_link_are_refused")(|| {
        let link = Link::new(9_000);
        let [mut one, mut other] = [link.open(0), link.open(1)];
        assert_eq!(one.port.mtu(), 9_000);
        for length in [1_515, 1_519, 2_048, 4_096, 9_013, 9_014] {
            let octets = frame([2; 6], &[], 0x88b5, length);
            assert_eq!(one.send(&octets).frames, 1);
            assert_eq!(other.next_frame(), octets);
        }
        let tagged = frame([2; 6], &[(0x8100, 5)], 0x88b5, 9_018);
        assert_eq!(one.send(&tagged).frames, 1);
        assert_eq!(other.next_frame(), tagged);
        let sent = one.send(&frame([2; 6], &[], 0x88b5, 9_019));
        assert_eq!((sent.frames, sent.refused), (0, Some(Refusal::Oversize)));
    });
}

#[test]
fn an_interface_tells_the_octets_that_it_carried_with_their_check_sequences() {
    in_network!("an_interface_tells_the_octets_that_it_carried_with_their_check_sequences")(|| {
        let link = Link::new(1_500);
        let networks = link.networks();
        let mut ends = [link.open(0), link.open(1)];
        let before = [networks[0].carried("v0").unwrap(), networks[1].carried("v1").unwrap()];
        let octets = frame([2; 6], &[], 0x88b5, 1_514);
        for _ in 0..10 {
            assert_eq!(ends[0].send(&octets).frames, 1);
            assert_eq!(ends[1].next_frame(), octets);
        }
        // The kernel counts a frame a moment after it has handed it over.
        wait_until("ten frames are counted at both ends", || {
            let sent = networks[0].carried("v0").unwrap().sent_octets - before[0].sent_octets;
            let received = networks[1].carried("v1").unwrap().received_octets - before[1].received_octets;
            sent >= 15_180 && received >= 15_180
        });
        assert!(networks[0].carried("none").is_err());
    });
}

#[test]
fn frames_longer_than_a_slot_are_counted_as_oversize() {
    in_network!("frames_longer_than_a_slot_are_counted_as_oversize")(|| {
        let link = Link::new(9_000);
        let mut sender = link.open(0);
        let mut arena = Arena::new(64, 1_518).unwrap();
        let mut port = PacketPort::open(&link.port_name(1), &arena).unwrap();
        let longest = arena.longest_frame();
        for length in [longest, longest + 1, 9_014] {
            assert_eq!(sender.send(&frame([2; 6], &[], 0x88b5, length)).frames, 1);
        }
        let (mut frames, mut oversize) = (Vec::new(), 0);
        wait_until("three frames have come", || {
            oversize += port.rx_burst(&mut arena, &mut frames).unwrap().oversize;
            frames.len() + usize::try_from(oversize).unwrap() == 3
        });
        assert_eq!((frames.len(), oversize), (1, 2));
        assert_eq!(frames[0].octets(), longest);
    });
}

#[test]
fn a_checksum_that_the_sender_left_to_its_driver_is_finished() {
    in_network!("a_checksum_that_the_sender_left_to_its_driver_is_finished")(|| {
        let link = Link::new(1_500);
        assert_checksums_are_finished(&link, &mut link.open(1));
    });
}

/// A socket of the host at the other end, which believes that 198.18.0.3 is on the link.
fn host(link: &Link) -> UdpSocket {
    let networks = link.networks();
    networks[0].add_address("v0", "198.18.0.2".parse().unwrap(), 24).unwrap();
    let far = "198.18.0.3".parse().unwrap();
    networks[0].set_neighbour("v0", far, romer_host::link::Mac([2, 0, 0, 0, 0, 9])).unwrap();
    netns::with_namespace(&link.ends[0].0, || UdpSocket::bind("198.18.0.2:7000")).unwrap().unwrap()
}

/// A datagram of [`host`]'s with this payload and a right checksum.
fn assert_datagram(octets: &[u8], payload: &[u8]) {
    assert_eq!(&octets[42..], payload);
    let datagram = &octets[34..];
    let pseudo =
        Pseudo::V4 { source: "198.18.0.2".parse().unwrap(), destination: "198.18.0.3".parse().unwrap() };
    let sum = pseudo.sum(17, u32::try_from(datagram.len()).unwrap()).octets(datagram);
    assert!(sum.is_right(), "{} octets: {:04x}", payload.len(), sum.folded());
}

/// Has the host at the other end send datagrams whose checksums it leaves to its driver.
pub(crate) fn assert_checksums_are_finished(link: &Link, port: &mut TestPort) {
    let socket = host(link);
    let payload: Vec<u8> = (0..=255).collect();
    for length in [0, 1, 2, 18, 255, 256] {
        socket.send_to(&payload[..length], "198.18.0.3:7001").unwrap();
        assert_datagram(&port.next_frame(), &payload[..length]);
    }
}

#[test]
fn datagrams_that_the_sender_joined_come_as_the_frames_of_the_wire() {
    in_network!("datagrams_that_the_sender_joined_come_as_the_frames_of_the_wire")(|| {
        /// More than a burst at once.
        const DATAGRAMS: usize = 60;
        const SIZE: usize = 1_000;
        /// `UDP_SEGMENT` of `linux/udp.h`.
        const UDP_SEGMENT: libc::c_int = 103;
        let link = Link::new(1_500);
        let mut port = link.open(1);
        let socket = host(&link);
        let size = i32::try_from(SIZE).unwrap();
        // SAFETY: the pointer and the length describe `size`, which the call only reads.
        let answer = unsafe {
            libc::setsockopt(
                std::os::fd::AsRawFd::as_raw_fd(&socket),
                libc::SOL_UDP,
                UDP_SEGMENT,
                (&raw const size).cast(),
                4,
            )
        };
        assert_eq!(answer, 0);
        let payload: Vec<u8> = (0..DATAGRAMS * SIZE - 1).map(|at| u8::try_from(at % 251).unwrap()).collect();
        for round in 0..3 {
            assert_eq!(socket.send_to(&payload, "198.18.0.3:7001").unwrap(), payload.len());
            let mut frames = Vec::new();
            while frames.len() < DATAGRAMS {
                let received = port.receive(&mut frames);
                assert_eq!((received.oversize, received.without_slot), (0, 0), "round {round}");
                assert!(received.frames <= romer_port::BURST);
            }
            let identification = |frame| {
                let octets: &[u8] = port.arena.octets_of(frame);
                u16::from_be_bytes([octets[18], octets[19]])
            };
            let first = identification(&frames[0]);
            for ((number, frame), payload) in (0..).zip(&frames).zip(payload.chunks(SIZE)) {
                assert_datagram(port.arena.octets_of(frame), payload);
                assert_eq!(identification(frame), first.wrapping_add(number));
            }
            assert_eq!(frames.len(), DATAGRAMS);
            frames.into_iter().for_each(|frame| port.arena.release(frame));
        }
        assert_eq!(port.arena.free(), 4_096, "every slot is back");
    });
}

#[test]
fn arrivals_lie_between_sending_and_reading_and_never_go_back() {
    in_network!("arrivals_lie_between_sending_and_reading_and_never_go_back")(|| {
        let link = Link::new(1_500);
        let [mut one, mut other] = [link.open(0), link.open(1)];
        let octets = frame([2; 6], &[], 0x88b5, 60);
        // The kernel begins to stamp a moment after it was asked to; until then it stamps what is read.
        let slack = romer_units::Duration::from_micros(50);
        let mut last = None;
        for _ in 0..200 {
            let before = monotonic_now();
            one.send(&octets);
            let mut frames = Vec::new();
            other.receive(&mut frames);
            let arrival = frames[0].arrival();
            assert!(arrival >= before - slack && arrival <= monotonic_now() + slack);
            assert!(last.is_none_or(|last| arrival >= last));
            last = Some(arrival);
            frames.into_iter().for_each(|frame| other.arena.release(frame));
        }
    });
}

/// Drops by the kernel, and frames without a slot, are counted.
#[test]
fn kernel_and_slot_drops_are_counted() {
    in_network!("kernel_and_slot_drops_are_counted")(|| {
        const SENT: u64 = 2_000;
        let link = Link::new(1_500);
        let mut sender = link.open(0);
        let mut arena = Arena::new(20, 1_518).unwrap();
        let mut port = PacketPort::open_with(&link.port_name(1), &arena, 64 << 10).unwrap();
        let octets = frame([2; 6], &[], 0x88b5, 600);
        for _ in 0..SENT {
            assert_eq!(sender.send(&octets).frames, 1);
        }
        let (mut frames, mut without_slot, mut dropped) = (Vec::new(), 0, 0);
        wait_until("all are accounted for", || {
            without_slot += port.rx_burst(&mut arena, &mut frames).unwrap().without_slot;
            dropped += port.kernel_drops().unwrap();
            frames.len() as u64 + without_slot + dropped >= SENT
        });
        assert_eq!(frames.len() as u64 + without_slot + dropped, SENT);
        assert_eq!(frames.len(), 20, "as many as there are slots");
        assert!(without_slot > 0 && dropped > 0, "{without_slot} without slot, {dropped} dropped");
        assert!(frames.iter().all(|frame| arena.octets_of(frame) == octets));
    });
}

#[test]
fn what_the_host_sends_itself_is_not_taken_in() {
    in_network!("what_the_host_sends_itself_is_not_taken_in")(|| {
        let link = Link::new(1_500);
        let [mut bystander, mut sender] = [link.open(1), link.open(1)];
        let mut far = link.open(0);
        let own = frame([3; 6], &[], 0x88b5, 60);
        let foreign = frame([2; 6], &[], 0x88b5, 60);
        assert_eq!(sender.send(&own).frames, 1);
        assert_eq!(far.next_frame(), own);
        assert_eq!(far.send(&foreign).frames, 1);
        assert_eq!(bystander.next_frame(), foreign);
    });
}
