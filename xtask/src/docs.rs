//! Documents that say what is so: the changelog names the version, every invariant names what enforces it, every
//! promise of security names its tests, and links lead somewhere.

use std::path::Path;

use crate::Finding;
use crate::files::Text;
use crate::workspace::Workspace;

const CHANGELOG: &str = "CHANGELOG.md";
const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";
const SECURITY: &str = "SECURITY.md";
/// The number of invariants.
const INVARIANTS: usize = 10;
/// What stands in place of an enforcer while nothing that could break the invariant exists.
const NOT_BUILT: &str = "not built";

/// Every false statement that can be found by reading.
pub(crate) fn check(workspace: &Workspace, files: &[Text]) -> Vec<Finding> {
    let content = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| &file.content);
    let version = workspace
        .packages
        .iter()
        .find(|package| package.name == "romer")
        .map_or("", |package| &package.version);
    let mut findings = changelog(content(CHANGELOG), version);
    findings.extend(invariants(content(ARCHITECTURE), |reference| exists(workspace, files, reference)));
    findings.extend(promises(content(SECURITY), |reference| exists(workspace, files, reference)));
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
fn links(file: &Text, exists: impl Fn(&str, &str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.is_empty() && !target.contains(':')) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            if !exists(path, anchor) {
                let place = format!("{}:{number}", file.path);
                findings.push(Finding::error(place, format!("{target} does not exist")));
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
fn changelog(content: &str, version: &str) -> Vec<Finding> {
    let named = content.lines().any(|line| line.starts_with("## ") && line.contains(version));
    if named {
        Vec::new()
    } else {
        vec![Finding::error(CHANGELOG, format!("has no heading for version {version}"))]
    }
}

/// The rows of the table of invariants: `| number | invariant | what enforces it |`.
fn invariants(content: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
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
        let references: Vec<&str> = enforcers.split('`').skip(1).step_by(2).collect();
        for reference in references.iter().filter(|reference| !exists(reference)) {
            findings.push(Finding::error(
                &place,
                format!("invariant {number} names `{reference}`: no such thing"),
            ));
        }
        if references.is_empty() && !enforcers.contains(NOT_BUILT) {
            findings
                .push(Finding::error(&place, format!("invariant {number} names nothing that enforces it")));
        }
    }
    if next != INVARIANTS + 1 {
        let what = format!("the table has {} invariants in order, not {INVARIANTS}", next - 1);
        findings.push(Finding::error(ARCHITECTURE, what));
    }
    findings
}

/// The rows of the tables with the heading `| promise | test |`: each names tests that exist.
fn promises(content: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut in_table, mut rows) = (false, 0);
    for (index, line) in content.lines().enumerate() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (promise, tests) = match cells[..] {
            ["", "promise", "test", ""] => {
                in_table = true;
                continue;
            }
            ["", "---", "---", ""] => continue,
            ["", promise, tests, ""] if in_table => (promise, tests),
            _ => {
                in_table = false;
                continue;
            }
        };
        rows += 1;
        let place = format!("{SECURITY}:{}", index + 1);
        let references: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        if references.is_empty() {
            findings.push(Finding::error(&place, format!("no test holds the promise {promise:?}")));
        }
        for reference in references.iter().filter(|reference| !exists(reference)) {
            findings.push(Finding::error(&place, format!("there is no test `{reference}`")));
        }
    }
    if rows == 0 {
        findings.push(Finding::error(SECURITY, "has no table of promises and tests"));
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
        assert_eq!(invariants(&table("`here`"), |name| name == "here"), []);
        assert_eq!(invariants(&table("the emulator, not built"), |_| false), []);
        assert_eq!(invariants(&table("`gone`"), |_| false).len(), INVARIANTS);
        assert_eq!(invariants(&table("good will"), |_| false).len(), INVARIANTS);
    }

    #[test]
    fn a_missing_invariant_is_found() {
        let nine: String = table("`here`").lines().take(9).map(|line| format!("{line}\n")).collect();
        assert_eq!(invariants(&nine, |_| true).len(), 1);
    }

    /// Each promise names tests, all of which exist; other tables are not looked at.
    #[test]
    fn promises_name_tests() {
        let table =
            |test: &str| format!("| promise | test |\n| --- | --- |\n| It holds. | {test} |\n\n| a | b |\n");
        assert_eq!(promises(&table("`here`"), |name| name == "here"), []);
        let gone = promises(&table("`here`, `gone`"), |name| name == "here");
        assert_eq!(gone, [Finding::error("SECURITY.md:3", "there is no test `gone`")]);
        assert_eq!(promises(&table("good will"), |_| true).len(), 1);
        assert_eq!(promises("| threat | what is done |\n", |_| true).len(), 1);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let content =
            "[a](here) [b](gone)\n![c](here#part) [d](https://example.net) [e](#other)\n".to_owned();
        let findings = links(&Text { path: "a.md".into(), content }, |target, anchor| {
            target == "here" && ["", "part"].contains(&anchor)
        });
        let missing = [("a.md:1", "gone does not exist"), ("a.md:2", "#other does not exist")];
        assert_eq!(findings, missing.map(|(place, what)| Finding::error(place, what)));
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
