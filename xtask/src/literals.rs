//! Texts in Rust code.

use crate::files::Text;

/// A string literal.
pub(crate) struct Literal<'a> {
    /// The line that it begins in, from 1.
    pub(crate) line: usize,
    /// As it stands between its quotes.
    pub(crate) text: &'a str,
    /// The code since the literal before it, without spaces and comments.
    pub(crate) before: String,
    /// The code before each bracket that it is in, from the outermost, without the bracket: since the bracket, comma or semicolon
    /// before, with single spaces.
    pub(crate) within: Vec<String>,
}

/// The literals of a file, without those of comments and of its tests.
pub(crate) fn literals(file: &Text) -> Vec<Literal<'_>> {
    let code = file.before_tests();
    let mut found = Vec::new();
    let mut rest = code;
    let mut before = String::new();
    let (mut within, mut head): (Vec<String>, String) = Default::default();
    while let Some(next) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest = &rest[rest[1..].find('\'').map_or(rest.len(), |end| end + 2)..];
        } else if let Some((text, after)) = literal(rest) {
            let line = 1 + code[..code.len() - rest.len()].matches('\n').count();
            found.push(Literal { line, text, before: std::mem::take(&mut before), within: within.clone() });
            rest = after;
        } else {
            match next {
                '(' | '[' | '{' => within.push(std::mem::take(&mut head).trim_end().to_owned()),
                ')' | ']' | '}' => {
                    within.pop();
                    head.clear();
                }
                ',' | ';' => head.clear(),
                _ if next.is_whitespace() && (head.is_empty() || head.ends_with(' ')) => {}
                _ => head.push(if next.is_whitespace() { ' ' } else { next }),
            }
            if !next.is_whitespace() {
                before.push(next);
            }
            rest = &rest[next.len_utf8()..];
        }
    }
    found
}

/// The string literal that `code` begins with, and what follows it.
fn literal(code: &str) -> Option<(&str, &str)> {
    if let Some(raw) = code.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let at = body.find(&end)?;
        return Some((&body[..at], &body[at + end.len()..]));
    }
    let body = code.strip_prefix('"')?;
    let mut escaped = false;
    for (at, next) in body.char_indices() {
        match next {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some((&body[..at], &body[at + 1..])),
            _ => {}
        }
    }
    None
}
