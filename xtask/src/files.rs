//! The repository's text files.

use std::fs;
use std::io;
use std::path::Path;

/// Folders that are made, not written.
const MADE: [&str; 6] = [".git", ".tools", "artifacts", "corpus", "node_modules", "target"];
/// Larger files are data.
const LIMIT: u64 = 1 << 20;

/// One text file.
#[derive(Debug)]
pub(crate) struct Text {
    /// From the root, with slashes.
    pub(crate) path: String,
    pub(crate) content: String,
}

impl Text {
    /// Lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.content.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// A Rust file's code before its tests, which are its last modules.
    pub(crate) fn before_tests(&self) -> &str {
        let is_module = |from: usize| {
            let line = self.content[from..].lines().next().unwrap_or_default();
            line.trim_start_matches("pub(crate) ").starts_with("mod ") && line.contains('{')
        };
        let mut marks = self.content.match_indices("\n#[cfg(test)]\n");
        let tests = marks.find(|(at, mark)| is_module(at + mark.len()));
        &self.content[..tests.map_or(self.content.len(), |(at, _)| at)]
    }

    /// Names of the modules in files of their own that a Rust file declares for tests.
    pub(crate) fn test_modules(&self) -> impl Iterator<Item = &str> {
        let lines = self.content.lines().map(str::trim);
        let declared = lines.clone().zip(lines.skip(1)).filter(|(attribute, _)| *attribute == "#[cfg(test)]");
        declared.filter_map(|(_, module)| module.rsplit_once("mod ")?.1.strip_suffix(';'))
    }

    /// What stands behind the last dot of the name.
    pub(crate) fn extension(&self) -> &str {
        Path::new(&self.path).extension().and_then(|extension| extension.to_str()).unwrap_or("")
    }
}

/// Every text file under `root` that people write, in order of path.
pub(crate) fn texts(root: &Path) -> io::Result<Vec<Text>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name();
            let made = name.to_str().is_none_or(|name| MADE.contains(&name));
            if kind.is_dir() && !made {
                folders.push(entry.path());
            }
            if !kind.is_file() || name == "Cargo.lock" || entry.metadata()?.len() > LIMIT {
                continue;
            }
            if let (Ok(content), Ok(path)) =
                (String::from_utf8(fs::read(entry.path())?), entry.path().strip_prefix(root))
            {
                found.push(Text { path: path.display().to_string(), content });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Whether `word` stands in `line` with no letter, digit or underscore on either side.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(part_of_word) && !line[at + word.len()..].starts_with(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code ends where the first module for tests begins, whatever its visibility.
    #[test]
    fn tests_end_the_code() {
        let text = |content: &str| Text { path: String::new(), content: content.into() };
        for module in ["mod tests {", "pub(crate) mod strategies {"] {
            let file = text(&format!("use a;\n#[cfg(test)]\nuse b;\n#[cfg(test)]\n{module}\n}}\n"));
            assert_eq!(file.before_tests(), "use a;\n#[cfg(test)]\nuse b;");
        }
        assert_eq!(
            text("fn a() {}\n#[cfg(test)]\nmod t;\n").before_tests(),
            "fn a() {}\n#[cfg(test)]\nmod t;\n"
        );
    }

    #[test]
    fn a_word_is_found_only_whole() {
        assert!(has_word("let t = Instant::now();", "Instant"));
        assert!(!has_word("let t = Instantly;", "Instant"));
        assert!(!has_word("mktemp -d /tmp/a.QQQQQQ", "QQQ"));
        assert!(has_word("QQQ: mend", "QQQ"));
    }
}
