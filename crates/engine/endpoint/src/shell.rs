//! Commands as a shell reads them back.

/// A command of these words, each quoted where a shell would take it for more than a word.
pub fn shell(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=%@+[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell reads a quoted word back unchanged.
    #[test]
    fn quoted_words_survive_a_shell() {
        assert_eq!(quoted("192.0.2.1:862"), "192.0.2.1:862");
        assert_eq!(quoted("two words"), "'two words'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("$(reboot)"), "'$(reboot)'");
    }
}
