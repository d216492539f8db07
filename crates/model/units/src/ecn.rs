//! Explicit congestion notification (RFC 3168): the two lower bits of the service octet.

use core::fmt;
use core::str::FromStr;

use crate::quantity::QuantityError;

/// An ECN code point (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// The transport does not take part.
    #[default]
    NotEct,
    /// It does, ECT(1): with L4S, a wish for shallow marking (RFC 9331).
    Ect1,
    /// It does, ECT(0).
    Ect0,
    /// A router on the way met congestion.
    Ce,
}

impl Ecn {
    /// All of them, by their bits.
    pub const ALL: [Self; 4] = [Self::NotEct, Self::Ect1, Self::Ect0, Self::Ce];

    /// The code point in the lower two bits of an IPv4 TOS or IPv6 traffic-class octet.
    pub const fn of_tos(tos: u8) -> Self {
        match tos & 0b11 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
    /// Its two bits.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

impl FromStr for Ecn {
    type Err = QuantityError;

    /// Reads `not-ect`, `ect0`, `ect1` or `ce`, or the two bits as a number, `0` to `3`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let lower = text.to_ascii_lowercase();
        let is_meant = |ecn: &Self| lower == ecn.to_string() || lower == ecn.bits().to_string();
        Self::ALL.into_iter().find(is_meant).ok_or_else(|| QuantityError::OutOfRange {
            text: crate::words::excerpt(text, 64),
            allowed: "write not-ect (0), ect1 (1), ect0 (2) or ce (3)".into(),
        })
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotEct => "not-ect",
            Self::Ect1 => "ect1",
            Self::Ect0 => "ect0",
            Self::Ce => "ce",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_point_reads_back_from_its_name_and_its_bits() {
        for ecn in Ecn::ALL {
            assert_eq!(ecn.to_string().parse(), Ok(ecn));
            assert_eq!(ecn.bits().to_string().parse(), Ok(ecn));
            assert_eq!(Ecn::of_tos(0b1011_1000 | ecn.bits()), ecn);
        }
        assert_eq!("ECT0".parse(), Ok(Ecn::Ect0));
        for text in ["", "4", "02", "-1", "ect", "ect(0)"] {
            assert!(text.parse::<Ecn>().is_err(), "{text} was accepted");
        }
    }
}
