//! Ranges of addresses.

use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;

/// The addresses that agree in their first bits: `192.0.2.0/24`, `2001:db8::/32`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// The addresses that agree with `address` in their first `length` bits; `None` if the address has fewer.
    pub const fn new(address: IpAddr, length: u8) -> Option<Self> {
        if length <= bits(address) { Some(Self { address, length }) } else { None }
    }

    /// The address that it was made of, whose bits behind the first [`Prefix::length`] do not matter.
    pub const fn address(&self) -> IpAddr {
        self.address
    }

    /// In how many of their first bits the addresses agree: 0 to 32, or to 128.
    pub const fn length(&self) -> u8 {
        self.length
    }

    /// Whether these are addresses of IPv6.
    pub const fn is_ipv6(&self) -> bool {
        self.address.is_ipv6()
    }

    /// Whether `other` is one of them, as it stands: an address of IPv4 is not one of IPv6, however that is written.
    pub fn contains(&self, other: IpAddr) -> bool {
        let value = |address| match address {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => address.into(),
        };
        let behind = u32::from(bits(self.address) - self.length);
        // Of no bits at all every address agrees.
        let differs = (value(self.address) ^ value(other)).checked_shr(behind).unwrap_or(0);
        self.address.is_ipv6() == other.is_ipv6() && differs == 0
    }

    /// The same where an address of IPv4 may be written as one of IPv6 (`::ffff:192.0.2.1`), on either side.
    pub fn contains_in_either_form(&self, other: IpAddr) -> bool {
        /// Bits before the address of IPv4.
        const MAPPED: u8 = 96;
        let canonical = match (self.address.to_canonical(), self.length.checked_sub(MAPPED)) {
            (address @ IpAddr::V4(_), Some(length)) if self.is_ipv6() => Self { address, length },
            _ => *self,
        };
        canonical.contains(other.to_canonical())
    }
}

/// How many an address has.
const fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = String;

    /// Reads `192.0.2.0/24`, `2001:db8::/32`, or one address.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let shown = crate::words::excerpt(text, 64);
            format!("{shown:?} is not an address range; write 192.0.2.0/24, 2001:db8::/32 or one address")
        };
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let length = match length {
            Some(length) if length.bytes().all(|c| c.is_ascii_digit()) => {
                length.parse().map_err(|_| wrong())?
            }
            Some(_) => return Err(wrong()),
            None => bits(address),
        };
        Self::new(address, length).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn contains(prefix: &str, address: &str) -> bool {
        prefix.parse::<Prefix>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_range_has_the_addresses_that_agree_in_its_bits_and_no_other() {
        for (prefix, within, beyond) in [
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.77/24", "192.0.2.0", "192.0.1.255"),
            ("192.0.2.1", "192.0.2.1", "192.0.2.0"),
            ("128.0.0.0/1", "255.255.255.255", "127.255.255.255"),
            ("0.0.0.0/0", "9.9.9.9", "::1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("2001:db8::1", "2001:db8::1", "2001:db8::"),
            ("::/0", "ffff::", "0.0.0.0"),
            ("::ffff:0:0/96", "::ffff:192.0.2.1", "192.0.2.1"),
        ] {
            assert!(contains(prefix, within) && !contains(prefix, beyond), "{prefix}");
        }
        for text in
            ["192.0.2.0/33", "2001:db8::/129", "example", "1.2.3.4/-1", "1.2.3.4/+8", "1.2.3.4/", "/24", ""]
        {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_of_ipv4_may_be_written_as_one_of_ipv6() {
        let contains = |prefix: &str, address: &str| {
            prefix.parse::<Prefix>().unwrap().contains_in_either_form(address.parse().unwrap())
        };
        for prefix in ["192.0.2.0/24", "::ffff:192.0.2.0/120"] {
            for (address, is_within) in
                [("192.0.2.9", true), ("::ffff:192.0.2.9", true), ("192.0.3.9", false)]
            {
                assert_eq!(contains(prefix, address), is_within, "{prefix} {address}");
            }
        }
        assert!(contains("::ffff:192.0.2.1", "192.0.2.1") && !contains("::ffff:192.0.2.1", "192.0.2.2"));
        assert!(contains("2001:db8::/32", "2001:db8::7") && !contains("::/0", "192.0.2.1"));
    }

    proptest! {
        #[test]
        fn ranges_are_read_as_they_are_written(address: u128, four: u32, length in 0_u8..=128) {
            for address in [IpAddr::from(address.to_be_bytes()), IpAddr::from(four.to_be_bytes())] {
                let Some(prefix) = Prefix::new(address, length) else {
                    prop_assert!(length > 32 && address.is_ipv4());
                    continue;
                };
                prop_assert_eq!(prefix.to_string().parse(), Ok(prefix));
                prop_assert!(prefix.contains(address));
            }
        }

        #[test]
        fn a_bit_within_the_length_decides_and_one_behind_it_does_not(address: u128, length in 0_u8..=128, bit in 0_u8..128) {
            let prefix = Prefix::new(IpAddr::from(address.to_be_bytes()), length).unwrap();
            let other = IpAddr::from((address ^ (1 << (127 - bit))).to_be_bytes());
            prop_assert_eq!(prefix.contains(other), bit >= length);
        }
    }
}
