//! The benchmark of a device under test.
//!
//! * [`options`]: what is to be tested, how, by which ports.
//! * The tester has the two ports and runs a trial: a thread that sends on an absolute schedule, another that takes in
//!   every frame with the kernel's stamp. What left and what came go to `romer_method::analysis`.
//! * `trial` has a trial as it was run and as it was kept, which all others use.
//! * [`run`] tests the tester itself, drives a procedure of `romer-method` through its trials, sets the cases, watches
//!   over the device, has every trial kept as it ends, and makes the document.
#![forbid(unsafe_code)]

mod asked;
mod bed;
mod capture;
mod cases;
mod check;
mod claims;
mod classes;
mod design;
mod document;
mod doubt;
mod dropped;
mod error;
mod expected_drops;
mod forecast;
mod frames;
pub mod limits;
mod marked;
mod next_hop;
mod numbers;
mod offered;
pub mod options;
mod policed;
mod policer;
mod port_state;
mod proof;
mod punctuality;
mod receive;
mod recognise;
mod run;
mod self_test;
mod send;
mod setup;
#[cfg(test)]
mod simulated;
mod soft;
mod stood;
mod tester;
mod trial;
mod untested;
mod verdicts;
mod volume;
mod warnings;

pub use check::{MOST_STREAMS, check, check_ports};
pub use error::BenchError;
pub use forecast::{Forecast, Told, forecast, told};
pub use port_state::{PortFault, PortState};
pub use run::{Past, Progress, Watcher, run};
pub use self_test::self_test;
pub use setup::rfc3339;
pub use volume::note as volume_note;
