//! A TLS session over a TCP connection that may or may not block.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustls::Connection;

use super::certificates::{EXPORT_LABEL, PROBE_LABEL, presented};
use crate::byte_stream::Protection;
use crate::circumstances::random;

/// Octets of content that are accepted at a time, so that little waits here: those of one record (RFC 8446 section 5.1).
const ACCEPTED: usize = 1 << 14;
/// Octets that may come without any content, which a handshake with long certificates does not reach.
const FRUITLESS: usize = 1 << 17;

/// A session, and what of it is not read yet.
#[derive(Debug)]
pub(super) struct TlsSession {
    connection: Connection,
    unread: usize,
    /// Octets that came since content came last.
    fruitless: usize,
}

impl TlsSession {
    pub(super) fn new(connection: impl Into<Connection>) -> Self {
        Self { connection: connection.into(), unread: 0, fruitless: 0 }
    }

    /// Whether the handshake goes on.
    pub(super) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether a read gives content at once.
    pub(super) const fn has_unread(&self) -> bool {
        self.unread > 0
    }

    /// Whether something is to be sent.
    pub(super) fn has_unwritten(&self) -> bool {
        self.connection.wants_write()
    }

    /// Content, at most as much as the buffer takes; 0 where the other end has closed the connection.
    pub(super) fn read(&mut self, tcp: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        match self.content(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            other => return other,
        }
        if self.receive(tcp)? == 0 {
            return Ok(0);
        }
        match self.content(buffer) {
            // The record is not complete, or had no content.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::Interrupted.into()),
            other => other,
        }
    }

    /// Content that has been received.
    fn content(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.connection.reader().read(buffer) {
            Ok(count) => {
                self.unread = self.unread.saturating_sub(count);
                Ok(count)
            }
            // It ended without a word, as that of a killed process does.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Receives once, and answers what the handshake asks. Gives the number of octets; 0 at the end of the connection.
    pub(super) fn receive(&mut self, tcp: &mut TcpStream) -> io::Result<usize> {
        let count = self.connection.read_tls(tcp)?;
        match self.connection.process_new_packets() {
            Ok(state) => self.unread = state.plaintext_bytes_to_read(),
            Err(error) => {
                // The other end hears why, if it can.
                let _ = self.send(tcp);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
        self.fruitless = if self.unread > 0 { 0 } else { self.fruitless.saturating_add(count) };
        if self.fruitless > FRUITLESS {
            return Err(io::Error::new(io::ErrorKind::InvalidData, rustls::Error::PeerSentOversizedRecord));
        }
        match self.send(tcp) {
            Err(error) if is_later(&error) => Ok(count),
            sent => sent.map(|()| count),
        }
    }

    /// Accepts content, and sends as much as the connection takes.
    pub(super) fn write(&mut self, tcp: &mut TcpStream, content: &[u8]) -> io::Result<usize> {
        self.send(tcp)?;
        let part = content.get(..ACCEPTED).unwrap_or(content);
        let count = self.connection.writer().write(part)?;
        match self.send(tcp) {
            Err(error) if is_later(&error) => Ok(count),
            sent => sent.map(|()| count),
        }
    }

    /// Sends what is to be sent.
    pub(super) fn send(&mut self, tcp: &mut TcpStream) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(tcp) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Says that nothing more will come, if the handshake is complete.
    pub(super) fn close(&mut self, tcp: &mut TcpStream) {
        if !self.is_handshaking() {
            self.connection.send_close_notify();
            let _ = self.send(tcp);
        }
    }

    /// What protects the connection.
    pub(super) fn protection(&self) -> Protection {
        let peer = presented(self.connection.peer_certificates());
        // What cannot be exported is a number that the other end does not have.
        let [exported, probe_key] = [EXPORT_LABEL, PROBE_LABEL].map(|label| {
            self.connection.export_keying_material([0; 32], label, None).unwrap_or_else(|_| random())
        });
        Protection::Tls { peer, exported, probe_key }
    }
}

/// Whether it can be done later.
fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
