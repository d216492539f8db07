//! Where words go: results to standard output, everything else to standard error.

mod files;

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::sync::OnceLock;

use romer_host::descriptors::{self, Standard};
use romer_report::escape;
use romer_report::text::{TextStyle, wrap};

use crate::failure::Failure;

pub(crate) use files::{
    begin_file, check_target, put_file, read_from, with_suffix, write_document, write_keeping, write_with,
};

/// The system's number for what can be neither read nor written any more.
const EIO: i32 = 5;
/// What standard output refused first.
static REFUSED: OnceLock<io::Error> = OnceLock::new();

/// Writes text without colours to standard output, with all control characters but line ends and tabs escaped. A reader that has
/// gone away (`| head`, a terminal that was closed) is no failure. Any other failure is reported at the end ([`refusal`]), so that a
/// measurement goes on and is kept.
pub(crate) fn print(text: &str) {
    print_in_pieces(escape::data(text).as_bytes(), usize::MAX, || {});
}

/// As [`print`], for a summary, which may have colours. Text from files and peers in it must be escaped ([`escape::terminal`]).
pub(crate) fn print_summary(text: &str) {
    print_in_pieces(escape::screen(text).as_bytes(), usize::MAX, || {});
}

/// The same, so many octets at once; `taken` hears of each piece that was taken.
pub(crate) fn print_in_pieces(text: &[u8], piece: usize, mut taken: impl FnMut()) {
    if is_refused_from_the_start() {
        return;
    }
    let mut out = io::stdout().lock();
    for piece in text.chunks(piece) {
        match out.write_all(piece).and_then(|()| out.flush()) {
            Ok(()) => taken(),
            Err(error) => {
                if error.kind() != io::ErrorKind::BrokenPipe && !is_closed_terminal(&out, &error) {
                    let _ = REFUSED.set(error);
                }
                return;
            }
        }
    }
}

/// Whether there is no standard output, so that nothing can be written to it: then that is what it refused.
fn is_refused_from_the_start() -> bool {
    let is_closed = descriptors::was_closed(Standard::Output);
    if is_closed {
        let _ = REFUSED.set(io::Error::new(io::ErrorKind::NotConnected, "it was closed from the start"));
    }
    is_closed
}

/// Refuses work whose results are to be written where nothing can be (`is_wanted`): they are known to be for nobody now, and an hour
/// of measuring would not change it.
pub(crate) fn check_open(is_wanted: bool) -> Result<(), Failure> {
    let refused = if is_wanted && is_refused_from_the_start() { refusal() } else { None };
    refused.map_or(Ok(()), Err)
}

/// Standard output will not take everything, because its reader is not waited for any longer.
pub(crate) fn give_up(why: &str) {
    let _ = REFUSED.set(io::Error::new(io::ErrorKind::TimedOut, why));
}

/// Whether `out` was a terminal that is closed: it is a device still, and says that reading and writing fail.
fn is_closed_terminal(out: &io::StdoutLock<'_>, error: &io::Error) -> bool {
    let file = out.as_fd().try_clone_to_owned().map(File::from);
    let kind = file.and_then(|file| file.metadata()).map(|metadata| metadata.file_type());
    error.raw_os_error() == Some(EIO) && kind.is_ok_and(|kind| kind.is_char_device())
}

/// That standard output did not take everything, if it did not.
pub(crate) fn refusal() -> Option<Failure> {
    REFUSED.get().map(|error| {
        let advice = match error.kind() {
            io::ErrorKind::NotConnected => "write to a file, or to /dev/null",
            io::ErrorKind::TimedOut => "the run is saved; check the reader of the pipe, or write to a file",
            _ => "free some space, or write to another file",
        };
        Failure::environment(format!("cannot write (standard output): {error}; {advice}"))
    })
}

/// Says on standard error what is being done, unless it is to be `quiet`.
pub(crate) fn say(quiet: bool, color: Color, text: &str) {
    if !quiet {
        wrap(text, style_of_stderr(color).width).iter().for_each(|line| eprint_line(line));
    }
}

/// Writes a line without colours to standard error, escaped as [`print`] does.
pub(crate) fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", escape::data(text));
}

/// A terminal that draws nothing but lines.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
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
    /// Whether `terminal` is to be coloured.
    fn on(self, terminal: &impl IsTerminal) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                terminal.is_terminal()
                    && !is_dumb()
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            }
        }
    }
}

/// How standard output shows text.
pub(crate) fn style(color: Color) -> TextStyle {
    TextStyle {
        color: color.on(&io::stdout()),
        unicode: is_utf8(),
        // Words that go into a pipe are mostly read on the terminal that the other streams are.
        width: width([io::stdout().as_fd(), io::stderr().as_fd(), io::stdin().as_fd()]),
    }
}

/// Whether somebody reads standard output as it is written.
pub(crate) fn is_interactive() -> bool {
    io::stdout().is_terminal()
}

/// How a terminal on standard output shows lines: its columns, where it is one, and whether they are coloured.
pub(crate) fn sheet(color: Color) -> Sheet {
    let style = style(color);
    Sheet { width: io::stdout().is_terminal().then_some(style.width), color: style.color }
}

/// How lines are set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sheet {
    /// Columns of the terminal; `None` where there is none, and lines are as long as they are.
    pub(crate) width: Option<usize>,
    /// Use ANSI colours.
    pub(crate) color: bool,
}

/// How standard error shows text.
pub(crate) fn style_of_stderr(color: Color) -> TextStyle {
    let width = width([io::stderr().as_fd()]);
    TextStyle { color: color.on(&io::stderr()), unicode: is_utf8(), width }
}

/// Columns for text: of the first of `streams` that is a terminal, or as many as COLUMNS asks for, where these are fewer or
/// nothing is known of a terminal; 80 otherwise.
fn width<const N: usize>(streams: [BorrowedFd<'_>; N]) -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let asked = asked.filter(|columns: &usize| *columns > 0);
    narrower(streams.into_iter().find_map(columns), asked)
}

/// The narrower of a terminal and of what is asked for.
fn narrower(terminal: Option<usize>, asked: Option<usize>) -> usize {
    const NARROWEST: usize = 40;
    [terminal, asked].into_iter().flatten().min().unwrap_or(80).max(NARROWEST)
}

/// Columns and rows of the terminal on standard error, as far as it knows them.
pub(crate) fn size_of_stderr() -> [Option<usize>; 2] {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
    let known = |count: u16| Some(usize::from(count)).filter(|count| *count > 0);
    [size.and_then(|size| known(size.ws_col)), size.and_then(|size| known(size.ws_row))]
}

/// Columns of a terminal. One that does not know its rows, as under `script` without a terminal, may know these.
fn columns(stream: BorrowedFd<'_>) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Whether the terminal shows more than ASCII.
fn is_utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    locale.is_none_or(|locale| locale.to_ascii_lowercase().replace('-', "").contains("utf8"))
}

/// `text` as the terminal can show it: without a micro sign where it shows ASCII only.
pub(crate) fn to_ascii(text: &str) -> std::borrow::Cow<'_, str> {
    if is_utf8() { text.into() } else { text.replace('µ', "u").into() }
}

/// A document as text.
pub(crate) fn document_text(document: &impl serde::Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(document).map_err(Failure::own)?;
    text.push('\n');
    Ok(text)
}

/// Refuses, before the work for it is done, a document to the target of `--json` and text to standard output that could not be
/// written ([`check_open`], [`check_target`]). `quiet`: there is no text.
pub(crate) fn check_json(target: Option<&str>, quiet: bool, force: bool) -> Result<(), Failure> {
    check_open(!quiet || target == Some("-"))?;
    check_target(target, force)
}

/// Writes a document as JSON to the target of `--json`, where there is one ([`write_document`]).
pub(crate) fn write_json(
    target: Option<&str>,
    document: &impl serde::Serialize,
    force: bool,
) -> Result<(), Failure> {
    match target {
        Some(target) => write_document(target, &document_text(document)?, force),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_as_wide_as_the_terminal_or_as_is_asked_for_but_never_wider() {
        for (terminal, asked, width) in [
            (None, None, 80),
            (Some(60), None, 60),
            (Some(200), None, 200),
            (None, Some(60), 60),
            (Some(80), Some(60), 60),
            (Some(60), Some(120), 60),
            (Some(7), None, 40),
        ] {
            assert_eq!(narrower(terminal, asked), width, "{terminal:?} {asked:?}");
        }
        let no_terminal = tempfile::tempfile().unwrap();
        assert_eq!(columns(no_terminal.as_fd()), None);
    }
}
