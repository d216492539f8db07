//! Messages of netlink as bytes: a header of length (4), type (2), flags (2), sequence (4) and port (4), then a body
//! that ends with attributes of length (2), type (2) and value; all padded to four octets.

use std::os::fd::{AsRawFd, BorrowedFd};

use romer_units::Duration;

use crate::HostError;
use crate::socket::poll_until;

/// Length of `struct nlmsghdr`.
pub(crate) const HEADER: usize = 16;
/// `NLM_F_REQUEST`, and `NLM_F_DUMP` beside it.
pub(crate) const REQUEST: u16 = 1;
pub(crate) const DUMP: u16 = REQUEST | 0x300;

/// Octets that are read with one call; the kernel makes no longer messages of a dump for who asks with less room.
const BUFFER_OCTETS: usize = 32_768;
/// How long an answer may take, which the kernel gives at once.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Answers that are read at the most: a family has one, a dump of a few interfaces a few dozen.
const MOST_READS: usize = 65_536;

/// The first message: its type, its body, and what follows.
pub(crate) fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let kind = u16_at(bytes, 4)?;
    let body = bytes.get(HEADER..length)?;
    Some((kind, body, bytes.get(aligned(length)..).unwrap_or_default()))
}

/// The value of the first attribute `wanted`.
pub(crate) fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(kind, value)| (kind == wanted).then_some(value))
}

/// All attributes, each with its type, up to one that is cut short.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        // The two upper bits say how the value is made.
        let kind = u16_at(bytes, 2)? & 0x3fff;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A message that is being written.
pub(crate) struct Draft {
    bytes: Vec<u8>,
}

impl Draft {
    /// A message of a type, with its body's fixed part.
    pub(crate) fn new(kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        bytes.resize(aligned(bytes.len()), 0);
        Self { bytes }
    }

    /// Appends an attribute.
    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) {
        let at = self.open(kind);
        self.bytes.extend_from_slice(value);
        self.close(at);
    }

    /// Begins an attribute that holds those which follow, up to [`Draft::close`] with what this gives.
    pub(crate) fn open(&mut self, kind: u16) -> usize {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        at
    }

    pub(crate) fn close(&mut self, at: usize) {
        let length = u16::try_from(self.bytes.len() - at).unwrap_or(u16::MAX);
        self.bytes[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes.resize(aligned(self.bytes.len()), 0);
    }

    /// The message, ready to be sent.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}

/// Sends a request and gives the bodies of the answers to `take`, up to the last.
pub(crate) fn exchange(
    socket: BorrowedFd<'_>,
    request: &[u8],
    mut take: impl FnMut(&[u8]),
) -> Result<(), HostError> {
    // SAFETY: pointer and length describe `request`, which the call only reads.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 {
        return Err(HostError::last("ask netlink"));
    }
    let is_dump = u16_at(request, 6).is_some_and(|flags| flags == DUMP);
    let mut buffer = vec![0; BUFFER_OCTETS];
    for _ in 0..MOST_READS {
        let mut polled = [libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        poll_until(&mut polled, Some(REPLY_TIMEOUT))?;
        // SAFETY: pointer and length describe the buffer, which is exclusively ours.
        let answer = unsafe {
            libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT)
        };
        let Ok(length) = usize::try_from(answer) else { return Err(HostError::last("hear netlink")) };
        let mut rest = &buffer[..length.min(buffer.len())];
        while let Some((kind, body, behind)) = message(rest) {
            match i32::from(kind) {
                libc::NLMSG_DONE => return Ok(()),
                libc::NLMSG_ERROR => return verdict(body),
                _ => take(body),
            }
            rest = behind;
        }
        if !is_dump {
            return Ok(());
        }
    }
    Err(HostError::Unsuitable("netlink does not come to an end"))
}

/// What an error message says; its number is negative, and 0 is none.
fn verdict(body: &[u8]) -> Result<(), HostError> {
    let number = body.first_chunk::<4>().map_or(0, |number| i32::from_ne_bytes(*number));
    if number == 0 {
        return Ok(());
    }
    let source = std::io::Error::from_raw_os_error(number.saturating_neg());
    Err(HostError::System { operation: "ask netlink", subject: String::new(), source })
}

pub(crate) const fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_that_is_not_there_is_no_answer_and_no_error_but_its_own() {
        let number = |errno: i32| (-errno).to_ne_bytes();
        assert!(verdict(&number(0)).is_ok());
        assert_eq!(verdict(&number(libc::ENOENT)).unwrap_err().errno(), Some(libc::ENOENT));
    }

    #[test]
    fn what_is_drafted_is_read_back() {
        let mut draft = Draft::new(16, REQUEST, &[7; 6]);
        draft.attribute(3, b"abcde");
        let nest = draft.open(18);
        draft.attribute(1, &[9]);
        draft.attribute(2, &[]);
        draft.close(nest);
        let bytes = draft.finish();
        let (kind, body, rest) = message(&bytes).unwrap();
        assert_eq!((kind, &body[..8], rest), (16, &[7, 7, 7, 7, 7, 7, 0, 0][..], &[][..]));
        let outer: Vec<_> = attributes(&body[8..]).collect();
        assert_eq!(outer[0], (3, b"abcde".as_slice()));
        assert_eq!(attributes(outer[1].1).collect::<Vec<_>>(), [(1, [9].as_slice()), (2, &[])]);
        assert_eq!((outer.len(), outer[1].0, bytes.len() % 4), (2, 18, 0));
    }
}
