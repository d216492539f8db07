//! Bounds of a clock offset from the round trips of a pair.

use romer_units::Duration;

use crate::rows::{Row, RowDirection, RowFate};
use crate::sums::OffsetBound;

/// What is known of two clocks and their time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockLimits {
    /// The greatest rate of one clock relative to the other, parts per billion.
    pub max_rate_ppb: u32,
    /// The greatest error of the difference of two time stamps.
    pub stamp_error: Duration,
}

impl Default for ClockLimits {
    /// 200 ppm: two crystal oscillators of 100 ppm each, as IEEE 802.3 allows. Time stamps without error.
    fn default() -> Self {
        Self { max_rate_ppb: 200_000, stamp_error: Duration::ZERO }
    }
}

/// Bounds of the offset, clock of the responder minus clock of the initiator, at a time of the initiator's clock.
///
/// No packet arrives before it leaves: t3 - t4 <= offset <= t2 - t1 while the packet travels. At another time the offset differs by at
/// most the greatest rate times the time between. The bounds are exact if the limits are; the width is at least the smallest round-trip
/// delay. `None` without a round trip. A bound whose least offset is above its greatest one shows that a clock was stepped, or that the
/// limits are wrong.
pub fn offset_bound(rows: &[Row], at_ns: i64, limits: ClockLimits) -> Option<OffsetBound> {
    let one = |row: &Row| {
        let is_trip = row.direction == RowDirection::RoundTrip && row.fate == RowFate::Arrived;
        let (t1, t2, t3, t4) = (row.t1_ns?, row.t2_ns?, row.t3_ns?, row.t4_ns?);
        let away = u128::from(t1.abs_diff(at_ns).max(t4.abs_diff(at_ns)));
        let drift = away.saturating_mul(limits.max_rate_ppb.into()).div_ceil(1_000_000_000);
        let drift = i64::try_from(drift).unwrap_or(i64::MAX);
        let slack = drift.saturating_add(limits.stamp_error.as_nanos());
        is_trip.then(|| OffsetBound {
            low_ns: t3.saturating_sub(t4).saturating_sub(slack),
            high_ns: t2.saturating_sub(t1).saturating_add(slack),
        })
    };
    rows.iter().filter_map(one).reduce(|all, one| OffsetBound {
        low_ns: all.low_ns.max(one.low_ns),
        high_ns: all.high_ns.min(one.high_ns),
    })
}
