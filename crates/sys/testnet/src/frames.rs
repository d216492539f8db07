//! Frames of many kinds, made by hand.

/// Addresses of both ends; the first is of a group in the kinds that go to all.
const TO: [u8; 6] = [2, 0, 0, 0, 0, 2];
const FROM: [u8; 6] = [2, 0, 0, 0, 0, 1];
const ALL: [u8; 6] = [0xff; 6];

/// A frame of `length` octets with these tags (protocol, control), whose payload counts up.
pub fn frame(to: [u8; 6], tags: &[(u16, u16)], ether_type: u16, length: usize) -> Vec<u8> {
    let mut frame = [to, FROM].concat();
    for (protocol, control) in tags {
        frame.extend(protocol.to_be_bytes());
        frame.extend(control.to_be_bytes());
    }
    frame.extend(ether_type.to_be_bytes());
    let begin = frame.len();
    frame.extend((begin..length).map(|at| u8::try_from(at % 251).unwrap()));
    frame
}

/// A frame with an IPv4 header whose checksum is `right` or not, and a UDP checksum that is not.
fn udp(length: usize, right: bool) -> Vec<u8> {
    let mut frame = frame(TO, &[], 0x0800, length);
    let total = u16::try_from(length - 14).unwrap();
    let header = &mut frame[14..34];
    header[..12].copy_from_slice(&[0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 17, 0, 0]);
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[12..].copy_from_slice(&[198, 18, 0, 2, 198, 18, 0, 3]);
    let sum = romer_wire::checksum::checksum(header);
    header[10..12].copy_from_slice(&(if right { sum } else { !sum }).to_be_bytes());
    frame[34..42].copy_from_slice(&[0, 9, 0, 9, 0, 0, 0xba, 0xd0]);
    frame[38..40].copy_from_slice(&(total - 20).to_be_bytes());
    frame
}

/// All kinds, with their names: those that a link of an MTU of 1,500 octets carries.
pub fn kinds() -> Vec<(String, Vec<u8>)> {
    const CUSTOMER: u16 = 0x8100;
    const SERVICE: u16 = 0x88a8;
    let mut kinds: Vec<(String, Vec<u8>)> = [60, 61, 64, 127, 128, 759, 1_000, 1_513, 1_514]
        .map(|length| (format!("{length} octets"), frame(TO, &[], 0x88b5, length)))
        .into();
    let mut add = |name: &str, octets| kinds.push((name.into(), octets));
    add("ARP to all", frame(ALL, &[], 0x0806, 60));
    add("IPv6", frame(TO, &[], 0x86dd, 90));
    add("to a foreign address", frame([2, 9, 9, 9, 9, 9], &[], 0x0800, 98));
    add("to a reserved group", frame([1, 0x80, 0xc2, 0, 0, 0], &[], 0x0027, 60));
    add("802.3 length", frame(TO, &[], 46, 60));
    add("one tag", frame(TO, &[(CUSTOMER, 0x0064)], 0x0800, 64));
    add("priority tag", frame(TO, &[(CUSTOMER, 0xe000)], 0x0800, 64));
    add("drop-eligible tag", frame(TO, &[(CUSTOMER, 0x1fff)], 0x86dd, 100));
    add("longest with a tag", frame(TO, &[(CUSTOMER, 5)], 0x0800, 1_518));
    add("service tag", frame(TO, &[(SERVICE, 0x0123)], 0x0800, 70));
    add("two tags", frame(TO, &[(SERVICE, 7), (CUSTOMER, 0x600a)], 0x0800, 200));
    add("two customer tags", frame(TO, &[(CUSTOMER, 7), (CUSTOMER, 8)], 0x0800, 200));
    add("right IPv4 checksum, wrong UDP checksum", udp(100, true));
    add("wrong IPv4 checksum", udp(1_514, false));
    kinds
}
