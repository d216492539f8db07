//! The emulator: `romer-impair`'s engine, driven by live ports or by recorded arrivals, and a document of what became of
//! the packets.
//!
//! | module | what |
//! | --- | --- |
//! | `scenario` | scenario files and presets, opened |
//! | `live` | two ports, bridged |
//! | `arrivals`, `captured`, `offline` | virtual time: recorded arrivals in, departures out |
//! | `departures` | a line for each packet and copy, as both write it, and read again |
//! | `theory` | the distribution that a scenario asks for |
//! | `predictive_check` | what a scenario makes one expect, beside what was measured |
//! | `model_fit` | a scenario from a measurement, or from several |
//! | `link_model` | a scenario from the recorded rates of a link |
//! | `headers` | what flows are told apart by |
//! | `statistics` | from outcomes in virtual time to the document `romer/emulation/1` |
//!
//! ```
//! use std::path::Path;
//!
//! use romer_emulate::{offline, random_seed, read_arrivals, read_departures, read_scenario};
//!
//! let scenario = read_scenario("[a_to_b.delay]\nfixed = \"12ms\"\n", "delay.toml")?;
//! let arrivals = read_arrivals(Path::new("arrivals.csv"), "time_ns,port,size\n5,a,64\n".as_bytes())?;
//! let mut samples = Vec::new();
//! offline::run(&scenario.scenario, &scenario.text, random_seed()?, &arrivals, &mut samples)?;
//! let departures = read_departures(Path::new("samples.csv"), &samples[..], 10)?;
//! assert_eq!(departures.packets[0][0].departure_ns, Some(12_000_005));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrivals;
mod departures;
mod error;
mod headers;
pub mod link_model;
pub mod live;
pub mod model_fit;
pub mod offline;
mod pcap_arrivals;
pub mod predictive_check;
mod reference_cdf;
mod scenario;
mod statistics;

pub use arrivals::{Arrival, Arrivals, read_arrivals, table_arrivals};
pub use departures::{
    DepartureLine, DepartureSink, Departures, HEADER as DEPARTURES_HEADER, read_departures,
};
pub use error::EmulateError;
pub use pcap_arrivals::{TooLong, read_capture};
pub use reference_cdf::delay_distribution;
pub use scenario::{Opened, choose_seed, open_named, open_preset, open_scenario, random_seed, read_scenario};
