//! HTTP/1 beside hyper: problem documents for its empty error replies, and detection of requests with two body lengths.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::problem::Problem;

/// Octets of a line that are looked at.
const LOOKED_AT: usize = 256;

/// A stream on which refusals that have no body are sent as problem documents. hyper refuses what is no request with
/// a status alone.
#[derive(Debug)]
pub(crate) struct Worded<S> {
    stream: S,
    /// What is still to be written in the place of a refusal.
    instead: Option<Vec<u8>>,
}

impl<S> Worded<S> {
    pub(crate) const fn new(stream: S) -> Self {
        Self { stream, instead: None }
    }
}

/// The words for an answer of hyper's own: its head, and nothing behind it.
fn problem_from_reply(octets: &[u8]) -> Option<Problem> {
    let text = std::str::from_utf8(octets).ok().filter(|text| text.ends_with("\r\n\r\n"))?;
    let (line, fields) = text.split_once("\r\n")?;
    let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5))?;
    if !format!("\r\n{}", fields.to_ascii_lowercase()).contains("\r\ncontent-length: 0\r\n") {
        return None;
    }
    match status {
        "400" => Some(Problem::bad(
            "request",
            "this is no request of HTTP/1.1: its first line, one of its headers, or how its body is framed is wrong",
        )),
        "414" => Some(Problem::new(StatusCode::URI_TOO_LONG, "address", "the address is longer than 8 KiB")),
        "431" => Some(Problem::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "header",
            "the head of the request has more than 128 KiB, or more than 100 headers",
        )),
        _ => None,
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Worded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Worded<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.instead.is_none() {
            let Some(problem) = problem_from_reply(octets) else {
                return Pin::new(&mut this.stream).poll_write(context, octets);
            };
            this.instead = Some(problem.into_message());
        }
        while let Some(rest) = this.instead.as_mut().filter(|rest| !rest.is_empty()) {
            let written = ready!(Pin::new(&mut this.stream).poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            rest.drain(..written);
        }
        this.instead = None;
        Poll::Ready(Ok(octets.len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = parts.iter().find(|part| !part.is_empty()).map_or(&[][..], |part| part);
        if self.instead.is_some() || problem_from_reply(first).is_some() {
            return self.poll_write(context, first);
        }
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Follows the requests of a connection by their framing, to see which of them have both a Content-Length and a
/// Transfer-Encoding: hyper takes the former out where the latter is there, and requests that another server in between
/// reads otherwise could be smuggled past it (RFC 9112, section 6.1).
#[derive(Debug, Default)]
pub(crate) struct Framing {
    at: At,
    /// The beginning of the line that is coming.
    line: Vec<u8>,
    head: HttpHead,
    /// Of each head that was seen and not asked for yet: whether its body is framed twice.
    seen: VecDeque<bool>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Head,
    /// So many octets of a body.
    Body(u64),
    /// The line with a chunk's size.
    Size,
    /// So many octets of a chunk, with the end of its line.
    Chunk(u64),
    /// Lines behind the last chunk.
    Trailer,
    /// What came is not framed; nothing more is looked at, and hyper refuses it.
    Lost,
}

#[derive(Debug, Default)]
struct HttpHead {
    begun: bool,
    length: Option<u64>,
    is_coded: bool,
}

impl Framing {
    /// Takes in what came.
    pub(crate) fn take(&mut self, mut octets: &[u8]) {
        while !octets.is_empty() {
            match self.at {
                At::Lost => return,
                At::Body(left) | At::Chunk(left) => {
                    let came = left.min(octets.len() as u64);
                    octets = octets.get(usize::try_from(came).unwrap_or(octets.len())..).unwrap_or_default();
                    self.at = match (self.at, left - came) {
                        (At::Body(_), 0) => At::Head,
                        (At::Body(_), left) => At::Body(left),
                        (_, 0) => At::Size,
                        (_, left) => At::Chunk(left),
                    };
                }
                At::Head | At::Size | At::Trailer => {
                    let end = octets.iter().position(|octet| *octet == b'\n');
                    let (part, rest) = octets.split_at(end.map_or(octets.len(), |end| end + 1));
                    let room = LOOKED_AT.saturating_sub(self.line.len());
                    self.line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
                    if end.is_some() {
                        self.end_line();
                    }
                    octets = rest;
                }
            }
        }
    }

    /// Whether the body of the request that is next in turn is framed twice.
    pub(crate) fn next_is_twice(&mut self) -> bool {
        self.seen.pop_front().unwrap_or(false)
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        match self.at {
            At::Head if line.is_empty() && self.head.begun => {
                let HttpHead { length, is_coded, .. } = std::mem::take(&mut self.head);
                self.seen.push_back(is_coded && length.is_some());
                self.at = match length {
                    _ if is_coded => At::Size,
                    Some(octets) if octets > 0 => At::Body(octets),
                    _ => At::Head,
                };
            }
            At::Head if !self.head.begun => self.head.begun = !line.is_empty(),
            At::Head => {
                let (name, value) = line.split_once(':').unwrap_or((line, ""));
                if name.eq_ignore_ascii_case("content-length") {
                    match value.trim().parse() {
                        Ok(octets) => self.head.length = Some(octets),
                        Err(_) => self.at = At::Lost,
                    }
                } else if name.eq_ignore_ascii_case("transfer-encoding") {
                    self.head.is_coded = true;
                }
            }
            At::Size => {
                let digits = line.split(';').next().unwrap_or_default().trim();
                self.at = match u64::from_str_radix(digits, 16) {
                    Ok(0) => At::Trailer,
                    // With the end of the line behind it.
                    Ok(octets) => octets.checked_add(2).map_or(At::Lost, At::Chunk),
                    Err(_) => At::Lost,
                };
            }
            At::Trailer if line.is_empty() => self.at = At::Head,
            At::Trailer | At::Body(_) | At::Chunk(_) | At::Lost => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEVERAL: &str = "POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\n\r\n\r\n\
        \r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n\
        POST /c HTTP/1.1\r\ntransfer-encoding: chunked\r\nCONTENT-LENGTH: 3\r\n\r\n5;x=y\r\n\r\n\r\n!\r\n0\r\nT: Content-Length: 1\r\n\r\n\
        POST /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1b\r\nGET / \r\nContent-Length: 9\r\n\r\n0\r\n\r\n\
        POST /e HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";

    fn seen(framing: &mut Framing) -> Vec<bool> {
        (0..framing.seen.len()).map(|_| framing.next_is_twice()).collect()
    }

    proptest! {
        /// Two body lengths are detected however the bytes are split.
        #[test]
        fn duplicate_framing_is_detected(cuts in prop::collection::vec(1_usize..60, 1..60)) {
            let mut framing = Framing::default();
            let mut rest = SEVERAL.as_bytes();
            for cut in cuts.into_iter().cycle() {
                let (part, after) = rest.split_at(cut.min(rest.len()));
                framing.take(part);
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(seen(&mut framing), [false, false, true, false, true]);
        }

        #[test]
        fn nothing_that_comes_is_too_odd(octets in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut framing = Framing::default();
            framing.take(&octets);
            framing.take(b"Content-Length: 18446744073709551615\r\n\r\n");
        }
    }

    /// Only replies without a body get a problem document.
    #[test]
    fn only_empty_replies_get_a_body() {
        let of = |text: &str| problem_from_reply(text.as_bytes()).map(|problem| problem.status());
        assert_eq!(of("HTTP/1.1 414 URI Too Long\r\ncontent-length: 0\r\ndate: x\r\n\r\n"), Some(414));
        assert_eq!(
            of("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
            Some(400)
        );
        for other in [
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 10\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            "content-length: 0\r\n\r\n",
            "",
        ] {
            assert_eq!(of(other), None, "{other:?}");
        }
    }
}
