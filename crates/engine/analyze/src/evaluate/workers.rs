//! Several things at once, on two processors.

use std::num::NonZero;
use std::sync::Mutex;
use std::thread;

use romer_clock::skew::Both;

/// From so many singletons on a second thread is worth its making.
const MIN_ROWS_FOR_THREAD: usize = 100_000;
/// What each thread has in hand takes room, so that there are no more of them.
const MAX_THREADS: usize = 2;

/// How many things are done at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workers {
    count: usize,
}

impl Workers {
    /// As many as are worth it for so many singletons.
    pub(crate) fn for_singletons(singletons: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        Self { count: if singletons < MIN_ROWS_FOR_THREAD { 1 } else { processors.min(MAX_THREADS) } }
    }

    /// Does all of them, beginning with the first, and gives what they gave in their order.
    pub(crate) fn all<'a, T: Send>(self, tasks: Vec<Task<'a, T>>) -> Vec<T> {
        if self.count < 2 {
            return tasks.into_iter().map(|task| task()).collect();
        }
        let waiting = Mutex::new(tasks.into_iter().enumerate());
        let take = || waiting.lock().ok().and_then(|mut waiting| waiting.next());
        let work = || {
            let mut done = Vec::new();
            while let Some((place, task)) = take() {
                done.push((place, task()));
            }
            done
        };
        let (mut done, others) = self.both(work, work);
        done.extend(others);
        done.sort_by_key(|(place, _)| *place);
        done.into_iter().map(|(_, done)| done).collect()
    }
}

/// Something to do.
pub(crate) type Task<'a, T> = Box<dyn FnOnce() -> T + Send + 'a>;

impl Both for Workers {
    fn both<A: Send, B: Send>(&self, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        if self.count < 2 {
            return (a(), b());
        }
        thread::scope(|scope| {
            let other = scope.spawn(b);
            let one = a();
            match other.join() {
                Ok(other) => (one, other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_at_once_comes_in_its_order() {
        for count in [1, 2] {
            let tasks = (0..50_u64).map(|n| Box::new(move || n * n) as Task<'_, u64>).collect();
            let done = Workers { count }.all(tasks);
            assert_eq!(done, (0..50).map(|n| n * n).collect::<Vec<u64>>());
        }
    }
}
