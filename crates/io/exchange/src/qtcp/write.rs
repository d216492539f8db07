//! Writing the lines of `.raw` and `.log`.

use std::io::{self, Write};

use super::Entry;

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
    let wanted = |sequence: &u64| sequence.is_multiple_of(selection.every.max(1));
    let most = entries.iter().map(Entry::latency).max().unwrap_or(0);
    let size = entries.first().map_or(0, |entry| entry.size);
    let missing = if selection.dummies { lost } else { &[] };
    let mut missing = missing.iter().copied().filter(wanted).peekable();
    let mut lines = 0;
    let dummy = |out: &mut _, sequence| -> io::Result<()> { line(out, [0, 0, most], size, sequence) };
    for entry in entries {
        while let Some(sequence) = missing.next_if(|sequence| *sequence < entry.sequence) {
            dummy(out, sequence)?;
            lines += 1;
        }
        if wanted(&entry.sequence) {
            line(out, [entry.sent, entry.received, entry.latency()], entry.size, entry.sequence)?;
            lines += 1;
        }
    }
    for sequence in missing {
        dummy(out, sequence)?;
        lines += 1;
    }
    Ok(lines)
}

fn line(
    out: &mut (impl Write + ?Sized),
    [sent, received, latency]: [i64; 3],
    size: u32,
    sequence: u64,
) -> io::Result<()> {
    writeln!(out, "{sent}:{received}:{latency}:{size}:{sequence}")
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
    fn what_is_written_reads_back_with_its_losses() {
        let written = text(&[2, 5], Selection { dummies: true, every: 1 });
        let found = read(written.as_bytes(), Options::default()).unwrap();
        assert_eq!(found.entries, entries());
        assert_eq!(found.lost, [2, 5]);
    }
}
