//! What a measurement passes through on its way: the emulation of this server, kept in the run's folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use romer_record::emulation::{Emulated, EmulatedCounts, Leg};

use crate::emulation::Emulation;
use crate::runs::kept;

/// An emulation, with what it had done when the measurement began.
pub(crate) struct Through {
    emulation: Arc<Emulation>,
    kept: Emulated,
    before: Option<(u64, [EmulatedCounts; 2])>,
    folder: Option<PathBuf>,
}

impl Through {
    pub(crate) fn begin(emulation: Arc<Emulation>, there: Leg) -> Self {
        let kept = emulation.emulated(there);
        let before = emulation.counts();
        Self { emulation, kept, before, folder: None }
    }

    /// The run's folder is there: what was asked for is kept, should the rest never come.
    pub(crate) fn keep(&mut self, folder: &Path) -> Result<(), String> {
        self.folder = Some(folder.to_path_buf());
        kept::keep(folder, &self.kept)
    }

    /// The measurement is over.
    pub(crate) fn end(self) -> Result<(), String> {
        let Some(folder) = self.folder else { return Ok(()) };
        let after = self.emulation.counts();
        let ended = !self.emulation.is_running();
        let mut kept = self.kept;
        if let (Some((version, before)), Some((now, after))) = (self.before, after) {
            let [a_to_b, b_to_a] = [0, 1].map(|way: usize| between(&before[way], &after[way]));
            kept.changed = Some(ended || version != now);
            kept.a_to_b = Some(a_to_b);
            kept.b_to_a = Some(b_to_a);
        }
        kept::keep(&folder, &kept)
    }
}

/// What came between two counts.
fn between(before: &EmulatedCounts, after: &EmulatedCounts) -> EmulatedCounts {
    let lost: BTreeMap<String, u64> = after
        .lost
        .iter()
        .map(|(cause, now)| (cause.clone(), now.saturating_sub(before.lost.get(cause).copied().unwrap_or(0))))
        .collect();
    EmulatedCounts {
        received: after.received.saturating_sub(before.received),
        transmitted: after.transmitted.saturating_sub(before.transmitted),
        duplicates_created: after.duplicates_created.saturating_sub(before.duplicates_created),
        lost,
        corrupted: after.corrupted.saturating_sub(before.corrupted),
        reordered: after.reordered.saturating_sub(before.reordered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_time_between() {
        let of = |received, model| EmulatedCounts {
            received,
            transmitted: received - model,
            lost: BTreeMap::from([("model".into(), model)]),
            ..EmulatedCounts::default()
        };
        assert_eq!(between(&of(100, 10), &of(150, 12)), of(50, 2));
        let nothing = EmulatedCounts::default();
        assert_eq!(between(&nothing, &of(7, 1)), of(7, 1), "a cause that is new counts from 0");
    }
}
