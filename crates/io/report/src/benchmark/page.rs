//! The page of a benchmark, in the look of a measurement's report: results, verdicts, charts, and what they rest on.

use std::collections::BTreeMap;

use romer_record::benchmark::Benchmark;
use serde_json::Value;

use super::discarded::{discarded, events};
use super::draw::Drawn;
use super::figures::figures;
use super::results;
use super::self_test::{failed_tests, tester_claims};
use super::streams::{self, markings};
use super::words::{
    difference_words, limit_holds, limit_words, outlier_words, overall_words, seconds, verdict_words,
    warnings,
};
use crate::escape::markup;
use crate::html;
use crate::number::{NO_BREAK, counted, grouped_short};
use crate::sentence::Text as _;
use crate::words::Words;

/// The page.
pub fn page(document: &Benchmark) -> String {
    let mut body = String::from("<article>\n");
    heading(document, &mut body);
    body.push_str("<div class=\"pair\">\n");
    list("Verdicts", verdicts(document), &mut body);
    list("Limits", limits(document), &mut body);
    body.push_str("</div>\n");
    results::table(document, &mut body);
    notes(document, &mut body);
    let figures = figures(document);
    drawn(figures.iter().filter(|figure| figure.leads), &mut body);
    body.push_str("<div class=\"pair\">\n");
    compared(document, &mut body);
    let spots = document.outliers.iter().map(|one| (outlier_words(one), true)).collect();
    list("Soft spots (1 % overall, Holm)", spots, &mut body);
    list("Lost frames of a mixture, by size", by_size(document), &mut body);
    // Whether they should have changed is for the verdicts to say.
    let marked = markings(document)
        .into_iter()
        .map(|(text, changed)| (if changed { format!("{text} (changed)") } else { text }, false));
    list("Markings: sent and received", marked.collect(), &mut body);
    body.push_str("</div>\n");
    streams::table(document, &mut body);
    more_figures(&figures, &mut body);
    results::statistics(document, &mut body);
    body.push_str("<div class=\"pair\">\n");
    setup(document, &mut body);
    let tester = tester_claims(document).into_iter().chain(failed_tests(document));
    list(
        "Tester self-test: what these results can support",
        tester.map(|one| (one, false)).collect(),
        &mut body,
    );
    let events = discarded(document)
        .into_iter()
        .chain(events(document).map(|one| one.text()))
        .map(|text| (text, false));
    list("Events", events.collect(), &mut body);
    body.push_str("</div>\n</article>\n");
    let software = format!("romer {}", markup(&document.setup.software));
    let footer = format!(
        "Benchmarked with {software}. All values can be recomputed from benchmark.json in the same folder."
    );
    html::page(&markup(&title(document)), &body, &footer, &Value::Null, Vec::new())
}

fn title(document: &Benchmark) -> String {
    format!("Benchmark of {}: {}", document.dut.model.as_deref().unwrap_or("a device"), document.procedure)
}

fn line_rate(bits: f64) -> String {
    format!("{}{NO_BREAK}Mbit/s", grouped_short(bits / 1e6, 3))
}

fn heading(document: &Benchmark, body: &mut String) {
    let setup = &document.setup;
    let when = [
        Words::PAGE.moment(&document.started),
        document.criterion.clone(),
        format!("{} to {}", setup.tx, setup.rx),
        format!("line rate {}", line_rate(setup.line_rate_bps)),
        counted(u64::from(setup.repeats), "repeat", "repeats"),
    ];
    let when: Vec<String> = when.into_iter().filter(|text| !text.is_empty()).collect();
    let partial = if document.partial { " · partial: interrupted" } else { "" };
    let lines: String =
        results::headline(document).iter().map(|line| format!("<span>{}</span>\n", markup(line))).collect();
    body.push_str(&format!(
        "<header><div class=\"title\"><h1>{}</h1>{}</div>\n<p class=\"when\">{}{partial}</p>\n<p class=\"verdict\">{lines}</p></header>\n",
        markup(&title(document)),
        judged(document),
        markup(&when.join(" · ")),
    ));
}

/// Whether all claims and limits held, as a badge: nothing where none was judged.
fn judged(document: &Benchmark) -> String {
    let claims = document.verdicts.iter().map(|one| one.passed);
    let limits = document.limits.iter().map(limit_holds);
    let all: Vec<Option<bool>> = claims.chain(limits).collect();
    let number = |holds: Option<bool>| all.iter().filter(|one| **one == holds).count();
    let (failed, open) = (number(Some(false)), number(None));
    let (class, word, number) = match (all.len(), failed, open) {
        (0, ..) => return String::new(),
        (_, 0, 0) => ("good", "PASS", all.len()),
        (_, 0, open) => ("half", "INCONCLUSIVE", open),
        (_, failed, _) => ("bad", "FAIL", failed),
    };
    format!(" <span class=\"badge {class}\">{word} {number}/{}</span>", all.len())
}

fn verdicts(document: &Benchmark) -> Vec<(String, bool)> {
    document.verdicts.iter().map(|one| (verdict_words(one), one.passed != Some(true))).collect()
}

fn limits(document: &Benchmark) -> Vec<(String, bool)> {
    document.limits.iter().map(|one| (limit_words(one), !one.passed)).collect()
}

/// A section with a line for each, and whether that is bad; nothing where there is none.
fn list(title: &str, rows: Vec<(String, bool)>, body: &mut String) {
    if rows.is_empty() {
        return;
    }
    body.push_str(&format!("<section><h2>{title}</h2>\n<ul>\n"));
    for (text, bad) in rows {
        let class = if bad { " class=\"bad\"" } else { "" };
        body.push_str(&format!("<li{class}>{}</li>\n", markup(&text)));
    }
    body.push_str("</ul></section>\n");
}

fn notes(document: &Benchmark, body: &mut String) {
    let items: String =
        warnings(document).map(|warning| format!("<li>Warning: {}</li>", markup(&warning.text()))).collect();
    if !items.is_empty() {
        body.push_str(&format!("<section class=\"note\"><ul>{items}</ul></section>\n"));
    }
}

/// The differences between cases.
fn compared(document: &Benchmark, body: &mut String) {
    let different =
        document.differences.iter().filter(|one| one.significant).map(|one| (difference_words(one), false));
    list("Significant differences between cases (5 % overall, Holm)", different.collect(), body);
    let overall = document.overall.iter().map(|one| (overall_words(one), false));
    list("Cost of a case over all sizes and loads", overall.collect(), body);
}

/// Figures in two columns.
fn drawn<'a>(figures: impl Iterator<Item = &'a Drawn>, body: &mut String) {
    body.push_str("<div class=\"plots\">\n");
    for figure in figures {
        body.push_str(&format!(
            "<section class=\"plot\"><h2 id=\"{}\">{}</h2>\n{}</section>\n",
            figure.name,
            markup(&figure.title),
            figure.svg
        ));
    }
    body.push_str("</div>\n");
}

/// The other figures, closed until they are opened, those of a case together.
fn more_figures(figures: &[Drawn], body: &mut String) {
    let mut groups: Vec<&str> = Vec::new();
    for figure in figures.iter().filter(|figure| !figure.leads) {
        if !groups.contains(&figure.of.as_str()) {
            groups.push(&figure.of);
        }
    }
    for group in groups {
        let of = || figures.iter().filter(|figure| !figure.leads && figure.of == group);
        body.push_str(&format!("<details><summary>{} ({})</summary>\n", markup(group), of().count()));
        drawn(of(), body);
        body.push_str("</details>\n");
    }
}

fn setup(document: &Benchmark, body: &mut String) {
    let setup = &document.setup;
    let mut items = vec![
        ("Ports", format!("{} to {}", setup.tx, setup.rx)),
        ("Addresses", format!("{} to {}", setup.source, setup.destination)),
        (
            "Line rate",
            format!("{} ({})", line_rate(setup.line_rate_bps), setup.rate_layer.replace('l', "layer ")),
        ),
        (
            "Trials",
            format!(
                "{:.2}{NO_BREAK}s each, {}",
                seconds(setup.trial_ns),
                counted(u64::from(setup.repeats), "repeat", "repeats")
            ),
        ),
        ("Seed", setup.seed.map(|part| part.to_string()).join(",")),
        ("Kernel", setup.kernel.clone()),
        ("Started", Words::PAGE.moment(&document.started)),
        ("Ended", Words::PAGE.moment(&document.ended)),
    ];
    if !document.dut.labels.is_empty() {
        let labels = document.dut.labels.iter().map(|(name, value)| format!("{name}: {value}"));
        items.insert(0, ("Device", labels.collect::<Vec<_>>().join("; ")));
    }
    body.push_str("<section><h2>Test setup</h2>\n<dl>\n");
    for (name, text) in items.iter().filter(|(_, text)| !text.is_empty()) {
        body.push_str(&format!("<dt>{name}</dt><dd>{}</dd>\n", markup(text)));
    }
    body.push_str("</dl></section>\n");
}

/// Lost frames of each case and size, over all valid trials of several sizes.
fn by_size(document: &Benchmark) -> Vec<(String, bool)> {
    let mut rows: BTreeMap<(&str, u32, u32), [u64; 2]> = BTreeMap::new();
    for trial in document.trials.iter().filter(|trial| trial.invalid.is_none()) {
        for row in trial.per_stream.iter().flat_map(|stream| &stream.per_size) {
            let [offered, lost] =
                rows.entry((trial.case.as_str(), row.min_octets, row.max_octets)).or_default();
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
