//! What arriving packets carried: hops and code points.

use std::collections::BTreeMap;

use romer_record::OneWaySingleton;
use romer_record::document::{Ttl, TtlChange};
use romer_units::{Dscp, Ecn};

use crate::sample::received;

/// What the packets that arrived carried, counted.
pub(crate) struct HeaderCounters {
    ttl: Option<[u8; 2]>,
    dscp: [u64; 64],
    ecn: [u64; 4],
}

impl HeaderCounters {
    pub(crate) fn count(singletons: &[OneWaySingleton]) -> Self {
        let mut seen = Self { ttl: None, dscp: [0; 64], ecn: [0; 4] };
        for singleton in received(singletons) {
            if let Some(ttl) = singleton.ttl {
                let [least, most] = seen.ttl.unwrap_or([ttl; 2]);
                seen.ttl = Some([least.min(ttl), most.max(ttl)]);
            }
            if let Some(tos) = singleton.tos {
                seen.dscp[usize::from(Dscp::of_tos(tos).value())] += 1;
                seen.ecn[usize::from(Ecn::of_tos(tos).bits() & 0b11)] += 1;
            }
        }
        seen
    }

    /// How many packets arrived with each code point, by its name.
    pub(crate) fn dscp(&self) -> BTreeMap<String, u64> {
        let named = (0_u8..).zip(self.dscp).filter(|(_, count)| *count > 0);
        named.filter_map(|(value, count)| Some((Dscp::new(value)?.to_string(), count))).collect()
    }

    /// How many packets arrived with each setting of the ECN bits, by its name.
    pub(crate) fn ecn(&self) -> BTreeMap<String, u64> {
        let named = (0_u8..).zip(self.ecn).filter(|(_, count)| *count > 0);
        named.map(|(bits, count)| (Ecn::of_tos(bits).to_string(), count)).collect()
    }

    pub(crate) fn ttl(&self, changes: Vec<TtlChange>) -> Ttl {
        let [min, max] = [0, 1].map(|end: usize| self.ttl.map(|span| span[end]));
        let mut ttl = Ttl { min, max, ..Ttl::default() };
        ttl.list(changes);
        ttl
    }
}

/// The packets that arrived with another time to live than the one sent before them, of those that arrived, and what that one's
/// was. By the order of sending: where packets overtake each other, one change of the route is many in the order of arrival.
pub(crate) fn changed_ttl(singletons: &[OneWaySingleton]) -> impl Iterator<Item = (u8, &OneWaySingleton)> {
    let mut last = None;
    received(singletons).filter_map(move |singleton| {
        let to = singleton.ttl?;
        let from = last.replace(to)?;
        (from != to).then_some((from, singleton))
    })
}

pub(crate) fn ttl_changes(singletons: &[OneWaySingleton]) -> Vec<TtlChange> {
    let change = |(from, singleton): (u8, &OneWaySingleton)| {
        Some(TtlChange { sequence: singleton.sequence, from, to: singleton.ttl? })
    };
    changed_ttl(singletons).filter_map(change).collect()
}

/// Time to live, or hop limit, of the packets that arrived; changes in the order in which they were sent.
pub fn ttl(singletons: &[OneWaySingleton]) -> Ttl {
    HeaderCounters::count(singletons).ttl(ttl_changes(singletons))
}

/// How many packets arrived with each code point, by its name.
pub fn dscp_received(singletons: &[OneWaySingleton]) -> BTreeMap<String, u64> {
    HeaderCounters::count(singletons).dscp()
}

/// How many packets arrived with each setting of the ECN bits, by its name.
pub fn ecn_received(singletons: &[OneWaySingleton]) -> BTreeMap<String, u64> {
    HeaderCounters::count(singletons).ecn()
}
