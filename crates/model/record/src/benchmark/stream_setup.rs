//! The settings of a stream of a benchmark.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamSetup {
    /// Name.
    pub name: String,
    /// Protocol of the test frames.
    pub protocol: StreamProtocol,
    /// Share of the load.
    pub share_ratio: f64,
    /// Code point, such as `cs0`.
    pub dscp: String,
    /// VLAN of the tag; `null` without a tag.
    pub vlan: Option<u16>,
    /// Priority of the tag; `null` without a tag.
    pub priority: Option<u8>,
    /// Pace of the frames, as in `--stream pace=`.
    pub pace: String,
    /// Whether the device is expected to drop the stream.
    pub expect_drop: bool,
}

/// Protocol of test frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamProtocol {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// IP with a protocol number for experiments.
    Ip,
}
