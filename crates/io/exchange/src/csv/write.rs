//! Writing the table.

use std::io::{self, Write};

use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, TimestampPoint};

use super::row::Shape;

/// From which place each of the four stamps is taken; `None` for what the reflected packet tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// Left the sender.
    pub t1: Option<TimestampPoint>,
    /// Arrived at the responder.
    pub t2: Option<TimestampPoint>,
    /// Left the responder.
    pub t3: Option<TimestampPoint>,
    /// Came back to the sender.
    pub t4: Option<TimestampPoint>,
}

/// How many packets were written, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenCounts {
    /// Lines, the header not counted.
    pub lines: u64,
    /// Packets that did not arrive: a field is empty.
    pub lost: u64,
    /// Packets that came after the waiting time, and count as lost.
    pub late: u64,
    /// Further copies: lines whose sequence number was there before.
    pub duplicates: u64,
    /// Packets that are not written, because they did not arrive and were not lost (`in-flight` and `unknown`), and no column says so.
    pub left_out: u64,
    /// Packets that the path carried to a host that did not read them: written with a column that says so, and else left out.
    pub unread: u64,
}

impl WrittenCounts {
    fn count(&mut self, fate: &str) {
        self.lines += 1;
        match fate {
            "late" => self.late += 1,
            "duplicate" => self.duplicates += 1,
            lost if lost.starts_with("lost") => self.lost += 1,
            _ => {}
        }
    }
}

/// Writes the round trips of one stream, a line for each. Probes that the host itself refused to send are left out: a
/// line for one would be taken for a loss. `fate` says in a word what became of a row: `arrived`, `late`, `duplicate`,
/// or `lost` and more; with `name_fates` it is a column. Without, what is `in-flight`, `unknown` or `instrument-drop` (and more) and did not arrive
/// is left out as well.
///
/// # Errors
/// Of `out`.
pub fn round_trips<'a>(
    out: &mut (impl Write + ?Sized),
    rows: impl IntoIterator<Item = &'a RoundTrip>,
    places: Places,
    name_fates: bool,
    fate: impl FnMut(&RoundTrip) -> &'static str,
) -> io::Result<WrittenCounts> {
    let user = Some(TimestampPoint::User);
    let stamps = |row: &RoundTrip| {
        [
            nanos(&row.t1, places.t1),
            nanos(&row.t2, places.t2),
            nanos(&row.t3, places.t3),
            nanos(&row.t4, places.t4),
            nanos(&row.t1, user),
            nanos(&row.t2, user),
            nanos(&row.t3, user),
            nanos(&row.t4, user),
        ]
    };
    table(out, Shape::FourStamps, rows, stamps, name_fates, fate)
}

/// Writes packets that went one way: there (t1, t2), or with `back` from the far end (t3, t4). Everything else is as
/// in [`round_trips`].
///
/// # Errors
/// Of `out`.
pub fn one_way<'a>(
    out: &mut (impl Write + ?Sized),
    rows: impl IntoIterator<Item = &'a RoundTrip>,
    places: Places,
    back: bool,
    name_fates: bool,
    fate: impl FnMut(&RoundTrip) -> &'static str,
) -> io::Result<WrittenCounts> {
    let user = Some(TimestampPoint::User);
    let stamps = |row: &RoundTrip| {
        if back {
            [nanos(&row.t3, places.t3), nanos(&row.t4, places.t4), nanos(&row.t3, user), nanos(&row.t4, user)]
        } else {
            [nanos(&row.t1, places.t1), nanos(&row.t2, places.t2), nanos(&row.t1, user), nanos(&row.t2, user)]
        }
    };
    table(out, Shape::OneWay, rows, stamps, name_fates, fate)
}

fn table<'a, const N: usize>(
    out: &mut (impl Write + ?Sized),
    shape: Shape,
    rows: impl IntoIterator<Item = &'a RoundTrip>,
    stamps: impl Fn(&RoundTrip) -> [Option<i64>; N],
    name_fates: bool,
    mut fate: impl FnMut(&RoundTrip) -> &'static str,
) -> io::Result<WrittenCounts> {
    writeln!(out, "{}{}", shape.whole_header(), if name_fates { ",fate" } else { "" })?;
    let mut written = WrittenCounts::default();
    for row in rows.into_iter().filter(|row| !row.not_sent) {
        let fate = fate(row);
        let is_unread = fate.starts_with("instrument-drop");
        written.unread += u64::from(is_unread);
        if !name_fates && (is_unread || ["in-flight", "unknown"].contains(&fate)) {
            written.left_out += u64::from(!is_unread);
            continue;
        }
        write!(out, "{},{}", row.sequence, row.size)?;
        for stamp in stamps(row) {
            match stamp {
                Some(stamp) => write!(out, ",{stamp}")?,
                None => out.write_all(b",")?,
            }
        }
        written.count(fate);
        if name_fates {
            write!(out, ",{fate}")?;
        }
        out.write_all(b"\n")?;
    }
    Ok(written)
}

fn nanos<C: Clock>(stamps: &Stamps<C>, place: Option<TimestampPoint>) -> Option<i64> {
    stamps.at(place).map(|stamp| stamp.as_nanos())
}

#[cfg(test)]
mod tests {
    use romer_units::Timestamp;

    use super::super::{Reader, Unread};
    use super::*;

    fn rows() -> [RoundTrip; 4] {
        let mut back = RoundTrip { sequence: 0, size: 44, returned: true, ..RoundTrip::default() };
        back.t1.kernel = Some(Timestamp::from_nanos(100));
        back.t1.user = Some(Timestamp::from_nanos(90));
        back.t2.told = Some(Timestamp::from_nanos(-5));
        back.t3.told = Some(Timestamp::from_nanos(7));
        back.t4.kernel = Some(Timestamp::from_nanos(300));
        let mut lost = RoundTrip { sequence: 1, size: 44, ..RoundTrip::default() };
        lost.t1.kernel = Some(Timestamp::from_nanos(1_100));
        let refused = RoundTrip { sequence: 2, not_sent: true, ..RoundTrip::default() };
        [back, RoundTrip { copy: 1, ..back }, lost, refused]
    }

    fn fate(row: &RoundTrip) -> &'static str {
        match (row.returned, row.copy) {
            (true, 0) => "arrived",
            (true, _) => "duplicate",
            (false, _) => "lost",
        }
    }

    const KERNEL: Option<TimestampPoint> = Some(TimestampPoint::Kernel);

    #[test]
    fn a_loss_is_an_empty_field_and_a_duplicate_repeats_its_number() {
        let mut out = Vec::new();
        let places = Places { t1: KERNEL, t2: None, t3: None, t4: KERNEL };
        let written = round_trips(&mut out, &rows(), places, false, fate).unwrap();
        let head = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns,user_t1_ns,user_t2_ns,user_t3_ns,user_t4_ns";
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("{head}\n0,44,100,-5,7,300,90,,,\n0,44,100,-5,7,300,90,,,\n1,44,1100,,,,,,,\n")
        );
        assert_eq!(written, WrittenCounts { lines: 3, lost: 1, duplicates: 1, ..WrittenCounts::default() });
    }

    #[test]
    fn in_flight_is_no_loss_to_readers() {
        let places = Places { t1: KERNEL, t2: None, t3: None, t4: KERNEL };
        for fate in ["in-flight", "unknown"] {
            let fate = |row: &RoundTrip| if row.returned { "arrived" } else { fate };
            for (name_fates, written_so, read_so) in [(true, (3, 0), 1), (false, (2, 1), 0)] {
                for ended in [true, false] {
                    let mut out = Vec::new();
                    let written = round_trips(&mut out, &rows(), places, name_fates, fate).unwrap();
                    assert_eq!(
                        (written.lines, written.left_out, written.lost),
                        (written_so.0, written_so.1, 0)
                    );
                    out.truncate(out.len() - usize::from(!ended));
                    let mut reader = Reader::new(out.as_slice()).unwrap();
                    let read: Vec<_> = reader.by_ref().map(|row| row.unwrap().sequence).collect();
                    assert_eq!((read, reader.no_losses()), (vec![0, 0], read_so));
                }
            }
        }
    }

    #[test]
    fn what_nobody_read_is_named_and_is_told_to_who_reads_it_or_left_out() {
        let places = Places { t1: KERNEL, t2: None, t3: None, t4: KERNEL };
        for (word, told) in [("instrument-drop-forward", [1, 0]), ("instrument-drop-reverse", [0, 1])] {
            let fate = |row: &RoundTrip| if row.returned { "arrived" } else { word };
            for name_fates in [true, false] {
                let mut out = Vec::new();
                let written = round_trips(&mut out, &rows(), places, name_fates, fate).unwrap();
                let lines = if name_fates { 3 } else { 2 };
                assert_eq!(written, WrittenCounts { lines, unread: 1, ..WrittenCounts::default() });
                let mut reader = Reader::new(out.as_slice()).unwrap();
                assert_eq!(reader.by_ref().count(), usize::from(name_fates) + 2);
                // Two copies of the first packet come before it.
                let numbers = |count: usize| vec![2; if name_fates { count } else { 0 }];
                let unread = Unread { there: numbers(told[0]), back: numbers(told[1]) };
                assert_eq!((reader.unread(), reader.no_losses()), (&unread, 0));
            }
        }
    }

    #[test]
    fn what_is_written_reads_back_with_its_fates_or_without() {
        let places = Places { t1: KERNEL, t2: None, t3: None, t4: KERNEL };
        for back in [false, true] {
            let mut out = Vec::new();
            one_way(&mut out, &rows(), places, back, true, fate).unwrap();
            let read: Vec<_> = Reader::new(out.as_slice()).unwrap().collect::<Result<_, _>>().unwrap();
            let stamps: Vec<_> =
                read.iter().map(|row| (row.sequence, row.stamps[0], row.stamps[1])).collect();
            let first = if back { (0, Some(7), Some(300)) } else { (0, Some(100), Some(-5)) };
            let lost = if back { None } else { Some(1_100) };
            assert_eq!(stamps, [first, first, (1, lost, None)]);
        }
    }
}
