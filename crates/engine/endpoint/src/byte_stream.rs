//! What the control channel runs over.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use crate::fingerprint::Fingerprint;

/// What protects a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Nothing.
    Plain,
    /// TLS 1.3.
    Tls {
        /// The key that the other end has proved to have; `None` if it presented none.
        peer: Option<Fingerprint>,
        /// Key material that both ends of this connection have, and nobody else (RFC 8446 section 7.5).
        exported: [u8; 32],
        /// More of it, for the test packets of the session that the connection grants.
        probe_key: [u8; 32],
    },
}

impl std::fmt::Debug for Protection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Plain => f.write_str("Plain"),
            // No key is shown.
            Self::Tls { peer, .. } => f.debug_struct("Tls").field("peer", peer).finish_non_exhaustive(),
        }
    }
}

/// Octets in both directions, in order and complete: TCP, or TLS over TCP. Whoever waits for it waits for its descriptor.
///
/// A read that has received octets, but none of the content yet, gives [`io::ErrorKind::Interrupted`]: it is to be called again.
pub trait ByteStream: Read + Write + Send + std::fmt::Debug {
    /// How long a read or write may take: `None` for not at all (what cannot be done at once is
    /// [`io::ErrorKind::WouldBlock`]).
    ///
    /// # Errors
    /// The system's.
    fn set_patience(&self, patience: Option<Duration>) -> io::Result<()>;
    /// What becomes readable or writable.
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// Whether a read gives octets at once that the descriptor does not show as readable.
    fn has_unread(&self) -> bool {
        false
    }
    /// Whether octets that were accepted wait until the descriptor is writable: [`Write::flush`] writes them.
    fn has_unwritten(&self) -> bool {
        false
    }
    /// What protects it, once octets have been read.
    fn protection(&self) -> Protection {
        Protection::Plain
    }
}

impl ByteStream for TcpStream {
    fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.set_nonblocking(patience.is_none())?;
        if let Some(patience) = patience {
            let patience = patience.max(Duration::from_micros(1));
            self.set_read_timeout(Some(patience))?;
            self.set_write_timeout(Some(patience))?;
        }
        Ok(())
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.as_fd()
    }
}
