//! What the suite is measured with.

use romer_units::Duration;

/// The group of the tables and the wake errors, which are one page.
pub(crate) const ACCURACY: &str = "accuracy";
/// The size at which others are compared.
pub(crate) const PEER_SIZE: u32 = 512;
/// Time between two probes of the tables.
pub(crate) const INTERVAL: Duration = Duration::from_millis(2);
/// Intervals at which wake errors are measured, each with the probes that are sent for every thousand of the tables.
pub(crate) const WAKES: [(Duration, u64); 3] =
    [(Duration::from_millis(45), 200), (Duration::from_millis(20), 500), (Duration::from_millis(1), 2_000)];
