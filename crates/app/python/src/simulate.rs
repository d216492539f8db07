//! `romer.simulate`: a scenario in virtual time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use arrow_array::builder::{Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{Int64Array, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use romer_emulate::{
    Arrivals, DepartureLine, DepartureSink, Opened, choose_seed, offline, open_named, read_scenario,
    table_arrivals,
};
use romer_units::random::Seed;

use crate::columns::{Values, values};
use crate::document::{json, load};
use crate::failure::Failure;
use crate::fit::Model;
use crate::import;
use crate::table::{Table, column};

/// The name of arrivals in errors.
const ARRIVALS: &str = "arrivals";
/// The packets that left a simulated network, and those that were lost in it.
#[pyclass(frozen, module = "romer")]
#[derive(Debug)]
pub(crate) struct Simulation {
    departures: Py<Table>,
    json: String,
}

/// Arrivals as they were given: time, port, size.
enum Given {
    Batches(Vec<RecordBatch>),
    Times(Vec<i64>),
    Rows(Vec<(i64, String, i64)>),
}

/// Emulate a network in virtual time, as by `romer emulate --offline`.
///
/// The scenario is a file, a preset, the text of a scenario, or a model. Arrivals are a table with the columns time_ns, and if they differ
/// between packets port and size; a buffer or a list of times; or a list of (time_ns, port, size).
#[pyfunction]
// 64 octets: the smallest frame of Ethernet. A number in this place stands in the signature that Python shows.
#[pyo3(signature = (scenario, arrivals, *, seed=None, port="a", size=64))]
pub(crate) fn simulate(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    arrivals: &Bound<'_, PyAny>,
    seed: Option<&Bound<'_, PyAny>>,
    port: &str,
    size: i64,
) -> PyResult<Simulation> {
    let opened = opened(scenario)?;
    let seed = seed.map(seed_from).transpose()?;
    let given = given(arrivals)?;
    let (table, json) = py.detach(|| -> Result<(Table, String), Failure> {
        let arrivals = read(&given, port, size)?;
        let seed = choose_seed(&opened.scenario.config, seed, "seed")?;
        let mut sink = Departures::with_capacity(arrivals.packets.len());
        let document = offline::emulate(&opened.scenario, &opened.text, seed, &arrivals, &mut sink)
            .map_err(Failure::own)?;
        Ok((sink.finish()?, json(&document)?))
    })?;
    Ok(Simulation { departures: Py::new(py, table)?, json })
}

/// The scenario of a model, in a text, in a file, or of a preset. A text has several lines.
fn opened(scenario: &Bound<'_, PyAny>) -> PyResult<Opened> {
    if let Ok(model) = scenario.cast::<Model>() {
        return Ok(model.get().open()?);
    }
    let path: PathBuf = scenario.extract()?;
    let text = path.to_str().filter(|text| text.contains('\n'));
    let opened = match text {
        Some(text) => read_scenario(text, "scenario"),
        None => open_named(&path, "scenario"),
    };
    Ok(opened.map_err(Failure::from)?)
}

/// A seed: its text, or its six numbers.
fn seed_from(seed: &Bound<'_, PyAny>) -> PyResult<Seed> {
    let text = match seed.extract::<[i64; 6]>() {
        Ok(numbers) => numbers.map(|number| number.to_string()).join(","),
        Err(_) => seed.str()?.to_string(),
    };
    let seed =
        text.parse::<Seed>().map_err(|why| Failure::usage(format!("invalid seed (seed={text}): {why}")));
    Ok(seed?)
}

fn given(arrivals: &Bound<'_, PyAny>) -> PyResult<Given> {
    if let Some(batches) = import::batches(arrivals, ARRIVALS)? {
        return Ok(Given::Batches(batches));
    }
    let memory = arrivals.py().import("builtins")?.getattr("memoryview")?;
    if let Ok(view) = memory.call1((arrivals,)) {
        let format: String = view.getattr("format")?.extract()?;
        let octets: usize = view.getattr("itemsize")?.extract()?;
        if !(["q", "l"].contains(&format.as_str()) && octets == size_of::<i64>()) {
            return Err(Failure::usage(format!(
                "the buffer cannot be read ({ARRIVALS}): its items have the format {format:?}; give signed integers of 64 bits"
            ))
            .into());
        }
        let bytes = view.call_method0("tobytes")?;
        let (times, _) = bytes.cast::<PyBytes>()?.as_bytes().as_chunks();
        return Ok(Given::Times(times.iter().map(|octets| i64::from_ne_bytes(*octets)).collect()));
    }
    if let Ok(times) = arrivals.extract::<Vec<i64>>() {
        return Ok(Given::Times(times));
    }
    let rows = arrivals.extract::<Vec<(i64, String, i64)>>().map_err(|why| {
        Failure::usage(format!(
            "the arrivals cannot be read ({ARRIVALS}): {why}; give a table, a list of times in nanoseconds, or a list of (time_ns, port, size)"
        ))
    });
    Ok(Given::Rows(rows?))
}

/// Checks and orders arrivals.
fn read(given: &Given, port: &str, size: i64) -> Result<Arrivals, Failure> {
    let name = Path::new(ARRIVALS);
    let arrivals = match given {
        Given::Times(times) => table_arrivals(name, times.iter().map(|time| (Some(*time), port, Some(size)))),
        Given::Rows(rows) => table_arrivals(
            name,
            rows.iter().map(|(time, port, size)| (Some(*time), port.as_str(), Some(*size))),
        ),
        Given::Batches(batches) => {
            let mut columns = Vec::new();
            for batch in batches {
                columns.push(Rows::new(batch, port, size)?);
            }
            table_arrivals(name, columns.iter().flat_map(Rows::iter))
        }
    };
    Ok(arrivals?)
}

/// The columns of a part of a table.
struct Rows<'a> {
    times: Vec<Option<i128>>,
    ports: Option<Vec<Option<&'a str>>>,
    sizes: Option<Vec<Option<i128>>>,
    port: &'a str,
    size: i64,
}

impl<'a> Rows<'a> {
    fn new(batch: &'a RecordBatch, port: &'a str, size: i64) -> Result<Self, Failure> {
        let integers = |name: &str| match batch.column_by_name(name) {
            None => Ok(None),
            Some(array) => match values(array.as_ref()) {
                Some(Values::Integers(numbers)) => Ok(Some(numbers)),
                _ => Err(wrong_type(name, array.data_type(), "integers")),
            },
        };
        let ports = match batch.column_by_name("port") {
            None => None,
            Some(array) => match values(array.as_ref()) {
                Some(Values::Words(words)) => Some(words),
                _ => return Err(wrong_type("port", array.data_type(), "text, a or b")),
            },
        };
        let times = integers("time_ns")?.ok_or_else(|| {
            let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
            Failure::usage(format!(
                "missing column ({ARRIVALS}): there is no time_ns (arrival, nanoseconds) among {}; rename the column of the times",
                names.join(", ")
            ))
        })?;
        Ok(Self { times, ports, sizes: integers("size")?, port, size })
    }

    fn iter(&self) -> impl Iterator<Item = (Option<i64>, &str, Option<i64>)> {
        let number = |value: Option<i128>| value.and_then(|value| i64::try_from(value).ok());
        self.times.iter().enumerate().map(move |(row, time)| {
            let port = self
                .ports
                .as_ref()
                .map_or(self.port, |ports| ports.get(row).copied().flatten().unwrap_or_default());
            let size = self
                .sizes
                .as_ref()
                .map_or(Some(self.size), |sizes| number(sizes.get(row).copied().flatten()));
            (number(*time), port, size)
        })
    }
}

fn wrong_type(name: &str, found: &arrow_schema::DataType, wanted: &str) -> Failure {
    Failure::usage(format!(
        "the table cannot be read ({ARRIVALS}, column {name}): its type is {found}, and romer reads {wanted}; convert it"
    ))
}

/// The columns of the departures, as they are filled.
struct Departures {
    ordinals: Vec<u64>,
    copies: Vec<u8>,
    ports: StringBuilder,
    sizes: Vec<u32>,
    arrivals: Vec<i64>,
    departures: Int64Builder,
    ranks: UInt64Builder,
    fates: StringBuilder,
    requested: Int64Builder,
    displacements: Vec<u32>,
}

impl Departures {
    fn with_capacity(rows: usize) -> Self {
        Self {
            ordinals: Vec::with_capacity(rows),
            copies: Vec::with_capacity(rows),
            ports: StringBuilder::with_capacity(rows, rows),
            sizes: Vec::with_capacity(rows),
            arrivals: Vec::with_capacity(rows),
            departures: Int64Builder::with_capacity(rows),
            ranks: UInt64Builder::with_capacity(rows),
            fates: StringBuilder::with_capacity(rows, rows.saturating_mul("sent".len())),
            requested: Int64Builder::with_capacity(rows),
            displacements: Vec::with_capacity(rows),
        }
    }

    fn finish(mut self) -> Result<Table, Failure> {
        let columns = vec![
            column("ordinal", UInt64Array::from(self.ordinals), false),
            column("copy", UInt8Array::from(self.copies), false),
            column("port", self.ports.finish(), false),
            column("size", UInt32Array::from(self.sizes), false),
            column("arrival_ns", Int64Array::from(self.arrivals), false),
            column("departure_ns", self.departures.finish(), true),
            column("departure_rank", self.ranks.finish(), true),
            column("fate", self.fates.finish(), false),
            column("requested_delay_ns", self.requested.finish(), true),
            column("displacement", UInt32Array::from(self.displacements), false),
        ];
        Table::new(columns, HashMap::new())
    }
}

impl DepartureSink for Departures {
    fn put(&mut self, line: &DepartureLine) -> std::io::Result<()> {
        self.ordinals.push(line.ordinal);
        self.copies.push(line.copy);
        self.ports.append_value(if line.port == 'b' { "b" } else { "a" });
        self.sizes.push(line.size);
        self.arrivals.push(line.arrival);
        self.departures.append_option(line.departure.map(|(time, _)| time));
        self.ranks.append_option(line.departure.map(|(_, rank)| rank));
        match line.lost {
            None => self.fates.append_value("sent"),
            Some(cause) => self.fates.append_value(format!("lost:{}", cause.name())),
        }
        self.requested.append_option(line.requested);
        self.displacements.push(line.displacement);
        Ok(())
    }
}

#[pymethods]
impl Simulation {
    /// A row for each packet and copy, in order of arrival, with the columns of `romer emulate --departures`.
    #[getter]
    fn departures(&self, py: Python<'_>) -> Py<Table> {
        self.departures.clone_ref(py)
    }

    /// The emulation document (romer/emulation/1) as a dictionary: counters, delays, seed and warnings.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        load(py, &self.json)
    }

    /// The number of rows of the departures.
    fn __len__(&self) -> usize {
        self.departures.get().rows()
    }

    fn __repr__(&self) -> String {
        format!("<romer.Simulation: {} rows>", self.departures.get().rows())
    }

    /// The departures as a stream, for libraries that read Arrow.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.departures.get().stream(py)
    }
}
