//! Work that was started from a page and goes on by itself: measurements, benchmarks, closed loops.
//!
//! A bounded number of each kind runs at once, and a bounded number is remembered; whatever changes of one is told to
//! every page.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use crate::events::Hub;
use crate::problem::Problem;

/// State of a measurement, benchmark or closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobState {
    /// Running.
    Running,
    /// Ended as requested.
    Done,
    /// Stopped, or ended early by a fault; the results up to then are stored.
    Partial,
    /// Ended without results.
    Failed,
}

/// A piece of work, as pages see it.
pub(crate) trait Work: Clone + Serialize + Send + 'static {
    /// Its name in words, `measurement`, which is that of its events too.
    const NAME: &'static str;
    /// How many may run at once.
    const AT_ONCE: usize;
    /// How many are remembered, the running ones among them.
    const REMEMBERED: usize;

    /// Its number.
    fn id(&self) -> u64;
    /// How it stands.
    fn state(&self) -> JobState;
}

struct HeldJob<W, R> {
    work: W,
    stop: Arc<AtomicBool>,
    /// What came of it.
    result: Option<Arc<R>>,
}

struct All<W, R> {
    last: u64,
    held: VecDeque<HeldJob<W, R>>,
}

/// All work of a kind that was started here, and what came of it.
pub(crate) struct Jobs<W, R = ()> {
    all: Arc<Mutex<All<W, R>>>,
    hub: Arc<Hub>,
}

impl<W, R> Clone for Jobs<W, R> {
    fn clone(&self) -> Self {
        Self { all: Arc::clone(&self.all), hub: Arc::clone(&self.hub) }
    }
}

impl<W: Work, R: Send + Sync + 'static> Jobs<W, R> {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        Self { all: Arc::new(Mutex::new(All { last: 0, held: VecDeque::new() })), hub }
    }

    fn locked(&self) -> MutexGuard<'_, All<W, R>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that are remembered, newest first.
    pub(crate) fn list(&self) -> Vec<W> {
        self.locked().held.iter().rev().map(|held| held.work.clone()).collect()
    }

    /// One of them.
    pub(crate) fn get(&self, id: u64) -> Result<W, Problem> {
        self.with(id, |held| held.work.clone())
    }

    /// What came of one; `None`: nothing yet.
    pub(crate) fn result(&self, id: u64) -> Result<Option<Arc<R>>, Problem> {
        self.with(id, |held| held.result.clone())
    }

    /// Ends one early; what was found is kept.
    pub(crate) fn stop(&self, id: u64) -> Result<W, Problem> {
        self.with(id, |held| {
            held.stop.store(true, Ordering::Release);
            held.work.clone()
        })
    }

    fn with<T>(&self, id: u64, see: impl FnOnce(&HeldJob<W, R>) -> T) -> Result<T, Problem> {
        let all = self.locked();
        let unknown =
            || Problem::not_found(format!("there is no {} {id}; the list has those that there are", W::NAME));
        all.held.iter().find(|held| held.work.id() == id).map(see).ok_or_else(unknown)
    }

    /// Ends all of them.
    pub(crate) fn stop_all(&self) {
        self.locked().held.iter().for_each(|held| held.stop.store(true, Ordering::Release));
    }

    /// Waits, for half a minute at the most, until none runs any more.
    pub(crate) fn wait(&self) {
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end && self.any_running(|_| true) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether such a one runs.
    pub(crate) fn any_running(&self, such: impl Fn(&W) -> bool) -> bool {
        self.locked().held.iter().any(|held| held.work.state() == JobState::Running && such(&held.work))
    }

    /// Starts one: `make` gives it with its number, `run` does it on a thread of its own, and ends it.
    pub(crate) fn start(
        &self,
        make: impl FnOnce(u64) -> W,
        run: impl FnOnce(Hand<W, R>, &AtomicBool) + Send + 'static,
    ) -> Result<W, Problem> {
        let stop = Arc::new(AtomicBool::new(false));
        let work = {
            let mut all = self.locked();
            let running = all.held.iter().filter(|held| held.work.state() == JobState::Running).count();
            if running >= W::AT_ONCE {
                let detail =
                    format!("{running} {}{} already; wait for one, or stop it", W::NAME, plural(running));
                return Err(Problem::conflict("too-many", detail));
            }
            if all.held.len() >= W::REMEMBERED
                && let Some(place) = all.held.iter().position(|held| held.work.state() != JobState::Running)
            {
                all.held.remove(place);
            }
            all.last += 1;
            let work = make(all.last);
            all.held.push_back(HeldJob { work: work.clone(), stop: Arc::clone(&stop), result: None });
            work
        };
        let hand = Hand { id: work.id(), jobs: self.clone() };
        let spawned = std::thread::Builder::new().name(W::NAME.into()).spawn(move || run(hand, &stop));
        if let Err(error) = spawned {
            self.locked().held.retain(|held| held.work.id() != work.id());
            return Err(Problem::unavailable("thread", format!("the system gives no thread: {error}")));
        }
        self.hub.send(W::NAME, &work);
        Ok(work)
    }
}

const fn plural(count: usize) -> &'static str {
    if count == 1 { " runs" } else { "s run" }
}

/// What changes a piece of work, in the hands of the thread that does it.
pub(crate) struct Hand<W, R = ()> {
    id: u64,
    jobs: Jobs<W, R>,
}

impl<W: Work, R: Send + Sync + 'static> Hand<W, R> {
    /// Changes it, and tells every page.
    pub(crate) fn change(&self, change: impl FnOnce(&mut W)) {
        let mut all = self.jobs.locked();
        if let Some(held) = all.held.iter_mut().find(|held| held.work.id() == self.id) {
            change(&mut held.work);
            self.jobs.hub.send(W::NAME, &held.work);
        }
    }

    /// Keeps what came of it.
    pub(crate) fn set_result(&self, result: R) {
        let mut all = self.jobs.locked();
        if let Some(held) = all.held.iter_mut().find(|held| held.work.id() == self.id) {
            held.result = Some(Arc::new(result));
        }
    }
}
