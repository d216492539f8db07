//! The procedures and options of `romer bench`, taken from its argument parser.

use clap::{Arg, Args as _, Command};
use romer_scenario::nearest;

use crate::args::BenchArgs;
use crate::failure::Failure;

/// The procedures, each with its options.
pub(super) fn procedures() -> Vec<Command> {
    BenchArgs::augment_args(Command::new("bench")).get_subcommands().cloned().collect()
}

/// The options of all procedures by their long names; of one that several have, the first.
pub(super) fn options() -> Vec<(String, Arg)> {
    let mut all: Vec<(String, Arg)> = Vec::new();
    for procedure in procedures() {
        for option in procedure.get_arguments() {
            if let Some(name) = option.get_long().filter(|name| all.iter().all(|(known, _)| known != name)) {
                all.push((name.to_owned(), option.clone()));
            }
        }
    }
    all
}

/// Whether the option of this name takes a value.
pub(super) fn takes_a_value(options: &[(String, Arg)], name: &str) -> bool {
    options.iter().any(|(known, option)| known == name && option.get_action().takes_values())
}

/// That a word names neither a procedure nor a plan.
pub(super) fn no_procedure(word: &str) -> Failure {
    let names: Vec<String> = procedures().iter().map(|one| one.get_name().to_owned()).collect();
    let hint = nearest(word, names.iter().map(String::as_str))
        .map_or_else(|| format!("write one of {}", names.join(", ")), |name| format!("did you mean {name}?"));
    let shown = romer_units::excerpt(word, 40);
    Failure::usage(format!(
        "bad value (PROCEDURE): {shown:?} is neither a procedure nor a plan (FILE.toml); {hint}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word that is nearly a procedure's name is explained by that name.
    #[test]
    fn near_names_are_proposed() {
        assert!(no_procedure("throughputt").text().ends_with("; did you mean throughput?"));
        assert!(no_procedure("x").text().contains("write one of throughput, load-sweep"));
        assert_eq!(nearest("frame_sizs", ["frame-sizes", "loads"]), Some("frame-sizes"));
    }

    /// A procedure has the options that apply to it, in its help as well.
    #[test]
    fn help_has_what_applies() {
        let help = |name: &str, long: bool| {
            let mut procedure = procedures().into_iter().find(|one| one.get_name() == name).unwrap();
            let help = if long { procedure.render_long_help() } else { procedure.render_help() };
            help.to_string()
        };
        let throughput = help("throughput", true);
        for option in ["--resolution", "--search-trial", "--exceed-ratio", "--frame-sizes", "--expect-vlan"] {
            assert!(throughput.contains(option), "{option}");
        }
        for option in ["--loads", "--profile", "--discipline", "--capacity", "--reset", "--excess-marking"] {
            assert!(!throughput.contains(option), "{option}");
        }
        let [short, tester] = [help("throughput", false), help("self-test", true)];
        assert!(short.contains("--frame-sizes") && !short.contains("--expect-vlan"));
        assert!(tester.contains("--line-rate") && !tester.contains("--case"));
    }
}
