//! Parts of a benchmark as text.

use romer_record::benchmark::{Benchmark, BenchmarkResult, Difference, Judgement, Outlier, Overall};
use romer_record::document::Limit;
use romer_record::quantity::Quantity;
use romer_record::warning::BenchmarkWarning;

use super::judgement::{expected_text, observed_text, subject_text};
use crate::number::{NO_BREAK, counted, grouped, percent_to, rounded, step_of, time_to};

/// The name of a quantity in a sentence.
pub fn label(name: &str) -> &str {
    Quantity::named(name).map_or(name, |quantity| quantity.label)
}

/// The difference of two cases at one size and load.
pub fn difference_words(one: &Difference) -> String {
    let at = one.load_percent.map_or_else(String::new, |load| format!(" at {load:.1} %"));
    let ends = one.interval.unwrap_or_default();
    let [mean, low, high] =
        amounts(&one.quantity, ends, [one.mean.unwrap_or_default(), ends[0], ends[1]]).map(signed);
    format!(
        "{} - {}, {}{at}: {} {mean} (95 % CI {low} to {high})",
        one.to,
        one.from,
        size_words(one.frame_size),
        label(&one.quantity),
    )
}

/// An amount with its sign.
fn signed(amount: String) -> String {
    if amount.starts_with('-') { amount } else { format!("+{amount}") }
}

/// The difference of a case over all sizes and loads.
pub fn overall_words(one: &Overall) -> String {
    let interval = one.median_interval.map_or_else(
        || "; no interval from a single repeat".into(),
        |[low, high]| {
            let told = if low <= 0.0 && high >= 0.0 { ", not significant" } else { "" };
            let [low, high] = amounts(&one.quantity, [low, high], [low, high]);
            format!(", 95 % CI {} to {} ({} repeats){told}", signed(low), signed(high), one.repeats)
        },
    );
    format!(
        "{} compared with {}, over {}: {} {} (median){interval}",
        one.to,
        one.from,
        counted(one.combinations, "combination of size and load", "combinations of size and load"),
        label(&one.quantity),
        signed(amount(&one.quantity, one.median.unwrap_or_default())),
    )
}

/// A value of a quantity, or of a limit on one, with the unit of the quantity.
pub fn amount(quantity: &str, value: f64) -> String {
    let name = quantity.split(['<', '>', '=', '.']).next().unwrap_or_default().trim();
    amount_to(Quantity::named(name).map_or(name, |quantity| quantity.name), value, 0.0).replace(NO_BREAK, " ")
}

/// A value of a quantity with its unit, and with the digits that show differences of `step`.
pub(super) fn amount_to(name: &str, value: f64, step: f64) -> String {
    let unit = match name.rsplit('_').next() {
        Some("ns") => return time_to(value, step, true),
        Some("ratio") => return percent_to(value, step),
        Some("percent") => return format!("{}{NO_BREAK}%", grouped(value, 2)),
        Some("bps") => "bit/s",
        Some("pps" | "fps") => "frames/s",
        Some("frames") => "frames",
        _ => return grouped(value, 3),
    };
    format!("{}{NO_BREAK}{unit}", rounded(value))
}

/// Values of a quantity, such as the ends of an interval, with the digits that show the difference of the first two.
fn amounts<const N: usize>(name: &str, ends: [f64; 2], values: [f64; N]) -> [String; N] {
    values.map(|value| amount_to(name, value, step_of(ends)).replace(NO_BREAK, " "))
}

/// The mean of a time or a ratio and its interval, with units and the digits that the interval leaves.
pub fn mean_words(result: &BenchmarkResult) -> Option<String> {
    let mean = result.mean?;
    Some(match result.interval {
        Some([low, high]) => {
            let [mean, low, high] = amounts(&result.quantity, [low, high], [mean, low, high]);
            format!("{mean} ({low} to {high})")
        }
        None => amount(&result.quantity, mean),
    })
}

/// An outlier in a curve.
pub fn outlier_words(one: &Outlier) -> String {
    let frames = one.frame_size.map_or_else(|| "the mixture".into(), |size| format!("frames of {size} B"));
    let at = one.load_percent.map_or_else(String::new, |load| format!(" at {load:.1} %"));
    let Outlier { case, quantity, .. } = one;
    format!(
        "case {case}, {frames}{at}: {quantity} is {}, expected {} from other loads or sizes",
        with_unit(quantity, one.measured),
        with_unit(quantity, one.expected)
    )
}

/// A value with the unit that the name of its quantity ends with; times in microseconds.
fn with_unit(quantity: &str, value: f64) -> String {
    match quantity.rsplit('_').next() {
        Some("ns") => format!("{:.3} us", value / 1e3),
        Some("percent") => format!("{value:.3} %"),
        Some("pps") => format!("{value:.1} frames/s"),
        _ => format!("{value:.3}"),
    }
}

/// The warnings that no other line has in detail.
pub fn warnings(document: &Benchmark) -> impl Iterator<Item = &BenchmarkWarning> {
    document.warnings.iter().filter(|warning| {
        !matches!(warning, BenchmarkWarning::SelfTestFailed | BenchmarkWarning::TrialsDiscarded { .. })
    })
}

/// A claim, whether it holds, and what was found.
pub fn verdict_words(one: &Judgement) -> String {
    let [subject, expected, found] = [subject_text(one), expected_text(one), observed_text(one)];
    format!("{}: {}, {subject}: expected: {expected}; found: {found}", outcome(one.passed), one.case)
}

/// A limit, whether it held, and the value that it was held against.
pub fn limit_words(one: &Limit) -> String {
    let worst = one.value.map_or_else(
        || "some of its values are unknown".into(),
        |value| format!("worst value {}", amount(&one.limit, value)),
    );
    format!("{}: {} ({worst})", outcome(limit_holds(one)), one.limit)
}

/// Whether a limit held; `None` where its value is unknown.
pub(super) fn limit_holds(one: &Limit) -> Option<bool> {
    (one.passed || one.value.is_some()).then_some(one.passed)
}

const fn outcome(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "PASS",
        Some(false) => "FAIL",
        None => "INCONCLUSIVE",
    }
}

#[expect(clippy::cast_precision_loss, reason = "a time for people")]
pub(super) fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

pub(super) fn size_words(size: Option<u32>) -> String {
    size.map_or_else(|| "mixture".into(), |size| format!("{size} B"))
}
