//! The three states in which the machine is measured, and what the host took away meanwhile.
//!
//! A monitor that reads the clock without pause is itself a load. So it is used in three ways. Where every core is to
//! be busy, the monitors *are* the busy loops: one thread a core at normal priority, which does nothing but read the
//! clock. In the watched state they stand behind every other thread (`SCHED_IDLE`): no thread ever waits for them,
//! but the cores never sleep. In the idle state nothing runs beside the measurement, as on a host that measures and
//! does nothing else; there the host's gaps are looked for right before and right after, and no packet can be said to
//! have met one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result};
use romer_host::host_info;
use romer_host::steal_monitor::{Gap, Gaps, StealMonitor, StealMonitorOptions};
use romer_units::Duration;
use serde::Serialize;

/// From this length on, a gap in which no thread of this system had the core is the host's. A tick of this system's own
/// timer is such a gap as well: no monitor can tell the two apart, and on a virtual machine most of a tick is the
/// host's doing (some 20 us, where the tick itself has 2 us of work).
pub(crate) const STOLEN: Duration = Duration::from_micros(5);
/// What another thread may have had of a gap that still counts as one without.
const UNNOTICED: Duration = Duration::from_micros(1);
/// Longer than this no thread of a measurement keeps a core: the sender, which no other thread can hold up, spins for
/// one millisecond at the most. While it has the core, a monitor sees nothing; but when it has had the core for
/// longer, it was the host that kept it (or, behind a monitor in the background, another program of this machine).
pub(crate) const KEPT: Duration = Duration::from_micros(1_500);
/// How long the gaps are looked for before and after an idle measurement.
const BRACKET: StdDuration = StdDuration::from_millis(200);
/// A machine that is busy for no more than this share of its cores' time is quiet.
const MAX_IDLE_LOAD: f64 = 0.05;
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(250);
const SECOND: StdDuration = StdDuration::from_secs(1);
/// Gaps that a monitor can record: some hundred a second come.
const CAPACITY: usize = 1 << 17;

/// A state of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Condition {
    /// Nothing but the measurement.
    Idle,
    /// A monitor on every core that runs when nobody else does.
    Watched,
    /// A busy loop on every core, of the same priority as the measurement's threads that are not real-time.
    Busy,
}

impl Condition {
    pub(crate) const ALL: [Self; 3] = [Self::Idle, Self::Watched, Self::Busy];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Watched => "watched",
            Self::Busy => "busy",
        }
    }
}

/// What was seen of the host while something was measured, all cores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct HostGaps {
    /// Seen during the measurement, not before and after it.
    pub(crate) during: bool,
    /// Times that the host took a core away ([`taken_by_the_host`]).
    pub(crate) count: u64,
    /// Share of all watched time.
    pub(crate) stolen_ratio: f64,
    /// The longest.
    pub(crate) longest_ns: i64,
    /// What a hypervisor owned up to (the `steal` figure of `/proc/stat`), in steps of 10 ms.
    pub(crate) confessed_ns: i64,
    /// Share of all cores' time in which something ran.
    pub(crate) cpu_busy_ratio: f64,
}

/// How much of a gap was the host's doing, as far as that can be told; `None` where it was not, or cannot be told:
/// where threads changed, what that itself costs is in the gap.
pub(crate) fn taken_by_the_host(gap: &Gap) -> Option<Duration> {
    if gap.scheduled_away < UNNOTICED {
        (gap.length >= STOLEN).then_some(gap.length)
    } else {
        (gap.scheduled_away >= KEPT).then(|| gap.scheduled_away - KEPT)
    }
}

/// Waits until this machine has done next to nothing for a second. Gives whether that came to be within `patience`:
/// what other programs do in the meantime is then in the figures.
pub(crate) fn quiet(patience: StdDuration, stop: &AtomicBool) -> bool {
    let begin = Instant::now();
    let mut quiet_since = begin;
    while !stop.load(Ordering::Acquire) {
        let before = Cpu::now();
        std::thread::sleep(POLL_INTERVAL);
        if Cpu::now().busy_since(before) > MAX_IDLE_LOAD {
            quiet_since = Instant::now();
        } else if quiet_since.elapsed() >= SECOND {
            return true;
        }
        if begin.elapsed() >= patience {
            return false;
        }
    }
    false
}

/// The monitors of all cores.
struct Monitors(Vec<StealMonitor>);

impl Monitors {
    fn start(background: bool) -> Result<Self> {
        let cores = 0..host_info::processors();
        let start = |core| {
            let options = StealMonitorOptions {
                core: Some(core),
                capacity: CAPACITY,
                background,
                ..StealMonitorOptions::default()
            };
            StealMonitor::start(options).context("cannot watch a core")
        };
        cores.map(start).collect::<Result<_>>().map(Self)
    }

    fn stop(self) -> Vec<Gaps> {
        self.0.into_iter().map(StealMonitor::stop).collect()
    }
}

/// Does `work` in `condition`. Gives what it gave, the gaps of each core while it went on (none where that was not
/// watched), and what is to be said of the host.
pub(crate) fn during<T>(
    condition: Condition,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Vec<Gaps>, HostGaps)> {
    let stolen = host_info::stolen_time().unwrap_or(Duration::ZERO);
    let mut around = match condition {
        Condition::Idle => bracket()?,
        Condition::Watched | Condition::Busy => Vec::new(),
    };
    let cpu = Cpu::now();
    let (done, gaps) = match condition {
        Condition::Idle => (work()?, Vec::new()),
        Condition::Watched | Condition::Busy => {
            let monitors = Monitors::start(condition == Condition::Watched)?;
            let done = work();
            let gaps = monitors.stop();
            (done?, gaps)
        }
    };
    let cpu_busy_ratio = Cpu::now().busy_since(cpu);
    if condition == Condition::Idle {
        around.extend(bracket()?);
    }
    let confessed = host_info::stolen_time().unwrap_or(Duration::ZERO) - stolen;
    let seen = if gaps.is_empty() { &around } else { &gaps };
    let host = HostGaps {
        during: !gaps.is_empty(),
        confessed_ns: confessed.as_nanos(),
        cpu_busy_ratio,
        ..summarised(seen)
    };
    Ok((done, gaps, host))
}

/// The gaps of each core in a moment in which nothing is measured.
fn bracket() -> Result<Vec<Gaps>> {
    let monitors = Monitors::start(true)?;
    std::thread::sleep(BRACKET);
    Ok(monitors.stop())
}

fn summarised(cores: &[Gaps]) -> HostGaps {
    let all: Vec<Duration> =
        cores.iter().flat_map(|core| core.list().iter().filter_map(taken_by_the_host)).collect();
    let sum = all.iter().fold(Duration::ZERO, |sum, gap| sum + *gap);
    let watched = cores.iter().fold(Duration::ZERO, |sum, core| sum + core.observed());
    HostGaps {
        count: all.len() as u64,
        stolen_ratio: ratio(sum, watched),
        longest_ns: all.iter().max().map_or(0, |longest| longest.as_nanos()),
        ..HostGaps::default()
    }
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole > Duration::ZERO { part.as_secs_f64() / whole.as_secs_f64() } else { 0.0 }
}

/// Totals of the first line of `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cpu {
    all: u64,
    idle: u64,
}

impl Cpu {
    fn now() -> Self {
        std::fs::read_to_string("/proc/stat").map(|text| Self::read(&text)).unwrap_or_default()
    }

    /// user, nice, system, idle, iowait, irq, softirq, steal; guests are counted in user already.
    fn read(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let fields: Vec<u64> =
            line.split_whitespace().skip(1).take(8).map(|field| field.parse().unwrap_or(0)).collect();
        Self { all: fields.iter().sum(), idle: fields.iter().skip(3).take(2).sum() }
    }

    fn busy_since(self, before: Self) -> f64 {
        let ticks =
            |now: u64, then: u64| Duration::from_nanos(i64::try_from(now.saturating_sub(then)).unwrap_or(0));
        let all = ticks(self.all, before.all);
        ratio(all - ticks(self.idle, before.idle), all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_busy_time_is_that_between_two_readings() {
        let before = Cpu::read("cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1 1 1 1\n");
        let after = Cpu::read("cpu  20 0 20 130 20 10 0 0 99 99\n");
        assert_eq!((before.all, before.idle), (100, 80));
        assert!((after.busy_since(before) - 0.3).abs() < 1e-12);
        assert!(before.busy_since(before).abs() < 1e-12, "no time has passed");
    }

    #[test]
    fn a_gap_is_the_hosts_where_no_thread_had_the_core_or_one_had_it_for_longer_than_any_needs() {
        let taken = |length, away| {
            let gap = Gap {
                start: romer_units::Timestamp::from_nanos(0),
                start_realtime: romer_host::clock::Realtime::from_nanos(0),
                length: Duration::from_micros(length),
                scheduled_away: Duration::from_micros(away),
            };
            taken_by_the_host(&gap).map(|taken| taken.as_nanos() / 1_000)
        };
        assert_eq!(taken(20, 0), Some(20));
        assert_eq!(taken(4, 0), None, "an interrupt of our own");
        assert_eq!(taken(300, 280), None, "another thread, and what the change costs");
        assert_eq!(taken(2_800, 2_700), Some(1_200));
    }

    #[test]
    fn quiet_is_waited_for_as_long_as_there_is_patience() {
        let begin = Instant::now();
        let stop = AtomicBool::new(false);
        // Whatever this machine does at present, there is an answer.
        let found = quiet(StdDuration::ZERO, &stop);
        assert!(!found && begin.elapsed() >= POLL_INTERVAL);
        stop.store(true, Ordering::Release);
        assert!(!quiet(StdDuration::MAX, &stop));
    }

    #[test]
    fn the_work_is_done_in_each_condition_and_only_two_are_watched_meanwhile() {
        for condition in Condition::ALL {
            let (done, gaps, host) = during(condition, || Ok(7)).unwrap();
            assert_eq!(done, 7);
            assert_eq!(gaps.is_empty(), condition == Condition::Idle);
            assert_eq!(host.during, condition != Condition::Idle);
        }
    }
}
