//! Whether a thread is stuck: it has been at one turn of its loop for long.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use romer_units::{Duration, Monotonic, Timestamp};

/// A turn that takes so long is told of, and again whenever it has taken twice as long. The work of a turn is bounded to some
/// milliseconds; a host that stands still for seconds now and then is told of by other means.
const STUCK: Duration = Duration::from_secs(5);
/// No turn: the thread waits.
const WAITS: i64 = i64::MIN;

/// The present turn of one thread's loop.
#[derive(Debug)]
pub(super) struct Turn {
    thread: &'static str,
    /// When it began, nanoseconds of the monotonic clock.
    began: AtomicI64,
}

impl Turn {
    pub(super) const fn new(thread: &'static str) -> Self {
        Self { thread, began: AtomicI64::new(WAITS) }
    }

    /// The thread begins to work.
    pub(super) fn begin(&self, now: Timestamp<Monotonic>) {
        self.began.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// The thread waits for something to do.
    pub(super) fn end(&self) {
        self.began.store(WAITS, Ordering::Relaxed);
    }
}

/// A thread that has been at one turn for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Its name.
    pub thread: &'static str,
    /// For how long, up to now.
    pub time: Duration,
}

/// Watches the turns of several threads. It is asked by one that does little else.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    turns: Mutex<Vec<(Weak<Turn>, ReportedTurn)>>,
    count: AtomicU64,
}

/// What was told of a thread: the beginning of the turn, and when it is told of next.
#[derive(Clone, Copy, Debug)]
struct ReportedTurn {
    began: i64,
    next: Duration,
}

impl Watchdog {
    /// Watches a thread of this name, for as long as what is given is there.
    pub(super) fn watch(&self, thread: &'static str) -> Arc<Turn> {
        let turn = Arc::new(Turn::new(thread));
        let told = ReportedTurn { began: WAITS, next: STUCK };
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|(turn, _)| turn.strong_count() > 0);
        turns.push((Arc::downgrade(&turn), told));
        turn
    }

    /// The threads of which it is to be told `now` that they are stuck.
    pub(super) fn stuck_threads(&self, now: Timestamp<Monotonic>) -> Vec<Stuck> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let stuck = turns.iter_mut().filter_map(|(turn, told)| {
            let turn = turn.upgrade()?;
            let began = turn.began.load(Ordering::Relaxed);
            if began == WAITS {
                return None;
            }
            if told.began != began {
                *told = ReportedTurn { began, next: STUCK };
            }
            let time = now - Timestamp::from_nanos(began);
            if time < told.next {
                return None;
            }
            if told.next == STUCK {
                self.count.fetch_add(1, Ordering::Relaxed);
            }
            while told.next <= time {
                told.next = Duration::from_nanos(told.next.as_nanos().saturating_mul(2));
            }
            Some(Stuck { thread: turn.thread, time })
        });
        stuck.collect()
    }

    /// Whether a thread is stuck `now`.
    pub(super) fn is_stuck(&self, now: Timestamp<Monotonic>) -> bool {
        let turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.iter().filter_map(|(turn, _)| turn.upgrade()).any(|turn| {
            let began = turn.began.load(Ordering::Relaxed);
            began != WAITS && now - Timestamp::from_nanos(began) >= STUCK
        })
    }

    /// Turns that were told of.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    /// A long turn is told of when it is twice as long as before, and counted once.
    #[test]
    fn long_turns_are_told() {
        let watchdog = Watchdog::default();
        let turns = ["one", "other"].map(|name| watchdog.watch(name));
        turns[0].begin(at(1));
        turns[1].begin(at(3));
        turns[1].end();
        let told: Vec<i64> =
            (1..50).filter(|second| !watchdog.stuck_threads(at(*second)).is_empty()).collect();
        assert_eq!(told, [6, 11, 21, 41]);
        assert_eq!(watchdog.count(), 1);
        turns[0].begin(at(50));
        assert!(watchdog.stuck_threads(at(54)).is_empty(), "another turn");
        assert_eq!(watchdog.stuck_threads(at(56)), [Stuck { thread: "one", time: Duration::from_secs(6) }]);
        assert_eq!(watchdog.count(), 2);
        assert!(watchdog.is_stuck(at(56)) && !watchdog.is_stuck(at(54)));
    }

    /// A thread that has ended is watched no longer.
    #[test]
    fn ended_threads_are_forgotten() {
        let watchdog = Watchdog::default();
        for _ in 0..3 {
            watchdog.watch("one").begin(at(1));
        }
        assert!(watchdog.stuck_threads(at(9)).is_empty());
        let _other = watchdog.watch("other");
        assert_eq!(watchdog.turns.lock().unwrap().len(), 1);
    }
}
