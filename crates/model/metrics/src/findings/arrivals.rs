//! Packets that were sent apart and arrive together.
//!
//! Where something holds packets back and lets several go at once (a driver that waits before it interrupts, a radio that
//! sends in aggregates, a queue that drains), gaps between arrivals pile up near nothing. A density of gaps without that
//! is about as high near nothing as a little farther off. Gaps are those between consecutive packets of which each was
//! sent at least half the usual interval after the one before.

use romer_record::Passage;
use romer_record::finding::Pattern;

use super::{Found, LOOKED_AT, convinces, quantile, tail};
use crate::sample::received;
use crate::summary::{Value as _, real};

/// What counts as nothing, in shares of the usual interval between departures.
const NEAR: [f64; 8] = [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];
/// The share of gaps below the bound, of those below four times the bound, that a smooth density may have: a quarter, and
/// room for one that falls.
const SMOOTH: f64 = 0.4;
/// Below this share of packets it is of no use to know.
const LEAST: f64 = 0.01;
/// Values in a row depend on each other: so many count as one.
const TOGETHER: f64 = 4.0;

/// Coalesced arrivals of a direction.
pub(super) fn coalesced(passages: &[Passage]) -> Option<Found> {
    let mut packets: Vec<(i64, i64)> = received(passages)
        .filter_map(|passage| Some((passage.departure?.as_nanos(), passage.arrival?.as_nanos())))
        .take(LOOKED_AT)
        .collect();
    packets.sort_unstable();
    let gaps = |pick: fn(&(i64, i64)) -> i64| -> Vec<f64> {
        packets.windows(2).map(|pair| pick(&pair[1]).saturating_sub(pick(&pair[0])).value()).collect()
    };
    let (departures, arrivals) = (gaps(|packet| packet.0), gaps(|packet| packet.1));
    let usual = quantile(&mut departures.clone(), 0.5);
    let apart: Vec<bool> = departures.iter().map(|gap| *gap >= usual / 2.0).collect();
    let fit = apart.iter().filter(|apart| **apart).count();
    if fit < super::FEWEST || usual <= 0.0 {
        return None;
    }
    // A packet that overtakes the one before it did not arrive together with it.
    let below = |bound: f64| {
        let gaps = arrivals.iter().zip(&apart).filter(|(_, apart)| **apart);
        real(gaps.filter(|(gap, _)| (0.0..bound).contains(*gap)).count())
    };
    let best = NEAR
        .iter()
        .map(|share| {
            let (near, wide) = (below(share * usual), below(4.0 * share * usual));
            (tail(near / TOGETHER, wide / TOGETHER, SMOOTH) + real(NEAR.len()).ln(), share * usual, near)
        })
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (log_alarm, within, near) = best;
    let strength = near / real(fit);
    if !convinces(log_alarm) || strength < LEAST {
        return None;
    }
    let behind: Vec<bool> =
        arrivals.iter().zip(&apart).map(|(gap, apart)| *apart && (0.0..within).contains(gap)).collect();
    let groups = behind.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
    Some(Found {
        at: None,
        until: None,
        log_alarm: Some(log_alarm),
        pattern: Pattern::CoalescedArrivals {
            within_ns: within,
            groups: groups as u64,
            mean_packets: 1.0 + near / real(groups.max(1)),
            strength_ratio: strength,
        },
    })
}
