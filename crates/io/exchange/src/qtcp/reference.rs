//! What a whole file shows, found the plain way: with all packets in memory, a map of their numbers, and the numbers sorted. It
//! is what [`examine`](super::validate) is held against.

use std::collections::HashMap;

use proptest::prelude::*;

use super::{Entry, FileContent, Options, read};
use crate::csv::Fault;

const WRAP: u64 = 1 << 32;
const LONGEST_GAP: u64 = 1_000_000;
const FIRST_NUMBERS: u64 = 1;

/// Numbers of 32 bits that began again at 0 are continued.
fn unwrap(found: &mut FileContent) {
    let (mut turns, mut last) = (0u64, 0u64);
    for entry in &mut found.entries {
        let number = entry.sequence;
        if (WRAP - WRAP / 4..WRAP).contains(&last) && number < WRAP / 4 {
            turns += 1;
            found.notes.wrapped = true;
        }
        if number < WRAP {
            // A late one from before the turn.
            let late = turns > 0 && number >= WRAP - WRAP / 4 && last < WRAP / 4;
            entry.sequence = number + (turns - u64::from(late)) * WRAP;
            if late {
                continue;
            }
        }
        last = number;
    }
}

/// Steps of clocks, reordering, duplicates, and a second run behind the first.
fn order(found: &mut FileContent) -> Result<(), Fault> {
    let notes = &mut found.notes;
    let mut sent = HashMap::with_capacity(found.entries.len());
    let mut highest: Option<Entry> = None;
    for (entry, record) in found.entries.iter().zip(1u64..) {
        if let Some(before) = highest {
            // A copy of a packet has the stamp of its departure; another one is another packet.
            let another = sent
                .get(&entry.sequence)
                .is_some_and(|sent| *sent != entry.sent || entry.received < before.received);
            if another && entry.sequence <= FIRST_NUMBERS && before.sequence > FIRST_NUMBERS {
                return Err(Fault::Line {
                    line: record,
                    why: format!(
                        "the numbers and the send times begin again at record {record}: two runs stand in one file; split it there \
                         (head -n {} and tail -n +{record})",
                        record - 1
                    ),
                });
            }
            if entry.sequence > before.sequence {
                let (rise, plain) = rise(&found.entries, record);
                let sent_back = before.sent - entry.sent;
                if sent_back > 0 && notes.sent_back.is_none() {
                    notes.sent_back = Some((record, sent_back.max(rise)));
                }
                let received_back = before.received - entry.received;
                if received_back > 0 && plain && 2 * -rise >= received_back {
                    notes.received_back = notes.received_back.or(Some((record, -rise)));
                } else if received_back > 0 {
                    // In a file in order of sending, whose latencies go on as they were, it has overtaken.
                    notes.reordered += 1;
                }
            }
        }
        if sent.insert(entry.sequence, entry.sent).is_some() {
            notes.duplicates += 1;
        } else if highest.is_some_and(|before| before.sequence > entry.sequence) {
            notes.reordered += 1;
        }
        if highest.is_none_or(|before| before.sequence < entry.sequence) {
            highest = Some(*entry);
        }
    }
    Ok(())
}

/// By how much the latencies of the entries from a record on (from 1) are higher than those before it, in the median of
/// some on either side; and whether that is plainly more than the medians of so few differ by anyway.
fn rise(entries: &[Entry], record: u64) -> (i64, bool) {
    const SIDE: usize = 20;
    /// So many errors of the difference, each 1.25 of a mean's, whose deviation is one and a half of what half the
    /// latencies lie off their median.
    const PLAIN: f64 = 5.0 * 1.25 * 1.5;
    let at = usize::try_from(record).unwrap_or(usize::MAX).saturating_sub(1).min(entries.len());
    let middle = |mut values: Vec<i64>| -> i64 {
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or(0)
    };
    let (before, after) = entries.split_at(at);
    let sides = [&before[before.len().saturating_sub(SIDE)..], &after[..after.len().min(SIDE)]];
    let medians = sides.map(|side| middle(side.iter().map(Entry::latency).collect()));
    let off = |side: usize| {
        let off = |entry: &Entry| entry.latency().saturating_sub(medians[side]).saturating_abs();
        middle(sides[side].iter().map(off).collect())
    };
    #[expect(clippy::cast_precision_loss, reason = "a rough error")]
    let (spread, few) = (off(0).max(off(1)) as f64, sides.map(|side| 1.0 / side.len().max(1) as f64));
    let rise = medians[1] - medians[0];
    #[expect(clippy::cast_precision_loss, reason = "beside a rough error")]
    let plain = rise.saturating_abs() as f64 > PLAIN * spread * (few[0] + few[1]).sqrt();
    (rise, plain)
}

/// The numbers that are missing.
fn gaps(found: &mut FileContent) -> Result<(), Fault> {
    let mut numbers: Vec<u64> = found.entries.iter().map(|entry| entry.sequence).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let most = LONGEST_GAP.max(16 * numbers.len() as u64);
    for pair in numbers.windows(2) {
        let gap = pair[1] - pair[0] - 1;
        if gap > most {
            return Err(Fault::Line {
                line: 1,
                why: format!(
                    "the sequence numbers jump from {} to {}, which is no loss; is it one run? take the others out",
                    pair[0], pair[1]
                ),
            });
        }
        found.lost.extend(pair[0] + 1..pair[1]);
    }
    found.lost.sort_unstable();
    found.lost.dedup();
    found.lost.retain(|number| numbers.binary_search(number).is_err());
    Ok(())
}

/// What a file of these packets and dummies says, the plain way.
fn plainly(entries: &[Entry], dummies: &[u64]) -> Result<FileContent, (u64, String)> {
    let mut found =
        FileContent { entries: entries.to_vec(), lost: dummies.to_vec(), ..FileContent::default() };
    found.notes.dummies = dummies.len() as u64;
    found.notes.negative = entries.iter().filter(|entry| entry.latency() < 0).count() as u64;
    unwrap(&mut found);
    let whole = order(&mut found).and_then(|()| gaps(&mut found));
    match whole {
        Ok(()) => Ok(found),
        Err(Fault::Line { line, why }) => Err((line, why)),
        Err(Fault::Io(error)) => panic!("{error}"),
    }
}

fn compare(entries: &[Entry], dummies: &[u64]) {
    let line = |entry: &Entry| {
        let Entry { sent, received, size, sequence } = entry;
        format!("{sent}:{received}:{}:{size}:{sequence}\n", entry.latency())
    };
    let mut text: String = entries.iter().map(line).collect();
    // The dummies stand among the packets.
    for (place, number) in dummies.iter().enumerate() {
        let lines = text.matches('\n').count();
        let at = text.match_indices('\n').nth((place * 7_919) % lines).map_or(0, |(at, _)| at + 1);
        text.insert_str(at, &format!("0:0:90:64:{number}\n"));
    }
    let streamed = match read(text.as_bytes(), Options::default(), |_| Ok(())) {
        Ok(found) => Ok(found),
        Err(Fault::Line { line, why }) => Err((line, why)),
        Err(Fault::Io(error)) => panic!("{error}"),
    };
    let plain = plainly(entries, dummies);
    if let (Err((1, why)), Ok(all)) = (&streamed, &plain) {
        assert!(why.contains("the numbers jump") && all.lost.len() > 65_536, "{why}: {text}");
    } else {
        assert_eq!(streamed, plain, "{text}");
    }
}

/// Packets in the order of a file: lost and copied ones, such that came late, and clocks that were set.
fn packets() -> impl Strategy<Value = Vec<Entry>> {
    let one = (0u64..6, 0i64..400, 0u8..40);
    let first = prop_oneof![Just(0u64), Just(1), 0u64..100_000, WRAP - 60..WRAP];
    let clocks = (0usize..120, -9_000i64..9_000, 0usize..120, -9_000i64..9_000);
    (first, prop::collection::vec(one, 4..120), clocks, any::<bool>()).prop_map(
        |(first, all, (sender, sender_by, receiver, receiver_by), by_arrival)| {
            let mut entries = Vec::new();
            for ((skipped, latency, what), place) in all.into_iter().zip(0usize..) {
                let before = entries.last().map_or(first, |entry: &Entry| entry.sequence);
                let number = match what {
                    0 => before,
                    1 => before.saturating_sub(3),
                    2 => before + 1 + skipped,
                    3 => skipped,
                    _ => before + 1,
                };
                let sent = 50_000
                    + 100 * i64::try_from(place).unwrap()
                    + if place >= sender { sender_by } else { 0 };
                let set = if place >= receiver { receiver_by } else { 0 };
                entries.push(Entry {
                    sent,
                    received: sent + 20_000 + latency + set,
                    size: 64,
                    sequence: number % WRAP,
                });
            }
            if by_arrival {
                entries.sort_by_key(|entry| entry.received);
            }
            entries
        },
    )
}

proptest! {
    #[test]
    fn what_is_found_as_a_file_goes_by_is_what_is_found_with_all_of_it_at_hand(
        entries in packets(),
        dummies in prop::collection::vec(prop_oneof![0u64..400, 0u64..120_000], 0..6),
    ) {
        let differ = |of: fn(&Entry) -> i64| entries.iter().any(|entry| of(entry) != of(&entries[0]));
        let numbered = entries.iter().any(|entry| entry.sequence != entries[0].sequence);
        prop_assume!(differ(|entry| entry.sent) && differ(|entry| entry.received) && numbered);
        compare(&entries, &dummies);
    }
}
