//! Bounded parallel work for many targets.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Targets at a time.
const MAX_PARALLEL_TARGETS: usize = 64;

/// What `work` gives for each place below `count`, in order. Threads are called `name`; where the system gives no more,
/// those that there are do the work.
pub(super) fn side_by_side<T: Send>(
    name: &'static str,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let one_after_the_other = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = results.get(place) else { return };
            let found = work(place);
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
    };
    thread::scope(|scope| {
        for _ in 1..count.min(MAX_PARALLEL_TARGETS) {
            if thread::Builder::new().name(name.into()).spawn_scoped(scope, one_after_the_other).is_err() {
                break;
            }
        }
        one_after_the_other();
    });
    results
        .into_iter()
        .filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_stand_in_the_order_of_their_places() {
        let squares = super::side_by_side("romer-test", 200, |place| place * place);
        assert_eq!(squares, (0..200).map(|place| place * place).collect::<Vec<_>>());
        assert!(super::side_by_side("romer-test", 0, |place| place).is_empty());
    }
}
