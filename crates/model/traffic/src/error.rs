//! Why there is no schedule.

use romer_units::Duration;
use thiserror::Error;

use crate::codec::BundleOutOfRange;
use crate::model::TrafficModel;

/// Why there is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// A number of frames that the codec does not bundle.
    #[error(transparent)]
    Bundle(#[from] BundleOutOfRange),
    /// An interval that is zero or negative.
    #[error("{interval} is not above 0; use an interval such as 20ms")]
    IntervalNotPositive {
        /// The request.
        interval: Duration,
    },
    /// An interval beside a model that has its own.
    #[error("{} sends a packet every {own}; omit --interval{}", brief(model), more(model))]
    IntervalOfModel {
        /// The model.
        model: TrafficModel,
        /// The interval that it has in the mean.
        own: Duration,
    },
    /// A size beside a model that has its own.
    #[error("{} defines its packet sizes; omit the size", brief(model))]
    SizeOfModel {
        /// The model.
        model: TrafficModel,
    },
    /// Bundling asked of a model that has no frames.
    #[error(
        "{} has no frames to bundle; omit --bundle, or use melp, g711, g729, opus, amr-wb or evs",
        brief(model)
    )]
    NothingToBundle {
        /// The model.
        model: TrafficModel,
    },
    /// A payload too small for what the codec puts into it.
    #[error("a payload of {size} bytes is too small for {needed} bytes of speech; use at least {needed}B")]
    SizeTooSmall {
        /// The request.
        size: u32,
        /// What the frames take.
        needed: u32,
    },
    /// A packet that the bucket never holds tokens for.
    #[error(
        "a packet of {size} bytes never passes a bucket of {depth} bytes; use 1B to {depth}B, or a deeper bucket"
    )]
    SizeAboveDepth {
        /// The request.
        size: u32,
        /// What the bucket holds.
        depth: u64,
    },
    /// Packets so far apart that most spurts have none.
    #[error(
        "{} is on for {on} in the mean, which is shorter than the {interval} between packets; use a shorter interval",
        brief(model)
    )]
    SpurtTooShort {
        /// The model.
        model: TrafficModel,
        /// How long it is on.
        on: Duration,
        /// The interval asked for.
        interval: Duration,
    },
    /// A model that wants a trace, without one.
    #[error("{} was not read; read its file first", brief(model))]
    TraceMissing {
        /// The model.
        model: TrafficModel,
    },
    /// A trace of which nothing is due in the time that was asked for.
    #[error(
        "the first packet of {} is due {first} after the start, and nothing is sent in {duration}; use a longer \
         duration, or a number of packets",
        brief(model)
    )]
    TraceBeginsLater {
        /// The model.
        model: TrafficModel,
        /// When its first packet is due.
        first: Duration,
        /// The request.
        duration: Duration,
    },
    /// A duration that is zero or negative.
    #[error("{duration} is not above 0; use a duration such as 10s")]
    DurationNotPositive {
        /// The request.
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

impl TrafficError {
    /// What of a request the error is about: `interval`, `bundle`, `size`, `duration` or `traffic`.
    pub const fn about(&self) -> &'static str {
        match self {
            Self::IntervalNotPositive { .. } | Self::IntervalOfModel { .. } => "interval",
            Self::NothingToBundle { .. } | Self::Bundle(_) => "bundle",
            Self::SizeOfModel { .. } => "size",
            Self::TraceBeginsLater { .. } => "duration",
            _ => "traffic",
        }
    }
}

/// A model in a message: a trace may have a path of 4,095 octets.
fn brief(model: &TrafficModel) -> String {
    romer_units::excerpt(&model.to_string(), 200)
}

/// What else a user can do who wants another interval.
fn more(model: &TrafficModel) -> &'static str {
    match model {
        TrafficModel::TokenBucket(_) => ", or use another rate or size",
        TrafficModel::Trace { .. } => "",
        _ => ", or change the frames in each packet (--bundle)",
    }
}
