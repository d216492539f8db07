//! What the TLVs of each type carry.

use romer_units::Dscp;

use super::reading::{Tlv, TlvError, kind};
use crate::bytes;
use crate::ip::Ecn;
use crate::stamp::WireTime;
use crate::stamp::key::TAG;

/// The value of a TLV, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Any octets.
    ExtraPadding(&'a [u8]),
    /// How the reflector's clock is kept; TLVs within this one, for which there are no types yet, follow.
    TimestampInformation(TimestampInformation, &'a [u8]),
    /// Code points received and wished for.
    ClassOfService(ClassOfService),
    /// Counts of the user's own packets.
    DirectMeasurement(DirectMeasurement),
    /// When an earlier reply really left.
    FollowUpTelemetry(FollowUpTelemetry),
    /// The code over the TLVs before.
    Hmac([u8; TAG]),
    /// Of another type.
    Other(&'a [u8]),
}

impl<'a> Tlv<'a> {
    /// Reads the value.
    ///
    /// # Errors
    /// [`TlvError::Length`] where no value of this type is that long.
    pub fn value(&self) -> Result<Value<'a>, TlvError> {
        let value = self.value;
        let wrong = TlvError::Length { kind: self.kind, length: value.len() };
        Ok(match self.kind {
            kind::EXTRA_PADDING => Value::ExtraPadding(value),
            kind::TIMESTAMP_INFORMATION => {
                let (fixed, within) = value.split_first_chunk().ok_or(wrong)?;
                Value::TimestampInformation(TimestampInformation::from_octets(*fixed), within)
            }
            kind::CLASS_OF_SERVICE => {
                Value::ClassOfService(ClassOfService::from_octets(exactly(value).ok_or(wrong)?))
            }
            kind::DIRECT_MEASUREMENT => {
                Value::DirectMeasurement(DirectMeasurement::from_octets(exactly(value).ok_or(wrong)?))
            }
            kind::FOLLOW_UP_TELEMETRY => {
                Value::FollowUpTelemetry(FollowUpTelemetry::from_octets(exactly(value).ok_or(wrong)?))
            }
            kind::HMAC => Value::Hmac(exactly(value).ok_or(wrong)?),
            kind::PRIVATE_FIRST..=kind::PRIVATE_LAST if value.len() < VENDOR => return Err(wrong),
            _ => Value::Other(value),
        })
    }
}

/// Octets of the vendor's number with which a value of private use begins (RFC 8972 section 4).
pub(super) const VENDOR: usize = 4;

fn exactly<const N: usize>(value: &[u8]) -> Option<[u8; N]> {
    value.try_into().ok()
}

/// The `N` octets at `offset` of a value that is long enough.
fn part<const N: usize>(value: &[u8], offset: usize) -> [u8; N] {
    bytes::at(value, offset).unwrap_or([0; N])
}

/// What a clock is synchronised by (RFC 8972 section 5.4); any number can be received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SyncSource(pub u8);

impl SyncSource {
    /// Not stated: what a sender writes; reserved in a reply.
    pub const NOT_STATED: Self = Self(0);
    /// NTP.
    pub const NTP: Self = Self(1);
    /// PTP.
    pub const PTP: Self = Self(2);
    /// A synchronisation supply unit, or building integrated timing supply.
    pub const SSU_BITS: Self = Self(3);
    /// A satellite system, or LORAN-C.
    pub const SATELLITE: Self = Self(4);
    /// Nothing: the clock runs free.
    pub const FREE_RUNNING: Self = Self(5);
}

/// How a timestamp was obtained (RFC 8972 section 5.5); any number can be received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimestampMethod(pub u8);

impl TimestampMethod {
    /// Not stated: what a sender writes; reserved in a reply.
    pub const NOT_STATED: Self = Self(0);
    /// With the help of hardware.
    pub const HARDWARE: Self = Self(1);
    /// By software, from a local clock.
    pub const SOFTWARE: Self = Self(2);
    /// From a remote clock.
    pub const CONTROL_PLANE: Self = Self(3);
}

/// The fixed part of a Timestamp Information TLV (RFC 8972 section 4.3): a sender leaves it zero, a reflector
/// fills it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimestampInformation {
    /// What the clock of T2 is synchronised by.
    pub sync_in: SyncSource,
    /// How T2 was obtained.
    pub method_in: TimestampMethod,
    /// What the clock of T3 is synchronised by.
    pub sync_out: SyncSource,
    /// How T3 was obtained.
    pub method_out: TimestampMethod,
}

impl TimestampInformation {
    /// Reads the fixed part.
    pub const fn from_octets([sync_in, method_in, sync_out, method_out]: [u8; 4]) -> Self {
        Self {
            sync_in: SyncSource(sync_in),
            method_in: TimestampMethod(method_in),
            sync_out: SyncSource(sync_out),
            method_out: TimestampMethod(method_out),
        }
    }
    /// The octets of the fixed part.
    pub const fn to_octets(self) -> [u8; 4] {
        [self.sync_in.0, self.method_in.0, self.sync_out.0, self.method_out.0]
    }
}

/// A Class of Service TLV (RFC 8972 section 4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClassOfService {
    /// The code point that the sender wants the reply to have (DSCP1).
    pub wanted: Dscp,
    /// The code point with which the request arrived (DSCP2); zero in a request.
    pub received: Dscp,
    /// The congestion notification with which it arrived; zero in a request.
    pub ecn: Ecn,
    /// The two bits RP: zero in a request; 1 in a reply that was not sent with the wanted code point, so that
    /// only the forward direction can be judged.
    pub reverse_path: u8,
}

impl ClassOfService {
    /// Reads a value; the reserved octets are ignored.
    pub const fn from_octets([first, second, _, _]: [u8; 4]) -> Self {
        // Six bits of DSCP1, six of DSCP2, two of ECN, two of RP.
        Self {
            wanted: Dscp::of_tos(first),
            received: Dscp::of_tos((first << 6) | ((second >> 4) << 2)),
            ecn: Ecn::of_tos(second >> 2),
            reverse_path: second & 0b11,
        }
    }
    /// The octets, with zeros for the reserved ones and only the lower two bits of `reverse_path`.
    pub const fn to_octets(self) -> [u8; 4] {
        let received = self.received.value();
        let first = self.wanted.tos() | (received >> 4);
        let second = (received << 4) | (self.ecn.bits() << 2) | (self.reverse_path & 0b11);
        [first, second, 0, 0]
    }
}

/// A Direct Measurement TLV (RFC 8972 section 4.5): counts of the packets of a flow that is not the test's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DirectMeasurement {
    /// Sent by the sender's side (S_TxC).
    pub sender_transmitted: u32,
    /// Received by the reflector's side (R_RxC); zero in a request.
    pub reflector_received: u32,
    /// Sent by the reflector's side (R_TxC); zero in a request.
    pub reflector_transmitted: u32,
}

impl DirectMeasurement {
    /// Reads a value.
    pub fn from_octets(value: [u8; 12]) -> Self {
        Self {
            sender_transmitted: u32::from_be_bytes(part(&value, 0)),
            reflector_received: u32::from_be_bytes(part(&value, 4)),
            reflector_transmitted: u32::from_be_bytes(part(&value, 8)),
        }
    }
    /// The octets.
    pub fn to_octets(self) -> [u8; 12] {
        let mut value = [0; 12];
        bytes::put(&mut value, 0, &self.sender_transmitted.to_be_bytes());
        bytes::put(&mut value, 4, &self.reflector_received.to_be_bytes());
        bytes::put(&mut value, 8, &self.reflector_transmitted.to_be_bytes());
        value
    }
}

/// A Follow-Up Telemetry TLV (RFC 8972 section 4.7): zero in a request, and in the reply of a reflector that
/// keeps no state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FollowUpTelemetry {
    /// The reflector's sequence number of an earlier reply.
    pub sequence: u32,
    /// When that reply was sent, in the format of this reply's error estimate.
    pub timestamp: WireTime,
    /// How that was found out.
    pub method: TimestampMethod,
}

impl FollowUpTelemetry {
    /// Reads a value; the reserved octets are ignored.
    pub fn from_octets(value: [u8; 16]) -> Self {
        let [method] = part(&value, 12);
        Self {
            sequence: u32::from_be_bytes(part(&value, 0)),
            timestamp: WireTime(u64::from_be_bytes(part(&value, 4))),
            method: TimestampMethod(method),
        }
    }
    /// The octets, with zeros for the reserved ones.
    pub fn to_octets(self) -> [u8; 16] {
        let mut value = [0; 16];
        bytes::put(&mut value, 0, &self.sequence.to_be_bytes());
        bytes::put(&mut value, 4, &self.timestamp.0.to_be_bytes());
        bytes::put(&mut value, 12, &[self.method.0]);
        value
    }
    /// Whether it tells nothing: the reflector keeps no state, or knows of no earlier reply's departure.
    pub const fn is_empty(self) -> bool {
        self.timestamp.is_zero()
    }
}
