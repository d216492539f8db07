//! The JSON documents of cross traffic (`romer/noise-source/1`, `romer/noise-sink/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the schema of what was sent.
pub const NOISE_SOURCE: &str = "romer/noise-source/1";
/// The name of the schema of what arrived.
pub const NOISE_SINK: &str = "romer/noise-sink/1";

/// Cross traffic that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseSource {
    /// `romer/noise-source/1`.
    pub schema: String,
    /// Version of romer that sent it.
    pub software: String,
    /// Target as given.
    pub target: String,
    /// Address and port of the target.
    pub address: String,
    /// Start, UTC (RFC 3339).
    pub started: String,
    /// Mix of packet sizes, as for `--mix`.
    pub mix: String,
    /// Requested rate, as for `--rate`.
    pub rate: String,
    /// Layer at which octets count: `l1`, `l2`, `l3` or `payload`.
    pub layer: String,
    /// DSCP of the packets.
    pub dscp: u8,
    /// Seed of random sizes, six unsigned 32-bit integers.
    pub seed: [u32; 6],
    /// Time from the start to the end, nanoseconds.
    pub duration_ns: i64,
    /// Packets that were sent.
    pub packets: u64,
    /// Bytes of these packets at the layer.
    pub octets: u64,
    /// Bytes of their UDP payload.
    pub payload_octets: u64,
    /// Packets that this host refused to send, for example because a queue was full.
    pub refused: u64,
    /// Packets that were not sent because their time had passed: this host cannot send at the rate, or romer was stopped.
    pub skipped: u64,
    /// Mean rate at the layer over the duration, bit/s; `null` if the duration is 0.
    pub bits_per_second: Option<f64>,
    /// Mean packet rate over the duration; `null` if the duration is 0.
    pub packets_per_second: Option<f64>,
    /// Whether it was ended before its duration had passed.
    pub partial: bool,
}

/// Cross traffic that arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseSink {
    /// `romer/noise-sink/1`.
    pub schema: String,
    /// Version of romer that counted it.
    pub software: String,
    /// UDP port.
    pub port: u16,
    /// Start, UTC (RFC 3339).
    pub started: String,
    /// Layer at which octets count: `l1`, `l2`, `l3` or `payload`.
    pub layer: String,
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes of these packets at the layer.
    pub octets: u64,
    /// Bytes of their UDP payload.
    pub payload_octets: u64,
    /// Packets that the kernel dropped because romer did not receive them fast enough.
    pub dropped: u64,
    /// Time from the first arrival to the last, nanoseconds; `null` without packets.
    pub duration_ns: Option<i64>,
    /// Mean rate at the layer between the first arrival and the last, without the first packet, bit/s; `null` with
    /// fewer than two packets.
    pub bits_per_second: Option<f64>,
}
