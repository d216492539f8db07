//! Circles of modules.
//!
//! A file depends on the file in which something is defined, or named again by `pub use`, that it names by a path: `crate::a::B`,
//! `super::B`, `self::b::C`, `b::C` of a module within its own, alone or in a tree of `use`. Files that depend on each other,
//! directly or by others, are a circle; nobody understands one of them without all others. What is for tests does not count,
//! nor do methods, which name no file.

use std::collections::{BTreeMap, BTreeSet};

use crate::Violation;
use crate::files::Text;
use crate::workspace::Workspace;

/// The most files of a circle.
const MAX_CYCLE_FILES: usize = 3;

/// A module by the names of those around it and its own; none is the crate's root.
type Module = Vec<String>;

/// Every circle of more than [`MAX_CYCLE_FILES`] files.
pub(crate) fn check(workspace: &Workspace, files: &[Text]) -> Vec<Violation> {
    let folders = workspace.packages.iter().map(|package| workspace.folder(package));
    folders.flat_map(|folder| circles(&folder, files)).collect()
}

fn circles(folder: &str, files: &[Text]) -> Vec<Violation> {
    let source = format!("{folder}/src/");
    let modules: BTreeMap<Module, &Text> = files
        .iter()
        .filter_map(|file| Some((module(file.path.strip_prefix(&source)?.strip_suffix(".rs")?), file)))
        .collect();
    let tests: BTreeSet<Module> = modules
        .iter()
        .flat_map(|(module, file)| {
            file.test_modules().map(|name| module.iter().cloned().chain([name.to_owned()]).collect())
        })
        .collect();
    let is_test = |module: &Module| (1..=module.len()).any(|length| tests.contains(&module[..length]));
    let uses: BTreeMap<&Module, BTreeSet<&Module>> = modules
        .iter()
        .filter(|(module, _)| !is_test(module))
        .map(|(module, file)| (module, used(module, file.before_tests(), &modules)))
        .collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|module| (*module, reach(module, &uses))).collect();
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (module, others) in &reached {
        let with = |other: &&&Module| reached.get(**other).is_some_and(|back| back.contains(module));
        let circle: BTreeSet<&Module> = others.iter().filter(with).copied().collect();
        if circle.len() > MAX_CYCLE_FILES && seen.insert(circle.clone()) {
            let names: Vec<&str> = circle.iter().map(|one| &modules[*one].path[source.len()..]).collect();
            let what = format!(
                "has a circle of {} files: {}; move what they share to a file that uses none of them",
                names.len(),
                names.join(", ")
            );
            findings.push(Violation::error(folder, what));
        }
    }
    findings
}

/// The module of a file, by its path in `src` without `.rs`.
fn module(path: &str) -> Module {
    let mut names: Module = path.split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|name| ["lib", "main", "mod"].contains(&name.as_str())) {
        names.pop();
    }
    names
}

/// What a module depends on.
fn used<'m>(own: &Module, content: &str, modules: &'m BTreeMap<Module, &Text>) -> BTreeSet<&'m Module> {
    let mut found = BTreeSet::new();
    for path in paths(&tokens(content)) {
        let up = path.iter().take_while(|name| *name == "super").count();
        let (mut base, rest) = match path[0].as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (own.clone(), &path[1..]),
            "super" => (own[..own.len().saturating_sub(up)].to_vec(), &path[up..]),
            _ => (own.clone(), &path[..]),
        };
        for name in rest {
            base.push(name.clone());
            if !modules.contains_key(&base) {
                base.pop();
                break;
            }
        }
        if base != *own
            && let Some((module, _)) = modules.get_key_value(&base)
        {
            found.insert(module);
        }
    }
    found
}

/// All that can be reached from a module; itself where it is in a circle.
fn reach<'m>(from: &'m Module, uses: &BTreeMap<&'m Module, BTreeSet<&'m Module>>) -> BTreeSet<&'m Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for other in uses.get(module).into_iter().flatten() {
            if reached.insert(*other) {
                next.push(other);
            }
        }
    }
    reached
}

/// Names, `::` and other marks of the code, without comments and texts.
fn tokens(content: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = content;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            let mut escaped = false;
            let end = |letter: char| {
                let is_end = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                is_end
            };
            rest[1..].find(end).map_or(rest.len(), |place| place + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let end = end.unwrap_or(rest.len());
            tokens.push(rest[..end].to_owned());
            end
        } else if rest.starts_with("::") {
            tokens.push("::".into());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.into());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// Every path of two names and more, those of a tree one by one.
fn paths(tokens: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut place = 0;
    while place < tokens.len() {
        let starts = is_name(&tokens[place]) && tokens.get(place + 1).is_some_and(|next| next == "::");
        place = if starts { path(tokens, place, &[], &mut found) } else { place + 1 };
    }
    found
}

fn is_name(token: &str) -> bool {
    token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
}

/// Reads the path from `place` on behind those names, and gives where it ends.
fn path(tokens: &[String], mut place: usize, before: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut names = before.to_vec();
    while let Some(token) = tokens.get(place).filter(|token| is_name(token) || *token == "{" || *token == "*")
    {
        if token == "{" && names.len() > before.len() {
            place += 1;
            while let Some(token) = tokens.get(place).filter(|token| *token != "}") {
                place = if is_name(token) { path(tokens, place, &names, found) } else { place + 1 };
            }
            return place + 1;
        }
        names.push(token.clone());
        place += 1;
        if tokens.get(place).is_none_or(|next| next != "::") {
            break;
        }
        place += 1;
    }
    found.push(names);
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let texts: Vec<Text> = files
            .iter()
            .map(|(path, content)| Text { path: format!("c/src/{path}"), content: (*content).into() })
            .collect();
        circles("c", &texts).into_iter().map(|finding| finding.what).collect()
    }

    /// A circle of four files is found with its files, and one of three is not.
    #[test]
    fn circles_of_four() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;"),
            ("a.rs", "use crate::{b::{B, other}, c};"),
            ("b.rs", "mod d;\nuse std::fmt;\nfn f() -> super::c::C {}"),
            ("c.rs", "use crate::b::d::D;"),
            ("b/d.rs", "use super::super::a::A as Other;"),
        ];
        let found_of = found(&files);
        assert_eq!(found_of.len(), 1, "{found_of:?}");
        assert!(
            found_of[0].starts_with("has a circle of 4 files: a.rs, b.rs, b/d.rs, c.rs; "),
            "{found_of:?}"
        );
        assert_eq!(found(&files[..4]), Vec::<String>::new());
    }

    /// The root is a file like others, for what is named by its `pub use`.
    #[test]
    fn root_counts() {
        let files = [
            ("lib.rs", "pub use a::A;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::A;"),
        ];
        assert!(found(&files)[0].contains("4 files"));
    }

    /// Comments, texts and tests make no circle.
    #[test]
    fn tests_do_not_count() {
        let files = [
            ("lib.rs", "#[cfg(test)]\nmod t;\n"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            (
                "c.rs",
                "// crate::a::A\nconst X: &str = \"crate::a::A\";\n#[cfg(test)]\nmod tests {\n use crate::a::A;\n}",
            ),
            ("t.rs", "use crate::a::A;"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
        let around = [files[0], files[1], files[2], ("c.rs", "use crate::t::T;"), files[4]];
        assert_eq!(found(&around), Vec::<String>::new());
    }
}
