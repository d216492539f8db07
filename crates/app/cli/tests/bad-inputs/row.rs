//! A row of the table, and how its command line is read.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// What one row says.
#[derive(Clone, Debug)]
pub(crate) struct BadInput {
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) code: i32,
    pub(crate) says: Vec<String>,
    pub(crate) never: Vec<String>,
}

/// The rows of a table: five columns with a tab between, a heading, and lines with `#` that say what follows.
pub(crate) fn read(table: &str) -> Vec<BadInput> {
    let mut lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    assert_eq!(lines.next(), Some("id\tcommand\tcode\tsays\tnever says"));
    lines.map(BadInput::read).collect()
}

impl BadInput {
    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, command, code, says, rest @ ..] = &fields[..] else { panic!("too few columns: {line}") };
        assert!(rest.len() <= 1, "too many columns: {line}");
        let parts = |text: &str| text.split(" & ").filter(|part| !part.is_empty()).map(Into::into).collect();
        Self {
            id: (*id).into(),
            command: (*command).into(),
            code: code.parse().unwrap_or_else(|_| panic!("no exit code: {line}")),
            says: parts(says),
            never: parts(rest.first().unwrap_or(&"")),
        }
    }
}

/// Where the program's standard output goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// It is kept.
    Kept,
    /// To a pipe whose reader has gone away.
    Gone,
    /// To a file.
    File(OsString),
}

/// A command line that has been read.
#[derive(Clone, Debug)]
pub(crate) struct CommandLine {
    /// Without the rights of root, if the test has them.
    pub(crate) bare: bool,
    /// In a network of its own, with no rights in it.
    pub(crate) alone: bool,
    /// Environment variables that are set, or (`None`) are not.
    pub(crate) environment: Vec<(OsString, Option<OsString>)>,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) output: Output,
}

impl CommandLine {
    /// Reads `[bare|alone] [NAME=VALUE] [-NAME] romer ARGUMENT ... [>FILE | >|]`. `{NAME}` is what `fixture` makes
    /// of it, `{C*N}` is a character N times; `\e`, `\n`, `\t`, `\xNN`, `\\` are octets; single quotes keep spaces.
    pub(crate) fn read(text: &str, mut fixture: impl FnMut(&str) -> OsString) -> Self {
        let mut words = words(text).into_iter().map(|word| expanded(&word, &mut fixture));
        let mut line = Self {
            bare: false,
            alone: false,
            environment: Vec::new(),
            arguments: Vec::new(),
            output: Output::Kept,
        };
        for word in words.by_ref() {
            let word_text = word.to_string_lossy().into_owned();
            match word_text.as_str() {
                "romer" => break,
                "bare" => line.bare = true,
                "alone" => line.alone = true,
                other => line.environment.push(match (other.strip_prefix('-'), other.split_once('=')) {
                    (Some(name), _) => (name.into(), None),
                    (None, Some((name, value))) => (name.into(), Some(value.into())),
                    (None, None) => panic!("{other:?} before romer: {text}"),
                }),
            }
        }
        line.arguments = words.collect();
        let last = line.arguments.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(file) = last.strip_prefix('>') {
            line.output = if file == "|" { Output::Gone } else { Output::File(file.into()) };
            line.arguments.pop();
        }
        line
    }
}

/// Words between spaces, with quotes taken off; a word of two quotes is an empty one.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in text.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    assert!(!quoted, "a quote is not closed: {text}");
    words.extend(word);
    words
}

fn expanded(word: &str, fixture: &mut impl FnMut(&str) -> OsString) -> OsString {
    let (mut octets, mut rest) = (Vec::new(), word);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let (octet, length) = escape(rest);
                octets.push(octet);
                rest = &rest[length..];
            }
            '{' => {
                let (name, after) =
                    rest.split_once('}').unwrap_or_else(|| panic!("no closing brace: {word}"));
                rest = after;
                match name.split_once('*') {
                    Some((text, times)) => octets.extend(text.repeat(times.parse().unwrap()).bytes()),
                    None => octets.extend(fixture(name).into_vec()),
                }
            }
            _ => octets.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    OsString::from_vec(octets)
}

/// The octet of an escape, and the length of what stands for it.
fn escape(text: &str) -> (u8, usize) {
    match text.as_bytes() {
        [b'e', ..] => (0x1b, 1),
        [b'n', ..] => (b'\n', 1),
        [b't', ..] => (b'\t', 1),
        [b'\\', ..] => (b'\\', 1),
        [b'x', ..] => (u8::from_str_radix(&text[1..3], 16).unwrap(), 3),
        _ => panic!("no such escape: \\{text}"),
    }
}
