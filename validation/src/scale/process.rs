//! What a process uses, as the kernel counts it.

use std::time::Duration as StdDuration;

use serde::Serialize;

/// Clock ticks a second of the times in `/proc` (`USER_HZ`, 100 on all of Linux).
const TICKS: u32 = 100;

/// A look at a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    /// When, from the start of the watch.
    pub(crate) at: StdDuration,
    /// Processor time of all its threads up to then, also of those that have ended.
    pub(crate) cpu: StdDuration,
    /// Resident memory, KiB.
    pub(crate) resident_kib: u64,
}

impl Usage {
    /// Of process `id`; `None` where there is none any more.
    pub(crate) fn sample(id: u32, at: StdDuration) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        Some(Self { at, cpu: cpu(&stat)?, resident_kib: resident(&status)? })
    }
}

/// Fields 14 and 15, user and system time; the name in parentheses may hold anything.
fn cpu(stat: &str) -> Option<StdDuration> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(StdDuration::from_secs(1) * (user + system) / TICKS)
}

fn resident(status: &str) -> Option<u64> {
    kib(status, "VmRSS:")
}

/// The most resident memory that process `id` has had, KiB; `None` where there is none any more.
pub(crate) fn peak_kib(id: u32) -> Option<u64> {
    kib(&std::fs::read_to_string(format!("/proc/{id}/status")).ok()?, "VmHWM:")
}

fn kib(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Resident memory of one end, KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Memory {
    /// The most in the first part of the sending, after admission.
    pub(crate) early_kib: u64,
    /// The most in its last part.
    pub(crate) late_kib: u64,
    /// The most afterwards, when everything is evaluated and written.
    pub(crate) after_kib: u64,
}

impl Memory {
    /// Of looks at an end that sends or receives for `length`: of its second fifth, of its last, and of what follows.
    pub(crate) fn from_samples(looks: &[Usage], length: StdDuration) -> Self {
        let most = |from: StdDuration, to: StdDuration| {
            let within = looks.iter().filter(|look| look.at >= from && look.at < to);
            within.map(|look| look.resident_kib).max().unwrap_or(0)
        };
        let fifth = length / 5;
        Self {
            early_kib: most(fifth, fifth * 2),
            late_kib: most(fifth * 4, length),
            after_kib: most(length, StdDuration::MAX),
        }
    }

    /// By how much it grew while packets were sent.
    pub(crate) fn growth_kib(&self) -> u64 {
        self.late_kib.saturating_sub(self.early_kib)
    }
}

/// The share of a core that was used between two moments of the watch, as near as there were looks.
pub(crate) fn share(looks: &[Usage], from: StdDuration, to: StdDuration) -> Option<f64> {
    let first = looks.iter().find(|look| look.at >= from)?;
    let last = looks.iter().rev().find(|look| look.at <= to)?;
    let time = last.at.checked_sub(first.at).filter(|time| !time.is_zero())?;
    Some((last.cpu.saturating_sub(first.cpu)).as_secs_f64() / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_at(millis: u64, cpu: u64, resident_kib: u64) -> Usage {
        Usage { at: StdDuration::from_millis(millis), cpu: StdDuration::from_millis(cpu), resident_kib }
    }

    #[test]
    fn times_and_memory_are_read_from_the_kernels_lines() {
        let stat = "17 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 5 0 100 1 2";
        assert_eq!(cpu(stat), Some(StdDuration::from_secs(2)));
        let status = "Name:\tx\nVmHWM:\t  9 kB\nVmRSS:\t    1234 kB\n";
        assert_eq!((resident(status), kib(status, "VmHWM:")), (Some(1_234), Some(9)));
        assert!(Usage::sample(std::process::id(), StdDuration::ZERO).is_some_and(|own| own.resident_kib > 0));
    }

    #[test]
    fn memory_is_told_early_late_and_after() {
        let looks =
            [usage_at(0, 0, 9), usage_at(2_000, 10, 20), usage_at(8_500, 50, 21), usage_at(11_000, 90, 400)];
        let memory = Memory::from_samples(&looks, StdDuration::from_secs(10));
        assert_eq!(memory, Memory { early_kib: 20, late_kib: 21, after_kib: 400 });
        assert_eq!(memory.growth_kib(), 1);
    }

    #[test]
    fn the_share_is_that_between_two_moments() {
        let looks =
            [usage_at(0, 90, 1), usage_at(1_000, 100, 1), usage_at(9_000, 180, 1), usage_at(9_500, 999, 1)];
        let found = share(&looks, StdDuration::from_secs(1), StdDuration::from_secs(9)).unwrap();
        assert!((found - 0.01).abs() < 1e-9, "{found}");
        assert_eq!(share(&looks[..1], StdDuration::ZERO, StdDuration::from_secs(9)), None);
    }
}
