//! Many streams on a terminal: a line for each, or for each of its ways.

use romer_record::document::{DirectionResults, Measurement};

use crate::alike::groups;
use crate::escape;
use crate::number::{NO_BREAK, counted, maybe_time, percent};
use crate::setup;
use crate::table::MeasuredPath;
use crate::text::{TextStyle, wrap};

/// More streams than this have a line each, and no page each.
pub(crate) const MANY: usize = 8;
/// The widest name of a target.
const NAME: usize = 28;

/// The summary of many streams.
pub(crate) fn summary(
    measurements: &[Measurement],
    style: &TextStyle,
    verbose: bool,
    width: usize,
) -> Vec<String> {
    let mut rows = vec![["", "median", "p99", "loss", ""].map(String::from)];
    rows[0][0] = counted(measurements.len().try_into().unwrap_or(u64::MAX), "stream", "streams");
    rows.extend(measurements.iter().flat_map(|m| rows_of(m, style)));
    let widths: Vec<usize> =
        (0..5).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let [name, median, high, lost, rest] = row;
            let mut line = format!("{name:0$}", widths[0]);
            for (cell, width) in [median, high, lost].into_iter().zip(&widths[1..]) {
                line.push_str(&format!("  {}{cell}", " ".repeat(width - cell.chars().count())));
            }
            if !rest.is_empty() {
                line.push_str(&format!("  {rest}"));
            }
            line.chars().take(width).collect::<String>().trim_end().to_owned()
        })
        .collect();
    let all = measurements.iter().map(setup::warnings);
    let warnings: Vec<String> = all
        .flat_map(|(bearing, setup)| bearing.into_iter().chain(setup.into_iter().filter(|_| verbose)))
        .collect();
    for (warning, places) in groups(warnings.iter().map(String::as_str)) {
        let streams = counted(places.len() as u64, "stream", "streams");
        lines.extend(wrap(&escape::terminal(&format!("Note ({streams}): {warning}")), width));
    }
    lines.iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

/// What lines are about: there and back, or each one way that packets went.
fn ways_of(m: &Measurement) -> Vec<(&'static str, &DirectionResults)> {
    let known = |way: &MeasuredPath| way.results(m).packets.sent.is_some();
    if known(&MeasuredPath::RoundTrip) {
        return vec![("", &m.round_trip)];
    }
    let ways = [MeasuredPath::Forward, MeasuredPath::Reverse].into_iter().filter(known);
    let ways: Vec<_> = ways.map(|way| (way.name(), way.results(m))).collect();
    if ways.is_empty() { vec![("", &m.round_trip)] } else { ways }
}

fn rows_of(m: &Measurement, style: &TextStyle) -> Vec<[String; 5]> {
    let mut whole = Vec::new();
    let broken = m.limits.iter().filter(|limit| !limit.passed).count();
    if broken > 0 {
        whole.push(format!("{broken} of {} limits failed", m.limits.len()));
    }
    if m.partial {
        whole.push("partial".into());
    }
    let row = |(place, (way, direction)): (usize, (&str, &DirectionResults))| {
        // What is of the whole stream is said once.
        let of_stream = if place == 0 { whole.as_slice() } else { &[] };
        let rest: Vec<&str> = std::iter::once(way)
            .chain(of_stream.iter().map(String::as_str))
            .filter(|word| !word.is_empty())
            .collect();
        [
            escape::terminal(&m.target).chars().take(NAME).collect(),
            maybe_time(direction.delay_ns.median, style.unicode),
            maybe_time(direction.delay_ns.p99, style.unicode),
            direction.loss.ratio.map_or_else(|| "-".into(), percent),
            rest.join(", "),
        ]
    };
    ways_of(m).into_iter().enumerate().map(row).collect()
}
