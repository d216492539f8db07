//! Parses the arguments and reports invalid ones.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use romer_scenario::nearest;

use super::Cli;
use crate::failure::Failure;

/// The longest argument that is looked at.
const MAX_ARGUMENT_OCTETS: usize = 4_096;

/// What the arguments come to.
pub(crate) enum Invocation {
    /// Do this.
    Run(Cli),
    /// Show this text: help, or the version.
    Show(String),
}

/// Reads the arguments.
pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, Failure> {
    let arguments = checked(arguments)?;
    let mut command = Cli::command();
    if arguments.len() == 1 {
        return Ok(Invocation::Show(command.render_help().to_string()));
    }
    match command.try_get_matches_from(arguments.iter()).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => Ok(Invocation::Run(cli)),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Ok(Invocation::Show(error.render().to_string()))
            }
            _ => Err(Failure::usage(explained(&error, &arguments))),
        },
    }
}

/// Arguments that are text and of a sane length. What follows `--` belongs to another program and is left alone.
fn checked(arguments: impl IntoIterator<Item = OsString>) -> Result<Vec<OsString>, Failure> {
    let mut ours = true;
    let mut checked = Vec::new();
    for (place, argument) in arguments.into_iter().enumerate() {
        if ours && place > 0 {
            let Some(text) = argument.to_str() else {
                let head: Vec<u8> = argument.as_encoded_bytes().iter().take(60).copied().collect();
                return Err(Failure::usage(format!(
                    "an argument is not text (argument {place}): \"{}\" is not valid UTF-8; write it in UTF-8",
                    head.escape_ascii()
                )));
            };
            if text.len() > MAX_ARGUMENT_OCTETS {
                return Err(Failure::usage(format!(
                    "an argument is too long (argument {place}): {:?}... has {} bytes; write at most {MAX_ARGUMENT_OCTETS}",
                    text.chars().take(60).collect::<String>(),
                    text.len()
                )));
            }
            ours = text != "--";
        }
        checked.push(argument);
    }
    Ok(checked)
}

/// clap's error as one line: what, where, why, what to do.
fn explained(error: &clap::Error, arguments: &[OsString]) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
        Some(ContextValue::StyledStrs(texts)) => {
            Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    };
    let short = |text: String| -> String { text.chars().take(200).collect() };
    let argument = context(ContextKind::InvalidArg).map(short).unwrap_or_default();
    let flag = name(&argument);
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let (command, path) = called(arguments);
            // What follows `--` is a command of another program.
            if !flag.starts_with('-') && command.get_positionals().any(clap::Arg::is_last_set) {
                let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
                let behind = path.split(' ').count();
                let place = words.iter().skip(behind).position(|word| *word == argument);
                if let Some((before, after)) = place.and_then(|place| words.split_at_checked(behind + place))
                {
                    let given = before.get(1..).unwrap_or_default().join(" ");
                    return short(format!(
                        "missing -- ({argument}): a command of another program follows --; write `romer {given} -- {}`",
                        after.join(" ")
                    ));
                }
            }
            if !flag.starts_with('-') {
                return format!(
                    "unexpected argument ({flag}): `{path}` takes {}; remove it, or see `{path} --help`",
                    if command.get_positionals().next().is_some() { "no further one" } else { "none" }
                );
            }
            let fix = meant(&flag, arguments)
                .unwrap_or_else(|| format!("no option has this name; see `{path} --help`"));
            format!("unknown option ({flag}): {fix}")
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(ContextKind::InvalidSubcommand).map(short).unwrap_or_default();
            // The nearest stands last.
            let nearest = match error.get(ContextKind::SuggestedSubcommand) {
                Some(ContextValue::Strings(names)) => names.last().cloned(),
                _ => context(ContextKind::SuggestedSubcommand),
            };
            let (command, path) = called(arguments);
            let fix = nearest.map_or_else(
                || {
                    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
                    let names: Vec<&str> =
                        inner.map(clap::Command::get_name).filter(|name| *name != "help").collect();
                    match path.as_str() {
                        "romer" => "see `romer --help`".to_owned(),
                        path => format!("use one of {} (`{path} --help`)", names.join(", ")),
                    }
                },
                |name| format!("did you mean {name}?"),
            );
            let name = if name.is_empty() { "\"\"".into() } else { name };
            format!("unknown command ({name}): no command has this name; {fix}")
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let (_, path) = called(arguments);
            format!(
                "missing command (command line): `{path}` needs one; see `{path} --help`, or begin with `romer demo`"
            )
        }
        ErrorKind::MissingRequiredArgument => {
            let (command, path) = called(arguments);
            let what = if argument.starts_with('-') { "option" } else { "argument" };
            let fix = example(&command, &path, Some(&flag).filter(|flag| flag.starts_with('-')))
                .map_or_else(|| format!("see `{path} --help`"), |example| format!("e.g. {example}"));
            format!("missing {what} ({argument}): it is required; {fix}")
        }
        ErrorKind::ArgumentConflict => match context(ContextKind::PriorArg).map(|prior| name(&prior)) {
            Some(other) if other != flag => {
                format!("options cannot be combined ({flag}, {other}): each excludes the other; remove one")
            }
            Some(_) => format!("option given twice ({flag}): it has one value; remove one"),
            None => format!("options cannot be combined ({flag}): it excludes all others; remove them"),
        },
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = context(ContextKind::InvalidValue).map(short).unwrap_or_default();
            let valid = context(ContextKind::ValidValue).filter(|valid| !valid.is_empty());
            match (std::error::Error::source(error), valid) {
                (Some(why), _) => format!("bad value ({flag}): {why}"),
                (None, Some(valid)) if value.is_empty() => {
                    format!("missing value ({flag}): the option takes one; write one of {valid}")
                }
                (None, Some(valid)) => {
                    format!("bad value ({flag}): {value:?} is not a possible value; write one of {valid}")
                }
                (None, None) => {
                    format!(
                        "missing value ({flag}): the option takes one; see `{} --help`",
                        called(arguments).1
                    )
                }
            }
        }
        ErrorKind::TooManyValues => {
            format!("unexpected value ({flag}): the option takes none; remove what follows its name")
        }
        ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => {
            let number = |kind| match error.get(kind) {
                Some(ContextValue::Number(number)) => Some(*number),
                _ => None,
            };
            let wanted = number(ContextKind::ExpectedNumValues).or_else(|| number(ContextKind::MinValues));
            let there = number(ContextKind::ActualNumValues);
            let takes = wanted.map_or_else(|| "another number".into(), |wanted| wanted.to_string());
            let given = match there {
                None => String::new(),
                Some(given) => format!(", not {given}"),
            };
            format!("wrong number of values ({flag}): it takes {takes}{given}; see --help")
        }
        _ => {
            let why = short(error.render().to_string().trim_start_matches("error: ").replace('\n', " "));
            format!("bad arguments (command line): {why}; see --help")
        }
    }
}

/// Which commands have an option that the called one does not; or the option that an unknown one probably is, of the command
/// that was called, or of others where theirs is nearer.
fn meant(flag: &str, arguments: &[OsString]) -> Option<String> {
    /// The first letters of a name that stand for it.
    const BEGINNING: usize = 3;
    let written = flag.strip_prefix("--").filter(|written| !written.is_empty())?;
    let mut root = Cli::command();
    root.build();
    let (called, path) = called(arguments);
    let own = options(&called);
    let mut everywhere = Vec::new();
    let mut commands: Vec<(String, &clap::Command)> = vec![(root.get_name().to_owned(), &root)];
    while let Some((path, command)) = commands.pop() {
        everywhere.extend(options(command).into_iter().map(|option| (option, path.clone())));
        let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        commands.extend(inner.map(|inner| (format!("{path} {}", inner.get_name()), inner)));
    }
    // The command's own come first: of two that are as near, its own is meant.
    let all = own.iter().copied().chain(everywhere.iter().map(|(option, _)| *option));
    let begins = || own.iter().copied().find(|own| written.len() >= BEGINNING && own.starts_with(written));
    // One or two letters are near to many names.
    let is_long = |best: &&str| *best == written || written.len() >= BEGINNING;
    let best = nearest(written, all).or_else(begins).filter(is_long)?;
    if own.contains(&best) && best == written {
        return Some(format!("it is an option of `{path}`; write it after `{path}`"));
    }
    if own.contains(&best) {
        return Some(format!("no option has this name; did you mean --{best}?"));
    }
    let having: Vec<&str> =
        everywhere.iter().filter(|(option, _)| *option == best).map(|(_, path)| path.as_str()).collect();
    // Those beside the called one, where there are any.
    let parent = path.rsplit_once(' ').map_or("", |(parent, _)| parent);
    let beside = |other: &str| other.strip_prefix(parent).is_some_and(|rest| rest.starts_with(' '));
    let some = having.iter().any(|other| beside(other));
    let mut others: Vec<String> =
        having.iter().filter(|other| !some || beside(other)).map(|path| format!("`{path}`")).collect();
    others.sort();
    let (last, others) = others.split_last()?;
    let listed = |word: &str| match others {
        [] => last.clone(),
        others => format!("{} {word} {last}", others.join(", ")),
    };
    Some(if best == written {
        format!("it is not an option of `{path}`; use it with {}", listed("or"))
    } else {
        format!("no option has this name; did you mean --{best} of {}?", listed("or"))
    })
}

/// The command that was called, and its name with those of the commands that it is in.
fn called(arguments: &[OsString]) -> (clap::Command, String) {
    let mut called = Cli::command();
    called.build();
    let mut path = called.get_name().to_owned();
    for argument in arguments.iter().skip(1).filter_map(|argument| argument.to_str()) {
        if let Some(inner) = called.find_subcommand(argument) {
            path = format!("{path} {}", inner.get_name());
            called = inner.clone();
        }
    }
    (called, path)
}

/// The first example of a command's help that calls it, with this option if one is given.
fn example(command: &clap::Command, path: &str, option: Option<&String>) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    // A command may continue on the next line.
    let help: Vec<&str> = help.split("\\\n").map(str::trim_start).collect();
    help.concat()
        .lines()
        .map(str::trim)
        .find(|line| {
            let has_option = option.is_none_or(|option| line.contains(option.as_str()));
            line.starts_with("romer ") && line.contains(path) && has_option
        })
        .map(str::to_owned)
}

/// The long names of a command's options.
fn options(command: &clap::Command) -> Vec<&str> {
    command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
        .filter_map(clap::Arg::get_long)
        .collect()
}

/// The name of an argument that clap shows with its value.
fn name(argument: &str) -> String {
    argument.split([' ', '=']).next().unwrap_or_default().trim_matches(['<', '>', '.']).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Command;

    /// Short options are those of other tools, and a number is enough where an option has one unit.
    #[test]
    fn short_options_and_bare_numbers() {
        let measure = |words: &str| match read(words.split(' ').map(OsString::from)) {
            Ok(Invocation::Run(cli)) => match cli.command {
                Command::Measure(arguments) => format!("{arguments:?}"),
                other => panic!("{other:?}"),
            },
            Ok(Invocation::Show(_)) => panic!("{words}: help"),
            Err(failure) => panic!("{words}: {}", failure.text()),
        };
        assert_eq!(
            measure("romer measure h -c 5 -i 20ms -s 64 -4 -q -W 1s -I eth0 --ttl 5"),
            measure(
                "romer measure h --count 5 --interval 20ms --size 64B --ipv4 --quiet --waiting-time 1s \
                 --interface eth0 --ttl 5"
            )
        );
        assert_eq!(
            measure("romer measure h -t 5s -6 -v --packet-size 100"),
            measure("romer measure h --duration 5s --ipv6 --verbose --packet-size 100B")
        );
    }

    /// The error of a missing argument has an example of the command that was called, which contains it.
    #[test]
    fn missing_argument_has_example() {
        for (words, example) in [
            ("romer measure", "e.g. romer measure "),
            ("romer compare before", "e.g. romer compare "),
            ("romer emulate", "e.g. romer emulate --port a="),
            ("romer analyze --capture-a a.pcap", "e.g. romer analyze --capture-a "),
        ] {
            match read(words.split(' ').map(OsString::from)) {
                Err(failure) => assert!(failure.text().contains(example), "{words}: {}", failure.text()),
                Ok(_) => panic!("{words} was accepted"),
            }
        }
    }

    /// A command for `lab run` without `--` is answered with the command line that works.
    #[test]
    fn missing_dashes_before_command() {
        for (words, fix) in [
            (
                "romer lab run A ls -l",
                "(ls): a command of another program follows --; write `romer lab run A -- ls -l`",
            ),
            ("romer lab run A romer measure 198.18.0.3", "`romer lab run A -- romer measure 198.18.0.3`"),
        ] {
            match read(words.split(' ').map(OsString::from)) {
                Err(failure) => assert!(failure.text().ends_with(fix), "{words}: {}", failure.text()),
                Ok(_) => panic!("{words} was accepted"),
            }
        }
    }

    #[test]
    fn what_was_probably_meant_is_the_nearest_name_and_its_command_is_told() {
        let said = |words: &[&str]| match read(words.iter().map(OsString::from)) {
            Err(failure) => failure.text().to_owned(),
            Ok(_) => panic!("{words:?} was accepted"),
        };
        for (words, meant) in [
            // A letter too many in a name of other commands; `--realtime` of this one is three letters away.
            (
                ["romer", "measure", "h", "--reate", "5"],
                "did you mean --rate of `romer emulate`, `romer lab case`, `romer noise source` or `romer respond`?",
            ),
            (["romer", "respond", "--listen", "h", "--reate=5"], "did you mean --rate?"),
            (["romer", "measure", "h", "--itnerval", "5ms"], "did you mean --interval?"),
            (["romer", "measure", "h", "--dir", "both"], "did you mean --direction?"),
            (["romer", "measure", "h", "--json=x", "--tragets"], "see `romer measure --help`"),
            (["romer", "measure", "h", "--json=x", "-z"], "see `romer measure --help`"),
            (["romer", "measure", "h", "--json=x", "--x"], "see `romer measure --help`"),
            (
                ["romer", "--prefix", "x", "lab", "run"],
                "option of `romer lab run`; write it after `romer lab run`",
            ),
        ] {
            let text = said(&words);
            assert!(text.starts_with("unknown option (-") && text.ends_with(meant), "{text}");
        }
    }

    /// What a number without a unit is to an option.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Bare {
        /// It is accepted: the option has one unit, or counts, or takes any text.
        Accepted,
        /// It is refused, and the message has the number with a unit.
        NeedsUnit,
        /// It is refused: the option takes words or names.
        Words,
    }

    /// A number that is given to an option: 64 if the help says of its value nothing else.
    fn bare_of(option: &clap::Arg) -> &'static str {
        match option.get_id().as_str() {
            "ttl" | "min_ttl" | "cpu" | "irq_cpu" | "dscp" => "5",
            "skew" if option.get_short() == Some('k') => "2",
            "probes" => "200",
            "mtu" => "1500",
            _ => "64",
        }
    }

    /// Each option that takes a value takes a number alone, or its message says which unit is missing. An option of a
    /// time, size, rate or ratio is in the table: where it has one natural unit, a number alone is taken.
    #[test]
    fn bare_number_of_every_option() {
        const QUANTITIES: &[(&str, Bare)] = &[
            // Bytes.
            ("size", Bare::Accepted),
            ("packet-size", Bare::Accepted),
            ("mtu", Bare::Accepted),
            ("frame-sizes", Bare::Accepted),
            ("queue", Bare::Accepted),
            // Seconds.
            ("duration", Bare::Accepted),
            ("waiting-time", Bare::Accepted),
            ("trial", Bare::Accepted),
            ("search-trial", Bare::Accepted),
            ("settle", Bare::Accepted),
            ("patience", Bare::Accepted),
            ("case-time", Bare::Accepted),
            // Percent of the line rate.
            ("loads", Bare::Accepted),
            ("resolution", Bare::Accepted),
            // Parts per million.
            ("clock-skew", Bare::Accepted),
            // Times that are micro- or milliseconds as often as seconds.
            ("interval", Bare::NeedsUnit),
            ("json-lines-interval", Bare::NeedsUnit),
            ("every", Bare::Accepted),
            ("keep", Bare::NeedsUnit),
            ("delay", Bare::NeedsUnit),
            ("jitter", Bare::NeedsUnit),
            ("allowance", Bare::NeedsUnit),
            ("jitter-buffer", Bare::NeedsUnit),
            ("path-minimum", Bare::NeedsUnit),
            ("unit", Bare::NeedsUnit),
            // Bits, bytes or packets per second.
            ("rate of emulate", Bare::NeedsUnit),
            ("rate of case", Bare::NeedsUnit),
            ("rate of source", Bare::NeedsUnit),
            ("rate of respond", Bare::Accepted),
            ("token-rate", Bare::NeedsUnit),
            ("line-rate", Bare::NeedsUnit),
            ("capacity", Bare::NeedsUnit),
            // Percent or fractions.
            ("clock-offset", Bare::NeedsUnit),
            ("loss", Bare::NeedsUnit),
            ("duplicate", Bare::NeedsUnit),
            ("reorder", Bare::NeedsUnit),
            ("loss-ratio", Bare::NeedsUnit),
            ("exceed-ratio", Bare::NeedsUnit),
        ];
        let mut root = Cli::command();
        root.build();
        let mut seen = std::collections::BTreeSet::new();
        let mut commands: Vec<(Vec<String>, &clap::Command)> = vec![(Vec::new(), &root)];
        while let Some((path, command)) = commands.pop() {
            for inner in command.get_subcommands() {
                commands.push((path.iter().cloned().chain([inner.get_name().to_owned()]).collect(), inner));
            }
            for option in command.get_arguments().filter(|option| option.get_action().takes_values()) {
                let Some(name) = option.get_long() else { continue };
                let number = bare_of(option);
                let words = path.iter().cloned().chain([format!("--{name}={number}")]);
                let arguments: Vec<OsString> =
                    [OsString::from("romer")].into_iter().chain(words.map(OsString::from)).collect();
                let refused = match Cli::command().try_get_matches_from(&arguments) {
                    Err(error)
                        if [ErrorKind::ValueValidation, ErrorKind::InvalidValue].contains(&error.kind()) =>
                    {
                        Some(explained(&error, &arguments))
                    }
                    _ => None,
                };
                let one = QUANTITIES.iter().find(|(key, _)| {
                    let (option, of) = key.split_once(" of ").unwrap_or((key, command.get_name()));
                    option == name && of == command.get_name()
                });
                let is = match &refused {
                    None => Bare::Accepted,
                    Some(text)
                        if text.contains(&format!("; write {number}")) || text.contains("has no unit") =>
                    {
                        Bare::NeedsUnit
                    }
                    Some(_) => Bare::Words,
                };
                match one {
                    Some((key, expected)) => {
                        seen.insert(*key);
                        assert_eq!(is, *expected, "{path:?} --{name}: {refused:?}");
                    }
                    None => {
                        assert_ne!(is, Bare::NeedsUnit, "{path:?} --{name} is not in the table: {refused:?}");
                    }
                }
                // A number with a unit is needed: the message has one.
                if let (Bare::NeedsUnit, Some(text)) = (is, &refused) {
                    let fix = text.rsplit_once("; write ").map_or("", |(_, fix)| fix);
                    assert!(fix.bytes().any(|byte| byte.is_ascii_digit()), "{path:?} --{name}: {text}");
                    assert!(
                        fix.contains(|c: char| c.is_ascii_alphabetic() || c == '%'),
                        "{path:?} --{name}: {text}"
                    );
                }
            }
        }
        let missing: Vec<_> = QUANTITIES.iter().filter(|(key, _)| !seen.contains(key)).collect();
        assert!(missing.is_empty(), "no such option: {missing:?}");
    }
}
