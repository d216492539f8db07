//! One-way sessions that were closed a short time ago. Their late probes are recognised and not answered as requests.

use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::oneway_probe;

/// How long a session is remembered that has ended. What comes of it was under way as long, or lay at a full socket here.
const RETENTION_TIME: Duration = Duration::from_secs(120);
/// Sets, and slots in each: 1,024 sessions, in 64 KiB.
const TABLE_SETS: usize = 256;
const SET_SLOTS: usize = 4;

#[derive(Clone, Copy, Debug)]
struct One {
    probes: oneway_probe::Session,
    /// The highest number that has come.
    latest: Option<u64>,
    ended: Timestamp<Monotonic>,
}

/// The closed sessions, in a set-associative table of fixed size: each set keeps the latest.
#[derive(Debug)]
pub(super) struct ClosedSessions {
    sets: Box<[[Option<One>; SET_SLOTS]]>,
}

impl Default for ClosedSessions {
    fn default() -> Self {
        Self { sets: vec![[None; SET_SLOTS]; TABLE_SETS].into() }
    }
}

impl ClosedSessions {
    /// A session has ended `now`, of which probes up to `latest` have come.
    pub(super) fn remember(
        &mut self,
        probes: oneway_probe::Session,
        latest: Option<u64>,
        now: Timestamp<Monotonic>,
    ) {
        let set = &mut self.sets[usize::from(probes.number) % TABLE_SETS];
        // The oldest makes room.
        set.rotate_right(1);
        set[0] = Some(One { probes, latest, ended: now });
    }

    /// Whether `payload`, which came `now`, is a probe of a session that is remembered.
    pub(super) fn has(&self, payload: &[u8], now: Timestamp<Monotonic>) -> bool {
        let Some(number) = oneway_probe::number_of(payload) else { return false };
        let set = &self.sets[usize::from(number) % TABLE_SETS];
        set.iter()
            .flatten()
            .any(|one| now - one.ended < RETENTION_TIME && one.probes.read(payload, one.latest).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Late probes of a closed session are recognised for two minutes, and only with its key.
    #[test]
    fn late_probes_are_known_for_two_minutes() {
        let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let probes = |number: u16, key: u8| oneway_probe::Session {
            number,
            key: oneway_probe::Key::new([key; 16]),
            direction: romer_units::Direction::Forward,
        };
        let mut ended = ClosedSessions::default();
        ended.remember(probes(7, 1), Some((1 << 24) - 1), at(100));
        let is_known = |ended: &ClosedSessions, of: oneway_probe::Session, sequence, seconds| {
            let mut payload = [0; 44];
            of.emit(sequence, &mut payload);
            ended.has(&payload, at(seconds))
        };
        assert!(is_known(&ended, probes(7, 1), 1 << 24, 100) && is_known(&ended, probes(7, 1), 5, 219));
        assert!(!is_known(&ended, probes(7, 1), 5, 220), "it is forgotten");
        assert!(!is_known(&ended, probes(7, 2), 5, 101), "another key");
        assert!(!is_known(&ended, probes(263, 1), 5, 101), "another number of the same set");
        assert!(!ended.has(&[0; 8], at(101)));
        // A table of fixed size: the latest of those that meet in it.
        for key in 2..=5 {
            ended.remember(probes(7, key), None, at(101));
        }
        assert!(!is_known(&ended, probes(7, 1), 5, 101));
        assert!((2..=5).all(|key| is_known(&ended, probes(7, key), 5, 101)));
    }
}
