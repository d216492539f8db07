//! What a trial says of a claim in which the device stood still, or its host did: on virtual links nobody can tell which.
//!
//! While nothing moves, a scheduler serves nobody and a queue overflows, whatever its discipline. So a claim that fails is
//! held against the device only where it fails without that, too.

use romer_record::benchmark::{DeviceOutages, Reservation, Trial};
use romer_units::Duration;

use crate::numbers::real;

/// The standstills of a trial that is judged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outages {
    found: DeviceOutages,
    length: Duration,
    /// Trials of the same that were made before, and in which it stood still as well.
    before: usize,
}

impl Outages {
    /// Those of this trial, before which so many like it were made in vain.
    pub(crate) fn from_trial(trial: &Trial, before: usize) -> Self {
        let found = trial.outages.unwrap_or_default();
        Self { found, length: Duration::from_nanos(trial.duration_ns), before }
    }

    /// The share of the trial in which it stood still: as a share of the capacity, what they may have cost a class, or left to
    /// one, at the most.
    pub(crate) fn share(&self) -> f64 {
        Duration::from_nanos(self.found.sum_ns).as_secs_f64() / self.length.as_secs_f64().max(1e-9)
    }

    /// Of so many frames, those that were not lost while it stood still.
    pub(crate) fn without_lost(&self, frames: u64) -> u64 {
        frames.saturating_sub(self.found.lost)
    }

    /// What the standstills leave open of a claim; nothing where there are none.
    pub(crate) fn reservation(&self) -> Option<Reservation> {
        (self.found.count > 0).then(|| Reservation::DeviceStalled {
            outages: self.found,
            trial_ns: self.length.as_nanos(),
            previous_trials: self.before as u64,
        })
    }
}

/// Whether a claim holds that does so by what was `found`, or could without the standstills; `None`: nobody knows.
pub(crate) const fn holds(found: bool, could: bool) -> Option<bool> {
    match (found, could) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    }
}

/// Whether so many of so many frames are few enough.
pub(crate) fn within(wrong: u64, of: u64, ratio: f64) -> bool {
    real(wrong) <= ratio * real(of.max(1))
}
