//! The benchmark of a device under test.
//!
//! * [`options`]: what is to be tested, how, by which ports.
//! * [`Tester`] has the two ports and runs a trial: a thread that sends on an absolute schedule, another that takes in
//!   every frame with the kernel's stamp. What left and what came go to `romer_method::analysis`.
//! * [`run`] drives a procedure of `romer-method` through its trials, sets the cases, watches over the device, and
//!   makes the document.
#![forbid(unsafe_code)]

mod cases;
mod document;
mod error;
mod frames;
mod next_hop;
pub mod options;
mod receive;
mod run;
mod self_test;
mod send;
mod tester;
mod verdicts;

pub use error::BenchError;
pub use run::{Progress, plan, run};
pub use self_test::self_test;
pub use tester::{Tester, TrialRecord};
