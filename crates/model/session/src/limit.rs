//! A token bucket for each address prefix, in a table of fixed size.
//!
//! The prefix is a /32 of IPv4 or a /56 of IPv6, never the port: one host has one bucket however many ports or
//! addresses it uses. A bucket holds one second of the rate. The table never grows: its place is found with a
//! keyed hash, in a set of [`WAYS`]; a new prefix takes the place of a full bucket (whose owner loses nothing
//! by it), and where all buckets of the set are in use it shares the set's one common bucket. So an attacker who
//! hops through prefixes crowds out only newcomers of the sets it fills, and those still get a share.
//!
//! Of the rate of a prefix, a part may be kept for those of its packets that were granted. They have a bucket of their own, which
//! that part fills, and after it the common one of the prefix, which holds and is filled by the rest, and by what the first has
//! no room for. Both together hold one second of the rate and are filled by no more than that: what passes is as bounded
//! as it is without.

use core::hash::Hasher;
use core::net::IpAddr;

use romer_units::{Monotonic, Timestamp};
use siphasher::sip::SipHasher13;

/// Buckets in a set.
pub const WAYS: usize = 8;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Tokens are counted in packet-nanoseconds, so that filling is exact in integers: a packet costs
/// one second's worth of nanoseconds, and each nanosecond brings as many as the rate.
#[derive(Clone, Copy, Default)]
struct Bucket {
    prefix: u128,
    tokens: u128,
    /// Tokens for what was granted, besides.
    kept_tokens: u128,
    /// Packets a second that were granted, of which no more than the rate is kept.
    granted: u64,
    filled_at: i64,
}

/// What a bucket that `rate` fills holds: one second of it.
fn full(rate: u64) -> u128 {
    u128::from(rate) * u128::from(NANOS_PER_SECOND)
}

impl Bucket {
    fn fill(&mut self, now: i64, rate: u64) {
        let passed = u128::from(now.saturating_sub(self.filled_at).max(0).unsigned_abs());
        let brought = passed.saturating_mul(u128::from(rate));
        let part = self.granted.min(rate);
        let kept = passed.saturating_mul(u128::from(part)).min(full(part).saturating_sub(self.kept_tokens));
        self.kept_tokens += kept;
        self.tokens = full(rate - part).min(self.tokens.saturating_add(brought - kept));
        self.filled_at = self.filled_at.max(now);
    }

    /// Takes the token of one packet, which may have been `granted`.
    fn take(&mut self, granted: bool) -> bool {
        let from = |tokens: &mut u128| match tokens.checked_sub(u128::from(NANOS_PER_SECOND)) {
            Some(left) => {
                *tokens = left;
                true
            }
            None => false,
        };
        (granted && from(&mut self.kept_tokens)) || from(&mut self.tokens)
    }

    /// Shares what it holds out anew, where another part of the rate is kept from `now` on: tokens change hands, and none is made.
    fn share_out(&mut self, granted: u64, now: i64, rate: u64) {
        self.fill(now, rate);
        self.granted = granted;
        let part = granted.min(rate);
        let all = self.tokens + self.kept_tokens;
        self.kept_tokens = all.min(full(part));
        self.tokens = all - self.kept_tokens;
    }

    /// Whether its owner loses nothing where another has it.
    fn is_free(&self, rate: u64) -> bool {
        self.granted == 0 && self.tokens == full(rate)
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
        let full = Bucket { tokens: full(rate), filled_at: now.as_nanos(), ..Bucket::default() };
        Self { rate, key, sets: vec![[full; WAYS]; sets], common: vec![full; sets] }
    }

    /// Whether a packet from `source` may pass now; if so its token is taken. For one that was `granted` there is what is kept
    /// besides ([`Self::reserve`]).
    pub fn admit(&mut self, source: IpAddr, granted: bool, now: Timestamp<Monotonic>) -> bool {
        let (now, rate, index) = (now.as_nanos(), self.rate, self.index(source));
        let bucket = match self.own(source, index, now) {
            Some(own) => own,
            None => &mut self.common[index],
        };
        bucket.fill(now, rate);
        bucket.take(granted)
    }

    /// Keeps `rate` packets a second more of what packets from `source` may have for those that were granted, but never more than
    /// there is. `false` where `source` has no bucket of its own and all that it could have are in use: then nothing is kept.
    pub fn reserve(&mut self, source: IpAddr, rate: u64, now: Timestamp<Monotonic>) -> bool {
        let (now, limit) = (now.as_nanos(), self.rate);
        let Some(bucket) = self.own(source, self.index(source), now) else { return false };
        bucket.share_out(bucket.granted.saturating_add(rate), now, limit);
        true
    }

    /// Keeps `rate` packets a second no more that were kept before.
    pub fn give_back(&mut self, source: IpAddr, rate: u64, now: Timestamp<Monotonic>) {
        let (now, limit) = (now.as_nanos(), self.rate);
        if let Some(bucket) = self.own(source, self.index(source), now) {
            bucket.share_out(bucket.granted.saturating_sub(rate), now, limit);
        }
    }

    /// The set of the prefix of `source`.
    fn index(&self, source: IpAddr) -> usize {
        let mut hasher = SipHasher13::new_with_keys(self.key.0, self.key.1);
        hasher.write_u128(prefix(source));
        let mask = self.sets.len() - 1;
        usize::try_from(hasher.finish() & u64::try_from(mask).unwrap_or(0)).unwrap_or(0)
    }

    /// The bucket of the prefix of `source`, whose set is at `index`: the one that it has, or one whose owner loses nothing by it,
    /// if there is any.
    fn own(&mut self, source: IpAddr, index: usize, now: i64) -> Option<&mut Bucket> {
        let (prefix, rate) = (prefix(source), self.rate);
        let set = self.sets.get_mut(index)?;
        let place = set.iter().position(|bucket| bucket.prefix == prefix).or_else(|| {
            set.iter_mut().position(|bucket| {
                bucket.fill(now, rate);
                bucket.is_free(rate)
            })
        })?;
        let bucket = &mut set[place];
        bucket.prefix = prefix;
        Some(bucket)
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

    /// A burst of one second passes, and no more until the bucket refills.
    #[test]
    fn bursts_of_one_second_pass() {
        let mut limiter = Limiter::new(1_000, 16, (1, 2), at(0));
        let passed = (0..5_000).filter(|_| limiter.admit(HOST, false, at(0))).count();
        assert_eq!(passed, 1_000);
        assert!(!limiter.admit(HOST, false, at(999_999)));
        assert!(limiter.admit(HOST, false, at(1_000_000)), "one token a millisecond");
        assert!(!limiter.admit(HOST, false, at(1_000_000)));
    }

    #[test]
    fn all_addresses_of_an_ipv6_prefix_share_one_bucket() {
        let mut limiter = Limiter::new(100, 16, (1, 2), at(0));
        let passed = (0..1_000u128)
            .filter(|n| {
                let address = (0x2001_0db8_u128 << 96) | (n << 60 & 0xff << 64) | n;
                limiter.admit(IpAddr::V6(Ipv6Addr::from(address)), false, at(0))
            })
            .count();
        assert_eq!(passed, 100);
        assert!(limiter.admit(
            IpAddr::V6(Ipv6Addr::from((0x2001_0db8_u128 << 96) | (1 << 72))),
            false,
            at(0)
        ));
        let [own, near, far]: [IpAddr; 3] =
            ["2001:db8:0:1::1", "2001:db8:0:2::9", "2001:db8:0:100::1"].map(|text| text.parse().unwrap());
        assert_eq!(prefix(own), prefix(near));
        assert!(prefix(own) != prefix(far) && prefix(own) != prefix(HOST));
    }

    #[test]
    fn a_mapped_address_is_its_ipv4_host() {
        let mut limiter = Limiter::new(1, 16, (1, 2), at(0));
        assert!(limiter.admit(HOST, false, at(0)));
        assert!(!limiter.admit("::ffff:192.0.2.1".parse().unwrap(), false, at(0)));
    }

    /// A flood of prefixes neither grows the table nor evicts a host that is in it.
    #[test]
    fn prefix_floods_evict_no_known_host() {
        let mut limiter = Limiter::new(10, 64, (3, 4), at(0));
        assert!(limiter.admit(HOST, false, at(0)));
        let memory = (limiter.sets.capacity(), limiter.common.capacity());
        for n in 0..1_000_000u128 {
            limiter.admit(IpAddr::V6(Ipv6Addr::from((0x2001_u128 << 112) | (n << 72))), false, at(1_000));
        }
        assert_eq!((limiter.sets.capacity(), limiter.common.capacity()), memory);
        assert!(limiter.admit(HOST, false, at(1_000)), "its bucket was in use, so nobody took it");
        // A newcomer is served within a second, if only from the common bucket.
        assert!(limiter.admit(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7)), false, at(1_000_000_000)));
    }

    /// How many of 100 granted packets a second pass in twenty seconds beside ungranted ones every 2 ms, each of which comes just
    /// before one of them, and how many of these.
    fn beside_a_flood(limiter: &mut Limiter) -> [usize; 2] {
        let mut passed = [0; 2];
        for tick in 0..20_000 {
            let due = [tick % 2 == 0, tick % 10 == 0];
            for (granted, _) in due.iter().enumerate().filter(|(_, due)| **due) {
                passed[granted] += usize::from(limiter.admit(HOST, granted == 1, at(tick * 1_000_000)));
            }
        }
        [passed[1], passed[0]]
    }

    /// A reserved rate passes during a flood of the same address; the flood gets the rest.
    #[test]
    fn reserved_rates_survive_floods() {
        let mut without = Limiter::new(200, 16, (1, 2), at(0));
        let [granted, flood] = beside_a_flood(&mut without);
        assert!(granted < 100 && flood > 3_900, "{granted} and {flood}: the flood takes each token");
        let mut limiter = Limiter::new(200, 16, (1, 2), at(0));
        assert!(limiter.reserve(HOST, 101, at(0)));
        let [granted, flood] = beside_a_flood(&mut limiter);
        assert_eq!(granted, 2_000);
        assert!((2_000..=2_200).contains(&flood), "{flood}");
        // As it was, once it is given back.
        limiter.give_back(HOST, 101, at(20_000_000_000));
        limiter.give_back(HOST, 101, at(20_000_000_000));
        let passed = (0..1_000).filter(|_| limiter.admit(HOST, false, at(22_000_000_000))).count();
        assert_eq!(passed, 200);
    }

    #[test]
    fn what_is_kept_and_not_used_is_for_all() {
        let mut limiter = Limiter::new(100, 16, (1, 2), at(0));
        assert!(limiter.reserve(HOST, 500, at(0)), "of more than there is, all is kept");
        let in_second = |limiter: &mut Limiter, second: i64| {
            let moments = (0..1_000).map(|now| at(second * 1_000_000_000 + now * 1_000_000));
            moments.filter(|now| limiter.admit(HOST, false, *now)).count()
        };
        assert_eq!(in_second(&mut limiter, 0), 0, "it is kept full, and nothing is left over for a burst");
        let _ = limiter.admit(HOST, true, at(1_000_000_000));
        assert!((0..2).all(|second| in_second(&mut limiter, second + 1) <= 100));
    }

    #[test]
    fn a_bucket_of_which_something_is_kept_is_not_given_to_another_and_in_a_full_set_nothing_is_kept() {
        let hosts = |n: u32| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n));
        let mut limiter = Limiter::new(10, 1, (1, 2), at(0));
        assert!((0..8).all(|n| limiter.reserve(hosts(n), 5, at(0))));
        assert!(!limiter.reserve(hosts(8), 5, at(0)) && !limiter.reserve(hosts(9), 5, at(9_000_000_000)));
        let burst = |limiter: &mut Limiter, n, granted| {
            (0..20).filter(|_| limiter.admit(hosts(n), granted, at(9_000_000_000))).count()
        };
        assert_eq!([8, 9].map(|n| burst(&mut limiter, n, true)), [10, 0], "the common bucket of all others");
        assert_eq!(
            [(0, false), (0, true), (1, true)].map(|(n, granted)| burst(&mut limiter, n, granted)),
            [5, 5, 10]
        );
        limiter.give_back(hosts(2), 5, at(9_000_000_000));
        assert!(limiter.reserve(hosts(9), 5, at(9_000_000_000)), "nobody needs that any more");
    }

    proptest! {
        #[test]
        fn never_more_passes_than_rate_times_time_and_one_burst_whatever_is_kept(
            rate in 1u64..2_000,
            steps in prop::collection::vec((0i64..3_000_000, 0u64..6, 0u64..3_000), 1..400),
        ) {
            let mut limiter = Limiter::new(rate, 1, (7, 8), at(0));
            let (mut now, mut passed) = (0, 0u128);
            for (gap, what, share) in steps {
                now += gap;
                match what {
                    0 => { limiter.reserve(HOST, share, at(now)); }
                    1 => limiter.give_back(HOST, share, at(now)),
                    _ => passed += (0..share / 20)
                        .map(|_| u128::from(limiter.admit(HOST, what % 2 == 0, at(now))))
                        .sum::<u128>(),
                }
                let bound = u128::from(rate) + u128::from(rate) * u128::from(now.unsigned_abs()) / 1_000_000_000;
                prop_assert!(passed <= bound + 1);
            }
        }

        #[test]
        fn never_more_passes_than_rate_times_time_and_one_burst(
            rate in 1u64..5_000, gaps in prop::collection::vec(0i64..3_000_000, 1..400),
        ) {
            let mut limiter = Limiter::new(rate, 4, (7, 8), at(0));
            let mut now = 0;
            let mut passed = 0u128;
            for gap in gaps {
                now += gap;
                passed += u128::from(limiter.admit(HOST, false, at(now)));
                let bound = u128::from(rate) + u128::from(rate) * u128::from(now.unsigned_abs()) / 1_000_000_000;
                prop_assert!(passed <= bound + 1);
            }
        }

        #[test]
        fn a_clock_that_steps_back_gives_nothing_away(times in prop::collection::vec(0i64..1_000_000, 1..200)) {
            let mut limiter = Limiter::new(1, 4, (7, 8), at(0));
            let passed = times.into_iter().filter(|now| limiter.admit(HOST, false, at(*now))).count();
            prop_assert_eq!(passed, 1);
        }
    }
}
