//! Whether gaps are those that were asked for: where frames leave, and where they come.

/// Half of the gaps between departures are no further from what was asked for than this, or than half of it where that is less.
const NEAR: f64 = 2_000.0;
/// Three of four gaps between arrivals, where gaps are what a test is of, are no further from what was asked for than this share
/// of it, ...
const SHARE: f64 = 0.05;
/// ... or than this, where that is more.
const ARRIVAL_TOLERANCE_NS: f64 = 2_000.0;

/// What was found of gaps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GapDistribution {
    /// They are as near as they have to be.
    pub(super) held: bool,
    /// How near they are, and have to be.
    pub(super) words: String,
    /// How far three of four gaps between arrivals are from what was asked for, at the most, nanoseconds; `None` where nobody
    /// asked, or none came.
    pub(super) off: Option<f64>,
}

impl GapDistribution {
    /// Of gaps that were asked for, nanoseconds, those between departures and, where these count too, between arrivals.
    pub(super) fn compare(asked: f64, left: &[i64], came: Option<&[i64]>) -> Self {
        let near = NEAR.min(asked / 2.0);
        let far = distances(asked, left);
        let half = part(&far, 1, 2);
        let sent = half.is_some_and(|half| half <= near);
        let mut words = format!(
            "error of transmitted gaps: median {:.0} ns (limit {near:.0} ns)",
            half.unwrap_or_default()
        );
        let Some(came) = came else { return Self { held: sent, words, off: None } };
        let allowed = (SHARE * asked).max(ARRIVAL_TOLERANCE_NS);
        let off = part(&distances(asked, came), 3, 4);
        words.push_str(&format!(
            ", error of received gaps: 75th percentile {:.0} ns (limit {allowed:.0} ns)",
            off.unwrap_or_default()
        ));
        Self { held: sent && off.is_some_and(|off| off <= allowed), words, off }
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
        assert!(!two_thirds.held && two_thirds.off == Some(231_840.0), "{two_thirds:?}");
        // 12.9 us are a twentieth.
        let near = |by: i64| of(&exact, &vec![257_600 + by; 1_000]);
        assert!(near(12_000).held && near(-12_000).held && !near(14_000).held);
        assert!(near(14_000).words.ends_with("received gaps: 75th percentile 14000 ns (limit 12880 ns)"));
        // What leaves is held to more.
        assert!(!of(&vec![261_000; 1_000], &exact).held);
        assert!(!of(&exact, &[]).held && !of(&[], &exact).held);
        // A rate's test asks nothing of arrivals.
        let rate = GapDistribution::compare(6_720.0, &[6_720; 9], None);
        assert!(rate.held && rate.off.is_none() && !rate.words.contains("received"));
    }
}
