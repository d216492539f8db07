//! Replies to an address that no session has proved, under the number of a session. A NAT may have changed the address of the
//! session's sender. When the sender proves the new address, these replies are assigned to its session.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use romer_record::log::ResponderRecord;

/// Records that are kept at the most; the oldest make room.
const MAX_RECORDS: usize = 1 << 14;

/// Records of such replies. A record is found by the number and the address of its request, so that a claim costs what it
/// gives, however many others are kept.
#[derive(Debug, Default)]
pub(super) struct UnvalidatedAddresses {
    numbers: HashMap<u16, Number>,
    /// The number and the address of each record, by the place of the record in the order of their coming.
    order: BTreeMap<u64, (u16, SocketAddr)>,
    next: u64,
    /// How many records were looked at.
    visited: u64,
}

/// What is known of one session number.
#[derive(Debug, Default)]
struct Number {
    /// How many sessions have it.
    open: usize,
    /// Records with their places, in order.
    kept: HashMap<SocketAddr, VecDeque<(u64, ResponderRecord)>>,
}

impl UnvalidatedAddresses {
    /// A session of this number is there.
    pub(super) fn open(&mut self, ssid: u16) {
        self.numbers.entry(ssid).or_default().open += 1;
    }

    /// It is no more.
    pub(super) fn close(&mut self, ssid: u16) {
        let Some(number) = self.numbers.get_mut(&ssid) else { return };
        number.open -= 1;
        if number.open == 0
            && let Some(number) = self.numbers.remove(&ssid)
        {
            for (place, _) in number.kept.values().flatten() {
                self.order.remove(place);
                self.visited += 1;
            }
        }
    }

    /// Whether some session may claim what has this number.
    pub(super) fn may_be_claimed(&self, ssid: u16) -> bool {
        self.numbers.contains_key(&ssid)
    }

    /// Keeps the record of an answer to `peer`, with the number of its packet as it was sent.
    pub(super) fn store(&mut self, peer: SocketAddr, ssid: u16, record: ResponderRecord) {
        if !self.may_be_claimed(ssid) {
            return;
        }
        if self.order.len() >= MAX_RECORDS {
            self.drop_oldest();
        }
        if let Some(number) = self.numbers.get_mut(&ssid) {
            number.kept.entry(peer).or_default().push_back((self.next, record));
            self.order.insert(self.next, (ssid, peer));
            self.next += 1;
        }
    }

    fn drop_oldest(&mut self) {
        self.visited += 1;
        let Some((_, (ssid, peer))) = self.order.pop_first() else { return };
        let Some(number) = self.numbers.get_mut(&ssid) else { return };
        if let Some(records) = number.kept.get_mut(&peer) {
            records.pop_front();
            if records.is_empty() {
                number.kept.remove(&peer);
            }
        }
    }

    /// `peer` is proved to be the sender of session `ssid`: gives what it was answered before, in order.
    pub(super) fn claim(&mut self, peer: SocketAddr, ssid: u16) -> Vec<ResponderRecord> {
        let records = self.numbers.get_mut(&ssid).and_then(|number| number.kept.remove(&peer));
        let claimed = records.into_iter().flatten().map(|(place, record)| {
            self.order.remove(&place);
            self.visited += 1;
            record
        });
        claimed.collect()
    }

    /// The sender of session `ssid` is found at another address than before, and may have been at others meanwhile that it never
    /// proved, as where a NAT has made one mapping after the other. Gives what was answered to any but the new one, `peer`,
    /// `between` these moments (nanoseconds of the real-time clock), of the packets of whose numbers, as they were sent,
    /// `is_missing` says that the session has not had them; so far as there is no other session of this number, whose it could be.
    pub(super) fn claim_between(
        &mut self,
        (peer, ssid): (SocketAddr, u16),
        between: [i64; 2],
        is_missing: impl Fn(u64) -> bool,
    ) -> Vec<(SocketAddr, ResponderRecord)> {
        let Some(number) = self.numbers.get_mut(&ssid).filter(|number| number.open == 1) else {
            return Vec::new();
        };
        let is_theirs = |record: &ResponderRecord| {
            let came = record.t2_kernel_ns.unwrap_or(record.t2_user_ns);
            between[0] <= came && came <= between[1] && is_missing(record.sequence)
        };
        let mut claimed = Vec::new();
        for (from, records) in number.kept.iter_mut().filter(|(from, _)| **from != peer) {
            self.visited += u64::try_from(records.len()).unwrap_or(u64::MAX);
            records.retain(|(place, record)| {
                let is_theirs = is_theirs(record);
                if is_theirs {
                    claimed.push((*place, (*from, *record)));
                    self.order.remove(place);
                }
                !is_theirs
            });
        }
        number.kept.retain(|_, records| !records.is_empty());
        claimed.sort_unstable_by_key(|(place, _)| *place);
        claimed.into_iter().map(|(_, record)| record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the session that proves an address gets the replies to it.
    #[test]
    fn proof_claims_own_replies_only() {
        let [one, other]: [SocketAddr; 2] = ["192.0.2.1:9", "192.0.2.2:9"].map(|at| at.parse().unwrap());
        let record = |sequence| ResponderRecord { sequence, ..ResponderRecord::default() };
        let mut unclaimed = UnvalidatedAddresses::default();
        unclaimed.store(one, 7, record(0));
        assert!(unclaimed.claim(one, 7).is_empty(), "no session has that number");
        unclaimed.open(7);
        unclaimed.open(8);
        for (peer, ssid, sequence) in [(one, 7, 1), (other, 7, 2), (one, 8, 3), (one, 7, 4)] {
            unclaimed.store(peer, ssid, record(sequence));
        }
        assert_eq!(unclaimed.claim(one, 7), [record(1), record(4)]);
        assert!(unclaimed.claim(one, 7).is_empty(), "each is claimed once");
        unclaimed.close(7);
        unclaimed.open(7);
        assert!(unclaimed.claim(other, 7).is_empty(), "that was another session's");
        (0..MAX_RECORDS as u64 + 5).for_each(|sequence| unclaimed.store(other, 8, record(sequence)));
        let claimed = unclaimed.claim(other, 8);
        assert_eq!((claimed.len(), claimed[0].sequence), (MAX_RECORDS - 1 + 1, 5));
    }

    /// Replies to a NAT mapping that was replaced before its proof are assigned only if one session matches.
    #[test]
    fn replaced_mappings_are_claimed_if_unique() {
        let [between, new]: [SocketAddr; 2] = ["192.0.2.1:25", "192.0.2.1:30"].map(|at| at.parse().unwrap());
        let record = |sequence| ResponderRecord {
            sequence,
            t2_user_ns: i64::try_from(10 * sequence).unwrap(),
            ..ResponderRecord::default()
        };
        let kept = |ssids: &[u16]| {
            let mut unclaimed = UnvalidatedAddresses::default();
            ssids.iter().for_each(|ssid| unclaimed.open(*ssid));
            (0..30).for_each(|number| unclaimed.store(between, 7, record(number)));
            (15..20).for_each(|number| unclaimed.store(new, 7, record(number)));
            unclaimed
        };
        let claim = |unclaimed: &mut UnvalidatedAddresses, is_missing: &dyn Fn(u64) -> bool| -> Vec<u64> {
            let all = unclaimed.claim_between((new, 7), [70, 180], is_missing);
            assert!(all.iter().all(|(from, _)| *from == between));
            all.iter().map(|(_, record)| record.sequence).collect()
        };
        let mut own = kept(&[7, 8]);
        assert_eq!(claim(&mut own, &|number| (10..15).contains(&number)), [10, 11, 12, 13, 14]);
        assert!(claim(&mut own, &|number| (10..15).contains(&number)).is_empty(), "each is claimed once");
        let by_their_time: Vec<u64> = (7..=18).collect();
        assert_eq!(claim(&mut kept(&[7]), &|_| true), by_their_time);
        assert!(claim(&mut kept(&[7, 7]), &|_| true).is_empty(), "it may be the other's");
    }

    /// A claim looks at the records of its session and of no other, and so do the end of a session and a record that finds no
    /// room, whose oldest goes.
    #[test]
    fn claims_cost_what_they_give() {
        let at = |port: u64| SocketAddr::from(([192, 0, 2, 1], u16::try_from(port).unwrap()));
        let record = |sequence| ResponderRecord { sequence, ..ResponderRecord::default() };
        let mut unclaimed = UnvalidatedAddresses::default();
        (0..100).for_each(|ssid| unclaimed.open(ssid));
        let most = u64::try_from(MAX_RECORDS).unwrap();
        // Every port of a host, for a hundred sessions.
        let ssid = |n: u64| u16::try_from(n % 100).unwrap();
        (0..most).for_each(|n| unclaimed.store(at(n), ssid(n), record(n)));
        let mut visited = 0;
        let mut costs = |unclaimed: &UnvalidatedAddresses, most: u64| {
            assert!(unclaimed.visited - visited <= most, "{} records", unclaimed.visited - visited);
            visited = unclaimed.visited;
        };
        costs(&unclaimed, 0);
        assert_eq!(unclaimed.claim(at(507), 7), [record(507)]);
        assert!((0..100).all(|n| unclaimed.claim(at(60_000), ssid(n)).is_empty()));
        costs(&unclaimed, 1);
        let of_one = most / 100 + 1;
        assert_eq!(unclaimed.claim_between((at(8), 8), [0, 0], |sequence| sequence < 1_000).len(), 9);
        costs(&unclaimed, of_one);
        unclaimed.close(9);
        costs(&unclaimed, of_one);
        assert_eq!(unclaimed.order.len(), MAX_RECORDS - 10 - usize::try_from(of_one).unwrap());
        // What is kept for others makes room for them, and only as it came.
        (0..2 * most).for_each(|n| unclaimed.store(at(60_000 + n % 2), 8, record(n)));
        costs(&unclaimed, 2 * most);
        assert_eq!(unclaimed.order.len(), MAX_RECORDS);
        assert!(unclaimed.numbers[&7].kept.is_empty() && unclaimed.numbers[&8].kept.len() == 2);
        let claimed = unclaimed.claim(at(60_000), 8);
        assert_eq!((claimed.len(), claimed[0].sequence), (MAX_RECORDS / 2, most));
        (0..100).filter(|ssid| *ssid != 9).for_each(|ssid| unclaimed.close(ssid));
        assert!(unclaimed.numbers.is_empty() && unclaimed.order.is_empty());
    }
}
