//! Sessions, rates and memory in use, by network and in total.

use std::collections::HashMap;

use romer_session::control::Server;
use romer_session::network::ClientNetwork;

/// A network may have one part in so many of what all may have.
pub(crate) const NETWORKS: usize = 4;

/// Resources allocated to one connection, or to several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Allocation {
    /// Connections without a session.
    pub(super) pending: usize,
    pub(super) sessions: usize,
    /// Sessions in which this end sends.
    pub(super) senders: usize,
    /// Packets a second that come, and that this end sends.
    pub(super) coming: u64,
    pub(super) own: u64,
    /// Bits a second that this end sends.
    pub(super) own_bits: u64,
    /// Departures of recorded streams that were told.
    pub(super) departures: usize,
    /// Records that may be buffered.
    pub(super) records: usize,
    /// Octets of memory for what has come and is not read, for what waits to be written and for what is kept for a resumption: of
    /// connections without a session, and of those with one.
    pub(super) unasked: usize,
    pub(super) buffered: usize,
}

impl Allocation {
    /// The limit of what has none.
    pub(super) const UNLIMITED: Self = Self {
        pending: usize::MAX,
        sessions: usize::MAX,
        senders: usize::MAX,
        coming: u64::MAX,
        own: u64::MAX,
        own_bits: u64::MAX,
        departures: usize::MAX,
        records: usize::MAX,
        unasked: usize::MAX,
        buffered: usize::MAX,
    };

    /// What a connection has that buffers so many `octets`; of one that is being closed a session counts no more.
    pub(super) fn new(server: &Server, octets: usize, is_closing: bool) -> Self {
        let pending = Self { pending: 1, unasked: octets, ..Self::default() };
        if is_closing {
            return pending;
        }
        let departures = server.told_departures();
        if !server.has_session() {
            return Self { departures, ..pending };
        }
        let own = server.own_rate();
        Self {
            pending: 0,
            sessions: 1,
            senders: usize::from(own > 0),
            coming: server.coming_rate(),
            own,
            own_bits: server.own_bits(),
            departures,
            records: server.buffered_records(),
            unasked: 0,
            buffered: octets,
        }
    }

    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, usize::saturating_add, u64::saturating_add)
    }

    /// What is left without `other`.
    pub(super) fn minus(self, other: Self) -> Self {
        self.with(other, usize::saturating_sub, u64::saturating_sub)
    }

    /// Whether it has some of what `excess` has.
    pub(super) fn has_some_of(self, excess: Self) -> bool {
        self.with(excess, usize::min, u64::min) != Self::default()
    }

    fn with(self, other: Self, count: fn(usize, usize) -> usize, rate: fn(u64, u64) -> u64) -> Self {
        Self {
            pending: count(self.pending, other.pending),
            sessions: count(self.sessions, other.sessions),
            senders: count(self.senders, other.senders),
            coming: rate(self.coming, other.coming),
            own: rate(self.own, other.own),
            own_bits: rate(self.own_bits, other.own_bits),
            departures: count(self.departures, other.departures),
            records: count(self.records, other.records),
            unasked: count(self.unasked, other.unasked),
            buffered: count(self.buffered, other.buffered),
        }
    }
}

/// Allocations by network and in total. Each change takes constant time.
#[derive(Debug, Default)]
pub(super) struct Quotas {
    networks: HashMap<ClientNetwork, Allocation>,
    all: Allocation,
}

/// The networks for which one connection counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CountedNetworks {
    pub(super) own: ClientNetwork,
    /// That of the address that its session has proved, where it has gone on from another one and has not proved that.
    pub(super) proved: Option<ClientNetwork>,
}

impl CountedNetworks {
    pub(super) fn has(self, network: ClientNetwork) -> bool {
        self.own == network || self.proved == Some(network)
    }
}

impl Quotas {
    /// A connection that counts for these networks and had `before` has `now`.
    pub(super) fn replace(&mut self, counted: CountedNetworks, before: Allocation, now: Allocation) {
        self.all = self.all.plus(now).minus(before);
        for network in [Some(counted.own), counted.proved].into_iter().flatten() {
            let own = self.networks.entry(network).or_default();
            *own = own.plus(now).minus(before);
            if *own == Allocation::default() {
                self.networks.remove(&network);
            }
        }
    }

    pub(super) const fn all(&self) -> Allocation {
        self.all
    }

    pub(super) fn network(&self, network: ClientNetwork) -> Allocation {
        self.networks.get(&network).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> CountedNetworks {
        CountedNetworks { own: ClientNetwork::from_address(address.parse().unwrap()), proved: None }
    }

    /// Totals are the sums of what is there, and a network without connections is forgotten.
    #[test]
    fn sums_follow_replacements() {
        let [one, other] = ["192.0.2.1", "2001:db8::1"].map(network);
        let none = Allocation::default();
        let pending = Allocation { pending: 1, ..none };
        let session = Allocation { sessions: 1, coming: 50, records: 64, ..none };
        let mut shares = Quotas::default();
        (0..3).for_each(|_| shares.replace(one, none, pending));
        shares.replace(other, none, pending);
        assert_eq!((shares.all().pending, shares.network(one.own).pending), (4, 3));
        shares.replace(one, pending, session);
        shares.replace(one, pending, session);
        assert_eq!(
            shares.network(one.own),
            Allocation { pending: 1, sessions: 2, coming: 100, records: 128, ..none }
        );
        assert_eq!(shares.all().minus(shares.network(one.own)), pending);
        shares.replace(one, session, none);
        shares.replace(one, session, none);
        shares.replace(one, pending, none);
        assert_eq!((shares.networks.len(), shares.network(one.own)), (1, none));
    }
}
