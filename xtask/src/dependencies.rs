//! What may be built into romer, by `deny.toml`: licences, bans and sources.
//!
//! `make audit` asks cargo-deny for the same and for advisories besides; it takes minutes to be built, which not every
//! run of the checks is to wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::finding::Violation;
use crate::workspace::cargo;

/// Where packages may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
const PLACE: &str = "Cargo.lock";

/// The part of `deny.toml` that is looked at.
#[derive(Debug, Deserialize)]
struct Rules {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    /// Who may use it directly; nobody, where there are none.
    #[serde(default)]
    wrappers: BTreeSet<String>,
}

/// The lock file, as far as it is looked at.
#[derive(Debug, Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Debug, Deserialize)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
}

/// Every breach of the rules in the dependencies of the workspace.
pub(crate) fn check(root: &Path) -> Result<Vec<Violation>> {
    let read = |name: &str| {
        std::fs::read_to_string(root.join(name)).with_context(|| format!("{name} cannot be read"))
    };
    let rules: Rules = toml::from_str(&read("deny.toml")?).context("deny.toml is not what it used to be")?;
    let lock: Lock = toml::from_str(&read(PLACE)?).context("Cargo.lock is not what it used to be")?;
    let mut findings = sources(&lock);
    for target in &rules.graph.targets {
        let common = ["tree", "--workspace", "--all-features", "--locked", "--target", target];
        let tree = |more: &[&str]| -> Result<String> {
            let output = cargo(&[&common[..], more].concat())?;
            Ok(String::from_utf8_lossy(&output).into_owned())
        };
        findings
            .extend(licenses(&rules.licenses.allow, &tree(&["--prefix", "none", "--format", "{p}\t{l}"])?));
        findings.extend(bans(
            &rules.bans.deny,
            &tree(&["--prefix", "depth", "--no-dedupe", "--format", " {p}"])?,
        ));
    }
    findings.sort_by(|a, b| a.what.cmp(&b.what));
    findings.dedup();
    Ok(findings)
}

fn sources(lock: &Lock) -> Vec<Violation> {
    let strange =
        lock.package.iter().filter(|package| package.source.as_deref().is_some_and(|from| from != REGISTRY));
    let what = |package: &Locked| {
        let from = package.source.as_deref().unwrap_or_default();
        format!("{} {} comes from {from}; take only what the registry has", package.name, package.version)
    };
    strange.map(|package| Violation::error(PLACE, what(package))).collect()
}

/// The packages whose licence is not allowed, in lines of package, tab, licence.
fn licenses(allowed: &BTreeSet<String>, tree: &str) -> Vec<Violation> {
    let lines: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let others = lines.into_iter().filter_map(|line| line.split_once('\t'));
    let others = others.filter(|(package, _)| !is_ours(package));
    let refused = others.filter(|(_, license)| !allows(allowed, license));
    let what = |(package, license)| {
        format!(
            "{package} has the licence {license:?}, which deny.toml does not allow; use another crate, or decide to"
        )
    };
    refused.map(|pair| Violation::error(PLACE, what(pair))).collect()
}

/// Whether a line of the tree is of a crate of the workspace: those say where they are.
fn is_ours(package: &str) -> bool {
    package.contains(" (/")
}

/// Whether a licence expression (SPDX, or the older form with a stroke) can be met with those that are allowed.
fn allows(allowed: &BTreeSet<String>, license: &str) -> bool {
    let spaced = license.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = any(allowed, &mut words);
    verdict == Some(true) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

/// `A OR B`, of which `AND` binds more closely; `None` where the expression is none.
fn any(allowed: &BTreeSet<String>, words: &mut Words<'_>) -> Option<bool> {
    let mut met = all(allowed, words)?;
    while words.next_if_eq(&"OR").is_some() {
        met |= all(allowed, words)?;
    }
    Some(met)
}

fn all(allowed: &BTreeSet<String>, words: &mut Words<'_>) -> Option<bool> {
    let mut met = one(allowed, words)?;
    while words.next_if_eq(&"AND").is_some() {
        met &= one(allowed, words)?;
    }
    Some(met)
}

fn one(allowed: &BTreeSet<String>, words: &mut Words<'_>) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let met = any(allowed, words)?;
        return (words.next()? == ")").then_some(met);
    }
    // An exception is another licence.
    Some(match words.next_if_eq(&"WITH") {
        Some(_) => allowed.contains(&format!("{word} WITH {}", words.next()?)),
        None => allowed.contains(word),
    })
}

/// The banned packages that one uses who may not, in lines of depth, blank, package.
fn bans(bans: &[Ban], tree: &str) -> Vec<Violation> {
    let rules: BTreeMap<&str, &BTreeSet<String>> =
        bans.iter().map(|ban| (ban.name.as_str(), &ban.wrappers)).collect();
    let mut findings = Vec::new();
    let mut above: Vec<&str> = Vec::new();
    for line in tree.lines() {
        let Some((depth, package)) = line.split_once(' ') else { continue };
        let Ok(depth) = depth.parse::<usize>() else { continue };
        let name = package.split(' ').next().unwrap_or_default();
        above.truncate(depth);
        let user = above.last().copied();
        above.push(name);
        let Some(wrappers) = rules.get(name) else { continue };
        // Whoever is tested with it does not ship it.
        let Some(user) = user.filter(|user| !wrappers.contains(*user)) else { continue };
        let what =
            format!("{user} uses {name}, which deny.toml lets others use or nobody; leave it out there");
        findings.push(Violation::error(PLACE, what));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_licence_is_met_by_one_of_a_choice_and_by_all_of_a_list() {
        let allowed = set(&["MIT", "Apache-2.0", "ISC"]);
        for (license, met) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("GPL-2.0/MIT", true),
            ("MIT AND Unicode-3.0", false),
            ("(MIT OR GPL-3.0) AND ISC", true),
            ("(MIT OR GPL-3.0) AND (Zlib OR 0BSD)", false),
            ("Zlib AND MIT OR ISC", true),
            ("Apache-2.0 WITH LLVM-exception", false),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0", true),
            ("MIT OR", false),
            ("(MIT", false),
            ("", false),
        ] {
            assert_eq!(allows(&allowed, license), met, "{license}");
        }
        let tree =
            "romer v0.1.0 (/repo)\t\nserde v1.0.0\tMIT\nserde v1.0.0\tMIT (*)\nbad v2.0.0\tGPL-3.0-only\n";
        let findings = licenses(&allowed, tree);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].what.contains("bad v2.0.0"));
    }

    #[test]
    fn what_is_banned_is_used_by_its_wrappers_only() {
        let bans_of = [
            Ban { name: "libc".into(), wrappers: set(&["mio"]) },
            Ban { name: "openssl".into(), wrappers: set(&[]) },
        ];
        let tree = "0 romer v0.1.0 (/repo)\n1 mio v1.0.0\n2 libc v0.2.0\n1 other v1.0.0\n2 mio v1.0.0\n3 libc v0.2.0\n2 libc v0.2.0\n1 openssl v1.0.0\n";
        let what: Vec<String> = bans(&bans_of, tree).into_iter().map(|finding| finding.what).collect();
        assert_eq!(what.len(), 2, "{what:?}");
        assert!(what[0].starts_with("other uses libc") && what[1].starts_with("romer uses openssl"));
    }

    #[test]
    fn a_package_from_elsewhere_is_found() {
        let lock: Lock = toml::from_str(
            "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"git+https://example.org/a\"\n[[package]]\nname = \"romer\"\nversion = \"0.1.0\"\n",
        )
        .unwrap();
        assert_eq!(sources(&lock).len(), 1);
    }
}
