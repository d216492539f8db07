//! The commands of the documentation: every block of them is run, or states why not.
//!
//! A comment before a block says how, its parts separated by ` ;; `:
//!
//! - `<!-- run: no, REASON -->`: it is not run.
//! - `<!-- run: here -->`: on this machine, which has a network of its own.
//! - `<!-- run: lab=path -->` (or `router`): on host A of a lab whose host B runs a responder, as `far.example` and `HOST`.
//! - `on=E`: on that host of the lab.
//! - `code=6`, or `code=0/6`: the exit codes of its first command, or of one that goes on; it is 0 otherwise.
//! - `before=COMMAND`: what the page does not show is prepared so.
//! - `background=NAME`: its last command goes on, until a block with `interrupt=NAME`, as by Ctrl-C.
//! - `replace=OLD => NEW`: in its commands, such as a long duration by a short one.
//!
//! `<!-- file: NAME -->` before any block saves it under that name. A page runs from top to bottom in a fresh folder, in
//! namespaces of its own, with which everything ends that it has started.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod page;
mod script;

use std::fs;
use std::path::{Path, PathBuf};

use page::Page;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// Runs every page of a folder, and reports all that fails.
fn check(folder: &str) {
    let root = repository().join(folder);
    let mut pages: Vec<PathBuf> = match root.is_file() {
        true => vec![root],
        false => fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect(),
    };
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    assert!(!pages.is_empty(), "no pages in {folder}");
    let mut faults = Vec::new();
    for path in pages {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let fault = Page::read(&fs::read_to_string(&path).unwrap()).and_then(|page| script::run(&page));
        faults.extend(fault.err().map(|why| format!("{folder}/{name}:{why}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn readme() {
    check("README.md");
}

#[test]
fn tutorials() {
    check("docs/tutorial");
}

#[test]
fn howtos() {
    check("docs/howto");
}

#[test]
fn reference() {
    check("docs/reference");
}

#[test]
fn explanations() {
    check("docs/explanation");
}

/// A block that does not state how it is run is a fault, and so is a comment that cannot be read.
#[test]
fn blocks_need_comments() {
    let block = "```console\n$ true\n```\n";
    for (page, part) in [
        (block.to_owned(), "1: the block has no comment"),
        (format!("<!-- run: no -->\n{block}"), "1: `no` without a reason"),
        (format!("<!-- run: there -->\n{block}"), "1: unknown part \"there\""),
        ("<!-- run: here -->\n".to_owned(), "1: no block follows"),
        ("<!-- run: here -->\n```console\nout\n```\n".to_owned(), "2: the block has no command"),
    ] {
        let why = Page::read(&page).map(|_| ()).unwrap_err();
        assert!(why.starts_with(part), "{page:?}: {why}");
    }
    assert!(Page::read(&format!("<!-- run: no, two hosts -->\n{block}")).is_ok());
}

/// A command that fails, or does not with a stated code, is reported with its line.
#[test]
fn failures_are_reported() {
    let run = |text: &str| script::run(&Page::read(text).unwrap());
    assert_eq!(run("<!-- run: here -->\n```console\n$ true\n$ echo $?\n```\n"), Ok(()));
    assert_eq!(run("<!-- run: here ;; code=7 -->\n```console\n$ (exit 7)\n$ [ $? = 7 ]\n```\n"), Ok(()));
    let why = run("\n<!-- run: here -->\n```console\n$ true\n$ echo said; false\n```\n").unwrap_err();
    assert!(why.starts_with("3: exit code 1 and not 0: echo said; false") && why.contains("said"), "{why}");
    let why = run("<!-- run: here ;; code=3 -->\n```console\n$ true\n```\n").unwrap_err();
    assert!(why.starts_with("2: exit code 0 and not 3"), "{why}");
    let saved = "<!-- file: a.toml -->\n```toml\nx = 1\n```\n<!-- run: here ;; replace=b.toml => a.toml -->\n\
        ```console\n$ grep -q 'x = 1' b.toml\n```\n";
    assert_eq!(run(saved), Ok(()));
    let interrupted = "<!-- run: here ;; background=one ;; code=130 -->\n```console\n$ echo on; sleep 1000\n```\n\
        <!-- run: interrupt=one -->\n```console\n^C\n```\n";
    assert_eq!(run(interrupted), Ok(()));
}
