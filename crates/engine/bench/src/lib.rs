//! The benchmark of a device under test.
//!
//! * [`options`]: what is to be tested, how, by which ports.
//! * The tester has the two ports and runs a trial: a thread that sends on an absolute schedule, another that takes in
//!   every frame with the kernel's stamp. What left and what came go to `romer_method::analysis`.
//! * `trial` has a trial as it was run and as it was kept, which all others use.
//! * [`run`] tests the tester itself, drives a procedure of `romer-method` through its trials, sets the cases, watches
//!   over the device, has every trial kept as it ends, and makes the document.
//!
//! ```
//! use romer_bench::options::{BenchOptions, Case, Claims, StreamOptions};
//! use romer_method::Frames;
//! use romer_method::campaign::Procedure;
//! use romer_units::random::Seed;
//! use romer_units::{Duration, FrameSize, LineRate};
//!
//! let size = |octets| FrameSize::new(octets).map(Frames::Size).expect("a size of Ethernet");
//! let options = BenchOptions {
//!     name: "load-sweep",
//!     tx: "eth1".parse()?,
//!     rx: "eth2".parse()?,
//!     source: "198.18.0.2".parse()?,
//!     destination: "198.19.0.2".parse()?,
//!     next_hop: None,
//!     line: LineRate::new(1_000_000_000).expect("1 Gbit/s"),
//!     virtual_line: false,
//!     streams: vec![StreamOptions::default()],
//!     frames: vec![size(64), size(1518)],
//!     too_small: Vec::new(),
//!     procedure: Procedure::Sweep { loads: vec![0.2, 0.5, 0.8], length: Duration::from_secs(10) },
//!     criterion: String::new(),
//!     repeats: 1,
//!     settle: Duration::from_secs(1),
//!     patience: Duration::from_secs(60),
//!     case_time: Duration::from_secs(600),
//!     cases: vec![Case { name: "baseline".into(), command: None }],
//!     reset: None,
//!     claims: Claims::default(),
//!     labels: Default::default(),
//!     self_test: None,
//!     subtract_baseline: false,
//!     capture: None,
//!     seed: Seed([1, 2, 3, 4, 5, 6]),
//!     notes: Vec::new(),
//! };
//! romer_bench::check(&options)?;
//! let forecast = romer_bench::forecast(&options);
//! assert_eq!(forecast.asks.len(), 6, "each size at each load");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
pub use self_test::self_test;
pub use volume::note as volume_note;
