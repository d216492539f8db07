//! No sentences in `model/` and `engine/` besides errors: they give typed values, and `romer-report` has the words.
//!
//! An error has a sentence: in its `Display`, in the arguments of its constructor, and in what becomes the `Err` of a result, directly or
//! by the name that it is bound to. Byte strings are data. Files that still have other sentences are listed in `xtask/sentences.txt`,
//! which can only shrink.

use std::collections::BTreeSet;

use crate::files::Text;
use crate::finding::Violation;
use crate::literals::{Literal, literals};

/// Crates whose sources are looked at.
const FOLDERS: [&str; 2] = ["crates/model/", "crates/engine/"];
/// Files that still have sentences, a path a line.
const LIST: &str = "xtask/sentences.txt";
/// Crates that only tests use. Their texts are for developers.
const FOR_TESTS: [&str; 2] = ["crates/model/sim/", "crates/model/testing/"];
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

/// Calls whose arguments become the error of a result.
const ERROR_CALLS: [&str; 4] = ["Err", "ok_or", "ok_or_else", "map_err"];

/// Files with sentences that are not listed, and listed ones without.
pub(crate) fn check(files: &[Text]) -> Vec<Violation> {
    let errors = error_types(files);
    let list = files.iter().find(|file| file.path == LIST).map_or("", |file| &file.content);
    let mut allowed: BTreeSet<&str> = list.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let tests = test_modules(files);
    let is_test =
        |path: &str| tests.iter().any(|module| path.strip_prefix(module.as_str()).is_some_and(is_of_module));
    let mut findings = Vec::new();
    let sources = files.iter().filter(|file| {
        FOLDERS.iter().any(|folder| file.path.starts_with(folder))
            && !FOR_TESTS.iter().any(|folder| file.path.starts_with(folder))
            && file.path.contains("/src/")
            && file.extension() == "rs"
            && !file.path.ends_with("_tests.rs")
            && !is_error(&file.path)
            && !is_test(&file.path)
    });
    for file in sources {
        let found = sentences(file, &errors);
        let is_allowed = !found.is_empty() && allowed.remove(file.path.as_str());
        if is_allowed {
            continue;
        }
        findings.extend(found.into_iter().map(|(line, sentence)| {
            let what = format!(
                "has a sentence ({sentence:?}): give a typed value or an error type, and its text in romer-report"
            );
            Violation::error(format!("{}:{line}", file.path), what)
        }));
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

/// The names of types that implement `Error`, or derive it.
fn error_types(files: &[Text]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files.iter().filter(|file| file.extension() == "rs") {
        let mut derives = false;
        for line in file.content.lines().map(str::trim_start) {
            let implements = line.strip_prefix("impl ").and_then(|rest| rest.split_once("Error for "));
            names.extend(implements.map(|(_, rest)| first_name(rest)));
            if line.starts_with("#[derive(") {
                derives = line.contains("Error)") || line.contains("Error,");
            }
            let defines = ["enum ", "struct "].iter().find_map(|word| Some(line.split_once(word)?.1));
            if let Some(rest) = defines.filter(|_| derives && !line.starts_with("//")) {
                names.insert(first_name(rest));
                derives = false;
            }
        }
    }
    names
}

/// The name that a text begins with.
fn first_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Whether code in a bracket after this is an error: the `Err` of a result, an error type's constructor, or its `Display`.
fn makes_error(head: &str, errors: &BTreeSet<String>) -> bool {
    if let Some((_, rest)) = head.split_once("Display for ") {
        return errors.contains(&first_name(rest));
    }
    let path =
        head.rsplit(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':'))).next().unwrap_or_default();
    path.split("::").any(|name| errors.contains(name)) || is_error_call(path)
}

/// Whether a path is of a call whose argument becomes an error.
fn is_error_call(path: &str) -> bool {
    ERROR_CALLS.contains(&path) || path.starts_with("io::Error::")
}

/// The sentences in the code of a file with their lines, without its tests and its errors.
fn sentences(file: &Text, errors: &BTreeSet<String>) -> Vec<(usize, String)> {
    let code = file.before_tests();
    let sentence = |literal: Literal<'_>| {
        let text = literal.text.replace("\\\n", "");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let is_excused = EXCUSED.iter().any(|excuse| literal.before.ends_with(excuse))
            || literal.within.iter().any(|head| makes_error(head, errors))
            || is_bytes(&literal.before)
            || becomes_error(&literal, code);
        (is_sentence(&words) && !is_excused).then_some((literal.line, words))
    };
    literals(file).into_iter().filter_map(sentence).collect()
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the literal after this code, which has no spaces, is a byte string.
fn is_bytes(before: &str) -> bool {
    before.strip_suffix('b').is_some_and(|rest| !rest.ends_with(is_of_name))
}

/// Whether a literal is bound to a name, alone or in a closure, that becomes an error: `let wrong = || "..."; x.ok_or_else(wrong)`.
fn becomes_error(literal: &Literal<'_>, code: &str) -> bool {
    let before = literal.before.strip_suffix("||").unwrap_or(&literal.before);
    let alone = before.strip_suffix('=').and_then(|rest| rest.rsplit(|c: char| !is_of_name(c)).next());
    let alone = alone.and_then(|name| name.strip_prefix("let")).map(str::to_owned);
    let within = literal.within.iter().filter_map(|head| head.strip_prefix("let ")).map(first_name);
    let mut names = within.chain(alone).filter(|name| !name.is_empty());
    names.any(|name| ERROR_CALLS.iter().any(|call| is_called_with(code, call, &name)))
}

/// Whether `call` has the argument `name`, or begins with it.
fn is_called_with(code: &str, call: &str, name: &str) -> bool {
    let argument = format!("{call}({name}");
    code.match_indices(&argument).any(|(at, found)| {
        !code[..at].ends_with(is_of_name) && !code[at + found.len()..].starts_with(is_of_name)
    })
}

/// Whether so many words stand in it with a space between them. A placeholder is not a word: its value has the text.
fn is_sentence(text: &str) -> bool {
    let is_word = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || c == '\'' || c == '-')
    };
    let text = without_placeholders(text);
    let mut run = 0;
    text.split(' ').any(|word| {
        run = if is_word(word) { run + 1 } else { 0 };
        run >= WORDS
    })
}

/// A literal with 0, which is no word, in the place of each of its placeholders. Braces that are written twice stand for themselves.
fn without_placeholders(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let placeholder = from.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        rest = match placeholder {
            Some((inner, after)) if !inner.contains(['{', ' ']) => {
                kept.push('0');
                after
            }
            _ => {
                let twice = from.starts_with("{{") || from.starts_with("}}");
                let (brace, after) = from.split_at(if twice { 2 } else { 1 });
                kept.push_str(brace);
                after
            }
        };
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> Text {
        Text { path: path.into(), content: content.into() }
    }

    fn texts(file: &Text, errors: &BTreeSet<String>) -> Vec<String> {
        sentences(file, errors).into_iter().map(|(_, text)| text).collect()
    }

    /// Literals count; comments, errors, panics and tests do not.
    #[test]
    fn sentences_in_code() {
        let content = "//! A crate that says.\nfn f() -> String {\n    // \"no sentence in here\"\n    \
            g(\"kernel\", '\"', \"all of them came\");\n    h.expect(\"is never so\");\n    \
            r#\"and \"this one\" too\"#.into()\n}\n#[error(\"it cannot be so\")]\nstruct E;\n\n#[cfg(test)]\nmod tests {\n    \
            const A: &str = \"words of a test\";\n}\n";
        let of = |content: &str| texts(&file("a.rs", content), &BTreeSet::new());
        assert_eq!(of(content), ["all of them came", "and \"this one\" too"]);
        assert_eq!(of("const A: &str = \"two words\"; const B: &str = \"{} {} a\";"), [""; 0]);
        assert_eq!(of("const A: &str = \"{who} {what} {loss:.1}, {when}\";"), [""; 0]);
        assert_eq!(
            of("const A: &str = \"one {{ two three four }}\"; const B: &str = \"{a} that was lost\";"),
            ["one {{ two three four }}", "{a} that was lost"]
        );
    }

    /// What an error type displays, what it is made of and what becomes an `Err` are errors; values beside them are not.
    #[test]
    fn sentences_of_errors() {
        let types = file(
            "a.rs",
            "#[derive(Debug, thiserror::Error)]\npub enum Broken {\n}\nimpl Error for Torn {}\n",
        );
        let errors = error_types(&[types]);
        assert_eq!(errors, ["Broken", "Torn"].map(str::to_owned).into());
        let of = |content: &str| texts(&file("b.rs", content), &errors);
        for excused in [
            "fn f() { Err(format!(\"all of them {came}\")) }",
            "fn f() { g.ok_or_else(|| \"all of them came\".into())?; }",
            "fn f() { Broken::Late { why: \"all of them came\".into() } }",
            "impl fmt::Display for Torn {\n fn fmt() { f.write(\"all of them came\") } }",
            "fn f() { let wrong = || format!(\"all of them {came}\"); g.ok_or_else(wrong)? }",
            "fn f() { let form = \"all of them came\"; if g { return Err(form.into()); } }",
            "const LABEL: &[u8] = b\"all of them came\";",
        ] {
            assert_eq!(of(excused), [""; 0], "{excused}");
        }
        for counted in [
            "fn f() { Ok(\"all of them came\") }",
            "fn f() { Other::Late { why: \"all of them came\" } }",
            "fn f() { Broken::Late(1); g(\"all of them came\") }",
            "fn f() { let form = \"all of them came\"; Err(formed) }",
            "fn f() { let form = || g(\"all of them came\"); Ok(form()) }",
            "impl fmt::Display for Whole {\n fn fmt() { f.write(\"all of them came\") } }",
        ] {
            assert_eq!(of(counted), ["all of them came"], "{counted}");
        }
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

    /// A module that is declared for tests, and a crate that only tests use, have no sentences that count.
    #[test]
    fn test_modules_do_not_count() {
        let files = [
            file("crates/engine/a/src/lib.rs", "#[cfg(test)]\nmod made_up;\n"),
            file("crates/engine/a/src/made_up.rs", "fn f() { g(\"all of them came\"); }\n"),
            file("crates/engine/a/src/made_up/more.rs", "fn f() { g(\"all of them came\"); }\n"),
            file("crates/model/sim/src/faults.rs", "fn f() { g(\"all of them came\"); }\n"),
        ];
        assert_eq!(check(&files), []);
    }
}
