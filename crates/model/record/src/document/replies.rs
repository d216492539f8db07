//! What came to a stream's port besides good replies, and what hosts dropped as damaged.

use core::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Unusual datagrams at the initiator's port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replies {
    /// Rejected datagrams, by cause.
    #[serde(default)]
    pub rejected: Rejected,
    /// Replies with another length than their requests; `null` if there are none.
    #[serde(default)]
    pub other_length: Option<OtherLength>,
}

impl Replies {
    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign<&Self> for Replies {
    fn add_assign(&mut self, other: &Self) {
        self.rejected += &other.rejected;
        self.other_length = match (self.other_length, other.other_length) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
    }
}

/// Datagrams at the initiator's port that are no replies of the stream (of one-way probes from the responder:
/// no probes), each counted under the first cause that applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rejected {
    /// Source address other than the target's.
    pub address: u64,
    /// Source port other than the target's.
    pub port: u64,
    /// Too short for a reply.
    pub size: u64,
    /// Authentication code not made with the stream's key.
    pub code: u64,
    /// Other session identifier.
    pub session: u64,
    /// Sequence number that was not sent; of one-way probes, invalid tag.
    pub sequence: u64,
    /// Session-Sender Timestamp other than that of the probe.
    pub echo: u64,
    /// Source of the first datagram from another address or port; `null` if there was none.
    pub source: Option<String>,
}

impl Rejected {
    /// All of them.
    pub fn total(&self) -> u64 {
        let Self { address, port, size, code, session, sequence, echo, source: _ } = self;
        romer_units::saturating_sum([address, port, size, code, session, sequence, echo])
    }
}

impl AddAssign<&Self> for Rejected {
    fn add_assign(&mut self, other: &Self) {
        self.address = self.address.saturating_add(other.address);
        self.port = self.port.saturating_add(other.port);
        self.size = self.size.saturating_add(other.size);
        self.code = self.code.saturating_add(other.code);
        self.session = self.session.saturating_add(other.session);
        self.sequence = self.sequence.saturating_add(other.sequence);
        self.echo = self.echo.saturating_add(other.echo);
        if self.source.is_none() {
            self.source.clone_from(&other.source);
        }
    }
}

/// Replies with another length than their requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherLength {
    /// Number of replies.
    pub replies: u64,
    /// UDP payload of the shortest of these replies, bytes.
    pub payload_octets_min: u32,
    /// UDP payload of the longest of these replies, bytes.
    pub payload_octets_max: u32,
}

impl OtherLength {
    /// One reply with so many octets of UDP payload.
    pub const fn one(octets: u32) -> Self {
        Self { replies: 1, payload_octets_min: octets, payload_octets_max: octets }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            replies: self.replies.saturating_add(other.replies),
            payload_octets_min: self.payload_octets_min.min(other.payload_octets_min),
            payload_octets_max: self.payload_octets_max.max(other.payload_octets_max),
        }
    }
}

/// Datagrams that the kernels of the two hosts dropped over the run because their UDP checksum was wrong (`InCsumErrors`), of
/// all programs in the network namespace. Damaged probes are among them, and count as lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChecksumErrors {
    /// At the measuring host; `null` where it does not report it.
    pub sender: Option<u64>,
    /// At the responder's host; `null` where there is no romer, or it does not report it.
    pub responder: Option<u64>,
}

/// Missing time stamps of the selected source. These packets count as sent and received, and have no delay. A
/// missing time stamp of a network card is replaced by that of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissingStamps {
    /// Missing departures at the initiator (t1).
    pub sender_departure: u64,
    /// Missing arrivals at the initiator (t4).
    pub sender_arrival: u64,
    /// Missing arrivals at the responder (t2).
    pub responder_arrival: u64,
    /// Missing departures at the responder (t3).
    pub responder_departure: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts whose sum exceeds 64 bits, as a damaged manifest has them, give the largest count.
    #[test]
    fn sums_of_replies_saturate() {
        let other_length = OtherLength { replies: u64::MAX, ..OtherLength::one(44) };
        let rejected = Rejected { address: u64::MAX, echo: 1, ..Rejected::default() };
        let mut sum = Replies { rejected, other_length: Some(other_length) };
        assert_eq!(sum.rejected.total(), u64::MAX);
        let other = sum.clone();
        sum += &other;
        assert_eq!((sum.rejected.address, sum.rejected.echo), (u64::MAX, 2));
        assert_eq!(sum.other_length.map(|other| other.replies), Some(u64::MAX));
    }
}
