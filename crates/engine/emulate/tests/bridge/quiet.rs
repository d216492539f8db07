//! On the way of a packet nothing is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use romer_emulate::live::{DataPlane, FeedOptions, LiveBridge, LiveOptions};
use romer_host::thread::{Policy, RealTime};
use romer_impair::config::{Corrupt, Delay, Duplicate, Model, Reorder, Variable};
use romer_impair::{Decision, DelayDistribution, Path};

use crate::live::{Bench, assert_balanced, drain, numbered};
use romer_testnet::link::wait_until;
use romer_testnet::namespace::with_network;

/// Says that this process runs one test alone, so that the threads that begin during the test are the bridge's.
const ALONE: &str = "ROMER_BRIDGE_ALONE";
/// Frames each way.
const PACKETS: u32 = 10_000;

/// The system's allocator, which counts.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Threads that are told apart; all later ones are one.
const THREADS: usize = 256;
/// Allocations by thread, in the order in which threads came to allocate first.
static COUNTS: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];
static KNOWN: AtomicUsize = AtomicUsize::new(0);

std::thread_local! {
    /// The place of this thread.
    static PLACE: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn count() {
    // A thread that is ending has no place any more, and does nothing for us.
    let _ = PLACE.try_with(|place| {
        if place.get() == usize::MAX {
            place.set(KNOWN.fetch_add(1, Ordering::Relaxed).min(THREADS - 1));
        }
        COUNTS[place.get()].fetch_add(1, Ordering::Relaxed);
    });
}

/// Allocations of the threads that came after the first `known`.
fn of_later(known: usize) -> u64 {
    COUNTS[known.min(THREADS - 1)..].iter().map(|count| count.load(Ordering::Relaxed)).sum()
}

// SAFETY: every call goes to the system's allocator as it is; counting touches neither the memory nor the layout, and
// allocates nothing itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are those that the system's allocator wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from the system's allocator with this layout, as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as of `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as of `dealloc`, and `size` is what the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn everything() -> Path {
    let bernoulli = |probability| Decision::Bernoulli { probability };
    Path {
        loss: Model::Plain(bernoulli(0.05)),
        duplicate: Model::Plain(Duplicate { decision: bernoulli(0.05), delay: 200_000 }),
        reorder: Model::Plain(Reorder { decision: bernoulli(0.05), ..Reorder::default() }),
        delay: Model::Plain(Delay {
            fixed: 500_000,
            variable: Some(Variable::new(DelayDistribution::Gamma { shape: 2.0, scale: 1e5 }, None)),
        }),
        corrupt: Corrupt { decision: bernoulli(0.05), bits: 2, repair_checksum: true },
        ..Path::default()
    }
}

/// Whether this process runs the test `name` alone. Where it does not, another process has run it: the other tests of this one have
/// bridges as well.
fn is_alone(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let ended = command.args([name, "--exact", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// The scheduling policy of the bridge's thread, by the kernel's number: field 41 of `/proc/PID/stat`.
fn policy_of_bridge() -> u32 {
    let mut tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let name = |task: &std::path::Path| std::fs::read_to_string(task.join("comm")).unwrap_or_default();
    let task = tasks.find(|task| name(task).trim_end() == "bridge").unwrap();
    let stat = std::fs::read_to_string(task.join("stat")).unwrap();
    // The name, which is field 2, ends with the last parenthesis.
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    after_name.split_whitespace().nth(41 - 3).unwrap().parse().unwrap()
}

/// A bridge that sleeps has real-time priority where that is permitted, and begins without it elsewhere.
#[test]
fn sleeping_bridges_have_real_time_priority() {
    /// `SCHED_OTHER` and `SCHED_FIFO` of the kernel.
    const POLICIES: [u32; 2] = [0, 1];
    const NAME: &str = "quiet::sleeping_bridges_have_real_time_priority";
    if !is_alone(NAME) {
        return;
    }
    with_network(NAME, || {
        let is_permitted = Policy { cpu: None, realtime: RealTime::Required }.check().is_ok();
        let bench = Bench::new();
        let bridge = bench.bridge(Path::default());
        // An answer comes from the thread, which has set its policy then.
        let _ = bridge.control().snapshot().unwrap();
        wait_until("the bridge sleeps", || policy_of_bridge() == POLICIES[usize::from(is_permitted)]);
        assert_balanced(&bridge.stop().unwrap());
    });
}

/// Forwarding a packet allocates no memory.
#[test]
fn packets_allocate_nothing() {
    const NAME: &str = "quiet::packets_allocate_nothing";
    if !is_alone(NAME) {
        return;
    }
    with_network(NAME, || {
        let bench = Bench::new();
        let options = LiveOptions { data_plane: DataPlane::Packet, ..bench.options(everything()) };
        let known = KNOWN.load(Ordering::Relaxed);
        let bridge = LiveBridge::start(&options).unwrap();
        let options = FeedOptions { octets: true, ..FeedOptions::default() };
        let mut feed = bridge.control().samples(options).unwrap();
        let mut hosts = bench.hosts();
        let control = bridge.control();
        let mut sampled = 0;
        // What has come to the bridge, and what it holds.
        let mut settled = 0;
        let mut pass = |numbers: std::ops::Range<u32>| {
            for begin in numbers.step_by(100) {
                for number in begin..begin + 100 {
                    for host in &mut hosts {
                        assert_eq!(host.send(&numbered(number)).frames, 1);
                    }
                }
                settled += 100;
                wait_until("all is settled", || {
                    hosts.iter_mut().for_each(|host| drop(drain(host)));
                    sampled += feed.drain(|_| {});
                    let snapshot = control.snapshot().unwrap();
                    snapshot
                        .directions
                        .iter()
                        .all(|way| way.ledger.received >= settled && way.ledger.queued == 0)
                });
            }
        };
        // The first packets find what a thread needs once.
        pass(0..500);
        let before = of_later(known);
        assert!(before > 0, "the bridge's thread is seen");
        pass(500..500 + PACKETS);
        let after = of_later(known);
        assert_eq!(after - before, 0, "allocations over {PACKETS} packets each way");
        let snapshot = bridge.stop().unwrap();
        assert_balanced(&snapshot);
        assert!(
            snapshot
                .directions
                .iter()
                .all(|way| way.ledger.duplicates_created > 0 && way.ledger.corrupted > 0)
        );
        assert!(sampled > PACKETS as usize);
    });
}
