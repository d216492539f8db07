//! The results of a benchmark: in a few lines, and as a table with a row for each case, frame size and load.

use romer_record::benchmark::{Benchmark, BenchmarkResult, ResultBound};

use super::words::{amount_to, label, size_words};
use crate::escape::markup;
use crate::number::{NO_BREAK, absent, grouped, grouped_short, percent, rounded, time, time_with_half};
use crate::sentence::Text;

/// Lines that lead the page.
const LINES: usize = 6;

/// How the values of a column are shown.
#[derive(Clone, Copy)]
enum Shown {
    /// A count, or a rate of frames.
    Whole,
    /// Of a share of the line, percent.
    Percent,
    /// The same as a rate of layer 1.
    Bits,
    Ratio,
    Time,
}

/// A column: its quantity and its head.
const COLUMNS: [(&str, &str, Shown); 14] = [
    ("throughput_pps", "throughput, frames/s", Shown::Whole),
    ("throughput_percent", "Mbit/s", Shown::Bits),
    ("throughput_percent", "% of line", Shown::Percent),
    ("burst_frames", "burst, frames", Shown::Whole),
    ("corrected_buffer_ns", "corrected buffer", Shown::Time),
    ("recovery_ns", "recovery time", Shown::Time),
    ("reset_by_loss_ns", "reset time by loss", Shown::Time),
    ("reset_by_times_ns", "reset time by time stamps", Shown::Time),
    ("forwarded_pps", "forwarded, frames/s", Shown::Whole),
    ("forwarded_percent", "Mbit/s", Shown::Bits),
    ("forwarded_percent", "% of line", Shown::Percent),
    ("loss_ratio", "loss", Shown::Ratio),
    ("latency_mean_ns", "mean latency", Shown::Time),
    ("latency_p99_ns", "p99 latency", Shown::Time),
];

/// The results of one case, frame size and load.
struct Row<'a> {
    first: &'a BenchmarkResult,
    results: Vec<&'a BenchmarkResult>,
}

impl<'a> Row<'a> {
    fn result(&self, quantity: &str) -> Option<&'a BenchmarkResult> {
        self.results.iter().copied().find(|result| result.quantity == quantity)
    }

    /// The load that was forwarded, or the throughput, percent of the line.
    fn of_line(&self) -> Option<f64> {
        ["throughput_percent", "forwarded_percent"]
            .iter()
            .find_map(|name| self.result(name))
            .and_then(|one| one.mean)
    }

    /// What bounds the result, or whether frames were lost; whether that is loss.
    fn verdict(&self) -> (String, bool) {
        let leads = ["throughput_pps", "forwarded_pps", "reset_by_loss_ns"];
        let lead = leads.iter().find_map(|name| self.result(name)).unwrap_or(self.first);
        let loss = self.result("loss_ratio").and_then(|loss| loss.mean);
        match (lead.bounded_by.as_ref().map(Text::text), lead.mean, loss) {
            (Some(by), None, _) => (format!("not found: bounded by {by}"), false),
            (Some(by), ..) => (format!("bounded by {by}"), false),
            (None, None, _) => ("inconclusive".into(), false),
            (None, _, Some(loss)) if loss > 0.0 => ("loss".into(), true),
            (None, _, Some(_)) => ("no loss".into(), false),
            (None, _, None) => (String::new(), false),
        }
    }
}

/// The rows by case, in the order in which cases come, then by frame size and load.
fn rows(document: &Benchmark) -> Vec<Row<'_>> {
    let cases = super::figures::cases(document);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for result in &document.results {
        let same = |row: &&mut Row<'_>| {
            (&row.first.case, row.first.frame_size, row.first.load_percent)
                == (&result.case, result.frame_size, result.load_percent)
        };
        match rows.iter_mut().find(same) {
            Some(row) => row.results.push(result),
            None => rows.push(Row { first: result, results: vec![result] }),
        }
    }
    rows.sort_by(|a, b| {
        let key = |row: &Row<'_>| {
            let case = cases.iter().position(|case| *case == row.first.case);
            (case, row.first.frame_size.unwrap_or(u32::MAX))
        };
        let load = |row: &Row<'_>| row.first.load_percent.unwrap_or(f64::INFINITY);
        key(a).cmp(&key(b)).then(load(a).total_cmp(&load(b)))
    });
    rows
}

/// The results in a few lines.
pub(super) fn headline(document: &Benchmark) -> Vec<String> {
    let rows = rows(document);
    let cases = super::figures::cases(document);
    let of_case = |case: &str| if cases.len() > 1 { format!("{case}: ") } else { String::new() };
    let found: Vec<&Row<'_>> = rows.iter().filter(|row| row.result("throughput_pps").is_some()).collect();
    let mut lines: Vec<String> = if found.is_empty() {
        cases
            .iter()
            .filter_map(|case| {
                let of: Vec<&Row<'_>> = rows.iter().filter(|row| row.first.case == *case).collect();
                Some(format!("{}{}", of_case(case), swept(&of)?))
            })
            .collect()
    } else {
        let line = |row: &&Row<'_>| {
            let burst =
                if is_burst_unbounded(document, row.first) { "; no loss in the longest burst" } else { "" };
            format!("{}{}{burst}", of_case(&row.first.case), throughput(row))
        };
        found.iter().map(line).collect()
    };
    if lines.len() > LINES {
        let more = lines.len() - (LINES - 1);
        lines.truncate(LINES - 1);
        lines.push(format!("and {more} more results"));
    }
    lines
}

/// Whether the device forwards bursts of any length: at line rate no queue builds up.
pub fn is_burst_unbounded(document: &Benchmark, result: &BenchmarkResult) -> bool {
    document.procedure == "back-to-back" && result.bounded_by == Some(ResultBound::LineRate)
}

/// `64 B: 138,637 frames/s, 93.2 % of the line`.
fn throughput(row: &Row<'_>) -> String {
    let size = size_words(row.first.frame_size);
    let Some(frames) = row.result("throughput_pps").and_then(|result| result.mean) else {
        return format!("{size}: throughput {}", row.verdict().0);
    };
    let share =
        row.of_line().map_or_else(String::new, |line| format!(", {} of the line", percent(line / 100.0)));
    let burst = row.result("burst_frames").and_then(|burst| burst.mean);
    let burst = burst.map_or_else(String::new, |frames| format!("; burst {} frames", rounded(frames)));
    let recovery = row.result("recovery_ns").and_then(|recovery| recovery.mean);
    let recovery = recovery.map_or_else(String::new, |nanos| format!("; recovery {}", time(nanos, true)));
    let bound = row.result("throughput_pps").and_then(|result| result.bounded_by);
    let bound = bound.map_or_else(String::new, |by| format!(" (bounded by {})", by.text()));
    format!("{size}: {} frames/s{share}{bound}{burst}{recovery}", rounded(frames))
}

/// `no loss up to 90 % of the line; mean latency 13.0 µs to 103 µs`.
fn swept(rows: &[&Row<'_>]) -> Option<String> {
    let mut parts = Vec::new();
    let lossy =
        |row: &&&Row<'_>| row.result("loss_ratio").and_then(|loss| loss.mean).is_some_and(|loss| loss > 0.0);
    let loads = |row: &&Row<'_>| row.first.load_percent;
    let first_loss = rows.iter().filter(lossy).filter_map(loads).reduce(f64::min);
    let most = rows.iter().filter_map(loads).reduce(f64::max);
    match (first_loss, most) {
        (Some(load), _) => {
            let worst = rows.iter().filter_map(|row| row.result("loss_ratio")?.mean).fold(0.0, f64::max);
            parts.push(format!("loss from {} of the line on, up to {}", load_words(load), percent(worst)));
        }
        (None, Some(load)) if rows.iter().any(|row| row.result("loss_ratio").is_some()) => {
            parts.push(format!("no loss up to {} of the line", load_words(load)));
        }
        _ => {}
    }
    for (quantity, name) in [
        ("latency_mean_ns", "mean latency"),
        ("reset_by_loss_ns", "reset time"),
        ("reset_by_times_ns", "reset time by time stamps"),
    ] {
        let values = || rows.iter().filter_map(|row| row.result(quantity)?.mean);
        if let Some((least, most)) = values().reduce(f64::min).zip(values().reduce(f64::max)) {
            let [least, most] = [least, most].map(|nanos| time(nanos, true));
            parts.push(if least == most {
                format!("{name} {least}")
            } else {
                format!("{name} {least} to {most}")
            });
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// A load in percent with the digits that it was requested with, two at most.
fn load_words(load: f64) -> String {
    format!("{}{NO_BREAK}%", grouped_short(load, 2))
}

/// The table of results.
pub(super) fn table(document: &Benchmark, html: &mut String) {
    let rows = rows(document);
    let columns: Vec<_> = COLUMNS
        .iter()
        .filter(|(quantity, ..)| rows.iter().any(|row| row.result(quantity).is_some()))
        .collect();
    if columns.is_empty() {
        return;
    }
    let has_loads = rows.iter().any(|row| row.first.load_percent.is_some());
    let load_head = if has_loads { "<th>load</th>" } else { "" };
    // Where loads are given, a bar would repeat them.
    let bar_head = if has_loads {
        String::new()
    } else {
        format!("<th class=\"range\">of the line, 0 to 100{NO_BREAK}%</th>")
    };
    let heads: String = columns.iter().map(|(_, head, _)| format!("<th>{}</th>", markup(head))).collect();
    html.push_str(&format!(
        "<section><h2 id=\"results\">Results</h2>\n<div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-label=\"Results\"><table>\n\
         <thead><tr><th>case</th><th>frame size</th>{load_head}{heads}{bar_head}<th>result</th></tr></thead>\n<tbody>\n"
    ));
    for row in &rows {
        let load = row.first.load_percent.map_or_else(|| absent(true).to_owned(), load_words);
        let load = if has_loads { format!("<td>{load}</td>") } else { String::new() };
        let cells: String = columns
            .iter()
            .map(|(quantity, _, shown)| {
                let cell =
                    row.result(quantity).map(|result| value(result, *shown, document.setup.line_rate_bps));
                format!("<td>{}</td>", cell.unwrap_or_else(|| absent(true).to_owned()))
            })
            .collect();
        let (verdict, is_loss) = row.verdict();
        let not_dropped = super::streams::not_dropped(document, row.first);
        let is_bad = is_loss || !not_dropped.is_empty();
        let verdict: Vec<String> =
            Some(verdict).filter(|verdict| !verdict.is_empty()).into_iter().chain(not_dropped).collect();
        let bar = if has_loads {
            String::new()
        } else {
            format!("<td class=\"range\">{}</td>", row.of_line().map_or_else(String::new, bar))
        };
        html.push_str(&format!(
            "<tr><th>{}</th><td>{}</td>{load}{cells}{bar}<td{}>{}</td></tr>\n",
            markup(&row.first.case),
            size_words(row.first.frame_size),
            if is_bad { " class=\"bad\"" } else { "" },
            markup(&verdict.join("; "))
        ));
    }
    html.push_str("</tbody></table></div>\n");
    if document.setup.repeats > 1 && document.results.iter().any(|result| result.interval.is_some()) {
        html.push_str(&format!(
            "<p class=\"when\">± is the larger side of the 95{NO_BREAK}% confidence interval of the mean.</p>"
        ));
    }
    html.push_str("</section>\n");
}

/// A share of the line as a bar.
fn bar(percent: f64) -> String {
    format!(
        "<svg viewBox=\"0 0 400 18\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><path d=\"M0 9H400\" stroke=\"var(--line)\"/>\
         <rect x=\"0\" y=\"4\" width=\"{:.1}\" height=\"10\" rx=\"2\" fill=\"var(--forward)\" opacity=\".6\"/></svg>",
        (percent * 4.0).clamp(1.0, 400.0)
    )
}

/// A mean with its interval, as markup.
fn value(result: &BenchmarkResult, shown: Shown, line: f64) -> String {
    let Some(mean) = result.mean else { return absent(true).to_owned() };
    let half = result.interval.map(|[low, high]| (high - mean).max(mean - low));
    let factor = if matches!(shown, Shown::Bits) { line / 1e8 } else { 1.0 };
    let numbers = |most: usize| number(mean * factor, half.map(|half| half * factor), most);
    let (text, more) = match shown {
        Shown::Whole => numbers(0),
        Shown::Percent => numbers(2),
        Shown::Bits => numbers(3),
        Shown::Ratio => {
            let known = half.filter(|half| *half > 0.0 && *half < mean);
            if let Some((text, Some(more))) = known.map(|half| number(100.0 * mean, Some(100.0 * half), 2)) {
                return format!("{text} <span class=\"half\">{}{NO_BREAK}%</span>", markup(&more));
            }
            // A bound that is too small to show begins with its own sign.
            let most = result.interval.map(|[_, high]| match percent(high) {
                below if below.starts_with('<') => format!("({below})"),
                most => format!("(≤{NO_BREAK}{most})"),
            });
            (percent(mean), most)
        }
        Shown::Time => match half.filter(|half| *half > 0.0) {
            Some(half) if half < mean.abs() => (time_with_half(mean, half, true), None),
            Some(half) => (time(mean, true), Some(format!("(≤{NO_BREAK}{})", time(mean + half, true)))),
            None => (time(mean, true), None),
        },
    };
    let more =
        more.map_or_else(String::new, |more| format!(" <span class=\"half\">{}</span>", markup(&more)));
    format!("{}{more}", markup(&text))
}

/// A number with the digits that its interval leaves, at most so many behind the point; and the interval.
fn number(mean: f64, half: Option<f64>, most: usize) -> (String, Option<String>) {
    let decimals = match half.filter(|half| *half > 0.0) {
        Some(half) => (0..most)
            .find(|places| half * 10f64.powi(i32::try_from(*places).unwrap_or(0)) >= 9.5)
            .unwrap_or(most),
        None => most,
    };
    let half = half
        .map(|half| grouped(half, decimals))
        .filter(|half| half.contains(|c: char| ('1'..='9').contains(&c)));
    (grouped(mean, decimals), half.map(|half| format!("±{NO_BREAK}{half}")))
}

/// Every statistic of every result, closed until it is opened.
pub(super) fn statistics(document: &Benchmark, html: &mut String) {
    if document.results.is_empty() {
        return;
    }
    html.push_str(
        "<details><summary>All statistics</summary>\n<div class=\"scroll broad\" tabindex=\"0\"><table><thead><tr><th>case</th><th>frames</th><th>load</th>\
         <th>quantity</th><th>n</th><th>mean</th><th>stddev</th><th>95 % CI of the mean</th><th>median</th></tr></thead><tbody>\n",
    );
    for result in &document.results {
        let shown = |value: Option<f64>| {
            value.map_or_else(|| absent(true).to_owned(), |value| amount_to(&result.quantity, value, 0.0))
        };
        let interval = result.interval.map_or_else(
            || absent(true).to_owned(),
            |[low, high]| format!("{} to {}", shown(Some(low)), shown(Some(high))),
        );
        let load = result.load_percent.map_or_else(|| absent(true).to_owned(), load_words);
        html.push_str(&format!(
            "<tr><th>{}</th><td>{}</td><td>{load}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{interval}</td><td>{}</td></tr>\n",
            markup(&result.case),
            size_words(result.frame_size),
            markup(label(&result.quantity)),
            result.count,
            shown(result.mean),
            shown(result.stddev),
            shown(result.median)
        ));
    }
    html.push_str("</tbody></table></div></details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mean has the digits that its interval leaves.
    #[test]
    fn an_interval_limits_the_digits() {
        let shown = |mean, half, most| {
            let (mean, half) = number(mean, half, most);
            format!("{mean} {}", half.unwrap_or_default()).replace(NO_BREAK, " ")
        };
        assert_eq!(shown(93.164, Some(76.9), 3), "93 ± 77");
        assert_eq!(shown(5.001, Some(0.001), 3), "5.001 ± 0.001");
        assert_eq!(shown(138_637.4, Some(114_482.0), 0), "138,637 ± 114,482");
        assert_eq!(shown(10.04, None, 2), "10.04 ");
        assert_eq!(shown(10.04, Some(0.0), 2), "10.04 ");
    }

    fn result(case: &str, size: u32, load: Option<f64>, quantity: &str, mean: f64) -> BenchmarkResult {
        BenchmarkResult {
            case: case.into(),
            frame_size: Some(size),
            load_percent: load,
            quantity: quantity.into(),
            count: 1,
            mean: Some(mean),
            ..BenchmarkResult::default()
        }
    }

    /// Rows are sorted by frame size as a number, and the lines that lead the page say from which load on frames are lost.
    #[test]
    fn results_lead_with_loss_and_latency() {
        let mut document = super::super::tests::document();
        document.results = [1518, 512, 64, 1024]
            .into_iter()
            .flat_map(|size| {
                [10.0, 90.0].into_iter().flat_map(move |load| {
                    let lost = if size == 64 && load > 50.0 { 0.25 } else { 0.0 };
                    [
                        result("none", size, Some(load), "forwarded_pps", 1_000.0),
                        result("none", size, Some(load), "forwarded_percent", load),
                        result("none", size, Some(load), "loss_ratio", lost),
                        result("none", size, Some(load), "latency_mean_ns", f64::from(size) * 100.0),
                    ]
                })
            })
            .collect();
        let lines = headline(&document).join("|").replace(NO_BREAK, " ");
        assert_eq!(lines, "loss from 90 % of the line on, up to 25.0 %; mean latency 6.40 µs to 152 µs");
        let mut html = String::new();
        table(&document, &mut html);
        let sizes: Vec<&str> =
            html.split("<th>none</th><td>").skip(1).filter_map(|row| row.split("</td>").next()).collect();
        assert_eq!(sizes, ["64 B", "64 B", "512 B", "512 B", "1024 B", "1024 B", "1518 B", "1518 B"]);
        assert_eq!(html.matches("<td class=\"bad\">loss</td>").count(), 1, "{html}");
        document.results = vec![
            result("none", 64, None, "throughput_pps", 138_637.0),
            result("none", 64, None, "throughput_percent", 93.2),
        ];
        assert_eq!(
            headline(&document)[0].replace(NO_BREAK, " "),
            "64 B: 138,637 frames/s, 93.2 % of the line"
        );
    }
}
