//! Where words go: results to standard output, everything else to standard error.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use romer_host::descriptors::{self, Standard};
use romer_report::text::TextStyle;

use crate::failure::Failure;

/// The system's number for what can be neither read nor written any more.
const EIO: i32 = 5;
/// Names that are tried for a new file.
const ATTEMPTS: u32 = 1_000;
/// What standard output refused first.
static REFUSED: OnceLock<io::Error> = OnceLock::new();

/// Writes to standard output. A reader that has gone away (`| head`, a terminal that was closed) is no failure; any other is
/// told at the end ([`refusal`]), so that a measurement goes on and is kept.
pub(crate) fn print(text: &str) {
    print_in_pieces(romer_report::escape::screen(text).as_bytes(), usize::MAX, || {});
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
            io::ErrorKind::NotConnected => "send it to a file, or to /dev/null",
            io::ErrorKind::TimedOut => "what was measured is kept; see that it is read, or send it to a file",
            _ => "make room, or send it to a file that can be written",
        };
        Failure::environment(format!("cannot write (standard output): {error}; {advice}"))
    })
}

/// Writes a line to standard error.
pub(crate) fn eprint_line(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", romer_report::escape::screen(text));
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
                    && !crate::live::is_dumb()
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

/// The files that are read, by device and number.
static INPUTS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((metadata.dev(), metadata.ino()))
}

/// Says which files are read: nothing is written over them, whatever may be overwritten.
pub(crate) fn read_from<'a>(paths: impl IntoIterator<Item = &'a Path>) {
    let mut inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    inputs.extend(paths.into_iter().filter_map(identity));
}

/// Refuses a target that is what is read, under this name or another.
fn refuse_input(path: &Path) -> Result<(), Failure> {
    let inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    match identity(path).filter(|own| inputs.contains(own)) {
        Some(_) => Err(Failure::usage(format!(
            "the output is the input ({}): what is read would be overwritten; name another file",
            romer_report::escape::terminal(&path.to_string_lossy())
        ))),
        None => Ok(()),
    }
}

/// Refuses a `target` ([`write_document`]) that could not be written, before the work for it is done.
pub(crate) fn check_target(target: Option<&str>, force: bool) -> Result<(), Failure> {
    let Some(target) = target.filter(|target| *target != "-") else { return Ok(()) };
    let (path, shown) = (Path::new(target), romer_report::escape::terminal(target));
    if path.is_dir() {
        return Err(Failure::usage(format!(
            "this is a folder ({shown}): a file is wanted; write a file's name"
        )));
    }
    refuse_input(path)?;
    if !force && is_regular(path) {
        return Err(exists(&shown));
    }
    if target.is_empty() {
        return Err(Failure::usage(
            "a file has no name (\"\"): it cannot be made; write a name, or - for standard output",
        ));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(Failure::environment(format!(
            "cannot write the file ({shown}): there is no such folder; name a file in a folder that exists"
        )));
    }
    Ok(())
}

fn exists(shown: &str) -> Failure {
    Failure::usage(format!("the file exists ({shown}): nothing is overwritten; use --force or another name"))
}

/// A document as text.
pub(crate) fn document_text(document: &impl serde::Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(document).map_err(Failure::own)?;
    text.push('\n');
    Ok(text)
}

/// Writes a document to `target`: `-` is standard output, anything else a file that must not exist yet unless
/// `force`. What stood there before stays whole until the new file is.
pub(crate) fn write_document(target: &str, text: &str, force: bool) -> Result<(), Failure> {
    if target == "-" {
        print(text);
        return Ok(());
    }
    write_file(target, force, |out| out.write_all(text.as_bytes()))
}

/// The same for a document that is written bit by bit.
pub(crate) fn write_with<T>(
    target: &str,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Failure>
where
    T: Default,
{
    if target != "-" {
        return write_file(target, force, write);
    }
    if is_refused_from_the_start() {
        return Ok(T::default());
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|value| out.flush().map(|()| value)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = REFUSED.set(error);
            Ok(T::default())
        }
        written => Ok(written.unwrap_or_default()),
    }
}

/// The same for a file that takes long to make: what could be written stays beside it, as NAME.partial, where the rest could
/// not. What stood there before stays whole until the new file is. It is written under a name that nothing has, so that no
/// link is followed and two that are made at once do not meet.
pub(crate) fn write_keeping<T>(
    target: &str,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Failure>
where
    T: Default,
{
    let path = Path::new(target);
    let there = path.symlink_metadata().is_ok();
    if target == "-" || (there && (!force || !is_regular(path))) {
        return write_with(target, force, write);
    }
    let shown = romer_report::escape::terminal(target);
    let cannot = |error: &io::Error, kept: &str| {
        Failure::environment(format!(
            "cannot write the file ({shown}): {error}{kept}; make room, or name a file that can be written"
        ))
    };
    let path = if there { path.canonicalize() } else { Ok(path.to_path_buf()) };
    let made = path.and_then(|path| unfinished(&path).map(|(name, file)| (path, name, file)));
    let (path, name, file) = made.map_err(|error| cannot(&error, ""))?;
    let put = buffered(file, write).and_then(|value| put(&name, &path, there).map(|()| value));
    let earlier = beside(&path, ".partial");
    match put {
        Ok(value) => {
            // What an earlier try had left.
            if is_lone(&earlier) {
                let _ = fs::remove_file(&earlier);
            }
            Ok(value)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let _ = fs::remove_file(&name);
            Err(exists(&shown))
        }
        Err(error) => {
            let kept = kept(name, earlier).map_or_else(String::new, |kept| {
                let kept = romer_report::escape::terminal(&kept.to_string_lossy());
                format!("; what could be written is in {kept}")
            });
            Err(cannot(&error, &kept))
        }
    }
}

/// The name of `path` with more at its end.
fn beside(path: &Path, more: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(more);
    path.with_file_name(name)
}

/// A new file beside `path`, under a name that nothing had, not even a link.
fn unfinished(path: &Path) -> io::Result<(PathBuf, File)> {
    let own = std::process::id();
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for attempt in 0..ATTEMPTS {
        let again = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let name = beside(path, &format!(".{own}{again}.unfinished"));
        match File::create_new(&name) {
            Ok(file) => return Ok((name, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

/// Gives what is written under `name` the name that it is for: that of a file that it may replace, or one that nothing has.
fn put(name: &Path, path: &Path, may_replace: bool) -> io::Result<()> {
    if may_replace {
        return fs::rename(name, path);
    }
    match fs::hard_link(name, path) {
        Ok(()) => {
            let _ = fs::remove_file(name);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links.
        Err(_) if path.symlink_metadata().is_err() => fs::rename(name, path),
        Err(error) => Err(error),
    }
}

/// Where what could be written under `name` is now: as `partial`, but under its own name where something else than an earlier
/// one stands there; `None` where it is empty, and gone.
fn kept(name: PathBuf, partial: PathBuf) -> Option<PathBuf> {
    if name.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        let _ = fs::remove_file(&name);
        return None;
    }
    let free = partial.symlink_metadata().is_err() || is_lone(&partial);
    if free && fs::rename(&name, &partial).is_ok() {
        return Some(partial);
    }
    is_regular(&name).then_some(name)
}

/// Whether `path` is a file that has no other name, and no link.
fn is_lone(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.nlink() == 1)
}

fn write_file<T>(
    target: &str,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Failure> {
    let path = Path::new(target);
    let written = match (is_regular(path), force) {
        (true, true) => replace(path, write),
        (true, false) => Err(io::ErrorKind::AlreadyExists.into()),
        (false, false) if !path.exists() => create(path, write),
        // A device, a pipe or, with --force, a new file.
        (false, _) => {
            let open = File::options().write(true).create(true).truncate(true).open(path);
            open.and_then(|file| buffered(file, write))
        }
    };
    let shown = romer_report::escape::terminal(target);
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(&shown),
        _ => Failure::environment(format!(
            "cannot write the file ({shown}): {error}; name a file that can be written, or - for standard output"
        )),
    })
}

fn buffered<T>(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut out = io::BufWriter::new(file);
    let value = write(&mut out)?;
    out.flush().map(|()| value)
}

/// Makes a file, whole or not at all.
fn create<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let written = buffered(File::create_new(path)?, write);
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

/// Puts a new file in the place of an old one, which stays where that fails.
fn replace<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let path = path.canonicalize()?;
    let (unfinished, file) = unfinished(&path)?;
    let written = buffered(file, write).and_then(|value| fs::rename(&unfinished, path).map(|()| value));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Whether `path` is a file with content that could be lost, and not a device or a pipe.
fn is_regular(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
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

    #[test]
    fn what_could_be_written_of_a_long_file_stays_and_the_old_one_too() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("a.log").to_string_lossy().into_owned();
        let half = |out: &mut dyn Write| -> io::Result<()> {
            out.write_all(b"one\n")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let whole = |out: &mut dyn Write| out.write_all(b"one\ntwo\n");
        let read = |name: &str| fs::read_to_string(name).ok();
        let partial = format!("{name}.partial");
        let failed = write_keeping(&name, false, half).unwrap_err();
        assert!(failed.code() == 4 && failed.text().contains("a.log.partial"), "{}", failed.text());
        assert_eq!((read(&name), read(&partial)), (None, Some("one\n".into())));
        write_keeping(&name, false, whole).unwrap();
        assert_eq!((read(&name), read(&partial)), (Some("one\ntwo\n".into()), None));
        assert_eq!(write_keeping(&name, false, whole).unwrap_err().code(), 2, "nothing is overwritten");
        assert_eq!(write_keeping(&name, true, half).unwrap_err().code(), 4);
        assert_eq!(read(&name), Some("one\ntwo\n".into()), "the old one is whole");
    }

    #[test]
    fn no_link_is_followed_and_what_it_leads_to_is_unchanged() {
        for hard in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            let [log, partial, victim] = ["a.log", "a.log.partial", "victim"].map(at);
            fs::write(&victim, "precious\n").unwrap();
            let link = || {
                if hard {
                    fs::hard_link(&victim, &partial)
                } else {
                    std::os::unix::fs::symlink(&victim, &partial)
                }
            };
            link().unwrap();
            let name = log.to_string_lossy().into_owned();
            let half = |out: &mut dyn Write| -> io::Result<()> {
                out.write_all(b"one\n")?;
                Err(io::ErrorKind::StorageFull.into())
            };
            let failed = write_keeping(&name, false, half).unwrap_err();
            let told = failed.text().split_once("is in ").unwrap().1.split_once(';').unwrap().0.to_owned();
            assert_eq!(fs::read_to_string(told).unwrap(), "one\n", "{}", failed.text());
            assert!(failed.text().contains("cannot write the file"), "{}", failed.text());
            write_keeping(&name, false, |out| out.write_all(b"one\ntwo\n")).unwrap();
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious\n");
            assert_eq!(fs::read_to_string(&log).unwrap(), "one\ntwo\n");
            assert!(is_lone(&log), "a file of its own");
        }
    }

    #[test]
    fn what_is_made_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("a.log").to_string_lossy().into_owned();
        let slow = |out: &mut dyn Write| {
            out.write_all(b"slow\n")?;
            // As another one does it at once.
            let other = write_keeping(&name, false, |out| out.write_all(b"fast\n"));
            other.map_err(|failure| io::Error::other(failure.text().to_owned()))
        };
        assert_eq!(write_keeping(&name, false, slow).unwrap_err().code(), 2);
        assert_eq!(fs::read_to_string(&name).unwrap(), "fast\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left of it");
    }
}
