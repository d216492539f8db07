//! What the program says of itself.

use super::common::process::{self, romer};

/// `romer version` says what `--version` does, and a near miss leads there.
#[test]
fn version_command() {
    let of = |argument: &str| process::run(&mut romer([argument])).with_code(0).stdout;
    assert_eq!(of("version"), of("--version"));
    assert!(of("version").starts_with("romer "));
    let missed = process::run(&mut romer(["verson"])).with_code(2).stderr;
    assert!(missed.contains("did you mean version?"), "{missed}");
}

/// `romer completions SHELL` prints a script that completes the commands; an unknown shell is refused with those there are.
#[test]
fn completions_command() {
    for (shell, sign) in [("bash", "complete -F"), ("zsh", "#compdef romer"), ("fish", "complete -c romer")] {
        let script = process::run(&mut romer(["completions", shell])).with_code(0).stdout;
        assert!(script.contains(sign) && script.contains("measure"), "{shell}");
    }
    let refused = process::run(&mut romer(["completions", "tcsh"])).with_code(2).stderr;
    assert!(refused.contains("bash") && refused.contains("zsh"), "{refused}");
    let missed = process::run(&mut romer(["completion"])).with_code(2).stderr;
    assert!(missed.contains("did you mean completions?"), "{missed}");
}
