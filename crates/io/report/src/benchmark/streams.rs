//! Loss, latency and markings of each stream, over all valid trials of a case.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use romer_record::benchmark::{Benchmark, BenchmarkResult, Trial};
use romer_units::{Duration, counted};

use crate::escape::markup;
use crate::number::{count, maybe_time};

/// A stream in a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamRow {
    /// The case.
    pub case: String,
    /// The stream.
    pub name: String,
    /// The device is to drop all of it.
    pub expect_drop: bool,
    /// Frames that were sent.
    pub offered: u64,
    /// Of these, those that came.
    pub forwarded: u64,
    /// Further copies.
    pub duplicated: u64,
    /// Frames that came after one of their flow that was sent later.
    pub reordered: u64,
    /// Frames that arrived with a changed payload.
    pub corrupted: u64,
    /// Least, median and greatest latency, nanoseconds; the median is that of the trials' medians.
    pub latency: Option<[f64; 3]>,
}

impl StreamRow {
    /// Frames that did not come and were to.
    pub const fn lost(&self) -> u64 {
        if self.expect_drop { 0 } else { self.offered.saturating_sub(self.forwarded) }
    }

    /// In a line.
    pub fn text(&self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let share = 100.0 * self.lost() as f64 / self.offered.max(1) as f64;
        let Self { name, case, forwarded, .. } = self;
        let offered = counted(self.offered, "frame");
        let mut words = if self.expect_drop {
            let not = if *forwarded > 0 { ", NOT dropped" } else { "" };
            format!("stream {name}, {case}: expected drop, {forwarded} of {offered} received{not}")
        } else {
            format!(
                "stream {name}, {case}: {forwarded} of {offered} received, {} lost ({share:.3} %)",
                self.lost()
            )
        };
        for (count, what) in
            [(self.duplicated, "duplicated"), (self.reordered, "reordered"), (self.corrupted, "corrupted")]
        {
            if count > 0 {
                let _ = write!(words, ", {count} {what}");
            }
        }
        if let Some(latency) = self.latency {
            let [least, median, greatest] = latency.map(|nanos| Duration::from_nanos_f64(nanos).rounded());
            let _ = write!(words, "; latency median {median} (range {least} to {greatest})");
        }
        words
    }
}

fn valid(document: &Benchmark) -> impl Iterator<Item = &Trial> {
    document.trials.iter().filter(|trial| trial.invalid.is_none())
}

/// The streams that the device was to drop and forwarded, at the case, frame size and load of a result; in words for its verdict.
pub fn not_dropped(document: &Benchmark, result: &BenchmarkResult) -> Vec<String> {
    /// Percent. Loads are computed the same way on both sides.
    const SAME_LOAD: f64 = 1e-6;
    let is_at = |trial: &&Trial| {
        let load = trial.requested_load.map(|load| load.percent).zip(result.load_percent);
        trial.case == result.case
            && trial.frame_size == result.frame_size
            && load.is_none_or(|(trial, result)| (trial - result).abs() < SAME_LOAD)
    };
    let streams = valid(document).filter(is_at).flat_map(|trial| &trial.per_stream);
    let names: BTreeSet<&str> = streams
        .filter(|stream| stream.expect_drop && stream.forwarded > 0)
        .map(|stream| stream.name.as_str())
        .collect();
    names.into_iter().map(|name| format!("stream {name} NOT dropped")).collect()
}

/// Each stream in each case, in the order of the cases' first trials.
pub fn streams(document: &Benchmark) -> Vec<StreamRow> {
    let mut rows: Vec<(StreamRow, Vec<f64>)> = Vec::new();
    for trial in valid(document) {
        for stream in &trial.per_stream {
            let of = |(row, _): &(StreamRow, _)| row.case == trial.case && row.name == stream.name;
            let place = rows.iter().position(of).unwrap_or_else(|| {
                let row = StreamRow {
                    case: trial.case.clone(),
                    name: stream.name.clone(),
                    expect_drop: stream.expect_drop,
                    ..StreamRow::default()
                };
                rows.push((row, Vec::new()));
                rows.len() - 1
            });
            let (row, medians) = &mut rows[place];
            row.offered = row.offered.saturating_add(stream.offered);
            row.forwarded = row.forwarded.saturating_add(stream.forwarded);
            row.duplicated = row.duplicated.saturating_add(stream.duplicated);
            row.reordered = row.reordered.saturating_add(stream.reordered);
            row.corrupted = row.corrupted.saturating_add(stream.corrupted);
            let latency = &stream.latency_ns;
            if let (Some(least), Some(median), Some(greatest)) = (latency.min, latency.median, latency.max) {
                let [low, _, high] = row.latency.unwrap_or([least, median, greatest]);
                row.latency = Some([low.min(least), median, high.max(greatest)]);
                medians.push(median);
            }
        }
    }
    let middle = |(mut row, mut medians): (StreamRow, Vec<f64>)| {
        medians.sort_by(f64::total_cmp);
        if let (Some(latency), false) = (&mut row.latency, medians.is_empty()) {
            latency[1] = f64::midpoint(medians[(medians.len() - 1) / 2], medians[medians.len() / 2]);
        }
        row
    };
    rows.into_iter().map(middle).collect()
}

/// Code points, priorities, VLANs and congestion notifications that came beside those that were sent, by case, and whether they are others.
pub fn markings(document: &Benchmark) -> Vec<(String, bool)> {
    let mut rows: BTreeMap<(&str, &str, &str, &str), u64> = BTreeMap::new();
    for trial in valid(document) {
        let kinds = [
            ("", &trial.markings),
            ("priority ", &trial.priorities),
            ("VLAN ", &trial.vlans),
            ("ECN ", &trial.ecns),
        ];
        for (kind, sent) in kinds {
            for (sent, came) in sent {
                for (came, count) in came {
                    let row =
                        rows.entry((trial.case.as_str(), kind, sent.as_str(), came.as_str())).or_default();
                    *row = row.saturating_add(*count);
                }
            }
        }
    }
    let all = |of: (&str, &str, &str)| {
        let same = rows.iter().filter(|((case, kind, sent, _), _)| (*case, *kind, *sent) == of);
        same.fold(0_u64, |sum, (_, count)| sum.saturating_add(*count))
    };
    rows.iter()
        .map(|(&(case, kind, sent, came), count)| {
            let of = all((case, kind, sent));
            let text = format!("{case}: {count} of {of} frames sent as {kind}{sent} were received as {came}");
            (text, sent != came)
        })
        .collect()
}

/// The streams as a table.
pub(super) fn table(document: &Benchmark, html: &mut String) {
    let rows = streams(document);
    if rows.is_empty() {
        return;
    }
    html.push_str(
        "<section><h2>Streams (all valid trials of a case)</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Streams\">\
         <table><thead><tr><th>case, stream</th><th>sent</th><th>received</th><th>lost</th><th>duplicated</th><th>reordered</th>\
         <th>corrupted</th><th>min latency</th><th>median latency</th><th>max latency</th></tr></thead><tbody>\n",
    );
    for row in rows {
        let latency = |place: usize| maybe_time(row.latency.map(|latency| latency[place]), true);
        let _ = writeln!(
            html,
            "<tr><th>{}, {}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            markup(&row.case),
            markup(&row.name),
            count(row.offered),
            count(row.forwarded),
            count(row.lost()),
            count(row.duplicated),
            count(row.reordered),
            count(row.corrupted),
            latency(0),
            latency(1),
            latency(2)
        );
    }
    html.push_str("</tbody></table></div></section>\n");
}

#[cfg(test)]
mod tests {
    use romer_record::benchmark::{RequestedLoad, StreamResult};

    use super::*;

    /// A stream that was to be dropped and came is named at the load at which it did, and in the line of its stream.
    #[test]
    fn forwarded_stream_is_named() {
        let trial = |percent, forwarded| Trial {
            case: "baseline".into(),
            requested_load: Some(RequestedLoad { percent, pps: 1e3 }),
            per_stream: vec![StreamResult {
                name: "udp".into(),
                expect_drop: true,
                offered: 50,
                forwarded,
                ..StreamResult::default()
            }],
            ..Trial::default()
        };
        let document = Benchmark { trials: vec![trial(10.0, 0), trial(20.0, 7)], ..Benchmark::default() };
        let at = |load_percent| BenchmarkResult {
            case: "baseline".into(),
            load_percent: Some(load_percent),
            ..BenchmarkResult::default()
        };
        assert_eq!(not_dropped(&document, &at(10.0)), [""; 0]);
        assert_eq!(not_dropped(&document, &at(20.0)), ["stream udp NOT dropped"]);
        let row = &streams(&document)[0];
        assert_eq!(row.text(), "stream udp, baseline: expected drop, 7 of 100 frames received, NOT dropped");
    }
}
