//! Tables of other libraries, by the Arrow PyCapsule interface.
#![expect(unsafe_code, reason = "capsules hold structs of the Arrow C data interface behind a pointer")]

use std::ffi::CStr;
use std::ptr::NonNull;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{RecordBatch, StructArray};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::failure::Failure;
use crate::table::{SCHEMA, STREAM};

/// The name of a capsule with an array.
const ARRAY: &CStr = c"arrow_array";

/// The rows of an object with `__arrow_c_stream__` or `__arrow_c_array__`; `None` for any other object. `name` is its name in errors.
pub(crate) fn batches(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Vec<RecordBatch>>> {
    let refused = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("the table cannot be read ({name}): {why}; give a table with named columns"))
    };
    if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let stream = pointer(&capsule, STREAM)?;
        // SAFETY: the interface promises that a capsule of this name points to such a struct until the capsule is dropped. The reader
        // takes the contents, and leaves a released struct behind.
        let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
        let read = reader.and_then(Iterator::collect::<Result<Vec<_>, _>>);
        return Ok(Some(read.map_err(|why| refused(&why))?));
    }
    if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let schema: NonNull<FFI_ArrowSchema> = pointer(&pair.get_item(0)?, SCHEMA)?;
        let array: NonNull<FFI_ArrowArray> = pointer(&pair.get_item(1)?, ARRAY)?;
        // SAFETY: as above; `pair` keeps both capsules alive to the end of this block. The contents of the array are moved out, and a
        // released struct is left behind.
        let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
        // SAFETY: as above. The schema is only read.
        let schema = unsafe { schema.as_ref() };
        // SAFETY: the interface promises that the array has the layout of the schema that comes with it.
        let data = unsafe { from_ffi(array, schema) };
        let data = data.map_err(|why| refused(&why))?;
        if !matches!(data.data_type(), arrow_schema::DataType::Struct(_)) {
            return Err(refused(&"it is one array").into());
        }
        return Ok(Some(vec![RecordBatch::from(StructArray::from(data))]));
    }
    Ok(None)
}

/// The pointer in a capsule of this name.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?.cast())
}
