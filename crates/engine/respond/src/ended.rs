//! One-way sessions that have ended: what still comes of them is known as theirs, and is no request that is to be answered.

use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::oneway_probe;

/// How long a session is remembered that has ended. What comes of it was under way as long, or lay at a full socket here.
const REMEMBERED: Duration = Duration::from_secs(120);
/// Sets of places, and places in each: 1,024 sessions, in 64 KiB.
const SETS: usize = 256;
const PLACES: usize = 4;

#[derive(Clone, Copy, Debug)]
struct One {
    probes: oneway_probe::Session,
    /// The highest number that has come.
    latest: Option<u64>,
    ended: Timestamp<Monotonic>,
}

/// The sessions that have ended, in a table of fixed size: of those whose numbers meet in it the latest are remembered.
#[derive(Debug)]
pub(super) struct Ended {
    sets: Box<[[Option<One>; PLACES]]>,
}

impl Default for Ended {
    fn default() -> Self {
        Self { sets: vec![[None; PLACES]; SETS].into() }
    }
}

impl Ended {
    /// A session has ended `now`, of which probes up to `latest` have come.
    pub(super) fn remember(
        &mut self,
        probes: oneway_probe::Session,
        latest: Option<u64>,
        now: Timestamp<Monotonic>,
    ) {
        let set = &mut self.sets[usize::from(probes.number) % SETS];
        // The oldest makes room.
        set.rotate_right(1);
        set[0] = Some(One { probes, latest, ended: now });
    }

    /// Whether `payload`, which came `now`, is a probe of a session that is remembered.
    pub(super) fn has(&self, payload: &[u8], now: Timestamp<Monotonic>) -> bool {
        let Some(number) = oneway_probe::number_of(payload) else { return false };
        let set = &self.sets[usize::from(number) % SETS];
        set.iter()
            .flatten()
            .any(|one| now - one.ended < REMEMBERED && one.probes.read(payload, one.latest).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_of_a_session_after_its_end_is_known_for_two_minutes_and_only_by_its_key() {
        let at = |seconds: i64| Timestamp::from_nanos(seconds * 1_000_000_000);
        let probes = |number: u16, key: u8| oneway_probe::Session {
            number,
            key: oneway_probe::Key::new([key; 16]),
            direction: romer_units::Direction::Forward,
        };
        let mut ended = Ended::default();
        ended.remember(probes(7, 1), Some((1 << 24) - 1), at(100));
        let is_known = |ended: &Ended, of: oneway_probe::Session, sequence, seconds| {
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
