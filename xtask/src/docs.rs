//! Statements of documents: the changelog names the version, every invariant names what enforces it, every promise of
//! security has tests, paths of the architecture and links exist, and every crate has its row.

use std::path::Path;

use crate::files::Text;
use crate::finding::Violation;
use crate::workspace::Workspace;

const CHANGELOG: &str = "CHANGELOG.md";
const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";
const SECURITY: &str = "SECURITY.md";
/// The tests of the promises: a number and a test in each line.
const SECURITY_TESTS: &str = "xtask/security-tests.txt";
/// The number of invariants.
const INVARIANTS: usize = 10;

/// Every false statement that can be found by reading.
pub(crate) fn check(workspace: &Workspace, files: &[Text]) -> Vec<Violation> {
    let content = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| &file.content);
    let version = workspace
        .packages
        .iter()
        .find(|package| package.name == "romer")
        .map_or("", |package| &package.version);
    let mut findings = changelog(content(CHANGELOG), version);
    findings.extend(invariants(content(ARCHITECTURE)));
    findings.extend(references(content(ARCHITECTURE), |reference| exists(workspace, files, reference)));
    let folders = workspace.packages.iter().map(|package| workspace.folder(package));
    findings.extend(unlisted_crates(content(ARCHITECTURE), folders));
    let is_there = |reference: &str| exists(workspace, files, reference);
    findings.extend(promises(content(SECURITY), content(SECURITY_TESTS), is_there));
    for file in files.iter().filter(|file| file.extension() == "md") {
        let folder = Path::new(&workspace.root).join(&file.path).with_file_name("");
        findings.extend(links(file, |target, anchor| {
            if target.is_empty() {
                return has_heading(&file.content, anchor);
            }
            let path = folder.join(target);
            path.exists()
                && (anchor.is_empty()
                    || std::fs::read_to_string(path).is_ok_and(|content| has_heading(&content, anchor)))
        }));
    }
    findings
}

/// Links within the repository that lead nowhere: to no file, or to no heading of it. `exists` takes a file, empty for the page
/// itself, and an anchor, empty for none.
fn links(file: &Text, exists: impl Fn(&str, &str) -> bool) -> Vec<Violation> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.is_empty() && !target.contains(':')) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            if !exists(path, anchor) {
                let place = format!("{}:{number}", file.path);
                findings.push(Violation::error(place, format!("{target} does not exist")));
            }
        }
    }
    findings
}

/// Whether a page has a heading with this anchor, formed as GitHub does: lower case, spaces as hyphens, no punctuation.
fn has_heading(content: &str, anchor: &str) -> bool {
    let headings = content
        .lines()
        .filter(|line| line.starts_with('#'))
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    headings
        .map(|heading| {
            let lower = heading.trim().to_lowercase();
            let marks = lower.chars().filter(|mark| mark.is_alphanumeric() || [' ', '-', '_'].contains(mark));
            marks.collect::<String>().replace(' ', "-")
        })
        .any(|of_heading| of_heading == anchor)
}

/// The changelog has a heading with the version that is being built.
fn changelog(content: &str, version: &str) -> Vec<Violation> {
    let named = content.lines().any(|line| line.starts_with("## ") && line.contains(version));
    if named {
        Vec::new()
    } else {
        vec![Violation::error(CHANGELOG, format!("has no heading for version {version}"))]
    }
}

/// The rows of the table of invariants: `| number | invariant | what enforces it |`.
fn invariants(content: &str) -> Vec<Violation> {
    let mut findings = Vec::new();
    let mut next = 1;
    for (index, line) in content.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", number, _, enforcers, ""] = cells[..] else { continue };
        if number.parse() != Ok(next) {
            continue;
        }
        next += 1;
        let place = format!("{ARCHITECTURE}:{}", index + 1);
        if spans(enforcers).next().is_none() {
            findings
                .push(Violation::error(&place, format!("invariant {number} names nothing that enforces it")));
        }
    }
    if next != INVARIANTS + 1 {
        let what = format!("the table has {} invariants in order, not {INVARIANTS}", next - 1);
        findings.push(Violation::error(ARCHITECTURE, what));
    }
    findings
}

/// The code spans of a line.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|span| !span.is_empty())
}

/// Code spans with a slash or an extension are paths from the root, or `path::words`. Those with `NAME` are patterns.
fn references(content: &str, exists: impl Fn(&str) -> bool) -> Vec<Violation> {
    let mut findings = Vec::new();
    for (index, line) in content.lines().enumerate() {
        let is_path = |span: &&str| span.contains('/') || Path::new(span).extension().is_some();
        let paths = spans(line).filter(is_path).filter(|span| !span.contains("NAME"));
        for path in paths.filter(|path| !exists(path)) {
            let place = format!("{ARCHITECTURE}:{}", index + 1);
            findings.push(Violation::error(place, format!("names `{path}`, which does not exist")));
        }
    }
    findings
}

/// Crates without a row in the tables of crates.
fn unlisted_crates(content: &str, folders: impl Iterator<Item = String>) -> Vec<Violation> {
    let is_listed = |folder: &str| content.lines().any(|line| line.starts_with(&format!("| `{folder}` |")));
    let missing = folders.filter(|folder| folder.starts_with("crates/") && !is_listed(folder));
    missing
        .map(|folder| Violation::error(ARCHITECTURE, format!("has no row for the crate {folder}")))
        .collect()
}

/// The rows of the tables with the heading `| no. | promise |`: each has a number of its own, and tests that exist. `tests` has a number and a
/// test in each line.
fn promises(content: &str, tests: &str, exists: impl Fn(&str) -> bool) -> Vec<Violation> {
    let mut findings = Vec::new();
    let mut numbers: Vec<&str> = Vec::new();
    let mut in_table = false;
    for (index, line) in content.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (number, promise) = match cells[..] {
            ["", "no.", "promise", ""] => {
                in_table = true;
                continue;
            }
            ["", "---", "---", ""] => continue,
            ["", number, promise, ""] if in_table => (number, promise),
            _ => {
                in_table = false;
                continue;
            }
        };
        let place = format!("{SECURITY}:{}", index + 1);
        if numbers.contains(&number) {
            findings.push(Violation::error(&place, format!("there is another promise {number}")));
        }
        if !tests.lines().any(|test| test.split(' ').next() == Some(number)) {
            findings.push(Violation::error(&place, format!("no test holds the promise {promise:?}")));
        }
        numbers.push(number);
    }
    for (index, line) in tests.lines().enumerate() {
        let place = format!("{SECURITY_TESTS}:{}", index + 1);
        let (number, reference) = line.split_once(' ').unwrap_or((line, ""));
        if !numbers.contains(&number) {
            findings.push(Violation::error(&place, format!("there is no promise {number}")));
        }
        if !exists(reference) {
            findings.push(Violation::error(&place, format!("there is no test `{reference}`")));
        }
    }
    if numbers.is_empty() {
        findings.push(Violation::error(SECURITY, "has no table of promises"));
    }
    findings
}

/// Whether an enforcer is there: `path`, or `path::words` where the file holds the words.
fn exists(workspace: &Workspace, files: &[Text], reference: &str) -> bool {
    match reference.split_once("::") {
        Some((path, words)) => files.iter().any(|file| file.path == path && file.content.contains(words)),
        None => Path::new(&workspace.root).join(reference).exists(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(enforcer: &str) -> String {
        (1..=INVARIANTS).map(|number| format!("| {number} | Something holds. | {enforcer} |\n")).collect()
    }

    #[test]
    fn an_invariant_names_what_enforces_it() {
        assert_eq!(invariants(&table("`here`")), []);
        assert_eq!(invariants(&table("good will")).len(), INVARIANTS);
    }

    #[test]
    fn a_missing_invariant_is_found() {
        let nine: String = table("`here`").lines().take(9).map(|line| format!("{line}\n")).collect();
        assert_eq!(invariants(&nine).len(), 1);
    }

    /// Code spans that are paths exist; other words, patterns and code blocks are not looked up.
    #[test]
    fn paths_of_the_architecture_exist() {
        let page = "`a/here` `word` `a/NAME`\n```text\n-> x/y\n```\n| `a/gone::fn f` | `gone.toml` |\n";
        let findings = references(page, |path| path == "a/here");
        let gone = ["a/gone::fn f", "gone.toml"].map(|path| format!("names `{path}`, which does not exist"));
        assert_eq!(findings, gone.map(|what| Violation::error("docs/ARCHITECTURE.md:5", what)));
    }

    /// Each crate has a row; a mention in text is none, and a package outside `crates/` needs none.
    #[test]
    fn crates_have_rows() {
        let page = "| `crates/io/a` | A. |\n`crates/io/b`\n";
        let folders = ["crates/io/a", "crates/io/b", "xtask"].map(str::to_owned);
        let findings = unlisted_crates(page, folders.into_iter());
        assert_eq!(findings, [Violation::error(ARCHITECTURE, "has no row for the crate crates/io/b")]);
    }

    /// Each promise has tests, all of which exist and have a promise; other tables are not looked at.
    #[test]
    fn promises_have_tests() {
        let page = "| no. | promise |\n| --- | --- |\n| A1 | It holds. |\n\n| a | b |\n";
        assert_eq!(promises(page, "A1 here\n", |name| name == "here"), []);
        let gone = promises(page, "A1 here\nA1 gone\n", |name| name == "here");
        assert_eq!(gone, [Violation::error("xtask/security-tests.txt:2", "there is no test `gone`")]);
        assert_eq!(promises(page, "", |_| true).len(), 1);
        assert_eq!(promises(page, "A1 here\nA2 here\n", |_| true).len(), 1);
        assert_eq!(promises("| threat | what is done |\n", "", |_| true).len(), 1);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let content =
            "[a](here) [b](gone)\n![c](here#part) [d](https://example.net) [e](#other)\n".to_owned();
        let findings = links(&Text { path: "a.md".into(), content }, |target, anchor| {
            target == "here" && ["", "part"].contains(&anchor)
        });
        let missing = [("a.md:1", "gone does not exist"), ("a.md:2", "#other does not exist")];
        assert_eq!(findings, missing.map(|(place, what)| Violation::error(place, what)));
    }

    /// Anchors are those of headings of any level, without punctuation.
    #[test]
    fn anchors_are_headings() {
        let page = "# Title\n\n## Order and `delay`: variation\n\ntext\n";
        assert!(has_heading(page, "title") && has_heading(page, "order-and-delay-variation"));
        assert!(!has_heading(page, "text"));
    }

    #[test]
    fn the_changelog_names_the_version() {
        assert_eq!(changelog("## [Unreleased], to be 0.2.0\n", "0.2.0"), []);
        assert_eq!(changelog("## [0.1.0]\n", "0.2.0").len(), 1);
    }
}
