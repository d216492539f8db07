//! A process that was told to end does end, whatever its threads do.
//!
//! A program ends in good order: it takes note of a signal, lets go of what it holds, and returns. A thread that is stuck, or waits
//! for somebody who never reads, would keep it from that for ever. [`watch`] ends it then. What takes longer in good order says so
//! by a [`Stage`].

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a process may take to end besides its stages.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the evaluation of what was measured may take: minutes, for hours of many packets. The packet log stays until it has
/// ended, so that the run can be completed from it.
pub const EVALUATION: Duration = Duration::from_secs(600);
/// Between two looks. Time is counted in looks: what a host that stands still does not do is not held against a thread.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

static STAGES: Mutex<Stages> = Mutex::new(Stages { begun: 0, going_on: Vec::new() });

/// The stages that go on.
#[derive(Debug)]
struct Stages {
    begun: u64,
    /// Each with its number and the looks that it has left.
    going_on: Vec<(u64, u64)>,
}

/// A part of what a process does that may take longer than [`SHUTDOWN_TIMEOUT`] though the process was told to end. It goes on until this
/// is dropped.
#[derive(Debug)]
pub struct Stage {
    number: u64,
    longest: Duration,
}

impl Stage {
    /// Begins one that takes so long at the most.
    pub fn begin(longest: Duration) -> Self {
        let mut stages = STAGES.lock().unwrap_or_else(PoisonError::into_inner);
        stages.begun += 1;
        let number = stages.begun;
        stages.going_on.push((number, looks(longest)));
        Self { number, longest }
    }

    /// Lets it take its whole time from now on: it has come forward.
    pub fn renew(&self) {
        let mut stages = STAGES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, left)) = stages.going_on.iter_mut().find(|(number, _)| *number == self.number) {
            *left = looks(self.longest);
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mut stages = STAGES.lock().unwrap_or_else(PoisonError::into_inner);
        stages.going_on.retain(|(number, _)| *number != self.number);
    }
}

fn looks(time: Duration) -> u64 {
    u64::try_from(time.as_millis().div_ceil(POLL_INTERVAL.as_millis())).unwrap_or(u64::MAX)
}

/// The looks that are left until the process is ended.
#[derive(Debug)]
struct Countdown(u64);

impl Countdown {
    fn new() -> Self {
        Self(looks(SHUTDOWN_TIMEOUT))
    }

    /// One more look. Gives whether the time is over, in which no stage went on.
    fn is_over(&mut self, stages: &mut Stages) -> bool {
        stages.going_on.iter_mut().for_each(|(_, left)| *left = left.saturating_sub(1));
        if stages.going_on.iter().any(|(_, left)| *left > 0) {
            *self = Self::new();
            return false;
        }
        self.0 = self.0.saturating_sub(1);
        self.0 == 0
    }
}

/// Starts a thread that calls `end` when the process goes on for [`SHUTDOWN_TIMEOUT`], in which no [`Stage`] does, after an octet has come
/// by `told`. Until then the thread sleeps.
///
/// # Errors
/// The system's, where it gives no thread.
pub fn watch(mut told: impl Read + Send + 'static, end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("romer-end".into());
    let work = move || {
        if told.read_exact(&mut [0]).is_err() {
            return;
        }
        let mut countdown = Countdown::new();
        loop {
            std::thread::sleep(POLL_INTERVAL);
            if countdown.is_over(&mut STAGES.lock().unwrap_or_else(PoisonError::into_inner)) {
                return end();
            }
        }
    };
    thread.spawn(work).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The looks after which the time is over, where a stage goes on for the first `ends` of them that has `left`.
    fn looks_until_the_end(left: u64, ends: u64) -> u64 {
        let mut stages = Stages { begun: 1, going_on: vec![(1, left)] };
        let mut countdown = Countdown::new();
        for look in 1.. {
            if look > ends {
                stages.going_on.clear();
            }
            if countdown.is_over(&mut stages) {
                return look;
            }
        }
        unreachable!("it ends")
    }

    /// A process has five seconds after its last stage, or after the time of a stage that does not end.
    #[test]
    fn stages_put_off_the_end() {
        assert_eq!(looks_until_the_end(0, 0), 50);
        assert_eq!(looks_until_the_end(200, 100), 150, "a stage that ends");
        assert_eq!(looks_until_the_end(200, u64::MAX), 249, "one that is stuck");
    }

    /// An evaluation that does not end has ten minutes, and the process five seconds more.
    #[test]
    fn evaluations_have_ten_minutes() {
        let ends = looks_until_the_end(looks(EVALUATION), u64::MAX);
        assert_eq!(ends, looks(Duration::from_secs(600)) + looks(SHUTDOWN_TIMEOUT) - 1);
    }

    /// A stage that comes forward has its whole time again, and is forgotten when it ends.
    #[test]
    fn stages_are_renewed() {
        let left = |stage: &Stage| {
            let stages = STAGES.lock().unwrap();
            stages.going_on.iter().find(|(number, _)| *number == stage.number).map(|(_, left)| *left)
        };
        let stage = Stage::begin(Duration::from_millis(950));
        assert_eq!(left(&stage), Some(10));
        STAGES.lock().unwrap().going_on.iter_mut().for_each(|(_, left)| *left = 3);
        stage.renew();
        assert_eq!(left(&stage), Some(10));
        let number = stage.number;
        drop(stage);
        assert!(STAGES.lock().unwrap().going_on.iter().all(|(other, _)| *other != number));
    }
}
