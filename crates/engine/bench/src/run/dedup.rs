//! Events that repeat.

use romer_record::benchmark::{BenchmarkEvent, BenchmarkEventKind, SilentSize};

/// The events, of which those of a silent size are merged to one of each size and case: at the time of the first, with their number and
/// the range of their loads.
pub(super) fn once(events: &[BenchmarkEvent]) -> Vec<BenchmarkEvent> {
    let mut merged: Vec<BenchmarkEvent> = Vec::new();
    for event in events {
        let same = match &event.kind {
            BenchmarkEventKind::SizeSilent(silent) => merged
                .iter_mut()
                .find_map(|earlier| silent_size(earlier, silent))
                .map(|first| (first, silent)),
            _ => None,
        };
        match same {
            Some((first, silent)) => {
                first.trials += silent.trials;
                first.min_load_percent = first.min_load_percent.min(silent.min_load_percent);
                first.max_load_percent = first.max_load_percent.max(silent.max_load_percent);
            }
            None => merged.push(event.clone()),
        }
    }
    merged
}

/// What an event says of a silent size, if it is of the same size and case.
fn silent_size<'a>(event: &'a mut BenchmarkEvent, like: &SilentSize) -> Option<&'a mut SilentSize> {
    let key = |silent: &SilentSize| (silent.frame_size, silent.mixture.clone(), silent.case.clone());
    match &mut event.kind {
        BenchmarkEventKind::SizeSilent(silent) => (key(silent) == key(like)).then_some(silent),
        _ => None,
    }
}
