//! A page of the manual: the sections that follow from the arguments, and those that all pages have.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

/// The exit codes, in the words of docs/reference/exit-codes.md.
const EXIT_CODES: [(&str, &str); 8] = [
    ("0", "Success."),
    ("1", "Internal error: a defect of romer."),
    ("2", "Usage: an unknown option, a bad value, or a schedule that sent nothing."),
    ("3", "Bad data in a file."),
    ("4", "Environment or permission."),
    ("5", "The responder refused or is unreachable."),
    ("6", "A limit failed."),
    ("130", "Interrupted. Results up to the interrupt are saved."),
];
/// The files of romer, and the commands that use each.
const FILES: [(&str, &str, &[&str]); 10] = [
    (
        "$XDG_STATE_HOME/romer/runs",
        "Folders of runs. The default of XDG_STATE_HOME is ~/.local/state.",
        &[
            "measure", "analyze", "compare", "report", "qtcp", "model", "loop", "bench", "emulate",
            "console", "demo",
        ],
    ),
    (
        "$XDG_STATE_HOME/romer/calibration.json",
        "The tool's own error on this machine.",
        &["calibrate", "measure", "loop"],
    ),
    (
        "$XDG_STATE_HOME/romer/identity.pem",
        "Key of this user for the control channel. It is made at the first use.",
        &["measure", "respond", "pair", "agent", "loop", "emulate", "console"],
    ),
    (
        "$XDG_STATE_HOME/romer/known_peers",
        "Fingerprints of the keys of other ends. As a service, both files are in the folder that systemd makes (STATE_DIRECTORY).",
        &["measure", "respond", "pair", "agent", "loop", "emulate", "console"],
    ),
    (
        "/run/romer-lab, $XDG_RUNTIME_DIR/romer-lab",
        "Labs that are up, of root and of other users.",
        &["lab", "demo"],
    ),
    ("/etc/romer/agent.toml", "Measurements of the agent.", &["agent"]),
    ("/var/lib/romer", "Runs of romer-agent.service.", &["agent"]),
    ("/etc/romer/agent.env", "Options of romer-agent.service.", &["agent"]),
    ("/etc/romer/respond.env", "Options of romer-respond.service.", &["respond"]),
    (
        "/usr/share/romer",
        "Presets, and the JSON schemas of scenarios and benchmark plans.",
        &["emulate", "bench", "model"],
    ),
];
/// How the examples of a command's help begin.
const EXAMPLES: &str = "Examples:\n";
/// Examples of the page of `romer` itself.
const FIRST_EXAMPLES: &str = "romer demo\nromer respond\nromer measure HOST";

/// The page of `command`, which is one of the commands within `root` and called `name`: `romer-lab-up`.
pub(super) fn page(root: &Command, command: &Command, name: &str) -> io::Result<Vec<u8>> {
    // What is hidden in the short help is described here.
    let shown = command.clone().name(name.to_owned()).display_name(name.to_owned());
    let shown = shown.mut_args(|option| option.hide_short_help(false));
    let version = root.get_version().unwrap_or_default();
    let manual = Man::new(shown).source(format!("romer {version}")).manual("romer manual");
    let mut page = Vec::new();
    manual.render_title(&mut page)?;
    let mut sections = Vec::new();
    manual.render_name_section(&mut sections)?;
    manual.render_synopsis_section(&mut sections)?;
    manual.render_description_section(&mut sections)?;
    if command.get_arguments().any(|option| !option.is_hide_set()) {
        manual.render_options_section(&mut sections)?;
    }
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        manual.render_subcommands_section(&mut sections)?;
    }
    for section in [exit_status(), files(name), examples(command), see_also(root, command, name)] {
        section.to_writer(&mut sections)?;
    }
    page.extend(without_preambles(&sections));
    Ok(page)
}

/// The sections without the two lines that define the apostrophe, which the title's have defined.
fn without_preambles(sections: &[u8]) -> Vec<u8> {
    let lines = sections.split_inclusive(|octet| *octet == b'\n');
    lines.filter(|line| !line.starts_with(b".ie ") && !line.starts_with(b".el ")).flatten().copied().collect()
}

fn section(title: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", [title]);
    roff
}

fn exit_status() -> Roff {
    let mut roff = section("EXIT STATUS");
    for (code, meaning) in EXIT_CODES {
        roff.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    roff
}

/// The files of a command. Without any there is no section.
fn files(name: &str) -> Roff {
    let command = name.split('-').nth(1);
    let is_used = |commands: &[&str]| command.is_none_or(|command| commands.contains(&command));
    let mut used = FILES.iter().filter(|(_, _, commands)| is_used(commands)).peekable();
    if used.peek().is_none() {
        return Roff::new();
    }
    let mut roff = section("FILES");
    for (path, meaning, _) in used {
        roff.control("TP", []).text([italic(*path)]).text([roman(*meaning)]);
    }
    roff
}

/// The examples of the command's help, and what else stands there as notes.
fn examples(command: &Command) -> Roff {
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    let is_root = command.get_name() == "romer";
    let (notes, examples) =
        after.split_once(EXAMPLES).unwrap_or((after.as_str(), if is_root { FIRST_EXAMPLES } else { "" }));
    let mut roff = Roff::new();
    for (title, text) in [("NOTES", notes), ("EXAMPLES", examples)] {
        if text.trim().is_empty() {
            continue;
        }
        roff.control("SH", [title]).control("nf", []);
        for line in text.trim_end().lines() {
            roff.text([roman(line.trim_start())]);
        }
        roff.control("fi", []);
    }
    roff
}

/// The pages of the command above, of those within, and of those that the help mentions.
fn see_also(root: &Command, command: &Command, name: &str) -> Roff {
    let mut pages: Vec<String> = Vec::new();
    if let Some((above, _)) = name.rsplit_once('-') {
        pages.push(above.to_owned());
    }
    let visible = |command: &Command| -> Vec<String> {
        let inner =
            command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
        inner.map(|inner| inner.get_name().to_owned()).collect()
    };
    pages.extend(visible(command).iter().map(|inner| format!("{name}-{inner}")));
    // Lines are wrapped anywhere.
    let help = command.clone().render_long_help().to_string();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let mentioned = visible(root).into_iter().filter(|other| {
        let words = format!("romer {other}");
        help.match_indices(&words).any(|(place, _)| {
            let after = help.get(place + words.len()..).and_then(|rest| rest.chars().next());
            after.is_none_or(|next| !next.is_ascii_alphanumeric() && next != '-')
        })
    });
    for page in mentioned.map(|other| format!("romer-{other}")) {
        if page != name && !pages.contains(&page) {
            pages.push(page);
        }
    }
    let mut roff = section("SEE ALSO");
    let last = pages.len().saturating_sub(1);
    for (place, page) in pages.into_iter().enumerate() {
        let end: Inline = roman(if place == last { "(1)" } else { "(1)," });
        roff.text([bold(page), end]);
    }
    roff
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    fn pages(root: &Command, command: &Command, name: &str) -> Vec<(String, String)> {
        let text = String::from_utf8(page(root, command, name).unwrap()).unwrap();
        let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let inner = inner.flat_map(|inner| pages(root, inner, &format!("{name}-{}", inner.get_name())));
        [(name.to_owned(), text)].into_iter().chain(inner).collect()
    }

    /// Each page has the sections of a manual once, and describes each option.
    #[test]
    fn pages_are_complete() {
        let mut root = Cli::command();
        root.build();
        let all = pages(&root, &root, "romer");
        assert!(all.len() > 25);
        for (name, text) in &all {
            for title in ["NAME", "SYNOPSIS", "DESCRIPTION", "\"EXIT STATUS\"", "\"SEE ALSO\""] {
                assert_eq!(text.matches(&format!(".SH {title}\n")).count(), 1, "{name}: {title}\n{text}");
            }
            assert_eq!(text.matches(".ie ").count(), 1, "{name}");
            let lines: Vec<&str> = text.lines().collect();
            let bare = lines.windows(3).find(|lines| {
                lines[0].starts_with("\\fB\\-") && lines[1].is_empty() && lines[2].starts_with('.')
            });
            assert_eq!(bare, None, "{name} has an option without a description");
        }
        let of = |name: &str| &all.iter().find(|(other, _)| other == name).unwrap().1;
        for name in ["romer", "romer-measure", "romer-respond", "romer-agent"] {
            assert!(of(name).contains(".SH EXAMPLES\n") && of(name).contains(".SH FILES\n"), "{}", of(name));
        }
        assert!(of("romer-respond").contains("\\fBromer\\-measure\\fR(1)"), "{}", of("romer-respond"));
        assert!(of("romer-lab-up").contains("\\fBromer\\-lab\\fR(1)"), "{}", of("romer-lab-up"));
    }

    /// The codes are those of the program.
    #[test]
    fn codes_are_those_of_the_reference() {
        let reference = include_str!("../../../../../docs/reference/exit-codes.md");
        let rows = reference.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
        let codes: Vec<&str> = rows.filter(|code| code.bytes().all(|octet| octet.is_ascii_digit())).collect();
        assert_eq!(codes, EXIT_CODES.map(|(code, _)| code));
    }
}
