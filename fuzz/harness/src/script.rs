//! Bytes read as a script: what happens to a machine, one thing after another.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The rest of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script<'a> {
    rest: &'a [u8],
}

impl<'a> Script<'a> {
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    /// Whether it is at its end.
    pub(crate) const fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next octet; `None` at the end.
    pub(crate) fn octet(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// A number of two octets; missing ones are 0.
    pub(crate) fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.octet().unwrap_or(0), self.octet().unwrap_or(0)])
    }

    /// The next `count` octets, or what is left.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// An address: an octet that says which kind, the address's last octet, the port.
    pub(crate) fn address(&mut self) -> SocketAddr {
        let (kind, last) = (self.octet().unwrap_or(0), self.octet().unwrap_or(0));
        let ip = match kind % 8 {
            0 => IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)),
            1 => IpAddr::V4(Ipv4Addr::LOCALHOST),
            2 => IpAddr::V4(Ipv4Addr::new(224, 0, 0, last)),
            3 => IpAddr::V4(Ipv4Addr::new(last, last, last, last)),
            4 => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, last.into(), 0, 0, 0, 1)),
            5 => IpAddr::V6(Ipv6Addr::LOCALHOST),
            6 => IpAddr::V6(Ipv4Addr::new(192, 0, 2, last).to_ipv6_mapped()),
            _ => IpAddr::V6(Ipv6Addr::new(0xff00 | u16::from(last), 0, 0, 0, 0, 0, 0, 1)),
        };
        SocketAddr::new(ip, self.word())
    }
}
