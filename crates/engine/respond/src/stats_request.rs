//! Requests the current counters of the reflecting thread and waits for its answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How long to wait for an answer. The thread answers in its next iteration, unless the host is overloaded.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);

/// Requests for the counters, and the time of the last answer.
#[derive(Debug)]
pub(super) struct StatsRequest {
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

impl StatsRequest {
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
        let _ = self.changed.wait_timeout_while(told, REPLY_TIMEOUT, |told| told.answered < number);
    }

    /// How many questions have been asked. To be looked at before what is counted is.
    pub(super) fn requests(&self) -> u64 {
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

    /// A reply has the counters of a time after the request.
    #[test]
    fn replies_are_newer_than_requests() {
        let asking = StatsRequest::new();
        let begin = SystemTime::now();
        std::thread::scope(|scope| {
            let (sender, woken) = std::sync::mpsc::channel();
            let asking = &asking;
            scope.spawn(move || {
                woken.recv().unwrap();
                let asked = asking.requests();
                assert!(asking.is_open(asked));
                asking.mark_answered(asked);
                assert!(!asking.is_open(asked));
            });
            asking.ask(|| sender.send(()).unwrap());
            assert!(asking.at() >= begin);
        });
    }
}
