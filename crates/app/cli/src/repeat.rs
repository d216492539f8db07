//! `--start`, `--every` and `--times`: when a measurement begins, and when it is repeated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, SystemTime};

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
    every: Option<StdDuration>,
    /// The number of turns, where it is said.
    times: Option<u64>,
    /// The turn that is next.
    next: u64,
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
        let every = arguments.every.map(std);
        Ok(Self {
            first,
            every,
            times: arguments.times.or(every.is_none().then_some(1)),
            next: 0,
            made: 0,
            is_asked: arguments.start.is_some(),
            quiet,
        })
    }

    /// Whether there is more than one.
    pub(crate) fn repeat(&self) -> bool {
        self.every.is_some()
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
        let due = self.next.max(self.first_from(now));
        let missed = due.saturating_sub(self.next);
        if missed > 0 && !self.quiet {
            let (was, were) =
                if missed == 1 { ("turn was", "its time") } else { ("turns were", "their times") };
            output::eprint_line(&format!(
                "note: {missed} {was} missed: the run before went on beyond {were}; runs do not overlap"
            ));
        }
        self.next = due + 1;
        self.made += 1;
        let time = self.time_of(due)?;
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
                _ => return Some((due > 0 || self.is_asked).then_some(time)),
            }
        }
    }

    /// When `turn` is due; `None` beyond the end of time.
    /// The first turn that is not due before `now`; turn 0 where there is one only, or where its time is still to come. A clock that
    /// was set may have left out any number of turns.
    fn first_from(&self, now: SystemTime) -> u64 {
        let (Some(every), Ok(passed)) = (self.every, now.duration_since(self.first)) else { return 0 };
        let turns = passed.as_nanos().div_ceil(every.as_nanos().max(1));
        // The first run is made however late it is.
        if self.next == 0 { 0 } else { u64::try_from(turns).unwrap_or(u64::MAX) }
    }

    fn time_of(&self, turn: u64) -> Option<SystemTime> {
        let Some(every) = self.every else { return Some(self.first) };
        let nanos = every.as_nanos().checked_mul(turn.into())?;
        self.first.checked_add(StdDuration::from_nanos(u64::try_from(nanos).ok()?))
    }
}

fn std(length: Duration) -> StdDuration {
    StdDuration::from_nanos(length.as_nanos().unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(every: u64, times: Option<u64>, ago: u64) -> RepeatSchedule {
        RepeatSchedule {
            first: SystemTime::now() - StdDuration::from_secs(ago),
            every: Some(StdDuration::from_secs(every)),
            times,
            next: 0,
            made: 0,
            is_asked: false,
            quiet: true,
        }
    }

    #[test]
    fn turns_whose_time_has_passed_are_missed_and_do_not_count() {
        let never = AtomicBool::new(false);
        // Turns at -95, 5, 105, ... s; the first is made however late.
        let mut late = turns(3_600, Some(3), 5_000);
        assert!(late.wait(&never).is_some());
        assert_eq!(late.next, 1);
        // The second was due 1,400 s ago: the third is next, in 2,200 s.
        let stop = AtomicBool::new(true);
        assert!(late.wait(&stop).is_none());
        assert_eq!(late.next, 3);
        let mut soon = turns(1, Some(2), 1_000);
        assert!(soon.wait(&never).is_some() && soon.wait(&never).is_some(), "two runs, whatever was missed");
        assert!(soon.next > 2 && soon.wait(&never).is_none());
    }
}
