//! What a receiver makes of the parts, by an implementation of its own.

use proptest::prelude::*;

use super::*;

/// What is joined: the kind of IP and of transport, and options of both.
#[derive(Clone, Copy, Debug)]
struct Made {
    is_v4: bool,
    is_tcp: bool,
    tags: usize,
    /// Words of options of IPv4, or 8 octets of a destination option of IPv6 each.
    network_options: usize,
    /// Words of options of TCP.
    transport_options: usize,
    identification: u16,
    sequence: u32,
    flags: u8,
}

impl Made {
    const PLAIN: Self = Self {
        is_v4: true,
        is_tcp: true,
        tags: 0,
        network_options: 0,
        transport_options: 0,
        identification: 0xffff,
        sequence: u32::MAX,
        flags: 0x99,
    };

    fn kind(self) -> JoinedKind {
        match (self.is_tcp, self.is_v4) {
            (true, true) => JoinedKind::TcpV4,
            (true, false) => JoinedKind::TcpV6,
            (false, _) => JoinedKind::Udp,
        }
    }

    fn network(self) -> usize {
        14 + 4 * self.tags
    }
    fn transport(self) -> usize {
        self.network()
            + if self.is_v4 { 20 + 4 * self.network_options } else { 40 + 8 * self.network_options }
    }
    fn payload(self) -> usize {
        self.transport() + if self.is_tcp { 20 + 4 * self.transport_options } else { 8 }
    }

    /// The frame as the kernel hands it over, its transport's checksum unfinished.
    fn frame(self, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        for _ in 0..self.tags {
            frame.extend([0x81, 0, 0x20, 9]);
        }
        frame.extend(if self.is_v4 { [8, 0] } else { [0x86, 0xdd] });
        let protocol = if self.is_tcp { 6 } else { 17 };
        let upper = self.payload() - self.transport() + payload.len();
        let behind = self.transport() - self.network() + upper;
        if self.is_v4 {
            let total = u16::try_from(behind).unwrap().to_be_bytes();
            let id = self.identification.to_be_bytes();
            let words = u8::try_from(5 + self.network_options).unwrap();
            frame.extend([0x40 | words, 0, total[0], total[1], id[0], id[1], 0x40, 0, 64, protocol, 0, 0]);
            frame.extend([198, 18, 0, 2, 198, 18, 0, 3]);
            frame.extend(vec![1; 4 * self.network_options]);
        } else {
            let length = u16::try_from(behind - 40).unwrap().to_be_bytes();
            let options = self.network_options > 0;
            frame.extend([0x60, 0, 0, 0, length[0], length[1], if options { 60 } else { protocol }, 64]);
            frame.extend((0..32).map(|at: u8| at * 7));
            for number in 1..=self.network_options {
                let next = if number == self.network_options { protocol } else { 60 };
                frame.extend([next, 0, 1, 4, 0, 0, 0, 0]);
            }
        }
        let ports = [0x1b, 0x58, 0x1b, 0x59];
        frame.extend(ports);
        if self.is_tcp {
            let words = u8::try_from(5 + self.transport_options).unwrap() << 4;
            frame.extend(self.sequence.to_be_bytes());
            frame.extend([0, 0, 0, 1, words, self.flags, 1, 0, 0x12, 0x34, 0, 0]);
            frame.extend(vec![1; 4 * self.transport_options]);
        } else {
            frame.extend(u16::try_from(upper).unwrap().to_be_bytes());
            frame.extend([0x12, 0x34]);
        }
        frame.extend(payload);
        frame
    }
}

fn any_made() -> impl Strategy<Value = Made> {
    let shape = (any::<bool>(), any::<bool>(), 0_usize..3, 0_usize..4, 0_usize..6);
    (shape, any::<u16>(), any::<u32>(), any::<u8>()).prop_map(
        |((is_v4, is_tcp, tags, network_options, transport_options), identification, sequence, flags)| Made {
            is_v4,
            is_tcp,
            tags,
            network_options,
            transport_options,
            identification,
            sequence,
            flags,
        },
    )
}

fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

/// The one's complement sum, a word at a time.
fn sum(octets: &[u8], begin: u32) -> u32 {
    let mut sum = begin;
    for pair in octets.chunks(2) {
        sum += u32::from(pair[0]) * 256 + u32::from(*pair.get(1).unwrap_or(&0));
        sum = if sum > 0xffff { sum - 0xffff } else { sum };
    }
    sum
}

fn parts(joined: &Joined<'_>) -> Vec<Vec<u8>> {
    (0..joined.parts())
        .map(|part| {
            let mut room = vec![0xee; joined.longest()];
            let length = joined.emit(part, &mut room).unwrap();
            room.truncate(length);
            room
        })
        .collect()
}

proptest! {
    #[test]
    fn a_receiver_gets_what_was_joined_in_right_packets(
        made in any_made(),
        payload in proptest::collection::vec(any::<u8>(), 1..4_000),
        size in 1_u16..1_500,
    ) {
        let octets = made.frame(&payload);
        let joined = Joined::parse(&octets, made.kind(), size).unwrap();
        let parts = parts(&joined);
        prop_assert_eq!(parts.len(), payload.len().div_ceil(size.into()));
        let mut together = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let is_last = number + 1 == parts.len();
            let carried = &part[made.payload()..];
            prop_assert_eq!(carried.len() == usize::from(size), !is_last || payload.len() % usize::from(size) == 0);
            prop_assert_eq!(&part[..made.network()], &octets[..made.network()], "the frame's header is as it was");
            let network = &part[made.network()..];
            let upper = &part[made.transport()..];
            if made.is_v4 {
                prop_assert_eq!(usize::from(word(network, 2)), network.len());
                let header = &network[..made.transport() - made.network()];
                prop_assert_eq!(sum(header, 0), 0xffff);
                let step = u16::try_from(number % 65_536).unwrap();
                prop_assert_eq!(word(network, 4), made.identification.wrapping_add(step));
            } else {
                prop_assert_eq!(usize::from(word(network, 4)) + 40, network.len());
            }
            let addresses = if made.is_v4 { &network[12..20] } else { &network[8..40] };
            let protocol = if made.is_tcp { 6 } else { 17 };
            let pseudo = sum(addresses, protocol + u32::try_from(upper.len()).unwrap());
            prop_assert_eq!(sum(upper, pseudo), 0xffff, "the transport's checksum of part {}", number);
            if made.is_tcp {
                let sequence = u32::from_be_bytes(upper[4..8].try_into().unwrap());
                let before = u32::try_from(together.len()).unwrap();
                prop_assert_eq!(sequence, made.sequence.wrapping_add(before));
                let mut flags = made.flags;
                if !is_last { flags &= !0x09; }
                if number > 0 { flags &= !0x80; }
                prop_assert_eq!(upper[13], flags);
            } else {
                prop_assert_eq!(usize::from(word(upper, 4)), upper.len());
                prop_assert!(word(upper, 6) != 0);
            }
            together.extend_from_slice(carried);
        }
        prop_assert_eq!(together, payload);
    }

    #[test]
    fn any_octets_are_taken_apart_or_refused_without_panic(
        made in any_made(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut: prop::sample::Index,
        kind in prop::sample::select(vec![JoinedKind::TcpV4, JoinedKind::TcpV6, JoinedKind::Udp]),
        size: u16,
    ) {
        let mut octets = made.frame(&[5; 90]);
        for (place, value) in damage {
            let place = place.index(octets.len());
            octets[place] = value;
        }
        octets.truncate(cut.index(octets.len() + 1));
        if let Some(joined) = Joined::parse(&octets, kind, size) {
            let mut room = [0; 400];
            for part in 0..=joined.parts() {
                let made = joined.emit(part, &mut room);
                prop_assert!(made.is_none_or(|length| length <= joined.longest()));
            }
        }
    }
}

#[test]
fn padding_behind_the_packet_is_no_payload() {
    let mut octets = Made::PLAIN.frame(&[7; 25]);
    octets.extend([0xaa; 6]);
    let joined = Joined::parse(&octets, JoinedKind::TcpV4, 10).unwrap();
    let lengths: Vec<usize> = parts(&joined).iter().map(Vec::len).collect();
    assert_eq!(lengths, [64, 64, 59]);
}

#[test]
fn what_is_not_as_it_is_said_is_refused() {
    let octets = Made::PLAIN.frame(&[7; 25]);
    let parse = |octets: &[u8], kind, size| Joined::parse(octets, kind, size).is_some();
    assert!(parse(&octets, JoinedKind::TcpV4, 10));
    assert!(!parse(&octets, JoinedKind::TcpV4, 0), "no size");
    assert!(!parse(&octets, JoinedKind::TcpV6, 10) && !parse(&octets, JoinedKind::Udp, 10));
    let mut fragment = octets.clone();
    fragment[20] = 0x20;
    assert!(!parse(&fragment, JoinedKind::TcpV4, 10));
    let mut within = octets.clone();
    within[23] = 4;
    assert!(!parse(&within, JoinedKind::TcpV4, 10), "a packet within a packet");
    assert!(!parse(&Made::PLAIN.frame(&[]), JoinedKind::TcpV4, 10), "nothing was joined");
    let joined = Joined::parse(&octets, JoinedKind::TcpV4, 10).unwrap();
    assert_eq!((joined.emit(3, &mut [0; 100]), joined.emit(0, &mut [0; 63])), (None, None));
    assert_eq!(joined.emit(usize::MAX, &mut [0; 100]), None);
}

#[test]
fn what_nobody_says_the_length_of_is_cut_as_far_as_packets_have_room() {
    let udp = Made { is_tcp: false, identification: 1, ..Made::PLAIN };
    let six = Made { is_v4: false, transport_options: 3, tags: 1, ..Made::PLAIN };
    for (made, lengths) in [
        (Made { transport_options: 3, ..Made::PLAIN }, vec![1_514, 1_514, 14 + 52 + 3_000 - 2 * 1_448]),
        (udp, vec![1_514, 1_514, 14 + 28 + 3_000 - 2 * 1_472]),
        (six, vec![1_518, 1_518, 18 + 72 + 3_000 - 2 * 1_428]),
    ] {
        let octets = made.frame(&[9; 3_000]);
        let joined = Joined::fitting(&octets, 1_500).unwrap();
        assert_eq!(parts(&joined).iter().map(Vec::len).collect::<Vec<_>>(), lengths, "{made:?}");
        let said: Vec<usize> = (0..joined.parts()).map_while(|part| joined.octets_of(part)).collect();
        assert_eq!(said, lengths, "{made:?}");
        assert_eq!(joined.octets_of(joined.parts()), None);
    }
    let octets = udp.frame(&[9; 3_000]);
    assert!(Joined::fitting(&octets, 28).is_none(), "no room behind the headers");
    let mut tunnel = octets.clone();
    tunnel[36..38].copy_from_slice(&4_789_u16.to_be_bytes());
    assert!(Joined::fitting(&tunnel, 1_500).is_none(), "what was joined lies within the tunnel's packet");
    let mut other = octets;
    other[23] = 47;
    assert!(Joined::fitting(&other, 1_500).is_none(), "neither TCP nor UDP");
}
