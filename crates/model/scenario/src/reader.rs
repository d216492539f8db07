//! Tables of a TOML document, read key by key, with the place of each error.

use core::ops::Range;

use romer_units::{Duration, Rate};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::repeated::first_of_two;

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} ({file}:{line}:{column}): {why}")]
pub struct ScenarioError {
    /// The file, as the caller named it.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The key or table.
    pub what: String,
    /// In words, with what to do.
    pub why: String,
}

/// The text of a document, and its names.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'t> {
    /// The text.
    pub text: &'t str,
    /// Its file, for errors.
    pub file: &'t str,
    /// What it is, for errors of the whole document: `the scenario`.
    pub document: &'static str,
}

impl<'t> SourceText<'t> {
    /// The document's table.
    ///
    /// # Errors
    /// A text that is not TOML.
    pub fn parse(self) -> Read<Spanned<DeTable<'t>>> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let mut message = error.message().lines().map(str::trim).collect::<Vec<_>>().join(" ");
            if let Some(line) = first_of_two(self.text, &error) {
                message = format!("{message}, given first on line {line}");
            }
            self.error(at, self.document, format!("is not TOML: {message}; correct it there"))
        })
    }

    /// An error at an octet of the text.
    pub fn error(&self, at: usize, what: &str, why: impl Into<String>) -> ScenarioError {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        ScenarioError { file: self.file.into(), line, column, what: visible(what), why: visible(&why.into()) }
    }
}

/// The text with its control characters as their numbers: a key may hold any.
fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// A table whose keys are requested one by one; a key that was never requested is unknown.
#[derive(Debug)]
pub struct TableReader<'t> {
    source: SourceText<'t>,
    table: &'t DeTable<'t>,
    /// As people write it: `a_to_b.loss`.
    name: String,
    at: usize,
    known: Vec<&'static str>,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub struct Item<'t> {
    source: SourceText<'t>,
    value: &'t Spanned<DeValue<'t>>,
    name: String,
}

/// A text or a number, as an option of the command line takes it.
pub fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

/// What was read, or what is wrong.
pub type Read<T> = Result<T, ScenarioError>;

impl<'t> TableReader<'t> {
    /// A table of a document; `name` is empty for the document itself, and `at` the octet where it begins.
    pub fn new(source: SourceText<'t>, table: &'t DeTable<'t>, name: &str, at: usize) -> Self {
        Self { source, table, name: name.into(), at, known: Vec::new() }
    }

    /// The value of `key`, if it is there.
    pub fn get(&mut self, key: &'static str) -> Option<Item<'t>> {
        self.known.push(key);
        let (_, value) = self.table.iter().find(|(found, _)| found.get_ref().as_ref() == key)?;
        Some(Item { source: self.source, value, name: self.path(key) })
    }

    /// Says which keys will be asked for, where one looks like another: none is taken for another mistyped.
    pub fn has(&mut self, keys: &[&'static str]) {
        self.known.extend(keys);
    }

    /// The keys that were not requested, in the order of the document, and their values: for tables of names. They count as requested.
    pub fn entries(self) -> Vec<(&'t Spanned<DeString<'t>>, Item<'t>)> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .filter(|(key, _)| !self.known.contains(&key.get_ref().as_ref()))
            .map(|(key, value)| {
                let shown = romer_units::excerpt(key.get_ref(), 60);
                (key, Item { source: self.source, value, name: self.path(&shown) })
            })
            .collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    /// The value of `key`, which must be there.
    ///
    /// # Errors
    /// A missing key, or a key that is mistyped.
    pub fn need(&mut self, key: &'static str) -> Read<Item<'t>> {
        self.get(key).ok_or_else(|| {
            let absent: Vec<&str> = self.absent(key).collect();
            let mistyped = self.table.iter().find(|(found, _)| {
                let found = found.get_ref().as_ref();
                !self.known.contains(&found) && nearest(found, absent.iter().copied()).is_some()
            });
            match mistyped {
                Some((found, _)) => self.unknown(found, &absent),
                None => self.error(format!("has no {key}; write {key} = ...")),
            }
        })
    }

    /// The keys that were asked for and are not there, and `key`.
    fn absent<'k>(&'k self, key: &'k str) -> impl Iterator<Item = &'k str> {
        let is_there = |wanted: &str| self.table.iter().any(|(found, _)| found.get_ref().as_ref() == wanted);
        self.known.iter().copied().filter(move |known| !is_there(known) && *known != key).chain([key])
    }

    /// The name of a key with those of its tables.
    pub fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.into() } else { format!("{}.{key}", self.name) }
    }

    /// Something wrong with the table as a whole.
    pub fn error(&self, why: impl Into<String>) -> ScenarioError {
        let name = if self.name.is_empty() { self.source.document } else { &self.name };
        self.source.error(self.at, name, why)
    }

    /// Refuses keys that were never requested.
    ///
    /// # Errors
    /// An unknown key.
    pub fn finish(self) -> Read<()> {
        for (key, _) in self.table {
            if !self.known.contains(&key.get_ref().as_ref()) {
                return Err(self.unknown(key, &self.known));
            }
        }
        Ok(())
    }

    fn unknown(&self, key: &Spanned<DeString<'_>>, known: &[&str]) -> ScenarioError {
        let found = key.get_ref().as_ref();
        // A key may have been asked for more than once.
        let mut listed: Vec<&str> = Vec::new();
        for key in known {
            if !listed.contains(key) {
                listed.push(key);
            }
        }
        let advice = nearest(found, listed.iter().copied()).map_or_else(
            || format!("known are {}", listed.join(", ")),
            |near| format!("did you mean {near}?"),
        );
        let shown = romer_units::excerpt(found, 60);
        self.source.error(key.span().start, &self.path(&shown), format!("unknown key {shown:?}; {advice}"))
    }
}

/// The known word that a mistyped one probably meant.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// The beginning of a word stands for it from so many octets on.
    const BEGINNING: usize = 4;
    let known: Vec<&str> = known.into_iter().collect();
    let (distance, best) =
        known.iter().map(|word| (edits(found, word), *word)).min_by_key(|(distance, _)| *distance)?;
    if distance <= 1 + best.len() / 4 {
        return Some(best);
    }
    known.into_iter().find(|word| found.len() >= BEGINNING && word.starts_with(found))
}

/// How many letters must be changed, put in, taken out or exchanged with their neighbour.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(60).collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

impl<'t> Item<'t> {
    /// Its place in the text, octets.
    pub fn span(&self) -> Range<usize> {
        self.value.span()
    }

    /// Something wrong with the value.
    pub fn error(&self, why: impl Into<String>) -> ScenarioError {
        self.source.error(self.span().start, &self.name, why)
    }

    fn wanted(&self, what: &str) -> ScenarioError {
        let found = match self.value.get_ref() {
            DeValue::String(text) => {
                let shown = romer_units::excerpt(text, 60);
                format!("the string {shown:?}")
            }
            DeValue::Integer(number) => format!("the whole number {}", number.as_str()),
            DeValue::Float(number) => format!("the number {}", number.as_str()),
            DeValue::Boolean(flag) => format!("{flag}"),
            DeValue::Datetime(_) => "a date".into(),
            DeValue::Array(_) => "a list".into(),
            DeValue::Table(_) => "a table".into(),
        };
        self.error(format!("is {found}; write {what}"))
    }

    /// The table.
    ///
    /// # Errors
    /// Another type of value.
    pub fn table(&self) -> Read<TableReader<'t>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(TableReader::new(self.source, table, &self.name, self.span().start)),
            _ => Err(self.wanted("a table")),
        }
    }

    /// The values of the list. They are counted from 1 in errors.
    ///
    /// # Errors
    /// Another type of value.
    pub fn list(&self) -> Read<Vec<Self>> {
        let DeValue::Array(array) = self.value.get_ref() else { return Err(self.wanted("a list")) };
        let item =
            |(number, value)| Self { source: self.source, value, name: format!("{}[{number}]", self.name) };
        Ok((1..).zip(array.iter()).map(|(number, value): (usize, _)| item((number, value))).collect())
    }

    /// The text. `what` is what it should be.
    ///
    /// # Errors
    /// Another type of value.
    pub fn string(&self, what: &str) -> Read<&'t str> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.as_ref()),
            _ => Err(self.wanted(what)),
        }
    }

    /// True or false.
    ///
    /// # Errors
    /// Another type of value.
    pub fn flag(&self) -> Read<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.wanted("true or false")),
        }
    }

    /// One of the words.
    ///
    /// # Errors
    /// Another type of value, or a word that is not one of them.
    pub fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Read<T> {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let listed = names.join(", ");
        let found = self.string(&format!("one of {listed}"))?;
        words.iter().find(|(name, _)| *name == found).map(|(_, value)| *value).ok_or_else(|| {
            let shown = romer_units::excerpt(found, 60);
            let near = nearest(found, names.iter().copied())
                .map_or(String::new(), |near| format!("did you mean {near}? "));
            self.error(format!("is {shown:?}; {near}known are {listed}"))
        })
    }

    /// A whole number in a range.
    ///
    /// # Errors
    /// Another type of value, or a number outside the range.
    pub fn whole(&self, low: u64, high: u64) -> Read<u64> {
        let what = format!("a whole number from {low} to {high}");
        let DeValue::Integer(number) = self.value.get_ref() else { return Err(self.wanted(&what)) };
        u64::from_str_radix(&number.as_str().replace(['_', '+'], ""), number.radix())
            .ok()
            .filter(|number| (low..=high).contains(number))
            .ok_or_else(|| self.wanted(&what))
    }

    /// A number in a range.
    ///
    /// # Errors
    /// Another type of value, or a number outside the range.
    pub fn number(&self, low: f64, high: f64, what: &str) -> Read<f64> {
        let text = match self.value.get_ref() {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(self.wanted(what)),
        };
        let number: f64 = text.replace('_', "").parse().map_err(|_| self.wanted(what))?;
        if number.is_finite() && (low..=high).contains(&number) { Ok(number) } else { Err(self.wanted(what)) }
    }

    /// A probability: 0.3, or "30%".
    ///
    /// # Errors
    /// Another type of value, or no probability.
    pub fn probability(&self) -> Read<f64> {
        let what = "a probability from 0 to 1, or from \"0%\" to \"100%\"";
        if let DeValue::String(text) = self.value.get_ref() {
            let share = text.strip_suffix('%').and_then(|digits| digits.trim().parse::<f64>().ok());
            return share
                .map(|share| share / 100.0)
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or_else(|| self.wanted(what));
        }
        self.number(0.0, 1.0, what)
    }

    /// A length of time in a range, nanoseconds.
    ///
    /// # Errors
    /// Another type of value, no length of time, or one outside the range.
    pub fn time(&self, low: i64, high: i64) -> Read<i64> {
        let bounds = format!("from {} to {}", Duration::from_nanos(low), Duration::from_nanos(high));
        let what = format!("a length of time {bounds} with its unit, such as \"30ms\" or \"10us\"");
        let text = self.string(&what)?;
        let time = text.parse::<Duration>().map_err(|why| self.error(why.to_string()))?.as_nanos();
        if (low..=high).contains(&time) { Ok(time) } else { Err(self.wanted(&what)) }
    }

    /// A rate with its unit.
    ///
    /// # Errors
    /// Another type of value, or no rate.
    pub fn rate(&self) -> Read<Rate> {
        let text = self.string("a rate with its unit, such as \"10Mbit\" or \"148809pps\"")?;
        text.parse().map_err(|why: romer_units::QuantityError| self.error(why.to_string()))
    }

    /// Octets, with their unit.
    ///
    /// # Errors
    /// Another type of value, a number without a unit, or one outside the range.
    pub fn octets(&self, low: u64, high: u64) -> Read<u64> {
        const UNITS: [(&str, u64); 6] = [
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("B", 1),
        ];
        let what = format!("bytes from {low}B to {high}B with their unit, such as \"64KiB\" or \"1500B\"");
        let text = self.string(&what)?;
        let octets = UNITS.iter().find_map(|(unit, octets)| {
            let digits = text.strip_suffix(unit)?.trim();
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse::<u64>().ok()?.checked_mul(*octets)).flatten()
        });
        octets.filter(|octets| (low..=high).contains(octets)).ok_or_else(|| self.wanted(&what))
    }

    /// The text, read by its own type.
    ///
    /// # Errors
    /// Another type of value, or a text that its type does not accept.
    pub fn parsed<T: core::str::FromStr>(&self, what: &str) -> Read<T> {
        self.string(what)?.parse().map_err(|_| self.wanted(what))
    }

    /// The value as the parser has it.
    pub fn value(&self) -> &'t DeValue<'t> {
        self.value.get_ref()
    }

    /// Whether the value is text.
    pub fn is_text(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::String(_))
    }
}
