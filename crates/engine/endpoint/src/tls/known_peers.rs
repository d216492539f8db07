//! The other ends that this one knows, by the fingerprints of their keys.
//!
//! The file has one line for each: its name, its fingerprint, and `paired` if its identity was verified with a code. Empty lines and
//! lines that begin with `#` stay as they are.
//!
//! ```text
//! far.example sha256:9f2c... paired
//! [far.example]:8863 sha256:77ab...
//! ```

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use romer_session::control::PORT;

use super::error::KNOWN_PEERS;
use super::files;
use crate::EndpointError;
use crate::fingerprint::Fingerprint;
use crate::names::Target;

/// The file, in the folder of [`super::state_folder`].
pub const FILE: &str = "known_peers";
/// The third word of a line.
const PAIRED: &str = "paired";

/// One other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPeer {
    /// Its name, as [`peer_name`] writes it.
    pub name: String,
    /// The fingerprint of its key.
    pub fingerprint: Fingerprint,
    /// Whether its identity was verified by pairing.
    pub is_paired: bool,
}

impl KnownPeer {
    fn line(&self) -> String {
        let mark = if self.is_paired { format!(" {PAIRED}") } else { String::new() };
        format!("{} {}{mark}", self.name, self.fingerprint)
    }
}

/// The name by which a target is known: its host in lower case, in brackets and with the port if that is not [`PORT`].
pub fn peer_name(target: &Target) -> String {
    let host = target.host.to_ascii_lowercase();
    match target.port.filter(|port| *port != PORT) {
        Some(port) => format!("[{host}]:{port}"),
        None => host,
    }
}

/// The other ends that are known.
#[derive(Debug, Default)]
pub struct KnownPeers {
    /// The file; `None` if this end has no folder for it.
    path: Option<PathBuf>,
    peers: Vec<KnownPeer>,
}

impl KnownPeers {
    /// Those of the user.
    ///
    /// # Errors
    /// [`EndpointError::TlsFile`]: the file cannot be read, or a line of it is wrong.
    pub fn of_user() -> Result<Self, EndpointError> {
        match files::state_folder() {
            Some(folder) => Self::in_folder(&folder),
            None => Ok(Self::default()),
        }
    }

    /// The same in `folder`.
    ///
    /// # Errors
    /// As [`KnownPeers::of_user`].
    pub fn in_folder(folder: &Path) -> Result<Self, EndpointError> {
        let path = folder.join(FILE);
        if !path.exists() {
            return Ok(Self { path: Some(path), peers: Vec::new() });
        }
        let text = files::read(&path, KNOWN_PEERS, false)?;
        let peers = parse(&String::from_utf8_lossy(&text)).map_err(|line| EndpointError::TlsFile {
            what: KNOWN_PEERS,
            place: format!("{}:{line}", path.display()),
            why: "a line has a name, a fingerprint (sha256: and 64 hexadecimal digits) and perhaps paired"
                .into(),
            mend: "correct or remove the line".into(),
            content: true,
        })?;
        Ok(Self { path: Some(path), peers })
    }

    /// Where they are saved, for texts.
    pub fn place(&self) -> String {
        self.path.as_deref().map_or_else(|| FILE.to_owned(), |path| path.display().to_string())
    }

    /// The end of this name.
    pub fn get(&self, name: &str) -> Option<&KnownPeer> {
        self.peers.iter().find(|peer| peer.name == name)
    }

    /// Whether the identity of an end with this key was verified by pairing.
    pub fn is_paired(&self, fingerprint: Fingerprint) -> bool {
        self.peers.iter().any(|peer| peer.is_paired && peer.fingerprint == fingerprint)
    }

    /// Remembers `peer`, in the place of another key of the same name, and saves it. It is known to this process also if it cannot
    /// be saved.
    ///
    /// # Errors
    /// The system's, or [`io::ErrorKind::NotFound`] without a folder.
    pub fn insert(&mut self, peer: KnownPeer) -> io::Result<()> {
        let saved =
            self.path.as_deref().map_or(Err(io::ErrorKind::NotFound.into()), |path| save(path, &peer));
        self.peers.retain(|other| other.name != peer.name);
        self.peers.push(peer);
        saved
    }
}

/// The peers of a file, or the number of its first wrong line, from 1.
fn parse(text: &str) -> Result<Vec<KnownPeer>, usize> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !is_blank(line));
    lines.map(|(number, line)| peer(line).ok_or(number)).collect()
}

/// Whether a line has no peer.
fn is_blank(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

fn peer(line: &str) -> Option<KnownPeer> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, fingerprint, is_paired) = match words[..] {
        [name, fingerprint] => (name, fingerprint, false),
        [name, fingerprint, PAIRED] => (name, fingerprint, true),
        _ => return None,
    };
    Some(KnownPeer { name: name.to_ascii_lowercase(), fingerprint: fingerprint.parse().ok()?, is_paired })
}

/// Writes `peer` into the file at `path`. Other processes may write theirs at the same time.
fn save(path: &Path, peer: &KnownPeer) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let options =
        |file: &Path| OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(file);
    // The file itself is replaced, so that its lock would be of the one before.
    let lock: File = options(&folder.join(format!(".{FILE}.lock")))?;
    lock.lock()?;
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        other => other?,
    };
    let is_other = |line: &&str| is_blank(line) || line.split_whitespace().next() != Some(peer.name.as_str());
    let mut text: String = before.lines().filter(is_other).map(|line| format!("{line}\n")).collect();
    text.push_str(&peer.line());
    text.push('\n');
    let own = files::draft(folder, FILE, text.as_bytes())?;
    let renamed = fs::rename(&own, path);
    if renamed.is_err() {
        let _ = fs::remove_file(&own);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(digit: char) -> Fingerprint {
        format!("sha256:{}", digit.to_string().repeat(64)).parse().unwrap()
    }

    fn peer(name: &str, digit: char, is_paired: bool) -> KnownPeer {
        KnownPeer { name: name.into(), fingerprint: fingerprint(digit), is_paired }
    }

    /// What is saved is read back. A new key of a name replaces the former, and comments stay.
    #[test]
    fn peers_read_back() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "# of the laboratory\n\nfar.example sha256:short\n").unwrap();
        let error = KnownPeers::in_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("known_peers:3): a line has"), "{error}");
        fs::write(folder.path().join(FILE), "# of the laboratory\n\n").unwrap();
        let mut known = KnownPeers::in_folder(folder.path()).unwrap();
        assert_eq!(known.get("far.example"), None);
        for one in
            [peer("far.example", '1', false), peer("192.0.2.1", '2', true), peer("far.example", '3', true)]
        {
            known.insert(one).unwrap();
        }
        let again = KnownPeers::in_folder(folder.path()).unwrap();
        for known in [known, again] {
            assert_eq!(known.get("far.example"), Some(&peer("far.example", '3', true)));
            assert_eq!(known.get("192.0.2.1"), Some(&peer("192.0.2.1", '2', true)));
            assert!(known.is_paired(fingerprint('2')) && !known.is_paired(fingerprint('1')));
        }
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(text.starts_with("# of the laboratory\n\n192.0.2.1 sha256:22"), "{text}");
        assert!(text.ends_with("3 paired\n"), "{text}");
    }

    /// Several processes that save at once lose nothing.
    #[test]
    fn concurrent_peers_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for number in 0..16 {
                let folder = folder.path();
                scope.spawn(move || {
                    let mut known = KnownPeers::in_folder(folder).unwrap();
                    known.insert(peer(&format!("host-{number}"), 'a', false)).unwrap();
                });
            }
        });
        let known = KnownPeers::in_folder(folder.path()).unwrap();
        assert!((0..16).all(|number| known.get(&format!("host-{number}")).is_some()), "{known:?}");
    }

    /// A peer that cannot be saved is known to this process.
    #[test]
    fn unsaved_peers_are_known() {
        let mut known = KnownPeers::default();
        assert!(known.insert(peer("far", '1', false)).is_err());
        assert_eq!(known.get("far"), Some(&peer("far", '1', false)));
    }

    /// Names have no capitals, and no port that is the usual one.
    #[test]
    fn names_have_the_port_if_unusual() {
        for (target, name) in [
            ("Far.Example", "far.example"),
            ("far.example:8862", "far.example"),
            ("far.example:8863", "[far.example]:8863"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:DB8::1]:9", "[2001:db8::1]:9"),
        ] {
            assert_eq!(peer_name(&target.parse().unwrap()), name);
        }
    }
}
