//! Detects stalls of the program: no thread ran. A late thread is no stall while another one runs.

use std::sync::{Mutex, PoisonError};

use romer_clock::steps::PAUSE_NS;
use romer_units::{Monotonic, Timestamp};

/// When a thread of the program last ran, whichever it was.
#[derive(Debug)]
pub struct SchedulingWatch(Mutex<ThreadWakeups>);

#[derive(Debug)]
struct ThreadWakeups {
    last: Timestamp<Monotonic>,
    /// The longest time without a beat that has not been told.
    longest: Option<[Timestamp<Monotonic>; 2]>,
}

impl SchedulingWatch {
    /// Begins with a beat.
    pub fn new(now: Timestamp<Monotonic>) -> Self {
        Self(Mutex::new(ThreadWakeups { last: now, longest: None }))
    }

    /// A thread runs.
    pub fn beat(&self, now: Timestamp<Monotonic>) {
        let mut beats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A thread may have read the clock before another did, and come here after it.
        if now <= beats.last {
            return;
        }
        let gap = [beats.last, now];
        beats.last = now;
        let is_longer = beats.longest.is_none_or(|[from, until]| now - gap[0] > until - from);
        if (now - gap[0]).as_nanos() > PAUSE_NS && is_longer {
            beats.longest = Some(gap);
        }
    }

    /// From when until when no thread ran, where that was for so long that the program stood still, since this was last asked.
    pub fn standstill(&self) -> Option<[Timestamp<Monotonic>; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).longest.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// The program stalled only if none of its threads ran.
    #[test]
    fn stall_needs_all_threads() {
        let pulse = SchedulingWatch::new(at(0));
        // One thread is busy for six seconds, and another is not.
        (1..=20).for_each(|turn| pulse.beat(at(300 * turn)));
        pulse.beat(at(5_900));
        assert_eq!(pulse.standstill(), None);
        pulse.beat(at(9_000));
        pulse.beat(at(9_010));
        pulse.beat(at(10_011));
        pulse.beat(at(9_020));
        assert_eq!(pulse.standstill(), Some([at(6_000), at(9_000)]));
        assert_eq!(pulse.standstill(), None, "it is told once");
        pulse.beat(at(11_011));
        assert_eq!(pulse.standstill(), None, "a second is not long enough");
    }
}
