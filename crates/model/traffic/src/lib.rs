//! When packets depart, and how large they are.
//!
//! A [`Schedule`] is an iterator of [`Departure`]s made from a [`Request`]: the pure part of a traffic generator.
//! It reads no clock and no file; offsets count from a start that the caller chooses, and randomness comes from a
//! seed, so that the same request gives the same departures on any machine. Every random number is a function of
//! (seed, ordinal).
//!
//! | module | what |
//! | --- | --- |
//! | `model` | the models by name, as `--traffic` takes them |
//! | `schedule` | from a request to departures |
//! | `codec`, `spurt` | speech: packets of codecs, talk and silence |
//! | `imix`, `size` | mixtures of sizes |
//! | `bucket` | the token bucket of Qtcp |
//! | `trace` | recorded departures |
//! | `jitter` | the schedule perturbed on purpose |
//! | `noise` | cross traffic of a stated rate |
//!
//! ```
//! use romer_traffic::{Limit, Request, Schedule};
//! let request = Request { interval: Some("20ms".parse()?), ..Request::new("periodic".parse()?, Limit::Count(3)) };
//! let offsets: Vec<i64> = Schedule::new(&request)?.map(|departure| departure.offset.as_nanos()).collect();
//! assert_eq!(offsets, [0, 20_000_000, 40_000_000]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod bucket;
mod codec;
mod draw;
mod error;
mod imix;
mod jitter;
mod model;
mod noise;
mod on_off;
mod parse_error;
mod schedule;
mod size;
mod trace;

pub use bucket::TokenBucket;
pub use codec::{BundleOutOfRange, Codec};
pub use error::TrafficError;
pub use imix::{Frames, Imix, IpVersion, Share, udp_payload};
pub use jitter::DepartureJitter;
pub use model::TrafficModel;
pub use noise::{Noise, NoiseError, NoiseRequest};
pub use on_off::{DurationLaw, Talkspurt};
pub use parse_error::ParseError;
pub use schedule::{
    DEFAULT_INTERVAL, Departure, Limit, MESSAGE_INTERVAL, Request, SPEECH_INTERVAL, Schedule,
};
pub use size::Payloads;
pub use trace::{Trace, TraceError, TraceFault};
