//! Beliefs about sleeping and scheduling.

use romer_host::clock::{monotonic_now, now};
use romer_host::netns;
use romer_host::pacing::{Pacer, Scheduling};
use romer_units::Duration;

use romer_testnet::namespace::{Namespace, as_ordinary_user, with_network};

/// Relied on by every sender: a probe never leaves before its time, and sleeping towards an absolute deadline
/// does not add up errors.
#[test]
fn a_wake_is_never_early() {
    for interval in [Duration::from_micros(100), Duration::from_millis(2)] {
        let mut pacer = Pacer::start(interval);
        let mut deadline = monotonic_now();
        for _ in 0..200 {
            deadline = deadline + interval;
            let wake = pacer.wait_until(deadline);
            assert!(wake.at >= deadline, "{wake:?} before {deadline:?}");
        }
    }
}

/// Relied on by the pacer: what it can get follows from the rights, and asking for more does no harm.
#[test]
fn real_time_scheduling_is_had_with_the_right_for_it_and_refused_without() {
    use romer_host::host_info::{Capability, capabilities};
    let scheduling = Pacer::start(Duration::from_millis(10)).scheduling();
    // Without the right, limits of the user may still allow it.
    assert!(!capabilities().unwrap().has(Capability::SysNice) || scheduling == Scheduling::RealTime);
    as_ordinary_user("pacing::real_time_scheduling_is_had_with_the_right_for_it_and_refused_without", || {
        let mut pacer = Pacer::start(Duration::from_millis(10));
        let deadline = monotonic_now() + Duration::from_millis(10);
        assert!(pacer.wait_until(deadline).at >= deadline);
    });
}

/// Relied on by the laboratory and the metadata: one boot id, one real-time clock, whatever the namespace. Only so
/// can two hosts of the laboratory give absolute one-way delays.
#[test]
fn all_network_namespaces_share_one_real_time_clock() {
    with_network("pacing::all_network_namespaces_share_one_real_time_clock", || {
        let namespace = Namespace::create();
        for _ in 0..20 {
            let before = now();
            let inside = netns::with_namespace(&namespace.0, now).unwrap();
            let after = now();
            assert!(before.monotonic <= inside.monotonic && inside.monotonic <= after.monotonic);
            assert!(before.realtime <= inside.realtime && inside.realtime <= after.realtime);
        }
    });
}

/// Relied on by `--cpu`: a thread stays where it was put, its later threads with it, and the others do not follow.
#[test]
fn a_thread_that_is_put_on_a_processor_stays_there_alone() {
    use romer_host::thread::{Policy, Role, usable_cpus};
    let all = usable_cpus();
    let first = all[0];
    let policy = Policy { cpu: Some(first), ..Policy::default() };
    let seen = std::thread::spawn(move || {
        let _run = policy.begin(Role::Waits).unwrap();
        (usable_cpus(), std::thread::spawn(usable_cpus).join().unwrap())
    });
    assert_eq!(seen.join().unwrap(), (vec![first], vec![first]));
    assert_eq!(usable_cpus(), all);
}

/// Relied on by `--realtime` and `--lock-memory`: without rights and with an ordinary user's limits both are refused by
/// the kernel and not accepted and ignored.
#[test]
fn an_ordinary_user_is_refused_real_time_and_locked_memory_beyond_the_limits() {
    use romer_host::thread::{LockedMemory, Policy, RealTime, lock_limit, realtime_limit};
    as_ordinary_user(
        "pacing::an_ordinary_user_is_refused_real_time_and_locked_memory_beyond_the_limits",
        || {
            let realtime = Policy { cpu: None, realtime: RealTime::Required }.check();
            assert_eq!(realtime.is_ok(), realtime_limit().unwrap() > 0, "{realtime:?}");
            let locked = LockedMemory::lock();
            assert!(locked.is_ok() || lock_limit().unwrap().is_some(), "{locked:?}");
        },
    );
}
