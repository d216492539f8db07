//! Packets that arrived and have no delay, because a stamp of theirs did not come.

use romer_passages::Related;
use romer_record::document::Way;
use romer_record::manifest::Stream;
use romer_record::{Fate, Passage};

/// Parts of a run whose shares of packets without a delay are compared.
const PARTS: usize = 10;
/// A share of packets without a delay from which on it is told that the others may not stand for all.
const MANY: f64 = 0.01;
/// Parts whose shares differ by more are told apart.
const UNEVEN: f64 = 0.1;

/// In words, for each way, how many and when.
pub(super) fn without_delay(stream: &Stream, related: &Related) -> Vec<String> {
    // Whose log has not come back has not told its stamps, which is said.
    if stream.far_log && !stream.far_log_complete || stream.traffic.direction.is_one_way() && !stream.far_log
    {
        return Vec::new();
    }
    // Of packets without stamps because these are false, another warning speaks.
    let rejected = related.too_quick.map(|found| if found.are_kept() { 0 } else { found.packets });
    let ways: &[(&str, &[Passage], u64)] = match stream.traffic.direction {
        Way::RoundTrip => &[("there and back", &related.round_trip, 0)],
        _ => &[("there", &related.forward, rejected[0]), ("back", &related.reverse, rejected[1])],
    };
    // A file has no host that could be helped.
    let is_live = stream.address.is_some();
    let of_way = |(way, passages, rejected): &(&str, &[Passage], u64)| {
        let all = arrived(passages);
        (all[1] as u64 > *rejected).then(|| words(way, passages, is_live)).flatten()
    };
    ways.iter().filter_map(of_way).collect()
}

fn words(way: &str, passages: &[Passage], is_live: bool) -> Option<String> {
    let [all, without] = arrived(passages);
    if without == 0 {
        return None;
    }
    if share(without, all) < MANY {
        let count = if without == 1 { "counts, but is" } else { "count, but are" };
        return Some(format!("{without} of {all} packets that arrived {way} {count} left out of the delays"));
    }
    let shares: Vec<f64> = passages
        .chunks(passages.len().div_ceil(PARTS))
        .map(|part| {
            let [all, without] = arrived(part);
            share(without, all)
        })
        .collect();
    let [least, most] = [f64::min, f64::max].map(|of| shares.iter().copied().reduce(of).unwrap_or(0.0));
    let unevenly = if most - least > UNEVEN {
        format!(
            " (of a tenth of the run {:.0} % at least and {:.0} % at the most): the delays are those of the others and may not \
             stand for the whole run",
            100.0 * least,
            100.0 * most
        )
    } else {
        ": the delays are those of the others".to_owned()
    };
    let remedy = if is_live {
        ". As a rule the host that was to take it had too little of the processor to fetch it before the next: --realtime there, or \
         a longer --interval, helps"
    } else {
        ""
    };
    Some(format!(
        "{without} of {all} packets that arrived {way} ({:.1} %) count without a delay, for a stamp of theirs did not come{unevenly}{remedy}",
        100.0 * share(without, all)
    ))
}

/// How many arrived, and how many of these have no delay.
fn arrived(passages: &[Passage]) -> [usize; 2] {
    let all = || passages.iter().filter(|passage| passage.fate == Fate::Arrived);
    [all().count(), all().filter(|passage| passage.delay.is_none()).count()]
}

#[expect(clippy::cast_precision_loss, reason = "counts of packets are below 2^53")]
fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use romer_record::Leaving;
    use romer_units::Duration;

    use super::*;

    fn passages(has_delay: impl Fn(u64) -> bool) -> Vec<Passage> {
        let passage = |sequence| Passage {
            sequence,
            copy: 0,
            size: 64,
            fate: if sequence % 100 == 99 { Fate::Lost } else { Fate::Arrived },
            departure: None,
            arrival: None,
            delay: has_delay(sequence).then_some(Duration::from_millis(1)),
            ttl: None,
            tos: None,
            leaving: Leaving::Unknown,
        };
        (0..10_000).map(passage).collect()
    }

    #[test]
    fn how_many_have_no_delay_is_told_and_when_that_may_matter() {
        assert_eq!(words("there", &passages(|_| true), true), None);
        assert_eq!(words("there", &[], true), None);
        let few = words("there", &passages(|sequence| sequence != 7), true).unwrap();
        assert_eq!(few, "1 of 9900 packets that arrived there counts, but is left out of the delays");
        let even = words("back", &passages(|sequence| sequence % 5 != 0), true).unwrap();
        assert!(
            even.starts_with("2000 of 9900 packets that arrived back (20.2 %) count without a delay"),
            "{even}"
        );
        assert!(!even.contains("whole run"), "{even}");
        let bunched = words("there", &passages(|sequence| sequence < 8_000), true).unwrap();
        let of_file = words("back", &passages(|sequence| sequence % 5 != 0), false).unwrap();
        assert!(even.contains("--realtime") && !of_file.contains("--realtime"), "{of_file}");
        assert!(bunched.contains("0 % at least and 100 % at the most"), "{bunched}");
    }
}
