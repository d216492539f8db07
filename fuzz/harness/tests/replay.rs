//! Replays the corpus of every fuzz target, and mutations of it, without a fuzzer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{env, fs};

use romer_fuzz_harness::mutate::Mutations;
use romer_fuzz_harness::{TARGETS, Target};
use romer_units::random::Seed;

/// Mutations a target without `ROMER_FUZZ_ROUNDS`; a second or less.
const ROUNDS: u64 = 100_000;
/// Their seed. A failure names its ordinal and its bytes, which go into the corpus under a name that says
/// what it was.
const SEED: Seed = Seed([2, 7, 1, 8, 2, 8]);

/// The targets that `ROMER_FUZZ_TARGETS` names, separated by commas; all without it.
fn targets() -> impl Iterator<Item = &'static Target> {
    let names = env::var("ROMER_FUZZ_TARGETS").ok();
    let chosen = move |target: &&Target| {
        names.as_ref().is_none_or(|names| names.split(',').any(|name| name == target.name))
    };
    TARGETS.iter().filter(chosen)
}

/// The files of a target's corpus, in the order of their names.
fn corpus(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = target.corpus();
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("the corpus can be listed");
            let octets = fs::read(entry.path()).expect("the corpus can be read");
            (entry.file_name().to_string_lossy().into_owned(), octets)
        })
        .collect();
    files.sort();
    files
}

fn survive(target: &Target, what: &str, octets: &[u8]) {
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(octets)));
    assert!(outcome.is_ok(), "{} fails on {what}: {octets:02x?}", target.name);
}

#[test]
fn every_file_of_the_corpus_is_survived() {
    for target in targets() {
        let files = corpus(target);
        assert!(files.len() >= 10, "{} has hardly a corpus", target.name);
        for (name, octets) in files {
            survive(target, &name, &octets);
        }
    }
}

#[test]
fn every_seed_is_in_the_corpus_as_it_is_made_today() {
    for target in TARGETS {
        let files = corpus(target);
        for seed in (target.seeds)() {
            let found = files.iter().find(|(name, _)| name == seed.name);
            assert!(
                found.is_some_and(|(_, octets)| *octets == seed.octets),
                "{}/{} is not current: cargo run -p romer-fuzz-harness --example seed_corpus",
                target.name,
                seed.name
            );
        }
    }
}

#[test]
fn mutations_of_the_corpus_are_survived() {
    let rounds = match env::var("ROMER_FUZZ_ROUNDS") {
        Ok(text) => text.parse().expect("ROMER_FUZZ_ROUNDS is a number"),
        Err(_) => ROUNDS,
    };
    for target in targets() {
        let files: Vec<_> = corpus(target).into_iter().map(|(_, octets)| octets).collect();
        for ordinal in 0..rounds.div_ceil(target.cost) {
            let octets = Mutations::new(SEED).nth(ordinal, &files);
            survive(target, &format!("mutation {ordinal} of seed {SEED}"), &octets);
        }
    }
}

/// A document that is no longer read would leave nothing to change.
#[test]
fn run_documents_are_current() {
    romer_fuzz_harness::assert_documents_current();
}
