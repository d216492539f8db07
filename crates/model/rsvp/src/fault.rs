//! Why octets are not an RSVP message, and the error that a node reports for it.

use thiserror::Error;

use crate::error_code::ErrorCode;

/// Why the content of a SENDER_TSPEC, FLOWSPEC or ADSPEC is not legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ParameterFault {
    /// A length that does not fit the content.
    #[error("a length does not fit the content")]
    Length,
    /// A version of the format other than 0.
    #[error("the version of the format is 0, not {0}")]
    Version(u8),
    /// Other services than the object has, or in another order.
    #[error("service {0} is not allowed there")]
    Service(u8),
    /// A parameter that is missing, unexpected, in a wrong order, or of a wrong length.
    #[error("parameter {0} is missing, not allowed there, or of a wrong length")]
    Parameter(u8),
    /// A token rate that is not from 1 octet/s to 40 terabytes per second.
    #[error("the token rate is not from 1 to 4e13 octets/s")]
    Rate,
    /// A bucket that is not from 1 octet to 250 gigabytes.
    #[error("the bucket is not from 1 to 2.5e11 octets")]
    Bucket,
    /// A peak rate below 1 octet/s, or that is no number.
    #[error("the peak rate is not at least 1 octet/s")]
    Peak,
    /// A minimum policed unit of 0, or one above the maximum packet size.
    #[error("the minimum policed unit is not from 1 to the maximum packet size")]
    Unit,
    /// A service rate below the token rate, or a peak rate below it, for guaranteed service.
    #[error("guaranteed service needs a service rate and a peak rate of at least the token rate")]
    ServiceRate,
    /// A bandwidth that is negative or no number.
    #[error("a bandwidth is not at least 0")]
    Bandwidth,
}

/// Why octets are not a message that this crate represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// Shorter than the common header.
    #[error("an RSVP message of {have} octets is cut off in its header of 8")]
    Truncated {
        /// Octets that there are.
        have: usize,
    },
    /// Another version.
    #[error("the version of an RSVP message is 1, not {0}")]
    Version(u8),
    /// The length of the common header is not the number of octets.
    #[error("the RSVP header states {stated} octets, and there are {have}")]
    Length {
        /// Octets that the header states.
        stated: usize,
        /// Octets that there are.
        have: usize,
    },
    /// The checksum is wrong.
    #[error("the RSVP checksum is wrong")]
    Checksum,
    /// A message type that RFC 2205 does not have.
    #[error("an RSVP message has a type from 1 to 7, not {0}")]
    Kind(u8),
    /// An object with a length below 4, beyond the message, or no multiple of 4.
    #[error("an object of class {class} states {length} octets, of which {have} are there")]
    ObjectLength {
        /// Its class number.
        class: u8,
        /// Its stated length.
        length: usize,
        /// Octets from its beginning to the end of the message.
        have: usize,
    },
    /// A class that is not known, and that forbids to ignore it (RFC 2205 section 3.10).
    #[error("class {class} (C-Type {ctype}) is not known")]
    UnknownClass {
        /// Its class number.
        class: u8,
        /// Its C-Type.
        ctype: u8,
    },
    /// A C-Type that is not known, of a known class. Objects of IPv6 are among them.
    #[error("C-Type {ctype} of class {class} is not known")]
    UnknownType {
        /// Its class number.
        class: u8,
        /// Its C-Type.
        ctype: u8,
    },
    /// An object that the message needs.
    #[error("the object {0} is missing")]
    Missing(&'static str),
    /// An object that occurs twice.
    #[error("the object {0} occurs twice")]
    Repeated(&'static str),
    /// An object that its message does not have, or that is at a place where it must not be.
    #[error("the object {0} is not allowed there")]
    Misplaced(&'static str),
    /// An object with a wrong length or a value that is not allowed.
    #[error("the object {0} has a wrong length or a value that is not allowed")]
    Malformed(&'static str),
    /// A session without destination port and a sender with a source port (RFC 2205 section 3.2).
    #[error("a session without destination port has no source ports")]
    SourcePort,
    /// A reservation style other than fixed filter.
    #[error("the reservation style {0:#07b} is not supported")]
    Style(u32),
    /// A TSpec that is not legal.
    #[error("the SENDER_TSPEC is wrong: {0}")]
    Tspec(ParameterFault),
    /// A FLOWSPEC that is not legal.
    #[error("the FLOWSPEC is wrong: {0}")]
    Flowspec(ParameterFault),
    /// A FLOWSPEC for a service other than guaranteed and controlled load.
    #[error("service {0} is not supported")]
    Service(u8),
    /// An ADSPEC that is not legal.
    #[error("the ADSPEC is wrong: {0}")]
    Adspec(ParameterFault),
}

impl Fault {
    /// The code that a node reports to the sender or the receiver; `None` for a fault that stays local
    /// (RFC 2205 appendix B, last part).
    pub fn code(&self) -> Option<ErrorCode> {
        let kind = |class: u8, ctype: u8| u16::from_be_bytes([class, ctype]);
        Some(match *self {
            Self::UnknownClass { class, ctype } => ErrorCode::new(13, kind(class, ctype)),
            Self::UnknownType { class, ctype } => ErrorCode::new(14, kind(class, ctype)),
            Self::Style(_) => ErrorCode::UNKNOWN_STYLE,
            Self::Tspec(_) => ErrorCode::BAD_TSPEC,
            Self::Flowspec(_) => ErrorCode::BAD_FLOWSPEC,
            Self::Service(_) => ErrorCode::UNSUPPORTED_SERVICE,
            Self::Adspec(_) => ErrorCode::BAD_ADSPEC,
            _ => return None,
        })
    }
}
