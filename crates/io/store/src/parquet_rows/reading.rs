//! Reading the finished packet log, some thousand rows at a time.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::Compression;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{AsBytes, BoolType, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnPath;
use romer_record::RoundTrip;

use super::columns::{COLUMNS, Column, ColumnKind, Row, SOMETIMES};
use super::{SCHEMA_FAMILY, SCHEMA_KEY, SCHEMA_VERSION, pages};
use crate::checksum::{self, ChecksumVerdict};
use crate::decoding::guarded;
use crate::error::StoreError;
use crate::{memory, untrusted};

/// The most rows that are taken into memory.
const MOST_ROWS: u64 = 1 << 26;
/// The largest file that is read, octets.
const LARGEST: u64 = 16 << 30;
/// Rows for each octet of a file, at the most, beside [`ALWAYS`]. Rows without any stamp (a target that is never reached) take the
/// fewest: the writer makes 13 of an octet.
const ROWS_PER_OCTET: u64 = 16;
/// Rows that a file may have however small it is.
const ALWAYS: u64 = 1 << 16;
/// Rows decoded at a time, so that memory follows the data and not what a damaged file claims, and few enough to stay near
/// the processor while their columns are put in.
const BATCH: usize = 1 << 11;

/// Reads the rows of a file that [`write_rows`](super::write_rows) wrote, by stream.
///
/// # Errors
/// Those of [`RowsFile::open`] and [`RowsFile::each`].
pub fn read_rows(path: &Path) -> Result<BTreeMap<u16, Vec<RoundTrip>>, StoreError> {
    let file = RowsFile::open(path)?;
    let mut streams: BTreeMap<u16, Vec<RoundTrip>> = BTreeMap::new();
    for (stream, rows) in file.streams()? {
        streams.entry(stream).or_default().reserve_exact(rows);
    }
    file.each(|stream, rows| streams.entry(stream).or_default().extend_from_slice(rows))?;
    Ok(streams)
}

/// A finished packet log that is gone through without having all of it in memory, as often as one likes.
pub struct RowsFile {
    reader: SerializedFileReader<File>,
    /// The same file, for what is looked at before it is decoded.
    file: File,
    path: PathBuf,
}

impl RowsFile {
    /// Opens a file that [`write_rows`](super::write_rows) wrote.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Malformed`] (not Parquet, damaged), [`StoreError::Newer`],
    /// [`StoreError::TooLarge`], [`StoreError::NoMemory`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut file = untrusted::open(path).map_err(StoreError::io("open the packet log", path))?;
        let octets = file.metadata().map_err(StoreError::io("open the packet log", path))?.len();
        if octets > LARGEST {
            let path = path.to_path_buf();
            return Err(StoreError::TooLarge { path, found: octets, unit: "octets", limit: LARGEST });
        }
        check_guard(&mut file, path)?;
        let own = file.try_clone().map_err(StoreError::io("open the packet log", path))?;
        let reader = decoded(|| SerializedFileReader::new(file))
            .map_err(|error| StoreError::malformed(path, "Parquet", error))?;
        check(reader.metadata(), path, octets)?;
        fits(reader.metadata().file_metadata().num_rows().unsigned_abs(), memory::available(), path)?;
        Ok(Self { reader, file: own, path: path.to_path_buf() })
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        usize::try_from(self.reader.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// How many rows each stream has.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] (not our columns, values out of range).
    pub fn streams(&self) -> Result<BTreeMap<u16, usize>, StoreError> {
        let mut streams: BTreeMap<u16, usize> = BTreeMap::new();
        for index in 0..self.reader.num_row_groups() {
            let group = self.group(index)?;
            let mut column = self.source(&*group, index, &COLUMNS[0])?;
            let mut batch = Vec::new();
            loop {
                batch.clear();
                let count = decoded(|| column.read(&mut batch, 0, true))
                    .map_err(|why| self.fault(index, &COLUMNS[0], why))?;
                if count == 0 {
                    break;
                }
                for same in batch.chunk_by(|a, b| a.stream == b.stream) {
                    *streams.entry(same[0].stream).or_default() += same.len();
                }
            }
        }
        Ok(streams)
    }

    /// Gives `take` the rows of all streams in the order in which they stand in the file, with their stream, some thousand
    /// at a time; those of one probe come together.
    ///
    /// # Errors
    /// [`StoreError::Malformed`] (not our columns, values out of range, columns of different lengths, streams not in their order).
    pub fn each(&self, mut take: impl FnMut(u16, &[RoundTrip])) -> Result<(), StoreError> {
        let mut gathered = PendingRows::default();
        for index in 0..self.reader.num_row_groups() {
            self.each_of_group(index, |rows| {
                gathered.add(rows, &mut take).map_err(|stream| {
                    let why = format!("stream {stream} does not stand in the order of the streams");
                    StoreError::malformed(&self.path, place(&COLUMNS[0], index), why)
                })
            })?;
        }
        gathered.give(&mut take);
        Ok(())
    }

    fn group(&self, index: usize) -> Result<Box<dyn RowGroupReader + '_>, StoreError> {
        decoded(|| self.reader.get_row_group(index))
            .map_err(|error| StoreError::malformed(&self.path, "Parquet", error))
    }

    /// A column of a group, to be read.
    fn source<'c>(
        &self,
        group: &dyn RowGroupReader,
        index: usize,
        column: &'c Column,
    ) -> Result<ColumnSource<'c>, StoreError> {
        decoded(|| ColumnSource::open(group, column, &self.file))
            .map_err(|why| self.fault(index, column, why))
    }

    /// All columns side by side, so that a row is whole while it is at hand.
    fn each_of_group(
        &self,
        index: usize,
        mut give: impl FnMut(&[Row]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let group = self.group(index)?;
        let claimed = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let names = group.metadata().columns();
        let is_there = |column: &Column| names.iter().any(|one| one.column_path().string() == column.name);
        let sometimes = SOMETIMES.iter().flat_map(|one| one.columns).filter(|column| is_there(column));
        let missing: Vec<_> = SOMETIMES.iter().filter(|one| !one.columns.iter().any(is_there)).collect();
        let mut columns = Vec::with_capacity(names.len());
        for column in COLUMNS.iter().filter(|column| column.is_read()).chain(sometimes) {
            let column = column.earlier.filter(|earlier| is_there(earlier)).unwrap_or(column);
            columns.push(self.source(&*group, index, column)?);
        }
        let mut batch: Vec<Row> = Vec::with_capacity(BATCH);
        let mut before = 0;
        loop {
            batch.clear();
            for (number, source) in columns.iter_mut().enumerate() {
                let column = source.column;
                let count = decoded(|| source.read(&mut batch, before, number == 0))
                    .map_err(|why| self.fault(index, column, why))?;
                let end = before + count;
                if count != batch.len() || end > claimed || (count == 0 && end != claimed) {
                    let place = place(column, index);
                    let why = format!("it has {end} values for {claimed} rows");
                    return Err(StoreError::malformed(&self.path, place, why));
                }
            }
            if batch.is_empty() {
                return Ok(());
            }
            for row in &mut batch {
                missing.iter().for_each(|one| (one.imply)(&mut row.row));
            }
            give(&batch)?;
            before += batch.len();
        }
    }

    fn fault(&self, index: usize, column: &Column, why: ColumnError) -> StoreError {
        let place = place(column, index);
        match why {
            ColumnError::Parquet(error) => StoreError::malformed(&self.path, place, error),
            ColumnError::Value(at) => {
                let why = "the value does not belong in this column";
                StoreError::malformed(&self.path, format!("{place}, row {at}"), why)
            }
        }
    }
}

fn place(column: &Column, group: usize) -> String {
    format!("column {}, row group {group}", column.name)
}

/// Rows of one stream that wait until the last probe among them is whole.
#[derive(Default)]
struct PendingRows {
    stream: u16,
    rows: Vec<RoundTrip>,
}

impl PendingRows {
    /// Takes the rows in, or gives the stream that comes after one of a greater number: its rows might be in several parts.
    fn add(&mut self, rows: &[Row], take: &mut impl FnMut(u16, &[RoundTrip])) -> Result<(), u16> {
        for same in rows.chunk_by(|a, b| a.stream == b.stream) {
            let stream = same[0].stream;
            if stream < self.stream {
                return Err(stream);
            }
            if stream != self.stream {
                self.give(take);
                self.stream = stream;
            }
            self.rows.extend(same.iter().map(|row| row.row));
        }
        let last = self.rows.last().map(|row| (row.way, row.sequence));
        let whole =
            self.rows.iter().rposition(|row| Some((row.way, row.sequence)) != last).map_or(0, |end| end + 1);
        if whole > 0 {
            take(self.stream, &self.rows[..whole]);
            self.rows.drain(..whole);
        }
        Ok(())
    }

    fn give(&mut self, take: &mut impl FnMut(u16, &[RoundTrip])) {
        if !self.rows.is_empty() {
            take(self.stream, &self.rows);
            self.rows.clear();
        }
    }
}

fn check_guard(file: &mut File, path: &Path) -> Result<(), StoreError> {
    let (place, why) = match checksum::check(file).map_err(StoreError::io("read the packet log", path))? {
        ChecksumVerdict::Whole => return Ok(()),
        ChecksumVerdict::NotParquet => ("the end".to_owned(), "it is not a Parquet file, or was cut short"),
        ChecksumVerdict::Unguarded(at) => {
            (format!("byte {at}"), "romer's checksum is not there: it is damaged, or another program's")
        }
        ChecksumVerdict::Damaged(at) => {
            (format!("byte {at}"), "the checksum does not fit the file: it is damaged")
        }
    };
    Err(StoreError::malformed(path, place, why))
}

/// Whether so many rows fit into the memory that is available, octets; `None` where that is not known.
fn fits(rows: u64, available: Option<u64>, path: &Path) -> Result<(), StoreError> {
    let needed = rows.saturating_mul(memory::OF_A_ROW);
    match available.filter(|available| needed > *available) {
        Some(available) => Err(StoreError::NoMemory { path: path.to_path_buf(), rows, available }),
        None => Ok(()),
    }
}

/// What the metadata of a file of so many octets says.
fn check(metadata: &ParquetMetaData, path: &Path, octets: u64) -> Result<(), StoreError> {
    let file = metadata.file_metadata();
    let name = file
        .key_value_metadata()
        .and_then(|pairs| pairs.iter().find(|pair| pair.key == SCHEMA_KEY))
        .and_then(|pair| pair.value.as_deref());
    let version = name.and_then(|name| name.strip_prefix(SCHEMA_FAMILY)).and_then(|n| n.parse::<u32>().ok());
    match version {
        None => {
            return Err(StoreError::malformed(path, "key-value metadata", "it is no packet log of romer's"));
        }
        Some(found) if found > SCHEMA_VERSION => {
            return Err(StoreError::Newer {
                path: path.to_path_buf(),
                place: "romer.schema",
                found,
                known: SCHEMA_VERSION,
            });
        }
        Some(_) => {}
    }
    let found = u64::try_from(file.num_rows()).unwrap_or(u64::MAX);
    if found > MOST_ROWS {
        return Err(StoreError::TooLarge { path: path.to_path_buf(), found, unit: "rows", limit: MOST_ROWS });
    }
    if found > octets.saturating_mul(ROWS_PER_OCTET).saturating_add(ALWAYS) {
        let why = format!("it states {found} rows, which do not fit in its {octets} bytes");
        return Err(StoreError::malformed(path, "metadata", why));
    }
    let mut groups = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
    if groups.try_fold(0_u64, |sum, rows| sum.checked_add(rows?)) != Some(found) {
        return Err(StoreError::malformed(
            path,
            "metadata",
            "the rows of its groups are not those of the file",
        ));
    }
    Ok(())
}

enum ColumnError {
    Parquet(ParquetError),
    Value(usize),
}

impl From<ParquetError> for ColumnError {
    fn from(error: ParquetError) -> Self {
        Self::Parquet(error)
    }
}

/// A column that is read some rows at a time.
struct ColumnSource<'a> {
    column: &'a Column,
    reader: Typed,
}

/// A reader, the room for what it reads, and where the presence of optional values goes.
struct Pages<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
    levels: Option<Vec<i16>>,
}

enum Typed {
    /// All its values are this one, as its statistics say, or none is there: nothing is to be decoded.
    Same {
        value: SameValue,
        left: usize,
    },
    Flags(Pages<BoolType>),
    Wide(Pages<Int64Type>),
    Narrow(Pages<Int32Type>),
    Words(Pages<ByteArrayType>),
}

/// The value that all rows have.
enum SameValue {
    Nothing,
    Number(i64),
    Word(Vec<u8>),
}

impl<'a> ColumnSource<'a> {
    fn open(group: &dyn RowGroupReader, column: &'a Column, file: &File) -> Result<Self, ColumnError> {
        let columns = group.metadata().columns();
        let path = ColumnPath::from(column.name);
        let Some((index, found)) = columns.iter().enumerate().find(|(_, c)| *c.column_path() == path) else {
            return Err(ParquetError::General("there is no such column".into()).into());
        };
        let descriptor = found.column_descr();
        let wanted = match column.kind {
            ColumnKind::Flag { .. } => parquet::basic::Type::BOOLEAN,
            _ if column.has_words() => parquet::basic::Type::BYTE_ARRAY,
            _ if column.is_wide() => parquet::basic::Type::INT64,
            _ => parquet::basic::Type::INT32,
        };
        let optional = column.is_optional();
        if descriptor.physical_type() != wanted
            || descriptor.max_def_level() != i16::from(optional)
            || descriptor.max_rep_level() != 0
        {
            return Err(ParquetError::General("it is of another type".into()).into());
        }
        if found.num_values() != group.metadata().num_rows() {
            let why =
                format!("it has {} values for {} rows", found.num_values(), group.metadata().num_rows());
            return Err(ParquetError::General(why).into());
        }
        if let Some(same) = same(found, column) {
            return Ok(Self { column, reader: same });
        }
        let dictionary = found.dictionary_page_offset();
        if dictionary.is_some() != column.has_words() || !matches!(found.compression(), Compression::SNAPPY) {
            return Err(ParquetError::General("it is not packed as romer packs it".into()).into());
        }
        let place = [dictionary.unwrap_or(found.data_page_offset()), found.compressed_size()]
            .map(|number| u64::try_from(number).unwrap_or(u64::MAX));
        pages::check(file, place[0], place[1], column.has_words()).map_err(ParquetError::General)?;
        let reader = group.get_column_reader(index)?;
        let reader = match column.kind {
            ColumnKind::Flag { .. } => Typed::Flags(Pages::new(reader, optional)),
            _ if column.has_words() => Typed::Words(Pages::new(reader, optional)),
            _ if column.is_wide() => Typed::Wide(Pages::new(reader, optional)),
            _ => Typed::Narrow(Pages::new(reader, optional)),
        };
        Ok(Self { column, reader })
    }

    /// Puts the next values into the rows of `batch`, which it makes where this is the `first` column, and says how many
    /// there were. `before` rows of the group came in earlier batches.
    fn read(&mut self, batch: &mut Vec<Row>, before: usize, first: bool) -> Result<usize, ColumnError> {
        let count = match &mut self.reader {
            Typed::Same { left, .. } => {
                let count = BATCH.min(*left);
                *left -= count;
                count
            }
            Typed::Flags(pages) => pages.next()?,
            Typed::Wide(pages) => pages.next()?,
            Typed::Narrow(pages) => pages.next()?,
            Typed::Words(pages) => pages.next()?,
        };
        if first {
            batch.resize(count, Row::default());
        }
        let rows = &mut batch[..];
        let done = match (&self.column.kind, &self.reader) {
            // Rows begin with nothing in them.
            (_, Typed::Same { value: SameValue::Nothing, .. })
            | (
                ColumnKind::Whole { .. } | ColumnKind::Flag { .. },
                Typed::Same { value: SameValue::Number(0), .. },
            ) => Ok(()),
            (ColumnKind::Flag { set, .. }, Typed::Same { .. }) => {
                rows.iter_mut().for_each(|row| set(row, true));
                Ok(())
            }
            (
                ColumnKind::Whole { set, .. } | ColumnKind::Maybe { set, .. },
                Typed::Same { value: SameValue::Number(value), .. },
            ) => {
                let mut rows = rows.iter_mut().enumerate();
                rows.try_for_each(|(at, row)| set(row, *value).ok_or(at))
            }
            (ColumnKind::Word { set, .. }, Typed::Same { value: SameValue::Word(word), .. }) => {
                let mut rows = rows.iter_mut().enumerate();
                rows.try_for_each(|(at, row)| set(row, word).ok_or(at))
            }
            (ColumnKind::Flag { set, .. }, Typed::Flags(pages)) => pages.put(rows, |row, value| {
                set(row, *value);
                Some(())
            }),
            (ColumnKind::Whole { set, .. } | ColumnKind::Maybe { set, .. }, Typed::Wide(pages)) => {
                pages.put(rows, |row, value| set(row, *value))
            }
            (ColumnKind::Whole { set, .. } | ColumnKind::Maybe { set, .. }, Typed::Narrow(pages)) => {
                pages.put(rows, |row, value| set(row, i64::from(value.cast_unsigned())))
            }
            (ColumnKind::Word { set, .. }, Typed::Words(pages)) => {
                pages.put(rows, |row, value| set(row, value.as_bytes()))
            }
            // A source is opened with the reader of its column.
            _ => Ok(()),
        };
        done.map_err(|at| ColumnError::Value(before + at))?;
        Ok(count)
    }
}

/// What all values of a column are, where its statistics say so. The file's checksum has been compared by then.
fn same(found: &ColumnChunkMetaData, column: &Column) -> Option<Typed> {
    let left = usize::try_from(found.num_values()).ok()?;
    let statistics = found.statistics()?;
    let absent = usize::try_from(statistics.null_count_opt()?).ok()?;
    if absent == left && column.is_optional() {
        return Some(Typed::Same { value: SameValue::Nothing, left });
    }
    if absent > 0 || !statistics.min_is_exact() || !statistics.max_is_exact() {
        return None;
    }
    let ends = match statistics {
        Statistics::Boolean(values) => {
            [values.min_opt(), values.max_opt()].map(|value| value.map(|value| i64::from(*value)))
        }
        Statistics::Int32(values) => [values.min_opt(), values.max_opt()]
            .map(|value| value.map(|value| i64::from(value.cast_unsigned()))),
        Statistics::Int64(values) => [values.min_opt(), values.max_opt()].map(|value| value.copied()),
        Statistics::ByteArray(values) => {
            let least = values.min_opt().filter(|least| values.max_opt() == Some(*least))?;
            return Some(Typed::Same { value: SameValue::Word(least.as_bytes().to_vec()), left });
        }
        _ => return None,
    };
    let [least, greatest] = ends;
    let value = SameValue::Number(least.filter(|least| greatest == Some(*least))?);
    Some(Typed::Same { value, left })
}

impl<T: DataType> Pages<T> {
    fn new(reader: ColumnReader, optional: bool) -> Self {
        Self {
            reader: get_typed_column_reader::<T>(reader),
            values: Vec::new(),
            levels: optional.then(Vec::new),
        }
    }

    /// Reads the next rows, and says how many there were.
    fn next(&mut self) -> Result<usize, ParquetError> {
        self.values.clear();
        let mut count = 0;
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        // A page may end before a batch is full.
        while count < BATCH {
            let (read, _, _) =
                self.reader.read_records(BATCH - count, self.levels.as_mut(), None, &mut self.values)?;
            if read == 0 {
                break;
            }
            count += read;
        }
        Ok(count)
    }

    /// Puts what was read into rows; the place of the first that does not take its value is the error.
    fn put(&self, rows: &mut [Row], mut put: impl FnMut(&mut Row, &T::T) -> Option<()>) -> Result<(), usize> {
        let mut values = self.values.iter();
        match &self.levels {
            Some(levels) if self.values.len() < levels.len() => {
                let present = rows.iter_mut().zip(levels).enumerate().filter(|(_, (_, level))| **level == 1);
                for (at, (row, _)) in present {
                    let Some(value) = values.next() else { break };
                    put(row, value).ok_or(at)?;
                }
            }
            _ => {
                for (at, (row, value)) in rows.iter_mut().zip(values).enumerate() {
                    put(row, value).ok_or(at)?;
                }
            }
        }
        Ok(())
    }
}

/// [`guarded`], of what fails with an error too.
fn decoded<T, E: From<ParquetError>>(decode: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    guarded(decode).unwrap_or_else(|undecodable| Err(ParquetError::General(undecodable.to_string()).into()))
}

#[cfg(test)]
mod tests {
    use romer_record::Exit;

    use super::*;

    /// Rows that do not fit into the memory of the host are refused.
    #[test]
    fn rows_fit_into_memory() {
        let path = Path::new("packets.parquet");
        let needed = 1_000_000 * memory::OF_A_ROW;
        assert!([Some(needed), None].into_iter().all(|available| fits(1_000_000, available, path).is_ok()));
        let refused = fits(1_000_000, Some(needed - 1), path).unwrap_err();
        assert_eq!(refused.exit(), Exit::Environment);
        assert!(refused.to_string().contains("its 1000000 rows take up to 640 MB"), "{refused}");
    }

    /// The number of rows is held against the size of the file before any is decoded.
    #[test]
    fn more_rows_than_fit_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let rows = (0..200_000).map(|sequence| RoundTrip {
            sequence,
            size: 44,
            not_sent: true,
            ..RoundTrip::default()
        });
        super::super::write_rows(file.path(), &BTreeMap::from([(0, rows.collect())]), &()).unwrap();
        let rows_file = RowsFile::open(file.path()).unwrap();
        let octets = file.path().metadata().unwrap().len();
        assert!(check(rows_file.reader.metadata(), file.path(), octets).is_ok());
        let error = check(rows_file.reader.metadata(), file.path(), 4_000).unwrap_err();
        assert_eq!(error.exit(), Exit::BadData);
        assert!(error.to_string().contains("200000 rows, which do not fit in its 4000 bytes"), "{error}");
    }
}
