//! What a responder sends of its own: token buckets in packets and in bits, for each network and in total, that hold
//! over all sessions and whatever their schedules.
//!
//! A bucket holds what its rate brings in one second, so that in any time t at most rate * (t + 1 s) leaves. The
//! threads that send share the buckets without a lock: each is one moment, when it would be full again (the generic
//! cell rate algorithm), and a packet moves that moment by what it costs.

use core::net::IpAddr;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::Arc;

use romer_units::{Monotonic, Timestamp};

use crate::network::ClientNetwork;

/// Bits a second that one network is sent by a responder that is open to all.
pub const OPEN_NETWORK_BITS: u64 = 10_000_000;
/// Bits a second that all networks together are sent by a responder that is open to all.
pub const OPEN_TOTAL_BITS: u64 = 100_000_000;

const SECOND_NS: i64 = 1_000_000_000;

/// Rates of a [`SendLimit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendRates {
    /// Packets a second to one network.
    pub packets: u64,
    /// Bits of IP packets a second to one network; `None` for no limit.
    pub network_bits: Option<u64>,
    /// Bits of IP packets a second in total; `None` for no limit.
    pub total_bits: Option<u64>,
}

impl SendRates {
    /// `packets` a second to one network. A responder that is open to all is limited in bits as well.
    pub const fn new(packets: u64, is_open: bool) -> Self {
        if is_open {
            Self { packets, network_bits: Some(OPEN_NETWORK_BITS), total_bits: Some(OPEN_TOTAL_BITS) }
        } else {
            Self { packets, network_bits: None, total_bits: None }
        }
    }
}

/// Which limit a packet exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Excess {
    /// Packets a second to its network.
    Packets,
    /// Bits a second to its network.
    NetworkBits,
    /// Bits a second in total.
    TotalBits,
}

/// What was sent, and what was held back by which limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounts {
    /// Packets sent.
    pub sent: u64,
    /// Their octets of UDP payload.
    pub octets: u64,
    /// [`Excess::Packets`].
    pub over_packets: u64,
    /// [`Excess::NetworkBits`].
    pub over_network_bits: u64,
    /// [`Excess::TotalBits`].
    pub over_total_bits: u64,
}

#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    octets: AtomicU64,
    over: [AtomicU64; 3],
}

/// A token bucket, by the moment when it is full again.
#[derive(Debug)]
struct Bucket {
    rate: u64,
    full_at: AtomicI64,
}

impl Bucket {
    const fn new(rate: u64) -> Self {
        Self { rate, full_at: AtomicI64::new(i64::MIN) }
    }

    /// Nanoseconds that the rate takes to bring `units`.
    fn cost(&self, units: u64) -> i64 {
        let nanos = u128::from(units) * u128::from(SECOND_NS.unsigned_abs()) / u128::from(self.rate.max(1));
        i64::try_from(nanos).unwrap_or(i64::MAX)
    }

    /// Takes `units`, if the bucket holds them at `now`.
    fn take(&self, units: u64, now: i64) -> bool {
        let cost = self.cost(units);
        let taken = |full_at: i64| {
            let after = full_at.max(now).saturating_add(cost);
            (after.saturating_sub(now) <= SECOND_NS).then_some(after)
        };
        self.full_at.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).is_ok()
    }

    /// Puts `units` back that were taken and not used.
    fn put_back(&self, units: u64) {
        self.full_at.fetch_sub(self.cost(units), Ordering::AcqRel);
    }

    fn is_full(&self, now: i64) -> bool {
        self.full_at.load(Ordering::Acquire) <= now
    }
}

#[derive(Debug)]
struct NetworkBuckets {
    packets: Bucket,
    bits: Option<Bucket>,
}

impl NetworkBuckets {
    fn is_full(&self, now: i64) -> bool {
        self.packets.is_full(now) && self.bits.as_ref().is_none_or(|bits| bits.is_full(now))
    }
}

/// The limits of everything that a responder sends of its own.
#[derive(Debug)]
pub struct SendLimit {
    rates: SendRates,
    /// Of the networks that are sent to, and of those that were until their buckets are full.
    networks: HashMap<ClientNetwork, Arc<NetworkBuckets>>,
    total: Option<Arc<Bucket>>,
    counters: Arc<Counters>,
}

impl SendLimit {
    /// Limits with these rates; all buckets are full.
    pub fn new(rates: SendRates) -> Self {
        let total = rates.total_bits.map(|rate| Arc::new(Bucket::new(rate)));
        Self { rates, networks: HashMap::new(), total, counters: Arc::default() }
    }

    /// The part of it that whoever sends to `to` must ask for every packet. Not to be called for every packet: it
    /// allocates, and forgets networks that nobody sends to.
    pub fn part(&mut self, to: IpAddr, now: Timestamp<Monotonic>) -> SendPart {
        self.networks.retain(|_, one| Arc::strong_count(one) > 1 || !one.is_full(now.as_nanos()));
        let rates = self.rates;
        let network = self.networks.entry(ClientNetwork::from_address(to)).or_insert_with(|| {
            let bits = rates.network_bits.map(Bucket::new);
            Arc::new(NetworkBuckets { packets: Bucket::new(rates.packets), bits })
        });
        SendPart {
            headers: if to.to_canonical().is_ipv4() { 28 } else { 48 },
            network: Arc::clone(network),
            total: self.total.clone(),
            counters: Arc::clone(&self.counters),
        }
    }

    /// What was sent and held back.
    pub fn counts(&self) -> SendCounts {
        let [sent, octets] =
            [&self.counters.sent, &self.counters.octets].map(|one| one.load(Ordering::Relaxed));
        let [over_packets, over_network_bits, over_total_bits] =
            self.counters.over.each_ref().map(|one| one.load(Ordering::Relaxed));
        SendCounts { sent, octets, over_packets, over_network_bits, over_total_bits }
    }
}

/// The part of a [`SendLimit`] that bounds what is sent to one address.
#[derive(Debug)]
pub struct SendPart {
    /// Octets of IP and UDP before the payload.
    headers: u64,
    network: Arc<NetworkBuckets>,
    total: Option<Arc<Bucket>>,
    counters: Arc<Counters>,
}

impl SendPart {
    /// Whether a packet with so many octets of UDP payload may leave at `now`. If so, its tokens are taken.
    ///
    /// # Errors
    /// [`Excess`], which is also counted.
    pub fn admit(&self, payload: usize, now: Timestamp<Monotonic>) -> Result<(), Excess> {
        let bits = u64::try_from(payload).unwrap_or(u64::MAX).saturating_add(self.headers).saturating_mul(8);
        self.take(bits, now.as_nanos()).inspect_err(|excess| {
            let over = match excess {
                Excess::Packets => 0,
                Excess::NetworkBits => 1,
                Excess::TotalBits => 2,
            };
            self.counters.over[over].fetch_add(1, Ordering::Relaxed);
        })
    }

    fn take(&self, bits: u64, now: i64) -> Result<(), Excess> {
        if !self.network.packets.take(1, now) {
            return Err(Excess::Packets);
        }
        if !self.network.bits.as_ref().is_none_or(|bucket| bucket.take(bits, now)) {
            self.network.packets.put_back(1);
            return Err(Excess::NetworkBits);
        }
        if !self.total.as_ref().is_none_or(|bucket| bucket.take(bits, now)) {
            self.network.packets.put_back(1);
            self.network.bits.iter().for_each(|bucket| bucket.put_back(bits));
            return Err(Excess::TotalBits);
        }
        Ok(())
    }

    /// A packet that was admitted has left.
    pub fn on_sent(&self, payload: usize) {
        self.counters.sent.fetch_add(1, Ordering::Relaxed);
        self.counters.octets.fetch_add(u64::try_from(payload).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(nanos)
    }
    fn host(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// 2,000 packets that are due at one instant, again and again: the first second's worth leaves, and after it what
    /// the rate brings.
    #[test]
    fn bursts_are_held_back() {
        let mut limit = SendLimit::new(SendRates::new(2_000, false));
        let part = limit.part(host("192.0.2.1"), at(0));
        let mut sent = [0; 5];
        for (second, sent) in sent.iter_mut().enumerate() {
            for burst in 0..5 {
                let now = at(i64::try_from(second).unwrap() * SECOND_NS + burst * 200_000_000);
                *sent += (0..2_000).filter(|_| part.admit(44, now).is_ok()).count();
            }
        }
        assert_eq!(sent, [3_600, 2_000, 2_000, 2_000, 2_000]);
        let counts = limit.counts();
        assert_eq!((counts.over_packets, counts.over_network_bits), (50_000 - 11_600, 0));
    }

    /// All hosts of a /24 or a /56 share its buckets, over all sessions and after a session has ended.
    #[test]
    fn a_network_shares_its_buckets() {
        let mut limit = SendLimit::new(SendRates::new(100, false));
        for hosts in [
            ["192.0.2.1", "192.0.2.99", "::ffff:192.0.2.7"],
            ["2001:db8::1", "2001:db8:0:ff::2", "2001:db8::3"],
        ] {
            let mut sent = 0;
            for host in hosts.map(host) {
                let part = limit.part(host, at(0));
                sent += (0..80).filter(|_| part.admit(44, at(0)).is_ok()).count();
            }
            assert_eq!(sent, 100, "{hosts:?}");
        }
        let other = limit.part(host("192.0.3.1"), at(0));
        assert_eq!((0..200).filter(|_| other.admit(44, at(0)).is_ok()).count(), 100);
    }

    /// A responder that is open to all sends 10 Mbit/s to one network and 100 Mbit/s in total, headers of IP included.
    #[test]
    fn open_responders_are_limited_in_bits() {
        let mut limit = SendLimit::new(SendRates::new(1_000_000, true));
        let parts: Vec<SendPart> =
            (0..20u8).map(|net| limit.part(IpAddr::from([10, 0, net, 1]), at(0))).collect();
        let mut bits = [0u64; 20];
        let mut excess = [0u64; 2];
        for tick in 0..20_000 {
            for (part, bits) in parts.iter().zip(&mut bits) {
                match part.admit(1_222, at(tick * 100_000)) {
                    Ok(()) => *bits += 1_250 * 8,
                    Err(Excess::NetworkBits) => excess[0] += 1,
                    Err(Excess::TotalBits) => excess[1] += 1,
                    Err(Excess::Packets) => panic!("a million packets a second were allowed"),
                }
            }
        }
        // Two seconds, and what the buckets held.
        let total: u64 = bits.iter().sum();
        assert!((299_000_000..=300_000_000).contains(&total), "{total}");
        assert!(bits.iter().all(|bits| *bits <= 30_000_000), "{bits:?}");
        assert!(excess.iter().all(|count| *count > 0), "{excess:?}");
        let counts = limit.counts();
        assert_eq!([counts.over_network_bits, counts.over_total_bits], excess);
    }

    /// A packet that one bucket does not admit takes nothing from the others.
    #[test]
    fn refused_packets_cost_nothing() {
        let rates = SendRates { packets: 10, network_bits: Some(1_000_000), total_bits: Some(1_000) };
        let mut limit = SendLimit::new(rates);
        let part = limit.part(host("192.0.2.1"), at(0));
        assert_eq!(part.admit(100, at(0)), Err(Excess::TotalBits));
        assert_eq!((0..20).filter(|_| part.admit(100, at(0)).is_err()).count(), 20);
        assert!(part.network.is_full(0), "all was put back");
        assert_eq!(part.admit(97, at(0)), Ok(()), "125 octets are all that there is");
        assert_eq!(part.admit(0, at(0)), Err(Excess::TotalBits));
    }

    /// Networks that nobody sends to are forgotten once their buckets are full, and not before.
    #[test]
    fn idle_networks_are_forgotten() {
        let mut limit = SendLimit::new(SendRates::new(1_000, false));
        for net in 0..=255u8 {
            let part = limit.part(IpAddr::from([10, 0, net, 1]), at(0));
            assert_eq!((0..1_000).filter(|_| part.admit(44, at(0)).is_ok()).count(), 1_000);
        }
        assert_eq!(limit.networks.len(), 256);
        drop(limit.part(host("10.0.0.2"), at(SECOND_NS - 1)));
        assert_eq!(limit.networks.len(), 256, "opened anew, a session finds the bucket as it left it");
        drop(limit.part(host("10.1.0.1"), at(SECOND_NS)));
        assert_eq!(limit.networks.len(), 1);
    }

    proptest! {
        /// In any time no more leaves than the rate brings in it and one second more, and a stream that keeps to the rate is
        /// never held back.
        #[test]
        fn rates_are_kept(rate in 1u64..5_000, gaps in prop::collection::vec(0i64..3_000_000, 1..400)) {
            let mut limit = SendLimit::new(SendRates::new(rate, false));
            let part = limit.part(host("192.0.2.1"), at(0));
            let (mut now, mut passed) = (0, 0u64);
            for gap in gaps {
                now += gap;
                passed += u64::from(part.admit(44, at(now)).is_ok());
                // Costs are whole nanoseconds, rounded down: a rate of 5,000 is exceeded by at most 1 in 200,000.
                let bound = rate + rate * now.unsigned_abs() / 1_000_000_000 + 2;
                prop_assert!(passed <= bound);
            }
            let other = limit.part(host("192.0.3.1"), at(0));
            let interval = (1_000_000_000u64.div_ceil(rate)).cast_signed();
            prop_assert!((0..1_000).all(|n| other.admit(44, at(n * interval)).is_ok()));
        }
    }
}
