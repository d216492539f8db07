//! The formats of what options write, and the names of files that say another.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use romer_report::escape;

use crate::values;

/// What an option writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// In words.
    what: &'static str,
    /// The endings of such files, the usual one first. None: the name is not that of a file.
    endings: &'static [&'static str],
}

impl Format {
    pub(crate) const PAGE: Self = Self { what: "a page in HTML", endings: &["html", "htm"] };
    pub(crate) const TABLE: Self = Self { what: "a table in CSV", endings: &["csv"] };
    pub(crate) const DOCUMENT: Self = Self { what: "a document in JSON", endings: &["json"] };
    pub(crate) const CAPTURE: Self = Self { what: "a capture in pcapng", endings: &["pcapng"] };
    pub(crate) const SCENARIO: Self = Self { what: "a scenario in TOML", endings: &["toml"] };
    pub(crate) const QTCP_LOG: Self = Self { what: "a log of Qtcp", endings: &["log"] };
    /// The beginning of several files' names.
    pub(crate) const QTCP_FILES: Self = Self { what: "a .raw, a .sta and a .log file", endings: &[] };
    pub(crate) const FIGURES: Self = Self { what: "a folder of figures in SVG", endings: &[] };
    pub(crate) const FOLDER: Self = Self { what: "a folder", endings: &[] };

    /// An option for the name of a file, or - for standard output.
    pub(crate) fn target(self) -> Named<StringValueParser> {
        Named { format: self, parser: StringValueParser::new() }
    }

    /// An option for a path.
    pub(crate) fn path(self) -> Named<PathBufValueParser> {
        Named { format: self, parser: PathBufValueParser::new() }
    }

    /// An option for a file of packets, which do not go to standard output.
    pub(crate) fn packet_file(self) -> Named<impl TypedValueParser<Value = PathBuf>> {
        Named { format: self, parser: values::packet_file() }
    }

    /// Refuses a name that is of a file of another format. Of that, `other_option` writes something, if any does.
    fn check(self, target: &Path, in_report: bool, other_option: Option<&str>) -> Result<(), String> {
        let Some(other) = ending(target).filter(|ending| !self.endings.contains(&ending.as_str())) else {
            return Ok(());
        };
        if !KNOWN.iter().any(|known| known.ending == other) || target.is_dir() {
            return Ok(());
        }
        let bare = target.with_extension("");
        let instead = match self.endings {
            [] => bare,
            endings if ending(&bare).is_some_and(|ending| endings.contains(&ending.as_str())) => bare,
            [usual, ..] => target.with_extension(usual),
        };
        let also = match (self, other.as_str(), other_option) {
            (Self::PAGE, "pdf", _) => ", and print that to PDF in a browser".into(),
            (Self::TABLE, "parquet", _) if in_report => {
                "; a run has its packets in Parquet already: packets.parquet in its folder".into()
            }
            (.., Some(option)) => format!(", or write with --{option}"),
            _ => String::new(),
        };
        Err(format!(
            "{} has the name of a {} file, and {} is written; name {}{also}",
            escape::path(target),
            other.to_uppercase(),
            self.what,
            escape::path(&instead)
        ))
    }
}

/// An ending that names a format.
struct KnownExtension {
    ending: &'static str,
    /// The option that writes such a file, or what is nearest to it.
    option: &'static str,
}

const fn known(ending: &'static str, option: &'static str) -> KnownExtension {
    KnownExtension { ending, option }
}

/// Endings of files that people write from results, or read.
const KNOWN: &[KnownExtension] = &[
    known("bz2", ""),
    known("cap", "pcapng"),
    known("csv", "csv"),
    known("doc", "html"),
    known("docx", "html"),
    known("gz", ""),
    known("htm", "html"),
    known("html", "html"),
    known("jpeg", "svg"),
    known("jpg", "svg"),
    known("json", "json"),
    known("md", ""),
    known("ods", "csv"),
    known("odt", "html"),
    known("parquet", "csv"),
    known("pcap", "pcapng"),
    known("pcapng", "pcapng"),
    known("pdf", "html"),
    known("png", "svg"),
    known("ps", "svg"),
    known("raw", "qtcp"),
    known("sta", "qtcp"),
    known("svg", "svg"),
    known("toml", ""),
    known("tsv", "csv"),
    known("xls", "csv"),
    known("xlsx", "csv"),
    known("xml", "json"),
    known("xz", ""),
    known("yaml", "json"),
    known("zip", ""),
    known("zst", ""),
];

/// The ending of a name, in small letters.
fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase())
}

/// Reads the name of what an option writes, and refuses that of another format.
#[derive(Clone)]
pub(crate) struct Named<P> {
    format: Format,
    parser: P,
}

impl<P> TypedValueParser for Named<P>
where
    P: TypedValueParser<Value: AsRef<OsStr>> + Clone,
{
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        let own = argument.and_then(Arg::get_long);
        let other = ending(Path::new(value))
            .and_then(|ending| KNOWN.iter().find(|known| known.ending == ending))
            .map(|known| known.option)
            .filter(|option| Some(*option) != own)
            .filter(|option| command.get_arguments().any(|there| is_open(there, option)));
        let in_report = command.get_name() == "report";
        let format = self.format;
        let check = move |target: P::Value| {
            format.check(Path::new(target.as_ref()), in_report, other).map(|()| target)
        };
        self.parser.clone().try_map(check).parse_ref(command, argument, value)
    }
}

/// Whether this is the `option` of that name, and of use to people who take a value to it.
fn is_open(argument: &Arg, option: &str) -> bool {
    argument.get_long() == Some(option) && !argument.is_hide_set() && argument.get_action().takes_values()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory as _;

    use super::*;
    use crate::args::{Cli, read};

    /// What a refusal proposes is accepted.
    #[test]
    fn other_formats_are_refused() {
        for (format, target, part) in [
            (Format::PAGE, "a/x.pdf", "name a/x.html, and print that to PDF in a browser"),
            (Format::PAGE, "y.docx", "DOCX file, and a page in HTML is written; name y.html"),
            (
                Format::TABLE,
                "x.parquet",
                "name x.csv; a run has its packets in Parquet already: packets.parquet",
            ),
            (Format::TABLE, "x.HTML", "name x.csv, or write with --html"),
            (Format::TABLE, "x.csv.gz", "name x.csv"),
            (Format::FIGURES, "x.png", "a folder of figures in SVG is written; name x"),
            (Format::FIGURES, "x.svg", "name x"),
            (Format::DOCUMENT, "x.csv", "name x.json"),
        ] {
            let html = Some("html").filter(|_| target.ends_with("HTML"));
            let refusal = format.check(Path::new(target), true, html).unwrap_err();
            assert!(refusal.contains(part), "{refusal}");
        }
        for target in ["-", "x", "x.html", "x.HTM", "x.txt", "folder.d/x", "/dev/stdout", "run.2026"] {
            assert_eq!(Format::PAGE.check(Path::new(target), false, None), Ok(()), "{target}");
        }
    }

    /// A folder that exists may have any name.
    #[test]
    fn existing_folder_is_taken() {
        let folder = tempfile::Builder::new().suffix(".svg").tempdir().unwrap();
        assert_eq!(Format::FIGURES.check(folder.path(), false, None), Ok(()));
    }

    /// Every option that names what is written has a format, and proposes only what its command has.
    #[test]
    fn every_output_option_is_checked() {
        /// Options that name what is read.
        const READ: [&str; 17] = [
            "against",
            "arrivals",
            "capture-a",
            "capture-b",
            "config",
            "hand-over",
            "key-file",
            "marks",
            "plan",
            "reference",
            "reverse",
            "resume",
            "scenario",
            "tls-ca",
            "tls-cert",
            "tls-key",
            "token-file",
        ];
        let mut root = Cli::command();
        root.build();
        let (mut commands, mut checked) = (vec![("romer".to_owned(), &root)], 0);
        while let Some((path, command)) = commands.pop() {
            let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
            commands.extend(inner.map(|inner| (format!("{path} {}", inner.get_name()), inner)));
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let Some(long) = argument.get_long().filter(|long| !READ.contains(long)) else { continue };
                let names = argument.get_value_names().unwrap_or_default();
                let is_path = |name: &str| name.starts_with("FILE") || name == "DIR";
                if !argument.get_action().takes_values()
                    || !(names.iter().any(|name| is_path(name)) || long == "qtcp")
                {
                    continue;
                }
                let option = format!("--{long}");
                let words = path.split(' ').chain([option.as_str(), "x.docx"]);
                let why = read(words.map(OsString::from)).err().map(|failure| failure.text().to_owned());
                let why = why.unwrap_or_else(|| panic!("{path} {option} takes x.docx"));
                assert!(why.contains("is written; name x"), "{why}");
                if let Some((_, option)) = why.split_once("with --") {
                    assert!(command.get_arguments().any(|there| there.get_long() == Some(option)), "{why}");
                }
                checked += 1;
            }
        }
        assert!(checked > 20, "{checked}");
    }
}
