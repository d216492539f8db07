//! Where keys and certificates are, and how their files are read.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use romer_store::Runs;
use zeroize::Zeroizing;

use crate::EndpointError;
use crate::circumstances::random;
use crate::fingerprint::to_hex;

/// The longest file of certificates, octets; a longer one is something else.
const LONGEST: u64 = 1 << 20;
/// Rights of the group and of others.
const OTHERS: u32 = 0o077;

/// Files of certificates, in PEM. Without a key, the end has the user's own ([`super::identity`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The private key (`--tls-key`).
    pub key: Option<PathBuf>,
    /// Its certificate, then those of the authorities up to the root (`--tls-cert`).
    pub certificate: Option<PathBuf>,
    /// Certificates of the authorities that are trusted (`--tls-ca`). With these, known peers are not looked up.
    pub authority: Option<PathBuf>,
}

impl TlsFiles {
    /// All that are given.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        [&self.key, &self.certificate, &self.authority].into_iter().filter_map(|path| path.as_deref())
    }
}

/// The folder of this end's own key and of its known peers: the one that the service manager made (`STATE_DIRECTORY`), else
/// `$XDG_STATE_HOME/romer`, by default `~/.local/state/romer`. `None` if the environment names none.
pub fn state_folder() -> Option<PathBuf> {
    let made = std::env::var("STATE_DIRECTORY").unwrap_or_default();
    let made = made.split(':').next().map(PathBuf::from).filter(|folder| folder.is_absolute());
    made.or_else(|| Runs::of_user().ok()?.root().parent().map(Path::to_path_buf))
}

/// Reads `path`, a file of `what`, which `option` names. One that `is_private` must not give rights to others than its owner.
///
/// # Errors
/// [`EndpointError::TlsFile`].
pub(super) fn read(
    path: &Path,
    what: &'static str,
    is_private: bool,
) -> Result<Zeroizing<Vec<u8>>, EndpointError> {
    let environment = |why: String, remedy: String| EndpointError::TlsFile {
        what,
        place: path.display().to_string(),
        why,
        mend: remedy,
        content: false,
    };
    let unreadable =
        |error: io::Error| environment(error.to_string(), "name a file that you may read".into());
    // Looked at before it is opened: opening a pipe would wait for its other end.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(environment("it is not a regular file".into(), "name a file in PEM".into()));
    }
    if is_private {
        romer_host::process::forbid_core_dumps();
    }
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mode = metadata.permissions().mode() & 0o7777;
    if is_private && mode & OTHERS != 0 {
        return Err(environment(
            format!("others than its owner have rights to it (mode {mode:04o})"),
            format!("it needs 0600: chmod 600 {}, and a new key if others have read it", path.display()),
        ));
    }
    let length = metadata.len().min(LONGEST);
    let mut octets =
        Zeroizing::new(Vec::with_capacity(usize::try_from(length).unwrap_or(0).saturating_add(1)));
    file.take(LONGEST + 1).read_to_end(&mut octets).map_err(unreadable)?;
    if u64::try_from(octets.len()).unwrap_or(u64::MAX) > LONGEST {
        return Err(invalid(path, what, format!("it has more than {LONGEST} bytes")));
    }
    Ok(octets)
}

/// Writes `octets` to a new file of another name, beside the file `name` of `folder`, for its owner only. The file is complete before it
/// gets that name, so that whoever finds it can read all of it.
pub(super) fn draft(folder: &Path, name: &str, octets: &[u8]) -> io::Result<PathBuf> {
    let path = folder.join(format!(".{name}.{}", to_hex(&random::<8>())));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    match file.write_all(octets).and_then(|()| file.sync_all()) {
        Ok(()) => Ok(path),
        Err(error) => {
            let _ = std::fs::remove_file(&path);
            Err(error)
        }
    }
}

/// The error of a file with a content that cannot be used.
pub(super) fn invalid(path: &Path, what: &'static str, why: String) -> EndpointError {
    let mend = "name a file in PEM".into();
    EndpointError::TlsFile { what, place: path.display().to_string(), why, mend, content: true }
}
