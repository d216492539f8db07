//! `romer.analyze`: the document of a run, of a packet log, or of a table.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use romer_analyze::WAITING_TIME;
use romer_analyze::analysis::{self, Analysis};
use romer_analyze::reading;
use romer_record::document::Measurement;
use romer_store::document_of;
use romer_units::Duration;

use crate::columns::{Values, values};
use crate::document::load;
use crate::failure::Failure;
use crate::import;
use crate::input;

/// The name of a table in documents and errors.
const TABLE: &str = "table";

/// Analyse a run folder, a packet log, or a table, and return the measurement document (romer/measurement/1) as a dictionary.
///
/// A table has the columns of a packet log: sequence, size, sent_ns and received_ns, or sequence, size, t1_ns, t2_ns, t3_ns and t4_ns.
#[pyfunction]
#[pyo3(signature = (input, *, reverse=None, waiting_time_ns=None, one_clock=false))]
pub(crate) fn analyze<'py>(
    py: Python<'py>,
    input: &Bound<'py, PyAny>,
    reverse: Option<PathBuf>,
    waiting_time_ns: Option<i64>,
    one_clock: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if waiting_time_ns.is_some_and(|time| time <= 0) {
        return Err(Failure::usage(
            "invalid waiting time (waiting_time_ns): it is not positive; give nanoseconds",
        )
        .into());
    }
    let content = import::batches(input, TABLE)?;
    let path = if content.is_some() { PathBuf::from(TABLE) } else { input::path(input)? };
    let text = py.detach(|| -> Result<String, Failure> {
        let measurements: Vec<Measurement> = match content {
            None if path.is_dir() => {
                if reverse.is_some() || waiting_time_ns.is_some() || one_clock {
                    return Err(Failure::usage(format!(
                        "options cannot be used ({}): a run has both its directions, its waiting time and its clocks; leave them out",
                        path.display()
                    )));
                }
                reading::read(&path)?.streams.into_iter().map(|stream| stream.measurement).collect()
            }
            content => vec![of_log(&path, content, reverse, waiting_time_ns, one_clock)?],
        };
        document_of(&measurements).map_err(Failure::own)
    });
    load(py, &text?)
}

fn of_log(
    path: &Path,
    content: Option<Vec<RecordBatch>>,
    reverse: Option<PathBuf>,
    waiting_time_ns: Option<i64>,
    one_clock: bool,
) -> Result<Measurement, Failure> {
    let shown = path.to_string_lossy();
    let other = reverse.as_ref().map(|path| path.to_string_lossy().into_owned());
    let waiting_time = waiting_time_ns.map_or(WAITING_TIME, Duration::from_nanos);
    let waited = waiting_time_ns.map(|_| waiting_time.to_string());
    let mut words = vec!["romer", "analyze", shown.as_ref()];
    words.extend(other.iter().flat_map(|path| ["--reverse", path.as_str()]));
    words.extend(waited.iter().flat_map(|time| ["--waiting-time", time.as_str()]));
    if one_clock {
        words.extend(["--clocks", "shared"]);
    }
    let analysis = Analysis {
        content: content.map(|batches| text(&batches)).transpose()?.map(Arc::from),
        reverse,
        one_clock,
        waiting_time,
        any_size: false,
        ..Analysis::new(path, input::command(&words))
    };
    Ok(analysis::analyze(&analysis)?.measurement)
}

/// The table as a packet log in CSV: the columns of integers, and the fates.
fn text(batches: &[RecordBatch]) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let mut columns = Vec::new();
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let name = field.name().as_str();
            let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let is_number = ["sequence", "size"].contains(&name) || name.ends_with("_ns");
            match values(array.as_ref()) {
                Some(found @ Values::Integers(_)) if is_plain => columns.push((name, found)),
                Some(found @ Values::Words(_)) if name == "fate" => columns.push((name, found)),
                _ if is_plain && is_number => {
                    return Err(Failure::usage(format!(
                        "the table cannot be read (column {name}): its type is {}, and romer reads integers; convert it, for example to Int64",
                        array.data_type()
                    )));
                }
                _ => {}
            }
        }
        if number == 0 {
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            text.extend_from_slice(names.join(",").as_bytes());
            text.push(b'\n');
        }
        for row in 0..batch.num_rows() {
            for (place, (_, values)) in columns.iter().enumerate() {
                if place > 0 {
                    text.push(b',');
                }
                let written = match values {
                    Values::Integers(numbers) => match numbers.get(row).copied().flatten() {
                        Some(number) => write!(text, "{number}"),
                        None => Ok(()),
                    },
                    Values::Words(words) => {
                        text.write_all(plain(words.get(row).copied().flatten()).as_bytes())
                    }
                    Values::Flags(_) => Ok(()),
                };
                written.map_err(Failure::own)?;
            }
            text.push(b'\n');
        }
    }
    Ok(text)
}

/// A word as a field of CSV. A fate has none of the characters that would have to be quoted.
fn plain(word: Option<&str>) -> &str {
    word.filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')).unwrap_or_default()
}
