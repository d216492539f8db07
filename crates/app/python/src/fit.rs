//! `romer.fit`: the scenario of a measured path.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use romer_analyze::measured::{choose, with_packets};
use romer_emulate::Opened;
use romer_emulate::model_fit::{self, Fitted, ModelKind};
use romer_loop::path_model;
use romer_units::Duration;

use crate::document::{json, load};
use crate::failure::Failure;
use crate::input;

/// A scenario that was made of a measurement, with its checks.
#[pyclass(frozen, module = "romer")]
#[derive(Debug)]
pub(crate) struct Model {
    fitted: Fitted,
    json: String,
}

/// Make a scenario of a measured path (a run folder, a packet log, or an opened run), as by `romer model RUN --write`.
#[pyfunction]
#[pyo3(signature = (run, *, trace=false, only_udp=false, plan=false, stream_number=0, allowance_ns=0, name="model"))]
#[expect(clippy::too_many_arguments, reason = "these are the keywords of Python")]
pub(crate) fn fit(
    py: Python<'_>,
    run: &Bound<'_, PyAny>,
    trace: bool,
    only_udp: bool,
    plan: bool,
    stream_number: u16,
    allowance_ns: i64,
    name: &str,
) -> PyResult<Model> {
    let path = input::path(run)?;
    let found = py.detach(|| -> Result<Model, Failure> {
        let shown = path.to_string_lossy().into_owned();
        let streams = with_packets(&path, &input::command(&["romer", "analyze", &shown]))?;
        let stream = choose(streams, Some(stream_number), &shown)?;
        let kind = if trace { ModelKind::Trace } else { ModelKind::Models };
        let allowed = Duration::from_nanos(allowance_ns);
        let modelled = path_model::fit(&stream, &shown, name, kind, only_udp, allowed)?;
        let proposed = if plan {
            model_fit::plan(&modelled.fitted.directions, &stream.measurement.traffic)
        } else {
            Vec::new()
        };
        let mut document = path_model::document(&modelled, &shown, proposed);
        document.warnings.extend(path_model::misfit_warnings(&modelled.misfits(), kind));
        Ok(Model { json: json(&document)?, fitted: modelled.fitted })
    });
    Ok(found?)
}

impl Model {
    /// The scenario, to be put in force.
    pub(crate) fn open(&self) -> Result<Opened, Failure> {
        self.fitted.open().map_err(Failure::own)
    }
}

#[pymethods]
impl Model {
    /// The text of the scenario (TOML).
    #[getter]
    fn scenario(&self) -> &str {
        &self.fitted.text
    }

    /// The files that the scenario names, which stand beside it: their contents by their names.
    #[getter]
    fn files(&self) -> BTreeMap<&str, &str> {
        self.fitted.files.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect()
    }

    /// The model document (romer/model/1) as a dictionary: the parameters, the checks and the warnings.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        load(py, &self.json)
    }

    fn __repr__(&self) -> String {
        format!(
            "<romer.Model: {} bytes of scenario, {} files>",
            self.fitted.text.len(),
            self.fitted.files.len()
        )
    }
}
