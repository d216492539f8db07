//! What the path did to the service octet of the packets: code points rewritten, ECN bits cleared, set
//! or raised to CE.

use std::collections::BTreeMap;

use romer_record::RoundTrip;
use romer_record::document::ProbeDirection;
use romer_record::warning::MeasurementWarning;
use romer_units::{Dscp, Ecn};

/// The ECN bits of a service octet.
const ECN_BITS: u8 = 0b11;

/// Packets by the octet that they left with and the one that they arrived with.
type Changes = BTreeMap<(u8, u8), u64>;

/// The changes of the service octets on the path, a warning for each; nothing where they arrived as
/// they were sent. `rows` are in order of sequence and copy; `sent` is the octet of the probes.
///
/// With a romer at the far end (`responder_log`) the two ways are told apart, because it tells with which octet a probe
/// arrived, and answers with that code point and without ECN bits. Of a foreign reflector only the whole is known:
/// it may mark its replies as it likes. Each packet counts once on each way, however many copies of it came.
pub fn markings(rows: &[RoundTrip], sent: u8, responder_log: bool) -> Vec<MeasurementWarning> {
    let mut markings = Markings::new(sent, responder_log);
    markings.take(rows);
    markings.warnings()
}

/// [`markings`] of rows that may come in parts.
#[derive(Debug)]
pub struct Markings {
    sent: u8,
    responder_log: bool,
    there: Changes,
    back: Changes,
    whole: Changes,
    /// The last that is counted of the probes that this host sent, on the way there and of what came back, and of those that the
    /// far end sent.
    last: [Option<u64>; 3],
}

impl Markings {
    /// Of probes that are sent with the octet `sent`.
    pub fn new(sent: u8, responder_log: bool) -> Self {
        let [there, back, whole] = [Changes::new(), Changes::new(), Changes::new()];
        Self { sent, responder_log, there, back, whole, last: [None; 3] }
    }

    /// Takes the next rows, in order of sequence and copy.
    pub fn take(&mut self, rows: &[RoundTrip]) {
        let Self { sent, responder_log, there, back, whole, last } = self;
        let [last_there, last_back, last_of_theirs] = last;
        let is_new = |last: &mut Option<u64>, sequence| last.replace(sequence) != Some(sequence);
        for row in rows {
            if let Some(tos) = row.forward_tos
                && is_new(last_there, row.sequence)
            {
                *there.entry((*sent, tos)).or_default() += 1;
            }
            let last =
                if row.way == ProbeDirection::Reverse { &mut *last_of_theirs } else { &mut *last_back };
            if row.reverse_tos.is_none() || !is_new(last, row.sequence) {
                continue;
            }
            match (row.forward_tos, row.reverse_tos) {
                (None, Some(tos)) if row.way == ProbeDirection::Reverse => {
                    *back.entry((*sent, tos)).or_default() += 1;
                }
                (Some(arrived), Some(tos)) if *responder_log => {
                    *back.entry((arrived & !ECN_BITS, tos)).or_default() += 1;
                }
                (None, Some(tos)) if !*responder_log => *whole.entry((*sent, tos)).or_default() += 1,
                _ => {}
            }
        }
    }

    /// The changes.
    pub fn warnings(&self) -> Vec<MeasurementWarning> {
        let mut all = changed(&self.there, ProbeDirection::Forward);
        all.extend(changed(&self.back, ProbeDirection::Reverse));
        all.extend(code_points(&self.whole, ProbeDirection::RoundTrip));
        all
    }
}

fn changed(changes: &Changes, direction: ProbeDirection) -> Vec<MeasurementWarning> {
    let mut all = code_points(changes, direction);
    all.extend(congestion(changes, direction));
    all
}

/// The rewritten code points.
fn code_points(changes: &Changes, direction: ProbeDirection) -> Vec<MeasurementWarning> {
    let each = counted(changes, |tos| Dscp::of_tos(tos).to_string());
    let warning = |ChangeCount { from, to, packets, received }| MeasurementWarning::DscpRewritten {
        direction,
        from,
        to,
        packets,
        received,
    };
    each.into_iter().map(warning).collect()
}

/// The changed ECN bits.
fn congestion(changes: &Changes, direction: ProbeDirection) -> Vec<MeasurementWarning> {
    let each = counted(changes, |tos| Ecn::of_tos(tos).to_string());
    let warning = |ChangeCount { from, to, packets, received }| MeasurementWarning::EcnRewritten {
        direction,
        from,
        to,
        packets,
        received,
    };
    each.into_iter().map(warning).collect()
}

/// A change, how many packets show it, and how many were received of those that were sent so.
struct ChangeCount {
    from: String,
    to: String,
    packets: u64,
    received: u64,
}

fn counted(changes: &Changes, name: impl Fn(u8) -> String) -> Vec<ChangeCount> {
    let mut named: BTreeMap<(String, String), u64> = BTreeMap::new();
    for ((from, to), count) in changes {
        *named.entry((name(*from), name(*to))).or_default() += count;
    }
    let received =
        |from: &String| named.iter().filter(|((other, _), _)| other == from).map(|(_, count)| count).sum();
    named
        .iter()
        .filter(|((from, to), _)| from != to)
        .map(|((from, to), packets)| ChangeCount {
            from: from.clone(),
            to: to.clone(),
            packets: *packets,
            received: received(from),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(sequence: u64, forward_tos: Option<u8>, reverse_tos: Option<u8>) -> RoundTrip {
        RoundTrip { sequence, forward_tos, reverse_tos, ..RoundTrip::default() }
    }

    /// The code, direction, values and counts of each change.
    fn changes(rows: &[RoundTrip], responder_log: bool) -> Vec<String> {
        let written = serde_json::to_value(markings(rows, EF | 2, responder_log)).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let one = |one: &serde_json::Value| {
            let [code, direction, from, to] =
                ["code", "direction", "from", "to"].map(|field| text(&one[field]));
            format!("{code} {direction} {from} {to} {}/{}", one["packets"], one["received"])
        };
        written.as_array().unwrap().iter().map(one).collect()
    }

    const EF: u8 = 46 << 2;
    const CS1: u8 = 8 << 2;

    #[test]
    fn octets_that_arrive_as_they_were_sent_are_not_worth_a_word() {
        let rows = [row(0, Some(EF | 2), Some(EF)), row(1, Some(EF | 2), None)];
        assert_eq!(markings(&rows, EF | 2, true), []);
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
            changes(&rows, true),
            [
                "dscp-rewritten forward ef cs1 1/3",
                "ecn-rewritten forward ect0 ce 1/3",
                "ecn-rewritten forward ect0 not-ect 1/3",
                "dscp-rewritten reverse cs1 cs0 1/1",
                "ecn-rewritten reverse not-ect ect1 1/3",
            ]
        );
    }

    #[test]
    fn of_a_foreign_reflector_only_the_whole_way_is_told() {
        let rows = [row(0, None, Some(0)), row(1, None, Some(EF))];
        assert_eq!(changes(&rows, false), ["dscp-rewritten round_trip ef cs0 1/2"]);
    }
}
