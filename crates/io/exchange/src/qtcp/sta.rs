//! `.sta`: the counts of a run, and the tables that are made from many of them.

use romer_record::warning::MeasurementWarning;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use romer_store::untrusted;

use super::{Entry, Spread, UNIT_NS};

/// The version that our files say of themselves.
pub const FORMAT: &str = "romer-sta/1";
/// The key of the version.
const FORMAT_KEY: &str = "format";
/// The key of the run's name.
const RUN_KEY: &str = "run";
/// The key of how many packets arrived.
const RECEIVED_KEY: &str = "received";
/// The key of how many further copies did.
const DUPLICATED_KEY: &str = "duplicated";
/// The key of a lost packet's number.
const LOST_KEY: &str = "lost sequence";
/// The key of the number of a packet that the path carried and nobody read.
const INSTRUMENT_DROP_KEY: &str = "instrument drop sequence";
/// The most octets of a file of ours that is read beside a `.raw`: millions of lost packets. Of more, a part would make the others none.
const LARGEST: u64 = 64 << 20;
/// The most keys of a file, and of a table: there are some forty.
const MOST_KEYS: usize = 1_000;
/// The longest key and the longest value that a table takes.
const MAX_TEXT_OCTETS: usize = 200;

/// Whether the `.sta` beside a `.raw` or `.log` (also compressed, `.raw.gz`) says that romer wrote both, of packets of any size.
pub fn is_ours(raw: &Path) -> bool {
    let mut head = [0; OURS.len()];
    let file = untrusted::open(&sta_path(raw));
    file.is_ok_and(|mut file| file.read_exact(&mut head).is_ok()) && head == *OURS.as_bytes()
}

/// The name of the `.sta` beside a `.raw` or `.log`.
fn sta_path(raw: &Path) -> PathBuf {
    let is_packed = raw.extension().is_some_and(|ending| ending == "gz");
    let bare = if is_packed { raw.with_extension("") } else { raw.to_path_buf() };
    bare.with_extension("sta")
}

/// What stands in the `.sta` beside a `.raw` or `.log`, if there is one that can be read and is not larger than 64 MiB. Nobody
/// named it, so that no link is followed.
fn text_beside(raw: &Path) -> Option<String> {
    untrusted::read_text(&sta_path(raw), LARGEST).ok()
}

/// What a `.sta` of ours tells of the numbers that are missing in the `.raw` beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Lost by the path, ascending.
    pub lost: Vec<u64>,
    /// Carried by the path to a host that did not read them, ascending.
    pub unread: Vec<u64>,
}

impl Missing {
    /// What is told beside `raw`, a `.raw` or `.log` of `lines` packets, copies counted; `None` where there is no `.sta` of
    /// ours, it is of another number of packets, or larger than 64 MiB.
    pub fn beside(raw: &Path, lines: u64) -> Option<Self> {
        Self::parse(&text_beside(raw)?, lines)
    }

    /// What the `text` of a `.sta` tells of a file of `lines` packets.
    fn parse(text: &str, lines: u64) -> Option<Self> {
        let text = text.strip_prefix(OURS)?;
        let mut missing = Self::default();
        let mut packets = 0_u64;
        for (key, value) in text.lines().skip(1).filter_map(|line| line.split_once(": ")) {
            match key {
                LOST_KEY => missing.lost.push(value.parse().ok()?),
                INSTRUMENT_DROP_KEY => missing.unread.push(value.parse().ok()?),
                RECEIVED_KEY | DUPLICATED_KEY => packets = packets.checked_add(value.parse().ok()?)?,
                _ => {}
            }
        }
        missing.lost.sort_unstable();
        missing.unread.sort_unstable();
        (packets == lines).then_some(missing)
    }
}

/// What our files begin with, of any version.
const OURS: &str = "format: romer-sta/";

/// What a `.sta` file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The run's name, which no other file of a folder has.
    pub run: String,
    /// Packets that arrived.
    pub received: u64,
    /// The numbers of those that the path lost.
    pub lost: Vec<u64>,
    /// The numbers of those that the path carried to a host that did not read them.
    pub unread: Vec<u64>,
    /// Further numbers that are missing: such packets did not leave, were in flight, or it is not known whether they arrived.
    pub left_out: u64,
    /// Further copies.
    pub duplicated: u64,
    /// The packets of a direction that were sent first, for calibration; all other counts include them.
    pub calibration: Option<u64>,
    /// Octets of a packet; where sizes vary, the mean.
    pub size: u32,
    /// Payload that was sent, octets a second.
    pub rate: Option<f64>,
    /// The class of service: its name, or that of the code point.
    pub service: String,
    /// Further keys of what was requested, with their values.
    pub settings: Vec<(&'static str, String)>,
    /// From the first departure to the last, seconds.
    pub duration: f64,
    /// How much faster the receiver's clock runs, parts in a million, as it was taken out of the log.
    pub skew_ppm: Option<f64>,
}

impl Statistics {
    /// The file's text: the delays are those of `log`, normalised and without skew, in microseconds. With calibration packets, the
    /// counts and delays of the measured phase follow those of both phases.
    pub fn text(&self, log: &[Entry]) -> String {
        let mut text = String::new();
        let mut line = |key: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(text, "{key}: {value}");
        };
        line(FORMAT_KEY, &FORMAT);
        line(RUN_KEY, &self.run);
        line(RECEIVED_KEY, &self.received);
        line("lost", &self.lost.len());
        line(DUPLICATED_KEY, &self.duplicated);
        for (key, count) in [("instrument drops", self.unread.len() as u64), ("left out", self.left_out)] {
            if count > 0 {
                line(key, &count);
            }
        }
        if let Some(packets) = self.calibration {
            line("calibration packets", &packets);
        }
        line("size", &self.size);
        if let Some(rate) = self.rate {
            line("rate", &format!("{rate:.1}"));
        }
        line("service", &self.service);
        for (key, value) in &self.settings {
            line(key, value);
        }
        line("duration", &format!("{:.6}", self.duration));
        if let Some(skew) = self.skew_ppm {
            line("skew ppm", &format!("{skew:.4}"));
        }
        for (name, value) in delays(log) {
            line(name, &format!("{value:.1}"));
        }
        if let Some(calibration) = self.calibration {
            let measured: Vec<Entry> =
                log.iter().filter(|entry| entry.sequence >= calibration).copied().collect();
            let numbers: BTreeSet<u64> = measured.iter().map(|entry| entry.sequence).collect();
            line("measured received", &numbers.len());
            line("measured lost", &self.lost.iter().filter(|lost| **lost >= calibration).count());
            for (name, value) in delays(&measured) {
                line(&format!("measured {name}"), &format!("{value:.1}"));
            }
        }
        for (key, numbers) in [(LOST_KEY, &self.lost), (INSTRUMENT_DROP_KEY, &self.unread)] {
            for sequence in numbers {
                line(key, sequence);
            }
        }
        text
    }
}

/// The figures of the delays above the least one, microseconds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "latencies of a run are far below 2^53 units, and the index lies within the slice"
)]
fn delays(log: &[Entry]) -> Vec<(&'static str, f64)> {
    let mut sorted: Vec<f64> = log.iter().map(|entry| entry.latency() as f64 / 10.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return Vec::new() };
    let at = |quantile: f64| {
        let place = quantile * last as f64;
        let (low, part) = (place.floor() as usize, place.fract());
        let high = sorted[(low + 1).min(last)];
        sorted[low] + (high - sorted[low]) * part
    };
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let mut figures = vec![
        ("delay min us", sorted[0]),
        ("delay mean us", mean),
        ("delay median us", at(0.5)),
        ("delay p95 us", at(0.95)),
        ("delay p99 us", at(0.99)),
        ("delay max us", sorted[last]),
    ];
    if last > 0 {
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        figures.push(("delay stddev us", (squares / last as f64).sqrt()));
    }
    figures
}

/// A `.sta` file as it was read: its name, and its keys with their values in the file's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Keys and values; the numbers of packets that are missing are left out.
    pub values: Vec<(String, String)>,
}

impl File {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Why it is none, and the line, as `WHY; what to do`.
    pub fn read(name: &str, text: &str) -> Result<Self, (u64, String)> {
        let mut values: Vec<(String, String)> = Vec::new();
        let mut keys = BTreeSet::new();
        let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines();
        for (line, number) in lines.zip(1..) {
            let fault = |why: &str| Err((number, why.to_owned()));
            if line.trim().is_empty() {
                continue;
            }
            let Some((key, value)) = line.split_once(':') else {
                return fault("it is not `key: value`; is it a .sta file?");
            };
            let (key, value) = (key.trim(), value.trim());
            if key.is_empty() || key.bytes().all(|octet| octet.is_ascii_digit()) {
                return fault("it has no key before the colon; is it a .sta file?");
            }
            if key.len() > MAX_TEXT_OCTETS || value.len() > MAX_TEXT_OCTETS {
                return fault("it is longer than a .sta file's lines are; is it one?");
            }
            if [LOST_KEY, INSTRUMENT_DROP_KEY].contains(&key) {
                continue;
            }
            if !keys.insert(key) {
                return fault("its key is there twice; take one out");
            }
            if keys.len() > MOST_KEYS {
                return fault("it has more keys than any .sta file; take it out");
            }
            values.push((key.into(), value.into()));
        }
        if values.is_empty() {
            Err((1, "it is empty; take it out".into()))
        } else {
            Ok(Self { name: name.into(), values })
        }
    }

    /// The one beside `raw`, a `.raw` or `.log`, whoever wrote it; `None` where there is none that can be read.
    pub fn beside(raw: &Path) -> Option<Self> {
        Self::read(&sta_path(raw).to_string_lossy(), &text_beside(raw)?).ok()
    }

    /// The value of `key`.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.values.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// Units that stamps are given in by mistake, nanoseconds.
const UNITS: [i64; 5] = [1, 10, 1_000, 10_000, 1_000_000];

/// What the `.sta` file beside a `.raw` one says of the unit of its stamps.
#[derive(Clone, Debug, PartialEq)]
pub enum TimeUnit {
    /// Nothing: it tells neither how long the run took nor its rate.
    Untold,
    /// That it is 100 ns, or at least none of those that are given by mistake.
    Plain,
    /// That it is another, and the warning of it.
    Other(MeasurementWarning),
}

/// What `file` says of the unit of the stamps of a run of this `spread`: it tells the duration of the run, or its rate, and where they
/// give one that is greater or less by the factor of another unit, the stamps are in that.
#[expect(clippy::cast_precision_loss, reason = "stamps of a run are far below 2^53 units, and packets fewer")]
pub fn unit_of(file: &File, spread: &Spread) -> TimeUnit {
    let number = |key: &str| file.value(key)?.parse::<f64>().ok().filter(|value| *value > 0.0);
    let stated = number("duration").or_else(|| Some(spread.later_octets as f64 / number("rate")?));
    // Of a file that was cut it says nothing.
    let is_whole =
        number("received").is_none_or(|received| (spread.count as f64 / received - 1.0).abs() < 0.1);
    let Some(stated) = stated.filter(|_| spread.count > 0 && is_whole) else { return TimeUnit::Untold };
    let [first, last] = spread.sent;
    let found = (last - first) as f64 * UNIT_NS as f64 * 1e-9;
    let times = |unit: &i64| *unit as f64 / UNIT_NS as f64;
    let Some(unit) = UNITS.into_iter().find(|unit| (stated / found / times(unit) - 1.0).abs() < 0.1) else {
        return TimeUnit::Plain;
    };
    TimeUnit::Other(MeasurementWarning::TimeUnitMismatch { unit_ns: unit, span_s: found, stated_s: stated })
}

/// A table of many files: a row a file, a column for each variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableTable {
    /// The columns: `file`, then the keys as they were met.
    pub columns: Vec<String>,
    /// A row for each file; an empty cell where it does not have the key.
    pub rows: Vec<Vec<String>>,
}

impl VariableTable {
    /// Collates `files`.
    ///
    /// # Errors
    /// Why they do not go together, as `WHY; what to do`: files of two formats, or two of one run.
    pub fn from_files(files: &[File]) -> Result<Self, String> {
        let formats: BTreeSet<Option<&str>> = files.iter().map(|file| file.value(FORMAT_KEY)).collect();
        if formats.len() > 1 {
            let named: Vec<String> = files
                .iter()
                .map(|file| format!("{} ({})", file.name, file.value(FORMAT_KEY).unwrap_or("no format")))
                .collect();
            return Err(format!(
                "the files are of different formats: {}; collate each format separately",
                some(&named)
            ));
        }
        let mut runs: BTreeMap<&str, &str> = BTreeMap::new();
        for file in files {
            let Some(run) = file.value(RUN_KEY) else { continue };
            if let Some(other) = runs.insert(run, &file.name) {
                return Err(format!("{other} and {} are of the same run ({run}); take one out", file.name));
            }
        }
        let mut columns = vec!["file".to_owned()];
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (key, _) in files.iter().flat_map(|file| &file.values).filter(|(key, _)| key != FORMAT_KEY) {
            if !places.contains_key(key.as_str()) {
                places.insert(key, columns.len());
                columns.push(key.clone());
            }
        }
        if columns.len() > MOST_KEYS {
            return Err(format!("the files have more than {MOST_KEYS} keys in all; collate them in parts"));
        }
        let row = |file: &File| -> Vec<String> {
            let mut cells = vec![String::new(); columns.len()];
            cells[0].clone_from(&file.name);
            for (key, value) in &file.values {
                if let Some(place) = places.get(key.as_str()) {
                    cells[*place].clone_from(value);
                }
            }
            cells
        };
        let rows = files.iter().map(row).collect();
        Ok(Self { columns, rows })
    }

    /// The table in CSV, with its header line.
    pub fn csv(&self) -> String {
        let mut writer = ::csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        let written = std::iter::once(&self.columns).chain(&self.rows).try_for_each(|cells| {
            writer.write_record(cells.iter().map(|cell| escape_formula(cell).into_owned()))
        });
        // Memory takes all that is written to it.
        let text = written.ok().and_then(|()| writer.into_inner().ok());
        text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default()
    }

    /// The table in columns that are set under each other; numbers to the right.
    pub fn text(&self) -> String {
        let number = |cell: &str| cell.parse::<f64>().is_ok();
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|place| {
                let cells = std::iter::once(&self.columns).chain(&self.rows);
                cells.filter_map(|row| row.get(place)).map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let right: Vec<bool> = (0..self.columns.len())
            .map(|place| {
                let mut cells = self
                    .rows
                    .iter()
                    .filter_map(|row| row.get(place))
                    .filter(|cell| !cell.is_empty())
                    .peekable();
                cells.peek().is_some() && cells.all(|cell| number(cell))
            })
            .collect();
        let mut text = String::new();
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, width), right) in row.iter().zip(&widths).zip(&right) {
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                let _ = if *right { write!(line, "{pad}{cell}  ") } else { write!(line, "{cell}{pad}  ") };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// The first of many.
fn some(named: &[String]) -> String {
    let more = named.len().saturating_sub(6);
    let first = named.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// A cell of CSV. One that a spreadsheet would take for a formula is kept from being one.
fn escape_formula(cell: &str) -> Cow<'_, str> {
    let formula =
        cell.starts_with(['=', '+', '@']) || (cell.starts_with('-') && cell.parse::<f64>().is_err());
    if formula { format!("'{cell}").into() } else { cell.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> File {
        File::read(name, text).unwrap()
    }

    /// A `.raw` is romer's if the `.sta` next to it says so.
    #[test]
    fn sta_identifies_our_raw() {
        let folder = tempfile::tempdir().unwrap();
        let name = |name: &str| folder.path().join(name);
        std::fs::write(name("a.sta"), Statistics::default().text(&[])).unwrap();
        std::fs::write(name("b.sta"), "received: 3\nformat: romer-sta/1\n").unwrap();
        std::fs::write(name("c.sta"), "format").unwrap();
        let ours = ["a.raw", "a.log", "a.raw.gz", "b.raw", "c.raw", "d.raw"].map(|raw| is_ours(&name(raw)));
        assert_eq!(ours, [true, true, true, false, false, false]);
        // Links are not followed, and pipes are not waited for.
        std::os::unix::fs::symlink(name("a.sta"), name("e.sta")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(name("f.sta")).status().unwrap().success());
        for raw in ["e.raw", "f.raw"].map(name) {
            assert!(!is_ours(&raw) && File::beside(&raw).is_none(), "{}", raw.display());
        }
    }

    #[test]
    fn what_is_written_names_every_lost_packet_and_reads_back() {
        let statistics = Statistics {
            run: "a run".into(),
            received: 3,
            lost: vec![2, 7],
            size: 64,
            rate: Some(3_000.0),
            service: "EF".into(),
            duration: 1.5,
            skew_ppm: Some(-12.25),
            ..Statistics::default()
        };
        let entry = |latency| Entry { sent: 0, received: latency, size: 64, sequence: 0 };
        let text = statistics.text(&[entry(0), entry(50), entry(30)]);
        assert!(text.ends_with("lost sequence: 2\nlost sequence: 7\n"), "{text}");
        let read = file("a.sta", &text);
        for (key, value) in [
            ("run", "a run"),
            ("received", "3"),
            ("lost", "2"),
            ("rate", "3000.0"),
            ("service", "EF"),
            ("delay max us", "5.0"),
            ("delay median us", "3.0"),
            ("skew ppm", "-12.2500"),
        ] {
            assert_eq!(read.value(key), Some(value), "{key}");
        }
    }

    /// With calibration packets the figures of the measured phase are there beside those of both.
    #[test]
    fn measured_phase_has_its_figures() {
        let statistics =
            Statistics { received: 3, lost: vec![1, 4], calibration: Some(2), ..Statistics::default() };
        let entry = |sequence, latency| Entry { sent: 0, received: latency, size: 64, sequence };
        let read = file("a.sta", &statistics.text(&[entry(0, 0), entry(2, 50), entry(3, 30), entry(3, 40)]));
        for (key, value) in [
            ("calibration packets", "2"),
            ("received", "3"),
            ("delay min us", "0.0"),
            ("measured received", "2"),
            ("measured lost", "1"),
            ("measured delay min us", "3.0"),
            ("measured delay max us", "5.0"),
        ] {
            assert_eq!(read.value(key), Some(value), "{key}");
        }
    }

    #[test]
    fn a_sta_tells_which_of_the_missing_numbers_are_losses() {
        let statistics = Statistics {
            received: 3,
            duplicated: 1,
            lost: vec![2, 7],
            unread: vec![4],
            left_out: 5,
            ..Statistics::default()
        };
        let text = statistics.text(&[]);
        assert!(text.contains("lost: 2\nduplicated: 1\ninstrument drops: 1\nleft out: 5\n"), "{text}");
        let told = Missing { lost: vec![2, 7], unread: vec![4] };
        assert_eq!(Missing::parse(&text, 4), Some(told));
        assert_eq!(Missing::parse(&text, 5), None, "of another file");
        assert_eq!(Missing::parse(&text.replace(OURS, "format: other/"), 4), None);
        assert_eq!(file("a.sta", &text).values.len(), 10, "numbers of packets are no variables");
    }

    #[test]
    fn stamps_in_another_unit_are_noticed_by_what_is_said_of_the_run() {
        let entry = |n: i64| Entry { sent: n * 1_000, received: n * 1_000 + 3, size: 64, sequence: 0 };
        let entries: Vec<Entry> = (0..101).map(entry).collect();
        let of = |text: &str| match unit_of(&file("a.sta", text), &Spread::from_entries(&entries)) {
            TimeUnit::Other(MeasurementWarning::TimeUnitMismatch { unit_ns, .. }) => Some(unit_ns),
            TimeUnit::Other(_) => None,
            TimeUnit::Plain => None,
            TimeUnit::Untold => Some(0),
        };
        // 101 packets of 64 octets, 100 us apart as they are read.
        assert_eq!(of("duration: 0.0100\n"), None);
        assert_eq!(of("duration: 0.1\n"), Some(1_000));
        assert_eq!(of("duration: 0.001\n"), Some(10));
        assert_eq!(of("duration: 0.05\n"), None, "no unit");
        assert_eq!(of("rate: 64000\n"), Some(1_000));
        assert_eq!(of("received: 101\n"), Some(0), "it does not tell");
        assert_eq!(of("received: 101\nduration: 0.1\n"), Some(1_000));
        assert_eq!(of("received: 1010\nduration: 0.1\n"), Some(0), "the packets are a part of those");
        assert_eq!(of("duration: NaN\n"), Some(0));
    }

    #[test]
    fn files_become_rows_and_variables_columns() {
        let table = VariableTable::from_files(&[
            file("a.sta", "received: 10\nsize: 64\nlost sequence: 3\n"),
            file("b.sta", "\u{feff}received: 9\r\nservice: GR, \"first\"\r\n"),
        ])
        .unwrap();
        assert_eq!(table.columns, ["file", "received", "size", "service"]);
        assert_eq!(table.csv(), "file,received,size,service\na.sta,10,64,\nb.sta,9,,\"GR, \"\"first\"\"\"\n");
        assert_eq!(
            table.text(),
            "file   received  size  service\na.sta        10    64\nb.sta         9        GR, \"first\"\n"
        );
    }

    #[test]
    fn files_that_do_not_go_together_are_refused_by_name() {
        let ours = file("a.sta", "format: romer-sta/1\nrun: x\n");
        let mixed = VariableTable::from_files(&[ours.clone(), file("b.sta", "received: 9\n")]).unwrap_err();
        assert!(mixed.contains("a.sta (romer-sta/1)") && mixed.contains("b.sta (no format)"), "{mixed}");
        let twice =
            VariableTable::from_files(&[ours, file("c.sta", "format: romer-sta/1\nrun: x\n")]).unwrap_err();
        assert!(twice.contains("a.sta and c.sta"), "{twice}");
        for (text, line) in [("", 1), ("hello\n", 1), ("a: 1\n10:13:3:64:0\n", 2), ("a: 1\na: 2\n", 2)] {
            assert_eq!(File::read("x.sta", text).unwrap_err().0, line, "{text:?}");
        }
    }

    #[test]
    fn no_cell_becomes_a_formula() {
        let table = VariableTable::from_files(&[file("a.sta", "service: =1+1\nskew: -3.5\n")]).unwrap();
        assert_eq!(table.csv(), "file,service,skew\na.sta,'=1+1,-3.5\n");
    }
}
