//! Who looks on while a benchmark is made.

use romer_method::TrialRequest;
use romer_record::benchmark::{BenchmarkEntry, Trial};
use romer_units::Duration;

use crate::error::BenchError;

/// How far a benchmark is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Number of the trial that begins, from 1.
    pub trial: u64,
    /// How many there will be as things stand, where the device carries in long trials what it carries in short ones, and at
    /// the most.
    pub of: [u64; 2],
    /// How long the rest takes, likewise, with the tester's own tests where they are to come: at the pace of what was made up to now.
    pub left: [Duration; 2],
    /// How long all of it takes, likewise: what has passed since this run of it began, and what is left.
    pub whole: [Duration; 2],
    /// The trial.
    pub ask: &'a TrialRequest,
    /// The name of its case.
    pub case: &'a str,
    /// What the one before came to.
    pub last: Option<&'a Trial>,
}

/// Who looks on while a benchmark is made.
pub trait Watcher {
    /// The tester itself is about to be tested: the first thing that a benchmark does when its device forwards.
    ///
    /// # Errors
    /// What is to be found out cannot be kept, and the benchmark ends.
    fn on_self_test(&mut self) -> Result<(), BenchError> {
        Ok(())
    }

    /// A trial begins.
    fn begins(&mut self, progress: &Progress<'_>);

    /// The device forwards and the tester was tested, so that more is known of how long all of it takes: right before the first trial.
    fn on_forecast(&mut self, _progress: &Progress<'_>) {}

    /// The trial that was wished for, as pcapng.
    ///
    /// # Errors
    /// It cannot be written, and the benchmark ends.
    fn captured(&mut self, _octets: &[u8]) -> Result<(), BenchError> {
        Ok(())
    }

    /// Something is to be kept; the benchmark goes on when it is.
    ///
    /// # Errors
    /// It cannot be, and the benchmark ends.
    fn keep(&mut self, entry: &BenchmarkEntry) -> Result<(), BenchError>;
}
