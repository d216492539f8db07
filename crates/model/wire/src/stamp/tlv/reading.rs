//! TLVs as they are read from any octets.

use core::ops::Range;

use thiserror::Error;

use crate::bytes;

/// Octets before the value.
pub const HEADER: usize = 4;
/// How many TLVs of one packet are looked at, so that no packet costs more than another by much; what
/// follows is treated as one malformed TLV. There are eight types, and only Extra Padding may be repeated
/// (section 4.1).
pub const LIMIT: usize = 64;

/// Types of TLVs (RFC 8972 section 5.1).
pub mod kind {
    /// Any octets, to make the packet longer (section 4.1).
    pub const EXTRA_PADDING: u8 = 1;
    /// Addresses and ports that the reflector saw (section 4.2); not understood here.
    pub const LOCATION: u8 = 2;
    /// How the reflector's clock is kept and its timestamps are taken (section 4.3).
    pub const TIMESTAMP_INFORMATION: u8 = 3;
    /// Code points received and wished for (section 4.4).
    pub const CLASS_OF_SERVICE: u8 = 4;
    /// Counts of packets of the user's own traffic (section 4.5).
    pub const DIRECT_MEASUREMENT: u8 = 5;
    /// Whether an access network is there (section 4.6); not understood here.
    pub const ACCESS_REPORT: u8 = 6;
    /// When an earlier reply really left (section 4.7).
    pub const FOLLOW_UP_TELEMETRY: u8 = 7;
    /// The code over the TLVs before it (section 4.8).
    pub const HMAC: u8 = 8;
    /// The first type of private use; up to 254 the value begins with four octets that name a vendor
    /// (section 4).
    pub const PRIVATE_FIRST: u8 = 252;
    /// The last type of private use.
    pub const PRIVATE_LAST: u8 = 254;
}

/// The flags of a TLV (RFC 8972 section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// None.
    pub const NONE: Self = Self(0);
    /// U: the reflector has not understood the TLV. A sender sets it, so that it comes back set from a
    /// reflector that knows of no TLVs.
    pub const UNRECOGNIZED: Self = Self(0x80);
    /// M: its length is not valid, or the packet ends before it does.
    pub const MALFORMED: Self = Self(0x40);
    /// I: the code over the TLVs is wrong.
    pub const INTEGRITY: Self = Self(0x20);

    /// As received; the five reserved bits are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0xe0)
    }
    /// The octet, with zeros for the reserved bits.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// Those of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Those that are in both.
    #[must_use]
    pub const fn only(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// U is set.
    pub const fn unrecognized(self) -> bool {
        self.0 & Self::UNRECOGNIZED.0 != 0
    }
    /// M is set.
    pub const fn malformed(self) -> bool {
        self.0 & Self::MALFORMED.0 != 0
    }
    /// I is set.
    pub const fn integrity(self) -> bool {
        self.0 & Self::INTEGRITY.0 != 0
    }
}

/// One TLV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// Its flags.
    pub flags: Flags,
    /// Its type, of [`kind`] or any other.
    pub kind: u8,
    /// Its value.
    pub value: &'a [u8],
    /// Where among the extensions it begins.
    pub offset: usize,
}

/// Octets that are no TLV: those that are left cannot hold its header, or not as much as its length says, or
/// [`LIMIT`] came before it. What follows it cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Where among the extensions it begins.
    pub offset: usize,
    /// Its flags.
    pub flags: Flags,
    /// Its type, where there is an octet for it.
    pub kind: Option<u8>,
}

/// The TLVs of any octets, in order. It ends after the first that is malformed.
#[derive(Clone, Debug)]
pub struct Tlvs<'a> {
    octets: &'a [u8],
    walk: Walk,
}

impl<'a> Tlvs<'a> {
    /// Of `extensions`: what follows a base packet, or what follows the fixed part of a TLV that holds others.
    pub const fn new(extensions: &'a [u8]) -> Self {
        Self { octets: extensions, walk: Walk::new() }
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<Tlv<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.walk.step(self.octets)?;
        Some(found.map(|Extent { flags, kind, offset, value }| Tlv {
            flags,
            kind,
            value: self.octets.get(value).unwrap_or_default(),
            offset,
        }))
    }
}

/// Why a TLV is not read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TlvError {
    /// No value of this type has this length.
    #[error("a TLV of type {kind} has no value of {length} octets")]
    Length {
        /// The type.
        kind: u8,
        /// Octets of the value.
        length: usize,
    },
    /// The packet is full.
    #[error("a TLV of {need} octets does not fit the {have} that are left")]
    NoRoom {
        /// Octets of the TLV, its header included.
        need: usize,
        /// Octets left.
        have: usize,
    },
    /// A reflector of ours would not look at it.
    #[error("a packet holds at most {LIMIT} TLVs")]
    TooMany,
    /// The code is written and covers what came before it (RFC 8972 section 4.8).
    #[error("only Extra Padding may follow the HMAC TLV")]
    AfterHmac,
}

/// Where one TLV lies.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub(super) flags: Flags,
    pub(super) kind: u8,
    pub(super) offset: usize,
    pub(super) value: Range<usize>,
}

/// Steps from TLV to TLV without holding the octets, so that they can be changed between the steps.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    next: usize,
    left: usize,
    over: bool,
}

impl Walk {
    pub(super) const fn new() -> Self {
        Self { next: 0, left: LIMIT, over: false }
    }

    /// The next TLV, where there are octets left and none was malformed before.
    pub(super) fn step(&mut self, octets: &[u8]) -> Option<Result<Extent, Malformed>> {
        let offset = self.next;
        let [flags] = bytes::at(octets, offset).filter(|_| !self.over)?;
        let flags = Flags::from_bits(flags);
        let kind = bytes::at(octets, offset + 1).map(|[kind]| kind);
        let whole = kind.zip(bytes::at(octets, offset + 2)).and_then(|(kind, length)| {
            let start = offset + HEADER;
            let value = start..start + usize::from(u16::from_be_bytes(length));
            (value.end <= octets.len()).then_some(Extent { flags, kind, offset, value })
        });
        match whole {
            Some(extent) if self.left > 0 => {
                self.left -= 1;
                self.next = extent.value.end;
                Some(Ok(extent))
            }
            _ => {
                self.over = true;
                Some(Err(Malformed { offset, flags, kind }))
            }
        }
    }
}
