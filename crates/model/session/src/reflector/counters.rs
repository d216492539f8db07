//! What became of everything that came.

use romer_wire::stamp::tlv::{Integrity, TlvOutcome};

/// What a datagram turned out to be, when it is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Under 14 octets, or of an authenticated packet under 112: no test packet is that short. Where replies are as long
    /// as their requests, under 36 octets from an address that is not proved: the reply could not be recognised as one.
    TooShort,
    /// From port 0, from the port of a service that answers anything, or from an address that is not of a single host.
    BadSource,
    /// From our own address and one of our own ports.
    Loop,
    /// It is a reply.
    NotRequest,
    /// From outside the allowed ranges.
    NotAllowed,
    /// Its prefix has used up its rate.
    RateLimited,
    /// It has come further than is allowed: its TTL is below the least, or not known.
    BelowMinTtl,
    /// There is a key, and it was not made with it.
    NotAuthentic,
    /// It was made with the key, and has come before, or is older than what can be remembered.
    Replayed,
    /// It was made with the key, and there is no place to remember it, so that a replay could not be told.
    TableFull,
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
    /// [`Refusal::BelowMinTtl`].
    pub below_min_ttl: u64,
    /// [`Refusal::NotAuthentic`].
    pub not_authentic: u64,
    /// [`Refusal::Replayed`].
    pub replayed: u64,
    /// [`Refusal::TableFull`].
    pub table_full: u64,
    /// Requests with octets that must be zero and are not; answered all the same (RFC 8762 section 4.2.1).
    pub nonzero_mbz: u64,
    /// Requests whose error estimate has a multiplier of 0 (RFC 4656 section 4.1.2 forbids it); answered.
    pub bad_error_estimate: u64,
    /// TLVs answered.
    pub tlvs: u64,
    /// TLVs returned with U: of an unknown type, or that cannot be answered now.
    pub tlvs_unrecognized: u64,
    /// Requests whose TLVs end in one that is malformed; it was returned with M.
    pub tlvs_malformed: u64,
    /// Requests whose TLVs were returned with I: the code over them is wrong, misplaced or missing, or there is no
    /// key to verify it with.
    pub tlvs_not_authentic: u64,
    /// Requests of sessions that found no place in the table and were answered without state.
    pub without_place: u64,
    /// Sessions that lost their place in the table to another.
    pub evicted: u64,
}

impl Counters {
    /// All that was not answered, and was no association.
    pub fn refused(&self) -> u64 {
        self.too_short
            + self.bad_source
            + self.looped
            + self.not_request
            + self.not_allowed
            + self.rate_limited
            + self.below_min_ttl
            + self.not_authentic
            + self.replayed
            + self.table_full
    }

    pub(super) fn refuse(&mut self, refusal: Refusal) {
        let counter = match refusal {
            Refusal::TooShort => &mut self.too_short,
            Refusal::BadSource => &mut self.bad_source,
            Refusal::Loop => &mut self.looped,
            Refusal::NotRequest => &mut self.not_request,
            Refusal::NotAllowed => &mut self.not_allowed,
            Refusal::RateLimited => &mut self.rate_limited,
            Refusal::BelowMinTtl => &mut self.below_min_ttl,
            Refusal::NotAuthentic => &mut self.not_authentic,
            Refusal::Replayed => &mut self.replayed,
            Refusal::TableFull => &mut self.table_full,
        };
        *counter += 1;
    }

    pub(super) fn count(&mut self, tlvs: &TlvOutcome) {
        let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
        self.tlvs += number(tlvs.understood);
        self.tlvs_unrecognized += number(tlvs.unrecognized);
        self.tlvs_malformed += u64::from(tlvs.malformed);
        self.tlvs_not_authentic += u64::from(matches!(tlvs.integrity, Integrity::Failed(_)));
    }
}
