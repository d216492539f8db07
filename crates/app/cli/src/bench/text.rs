//! The text output of `romer bench`.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use romer_bench::options::BenchOptions;
use romer_bench::{Forecast, Progress};
use romer_method::TrialRequest;
use romer_method::campaign::Procedure;
use romer_record::benchmark::{Benchmark, BenchmarkResult, SelfTest};
use romer_report::benchmark::{
    affected_results, is_burst_unbounded, label, limit_words, mean_words, outlier_words, tester_claims,
    verdict_words,
};
use romer_report::warning::Text as _;
use romer_units::{Duration, counted_as};

use crate::output::Sheet;

/// The lines before the first trial.
pub(super) fn beginning(options: &BenchOptions) -> String {
    let forecast = romer_bench::forecast(options);
    let time = usually([forecast.usual.1, forecast.time]);
    format!("{}\n{time}, plus repeated trials; seed {}", subject(options), options.seed)
}

/// What is benchmarked, between which ports.
fn subject(options: &BenchOptions) -> String {
    format!(
        "benchmark {} from {} to {} ({} to {})\nline rate {} Mbit/s (layer 1); {}: {}",
        options.name,
        options.tx,
        options.rx,
        options.source,
        options.destination,
        million(options.line.bits()),
        if options.cases.len() == 1 { "case" } else { "cases" },
        options.cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join(", ")
    )
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn million(bits: u64) -> f64 {
    bits as f64 / 1e6
}

/// Every trial that can be foreseen.
pub(super) fn dry_run(options: &BenchOptions, forecast: &Forecast, sheet: Sheet) -> String {
    let asks = &forecast.asks;
    let mut text = format!("{}; seed {}\n\n", subject(options), options.seed);
    for stream in forecast.document(options).streams {
        let _ = writeln!(text, "stream {}", stream.text());
    }
    if let Some(words) = options.in_step_warning().map(|warning| warning.text()) {
        let _ = writeln!(text, "{words}");
    }
    text.push('\n');
    if asks.is_empty() {
        text.push_str(
            "The load of each trial depends on the previous result. A device with a lower throughput in long trials needs more trials.\n",
        );
        if matches!(options.procedure, Procedure::Mlr(_)) {
            text.push_str("A device with a loss that changes from trial to trial can need more.\n");
        }
    }
    let _ = writeln!(
        text,
        "{} trial{}, {}, plus repeated trials",
        numbers([forecast.usual.0, forecast.trials]),
        if forecast.trials == 1 { "" } else { "s" },
        usually([forecast.usual.1, forecast.time])
    );
    let mut text = set(&text, sheet);
    if asks.is_empty() {
        return text;
    }
    let name = |ask: &TrialRequest| {
        // A self-test has no cases: what tells its trials apart is what each is for.
        let case = options.cases.get(ask.case).map_or("", |case| case.name.as_str());
        romer_report::escape::terminal(if options.name == "self-test" { ask.purpose } else { case })
    };
    let widest = asks.iter().map(|ask| name(ask).chars().count()).max().unwrap_or(0).max(12);
    let first = if options.name == "self-test" { "test" } else { "case" };
    let _ = writeln!(
        text,
        "\n{:>5}  {first:<widest$} {:>10}  {:>9}  {:>11}  {:>8}  {:>6}",
        "trial", "frame size", "load", "frames/s", "time", "repeat"
    );
    for (number, ask) in asks.iter().enumerate() {
        let nominal = options.nominal(&ask.frames, ask.load());
        let _ = writeln!(
            text,
            "{:>5}  {:<widest$} {:>10}  {:>7.2} %  {:>11.0}  {:>8}  {:>6}",
            number + 1,
            name(ask),
            ask.frames,
            nominal.load * 100.0,
            nominal.pps,
            ask.length().readable(),
            ask.repeat + 1
        );
    }
    text
}

/// One number, or from one to another.
fn numbers([usual, most]: [u64; 2]) -> String {
    if usual == most { most.to_string() } else { format!("{usual} to {most}") }
}

/// One time, or from one to another.
fn range([usual, most]: [Duration; 2]) -> String {
    let [usual, most] = [usual, most].map(people);
    if usual == most { most } else { format!("{usual} to {most}") }
}

/// The usual and the maximum duration.
fn usually([usual, most]: [Duration; 2]) -> String {
    let at_most = match people(most) {
        short if short == UNDER_A_SECOND => return short,
        longer => format!("at most {longer}"),
    };
    if usual == most { at_most } else { format!("{} ({at_most})", people(usual)) }
}

/// A duration that is not 0 and below a second.
const UNDER_A_SECOND: &str = "under 1 s";

/// A duration with two units at most.
pub(super) fn people(time: Duration) -> String {
    let seconds = time.as_nanos() / 1_000_000_000;
    match seconds {
        0 if time.as_nanos() > 0 => UNDER_A_SECOND.into(),
        0..=119 => format!("{seconds} s"),
        120..=3_599 => two([seconds / 60, seconds % 60], ["min", "s"]),
        _ => two([seconds / 3_600, seconds / 60 % 60], ["h", "min"]),
    }
}

/// A number of each unit, the second only if there is any of it.
fn two([large, small]: [i64; 2], [unit, smaller]: [&str; 2]) -> String {
    if small == 0 { format!("{large} {unit}") } else { format!("{large} {unit} {small} {smaller}") }
}

/// A benchmark that takes this many times as long as forecast reports it.
const MUCH_LONGER: i64 = 2;

/// How long a benchmark takes, where that is much longer than `forecast` and beyond its maximum.
pub(super) fn correction(forecast: [Duration; 2], progress: &Progress<'_>) -> Option<String> {
    is_much_longer(forecast, progress.whole).then(|| {
        format!(
            "longer than forecast: {} in total, with repeated trials, instead of {}; {} left",
            range(progress.whole),
            range(forecast),
            range(progress.left)
        )
    })
}

/// Whether a duration, usual and maximum, is beyond a forecast and a multiple of one of its ends.
fn is_much_longer(forecast: [Duration; 2], whole: [Duration; 2]) -> bool {
    let is_much =
        |(now, said): (Duration, Duration)| now.as_nanos() >= said.as_nanos().saturating_mul(MUCH_LONGER);
    whole[1] > forecast[1] && whole.into_iter().zip(forecast).any(is_much)
}

/// One line on a terminal that is renewed.
pub(super) struct StatusLine {
    shown: bool,
}

impl StatusLine {
    pub(super) const fn new(shown: bool) -> Self {
        Self { shown }
    }

    pub(super) fn say(&self, text: &str) {
        if self.shown {
            let text: String = romer_report::escape::terminal(text).chars().take(118).collect();
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K{text}");
        }
    }

    pub(super) fn show(&self, options: &BenchOptions, progress: &Progress<'_>) {
        let last = progress.last.map_or(String::new(), |trial| {
            format!(" (previous: {:.1} % forwarded, {} lost)", trial.forwarded.percent, trial.lost)
        });
        self.say(&format!(
            "trial {} of {}: {}, {}, {:.2} %; {} left{last}",
            progress.trial,
            numbers(progress.of),
            progress.case,
            progress.ask.frames,
            options.nominal(&progress.ask.frames, progress.ask.load()).load * 100.0,
            range(progress.left)
        ));
    }

    pub(super) fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr().lock(), "\r\u{1b}[K");
        }
    }
}

/// The results: tables, verdicts, limits, self-test and warnings.
///
/// `required`: that a claim is not known makes the exit code another.
pub(super) fn summary(document: &Benchmark, required: bool, sheet: Sheet) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{} ({})", document.procedure, document.criterion);
    if let Some(found) = document.self_test.as_ref().filter(|_| document.procedure == "self-test") {
        tester(&mut text, document, found, true);
        warnings(&mut text, document);
        return set(&text, sheet);
    }
    let tables: &[&[&str]] = match document.procedure.as_str() {
        "throughput" => &[&["throughput_pps", BITS, "throughput_percent"]],
        "back-to-back" => {
            &[&["throughput_pps", BITS, "throughput_percent", "burst_frames", "corrected_buffer_ns"]]
        }
        "reset" => &[&["reset_by_loss_ns", "reset_by_times_ns"]],
        "recovery" => &[&["throughput_pps", BITS, "throughput_percent", "recovery_ns"]],
        "latency" => &[
            &["forwarded_pps", BITS, "forwarded_percent", "loss_ratio", "latency_mean_ns"],
            &["latency_median_ns", "latency_p99_ns", "latency_max_ns"],
            &[
                "jitter_peak_to_peak_ns",
                "jitter_inter_arrival_difference_ns",
                "jitter_delay_difference_ns",
                "jitter_deviation_from_mean_ns",
            ],
        ],
        _ => &[&["forwarded_pps", BITS, "forwarded_percent", "loss_ratio", "latency_mean_ns"]],
    };
    let mut text = set(&text, sheet);
    for columns in tables {
        text.push_str(&table(document, columns));
    }
    let mut rest = String::from("\n");
    if let Some(line) = romer_report::benchmark::discarded(document) {
        let _ = writeln!(rest, "{line}");
    }
    if let Some(found) = &document.self_test {
        tester(&mut rest, document, found, false);
    }
    if !document.dut.labels.is_empty() {
        let labels = document.dut.labels.iter().map(|(name, value)| format!("{name} {value}"));
        let _ = writeln!(rest, "device: {}", labels.collect::<Vec<_>>().join(", "));
    }
    rest.push_str(&remarks(document, required));
    text.push_str(&set(&rest, sheet));
    text
}

/// A column of the forwarded load, Mbit/s of layer 1, which follows from the share of the line.
const BITS: &str = "bits";

/// The results of the self-test: each, if the self-test is the procedure; else those that failed.
fn tester(text: &mut String, document: &Benchmark, found: &SelfTest, alone: bool) {
    for test in found.tests.iter().filter(|_| alone) {
        let held = if test.passed { "PASS" } else { "FAIL" };
        let _ = writeln!(
            text,
            "self-test {held} ({}): {}; {}",
            test.name,
            test.requested.text(),
            test.observed.text()
        );
    }
    // Failed tests by the results that they affect.
    let mut failed: Vec<(&str, Vec<&str>)> = Vec::new();
    for test in found.tests.iter().filter(|test| !alone && !test.passed) {
        match failed.iter_mut().find(|(affects, _)| *affects == affected_results(test)) {
            Some((_, names)) => names.push(&test.name),
            None => failed.push((affected_results(test), vec![&test.name])),
        }
    }
    for (affects, names) in &failed {
        let _ = writeln!(text, "self-test FAIL ({}): {affects}", names.join(", "));
    }
    if !failed.is_empty() {
        text.push_str("  Repeat the benchmark with no other load on this host; `romer doctor` shows what disturbs it.\n");
    }
    // Failed tests have a line of their own.
    for claim in tester_claims(document) {
        let _ = writeln!(text, "self-test: {claim}");
    }
}

/// A row for each case, size and load, with the columns that have a value.
fn table(document: &Benchmark, columns: &[&str]) -> String {
    let columns: Vec<&str> = columns.iter().copied().filter(|column| has_values(document, column)).collect();
    let Some(leads) = columns.first().copied() else { return String::new() };
    let at_loads = document.results.iter().any(|one| one.quantity == leads && one.load_percent.is_some());
    let heads = ["case", "frame size"].into_iter().chain(at_loads.then_some("load %")).map(str::to_owned);
    let heads = heads.chain(columns.iter().map(|column| head_of(column).to_owned()));
    // Of what is found at a load or by a search, the row says what it comes to.
    let judges = columns.contains(&BITS);
    let verdict_head = if judges { "verdict".to_owned() } else { String::new() };
    let mut rows: Vec<(Vec<String>, String)> = vec![(heads.collect(), verdict_head)];
    for first in document.results.iter().filter(|result| result.quantity == leads) {
        let load = first.load_percent.map_or("-".to_owned(), |load| format!("{load:.2}"));
        let load = at_loads.then_some(load);
        let size = first.frame_size.map_or("mixture".to_owned(), |size| format!("{size} B"));
        let mut cells = vec![romer_report::escape::terminal(&first.case), size];
        cells.extend(load);
        let mut bounds: Vec<String> = Vec::new();
        let beside = |quantity: &str| {
            document.results.iter().find(|result| {
                result.quantity == quantity
                    && (&result.case, result.frame_size, result.load_percent)
                        == (&first.case, first.frame_size, first.load_percent)
            })
        };
        for column in &columns {
            let of = match *column {
                BITS if first.quantity == "throughput_pps" => "throughput_percent",
                BITS => "forwarded_percent",
                other => other,
            };
            let found = beside(of);
            cells.push(
                found.map(|found| value(found, column, document.setup.line_rate_bps)).unwrap_or_default(),
            );
            if *column == BITS {
                continue;
            }
            bounds.extend(found.and_then(|found| bound(found, *column == leads, document.setup.repeats)));
        }
        if is_burst_unbounded(document, first) {
            bounds.push("no loss in the longest burst".into());
        }
        if judges && bounds.is_empty() {
            bounds.push(verdict(first, beside("loss_ratio")));
        }
        bounds.extend(romer_report::benchmark::not_dropped(document, first));
        rows.push((cells, bounds.join("; ")));
    }
    let width = |place: usize| {
        let cells = rows.iter().filter_map(|(cells, _)| cells.get(place));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows[0].0.len()).map(width).collect();
    let mut text = String::from("\n");
    for (cells, bounds) in &rows {
        for (place, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let _ = match place {
                0 => write!(text, "{cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
        }
        if !bounds.is_empty() {
            let _ = write!(text, "  {}", romer_report::escape::terminal(bounds));
        }
        text.push('\n');
    }
    text
}

/// Whether any result is of the quantity of a column.
fn has_values(document: &Benchmark, column: &str) -> bool {
    let of: &[&str] = if column == BITS { &["throughput_percent", "forwarded_percent"] } else { &[column] };
    document.results.iter().any(|result| of.contains(&result.quantity.as_str()))
}

/// What there is to say of the results.
fn remarks(document: &Benchmark, required: bool) -> String {
    let mut text = String::new();
    streams(&mut text, document);
    for verdict in &document.verdicts {
        let _ = writeln!(text, "{}", verdict_words(verdict));
    }
    for limit in &document.limits {
        let _ = writeln!(text, "limit {}", limit_words(limit));
    }
    for difference in document.differences.iter().filter(|difference| difference.significant) {
        let _ = writeln!(text, "{}", romer_report::benchmark::difference_words(difference));
    }
    for one in document.overall.iter().filter(|one| one.quantity == "latency_median_ns") {
        let _ = writeln!(text, "{}", romer_report::benchmark::overall_words(one));
    }
    for spot in &document.outliers {
        let _ = writeln!(text, "soft spot: {}", outlier_words(spot));
    }
    for event in romer_report::benchmark::events(document) {
        let _ = writeln!(text, "event: {}", event.text());
    }
    warnings(&mut text, document);
    text.push_str(&not_known(document, required));
    text
}

/// The number of inconclusive claims, and their effect on the exit code.
fn not_known(document: &Benchmark, required: bool) -> String {
    let all = document.verdicts.len() as u64;
    let open = document.verdicts.iter().filter(|verdict| verdict.passed.is_none()).count() as u64;
    if open == 0 {
        return String::new();
    }
    let only = if required { " (--require-verdicts)" } else { " with --require-verdicts only" };
    format!("{open} of {} INCONCLUSIVE: exit code 6{only}\n", counted_as(all, "claim is", "claims are"))
}

/// Each stream, where there are several, and what came out with another marking than it went in with.
fn streams(text: &mut String, document: &Benchmark) {
    /// So many streams are shown; the page and the document have all.
    const SHOWN: usize = 12;
    let rows = romer_report::benchmark::streams(document);
    let alone = rows.iter().all(|row| row.name == rows[0].name);
    for row in rows.iter().take(SHOWN).filter(|_| !alone) {
        let _ = writeln!(text, "{}", row.text());
    }
    if !alone && rows.len() > SHOWN {
        let _ = writeln!(text, "and {} more streams and cases, see benchmark.json", rows.len() - SHOWN);
    }
    let remarked = romer_report::benchmark::markings(document);
    for (marking, _) in remarked.iter().filter(|(_, other)| *other).take(SHOWN) {
        let _ = writeln!(text, "remarked: {marking}");
    }
}

fn warnings(text: &mut String, document: &Benchmark) {
    for warning in romer_report::benchmark::warnings(document) {
        let _ = writeln!(text, "warning: {}", warning.text());
    }
}

/// As the terminal may have it: lines that are longer than it is wide go on below, set in, and what is broken is red.
fn set(text: &str, sheet: Sheet) -> String {
    /// A word with which a line begins, and its colour.
    const PAINTED: [(&str, &str); 4] =
        [("FAIL:", "1;31"), ("limit FAIL:", "1;31"), ("self-test FAIL:", "1;31"), ("PASS:", "32")];
    const INDENT: &str = "  ";
    let mut set = String::new();
    for line in text.lines() {
        let line = romer_report::escape::terminal(line);
        let parts = match sheet.width {
            Some(width) if line.chars().count() > width => {
                let mut parts = romer_report::text::wrap(&line, width);
                let rest = parts.split_off(1).join(" ");
                let rest = romer_report::text::wrap(&rest, width - INDENT.len());
                parts.extend(rest.into_iter().map(|part| format!("{INDENT}{part}")));
                parts
            }
            _ => vec![line],
        };
        for part in parts {
            let painted = PAINTED.iter().find(|(word, _)| sheet.color && part.starts_with(word));
            match painted {
                Some((word, code)) => {
                    let _ = writeln!(set, "\u{1b}[{code}m{word}\u{1b}[0m{}", &part[word.len()..]);
                }
                None => {
                    let _ = writeln!(set, "{part}");
                }
            }
        }
    }
    set
}

/// The folder of the results, and how to continue.
pub(super) fn saved_to(folder: &std::path::Path, document: &Benchmark) -> String {
    let shown = romer_report::escape::terminal(&folder.to_string_lossy());
    let more = match (document.partial, document.procedure.as_str()) {
        (false, _) => String::new(),
        (true, "self-test") => "; a self-test cannot be resumed".into(),
        (true, _) => format!("; to continue: romer bench --resume {shown}"),
    };
    format!("Saved to {shown}{more}\n")
}

/// What bounds a result: of the `first` column of a row, and of any other where it was not found in every repeat.
fn bound(result: &BenchmarkResult, first: bool, repeats: u32) -> Option<String> {
    let by = result.bounded_by?.text();
    if result.count == 0 {
        return Some(format!("{} not found: bounded by {by}", label(&result.quantity)));
    }
    let missing = u64::from(repeats).saturating_sub(result.count);
    if !first && missing > 0 {
        return Some(format!(
            "{} not found in {missing} of {repeats} repeats: bounded by {by}",
            label(&result.quantity)
        ));
    }
    first.then(|| format!("bounded by {by}"))
}

/// The head of a column of this quantity. The cells of times and ratios have their own units.
fn head_of(quantity: &str) -> &str {
    match quantity {
        BITS => "Mbit/s",
        "throughput_percent" | "forwarded_percent" => "% of line",
        _ if quantity.ends_with("_pps") => "frames/s",
        _ => label(quantity),
    }
}

/// How many digits behind the point are shown.
fn decimals(quantity: &str) -> usize {
    match quantity {
        _ if quantity.ends_with("_pps") || quantity == "burst_frames" => 0,
        _ if quantity.ends_with("_percent") => 2,
        _ => 3,
    }
}

/// The verdict of a row that only the device bounds.
fn verdict(first: &BenchmarkResult, loss: Option<&BenchmarkResult>) -> String {
    match (loss.and_then(|loss| loss.mean), first.mean) {
        (_, None) => "inconclusive",
        (Some(loss), _) if loss > 0.0 => "loss",
        (Some(_), _) => "no loss",
        (None, _) => "limit of the device",
    }
    .into()
}

fn value(result: &BenchmarkResult, column: &str, line: f64) -> String {
    if ["_ns", "_ratio"].iter().any(|unit| column.ends_with(unit)) {
        return mean_words(result).unwrap_or_else(|| "-".into());
    }
    // A share of the line is a rate of its bits.
    let factor = if column == BITS { line / 1e8 } else { 1.0 };
    let decimals = decimals(column);
    let shown = |value: f64| format!("{:.decimals$}", value * factor);
    match (result.mean, result.interval) {
        (Some(mean), Some([low, high])) => format!("{} ({} to {})", shown(mean), shown(low), shown(high)),
        (Some(mean), None) => shown(mean),
        (None, _) => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use romer_record::benchmark::{Judgement, ResultBound, SelfTestItem};

    use super::*;

    /// A duration within the forecast range is no news, however far above its lower end.
    #[test]
    fn range_needs_no_correction() {
        let is_said = |whole: [i64; 2]| {
            is_much_longer([48, 106].map(Duration::from_secs), whole.map(Duration::from_secs))
        };
        assert!(!is_said([98, 98]) && !is_said([106, 106]) && !is_said([60, 110]));
        assert!(is_said([98, 107]) && is_said([110, 212]));
    }

    #[test]
    fn what_only_some_repeats_found_is_told_with_what_kept_the_others_from_it() {
        let found = |count, by: Option<ResultBound>| BenchmarkResult {
            quantity: "recovery_ns".into(),
            count,
            bounded_by: by,
            ..BenchmarkResult::default()
        };
        let by = Some(ResultBound::NoOverloadLoss);
        assert_eq!(bound(&found(3, None), false, 3), None);
        assert_eq!(bound(&found(3, by), false, 3), None);
        let told = bound(&found(2, by), false, 3).unwrap();
        assert!(told.starts_with("recovery time not found in 1 of 3 repeats: "), "{told}");
        assert!(bound(&found(0, by), false, 3).unwrap().starts_with("recovery time not found: "));
        assert_eq!(bound(&found(3, by), true, 3).unwrap(), "bounded by an overload without loss");
    }

    fn summary_of(procedure: &str, verdicts: Vec<Option<bool>>, self_test: Option<SelfTest>) -> String {
        told_where(false, procedure, verdicts, self_test)
    }

    fn told_where(
        required: bool,
        procedure: &str,
        verdicts: Vec<Option<bool>>,
        self_test: Option<SelfTest>,
    ) -> String {
        let judged = |passed| Judgement { case: "baseline".into(), passed, ..Judgement::default() };
        let result = |quantity: &str| BenchmarkResult {
            quantity: quantity.into(),
            mean: Some(2e6),
            interval: Some([1e6, 3e6]),
            ..BenchmarkResult::default()
        };
        let quantities = [
            "forwarded_percent",
            "latency_median_ns",
            "latency_p99_ns",
            "latency_max_ns",
            "jitter_peak_to_peak_ns",
        ];
        let document = Benchmark {
            procedure: procedure.into(),
            results: quantities.map(result).into(),
            verdicts: verdicts.into_iter().map(judged).collect(),
            self_test,
            ..Benchmark::default()
        };
        summary(&document, required, Sheet::default())
    }

    #[test]
    fn claims_of_which_nothing_is_known_are_told_at_the_end_with_the_exit_code() {
        let last =
            |verdicts| summary_of("priority", verdicts, None).lines().last().unwrap_or_default().to_owned();
        assert_eq!(
            last(vec![Some(true), None, None]),
            "2 of 3 claims are INCONCLUSIVE: exit code 6 with --require-verdicts only"
        );
        let required = told_where(true, "priority", vec![Some(true), None], None);
        assert!(required.ends_with("INCONCLUSIVE: exit code 6 (--require-verdicts)\n"), "{required}");
        assert!(last(vec![None]).starts_with("1 of 1 claim is INCONCLUSIVE: "));
        assert!(!last(vec![Some(true), Some(false)]).contains("INCONCLUSIVE"));
    }

    #[test]
    fn a_latency_is_told_by_its_quantiles_and_jitters_with_intervals() {
        let text = summary_of("latency", Vec::new(), None);
        for head in ["median latency", "p99 latency", "maximum latency", "range of the latency"] {
            assert!(text.contains(head), "{text}");
        }
        assert!(text.matches("2.00 ms (1.00 ms to 3.00 ms)").count() >= 4, "{text}");
    }

    #[test]
    fn what_of_the_tester_was_not_held_is_told_once_and_shortly() {
        let item = |name: &str, passed| SelfTestItem { name: name.into(), passed, ..SelfTestItem::default() };
        let found = SelfTest {
            tests: vec![item("gap-100us", false), item("gap-150us", false), item("line-rate", true)],
            ..SelfTest::default()
        };
        let text = summary_of("load-sweep", Vec::new(), Some(found.clone()));
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("gap-100us")).collect();
        assert_eq!(
            lines,
            [
                "self-test FAIL (gap-100us, gap-150us): this host did not keep the gaps between frames; jitter and burst results \
                 are less exact"
            ]
        );
        let text = summary_of("self-test", Vec::new(), Some(found));
        assert_eq!(text.matches("gap-100us").count(), 1, "{text}");
        assert!(text.contains("self-test PASS (line-rate)"), "{text}");
    }

    /// Times and ratios have units, and the digits that their intervals leave.
    #[test]
    fn cells_have_units() {
        let shown = |quantity: &str, mean, interval| {
            let result = BenchmarkResult {
                quantity: quantity.into(),
                mean: Some(mean),
                interval,
                ..BenchmarkResult::default()
            };
            value(&result, quantity, 1e8)
        };
        assert_eq!(shown("latency_mean_ns", 137_504.2, Some([0.0, 300_000.0])), "138 µs (0 ns to 300 µs)");
        assert_eq!(shown("reset_by_loss_ns", 7.071e8, None), "707 ms");
        assert_eq!(shown("loss_ratio", 0.0, Some([0.0, 0.000_335])), "0 % (0 % to 0.034 %)");
        assert_eq!(shown("throughput_pps", 73_824.4, None), "73824");
    }

    /// The first thing of a summary is what was found, in frames, bits and shares of the line, with what it comes to.
    #[test]
    fn result_comes_first() {
        let result = |size, quantity: &str, mean, bounded_by: Option<ResultBound>| BenchmarkResult {
            case: "baseline".into(),
            frame_size: Some(size),
            quantity: quantity.into(),
            count: 1,
            mean: Some(mean),
            bounded_by,
            ..BenchmarkResult::default()
        };
        let tester = Some(ResultBound::Tester);
        let mut document = Benchmark {
            procedure: "throughput".into(),
            results: vec![
                result(64, "throughput_percent", 49.61, None),
                result(64, "throughput_pps", 73_824.4, None),
                result(128, "throughput_percent", 25.0, tester),
                result(128, "throughput_pps", 21_114.9, tester),
            ],
            self_test: Some(SelfTest::default()),
            ..Benchmark::default()
        };
        document.setup.line_rate_bps = 1e8;
        let text = summary(&document, false, Sheet::default());
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[2].join(" "), "case frame size frames/s Mbit/s % of line verdict", "{text}");
        assert_eq!(lines[3].join(" "), "baseline 64 B 73824 49.610 49.61 limit of the device", "{text}");
        assert_eq!(lines[4].join(" "), "baseline 128 B 21115 25.000 25.00 bounded by the tester", "{text}");
        assert!(text.find("self-test: no rate was sustained") > text.find("bounded by"), "{text}");
    }

    #[test]
    fn lines_are_no_wider_than_the_terminal_and_whole_where_there_is_none() {
        let long = "FAIL: none, code point cs0: received as ef; found: 12345 frames conform, 12 as af11, 3 as cs1\n\nshort\n";
        let whole = set(long, Sheet::default());
        assert_eq!(whole, long);
        let narrow = set(long, Sheet { width: Some(40), color: false });
        assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
        assert!(narrow.lines().count() > 4 && narrow.contains("\n\nshort\n"), "{narrow}");
        assert!(narrow.lines().skip(1).take(2).all(|line| line.starts_with("  ")), "{narrow}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow), words(long), "nothing is left out");
        let painted = set(long, Sheet { width: Some(40), color: true });
        assert!(painted.starts_with("\u{1b}[1;31mFAIL:\u{1b}[0m none, "), "{painted}");
        assert_eq!(painted.replace("\u{1b}[1;31m", "").replace("\u{1b}[0m", ""), narrow);
    }
}
