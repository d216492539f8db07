//! The scenarios that were in force, each with the files that it named.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

/// Scenarios that are remembered.
const MAX_SCENARIOS: usize = 50;
/// Octets of files that are remembered with them; what several have alike counts once.
const MAX_TOTAL_FILE_OCTETS: usize = 64 << 20;

/// A scenario that was applied.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AppliedScenario")]
pub(crate) struct Applied {
    /// Number of the scenario, from 1.
    pub(crate) version: u64,
    /// Time at which it was applied, RFC 3339.
    pub(crate) at: String,
    /// Scenario as TOML.
    pub(crate) toml: String,
}

#[derive(Debug)]
struct HistoryEntry {
    applied: Applied,
    files: BTreeMap<String, Arc<str>>,
}

/// The last of them, oldest first: the one in force is always there.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<HistoryEntry>);

impl History {
    /// Takes in the one that is in force now.
    pub(crate) fn push(&mut self, applied: Applied, files: &BTreeMap<String, String>) {
        let last = self.0.back();
        let kept = |(name, text): (&String, &String)| {
            let before = last.and_then(|entry| entry.files.get(name)).filter(|before| ***before == **text);
            (name.clone(), before.map_or_else(|| Arc::from(text.as_str()), Arc::clone))
        };
        let files = files.iter().map(kept).collect();
        self.0.push_back(HistoryEntry { applied, files });
        while self.0.len() > 1 && (self.0.len() > MAX_SCENARIOS || self.octets() > MAX_TOTAL_FILE_OCTETS) {
            self.0.pop_front();
        }
    }

    /// Octets of the files; those that two successive ones have alike are there once.
    fn octets(&self) -> usize {
        let newer = self.0.iter().skip(1).map(Some).chain([None]);
        let own = |(entry, newer): (&HistoryEntry, Option<&HistoryEntry>)| -> usize {
            let is_there_again = |name: &String, text: &Arc<str>| {
                newer.and_then(|newer| newer.files.get(name)).is_some_and(|other| Arc::ptr_eq(other, text))
            };
            let once = entry.files.iter().filter(|(name, text)| !is_there_again(name, text));
            once.map(|(_, text)| text.len()).sum()
        };
        self.0.iter().zip(newer).map(own).sum()
    }

    /// Newest first.
    pub(crate) fn list(&self) -> Vec<Applied> {
        self.0.iter().rev().map(|entry| entry.applied.clone()).collect()
    }

    /// The files that the one with this number named, each with its text; `None` where it is not remembered.
    pub(crate) fn files(&self, version: u64) -> Option<BTreeMap<String, String>> {
        let entry = self.0.iter().find(|entry| entry.applied.version == version)?;
        Some(entry.files.iter().map(|(name, text)| (name.clone(), text.to_string())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(version: u64) -> Applied {
        Applied { version, at: String::new(), toml: format!("# {version}\n") }
    }

    fn files(text: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("t".to_owned(), text.to_owned())])
    }

    #[test]
    fn each_has_the_files_that_it_had_then() {
        let mut history = History::default();
        for (version, text) in [(1, "10\n"), (2, "10\n"), (4, "5\n10\n")] {
            history.push(applied(version), &files(text));
        }
        assert_eq!(history.list().iter().map(|one| one.version).collect::<Vec<_>>(), [4, 2, 1]);
        assert_eq!(history.files(2), Some(files("10\n")));
        assert_eq!(history.files(4), Some(files("5\n10\n")));
        assert_eq!(history.files(3), None);
        // What both of the first had alike is there once.
        assert_eq!(history.octets(), 3 + 5);
    }

    /// The oldest scenarios are evicted, the current one never.
    #[test]
    fn oldest_scenarios_are_evicted() {
        let mut history = History::default();
        for version in 1..=60 {
            history.push(applied(version), &BTreeMap::new());
        }
        assert_eq!((history.list().len(), history.list()[0].version), (MAX_SCENARIOS, 60));
        for (version, fill) in [(61, "a"), (62, "b"), (63, "c")] {
            history.push(applied(version), &files(&fill.repeat(MAX_TOTAL_FILE_OCTETS / 2)));
        }
        assert_eq!(history.list().iter().map(|one| one.version).collect::<Vec<_>>(), [63, 62]);
        history.push(applied(64), &files(&"d".repeat(MAX_TOTAL_FILE_OCTETS + 1)));
        assert_eq!(history.list().len(), 1);
        assert!(history.files(64).is_some());
    }
}
