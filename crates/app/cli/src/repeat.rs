//! `--start`, `--every` and `--times`: when a measurement begins, and when it is repeated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, SystemTime};

use romer_agent::{Start as RunStart, Starts};
use romer_units::Duration;

use crate::args::{Start, TurnArgs};
use crate::failure::Failure;
use crate::output;

/// How often the clock is looked at while waiting.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(50);
/// So long before its time a run is made ready: names are looked up, far ends greeted, routes looked for.
const PREPARATION_TIME: StdDuration = StdDuration::from_secs(2);

/// The start times of a measurement: one, or one per interval.
#[derive(Debug)]
pub(crate) struct RepeatSchedule {
    first: SystemTime,
    /// Those of `--every`.
    starts: Option<Starts>,
    /// The number of turns, where it is said.
    times: Option<u64>,
    /// Runs that were begun.
    made: u64,
    /// The time of the first was asked for.
    is_asked: bool,
    quiet: bool,
}

impl RepeatSchedule {
    /// Those that the arguments ask for.
    ///
    /// # Errors
    /// A usage failure where the start lies in the past.
    pub(crate) fn new(arguments: &TurnArgs, quiet: bool) -> Result<Self, Failure> {
        let now = SystemTime::now();
        let first = match arguments.start {
            None => now,
            Some(Start::In(length)) => now + std(length),
            Some(Start::At(time)) if time < now => {
                return Err(Failure::usage(format!(
                    "the start is in the past (--start): it is {} now; write a later time, or a delay from now, such \
                     as +10s",
                    humantime::format_rfc3339_seconds(now)
                )));
            }
            Some(Start::At(time)) => time,
        };
        let starts = arguments.every.map(|every| Starts::new(first, std(every)));
        Ok(Self {
            first,
            times: arguments.times.or(starts.is_none().then_some(1)),
            starts,
            made: 0,
            is_asked: arguments.start.is_some(),
            quiet,
        })
    }

    /// Whether there is more than one.
    pub(crate) fn repeat(&self) -> bool {
        self.starts.is_some()
    }

    /// The number of the run that was begun last, from 1.
    pub(crate) const fn number(&self) -> u64 {
        self.made
    }

    /// Waits until the next turn is to be made ready, and gives its time where one was asked for; `None` after the last, or where
    /// `interrupted` was set meanwhile. Turns whose time has passed while the one before them went on are missed, and said; they
    /// do not count.
    pub(crate) fn wait(&mut self, interrupted: &AtomicBool) -> Option<Option<SystemTime>> {
        if self.times.is_some_and(|times| self.made >= times) {
            return None;
        }
        let now = SystemTime::now();
        let RunStart { time, missed } = match &mut self.starts {
            Some(starts) => starts.next(now)?,
            None => RunStart { time: self.first, missed: 0 },
        };
        if missed > 0 && !self.quiet {
            let (was, were) =
                if missed == 1 { ("turn was", "its time") } else { ("turns were", "their times") };
            output::eprint_line(&format!(
                "note: {missed} {was} missed: the previous run ended after {were}; runs do not overlap"
            ));
        }
        let is_planned = self.made > 0 || self.is_asked;
        self.made += 1;
        if !self.quiet && time.duration_since(now).is_ok_and(|left| left > StdDuration::from_secs(1)) {
            output::eprint_line(&format!(
                "note: the run begins at {}",
                humantime::format_rfc3339_seconds(time)
            ));
        }
        loop {
            if interrupted.load(Ordering::Acquire) {
                return None;
            }
            match time.duration_since(SystemTime::now() + PREPARATION_TIME) {
                Ok(left) if !left.is_zero() => std::thread::sleep(left.min(POLL_INTERVAL)),
                _ => return Some(is_planned.then_some(time)),
            }
        }
    }
}

fn std(length: Duration) -> StdDuration {
    StdDuration::from_nanos(length.as_nanos().unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Missed turns do not count, and an interrupt ends the wait.
    #[test]
    fn missed_turns_do_not_count() {
        let turns = |every: u64, times: u64, ago: u64| {
            let first = SystemTime::now() - StdDuration::from_secs(ago);
            RepeatSchedule {
                first,
                starts: Some(Starts::new(first, StdDuration::from_secs(every))),
                times: Some(times),
                made: 0,
                is_asked: false,
                quiet: true,
            }
        };
        let [never, stop] = [false, true].map(AtomicBool::new);
        let mut soon = turns(1, 2, 1_000);
        assert_eq!(soon.wait(&never), Some(None), "the first is as soon as possible");
        assert!(soon.wait(&never).flatten().is_some(), "the second has a time");
        assert_eq!((soon.wait(&never), soon.number()), (None, 2));
        let mut late = turns(3_600, 3, 5_000);
        assert_eq!(late.wait(&never), Some(None));
        assert_eq!(late.wait(&stop), None, "in 2 200 s");
    }
}
