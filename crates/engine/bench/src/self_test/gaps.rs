//! Whether gaps are those that were asked for: where frames leave, and where they come.

use romer_record::benchmark::GapError;

/// Half of the gaps between departures are no further from what was asked for than this, or than half of it where that is less.
const NEAR: f64 = 2_000.0;
/// Three of four gaps between arrivals, where gaps are what a test is of, are no further from what was asked for than this share
/// of it, ...
const SHARE: f64 = 0.05;
/// ... or than this, where that is more.
const ARRIVAL_TOLERANCE_NS: f64 = 2_000.0;

/// What was found of gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GapDistribution {
    /// They are as near as they have to be.
    pub(super) held: bool,
    /// How near half of those between departures are, and have to be.
    pub(super) sent: GapError,
    /// How near three of four between arrivals are, and have to be; `None` where nobody asked.
    pub(super) received: Option<GapError>,
}

impl GapDistribution {
    /// Of gaps that were asked for, nanoseconds, those between departures and, where these count too, between arrivals.
    pub(super) fn compare(asked: f64, left: &[i64], came: Option<&[i64]>) -> Self {
        let sent =
            GapError { error_ns: part(&distances(asked, left), 1, 2), limit_ns: NEAR.min(asked / 2.0) };
        let received = came.map(|came| GapError {
            error_ns: part(&distances(asked, came), 3, 4),
            limit_ns: (SHARE * asked).max(ARRIVAL_TOLERANCE_NS),
        });
        let is_within = |gaps: GapError| gaps.error_ns.is_some_and(|error| error <= gaps.limit_ns);
        Self { held: is_within(sent) && received.is_none_or(is_within), sent, received }
    }
}

/// How far each is from what was asked for, in order.
fn distances(asked: f64, gaps: &[i64]) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a gap")]
    let mut far: Vec<f64> = gaps.iter().map(|gap| (*gap as f64 - asked).abs()).collect();
    far.sort_unstable_by(f64::total_cmp);
    far
}

/// The least value that so many parts of these do not exceed.
fn part(sorted: &[f64], parts: usize, of: usize) -> Option<f64> {
    sorted.get((sorted.len() * parts).div_ceil(of).checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps that were to be 257.6 us: one of so many is a tenth of it, and the next as much longer.
    fn broken(every: usize) -> Vec<i64> {
        let gap = |place: usize| match place % every {
            0 => 25_760,
            1 => 489_440,
            _ => 257_600,
        };
        (0..1_000).map(gap).collect()
    }

    #[test]
    fn gaps_are_met_where_they_are_right_in_arrival_as_well() {
        let exact = vec![257_600; 1_000];
        let of = |left: &[i64], came: &[i64]| GapDistribution::compare(257_600.0, left, Some(came));
        assert!(of(&exact, &exact).held);
        // A quarter may be wrong, and not two thirds, though the median is right.
        assert!(of(&exact, &broken(10)).held);
        let two_thirds = of(&exact, &broken(3));
        assert!(
            !two_thirds.held && two_thirds.received.unwrap().error_ns == Some(231_840.0),
            "{two_thirds:?}"
        );
        // 12.9 us are a twentieth.
        let near = |by: i64| of(&exact, &vec![257_600 + by; 1_000]);
        assert!(near(12_000).held && near(-12_000).held && !near(14_000).held);
        let received = near(14_000).received.unwrap();
        assert!(
            received.error_ns == Some(14_000.0) && (received.limit_ns - 12_880.0).abs() < 1e-6,
            "{received:?}"
        );
        // What leaves is held to more.
        assert!(!of(&vec![261_000; 1_000], &exact).held);
        assert!(!of(&exact, &[]).held && !of(&[], &exact).held);
        // A rate's test asks nothing of arrivals.
        let rate = GapDistribution::compare(6_720.0, &[6_720; 9], None);
        assert!(rate.held && rate.received.is_none());
    }
}
