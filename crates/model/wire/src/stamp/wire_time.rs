//! Time stamps as they are on the wire.

use crate::ntp::{NtpTime, PtpTime};

/// How the timestamps beside an error estimate are written: its Z bit (RFC 8186 section 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimestampFormat {
    /// NTP, 64 bits (Z = 0): what every STAMP node understands.
    #[default]
    Ntp,
    /// PTPv2, truncated to 64 bits (Z = 1).
    Ptp,
}

/// A timestamp as it is on the wire. What it means depends on the [`TimestampFormat`] of the error estimate
/// that goes with it; kept raw, so that a reflector returns the sender's to the bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WireTime(pub u64);

impl WireTime {
    /// `nanos` nanoseconds after 1970-01-01 in this format.
    pub fn from_unix_nanos(nanos: i64, format: TimestampFormat) -> Self {
        match format {
            TimestampFormat::Ntp => Self(NtpTime::from_unix_nanos(nanos).0),
            TimestampFormat::Ptp => Self(PtpTime::from_unix_nanos(nanos).0),
        }
    }

    /// Nanoseconds after 1970-01-01, in the era nearest to `reference` (see [`crate::ntp`]); `None` where the
    /// octets are no time in this format.
    pub fn to_unix_nanos(self, format: TimestampFormat, reference: i64) -> Option<i64> {
        match format {
            TimestampFormat::Ntp => Some(NtpTime(self.0).to_unix_nanos(reference)),
            TimestampFormat::Ptp => PtpTime(self.0).to_unix_nanos(reference),
        }
    }

    /// Whether all octets are zero: the sender stated no time (or, for one instant in 136 years, did).
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// How much later this is than `earlier`, in nanoseconds; `None` where either is no time in this format.
    pub(crate) fn nanos_since(self, earlier: Self, format: TimestampFormat) -> Option<i64> {
        match format {
            TimestampFormat::Ntp => Some(NtpTime(self.0).nanos_since(NtpTime(earlier.0))),
            TimestampFormat::Ptp => PtpTime(self.0).nanos_since(PtpTime(earlier.0)),
        }
    }
}
