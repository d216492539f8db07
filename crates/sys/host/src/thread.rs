//! How the threads that send and receive are run: on which processor, in which scheduling class, and whether the
//! program's memory may be paged out.
//!
//! Every thread of an engine that sends or receives calls [`Policy::begin`] once, and [`PolicyRun::turn`] at every turn of
//! its loop if it waits for sockets. A thread in real time that never sleeps would keep everything else off its
//! processor, and the kernel stops it for 50 milliseconds in every second for that; so real time is only for those
//! that sleep, and [`PolicyRun`] takes it away from one that has stopped sleeping and gives it back later.

use std::ffi::CStr;
use std::marker::PhantomData;

use romer_units::{Duration, Monotonic, Timestamp};

use crate::HostError;
pub use crate::scheduling::realtime_limit;
use crate::scheduling::{BEST_NICE, become_real_time, limit, set_nice, set_scheduler};

/// A thread that has not slept for so long is one that spins.
const SPINS: Duration = Duration::from_millis(20);
/// A wait of so long shows that it sleeps again.
const SLEEPS: Duration = Duration::from_millis(1);
/// Locked memory must have room for this much more where it is limited: what comes later is locked as well.
const LOCK_ROOM: u64 = 1 << 30;

/// How the threads of an engine are to be run. The default asks for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Keep the threads that send or receive on this processor, as the kernel numbers them from 0.
    pub cpu: Option<u16>,
    /// Whether those of them that sleep run in real time (`SCHED_FIFO`).
    pub realtime: RealTime,
}

/// Whether a thread that sleeps runs in real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RealTime {
    /// It does not.
    #[default]
    Never,
    /// It does where that is permitted, and runs like any other thread elsewhere.
    IfPermitted,
    /// It does, and is refused where that is not permitted.
    Required,
}

/// How a thread spends its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It waits for sockets most of the time.
    Waits,
    /// It keeps a schedule with a [`Pacer`](crate::pacing::Pacer), which chooses the scheduling class by itself.
    Paces,
}

/// What stands in the way of a [`Policy`].
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The processor cannot be used.
    #[error("{source}")]
    Cpu {
        /// The processors that this process may use.
        usable: Vec<u16>,
        /// The system's answer.
        source: HostError,
    },
    /// Real time is not allowed.
    #[error("{0}")]
    RealTime(HostError),
    /// A thread to try it with could not be started.
    #[error("{0}")]
    Thread(HostError),
}

impl Policy {
    /// Tries the policy with a thread that ends at once, so that a refusal is known before anything is begun.
    ///
    /// # Errors
    /// [`PolicyError`]: what is not allowed here.
    pub fn check(self) -> Result<(), PolicyError> {
        let attempt = std::thread::Builder::new()
            .name("romer-policy".into())
            .spawn(move || self.begin(Role::Waits).map(drop))
            .map_err(|source| {
                PolicyError::Thread(HostError::System {
                    operation: "start a thread",
                    subject: String::new(),
                    source,
                })
            })?;
        attempt.join().unwrap_or(Err(PolicyError::Thread(HostError::Unsuitable("the thread ended early"))))
    }

    /// Applies the policy to the current thread. What it was before is not given back: a thread of an engine ends
    /// with its work.
    ///
    /// # Errors
    /// As of [`Policy::check`].
    pub fn begin(self, role: Role) -> Result<PolicyRun, PolicyError> {
        if let Some(cpu) = self.cpu {
            pin(cpu).map_err(|source| PolicyError::Cpu { usable: usable_cpus(), source })?;
        }
        let realtime = match (role, self.realtime) {
            (Role::Paces, _) | (_, RealTime::Never) => false,
            (Role::Waits, RealTime::IfPermitted) => become_real_time().is_ok(),
            (Role::Waits, RealTime::Required) => {
                become_real_time().map_err(PolicyError::RealTime)?;
                true
            }
        };
        Ok(PolicyRun { turns: realtime.then(Turns::default), thread: PhantomData })
    }
}

/// A thread that runs by a [`Policy`]; the default is one of which nothing was asked.
#[derive(Debug, Default)]
pub struct PolicyRun {
    turns: Option<Turns>,
    // The class belongs to the thread.
    thread: PhantomData<*const ()>,
}

impl PolicyRun {
    /// Tells of a turn of the thread's loop, which began to wait at `before` and went on at `after`. A thread in real
    /// time that has not slept for 20 milliseconds becomes a preferred one, and is in real time again once it has
    /// slept for one.
    pub fn turn(&mut self, before: Timestamp<Monotonic>, after: Timestamp<Monotonic>) {
        match self.turns.as_mut().and_then(|turns| turns.next(before, after)) {
            Some(SchedulingChange::Preferred) => {
                set_scheduler(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0);
                set_nice(BEST_NICE);
            }
            // Allowed once, it is allowed again; were it not, the thread would stay preferred.
            Some(SchedulingChange::RealTime) => drop(become_real_time()),
            None => {}
        }
    }
}

/// What a thread in real time has done lately.
#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    awake_since: Option<Timestamp<Monotonic>>,
    demoted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchedulingChange {
    Preferred,
    RealTime,
}

impl Turns {
    fn next(
        &mut self,
        before: Timestamp<Monotonic>,
        after: Timestamp<Monotonic>,
    ) -> Option<SchedulingChange> {
        if after - before >= SLEEPS {
            self.awake_since = Some(after);
            return std::mem::take(&mut self.demoted).then_some(SchedulingChange::RealTime);
        }
        let since = *self.awake_since.get_or_insert(before);
        if !self.demoted && after - since >= SPINS {
            self.demoted = true;
            return Some(SchedulingChange::Preferred);
        }
        None
    }
}

/// How many octets a user without `CAP_IPC_LOCK` may lock (`RLIMIT_MEMLOCK`); `None` without a limit.
///
/// # Errors
/// A sandbox forbids the question.
pub fn lock_limit() -> Result<Option<u64>, HostError> {
    let octets = limit(libc::RLIMIT_MEMLOCK, "read the limit of locked memory")?;
    Ok((octets != libc::RLIM_INFINITY).then_some(octets))
}

/// Names the current thread, for whoever lists the threads of this process; 15 octets are kept.
pub fn set_name(name: &CStr) {
    // SAFETY: the call reads the text up to its end, which is there, and keeps no pointer.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// The processors that the current thread may use, in order of their numbers.
pub fn usable_cpus() -> Vec<u16> {
    // SAFETY: a cpu_set_t is an array of integers, for which zero is valid.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes at most the size that it is told into `set`; 0 means the calling thread.
    let answer = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if answer != 0 {
        return Vec::new();
    }
    let is_in = |cpu: u16| {
        // SAFETY: the macro reads one bit of `set`, whose number is below its size.
        unsafe { libc::CPU_ISSET(usize::from(cpu), &set) }
    };
    (0..MOST_CPUS).filter(|cpu| is_in(*cpu)).collect()
}

/// One more than the highest number of a processor that [`Policy::cpu`] can name.
pub const MOST_CPUS: u16 = 1_024;

/// Keeps the current thread on one processor.
fn pin(cpu: u16) -> Result<(), HostError> {
    if !usable_cpus().contains(&cpu) {
        return Err(HostError::Unsuitable("this process may not use that processor, or there is none"));
    }
    crate::steal_monitor::pin(usize::from(cpu))
}

/// The program's memory stays where it is while this lives: pages that are used once are never paged out.
#[derive(Debug)]
pub struct LockedMemory(());

impl LockedMemory {
    /// Locks what memory the program uses, now and later (`mlockall`). Pages are locked when they are first touched,
    /// so that room which is only reserved costs nothing.
    ///
    /// A program with a limit that it might reach would be refused memory in the middle of its work, so that a limit
    /// without a gibibyte of room is refused here.
    ///
    /// # Errors
    /// The user may not lock so much (`ENOMEM`, `EPERM`, or [`HostError::Unsuitable`] where the limit is too near).
    pub fn lock() -> Result<Self, HostError> {
        /// `MCL_ONFAULT` (`include/uapi/asm-generic/mman.h`).
        const ON_FAULT: libc::c_int = 4;
        let used = used_memory();
        // SAFETY: the call takes a plain number and changes no memory's contents.
        let answer = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE | ON_FAULT) };
        if answer != 0 {
            return Err(HostError::last("lock the program's memory"));
        }
        let locked = Self(());
        if enough_room(lock_limit()?, used) {
            return Ok(locked);
        }
        Err(HostError::Unsuitable("the limit of locked memory leaves less than 1 GiB of room"))
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // SAFETY: the call changes no memory's contents.
        unsafe { libc::munlockall() };
    }
}

/// Whether memory that could be locked, of which `used` octets were taken before, can grow. Who was given more than
/// the limit has the right to pass it (`CAP_IPC_LOCK`).
const fn enough_room(limit: Option<u64>, used: u64) -> bool {
    match limit {
        None => true,
        Some(limit) => used > limit || limit - used >= LOCK_ROOM,
    }
}

/// Octets of address space of this process; 0 where that is not told.
fn used_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split_whitespace().next().and_then(|pages| pages.parse().ok()).unwrap_or(0);
    // SAFETY: the call takes a plain number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.saturating_mul(u64::try_from(page).unwrap_or(4_096))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(work).join().unwrap()
    }

    fn scheduler() -> libc::c_int {
        // SAFETY: the call takes plain numbers.
        unsafe { libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK }
    }

    #[test]
    fn a_thread_is_kept_on_the_processor_that_was_asked_for_and_others_are_not() {
        let all = usable_cpus();
        let last = *all.last().unwrap();
        let policy = Policy { cpu: Some(last), ..Policy::default() };
        policy.check().unwrap();
        let inside = on_a_thread(move || {
            let _run = policy.begin(Role::Paces).unwrap();
            usable_cpus()
        });
        assert_eq!(inside, [last]);
        assert_eq!(usable_cpus(), all, "the caller's own thread is as it was");
    }

    #[test]
    fn a_processor_that_is_not_there_is_refused_with_those_that_are() {
        for cpu in [MOST_CPUS - 1, MOST_CPUS, u16::MAX] {
            let Err(PolicyError::Cpu { usable, .. }) =
                (Policy { cpu: Some(cpu), ..Policy::default() }).check()
            else {
                panic!("processor {cpu} was accepted");
            };
            assert_eq!(usable, usable_cpus());
        }
    }

    #[test]
    fn real_time_is_given_to_a_thread_that_waits_and_never_to_one_that_paces() {
        let policy = Policy { cpu: None, realtime: RealTime::Required };
        let waits = on_a_thread(move || policy.begin(Role::Waits).map(|_run| scheduler()));
        let granted = match waits {
            Ok(scheduler) => scheduler,
            Err(PolicyError::RealTime(error)) => {
                assert!(error.is_permission(), "{error}");
                libc::SCHED_OTHER
            }
            Err(other) => panic!("{other}"),
        };
        let permitted = Policy { cpu: None, realtime: RealTime::IfPermitted };
        let class = on_a_thread(move || permitted.begin(Role::Waits).map(|_run| scheduler())).unwrap();
        assert_eq!(class, granted, "what is required is granted where it is permitted, and never refused");
        assert_eq!(granted == libc::SCHED_FIFO, policy.check().is_ok());
        assert_eq!(on_a_thread(move || policy.begin(Role::Paces).map(|_run| scheduler())).unwrap(), 0);
    }

    #[test]
    fn a_thread_that_stops_sleeping_loses_real_time_until_it_sleeps_again() {
        let at = |micros: i64| Timestamp::<Monotonic>::from_nanos(micros * 1_000);
        let mut turns = Turns::default();
        // Short waits in a row, each of 10 us.
        let mut changes = Vec::new();
        for turn in 0..3_000 {
            changes.extend(turns.next(at(turn * 10), at(turn * 10 + 9)).map(|change| (turn, change)));
        }
        assert_eq!(changes, [(2_000, SchedulingChange::Preferred)]);
        assert_eq!(turns.next(at(40_000), at(40_900)), None, "a short sleep is none");
        assert_eq!(turns.next(at(41_000), at(42_000)), Some(SchedulingChange::RealTime));
        assert_eq!(turns.next(at(42_100), at(61_900)), None);
        // A thread that sleeps at every turn keeps it.
        let mut sleeper = Turns::default();
        assert!((0..1_000).all(|turn| sleeper.next(at(turn * 2_000), at(turn * 2_000 + 1_000)).is_none()));
    }

    #[test]
    fn memory_is_locked_for_whoever_has_room_to_grow() {
        let (gib, mib) = (1 << 30, 1 << 20);
        assert!(enough_room(None, 5 * gib));
        assert!(enough_room(Some(8 * mib), 300 * mib), "past the limit: by right");
        assert!(!enough_room(Some(400 * mib), 300 * mib));
        assert!(enough_room(Some(2 * gib), 300 * mib));
    }

    #[test]
    fn locked_memory_is_locked_while_it_is_wanted_and_no_longer() {
        let locked = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        match LockedMemory::lock() {
            Ok(memory) => {
                assert!(locked() > 0);
                drop(memory);
            }
            Err(error) => assert!(lock_limit().unwrap().is_some(), "refused without a limit: {error}"),
        }
        assert_eq!(locked(), 0);
    }
}
