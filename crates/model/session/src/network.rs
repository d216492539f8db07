//! Networks, by which the shares of a responder are counted.

use core::net::IpAddr;

/// The network of an address: its /24 of IPv4, or its /56 of IPv6. One subscriber often has all addresses of it, so that a share
/// for each address would bound nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientNetwork(u128);

impl ClientNetwork {
    /// The network of `address`; an IPv4 address that is mapped into IPv6 has that of IPv4.
    pub fn from_address(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => (1 << 120) | u128::from(address.to_bits() >> 8),
            IpAddr::V6(address) => address.to_bits() >> 72,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> ClientNetwork {
        ClientNetwork::from_address(address.parse().unwrap())
    }

    /// Addresses of one /24 or one /56 share, others do not.
    #[test]
    fn prefixes_are_24_and_56() {
        assert_eq!(network("192.0.2.1"), network("192.0.2.254"));
        assert_eq!(network("192.0.2.1"), network("::ffff:192.0.2.9"));
        assert_ne!(network("192.0.2.1"), network("192.0.3.1"));
        assert_eq!(network("2001:db8:0:1::1"), network("2001:db8:0:ff::9"));
        assert_ne!(network("2001:db8:0:1::1"), network("2001:db8:0:100::1"));
        assert_ne!(network("::c0:2"), network("0.0.192.2"));
    }
}
