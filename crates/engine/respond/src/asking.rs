//! Asking the reflecting thread for its counts as they are now.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How long an answer is waited for. The thread answers at its next turn, unless the machine has no time for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Questions, and when the latest counts were told.
#[derive(Debug)]
pub(super) struct Asking {
    asked: AtomicU64,
    told: Mutex<AnsweredRequests>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug)]
struct AnsweredRequests {
    /// How many questions had been asked.
    answered: u64,
    at: SystemTime,
}

impl Asking {
    pub(super) fn new() -> Self {
        let told = AnsweredRequests { answered: 0, at: SystemTime::now() };
        Self { asked: AtomicU64::new(0), told: Mutex::new(told), changed: Condvar::new() }
    }

    /// Asks, has `wake` wake the thread, and waits for the answer.
    pub(super) fn ask(&self, wake: impl FnOnce()) {
        let number = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        wake();
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        // Without an answer, the time of the latest counts says how old they are.
        let _ = self.changed.wait_timeout_while(told, PATIENCE, |told| told.answered < number);
    }

    /// How many questions have been asked. To be looked at before what is counted is.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Acquire)
    }

    /// Whether some of `asked` questions are not answered.
    pub(super) fn is_open(&self, asked: u64) -> bool {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).answered < asked
    }

    /// The counts have been told, as they are after `asked` questions.
    pub(super) fn mark_answered(&self, asked: u64) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        *told = AnsweredRequests { answered: told.answered.max(asked), at: SystemTime::now() };
        self.changed.notify_all();
    }

    /// When the latest counts were told.
    pub(super) fn at(&self) -> SystemTime {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_has_what_is_counted_after_the_question() {
        let asking = Asking::new();
        let begin = SystemTime::now();
        std::thread::scope(|scope| {
            let (sender, woken) = std::sync::mpsc::channel();
            let asking = &asking;
            scope.spawn(move || {
                woken.recv().unwrap();
                let asked = asking.asked();
                assert!(asking.is_open(asked));
                asking.mark_answered(asked);
                assert!(!asking.is_open(asked));
            });
            asking.ask(|| sender.send(()).unwrap());
            assert!(asking.at() >= begin);
        });
    }
}
