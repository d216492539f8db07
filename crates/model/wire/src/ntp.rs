//! The two 64-bit timestamp formats of test packets: NTP's (RFC 5905 section 6) and the truncated one of
//! PTPv2 (IEEE 1588-2008, RFC 8186), to and from nanoseconds since 1970.
//!
//! Both count seconds in 32 bits, so they repeat: NTP's first era ends on 2036-02-07 at 06:28:16 UTC, PTP's
//! in 2106. A time on the wire therefore means the one among its repetitions that lies nearest to a
//! reference, such as the reader's own clock; a reference within 68 years of the truth gives the truth.

/// Seconds from 1900-01-01, where NTP counts from, to 1970-01-01.
pub const UNIX_EPOCH_IN_NTP_SECONDS: u32 = 2_208_988_800;

const NANOS: i128 = 1_000_000_000;
/// Nanoseconds in the 2^32 seconds after which either format repeats.
const ERA: i128 = NANOS << 32;
/// Half of these nanoseconds, 68 years: times that lie further from each other are of different eras.
pub const HALF_ERA_NS: i64 = 1_000_000_000 << 31;

/// An NTP timestamp: 32 bits of seconds since 1900 in the current era, 32 bits of fraction (0.23 ns each).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NtpTime(pub u64);

impl NtpTime {
    /// The timestamp nearest to `nanos` nanoseconds after 1970-01-01. The era is dropped.
    pub fn from_unix_nanos(nanos: i64) -> Self {
        let since_1900 = i128::from(nanos) + i128::from(UNIX_EPOCH_IN_NTP_SECONDS) * NANOS;
        let in_era = since_1900.rem_euclid(ERA);
        let (seconds, nanos) = (in_era / NANOS, in_era % NANOS);
        // A whole nanosecond is at most 0.12 ns from the next fraction, so that rounding never reaches a
        // second.
        let fraction = ((nanos << 32) + NANOS / 2) / NANOS;
        Self(low_64((seconds << 32) | fraction))
    }

    /// Nanoseconds after 1970-01-01, in the era that brings them nearest to `reference`, rounded to the
    /// nearest nanosecond; at the end of the range where that era lies outside of it.
    pub fn to_unix_nanos(self, reference: i64) -> i64 {
        let (seconds, fraction) = (i128::from(self.0 >> 32), i128::from(self.0 & 0xffff_ffff));
        let nanos = (fraction * NANOS + (1 << 31)) >> 32;
        let in_first_era = (seconds - i128::from(UNIX_EPOCH_IN_NTP_SECONDS)) * NANOS + nanos;
        nearest(in_first_era, reference)
    }

    /// How much later this is than `earlier`, in nanoseconds rounded down; the two are taken to lie within
    /// half an era (68 years) of each other.
    pub const fn nanos_since(self, earlier: Self) -> i64 {
        let difference = self.0.wrapping_sub(earlier.0).cast_signed();
        // |difference| is below 2^63, so that the product is below 2^93 and the result below 2^61.
        low_i64((difference as i128 * NANOS) >> 32)
    }
}

/// A truncated PTPv2 timestamp: 32 bits of seconds since 1970, 32 bits of nanoseconds.
///
/// PTP counts on TAI, which is ahead of UTC, yet a host may as well write its system clock in this format,
/// and the packet does not tell which. No leap seconds are added or taken away here: they are part of the
/// offset between the two hosts' clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PtpTime(pub u64);

impl PtpTime {
    /// The timestamp of `nanos` nanoseconds after 1970-01-01. The era is dropped.
    pub fn from_unix_nanos(nanos: i64) -> Self {
        let in_era = i128::from(nanos).rem_euclid(ERA);
        Self(low_64(((in_era / NANOS) << 32) | (in_era % NANOS)))
    }

    /// Whether the nanoseconds are less than a second, as they must be.
    pub const fn is_valid(self) -> bool {
        self.0 & 0xffff_ffff < 1_000_000_000
    }

    /// Nanoseconds after 1970-01-01, in the era that brings them nearest to `reference`, at the end of the
    /// range where that era lies outside of it; `None` where the timestamp is not valid.
    pub fn to_unix_nanos(self, reference: i64) -> Option<i64> {
        if !self.is_valid() {
            return None;
        }
        Some(nearest(self.nanos_in_era(), reference))
    }

    /// How much later this is than `earlier`, in nanoseconds; the two are taken to lie within half an era of
    /// each other. `None` where either is not valid.
    pub fn nanos_since(self, earlier: Self) -> Option<i64> {
        if !self.is_valid() || !earlier.is_valid() {
            return None;
        }
        let difference = (self.nanos_in_era() - earlier.nanos_in_era()).rem_euclid(ERA);
        Some(low_i64(if difference < ERA / 2 { difference } else { difference - ERA }))
    }

    fn nanos_in_era(self) -> i128 {
        i128::from(self.0 >> 32) * NANOS + i128::from(self.0 & 0xffff_ffff)
    }
}

/// `nanos` plus the number of eras that brings it nearest to `reference` (RFC 5905 section 6), at the end of the range where that
/// lies outside of it.
pub fn in_nearest_era(nanos: i64, reference: i64) -> i64 {
    nearest(nanos.into(), reference)
}

/// `nanos` plus the number of eras that brings it nearest to `reference`; of two equally near, the later one.
fn nearest(nanos: i128, reference: i64) -> i64 {
    let eras = (i128::from(reference) - nanos + ERA / 2).div_euclid(ERA);
    let nanos = nanos + eras * ERA;
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both halves have 32 bits")]
const fn low_64(wide: i128) -> u64 {
    wide as u64
}

#[expect(clippy::cast_possible_truncation, reason = "differences within half an era have 62 bits")]
const fn low_i64(wide: i128) -> i64 {
    wide as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;
    /// The first second of NTP's second era, 2036-02-07 06:28:16 UTC.
    const SECOND_ERA: i64 = 2_085_978_496 * SECOND;

    #[test]
    fn the_first_era_ends_in_2036() {
        // 2^32 s after 1900-01-01; RFC 5905 figure 4 has 63,104 for the midnight that follows.
        assert_eq!(NtpTime::from_unix_nanos(SECOND_ERA), NtpTime(0));
        assert_eq!(NtpTime::from_unix_nanos(SECOND_ERA - SECOND), NtpTime(0xffff_ffff << 32));
        let before = NtpTime::from_unix_nanos(SECOND_ERA - 1);
        assert_eq!(before.0, 0xffff_ffff_ffff_fffc, "a nanosecond is 4.3 fractions");
        for reference in [SECOND_ERA - 60 * SECOND, SECOND_ERA, SECOND_ERA + 60 * SECOND] {
            assert_eq!(NtpTime(0).to_unix_nanos(reference), SECOND_ERA);
            assert_eq!(before.to_unix_nanos(reference), SECOND_ERA - 1);
        }
        assert_eq!(NtpTime(0).nanos_since(before), 0, "0.93 ns, rounded down");
        assert_eq!(NtpTime(0).nanos_since(NtpTime(0xffff_ffff << 32)), SECOND);
    }

    #[test]
    fn dates_are_those_of_rfc_5905_figure_4() {
        // Seconds of era 0 for 1970-01-01, 1972-01-01 and 1999-12-31, and of era 1 for 2036-02-08.
        for (ntp_seconds, unix_seconds) in [
            (2_208_988_800u64, 0),
            (2_272_060_800, 63_072_000),
            (3_155_587_200, 946_598_400),
            (63_104, 2_086_041_600),
        ] {
            assert_eq!(NtpTime::from_unix_nanos(unix_seconds * SECOND), NtpTime(ntp_seconds << 32));
            assert_eq!(
                NtpTime(ntp_seconds << 32).to_unix_nanos(unix_seconds * SECOND),
                unix_seconds * SECOND
            );
        }
    }

    #[test]
    fn a_fraction_next_to_the_second_is_rounded_into_it() {
        let last = NtpTime((u64::from(UNIX_EPOCH_IN_NTP_SECONDS) << 32) | 0xffff_ffff);
        assert_eq!(last.to_unix_nanos(0), SECOND);
        let half = NtpTime((u64::from(UNIX_EPOCH_IN_NTP_SECONDS) << 32) | 0x8000_0000);
        assert_eq!(half.to_unix_nanos(0), SECOND / 2);
    }

    #[test]
    fn a_ptp_timestamp_of_a_second_and_more_of_nanoseconds_has_no_value() {
        let reference = 0;
        assert_eq!(PtpTime((7 << 32) | 999_999_999).to_unix_nanos(reference), Some(8 * SECOND - 1));
        assert_eq!(PtpTime((7 << 32) | 1_000_000_000).to_unix_nanos(reference), None);
        assert_eq!(PtpTime(0).nanos_since(PtpTime(u64::MAX)), None);
        assert_eq!(PtpTime(1 << 32).nanos_since(PtpTime(0xffff_ffff << 32)), Some(2 * SECOND));
        assert_eq!(PtpTime(0xffff_ffff << 32).nanos_since(PtpTime(1 << 32)), Some(-2 * SECOND));
    }

    #[test]
    fn eras_beyond_the_range_stop_at_its_ends() {
        for end in [i64::MIN, i64::MAX] {
            let (ntp, ptp) = (NtpTime::from_unix_nanos(end), PtpTime::from_unix_nanos(end));
            assert_eq!((ntp.to_unix_nanos(end), ptp.to_unix_nanos(end)), (end, Some(end)));
            // A hundred seconds further out.
            let further = (100u64 << 32).wrapping_mul(if end < 0 { u64::MAX } else { 1 });
            assert_eq!(NtpTime(ntp.0.wrapping_add(further)).to_unix_nanos(end), end);
            assert_eq!(PtpTime(ptp.0.wrapping_add(further)).to_unix_nanos(end), Some(end));
        }
    }

    proptest! {
        #[test]
        fn nanoseconds_come_back_from_ntp_the_same(nanos: i64, off in -(ERA / 2 - 1)..ERA / 2) {
            let reference = (i128::from(nanos) + off).clamp(i64::MIN.into(), i64::MAX.into());
            let reference = i64::try_from(reference).unwrap();
            prop_assert_eq!(NtpTime::from_unix_nanos(nanos).to_unix_nanos(reference), nanos);
        }

        #[test]
        fn nanoseconds_come_back_from_ptp_the_same(nanos: i64, off in -(ERA / 2 - 1)..ERA / 2) {
            let reference = (i128::from(nanos) + off).clamp(i64::MIN.into(), i64::MAX.into());
            let reference = i64::try_from(reference).unwrap();
            let time = PtpTime::from_unix_nanos(nanos);
            prop_assert!(time.is_valid());
            prop_assert_eq!(time.to_unix_nanos(reference), Some(nanos));
        }

        #[test]
        fn any_timestamp_lies_within_half_an_era_of_the_reference(raw: u64, reference: i64) {
            let times = [Some(NtpTime(raw).to_unix_nanos(reference)), PtpTime(raw).to_unix_nanos(reference)];
            for nanos in times.into_iter().flatten() {
                prop_assert!((i128::from(nanos) - i128::from(reference)).abs() <= ERA / 2 + 1);
            }
        }

        #[test]
        fn differences_are_those_of_the_times(a: i64, b in -(ERA / 2 - 2)..(ERA / 2 - 2)) {
            let difference = i64::try_from(b).unwrap();
            // Halved, so that the sum stays in range.
            let a = a / 2;
            let later = a + difference;
            let ntp = NtpTime::from_unix_nanos(later).nanos_since(NtpTime::from_unix_nanos(a));
            prop_assert!((ntp - difference).abs() <= 1, "{} {}", ntp, difference);
            let ptp = PtpTime::from_unix_nanos(later).nanos_since(PtpTime::from_unix_nanos(a));
            prop_assert_eq!(ptp, Some(difference));
        }

        #[test]
        fn differences_of_any_timestamps_are_survived(a: u64, b: u64) {
            let _ = (NtpTime(a).nanos_since(NtpTime(b)), PtpTime(a).nanos_since(PtpTime(b)));
        }
    }
}
