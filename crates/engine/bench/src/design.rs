//! The campaign that a benchmark is, and how long its trials take.

use romer_method::RemainingTrials;
use romer_method::campaign::Design;
use romer_units::Duration;

use crate::options::BenchOptions;

/// What a trial takes beside its sending: settling before and after, looking whether the device forwards, and waiting for the last
/// frames, which are under way as long as `path`.
fn around(options: &BenchOptions, path: Duration) -> Duration {
    options.settle + options.settle + path + path + Duration::from_millis(30)
}

/// How long these trials take, with what is around them.
pub(crate) fn takes(options: &BenchOptions, left: RemainingTrials, path: Duration) -> Duration {
    left.time + RemainingTrials::new(left.trials, around(options, path)).time
}

/// The campaign.
pub(crate) fn design(options: &BenchOptions) -> Design {
    Design {
        procedure: options.procedure.clone(),
        cases: options.cases.len(),
        frames: options.frames.clone(),
        repeats: options.repeats,
        seed: options.seed,
    }
}
