//! What the tester has shown of itself.

use romer_method::analysis::loss_bound;
use romer_record::benchmark::{Baseline, SelfTest};

/// A rate counts as tested up to so much above that of the test: a test has whole frames only.
pub(crate) const RATE_TOLERANCE_FACTOR: f64 = 1.001;

/// What the tests of the tester came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct TesterEvidence {
    /// Test by test, and what may be claimed.
    pub(crate) found: SelfTest,
    /// The tester's own part of a latency.
    pub(crate) baseline: Option<Baseline>,
}

/// The share of frames that the tester loses at this rate without knowing, at the most: the upper end of the interval (95 %) of
/// the worst of its tests at this rate and above. `None` where it was not tested at such rates.
pub(crate) fn unaccounted(found: &SelfTest, pps: f64) -> Option<f64> {
    let there = found.ledger.iter().filter(|one| one.offered_pps * RATE_TOLERANCE_FACTOR >= pps);
    there.filter_map(|one| loss_bound(one.unaccounted, one.offered)).reduce(f64::max)
}
