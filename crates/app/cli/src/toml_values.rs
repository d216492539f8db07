//! What readers of TOML files with the names of options have in common.

/// The first line of a message.
pub(crate) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().into()
}

/// Where an octet of the text stands, both from 1.
pub(crate) fn line_and_column(text: &[u8], at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line = before.iter().filter(|octet| **octet == b'\n').count() + 1;
    let start = before.iter().rposition(|octet| *octet == b'\n').map_or(0, |place| place + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (line, column)
}
