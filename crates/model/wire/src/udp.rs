//! UDP (RFC 768).

use thiserror::Error;

use crate::bytes;
use crate::checksum::{self, Pseudo};
use crate::ip::protocol;

/// Octets of the header.
pub const HEADER: usize = 8;
/// Octets of payload that every host accepts over IPv4: those of a packet of 576 octets (RFC 791 section 3.1).
pub const ACCEPTED_PAYLOAD: u32 = 576 - 20 - 8;

/// Why bytes are not a datagram, or cannot become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UdpError {
    /// Shorter than its header.
    #[error("a UDP datagram of {have} octets is cut off in its header, which takes {HEADER}")]
    Truncated {
        /// Octets that there are.
        have: usize,
    },
    /// A length that is shorter than the header or longer than the bytes.
    #[error("the UDP length of {stated} octets does not lie between {HEADER} and the {have} received")]
    Length {
        /// The length that the header states.
        stated: usize,
        /// Octets that there are.
        have: usize,
    },
    /// More octets than a datagram can have.
    #[error("{0} octets are too many for a UDP datagram")]
    TooLong(usize),
}

/// What the checksum of a received datagram says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The datagram is undamaged.
    Right,
    /// It is damaged.
    Wrong,
    /// The sender computed none, which IPv4 allows.
    Absent,
    /// The sender computed none, which IPv6 forbids (RFC 8200 section 8.1; RFC 6935 excepts tunnels): discard
    /// it.
    Forbidden,
}

/// A view of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    header: &'a [u8; HEADER],
    octets: &'a [u8],
    payload: &'a [u8],
    surplus: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Lays the view on the payload of an IP packet. What lies past the UDP length is kept apart.
    ///
    /// # Errors
    /// [`UdpError`], where a length is wrong. A wrong checksum is not an error here: see
    /// [`Datagram::verify`].
    pub fn parse(octets: &'a [u8]) -> Result<Self, UdpError> {
        let have = octets.len();
        let header = octets.first_chunk::<HEADER>().ok_or(UdpError::Truncated { have })?;
        let stated = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let wrong = UdpError::Length { stated, have };
        let (octets, surplus) = octets.split_at_checked(stated).ok_or(wrong)?;
        let payload = octets.get(HEADER..).ok_or(wrong)?;
        Ok(Self { header, octets, payload, surplus })
    }

    /// The port that it comes from; 0 for none.
    pub const fn source_port(&self) -> u16 {
        u16::from_be_bytes([self.header[0], self.header[1]])
    }
    /// The port that it is going to.
    pub const fn destination_port(&self) -> u16 {
        u16::from_be_bytes([self.header[2], self.header[3]])
    }
    /// The checksum field, as received; 0 for none.
    pub const fn checksum(&self) -> u16 {
        u16::from_be_bytes([self.header[6], self.header[7]])
    }
    /// What the datagram carries.
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }
    /// What follows the datagram within its IP packet (where RFC 9868 puts UDP options).
    pub const fn surplus(&self) -> &'a [u8] {
        self.surplus
    }
    /// The header's fields.
    pub const fn repr(&self) -> Repr {
        Repr { source_port: self.source_port(), destination_port: self.destination_port() }
    }

    /// Holds the checksum against the datagram between the two addresses of `pseudo`.
    pub fn verify(&self, pseudo: Pseudo) -> Checksum {
        match (self.checksum(), pseudo) {
            (0, Pseudo::V4 { .. }) => Checksum::Absent,
            (0, Pseudo::V6 { .. }) => Checksum::Forbidden,
            _ if sum(pseudo, self.octets).is_right() => Checksum::Right,
            _ => Checksum::Wrong,
        }
    }
}

fn sum(pseudo: Pseudo, datagram: &[u8]) -> checksum::Sum {
    // A view's length came out of 16 bits, and `Repr::emit` refuses longer ones.
    let length = u32::try_from(datagram.len()).unwrap_or(u32::MAX);
    pseudo.sum(protocol::UDP, length).octets(datagram)
}

/// The header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repr {
    /// The port that it comes from; 0 for none.
    pub source_port: u16,
    /// The port that it is going to.
    pub destination_port: u16,
}

impl Repr {
    /// Writes the header, with the checksum over everything, at the start of `datagram`, whose payload is in
    /// place already and which ends where the datagram ends.
    ///
    /// # Errors
    /// [`UdpError::Truncated`] where the header does not fit, [`UdpError::TooLong`] above 65,535 octets.
    pub fn emit(&self, pseudo: Pseudo, datagram: &mut [u8]) -> Result<(), UdpError> {
        let have = datagram.len();
        if have < HEADER {
            return Err(UdpError::Truncated { have });
        }
        let length = u16::try_from(have).map_err(|_| UdpError::TooLong(have))?;
        bytes::put(datagram, 0, &self.source_port.to_be_bytes());
        bytes::put(datagram, 2, &self.destination_port.to_be_bytes());
        bytes::put(datagram, 4, &length.to_be_bytes());
        bytes::put(datagram, 6, &[0, 0]);
        let checksum = checksum::udp_sent(sum(pseudo, datagram).checksum());
        bytes::put(datagram, 6, &checksum.to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;

    fn pseudo() -> impl Strategy<Value = Pseudo> {
        prop_oneof![
            any::<[u32; 2]>().prop_map(|[source, destination]| Pseudo::V4 {
                source: source.into(),
                destination: destination.into()
            }),
            any::<[u128; 2]>().prop_map(|[source, destination]| Pseudo::V6 {
                source: source.into(),
                destination: destination.into()
            }),
        ]
    }

    const HERE: Pseudo =
        Pseudo::V4 { source: Ipv4Addr::new(127, 0, 0, 1), destination: Ipv4Addr::new(127, 0, 0, 1) };

    #[test]
    fn the_pseudo_header_is_that_of_the_standards() {
        // Laid out octet by octet: RFC 768 for IPv4, RFC 8200 section 8.1 for IPv6.
        let (source, destination) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 7));
        let laid_out = [192, 0, 2, 1, 198, 51, 100, 7, 0, 17, 0x12, 0x34];
        let sum = Pseudo::V4 { source, destination }.sum(17, 0x1234);
        assert_eq!(sum.checksum(), checksum::checksum(&laid_out));

        let (source, destination): (Ipv6Addr, Ipv6Addr) =
            ("2001:db8::1".parse().unwrap(), "2001:db8:ffff::2".parse().unwrap());
        let mut laid_out = [source.octets(), destination.octets()].concat();
        laid_out.extend([0, 0x01, 0x12, 0x34, 0, 0, 0, 17]);
        let sum = Pseudo::V6 { source, destination }.sum(17, 0x1_1234);
        assert_eq!(sum.checksum(), checksum::checksum(&laid_out));
    }

    #[test]
    fn a_length_outside_the_packet_is_refused() {
        let mut octets = [0; 12];
        for stated in [0u16, 7, 13, u16::MAX] {
            octets[4..6].copy_from_slice(&stated.to_be_bytes());
            assert_eq!(
                Datagram::parse(&octets),
                Err(UdpError::Length { stated: stated.into(), have: 12 }),
                "{stated}"
            );
        }
        assert_eq!(Datagram::parse(&octets[..7]), Err(UdpError::Truncated { have: 7 }));
        octets[4..6].copy_from_slice(&[0, 10]);
        let view = Datagram::parse(&octets).unwrap();
        assert_eq!((view.payload().len(), view.surplus().len()), (2, 2));
    }

    #[test]
    fn no_checksum_is_fine_on_ipv4_and_forbidden_on_ipv6() {
        let octets = [0, 1, 0, 2, 0, 8, 0, 0];
        let view = Datagram::parse(&octets).unwrap();
        assert_eq!(view.verify(HERE), Checksum::Absent);
        let v6 = Pseudo::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST };
        assert_eq!(view.verify(v6), Checksum::Forbidden);
    }

    #[test]
    fn a_checksum_of_zero_is_sent_as_all_ones() {
        // Of all payloads of one word, exactly that which brings the sum to all ones.
        let mut found = 0;
        for word in 0..=u16::MAX {
            let mut octets = [0; 10];
            octets[8..].copy_from_slice(&word.to_be_bytes());
            Repr { source_port: 862, destination_port: 5000 }.emit(HERE, &mut octets).unwrap();
            let view = Datagram::parse(&octets).unwrap();
            assert_ne!(view.checksum(), 0);
            assert_eq!(view.verify(HERE), Checksum::Right);
            found += u32::from(view.checksum() == 0xffff);
        }
        assert_eq!(found, 1);
    }

    #[test]
    fn datagrams_of_impossible_lengths_are_not_written() {
        let repr = Repr { source_port: 1, destination_port: 2 };
        assert_eq!(repr.emit(HERE, &mut [0; 7]), Err(UdpError::Truncated { have: 7 }));
        assert_eq!(repr.emit(HERE, &mut vec![0; 65_536]), Err(UdpError::TooLong(65_536)));
        assert_eq!(repr.emit(HERE, &mut vec![0; 65_535]), Ok(()));
    }

    proptest! {
        #[test]
        fn a_datagram_is_read_as_written_and_damage_is_noticed(
            pseudo in pseudo(), source_port: u16, destination_port: u16, payload: Vec<u8>, surplus: Vec<u8>,
            place: prop::sample::Index, change in 1u8..,
        ) {
            let repr = Repr { source_port, destination_port };
            let mut octets = [&[0; HEADER], payload.as_slice()].concat();
            repr.emit(pseudo, &mut octets).unwrap();
            let len = octets.len();
            octets.extend(&surplus);
            let view = Datagram::parse(&octets).unwrap();
            prop_assert_eq!(view.repr(), repr);
            prop_assert_eq!((view.payload(), view.surplus()), (payload.as_slice(), surplus.as_slice()));
            prop_assert_eq!(view.verify(pseudo), Checksum::Right);

            // The length field decides what is summed, so that its damage may by chance go unnoticed.
            let place = place.index(len);
            if !(4..6).contains(&place) {
                octets[place] ^= change;
                let view = Datagram::parse(&octets).unwrap();
                prop_assert_ne!(view.verify(pseudo), Checksum::Right);
            }
        }

        #[test]
        fn any_bytes_are_survived(octets: Vec<u8>, pseudo in pseudo()) {
            if let Ok(view) = Datagram::parse(&octets) {
                prop_assert_eq!(HEADER + view.payload().len() + view.surplus().len(), octets.len());
                let _ = view.verify(pseudo);
            }
        }

        #[test]
        fn a_rewritten_payload_keeps_a_right_checksum(
            pseudo in pseudo(), payload in proptest::collection::vec(any::<u8>(), 1..64),
            place: prop::sample::Index, new: Vec<u8>,
        ) {
            let mut octets = [&[0; HEADER], payload.as_slice()].concat();
            Repr { source_port: 7, destination_port: 862 }.emit(pseudo, &mut octets).unwrap();
            let start = HEADER + place.index(payload.len());
            let end = octets.len().min(start + new.len());
            let old = octets[start..end].to_vec();
            let field = Datagram::parse(&octets).unwrap().checksum();
            octets[start..end].copy_from_slice(&new[..end - start]);
            let field = checksum::udp_update_range(field, start, &old, &new[..end - start]).unwrap();
            octets[6..8].copy_from_slice(&field.to_be_bytes());
            prop_assert_eq!(Datagram::parse(&octets).unwrap().verify(pseudo), Checksum::Right);
        }
    }
}
