//! The host's clocks, in integer nanoseconds.

use std::time::SystemTime;

use romer_units::{Clock, Duration, Monotonic, Timestamp};

/// A reading of the host's real-time clock (`CLOCK_REALTIME`), nanoseconds since 1970-01-01 UTC.
///
/// All packet stamps of this crate, the kernel's and the user's, are such readings. Whose clock that is (the
/// sender's or the responder's) only the caller knows, and names it by [`Realtime::on`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Realtime(i64);

impl Realtime {
    /// The moment `nanos` nanoseconds after 1970-01-01 UTC.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }
    /// Nanoseconds since 1970-01-01 UTC.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
    /// The reading as a time on clock `C`, which the caller knows to be this host's real-time clock.
    pub const fn on<C: Clock>(self) -> Timestamp<C> {
        Timestamp::from_nanos(self.0)
    }
    /// How much later this reading is than `earlier` of the same host.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Both clocks read one right after the other, the monotonic first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// The clock of schedules.
    pub monotonic: Timestamp<Monotonic>,
    /// The clock of stamps, read a few tens of nanoseconds later.
    pub realtime: Realtime,
}

/// A time of day as documents have it: UTC by RFC 3339, in microseconds.
pub fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_micros(time).to_string()
}

/// Reads the real-time clock.
pub fn realtime_now() -> Realtime {
    Realtime(read(libc::CLOCK_REALTIME))
}

/// Reads the monotonic clock.
pub fn monotonic_now() -> Timestamp<Monotonic> {
    Timestamp::from_nanos(read(libc::CLOCK_MONOTONIC))
}

/// Reads both clocks.
pub fn now() -> Now {
    Now { monotonic: monotonic_now(), realtime: realtime_now() }
}

/// The real-time clock minus the time since boot. Two programs that find the same value within their reading
/// error (some tens of nanoseconds as a rule) read the same clock, or clocks that were set alike to that degree.
///
/// The two are read in turn several times, and the reading that was interrupted least is given.
pub fn realtime_minus_boottime() -> Duration {
    let one = |_| {
        let before = read(libc::CLOCK_BOOTTIME);
        let realtime = read(libc::CLOCK_REALTIME);
        let after = read(libc::CLOCK_BOOTTIME);
        (after - before, realtime - (before + (after - before) / 2))
    };
    let (_, difference) = (0..32).map(one).min_by_key(|(taken, _)| *taken).unwrap_or_default();
    Duration::from_nanos(difference)
}

/// A kernel time as nanoseconds, saturating at the ends of the range (about the year 2262).
pub(crate) const fn nanos_of(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

pub(crate) fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec into `time` and keeps no pointer. It cannot fail for the clocks that
    // are asked here, which every Linux kernel has.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    nanos_of(time.tv_sec, time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_never_goes_back() {
        let mut last = monotonic_now();
        for _ in 0..10_000 {
            let now = monotonic_now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn the_real_time_clock_is_the_one_that_the_standard_library_reads() {
        let before = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        let ours = u128::try_from(realtime_now().as_nanos()).unwrap();
        assert!(ours.abs_diff(before) < 10_000_000_000, "{ours} against {before}");
    }

    #[test]
    fn the_distance_of_two_clocks_stays() {
        let (one, other) = (realtime_minus_boottime(), realtime_minus_boottime());
        assert!((one - other).abs() < Duration::from_micros(20), "{one} and {other}");
    }

    #[test]
    fn kernel_times_saturate() {
        assert_eq!(nanos_of(1, 5), 1_000_000_005);
        assert_eq!(nanos_of(i64::MAX, 5), i64::MAX);
    }
}
