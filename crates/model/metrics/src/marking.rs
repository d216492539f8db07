//! What the path did to the service octet of the packets, in words: code points rewritten, ECN bits cleared, set
//! or raised to CE.

use std::collections::BTreeMap;

use romer_record::RoundTrip;
use romer_record::document::Way;
use romer_units::{Dscp, Ecn, counted_as};

/// The ECN bits of a service octet.
const ECN_BITS: u8 = 0b11;

/// Packets by the octet that they left with and the one that they arrived with.
type Changes = BTreeMap<(u8, u8), u64>;

/// Says what became of the service octets on the way, a sentence for each change; nothing where they arrived as
/// they were sent. `rows` are in order of sequence and copy; `sent` is the octet of the probes.
///
/// With a romer at the far end (`far_log`) the two ways are told apart, because it tells with which octet a probe
/// arrived, and answers with that code point and without ECN bits. Of a foreign reflector only the whole is known:
/// it may mark its replies as it likes. Each packet counts once on each way, however many copies of it came.
pub fn marking_words(rows: &[RoundTrip], sent: u8, far_log: bool) -> Vec<String> {
    let mut markings = Markings::new(sent, far_log);
    markings.take(rows);
    markings.words()
}

/// [`marking_words`] of rows that may come in parts.
#[derive(Debug)]
pub struct Markings {
    sent: u8,
    far_log: bool,
    there: Changes,
    back: Changes,
    whole: Changes,
    /// The last that is counted of the probes that this host sent, on the way there and of what came back, and of those that the
    /// far end sent.
    last: [Option<u64>; 3],
}

impl Markings {
    /// Of probes that are sent with the octet `sent`.
    pub fn new(sent: u8, far_log: bool) -> Self {
        let [there, back, whole] = [Changes::new(), Changes::new(), Changes::new()];
        Self { sent, far_log, there, back, whole, last: [None; 3] }
    }

    /// Takes the next rows, in order of sequence and copy.
    pub fn take(&mut self, rows: &[RoundTrip]) {
        let Self { sent, far_log, there, back, whole, last } = self;
        let [last_there, last_back, last_of_theirs] = last;
        let is_new = |last: &mut Option<u64>, sequence| last.replace(sequence) != Some(sequence);
        for row in rows {
            if let Some(tos) = row.forward_tos
                && is_new(last_there, row.sequence)
            {
                *there.entry((*sent, tos)).or_default() += 1;
            }
            let last = if row.way == Way::Reverse { &mut *last_of_theirs } else { &mut *last_back };
            if row.reverse_tos.is_none() || !is_new(last, row.sequence) {
                continue;
            }
            match (row.forward_tos, row.reverse_tos) {
                (None, Some(tos)) if row.way == Way::Reverse => *back.entry((*sent, tos)).or_default() += 1,
                (Some(arrived), Some(tos)) if *far_log => {
                    *back.entry((arrived & !ECN_BITS, tos)).or_default() += 1;
                }
                (None, Some(tos)) if !*far_log => *whole.entry((*sent, tos)).or_default() += 1,
                _ => {}
            }
        }
    }

    /// The sentences.
    pub fn words(&self) -> Vec<String> {
        let mut words = said(&self.there, "on the way there", "arrived");
        words.extend(said(&self.back, "on the way back", "arrived"));
        words.extend(code_points(&self.whole, "on the path or in the reflector", "came back"));
        words
    }
}

fn said(changes: &Changes, place: &str, came: &str) -> Vec<String> {
    let mut words = code_points(changes, place, came);
    words.extend(congestion(changes, place, came));
    words
}

/// The rewritten code points.
fn code_points(changes: &Changes, place: &str, came: &str) -> Vec<String> {
    let named = by_name(changes, |tos| Dscp::of_tos(tos).to_string());
    let what = |to: &str| {
        if to == Dscp::DEFAULT.to_string() {
            "the code point was bleached"
        } else {
            "the code point was rewritten"
        }
    };
    sentences(&named, |_, to| what(to), place, came)
}

/// The changed ECN bits.
fn congestion(changes: &Changes, place: &str, came: &str) -> Vec<String> {
    let named = by_name(changes, |tos| Ecn::of_tos(tos).to_string());
    let what = |from: &str, to: &str| match (from, to) {
        ("not-ect", "ce") => "congestion was marked on packets that do not take part in it",
        (_, "ce") => "a queue marked congestion",
        (_, "not-ect") => "the ECN bits were bleached",
        _ => "the ECN bits were rewritten",
    };
    sentences(&named, what, place, came)
}

fn by_name(changes: &Changes, name: impl Fn(u8) -> String) -> BTreeMap<(String, String), u64> {
    let mut named = BTreeMap::new();
    for ((from, to), count) in changes {
        *named.entry((name(*from), name(*to))).or_default() += count;
    }
    named
}

fn sentences(
    named: &BTreeMap<(String, String), u64>,
    what: impl Fn(&str, &str) -> &'static str,
    place: &str,
    came: &str,
) -> Vec<String> {
    let changed = named.iter().filter(|((from, to), _)| from != to);
    changed
        .map(|((from, to), count)| {
            let of: u64 = named.iter().filter(|((other, _), _)| other == from).map(|(_, count)| count).sum();
            let what = what(from, to);
            let packets = counted_as(of, "packet that was", "packets that were");
            // A packet that came too late to count as received has its octet all the same.
            format!(
                "{place} {what}: of {packets} sent as {from} and {came}, late or not, {count} {came} as {to}"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(sequence: u64, forward_tos: Option<u8>, reverse_tos: Option<u8>) -> RoundTrip {
        RoundTrip { sequence, forward_tos, reverse_tos, ..RoundTrip::default() }
    }

    const EF: u8 = 46 << 2;
    const CS1: u8 = 8 << 2;

    #[test]
    fn octets_that_arrive_as_they_were_sent_are_not_worth_a_word() {
        let rows = [row(0, Some(EF | 2), Some(EF)), row(1, Some(EF | 2), None)];
        assert_eq!(marking_words(&rows, EF | 2, true), Vec::<String>::new());
    }

    #[test]
    fn each_way_says_what_it_did_and_how_often() {
        let rows = [
            row(0, Some(CS1 | 2), Some(0)),
            row(1, Some(EF | 3), Some(EF)),
            // A copy is no second arrival, wherever it was made.
            RoundTrip { copy: 1, ..row(1, Some(EF | 3), Some(EF)) },
            RoundTrip { copy: 2, forward_copy: 1, ..row(1, Some(EF | 3), Some(EF)) },
            row(2, Some(EF), Some(EF | 1)),
        ];
        assert_eq!(
            marking_words(&rows, EF | 2, true),
            [
                "on the way there the code point was rewritten: of 3 packets that were sent as ef and arrived, late or not, 1 arrived as cs1",
                "on the way there a queue marked congestion: of 3 packets that were sent as ect0 and arrived, late or not, 1 arrived as ce",
                "on the way there the ECN bits were bleached: of 3 packets that were sent as ect0 and arrived, late or not, 1 arrived as not-ect",
                "on the way back the code point was bleached: of 1 packet that was sent as cs1 and arrived, late or not, 1 arrived as cs0",
                "on the way back the ECN bits were rewritten: of 3 packets that were sent as not-ect and arrived, late or not, 1 arrived as ect1",
            ]
        );
    }

    #[test]
    fn of_a_foreign_reflector_only_the_whole_way_is_told() {
        let rows = [row(0, None, Some(0)), row(1, None, Some(EF))];
        assert_eq!(
            marking_words(&rows, EF | 2, false),
            [
                "on the path or in the reflector the code point was bleached: of 2 packets that were sent as ef and came back, late or not, 1 came back as cs0"
            ]
        );
    }
}
