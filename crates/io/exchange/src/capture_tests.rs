//! What captures say besides their packets, and what of it cannot be.

use romer_wire::pcapng;

use super::*;

/// A pcap file of either order of octets: its snap length, and of each packet the octets that it says it keeps and those
/// that are there.
fn pcap(is_big_endian: bool, snap: u32, packets: &[(u32, usize)]) -> Vec<u8> {
    let order = |word: u32| if is_big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
    let version = if is_big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let mut file = order(0xa1b2_c3d4).to_vec();
    file.extend(version);
    [0, 0, snap, 1].into_iter().for_each(|word| file.extend(order(word)));
    for (kept, there) in packets {
        [1, 0, *kept, 9_000].into_iter().for_each(|word| file.extend(order(word)));
        file.extend(vec![2; *there]);
    }
    file
}

/// How many packets there are and whether the last was cut; or why it is none.
fn walked(file: &[u8]) -> Result<(u64, bool), String> {
    let mut packets = 0;
    let walked = walk(std::io::Cursor::new(file.to_vec()), |_| {
        packets += 1;
        Ok(())
    });
    match walked {
        Ok(walked) => Ok((packets, walked.truncated)),
        Err(CaptureFault::Record { record, why }) => Err(format!("{record}: {why}")),
    }
}

#[test]
fn more_octets_than_a_file_keeps_of_any_packet_are_refused_with_the_packet() {
    for order in [false, true] {
        let mut packets = vec![(96, 96); 16];
        assert_eq!(walked(&pcap(order, 96, &packets)), Ok((16, false)));
        packets.push((97, 97));
        assert_eq!(walked(&pcap(order, 97, &packets)), Ok((17, false)));
        assert_eq!(walked(&pcap(order, 0, &packets)), Ok((17, false)), "0 is no bound");
        let refused = walked(&pcap(order, 96, &packets)).unwrap_err();
        assert!(refused.starts_with("17: 97 bytes of it are stored"), "{refused}");
        // Nor where the file ends within it: then its length is what is wrong, and it was not cut.
        packets[16] = (100_000, 50);
        let refused = walked(&pcap(order, 96, &packets)).unwrap_err();
        assert!(refused.starts_with("17: 100000 bytes"), "{refused}");
        assert_eq!(walked(&pcap(order, 262_144, &packets)), Ok((16, true)));
    }
}

#[test]
fn each_interface_of_a_pcapng_keeps_what_it_says() {
    let mut file = Vec::new();
    pcapng::section(&mut file, "test");
    let described = file.len();
    pcapng::interface(&mut file, pcapng::ETHERNET, "a");
    // Behind the link's kind and two octets of nothing.
    file[described + 12..described + 16].copy_from_slice(&60_u32.to_le_bytes());
    pcapng::interface(&mut file, pcapng::ETHERNET, "b");
    pcapng::cut_packet(&mut file, 0, 5, &[2; 60], 1_514, &[]);
    pcapng::packet(&mut file, 1, 6, &[2; 1_514], &[]);
    assert_eq!(walked(&file), Ok((2, false)), "0 is no bound");
    pcapng::packet(&mut file, 0, 7, &[2; 61], &[]);
    let refused = walked(&file).unwrap_err();
    assert!(refused.starts_with("3: 61 bytes of it are stored, more than the snap length 60"), "{refused}");
}

#[test]
fn the_units_of_an_interfaces_clock_are_powers_of_10_or_of_2() {
    let moments = |resolution: u8| {
        let mut file = Vec::new();
        pcapng::section(&mut file, "test");
        let described = file.len();
        pcapng::interface(&mut file, pcapng::ETHERNET, "a");
        // The option's kind, its length and what it says.
        let option = [9, 0, 1, 0, 9];
        let place = file[described..].windows(5).position(|octets| octets == option).unwrap();
        file[described + place + 4] = resolution;
        pcapng::packet(&mut file, 0, 3 << 30, &[2; 60], &[]);
        let mut moments = Vec::new();
        let walked = walk(std::io::Cursor::new(file), |record| {
            moments.push(record.at_ns);
            Ok(())
        });
        walked.map(|_| moments).map_err(|CaptureFault::Record { why, .. }| why)
    };
    let units = 3 << 30;
    assert_eq!(moments(9).unwrap(), [units]);
    assert_eq!(moments(6).unwrap(), [units * 1_000]);
    assert_eq!(moments(19).unwrap(), [0], "3.2e9 units of 10^-19 s");
    assert_eq!(moments(0x80 | 30).unwrap(), [3_000_000_000]);
    assert_eq!(moments(0x80 | 40).unwrap(), [2_929_687], "3/1,024 s");
    for too_fine in [20, 127, 0x80 | 64, 0xff] {
        assert!(moments(too_fine).unwrap_err().contains("the resolution"), "{too_fine}");
    }
}

#[test]
fn a_capture_says_who_wrote_it_and_when_it_began() {
    let mut file = Vec::new();
    pcapng::section(&mut file, "a program");
    pcapng::interface(&mut file, pcapng::ETHERNET, "a");
    pcapng::interface(&mut file, pcapng::ETHERNET, "b");
    pcapng::began(&mut file, 1, 1_700_000_000_123_456_789);
    pcapng::packet(&mut file, 0, 1_700_000_001_000_000_000, &[2; 60], &[]);
    let said = |file: &[u8]| walk(std::io::Cursor::new(file.to_vec()), |_| Ok(())).unwrap();
    let walked = said(&file);
    assert_eq!(walked.program.as_deref(), Some("a program"));
    assert_eq!(walked.began_ns, Some(1_700_000_000_123_456_789));
    assert_eq!(said(&pcap(false, 96, &[(96, 96)])), Walked::default());
}

#[test]
fn a_block_that_the_file_has_whole_is_damaged_and_not_cut_off() {
    let mut file = Vec::new();
    pcapng::section(&mut file, "test");
    pcapng::interface(&mut file, pcapng::ETHERNET, "a");
    pcapng::packet(&mut file, 0, 5, &[2; 60], &[]);
    let second = file.len();
    pcapng::packet(&mut file, 0, 6, &[2; 60], &[]);
    let end = file.len();
    pcapng::packet(&mut file, 0, 7, &[2; 60], &[]);
    assert_eq!(walked(&file), Ok((3, false)));
    assert_eq!(walked(&file[..file.len() - 1]), Ok((2, true)));

    // A length that the file has not, where the packet's own length says another, with packets after it and at the end.
    let mut longer = file.clone();
    longer[second + 4..second + 8].copy_from_slice(&4_096_u32.to_le_bytes());
    for file in [&longer[..], &longer[..end]] {
        let refused = walked(file).unwrap_err();
        let lengths =
            format!("states 4096 bytes, more than the file has, but its contents end at {};", end - second);
        assert!(refused.starts_with("2: ") && refused.contains(&lengths), "{refused}");
    }

    // More octets kept than the block has, with packets after it and at the end.
    file[second + 20..second + 24].copy_from_slice(&5_000_u32.to_le_bytes());
    for file in [&file[..], &file[..end]] {
        let refused = walked(file).unwrap_err();
        assert!(refused.starts_with("2: ") && refused.contains("damaged"), "{refused}");
    }
    // A length that no block has, where the file ends within it.
    file.truncate(end - 1);
    let length = u32::try_from(end - second).unwrap() + 1;
    file[second + 4..second + 8].copy_from_slice(&length.to_le_bytes());
    let refused = walked(&file).unwrap_err();
    assert!(refused.starts_with("2: its block has") && refused.contains("multiple of 4"), "{refused}");
}

#[test]
fn a_block_that_is_cut_anywhere_is_cut_off_and_not_damaged() {
    let mut file = Vec::new();
    pcapng::section(&mut file, "test");
    pcapng::interface(&mut file, pcapng::ETHERNET, "a");
    let described = file.len();
    pcapng::packet(&mut file, 0, 5, &[2; 60], &["a comment with several words", "another"]);
    for end in described + 1..file.len() {
        assert_eq!(walked(&file[..end]), Ok((0, true)), "{end}");
    }
    // An option that goes on behind its block.
    let mut longer = file.clone();
    longer[described + 28 + 60 + 2] = 255;
    longer.truncate(file.len() - 1);
    let refused = walked(&longer).unwrap_err();
    assert!(refused.starts_with("1: ") && refused.contains("longer than the block"), "{refused}");
}

/// A UDP packet to be captured, whose payload is these octets.
fn frame(payload: &[u8]) -> Vec<u8> {
    let length = |behind: usize| u16::try_from(behind + payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend(length(28));
    frame.extend([0, 7, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x88, 0x03, 0x5e]);
    frame.extend(length(8));
    frame.extend([0, 0]);
    frame.extend(payload);
    frame
}

/// A pcap file of such packets that keeps no more than `snap` octets of each.
fn kept(snap: usize, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut file = pcap(false, u32::try_from(snap).unwrap(), &[]);
    for payload in payloads {
        let frame = frame(payload);
        let there = &frame[..frame.len().min(snap)];
        let words = [1, 0, there.len(), frame.len()];
        words.into_iter().for_each(|word| file.extend(u32::try_from(word).unwrap().to_le_bytes()));
        file.extend(there);
    }
    file
}

#[test]
fn a_packet_whose_end_was_not_captured_is_known_by_its_beginning() {
    let payloads: Vec<Vec<u8>> =
        (0..40_u8).map(|n| [vec![n; 50], vec![9; usize::from(n % 3) * 10]].concat()).collect();
    let of = |snap, most| {
        read_beginnings(std::io::Cursor::new(kept(snap, &payloads)), most, |_| false, |_| Ok(())).unwrap()
    };
    let whole = of(200, usize::MAX);
    assert_eq!((whole.packets.len(), whole.snapped, whole.least_kept), (40, 0, None));
    // 42 octets are headers, and 60 of a payload are kept: of those of 70, not all.
    let cut = of(102, usize::MAX);
    assert_eq!((cut.packets.len(), cut.others, cut.snapped, cut.least_kept), (40, 0, 13, Some(60)));
    assert!(whole.packets.iter().zip(&cut.packets).all(|(a, b)| a.size == b.size && a.flow == b.flow));
    assert_ne!(whole.packets, cut.packets);
    for snap in [102, 96, 50, 42] {
        let least = snap - 42;
        assert_eq!(of(snap, usize::MAX).least_kept, Some(least));
        assert_eq!(of(snap, least).packets, of(200, least).packets, "{snap}");
    }
    // Of a short one, what lacks is padding first.
    let mut short = frame(&[5; 7]);
    short.resize(60, 0);
    let mut file = pcap(false, 50, &[]);
    [1, 0, 50, 60].into_iter().for_each(|word: u32| file.extend(word.to_le_bytes()));
    file.extend(&short[..50]);
    let short = read(std::io::Cursor::new(file)).unwrap();
    assert_eq!((short.packets.len(), short.snapped, short.least_kept), (1, 1, None));
    // Without its ports it is of no flow.
    assert_eq!((of(40, usize::MAX).packets.len(), of(40, usize::MAX).others), (0, 40));
}
