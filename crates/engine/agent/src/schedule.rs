//! Start times at regular intervals.

use std::time::{Duration, SystemTime};

/// A start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its time.
    pub time: SystemTime,
    /// Starts before it that were missed.
    pub missed: u64,
}

/// The starts of a job. They are multiples of the interval after the first, whatever the runs take.
#[derive(Debug)]
pub struct Starts {
    first: SystemTime,
    every: Duration,
    /// The number of the next start, from 0.
    next: u64,
}

impl Starts {
    /// Starts at `first` and every `every` after it.
    pub const fn new(first: SystemTime, every: Duration) -> Self {
        Self { first, every, next: 0 }
    }

    /// The next start: the first one however late it is, later ones not before `now`. A clock that was set may skip any number of
    /// them. `None` beyond the end of time.
    pub fn next(&mut self, now: SystemTime) -> Option<Start> {
        let passed = now.duration_since(self.first).unwrap_or(Duration::ZERO);
        let number = passed.as_nanos().div_ceil(self.every.as_nanos().max(1));
        let earliest = if self.next == 0 { 0 } else { u64::try_from(number).unwrap_or(u64::MAX) };
        let due = self.next.max(earliest);
        let missed = due - self.next;
        self.next = due.checked_add(1)?;
        let after = self.every.as_nanos().checked_mul(due.into())?;
        let time = self.first.checked_add(Duration::from_nanos(u64::try_from(after).ok()?))?;
        Some(Start { time, missed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts keep their grid; those that pass during a run are missed, and the first is not.
    #[test]
    fn passed_starts_are_missed() {
        let first = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let at = |seconds| first + Duration::from_secs(seconds);
        let mut starts = Starts::new(first, Duration::from_secs(10));
        assert_eq!(starts.next(at(500)), Some(Start { time: first, missed: 0 }), "the first, late");
        assert_eq!(starts.next(at(500)), Some(Start { time: at(500), missed: 49 }));
        assert_eq!(starts.next(at(503)), Some(Start { time: at(510), missed: 0 }));
        assert_eq!(starts.next(at(511)), Some(Start { time: at(520), missed: 0 }));
        assert_eq!(starts.next(at(541)), Some(Start { time: at(550), missed: 2 }));
        // The clock was set back.
        assert_eq!(starts.next(at(0)), Some(Start { time: at(560), missed: 0 }));
    }

    /// Beyond the end of time there is no start, and no panic.
    #[test]
    fn time_ends() {
        let mut starts = Starts::new(SystemTime::UNIX_EPOCH, Duration::MAX);
        let now = SystemTime::UNIX_EPOCH;
        assert_eq!(starts.next(now), Some(Start { time: now, missed: 0 }));
        assert_eq!(starts.next(now), None);
    }
}
