//! The reference of all options, from the same source as `--help`: `docs/reference/all-options.md`.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;

/// What the page begins with.
const INTRODUCTION: &str = "\
# All options

This page is generated from `romer COMMAND --help` (`romer manual DIR` writes it). [Commands and options](options.md) explains the kinds of
values. An option with `...` may be repeated.
";

/// The page.
pub(crate) fn page() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = INTRODUCTION.to_owned();
    for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
        section(&mut page, command, "romer", 2);
    }
    page
}

/// The section of a command, and those of the commands within it.
fn section(page: &mut String, command: &Command, parent: &str, level: usize) {
    let name = format!("{parent} {}", command.get_name());
    let _ = writeln!(page, "\n{} {name}", "#".repeat(level));
    if let Some(about) = command.get_about() {
        let _ = writeln!(page, "\n{}.", one_line(&about.to_string()));
    }
    let options: Vec<&Arg> =
        command.get_arguments().filter(|option| !option.is_hide_set() && option.get_id() != "help").collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for option in &options {
        if !headings.contains(&option.get_help_heading()) {
            headings.push(option.get_help_heading());
        }
    }
    for heading in headings {
        let title = heading.map_or_else(String::new, |heading| format!("**{heading}**\n\n"));
        let _ = writeln!(page, "\n{title}| option | default | meaning |\n| --- | --- | --- |");
        for option in options.iter().filter(|option| option.get_help_heading() == heading) {
            let _ = writeln!(page, "{}", row(option));
        }
    }
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        section(page, inner, &name, level + 1);
    }
}

/// The row of an option or argument.
fn row(option: &Arg) -> String {
    let takes_values = option.get_action().takes_values();
    let values = if takes_values {
        let names = option.get_value_names().unwrap_or_default();
        names.iter().map(|name| format!(" {name}")).collect::<String>()
    } else {
        String::new()
    };
    let repeats = if matches!(option.get_action(), clap::ArgAction::Append) { "..." } else { "" };
    let mut names: Vec<String> = Vec::new();
    names.extend(option.get_short().map(|short| format!("-{short}")));
    names.extend(option.get_long().map(|long| format!("--{long}")));
    let names = format!("`{}{values}{repeats}`", names.join("`, `"));
    let names = names.replace("` ", "`").replace("|", "\\|");
    let defaults: Vec<String> =
        option.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let default = if defaults.is_empty() || !takes_values {
        String::new()
    } else {
        format!("`{}`", defaults.join(","))
    };
    let short = option.get_help().map(ToString::to_string).unwrap_or_default();
    let long = option.get_long_help().map(ToString::to_string).unwrap_or_default();
    // A list in columns is not for a cell: the page of the values has it.
    let text = if long.is_empty() || long.contains("\n  ") { short } else { long };
    let meaning = sentence(&text);
    let mut values = String::new();
    if takes_values && !option.is_hide_possible_values_set() {
        let possible = option.get_possible_values();
        let listed: Vec<String> = possible
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| match value.get_help() {
                Some(help) => format!("`{}`: {}", value.get_name(), one_line(&help.to_string())),
                None => format!("`{}`", value.get_name()),
            })
            .collect();
        values = listed.iter().map(|value| format!("<br>{}", escaped(value))).collect();
    }
    let meaning =
        (escaped(&meaning) + &values).replace("(see --help)", "([traffic models](traffic-models.md))");
    format!("| {names} | {default} | {meaning} |").replace("|  |", "| |")
}

/// The paragraphs of a help text as sentences of one line.
fn sentence(text: &str) -> String {
    let parts = text.split("\n\n").map(one_line).filter(|part| !part.is_empty());
    parts
        .map(|part| if part.ends_with('.') { part } else { format!("{part}.") })
        .collect::<Vec<_>>()
        .join(" ")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As a cell of a table has it, outside of code.
fn escaped(text: &str) -> String {
    let mut is_code = false;
    let mut out = String::new();
    for letter in text.chars() {
        is_code ^= letter == '`';
        match letter {
            '|' => out.push_str("\\|"),
            '<' | '*' | '[' | ']' | '_' if !is_code => out.extend(['\\', letter]),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The published page is that of this program: every option of every command, with its default.
    #[test]
    fn published_page_is_current() {
        let page = page();
        for part in ["## romer measure", "### romer bench throughput", "`-c`, `--count N`", "| `2s` |"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/all-options.md");
        if std::env::var_os("ROMER_GOLDEN").is_some() {
            std::fs::write(&published, &page).unwrap();
        }
        assert!(std::fs::read_to_string(published).unwrap() == page, "ROMER_GOLDEN=write renews it");
    }
}
