//! Why a responder refuses a session.

use serde::{Deserialize, Serialize};

/// The sessions that share a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitScope {
    /// Those of one network (a /24 or a /56).
    Network,
    /// All.
    All,
}

/// Why a responder refuses a session, as its control messages have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Refusal {
    /// There are as many sessions as it permits.
    Sessions {
        /// Sessions that share the limit; one network has a quarter of all.
        scope: LimitScope,
    },
    /// There are as many sessions in which it sends as it permits.
    SendingSessions {
        /// Sessions that share the limit; one network has a quarter of all.
        scope: LimitScope,
    },
    /// The session would exceed a limit of the packet rate.
    Rate {
        /// Requested rate, packets per second.
        packets_per_second: u64,
        /// The limit, packets per second.
        limit: u64,
        /// Sessions that share the limit.
        scope: LimitScope,
        /// Rate of the other sessions that share it, packets per second.
        others: u64,
    },
    /// The session would exceed a limit of the bit rate of what it sends to hosts without a key.
    BitRate {
        /// Requested rate, packets per second.
        packets_per_second: u64,
        /// Length of an IP packet, bytes.
        packet_bytes: u64,
        /// Requested bit rate, bit/s.
        bps: u64,
        /// The limit, bit/s.
        limit_bps: u64,
        /// Sessions that share the limit.
        scope: LimitScope,
        /// Bit rate of the other sessions that share it, bit/s.
        others_bps: u64,
    },
    /// A token bucket would send more packets within a second than the limit of the packet rate.
    Burst {
        /// The limit, packets per second.
        limit: u64,
    },
    /// The session would take too long.
    Duration {
        /// The limit, nanoseconds.
        limit_ns: i64,
    },
    /// A recorded stream has too many packets.
    TracePackets {
        /// Number of its packets.
        packets: u64,
        /// The limit.
        limit: u64,
    },
    /// Packets are too long.
    Payload {
        /// Requested UDP payload, bytes.
        bytes: u32,
        /// The limit, bytes.
        limit: u32,
    },
    /// Packets are too short for a one-way probe.
    PayloadTooShort {
        /// UDP payload of the shortest probe, bytes.
        min_bytes: u32,
    },
    /// The text of a traffic model or of its jitter is too long.
    ModelText {
        /// Its length, bytes.
        bytes: u64,
        /// The limit, bytes.
        limit: u64,
    },
    /// A code point above 63.
    Dscp,
    /// A TTL of 0.
    Ttl,
    /// The interval, the number of packets or their payload is outside its range.
    OutOfRange,
    /// Sessions of one direction are not supported.
    RoundTripsOnly,
    /// A stream is stated in a session in which the responder does not send, or missing in one in which it does.
    StreamMismatch,
    /// The stream is invalid.
    Stream {
        /// The error.
        error: String,
    },
    /// There is no such session: it has ended, or the responder was restarted.
    NoSession,
    /// The session cannot continue, because its state differs.
    OtherState,
    /// The session cannot continue from another network, because the other sessions leave too little of a limit.
    Moved {
        /// Sessions that share the limit.
        scope: LimitScope,
    },
    /// A reason of another version of the program.
    #[default]
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A refusal is written with its kind and its fields, and one of another version is read.
    #[test]
    fn written_and_read() {
        let rate = Refusal::Rate { packets_per_second: 9, limit: 8, scope: LimitScope::All, others: 1 };
        let written = serde_json::to_value(&rate).unwrap();
        let expected = serde_json::json!({
            "kind": "rate", "packets_per_second": 9, "limit": 8, "scope": "all", "others": 1
        });
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_value::<Refusal>(written).unwrap(), rate);
        let later = serde_json::json!({ "kind": "phase-of-the-moon", "limit": 3 });
        assert_eq!(serde_json::from_value::<Refusal>(later).unwrap(), Refusal::Unknown);
    }
}
