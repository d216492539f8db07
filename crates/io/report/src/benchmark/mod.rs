//! The page of a benchmark: results, verdicts and charts.
//!
//! Figures are drawn here rather than by `chart`, which knows the few meanings of a measurement: a benchmark has a
//! line for each frame size or case.

mod draw;
mod figures;
mod repeated;
mod streams;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use romer_record::benchmark::{Benchmark, Overall};
use romer_record::quantity::Quantity;
use romer_units::counted;

use crate::escape::{self, markup};
use crate::warning::Text as _;
pub use figures::figures;
pub use repeated::{events, repeated};
pub use streams::{StreamRow, markings, streams};

/// A figure of its own, as SVG, with the name that its file may have.
pub struct Drawn {
    /// Lower-case letters, digits and hyphens.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The figure, for a page that shows its title.
    pub svg: String,
    /// The same with its title in it.
    pub alone: String,
}

/// The results as comma-separated values, a line for each: to paste into a table.
pub fn csv(document: &Benchmark) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let columns = "case,frame_size,load_percent,quantity,count,mean,stddev,interval_low,interval_high,median,min,max,theoretical,bounded_by";
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let mut rows = document.results.iter().map(|result| {
        let [low, high] = result.interval.map_or([None, None], |ends| ends.map(Some));
        let numbers = [
            result.mean,
            result.stddev,
            low,
            high,
            result.median,
            result.min,
            result.max,
            result.theoretical,
        ];
        let mut row = vec![
            escape::terminal(&result.case),
            result.frame_size.map_or_else(String::new, |size| size.to_string()),
            number(result.load_percent),
            escape::terminal(&result.quantity),
            result.count.to_string(),
        ];
        row.extend(numbers.map(number));
        row.push(result.bounded_by.as_deref().map(escape::terminal).unwrap_or_default());
        row
    });
    let header = writer.write_record(columns.split(','));
    let written = header.and_then(|()| rows.try_for_each(|row| writer.write_record(row)));
    // Memory takes all that is written to it.
    let text = written.ok().and_then(|()| writer.into_inner().ok());
    text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default()
}

/// The page.
pub fn page(document: &Benchmark) -> String {
    let mut html = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>romer benchmark</title>\n<style>body{font:16px/1.5 system-ui,sans-serif;\
         max-width:60em;margin:2em auto;padding:0 1em;color:#1b1b1b;background:#fff}table{display:block;overflow-x:auto;border-collapse:collapse;\
         font-variant-numeric:tabular-nums}td,th{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:right}\
         td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}a{color:inherit}.bad{color:#a00}\
         :root{color-scheme:light dark}@media(prefers-color-scheme:dark){body{background:#191919;color:#e7e7e7}\
         td,th{border-color:#444}.bad{color:#ff7a85}svg{filter:invert(.9) hue-rotate(180deg)}}\
         @media print{body{background:#fff;color:#1b1b1b}svg{filter:none}}</style></head><body><main>\n",
    );
    let model = document.dut.model.as_deref().unwrap_or("a device");
    let _ = write!(
        html,
        "<h1>Benchmark of {}: {}</h1>\n<p>{}</p>\n",
        markup(model),
        markup(&document.procedure),
        markup(&document.criterion)
    );
    let setup = &document.setup;
    let _ = writeln!(
        html,
        "<p>{} to {}, {} to {}; line {:.3} Mbit/s ({}); trials of {:.2} s, {} repeats; {} to {}.</p>",
        markup(&setup.tx),
        markup(&setup.rx),
        markup(&setup.source),
        markup(&setup.destination),
        setup.line_rate_bps / 1e6,
        markup(&setup.rate_layer),
        seconds(setup.trial_ns),
        setup.repeats,
        markup(&document.started),
        markup(&document.ended)
    );
    if !document.dut.labels.is_empty() {
        let labels = document.dut.labels.iter().map(|(name, value)| markup(&format!("{name}: {value}")));
        let _ = writeln!(html, "<p>Device: {}.</p>", labels.collect::<Vec<_>>().join("; "));
    }
    let figures = figures(document);
    contents(document, figures.len(), &mut html);
    let list = |html: &mut String, title: &str, rows: Vec<(String, bool)>| {
        if rows.is_empty() {
            return;
        }
        let _ = write!(html, "<h2>{title}</h2>\n<ul>\n");
        for (text, bad) in rows {
            let class = if bad { " class=\"bad\"" } else { "" };
            let _ = writeln!(html, "<li{class}>{}</li>", markup(&text));
        }
        html.push_str("</ul>\n");
    };
    let judged = document.verdicts.iter().map(|one| {
        let holds = match one.holds {
            Some(true) => "PASS",
            Some(false) => "FAIL",
            None => "INCONCLUSIVE",
        };
        (
            format!("{holds}: {}, {}: {}; found: {}", one.case, one.subject, one.expected, one.found),
            one.holds != Some(true),
        )
    });
    list(&mut html, "Verdicts", judged.collect());
    let limits = document.limits.iter().map(|one| {
        let held = match (one.held, one.value) {
            (true, _) => "PASS",
            (false, Some(_)) => "FAIL",
            (false, None) => "INCONCLUSIVE",
        };
        let not_all = || "some of its values are unknown".into();
        let worst =
            one.value.map_or_else(not_all, |value| format!("worst value {}", amount(&one.limit, value)));
        (format!("{held}: {} ({worst})", one.limit), !one.held)
    });
    list(&mut html, "Limits", limits.collect());
    table(document, &mut html);
    let different = document.differences.iter().filter(|one| one.significant).map(|one| {
        let [low, high] = one.interval.unwrap_or_default();
        let at = one.load_percent.map_or(String::new(), |load| format!(" at {load:.1} %"));
        let text = format!(
            "{} vs. {}, {}{at}: {} differs by {} (95 % CI {} to {})",
            one.to,
            one.from,
            size_words(one.frame_size),
            one.quantity,
            amount(&one.quantity, one.mean.unwrap_or_default()),
            amount(&one.quantity, low),
            amount(&one.quantity, high)
        );
        (text, false)
    });
    list(
        &mut html,
        "Significant differences between cases (5 % overall, Holm; each interval on its own)",
        different.collect(),
    );
    let overall = document.overall.iter().map(|one| (overall_words(one), false));
    list(&mut html, "Cost of a case over all sizes and loads", overall.collect());
    list(
        &mut html,
        "Soft spots (1 % overall, Holm)",
        document.soft_spots.iter().map(|one| (one.text.clone(), true)).collect(),
    );
    list(&mut html, "Lost frames of a mixture, by size", by_size(document));
    // Whether they should have changed is for the verdicts to say.
    let marked = markings(document)
        .into_iter()
        .map(|(text, changed)| (if changed { format!("{text} (changed)") } else { text }, false));
    list(&mut html, "Markings: sent and received", marked.collect());
    list(&mut html, "Caveats", document.warnings.iter().map(|one| (one.text(), false)).collect());
    streams::table(document, &mut html);
    drawn(&figures, &mut html);
    let tester = document.self_test.iter().flat_map(|found| &found.claims);
    list(
        &mut html,
        "Tester self-test: what these results can support",
        tester.map(|one| (one.clone(), false)).collect(),
    );
    let again = repeated(document).into_iter();
    let events = again.chain(events(document).map(|one| one.text.clone())).map(|text| (text, false));
    list(&mut html, "Events", events.collect());
    html.push_str("</main></body></html>\n");
    html
}

/// Links to the table and the figures.
fn contents(document: &Benchmark, figures: usize, html: &mut String) {
    let mut parts = Vec::new();
    if figures > 0 {
        parts.push(format!("<a href=\"#figures\">{}</a>", counted(figures as u64, "figure")));
    }
    if !document.results.is_empty() {
        parts.push("<a href=\"#results\">results</a>".into());
    }
    if !parts.is_empty() {
        let _ = writeln!(html, "<p>Contents: {}.</p>", parts.join(", "));
    }
}

fn drawn(figures: &[Drawn], html: &mut String) {
    if figures.is_empty() {
        return;
    }
    html.push_str("<h2 id=\"figures\">Figures</h2>\n");
    if figures.len() > 3 {
        html.push_str("<ol>\n");
        for figure in figures {
            let _ = writeln!(html, "<li><a href=\"#{}\">{}</a></li>", figure.name, markup(&figure.title));
        }
        html.push_str("</ol>\n");
    }
    for figure in figures {
        let _ = write!(html, "<h3 id=\"{}\">{}</h3>\n{}\n", figure.name, markup(&figure.title), figure.svg);
    }
}

/// Lost frames of each case and size, over all valid trials of several sizes.
fn by_size(document: &Benchmark) -> Vec<(String, bool)> {
    let mut rows: BTreeMap<(&str, u32, u32), [u64; 2]> = BTreeMap::new();
    for trial in document.trials.iter().filter(|trial| trial.invalid.is_none()) {
        for row in trial.per_stream.iter().flat_map(|stream| &stream.per_size) {
            let [offered, lost] =
                rows.entry((trial.case.as_str(), row.least_octets, row.most_octets)).or_default();
            *offered = offered.saturating_add(row.offered);
            *lost = lost.saturating_add(row.lost);
        }
    }
    // Of a mixture of all sizes most have lost nothing: they share one line.
    let mut whole: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    let mut told = Vec::new();
    for ((case, least, most), [offered, lost]) in &rows {
        if *lost == 0 {
            let (sizes, frames) = whole.entry(case).or_default();
            *sizes += 1;
            *frames = frames.saturating_add(*offered);
            continue;
        }
        let size = if least == most { least.to_string() } else { format!("other sizes, {least} to {most}") };
        told.push((format!("{case}, {size} bytes: {lost} of {offered}"), false));
    }
    for (case, (sizes, frames)) in whole {
        let of = if sizes == 1 { "1 size".into() } else { format!("{sizes} sizes or ranges of sizes") };
        told.push((format!("{case}, {of}: 0 of {frames}"), false));
    }
    told
}

/// The difference of a case over all sizes and loads.
pub fn overall_words(one: &Overall) -> String {
    let interval = one.median_interval.map_or_else(
        || "; no interval from a single repeat".into(),
        |[low, high]| {
            let told = if low <= 0.0 && high >= 0.0 { ", not significant" } else { "" };
            let [low, high] = [low, high].map(|end| amount(&one.quantity, end));
            format!(" (95 % CI {low} to {high}, {} repeats){told}", one.repeats)
        },
    );
    format!(
        "{} vs. {}, {} sizes and loads: {} median difference {}{interval}",
        one.to,
        one.from,
        one.places,
        one.quantity,
        amount(&one.quantity, one.median.unwrap_or_default()),
    )
}

/// A value of a quantity, or of a limit on one, with the unit that the quantity's name ends with.
pub fn amount(quantity: &str, value: f64) -> String {
    let name = quantity.split(['<', '>', '=', '.']).next().unwrap_or_default().trim();
    let name = Quantity::named(name).map_or(name, |quantity| quantity.name);
    if name.ends_with("_ns") {
        return crate::number::maybe_time(Some(value), true).replace(crate::number::NO_BREAK, " ");
    }
    if name.ends_with("_ratio") {
        return format!("{:.4} %", value * 100.0);
    }
    let unit = match name.rsplit('_').next() {
        Some("percent") => " %",
        Some("bps") => " bit/s",
        Some("pps" | "fps") => " frames/s",
        _ => "",
    };
    format!("{value:.4}{unit}")
}

#[expect(clippy::cast_precision_loss, reason = "a time for people")]
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

fn size_words(size: Option<u32>) -> String {
    size.map_or_else(|| "mixture".into(), |size| format!("{size} B"))
}

fn table(document: &Benchmark, html: &mut String) {
    if document.results.is_empty() {
        return;
    }
    html.push_str(
        "<h2 id=\"results\">Results</h2>\n<table tabindex=\"0\"><tr><th>case</th><th>frames</th><th>load %</th><th>quantity</th><th>n</th><th>mean</th>\
         <th>deviation</th><th>95 % interval</th><th>median</th></tr>\n",
    );
    let number = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.4}"));
    for result in &document.results {
        let interval =
            result.interval.map_or_else(|| "-".into(), |[low, high]| format!("{low:.4} to {high:.4}"));
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{interval}</td><td>{}</td></tr>",
            markup(&result.case),
            size_words(result.frame_size),
            number(result.load_percent),
            markup(&result.quantity),
            result.count,
            number(result.mean),
            number(result.stddev),
            number(result.median)
        );
    }
    html.push_str("</table>\n");
}

#[cfg(test)]
mod tests;
