//! Time that the host took away from us, for saying which measurements it touched.
//!
//! A thread reads the clock again and again; where two readings are further apart than they can be by themselves,
//! something else ran on the core. If that was another thread of this system, the monitor's own processor time
//! stood still; if it was the hypervisor, or an interrupt, the system went on charging the monitor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use romer_units::{Duration, Monotonic, Timestamp};

use crate::HostError;
use crate::clock::{Realtime, monotonic_now, nanos_of, now};
use crate::scheduling::set_scheduler;

/// How a [`StealMonitor`] is to look.
#[derive(Clone, Copy, Debug)]
pub struct StealMonitorOptions {
    /// The core to watch; `None` lets the system move the monitor about.
    pub core: Option<usize>,
    /// Shorter gaps are not recorded.
    pub threshold: Duration,
    /// How many gaps can be recorded; further ones are counted.
    pub capacity: usize,
    /// Run only while nothing else wants the core (`SCHED_IDLE`): whoever wakes up there takes it at once. Without,
    /// the monitor is a thread like any other, and thereby a load.
    pub background: bool,
}

impl Default for StealMonitorOptions {
    fn default() -> Self {
        Self { core: None, threshold: Duration::from_micros(1), capacity: 1 << 20, background: false }
    }
}

/// A time in which the monitor did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last reading before it, on the clock of schedules.
    pub start: Timestamp<Monotonic>,
    /// The same moment on the clock of stamps.
    pub start_realtime: Realtime,
    /// How long it was.
    pub length: Duration,
    /// How much of it this system gave to other threads; the rest was taken by the host or by interrupts.
    pub scheduled_away: Duration,
}

impl Gap {
    /// The part that no thread of this system had.
    pub fn stolen(&self) -> Duration {
        self.length - self.scheduled_away
    }
}

/// A thread that spins and records the gaps it sees. It uses up the core it runs on.
#[derive(Debug)]
pub struct StealMonitor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Gaps>>,
}

/// What a [`StealMonitor`] saw.
#[derive(Clone, Debug)]
pub struct Gaps {
    list: Vec<Gap>,
    observed: Duration,
    unrecorded: u64,
    threshold: Duration,
    recorded_until: Realtime,
}

impl StealMonitor {
    /// Starts to watch. The memory for the record is taken here.
    ///
    /// # Errors
    /// The system refuses a thread, or the core does not exist or is not ours.
    pub fn start(options: StealMonitorOptions) -> Result<Self, HostError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, started) = std::sync::mpsc::sync_channel(1);
        let flag = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("gap-monitor".into())
            .spawn(move || {
                let prepared = options
                    .core
                    .map_or(Ok(()), pin)
                    .and_then(|()| if options.background { step_back() } else { Ok(()) });
                let failed = prepared.is_err();
                let list = Vec::with_capacity(options.capacity);
                let _ = ready.send(prepared);
                if failed { Gaps::none(options.threshold) } else { watch(&flag, list, options) }
            })
            .map_err(|source| HostError::System {
                operation: "start the thread",
                subject: "gap-monitor".into(),
                source,
            })?;
        let monitor = Self { stop, thread: Some(thread) };
        started
            .recv()
            .map_err(|_| HostError::Unsuitable("the gap monitor's thread ended at its start"))??;
        Ok(monitor)
    }

    /// Ends the watch and gives what was seen.
    pub fn stop(mut self) -> Gaps {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take();
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_else(|| Gaps::none(StealMonitorOptions::default().threshold))
    }
}

impl Drop for StealMonitor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Gaps {
    fn none(threshold: Duration) -> Self {
        Self {
            list: Vec::new(),
            observed: Duration::ZERO,
            unrecorded: 0,
            threshold,
            recorded_until: Realtime::from_nanos(i64::MIN),
        }
    }

    /// The gaps in order.
    pub fn list(&self) -> &[Gap] {
        &self.list
    }
    /// How long was watched.
    pub const fn observed(&self) -> Duration {
        self.observed
    }
    /// Gaps that found no room in the record.
    pub const fn unrecorded(&self) -> u64 {
        self.unrecorded
    }
    /// The length from which gaps were recorded.
    pub const fn threshold(&self) -> Duration {
        self.threshold
    }
    /// The moment up to which every gap is in the list.
    pub const fn recorded_until(&self) -> Realtime {
        self.recorded_until
    }
    /// All stolen time together.
    pub fn stolen(&self) -> Duration {
        self.list.iter().fold(Duration::ZERO, |sum, gap| sum + gap.stolen())
    }
    /// The longest time stolen at once.
    pub fn longest_stolen(&self) -> Duration {
        self.list.iter().map(Gap::stolen).max().unwrap_or(Duration::ZERO)
    }
    /// Stolen time as a share of the time watched, 0 to 1; 0 where nothing was watched.
    pub fn stolen_ratio(&self) -> f64 {
        if self.observed == Duration::ZERO {
            0.0
        } else {
            self.stolen().as_secs_f64() / self.observed.as_secs_f64()
        }
    }
}

fn watch(stop: &AtomicBool, list: Vec<Gap>, options: StealMonitorOptions) -> Gaps {
    let mut gaps = Gaps { list, ..Gaps::none(options.threshold) };
    let begin = now();
    let mut last = begin.monotonic;
    let mut charged = (last, thread_time());
    while !stop.load(Ordering::Relaxed) {
        let reading = monotonic_now();
        let length = reading - last;
        if length >= options.threshold {
            let resumed = now();
            let thread = thread_time();
            // Of the time since the last look at the processor clock, what was not charged was others'. It can
            // only have been in this gap, but for gaps below the threshold.
            let away = (reading - charged.0) - (thread - charged.1);
            charged = (reading, thread);
            if gaps.list.len() < options.capacity {
                let back = length + (resumed.monotonic - reading);
                gaps.list.push(Gap {
                    start: last,
                    start_realtime: Realtime::from_nanos(resumed.realtime.as_nanos() - back.as_nanos()),
                    length,
                    scheduled_away: away.clamp(Duration::ZERO, length),
                });
                gaps.recorded_until = resumed.realtime;
            } else {
                gaps.unrecorded += 1;
            }
            // The book-keeping itself is no gap.
            last = monotonic_now();
        } else {
            last = reading;
        }
    }
    let ended = now();
    gaps.observed = ended.monotonic - begin.monotonic;
    if gaps.unrecorded == 0 {
        gaps.recorded_until = ended.realtime;
    }
    gaps
}

/// Processor time that the system has charged to this thread.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec into `time`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::from_nanos(nanos_of(time.tv_sec, time.tv_nsec))
}

/// Lets everybody else go before the current thread.
fn step_back() -> Result<(), HostError> {
    if set_scheduler(libc::SCHED_IDLE, 0) {
        Ok(())
    } else {
        Err(HostError::last("step behind the other threads"))
    }
}

/// Keeps the current thread on `core`.
///
/// # Errors
/// There is no such core, or this process may not use it.
pub fn pin(core: usize) -> Result<(), HostError> {
    // SAFETY: a cpu_set_t is an array of integers, for which zero is valid: the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if core >= 8 * size_of::<libc::cpu_set_t>() {
        return Err(HostError::Missing { what: "core", name: core.to_string() });
    }
    // SAFETY: `core` is within the set, which was checked just now.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: the call reads the set, whose length is given; 0 means the calling thread.
    let answer = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if answer == 0 { Ok(()) } else { Err(HostError::last_on("keep the thread on core", core.to_string())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(start: i64, length: i64, away: i64) -> Gap {
        Gap {
            start: Timestamp::from_nanos(start),
            start_realtime: Realtime::from_nanos(start),
            length: Duration::from_nanos(length),
            scheduled_away: Duration::from_nanos(away),
        }
    }

    fn gaps(list: Vec<Gap>) -> Gaps {
        Gaps { list, observed: Duration::from_micros(100), ..Gaps::none(Duration::from_micros(1)) }
    }

    fn end(gap: &Gap) -> Realtime {
        Realtime::from_nanos(gap.start_realtime.as_nanos().saturating_add(gap.length.as_nanos()))
    }

    /// A gap that the measured system itself caused is not stolen by the host.
    #[test]
    fn own_work_is_not_stolen() {
        let gaps = gaps(vec![gap(10_000, 2_000, 0), gap(50_000, 5_000, 5_000), gap(80_000, 3_000, 1_000)]);
        assert_eq!(gaps.stolen(), Duration::from_nanos(4_000));
        assert_eq!(gaps.longest_stolen(), Duration::from_nanos(2_000));
        assert!((gaps.stolen_ratio() - 0.04).abs() < 1e-12);
    }

    #[test]
    fn a_monitor_records_ordered_disjoint_gaps_above_its_threshold() {
        let options = StealMonitorOptions {
            threshold: Duration::from_nanos(200),
            capacity: 1_000,
            ..StealMonitorOptions::default()
        };
        let monitor = StealMonitor::start(options).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let gaps = monitor.stop();
        assert!(gaps.observed() >= Duration::from_millis(50));
        assert!(gaps.list().len() <= 1_000);
        assert!(gaps.list().iter().all(|gap| gap.length >= options.threshold));
        assert!(gaps.list().iter().all(|gap| gap.scheduled_away <= gap.length));
        assert!(gaps.list().windows(2).all(|pair| pair[0].start + pair[0].length <= pair[1].start));
    }

    #[test]
    fn a_monitor_in_the_background_watches_too() {
        let monitor =
            StealMonitor::start(StealMonitorOptions { background: true, ..StealMonitorOptions::default() })
                .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(monitor.stop().observed() > Duration::ZERO);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let options =
            StealMonitorOptions { threshold: Duration::ZERO, capacity: 3, ..StealMonitorOptions::default() };
        let monitor = StealMonitor::start(options).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let gaps = monitor.stop();
        assert_eq!(gaps.list().len(), 3);
        assert!(gaps.unrecorded() > 0);
        assert!(gaps.recorded_until() >= end(&gaps.list()[2]));
    }

    #[test]
    fn a_core_that_is_not_there_is_refused() {
        let options = StealMonitorOptions { core: Some(1_000), ..StealMonitorOptions::default() };
        assert!(StealMonitor::start(options).is_err());
        assert!(StealMonitor::start(StealMonitorOptions { core: Some(1_000_000), ..options }).is_err());
    }
}
