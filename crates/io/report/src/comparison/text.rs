//! A comparison on a terminal.

use super::figure::FigureUnit;
use super::verdict;
use romer_record::comparison::{
    ComparedDirection, ComparedFigure, ComparedStamp, Comparison, ComparisonVerdict,
};
use romer_record::document::Limit;
use romer_record::metric;
use romer_record::warning::StampMoment;
use romer_units::counted;

use crate::escape;
use crate::number::{NO_BREAK, capital, percent, percent_to, step_of, time, time_to, with_sign};
use crate::sentence::Text as _;
use crate::text::{TextStyle, wrap};
use crate::words::Words;

/// The widest that prose is set.
const WIDEST: usize = 110;

/// `comparison` for a terminal: the verdicts, and then the figures behind them; with `explain` also the method of the
/// intervals. The text ends with a newline; what came from outside is escaped.
pub fn text(comparison: &Comparison, explain: bool, style: &TextStyle) -> String {
    let width = style.width.clamp(40, WIDEST);
    let mut lines = Vec::new();
    if comparison.directions.len() > 1 {
        lines.extend(
            wrap(&headline(&comparison.directions), width).into_iter().map(|line| strong(line, style)),
        );
    }
    for direction in &comparison.directions {
        let words = to_ascii(&capital(&direction.text), style.unicode);
        let lone = comparison.directions.len() == 1;
        let wrapped = wrap(&words, width).into_iter();
        lines.extend(wrapped.map(|line| if lone { strong(line, style) } else { line }));
    }
    lines.push(String::new());
    for (letter, side) in [("A", &comparison.a), ("B", &comparison.b)] {
        let mut line = format!("{letter}  {}", side.name);
        if side.target != side.name {
            line.push_str(&format!(", {}", side.target));
        }
        line.extend(side.started.iter().flat_map(|started| [", ".into(), Words::PAGE.moment(started)]));
        line.extend(side.comment.iter().flat_map(|comment| [", ", comment]));
        lines.extend(wrap(&escape::terminal(&line), width));
    }
    for direction in comparison.directions.iter().filter(|direction| !direction.figures.is_empty()) {
        lines.push(String::new());
        lines.extend(table(direction, style, width));
    }
    if !comparison.stamps.is_empty() {
        lines.push(String::new());
        lines.push("Time stamps of A minus those of the captures:".into());
        lines.extend(comparison.stamps.iter().flat_map(|stamp| wrap(&of_stamp(stamp, style.unicode), width)));
    }
    if explain || !comparison.limits.is_empty() || !comparison.warnings.is_empty() {
        lines.push(String::new());
    }
    for limit in &comparison.limits {
        let word = if limit.passed { "Passed" } else { "Failed" };
        let value = limit.value.map_or_else(String::new, |value| {
            format!(", B - A = {}", of_limit(&limit.limit, value, style.unicode))
        });
        lines.extend(wrap(
            &escape::terminal(&to_ascii(&format!("{word}: {}{value}", limit.limit), style.unicode)),
            width,
        ));
    }
    for warning in &comparison.warnings {
        lines.extend(wrap(&escape::terminal(&format!("Note: {}", warning.text())), width));
    }
    if explain {
        lines.extend(wrap(&format!("Method: {}", comparison.method), width));
    }
    let mut text = lines.join("\n").replace(NO_BREAK, " ");
    text.push('\n');
    text
}

/// The differences of one moment's stamps.
fn of_stamp(stamp: &ComparedStamp, unicode: bool) -> String {
    let found = &stamp.difference_ns;
    let shown = |value: Option<f64>| {
        value.map_or_else(|| "unknown".into(), |value| signed(value, FigureUnit::Time, unicode))
    };
    let missing =
        if stamp.unmatched > 0 { format!(", {} not captured", stamp.unmatched) } else { String::new() };
    format!(
        "{}, {}: median {}, from {} to {}, {}{missing}",
        moment(stamp.moment),
        stamp.stamp_source,
        shown(found.median),
        shown(found.min),
        shown(found.max),
        counted(found.count, "packet"),
    )
}

/// A moment with its name of RFC 5357.
const fn moment(moment: StampMoment) -> &'static str {
    match moment {
        StampMoment::SenderDeparture => "t1, departure at the sender",
        StampMoment::ResponderArrival => "t2, arrival at the responder",
        StampMoment::ResponderDeparture => "t3, departure at the responder",
        StampMoment::SenderArrival => "t4, arrival at the sender",
    }
}

/// The verdicts with their directions: `Improved: forward, round trip. No significant difference: reverse.`
fn headline(directions: &[ComparedDirection]) -> String {
    let mut verdicts: Vec<ComparisonVerdict> = Vec::new();
    for direction in directions {
        if !verdicts.contains(&direction.verdict) {
            verdicts.push(direction.verdict);
        }
    }
    let sentences = verdicts.into_iter().map(|verdict| {
        let of_it = directions.iter().filter(|direction| direction.verdict == verdict);
        let names: Vec<String> = of_it.map(|direction| direction.direction.replace('_', " ")).collect();
        capital(&format!("{}: {}.", verdict::word(verdict), names.join(", ")))
    });
    sentences.collect::<Vec<_>>().join(" ")
}

fn to_ascii(text: &str, unicode: bool) -> String {
    if unicode { text.into() } else { text.replace('±', "+-").replace('µ', "u") }
}

fn strong(line: String, style: &TextStyle) -> String {
    if style.color { format!("\x1b[1m{line}\x1b[0m") } else { line }
}

/// A number of a figure.
pub(super) fn shown(value: f64, unit: FigureUnit, unicode: bool) -> String {
    match unit {
        FigureUnit::Time => time(value, unicode),
        FigureUnit::Share => percent(value),
        FigureUnit::Score => format!("{value:.2}"),
    }
}

/// A difference with its sign; of shares in percentage points.
pub(super) fn signed(value: f64, unit: FigureUnit, unicode: bool) -> String {
    signed_to(value, 0.0, unit, unicode)
}

/// A difference and the ends of its interval, with the digits that show the width of the interval.
pub(super) fn with_interval(value: f64, interval: [f64; 2], unit: FigureUnit, unicode: bool) -> [String; 3] {
    let [low, high] = interval;
    [value, low, high].map(|value| signed_to(value, step_of(interval), unit, unicode))
}

/// A difference with its sign, and the digits that show differences of `step`.
pub(crate) fn signed_to(value: f64, step: f64, unit: FigureUnit, unicode: bool) -> String {
    let mut size = value_to(value.abs(), step, unit, unicode);
    if unit == FigureUnit::Share {
        size = size.replace('%', "pp");
    }
    with_sign(value, size)
}

/// A number of a figure with the digits that show differences of `step`.
pub(crate) fn value_to(value: f64, step: f64, unit: FigureUnit, unicode: bool) -> String {
    match unit {
        FigureUnit::Time => time_to(value, step, unicode),
        FigureUnit::Share => percent_to(value, step),
        FigureUnit::Score => shown(value, unit, unicode),
    }
}

/// The difference that a limit is on, in its unit, for an error message.
pub fn limit_difference(limit: &Limit) -> Option<String> {
    Some(of_limit(&limit.limit, limit.value?, false).replace(NO_BREAK, " "))
}

/// A difference that a limit is on, in the unit of its path.
fn of_limit(limit: &str, value: f64, unicode: bool) -> String {
    let unit = match romer_record::limit::unit(limit) {
        Some(metric::Unit::Time) => FigureUnit::Time,
        Some(metric::Unit::Ratio) => FigureUnit::Share,
        Some(metric::Unit::Score | metric::Unit::RFactor) => FigureUnit::Score,
        // Of two decimal fractions the difference has digits that neither had.
        _ => return ((value * 1e9).round() / 1e9).to_string(),
    };
    signed(value, unit, unicode)
}

/// The figures of one direction.
fn table(direction: &ComparedDirection, style: &TextStyle, width: usize) -> Vec<String> {
    let mut rows = vec![["", "A", "B", "B - A", "95 % CI of B - A"].map(String::from)];
    rows[0][0] = direction.direction.replace('_', " ");
    rows.extend(direction.figures.iter().map(|figure| cells(figure, style.unicode)));
    let mut columns = 5;
    let widths: Vec<usize> =
        (0..5).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let total = |columns: usize| widths[..columns].iter().sum::<usize>() + 2 * (columns - 1);
    // A narrow terminal omits the interval, which the verdict has as well.
    while columns > 2 && total(columns) > width {
        columns -= 1;
    }
    let line = |row: &[String; 5]| {
        let mut line = format!("{:1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).take(columns).skip(1) {
            let gap = width - cell.chars().count() + 2;
            line.push_str(&format!("{}{cell}", " ".repeat(gap)));
        }
        line.chars().take(width).collect::<String>().trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A figure as the summary of a measurement calls it.
fn label(figure: &str) -> String {
    match figure.strip_prefix("jitter_ns.delay_difference.") {
        Some(statistic) => format!("|IPDV| {statistic}"),
        None if figure == "loss.ratio" => "loss".into(),
        None if figure.starts_with("voice.") => figure.trim_start_matches("voice.").to_uppercase(),
        None => figure.replace("_ns.", " ").replace('_', " "),
    }
}

/// A figure with its name, of A, of B, the difference and its interval.
pub(crate) fn cells(figure: &ComparedFigure, unicode: bool) -> [String; 5] {
    let unit = FigureUnit::of_path(&figure.figure);
    let value = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| shown(value, unit, unicode));
    let [difference, interval] = match (figure.difference, figure.interval) {
        (Some(difference), Some(interval)) => {
            let [difference, low, high] = with_interval(difference, interval, unit, unicode);
            [difference, format!("{low} to {high}")]
        }
        (Some(difference), None) => {
            // Ratings have few digits: the difference is that of the values beside it.
            let printed = |value: Option<f64>| value.map(|value| (value * 100.0).round() / 100.0);
            let beside = printed(figure.b).zip(printed(figure.a)).filter(|_| unit == FigureUnit::Score);
            let difference = beside.map_or(difference, |(b, a)| b - a);
            [signed(difference, unit, unicode), "n/a".into()]
        }
        (None, _) => ["-".into(), "n/a".into()],
    };
    [label(&figure.figure), value(figure.a), value(figure.b), difference, interval]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_that_reads_as_nothing_has_no_sign() {
        let told = |value| signed(value, FigureUnit::Time, false).replace(NO_BREAK, " ");
        assert_eq!([told(-0.3), told(0.3), told(0.0)], ["0 ns", "0 ns", "0 ns"]);
        assert_eq!([told(-0.6), told(1_500.0)], ["-1 ns", "+1.50 us"]);
        assert!(signed(-0.00001, FigureUnit::Share, true).starts_with("-<"));
    }

    /// The ends of a narrow interval differ in what is printed.
    #[test]
    fn interval_ends_are_distinguishable() {
        let figure = |figure: &str, difference, interval| ComparedFigure {
            figure: figure.into(),
            a: Some(0.0),
            b: Some(difference),
            difference: Some(difference),
            interval: Some(interval),
        };
        let cells = |one| cells(&one, true).map(|cell| cell.replace(NO_BREAK, " "));
        let [.., difference, interval] = cells(figure("delay_ns.median", 1.9906e6, [1.987_12e6, 1.994_09e6]));
        assert_eq!([difference.as_str(), interval.as_str()], ["+1.991 ms", "+1.987 ms to +1.994 ms"]);
        let [.., interval] = cells(figure("loss.ratio", 0.006_7, [0.006_69, 0.006_71]));
        assert_eq!(interval, "+0.6690 pp to +0.6710 pp");
        let [.., interval] = cells(figure("delay_ns.p95", 1.45e6, [2e5, 3.12e6]));
        assert_eq!(interval, "+200 µs to +3.12 ms");
    }

    /// A rating without interval differs by what a reader computes from the printed values.
    #[test]
    fn rating_difference_is_of_printed_values() {
        let figure = ComparedFigure {
            figure: "voice.mos".into(),
            a: Some(4.406),
            b: Some(4.234),
            difference: Some(4.234 - 4.406),
            interval: None,
        };
        assert_eq!(cells(&figure, true)[1..4], ["4.41", "4.23", "-0.18"]);
    }

    #[test]
    fn what_a_limit_is_on_has_its_unit_and_no_digits_of_the_machine() {
        let told = |limit, value| of_limit(limit, value, false).replace(NO_BREAK, " ");
        assert_eq!(told("round_trip.loss.ratio<0.01", 0.028 - 0.015), "+1.30 pp");
        assert_eq!(told("forward.delay_ns.p99<1ms", 1_500.0), "+1.50 us");
        assert_eq!(told("voice.forward.mos>=0", 4.3 - 4.4), "-0.10");
        assert_eq!(told("forward.packets.lost<=0", 3.0), "3");
        assert_eq!(told("loss<0.01", 0.028 - 0.015), "+1.30 pp");
        assert_eq!(told("rtt.p99<1ms", 1_500.0), "+1.50 us");
    }
}
