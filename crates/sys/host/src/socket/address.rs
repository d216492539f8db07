//! Socket addresses as the kernel lays them out (`sockaddr_in`, `sockaddr_in6`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::OwnedFd;

use crate::HostError;
use crate::sys::open_socket;

/// Room for either kind of address.
pub(crate) const ADDRESS_LEN: usize = 28;
/// Length of a `sockaddr_in`.
const V4_LEN: usize = 16;

#[expect(
    clippy::cast_possible_truncation,
    reason = "address families are single-digit and two-digit numbers"
)]
const INET: u16 = libc::AF_INET as u16;
#[expect(
    clippy::cast_possible_truncation,
    reason = "address families are single-digit and two-digit numbers"
)]
const INET6: u16 = libc::AF_INET6 as u16;

/// Writes `address` and gives the length that the kernel is to be told.
pub(crate) fn encode(address: SocketAddr, out: &mut [u8; ADDRESS_LEN]) -> usize {
    *out = [0; ADDRESS_LEN];
    match address {
        SocketAddr::V4(v4) => {
            out[0..2].copy_from_slice(&INET.to_ne_bytes());
            out[2..4].copy_from_slice(&v4.port().to_be_bytes());
            out[4..8].copy_from_slice(&v4.ip().octets());
            V4_LEN
        }
        SocketAddr::V6(v6) => {
            out[0..2].copy_from_slice(&INET6.to_ne_bytes());
            out[2..4].copy_from_slice(&v6.port().to_be_bytes());
            out[4..8].copy_from_slice(&v6.flowinfo().to_be_bytes());
            out[8..24].copy_from_slice(&v6.ip().octets());
            out[24..28].copy_from_slice(&v6.scope_id().to_ne_bytes());
            ADDRESS_LEN
        }
    }
}

/// Reads an address; `None` where `bytes` is too short or of another family.
pub(crate) fn decode(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(array(bytes, 0)?);
    let port = u16::from_be_bytes(array(bytes, 2)?);
    match family {
        INET => Some(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::from(array::<4>(bytes, 4)?), port))),
        INET6 => {
            let flow = u32::from_be_bytes(array(bytes, 4)?);
            let scope = u32::from_ne_bytes(array(bytes, 24)?);
            Some(SocketAddr::V6(SocketAddrV6::new(Ipv6Addr::from(array::<16>(bytes, 8)?), port, flow, scope)))
        }
        _ => None,
    }
}

/// The `N` octets of `bytes` that start at `offset`.
pub(crate) fn array<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk::<N>().copied()
}

/// The address family of `address` for `socket(2)`.
pub(crate) fn family(address: IpAddr) -> libc::c_int {
    if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }
}

/// Opens a socket of the family of `address`.
pub(super) fn open(address: SocketAddr) -> Result<OwnedFd, HostError> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    open_socket(family(address.ip()), kind, "open a UDP socket for")
        .map_err(|error| error.on(address.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_address_reads_back_as_written(ip: IpAddr, port: u16, flow: u32, scope: u32) {
            let address = match ip {
                IpAddr::V4(ip) => SocketAddr::V4(SocketAddrV4::new(ip, port)),
                IpAddr::V6(ip) => SocketAddr::V6(SocketAddrV6::new(ip, port, flow, scope)),
            };
            let mut bytes = [0xff; ADDRESS_LEN];
            let length = encode(address, &mut bytes);
            prop_assert_eq!(decode(&bytes[..length]), Some(address));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }
    }
}
