//! Files that are either there whole or not at all, whatever happens.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The largest JSON or HTML file that is read back.
const MOST_OCTETS: u64 = 256 << 20;

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
    let mut options = OpenOptions::new();
    let mut file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
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

/// [`put`] with bytes at hand.
pub(crate) fn put_bytes(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    put(path, |file| io::Write::write_all(file, bytes).map_err(StoreError::io("write the file", path)))
}

/// Makes renames, new names and removals in `folder` survive a loss of power.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)
        .and_then(|handle| handle.sync_all())
        .map_err(StoreError::io("bring to the disk the folder", folder))
}

/// Reads a text file of a bounded size.
pub(crate) fn read_text(path: &Path) -> Result<String, StoreError> {
    let file = File::open(path).map_err(StoreError::io("open the file", path))?;
    // A device or a pipe may have no end.
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        return Err(StoreError::io("read the file", path)(io::Error::other("it is not a regular file")));
    }
    let mut bytes = Vec::new();
    let read = file.take(MOST_OCTETS + 1).read_to_end(&mut bytes);
    let found = read.map_err(StoreError::io("read the file", path))? as u64;
    if found > MOST_OCTETS {
        return Err(StoreError::TooLarge {
            path: path.to_path_buf(),
            found,
            unit: "octets or more",
            limit: MOST_OCTETS,
        });
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        StoreError::malformed(path, format!("byte {at}"), "it is not UTF-8 text")
    })
}
