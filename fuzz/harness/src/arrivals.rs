//! Arrivals and departures of an emulator: captures of either kind, tables, and samples.

use std::path::Path;

use romer_emulate::{Arrivals, DEPARTURES_HEADER, TooLong, read_arrivals, read_capture, read_departures};
use romer_wire::pcapng;

use crate::{Seed, assert_message};

/// The longest message: what was written is cut before it is shown.
const LONGEST_MESSAGE: usize = 1_000;
/// Octets of the shortest record of a capture: a frame may be empty.
const SHORTEST_RECORD: usize = 16;
/// Frames that one joined packet is taken apart into at most.
const MOST_PARTS: usize = 65_535;

pub(crate) fn run(octets: &[u8]) {
    let path = Path::new("file");
    for (segment, skip) in [(false, false), (true, true)] {
        let too_long = TooLong { segment, skip, ..TooLong::default() };
        match read_capture(path, octets, too_long) {
            Ok(arrivals) => {
                let most = octets.len() / SHORTEST_RECORD * if segment { MOST_PARTS } else { 1 };
                assert!(arrivals.packets.len() <= most, "{} packets", arrivals.packets.len());
                assert_sound(&arrivals);
            }
            Err(error) => assert_message(&error, LONGEST_MESSAGE),
        }
    }
    match read_arrivals(path, octets) {
        Ok(arrivals) => assert_sound(&arrivals),
        Err(error) => assert_message(&error, LONGEST_MESSAGE),
    }
    match read_departures(path, octets, 3) {
        Ok(departures) => assert!(departures.packets.iter().all(|packets| packets.len() <= 3)),
        Err(error) => assert_message(&error, LONGEST_MESSAGE),
    }
}

/// Whatever is given to an engine is in order of time, is a frame, and has the headers that it names.
fn assert_sound(arrivals: &Arrivals) {
    assert!(arrivals.packets.is_sorted_by_key(|packet| packet.time));
    for packet in &arrivals.packets {
        assert!((18..=65_575).contains(&packet.size), "{packet:?}");
        assert!(!arrivals.has_headers() || packet.headers < arrivals.headers.len(), "{packet:?}");
    }
}

/// A pcap file of one frame of `octets` octets, `whole` before it was cut, with this first word.
fn pcap(magic: [u8; 4], octets: u32, whole: u32) -> Vec<u8> {
    let mut file = magic.to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0]);
    for word in [1_000_u32, 5, octets, whole] {
        file.extend(word.to_le_bytes());
    }
    file.resize(file.len() + usize::try_from(octets).unwrap_or(0), 2);
    file
}

/// A pcapng file of two interfaces with these frames.
fn ng(frames: &[(u32, u64, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    pcapng::section(&mut file, "romer");
    pcapng::interface(&mut file, pcapng::ETHERNET, "a");
    pcapng::interface(&mut file, pcapng::ETHERNET, "b");
    for (interface, nanos, octets) in frames {
        pcapng::packet(&mut file, *interface, *nanos, octets, &[]);
    }
    file
}

/// A frame of TCP with so many octets behind its headers.
fn tcp(payload: u16) -> Vec<u8> {
    let mut frame = vec![2; 12];
    let [high, low] = (40 + payload).to_be_bytes();
    frame.extend([8, 0, 0x45, 0, high, low, 0, 1, 0x40, 0, 64, 6, 0, 0, 198, 18, 0, 2, 198, 18, 0, 3]);
    frame.extend([0x1b, 0x58, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    frame.resize(frame.len() + usize::from(payload), 7);
    frame
}

/// A frame of UDP with so many octets of payload.
fn udp(payload: u16) -> Vec<u8> {
    let mut frame = vec![2; 12];
    let [[high, low], [udp_high, udp_low]] = [(28 + payload).to_be_bytes(), (8 + payload).to_be_bytes()];
    frame.extend([8, 0, 0x45, 0, high, low, 0, 1, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 2, 198, 18, 0, 3]);
    frame.extend([0x1b, 0x58, 0x13, 0x89, udp_high, udp_low, 0, 0]);
    frame.resize(frame.len() + usize::from(payload), 7);
    frame
}

pub(crate) fn seeds() -> Vec<Seed> {
    let texts = [
        ("empty", String::new()),
        ("table", "time_ns,port,size\n5,a,64\n3,b,1518\n".into()),
        ("table_returns", "# three\r5,a,64\r\r6,b,64\r".into()),
        ("table_size", "5,a,9999999\n".into()),
        ("table_time", "99999999999999999999,a,64\n".into()),
        ("table_port_of_bells", format!("5,a{},64\n", "\u{7}".repeat(240))),
        ("table_control_characters", "5,\u{1b}[31m,64\n".into()),
        ("samples", format!("{DEPARTURES_HEADER}\n0,0,a,64,-5,9,0,sent,14,0\n0,1,a,64,-5,9,0,sent,14,0\n")),
        ("samples_lost", format!("{DEPARTURES_HEADER}\n0,0,b,64,5,,0,lost:model,,0\n")),
        ("samples_far", format!("{DEPARTURES_HEADER}\n0,0,a,64,-9223372036854775808,9,0,sent,14,0\n")),
    ];
    texts.map(|(name, text)| Seed::new(name, text)).into_iter().chain(captures()).collect()
}

/// Captures of either kind, whole and damaged.
pub(crate) fn captures() -> Vec<Seed> {
    let [micros, nanos, swapped] =
        [[0xd4, 0xc3, 0xb2, 0xa1], [0x4d, 0x3c, 0xb2, 0xa1], [0xa1, 0xb2, 0xc3, 0xd4]];
    let captures = [
        ("pcap", pcap(micros, 60, 60)),
        ("pcap_nanoseconds", pcap(nanos, 60, 60)),
        ("pcap_other_order", pcap(swapped, 60, 60)),
        ("pcap_cut", pcap(micros, 60, 1_514)),
        ("pcap_claims_more", pcap(micros, 60, u32::MAX)),
        ("pcap_truncated", pcap(micros, 60, 60)[..70].to_vec()),
        ("pcapng", ng(&[(0, 1_000, &[2; 60]), (1, 500, &tcp(100))])),
        ("pcapng_udp", ng(&[(0, 1_000, &udp(44)), (1, 2_000, &udp(44)), (0, 3_000, &udp(200)[..60])])),
        ("pcapng_joined", ng(&[(0, 1_000, &tcp(9_000))])),
        ("pcapng_third_interface", ng(&[(2, 1_000, &[2; 60])])),
        ("pcapng_far", ng(&[(0, u64::MAX, &[2; 60])])),
        ("pcapng_empty_frame", ng(&[(0, 1, &[])])),
        (
            "pcapng_process_of_ten_octets",
            [ng(&[]), vec![1, 0, 0, 0x80, 10, 0, 0, 0, 13, 13, 10, 44]].concat(),
        ),
    ];
    captures.map(|(name, octets)| Seed::new(name, octets)).into()
}
