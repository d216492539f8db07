//! Single frames: bits turned over.

use romer_impair::Corruption;
use romer_wire::checksum::checksum;
use romer_wire::ethernet::Frame;
use romer_wire::transport::ChecksumField;

/// Turns bits over behind the frame's own header, and makes the checksums right again if that is asked for.
pub(super) fn corrupt(octets: &mut [u8], corruption: &Corruption) {
    let header = Frame::parse(octets).map_or(14, |frame| octets.len() - frame.payload().len());
    let Some(payload) = octets.get_mut(header..) else { return };
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    for bit in corruption.positions(length) {
        let octet = usize::try_from(bit / 8).unwrap_or(usize::MAX);
        if let Some(octet) = payload.get_mut(octet) {
            *octet ^= 0x80 >> (bit % 8);
        }
    }
    if corruption.repair_checksum {
        repair(octets, header);
    }
}

/// Computes the checksums of the IP packet at `begin` anew, as far as it is still one.
fn repair(octets: &mut [u8], begin: usize) {
    repair_header(&mut octets[begin..]);
    let field = ChecksumField::locate(octets).filter(|field| !field.is_left_out());
    if let Some((place, right)) = field.map(|field| (field.place(), field.right()))
        && let Some(field) = octets.get_mut(place..place + 2)
    {
        field.copy_from_slice(&right.to_be_bytes());
    }
}

/// Computes the checksum of an IPv4 header anew.
fn repair_header(packet: &mut [u8]) {
    let octets = packet.first().filter(|first| **first >> 4 == 4).map(|first| usize::from(first & 15) * 4);
    if let Some(header) = octets.filter(|octets| *octets >= 20).and_then(|octets| packet.get_mut(..octets)) {
        header[10..12].fill(0);
        let sum = checksum(header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use romer_impair::config::{Corrupt, DEFAULT_FLUSH};
    use romer_impair::{Config, Decision, Engine, Limits, Packet, Path, PortId};
    use romer_wire::dissect;

    use super::*;

    /// A frame with IPv4, UDP and a payload of `payload` octets, all checksums right.
    fn udp(payload: usize, tagged: bool) -> Vec<u8> {
        let mut frame = vec![2; 12];
        if tagged {
            frame.extend([0x81, 0, 0x20, 9]);
        }
        frame.extend([8, 0]);
        let begin = frame.len();
        let total = u16::try_from(28 + payload).unwrap();
        frame.extend([0x45, 0xb8, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 2, 198, 18, 0, 3]);
        frame[begin + 2..begin + 4].copy_from_slice(&total.to_be_bytes());
        frame.extend([0x1b, 0x58, 0x13, 0x89, 0, 0, 0xff, 0xff]);
        frame[begin + 24..begin + 26].copy_from_slice(&(total - 20).to_be_bytes());
        frame.extend((0..payload).map(|at| u8::try_from(at % 251).unwrap()));
        repair(&mut frame, begin);
        frame
    }

    /// A corruption of so many bits, as the engine draws it.
    fn corruption(bits: u8, repair_checksum: bool) -> Corruption {
        let always = Decision::Bernoulli { probability: 1.0 };
        let path = Path {
            corrupt: Corrupt { decision: always, bits, repair_checksum },
            flush: DEFAULT_FLUSH,
            ..Path::default()
        };
        let mut config = Config::default();
        config.base.paths[0][0] = Some(std::sync::Arc::new(path));
        let mut engine = Engine::new(config, Limits::fixed(4), 0);
        engine.admit(&Packet::new(0, PortId::A, 64, 0));
        engine.poll(0).unwrap().corruption.unwrap()
    }

    #[test]
    fn as_many_bits_are_turned_over_as_asked_for_and_none_in_the_header() {
        for (bits, tagged) in [(1, false), (7, true), (64, false)] {
            let before = udp(100, tagged);
            let mut after = before.clone();
            corrupt(&mut after, &corruption(bits, false));
            let turned: u32 = before.iter().zip(&after).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(turned, u32::from(bits));
            let header = if tagged { 18 } else { 14 };
            assert_eq!(before[..header], after[..header]);
        }
    }

    #[test]
    fn repaired_checksums_are_right_and_others_are_not() {
        // One bit in the payload of a datagram that is much longer than its headers.
        let before = udp(1_400, false);
        let is_right = |frame: &[u8]| {
            let found = dissect::frame(frame).unwrap();
            let pseudo = found.network.pseudo().unwrap();
            let upper = &frame[34..];
            pseudo.sum(17, u32::try_from(upper.len()).unwrap()).octets(upper).is_right()
        };
        assert!(is_right(&before));
        for repair in [false, true] {
            let mut after = before.clone();
            corrupt(&mut after, &corruption(1, repair));
            assert_ne!(before[42..], after[42..], "the bit of this seed lies in the payload");
            assert_eq!(is_right(&after), repair);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_frame_is_corrupted_without_panic(
            mut octets in proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..200),
            start in 0_usize..40,
        ) {
            if let Some(place) = octets.get_mut(12..14) {
                place.copy_from_slice(if start % 2 == 0 { &[8, 0] } else { &[0x86, 0xdd] });
            }
            corrupt(&mut octets, &corruption(64, true));
        }
    }
}
