//! The emulation that a measurement passes through: its counts during the measurement are stored in the run folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use romer_record::emulation::{Emulated, EmulatedCounts, PortDirection, mean_between};

use crate::emulation::{Emulation, EmulationSnapshot};
use crate::runs::stored_runs;

/// An emulation, with its counters at the start of the measurement.
pub(crate) struct LinkedEmulation {
    emulation: Arc<Emulation>,
    kept: Emulated,
    before: Option<EmulationSnapshot>,
    folder: Option<PathBuf>,
}

impl LinkedEmulation {
    pub(crate) fn begin(emulation: Arc<Emulation>, there: PortDirection) -> Self {
        let kept = emulation.emulated(there);
        let before = emulation.stood();
        Self { emulation, kept, before, folder: None }
    }

    /// The run's folder is there: what was asked for is kept, should the rest never come.
    pub(crate) fn store_request(&mut self, folder: &Path) -> Result<(), String> {
        self.folder = Some(folder.to_path_buf());
        stored_runs::store_emulated(folder, &self.kept)
    }

    /// The measurement is over.
    pub(crate) fn end(self) -> Result<(), String> {
        let Some(folder) = self.folder else { return Ok(()) };
        let after = self.emulation.stood();
        let ended = !self.emulation.is_running();
        let mut kept = self.kept;
        if let (Some(before), Some(after)) = (self.before, after) {
            let [a_to_b, b_to_a] = [0, 1].map(|way: usize| between(&before, &after, way));
            kept.changed = Some(ended || before.version != after.version);
            if before.version == after.version {
                kept.in_force_ns = kept.in_force_ns.map(|[began, _]| [began, self.emulation.in_force_ns()]);
            }
            kept.a_to_b = Some(a_to_b);
            kept.b_to_a = Some(b_to_a);
        }
        stored_runs::store_emulated(&folder, &kept)
    }
}

/// What came between two moments, in one direction.
fn between(before: &EmulationSnapshot, after: &EmulationSnapshot, way: usize) -> EmulatedCounts {
    let (was, is) = (&before.counts[way], &after.counts[way]);
    let lost: BTreeMap<String, u64> = is
        .lost
        .iter()
        .map(|(cause, now)| (cause.clone(), now.saturating_sub(was.lost.get(cause).copied().unwrap_or(0))))
        .collect();
    let octets = |was: Option<u64>, is: Option<u64>| was.zip(is).and_then(|(was, is)| is.checked_sub(was));
    // Means of samples that were begun anew in between are of other packets.
    let same = before.resets == after.resets;
    let between = |[was, is]: [u64; 2], was_mean, is_mean| {
        same.then(|| mean_between((was, was_mean), (is, is_mean))).flatten()
    };
    let mean = |was: Option<f64>, is: Option<f64>| between([before.delays[way], after.delays[way]], was, is);
    let rated = [before.rated[way], after.rated[way]];
    EmulatedCounts {
        received: is.received.saturating_sub(was.received),
        transmitted: is.transmitted.saturating_sub(was.transmitted),
        duplicates_created: is.duplicates_created.saturating_sub(was.duplicates_created),
        lost,
        corrupted: is.corrupted.saturating_sub(was.corrupted),
        reordered: is.reordered.saturating_sub(was.reordered),
        received_octets: octets(was.received_octets, is.received_octets),
        transmitted_octets: octets(was.transmitted_octets, is.transmitted_octets),
        requested_delay_mean_ns: mean(was.requested_delay_mean_ns, is.requested_delay_mean_ns),
        actual_delay_mean_ns: mean(was.actual_delay_mean_ns, is.actual_delay_mean_ns),
        total_delay_mean_ns: mean(was.total_delay_mean_ns, is.total_delay_mean_ns),
        rate_queue_mean_ns: between(rated, was.rate_queue_mean_ns, is.rate_queue_mean_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stood(received: u64, model: u64, mean: Option<f64>) -> EmulationSnapshot {
        let way = EmulatedCounts {
            received,
            transmitted: received - model,
            lost: BTreeMap::from([("model".into(), model)]),
            received_octets: Some(received * 100),
            requested_delay_mean_ns: mean,
            actual_delay_mean_ns: mean,
            ..EmulatedCounts::default()
        };
        EmulationSnapshot {
            version: 1,
            resets: 0,
            delays: [received - model; 2],
            rated: [0; 2],
            counts: [way.clone(), way],
        }
    }

    /// Counts, bytes and means are those of the time between two snapshots.
    #[test]
    fn counts_are_differences() {
        let found = between(&stood(100, 10, Some(5.0)), &stood(150, 12, Some(8.0)), 0);
        assert_eq!((found.received, found.transmitted, found.lost["model"]), (50, 48, 2));
        assert_eq!((found.received_octets, found.transmitted_octets), (Some(5_000), None));
        // 90 packets with a mean of 5, then 48 that make it 8 over all 138.
        assert_eq!(found.actual_delay_mean_ns, Some((8.0 * 138.0 - 5.0 * 90.0) / 48.0));
        let nothing = EmulationSnapshot { counts: Default::default(), delays: [0; 2], ..stood(0, 0, None) };
        let first = between(&nothing, &stood(7, 1, Some(4.0)), 1);
        assert_eq!((first.lost["model"], first.actual_delay_mean_ns), (1, Some(4.0)));
        assert_eq!(first.rate_queue_mean_ns, None);
    }

    /// The mean of the rate queue counts only packets that passed a rate.
    #[test]
    fn queue_mean_counts_rated_packets() {
        let before = stood(100, 0, Some(5.0));
        let mut after = stood(160, 0, Some(5.0));
        after.rated = [20, 0];
        after.counts[0].rate_queue_mean_ns = Some(7.0);
        after.counts[0].total_delay_mean_ns = Some(9.0);
        let found = between(&before, &after, 0);
        assert_eq!(found.rate_queue_mean_ns, Some(7.0));
        assert_eq!(found.total_delay_mean_ns, Some(9.0 * 160.0 / 60.0));
        assert_eq!(between(&before, &after, 1).rate_queue_mean_ns, None);
    }

    /// There is no mean if no packet left or the summaries were reset.
    #[test]
    fn no_mean_without_packets() {
        let before = stood(100, 10, Some(5.0));
        assert_eq!(between(&before, &before, 0).actual_delay_mean_ns, None);
        let reset = EmulationSnapshot { resets: 1, ..stood(300, 10, Some(9.0)) };
        assert_eq!(between(&before, &reset, 0).actual_delay_mean_ns, None);
        let after = stood(50, 0, Some(9.0));
        assert_eq!(between(&before, &after, 0).actual_delay_mean_ns, None);
    }
}
