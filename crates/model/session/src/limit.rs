//! A token bucket for each address prefix, in a table of fixed size.
//!
//! The prefix is a /32 of IPv4 or a /56 of IPv6, never the port: one host has one bucket however many ports or
//! addresses it uses. A bucket holds one second of the rate. The table never grows: its place is found with a
//! keyed hash, in a set of [`WAYS`]; a new prefix takes the place of a full bucket (whose owner loses nothing
//! by it), and where all buckets of the set are in use it shares the set's one common bucket. So an attacker who
//! hops through prefixes crowds out only newcomers of the sets it fills, and those still get a share.

use core::hash::Hasher;
use core::net::IpAddr;

use romer_units::{Monotonic, Timestamp};
use siphasher::sip::SipHasher13;

/// Buckets in a set.
pub const WAYS: usize = 8;

const SECOND: u64 = 1_000_000_000;

/// Tokens are counted in packet-nanoseconds, so that filling is exact in integers: a packet costs
/// one second's worth of nanoseconds, and each nanosecond brings as many as the rate.
#[derive(Clone, Copy, Default)]
struct Bucket {
    prefix: u128,
    tokens: u128,
    filled_at: i64,
}

impl Bucket {
    fn fill(&mut self, now: i64, rate: u64) {
        let passed = u128::from(now.saturating_sub(self.filled_at).max(0).unsigned_abs());
        let full = u128::from(rate) * u128::from(SECOND);
        self.tokens = full.min(self.tokens + passed.saturating_mul(u128::from(rate)));
        self.filled_at = self.filled_at.max(now);
    }
    fn take(&mut self) -> bool {
        match self.tokens.checked_sub(u128::from(SECOND)) {
            Some(left) => {
                self.tokens = left;
                true
            }
            None => false,
        }
    }
}

/// Rate limits by prefix.
pub struct Limiter {
    rate: u64,
    key: (u64, u64),
    sets: Vec<[Bucket; WAYS]>,
    common: Vec<Bucket>,
}

impl core::fmt::Debug for Limiter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The key stays secret, also in a log.
        f.debug_struct("Limiter")
            .field("rate", &self.rate)
            .field("sets", &self.sets.len())
            .finish_non_exhaustive()
    }
}

impl Limiter {
    /// A limiter of `rate` packets a second for each prefix, with `sets` sets (rounded up to a power of two) and
    /// a secret key. All memory is taken here.
    pub fn new(rate: u64, sets: usize, key: (u64, u64), now: Timestamp<Monotonic>) -> Self {
        let sets = sets.max(1).next_power_of_two();
        let full =
            Bucket { prefix: 0, tokens: u128::from(rate) * u128::from(SECOND), filled_at: now.as_nanos() };
        Self { rate, key, sets: vec![[full; WAYS]; sets], common: vec![full; sets] }
    }

    /// Whether a packet from `source` may pass now; if so its token is taken.
    pub fn admit(&mut self, source: IpAddr, now: Timestamp<Monotonic>) -> bool {
        let prefix = prefix(source);
        let now = now.as_nanos();
        let mut hasher = SipHasher13::new_with_keys(self.key.0, self.key.1);
        hasher.write_u128(prefix);
        let mask = self.sets.len() - 1;
        let index = usize::try_from(hasher.finish() & u64::try_from(mask).unwrap_or(0)).unwrap_or(0);
        let rate = self.rate;
        let set = &mut self.sets[index];
        if let Some(bucket) = set.iter_mut().find(|bucket| bucket.prefix == prefix) {
            bucket.fill(now, rate);
            return bucket.take();
        }
        let full = u128::from(rate) * u128::from(SECOND);
        for bucket in set.iter_mut() {
            bucket.fill(now, rate);
            if bucket.tokens == full {
                bucket.prefix = prefix;
                return bucket.take();
            }
        }
        let common = &mut self.common[index];
        common.fill(now, rate);
        common.take()
    }
}

/// The prefix that shares a bucket, never zero for a real address (an unused bucket's prefix is).
fn prefix(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(v4) => (1 << 64) | u128::from(u32::from(v4)),
        IpAddr::V6(v6) => (2 << 124) | (u128::from(v6) >> 72),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;

    fn at(nanos: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(nanos)
    }
    const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    #[test]
    fn a_burst_of_one_second_passes_and_no_more_until_the_bucket_fills() {
        let mut limiter = Limiter::new(1_000, 16, (1, 2), at(0));
        let passed = (0..5_000).filter(|_| limiter.admit(HOST, at(0))).count();
        assert_eq!(passed, 1_000);
        assert!(!limiter.admit(HOST, at(999_999)));
        assert!(limiter.admit(HOST, at(1_000_000)), "one token a millisecond");
        assert!(!limiter.admit(HOST, at(1_000_000)));
    }

    #[test]
    fn all_addresses_of_an_ipv6_prefix_share_one_bucket() {
        let mut limiter = Limiter::new(100, 16, (1, 2), at(0));
        let passed = (0..1_000u128)
            .filter(|n| {
                let address = (0x2001_0db8_u128 << 96) | (n << 60 & 0xff << 64) | n;
                limiter.admit(IpAddr::V6(Ipv6Addr::from(address)), at(0))
            })
            .count();
        assert_eq!(passed, 100);
        assert!(limiter.admit(IpAddr::V6(Ipv6Addr::from((0x2001_0db8_u128 << 96) | (1 << 72))), at(0)));
    }

    #[test]
    fn a_mapped_address_is_its_ipv4_host() {
        let mut limiter = Limiter::new(1, 16, (1, 2), at(0));
        assert!(limiter.admit(HOST, at(0)));
        assert!(!limiter.admit("::ffff:192.0.2.1".parse().unwrap(), at(0)));
    }

    #[test]
    fn a_flood_of_prefixes_neither_grows_the_table_nor_shuts_out_a_host_that_is_in_it() {
        let mut limiter = Limiter::new(10, 64, (3, 4), at(0));
        assert!(limiter.admit(HOST, at(0)));
        let memory = (limiter.sets.capacity(), limiter.common.capacity());
        for n in 0..1_000_000u128 {
            limiter.admit(IpAddr::V6(Ipv6Addr::from((0x2001_u128 << 112) | (n << 72))), at(1_000));
        }
        assert_eq!((limiter.sets.capacity(), limiter.common.capacity()), memory);
        assert!(limiter.admit(HOST, at(1_000)), "its bucket was in use, so nobody took it");
        // A newcomer is served within a second, if only from the common bucket.
        assert!(limiter.admit(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)), at(1_000_000_000)));
    }

    proptest! {
        #[test]
        fn never_more_passes_than_rate_times_time_and_one_burst(
            rate in 1u64..5_000, gaps in prop::collection::vec(0i64..3_000_000, 1..400),
        ) {
            let mut limiter = Limiter::new(rate, 4, (7, 8), at(0));
            let mut now = 0;
            let mut passed = 0u128;
            for gap in gaps {
                now += gap;
                passed += u128::from(limiter.admit(HOST, at(now)));
                let bound = u128::from(rate) + u128::from(rate) * u128::from(now.unsigned_abs()) / 1_000_000_000;
                prop_assert!(passed <= bound + 1);
            }
        }

        #[test]
        fn a_clock_that_steps_back_gives_nothing_away(times in prop::collection::vec(0i64..1_000_000, 1..200)) {
            let mut limiter = Limiter::new(1, 4, (7, 8), at(0));
            let passed = times.into_iter().filter(|now| limiter.admit(HOST, at(*now))).count();
            prop_assert_eq!(passed, 1);
        }
    }
}
