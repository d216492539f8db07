//! Reading `.raw` and `.log`.

use std::io::BufRead;

use super::diagnostics::Notes;
use super::entry::Entry;
use super::stream::{Record, Records};
use super::validate::{Validation, Validator, scattered};
use crate::csv::Fault;

/// The most records that are taken into memory, of 32 octets each.
const MOST_RECORDS: usize = 1 << 26;

/// The most lost packets for each that arrived, besides [`ALWAYS`]: a line of a few octets must not make rows without number.
const LOST_PER_RECORD: u64 = 16;
/// So many lost packets are taken in any case.
const ALWAYS: u64 = 65_536;

/// How strict the reading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Take packets that are too small for Qtcp ([`TOO_SMALL`](super::TOO_SMALL)); others than Qtcp write such files too.
    pub any_size: bool,
    /// Where the latency of a line is not its receive stamp minus its send stamp, take the latency, and the receive stamp for wrong.
    pub trust_latency: bool,
}

/// What stood in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileContent {
    /// The packets that arrived, in the order of the file; numbers that wrapped at 2^32 are continued.
    pub entries: Vec<Entry>,
    /// The numbers between the first and the last that did not arrive, ascending.
    pub lost: Vec<u64>,
    /// What a reader should know.
    pub notes: Notes,
}

/// Goes through a whole file, however long, and gives each packet to `each` in the order of the file; numbers that wrapped at
/// 2^32 are continued. What is kept does not grow with the number of packets, but for a bit of each at most.
///
/// # Errors
/// [`Fault`] where it is none, holds no packet, holds two runs, or lacks far more packets than it has; why `each` wants no more, for the
/// line that it was given last.
pub fn examine(
    inner: impl BufRead,
    options: Options,
    mut each: impl FnMut(Entry) -> Result<(), String>,
) -> Result<Validation, Fault> {
    let mut records = Records::new(inner, options);
    let mut examiner = Validator::default();
    while let Some(record) = records.next_record()? {
        let taken = match record {
            Record::Arrived(entry) => {
                each(entry).map_err(|why| records.fault(why))?;
                examiner.take(entry)
            }
            Record::Dummy(sequence) => examiner.take_dummy(sequence),
        };
        taken.map_err(|_| records.fault(scattered()))?;
    }
    examiner.notes.wrapped = records.wrapped();
    (examiner.notes.mismatches, examiner.notes.trusted) = (records.mismatches(), options.trust_latency);
    (examiner.notes.cut, examiner.notes.zeros) = records.dropped();
    let examined = examiner.finish()?;
    let (arrived, lost) = (examined.packets, examined.lost_count());
    if lost > arrived.saturating_mul(LOST_PER_RECORD).saturating_add(ALWAYS) {
        let why = format!(
            "{arrived} packets arrived and {lost} sequence numbers between them are missing, which no run loses; cut the file where the \
             numbers jump"
        );
        return Err(Fault::Line { line: 1, why });
    }
    Ok(examined)
}

/// Reads a whole file into memory. `admit` refuses more packets, arrived and lost, than there may be.
///
/// # Errors
/// [`Fault`] where it is none, holds no packet, holds two runs, or lacks far more packets than it has.
pub fn read(
    inner: impl BufRead,
    options: Options,
    admit: impl FnOnce(u64) -> Result<(), String>,
) -> Result<FileContent, Fault> {
    let mut entries = Vec::new();
    let examined = examine(inner, options, |entry| {
        if entries.len() >= MOST_RECORDS {
            return Err(format!(
                "it has more than {MOST_RECORDS} records, which are not taken into memory at once; cut it in parts (split --lines)"
            ));
        }
        entries.push(entry);
        Ok(())
    })?;
    entries.shrink_to_fit();
    let (arrived, lost) = (entries.len() as u64, examined.lost_count());
    admit(arrived.saturating_add(lost)).map_err(|why| Fault::Line { line: 1, why })?;
    Ok(FileContent { entries, lost: examined.lost().collect(), notes: examined.notes })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "1000:1030:30:64:0\n1100:1190:90:64:1\n1200:1260:60:64:2\n";

    /// Lost packets are rows: a few lines must not make millions of them.
    #[test]
    fn lost_packets_are_bounded() {
        let with = |sequence: u64| format!("{GOOD}2000:2030:30:64:{sequence}\n");
        let most = ALWAYS + 4 * LOST_PER_RECORD;
        let lost = |text: &str| {
            read(text.as_bytes(), Options::default(), |_| Ok(())).map(|file| file.lost.len() as u64)
        };
        assert_eq!(lost(&with(3 + most)).unwrap(), most);
        let beyond = with(4 + most);
        assert!(refusal(beyond.as_bytes()).1.contains("cut the file where the numbers jump"));
        // Also where nothing is taken into memory.
        assert!(examine(beyond.as_bytes(), Options::default(), |_| Ok(())).is_err());
        let refused = read(GOOD.as_bytes(), Options::default(), |packets| Err(format!("no {packets}")));
        assert!(matches!(refused, Err(Fault::Line { why, .. }) if why == "no 3"));
    }

    fn refusal(text: &[u8]) -> (u64, String) {
        match read(text, Options::default(), |_| Ok(())) {
            Err(Fault::Line { line, why }) => (line, why),
            other => panic!("{:?} {other:?}", String::from_utf8_lossy(text)),
        }
    }

    fn found(text: &str) -> FileContent {
        read(text.as_bytes(), Options::default(), |_| Ok(()))
            .unwrap_or_else(|error| panic!("{text:?} {error}"))
    }

    #[test]
    fn what_is_no_record_is_refused_with_its_line() {
        for (tail, part) in [
            ("1300:1330:30:64", "4 fields"),
            ("1300:1330:30:64:3:1", "6 fields"),
            ("1300,1330,30,64,3", "colons"),
            ("1300:x:30:64:3", "\"x\" is not a receive stamp"),
            ("NaN:1330:30:64:3", "not a send stamp"),
            ("1300:1330:1,5:64:3", "not a latency"),
            ("-1:1330:30:64:3", "below zero"),
            ("9223372036854775808:1330:30:64:3", "out of range"),
            ("1300:1330:30:0:3", "size 0"),
            ("1300:1330:30:48:3", "no space for Qtcp's header"),
            ("1300:1330:30:65536:3", "at most 65535"),
            ("1300:1330:30:64:-3", "sequence number"),
            ("received: 3", ".sta file"),
            ("\u{1}\u{2}\u{3}", "not text"),
        ] {
            let (line, why) = refusal(format!("{GOOD}{tail}\n{GOOD}").as_bytes());
            assert!(line == 4 && why.contains(part), "{tail}: line {line}: {why}");
        }
        for (text, part) in [
            ("", "no records"),
            ("0:0:90:64:0\n0:0:90:64:1\n", "no records"),
            ("10:13:3:64:0\n10:14:4:64:1\n", "send stamps are equal"),
            ("10:13:3:64:0\n11:13:2:64:1\n", "receive stamps are equal"),
            ("10:13:3:64:0\n11:15:4:64:0\n12:16:4:64:0\n", "sequence numbers are equal"),
        ] {
            assert!(refusal(text.as_bytes()).1.contains(part), "{text:?}");
        }
        let (line, why) = refusal(format!("{GOOD}500:530:30:64:0\n").as_bytes());
        assert!(line == 4 && why.contains("two runs"), "{why}");
    }

    #[test]
    fn what_can_be_read_is_read_and_what_is_odd_about_it_is_said() {
        let says = |text: &str, part: &str| {
            let found = found(text);
            let written = serde_json::to_string(&found.notes.warnings()).unwrap();
            assert!(written.contains(part), "{part}: {written}");
            found
        };
        assert_eq!(found(GOOD).notes, Notes::default());
        assert_eq!(found(&GOOD.replace('\n', "\r\n")).entries, found(GOOD).entries);
        assert_eq!(found(&format!("\u{feff}{GOOD}")).entries, found(GOOD).entries);
        assert_eq!(found("1000:1030:30:64:0\n").entries.len(), 1);
        assert_eq!(says(&format!("{GOOD}0:0:90:64:3\n"), r#""code":"dummy-entries","entries":1"#).lost, [3]);
        assert_eq!(found(&format!("{GOOD}1500:1530:30:64:5\n")).lost, [3, 4], "a gap is a loss");
        says("1000:1030:31:64:0\n1100:1190:90:64:1\n", r#""code":"latency-mismatch","packets":1"#);
        says("1000:30:-970:64:0\n1100:140:-960:64:1\n", r#""code":"latency-negative","packets":2"#);
        says(&format!("{GOOD}1100:1290:190:64:1\n"), r#""code":"duplicate-lines","lines":1"#);
        says(
            "1000:1030:30:64:0\n1200:1260:60:64:2\n1100:1290:190:64:1\n",
            r#""code":"reordered-lines","packets":1"#,
        );
        says(&format!("{GOOD}500:1330:830:64:3\n"), r#""code":"clock-stepped-back","location":"sender""#);
        says(&format!("{GOOD}1300:730:-570:64:3\n"), r#""code":"clock-stepped-back","location":"responder""#);
        // Packets that overtake others, in a file in order of sending, are no step though there be few before them.
        let mut overtaken = String::new();
        for n in 0..60i64 {
            let (sent, latency) = (10_000 + 100 * n, 500 + n * 4_231 % 997);
            overtaken.push_str(&format!("{sent}:{}:{latency}:64:{n}\n", sent + latency));
        }
        let overtaken = says(&overtaken, r#""code":"reordered-lines""#);
        assert_eq!(overtaken.notes.received_back, None);
        assert_eq!(
            says(&format!("{GOOD}1300:13"), r#""code":"record-truncated","byte":54"#).entries.len(),
            3
        );
        assert_eq!(
            says(&format!("{GOOD}{}", "\0".repeat(70_000)), r#""code":"trailing-zeros","bytes":70000"#)
                .entries
                .len(),
            3
        );
        let cut = says(&format!("{GOOD}1300:1\0\0\0\n\0"), r#""code":"trailing-zeros","bytes":5"#);
        assert_eq!(cut.notes.cut, Some(54));
        let wrapped = says(
            "10:13:3:64:4294967294\n11:15:4:64:4294967295\n12:16:4:64:0\n13:17:4:64:1\n",
            r#""counter_bits":32"#,
        );
        assert!(wrapped.lost.is_empty());
        assert_eq!(wrapped.entries[3].sequence, (1 << 32) + 1);
        let small = read(
            &b"10:13:3:14:0\n11:15:4:14:1\n"[..],
            Options { any_size: true, ..Options::default() },
            |_| Ok(()),
        )
        .unwrap();
        assert_eq!(small.entries.len(), 2);
    }

    proptest! {
        #[test]
        fn any_octets_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes[..], Options::default(), |_| Ok(()));
            let _ = read(&[GOOD.as_bytes(), &bytes].concat()[..], Options::default(), |_| Ok(()));
        }

        #[test]
        fn lines_of_numbers_are_read_or_refused(text in "([0-9]{1,12}:){4}[0-9]{1,12}(\n([0-9]{1,4}:){4}[0-9]{1,3}){0,9}") {
            let _ = read(text.as_bytes(), Options { any_size: true, ..Options::default() }, |_| Ok(()));
        }
    }
}
