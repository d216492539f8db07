//! Events that came again and again.

use romer_record::benchmark::BenchmarkEvent;

/// The events, of which those that a size is dropped are told once of each size and case, where the first was, with how many there were
/// and at which loads.
pub(super) fn once(events: &[BenchmarkEvent]) -> Vec<BenchmarkEvent> {
    let mut told: Vec<BenchmarkEvent> = Vec::new();
    for (number, event) in events.iter().enumerate() {
        let Some((about, _)) = dropped(event) else {
            told.push(event.clone());
            continue;
        };
        let same = |other: &&BenchmarkEvent| dropped(other).is_some_and(|(of, _)| of == about);
        if events[..number].iter().any(|other| same(&other)) {
            continue;
        }
        let loads: Vec<f64> =
            events.iter().filter(same).filter_map(|other| dropped(other).map(|(_, load)| load)).collect();
        if loads.len() == 1 {
            told.push(event.clone());
            continue;
        }
        let [frames, case] = about;
        let [least, most] = [f64::min, f64::max].map(|of| loads.iter().copied().reduce(of).unwrap_or(0.0));
        let text = format!(
            "{frames}: none came to the end of {} trials, nor after these (case {case}, {least:.1} % to {most:.1} % asked for), while \
             frames of other sizes did then: the device is there and drops them; they count as its loss",
            loads.len()
        );
        told.push(BenchmarkEvent { text, ..event.clone() });
    }
    told
}

/// What an event is about that tells of a size which is dropped: the frames and the case; and the load that was asked for.
fn dropped(event: &BenchmarkEvent) -> Option<([&str; 2], f64)> {
    if event.kind != "size-silent" {
        return None;
    }
    let (frames, rest) = event.text.split_once(": none came from ")?;
    let (_, rest) = rest.split_once(" (case ")?;
    let (rest, _) = rest.split_once(" % asked for), nor after ")?;
    let (case, load) = rest.rsplit_once(", ")?;
    Some(([frames, case], load.parse().ok()?))
}
