//! Lines over a TCP connection, without blocking.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use romer_qtcp_protocol::LineBuffer;

/// Octets that one call reads.
const CHUNK: usize = 16 << 10;

/// One end of a control connection.
#[derive(Debug)]
pub(crate) struct Conversation {
    stream: TcpStream,
    lines: LineBuffer,
    /// What a slow peer leaves is many lines, of which the front is removed again and again.
    unsent: VecDeque<u8>,
    is_open: bool,
}

impl Conversation {
    /// Over `stream`.
    pub(crate) fn new(stream: TcpStream) -> Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, lines: LineBuffer::default(), unsent: VecDeque::new(), is_open: true })
    }

    /// The addresses of this end and of the other.
    pub(crate) fn addresses(&self) -> Result<[SocketAddr; 2]> {
        Ok([self.stream.local_addr()?, self.stream.peer_addr()?])
    }

    /// Whether lines may still come.
    pub(crate) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Writes a line as far as the system takes it; [`Conversation::flush`] writes the rest.
    pub(crate) fn write(&mut self, message: &dyn Display) {
        self.unsent.extend(format!("{message}\n").into_bytes());
        self.flush();
    }

    /// Writes what is left. Gives whether nothing is left, or nothing can be written.
    pub(crate) fn flush(&mut self) -> bool {
        while !self.unsent.is_empty() {
            match self.stream.write(self.unsent.as_slices().0) {
                Ok(0) => return true,
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
        true
    }

    /// No further line follows.
    pub(crate) fn finish(&self) {
        // A connection that has failed needs no end.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// The next line that has arrived. After the last one the connection [is not open](Conversation::is_open), if the other end has
    /// closed it, it failed, or what came is no text.
    pub(crate) fn next_line(&mut self) -> Option<String> {
        loop {
            match self.lines.next_line() {
                Ok(Some(line)) => return Some(line),
                Ok(None) if self.is_open => {}
                Ok(None) => return None,
                Err(_) => {
                    self.is_open = false;
                    return None;
                }
            }
            let mut octets = [0; CHUNK];
            match self.stream.read(&mut octets) {
                Ok(0) => self.is_open = false,
                Ok(count) => self.lines.push(octets.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.is_open = false,
            }
        }
    }
}

impl AsFd for Conversation {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Lines arrive in order, and the end of the connection after the last one.
    #[test]
    fn lines_then_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut one = Conversation::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap()).unwrap();
        let mut other = Conversation::new(listener.accept().unwrap().0).unwrap();
        assert_eq!(other.next_line(), None);
        assert!(other.is_open());
        for number in 0..1_000 {
            one.write(&format_args!("line {number}"));
        }
        let mut lines = Vec::new();
        while lines.len() < 1_000 {
            assert!(other.is_open());
            one.flush();
            lines.extend(other.next_line());
        }
        assert_eq!((lines[0].as_str(), lines[999].as_str()), ("line 0", "line 999"));
        one.finish();
        while other.is_open() {
            assert_eq!(other.next_line(), None);
        }
    }

    /// A line without an end closes the connection, and takes no memory.
    #[test]
    fn endless_lines_close() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut other = Conversation::new(listener.accept().unwrap().0).unwrap();
        stream.write_all(&[b'x'; 10_000]).unwrap();
        while other.is_open() {
            assert_eq!(other.next_line(), None);
        }
    }
}
