//! How far a series goes at once, at each of its places.

use super::change_points::median;
use crate::value::real;

/// Values on either side whose medians tell how far the series goes at once.
pub(super) const NEXT: usize = 8;
/// Half the widths of ramps that a change is held against, as shares of a side.
const WIDTHS: [f64; 3] = [0.25, 0.5, 1.0];
/// It is nearer to a step than to each of them by this share of what a step would be.
const NEARER: f64 = 0.3;

/// The jumps of a series.
pub(super) struct Jumps {
    /// That at each place.
    at: Vec<f64>,
    /// Those that are the greatest of their neighbourhood, descending.
    peaks: Vec<f64>,
}

impl Jumps {
    pub(super) fn from_values(values: &[f64]) -> Self {
        let mut at = vec![0.0; values.len() + 1];
        for (place, around) in values.windows(2 * NEXT).enumerate() {
            at[place + NEXT] = (median(&around[NEXT..]) - median(&around[..NEXT])).abs();
        }
        let mut order: Vec<usize> = (0..at.len()).collect();
        order.sort_by(|a, b| at[*b].total_cmp(&at[*a]));
        let mut taken = vec![false; at.len()];
        let mut peaks = Vec::new();
        for place in order {
            if !taken[place] {
                peaks.push(at[place]);
                let end = (place + NEXT).min(at.len());
                taken[place.saturating_sub(NEXT)..end].fill(true);
            }
        }
        Self { at, peaks }
    }

    /// The place of the greatest jump among `places`.
    pub(super) fn greatest(&self, places: std::ops::RangeInclusive<usize>) -> Option<usize> {
        places.max_by(|a, b| self.at[*a].total_cmp(&self.at[*b]))
    }

    /// The logarithm of how many places might be taken for a change before this one, if they are told in the order of their
    /// jumps: each rank has its share of the probability of a false alarm, in proportion to its inverse.
    pub(super) fn places(&self, place: usize) -> f64 {
        let rank = self.peaks.partition_point(|peak| *peak >= self.at[place]).max(1);
        real(rank).ln() + (real(self.peaks.len()).ln() + 1.0).ln()
    }
}

/// Whether values go from one side's level to the other's at once: a step explains more of them than a ramp of any width does.
/// Values farther off the middle than `farthest` count as that.
pub(super) fn sudden(before: &[f64], after: &[f64], farthest: f64) -> bool {
    let near = before.len().min(after.len());
    let middle = f64::midpoint(median(before), median(after));
    let beside = before[before.len() - near..].iter().chain(&after[..near]);
    let values: Vec<f64> = beside.map(|value| (value - middle).clamp(-farthest, farthest)).collect();
    let mean = values.iter().sum::<f64>() / real(values.len());
    // The squares that a ramp takes off, which begins and ends so far from the change.
    let explained = |half: f64| {
        let (mut with, mut squares) = (0.0, 0.0);
        for (index, value) in values.iter().enumerate() {
            let shape = ((real(index) + 0.5 - real(near)) / half).clamp(-1.0, 1.0);
            with += shape * (value - mean);
            squares += shape * shape;
        }
        with * with / squares
    };
    let step = explained(0.5);
    let nearer = |width: &f64| {
        // Of a step, a ramp with the share `width` of either side leaves this part: one less the square of their correlation.
        let of_a_step = 1.0 - (1.0 - width / 2.0).powi(2) / (1.0 - 2.0 * width / 3.0);
        step - explained(real(near) * width) >= NEARER * of_a_step * step
    };
    WIDTHS.iter().all(nearer)
}
