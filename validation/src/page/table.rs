//! Tables of the page, and numbers in them.

use std::fmt::Write as _;

pub(super) type Out = String;

pub(super) fn line(out: &mut Out, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

pub(super) fn row<'a>(out: &mut Out, cells: impl IntoIterator<Item = &'a str>) {
    out.push('|');
    for cell in cells {
        let _ = write!(out, " {cell} |");
    }
    out.push('\n');
}

/// A heading of a table; columns from `words` on are numbers.
pub(super) fn head(out: &mut Out, words: usize, names: &[&str]) {
    out.push('\n');
    row(out, names.iter().copied());
    row(out, (0..names.len()).map(|column| if column < words { "---" } else { "---:" }));
}

/// Microseconds, with the digits that mean something.
pub(super) fn us(nanos: f64) -> String {
    let micros = nanos / 1e3;
    match micros.abs() {
        below if below < 9.995 => format!("{micros:.2}"),
        below if below < 99.95 => format!("{micros:.1}"),
        _ => format!("{micros:.0}"),
    }
}

pub(super) fn percent(ratio: f64) -> String {
    format!("{:.2} %", ratio * 100.0)
}
