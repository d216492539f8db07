//! Packets in a row that came more than once.

use romer_record::finding::Pattern;
use romer_record::{Fate, Passage};

use super::{Found, convinces};

use crate::summary::{Value as _, real};

/// A packet that arrived, and how many copies of it came besides.
struct Arrived {
    sequence: u64,
    at: Option<f64>,
    copies: u64,
}

/// Runs of consecutive packets that came more than once. If a share q of n packets is duplicated, each by itself, a run of
/// l is somewhere among them with a probability of at most n q^l.
pub(super) fn bursts(passages: &[Passage]) -> Vec<Found> {
    if passages.iter().all(|passage| passage.copy == 0) {
        return Vec::new();
    }
    let arrived = arrived(passages);
    let count = real(arrived.len());
    let all = real(arrived.iter().filter(|packet| packet.copies > 0).count());
    let runs = arrived
        .chunk_by(|a, b| a.copies > 0 && b.copies > 0 && a.sequence.checked_add(1) == Some(b.sequence));
    runs.filter_map(|run| {
        let packets = real(run.len());
        let log_alarm = count.ln() + packets * (all / count).ln();
        let burst = run.len() > 1 && run[0].copies > 0 && convinces(log_alarm);
        burst.then(|| Found {
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

fn arrived(passages: &[Passage]) -> Vec<Arrived> {
    let first = crate::sample::sent(passages).filter_map(|passage| passage.departure).min();
    let mut all: Vec<Arrived> = Vec::new();
    for passage in passages {
        match all.last_mut().filter(|last| last.sequence == passage.sequence) {
            Some(last) => last.copies += u64::from(matches!(passage.fate, Fate::Arrived | Fate::Late)),
            None if passage.fate == Fate::Arrived => all.push(Arrived {
                sequence: passage.sequence,
                at: passage.departure.zip(first).map(|(at, first)| (at - first).as_nanos().value()),
                copies: 0,
            }),
            None => {}
        }
    }
    all
}
