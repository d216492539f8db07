//! Files that may come from anybody.
//!
//! A folder that was unpacked from an archive may hold links to other files of the system, named pipes, which make a reader wait
//! for ever, and devices, which have no end. Here only regular files are opened, and nothing is read beyond a stated size. No link
//! is followed in the last place of a path, unless the user named that file. The folder itself may be reached by a link: its user
//! named it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file for reading.
///
/// # Errors
/// Of the system; [`io::ErrorKind::InvalidInput`] where it is a link or no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a file with these options, which may make it.
///
/// # Errors
/// As [`open`].
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open_regular(options, path, libc::O_NOFOLLOW)
}

/// Opens a file for reading that its user named, who may have named a link.
///
/// # Errors
/// Of the system; [`io::ErrorKind::InvalidInput`] where it is no regular file.
pub fn open_named(path: &Path) -> io::Result<File> {
    open_regular(OpenOptions::new().read(true), path, 0)
}

/// Opens a file for reading that its user named as an input: a regular file, or a pipe, which ends with its writers. A device may have
/// no end.
///
/// # Errors
/// Of the system; [`io::ErrorKind::InvalidInput`] where it is a device or a socket.
pub fn open_input(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOCTTY).open(path)?;
    let kind = file.metadata()?.file_type();
    // Of a folder, reading tells what is wrong.
    if kind.is_file() || kind.is_fifo() || kind.is_dir() { Ok(file) } else { Err(refused(NO_INPUT)) }
}

fn open_regular(options: &mut OpenOptions, path: &Path, links: libc::c_int) -> io::Result<File> {
    // Without O_NONBLOCK a pipe would be waited for.
    let flags = links | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = options.custom_flags(flags).open(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => {
            refused("it is a symbolic link, and none is followed inside the folder of a run")
        }
        // A pipe without a reader, and a socket.
        Some(libc::ENXIO) => refused(NO_FILE),
        _ => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused(NO_FILE)) }
}

const NO_FILE: &str = "it is not a regular file";
const NO_INPUT: &str = "it is a device, and only regular files and pipes are read";

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Whether a regular file stands there, and no link.
pub fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Whether a folder stands there, and no link.
pub fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// The octets of a file of `most` octets at the most.
///
/// # Errors
/// As [`open`]; [`io::ErrorKind::FileTooLarge`] where it is larger.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_up_to(open(path)?, most)
}

/// The octets of a file of `most` octets at the most that its user named, who may have named a link.
///
/// # Errors
/// As [`open_named`]; [`io::ErrorKind::FileTooLarge`] where it is larger.
pub fn read_named(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_up_to(open_named(path)?, most)
}

fn read_up_to(file: File, most: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let too_large = || {
        let why = format!("it has more than {most} bytes, and no more are read");
        io::Error::new(io::ErrorKind::FileTooLarge, why)
    };
    if length > most {
        return Err(too_large());
    }
    let mut octets = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // It may grow meanwhile.
    file.take(most + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > most { Err(too_large()) } else { Ok(octets) }
}

/// The text of a file of `most` octets at the most.
///
/// # Errors
/// As [`read`]; [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let octets = read(path, most)?;
    String::from_utf8(octets).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::new(io::ErrorKind::InvalidData, format!("byte {at} is not UTF-8 text"))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    /// Devices are refused as inputs, also by a link; files are read by their links, and pipes.
    #[test]
    fn devices_are_no_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        symlink("/dev/zero", at("endless")).unwrap();
        for device in [at("endless"), "/dev/zero".into(), "/dev/null".into()] {
            let error = open_input(&device).err().map(|error| error.kind());
            assert_eq!(error, Some(io::ErrorKind::InvalidInput), "{device:?}");
        }
        fs::write(at("file"), "12345").unwrap();
        symlink(at("file"), at("link")).unwrap();
        assert!(open_input(&at("link")).is_ok());
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        // Opened for both, it does not wait for a reader.
        let _writer = OpenOptions::new().read(true).write(true).open(at("pipe")).unwrap();
        assert!(open_input(&at("pipe")).is_ok());
    }

    /// Links, folders, pipes, sockets and devices are refused at once; a regular file is read up to the bound.
    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "12345").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        symlink(at("nothing"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        for name in ["link", "endless", "dangling", "folder", "pipe", "socket"] {
            let error = open(&at(name)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}: {error}");
            assert!(!is_file(&at(name)), "{name}");
            let error = open_with(OpenOptions::new().append(true).create(true), &at(name)).unwrap_err();
            assert!(
                matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory),
                "{name}: {error}"
            );
        }
        assert!(!at("nothing").exists(), "nothing is made through a link");
        assert_eq!(open(Path::new("/dev/null")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(open(&at("nothing")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(read(&at("file"), 5).unwrap(), b"12345");
        assert_eq!(read(&at("file"), 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_named(&at("link"), 5).unwrap(), b"12345");
        for name in ["endless", "folder", "pipe", "socket"] {
            assert_eq!(read_named(&at(name), 5).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        assert!(is_file(&at("file")) && is_folder(&at("folder")) && !is_folder(&at("link")));
    }
}
