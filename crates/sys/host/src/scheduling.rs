//! The scheduling class of the current thread.

use crate::HostError;

/// Real-time priority, in the middle of the range 1 to 99.
const PRIORITY: libc::c_int = 50;
/// The lowest nice value: before all other threads that are not in real time.
pub(crate) const BEST_NICE: libc::c_int = -20;

/// Gives the current thread real time (`SCHED_FIFO`). Threads and programs started from it do not inherit the class.
pub(crate) fn become_real_time() -> Result<(), HostError> {
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    if set_scheduler(policy, PRIORITY) {
        return Ok(());
    }
    let refused = HostError::last("run a thread in real time");
    // The user's limit may allow a lower priority than ours.
    let lower = realtime_limit().map_or(0, |limit| libc::c_int::try_from(limit).unwrap_or(PRIORITY));
    if (1..PRIORITY).contains(&lower) && set_scheduler(policy, lower) { Ok(()) } else { Err(refused) }
}

/// Gives the current thread a scheduling class; whether the system allowed it.
pub(crate) fn set_scheduler(policy: libc::c_int, priority: libc::c_int) -> bool {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads one structure; 0 means the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) == 0 }
}

/// Gives the current thread a nice value; whether the system allowed it.
pub(crate) fn set_nice(nice: libc::c_int) -> bool {
    // SAFETY: the call takes plain numbers; 0 means the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) == 0 }
}

/// The highest real-time priority that a user without `CAP_SYS_NICE` may have (`RLIMIT_RTPRIO`); 0 for none.
///
/// # Errors
/// A sandbox forbids the question.
pub fn realtime_limit() -> Result<u64, HostError> {
    limit(libc::RLIMIT_RTPRIO, "read the limit of real-time priority")
}

/// A limit of this process (`getrlimit`).
pub(crate) fn limit(resource: libc::__rlimit_resource_t, operation: &'static str) -> Result<u64, HostError> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes one structure into `limit`.
    let answer = unsafe { libc::getrlimit(resource, &raw mut limit) };
    if answer == 0 { Ok(limit.rlim_cur) } else { Err(HostError::last(operation)) }
}
