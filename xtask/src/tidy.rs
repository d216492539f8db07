//! Tidy files: none too long, none unfinished by its own words, none that knows on which machine it was written.

use std::path::Path;

use crate::files::{Text, has_word};
use crate::finding::Violation;

/// This file, which must name what it looks for.
const SELF: &str = "xtask/src/tidy.rs";

/// Lines of a source file: above the first it usually holds two concepts, above the second it certainly does.
const WARNING_LINES: usize = 600;
const ERROR_LINES: usize = 900;

/// Words that say of the code beside them that it is not finished.
const UNFINISHED: [&str; 8] =
    ["todo!", "unimplemented!", "TODO", "FIXME", "XXX", "for now", "not implemented", "#[ignore"];

/// A lint is silenced by `expect` with a reason, which complains when it is no longer needed.
const SILENCED: [&str; 2] = ["#[allow(", "#![allow("];

/// The one exception: a module that several test programs share, each using a part of it, cannot expect anything.
const SHARED_BY_TESTS: &str = "#![allow(dead_code, reason";

/// Settings that point cargo or pip at some other registry than the public one.
const REGISTRY: [&str; 5] = ["replace-with", "[registries", "index-url", "find-links", "GOPROXY="];

/// How a source text must not be cited, before its last digit: the bibliography has its author and year.
const NUMBERED: &str = "seed 00";

/// Folders in which checkouts lie on many machines: naming one names no machine in particular.
const COMMON: [&str; 20] = [
    "/",
    "/app",
    "/build",
    "/builds",
    "/code",
    "/data",
    "/home",
    "/mnt",
    "/opt",
    "/repo",
    "/root",
    "/run",
    "/src",
    "/srv",
    "/target",
    "/tmp",
    "/usr",
    "/var",
    "/var/tmp",
    "/workspace",
];

/// Every untidiness of the files.
pub(crate) fn check(root: &Path, files: &[Text]) -> Vec<Violation> {
    let machine = machine_paths(root);
    let mut findings = Vec::new();
    for file in files {
        findings.extend(length(file));
        findings.extend(module_doc(file));
        findings.extend(check_words(file));
        findings.extend(places(file, &machine));
    }
    findings
}

/// Whether people write this file as a program (a script has no extension here).
fn is_source(file: &Text) -> bool {
    matches!(file.extension(), "rs" | "c" | "h" | "ts" | "svelte" | "sh" | "py" | "toml") || is_script(file)
}

fn is_script(file: &Text) -> bool {
    file.content.starts_with("#!/") || file.path == "Makefile"
}

fn length(file: &Text) -> Option<Violation> {
    let lines = file.content.lines().count();
    let made = file.content.lines().take(5).any(|line| line.contains("auto-generated"));
    if !is_source(file) || made || lines <= WARNING_LINES {
        return None;
    }
    let what = format!(
        "has {lines} lines (warning above {WARNING_LINES}, error above {ERROR_LINES}): split it by concept"
    );
    Some(Violation { place: file.path.clone(), what, warning: lines <= ERROR_LINES })
}

/// A crate says at its top what it is.
fn module_doc(file: &Text) -> Option<Violation> {
    let top = file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs");
    let missing = top && !file.content.starts_with("//! ");
    missing.then(|| Violation::error(&file.path, "does not begin with its documentation (`//! ...`)"))
}

fn check_words(file: &Text) -> Vec<Violation> {
    if !is_source(file) || file.path == SELF {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let mut found =
            |what: String| findings.push(Violation::error(format!("{}:{number}", file.path), what));
        for word in UNFINISHED.iter().filter(|word| says(line, word)) {
            found(format!("says \"{word}\": finish it, or write an issue"));
        }
        let shared = file.path.ends_with("tests/common/mod.rs") && line.contains(SHARED_BY_TESTS);
        for attribute in SILENCED.iter().filter(|attribute| !shared && line.contains(*attribute)) {
            found(format!("{attribute}...)]: use expect, with the reason"));
        }
        for setting in REGISTRY.iter().filter(|setting| line.contains(*setting)) {
            found(format!("\"{setting}\" belongs into the machine's settings, not into the repository"));
        }
    }
    findings
}

fn says(line: &str, word: &str) -> bool {
    if word.chars().all(|c| c.is_alphanumeric() || c == ' ') {
        has_word(line, word)
    } else {
        line.contains(word)
    }
}

/// The paths that only this machine has: the checkout, and the folder in which it lies. (A checkout at the top of
/// the file system, or in a folder that many machines have, says nothing by its name.)
fn machine_paths(root: &Path) -> Vec<String> {
    let parent = root.parent().unwrap_or(root);
    let tells = |path: &&Path| !COMMON.contains(&path.to_str().unwrap_or("/"));
    let checkout = Some(root).filter(|_| root.components().count() > 2);
    checkout.into_iter().chain(Some(parent).filter(tells)).map(|path| path.display().to_string()).collect()
}

fn places(file: &Text, machine: &[String]) -> Vec<Violation> {
    let depth = file.path.matches('/').count();
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let place = || format!("{}:{number}", file.path);
        for path in machine.iter().filter(|path| has_path(line, path)) {
            findings.push(Violation::error(place(), format!("names {path}, which only this machine has")));
        }
        if file.path != SELF && line.to_lowercase().contains(NUMBERED) {
            let what = "cites a source text by a number: use author and year, as docs/reference/bibliography.md has them";
            findings.push(Violation::error(place(), what));
        }
        let relative = file.extension() != "rs" || line.contains("include_");
        if relative && climbs(line) > depth {
            findings.push(Violation::error(place(), "points out of the repository"));
        }
    }
    findings
}

/// Whether `path`, or something in it, is named in `line`.
fn has_path(line: &str, path: &str) -> bool {
    let part_of_path = |c: char| c.is_alphanumeric() || "._-/*}".contains(c);
    line.match_indices(path).any(|(at, _)| {
        let after = &line[at + path.len()..];
        !line[..at].ends_with(part_of_path) && (after.starts_with('/') || !after.starts_with(part_of_path))
    })
}

/// The longest run of `../` in a line: how many folders it goes up.
fn climbs(line: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    let mut rest = line;
    while let Some(at) = rest.find("../") {
        run = if at == 0 { run + 1 } else { 1 };
        longest = longest.max(run);
        rest = &rest[at + 3..];
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, content: &str) -> Text {
        Text { path: path.to_owned(), content: content.to_owned() }
    }

    fn found(path: &str, content: &str) -> usize {
        check(Path::new("/lab/romer"), &[text(path, content)]).len()
    }

    #[test]
    fn unfinished_work_is_found_by_its_own_words() {
        assert_eq!(found("a/b.rs", "fn f() { todo!() }\n"), 1);
        assert_eq!(found("a/b.rs", "// FIXME: later\n"), 1);
        assert_eq!(found("Makefile", "# good enough for now\n"), 1);
        assert_eq!(found("a/b.rs", "// room for nowhere, mkdtemp aXXXXXX\n"), 0);
        assert_eq!(found("a.md", "TODO is a word that code must not say\n"), 0);
    }

    #[test]
    fn a_silenced_lint_is_found() {
        assert_eq!(found("a/b.rs", "#[allow(clippy::all)]\n"), 1);
        assert_eq!(found("a/tests/common/mod.rs", "#![allow(dead_code, reason = \"shared\")]\n"), 0);
        assert_eq!(found("a/src/b.rs", "#![allow(dead_code, reason = \"shared\")]\n"), 1);
        assert_eq!(found("a/b.rs", "#[expect(clippy::all, reason = \"so\")]\n"), 0);
    }

    #[test]
    fn long_files_are_warned_of_and_longer_ones_refused() {
        let grade = |lines: usize| {
            let file = text("a/b.rs", &"\n".repeat(lines));
            check(Path::new("/lab/romer"), &[file]).first().map(|finding| finding.warning)
        };
        assert_eq!(grade(WARNING_LINES), None);
        assert_eq!(grade(WARNING_LINES + 1), Some(true));
        assert_eq!(grade(ERROR_LINES), Some(true));
        assert_eq!(grade(ERROR_LINES + 1), Some(false));
    }

    #[test]
    fn the_checkout_and_the_folder_around_it_are_machine_paths() {
        assert_eq!(found("a.md", "see /lab/romer/README.md\n"), 1 + 1);
        assert_eq!(found("a.md", "see /lab/notes\n"), 1);
        assert_eq!(found("a.md", "crates/lab/romer and /laboratory\n"), 0);
        assert_eq!(machine_paths(Path::new("/tmp/x")), ["/tmp/x"]);
        assert_eq!(machine_paths(Path::new("/src")), Vec::<String>::new());
    }

    #[test]
    fn a_path_out_of_the_repository_is_found() {
        assert_eq!(found("a/b.toml", "path = \"../c\"\n"), 0);
        assert_eq!(found("a/b.toml", "path = \"../../c\"\n"), 1);
        assert_eq!(found("a/b.rs", "include_str!(\"../../c\")\n"), 1);
        assert_eq!(found("a/b.rs", "refuse(\"../../../etc/passwd\")\n"), 0);
    }

    #[test]
    fn numbered_source_texts_are_found() {
        assert_eq!(found("a/b.rs", "// as Seed 003 has it\n"), 1);
        assert_eq!(found("a.md", "with seed 7, as Chadda 2004 has it\n"), 0);
    }

    #[test]
    fn a_crate_without_documentation_is_found() {
        assert_eq!(found("crates/a/src/lib.rs", "fn f() {}\n"), 1);
        assert_eq!(found("crates/a/src/lib.rs", "//! What it is.\n"), 0);
    }
}
