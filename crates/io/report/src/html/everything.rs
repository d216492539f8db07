//! The parts of the page that are there for whoever wants to know exactly; closed until asked for.

use std::collections::BTreeMap;

use romer_record::document::{DirectionResults, Measurement, Summary, Tally};

use super::overview::class;
use crate::causes;
use crate::escape::markup;
use crate::number::{count, counted, maybe_time, percent};
use crate::table::{MeasuredPath, ways};
use crate::words::{Words, dscp_name};

/// So many lengths of a pattern are shown in order; of more, how many there are of each.
const IN_ORDER: usize = 8;
/// So many different lengths are shown one by one; of more, those from one power of two up to the next together.
const ONE_BY_ONE: usize = 12;

/// What became of the packets, each direction a column.
pub(super) fn packets(m: &Measurement, page: &mut String) {
    let ways = ways(m);
    let heads: String =
        ways.iter().map(|way| format!("<th class=\"key {}\">{}</th>", class(*way), way.name())).collect();
    page.push_str(&format!(
        "<details><summary>Packet counts, loss patterns, TTL, DSCP and ECN</summary>\n<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>metric</th>{heads}</tr></thead><tbody>\n"
    ));
    let directions: Vec<&DirectionResults> = ways.iter().map(|way| way.results(m)).collect();
    for (name, cell) in ROWS {
        let cells: Vec<String> = directions.iter().map(|direction| cell(direction)).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let cells: String = cells
                .iter()
                .map(|cell| {
                    format!("<td>{}</td>", if cell.is_empty() { "–".to_owned() } else { markup(cell) })
                })
                .collect();
            page.push_str(&format!("<tr><th>{name}</th>{cells}</tr>\n"));
        }
    }
    page.push_str("</tbody></table></div></details>\n");
}

type Cell = fn(&DirectionResults) -> String;

/// A row shows where any direction has something to say.
const ROWS: [(&str, Cell); 23] = [
    ("sent", |d| number(d.packets.sent)),
    ("received in time", |d| {
        let least = if d.packets.received_at_least { "at least " } else { "" };
        format!("{least}{}", number(d.packets.received))
    }),
    ("lost", |d| number(d.packets.lost)),
    ("lost (at least)", |d| number(d.packets.lost_at_least)),
    ("loss ratio", |d| d.loss.ratio.map_or_else(String::new, percent)),
    ("95 % CI of the loss ratio", |d| {
        d.loss
            .ratio_interval
            .map_or_else(String::new, |[low, high]| format!("{} to {}", percent(low), percent(high)))
    }),
    ("late (counted as lost)", |d| number(d.packets.late)),
    ("duplicates", |d| number(d.packets.duplicated)),
    ("reordered (RFC 4737)", |d| number(d.packets.reordered)),
    ("reordering ratio", |d| d.reordering.ratio.map_or_else(String::new, percent)),
    ("corrupted", |d| number(d.packets.corrupted)),
    ("losses by cause", causes::listed),
    ("received, then dropped by the measuring host", |d| number(d.packets.instrument_drops)),
    ("in flight at the end", |d| number(d.packets.in_flight)),
    ("not sent by the sending host", |d| number(d.packets.not_sent.filter(|count| *count > 0))),
    ("loss periods, packets", |d| pattern(&d.loss.periods, d.loss.periods_all.as_ref())),
    ("loss distances, packets", |d| pattern(&d.loss.distances, d.loss.distances_all.as_ref())),
    ("reordering extents, packets", |d| pattern(&d.reordering.extents, d.reordering.extents_all.as_ref())),
    ("TTL on arrival", |d| match (d.ttl.min, d.ttl.max) {
        (Some(min), Some(max)) if min == max => min.to_string(),
        (Some(min), Some(max)) => {
            format!(
                "{min} to {max}, {}",
                counted(d.ttl.changes_all.unwrap_or(d.ttl.changes.len() as u64), "change", "changes")
            )
        }
        _ => String::new(),
    }),
    ("DSCP sent", |d| d.dscp.sent.map_or_else(String::new, dscp_name)),
    ("DSCP on arrival", |d| {
        let seen = d.dscp.received.iter().map(|(dscp, packets)| format!("{dscp}: {}", count(*packets)));
        seen.collect::<Vec<_>>().join(", ")
    }),
    ("ECN sent", |d| d.ecn.sent.clone().unwrap_or_default()),
    ("ECN on arrival", |d| {
        let seen = d.ecn.received.iter().map(|(ecn, packets)| format!("{ecn}: {}", count(*packets)));
        seen.collect::<Vec<_>>().join(", ")
    }),
];

fn number(value: Option<u64>) -> String {
    value.map_or_else(String::new, count)
}

/// `3 1 2` of a few; of more how they are distributed: `980 of 1, 3 of 2, 1 of 200`.
fn pattern(values: &[u64], all: Option<&Tally>) -> String {
    if let Some(all) = all {
        return by_power_of_two(&all.by_power_of_two, all.max);
    }
    if values.len() <= IN_ORDER {
        return values.iter().map(|value| count(*value)).collect::<Vec<_>>().join(" ");
    }
    let mut of_each: BTreeMap<u64, u64> = BTreeMap::new();
    for value in values {
        *of_each.entry(*value).or_default() += 1;
    }
    if of_each.len() <= ONE_BY_ONE {
        let each = of_each.iter().map(|(value, number)| format!("{} × {}", count(*number), count(*value)));
        return each.collect::<Vec<_>>().join(", ");
    }
    let tally = Tally::from_values(values);
    by_power_of_two(&tally.by_power_of_two, tally.max)
}

/// `980 × 1, 30 × 2 to 3, 1 × 128 to 200`, of counts from each power of two up to the next; the last go up to `most`.
fn by_power_of_two(counts: &[u64], most: u64) -> String {
    let bins = counts.iter().enumerate().filter(|(_, number)| **number > 0).map(|(power, number)| {
        let from = 1_u64.checked_shl(u32::try_from(power).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
        let to = from.saturating_mul(2).saturating_sub(1).min(most);
        let span = if to > from { format!("{} to {}", count(from), count(to)) } else { count(from) };
        format!("{} × {span}", count(*number))
    });
    bins.collect::<Vec<_>>().join(", ")
}

/// Every summary of every direction.
pub(super) fn statistics(m: &Measurement, page: &mut String) {
    page.push_str(
        "<details><summary>All statistics</summary>\n<div class=\"scroll broad\" tabindex=\"0\"><table><thead><tr><th>statistic</th><th>count</th><th>min</th>\
         <th>p25</th><th>median</th><th>p75</th><th>p90</th><th>p95</th><th>p99</th><th>p99.9</th><th>max</th>\
         <th>mean</th><th>95 % CI of the mean</th><th>stddev</th>\
         <th><abbr title=\"without the lowest and highest 5 %\">trimmed mean</abbr></th><th>trimmed stddev</th></tr></thead>\n",
    );
    for way in ways(m) {
        let rows: String =
            summaries(way.results(m)).into_iter().map(|(name, summary)| row(name, summary)).collect();
        if !rows.is_empty() {
            page.push_str(&format!(
                "<tbody><tr><th class=\"key {}\" colspan=\"16\">{}</th></tr>\n{rows}</tbody>\n",
                class(way),
                markup(&way.label(m))
            ));
        }
    }
    let errors = &m.location_error_ns;
    let ends = [
        ("t1 (sent)", &errors.sender.departure),
        ("t2 (received)", &errors.responder.arrival),
        ("t3 (replied)", &errors.responder.departure),
        ("t4 (returned)", &errors.sender.arrival),
    ];
    let rows: String = ends.into_iter().map(|(name, summary)| row(name, summary)).collect();
    if !rows.is_empty() {
        page.push_str(&format!(
            "<tbody><tr><th colspan=\"16\">error of user-space time stamps</th></tr>\n{rows}</tbody>\n"
        ));
    }
    page.push_str("</table></div>\n");
    rfc3550(m, page);
    page.push_str(
        "<p class=\"when\">Quantiles interpolate between order statistics. The standard deviation divides by n − 1. Confidence \
         intervals are 95 %.</p></details>\n",
    );
}

fn rfc3550(m: &Measurement, page: &mut String) {
    let jitters: Vec<String> = MeasuredPath::ALL
        .iter()
        .filter_map(|way| {
            Some(format!("{} {}", way.name(), maybe_time(Some(way.results(m).jitter_ns.rfc3550?), true)))
        })
        .collect();
    if !jitters.is_empty() {
        page.push_str(&format!(
            "<p class=\"when\">Interarrival jitter after the last packet (RFC 3550): {}.</p>\n",
            jitters.join(", ")
        ));
    }
}

fn summaries(d: &DirectionResults) -> Vec<(&'static str, &Summary)> {
    let jitter = &d.jitter_ns;
    let mut all = vec![
        ("delay", &d.delay_ns),
        ("IPDV, signed (RFC 3393)", &d.ipdv_ns),
        ("PDV (RFC 5481)", &d.pdv_ns),
        ("jitter 1: peak to peak", &jitter.peak_to_peak),
        ("jitter 2: inter-arrival difference", &jitter.inter_arrival_difference),
    ];
    let by_arrival = jitter.inter_arrival_difference_in_order_of_arrival.as_ref();
    all.extend(by_arrival.map(|summary| ("jitter 2, in order of arrival", summary)));
    all.extend([
        ("jitter 3: delay difference", &jitter.delay_difference),
        ("jitter 4: deviation from the mean", &jitter.deviation_from_mean),
        ("inter-departure time", &d.inter_departure_ns),
        ("inter-arrival time", &d.inter_arrival_ns),
    ]);
    all.extend(d.departure_error_ns.as_ref().map(|summary| ("departure minus schedule", summary)));
    all.push(("time between duplicates", &d.duplicates.spacing_ns));
    all
}

fn row(name: &str, s: &Summary) -> String {
    if s.count == 0 {
        return String::new();
    }
    let interval = s.mean_interval.map_or_else(
        || Words::PAGE.absent().to_owned(),
        |[low, high]| format!("{} to {}", maybe_time(Some(low), true), maybe_time(Some(high), true)),
    );
    let mut cells: Vec<String> = [s.min, s.p25, s.median, s.p75, s.p90, s.p95, s.p99, s.p99_9, s.max, s.mean]
        .into_iter()
        .map(|value| maybe_time(value, true))
        .collect();
    cells.push(interval);
    cells.extend([s.stddev, s.trimmed_mean, s.trimmed_stddev].map(|value| maybe_time(value, true)));
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr><th>{name}</th><td>{}</td>{cells}</tr>\n", count(s.count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_many_lengths_is_how_many_there_are_of_each() {
        assert_eq!(pattern(&[3, 1, 2], None), "3 1 2");
        let mut lengths = vec![1; 980];
        lengths.extend([200, 2, 2, 2]);
        assert_eq!(pattern(&lengths, None), "980 × 1, 3 × 2, 1 × 200");
        let distances: Vec<u64> = (1..=20).collect();
        assert_eq!(pattern(&distances, None), "1 × 1, 2 × 2 to 3, 4 × 4 to 7, 8 × 8 to 15, 5 × 16 to 20");
        let tally = Tally { count: 12_001, max: 128, by_power_of_two: vec![12_000, 0, 0, 0, 0, 0, 0, 1] };
        assert_eq!(pattern(&[1; 10_000], Some(&tally)), "12,000 × 1, 1 × 128");
        assert_eq!(pattern(&[], None), "");
    }
}
