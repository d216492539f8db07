//! The benchmark of a device under test.
//!
//! * [`options`]: what is to be tested, how, by which ports.
//! * The tester has the two ports and runs a trial: a thread that sends on an absolute schedule, another that takes in
//!   every frame with the kernel's stamp. What left and what came go to `romer_method::analysis`.
//! * `trial` has a trial as it was run and as it was kept, which all others use.
//! * [`run`] tests the tester itself, drives a procedure of `romer-method` through its trials, sets the cases, watches
//!   over the device, has every trial kept as it ends, and makes the document.
#![forbid(unsafe_code)]

mod anomalies;
mod capture;
mod cases;
mod check;
mod claims;
mod classes;
mod design;
mod document;
mod error;
mod expected_drops;
mod forecast;
mod frames;
pub mod limits;
mod next_hop;
mod numbers;
mod offered;
pub mod options;
mod outage;
mod plan;
mod policed;
mod policer;
mod port_state;
mod punctuality;
mod receive;
mod recognise;
mod remarking;
mod run;
mod selective_loss;
mod self_test;
mod send;
mod setup;
mod significance;
#[cfg(test)]
mod simulated;
mod testbed;
mod tester;
mod tester_evidence;
mod trial;
mod uncovered;
mod verdicts;
mod volume;
mod warnings;

pub use check::{MOST_STREAMS, check, check_ports};
pub use error::BenchError;
pub use forecast::{Forecast, Informative, forecast, informative};
pub use port_state::PortFault;
pub use romer_record::benchmark::PortState;
pub use run::{Journal, Progress, Watcher, run};
pub use self_test::{affected_results, self_test};
pub use volume::note as volume_note;
