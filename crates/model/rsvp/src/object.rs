//! Objects of RFC 2205 (appendix A), in the C-Types of IPv4.

use core::net::Ipv4Addr;
use core::num::NonZeroU32;

use crate::bytes::{Reader, put_address, put_counted, put_u16, put_u32};
use crate::error_code::ErrorCode;
use crate::fault::Fault;

/// Octets of an object's header.
const HEADER: usize = 4;

/// Class numbers.
pub mod class {
    /// An object without meaning.
    pub const NULL: u8 = 0;
    /// The flow's destination.
    pub const SESSION: u8 = 1;
    /// The neighbour that sent the message.
    pub const RSVP_HOP: u8 = 3;
    /// Authentication.
    pub const INTEGRITY: u8 = 4;
    /// The refresh period.
    pub const TIME_VALUES: u8 = 5;
    /// An error, or a confirmation.
    pub const ERROR_SPEC: u8 = 6;
    /// Senders of a wildcard reservation.
    pub const SCOPE: u8 = 7;
    /// The reservation style.
    pub const STYLE: u8 = 8;
    /// The requested service.
    pub const FLOWSPEC: u8 = 9;
    /// The sender of reserved packets.
    pub const FILTER_SPEC: u8 = 10;
    /// The sender of announced packets.
    pub const SENDER_TEMPLATE: u8 = 11;
    /// The sender's traffic.
    pub const SENDER_TSPEC: u8 = 12;
    /// Properties of the path.
    pub const ADSPEC: u8 = 13;
    /// Data for policy control.
    pub const POLICY_DATA: u8 = 14;
    /// The receiver that wants a confirmation.
    pub const RESV_CONFIRM: u8 = 15;

    /// The name of a known class.
    pub(crate) const fn name(number: u8) -> Option<&'static str> {
        Some(match number {
            SESSION => "SESSION",
            RSVP_HOP => "RSVP_HOP",
            INTEGRITY => "INTEGRITY",
            TIME_VALUES => "TIME_VALUES",
            ERROR_SPEC => "ERROR_SPEC",
            SCOPE => "SCOPE",
            STYLE => "STYLE",
            FLOWSPEC => "FLOWSPEC",
            FILTER_SPEC => "FILTER_SPEC",
            SENDER_TEMPLATE => "SENDER_TEMPLATE",
            SENDER_TSPEC => "SENDER_TSPEC",
            ADSPEC => "ADSPEC",
            POLICY_DATA => "POLICY_DATA",
            RESV_CONFIRM => "RESV_CONFIRM",
            _ => return None,
        })
    }
}

/// Whether this crate reads C-Type `ctype` of a known class. Classes without an agreed content have any.
pub(crate) const fn is_known_type(number: u8, ctype: u8) -> bool {
    match number {
        class::INTEGRITY | class::SCOPE | class::POLICY_DATA => true,
        class::FLOWSPEC | class::SENDER_TSPEC | class::ADSPEC => ctype == 2,
        _ => ctype == 1,
    }
}

/// An object as octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawObject<'a> {
    /// Its class number.
    pub class: u8,
    /// Its C-Type.
    pub ctype: u8,
    /// Its content, without the header of 4 octets.
    pub body: &'a [u8],
}

/// The objects of a message, one after another. It ends after the first error.
#[derive(Clone, Debug)]
pub struct Objects<'a>(Reader<'a>);

impl<'a> Objects<'a> {
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        Self(Reader::new(octets))
    }
}

impl<'a> Iterator for Objects<'a> {
    type Item = Result<RawObject<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let have = self.0.rest().len();
        if have == 0 {
            return None;
        }
        let mut read = || {
            let (length, class, ctype) = (usize::from(self.0.u16()?), self.0.u8()?, self.0.u8()?);
            let body = length.checked_sub(HEADER).filter(|_| length.is_multiple_of(4));
            let body = body.and_then(|len| self.0.octets(len));
            Some(body.map(|body| RawObject { class, ctype, body }).ok_or(Fault::ObjectLength {
                class,
                length,
                have,
            }))
        };
        let object = read().unwrap_or(Err(Fault::ObjectLength { class: 0, length: 0, have }));
        if object.is_err() {
            self.0 = Reader::new(&[]);
        }
        Some(object)
    }
}

/// Appends an object.
pub(crate) fn put(out: &mut Vec<u8>, class: u8, ctype: u8, body: impl FnOnce(&mut Vec<u8>)) {
    put_counted(out, [class, ctype], true, |octets| octets, body);
}

/// An object that this crate keeps without reading it: POLICY_DATA, and objects of unknown classes from 192 on, which a
/// router forwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueObject {
    class: u8,
    ctype: u8,
    body: Vec<u8>,
}

impl OpaqueObject {
    pub(crate) fn new(raw: &RawObject<'_>) -> Self {
        Self { class: raw.class, ctype: raw.ctype, body: raw.body.to_vec() }
    }
    /// Its class number.
    pub const fn class(&self) -> u8 {
        self.class
    }
    /// Its C-Type.
    pub const fn ctype(&self) -> u8 {
        self.ctype
    }
    /// Its content.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        put(out, self.class, self.ctype, |out| out.extend(&self.body));
    }
}

/// The flow's destination: SESSION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    destination: Ipv4Addr,
    protocol: u8,
    e_police: bool,
    port: u16,
}

/// What identifies a session: its destination address, protocol and destination port.
pub type SessionKey = (Ipv4Addr, u8, u16);

impl Session {
    const E_POLICE: u8 = 1;

    /// The session of packets of `protocol` to `port` (0 for none) of `destination`, without flags. `None` if the address or
    /// the protocol is zero.
    pub const fn new(destination: Ipv4Addr, protocol: u8, port: u16) -> Option<Self> {
        if destination.is_unspecified() || protocol == 0 {
            return None;
        }
        Some(Self { destination, protocol, e_police: false, port })
    }
    /// The same session with or without the flag `E_Police`. With it, no node before has policed the traffic.
    #[must_use]
    pub const fn with_e_police(self, e_police: bool) -> Self {
        Self { e_police, ..self }
    }
    /// The destination address.
    pub const fn destination(&self) -> Ipv4Addr {
        self.destination
    }
    /// The IP protocol of the packets.
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }
    /// Whether the flag `E_Police` is set.
    pub const fn e_police(&self) -> bool {
        self.e_police
    }
    /// The destination port; 0 for none.
    pub const fn port(&self) -> u16 {
        self.port
    }
    /// What identifies the session; flags are no part of it.
    pub const fn key(&self) -> SessionKey {
        (self.destination, self.protocol, self.port)
    }

    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(body);
        let (destination, protocol) = (fields.address()?, fields.u8()?);
        let (flags, port) = (fields.u8()?, fields.u16()?);
        let session = Self::new(destination, protocol, port)?;
        fields.end(session.with_e_police(flags & Self::E_POLICE != 0))
    }
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        put(out, class::SESSION, 1, |out| {
            put_address(out, self.destination);
            out.extend([self.protocol, u8::from(self.e_police) * Self::E_POLICE]);
            put_u16(out, self.port);
        });
    }
}

/// The neighbour that sent a message: RSVP_HOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    address: Ipv4Addr,
    handle: u32,
}

impl Hop {
    /// The neighbour at `address`, with its logical interface handle (0 for none). `None` if no node can have the address.
    pub const fn new(address: Ipv4Addr, handle: u32) -> Option<Self> {
        if address.is_unspecified() || address.is_broadcast() || address.is_multicast() {
            return None;
        }
        Some(Self { address, handle })
    }
    /// The neighbour's address.
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }
    /// The logical interface handle.
    pub const fn handle(&self) -> u32 {
        self.handle
    }

    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(body);
        let hop = Self::new(fields.address()?, fields.u32()?)?;
        fields.end(hop)
    }
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        put(out, class::RSVP_HOP, 1, |out| {
            put_address(out, self.address);
            put_u32(out, self.handle);
        });
    }
}

/// The refresh period R in milliseconds: TIME_VALUES.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefreshPeriod(pub NonZeroU32);

impl RefreshPeriod {
    /// 30 s (RFC 2205 section 3.7).
    pub const DEFAULT: Self = match NonZeroU32::new(30_000) {
        Some(millis) => Self(millis),
        None => Self(NonZeroU32::MIN),
    };

    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(body);
        let millis = NonZeroU32::new(fields.u32()?)?;
        fields.end(Self(millis))
    }
    pub(crate) fn emit(self, out: &mut Vec<u8>) {
        put(out, class::TIME_VALUES, 1, |out| put_u32(out, self.0.get()));
    }
}

/// An error and the node that found it, or a confirmation: ERROR_SPEC. Its text is a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorSpec {
    /// The node that reports the error.
    pub node: Ipv4Addr,
    /// The earlier reservation is still in place where the error occurred.
    pub in_place: bool,
    /// The request that failed was larger than the receiver's own.
    pub not_guilty: bool,
    /// The error.
    pub code: ErrorCode,
}

impl ErrorSpec {
    const IN_PLACE: u8 = 1;
    const NOT_GUILTY: u8 = 2;

    /// An error without flags.
    pub const fn new(node: Ipv4Addr, code: ErrorCode) -> Self {
        Self { node, in_place: false, not_guilty: false, code }
    }

    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(body);
        let (node, flags) = (fields.address()?, fields.u8()?);
        let code = ErrorCode::new(fields.u8()?, fields.u16()?);
        let (in_place, not_guilty) = (flags & Self::IN_PLACE != 0, flags & Self::NOT_GUILTY != 0);
        fields.end(Self { node, in_place, not_guilty, code })
    }
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        put(out, class::ERROR_SPEC, 1, |out| {
            put_address(out, self.node);
            let in_place = u8::from(self.in_place) * Self::IN_PLACE;
            out.extend([in_place | (u8::from(self.not_guilty) * Self::NOT_GUILTY), self.code.code()]);
            put_u16(out, self.code.value());
        });
    }
}

impl core::error::Error for ErrorSpec {}

impl core::fmt::Display for ErrorSpec {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} reports: {}", self.node, self.code)?;
        if self.in_place { f.write_str("; the earlier reservation is still in place") } else { Ok(()) }
    }
}

/// A reservation style: STYLE. A reservation of this crate has [`Style::FIXED_FILTER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style(u32);

impl Style {
    /// A reservation for each sender (FF).
    pub const FIXED_FILTER: Self = Self(0b01010);

    /// Bits of the option vector that have a meaning.
    const KNOWN: u32 = 0b11111;

    /// The five bits of the option vector that have a meaning.
    pub const fn bits(self) -> u32 {
        self.0 & Self::KNOWN
    }
    /// Whether it is [`Style::FIXED_FILTER`]. Bits without a meaning are ignored (RFC 2205 appendix A.7).
    pub const fn is_fixed_filter(self) -> bool {
        self.bits() == Self::FIXED_FILTER.0
    }

    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(body);
        let word = fields.u32()?;
        fields.end(Self(word & Self::KNOWN))
    }
    pub(crate) fn emit(self, out: &mut Vec<u8>) {
        put(out, class::STYLE, 1, |out| put_u32(out, self.0));
    }
}

/// The sender of a flow: SENDER_TEMPLATE and FILTER_SPEC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Filter {
    address: Ipv4Addr,
    port: u16,
}

impl Filter {
    /// The sender at `port` (0 for none) of `address`; `None` if the address is zero.
    pub const fn new(address: Ipv4Addr, port: u16) -> Option<Self> {
        if address.is_unspecified() { None } else { Some(Self { address, port }) }
    }
    /// The source address.
    pub const fn address(&self) -> Ipv4Addr {
        self.address
    }
    /// The source port; 0 for none.
    pub const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(body);
        let (address, _, port) = (fields.address()?, fields.u16()?, fields.u16()?);
        fields.end(Self::new(address, port)?)
    }
    fn emit(&self, out: &mut Vec<u8>, class: u8) {
        put(out, class, 1, |out| {
            put_address(out, self.address);
            put_u16(out, 0);
            put_u16(out, self.port);
        });
    }
    pub(crate) fn emit_filter(&self, out: &mut Vec<u8>) {
        self.emit(out, class::FILTER_SPEC);
    }
    pub(crate) fn emit_template(&self, out: &mut Vec<u8>) {
        self.emit(out, class::SENDER_TEMPLATE);
    }
}

/// The receiver that wants a confirmation: RESV_CONFIRM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirm(pub Ipv4Addr);

impl Confirm {
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(body);
        let address = fields.address()?;
        fields.end(Self(address))
    }
    pub(crate) fn emit(self, out: &mut Vec<u8>) {
        put(out, class::RESV_CONFIRM, 1, |out| put_address(out, self.0));
    }
}
