//! No sentences in `model/` and `engine/` besides errors: they give typed values, and `romer-report` has the words.
//!
//! Files that still have some, most of them errors that are made where they occur, are listed in `xtask/sentences.txt`, which can
//! only shrink.

use std::collections::BTreeSet;

use crate::files::Text;
use crate::finding::Violation;
use crate::literals::{Literal, literals};

/// Crates whose sources are looked at.
const FOLDERS: [&str; 2] = ["crates/model/", "crates/engine/"];
/// Files that still have sentences, a path a line.
const LIST: &str = "xtask/sentences.txt";
/// So many words in a row make a sentence.
const WORDS: usize = 3;
/// What may stand before a literal that is for developers or an error.
const EXCUSED: [&str; 13] = [
    "#[error(",
    "assert!(",
    "assert_eq!(",
    "assert_ne!(",
    "debug_assert!(",
    "expect(",
    "expected=",
    "help=",
    "panic!(",
    "reason=",
    "unreachable!(",
    "include_str!(",
    "doc=",
];

/// Files with sentences that are not listed, and listed ones without.
pub(crate) fn check(files: &[Text]) -> Vec<Violation> {
    let list = files.iter().find(|file| file.path == LIST).map_or("", |file| &file.content);
    let mut allowed: BTreeSet<&str> = list.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let tests = test_modules(files);
    let is_test =
        |path: &str| tests.iter().any(|module| path.strip_prefix(module.as_str()).is_some_and(is_of_module));
    let mut findings = Vec::new();
    let sources = files.iter().filter(|file| {
        FOLDERS.iter().any(|folder| file.path.starts_with(folder))
            && file.path.contains("/src/")
            && file.extension() == "rs"
            && !file.path.ends_with("_tests.rs")
            && !is_error(&file.path)
            && !is_test(&file.path)
    });
    for file in sources {
        let found = sentences(file);
        let is_allowed = !found.is_empty() && allowed.remove(file.path.as_str());
        if let (Some(first), false) = (found.first(), is_allowed) {
            let what = format!(
                "has a sentence ({first:?}): give a typed value or an error type, and its text in romer-report"
            );
            findings.push(Violation::error(&file.path, what));
        }
    }
    let gone =
        allowed.into_iter().map(|path| Violation::error(LIST, format!("{path} has no sentences: remove it")));
    findings.extend(gone);
    findings
}

fn is_error(path: &str) -> bool {
    path.ends_with("/error.rs") || path.contains("/error/")
}

/// Whether the rest of a path, behind that of a module, makes it the module's file or one below it.
fn is_of_module(rest: &str) -> bool {
    rest == ".rs" || rest.starts_with('/')
}

/// The modules that are declared for tests only, as paths without an ending.
fn test_modules(files: &[Text]) -> Vec<String> {
    let mut modules = Vec::new();
    for file in files.iter().filter(|file| file.extension() == "rs") {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let own = match name {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            _ => file.path.trim_end_matches(".rs").to_owned(),
        };
        modules.extend(file.test_modules().map(|name| format!("{own}/{name}")));
    }
    modules
}

/// The sentences in the code of a file, without its tests.
fn sentences(file: &Text) -> Vec<String> {
    let sentence = |literal: Literal<'_>| {
        let text = literal.text.replace("\\\n", "");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_excused = EXCUSED.iter().any(|excuse| literal.before.ends_with(excuse));
        (is_sentence(&words) && !is_excused).then_some(words)
    };
    literals(file).into_iter().filter_map(sentence).collect()
}

/// Whether so many words stand in it with a space between them.
fn is_sentence(text: &str) -> bool {
    let is_word = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || c == '\'' || c == '-')
    };
    let mut run = 0;
    text.split(' ').any(|word| {
        run = if is_word(word) { run + 1 } else { 0 };
        run >= WORDS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> Text {
        Text { path: path.into(), content: content.into() }
    }

    /// Literals count; comments, errors, panics and tests do not.
    #[test]
    fn sentences_in_code() {
        let content = "//! A crate that says.\nfn f() -> String {\n    // \"no sentence in here\"\n    \
            g(\"kernel\", '\"', \"all of them came\");\n    h.expect(\"is never so\");\n    \
            r#\"and \"this one\" too\"#.into()\n}\n#[error(\"it cannot be so\")]\nstruct E;\n\n#[cfg(test)]\nmod tests {\n    \
            const A: &str = \"words of a test\";\n}\n";
        let of = |content: &str| sentences(&file("a.rs", content));
        assert_eq!(of(content), ["all of them came", "and \"this one\" too"]);
        assert_eq!(of("const A: &str = \"two words\"; const B: &str = \"{} {} a\";"), [""; 0]);
    }

    /// A listed file may have sentences, and has some.
    #[test]
    fn list_can_only_shrink() {
        let one = file("crates/model/a/src/b.rs", "fn f() { g(\"all of them came\"); }\n");
        let found = |list: &str, source: &Text| {
            let files = [file(LIST, list), file(&source.path, &source.content)];
            check(&files).len()
        };
        assert_eq!(
            found(
                "crates/model/a/src/b.rs
",
                &one
            ),
            0
        );
        assert_eq!(found("", &one), 1);
        assert_eq!(
            found(
                "crates/model/a/src/b.rs
crates/model/a/src/c.rs
",
                &one
            ),
            1
        );
        let report = file("crates/io/report/src/b.rs", &one.content);
        assert_eq!(found("", &report), 0);
    }

    /// A module that is declared for tests has no sentences that count.
    #[test]
    fn test_modules_do_not_count() {
        let files = [
            file("crates/engine/a/src/lib.rs", "#[cfg(test)]\nmod made_up;\n"),
            file("crates/engine/a/src/made_up.rs", "fn f() { g(\"all of them came\"); }\n"),
            file("crates/engine/a/src/made_up/more.rs", "fn f() { g(\"all of them came\"); }\n"),
        ];
        assert_eq!(check(&files), []);
    }
}
