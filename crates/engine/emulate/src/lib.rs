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
//! | `fidelity` | what a scenario makes one expect, beside what was measured |
//! | `fit` | a scenario from a measurement |
//! | `headers` | what flows are told apart by |
//! | `statistics` | from outcomes in virtual time to the document `romer/emulation/1` |

mod arrivals;
mod captured;
mod departures;
mod error;
pub mod fidelity;
pub mod fit;
mod headers;
pub mod live;
pub mod offline;
mod scenario;
mod statistics;
mod theory;

pub use arrivals::{Arrival, Arrivals, read_arrivals};
pub use captured::{TooLong, read_capture};
pub use departures::{Departures, HEADER as DEPARTURES_HEADER, read_departures};
pub use error::EmulateError;
pub use scenario::{Opened, open_preset, open_scenario, random_seed, read_scenario};
pub use theory::delay_distribution;
