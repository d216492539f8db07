//! Being on time: sleeping until shortly before a deadline and spinning the rest.

use std::marker::PhantomData;

use romer_units::{Duration, Monotonic, Timestamp};

use crate::HostError;
use crate::clock::monotonic_now;
use crate::scheduling::{BEST_NICE, become_real_time, set_nice, set_scheduler};
use crate::socket::{Waker, wait_any};

/// How long before a deadline the sleep ends, at the least. On a virtual machine a sleep comes back 30 to 60
/// microseconds late as a rule, and 150 in bad cases.
const LEAST_MARGIN: Duration = Duration::from_micros(150);
/// How long before a deadline the sleep ends, at the most.
const MOST_MARGIN: Duration = Duration::from_millis(1);
/// The margin may always grow to this, however short the interval is (but for a quarter of it) ...
const MODEST_MARGIN: Duration = Duration::from_micros(200);
/// ... and beyond that to one part in so many of the interval, so that a voice stream costs little of a core. Where the
/// host takes the core away now and then, sleeps come back late by any amount, and no margin would do.
const SPUN_OF_INTERVAL: i64 = 200;
/// Shorter intervals leave too little sleep between two spins: a real-time thread that spins nearly all the time
/// is stopped by the kernel for 50 milliseconds in every second.
const SHORTEST_REAL_TIME: Duration = Duration::from_millis(1);
/// A wait longer than this can be ended early by a [`Waker`]; the last part of it cannot.
const UNINTERRUPTED: Duration = Duration::from_millis(20);

/// How the system schedules a paced thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Real time: it runs as soon as it is due (`SCHED_FIFO`).
    RealTime,
    /// Before all ordinary threads (nice -20).
    Preferred,
    /// Like any thread, because the rights for more are missing.
    Ordinary,
}

/// What a wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When it ended.
    pub at: Timestamp<Monotonic>,
    /// How long after its deadline that was; never negative.
    pub late: Duration,
}

/// Keeps the current thread on a schedule of absolute deadlines.
///
/// It sleeps until a margin before the deadline and spins through the rest. The margin starts at 150 microseconds,
/// grows when sleeps come back too late for it (to a two-hundredth of the interval, or 200 microseconds) and shrinks again
/// slowly. While the pacer lives, its thread has a
/// timer slack of one nanosecond and the best scheduling class that its interval and the rights of the process
/// allow; dropping the pacer gives back what was before.
#[derive(Debug)]
pub struct Pacer {
    margin: Duration,
    most_margin: Duration,
    scheduling: Scheduling,
    before: ThreadState,
    // What is changed belongs to the thread that made the pacer.
    thread: PhantomData<*const ()>,
}

impl Pacer {
    /// Prepares the current thread for deadlines that are `interval` apart as a rule.
    pub fn start(interval: Duration) -> Self {
        let before = ThreadState::read();
        set_timer_slack(1);
        let scheduling = if interval >= SHORTEST_REAL_TIME && become_real_time().is_ok() {
            Scheduling::RealTime
        } else if set_nice(BEST_NICE) {
            Scheduling::Preferred
        } else {
            Scheduling::Ordinary
        };
        Self {
            margin: LEAST_MARGIN,
            most_margin: most_margin(interval),
            scheduling,
            before,
            thread: PhantomData,
        }
    }

    /// Prepares the current thread for deadlines whose owner may not take the host's time: it runs like any other thread and
    /// sleeps up to each deadline, so that a wait ends as late as the sleep does.
    pub fn start_sharing() -> Self {
        let before = ThreadState::read();
        set_timer_slack(1);
        Self {
            margin: Duration::ZERO,
            most_margin: Duration::ZERO,
            scheduling: Scheduling::Ordinary,
            before,
            thread: PhantomData,
        }
    }

    /// What the system granted.
    pub const fn scheduling(&self) -> Scheduling {
        self.scheduling
    }

    /// How long before a deadline the sleep ends at present.
    pub const fn margin(&self) -> Duration {
        self.margin
    }

    /// Returns at `deadline`, never before it; at once if it has passed.
    pub fn wait_until(&mut self, deadline: Timestamp<Monotonic>) -> Wake {
        let target = deadline - self.margin;
        if monotonic_now() < target {
            sleep_until(target);
            self.learn(monotonic_now() - target);
        }
        loop {
            let at = monotonic_now();
            if at >= deadline {
                return Wake { at, late: at - deadline };
            }
            std::hint::spin_loop();
        }
    }

    /// Like [`Pacer::wait_until`], but gives `None` when `stop` is used while more than 20 milliseconds are left.
    ///
    /// # Errors
    /// The system has no memory to wait for the waker.
    pub fn wait_until_or(
        &mut self,
        deadline: Timestamp<Monotonic>,
        stop: &Waker,
    ) -> Result<Option<Wake>, HostError> {
        let left = deadline - monotonic_now();
        let timeout = if left > UNINTERRUPTED { left - UNINTERRUPTED } else { Duration::ZERO };
        if wait_any(&[], Some(stop), Some(timeout))?.woken() {
            return Ok(None);
        }
        Ok(Some(self.wait_until(deadline)))
    }

    /// Adjusts the margin to how late a sleep came back: it should use up half the margin at the most.
    fn learn(&mut self, overslept: Duration) {
        let wanted = (overslept + overslept).clamp(LEAST_MARGIN.min(self.most_margin), self.most_margin);
        self.margin = if wanted > self.margin {
            wanted
        } else {
            self.margin - Duration::from_nanos((self.margin - wanted).as_nanos() / 64)
        };
    }
}

/// The most that is spun away before each deadline; the least margin always.
fn most_margin(interval: Duration) -> Duration {
    let part = |of: i64| Duration::from_nanos(interval.as_nanos() / of);
    part(SPUN_OF_INTERVAL).clamp(MODEST_MARGIN, MOST_MARGIN).min(part(4)).max(LEAST_MARGIN)
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.before.restore(self.scheduling);
    }
}

/// What a pacer changes about its thread.
#[derive(Debug)]
struct ThreadState {
    slack: libc::c_int,
    policy: libc::c_int,
    priority: libc::c_int,
    nice: libc::c_int,
}

impl ThreadState {
    fn read() -> Self {
        let mut parameter = libc::sched_param { sched_priority: 0 };
        // SAFETY: the call writes one structure into `parameter`.
        unsafe { libc::sched_getparam(0, &raw mut parameter) };
        // SAFETY: the call takes plain numbers.
        let policy = unsafe { libc::sched_getscheduler(0) };
        // SAFETY: the call takes plain numbers.
        let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) };
        // SAFETY: the call takes plain numbers.
        let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        Self { slack, policy: policy.max(0), priority: parameter.sched_priority, nice }
    }

    fn restore(&self, scheduling: Scheduling) {
        match scheduling {
            Scheduling::RealTime => {
                set_scheduler(self.policy, self.priority);
            }
            Scheduling::Preferred => {
                set_nice(self.nice);
            }
            Scheduling::Ordinary => {}
        }
        if let Ok(slack) = libc::c_ulong::try_from(self.slack) {
            set_timer_slack(slack);
        }
    }
}

/// Sleeps until `target`, through interruptions by signals.
fn sleep_until(target: Timestamp<Monotonic>) {
    let nanos = target.as_nanos().max(0);
    let time = libc::timespec { tv_sec: nanos / 1_000_000_000, tv_nsec: nanos % 1_000_000_000 };
    loop {
        // SAFETY: `time` outlives the call; with an absolute time nothing is written back.
        let answer = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const time,
                std::ptr::null_mut(),
            )
        };
        if answer != libc::EINTR {
            return;
        }
    }
}

fn set_timer_slack(nanos: libc::c_ulong) {
    // SAFETY: the call takes plain numbers. It cannot fail for a slack above zero.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanos, 0, 0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_never_early_and_says_how_late_it_was() {
        let mut pacer = Pacer::start(Duration::from_millis(2));
        let begin = monotonic_now();
        for step in 1..50 {
            let deadline = begin + Duration::from_millis(2 * step);
            let wake = pacer.wait_until(deadline);
            assert!(wake.at >= deadline);
            assert_eq!(wake.late, wake.at - deadline);
            assert!(monotonic_now() >= wake.at);
        }
    }

    #[test]
    fn a_deadline_that_has_passed_is_answered_at_once_with_its_lateness() {
        let mut pacer = Pacer::start(Duration::from_micros(20));
        let wake = pacer.wait_until(monotonic_now() - Duration::from_millis(5));
        assert!(wake.late >= Duration::from_millis(5));
    }

    #[test]
    fn the_margin_follows_late_sleeps_within_its_bounds() {
        let mut pacer = Pacer::start(Duration::from_millis(80));
        assert_eq!(pacer.margin(), LEAST_MARGIN);
        pacer.learn(Duration::from_micros(100));
        assert_eq!(pacer.margin(), Duration::from_micros(200));
        pacer.learn(Duration::from_millis(50));
        assert_eq!(pacer.margin(), Duration::from_micros(400), "a two-hundredth of the interval");
        for _ in 0..2_000 {
            pacer.learn(Duration::ZERO);
        }
        assert!(pacer.margin() < LEAST_MARGIN + Duration::from_nanos(64));
    }

    #[test]
    fn what_is_spun_away_is_a_small_part_of_the_interval() {
        let most = |nanos: i64| most_margin(Duration::from_nanos(nanos)).as_nanos();
        assert_eq!(most(45_000_000), 225_000, "MELP by two: half a percent");
        assert_eq!(most(20_000_000), 200_000);
        assert_eq!(most(1_000_000_000), 1_000_000);
        assert_eq!(most(600_000), 150_000, "a quarter");
        assert_eq!(most(10_000), 150_000, "the least");
    }

    #[test]
    fn a_dropped_pacer_leaves_the_thread_as_it_was() {
        let before = ThreadState::read();
        for interval in [Duration::from_micros(10), Duration::from_millis(10)] {
            let pacer = Pacer::start(interval);
            // A real-time thread has no slack at all and says 0.
            assert!(ThreadState::read().slack <= 1);
            drop(pacer);
            let after = ThreadState::read();
            assert_eq!(after.slack, before.slack);
            assert_eq!(after.nice, before.nice);
            assert_eq!((after.policy, after.priority), (before.policy, before.priority));
        }
    }

    /// Who shares the host neither spins nor runs before others.
    #[test]
    fn shared_time_is_slept_through() {
        let before = ThreadState::read();
        let mut pacer = Pacer::start_sharing();
        for step in 1..20 {
            let deadline = monotonic_now() + Duration::from_millis(step % 3);
            assert!(pacer.wait_until(deadline).at >= deadline);
            assert_eq!(pacer.margin(), Duration::ZERO);
        }
        let now = ThreadState::read();
        assert_eq!((now.policy, now.priority, now.nice), (before.policy, before.priority, before.nice));
    }

    #[test]
    fn a_short_interval_never_gets_a_real_time_thread() {
        assert_ne!(Pacer::start(Duration::from_micros(999)).scheduling(), Scheduling::RealTime);
    }

    #[test]
    fn a_long_wait_can_be_stopped() {
        let waker = Waker::new().unwrap();
        let mut pacer = Pacer::start(Duration::from_secs(3_600));
        let wake = std::thread::scope(|scope| {
            scope.spawn(|| waker.wake());
            pacer.wait_until_or(monotonic_now() + Duration::from_secs(3_600), &waker).unwrap()
        });
        assert_eq!(wake, None);
        let deadline = monotonic_now() + Duration::from_millis(25);
        assert!(pacer.wait_until_or(deadline, &waker).unwrap().unwrap().at >= deadline);
    }
}
