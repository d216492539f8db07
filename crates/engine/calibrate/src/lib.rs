//! `romer calibrate`: how large the tool's own error is on this machine.
//!
//! [`calibrate`] measures between the hosts of a laboratory, with the engine that `romer measure` runs:
//!
//! - over a pair of virtual links between the two ends and nothing else, where a packet takes next to no time: what is
//!   found there is the tool's own share, its **baseline** and **uncertainty** by the place of the stamps (Hershberger 2005,
//!   table 11.1), and whether the two directions of that path are told alike;
//! - over the laboratory's path, slowed down to two rates one after the other: what of a delay does not depend on the
//!   rate is error (Hershberger 2005, equations 9.1 and 9.2).
//!
//! Everything is done once a round, and each figure is the median of the rounds'. Before each round it is seen how much
//! time the host takes away, for that is in the figures as well.
//!
//! [`two_runs`] does the same with two runs of the user's own, over a link of a network card at two rates.
//!
//! [`listen`] stamps events that other hosts stamp too, and [`compare_clocks`] gives the difference of two clocks by them.
//!
//! [`prove_clock`] proves that a clock's error is found: it measures over loopback and passes the stamps of one end through
//! a clock that lies in a known way.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use romer_calibrate::{ClockOptions, prove_clock};
//! use romer_clock::SimulatedClock;
//! use romer_units::Duration;
//!
//! let clock = SimulatedClock { skew_ppm: 50.0, ..SimulatedClock::default() };
//! let options = ClockOptions { clock, duration: Duration::from_secs(1), interval: Duration::from_millis(10) };
//! let proof = prove_clock(&options, &AtomicBool::new(false))?;
//! assert_eq!(proof.probes, 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod clock;
mod common_event;
mod error;
mod gaps;
mod machine;
mod paths;
mod rounds;
mod two_runs;

pub use clock::{ClockOptions, prove_clock};
pub use common_event::{
    CommonEventError, EventSource, EventStamp, STAMPS_HEADER, compare_clocks, listen, send_common_packets,
    stamps,
};
pub use error::CalibrateError;
pub use machine::{choose, this_machine, unreadable};
pub use rounds::{CalibrationOptions, calibrate};
pub use two_runs::{RunAtRate, TwoRunsError, two_runs};
