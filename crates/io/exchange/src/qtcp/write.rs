//! Writing the lines of `.raw` and `.log`.

use std::io::{self, Write};
use std::iter::Peekable;

use super::entry::Entry;
use super::spread::Spread;

/// Which lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// A dummy entry stands for each packet that is missing between the first number and the last (option `-d`): times
    /// of 0, and the greatest latency of the run.
    pub dummies: bool,
    /// Only packets whose number this divides (option `-q`); at least 1, which is all of them.
    pub every: u64,
}

impl Default for Selection {
    fn default() -> Self {
        Self { dummies: false, every: 1 }
    }
}

/// Writes a line for each of `entries`, in their order, and where they are asked for dummies for `lost` (ascending): each
/// before the first entry with a higher number. Gives the number of lines.
///
/// # Errors
/// Of `out`.
pub fn write(
    out: &mut (impl Write + ?Sized),
    entries: &[Entry],
    lost: &[u64],
    selection: Selection,
) -> io::Result<u64> {
    let mut lines = Lines::new(out, &Spread::from_entries(entries), lost.iter().copied(), selection);
    for entry in entries {
        lines.write(entry)?;
    }
    lines.finish()
}

/// Writes the same one packet at a time.
#[derive(Debug)]
pub struct Lines<'a, W: ?Sized, L: Iterator<Item = u64>> {
    out: &'a mut W,
    missing: Peekable<L>,
    selection: Selection,
    /// What a dummy has besides its number.
    latency: i64,
    size: u32,
    lines: u64,
}

impl<'a, W: Write + ?Sized, L: Iterator<Item = u64>> Lines<'a, W, L> {
    /// For the packets of a run of this `spread`, of which those that are `lost` (ascending) are missing.
    pub fn new(out: &'a mut W, spread: &Spread, lost: L, selection: Selection) -> Self {
        let latency = if spread.count > 0 { spread.latency[1] } else { 0 };
        Self { out, missing: lost.peekable(), selection, latency, size: spread.first_size, lines: 0 }
    }

    fn wants(&self, sequence: u64) -> bool {
        sequence.is_multiple_of(self.selection.every.max(1))
    }

    fn dummy(&mut self, sequence: u64) -> io::Result<()> {
        if !self.wants(sequence) {
            return Ok(());
        }
        self.lines += 1;
        line(self.out, [0, 0, self.latency], self.size, sequence)
    }

    /// Writes a packet, and the dummies before it.
    ///
    /// # Errors
    /// Of the output.
    pub fn write(&mut self, entry: &Entry) -> io::Result<()> {
        if self.selection.dummies {
            while let Some(sequence) = self.missing.next_if(|sequence| *sequence < entry.sequence) {
                self.dummy(sequence)?;
            }
        }
        if !self.wants(entry.sequence) {
            return Ok(());
        }
        self.lines += 1;
        line(self.out, [entry.sent, entry.received, entry.latency()], entry.size, entry.sequence)
    }

    /// Writes the dummies after the last packet. Gives how many lines were written.
    ///
    /// # Errors
    /// Of the output.
    pub fn finish(mut self) -> io::Result<u64> {
        if self.selection.dummies {
            while let Some(sequence) = self.missing.next() {
                self.dummy(sequence)?;
            }
        }
        Ok(self.lines)
    }
}

/// The most octets of a line: five numbers of 64 bits, four colons and the end.
const LONGEST_LINE: usize = 5 * 20 + 5;

/// Writes a line. It is put together from its end, which is far sooner done than by the formatter.
fn line(
    out: &mut (impl Write + ?Sized),
    [sent, received, latency]: [i64; 3],
    size: u32,
    sequence: u64,
) -> io::Result<()> {
    let mut octets = [b'\n'; LONGEST_LINE];
    let mut begin = LONGEST_LINE - 1;
    let numbers = [
        (sequence, false),
        (u64::from(size), false),
        (latency.unsigned_abs(), latency < 0),
        (received.unsigned_abs(), received < 0),
        (sent.unsigned_abs(), sent < 0),
    ];
    for (place, (mut number, negative)) in numbers.into_iter().enumerate() {
        let mut put = |octet| {
            begin -= 1;
            octets[begin] = octet;
        };
        if place > 0 {
            put(b':');
        }
        loop {
            put(b'0' + (number % 10) as u8);
            number /= 10;
            if number == 0 {
                break;
            }
        }
        if negative {
            put(b'-');
        }
    }
    out.write_all(&octets[begin..])
}

#[cfg(test)]
mod tests {
    use super::super::{Options, read};
    use super::*;

    fn entries() -> Vec<Entry> {
        let entry = |sequence: u64, latency: i64| {
            let sent = i64::try_from(sequence).unwrap() * 100;
            Entry { sent, received: sent + latency, size: 64, sequence }
        };
        vec![entry(0, 0), entry(1, 90), entry(4, 5), entry(3, 7), entry(6, 1)]
    }

    fn text(lost: &[u64], selection: Selection) -> String {
        let mut out = Vec::new();
        write(&mut out, &entries(), lost, selection).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_is_five_numbers_and_a_lost_packet_is_none_or_a_dummy_with_the_greatest_latency() {
        assert_eq!(
            text(&[2, 5], Selection::default()),
            "0:0:0:64:0\n100:190:90:64:1\n400:405:5:64:4\n300:307:7:64:3\n600:601:1:64:6\n"
        );
        assert_eq!(
            text(&[2, 5], Selection { dummies: true, every: 1 }),
            "0:0:0:64:0\n100:190:90:64:1\n0:0:90:64:2\n400:405:5:64:4\n300:307:7:64:3\n0:0:90:64:5\n600:601:1:64:6\n"
        );
        assert_eq!(
            text(&[2, 5], Selection { dummies: true, every: 2 }),
            "0:0:0:64:0\n0:0:90:64:2\n400:405:5:64:4\n600:601:1:64:6\n"
        );
    }

    #[test]
    fn numbers_of_any_length_are_written_whole() {
        for (stamps, size, sequence) in [
            ([0, 0, 0], 0, 0),
            ([-1, 10, -9], 65_535, 999),
            ([i64::MIN, i64::MAX, i64::MIN], u32::MAX, u64::MAX),
        ] {
            let mut out = Vec::new();
            line(&mut out, stamps, size, sequence).unwrap();
            let [sent, received, latency] = stamps;
            assert_eq!(
                String::from_utf8(out).unwrap(),
                format!("{sent}:{received}:{latency}:{size}:{sequence}\n")
            );
        }
    }

    #[test]
    fn what_is_written_reads_back_with_its_losses() {
        let written = text(&[2, 5], Selection { dummies: true, every: 1 });
        let found = read(written.as_bytes(), Options::default(), |_| Ok(())).unwrap();
        assert_eq!(found.entries, entries());
        assert_eq!(found.lost, [2, 5]);
    }
}
