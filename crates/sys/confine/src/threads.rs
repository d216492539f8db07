//! Applying a reduction to all threads.
//!
//! Capabilities, no_new_privs and Landlock belong to a thread. A thread that starts later has those of the thread that
//! started it. To reach the threads that exist, each gets a signal, whose handler applies the reduction. `libpsx` of
//! libcap does the same.

use std::collections::BTreeSet;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, ptr, thread};

use crate::capability::{CapabilitySet, Words};
use crate::landlock::Ruleset;

/// How long a thread may take to handle the signal, before it counts as missed.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked whether a thread has.
const POLL_INTERVAL: Duration = Duration::from_micros(50);
/// The highest capability that any kernel may have.
const LAST_CAPABILITY: libc::c_ulong = 63;

/// What failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failures(u32);

impl Failures {
    /// Capabilities remain that are not needed.
    pub(crate) const CAPABILITIES: Self = Self(1);
    /// Programs can get privileges.
    pub(crate) const NO_NEW_PRIVILEGES: Self = Self(2);
    /// Files are not restricted.
    pub(crate) const FILES: Self = Self(4);
    /// All of it, in a thread that did not handle its signal.
    const ALL: Self = Self(7);

    pub(crate) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What each thread gives up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    keep: CapabilitySet,
    /// Programs that are started may have the kept capabilities.
    starts_programs: bool,
    /// Of the Landlock rules, or -1.
    ruleset: RawFd,
}

impl Reduction {
    /// Files are restricted while `ruleset` exists.
    pub(crate) fn new(keep: CapabilitySet, starts_programs: bool, ruleset: Option<&Ruleset>) -> Self {
        Self { keep, starts_programs, ruleset: ruleset.map_or(-1, Ruleset::descriptor) }
    }

    /// Applies it to the current thread. Makes system calls only, as a signal handler must.
    pub(crate) fn apply(&self) -> Failures {
        let mut failures = 0;
        let keep = if self.starts_programs { self.keep.bits() } else { 0 };
        for number in (0..=LAST_CAPABILITY).filter(|number| keep & (1 << number) == 0) {
            // It takes CAP_SETPCAP. Without that, no_new_privs has the same effect.
            // SAFETY: the call takes plain numbers.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) };
        }
        if !self.starts_programs {
            // SAFETY: the call takes plain numbers.
            unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
        }
        let reduced = Words::read().is_some_and(|words| words.reduced(self.keep).set());
        if !reduced {
            failures |= Failures::CAPABILITIES.0;
        }
        // SAFETY: the call takes plain numbers.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
            failures |= Failures::NO_NEW_PRIVILEGES.0;
        }
        if self.ruleset >= 0 {
            // SAFETY: the call takes plain numbers; the descriptor is open.
            let answer = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, self.ruleset, 0_u32) };
            if answer != 0 {
                failures |= Failures::FILES.0;
            }
        }
        Failures(failures)
    }
}

/// What the handler applies; null before the first reduction. What it points to is never freed: a thread may handle its signal late.
static REDUCTION: AtomicPtr<Reduction> = AtomicPtr::new(ptr::null_mut());
/// How many threads have handled their signal, and what failed in them.
static HANDLED: AtomicUsize = AtomicUsize::new(0);
static FAILED: AtomicU32 = AtomicU32::new(0);

/// Applies `reduction` to all threads of this process; the caller sees to it that nobody else does at the same time.
pub(crate) fn in_all(reduction: Reduction) -> Failures {
    let own = reduction.apply();
    REDUCTION.store(Box::leak(Box::new(reduction)), Ordering::Release);
    FAILED.store(0, Ordering::Release);
    let others = match install_handler() {
        Some(signal) => signal_all(signal),
        None => Failures::ALL,
    };
    Failures(own.0 | others.0 | FAILED.load(Ordering::Acquire))
}

/// Has the handler run at the signal that is returned. It stays: a late signal must not end the process.
fn install_handler() -> Option<libc::c_int> {
    let signal = libc::SIGRTMAX() - 2;
    // SAFETY: the structure is integers and pointers, for which zero is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handle as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
    // SAFETY: the call reads one structure.
    let answer = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
    (answer == 0).then_some(signal)
}

/// Signals every other thread and waits for it, until no thread is new.
fn signal_all(signal: libc::c_int) -> Failures {
    // SAFETY: the call takes nothing.
    let own = unsafe { libc::gettid() };
    let mut known = BTreeSet::from([own]);
    loop {
        let Some(threads) = threads() else { return Failures::ALL };
        let new: Vec<libc::pid_t> = threads.into_iter().filter(|thread| !known.contains(thread)).collect();
        if new.is_empty() {
            return Failures::default();
        }
        for thread in new {
            if !has_handled(thread, signal) {
                return Failures::ALL;
            }
            known.insert(thread);
        }
    }
}

/// Signals a thread. Gives whether it has handled the signal, or has ended.
fn has_handled(thread: libc::pid_t, signal: libc::c_int) -> bool {
    let handled = HANDLED.load(Ordering::Acquire);
    // SAFETY: the call takes plain numbers.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, signal) };
    if sent != 0 {
        return !exists(thread);
    }
    let deadline = Instant::now() + PATIENCE;
    while HANDLED.load(Ordering::Acquire) == handled {
        if !exists(thread) {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

/// The threads of this process.
fn threads() -> Option<Vec<libc::pid_t>> {
    let entries = fs::read_dir("/proc/self/task").ok()?;
    Some(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

fn exists(thread: libc::pid_t) -> bool {
    fs::exists(format!("/proc/self/task/{thread}")).unwrap_or(true)
}

/// Runs in the thread that got the signal.
extern "C" fn handle(_signal: libc::c_int) {
    // SAFETY: the place of the number lives as long as the thread.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as before.
    let before = unsafe { *place };
    // SAFETY: the pointer is null, or of a reduction that is never freed.
    if let Some(reduction) = unsafe { REDUCTION.load(Ordering::Acquire).as_ref() } {
        FAILED.fetch_or(reduction.apply().0, Ordering::AcqRel);
    }
    HANDLED.fetch_add(1, Ordering::AcqRel);
    // SAFETY: as before.
    unsafe { *place = before };
}
