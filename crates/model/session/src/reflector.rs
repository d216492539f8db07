//! The stateless Session-Reflector (RFC 8762 section 4.3): which datagrams it answers, and with what.
//!
//! It keeps no state for a sender but the fixed-size table of [`crate::limit`], never answers with more octets
//! than it received, and never answers a reply (so that two reflectors cannot keep a packet between them alive).

use core::net::{IpAddr, SocketAddr};
use core::num::NonZeroU16;

use romer_units::{Monotonic, Responder, Timestamp};
use romer_wire::stamp::{
    ErrorEstimate, ReflectorPacket, SenderPacket, WireTime, looks_like_reply, sender_zeros_are_zero,
};

use crate::association::{self, Token};
use crate::limit::Limiter;

/// Ports whose services answer any datagram: a reply to one of these could come back for ever (RFC 4732
/// section 2.1.4 tells of echo and chargen). 862 is the reflectors' own.
const ANSWERING_PORTS: &[u16] = &[7, 13, 17, 19, 53, 123, 862];

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

/// What a datagram turned out to be, when it is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Under 14 octets: no test packet is that short.
    TooShort,
    /// From port 0, from a port whose service answers anything, or from an address that is no single host.
    BadSource,
    /// From our own address and port.
    Loop,
    /// It is a reply.
    NotRequest,
    /// From outside the allowed ranges.
    NotAllowed,
    /// Its prefix has used up its rate.
    RateLimited,
}

/// Counts of everything that came, by what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams received.
    pub received: u64,
    /// Datagrams answered.
    pub reflected: u64,
    /// Octets of payload received.
    pub octets_received: u64,
    /// Octets of payload sent.
    pub octets_reflected: u64,
    /// Association datagrams.
    pub associations: u64,
    /// [`Refusal::TooShort`].
    pub too_short: u64,
    /// [`Refusal::BadSource`].
    pub bad_source: u64,
    /// [`Refusal::Loop`].
    pub looped: u64,
    /// [`Refusal::NotRequest`].
    pub not_request: u64,
    /// [`Refusal::NotAllowed`].
    pub not_allowed: u64,
    /// [`Refusal::RateLimited`].
    pub rate_limited: u64,
    /// Requests with octets that must be zero and are not; answered all the same (RFC 8762 section 4.2.1).
    pub nonzero_mbz: u64,
    /// Requests whose error estimate has a multiplier of 0 (RFC 4656 section 4.1.2 forbids it); answered.
    pub bad_error_estimate: u64,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// What UDP carried.
    pub payload: &'a [u8],
    /// Where it came from.
    pub source: SocketAddr,
    /// Where it was sent to.
    pub destination: SocketAddr,
    /// TTL or hop limit on arrival.
    pub ttl: Option<u8>,
    /// The best arrival stamp.
    pub arrived: Timestamp<Responder>,
    /// The control channel has proved that the source is a sender's.
    pub proved: bool,
}

/// What is to be done with a datagram.
#[derive(Clone, Copy, Debug)]
pub enum Verdict<'a> {
    /// Answer it: [`Answer::write`] makes the reply.
    Answer(Answer<'a>),
    /// A sender proves its address; no datagram answers it.
    Association(Token),
    /// Nothing.
    Refused(Refusal),
}

/// A request that is to be answered.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    request: &'a [u8],
    packet: SenderPacket,
    arrived: Timestamp<Responder>,
    ttl: u8,
}

impl Answer<'_> {
    /// The sequence number of the request.
    pub fn sequence(&self) -> u32 {
        self.packet.sequence
    }
    /// The session identifier of the request; 0 where there is none.
    pub fn ssid(&self) -> u16 {
        self.packet.ssid.map_or(0, NonZeroU16::get)
    }
    /// Writes the reply, which is as long as the request, into `reply` and gives its length. `departs` is the
    /// moment just before it is sent; `error` says how well our clock is known, and in which format it is written.
    /// `None` where the buffer is shorter than the request.
    pub fn write(
        &self,
        departs: Timestamp<Responder>,
        error: ErrorEstimate,
        reply: &mut [u8],
    ) -> Option<usize> {
        let on_wire = |time: Timestamp<Responder>| WireTime::from_unix_nanos(time.as_nanos(), error.format());
        ReflectorPacket::answering(&self.packet, on_wire(self.arrived), on_wire(departs), error, self.ttl)
            .emit_truncated(self.request, reply)
            .ok()
    }
}

/// The admission rules and their counters.
#[derive(Debug)]
pub struct Reflector {
    limiter: Limiter,
    allowed: Vec<Prefix>,
    counters: Counters,
}

impl Reflector {
    /// A reflector that answers the `allowed` ranges (all, if there are none) within the limiter's rate.
    pub fn new(limiter: Limiter, allowed: Vec<Prefix>) -> Self {
        Self { limiter, allowed, counters: Counters::default() }
    }

    /// What has been counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The reply of `octets` octets was handed to the network.
    pub fn on_reflected(&mut self, octets: usize) {
        self.counters.reflected += 1;
        self.counters.octets_reflected += u64::try_from(octets).unwrap_or(u64::MAX);
    }

    /// Judges a datagram.
    pub fn on_datagram<'a>(&mut self, incoming: &Incoming<'a>, now: Timestamp<Monotonic>) -> Verdict<'a> {
        let counters = &mut self.counters;
        counters.received += 1;
        counters.octets_received += u64::try_from(incoming.payload.len()).unwrap_or(u64::MAX);
        if let Some(refusal) = bad_source(incoming) {
            match refusal {
                Refusal::Loop => counters.looped += 1,
                _ => counters.bad_source += 1,
            }
            return Verdict::Refused(refusal);
        }
        if !self.allowed.is_empty()
            && !self.allowed.iter().any(|prefix| prefix.contains(incoming.source.ip()))
        {
            counters.not_allowed += 1;
            return Verdict::Refused(Refusal::NotAllowed);
        }
        if !self.limiter.admit(incoming.source.ip(), now) {
            counters.rate_limited += 1;
            return Verdict::Refused(Refusal::RateLimited);
        }
        if let Some(token) = association::token(incoming.payload) {
            counters.associations += 1;
            return Verdict::Association(token);
        }
        let Ok(packet) = SenderPacket::parse(incoming.payload) else {
            counters.too_short += 1;
            return Verdict::Refused(Refusal::TooShort);
        };
        if looks_like_reply(incoming.payload) {
            counters.not_request += 1;
            return Verdict::Refused(Refusal::NotRequest);
        }
        counters.nonzero_mbz += u64::from(!sender_zeros_are_zero(incoming.payload));
        counters.bad_error_estimate += u64::from(!packet.error.is_valid());
        Verdict::Answer(Answer {
            request: incoming.payload,
            packet,
            arrived: incoming.arrived,
            ttl: incoming.ttl.unwrap_or(255),
        })
    }
}

fn bad_source(incoming: &Incoming<'_>) -> Option<Refusal> {
    let (source, destination) = (incoming.source, incoming.destination);
    if source == destination {
        return Some(Refusal::Loop);
    }
    let address = source.ip().to_canonical();
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    let here = destination.ip().to_canonical();
    let martian = address.is_loopback() && !here.is_loopback();
    if source.port() == 0
        || (!incoming.proved && ANSWERING_PORTS.contains(&source.port()))
        || address.is_multicast()
        || address.is_unspecified()
        || broadcast
        || martian
    {
        return Some(Refusal::BadSource);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use romer_units::Duration;
    use romer_wire::stamp::TimestampFormat;

    const HERE: &str = "203.0.113.2:862";

    fn reflector(allowed: &[&str]) -> Reflector {
        let limiter = Limiter::new(1_000_000, 16, (1, 2), Timestamp::from_nanos(0));
        Reflector::new(limiter, allowed.iter().map(|prefix| prefix.parse().unwrap()).collect())
    }
    fn incoming<'a>(payload: &'a [u8], source: &str) -> Incoming<'a> {
        Incoming {
            payload,
            source: source.parse().unwrap(),
            destination: HERE.parse().unwrap(),
            ttl: Some(61),
            arrived: Timestamp::from_nanos(1_700_000_000_000_000_000),
            proved: false,
        }
    }
    fn judge(reflector: &mut Reflector, payload: &[u8], source: &str) -> Option<Refusal> {
        match reflector.on_datagram(&incoming(payload, source), Timestamp::from_nanos(0)) {
            Verdict::Refused(refusal) => Some(refusal),
            Verdict::Answer(_) | Verdict::Association(_) => None,
        }
    }
    fn error() -> ErrorEstimate {
        ErrorEstimate::at_least(Duration::from_micros(5), false, TimestampFormat::Ntp)
    }
    fn request() -> [u8; 44] {
        let mut bytes = [0; 44];
        bytes[3] = 7;
        bytes[4..12].copy_from_slice(&[0xe9, 0, 0, 0, 0, 0, 0, 1]);
        bytes[12..14].copy_from_slice(&error().bits().to_be_bytes());
        bytes
    }

    #[test]
    fn sources_that_are_no_single_sender_are_refused() {
        let mut reflector = reflector(&[]);
        for (source, refusal) in [
            ("192.0.2.1:0", Refusal::BadSource),
            ("192.0.2.1:862", Refusal::BadSource),
            ("192.0.2.1:53", Refusal::BadSource),
            ("192.0.2.1:19", Refusal::BadSource),
            ("192.0.2.1:123", Refusal::BadSource),
            ("224.0.0.1:5000", Refusal::BadSource),
            ("255.255.255.255:5000", Refusal::BadSource),
            ("0.0.0.0:5000", Refusal::BadSource),
            ("127.0.0.1:5000", Refusal::BadSource),
            ("[ff02::1]:5000", Refusal::BadSource),
            (HERE, Refusal::Loop),
        ] {
            assert_eq!(judge(&mut reflector, &request(), source), Some(refusal), "{source}");
        }
        assert_eq!(judge(&mut reflector, &request(), "192.0.2.1:5000"), None);
        let counters = reflector.counters();
        assert_eq!((counters.bad_source, counters.looped, counters.received), (10, 1, 12));
    }

    #[test]
    fn a_port_of_ill_repute_is_served_once_the_control_channel_has_proved_it() {
        let mut reflector = reflector(&[]);
        let bytes = request();
        let proved = Incoming { proved: true, ..incoming(&bytes, "192.0.2.1:862") };
        assert!(matches!(reflector.on_datagram(&proved, Timestamp::from_nanos(0)), Verdict::Answer(_)));
    }

    #[test]
    fn under_fourteen_octets_there_is_no_answer_and_from_there_on_one_of_equal_length() {
        let mut reflector = reflector(&[]);
        for length in 0..200 {
            let mut bytes = vec![0; length];
            bytes.iter_mut().zip(request()).for_each(|(octet, value)| *octet = value);
            let incoming = incoming(&bytes, "192.0.2.1:5000");
            match reflector.on_datagram(&incoming, Timestamp::from_nanos(0)) {
                Verdict::Refused(refusal) => assert!(length < 14 && refusal == Refusal::TooShort, "{length}"),
                Verdict::Answer(answer) => {
                    let mut reply = [0; 300];
                    assert_eq!(answer.write(Timestamp::from_nanos(1), error(), &mut reply), Some(length));
                    assert_eq!(answer.sequence(), 7);
                }
                Verdict::Association(_) => panic!("nobody proved anything"),
            }
        }
    }

    #[test]
    fn a_reply_is_never_answered() {
        let (mut first, mut second) = (reflector(&[]), reflector(&[]));
        let bytes = request();
        let asked = incoming(&bytes, "192.0.2.1:5000");
        let Verdict::Answer(answer) = first.on_datagram(&asked, Timestamp::from_nanos(0)) else {
            panic!("refused")
        };
        let mut reply = [0; 44];
        answer.write(asked.arrived + Duration::from_micros(10), error(), &mut reply).unwrap();
        assert_eq!(judge(&mut second, &reply, "192.0.2.1:8620"), Some(Refusal::NotRequest));
        assert_eq!(second.counters().not_request, 1);
    }

    #[test]
    fn only_allowed_ranges_are_answered() {
        let mut reflector = reflector(&["192.0.2.0/24", "2001:db8::/32", "198.51.100.7"]);
        for (source, allowed) in [
            ("192.0.2.255:5000", true),
            ("192.0.3.0:5000", false),
            ("198.51.100.7:5000", true),
            ("198.51.100.8:5000", false),
            ("[2001:db8:ffff::1]:5000", true),
            ("[2001:db9::1]:5000", false),
            ("[::ffff:192.0.2.1]:5000", true),
        ] {
            let refusal = judge(&mut reflector, &request(), source);
            assert_eq!(refusal, (!allowed).then_some(Refusal::NotAllowed), "{source}");
        }
        for text in ["192.0.2.0/33", "2001:db8::/129", "example", "1.2.3.4/-1", "/24", ""] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
        assert!("0.0.0.0/0".parse::<Prefix>().unwrap().contains("9.9.9.9".parse().unwrap()));
    }

    #[test]
    fn faults_that_must_be_ignored_are_ignored_and_counted() {
        let mut reflector = reflector(&[]);
        let mut bytes = request();
        bytes[40] = 1;
        bytes[13] = 0;
        assert_eq!(judge(&mut reflector, &bytes, "192.0.2.1:5000"), None);
        let counters = reflector.counters();
        assert_eq!((counters.nonzero_mbz, counters.bad_error_estimate), (1, 1));
    }

    proptest! {
        #[test]
        fn no_datagram_makes_the_reflector_send_more_than_it_received(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..1500), 1..20),
        ) {
            let mut reflector = reflector(&[]);
            for payload in &payloads {
                let verdict = reflector.on_datagram(&incoming(payload, "192.0.2.1:5000"), Timestamp::from_nanos(0));
                if let Verdict::Answer(answer) = verdict {
                    let mut reply = vec![0; 2_000];
                    let length = answer.write(Timestamp::from_nanos(1), error(), &mut reply);
                    prop_assert_eq!(length, Some(payload.len()));
                    reflector.on_reflected(payload.len());
                }
            }
            let counters = reflector.counters();
            prop_assert!(counters.octets_reflected <= counters.octets_received);
            let refused = counters.too_short + counters.not_request + counters.rate_limited;
            prop_assert_eq!(counters.received, counters.reflected + counters.associations + refused);
        }
    }
}
