//! `romer help metrics`: what `--limit` and `--by` name.

use std::fmt::Write as _;

use romer_record::metric::{ALIASES, METRICS, STATISTICS};
use romer_record::quantity::{QUANTITIES, QUANTITY_ALIASES, QUANTITY_STATISTICS};
use romer_report::comparison::Figure;

/// Of what a limit and a comparison are, before the tables.
const INTRODUCTION: &str = "\
Metrics of --limit (measure, analyze, compare) and of compare --by:

    [DIRECTION.]METRIC[.STATISTIC]

DIRECTION is forward, reverse or round_trip. Without it, a limit applies to the round trip, or
with one-way packets to each measured direction; the worst value counts. A METRIC with * is a
sample and needs a STATISTIC. Voice metrics can be written voice.forward.mos or forward.mos. --by
takes the metrics marked \"by\".

  romer measure HOST --limit 'rtt.p99<150ms' --limit 'loss<=1%'
  romer compare BEFORE AFTER --by jitter
";

/// The text.
pub(crate) fn text() -> String {
    let mut text = String::from(INTRODUCTION);
    let metrics: Vec<[String; 4]> = METRICS
        .iter()
        .map(|metric| {
            let star = if metric.is_sample { ".*" } else { "" };
            let by = if is_compared(metric.path, metric.is_sample) { "by" } else { "" };
            [format!("{}{star}", metric.path), metric.unit.example().into(), by.into(), metric.meaning.into()]
        })
        .collect();
    table(&mut text, "Metrics", &metrics);
    let statistics: Vec<[String; 3]> = STATISTICS
        .iter()
        .map(|statistic| {
            let by = if format!("delay_ns.{}", statistic.name).parse::<Figure>().is_ok() { "by" } else { "" };
            [statistic.name.into(), by.into(), statistic.meaning.into()]
        })
        .collect();
    table(&mut text, "Statistics", &statistics);
    table(&mut text, "Aliases", &ALIASES.map(|alias| [alias.name.to_owned(), alias.path.to_owned()]));
    text.push_str("\nMetrics of --limit of bench, and of limit in a plan: METRIC[.STATISTIC]\n");
    let quantities =
        QUANTITIES.map(|one| [one.name.to_owned(), one.unit.example().to_owned(), one.meaning.to_owned()]);
    table(&mut text, "Metrics of benchmarks", &quantities);
    let aliases = QUANTITY_ALIASES.map(|alias| [alias.name.to_owned(), alias.path.to_owned()]);
    table(&mut text, "Aliases of benchmarks", &aliases);
    let _ = writeln!(
        text,
        "\nStatistics of benchmarks, over the repeats: {} [default: mean]",
        QUANTITY_STATISTICS.join(", ")
    );
    text
}

/// Whether `compare --by` has an interval for it: ratings of a call have none.
fn is_compared(path: &str, is_sample: bool) -> bool {
    if path.starts_with("voice.") {
        return false;
    }
    let tail = if is_sample { ".median" } else { "" };
    format!("{path}{tail}").parse::<Figure>().is_ok()
}

/// The widest line.
const WIDTH: usize = 100;
/// The widest first column; a longer name has a line of its own.
const NAME: usize = 40;

/// A heading, and rows in columns, the last of which is wrapped.
fn table<const COLUMNS: usize>(text: &mut String, heading: &str, rows: &[[String; COLUMNS]]) {
    let _ = writeln!(text, "\n{heading}:");
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let fitting = rows.iter().map(|row| row[column].len()).filter(|width| column > 0 || *width <= NAME);
        fitting.max().unwrap_or(0)
    });
    for row in rows {
        let Some((last, before)) = row.split_last() else { continue };
        let mut line = String::from("  ");
        for (cell, width) in before.iter().zip(widths) {
            let _ = write!(line, "{cell:<width$}  ");
            if cell.len() > width {
                let _ = write!(line, "\n  {:width$}  ", "");
            }
        }
        let indent = 2 + before.iter().zip(widths).map(|(_, width)| width + 2).sum::<usize>();
        let mut column = indent;
        for word in last.split(' ') {
            if column + word.len() > WIDTH {
                let _ = write!(line, "\n{:indent$}", "");
                column = indent;
            }
            let _ = write!(line, "{word} ");
            column += word.len() + 1;
        }
        let lines: Vec<&str> = line.lines().map(str::trim_end).collect();
        let _ = writeln!(text, "{}", lines.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use romer_analyze::limits::Limit;
    use romer_record::metric::{MetricPath, Unit};

    use super::*;

    /// Each path that is listed is one that a limit takes, with a bound as its unit says, and each alias is listed.
    #[test]
    fn listed_paths_take_limits() {
        let text = text();
        for metric in METRICS {
            let tail = if metric.is_sample { ".p99" } else { "" };
            let (_, bound) = metric.unit.example().split_once('(').unwrap();
            let limit = format!("{}{tail}<{}", metric.path, bound.trim_end_matches(')'));
            limit.parse::<Limit>().unwrap_or_else(|why| panic!("{limit}: {why}"));
            assert!(text.contains(&format!("\n  {}", metric.path)), "{}", metric.path);
        }
        for quantity in QUANTITIES {
            let (_, bound) = quantity.unit.example().split_once('(').unwrap();
            let limit = format!("{}.max<{}", quantity.name, bound.trim_end_matches(')'));
            limit.parse::<romer_bench::limits::ResultLimit>().unwrap_or_else(|why| panic!("{limit}: {why}"));
        }
        for alias in ALIASES {
            assert!(text.contains(&format!("\n  {} ", alias.name)), "{}", alias.name);
        }
        assert_eq!("rtt.p99".parse::<MetricPath>().unwrap().unit(), Unit::Time);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    /// The tables of the reference are these.
    #[test]
    fn reference_has_the_same_tables() {
        let page = include_str!("../../../../docs/reference/metrics.md");
        let mut tables = String::from("| metric | bound | `--by` | meaning |\n| --- | --- | --- | --- |\n");
        let escaped = |text: &str| text.replace('|', "\\|");
        for metric in METRICS {
            let star = if metric.is_sample { ".STATISTIC" } else { "" };
            let by = if is_compared(metric.path, metric.is_sample) { "yes" } else { "" };
            let unit = metric.unit.example();
            let row = format!("| `{}{star}` | {unit} | {by} | {} |", metric.path, escaped(metric.meaning));
            let _ = writeln!(tables, "{}", row.replace("|  |", "| |"));
        }
        assert!(page.contains(&tables), "docs/reference/metrics.md should have:\n{tables}");
        let mut aliases = String::from("| alias | stands for |\n| --- | --- |\n");
        for alias in ALIASES {
            let _ = writeln!(aliases, "| `{}` | `{}` |", alias.name, alias.path);
        }
        assert!(page.contains(&aliases), "docs/reference/metrics.md should have:\n{aliases}");
        let page = include_str!("../../../../docs/reference/bench-plan.md");
        let mut quantities = String::from("| quantity | bound | meaning |\n| --- | --- | --- |\n");
        for one in QUANTITIES {
            let meaning = escaped(one.meaning);
            let _ = writeln!(quantities, "| `{}` | {} | {meaning} |", one.name, one.unit.example());
        }
        assert!(page.contains(&quantities), "docs/reference/bench-plan.md should have:\n{quantities}");
    }
}
