//! Formats that are recognised by what a file holds, because files of them have any name.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::packed::{Records, Source};
use crate::{ping, rates};

/// Octets at the beginning of a file that are looked at.
const HEAD: usize = 16 << 10;

/// Digits of a moment of a mahimahi trace, which is below 2^32 milliseconds.
const MOMENT_DIGITS: usize = 10;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The output of ping ([`crate::ping`]).
    Ping,
    /// A table of the rate of a link by time ([`crate::rates`]).
    Rates,
    /// A mahimahi trace: a whole number of milliseconds a line.
    Mahimahi,
}

impl Content {
    /// What the file at `path` holds; `None` if it has another format, or is a pipe, which can be read only once. It may be compressed
    /// by gzip.
    ///
    /// # Errors
    /// Of the system, or of the compression.
    pub fn from_path(path: &Path) -> io::Result<Option<Self>> {
        if !fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let mut head = Vec::new();
        Source::open(path, Records::Uncounted)?.take(HEAD as u64).read_to_end(&mut head)?;
        Ok(Self::from_head(&head))
    }

    /// What a file holds that begins with these octets.
    fn from_head(head: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
        // The last line may be cut, if there are others.
        let is_cut = head.len() == HEAD;
        let whole = text.rsplit_once(['\n', '\r']).map_or(&*text, |(whole, _)| whole);
        let lines = || (if is_cut { whole } else { &text }).split(['\n', '\r']).map(str::trim);
        let mut data = lines().filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
        let first = *data.peek()?;
        if rates::is_header(first) {
            return Some(Self::Rates);
        }
        let is_moment =
            |line: &str| line.len() <= MOMENT_DIGITS && line.bytes().all(|octet| octet.is_ascii_digit());
        if data.all(is_moment) {
            return Some(Self::Mahimahi);
        }
        lines().any(ping::is_line).then_some(Self::Ping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised() {
        let long = "12\n".repeat(20_000);
        for (text, content) in [
            ("PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.\n", Some(Content::Ping)),
            ("some shell\n64 bytes from 192.0.2.7: icmp_seq=4 ttl=5 time=1.0 ms\n", Some(Content::Ping)),
            ("time_s,rate_bit_per_s\n0,1e6\n", Some(Content::Rates)),
            ("\u{feff}# a link\r\nrate_mbit_per_s,time_ms\r\n0,1\r\n", Some(Content::Rates)),
            ("0\n5\n5\n20\n", Some(Content::Mahimahi)),
            ("# a link\r\n7\r\n", Some(Content::Mahimahi)),
            (long.as_str(), Some(Content::Mahimahi)),
            ("", None),
            ("\n#\n", None),
            ("sequence,size,sent_ns,received_ns\n0,44,1,2\n", None),
            ("1000:1030:30:64:0\n", None),
            ("{\"version\":{\"irtt\":\"0.9.0\"}}", None),
            ("delay_ms\n20\n", None),
            ("1\n2\nthree\n", None),
            ("12345678901\n", None),
        ] {
            let head = text.as_bytes().get(..HEAD).unwrap_or(text.as_bytes());
            assert_eq!(Content::from_head(head), content, "{text:.40}");
        }
    }

    /// The name of a file is of no account, and it may be compressed.
    #[test]
    fn names_do_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("verizon.down");
        fs::write(&file, "0\n1\n1\n").unwrap();
        assert_eq!(Content::from_path(&file).unwrap(), Some(Content::Mahimahi));
        assert!(Content::from_path(&folder.path().join("none")).is_err());
        assert_eq!(Content::from_path(folder.path()).unwrap(), None);
    }
}
