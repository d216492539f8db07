//! Connections of the control channel, which TLS may protect.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::server::{ServerConfig, ServerConnection};

use super::error::{ChannelError, failed};
use super::session::TlsSession;
use crate::byte_stream::{ByteStream, Protection};
use crate::fingerprint::Fingerprint;

/// The first octet of a TLS connection: a handshake record (RFC 8446 section 5.1). A plain one begins with a length below 2^24.
pub(super) const HANDSHAKE_RECORD: u8 = 0x16;

/// A connection that is protected by TLS 1.3, or plain. The first octet that a responder receives shows which.
#[derive(Debug)]
pub struct ChannelStream {
    tcp: TcpStream,
    /// Until something has come at a responder.
    undecided: Option<Arc<ServerConfig>>,
    session: Option<Box<TlsSession>>,
}

impl ChannelStream {
    /// Protected from the start.
    pub(super) fn protected(tcp: TcpStream, session: TlsSession) -> Self {
        Self { tcp, undecided: None, session: Some(Box::new(session)) }
    }

    /// As the other end chooses.
    pub(super) const fn accepted(tcp: TcpStream, config: Arc<ServerConfig>) -> Self {
        Self { tcp, undecided: Some(config), session: None }
    }

    /// Completes the handshake of a protected connection by `deadline`.
    pub(super) fn handshake(&mut self, deadline: Instant) -> Result<(), ChannelError> {
        let Self { tcp, session: Some(session), .. } = self else { return Ok(()) };
        while session.is_handshaking() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ChannelError::Io(io::ErrorKind::TimedOut.into()));
            }
            tcp.set_patience(Some(left)).map_err(ChannelError::Io)?;
            session.send(tcp).map_err(failed)?;
            if session.receive(tcp).map_err(failed)? == 0 {
                return Err(ChannelError::Closed);
            }
        }
        session.send(tcp).map_err(failed)
    }

    /// The key that the other end has presented.
    pub(super) fn presented(&self) -> Result<Fingerprint, ChannelError> {
        match self.protection() {
            Protection::Tls { peer: Some(peer), .. } => Ok(peer),
            _ => Err(ChannelError::Foreign("it presented no key".into())),
        }
    }

    /// Decides by the first octet what the connection is. Gives whether there is one.
    fn decide(&mut self) -> io::Result<bool> {
        let Some(config) = &self.undecided else { return Ok(true) };
        let mut first = [0];
        if self.tcp.peek(&mut first)? == 0 {
            return Ok(false);
        }
        if first == [HANDSHAKE_RECORD] {
            let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            self.session = Some(Box::new(TlsSession::new(connection)));
        }
        self.undecided = None;
        Ok(true)
    }
}

impl Drop for ChannelStream {
    fn drop(&mut self) {
        // What cannot be sent at once is not waited for.
        if let Some(session) = &mut self.session
            && self.tcp.set_nonblocking(true).is_ok()
        {
            session.close(&mut self.tcp);
        }
    }
}

impl Read for ChannelStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.decide()? {
            return Ok(0);
        }
        match &mut self.session {
            Some(session) => session.read(&mut self.tcp, buffer),
            None => self.tcp.read(buffer),
        }
    }
}

impl Write for ChannelStream {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            Some(session) => session.write(&mut self.tcp, content),
            None => self.tcp.write(content),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.session {
            Some(session) => session.send(&mut self.tcp),
            None => self.tcp.flush(),
        }
    }
}

impl ByteStream for ChannelStream {
    fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.tcp.set_patience(patience)
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.tcp.descriptor()
    }

    fn has_unread(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.has_unread())
    }

    fn has_unwritten(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.has_unwritten())
    }

    fn protection(&self) -> Protection {
        self.session.as_ref().map_or(Protection::Plain, |session| session.protection())
    }
}
