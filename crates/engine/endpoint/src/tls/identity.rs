//! The long-lived key of this end.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use super::error::{IDENTITY, NO_FOLDER, NO_VERSION_3};
use super::files;
use crate::EndpointError;
use crate::fingerprint::Fingerprint;

/// The file of the key and its certificate, in the folder of [`super::state_folder`].
pub const FILE: &str = "identity.pem";

/// A key with its certificates.
#[derive(Debug)]
pub struct Identity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    fingerprint: Fingerprint,
    unsaved: Option<String>,
}

impl Identity {
    /// The identity of a certificate, which others follow up to an authority, and its key. `None` if the first is no certificate.
    pub(super) fn new(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Option<Self> {
        let fingerprint = chain.first().and_then(Fingerprint::from_certificate)?;
        Some(Self { chain, key, fingerprint, unsaved: None })
    }

    /// The user's own, which is made where there is none yet. Where it cannot be saved, it is new in each process.
    ///
    /// # Errors
    /// [`EndpointError::TlsFile`]: there is a file, which cannot be read or has no key, or others may read it.
    pub fn of_user() -> Result<Self, EndpointError> {
        match files::state_folder() {
            Some(folder) => Self::in_folder(&folder),
            None => Self::unsaved(NO_FOLDER.into()),
        }
    }

    /// The same in `folder`.
    ///
    /// # Errors
    /// As [`Identity::of_user`].
    pub fn in_folder(folder: &Path) -> Result<Self, EndpointError> {
        let path = folder.join(FILE);
        if !path.exists() {
            let text = generate()?;
            if let Err(error) = save(folder, &path, &text) {
                return Self::unsaved(format!("{}: {error}", path.display()));
            }
        }
        Self::parse(&files::read(&path, IDENTITY, true)?, &path)
    }

    /// One of this process alone, for the reason `why`.
    fn unsaved(why: String) -> Result<Self, EndpointError> {
        let identity = Self::parse(&generate()?, Path::new(FILE))?;
        Ok(Self { unsaved: Some(why), ..identity })
    }

    fn parse(text: &[u8], path: &Path) -> Result<Self, EndpointError> {
        let invalid = |why: String| files::invalid(path, IDENTITY, why);
        let key = PrivateKeyDer::from_pem_slice(text).map_err(|error| invalid(error.to_string()))?;
        let chain: Vec<_> = CertificateDer::pem_slice_iter(text)
            .collect::<Result<_, _>>()
            .map_err(|error| invalid(error.to_string()))?;
        Self::new(chain, key).ok_or_else(|| invalid(NO_VERSION_3.into()))
    }

    /// The fingerprint of its key.
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Why the key is of this process alone; `None` if it is saved.
    pub fn not_saved(&self) -> Option<&str> {
        self.unsaved.as_deref()
    }
}

/// A new key and its certificate, in PEM.
fn generate() -> Result<Zeroizing<Vec<u8>>, EndpointError> {
    let failed = |error: rcgen::Error| files::invalid(Path::new(FILE), IDENTITY, error.to_string());
    let key = KeyPair::generate_for(&PKCS_ED25519).map_err(failed)?;
    let mut parameters = CertificateParams::default();
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "romer");
    parameters.distinguished_name = name;
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    let private = Zeroizing::new(key.serialize_pem());
    let mut text = Zeroizing::new(Vec::with_capacity(private.len() + 2_048));
    text.extend_from_slice(private.as_bytes());
    text.extend_from_slice(certificate.pem().as_bytes());
    Ok(text)
}

/// Saves `text` as `path`, unless another process has just saved its own there.
fn save(folder: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let own = files::draft(folder, FILE, text)?;
    let linked = match std::fs::hard_link(&own, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    };
    let _ = std::fs::remove_file(&own);
    linked
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The key is made once, for its owner only, also if several processes need it at once.
    #[test]
    fn keys_are_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("new/romer");
        let made: Vec<Fingerprint> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| Identity::in_folder(&state).unwrap().fingerprint())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.windows(2).all(|two| two[0] == two[1]), "{made:?}");
        let mode = std::fs::metadata(state.join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let files = std::fs::read_dir(&state).unwrap().count();
        assert_eq!(files, 1, "no temporary file is left");
    }

    /// A key that others may read is refused, and the error says what to do.
    #[test]
    fn readable_keys_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        Identity::in_folder(folder.path()).unwrap();
        let path = folder.path().join(FILE);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let error = Identity::in_folder(folder.path()).unwrap_err();
        assert!(error.to_string().contains("(mode 0644); it needs 0600: chmod 600 "), "{error}");
        assert_eq!(error.exit(), romer_record::Exit::Environment);
    }

    /// Where nothing can be saved, the key is of this process, and the reason is known.
    #[test]
    fn unsaved_keys_are_known() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let [one, other] = [(); 2].map(|()| Identity::in_folder(&file).unwrap());
        assert!(one.not_saved().is_some_and(|why| why.contains("identity.pem")), "{one:?}");
        assert_ne!(one.fingerprint(), other.fingerprint());
    }
}
