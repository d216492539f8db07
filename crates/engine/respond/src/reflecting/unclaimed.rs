//! Answers to an address that no session has proved, though a session has their number: a NAT may have given the session's
//! sender another address, which it proves a little later. Then they are the session's.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use romer_record::log::Far;

/// Records that are kept at the most; the oldest make room.
const MOST: usize = 1 << 14;

/// What is known of such answers.
#[derive(Debug, Default)]
pub(super) struct Unclaimed {
    /// How many sessions have this number.
    open: HashMap<u16, usize>,
    kept: VecDeque<(SocketAddr, u16, Far)>,
}

impl Unclaimed {
    /// A session of this number is there.
    pub(super) fn open(&mut self, ssid: u16) {
        *self.open.entry(ssid).or_default() += 1;
    }

    /// It is no more.
    pub(super) fn close(&mut self, ssid: u16) {
        if let Some(open) = self.open.get_mut(&ssid) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&ssid);
                self.kept.retain(|(_, of, _)| *of != ssid);
            }
        }
    }

    /// Whether some session may claim what has this number.
    pub(super) fn may_be_claimed(&self, ssid: u16) -> bool {
        self.open.contains_key(&ssid)
    }

    /// Keeps the record of an answer to `peer`, with the number of its packet as it was sent.
    pub(super) fn keep(&mut self, peer: SocketAddr, ssid: u16, record: Far) {
        if self.may_be_claimed(ssid) {
            if self.kept.len() >= MOST {
                self.kept.pop_front();
            }
            self.kept.push_back((peer, ssid, record));
        }
    }

    /// `peer` is proved to be the sender of session `ssid`: gives what it was answered before, in order.
    pub(super) fn claim(&mut self, peer: SocketAddr, ssid: u16) -> Vec<Far> {
        let mut claimed = Vec::new();
        self.kept.retain(|(from, of, record)| {
            let is_theirs = (*from, *of) == (peer, ssid);
            if is_theirs {
                claimed.push(*record);
            }
            !is_theirs
        });
        claimed
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
    ) -> Vec<(SocketAddr, Far)> {
        if self.open.get(&ssid) != Some(&1) {
            return Vec::new();
        }
        let mut claimed = Vec::new();
        self.kept.retain(|(from, of, record)| {
            let came = record.t2_kernel_ns.unwrap_or(record.t2_user_ns);
            let is_then = between[0] <= came && came <= between[1] && is_missing(record.sequence);
            let is_theirs = *of == ssid && *from != peer && is_then;
            if is_theirs {
                claimed.push((*from, *record));
            }
            !is_theirs
        });
        claimed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_proves_the_address_has_what_it_was_answered_and_only_of_its_session() {
        let [one, other]: [SocketAddr; 2] = ["192.0.2.1:9", "192.0.2.2:9"].map(|at| at.parse().unwrap());
        let record = |sequence| Far { sequence, ..Far::default() };
        let mut unclaimed = Unclaimed::default();
        unclaimed.keep(one, 7, record(0));
        assert!(unclaimed.claim(one, 7).is_empty(), "no session has that number");
        unclaimed.open(7);
        unclaimed.open(8);
        for (peer, ssid, sequence) in [(one, 7, 1), (other, 7, 2), (one, 8, 3), (one, 7, 4)] {
            unclaimed.keep(peer, ssid, record(sequence));
        }
        assert_eq!(unclaimed.claim(one, 7), [record(1), record(4)]);
        assert!(unclaimed.claim(one, 7).is_empty(), "each is claimed once");
        unclaimed.close(7);
        unclaimed.open(7);
        assert!(unclaimed.claim(other, 7).is_empty(), "that was another session's");
        (0..MOST as u64 + 5).for_each(|sequence| unclaimed.keep(other, 8, record(sequence)));
        let claimed = unclaimed.claim(other, 8);
        assert_eq!((claimed.len(), claimed[0].sequence), (MOST - 1 + 1, 5));
    }

    #[test]
    fn what_came_by_a_mapping_that_was_gone_before_it_was_proved_is_its_sessions_if_it_can_be_no_others() {
        let [between, new]: [SocketAddr; 2] = ["192.0.2.1:25", "192.0.2.1:30"].map(|at| at.parse().unwrap());
        let record =
            |sequence| Far { sequence, t2_user_ns: i64::try_from(10 * sequence).unwrap(), ..Far::default() };
        let kept = |ssids: &[u16]| {
            let mut unclaimed = Unclaimed::default();
            ssids.iter().for_each(|ssid| unclaimed.open(*ssid));
            (0..30).for_each(|number| unclaimed.keep(between, 7, record(number)));
            (15..20).for_each(|number| unclaimed.keep(new, 7, record(number)));
            unclaimed
        };
        let claim = |unclaimed: &mut Unclaimed, is_missing: &dyn Fn(u64) -> bool| -> Vec<u64> {
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
}
