//! Address ranges.

use core::net::IpAddr;

/// An address range that may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The range of addresses that agree with `address` in their first `length` bits; `None` if the address has
    /// fewer.
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (length <= bits).then_some(Self { address: address.to_canonical(), length })
    }
    /// Whether `other` is in the range.
    pub fn contains(&self, other: IpAddr) -> bool {
        fn agree(a: u128, b: u128, bits: u8, length: u8) -> bool {
            length == 0 || (a ^ b) >> (bits - length) == 0
        }
        match (self.address, other.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                agree(u32::from(a).into(), u32::from(b).into(), 32, self.length)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => agree(a.into(), b.into(), 128, self.length),
            _ => false,
        }
    }
}

impl core::str::FromStr for Prefix {
    type Err = String;

    /// Reads `192.0.2.0/24`, `2001:db8::/32`, or one address.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let shown: String = text.chars().take(64).collect();
            format!("{shown:?} is not an address range; write 192.0.2.0/24, 2001:db8::/32 or one address")
        };
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(whole), str::parse).map_err(|_| wrong())?;
        Self::new(address, length).ok_or_else(wrong)
    }
}
