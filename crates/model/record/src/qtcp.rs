//! Results of a live Qtcp test, of its sender (`romer/qtcp-sender/1`) and of its receiver (`romer/qtcp-receiver/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the sender's schema.
pub const QTCP_SENDER: &str = "romer/qtcp-sender/1";
/// The name of the receiver's schema.
pub const QTCP_RECEIVER: &str = "romer/qtcp-receiver/1";

/// Results of the sender of a Qtcp test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpSender {
    /// `romer/qtcp-sender/1`.
    pub schema: String,
    /// Name and version of the program.
    pub software: String,
    /// Address and port of the receiver.
    pub address: String,
    /// Session, 16 hexadecimal digits. The receiver's document has the same.
    pub session: String,
    /// Start time, UTC (RFC 3339).
    pub started: String,
    /// End time, UTC (RFC 3339).
    pub ended: String,
    /// Whether the test ended before all packets were sent.
    pub partial: bool,
    /// Reason of the end.
    pub end: QtcpSenderEnd,
    /// Requested traffic.
    pub requested: QtcpTraffic,
    /// Both phases together.
    pub all: QtcpSent,
    /// The measured phase, without calibration packets.
    pub measured: QtcpSent,
    /// Whether a control connection existed during the whole test.
    pub control: bool,
    /// Whether the kernel stamped the departures.
    pub kernel_stamps: bool,
    /// Maximum time between the planned and the actual departure of a packet, nanoseconds.
    pub max_departure_error_ns: i64,
}

/// Requested traffic of a Qtcp test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpTraffic {
    /// UDP payload of a packet, bytes.
    pub payload_octets: u32,
    /// Token rate, bytes of UDP payload per second.
    pub token_rate_octets_per_s: u64,
    /// Token bucket depth, bytes of UDP payload.
    pub bucket_depth_octets: u64,
    /// Calibration packets.
    pub calibration_packets: u64,
    /// Packets of the measured phase; `null` if its duration is requested.
    pub packets: Option<u64>,
    /// Duration of the measured phase, nanoseconds; `null` if its number of packets is requested.
    pub duration_ns: Option<i64>,
}

/// What was sent in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpSent {
    /// Packets, without termination packets.
    pub packets: u64,
    /// From the first departure to the last, nanoseconds; `null` with fewer than two packets.
    pub duration_ns: Option<i64>,
    /// Achieved rate, bytes of UDP payload per second; `null` with fewer than two packets.
    pub rate_octets_per_s: Option<f64>,
    /// Achieved rate, packets per second; `null` with fewer than two packets.
    pub rate_packets_per_s: Option<f64>,
}

/// Reason for the end of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QtcpSenderEnd {
    /// All packets were sent.
    AllSent,
    /// The receiver ended the test.
    ReceiverEnded,
    /// The user interrupted the sender.
    Interrupted,
}

/// Results of the receiver of a Qtcp test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpReceiver {
    /// `romer/qtcp-receiver/1`.
    pub schema: String,
    /// Name and version of the program.
    pub software: String,
    /// Address and port of the sender; `null` if nothing arrived.
    pub address: Option<String>,
    /// Session, 16 hexadecimal digits; `null` if nothing arrived.
    pub session: Option<String>,
    /// Start time, UTC (RFC 3339).
    pub started: String,
    /// End time, UTC (RFC 3339).
    pub ended: String,
    /// Whether the user, a lack of memory or the sender ended the test early.
    pub partial: bool,
    /// Reason of the end.
    pub end: QtcpReceiverEnd,
    /// Traffic that the sender announced; `null` without a control connection.
    pub announced: Option<QtcpTraffic>,
    /// Number of calibration packets at the start, as the receiver's `-c` states it. The skew is fitted to these only.
    pub calibration_packets: u64,
    /// Source of the departure time stamps: `kernel`, `packet` (as the sender wrote it) or `user`.
    pub departure_stamps: QtcpStamps,
    /// Source of the arrival time stamps: `kernel` or `user`.
    pub arrival_stamps: QtcpStamps,
    /// Method of the skew correction.
    pub skew_method: String,
    /// Removed skew, parts per million: the excess of the rate of the receiver's clock. `null` if none was removed.
    pub skew_ppm: Option<f64>,
    /// What a reader should know about the skew correction.
    pub skew_notes: Vec<String>,
    /// Both phases together.
    pub all: QtcpReceived,
    /// The measured phase, without calibration packets: the result of the test.
    pub measured: QtcpReceived,
    /// Datagrams that this host dropped because its receive buffer was full, or because of a wrong UDP checksum. They count as lost.
    pub host_drops: u64,
    /// Datagrams of other sessions, and others that are no test packets.
    pub ignored_datagrams: u64,
}

/// Reason for the end of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QtcpReceiverEnd {
    /// The requested number of packets was received, or the requested time has passed.
    Quota,
    /// A termination packet arrived.
    Termination,
    /// `DONE` arrived on the control connection.
    Done,
    /// The user entered `q`.
    Keyboard,
    /// The user interrupted the receiver.
    Interrupted,
    /// There was no memory for another packet.
    LogFull,
    /// The sender ended the test before it had sent what it announced.
    SenderStopped,
}

/// Source of time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QtcpStamps {
    /// The kernel.
    Kernel,
    /// The field of the packet for the best time stamp, as the sender wrote it.
    Packet,
    /// The program.
    User,
}

/// What was received of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpReceived {
    /// Packets, without copies.
    pub packets: u64,
    /// Further copies.
    pub duplicated: u64,
    /// Packets that were lost.
    pub lost: u64,
    /// Lost packets as a share of those that should have arrived; `null` if none should have.
    pub loss_ratio: Option<f64>,
    /// Rate of arrivals, bytes of UDP payload per second; `null` with fewer than two packets.
    pub rate_octets_per_s: Option<f64>,
    /// Queuing delay: delay in excess of the minimum of both phases, without skew. `null` if nothing arrived.
    pub queuing_delay_ns: Option<QtcpDelay>,
}

/// Distribution of a delay, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpDelay {
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}
