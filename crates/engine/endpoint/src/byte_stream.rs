//! What the control channel runs over.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Bytes both ways, in order and whole: TCP today. The control channel asks for nothing else, so that a channel which
/// encrypts and authenticates (TLS) can be put beneath it: it reads and writes here, and gives the descriptor beneath
/// itself to be waited for. A channel that holds back bytes that it has read must give them at the next call without
/// waiting for more.
pub trait ByteStream: Read + Write + Send + std::fmt::Debug {
    /// How long a read or write may take: `None` for not at all (what cannot be done at once is
    /// [`io::ErrorKind::WouldBlock`]).
    ///
    /// # Errors
    /// The system's.
    fn set_patience(&self, patience: Option<Duration>) -> io::Result<()>;
    /// What becomes readable or writable.
    fn descriptor(&self) -> BorrowedFd<'_>;
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
