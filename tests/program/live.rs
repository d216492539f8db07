//! What is shown of a measurement, and what is written of the program.

use super::common::lab::{FAR, Lab};
use super::common::process::{self, romer};

#[test]
fn many_streams_are_summed_up_in_a_line_each() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let mut command = lab.romer("A", ["measure", "--count", "5", "--interval", "20ms", "--out"]);
    let ended = process::run(command.arg(home.path().join("run")).args([FAR; 9])).with_code(0);
    let streams = ended.stdout.lines().filter(|line| line.starts_with(FAR)).count();
    assert_eq!(streams, 9, "{}", ended.stdout);
    assert!(ended.stdout.starts_with("9 streams") && ended.stdout.lines().count() < 16, "{}", ended.stdout);
}

#[test]
fn the_manual_has_a_page_for_each_command_and_completions_for_each_shell() {
    let folder = tempfile::tempdir().unwrap();
    let ended = process::run(romer(["manual"]).arg(folder.path())).with_code(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let help = process::run(&mut romer(["--help"])).with_code(0).stdout;
    assert!(!help.contains("manual"), "it is for whoever packs romer");
    for command in ["measure", "respond", "analyze", "compare", "report", "lab", "demo", "doctor"] {
        assert!(help.contains(command) && text("romer.1").contains(command), "{command}");
        let page = text(&format!("romer-{command}.1"));
        assert!(page.contains(".TH") && page.contains("SYNOPSIS"), "{page}");
    }
    assert!(
        text("romer-measure.1").contains("departure\\-jitter") && text("romer-lab-up.1").contains("prefix")
    );
    for file in ["romer.bash", "_romer", "romer.fish"] {
        assert!(text(file).contains("departure-jitter"), "{file}");
    }
}
