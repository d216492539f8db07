//! What both versions of the Internet Protocol share.

/// Protocol numbers that this crate knows by name (IANA "Protocol Numbers").
pub mod protocol {
    /// IPv6 hop-by-hop options (RFC 8200 section 4.3).
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP (RFC 792).
    pub const ICMP: u8 = 1;
    /// TCP (RFC 9293).
    pub const TCP: u8 = 6;
    /// UDP (RFC 768).
    pub const UDP: u8 = 17;
    /// IPv6 routing header (RFC 8200 section 4.4).
    pub const ROUTING: u8 = 43;
    /// IPv6 fragment header (RFC 8200 section 4.5).
    pub const FRAGMENT: u8 = 44;
    /// Encapsulating security payload (RFC 4303): what follows is opaque.
    pub const ESP: u8 = 50;
    /// Authentication header (RFC 4302).
    pub const AUTHENTICATION: u8 = 51;
    /// ICMPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// Nothing follows (RFC 8200 section 4.7).
    pub const NO_NEXT_HEADER: u8 = 59;
    /// IPv6 destination options (RFC 8200 section 4.6).
    pub const DESTINATION_OPTIONS: u8 = 60;
    /// Mobility header (RFC 6275 section 6.1).
    pub const MOBILITY: u8 = 135;
    /// UDP-Lite (RFC 3828).
    pub const UDP_LITE: u8 = 136;
    /// Host identity protocol (RFC 7401).
    pub const HIP: u8 = 139;
    /// Shim6 (RFC 5533).
    pub const SHIM6: u8 = 140;
}

/// Explicit congestion notification: the lower two bits of the TOS or traffic-class octet (RFC 3168 section
/// 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The transport does not take part (00).
    #[default]
    NotEct,
    /// Capable, the codepoint of experiments and L4S (01).
    Ect1,
    /// Capable (10).
    Ect0,
    /// Congestion was experienced (11).
    Ce,
}

impl Ecn {
    /// The notification in the lower two bits of a TOS or traffic-class octet.
    pub const fn of_tos(tos: u8) -> Self {
        match tos & 0b11 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

/// One of several parts that a packet was cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// What the parts of one packet have in common (16 bits in IPv4, 32 in IPv6).
    pub identification: u32,
    /// Where this part's octets belong, in octets; a multiple of 8.
    pub offset: u16,
    /// Whether more parts follow.
    pub more: bool,
}
