//! Results of a live Qtcp test, of its sender (`romer/qtcp-sender/1`) and of its receiver (`romer/qtcp-receiver/1`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::service::Service;
use crate::warning::QtcpNote;

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
    /// What this host did with the packets because of their service; `null` without one.
    pub traffic_control: Option<QtcpTrafficControl>,
    /// Reservation with RSVP; `null` if none was requested.
    pub reservation: Option<QtcpReservation>,
}

/// What the sending host did with the packets of a Qtcp test because of their service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpTrafficControl {
    /// Whether packets were shaped to the token bucket. Without, each followed the one before at once.
    pub shaped: bool,
    /// DSCP of packets that conform to the token bucket.
    pub dscp: u8,
    /// Priority of these packets within the sending host, which a VLAN maps to the one of IEEE 802.1p.
    pub priority: u8,
    /// Packets that did not conform to the token bucket. They had the marks of non-conforming traffic.
    pub non_conforming_packets: u64,
}

/// Reservation of a Qtcp test (RSVP), as one end knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpReservation {
    /// Service: `guaranteed` or `controlled-load`.
    pub service: Service,
    /// State at the end of the test.
    pub state: QtcpReservationState,
    /// Traffic that the sender announced; `null` at a receiver if no announcement arrived.
    pub announced: Option<QtcpFlowTraffic>,
    /// Reserved rate, bytes of IP packets per second: at the receiver the requested one. `null` if there was none.
    pub rate_octets_per_s: Option<f64>,
    /// Properties of the path by the announcement; `null` at the sender, and if no announcement arrived.
    pub path: Option<QtcpReservedPath>,
    /// Address of the node that confirmed the reservation; `null` at the sender, and without a confirmation.
    pub confirmed_by: Option<String>,
    /// Errors that nodes of the path reported, in order, at most 100. Repetitions of the last one are left out.
    pub errors: Vec<QtcpReservationError>,
}

impl QtcpReservation {
    /// The most errors that are recorded: anybody can send them.
    pub const MOST_ERRORS: usize = 100;

    /// A reservation that nothing is known of yet.
    pub const fn new(service: Service) -> Self {
        Self {
            service,
            state: QtcpReservationState::None,
            announced: None,
            rate_octets_per_s: None,
            path: None,
            confirmed_by: None,
            errors: Vec::new(),
        }
    }

    /// Records an error. Whether it was recorded: the last one is not repeated, and the number is limited.
    pub fn record(&mut self, error: QtcpReservationError) -> bool {
        let is_new = self.errors.len() < Self::MOST_ERRORS && self.errors.last() != Some(&error);
        if is_new {
            self.errors.push(error);
        }
        is_new
    }
}

/// State of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QtcpReservationState {
    /// There was none.
    None,
    /// An end of the test cannot exchange RSVP messages.
    Unavailable,
    /// The receiver has requested it, and has no confirmation.
    Requested,
    /// It is in place: the sender has received it, or the receiver its confirmation.
    Reserved,
    /// It was in place, and was removed or not refreshed.
    Lost,
}

/// Traffic of a flow as RSVP announces it (RFC 2210): sizes are those of IP packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpFlowTraffic {
    /// Token rate, bytes per second.
    pub token_rate_octets_per_s: f64,
    /// Token bucket depth, bytes.
    pub bucket_depth_octets: f64,
    /// Minimum policed size, bytes.
    pub min_policed_octets: u32,
    /// Largest packet, bytes.
    pub max_packet_octets: u32,
}

/// Properties of a path with RSVP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpReservedPath {
    /// Path MTU, bytes; `null` if not known.
    pub mtu_octets: Option<u32>,
    /// Routers with integrated services; `null` if not known.
    pub hops: Option<u32>,
    /// Whether some hop has no RSVP, so that the reservation has a gap.
    pub has_gap: bool,
    /// Whether some hop does not support the service.
    pub has_service_gap: bool,
    /// Bound of the queueing delay of guaranteed service (RFC 2212), nanoseconds; `null` for controlled load, and with a gap.
    pub delay_bound_ns: Option<i64>,
}

/// An error that a node of the path reported (RFC 2205 appendix B).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QtcpReservationError {
    /// Address of the node.
    pub node: String,
    /// Error code.
    pub code: u8,
    /// Error value.
    pub value: u16,
    /// Its meaning.
    pub meaning: String,
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
    /// The user ended a reservation that was only held.
    Released,
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
    pub skew_notes: Vec<QtcpNote>,
    /// Both phases together.
    pub all: QtcpReceived,
    /// The measured phase, without calibration packets: the result of the test.
    pub measured: QtcpReceived,
    /// Datagrams that this host dropped because its receive buffer was full, or because of a wrong UDP checksum. They count as lost.
    pub host_drops: u64,
    /// Datagrams of other sessions, and others that are no test packets.
    pub ignored_datagrams: u64,
    /// Reservation with RSVP; `null` if the sender requested none.
    pub reservation: Option<QtcpReservation>,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A node that repeats its error, or sends others without end, takes no memory.
    #[test]
    fn recorded_errors_are_bounded() {
        let error = |value| QtcpReservationError {
            node: "198.18.0.1".into(),
            code: 1,
            value,
            meaning: "bandwidth".into(),
        };
        let mut reservation = QtcpReservation::new(Service::Guaranteed);
        assert_eq!([2, 2, 3, 2].map(|value| reservation.record(error(value))), [true, false, true, true]);
        for value in 0..1_000 {
            reservation.record(error(value));
        }
        assert_eq!(reservation.errors.len(), QtcpReservation::MOST_ERRORS);
        assert!(!reservation.record(error(5_000)));
    }
}
