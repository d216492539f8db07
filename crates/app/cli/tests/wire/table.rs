//! Tables of rows, tabs between their fields.

use std::collections::BTreeMap;

/// A row: its fields by the names in the header line.
pub(crate) type Row = BTreeMap<String, String>;

/// The rows of `text`, which begins with comments and a header line.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), names.len(), "{line:?}");
        names.iter().zip(fields).map(|(name, field)| ((*name).to_owned(), field.to_owned())).collect()
    };
    lines.map(row).collect()
}

/// The octets of `00000001 ff*28`.
pub(crate) fn octets(text: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    for token in text.split_whitespace().filter(|token| *token != "-") {
        let (digits, times) = token.split_once('*').unwrap_or((token, "1"));
        let pairs = digits.as_bytes().chunks(2);
        let once: Vec<u8> =
            pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect();
        octets.extend(once.repeat(times.parse().unwrap()));
    }
    octets
}
