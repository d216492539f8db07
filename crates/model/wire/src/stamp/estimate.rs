//! The error estimate of a test packet.

use romer_units::Duration;

use super::wire_time::TimestampFormat;

const SYNCHRONIZED: u16 = 0x8000;
const PTP: u16 = 0x4000;
const NANOS: u128 = 1_000_000_000;

/// The error estimate that goes with a packet's timestamps: whether the clock is synchronised to UTC from
/// outside (S), the timestamps' format (Z), and a bound of the error, `multiplier * 2^scale * 2^-32` seconds
/// (RFC 4656 section 4.1.2, RFC 8186 section 2.3).
///
/// Kept as its sixteen bits, so that a reflector returns the sender's to the bit, even one whose multiplier
/// is zero, which no sender may write ([`ErrorEstimate::is_valid`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorEstimate(u16);

impl ErrorEstimate {
    /// As received.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// An estimate of these parts; `None` where `scale` is above 63 or `multiplier` is zero.
    pub const fn new(synchronized: bool, format: TimestampFormat, scale: u8, multiplier: u8) -> Option<Self> {
        if scale > 63 || multiplier == 0 {
            return None;
        }
        let flags = flags(synchronized, format);
        Some(Self(flags | u16::from_be_bytes([scale, multiplier])))
    }

    /// The smallest estimate that is not below `error`: at most 1/128 above it, or 0.23 ns, the least that
    /// can be written, where the error is zero or negative.
    pub fn at_least(error: Duration, synchronized: bool, format: TimestampFormat) -> Self {
        let nanos = u128::try_from(error.as_nanos()).unwrap_or(0);
        let mut multiplier = (nanos << 32).div_ceil(NANOS).max(1);
        let mut scale = 0u8;
        while multiplier > 0xff {
            // Rounding up at every step gives the same as rounding up once.
            multiplier = multiplier.div_ceil(2);
            scale += 1;
        }
        // The largest duration needs a scale of 58.
        let multiplier = u8::try_from(multiplier).unwrap_or(u8::MAX);
        Self(flags(synchronized, format) | u16::from_be_bytes([scale, multiplier]))
    }

    /// The same estimate for a timestamp in another format: a reflector's own, beside the format that it
    /// chose for a reply ([`super::ReplyFormat`]).
    #[must_use]
    pub const fn with_format(self, format: TimestampFormat) -> Self {
        Self((self.0 & !PTP) | flags(false, format))
    }

    /// The sixteen bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether the clock is synchronised to UTC by a source outside of it (S).
    pub const fn synchronized(self) -> bool {
        self.0 & SYNCHRONIZED != 0
    }

    /// How the timestamps beside it are written (Z).
    pub const fn format(self) -> TimestampFormat {
        if self.0 & PTP == 0 { TimestampFormat::Ntp } else { TimestampFormat::Ptp }
    }

    /// The scale, 0 to 63.
    pub const fn scale(self) -> u8 {
        self.0.to_be_bytes()[0] & 0x3f
    }

    /// The multiplier; 0 is not valid.
    pub const fn multiplier(self) -> u8 {
        self.0.to_be_bytes()[1]
    }

    /// Whether the multiplier is not zero. RFC 4656 section 4.1.2 takes a packet with a zero for corrupt.
    pub const fn is_valid(self) -> bool {
        self.multiplier() != 0
    }

    /// The bound of the error, rounded up to the nanosecond, at most [`Duration::MAX`]; `None` where it is
    /// not valid.
    pub fn error(self) -> Option<Duration> {
        if !self.is_valid() {
            return None;
        }
        // At most 255 * 2^63 * 10^9, which has 101 bits.
        let fractions = u128::from(self.multiplier()) << self.scale();
        let nanos = (fractions * NANOS).div_ceil(1 << 32);
        Some(i64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos))
    }
}

const fn flags(synchronized: bool, format: TimestampFormat) -> u16 {
    let s = if synchronized { SYNCHRONIZED } else { 0 };
    match format {
        TimestampFormat::Ntp => s,
        TimestampFormat::Ptp => s | PTP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_parts_lie_where_rfc_8762_figure_3_has_them() {
        let estimate = ErrorEstimate::new(true, TimestampFormat::Ptp, 0x15, 0xa7).unwrap();
        assert_eq!(estimate.bits(), 0b1101_0101_1010_0111);
        assert!(estimate.synchronized());
        assert_eq!(estimate.format(), TimestampFormat::Ptp);
        assert_eq!((estimate.scale(), estimate.multiplier()), (0x15, 0xa7));
        assert_eq!(ErrorEstimate::new(false, TimestampFormat::Ntp, 0, 1).unwrap().bits(), 1);
    }

    #[test]
    fn the_bound_is_multiplier_times_two_to_the_scale_in_units_of_ntp() {
        // 1 * 2^32 / 2^32 = 1 s; 250 * 2^24 / 2^32 = 976.5625 ms; the smallest is 0.23 ns, rounded up.
        for (scale, multiplier, nanos) in [(32, 1, 1_000_000_000), (24, 250, 976_562_500), (0, 1, 1)] {
            let estimate = ErrorEstimate::new(false, TimestampFormat::Ntp, scale, multiplier).unwrap();
            assert_eq!(estimate.error(), Some(Duration::from_nanos(nanos)));
        }
        let largest = ErrorEstimate::new(false, TimestampFormat::Ntp, 63, 255).unwrap();
        assert_eq!(largest.error(), Some(Duration::MAX));
    }

    #[test]
    fn a_multiplier_of_zero_is_not_made_and_has_no_bound() {
        assert_eq!(ErrorEstimate::new(true, TimestampFormat::Ntp, 1, 0), None);
        assert_eq!(ErrorEstimate::new(true, TimestampFormat::Ntp, 64, 1), None);
        let received = ErrorEstimate::from_bits(0x8100);
        assert!(!received.is_valid());
        assert_eq!(received.error(), None);
    }

    #[test]
    fn no_error_at_all_is_written_as_the_least_that_can_be() {
        for nanos in [0, -5, i64::MIN] {
            let estimate = ErrorEstimate::at_least(Duration::from_nanos(nanos), false, TimestampFormat::Ntp);
            assert_eq!(estimate.bits(), 0x0001);
        }
    }

    proptest! {
        #[test]
        fn an_error_is_never_understated_and_hardly_overstated(
            shift in 0u32..63, raw: i64, synchronized: bool, ptp: bool,
        ) {
            let error = Duration::from_nanos(raw.unsigned_abs().cast_signed().saturating_abs() >> shift);
            let format = if ptp { TimestampFormat::Ptp } else { TimestampFormat::Ntp };
            let estimate = ErrorEstimate::at_least(error, synchronized, format);
            prop_assert!(estimate.is_valid());
            prop_assert_eq!((estimate.synchronized(), estimate.format()), (synchronized, format));
            let read = estimate.error().unwrap();
            prop_assert!(read >= error, "{} read as {}", error, read);
            let most = i128::from(error.as_nanos()) * 129 / 128 + 1;
            prop_assert!(i128::from(read.as_nanos()) <= most, "{} read as {}", error, read);
        }

        #[test]
        fn any_bits_are_kept_and_read(bits: u16) {
            let estimate = ErrorEstimate::from_bits(bits);
            prop_assert_eq!(estimate.bits(), bits);
            prop_assert_eq!(estimate.error().is_some(), estimate.is_valid());
            let again = ErrorEstimate::new(
                estimate.synchronized(), estimate.format(), estimate.scale(), estimate.multiplier());
            prop_assert_eq!(again, estimate.is_valid().then_some(estimate));
        }
    }
}
