//! The page of a benchmark: the kinds of seed 003's figures 3-1 to 3-44, and the table of results.
//!
//! Figures are drawn here rather than by `chart`, which knows the few meanings of a measurement: a benchmark has a
//! line for each frame size or case.

mod draw;

use std::fmt::Write as _;

use romer_record::benchmark::{Benchmark, BenchmarkResult, Trial};

use crate::escape::markup;
use draw::{Figure, Mark, Series};

/// A figure of its own, as SVG, with the name that its file may have.
pub struct Drawn {
    /// Lower-case letters, digits and hyphens.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The figure.
    pub svg: String,
}

/// All figures that the document has the numbers for.
pub fn figures(document: &Benchmark) -> Vec<Drawn> {
    let mut figures = Vec::new();
    let cases = cases(document);
    let sizes = sizes(document);
    for case in &cases {
        figures.push(lines(document, case, &sizes, "carried_percent", "carried load, % of the line", true));
        figures.push(rates(document, case, &sizes));
        figures.push(lines(document, case, &sizes, "latency_mean_ns", "mean latency, us", false));
        figures.push(lines(
            document,
            case,
            &sizes,
            "jitter_peak_to_peak_ns",
            "jitter (greatest less least latency), us",
            false,
        ));
        figures.push(by_method(document, case, &sizes));
        figures.push(high_and_low(document, case));
        for size in &sizes {
            figures.push(extremes(document, case, *size));
        }
    }
    if cases.len() > 1 {
        for size in &sizes {
            figures.push(overlaid(document, &cases, *size, "carried_percent", "carried load, % of the line"));
            figures.push(overlaid(document, &cases, *size, "latency_mean_ns", "mean latency, us"));
        }
    }
    figures.push(throughput(document, &cases));
    figures
        .into_iter()
        .filter(|figure| figure.series.iter().any(|series| !series.dashed && !series.points.is_empty()))
        .map(drawn)
        .collect()
}

fn drawn(figure: Figure) -> Drawn {
    let name: String = figure
        .title
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect::<String>()
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    Drawn { name: name.chars().take(80).collect(), svg: draw::svg(&figure), title: figure.title }
}

/// The names of the cases, in the order in which they come.
fn cases(document: &Benchmark) -> Vec<String> {
    let mut cases: Vec<String> = Vec::new();
    for name in document.results.iter().map(|result| &result.case) {
        if !cases.contains(name) {
            cases.push(name.clone());
        }
    }
    cases
}

/// The frame sizes, smallest first; `None` is the mixture.
fn sizes(document: &Benchmark) -> Vec<Option<u32>> {
    let mut sizes: Vec<Option<u32>> = document.results.iter().map(|result| result.frame_size).collect();
    sizes.sort_unstable_by_key(|size| size.unwrap_or(u32::MAX));
    sizes.dedup();
    sizes
}

fn size_words(size: Option<u32>) -> String {
    size.map_or_else(|| "mixture".into(), |size| format!("{size} octets"))
}

/// Nanoseconds are shown as microseconds.
fn scale(quantity: &str) -> f64 {
    if quantity.ends_with("_ns") { 1e-3 } else { 1.0 }
}

fn marks<'a>(results: impl Iterator<Item = &'a BenchmarkResult>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = results
        .filter_map(|result| {
            let factor = scale(&result.quantity);
            Some(Mark {
                x: result.load_percent?,
                y: result.mean? * factor,
                range: result.interval.map(|[low, high]| [low * factor, high * factor]),
            })
        })
        .collect();
    marks.sort_by(|a, b| a.x.total_cmp(&b.x));
    marks
}

fn of<'a>(
    document: &'a Benchmark,
    case: &'a str,
    size: Option<u32>,
    quantity: &'a str,
) -> impl Iterator<Item = &'a BenchmarkResult> {
    document
        .results
        .iter()
        .filter(move |result| result.case == case && result.frame_size == size && result.quantity == quantity)
}

/// A line for each size over the load (figures 3-1, 3-10, 3-15).
fn lines(
    document: &Benchmark,
    case: &str,
    sizes: &[Option<u32>],
    quantity: &str,
    unit: &str,
    theory: bool,
) -> Figure {
    let mut series: Vec<Series> = sizes
        .iter()
        .map(|size| Series {
            name: size_words(*size),
            points: marks(of(document, case, *size, quantity)),
            dashed: false,
        })
        .collect();
    if theory {
        let most = series.iter().flat_map(|series| &series.points).map(|mark| mark.x).fold(0.0, f64::max);
        let points = [0.0, most.min(100.0)].map(|x| Mark { x, y: x, range: None }).to_vec();
        series.push(Series { name: "all that is offered".into(), points, dashed: true });
    }
    Figure {
        title: format!("Case {case}: {unit}, over the offered load"),
        x: "offered load, % of the line".into(),
        y: unit.into(),
        series,
    }
}

/// The same in frames a second (figure 3-2).
fn rates(document: &Benchmark, case: &str, sizes: &[Option<u32>]) -> Figure {
    let series = sizes.iter().map(|size| {
        let here = trials(document, case, *size);
        let mut points: Vec<Mark> =
            here.map(|trial| Mark { x: trial.offered.pps, y: trial.carried.pps, range: None }).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: size_words(*size), points, dashed: false }
    });
    Figure {
        title: format!("Case {case}: carried load in frames a second"),
        x: "offered load, frames/s".into(),
        y: "carried load, frames/s".into(),
        series: series.collect(),
    }
}

fn trials<'a>(document: &'a Benchmark, case: &'a str, size: Option<u32>) -> impl Iterator<Item = &'a Trial> {
    document
        .trials
        .iter()
        .filter(move |trial| trial.case == case && trial.frame_size == size && trial.invalid.is_none())
}

/// Latency with its least and greatest (figures 3-12, 3-14).
fn extremes(document: &Benchmark, case: &str, size: Option<u32>) -> Figure {
    let pick = |name: &str, value: fn(&Trial) -> Option<f64>| {
        let mut points: Vec<Mark> = trials(document, case, size)
            .filter_map(|trial| {
                Some(Mark { x: trial.intended_load.percent, y: value(trial)? * 1e-3, range: None })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: name.into(), points, dashed: name != "mean" }
    };
    Figure {
        title: format!("Case {case}, {}: least, mean and greatest latency", size_words(size)),
        x: "offered load, % of the line".into(),
        y: "latency, us".into(),
        series: vec![
            pick("least", |trial| trial.latency_ns.min),
            pick("mean", |trial| trial.latency_ns.mean),
            pick("greatest", |trial| trial.latency_ns.max),
        ],
    }
}

/// The jitters by their methods, of the smallest frames.
fn by_method(document: &Benchmark, case: &str, sizes: &[Option<u32>]) -> Figure {
    let size = sizes.first().copied().flatten();
    let methods = [
        ("1: greatest less least", "jitter_peak_to_peak_ns"),
        ("2: inter-arrival difference", "jitter_inter_arrival_difference_ns"),
        ("3: latency difference", "jitter_delay_difference_ns"),
        ("4: deviation from mean", "jitter_deviation_from_mean_ns"),
    ];
    let series = methods.map(|(name, quantity)| Series {
        name: name.into(),
        points: marks(of(document, case, size, quantity)),
        dashed: false,
    });
    Figure {
        title: format!("Case {case}, {}: jitter by method", size_words(size)),
        x: "offered load, % of the line".into(),
        y: "jitter, us".into(),
        series: series.into(),
    }
}

/// Greatest and least latency by size, at the greatest load (figures 3-16, 3-18, 3-20).
fn high_and_low(document: &Benchmark, case: &str) -> Figure {
    let here: Vec<&Trial> =
        document.trials.iter().filter(|trial| trial.case == case && trial.invalid.is_none()).collect();
    let most = here.iter().map(|trial| trial.intended_load.percent).fold(0.0, f64::max);
    let at_most = |trial: &&&Trial| trial.intended_load.percent > most - 1.0;
    let pick = |name: &str, value: fn(&Trial) -> Option<f64>| {
        let mut points: Vec<Mark> = here
            .iter()
            .filter(at_most)
            .filter_map(|trial| {
                Some(Mark { x: f64::from(trial.frame_size?), y: value(trial)? * 1e-3, range: None })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: name.into(), points, dashed: false }
    };
    Figure {
        title: format!("Case {case}: greatest and least latency by frame size at {most:.0} % of the line"),
        x: "frame size, octets".into(),
        y: "latency, us".into(),
        series: vec![
            pick("greatest", |trial| trial.latency_ns.max),
            pick("least", |trial| trial.latency_ns.min),
        ],
    }
}

/// The cases over one another, with their intervals.
fn overlaid(document: &Benchmark, cases: &[String], size: Option<u32>, quantity: &str, unit: &str) -> Figure {
    let series = cases.iter().map(|case| Series {
        name: case.clone(),
        points: marks(of(document, case, size, quantity)),
        dashed: false,
    });
    Figure {
        title: format!("All cases, {}: {unit}", size_words(size)),
        x: "offered load, % of the line".into(),
        y: unit.into(),
        series: series.collect(),
    }
}

/// The throughput by frame size, with the line's own.
fn throughput(document: &Benchmark, cases: &[String]) -> Figure {
    let found = |case: &str, value: fn(&BenchmarkResult) -> Option<f64>| {
        let here = document
            .results
            .iter()
            .filter(|result| result.quantity == "throughput_pps" && result.case == case);
        let mut points: Vec<Mark> = here
            .filter_map(|result| {
                Some(Mark { x: f64::from(result.frame_size?), y: value(result)?, range: result.interval })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    };
    let mut series: Vec<Series> = cases
        .iter()
        .map(|case| Series { name: case.clone(), points: found(case, |result| result.mean), dashed: false })
        .collect();
    if let Some(case) = cases.first() {
        let mut points = found(case, |result| result.theoretical);
        for point in &mut points {
            point.range = None;
        }
        series.push(Series { name: "the line's own".into(), points, dashed: true });
    }
    Figure {
        title: "Throughput by frame size".into(),
        x: "frame size, octets".into(),
        y: "throughput, frames/s".into(),
        series,
    }
}

/// The page.
pub fn page(document: &Benchmark) -> String {
    let mut html = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>romer benchmark</title>\n<style>body{font:16px/1.5 system-ui,sans-serif;\
         max-width:60em;margin:2em auto;padding:0 1em;color:#1b1b1b;background:#fff}table{border-collapse:collapse;\
         font-variant-numeric:tabular-nums}td,th{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:right}\
         td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}.bad{color:#a00}\
         @media(prefers-color-scheme:dark){body{background:#fff;color:#1b1b1b}}</style></head><body>\n",
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
        let holds = if one.holds { "holds" } else { "broken" };
        (
            format!("{holds}: {}, {}: {}; found: {}", one.case, one.subject, one.expected, one.found),
            !one.holds,
        )
    });
    let tester = document.self_test.iter().flat_map(|found| &found.claims);
    list(
        &mut html,
        "What the tester itself allows to be claimed",
        tester.map(|one| (one.clone(), false)).collect(),
    );
    list(&mut html, "Verdicts", judged.collect());
    let limits = document.limits.iter().map(|one| {
        let (held, worst) = (if one.held { "held" } else { "broken" }, one.value);
        let worst = worst.map_or_else(|| "not known".into(), |value| format!("{value:.4} at the worst"));
        (format!("{held}: {} ({worst})", one.limit), !one.held)
    });
    list(&mut html, "Limits", limits.collect());
    let different = document.differences.iter().filter(|one| one.significant).map(|one| {
        let [low, high] = one.interval.unwrap_or_default();
        let at = one.load_percent.map_or(String::new(), |load| format!(" at {load:.1} %"));
        let text = format!(
            "{} against {}, {}{at}: {} differs by {:.4} ({low:.4} to {high:.4}, 95 %)",
            one.to,
            one.from,
            size_words(one.frame_size),
            one.quantity,
            one.mean.unwrap_or_default()
        );
        (text, false)
    });
    list(&mut html, "Differences between cases", different.collect());
    list(&mut html, "Soft spots", document.soft_spots.iter().map(|one| (one.text.clone(), true)).collect());
    list(&mut html, "Events", document.events.iter().map(|one| (one.text.clone(), false)).collect());
    list(
        &mut html,
        "To know before trusting the numbers",
        document.warnings.iter().map(|one| (one.clone(), false)).collect(),
    );
    for figure in figures(document) {
        let _ = write!(html, "<h3>{}</h3>\n{}\n", markup(&figure.title), figure.svg);
    }
    table(document, &mut html);
    html.push_str("</body></html>\n");
    html
}

#[expect(clippy::cast_precision_loss, reason = "a time for people")]
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

fn table(document: &Benchmark, html: &mut String) {
    if document.results.is_empty() {
        return;
    }
    html.push_str(
        "<h2>Results</h2>\n<table><tr><th>case</th><th>frames</th><th>load %</th><th>quantity</th><th>n</th><th>mean</th>\
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
