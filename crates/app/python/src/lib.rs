//! The extension module of the Python package `romer`.
//!
//! It calls the engines that the program `romer` calls, and gives their documents and tables to Python. Tables go in and out by the
//! Arrow C data interface (PyCapsule), so that no Python library is needed and no column is copied on its way out.
//!
//! | module | contents |
//! | --- | --- |
//! | `run` | `romer.open`: a run folder with its packets, document and events |
//! | `analyze` | `romer.analyze`: the document of a run, of a packet log, or of a table |
//! | `simulate` | `romer.simulate`: a scenario in virtual time |
//! | `compare` | `romer.compare` |
//! | `fit` | `romer.fit`: the scenario of a measured path |
//! | `table` | `romer.Table`: columns as an Arrow stream |
//! | `import` | Arrow streams of other libraries, and the only unsafe code |
//! | `columns` | the values of imported columns |
//! | `failure` | errors as exceptions of Python |
//!
//! `python/romer` has the Python files of the package: the names, the exceptions and the types.
#![deny(unsafe_code)]

mod analyze;
mod columns;
mod compare;
mod document;
mod failure;
mod fit;
mod import;
mod input;
mod run;
mod simulate;
mod table;

use pyo3::prelude::*;

/// The module `romer._romer`.
#[pymodule]
mod _romer {
    #[pymodule_export]
    use crate::analyze::analyze;
    #[pymodule_export]
    use crate::compare::compare;
    #[pymodule_export]
    use crate::fit::{Model, fit};
    #[pymodule_export]
    use crate::run::{Run, open};
    #[pymodule_export]
    use crate::simulate::{Simulation, simulate};
    #[pymodule_export]
    use crate::table::Table;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
