//! The files that results are written to.
//!
//! A file is written under a name that nothing has and is then renamed, so that what stood there before stays whole until the new
//! file is, and no link is followed. Devices, pipes and the streams that the program was started with are written to as they are.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use romer_host::descriptors::{self, Standard};
use romer_report::escape;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::{REFUSED, is_refused_from_the_start, print};
use crate::failure::Failure;

/// Names that are tried for a new file.
const ATTEMPTS: u32 = 1_000;

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
            escape::terminal(&path.to_string_lossy())
        ))),
        None => Ok(()),
    }
}

/// Refuses a `target` ([`write_document`]) that could not be written, before the work for it is done.
pub(crate) fn check_target(target: Option<&str>, force: bool) -> Result<(), Failure> {
    let Some(target) = target.filter(|target| *target != "-") else { return Ok(()) };
    let (path, shown) = (Path::new(target), escape::terminal(target));
    if path.is_dir() {
        return Err(Failure::usage(format!(
            "this is a folder ({shown}): a file is wanted; write a file's name"
        )));
    }
    let place = Destination::at(path);
    if !matches!(place, Destination::Descriptor(_)) {
        refuse_input(path)?;
    }
    if !force && place == Destination::Taken {
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

/// Writes a document to `target`: `-` is standard output, anything else a file that must not exist yet unless
/// `force`. What stood there before stays whole until the new file is.
pub(crate) fn write_document(target: &str, text: &str, force: bool) -> Result<(), Failure> {
    if target == "-" {
        print(text);
        return Ok(());
    }
    write_file(target, force, Unfinished::Removed, |out| out.write_all(text.as_bytes()))
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
    write_anywhere(target, force, Unfinished::Removed, write)
}

/// The same for a file that takes long to make: what could be written stays beside it, as NAME.partial, where the rest could
/// not.
pub(crate) fn write_keeping<T>(
    target: &str,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Failure>
where
    T: Default,
{
    write_anywhere(target, force, Unfinished::Kept, write)
}

fn write_anywhere<T>(
    target: &str,
    force: bool,
    unfinished: Unfinished,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Failure>
where
    T: Default,
{
    if target != "-" {
        return write_file(target, force, unfinished, write);
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

/// Puts a file at `path`, whole or not at all, whatever stood there.
pub(crate) fn put_file(path: &Path, octets: &[u8]) -> io::Result<()> {
    let (name, file) = unfinished(path)?;
    let put = buffered(file, |out| out.write_all(octets)).and_then(|()| fs::rename(&name, path));
    if put.is_err() {
        let _ = fs::remove_file(&name);
    }
    put
}

/// Opens a file that is written while something goes on. It takes the place of what stood there at once; a device or a pipe
/// is opened as it is.
pub(crate) fn begin_file(path: &Path) -> io::Result<File> {
    match Destination::at(path) {
        Destination::Free | Destination::Taken => {
            let (name, file) = unfinished(path)?;
            fs::rename(&name, path).inspect_err(|_| drop(fs::remove_file(&name))).map(|()| file)
        }
        place => place.open(path),
    }
}

/// What stands where a file is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Destination {
    /// Nothing.
    Free,
    /// A file, or a link, whatever that leads to. It can be replaced.
    Taken,
    /// A device or a pipe.
    Special,
    /// A descriptor of this process, by its number.
    Descriptor(u32),
}

impl Destination {
    fn at(path: &Path) -> Self {
        if let Some(number) = own_descriptor(path) {
            return Self::Descriptor(number);
        }
        match path.symlink_metadata().map(|found| found.file_type()) {
            Err(_) => Self::Free,
            Ok(kind) if kind.is_file() || kind.is_symlink() => Self::Taken,
            Ok(_) => Self::Special,
        }
    }

    /// Opens what is written to as it is.
    fn open(self, path: &Path) -> io::Result<File> {
        match self {
            Self::Descriptor(1) if descriptors::was_closed(Standard::Output) => {
                Err(io::Error::new(io::ErrorKind::NotConnected, "it was closed from the start"))
            }
            Self::Descriptor(1) => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Self::Descriptor(2) => io::stderr().as_fd().try_clone_to_owned().map(File::from),
            // Where it is a file, what is in it stays.
            Self::Descriptor(number) => File::options().append(true).open(format!("/proc/self/fd/{number}")),
            Self::Free | Self::Taken | Self::Special => open_special(path),
        }
    }
}

/// Opens a device or a pipe. Nobody is waited for who would read a pipe.
fn open_special(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let opened = File::options().write(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(ENXIO) => io::Error::new(io::ErrorKind::NotConnected, "no process reads from this pipe"),
        _ => error,
    })?;
    // Whoever reads slowly is waited for.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// The system's number for a pipe that nobody reads from.
const ENXIO: i32 = 6;

/// The number of the descriptor of this process that has this name.
fn own_descriptor(path: &Path) -> Option<u32> {
    match path.to_str()? {
        "/dev/stdout" => Some(1),
        "/dev/stderr" => Some(2),
        name => {
            let number = name.strip_prefix("/dev/fd/").or_else(|| name.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok()
        }
    }
}

/// What becomes of what could be written where the rest could not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfinished {
    Removed,
    /// It stays beside the file, as NAME.partial.
    Kept,
}

fn write_file<T>(
    target: &str,
    force: bool,
    on_failure: Unfinished,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Failure> {
    let (path, shown) = (Path::new(target), escape::terminal(target));
    let cannot = |error: &io::Error, kept: &str| {
        let advice = match on_failure {
            Unfinished::Removed => "name a file that can be written, or - for standard output",
            Unfinished::Kept => "free some space, or name a file that can be written",
        };
        Failure::environment(format!("cannot write the file ({shown}): {error}{kept}; {advice}"))
    };
    let place = Destination::at(path);
    let may_replace = place == Destination::Taken;
    if may_replace && !force {
        return Err(exists(&shown));
    }
    if matches!(place, Destination::Special | Destination::Descriptor(_)) {
        return place.open(path).and_then(|file| buffered(file, write)).map_err(|error| cannot(&error, ""));
    }
    let (name, file) = unfinished(path).map_err(|error| cannot(&error, ""))?;
    let put = buffered(file, write).and_then(|value| put(&name, path, may_replace).map(|()| value));
    match put {
        Ok(value) => {
            // What an earlier try had left.
            let earlier = with_suffix(path, ".partial");
            if on_failure == Unfinished::Kept && is_lone(&earlier) {
                let _ = fs::remove_file(&earlier);
            }
            Ok(value)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let _ = fs::remove_file(&name);
            Err(exists(&shown))
        }
        Err(error) if on_failure == Unfinished::Removed => {
            let _ = fs::remove_file(&name);
            Err(cannot(&error, ""))
        }
        Err(error) => {
            let kept =
                place_of_partial(name, with_suffix(path, ".partial")).map_or_else(String::new, |kept| {
                    let kept = escape::terminal(&kept.to_string_lossy());
                    format!("; what could be written is in {kept}")
                });
            Err(cannot(&error, &kept))
        }
    }
}

fn buffered<T>(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut out = io::BufWriter::new(file);
    let value = write(&mut out)?;
    out.flush().map(|()| value)
}

/// The name of `path` with more at its end.
pub(crate) fn with_suffix(path: &Path, more: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(more);
    path.with_file_name(name)
}

/// A new file in the folder of `path`, under a name that nothing had, not even a link. The name does not contain that of `path`,
/// which may be as long as a name can be.
fn unfinished(path: &Path) -> io::Result<(PathBuf, File)> {
    let own = std::process::id();
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for attempt in 0..ATTEMPTS {
        let again = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let name = path.with_file_name(format!(".romer-{own}{again}.unfinished"));
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
fn place_of_partial(name: PathBuf, partial: PathBuf) -> Option<PathBuf> {
    if name.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        let _ = fs::remove_file(&name);
        return None;
    }
    let free = partial.symlink_metadata().is_err() || is_lone(&partial);
    if free && fs::rename(&name, &partial).is_ok() {
        return Some(partial);
    }
    name.is_file().then_some(name)
}

/// Whether `path` is a file that has no other name, and no link.
fn is_lone(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.nlink() == 1)
}

#[cfg(test)]
mod tests {
    use romer_record::Exit;

    use super::*;

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
        assert!(
            failed.exit() == Exit::Environment && failed.text().contains("a.log.partial"),
            "{}",
            failed.text()
        );
        assert_eq!((read(&name), read(&partial)), (None, Some("one\n".into())));
        write_keeping(&name, false, whole).unwrap();
        assert_eq!((read(&name), read(&partial)), (Some("one\ntwo\n".into()), None));
        assert_eq!(
            write_keeping(&name, false, whole).unwrap_err().exit(),
            Exit::Usage,
            "nothing is overwritten"
        );
        assert_eq!(write_keeping(&name, true, half).unwrap_err().exit(), Exit::Environment);
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
        assert_eq!(write_keeping(&name, false, slow).unwrap_err().exit(), Exit::Usage);
        assert_eq!(fs::read_to_string(&name).unwrap(), "fast\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left of it");
    }

    /// With `--force` a new file takes the place of a link, and what that leads to is unchanged. Without it nothing is written.
    #[test]
    fn links_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "precious\n").unwrap();
        for leads_to in ["victim", "missing", "/dev/full", "link"] {
            std::os::unix::fs::symlink(leads_to, at("link")).unwrap();
            let name = at("link").to_string_lossy().into_owned();
            assert_eq!(write_document(&name, "new\n", false).unwrap_err().exit(), Exit::Usage, "{leads_to}");
            assert_eq!(check_target(Some(&name), false).unwrap_err().exit(), Exit::Usage, "{leads_to}");
            write_document(&name, "new\n", true).unwrap();
            assert!(is_lone(&at("link")) && !at("missing").exists(), "{leads_to}");
            assert_eq!(fs::read_to_string(at("link")).unwrap(), "new\n");
            fs::remove_file(at("link")).unwrap();
            std::os::unix::fs::symlink(leads_to, at("link")).unwrap();
            begin_file(&at("link")).unwrap().write_all(b"begun\n").unwrap();
            assert!(is_lone(&at("link")), "{leads_to}");
            put_file(&at("link"), b"put\n").unwrap();
            assert_eq!(fs::read_to_string(at("link")).unwrap(), "put\n");
            fs::remove_file(at("link")).unwrap();
        }
        assert_eq!(fs::read_to_string(at("victim")).unwrap(), "precious\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    }

    /// A pipe that nobody reads from is refused at once; one that is read from gets everything, however slowly.
    #[test]
    fn pipes_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let name = pipe.to_str().unwrap();
        for force in [false, true] {
            let refused = write_document(name, "text", force).unwrap_err();
            assert!(
                refused.exit() == Exit::Environment && refused.text().contains("no process reads"),
                "{}",
                refused.text()
            );
        }
        assert_eq!(begin_file(&pipe).unwrap_err().kind(), io::ErrorKind::NotConnected);
        // Opened for both, it does not wait for a writer.
        let reader = File::options().read(true).write(true).open(&pipe).unwrap();
        let text = "a line\n".repeat(100_000);
        std::thread::scope(|scope| {
            let read = scope.spawn(|| {
                let mut text = vec![0; 700_000];
                io::Read::read_exact(&mut &reader, &mut text).unwrap();
                text
            });
            write_document(name, &text, true).unwrap();
            assert!(read.join().unwrap() == text.as_bytes());
        });
    }

    /// The names of the streams that the program was started with are no links here.
    #[test]
    fn own_descriptors_are_known() {
        let known = |name: &str| own_descriptor(Path::new(name));
        assert_eq!(
            ["/dev/stdout", "/dev/stderr", "/dev/fd/63", "/proc/self/fd/1"].map(known),
            [Some(1), Some(2), Some(63), Some(1)]
        );
        assert_eq!(["/dev/null", "/dev/fd/x", "/dev/fd/", "stdout"].map(known), [None; 4]);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\n").unwrap();
        let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        for force in [false, true] {
            write_document(&name, "two\n", force).unwrap();
        }
        let mut text = String::new();
        io::Seek::rewind(&mut file).unwrap();
        io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "one\ntwo\ntwo\n");
    }
}
