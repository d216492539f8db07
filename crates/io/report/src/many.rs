//! Many streams on a terminal: a line for each.

use romer_record::document::{Direction, Measurement};

use crate::escape;
use crate::number::{NO_BREAK, counted, maybe_time, percent};
use crate::table::Way;
use crate::text::{TextStyle, wrap};

/// More streams than this have a line each, and no page each.
pub(crate) const MANY: usize = 8;
/// The widest name of a target.
const NAME: usize = 28;

/// The summary of many streams.
pub(crate) fn summary(measurements: &[Measurement], style: &TextStyle, width: usize) -> Vec<String> {
    let mut rows = vec![["", "median", "99 %", "lost", ""].map(String::from)];
    rows[0][0] = counted(measurements.len().try_into().unwrap_or(u64::MAX), "stream", "streams");
    rows.extend(measurements.iter().map(|m| row(m, style)));
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
    let mut warnings: Vec<(&String, usize)> = Vec::new();
    for warning in measurements.iter().flat_map(|m| &m.warnings) {
        match warnings.iter_mut().find(|(known, _)| *known == warning) {
            Some((_, times)) => *times += 1,
            None => warnings.push((warning, 1)),
        }
    }
    for (warning, times) in warnings {
        let streams = counted(times.try_into().unwrap_or(u64::MAX), "stream", "streams");
        lines.extend(wrap(&escape::terminal(&format!("Note ({streams}): {warning}")), width));
    }
    lines.iter().map(|line| line.replace(NO_BREAK, " ")).collect()
}

/// The way that a line is about: there and back, or the one way that there is.
fn way_of(m: &Measurement) -> (&'static str, &Direction) {
    let known = |way: &Way| way.of(m).packets.sent.is_some();
    match [Way::RoundTrip, Way::Forward, Way::Reverse].into_iter().find(known) {
        Some(Way::RoundTrip) | None => ("", &m.round_trip),
        Some(way) => (way.name(), way.of(m)),
    }
}

fn row(m: &Measurement, style: &TextStyle) -> [String; 5] {
    let (way, direction) = way_of(m);
    let mut rest = vec![way.to_owned()];
    let broken = m.limits.iter().filter(|limit| !limit.held).count();
    if broken > 0 {
        rest.push(format!("{broken} of {} limits broken", m.limits.len()));
    }
    if m.partial {
        rest.push("a part only".into());
    }
    rest.retain(|word| !word.is_empty());
    [
        escape::terminal(&m.target).chars().take(NAME).collect(),
        maybe_time(direction.delay_ns.median, style.unicode),
        maybe_time(direction.delay_ns.p99, style.unicode),
        direction.loss.ratio.map_or_else(|| "-".into(), percent),
        rest.join(", "),
    ]
}
