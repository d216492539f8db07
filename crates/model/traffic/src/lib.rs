//! When packets depart, and how large they are.
//!
//! A [`Schedule`] is an iterator of [`Departure`]s made from a [`Request`]: the pure part of a traffic generator.
//! It reads no clock; offsets count from a start that the caller chooses, and randomness comes from a seed, so
//! that the same request gives the same departures on any machine.
//!
//! ```
//! use romer_traffic::{Limit, Request, Schedule};
//! let request = Request { interval: Some("20ms".parse()?), ..Request::new("periodic".parse()?, Limit::Count(3)) };
//! let offsets: Vec<i64> = Schedule::new(&request)?.map(|departure| departure.offset.as_nanos()).collect();
//! assert_eq!(offsets, [0, 20_000_000, 40_000_000]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod model;
mod schedule;

pub use model::TrafficModel;
pub use schedule::{Departure, Limit, Request, Schedule};

use romer_units::Duration;
use thiserror::Error;

/// Mean time between departures where none is asked for and the model has none of its own.
pub const DEFAULT_INTERVAL: Duration = Duration::from_millis(100);

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// The name is not one of a model.
    #[error("no traffic model is named {name:?}; use {}", TrafficModel::NAMES.join(", "))]
    UnknownModel {
        /// What was written, cut to a length that one can read.
        name: String,
    },
    /// An interval that is zero or negative.
    #[error("an interval of {interval} has no meaning; use one above 0ns, such as 20ms")]
    IntervalNotPositive {
        /// What was asked for.
        interval: Duration,
    },
    /// An interval beside a codec, which has its own.
    #[error(
        "{model} sends every {own}, so that no other interval applies; leave the interval out, or bundle more"
    )]
    IntervalOfCodec {
        /// The codec.
        model: TrafficModel,
        /// The interval that it has.
        own: Duration,
    },
    /// Bundling asked of a model that has no frames.
    #[error("{model} has no frames to bundle; leave the bundling out, or use melp")]
    NothingToBundle {
        /// The model.
        model: TrafficModel,
    },
    /// A number of frames that the codec does not bundle.
    #[error("{bundle} frames in a packet are not foreseen; use {least} to {most}")]
    BundleOutOfRange {
        /// What was asked for.
        bundle: u32,
        /// Fewest.
        least: u32,
        /// Most.
        most: u32,
    },
    /// A payload too small for what the codec puts into it.
    #[error("a payload of {size} octets does not hold {needed} octets of speech; use at least {needed}B")]
    SizeTooSmall {
        /// What was asked for.
        size: u32,
        /// What the frames take.
        needed: u32,
    },
    /// A duration that is zero or negative.
    #[error("a duration of {duration} has no meaning; use one above 0ns, such as 10s")]
    DurationNotPositive {
        /// What was asked for.
        duration: Duration,
    },
    /// The last departure would lie outside the range of time.
    #[error("{count} packets every {interval} do not end within 292 years; use fewer, or a shorter interval")]
    TooLong {
        /// Packets asked for.
        count: u64,
        /// Mean time between them.
        interval: Duration,
    },
}
