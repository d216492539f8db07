//! Key files of authenticated tests, read alike by both ends.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use romer_wire::stamp::{Key, KeyFile, KeyForm};
use zeroize::Zeroizing;

use crate::EndpointError;

/// The longest key file; a longer one is something else.
const MAX_KEY_FILE_OCTETS: usize = 4_096;
/// Rights of the group and of others.
const OTHERS: u32 = 0o077;

/// A key, and what its reader should be told.
#[derive(Debug)]
pub struct ReadKey {
    /// The key.
    pub key: Arc<Key>,
    /// Something that is worth a line; it holds nothing of the key.
    pub note: Option<&'static str>,
}

/// Reads the key file `path`: a regular file that only its owner may read, of 32 octets or more, or of as many as hex
/// digits. What was read is overwritten before this returns.
///
/// # Errors
/// [`EndpointError::Key`], of which nothing holds a part of the file: exit code 4 where it is not there, may not be
/// read, or may be read by others; 3 where its content is no key.
///
/// From then on this process leaves no core dumps, in which the key would stand.
pub fn read(path: &Path) -> Result<ReadKey, EndpointError> {
    let place = path.display().to_string();
    let environment =
        |why: String, mend: String| EndpointError::Key { place: place.clone(), why, mend, content: false };
    let content = |why: String, mend: &str| EndpointError::Key {
        place: place.clone(),
        why,
        mend: mend.into(),
        content: true,
    };
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => environment(
            "there is no such file".into(),
            format!("make one: (umask 077; head -c 32 /dev/urandom > {})", path.display()),
        ),
        io::ErrorKind::PermissionDenied => environment(
            "it may not be read".into(),
            "run as its owner, or give a key file of your own".into(),
        ),
        _ => environment(error.to_string(), "give a key file".into()),
    };
    // Looked at before it is opened: opening a pipe would wait for its other end.
    let before = std::fs::metadata(path).map_err(unreadable)?;
    if !before.is_file() {
        return Err(environment("it is not a regular file".into(), "give a key file".into()));
    }
    romer_host::process::forbid_core_dumps();
    let mut file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(environment(
            format!("others than its owner have rights to it (mode {mode:04o})"),
            format!("it needs 0600: chmod 600 {}, and a new key if others have read it", path.display()),
        ));
    }
    let mut octets = Zeroizing::new(vec![0; MAX_KEY_FILE_OCTETS + 1]);
    let length = fill(&mut file, &mut octets).map_err(unreadable)?;
    if length > MAX_KEY_FILE_OCTETS {
        return Err(content(
            format!("it has more than {MAX_KEY_FILE_OCTETS} bytes"),
            "give a file that holds a key alone",
        ));
    }
    let KeyFile { key, line_feed_stripped, form } = KeyFile::parse(&octets[..length]).map_err(|error| {
        content(error.to_string(), "write 32 random bytes or more, or two hex digits for each, on one line")
    })?;
    // Digits end in a line feed as a matter of course; a key of octets may have ended in one by chance.
    let note = (line_feed_stripped && form == KeyForm::Raw)
        .then_some("the line feed at the end of the key file is not part of the key");
    Ok(ReadKey { key: Arc::new(key), note })
}

/// Reads until `octets` is full or `file` ends.
fn fill(file: &mut File, octets: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < octets.len() {
        match file.read(&mut octets[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
