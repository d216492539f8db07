//! `romer.compare`.

use pyo3::prelude::*;
use romer_analyze::measured::{self, Measured, choose};
use romer_report::comparison::Figure;

use crate::document::{json, load};
use crate::failure::Failure;
use crate::input;

/// Compare two measurements (run folders, packet logs, documents, or opened runs), and return the comparison (romer/comparison/1) as a
/// dictionary.
#[pyfunction]
#[pyo3(signature = (a, b, *, by=None, stream_number=None))]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    by: Option<&str>,
    stream_number: Option<u16>,
) -> PyResult<Bound<'py, PyAny>> {
    let paths = [input::path(a)?, input::path(b)?];
    let by = by.map(|by| {
        by.parse::<Figure>().map_err(|why| Failure::usage(format!("invalid metric (by={by}): {why}")))
    });
    let by = by.transpose()?;
    let text = py.detach(|| -> Result<String, Failure> {
        let names = paths.each_ref().map(|path| path.to_string_lossy().into_owned());
        let [first, second] = [&paths[0], &paths[1]].map(|path| -> Result<Measured, Failure> {
            let name = path.to_string_lossy();
            let streams = Measured::read(path, &input::command(&["romer", "analyze", name.as_ref()]))?;
            Ok(choose(streams, stream_number, &name)?)
        });
        json(&measured::compare((&names[0], &first?), (&names[1], &second?), by)?)
    });
    load(py, &text?)
}
