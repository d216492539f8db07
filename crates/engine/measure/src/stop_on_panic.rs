//! The end of a measurement in which a thread panics.

use std::sync::atomic::{AtomicBool, Ordering};

use romer_host::socket::Waker;

/// Ends the threads of a measurement where the one that holds this panics, so that none waits for another.
#[derive(Clone)]
pub(super) struct StopOnPanic<'a> {
    pub(super) sending: &'a Waker,
    pub(super) receiving: &'a AtomicBool,
    pub(super) panicked: &'a AtomicBool,
}

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.panicked.store(true, Ordering::Release);
            self.receiving.store(true, Ordering::Release);
            self.sending.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Where one thread of a measurement panics, those that send and receive end, and the panic reaches the caller.
    #[test]
    fn panic_ends_other_threads() {
        let (sending, receiving, panicked) =
            (Waker::new().unwrap(), AtomicBool::new(false), AtomicBool::new(false));
        let on_panic = StopOnPanic { sending: &sending, receiving: &receiving, panicked: &panicked };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| romer_host::socket::wait_any(&[], Some(&sending), None).is_ok());
                scope.spawn(|| {
                    while !receiving.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                });
                let on_panic = on_panic.clone();
                scope.spawn(move || {
                    let _on_panic = on_panic;
                    panic!("of this test");
                });
            });
        }));
        assert!(outcome.is_err() && panicked.load(Ordering::Acquire));
    }
}
