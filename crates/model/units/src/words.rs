//! Numbers of things, as sentences have them.

/// `1 frame`, `2 frames`: so many of what `one` is, a word that takes an `s`.
///
/// ```
/// use romer_units::counted;
/// assert_eq!(counted(1, "frame"), "1 frame");
/// assert_eq!(counted(0, "frame"), "0 frames");
/// ```
#[must_use]
pub fn counted(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// The same with words of their own for one and for all other numbers.
///
/// ```
/// use romer_units::counted_as;
/// assert_eq!(counted_as(1, "trial tells", "trials tell"), "1 trial tells");
/// assert_eq!(counted_as(2, "trial tells", "trials tell"), "2 trials tell");
/// ```
#[must_use]
pub fn counted_as(count: u64, one: &str, others: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { others })
}

/// What is said of so many in the past: `was` or `were`.
#[must_use]
pub const fn was(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

/// The beginning of `text` for a message: at most `longest` characters where control characters and quotation marks count as
/// the escapes that `{:?}` writes for them, and `...` where something was cut.
///
/// ```
/// use romer_units::excerpt;
/// assert_eq!(excerpt("20 ms", 8), "20 ms");
/// assert_eq!(excerpt("20 milliseconds", 8), "20 milli...");
/// assert_eq!(excerpt("20\u{1b}\u{1b}\u{1b}", 8), "20\u{1b}...");
/// ```
#[must_use]
pub fn excerpt(text: &str, longest: usize) -> String {
    let mut length = 0;
    let fits = |c: &char| {
        length += c.escape_debug().len();
        length <= longest
    };
    let shown: String = text.chars().take_while(fits).collect();
    if shown.len() == text.len() { shown } else { shown + "..." }
}
