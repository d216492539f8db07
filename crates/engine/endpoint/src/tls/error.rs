//! What can go wrong with the protection of a connection, and the words for it.

use std::io;

use crate::EndpointError;

/// What the files are.
pub(super) const CERTIFICATE: &str = "certificate (--tls-cert)";
pub(super) const AUTHORITIES: &str = "certificates of the authorities (--tls-ca)";
pub(super) const KEY: &str = "private key (--tls-key)";
pub(super) const IDENTITY: &str = "key of this host";
pub(super) const KNOWN_PEERS: &str = "known peers";
/// Why a key is not saved where the environment names no folder.
pub(super) const NO_FOLDER: &str = "neither HOME nor XDG_STATE_HOME is set";
/// What a file lacks.
pub(super) const NO_CERTIFICATE: &str = "it has no certificate";
pub(super) const NO_VERSION_3: &str = "it has no certificate of X.509 version 3";

/// Why a connection is not protected.
#[derive(Debug)]
pub enum ChannelError {
    /// The connection failed.
    Io(io::Error),
    /// The other end closed the connection before the handshake was complete.
    Closed,
    /// The other end does not speak TLS 1.3.
    Foreign(String),
    /// Its identity is not the expected one.
    Untrusted {
        /// Why not.
        why: String,
        /// What to do.
        mend: String,
    },
    /// The key or the known peers of this end cannot be used.
    Own(EndpointError),
}

/// A session whose probes cannot have a key of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only round trips over TLS, without a key file, have a key of the connection")]
pub struct NoProbeKey;

/// What an error in the handshake means.
pub(super) fn failed(error: io::Error) -> ChannelError {
    match tls_error(&error) {
        Some(rustls::Error::InvalidCertificate(fault)) => ChannelError::Untrusted {
            why: format!("its certificate is refused: {fault}"),
            mend: "give it a certificate for this name by an authority of --tls-ca".into(),
        },
        Some(other) => ChannelError::Foreign(format!("it does not speak TLS 1.3 of romer: {other}")),
        None if matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
            ChannelError::Closed
        }
        None => ChannelError::Io(error),
    }
}

/// The fault of TLS that an error of a [`crate::byte_stream::ByteStream`] reports; `None` if the connection failed for another reason.
fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Why a protected connection ended, if the other end refused this end's certificate or one end broke TLS.
pub fn tls_fault(error: &io::Error) -> Option<String> {
    tls_error(error).map(ToString::to_string)
}
