//! One run's folder.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use romer_record::document::{MEASUREMENT, Measurement, Measurements, ProbeDirection};
use romer_record::event::Event;
use romer_record::manifest::{MANIFEST, MOST_STREAMS, Manifest, Status};
use romer_record::{RoundTrip, assemble_as};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::durable;
use crate::error::{IMPLAUSIBLE, StoreError};
use crate::log_thread::LogThread;
use crate::parquet_rows::{self, Outcomes, RowsFile};
use crate::reader::recover;
use crate::untrusted;
use crate::writer::{LogFile, LogWriter};

/// The manifest in a run's folder.
pub const MANIFEST_FILE: &str = "manifest.json";
const LOG_FILE: &str = "packets.log";
const ROWS_FILE: &str = "packets.parquet";
/// The file of the measurement documents in a run's folder, compressed with gzip: it is one fifth of the size then.
pub const MEASUREMENT_FILE: &str = "measurement.json.gz";
/// The same as earlier versions wrote it, and as a user may have unpacked it.
const PLAIN_MEASUREMENT_FILE: &str = "measurement.json";
const REPORT_FILE: &str = "report.html";
/// The emulation that a measurement passed through, if it is stored with the run.
pub const EMULATED_FILE: &str = "emulated.json";
/// Everything that a run's folder may hold by our hand, the manifest last: what has it is a run.
pub(crate) const FILES: [&str; 7] = [
    REPORT_FILE,
    MEASUREMENT_FILE,
    PLAIN_MEASUREMENT_FILE,
    ROWS_FILE,
    LOG_FILE,
    EMULATED_FILE,
    MANIFEST_FILE,
];
/// Runs of one name that may begin in one second.
const MOST_NAMESAKES: u32 = 1_000;

/// Where a new run goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A folder of its own under this one, named `TIME-NAME`. It never meets another.
    Under {
        /// The folder of runs ([`crate::Runs`]).
        runs: PathBuf,
        /// What the run is called; characters that do not suit a file's name are replaced.
        name: String,
    },
    /// This very folder (`--out`), which must not exist or be empty.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Replace the run in it (`--force`); only ever a run, and only its own files.
        force: bool,
    },
}

impl Location {
    /// Whether a run can be made there, as far as that can be told before: for those who have much to do first. The
    /// folder of runs is made.
    ///
    /// # Errors
    /// As of [`NewRun::create`].
    pub fn check(&self) -> Result<(), StoreError> {
        self.check_for(&RUN)
    }

    /// The same for what is of this kind.
    pub(crate) fn check_for(&self, kind: &FolderKind) -> Result<(), StoreError> {
        match self {
            Self::Under { runs, .. } => make_runs(runs),
            Self::Folder { path, force } if path.exists() => holds_one(kind, path, *force).map(drop),
            Self::Folder { .. } => Ok(()),
        }
    }

    /// Makes the folder for what begins at `created` (RFC 3339).
    pub(crate) fn make(&self, kind: &FolderKind, created: &str) -> Result<PathBuf, StoreError> {
        match self {
            Self::Under { runs, name } => make_namesake(runs, created, name),
            Self::Folder { path, force } => {
                claim(kind, path, *force)?;
                Ok(path.clone())
            }
        }
    }
}

/// What a folder of ours holds.
pub(crate) struct FolderKind {
    /// Everything that it may hold by our hand.
    pub(crate) files: &'static [&'static str],
    /// Whether it is one, of this format, so that it may be replaced.
    pub(crate) is_one: fn(&Path) -> bool,
    /// The file that is locked while it is written.
    pub(crate) log: &'static str,
}

/// A run of a measurement. One whose manifest is damaged, or a newer romer's, is not ours to throw away.
const RUN: FolderKind =
    FolderKind { files: &FILES, is_one: |folder| read_manifest(folder).is_ok(), log: LOG_FILE };

/// What a run ends with.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// How far it came.
    pub status: Status,
    /// The rows of every stream, by its number.
    pub rows: &'a BTreeMap<u16, Vec<RoundTrip>>,
    /// Its documents, one for each stream.
    pub measurements: &'a [Measurement],
    /// What the analysis found of the packets of these rows.
    pub outcomes: &'a dyn Outcomes,
    /// Its report, a whole HTML page, if the folder is to have one: it can be made from the other files at any time.
    pub html: Option<&'a str>,
}

/// A run that is being written, or a killed one that is being completed ([`Run::resume`]).
#[derive(Debug)]
pub struct NewRun {
    folder: PathBuf,
    manifest: Manifest,
    log: Option<LogFile>,
    /// Holds the lock until the run is finished, wherever the log's writer has gone.
    _lock: File,
}

impl NewRun {
    /// Makes the folder, the manifest (with status `running` and the folder's name), and an empty, locked log.
    ///
    /// # Errors
    /// [`StoreError::Exists`], [`StoreError::NotReplaceable`], [`StoreError::InUse`], [`StoreError::Io`].
    pub fn create(location: &Location, mut manifest: Manifest) -> Result<Self, StoreError> {
        let folder = location.make(&RUN, &manifest.created)?;
        manifest.schema = MANIFEST.into();
        manifest.status = Status::Running;
        manifest.name = name_of(&folder);
        write_manifest(&folder, &manifest)?;
        let log = LogFile::create(&folder.join(LOG_FILE))?;
        let lock = log.second_handle()?;
        durable::sync_folder(&folder)?;
        Ok(Self { folder, manifest, log: Some(log), _lock: lock })
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the packet log on a thread of its own ([`LogThread::start`]); once for each run.
    ///
    /// # Errors
    /// [`StoreError`] of [`LogThread::start`], or [`StoreError::InUse`] where the log was given out already.
    pub fn start_log(&mut self, capacity: usize) -> Result<LogThread, StoreError> {
        let streams = self.streams();
        LogThread::start(self.take_log()?, streams, capacity)
    }

    /// The packet log to be written by the caller's own thread; once for each run.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the header cannot be written, or [`StoreError::InUse`] where the log was given out
    /// already.
    pub fn log_writer(&mut self) -> Result<LogWriter, StoreError> {
        let streams = self.streams();
        let log = self.take_log()?;
        let path = log.path().to_path_buf();
        LogWriter::begin(log, streams).map_err(StoreError::io("write the packet log", &path))
    }

    fn take_log(&mut self) -> Result<LogFile, StoreError> {
        self.log.take().ok_or_else(|| StoreError::InUse { path: self.folder.clone() })
    }

    fn streams(&self) -> u16 {
        u16::try_from(self.manifest.streams.len()).unwrap_or(u16::MAX)
    }

    /// What the folder says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Changes the manifest and writes it, whole or not at all. The schema and the folder's name stay. An event that no reader would
    /// take is left out: one of them would make the whole run unreadable.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the file then still says what it said before.
    pub fn update_manifest(&mut self, change: impl FnOnce(&mut Manifest)) -> Result<(), StoreError> {
        change(&mut self.manifest);
        for stream in &mut self.manifest.streams {
            stream.events.retain(Event::is_plausible);
        }
        self.manifest.schema = MANIFEST.into();
        self.manifest.name = name_of(&self.folder);
        write_manifest(&self.folder, &self.manifest)
    }

    /// Ends the run: writes the rows, the document, the report if there is one, and the manifest, each whole or not at all and safe
    /// from a loss of power, and then removes the log. The log's thread must have ended.
    ///
    /// # Errors
    /// [`StoreError::Io`]. The log is then still there, and [`Run::open`] finds the run as a killed one, with
    /// everything acknowledged.
    pub fn finish(mut self, end: &Finished<'_>) -> Result<Run, StoreError> {
        parquet_rows::write_rows(&self.folder.join(ROWS_FILE), end.rows, end.outcomes)?;
        let document = self.folder.join(MEASUREMENT_FILE);
        let packed =
            packed_document(end.measurements).map_err(StoreError::io("write the document", &document))?;
        durable::put_bytes(&document, &packed)?;
        if let Some(html) = end.html {
            durable::put_bytes(&self.folder.join(REPORT_FILE), html.as_bytes())?;
        }
        self.update_manifest(|manifest| manifest.status = end.status)?;
        let log = self.folder.join(LOG_FILE);
        match fs::remove_file(&log) {
            Ok(()) => durable::sync_folder(&self.folder)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("remove the packet log", &log)(error)),
        }
        Run::open(&self.folder)
    }
}

/// The document of one or several streams as text (`romer/measurement/1`): one stream's stands alone, several stand
/// in an array under `measurements`.
///
/// # Errors
/// Of the serialiser; none is known for these types.
pub fn document_of(measurements: &[Measurement]) -> Result<String, serde_json::Error> {
    let mut text = match measurements {
        [one] => serde_json::to_string_pretty(one),
        several => serde_json::to_string_pretty(&Measurements {
            schema: MEASUREMENT.into(),
            measurements: several.to_vec(),
        }),
    }?;
    text.push('\n');
    Ok(text)
}

/// The same on one line, compressed.
fn packed_document(measurements: &[Measurement]) -> io::Result<Vec<u8>> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    match measurements {
        [one] => serde_json::to_writer(&mut packed, one)?,
        several => serde_json::to_writer(
            &mut packed,
            &Measurements { schema: MEASUREMENT.into(), measurements: several.to_vec() },
        )?,
    }
    packed.write_all(b"\n")?;
    packed.finish()
}

/// The text of the document of the run in `folder`.
///
/// # Errors
/// [`StoreError::Io`] where it has none (it did not end), [`StoreError::TooLarge`], [`StoreError::Malformed`].
pub fn measurement_text(folder: &Path) -> Result<String, StoreError> {
    let packed = folder.join(MEASUREMENT_FILE);
    let plain = folder.join(PLAIN_MEASUREMENT_FILE);
    if !exists(&packed)? && exists(&plain)? {
        return durable::read_text(&plain);
    }
    durable::read_packed_text(&packed)
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It ended as requested.
    Complete,
    /// It was interrupted, and what was measured is kept.
    Partial,
    /// Its program was killed, and it was completed later from its log.
    Recovered,
    /// It is being written now.
    Running,
    /// Its program was killed; what was acknowledged is in the log.
    Killed,
}

/// Where rows came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsSource {
    /// The finished `packets.parquet`.
    Finished,
    /// The log of a run that did not end, or has not yet.
    Log {
        /// Octets of the frame that was being written; nothing acknowledged is in them.
        discarded_octets: u64,
        /// Entries that the writer could not keep.
        lost_entries: u64,
    },
}

/// The rows of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// By stream, in order of sequence and copy.
    pub streams: BTreeMap<u16, Vec<RoundTrip>>,
    /// Where they came from.
    pub source: RowsSource,
}

/// A run that can be read.
#[derive(Clone, Debug)]
pub struct Run {
    folder: PathBuf,
    manifest: Manifest,
    state: State,
}

impl Run {
    /// Opens a run's folder, however the run ended.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::NotARun`], [`StoreError::Malformed`], [`StoreError::Newer`], [`StoreError::Io`].
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let manifest = read_manifest(folder)?;
        let state = match manifest.status {
            Status::Complete => State::Complete,
            Status::Partial => State::Partial,
            Status::Recovered => State::Recovered,
            Status::Running if is_locked(&folder.join(LOG_FILE)) => State::Running,
            Status::Running => State::Killed,
        };
        Ok(Self { folder: folder.to_path_buf(), manifest, state })
    }

    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the folder says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Removes the log that a program left which was killed between ending the run and removing it: the rows are safe
    /// in their own file by then.
    ///
    /// # Errors
    /// [`StoreError::Io`] where it cannot be removed.
    pub fn clear_away_log(&self) -> Result<(), StoreError> {
        let log = self.folder.join(LOG_FILE);
        let ended = matches!(self.state, State::Complete | State::Partial | State::Recovered);
        if !ended || !exists(&log)? || !exists(&self.folder.join(ROWS_FILE))? || is_locked(&log) {
            return Ok(());
        }
        fs::remove_file(&log).map_err(StoreError::io("remove the packet log", &log))
    }

    /// Its report, a whole HTML page.
    ///
    /// # Errors
    /// [`StoreError::Io`] where it has none, or none that can be read; [`StoreError::TooLarge`].
    pub fn report(&self) -> Result<String, StoreError> {
        durable::read_text(&self.folder.join(REPORT_FILE))
    }

    /// Its packet log, a file that is there while the run is being measured.
    pub fn log_path(&self) -> PathBuf {
        self.folder.join(LOG_FILE)
    }

    /// The rows of every stream: from the finished file, or, where the run did not end, from its log.
    ///
    /// # Errors
    /// [`StoreError`] of the file; [`StoreError::NotARun`] where a finished run has lost its rows.
    pub fn rows(&self) -> Result<Rows, StoreError> {
        let finished = self.folder.join(ROWS_FILE);
        if exists(&finished)? {
            let streams = parquet_rows::read_rows(&finished)?;
            return Ok(Rows { streams, source: RowsSource::Finished });
        }
        let log = self.folder.join(LOG_FILE);
        if !exists(&log)? && self.manifest.status != Status::Running {
            let why = "it has neither packets.parquet nor packets.log";
            return Err(StoreError::NotARun { path: self.folder.clone(), why });
        }
        // Killed between its first two files, a run has no log yet, and no rows.
        let recovered = if exists(&log)? { recover(&log)? } else { Default::default() };
        let way = |stream: u16| {
            let known = self.manifest.streams.get(usize::from(stream));
            known.map_or(ProbeDirection::RoundTrip, |stream| stream.traffic.direction)
        };
        // The entries of one stream are given back before those of the next are joined.
        let rows = |(stream, entries): (u16, Vec<_>)| (stream, assemble_as(way(stream), &entries));
        let streams = recovered.streams.into_iter().map(rows).collect();
        let source = RowsSource::Log {
            discarded_octets: recovered.discarded_octets,
            lost_entries: recovered.lost_entries,
        };
        Ok(Rows { streams, source })
    }

    /// The finished packet log, to be gone through; `None` where the run did not end.
    ///
    /// # Errors
    /// [`StoreError`] of the file.
    pub fn rows_file(&self) -> Result<Option<RowsFile>, StoreError> {
        let finished = self.folder.join(ROWS_FILE);
        if exists(&finished)? { RowsFile::open(&finished).map(Some) } else { Ok(None) }
    }

    /// The documents that the run ended with, one for each stream.
    ///
    /// # Errors
    /// [`StoreError::Io`] where it has none (it did not end), [`StoreError::Malformed`], [`StoreError::Newer`].
    pub fn measurements(&self) -> Result<Vec<Measurement>, StoreError> {
        #[derive(Deserialize)]
        struct Several {
            measurements: Option<IgnoredAny>,
        }
        let path = self.folder.join(MEASUREMENT_FILE);
        let text = measurement_text(&self.folder)?;
        check_schema(&path, &text, MEASUREMENT)?;
        if parse_json::<Several>(&path, &text)?.measurements.is_some() {
            parse_json::<Measurements>(&path, &text).map(|several| several.measurements)
        } else {
            parse_json::<Measurement>(&path, &text).map(|one| vec![one])
        }
    }

    /// Takes a killed run in hand to complete it with [`NewRun::finish`] (status `recovered`). Its log can be read
    /// ([`Run::rows`]) but not written any more.
    ///
    /// # Errors
    /// [`StoreError::InUse`] where it is being written, [`StoreError::NotARun`] where it ended, [`StoreError::Io`].
    pub fn resume(self) -> Result<NewRun, StoreError> {
        let path = self.folder.join(LOG_FILE);
        let file = match untrusted::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if self.manifest.status != Status::Running {
                    let why = "it has no packets.log to recover";
                    return Err(StoreError::NotARun { path: self.folder, why });
                }
                // Killed between its first two files, it has no log yet, and nobody who writes one.
                File::create_new(&path)
            }
            opened => opened,
        }
        .map_err(StoreError::io("open the packet log", &path))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(StoreError::InUse { path: self.folder });
        }
        Ok(NewRun { folder: self.folder, manifest: self.manifest, log: None, _lock: file })
    }
}

/// Whether what `log` belongs to is being written: its writer holds a lock on the log, which the kernel lifts when
/// the writer dies.
fn is_locked(log: &Path) -> bool {
    untrusted::open(log).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether anything has this name, were it a link that leads nowhere.
fn exists(path: &Path) -> Result<bool, StoreError> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::io("look for the file", path)(error)),
    }
}

fn name_of(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| folder.to_string_lossy().into_owned())
}

fn write_manifest(folder: &Path, manifest: &Manifest) -> Result<(), StoreError> {
    let path = folder.join(MANIFEST_FILE);
    let mut text = serde_json::to_string(manifest)
        .map_err(|error| StoreError::io("write the manifest", &path)(io::Error::other(error)))?;
    text.push('\n');
    durable::put_bytes(&path, text.as_bytes())
}

fn read_manifest(folder: &Path) -> Result<Manifest, StoreError> {
    let path = folder.join(MANIFEST_FILE);
    if folder.metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(StoreError::NotARun { path: folder.to_path_buf(), why: "it is not a folder" });
    }
    if !exists(folder)? {
        return Err(StoreError::Missing { what: "run", path: folder.to_path_buf() });
    }
    if !exists(&path)? {
        let why = "it has no manifest.json";
        return Err(StoreError::NotARun { path: folder.to_path_buf(), why });
    }
    let manifest: Manifest = read_json(&path, MANIFEST)?;
    let streams = manifest.streams.len();
    if streams == 0 {
        return Err(StoreError::malformed(&path, "streams", "a run has at least one"));
    }
    if streams > MOST_STREAMS {
        let why = format!("a run has at most {MOST_STREAMS}, and this one has {streams}");
        return Err(StoreError::malformed(&path, "streams", why));
    }
    if let Some((number, field)) = manifest.implausible() {
        return Err(StoreError::malformed(&path, format!("streams[{number}].{field}"), IMPLAUSIBLE));
    }
    Ok(manifest)
}

/// Reads a JSON document whose `schema` must be `schema` (`romer/NAME/VERSION`).
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T, StoreError> {
    let text = durable::read_text(path)?;
    check_schema(path, &text, schema)?;
    parse_json(path, &text)
}

/// Refuses the text of a document whose `schema` is another.
fn check_schema(path: &Path, text: &str, schema: &str) -> Result<(), StoreError> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct DocumentHeader {
        schema: String,
    }
    let found = parse_json::<DocumentHeader>(path, text)?.schema;
    if found == schema {
        return Ok(());
    }
    let (family, known) = schema.rsplit_once('/').unwrap_or((schema, ""));
    let version = found.strip_prefix(family).and_then(|rest| rest.strip_prefix('/'));
    match (version.and_then(|version| version.parse().ok()), known.parse()) {
        (Some(found), Ok(known)) if found > known => {
            Err(StoreError::Newer { path: path.to_path_buf(), place: "schema", found, known })
        }
        _ => Err(StoreError::malformed(path, "schema", format!("it must be {schema:?}, and is {found:?}"))),
    }
}

/// A part of a document takes no memory unless `T` has it.
fn parse_json<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| {
        StoreError::malformed(path, format!("line {}, column {}", error.line(), error.column()), error)
    })
}

/// Makes a new folder `TIME-NAME` under `runs`, with a number behind it where that is taken.
pub(crate) fn make_namesake(runs: &Path, created: &str, name: &str) -> Result<PathBuf, StoreError> {
    make_runs(runs)?;
    let folder = make_named(runs, created, name, "make the run's folder", |place| fs::create_dir(place))?;
    durable::sync_folder(runs)?;
    Ok(folder)
}

/// A link in the folder of runs to one that lies elsewhere, named as its folder would be.
pub(crate) fn make_link(
    runs: &Path,
    folder: &Path,
    created: &str,
    name: &str,
) -> Result<PathBuf, StoreError> {
    make_named(runs, created, name, "link the folder", |place| std::os::unix::fs::symlink(folder, place))
}

/// Makes something at `TIME-NAME` under `runs`, or with a number behind it where that is taken.
fn make_named(
    runs: &Path,
    created: &str,
    name: &str,
    operation: &'static str,
    make: impl Fn(&Path) -> io::Result<()>,
) -> Result<PathBuf, StoreError> {
    let base = folder_name(created, name);
    let mut place = runs.join(&base);
    for number in 2..MOST_NAMESAKES {
        match make(&place) {
            Ok(()) => return Ok(place),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                place = runs.join(format!("{base}-{number}"));
            }
            Err(error) => return Err(StoreError::io(operation, &place)(error)),
        }
    }
    Err(StoreError::Exists { path: place })
}

pub(crate) fn make_runs(runs: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(runs).map_err(StoreError::io("make the folder of runs", runs))
}

/// `20261107T101112Z-NAME` of an RFC 3339 time and a free name.
fn folder_name(created: &str, name: &str) -> String {
    let time: String = created.chars().take(19).filter(char::is_ascii_alphanumeric).collect();
    let mut plain = String::new();
    for c in name.chars().take(64) {
        let kept = c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        if kept {
            plain.push(c);
        } else if !plain.ends_with('-') {
            plain.push('-');
        }
    }
    let plain = plain.trim_matches(['-', '.']);
    format!("{time}Z-{}", if plain.is_empty() { "run" } else { plain })
}

/// Makes `folder`, or takes it where it is empty, or, with `force`, where it holds one of this kind that no one writes.
fn claim(kind: &FolderKind, folder: &Path, force: bool) -> Result<(), StoreError> {
    if !folder.exists() {
        fs::create_dir_all(folder).map_err(StoreError::io("make the run's folder", folder))?;
    }
    if !holds_one(kind, folder, force)? {
        return folder.parent().map_or(Ok(()), durable::sync_folder);
    }
    for name in kind.files {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("remove the old run's file", &path)(error)),
        }
    }
    durable::sync_folder(folder)
}

/// Whether the folder holds one of this kind that may be replaced, or nothing.
fn holds_one(kind: &FolderKind, folder: &Path, force: bool) -> Result<bool, StoreError> {
    if folder.metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(StoreError::NotAFolder { path: folder.to_path_buf() });
    }
    let mut held = fs::read_dir(folder).map_err(StoreError::io("read the run's folder", folder))?;
    if held.next().is_none() {
        return Ok(false);
    }
    if !force {
        return Err(StoreError::Exists { path: folder.to_path_buf() });
    }
    if !(kind.is_one)(folder) {
        return Err(StoreError::NotReplaceable { path: folder.to_path_buf() });
    }
    if is_locked(&folder.join(kind.log)) {
        return Err(StoreError::InUse { path: folder.to_path_buf() });
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_by_time_and_by_what_suits_a_file_name() {
        let name = |text| folder_name("2026-11-07T10:11:12.345Z", text);
        assert_eq!(name("198.18.0.2:8862"), "20261107T101112Z-198.18.0.2-8862");
        assert_eq!(name("../../etc/pass wd\x1b[31m"), "20261107T101112Z-etc-pass-wd-31m");
        assert_eq!(name(""), "20261107T101112Z-run");
        assert_eq!(name("[2001:db8::1]"), "20261107T101112Z-2001-db8-1");
        assert!(folder_name("nonsense/../x", "a").starts_with("nonsensex"));
    }
}
