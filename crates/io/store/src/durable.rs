//! Files that are either there whole or not at all, whatever happens.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::error::StoreError;
use crate::untrusted;

/// The largest text that is read back: a benchmark's log of trials, and documents.
const MOST_OCTETS: u64 = 64 << 20;

/// Puts a file at `path` at one stroke: `write` fills it under another name in the same folder, then it is
/// synchronised, renamed, and the folder synchronised. When this returns the file survives a loss of power; when
/// it fails, what stood at `path` before still does.
pub(crate) fn put(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let unfinished = unfinished_name(path);
    let done = fill(&unfinished, write)
        .and_then(|()| fs::rename(&unfinished, path).map_err(StoreError::io("put in place the file", path)));
    if done.is_err() {
        // The error at hand is the one to tell.
        let _ = fs::remove_file(&unfinished);
    }
    done?;
    path.parent().map_or(Ok(()), sync_folder)
}

fn fill(path: &Path, write: impl FnOnce(&mut File) -> Result<(), StoreError>) -> Result<(), StoreError> {
    // What stands there is left from an earlier try, or a link that leads elsewhere.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(StoreError::io("make the file", path)(error));
        }
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(StoreError::io("make the file", path))?;
    write(&mut file)?;
    file.sync_all().map_err(StoreError::io("bring to the disk the file", path))
}

/// The name under which a file is written before it is put in place.
pub(crate) fn unfinished_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".unfinished");
    path.with_file_name(name)
}

/// Puts a file of these octets at `path`, whole or not at all, in the place of what stands there; a link is not followed. When
/// this returns the file survives a loss of power.
///
/// # Errors
/// [`StoreError::Io`].
pub fn put_bytes(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    put(path, |file| io::Write::write_all(file, bytes).map_err(StoreError::io("write the file", path)))
}

/// Makes renames, new names and removals in `folder` survive a loss of power.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)
        .and_then(|handle| handle.sync_all())
        .map_err(StoreError::io("bring to the disk the folder", folder))
}

/// Reads a text file of a bounded size inside a folder of ours.
pub(crate) fn read_text(path: &Path) -> Result<String, StoreError> {
    text_of(path, read_octets(path)?)
}

/// Reads a text file that is compressed with gzip. Its text is bounded as well.
pub(crate) fn read_packed_text(path: &Path) -> Result<String, StoreError> {
    let packed = read_octets(path)?;
    let mut octets = Vec::new();
    GzDecoder::new(packed.as_slice())
        .take(MOST_OCTETS + 1)
        .read_to_end(&mut octets)
        .map_err(|error| StoreError::malformed(path, "gzip", error))?;
    if octets.len() as u64 > MOST_OCTETS {
        return Err(too_large(path, octets.len() as u64));
    }
    text_of(path, octets)
}

fn too_large(path: &Path, found: u64) -> StoreError {
    StoreError::TooLarge { path: path.to_path_buf(), found, unit: "octets", limit: MOST_OCTETS }
}

fn read_octets(path: &Path) -> Result<Vec<u8>, StoreError> {
    untrusted::read(path, MOST_OCTETS).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            too_large(path, path.metadata().map_or(MOST_OCTETS + 1, |found| found.len()))
        }
        _ => StoreError::io("read the file", path)(error),
    })
}

fn text_of(path: &Path, octets: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(octets).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        StoreError::malformed(path, format!("byte {at}"), "it is not UTF-8 text")
    })
}
