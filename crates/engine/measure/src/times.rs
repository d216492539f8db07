//! Times of day as documents have them.

use std::time::SystemTime;

use romer_host::clock::rfc3339;
use romer_units::Duration;

/// Now.
pub(super) fn rfc3339_now() -> String {
    rfc3339_after(Duration::ZERO)
}

/// So much `later` than now.
pub(super) fn rfc3339_after(later: Duration) -> String {
    rfc3339(SystemTime::now() + later.to_std())
}
