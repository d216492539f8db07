//! The page of an emulation: requested and actual delays, and the random numbers behind them.

use romer_record::document::Summary;
use romer_record::emulation::{EmulatedDirection, EmulatedPacket, Emulation};

use crate::escape::{lines, markup};
use crate::figure::{Figure, emulated};
use crate::html::{charts as drawn_into, page};
use crate::input::ReportError;
use crate::number::{count, counted, maybe_time, percent, rounded};
use crate::sentence::Text as _;
use crate::svg::{Chart, alone};
use crate::words::Words;

/// All that the page shows.
#[derive(Clone, Copy, Debug)]
pub struct EmulationRun<'a> {
    /// The results.
    pub document: &'a Emulation,
    /// From a to b, and back.
    pub ways: [EmulatedPackets<'a>; 2],
    /// The numbers behind it.
    pub numbers: Sampled<'a>,
}

/// One direction.
#[derive(Clone, Copy, Debug)]
pub struct EmulatedPackets<'a> {
    /// `a to b`, `b to a`.
    pub name: &'static str,
    /// Packets and copies, in order of arrival.
    pub packets: &'a [EmulatedPacket],
    /// Where the scenario has one distribution of delay: nanoseconds, and the share that is no longer, both ascending.
    pub theory: Option<&'a [(f64, f64)]>,
}

/// Numbers that the run's generator gives for its seed, and what tests say of them.
#[derive(Clone, Copy, Debug)]
pub struct Sampled<'a> {
    /// Between 0 and 1.
    pub uniform: &'a [f64],
    /// Of mean 0 and deviation 1, as many.
    pub normal: &'a [f64],
    /// The scores of as many normal numbers in ascending order.
    pub scores: &'a [f64],
    /// The tests.
    pub judged: &'a [Judged],
}

/// Which numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// Between 0 and 1.
    Uniform,
    /// Normal.
    Normal,
}

/// What a test says.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Of which numbers.
    pub of: Drawn,
    /// The name of the test.
    pub test: &'static str,
    /// Its statistic.
    pub statistic: f64,
    /// With which probability numbers of the law give as large a one.
    pub p_value: f64,
}

impl Judged {
    pub(crate) fn text(&self) -> String {
        // Of the seeds of a good generator, one in 20 has a p below 0.05: that alone is no evidence.
        let verdict = match self.p_value {
            p if p < 1e-4 => "rejects the distribution".into(),
            p if p < 0.05 => format!("expected by chance for one seed in {:.0}", 1.0 / p),
            _ => "consistent with the distribution".into(),
        };
        format!("{}: {:.4}, p = {:.3}: {verdict}.", self.test, self.statistic, self.p_value)
    }
}

/// The charts of the packets.
fn packet_figures(run: &EmulationRun<'_>) -> Vec<Figure> {
    run.ways.iter().enumerate().flat_map(|(number, way)| emulated::of_way(way, number)).collect()
}

/// The charts of the random generator.
fn generator_figures(run: &EmulationRun<'_>) -> Vec<Figure> {
    let numbers = [Drawn::Uniform, Drawn::Normal].into_iter();
    numbers.flat_map(|drawn| emulated::of_numbers(&run.numbers, drawn)).collect()
}

/// A cause of loss in words.
pub fn cause_text(cause: &str) -> &str {
    if cause == "model" { "loss model" } else { cause }
}

/// Every chart as a file of its own.
///
/// # Errors
/// [`ReportError::Chart`].
pub fn charts(run: &EmulationRun<'_>) -> Result<Vec<Chart>, ReportError> {
    let document = run.document;
    let mut figures = packet_figures(run);
    figures.extend(generator_figures(run));
    alone(figures, &format!("Emulation, {} to {}", document.started, document.ended))
}

/// The page, in the look of a measurement's report and under its rules: nothing is fetched, and what came from outside
/// is escaped.
///
/// # Errors
/// [`ReportError::Chart`].
pub fn report(run: &EmulationRun<'_>) -> Result<String, ReportError> {
    let (mut body, mut drawn) = (String::from("<article>\n"), Vec::new());
    heading(run.document, &mut body);
    notes(run.document, &mut body);
    refits(run.document, &mut body);
    table(run.document, &mut body);
    drawn_into(&packet_figures(run), &mut drawn, &mut body)?;
    body.push_str(
        "<details><summary>Test of the random generator</summary>\n<p>Random numbers of the seed of this run, compared with their \
         distributions. They are not packets.</p>\n",
    );
    drawn_into(&generator_figures(run), &mut drawn, &mut body)?;
    body.push_str("</details>\n");
    scenario(run.document, &mut body);
    let footer = "All values can be recomputed from the samples in this folder, and the fate of every packet from the \
                  scenario and its seed.";
    let document = serde_json::to_value(run.document).unwrap_or_default();
    Ok(page("Emulation", &body, footer, &document, drawn))
}

/// The page of a run of which single packets were not written down: what was done, in counts and delays.
pub fn report_of_counts(document: &Emulation) -> String {
    let mut body = String::from("<article>\n");
    heading(document, &mut body);
    notes(document, &mut body);
    refits(document, &mut body);
    table(document, &mut body);
    scenario(document, &mut body);
    let footer = "No charts: single packets were not stored. romer emulate --out stores them.";
    page("Emulation", &body, footer, &serde_json::to_value(document).unwrap_or_default(), Vec::new())
}

fn scenario(document: &Emulation, body: &mut String) {
    body.push_str(&format!(
        "<details><summary>Scenario</summary>\n<pre><code>{}</code></pre></details>\n</article>\n",
        lines(&document.scenario)
    ));
}

fn heading(document: &Emulation, body: &mut String) {
    let ports: Vec<String> =
        document.ports.iter().map(|(letter, port)| format!("{letter} {}", port.interface)).collect();
    let between = if ports.is_empty() { "in virtual time".to_owned() } else { ports.join(" – ") };
    let seed: Vec<String> = document.seed.iter().map(u32::to_string).collect();
    let [a, b] = [&document.a_to_b, &document.b_to_a].map(|way| counted(way.received, "packet", "packets"));
    body.push_str(&format!(
        "<header><h1>Emulation {}</h1>\n<p class=\"when\">{} to {} · {} · seed {} ({})</p>\n\
         <p class=\"verdict\">a to b: {a}; b to a: {b}.</p></header>\n",
        markup(&between),
        markup(&Words::PAGE.moment(&document.started)),
        markup(&Words::PAGE.moment(&document.ended)),
        markup(&document.data_plane),
        seed.join(","),
        markup(&document.generator)
    ));
}

fn notes(document: &Emulation, body: &mut String) {
    if document.warnings.is_empty() {
        return;
    }
    let items: String =
        document.warnings.iter().map(|warning| format!("<li>{}</li>", markup(&warning.text()))).collect();
    body.push_str(&format!("<section class=\"note\"><ul>{items}</ul></section>\n"));
}

/// What became of the periods of a followed path.
fn refits(document: &Emulation, body: &mut String) {
    if document.refits.is_empty() {
        return;
    }
    let items: String =
        document.refits.iter().map(|event| format!("<li>{}</li>", markup(&event.text()))).collect();
    body.push_str(&format!(
        "<details><summary>Refits to the measured path</summary>\n<ul>{items}</ul></details>\n"
    ));
}

/// A row of the table: its name, and what stands in it of a direction.
type Row = (String, Box<dyn Fn(&EmulatedDirection) -> String>);

/// Which figure of a direction.
type Of = fn(&EmulatedDirection) -> &Summary;

/// The ledger, and the delays in figures.
fn table(document: &Emulation, body: &mut String) {
    let both = [&document.a_to_b, &document.b_to_a];
    let mut rows: Vec<Row> = vec![
        ("received".into(), Box::new(|way| count(way.received))),
        ("duplicates created".into(), Box::new(|way| count(way.duplicates_created))),
        ("transmitted".into(), Box::new(|way| count(way.transmitted))),
        ("queued at the end".into(), Box::new(|way| count(way.queued))),
        ("reordered on purpose".into(), Box::new(|way| count(way.reordered))),
        ("out of order at the output (RFC 4737)".into(), Box::new(|way| count(way.overtaken))),
        ("corrupted".into(), Box::new(|way| count(way.corrupted))),
        (
            "delayed to keep packet order".into(),
            Box::new(|way| way.order_delayed_ratio.map_or_else(|| "–".into(), percent)),
        ),
    ];
    for cause in both.iter().flat_map(|way| way.lost.keys()).collect::<std::collections::BTreeSet<_>>() {
        let lost = |way: &EmulatedDirection, cause: &str| way.lost.get(cause).copied().unwrap_or(0);
        if both.iter().any(|way| lost(way, cause) > 0) {
            let cause = cause.clone();
            rows.push((
                format!("lost: {}", markup(cause_text(&cause))),
                Box::new(move |way| count(lost(way, &cause))),
            ));
        }
    }
    let depth = |way: &EmulatedDirection| match way.queue_depth.median.zip(way.queue_depth.max) {
        Some((median, most)) => format!("{}, {}", rounded(median), rounded(most)),
        None => "–".into(),
    };
    rows.push(("queue depth on arrival: median, max".into(), Box::new(depth)));
    let alike = |way: &EmulatedDirection| match way.correlation_time_ns.zip(way.effective_values) {
        Some((time, values)) => format!("{}, {}", maybe_time(Some(time), true), rounded(values)),
        None => "–".into(),
    };
    if both.iter().any(|way| way.effective_values.is_some()) {
        let name = "correlation time, effective sample size";
        rows.push((name.into(), Box::new(alike)));
    }
    let figures: [(&str, Of); 8] = [
        ("requested delay", |way| &way.requested_delay_ns),
        ("actual delay, excluding the rate queue", |way| &way.actual_delay_ns),
        ("wait in the rate queue (packets with a rate limit)", |way| &way.rate_queue_ns),
        ("total delay, arrival to departure", |way| &way.total_delay_ns),
        ("wait for packet order (packets that waited)", |way| &way.order_wait_ns),
        ("delay error of the emulator", |way| &way.delay_error_ns),
        ("inter-arrival time", |way| &way.inter_arrival_ns),
        ("inter-departure time", |way| &way.inter_departure_ns),
    ];
    for (name, of) in figures {
        rows.push((
            format!("{name}: median, p99"),
            Box::new(move |way| {
                let summary = of(way);
                format!("{}, {}", maybe_time(summary.median, true), maybe_time(summary.p99, true))
            }),
        ));
    }
    let mut text = String::new();
    for (name, of) in &rows {
        let [a, b] = both.map(of);
        text.push_str(&format!("<tr><th>{name}</th><td>{a}</td><td>{b}</td></tr>\n"));
    }
    body.push_str(&format!(
        "<section><h2>Results</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th>metric</th><th>a to b</th>\
         <th>b to a</th></tr></thead>\n<tbody>\n{text}</tbody></table></div></section>\n"
    ));
}
