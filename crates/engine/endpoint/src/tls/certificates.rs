//! Certificates and keys in PEM, and what TLS is made of.

use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::{AUTHORITIES, CERTIFICATE, KEY, NO_CERTIFICATE, NO_VERSION_3};
use super::files::{self, TlsFiles};
use super::identity::Identity;
use crate::EndpointError;
use crate::fingerprint::Fingerprint;

/// The name of the control protocol within TLS (RFC 7301).
pub(super) const PROTOCOL: &[u8] = b"romer";
/// The labels of the exported key material (RFC 8446 section 7.5): of the conversation, and of test packets.
pub(super) const EXPORT_LABEL: &[u8] = b"EXPORTER-romer-control";
pub(super) const PROBE_LABEL: &[u8] = b"EXPORTER-romer-probes";
/// The cryptography of all connections.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The identity of this end: that of the files, or the user's own.
///
/// # Errors
/// [`EndpointError::TlsFile`].
pub(super) fn identity(files: &TlsFiles) -> Result<Identity, EndpointError> {
    let (Some(key), Some(certificate)) = (&files.key, &files.certificate) else { return Identity::of_user() };
    let private = files::read(key, KEY, true)?;
    let chain = certificates(certificate, CERTIFICATE)?;
    let key = PrivateKeyDer::from_pem_slice(&private)
        .map_err(|error| files::invalid(key, KEY, error.to_string()))?;
    Identity::new(chain, key).ok_or_else(|| files::invalid(certificate, CERTIFICATE, NO_VERSION_3.into()))
}

/// The certificates in `path`, one at the least.
fn certificates(path: &Path, what: &'static str) -> Result<Vec<CertificateDer<'static>>, EndpointError> {
    let text = files::read(path, what, false)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if all.is_empty() => Err(files::invalid(path, what, NO_CERTIFICATE.into())),
        Ok(all) => Ok(all),
        Err(error) => Err(files::invalid(path, what, error.to_string())),
    }
}

/// The authorities in `path`.
///
/// # Errors
/// [`EndpointError::TlsFile`].
pub(super) fn authorities(path: &Path) -> Result<Arc<RootCertStore>, EndpointError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, AUTHORITIES)? {
        roots.add(certificate).map_err(|error| files::invalid(path, AUTHORITIES, error.to_string()))?;
    }
    Ok(Arc::new(roots))
}

/// The error of an identity that TLS does not take, or of authorities.
pub(super) fn refused(files: &TlsFiles, error: &dyn std::fmt::Display) -> EndpointError {
    let path = files.certificate.as_deref().or(files.authority.as_deref());
    files::invalid(path.unwrap_or(Path::new("identity.pem")), CERTIFICATE, error.to_string())
}

/// The fingerprint of the first of the certificates that the other end presented.
pub(super) fn presented(chain: Option<&[CertificateDer<'_>]>) -> Option<Fingerprint> {
    chain?.first().and_then(Fingerprint::from_certificate)
}
