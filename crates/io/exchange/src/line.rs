//! Lines of a text, one at a time, however they end and however long the text is.

use std::io::{self, BufRead};

use thiserror::Error;

/// The longest line, octets.
pub const LONGEST: usize = 64 << 10;

/// Why lines cannot be read.
#[derive(Debug, Error)]
pub enum Fault {
    /// A line is not in the format.
    #[error("line {line}: {why}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it, and what to do: `WHY; what to do`.
        why: String,
    },
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads lines that end with LF, CR LF or CR.
#[derive(Debug)]
pub struct Lines<R> {
    inner: R,
    /// The line before ended with CR: a LF that follows belongs to it.
    after_return: bool,
    /// Octets that were taken from the text.
    taken: u64,
    /// The line that was found last had an end.
    ended: bool,
}

/// What came of looking for a line.
#[derive(Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// A line is in the buffer, without its end.
    Line,
    /// There are no more.
    End,
    /// It is longer than [`LONGEST`].
    TooLong,
}

impl<R: BufRead> Lines<R> {
    /// The lines of a text from where its reader is.
    pub fn new(inner: R) -> Self {
        Self { inner, after_return: false, taken: 0, ended: true }
    }

    /// Octets that were read up to the end of the line that was found last, this included.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether the line that was found last had an end; without one it may be cut.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Puts the next line into `line`, without its end.
    ///
    /// # Errors
    /// Of the reader.
    pub fn next(&mut self, line: &mut Vec<u8>) -> io::Result<LineEnd> {
        line.clear();
        loop {
            let bytes = match self.inner.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                self.ended = false;
                return Ok(if line.is_empty() { LineEnd::End } else { LineEnd::Line });
            }
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                self.inner.consume(1);
                self.taken += 1;
                continue;
            }
            let end = bytes.iter().position(|octet| matches!(octet, b'\n' | b'\r'));
            line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.after_return = end.is_some_and(|end| bytes[end] == b'\r');
            self.inner.consume(used);
            self.taken += used as u64;
            self.ended = end.is_some();
            if line.len() > LONGEST {
                return Ok(LineEnd::TooLong);
            }
            if end.is_some() {
                return Ok(LineEnd::Line);
            }
        }
    }
}

/// Gives each line to `each`, with its number from 1 and whether it had an end. `what` says what the file is to be, in the error of a line
/// that is too long.
///
/// # Errors
/// Of the reader; of a line that is too long; of `each`, with the number of its line.
pub(crate) fn each(
    inner: impl BufRead,
    what: &str,
    mut each: impl FnMut(&[u8], u64, bool) -> Result<(), String>,
) -> Result<(), Fault> {
    let mut lines = Lines::new(inner);
    let mut octets = Vec::new();
    for line in 1.. {
        let outcome = match lines.next(&mut octets)? {
            LineEnd::End => break,
            LineEnd::TooLong => Err(format!("the line is longer than {LONGEST} bytes; {what}")),
            LineEnd::Line => each(&octets, line, lines.ended()),
        };
        outcome.map_err(|why| Fault::Line { line, why })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn lines(text: &[u8], buffer: usize) -> Vec<String> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text));
        let (mut line, mut all) = (Vec::new(), Vec::new());
        while lines.next(&mut line).unwrap() == LineEnd::Line {
            all.push(String::from_utf8(line.clone()).unwrap());
        }
        all
    }

    #[test]
    fn a_line_ends_as_any_system_ends_it_wherever_the_buffer_is_cut() {
        for buffer in 1..12 {
            assert_eq!(lines(b"a\nbc\r\nd\re\n\nf", buffer), ["a", "bc", "d", "e", "", "f"], "{buffer}");
        }
        assert!(lines(b"", 4).is_empty());
    }

    /// Errors have the number of their line, and the last line may lack an end.
    #[test]
    fn each_line_has_its_number() {
        let mut seen = Vec::new();
        let mut see = |line: &[u8], number: u64, ended: bool| {
            seen.push((line.to_vec(), number, ended));
            if line == b"c" { Err("a c".to_owned()) } else { Ok(()) }
        };
        assert!(each(&b"a\nb"[..], "cut it", &mut see).is_ok());
        assert!(
            matches!(each(&b"c\nd\n"[..], "cut it", &mut see), Err(Fault::Line { line: 1, why }) if why == "a c")
        );
        let long = [b"a\n".to_vec(), vec![b'7'; LONGEST + 1]].concat();
        let fault = each(&long[..], "cut it", &mut see).unwrap_err();
        assert!(matches!(fault, Fault::Line { line: 2, why } if why.ends_with("bytes; cut it")));
        let expected = [(b"a", 1, true), (b"b", 2, false), (b"c", 1, true), (b"a", 1, true)];
        assert_eq!(seen, expected.map(|(line, number, ended)| (line.to_vec(), number, ended)));
    }

    #[test]
    fn a_line_without_end_is_given_up_before_it_fills_the_memory() {
        let mut lines = Lines::new(BufReader::new(io::repeat(b'7')));
        assert_eq!(lines.next(&mut Vec::new()).unwrap(), LineEnd::TooLong);
    }
}
