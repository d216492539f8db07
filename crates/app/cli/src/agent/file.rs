//! The file of the agent: measurements as tables, with the options of `romer measure` as keys.

use std::ffi::OsString;
use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args as _, Command};
use romer_record::Exit;
use romer_scenario::reader::scalar;
use romer_scenario::{is_utf16, nearest};
use romer_store::untrusted;
use romer_units::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::args::{self, Invocation, MeasureArgs};
use crate::failure::Failure;
use crate::toml_values::{first_line, line_and_column};
use crate::values;

/// Octets of the largest file: some ten thousand targets.
const MAX_OCTETS: u64 = 4 << 20;
/// Octets of the longest name, which is that of a folder.
const MAX_NAME: usize = 64;
/// Options that are the agent's own business, or that have no meaning without a terminal.
const NOT_IN_THE_FILE: [&str; 16] = [
    "times",
    "start",
    "after",
    "out",
    "json",
    "force",
    "quiet",
    "color",
    "verbose",
    "tui",
    "json-lines",
    "json-lines-interval",
    "live-delays",
    "metrics",
    "otlp",
    "help",
];
/// Keys of a measurement that are no options of `romer measure`, or that the agent reads itself.
const OWN_KEYS: [&str; 5] = ["name", "targets", "every", "offset", "keep"];

/// A measurement of the file.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) name: String,
    pub(super) every: Duration,
    pub(super) offset: Duration,
    pub(super) keep: Option<Duration>,
    pub(super) folder: PathBuf,
    pub(super) arguments: Box<MeasureArgs>,
    /// The command that measures the same once.
    pub(super) words: Vec<String>,
    /// Where it stands in the file.
    pub(super) place: Range<usize>,
}

/// A file that was read.
pub(super) struct File {
    text: Vec<u8>,
    shown: String,
    pub(super) measurements: Vec<Scheduled>,
}

impl File {
    /// Reads the file. Runs are saved below `out`, unless the file names another folder.
    pub(super) fn read(path: &Path, out: &Path) -> Result<Self, Failure> {
        let shown = romer_report::escape::terminal(&path.to_string_lossy());
        let text = untrusted::read_named(path, MAX_OCTETS).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => Failure::with_exit(
                Exit::BadData,
                format!("the agent's file is too long ({shown}): {error}; use several agents"),
            ),
            _ => Failure::environment(format!(
                "the agent's file cannot be read ({shown}): {error}; name one with --config"
            )),
        })?;
        Self::parse(text, shown, out)
    }

    fn parse(text: Vec<u8>, shown: String, out: &Path) -> Result<Self, Failure> {
        let mut file = Self { text, shown, measurements: Vec::new() };
        file.measurements = file.measurements(out)?;
        Ok(file)
    }

    /// A fault at this place of the file.
    pub(super) fn fault(&self, place: &Range<usize>, what: impl Display) -> Failure {
        let (line, column) = line_and_column(&self.text, place.start);
        let text = format!("the agent's file cannot be used ({}:{line}:{column}): {what}", self.shown);
        Failure::with_exit(Exit::BadData, text).at(line, column)
    }

    fn measurements(&self, out: &Path) -> Result<Vec<Scheduled>, Failure> {
        let other = if is_utf16(&self.text) { "this is UTF-16" } else { "this is no UTF-8" };
        let text = std::str::from_utf8(&self.text).map_err(|error| {
            let at = error.valid_up_to();
            self.fault(&(at..at), format!("{other}; write the file in UTF-8"))
        })?;
        let table = DeTable::parse(text).map_err(|error| {
            let why = first_line(error.message());
            self.fault(&error.span().unwrap_or(0..0), format!("{why}; write TOML"))
        })?;
        let (mut out, mut keep) = (out.to_owned(), None);
        let mut tables = Vec::new();
        for (key, value) in table.get_ref().iter() {
            match key.get_ref().as_ref() {
                "out" => out = self.words(value, "out")?.into(),
                "keep" => keep = Some(self.time(value, "keep", values::age)?),
                "measurement" => tables.extend(self.tables(value)?),
                other => {
                    let what = no_key("the file has no key", other, ["out", "keep", "measurement"]);
                    return Err(self.fault(&key.span(), what));
                }
            }
        }
        if tables.is_empty() {
            return Err(
                self.fault(&(0..0), "it has no measurement; write [[measurement]], name, targets and every")
            );
        }
        let options = options();
        let mut measurements: Vec<Scheduled> = Vec::with_capacity(tables.len());
        for (table, place) in tables {
            let one = self.measurement(table, &place, (out.as_path(), keep), &options)?;
            if measurements.iter().any(|other| other.name == one.name) {
                let what = format!("two measurements have the name {:?}; rename one", one.name);
                return Err(self.fault(&place, what));
            }
            measurements.push(one);
        }
        Ok(measurements)
    }

    /// The tables of measurements, and where each begins.
    fn tables<'t>(
        &self,
        value: &'t Spanned<DeValue<'t>>,
    ) -> Result<Vec<(&'t DeTable<'t>, Range<usize>)>, Failure> {
        let wrong =
            || self.fault(&value.span(), "measurement is not a list of tables; write [[measurement]]");
        let DeValue::Array(all) = value.get_ref() else { return Err(wrong()) };
        let mut tables = Vec::new();
        for one in all.iter() {
            let DeValue::Table(table) = one.get_ref() else { return Err(wrong()) };
            let first = table.iter().map(|(key, _)| key.span()).min_by_key(|place| place.start);
            tables.push((table, first.unwrap_or_else(|| one.span())));
        }
        Ok(tables)
    }

    fn measurement(
        &self,
        table: &DeTable<'_>,
        place: &Range<usize>,
        (out, keep): (&Path, Option<Duration>),
        options: &[(String, bool)],
    ) -> Result<Scheduled, Failure> {
        let (mut name, mut targets, mut every) = (None, Vec::new(), None);
        let (mut offset, mut keep) = (Duration::ZERO, keep);
        let mut words = Vec::new();
        for (key, value) in table.iter() {
            let option = key.get_ref().replace('_', "-");
            match option.as_str() {
                "name" => name = Some(self.name(value)?),
                "targets" => targets = self.list(value, "targets")?,
                "every" => every = Some(self.time(value, "every", values::every)?),
                "offset" => offset = self.time(value, "offset", values::offset)?,
                "keep" => keep = Some(self.time(value, "keep", values::age)?),
                _ => match options.iter().find(|(known, _)| *known == option) {
                    Some((option, takes_value)) => words.extend(self.option(option, *takes_value, value)?),
                    None => {
                        let known = options.iter().map(|(known, _)| known.as_str()).chain(OWN_KEYS);
                        let what = no_key("a measurement has no key", key.get_ref(), known);
                        return Err(self.fault(&key.span(), what));
                    }
                },
            }
        }
        let missing = |key: &str, example: &str| {
            self.fault(place, format!("a measurement has no {key}; write {key} = {example}"))
        };
        let name = name.ok_or_else(|| missing("name", "\"core\""))?;
        let every = every.ok_or_else(|| missing("every", "\"5m\""))?;
        if targets.is_empty() {
            return Err(missing("targets", "[\"HOST\"]"));
        }
        let folder = out.join(&name);
        let arguments = self.arguments(place, (every, folder.as_path()), &words, &targets)?;
        let texts = |of: Vec<(String, Range<usize>)>| of.into_iter().map(|(word, _)| word);
        let words = command(texts(words), texts(targets)).collect();
        Ok(Scheduled { name, every, offset, keep, folder, arguments, words, place: place.clone() })
    }

    /// The arguments of `romer measure` that the options and targets come to.
    fn arguments(
        &self,
        place: &Range<usize>,
        (every, folder): (Duration, &Path),
        options: &[(String, Range<usize>)],
        targets: &[(String, Range<usize>)],
    ) -> Result<Box<MeasureArgs>, Failure> {
        let own = [format!("--every={}ns", every.as_nanos()), "--quiet".to_owned()];
        let mut out = OsString::from("--out=");
        out.push(folder);
        let read = |options: &[(String, Range<usize>)], targets: &[(String, Range<usize>)]| {
            let word = |(word, _): &(String, Range<usize>)| word.clone();
            let own = own.iter().cloned().chain(options.iter().map(word));
            let words = command(own, targets.iter().map(word)).map(OsString::from);
            let words: Vec<OsString> = words.collect();
            let (program, others) = words.split_at(words.len().min(2));
            match args::read(program.iter().chain([&out]).chain(others).cloned())? {
                Invocation::Run(args::Cli { command: args::Command::Measure(arguments), .. }) => {
                    Ok(arguments)
                }
                Invocation::Run(_) | Invocation::Show(_) => {
                    Err(Failure::own("the options of a measurement are those of another command (agent)"))
                }
            }
        };
        let failure = match read(options, targets) {
            Ok(arguments) => return Ok(arguments),
            Err(failure) => failure,
        };
        let local = [("localhost".to_owned(), 0..0)];
        let bad_option = options
            .iter()
            .find_map(|one| read(std::slice::from_ref(one), &local).err().map(|failure| (one, failure)));
        let bad = bad_option.or_else(|| {
            targets
                .iter()
                .find_map(|one| read(&[], std::slice::from_ref(one)).err().map(|failure| (one, failure)))
        });
        Err(match bad {
            Some(((_, place), failure)) => self.fault(place, failure.text()),
            None => self.fault(place, failure.text()),
        })
    }

    /// The words of an option.
    fn option(
        &self,
        name: &str,
        takes_value: bool,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<(String, Range<usize>)>, Failure> {
        match value.get_ref() {
            DeValue::Boolean(said) if takes_value => {
                let what = format!("{name} takes a text or a number, and not {said}; write its value");
                Err(self.fault(&value.span(), what))
            }
            DeValue::Boolean(true) => Ok(vec![(format!("--{name}"), value.span())]),
            DeValue::Boolean(false) => Ok(Vec::new()),
            DeValue::Array(_) => {
                let parts = self.list(value, name)?.into_iter();
                Ok(parts.map(|(part, place)| (format!("--{name}={part}"), place)).collect())
            }
            _ => Ok(vec![(format!("--{name}={}", self.words(value, name)?), value.span())]),
        }
    }

    fn words(&self, value: &Spanned<DeValue<'_>>, key: &str) -> Result<String, Failure> {
        scalar(value.get_ref()).ok_or_else(|| {
            self.fault(&value.span(), format!("{key} is a text or a number; write it in quotes"))
        })
    }

    fn list(&self, value: &Spanned<DeValue<'_>>, key: &str) -> Result<Vec<(String, Range<usize>)>, Failure> {
        let DeValue::Array(parts) = value.get_ref() else {
            let what = format!("{key} is a list of texts; write {key} = [\"...\"]");
            return Err(self.fault(&value.span(), what));
        };
        parts.iter().map(|part| Ok((self.words(part, key)?, part.span()))).collect()
    }

    fn time(
        &self,
        value: &Spanned<DeValue<'_>>,
        key: &str,
        read: fn(&str) -> Result<Duration, String>,
    ) -> Result<Duration, Failure> {
        let words = self.words(value, key)?;
        read(&words).map_err(|why| self.fault(&value.span(), format!("bad value ({key}): {why}")))
    }

    /// A name, of which a folder is made.
    fn name(&self, value: &Spanned<DeValue<'_>>) -> Result<String, Failure> {
        let name = self.words(value, "name")?;
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > MAX_NAME || name.starts_with('.') || !name.bytes().all(is_plain) {
            let what = format!(
                "{:?} is no name: it has letters, digits, -, _ and ., at most {MAX_NAME}; write name = \"core\"",
                romer_units::excerpt(&name, 40)
            );
            return Err(self.fault(&value.span(), what));
        }
        Ok(name)
    }
}

/// The command `romer measure` with these options and targets.
fn command(
    options: impl Iterator<Item = String>,
    targets: impl Iterator<Item = String>,
) -> impl Iterator<Item = String> {
    let program = ["romer", "measure"].map(str::to_owned).into_iter();
    program.chain(options).chain(["--".to_owned()]).chain(targets)
}

/// That there is no such key, with the nearest one.
fn no_key<'a>(what: &str, key: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let shown = romer_units::excerpt(key, 40);
    nearest(&key.replace('_', "-"), known).map_or_else(
        || format!("{what} {shown:?}; see `romer measure --help` for the options"),
        |near| format!("{what} {shown:?}; did you mean {near}?"),
    )
}

/// The options of `romer measure` that the file may have, and whether each takes a value.
pub(crate) fn options() -> Vec<(String, bool)> {
    let measure = MeasureArgs::augment_args(Command::new("measure"));
    let long = measure.get_arguments().filter_map(|option| {
        let name = option.get_long().filter(|name| !NOT_IN_THE_FILE.contains(name) && *name != "every")?;
        Some((name.to_owned(), option.get_action().takes_values()))
    });
    long.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Scheduled>, Failure> {
        File::parse(text.into(), "agent.toml".into(), Path::new("/var/lib/romer"))
            .map(|file| file.measurements)
    }

    /// The file that the packages contain as an example is one.
    #[test]
    fn example_is_valid() {
        let measurements = parse(include_str!("../../../../../packaging/agent.toml")).unwrap();
        let [core] = &measurements[..] else { panic!("{measurements:?}") };
        assert_eq!((core.name.as_str(), core.arguments.targets.len()), ("core", 2));
        assert_eq!(core.every, Duration::from_secs(300));
        assert_eq!(core.keep, Some(Duration::from_secs(30 * 86_400)));
        assert_eq!(core.arguments.keep.out.as_deref(), Some(Path::new("/var/lib/romer/core")));
        assert_eq!(core.arguments.limit.len(), 2);
        assert_eq!(core.words[..2], ["romer", "measure"]);
        assert!(!core.words.iter().any(|word| word.starts_with("--every") || word.starts_with("--out")));
    }

    /// Keys of a measurement precede those of the file, and flags are true or false.
    #[test]
    fn options_are_those_of_measure() {
        let text = "out = \"/runs\"\nkeep = \"7d\"\n\
            [[measurement]]\nname = \"a\"\ntargets = [\"h\"]\nevery = 60\nstamp_only = true\nno-route = false\ncount = 5\n\
            [[measurement]]\nname = \"b\"\ntargets = [\"h\"]\nevery = \"1h\"\nkeep = \"1d\"\noffset = \"30s\"\n";
        let measurements = parse(text).unwrap();
        let [a, b] = &measurements[..] else { panic!("{measurements:?}") };
        assert!(a.arguments.stamp_only && !a.arguments.no_route);
        assert_eq!(a.arguments.traffic.count, Some(5));
        assert_eq!((a.every, a.keep), (Duration::from_secs(60), Some(Duration::from_secs(7 * 86_400))));
        assert_eq!((b.offset, b.keep), (Duration::from_secs(30), Some(Duration::from_secs(86_400))));
        assert_eq!(a.folder, Path::new("/runs/a"));
    }

    /// Each fault is reported with its place, and nothing panics.
    #[test]
    fn faults_have_places() {
        let with =
            |rest: &str| format!("[[measurement]]\nname = \"a\"\ntargets = [\"h\"]\nevery = \"1m\"\n{rest}");
        for (text, said) in [
            (String::new(), ":1:1): it has no measurement"),
            ("x".into(), "agent.toml:1:"),
            ("other = 1\n".into(), ":1:1): the file has no key \"other\""),
            ("measurement = 1\n".into(), ":1:15): measurement is not a list of tables"),
            ("[[measurement]]\n".into(), "a measurement has no name; write name = \"core\""),
            ("[[measurement]]\nname = \"a\"\n".into(), ":2:1): a measurement has no every"),
            ("[[measurement]]\nname = \"a\"\nevery = \"1m\"\n".into(), "a measurement has no targets"),
            ("[[measurement]]\nname = \"../a\"\n".into(), ":2:8): \"../a\" is no name"),
            ("[[measurement]]\nevery = \"1ms\"\n".into(), ":2:9): bad value (every)"),
            ("keep = \"soon\"\n".into(), ":1:8): bad value (keep)"),
            (with("interval = \"10\"\n"), ":5:12): "),
            (
                with("intervall = \"10ms\"\n"),
                ":5:1): a measurement has no key \"intervall\"; did you mean interval?",
            ),
            (with("times = 3\n"), ":5:1): a measurement has no key \"times\""),
            (with("count = true\n"), ":5:9): count takes a text or a number, and not true"),
            (with("limit = [\"rtt.p99<1ms\", \"what<1\"]\n"), ":5:25): "),
            (with("count = 5\nduration = \"5s\"\n"), ":2:1): "),
            (
                with("[[measurement]]\nname = \"a\"\ntargets = [\"h\"]\nevery = \"1m\"\n"),
                "two measurements have the name \"a\"",
            ),
            (
                "[[measurement]]\nname = \"a\"\nevery = \"1m\"\ntargets = [\"h\", \"h:0:0\"]\n".into(),
                ":4:17): ",
            ),
        ] {
            let failure = parse(&text).err().unwrap_or_else(|| panic!("{text} was accepted"));
            assert!(failure.text().contains(said), "{text}: {}", failure.text());
            assert_eq!(failure.exit(), Exit::BadData, "{text}");
        }
        let utf16: Vec<u8> = "keep".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let refused = File::parse(utf16, "agent.toml".into(), Path::new("/")).err().unwrap();
        assert_eq!(refused.exit(), Exit::BadData);
    }
}
