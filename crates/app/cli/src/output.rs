//! Where words go: results to standard output, everything else to standard error.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use romer_report::text::TextStyle;

use crate::failure::Failure;

/// Writes to standard output. A reader that has gone away (`| head`) is no failure.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a line to standard error.
pub(crate) fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// When colour is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether standard output is to be coloured.
    fn on_stdout(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        }
    }
}

/// How standard output shows text.
pub(crate) fn style(color: Color) -> TextStyle {
    TextStyle { color: color.on_stdout(), unicode: is_utf8(), width: width() }
}

/// Columns of the terminal, or 80.
fn width() -> usize {
    terminal_size::terminal_size()
        .map_or(80, |(terminal_size::Width(columns), _)| usize::from(columns))
        .max(40)
}

/// Whether the terminal shows more than ASCII.
fn is_utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    locale.is_none_or(|locale| locale.to_ascii_lowercase().replace('-', "").contains("utf8"))
}

/// Writes a document to `target`: `-` is standard output, anything else a file that must not exist yet unless
/// `force`.
pub(crate) fn write_document(target: &str, text: &str, force: bool) -> Result<(), Failure> {
    if target == "-" {
        print(text);
        return Ok(());
    }
    let path = Path::new(target);
    let shown = romer_report::escape::terminal(target);
    let mut options = File::options();
    options.write(true);
    if force || !is_regular(path) {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::usage(format!(
            "the file exists ({shown}): nothing is overwritten; use --force or another name"
        )),
        _ => Failure::environment(format!(
            "cannot write the document ({shown}): {error}; name a file that can be written, or - for standard output"
        )),
    };
    options.open(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(refused)
}

/// Whether `path` is a file with content that could be lost, and not a device or a pipe.
fn is_regular(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}
