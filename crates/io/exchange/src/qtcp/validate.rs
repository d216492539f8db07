//! What only the whole of a file shows, found as it goes by.

use std::collections::VecDeque;

use super::diagnostics::Notes;
use super::entry::Entry;
use super::numbers::{NumberSet, TooScattered};
use crate::csv::Fault;

/// A gap in the numbers of more packets than this is no loss but another run, unless the file is as long.
const LONGEST_GAP: u64 = 1_000_000;
/// A run's first packet has one of the numbers up to this.
const FIRST_NUMBERS: u64 = 1;
/// Packets on either side of one that tell whether the latencies are others from there on.
const SIDE: usize = 20;

/// Takes packets in the order of the file, and finds steps of clocks, reordering, duplicates, a second run behind the first,
/// and the numbers that are missing. What it keeps does not grow with how many they are ([`NumberSet`]).
#[derive(Debug, Default)]
pub(super) struct Validator {
    /// What was noticed so far.
    pub(super) notes: Notes,
    packets: u64,
    first: Option<Entry>,
    /// Whether one differs from the first: in its send stamp, its receive stamp, its number.
    differ: [bool; 3],
    numbers: NumberSet,
    /// Numbers of dummy entries that may lie outside those of the packets.
    outside: NumberSet,
    /// The last packets that were looked at, and those that come next.
    behind: VecDeque<Entry>,
    ahead: VecDeque<Entry>,
    /// Packets that were looked at.
    looked_at: u64,
    highest: Option<Entry>,
    /// When the packets of the numbers up to [`FIRST_NUMBERS`] were sent.
    sent_first: [Option<i64>; 2],
    /// The record at which another run begins.
    second_run: Option<u64>,
}

impl Validator {
    /// Takes in a packet.
    pub(super) fn take(&mut self, entry: Entry) -> Result<(), TooScattered> {
        self.notes.negative += u64::from(entry.latency() < 0);
        self.packets += 1;
        let first = *self.first.get_or_insert(entry);
        self.differ[0] |= first.sent != entry.sent;
        self.differ[1] |= first.received != entry.received;
        self.differ[2] |= first.sequence != entry.sequence;
        self.ahead.push_back(entry);
        if self.ahead.len() == SIDE { self.validate_next() } else { Ok(()) }
    }

    /// Takes in the number of a dummy entry.
    pub(super) fn take_dummy(&mut self, sequence: u64) -> Result<(), TooScattered> {
        self.notes.dummies += 1;
        // Those between the packets' numbers are missing anyway.
        let within = self.numbers.span().is_some_and(|[least, most]| (least..=most).contains(&sequence));
        if !within {
            self.outside.insert(sequence)?;
        }
        Ok(())
    }

    /// Looks at the first of the packets that come next.
    fn validate_next(&mut self) -> Result<(), TooScattered> {
        let Some(entry) = self.ahead.front().copied() else { return Ok(()) };
        self.looked_at += 1;
        if self.second_run.is_none() {
            self.order(entry)?;
        }
        if self.behind.len() == SIDE {
            self.behind.pop_front();
        }
        self.ahead.pop_front();
        self.behind.push_back(entry);
        let within =
            |[least, most]: [u64; 2]| self.outside.span().is_some_and(|[from, to]| from > least && to < most);
        if self.numbers.span().is_some_and(within) {
            self.outside.clear();
        }
        Ok(())
    }

    /// Steps of clocks, reordering, duplicates, and a second run behind the first.
    fn order(&mut self, entry: Entry) -> Result<(), TooScattered> {
        if let Some(before) = self.highest {
            if self.begins_again(entry, before) {
                self.second_run = Some(self.looked_at);
                return Ok(());
            }
            if entry.sequence > before.sequence {
                self.step(entry, before);
            }
        }
        if let Some(sent) = usize::try_from(entry.sequence).ok().and_then(|n| self.sent_first.get_mut(n)) {
            *sent = Some(entry.sent);
        }
        if !self.numbers.insert(entry.sequence)? {
            self.notes.duplicates += 1;
        } else if self.highest.is_some_and(|before| before.sequence > entry.sequence) {
            self.notes.reordered += 1;
        }
        if self.highest.is_none_or(|before| before.sequence < entry.sequence) {
            self.highest = Some(entry);
        }
        Ok(())
    }

    /// Whether a run's first numbers come once more. A copy of a packet has the stamp of its departure; another one is another
    /// packet.
    fn begins_again(&self, entry: Entry, before: Entry) -> bool {
        let known = usize::try_from(entry.sequence).ok().and_then(|n| *self.sent_first.get(n)?);
        before.sequence > FIRST_NUMBERS
            && known.is_some_and(|sent| sent != entry.sent || entry.received < before.received)
    }

    /// A packet with a higher number than all before, of which the highest was `before`.
    fn step(&mut self, entry: Entry, before: Entry) {
        let sent_back = before.sent - entry.sent;
        let received_back = before.received - entry.received;
        let record = self.looked_at;
        let is_first = sent_back > 0 && self.notes.sent_back.is_none();
        if !is_first && received_back <= 0 {
            return;
        }
        let (rise, plain) = rise(self.behind.make_contiguous(), self.ahead.make_contiguous());
        if is_first {
            self.notes.sent_back = Some((record, sent_back.max(rise)));
        }
        if received_back > 0 && plain && 2 * -rise >= received_back {
            self.notes.received_back = self.notes.received_back.or(Some((record, -rise)));
        } else if received_back > 0 {
            // In a file in order of sending, whose latencies go on as they were, it has overtaken.
            self.notes.reordered += 1;
        }
    }

    /// What the whole file shows.
    pub(super) fn finish(mut self) -> Result<Validation, Fault> {
        while !self.ahead.is_empty() {
            self.validate_next().map_err(|TooScattered| Fault::Line { line: 1, why: scattered() })?;
        }
        self.numbers.put_back();
        self.outside.put_back();
        let line = |line: u64, why: String| Err(Fault::Line { line, why });
        if let Some(why) = self.says_nothing() {
            return line(1, why.into());
        }
        if let Some(record) = self.second_run {
            return line(
                record,
                format!(
                    "the numbers and the send times begin again at record {record}: two runs stand in one file; split it there \
                     (head -n {} and tail -n +{record})",
                    record - 1
                ),
            );
        }
        let found = Validation {
            packets: self.packets,
            notes: self.notes,
            numbers: self.numbers,
            outside: self.outside,
        };
        let most = LONGEST_GAP.max(16 * found.numbers.count());
        if let Some([from, to]) = found.gaps().find(|[from, to]| to - from >= most) {
            return line(
                1,
                format!(
                    "the sequence numbers jump from {} to {}, which is no loss; is it one run? take the others out",
                    from - 1,
                    to + 1
                ),
            );
        }
        Ok(found)
    }

    /// Why the packets say nothing, if they do not.
    fn says_nothing(&self) -> Option<&'static str> {
        let [sent, received, sequence] = self.differ;
        Some(match self.packets {
            0 => "it has no records (were all packets lost? the .sta file says); there is nothing to compute",
            1 => return None,
            _ if !sent => {
                "all send stamps are equal: the sender did not stamp; install its stamping module, and measure again"
            }
            _ if !received => {
                "all receive stamps are equal: the receiver did not stamp; install its stamping module, and measure again"
            }
            3.. if !sequence => {
                "all sequence numbers are equal: the log has no sequence numbers, and losses are unknown; check the program that wrote it"
            }
            _ => return None,
        })
    }
}

/// That a set of numbers takes too much memory.
pub(super) fn scattered() -> String {
    "the sequence numbers have gaps too large to list all missing ones; is it one run? split it \
     (split --lines)"
        .into()
}

/// What a whole file shows.
#[derive(Debug, Default)]
pub struct Validation {
    /// Packets that arrived, copies too.
    pub packets: u64,
    /// What a reader should know.
    pub notes: Notes,
    numbers: NumberSet,
    outside: NumberSet,
}

impl Validation {
    /// The least number of a packet that arrived, and the greatest.
    pub fn span(&self) -> Option<[u64; 2]> {
        self.numbers.span()
    }

    /// Whether numbers between the first and the last are missing.
    pub fn has_gaps(&self) -> bool {
        self.gaps().next().is_some()
    }

    /// The runs of missing numbers between the first and the last: the first and the last of each, ascending.
    fn gaps(&self) -> impl Iterator<Item = [u64; 2]> {
        let mut from = self.numbers.span().map(|[least, _]| least);
        std::iter::from_fn(move || {
            let run = self.numbers.next_missing(from?)?;
            from = Some(run[1] + 1);
            Some(run)
        })
    }

    /// Runs of numbers that did not arrive, ascending: those between the first and the last of the packets, and those of dummy
    /// entries beyond.
    fn lost_runs(&self) -> impl Iterator<Item = [u64; 2]> {
        let [least, most] = self.numbers.span().unwrap_or([0, 0]);
        let beyond = |from: u64| {
            let mut from = Some(from);
            std::iter::from_fn(move || {
                let one = self.outside.next(from?)?;
                from = one.checked_add(1);
                Some([one, one])
            })
        };
        let before = beyond(0).take_while(move |[one, _]| *one < least);
        before.chain(self.gaps()).chain(beyond(most.saturating_add(1)))
    }

    /// How many packets did not arrive.
    pub fn lost_count(&self) -> u64 {
        self.lost_runs().map(|[from, to]| to - from + 1).sum()
    }

    /// The numbers of those that did not arrive, ascending.
    pub fn lost(&self) -> impl Iterator<Item = u64> {
        self.lost_runs().flat_map(|[from, to]| from..=to)
    }
}

/// By how much the latencies of the packets `ahead` are higher than those `behind`, in the median; and whether that is plainly
/// more than the medians of so few differ by anyway.
fn rise(behind: &[Entry], ahead: &[Entry]) -> (i64, bool) {
    /// So many errors of the difference, each 1.25 of a mean's, whose deviation is one and a half of what half the
    /// latencies lie off their median.
    const PLAIN: f64 = 5.0 * 1.25 * 1.5;
    let middle = |mut values: Vec<i64>| -> i64 {
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or(0)
    };
    let sides = [behind, ahead];
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
