//! A greedy source behind a token bucket, as Qtcp means it.
//!
//! Rate and depth count octets of UDP payload. The source always has a packet (Qtcp's buffer) waiting; it leaves as
//! soon as the bucket, which is full at the start, holds as many tokens as the packet has octets. So packets leave
//! in bursts of the depth at first and then at the rate, and where the depth is the size of a packet the gaps are
//! equal: 64 octets at 16 kB a second are 250 packets a second. Each time is rounded up to the nanosecond by itself,
//! so that nothing accumulates: since the start never more than rate times time plus depth has left, and between any
//! other two moments no more than that and what the rate earns in one nanosecond.

use core::fmt;

use romer_units::{Duration, Rate, Size};

/// Bits in an octet times nanoseconds in a second.
const SCALE: u128 = 8_000_000_000;
/// The size of a packet where nothing is said, unless the bucket is smaller: Qtcp's own, which fills a frame of
/// Ethernet (Qtcp, option -l).
const OWN_SIZE: u64 = 1_472;
/// The deepest bucket.
const DEEPEST: u64 = 1 << 30;
/// The highest rate in bits a second.
const FASTEST: u64 = 1_000_000_000_000;

/// A rate and a depth, both of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    bits_per_second: u64,
    depth: u64,
}

impl TokenBucket {
    /// A bucket of `depth` octets that is filled with `octets_per_second`; `None` if the depth is not 1 B to 1 GiB, or the rate is 0 or
    /// above 1000 Gbit/s.
    pub fn new(octets_per_second: u64, depth: u64) -> Option<Self> {
        let bits_per_second = octets_per_second.checked_mul(8)?;
        let is_legal = (1..=FASTEST).contains(&bits_per_second) && (1..=DEEPEST).contains(&depth);
        is_legal.then_some(Self { bits_per_second, depth })
    }

    /// Bits of payload a second.
    pub const fn bits_per_second(self) -> u64 {
        self.bits_per_second
    }

    /// Octets of payload that it holds.
    pub const fn depth(self) -> u64 {
        self.depth
    }

    /// Octets of a packet where nothing is said: those of the bucket, and at most 1,472.
    pub(crate) fn own_size(self) -> u32 {
        u32::try_from(self.depth.min(OWN_SIZE)).unwrap_or(u32::MAX)
    }

    /// When packet number `ordinal` of `size` octets leaves; `None` where that leaves the range of time. The source
    /// is greedy, so that the bucket never overflows once the first packet has waited.
    pub fn offset(self, ordinal: u64, size: u32) -> Option<Duration> {
        let sent = (u128::from(ordinal) + 1).checked_mul(u128::from(size))?;
        let wait = sent.saturating_sub(u128::from(self.depth));
        let nanos = wait.checked_mul(SCALE)?.div_ceil(u128::from(self.bits_per_second));
        i64::try_from(nanos).ok().map(Duration::from_nanos)
    }

    /// The time in which the bucket earns a packet of `size` octets: the gap between packets, rounded up.
    pub fn interval(self, size: u32) -> Duration {
        self.earning(size.into())
    }

    /// The time in which an empty bucket becomes full, rounded up.
    pub fn fill_time(self) -> Duration {
        self.earning(self.depth)
    }

    /// The time in which the bucket earns so many octets, rounded up.
    fn earning(self, octets: u64) -> Duration {
        let nanos = (u128::from(octets) * SCALE).div_ceil(u128::from(self.bits_per_second)).max(1);
        Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }

    /// How many packets of `size` octets leave before `end`.
    pub(crate) fn count_before(self, end: Duration, size: u32) -> u64 {
        let Some(last) = end.as_nanos().checked_sub(1).and_then(|last| u128::try_from(last).ok()) else {
            return 0;
        };
        let earned = last.saturating_mul(u128::from(self.bits_per_second)) / SCALE;
        let count = (earned + u128::from(self.depth)) / u128::from(size.max(1));
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// Reads `16kBps,64B`.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let (rate, depth) = text
            .split_once(',')
            .ok_or("a token bucket has a rate and a depth; write token-bucket:16kBps,64B")?;
        let wrong = |error: romer_units::QuantityError| error.to_string();
        let Rate::Bits(bits_per_second) = rate.parse().map_err(wrong)? else {
            return Err(
                "a token bucket counts bytes of payload, not packets; write a rate such as 16kBps".into()
            );
        };
        if bits_per_second > FASTEST {
            return Err("a rate is at most 1000Gbit; use a lower one".into());
        }
        let depth = depth.parse::<Size>().map_err(wrong)?.octets();
        if !(1..=DEEPEST).contains(&depth) {
            return Err("a depth is 1B to 1GiB; use one in between".into());
        }
        Ok(Self { bits_per_second, depth })
    }
}

impl core::str::FromStr for TokenBucket {
    type Err = String;

    /// Reads `16kBps,64B`; the error says why not, and what to write.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::read(text)
    }
}

impl fmt::Display for TokenBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits_per_second {
            bits if bits.is_multiple_of(8_000) => write!(f, "{}kBps,{}B", bits / 8_000, self.depth),
            bits => write!(f, "{bits}bit,{}B", self.depth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bucket(text: &str) -> TokenBucket {
        TokenBucket::read(text).unwrap()
    }

    #[test]
    fn sixty_four_octets_at_sixteen_kilobytes_a_second_are_250_packets_a_second() {
        let bucket = bucket("16kBps,64B");
        assert_eq!(bucket.own_size(), 64);
        assert_eq!(bucket.interval(64), Duration::from_millis(4));
        assert_eq!(bucket.count_before(Duration::from_secs(1), 64), 250);
        for ordinal in 0..1_000 {
            let offset = bucket.offset(ordinal, 64).unwrap().as_nanos();
            assert_eq!(offset, i64::try_from(ordinal).unwrap() * 4_000_000);
        }
    }

    #[test]
    fn a_deeper_bucket_begins_with_a_burst_and_goes_on_at_the_rate() {
        // Room for three packets of 100 octets and a half: the fourth waits for half of its tokens.
        let bucket = bucket("8kbit,350B");
        let offsets: Vec<i64> =
            (0..6).map(|n| bucket.offset(n, 100).unwrap().as_nanos() / 1_000_000).collect();
        assert_eq!(offsets, [0, 0, 0, 50, 150, 250]);
    }

    #[test]
    fn a_packet_has_the_size_of_the_bucket_and_at_most_that_of_a_frame() {
        for (text, size) in [("1Mbit,64B", 64), ("1Mbit,1472B", 1_472), ("1Mbit,64KiB", 1_472)] {
            assert_eq!(bucket(text).own_size(), size);
        }
    }

    /// A rate in octets and a depth make the same bucket as their text, within the limits.
    #[test]
    fn buckets_are_made_of_numbers() {
        assert_eq!(TokenBucket::new(16_000, 64), Some(bucket("16kBps,64B")));
        for (rate, depth) in [(0, 64), (16_000, 0), (FASTEST / 8 + 1, 64), (u64::MAX, 64), (1, DEEPEST + 1)] {
            assert_eq!(TokenBucket::new(rate, depth), None, "{rate} {depth}");
        }
        assert_eq!(TokenBucket::new(1_000, 250).unwrap().fill_time(), Duration::from_millis(250));
    }

    #[test]
    fn a_bucket_is_read_and_printed_back() {
        for text in ["16kBps,64B", "1bit,1B", "1000Gbit,1GiB"] {
            let bucket = bucket(text);
            assert_eq!(TokenBucket::read(&bucket.to_string()), Ok(bucket));
        }
        for wrong in [
            "",
            "16kBps",
            "16kBps,",
            ",64B",
            "250pps,64B",
            "16kBps,0B",
            "0bit,64B",
            "16kBps,2GiB",
            "2000Gbit,1B",
        ] {
            assert!(TokenBucket::read(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_interval_holds_more_than_rate_times_length_plus_depth(
            bits in 1u64..2_000_000_000, depth in 1u64..100_000, thousandths in 1u64..=1_000, from in 0u64..100_000, length in 0u64..2_000,
        ) {
            let bucket = TokenBucket { bits_per_second: bits, depth };
            let size = u32::try_from((depth * thousandths / 1_000).max(1)).unwrap();
            let first = bucket.offset(from, size).unwrap();
            let last = bucket.offset(from + length, size).unwrap();
            let sent = u128::from(length + 1) * u128::from(size);
            let nanos = u128::try_from((last - first).as_nanos()).unwrap();
            // sent <= rate * time + depth, in octets times bits times nanoseconds; a nanosecond for rounding the first.
            prop_assert!(sent * SCALE <= u128::from(bits) * (nanos + 1) + u128::from(depth) * SCALE);
            prop_assert!(last >= first);
        }

        #[test]
        fn all_that_left_since_the_start_is_within_rate_times_time_plus_depth_exactly(
            bits in 1u64..2_000_000_000, depth in 1u64..100_000, size in 1u32..2_000, ordinal in 0u64..1_000_000,
        ) {
            let bucket = TokenBucket { bits_per_second: bits, depth };
            let nanos = u128::try_from(bucket.offset(ordinal, size).unwrap().as_nanos()).unwrap();
            let sent = u128::from(ordinal + 1) * u128::from(size);
            let most = |nanos: u128| u128::from(bits) * nanos + u128::from(depth) * SCALE;
            prop_assert!(sent * SCALE <= most(nanos));
            // And it is greedy: a nanosecond earlier there were not enough.
            prop_assert!(nanos == 0 || sent * SCALE > most(nanos - 1));
        }

        #[test]
        fn gaps_are_equal_to_the_nanosecond_where_the_depth_is_the_size(bits in 1u64..2_000_000_000, size in 1u32..2_000, ordinal in 1u64..1_000_000) {
            let bucket = TokenBucket { bits_per_second: bits, depth: u64::from(size) };
            let gap = bucket.offset(ordinal, size).unwrap() - bucket.offset(ordinal - 1, size).unwrap();
            let interval = bucket.interval(size).as_nanos();
            let exact = (u128::from(size) * SCALE).is_multiple_of(u128::from(bits));
            prop_assert!(gap.as_nanos() == interval || (!exact && gap.as_nanos() == interval - 1));
        }

        #[test]
        fn as_many_leave_before_a_time_as_are_counted(bits in 1u64..1_000_000, depth in 1u64..5_000, size in 1u32..1_000, end in 1i64..100_000_000_000) {
            let bucket = TokenBucket { bits_per_second: bits, depth };
            let end = Duration::from_nanos(end);
            let count = bucket.count_before(end, size);
            prop_assert!(count == 0 || bucket.offset(count - 1, size).unwrap() < end);
            prop_assert!(bucket.offset(count, size).unwrap() >= end);
        }
    }
}
