//! Error codes and their text (RFC 2205 appendix B).

use core::fmt;

/// Code and value of an ERROR_SPEC. Its text is a part of a sentence: `the requested bandwidth is not available (code 1,
/// value 2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    code: u8,
    value: u16,
}

impl ErrorCode {
    /// No error: the reservation is confirmed.
    pub const CONFIRMATION: Self = Self::new(0, 0);
    /// Admission control: the requested bandwidth is not available.
    pub const BANDWIDTH: Self = Self::new(1, 2);
    /// Admission control: the FLOWSPEC has larger packets than the interface.
    pub const MTU: Self = Self::new(1, 3);
    /// No path state of the session.
    pub const NO_PATH: Self = Self::new(3, 0);
    /// No path state of the sender.
    pub const NO_SENDER: Self = Self::new(4, 0);
    /// A style that the node does not support.
    pub const UNKNOWN_STYLE: Self = Self::new(6, 0);
    /// Sessions with and without destination port.
    pub const DESTINATION_PORTS: Self = Self::new(7, 0);
    /// Senders with and without source port.
    pub const SENDER_PORTS: Self = Self::new(8, 0);
    /// Traffic control: the service is not supported.
    pub const UNSUPPORTED_SERVICE: Self = Self::new(21, 2);
    /// Traffic control: a wrong FLOWSPEC.
    pub const BAD_FLOWSPEC: Self = Self::new(21, 3);
    /// Traffic control: a wrong SENDER_TSPEC.
    pub const BAD_TSPEC: Self = Self::new(21, 4);
    /// Traffic control: a wrong ADSPEC.
    pub const BAD_ADSPEC: Self = Self::new(21, 5);
    /// The node has no memory for a further flow. The value is romer's own.
    pub const TABLE_FULL: Self = Self::new(23, 1);

    /// Code and value as they are in the object.
    pub const fn new(code: u8, value: u16) -> Self {
        Self { code, value }
    }
    /// The error code.
    pub const fn code(self) -> u8 {
        self.code
    }
    /// The error value.
    pub const fn value(self) -> u16 {
        self.value
    }
    /// The sub-code of codes 1, 12 and 21 where it is defined by RFC 2205 (the bits `ss` are zero).
    const fn global(self) -> Option<u16> {
        if self.value >> 14 == 0 { Some(self.value & 0x0fff) } else { None }
    }
}

impl core::error::Error for ErrorCode {}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, value } = self;
        f.write_str(match (self.code, self.global()) {
            (0, _) => "the reservation is confirmed",
            (1, Some(1)) => "the delay bound cannot be met",
            (1, Some(2)) => "the requested bandwidth is not available",
            (1, Some(3)) => "the requested packet size is larger than the interface's MTU",
            (1, _) => "admission control refused the reservation",
            (2, _) => "policy control refused the request",
            (3, _) => "there is no path state for the session",
            (4, _) => "there is no path state for the sender",
            (5, _) => "the reservation style conflicts with that of a reservation in place",
            (6, _) => "the reservation style is not supported",
            (7, _) => "the session exists with and without a destination port",
            (8, _) => "the session has senders with and without a source port",
            (12, _) => "the reservation was preempted",
            (13, _) => "an object class is not known",
            (14, _) => "an object C-Type is not known",
            (20, _) => "the application interface reports an error",
            (21, Some(1)) => "the service conflicts with that of another request",
            (21, Some(2)) => "the service is not supported",
            (21, Some(3)) => "the FLOWSPEC is wrong",
            (21, Some(4)) => "the SENDER_TSPEC is wrong",
            (21, Some(5)) => "the ADSPEC is wrong",
            (21, _) => "traffic control reports an error",
            (22, _) => "traffic control reports a system error",
            (23, _) => "RSVP reports a system error",
            _ => "the error has no known meaning",
        })?;
        if let 13 | 14 = code {
            let [class, ctype] = value.to_be_bytes();
            return write!(f, " (code {code}, class {class}, C-Type {ctype})");
        }
        write!(f, " (code {code}, value {value})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text names the cause, and keeps the numbers of the message.
    #[test]
    fn codes_have_texts() {
        let bandwidth = ErrorCode::new(1, 2).to_string();
        assert_eq!(bandwidth, "the requested bandwidth is not available (code 1, value 2)");
        let class = ErrorCode::new(13, 0x3d07).to_string();
        assert_eq!(class, "an object class is not known (code 13, class 61, C-Type 7)");
        // A sub-code of an organization (ss = 10) has no global meaning.
        assert!(ErrorCode::new(1, 0x8002).to_string().starts_with("admission control"));
        // The bit `u` says that the message is informational; the sub-code keeps its meaning.
        assert!(ErrorCode::new(1, 0x2002).to_string().contains("bandwidth"));
        for code in 0..=u8::MAX {
            assert!(!ErrorCode::new(code, 0).to_string().is_empty());
        }
    }
}
