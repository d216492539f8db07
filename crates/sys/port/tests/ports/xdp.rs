//! Ports over XDP sockets: the same promises as those over packet sockets, in the driver and behind it.

use romer_host::clock::monotonic_now;
use romer_port::{Arena, Frame, LinkState, PortError, Refusal, XdpMode, XdpPort};

use crate::in_network;
use crate::transfer::assert_checksums_are_finished;
use romer_testnet::frames::{frame, kinds};
use romer_testnet::link::{Link, TestPort, may_load_programs, wait_until};

/// Runs `test` with a link and a port on each end, once in each mode.
fn in_each_mode(test: impl Fn(&Link, [TestPort; 2], XdpMode)) {
    for mode in XdpMode::ALL {
        let link = Link::new(1_500);
        if let (Some(one), Some(other)) = (link.open_xdp(0, mode), link.open_xdp(1, mode)) {
            let mut ends = [one, other];
            prime(&mut ends);
            test(&link, ends, mode);
        }
    }
}

/// A link whose ends were just attached to may drop what it is given for a moment.
fn prime(ends: &mut [TestPort; 2]) {
    for (from, to) in [(0, 1), (1, 0)] {
        let mut number = 0_u8;
        wait_until("the link carries frames", || {
            number = number.wrapping_add(1);
            ends[from].send(&[number; 60]);
            std::thread::sleep(std::time::Duration::from_millis(5));
            let (mut frames, to) = (Vec::new(), &mut ends[to]);
            to.port.rx_burst(&mut to.arena, &mut frames).unwrap();
            let newest = frames.iter().any(|frame| to.arena.octets_of(frame)[0] == number);
            frames.into_iter().for_each(|frame| to.arena.release(frame));
            newest
        });
    }
}

#[test]
fn every_kind_of_frame_comes_through_octet_for_octet() {
    in_network!("every_kind_of_frame_comes_through_octet_for_octet")(|| {
        in_each_mode(|_, mut ends, mode| {
            assert_eq!(ends[0].port.data_plane(), mode.name());
            for (name, octets) in kinds() {
                for (from, to) in [(0, 1), (1, 0)] {
                    assert_eq!(ends[from].send(&octets).frames, 1, "{name}");
                    assert_eq!(ends[to].next_frame(), octets, "{name}");
                }
            }
            let sent = ends[0].send(&frame([2; 6], &[], 0x88b5, 1_515));
            assert_eq!((sent.frames, sent.refused), (0, Some(Refusal::Oversize)));
        });
    });
}

#[test]
fn packet_sockets_and_xdp_sockets_understand_each_other() {
    in_network!("packet_sockets_and_xdp_sockets_understand_each_other")(|| {
        for mode in XdpMode::ALL {
            let link = Link::new(1_500);
            let Some(xdp) = link.open_xdp(1, mode) else { continue };
            let mut ends = [link.open(0), xdp];
            prime(&mut ends);
            for (name, octets) in kinds() {
                for (from, to) in [(0, 1), (1, 0)] {
                    assert_eq!(ends[from].send(&octets).frames, 1, "{name}");
                    assert_eq!(ends[to].next_frame(), octets, "{name}");
                }
            }
        }
    });
}

#[test]
fn all_of_many_frames_come_in_order_with_the_time_of_their_arrival() {
    in_network!("all_of_many_frames_come_in_order_with_the_time_of_their_arrival")(|| {
        in_each_mode(|_, [mut one, mut other], mode| {
            // More than twice around every ring.
            const FRAMES: u32 = 10_000;
            let begin = monotonic_now();
            let mut last = begin;
            let (mut sent, mut came) = (0, 0);
            let mut waiting = std::collections::VecDeque::new();
            while came < FRAMES {
                while sent < FRAMES && sent - came < 64 {
                    let mut octets = frame([2; 6], &[], 0x88b5, 60);
                    octets[20..24].copy_from_slice(&sent.to_be_bytes());
                    waiting.push_back(one.arena.frame(&octets, begin).unwrap());
                    sent += 1;
                }
                let outcome = one.port.tx_burst(&mut one.arena, &mut waiting);
                assert!(matches!(outcome.refused, None | Some(Refusal::Busy)), "{outcome:?}");
                let mut frames: Vec<Frame> = Vec::new();
                other.port.rx_burst(&mut other.arena, &mut frames).unwrap();
                for frame in frames {
                    assert_eq!(other.arena.octets_of(&frame)[20..24], came.to_be_bytes(), "{mode:?}");
                    assert!(frame.arrival() >= last && frame.arrival() <= monotonic_now(), "{mode:?}");
                    last = frame.arrival();
                    other.arena.release(frame);
                    came += 1;
                }
                assert!(monotonic_now() - begin < romer_units::Duration::from_secs(60), "{came} came");
            }
            assert_eq!(other.port.kernel_drops().unwrap(), 0);
            // Every slot of the sender comes back.
            wait_until("all slots are back", || {
                one.port.reclaim(&mut one.arena);
                one.arena.free() + 1_024 == 4_096
            });
        });
    });
}

#[test]
fn what_finds_no_slot_is_counted_as_dropped_by_the_kernel() {
    in_network!("what_finds_no_slot_is_counted_as_dropped_by_the_kernel")(|| {
        in_each_mode(|_, [mut one, mut other], _| {
            const SENT: usize = 1_500;
            let octets = frame([2; 6], &[], 0x88b5, 600);
            let (mut dropped, mut frames) = (0, Vec::new());
            for _ in 0..SENT {
                assert_eq!(one.send(&octets).frames, 1);
                one.port.reclaim(&mut one.arena);
            }
            // 1,024 slots wait for frames; what is taken in is kept, so that more slots are given once.
            wait_until("all are accounted for", || {
                dropped += other.port.kernel_drops().unwrap();
                other.port.rx_burst(&mut other.arena, &mut frames).unwrap();
                frames.len() as u64 + dropped >= SENT as u64
            });
            assert_eq!(frames.len() as u64 + dropped, SENT as u64);
            assert!(frames.len() >= 1_024, "{}", frames.len());
            assert!(frames.iter().all(|frame| other.arena.octets_of(frame) == octets));
        });
    });
}

#[test]
fn a_checksum_that_the_sender_left_to_its_driver_is_finished() {
    in_network!("a_checksum_that_the_sender_left_to_its_driver_is_finished")(|| {
        for mode in XdpMode::ALL {
            let link = Link::new(1_500);
            let Some(port) = link.open_xdp(1, mode) else { continue };
            let mut ends = [link.open(0), port];
            prime(&mut ends);
            assert_checksums_are_finished(&link, &mut ends[1]);
        }
    });
}

#[test]
fn a_link_may_go_down_and_up_and_away() {
    in_network!("a_link_may_go_down_and_up_and_away")(|| {
        in_each_mode(|link, mut ends, _| {
            let networks = link.networks();
            let octets = frame([2; 6], &[], 0x88b5, 60);
            networks[1].set_up("v1", false).unwrap();
            wait_until("it is down", || ends[1].port.link() == LinkState::Down);
            for _ in 0..3 {
                let sent = ends[1].send(&octets);
                assert_eq!((sent.frames, sent.refused), (0, Some(Refusal::Undeliverable)));
            }
            networks[1].set_up("v1", true).unwrap();
            wait_until("it is up", || ends.iter().all(|end| end.port.link() == LinkState::Up));
            prime(&mut ends);
            // None of those that were refused comes later.
            let marked = frame([2; 6], &[], 0x88b6, 61);
            assert_eq!(ends[1].send(&marked).frames, 1);
            let mut frames = Vec::new();
            let end = &mut ends[0];
            wait_until("the marked one has come", || {
                end.port.rx_burst(&mut end.arena, &mut frames).unwrap();
                frames.iter().any(|frame| end.arena.octets_of(frame) == marked)
            });
            assert!(frames.iter().all(|frame| end.arena.octets_of(frame) != octets));
            networks[0].delete_link("v0").unwrap();
            wait_until("it is gone", || ends[1].port.link() == LinkState::Gone);
            assert_eq!(ends[1].send(&octets).refused, Some(Refusal::Undeliverable));
            let mut frames = Vec::new();
            let end = &mut ends[1];
            assert_eq!(end.port.rx_burst(&mut end.arena, &mut frames).unwrap().frames, 0);
        });
    });
}

#[test]
fn a_link_is_told_as_it_is_at_once_however_often_it_changes() {
    in_network!("a_link_is_told_as_it_is_at_once_however_often_it_changes")(|| {
        in_each_mode(|link, ends, _| {
            for round in 0..5 {
                for (up, state) in [(false, LinkState::Down), (true, LinkState::Up)] {
                    link.networks()[1].set_up("v1", up).unwrap();
                    assert_eq!(ends.each_ref().map(|end| end.port.link()), [state, state], "round {round}");
                }
            }
        });
    });
}

#[test]
fn a_port_sends_what_the_interface_takes_now() {
    in_network!("a_port_sends_what_the_interface_takes_now")(|| {
        in_each_mode(|link, mut ends, _| {
            let long = frame([2; 6], &[], 0x88b5, 600);
            assert_eq!(ends[1].send(&long).frames, 1);
            link.networks()[1].set_mtu("v1", 300).unwrap();
            assert_eq!(ends[1].port.link(), LinkState::Up);
            assert_eq!((ends[1].port.mtu(), ends[1].send(&long).refused), (300, Some(Refusal::Oversize)));
            link.networks()[1].set_mtu("v1", 1_400).unwrap();
            assert_eq!(ends[1].port.link(), LinkState::Up);
            assert_eq!(ends[1].send(&long).frames, 1);
        });
    });
}

/// A port leaves no XDP program behind, and two on one interface are refused.
#[test]
fn ports_remove_their_programs() {
    in_network!("ports_remove_their_programs")(|| {
        for mode in XdpMode::ALL {
            let link = Link::new(1_500);
            let Some(first) = link.open_xdp(1, mode) else { continue };
            let mut arena = Arena::new(4_096, 1_526).unwrap();
            let second = XdpPort::open(&link.port_name(1), &mut arena, mode);
            assert!(second.is_err(), "a second program on one interface");
            drop(first);
            wait_until("the first is gone", || {
                let mut arena = Arena::new(4_096, 1_526).unwrap();
                XdpPort::open(&link.port_name(1), &mut arena, mode).is_ok()
            });
        }
    });
}

#[test]
fn what_cannot_have_an_xdp_socket_is_told_why() {
    in_network!("what_cannot_have_an_xdp_socket_is_told_why")(|| {
        let link = Link::new(9_000);
        let mut arena = Arena::new(64, 9_026).unwrap();
        let refused = XdpPort::open(&link.port_name(1), &mut arena, XdpMode::Native).unwrap_err();
        assert!(matches!(refused, PortError::NoXdp { .. }), "{refused}");
        assert!(refused.to_string().contains("its MTU is 9000, and up to 3814 fits"), "{refused}");
        if !may_load_programs() {
            let link = Link::new(1_500);
            let mut arena = Arena::new(4_096, 1_526).unwrap();
            let refused = XdpPort::open(&link.port_name(1), &mut arena, XdpMode::Generic).unwrap_err();
            assert!(refused.is_permission(), "{refused}");
        }
    });
}
