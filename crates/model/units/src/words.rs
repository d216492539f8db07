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

/// What is said of so many in the past: `was` or `were`.
#[must_use]
pub const fn was(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}
