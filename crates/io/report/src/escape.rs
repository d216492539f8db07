//! Text from outside, made harmless.

use std::fmt::Write;

/// Makes control characters visible (`\u{1b}`), so that a name cannot move the cursor, colour the screen or end
/// the line. The marks that reorder text (U+202A to U+202E, U+2066 to U+2069) and the other separators of lines
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

fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
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
    }

    proptest! {
        #[test]
        fn nothing_escaped_holds_control_characters_or_markup(text in any::<String>()) {
            prop_assert!(!terminal(&text).contains(is_control));
            let safe = markup(&text);
            prop_assert!(!safe.contains(['<', '>', '"', '\'']) && !safe.contains(is_control));
        }
    }
}
