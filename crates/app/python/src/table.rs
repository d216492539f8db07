//! Tables: columns that other libraries read as an Arrow stream.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use romer_store::{ColumnValues, PACKETS_SCHEMA, PacketColumn};

use crate::columns::{Values, values};
use crate::failure::Failure;

/// The name of a capsule with a stream.
pub(crate) const STREAM: &CStr = c"arrow_array_stream";
/// The name of a capsule with a schema.
pub(crate) const SCHEMA: &CStr = c"arrow_schema";

/// The zone of times.
const UTC: &str = "UTC";

/// Columns of equal length. Libraries that read the Arrow PyCapsule interface take it as it is: `polars.DataFrame(table)`,
/// `pyarrow.table(table)`, `duckdb.sql("FROM table")`. They share its memory.
#[pyclass(frozen, module = "romer")]
#[derive(Debug)]
pub(crate) struct Table {
    batch: RecordBatch,
}

/// One column before it is in a table.
pub(crate) fn column(name: &str, values: impl Array + 'static, is_optional: bool) -> (Field, ArrayRef) {
    (Field::new(name, values.data_type().clone(), is_optional), Arc::new(values))
}

impl Table {
    /// Joins columns of equal length, with metadata of the whole.
    pub(crate) fn new(
        columns: Vec<(Field, ArrayRef)>,
        metadata: HashMap<String, String>,
    ) -> Result<Self, Failure> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
        let schema = Schema::new_with_metadata(fields, metadata);
        let batch = RecordBatch::try_new(Arc::new(schema), arrays).map_err(Failure::own)?;
        Ok(Self { batch })
    }

    /// The packets of a run.
    pub(crate) fn of_packets(columns: Vec<PacketColumn>) -> Result<Self, Failure> {
        let described: HashMap<&str, &str> =
            columns.iter().map(|column| (column.name, column.about)).collect();
        let metadata = HashMap::from([
            ("romer.schema".to_owned(), PACKETS_SCHEMA.to_owned()),
            ("romer.columns".to_owned(), crate::document::json(&described)?),
        ]);
        Self::new(columns.into_iter().map(of_packets).collect(), metadata)
    }

    pub(crate) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The table as a stream of one batch, which shares its memory.
    pub(crate) fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = std::iter::once(Ok::<_, ArrowError>(self.batch.clone()));
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }
}

/// A column of the packets: its values keep their place in memory.
fn of_packets(packets: PacketColumn) -> (Field, ArrayRef) {
    let PacketColumn { name, values, present, .. } = packets;
    let is_optional = present.is_some();
    let nulls = present.map(Into::into);
    match values {
        ColumnValues::U8(values) => column(name, UInt8Array::new(values.into(), nulls), is_optional),
        ColumnValues::U16(values) => column(name, UInt16Array::new(values.into(), nulls), is_optional),
        ColumnValues::U32(values) => column(name, UInt32Array::new(values.into(), nulls), is_optional),
        ColumnValues::U64(values) => column(name, UInt64Array::new(values.into(), nulls), is_optional),
        ColumnValues::I64(values) => column(name, Int64Array::new(values.into(), nulls), is_optional),
        ColumnValues::Time(values) => {
            let times = TimestampNanosecondArray::new(values.into(), nulls).with_timezone(UTC);
            column(name, times, is_optional)
        }
        ColumnValues::Flag(values) => column(name, BooleanArray::new(values.into(), nulls), is_optional),
        ColumnValues::Word(values) => {
            let words = StringArray::from_iter_values(values);
            let (offsets, octets, _) = words.into_parts();
            column(name, StringArray::new(offsets, octets, nulls), is_optional)
        }
    }
}

#[pymethods]
impl Table {
    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __repr__(&self) -> String {
        format!("<romer.Table: {} rows, {} columns>", self.rows(), self.batch.num_columns())
    }

    /// The values of a column as a list. A missing value is None. A time is an integer: nanoseconds since 1970-01-01 UTC.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(array) = self.batch.column_by_name(name) else {
            let names = self.column_names().join(", ");
            return Err(Failure::usage(format!("no such column ({name}): the table has {names}")).into());
        };
        match values(array.as_ref()) {
            Some(Values::Integers(values)) => values.into_bound_py_any(py),
            Some(Values::Words(values)) => values.into_bound_py_any(py),
            Some(Values::Flags(values)) => values.into_bound_py_any(py),
            None => Err(Failure::own(format!("a column has the type {}", array.data_type())).into()),
        }
    }

    /// The schema of the columns, for libraries that read Arrow.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let of_rows = DataType::Struct(self.batch.schema_ref().fields().clone());
        let schema = FFI_ArrowSchema::try_from(&of_rows).map_err(Failure::own)?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// The columns as a stream, for libraries that read Arrow. Another schema that is requested is not considered.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.stream(py)
    }
}
