//! `romer.open`: a run folder.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use romer_analyze::outcomes::RunOutcomes;
use romer_analyze::reading::{self, RunContents};
use romer_record::document::Measurement;
use romer_store::{document_of, packet_columns};

use crate::document::{json, load};
use crate::failure::Failure;
use crate::table::Table;

/// A run: a folder that `romer measure` wrote.
#[pyclass(frozen, module = "romer")]
#[derive(Debug)]
pub(crate) struct Run {
    contents: RunContents,
}

/// Open the folder of a run. The packets are read and evaluated, as by `romer analyze RUN`. A run that was killed is completed from its
/// log first.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf) -> PyResult<Run> {
    let contents = py.detach(move || reading::read(&path)).map_err(Failure::from)?;
    Ok(Run { contents })
}

impl Run {
    pub(crate) fn folder(&self) -> &Path {
        self.contents.run.folder()
    }

    fn measurements(&self) -> impl Iterator<Item = &Measurement> {
        self.contents.streams.iter().map(|stream| &stream.measurement)
    }
}

#[pymethods]
impl Run {
    /// The folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.folder().to_path_buf()
    }

    /// The number of streams: one for each target.
    #[getter]
    fn streams(&self) -> usize {
        self.contents.streams.len()
    }

    /// The packets of all streams: a row for each packet, and one more for each duplicate, with the columns of packets.parquet.
    fn probes(&self, py: Python<'_>) -> PyResult<Table> {
        let found = py.detach(|| -> Result<Table, Failure> {
            let rows = self.contents.rows()?;
            let streams = &self.contents.run.manifest().streams;
            let outcomes = RunOutcomes { streams, evaluated: &self.contents.streams };
            Table::of_packets(packet_columns(&rows, &outcomes))
        });
        Ok(found?)
    }

    /// The measurement document (romer/measurement/1) as a dictionary, as by `romer analyze RUN --json -`.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let measurements: Vec<Measurement> = self.measurements().cloned().collect();
        load(py, &document_of(&measurements).map_err(Failure::own)?)
    }

    /// The host events of all streams, as a list of dictionaries. Each has the number of its stream, and the fields of an event of the
    /// document.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut events = Vec::new();
        for (stream, measurement) in self.measurements().enumerate() {
            for event in &measurement.events {
                let event = load(py, &json(event)?)?;
                event.set_item("stream", stream)?;
                events.push(event);
            }
        }
        Ok(events)
    }

    fn __repr__(&self) -> String {
        format!("romer.open({:?})", self.folder().display().to_string())
    }
}
