//! What both versions of the Internet Protocol share.

pub use romer_units::Ecn;

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
