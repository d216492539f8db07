//! Text from outside, made harmless.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// Makes control characters visible (`\u{1b}`), so that a name cannot move the cursor, colour the screen or end
/// the line. The marks that reorder text (the property `Bidi_Control` of Unicode) and the other separators of lines
/// (U+2028, U+2029) count as control characters here.
pub fn terminal(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) {
            let _ = write!(safe, "{}", c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// As [`terminal`], of a path.
pub fn path(path: &Path) -> String {
    terminal(&path.to_string_lossy())
}

/// An error on one line, with control characters made visible as in [`terminal`].
pub fn one_line(text: &str) -> String {
    terminal(&text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
}

/// Makes text harmless inside an element or a quoted attribute of HTML and of SVG; control characters are made
/// visible as in [`terminal`].
pub fn markup(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in terminal(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// As [`markup`], of text whose lines are to stay.
pub fn lines(text: &str) -> String {
    text.lines().map(markup).collect::<Vec<_>>().join("\n")
}

/// Makes control characters visible in lines of data for a terminal (`\u001b`, as JSON writes them). Line ends and tabs stay.
pub fn data(text: &str) -> Cow<'_, str> {
    escaped(text, |_| 0)
}

/// As [`data`], but keeps the sequences that colour text or make it bold (SGR). It is for our own summaries, which are made with
/// them, and in which text from files and peers is escaped already ([`terminal`]).
pub fn screen(text: &str) -> Cow<'_, str> {
    escaped(text, |from| style_length(from).unwrap_or(0))
}

/// Makes control characters visible, except line ends, tabs and the sequences of which `kept` gives the length.
fn escaped(text: &str, kept: impl Fn(&str) -> usize) -> Cow<'_, str> {
    let is_harmful = |c: char| is_control(c) && !matches!(c, '\n' | '\t');
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_harmful) {
        let (before, from) = rest.split_at(at);
        safe.push_str(before);
        let length = kept(from);
        let c = from.chars().next().unwrap_or_default();
        if length > 0 {
            safe.push_str(&from[..length]);
        } else {
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        }
        rest = &from[length.max(c.len_utf8())..];
    }
    safe.push_str(rest);
    Cow::Owned(safe)
}

/// The length of the sequence that `text` begins with, if it only sets colour or weight.
fn style_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let (parameters, _) = parameters.split_once('m')?;
    let is_style = |code: &str| {
        code.len() <= 2 && matches!(code.parse::<u8>(), Ok(0..=2 | 4 | 22 | 24 | 30..=37 | 39 | 90..=97))
    };
    parameters.split(';').all(is_style).then_some("\x1b[m".len() + parameters.len())
}

/// A command of these words, each quoted where a shell would take it for more than a word.
pub fn shell(words: &[String]) -> String {
    words.iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" ")
}

fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%@+[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hostile_name_is_shown_and_does_nothing() {
        assert_eq!(terminal("a\x1b[2J\nb\u{202e}"), "a\\u{1b}[2J\\u{a}b\\u{202e}");
        assert_eq!(markup("<script>\"'&\x07"), "&lt;script&gt;&quot;&#39;&amp;\\u{7}");
        assert_eq!(terminal("Rømer 1676 → µs"), "Rømer 1676 → µs");
        for mark in ['\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{2069}'] {
            assert!(!terminal(&format!("a{mark}b")).contains(mark), "{mark:?} reorders text");
        }
    }

    /// A summary keeps its colours; a name in it moves no cursor, sets no title and hides nothing.
    #[test]
    fn screen_keeps_lines_and_colours() {
        let summary = "\x1b[1mRun\x1b[0m\tof \x1b[1;31mone\x1b[0m\n";
        assert_eq!(screen(summary), summary);
        assert_eq!(
            screen("a\x1b[2Jb\x1b]0;t\x07\r\u{9b}c\u{202e}"),
            "a\\u001b[2Jb\\u001b]0;t\\u0007\\u000d\\u009bc\\u202e"
        );
        assert_eq!(screen("\x1b[8mhidden\x1b[m\x1b["), "\\u001b[8mhidden\\u001b[m\\u001b[");
        let json = serde_json::to_string("\u{9b}2J\u{7f}\x1b").unwrap();
        assert_eq!(serde_json::from_str::<String>(&screen(&json)).unwrap(), "\u{9b}2J\u{7f}\x1b");
    }

    /// Data has no colours of its own: a sequence in it is from a file or a peer.
    #[test]
    fn data_keeps_no_styles() {
        assert_eq!(data("a\x1b[31mb\t\x1b[1mc\n"), "a\\u001b[31mb\t\\u001b[1mc\n");
    }

    /// A shell reads a quoted word back unchanged.
    #[test]
    fn quoted_words_survive_a_shell() {
        assert_eq!(shell_quoted("192.0.2.1:862"), "192.0.2.1:862");
        assert_eq!(shell_quoted("two words"), "'two words'");
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
        assert_eq!(shell_quoted(""), "''");
        assert_eq!(shell_quoted("$(reboot)"), "'$(reboot)'");
    }

    proptest! {
        #[test]
        fn data_keeps_no_control_characters(text in any::<String>()) {
            prop_assert!(!data(&text).contains(|c| is_control(c) && !matches!(c, '\n' | '\t')));
        }

        #[test]
        fn screen_leaves_styles_only(text in "[a\x1b\\[0-9;mJ\x07\u{9b}\n]{0,40}") {
            let safe = screen(&text);
            for (at, _) in safe.match_indices(is_control).filter(|(_, c)| *c != "\n") {
                prop_assert!(style_length(&safe[at..]).is_some(), "{safe:?}");
            }
        }

        #[test]
        fn nothing_escaped_holds_control_characters_or_markup(text in any::<String>()) {
            prop_assert!(!terminal(&text).contains(is_control));
            let safe = markup(&text);
            prop_assert!(!safe.contains(['<', '>', '"', '\'']) && !safe.contains(is_control));
        }
    }
}
