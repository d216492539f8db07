//! Packets in a row that came more than once.

use romer_record::finding::Pattern;
use romer_record::{Fate, OneWaySingleton};

use super::evidence::{UndirectedFinding, convinces};

use crate::value::{Value as _, real};

/// A packet that arrived more than once, and how many copies of it came besides the first.
struct Copied {
    sequence: u64,
    at: Option<f64>,
    copies: u64,
}

/// Runs of consecutive packets that came more than once. If a share q of n packets is duplicated, each by itself, a run of
/// l is somewhere among them with a probability of at most n q^l.
pub(super) fn bursts(singletons: &[OneWaySingleton]) -> Vec<UndirectedFinding> {
    if singletons.iter().all(|singleton| singleton.copy == 0) {
        return Vec::new();
    }
    let (copied, arrived) = copied(singletons);
    let (count, all) = (real(arrived), real(copied.len()));
    let runs = copied.chunk_by(|a, b| a.sequence.checked_add(1) == Some(b.sequence));
    runs.filter_map(|run| {
        let packets = real(run.len());
        let log_alarm = count.ln() + packets * (all / count).ln();
        let burst = run.len() > 1 && convinces(log_alarm);
        burst.then(|| UndirectedFinding {
            at: run[0].at,
            until: run.last().and_then(|packet| packet.at),
            log_alarm: Some(log_alarm),
            pattern: Pattern::DuplicateBurst {
                first_sequence: run[0].sequence,
                packets: run.len() as u64,
                copies: run.iter().map(|packet| packet.copies).sum(),
                strength_ratio: packets / all,
            },
        })
    })
    .collect()
}

/// Those that came more than once, and how many arrived.
fn copied(singletons: &[OneWaySingleton]) -> (Vec<Copied>, usize) {
    let first = crate::sample::sent(singletons).filter_map(|singleton| singleton.departure).min();
    let (mut copied, mut arrived) = (Vec::new(), 0);
    // The first copy that arrived of each packet counts; what came before it of the same number does not.
    for packet in singletons.chunk_by(|a, b| a.sequence == b.sequence) {
        let Some(place) = packet.iter().position(|singleton| singleton.fate == Fate::Arrived) else {
            continue;
        };
        arrived += 1;
        let further = packet[place + 1..].iter();
        let copies = further.filter(|copy| matches!(copy.fate, Fate::Arrived | Fate::Late)).count() as u64;
        if copies > 0 {
            let at = packet[place].departure.zip(first).map(|(at, first)| (at - first).as_nanos().value());
            copied.push(Copied { sequence: packet[place].sequence, at, copies });
        }
    }
    (copied, arrived)
}
