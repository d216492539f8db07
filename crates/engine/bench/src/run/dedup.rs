//! Events that came again and again.

use romer_record::benchmark::{BenchmarkEvent, DroppedFrames};

/// The events, of which those that a size is dropped are told once of each size and case, where the first was, with how many there were
/// and at which loads.
pub(super) fn once(events: &[BenchmarkEvent]) -> Vec<BenchmarkEvent> {
    let mut told: Vec<BenchmarkEvent> = Vec::new();
    for (number, event) in events.iter().enumerate() {
        let Some(dropped) = &event.dropped else {
            told.push(event.clone());
            continue;
        };
        let same = |other: &&DroppedFrames| (&other.frames, &other.case) == (&dropped.frames, &dropped.case);
        let each =
            |events| <[BenchmarkEvent]>::iter(events).filter_map(|other| other.dropped.as_ref()).filter(same);
        if each(&events[..number]).next().is_some() {
            continue;
        }
        let loads: Vec<f64> = each(events).map(|other| other.load_percent).collect();
        if loads.len() == 1 {
            told.push(event.clone());
            continue;
        }
        let DroppedFrames { frames, case, .. } = dropped;
        let [least, most] = [f64::min, f64::max].map(|of| loads.iter().copied().reduce(of).unwrap_or(0.0));
        let text = format!(
            "{frames}: none arrived until the end of {} trials or afterwards (case {case}, {least:.1} % to {most:.1} % intended load), \
             while frames of other sizes did: the device is up and drops them; they count as its loss",
            loads.len()
        );
        told.push(BenchmarkEvent { text, dropped: None, ..event.clone() });
    }
    told
}
