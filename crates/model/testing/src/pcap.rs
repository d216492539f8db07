//! Captures in the format pcap with nanoseconds, sound or with what no capture should say.

/// The kind of link whose packets begin with their IP header.
pub const RAW: u32 = 101;

/// How a file begins that says it keeps `snap` octets of a packet at most, of packets of this kind of link.
pub fn file(snap: u32, link: u32) -> Vec<u8> {
    [0xa1b2_3c4d, 0x0004_0002, 0, 0, snap, link].into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Adds a packet to a file: when it came, nanoseconds since 1970; how many octets of it the file says it keeps, and how many it had; and
/// what is there of it.
pub fn add(file: &mut Vec<u8>, at_ns: i64, [kept, whole]: [u32; 2], octets: &[u8]) {
    let word = |number: i64| u32::try_from(number).unwrap();
    let head = [word(at_ns / 1_000_000_000), word(at_ns % 1_000_000_000), kept, whole];
    file.extend(head.into_iter().flat_map(u32::to_le_bytes));
    file.extend(octets);
}

/// Adds a whole one.
pub fn add_whole(file: &mut Vec<u8>, at_ns: i64, octets: &[u8]) {
    let length = u32::try_from(octets.len()).unwrap();
    add(file, at_ns, [length; 2], octets);
}

/// A UDP packet over IPv4 from one host of 10.0.0.0/24 to another, each with its last octet and its port.
pub fn udp(source: (u8, u16), destination: (u8, u16), ttl: u8, payload: &[u8]) -> Vec<u8> {
    let length = |before: usize| u16::try_from(before + payload.len()).unwrap().to_be_bytes();
    let [high, low] = length(28);
    let mut packet = vec![0x45, 0, high, low, 0, 0, 0, 0, ttl, 17, 0, 0];
    packet.extend([10, 0, 0, source.0, 10, 0, 0, destination.0]);
    let sum = packet.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
    let check = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    packet[10..12].copy_from_slice(&check.to_be_bytes());
    packet.extend([source.1.to_be_bytes(), destination.1.to_be_bytes(), length(8), [0, 0]].concat());
    packet.extend(payload);
    packet
}
