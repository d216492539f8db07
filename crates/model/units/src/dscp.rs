//! Differentiated-services code points (RFC 2474) and their names.

use core::fmt;
use core::str::FromStr;

use crate::quantity::QuantityError;

/// A differentiated-services code point, 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

/// Names of code points: class selectors (RFC 2474), assured forwarding (RFC 2597), expedited forwarding
/// (RFC 3246), voice admit (RFC 5865), lower effort (RFC 8622).
const NAMES: &[(&str, u8)] = &[
    ("cs0", 0),
    ("default", 0),
    ("be", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("voice-admit", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

impl Dscp {
    /// Best effort.
    pub const DEFAULT: Self = Self(0);
    /// Expedited forwarding.
    pub const EF: Self = Self(46);

    /// The code point `value`; `None` above 63.
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }
    /// The code point in the upper six bits of an IPv4 TOS or IPv6 traffic-class octet.
    pub const fn of_tos(tos: u8) -> Self {
        Self(tos >> 2)
    }
    /// 0 to 63.
    pub const fn value(self) -> u8 {
        self.0
    }
    /// The TOS or traffic-class octet with this code point and no ECN bits.
    pub const fn tos(self) -> u8 {
        self.0 << 2
    }
}

impl FromStr for Dscp {
    type Err = QuantityError;

    /// Reads a name (`EF`, `af41`, `cs5`) or a number from 0 to 63.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let shown = || crate::words::excerpt(text, 64);
        let lower = text.to_ascii_lowercase();
        if let Some((_, value)) = NAMES.iter().find(|(name, _)| *name == lower) {
            return Ok(Self(*value));
        }
        match text.parse::<u32>() {
            Ok(value @ 0..=63) => Ok(Self(u8::try_from(value).unwrap_or(0))),
            Ok(value @ 64..=252) if value % 4 == 0 => Err(QuantityError::OutOfRange {
                text: shown(),
                allowed: format!("write 0 to 63; as a TOS octet this is code point {}", value / 4),
            }),
            Ok(_) => Err(QuantityError::OutOfRange {
                text: shown(),
                allowed: "write a code point from 0 to 63".into(),
            }),
            Err(_) => Err(QuantityError::NotANumber {
                text: shown(),
                what: "a DSCP".into(),
                example: "a name such as EF, AF41, CS5 or a number from 0 to 63".into(),
            }),
        }
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, value)| *value == self.0) {
            Some((name, _)) => f.pad(name),
            None => f.pad(&self.0.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_point_reads_back_from_its_name() {
        for value in 0..64 {
            let dscp = Dscp::new(value).unwrap();
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
            assert_eq!(value.to_string().parse(), Ok(dscp));
            assert_eq!(Dscp::of_tos(dscp.tos() | 0b11), dscp);
        }
        assert_eq!("EF".parse(), Ok(Dscp::EF));
        assert_eq!(Dscp::new(64), None);
    }

    #[test]
    fn a_tos_octet_is_recognised_for_what_it_is() {
        let error = "184".parse::<Dscp>().unwrap_err().to_string();
        assert!(error.contains("code point 46"), "{error}");
        for text in ["64", "-1", "256", "ff", ""] {
            assert!(text.parse::<Dscp>().is_err(), "{text} was accepted");
        }
    }
}
