//! Quantities of the laboratory.
//!
//! A time is an integer number of nanoseconds on a *named* clock ([`Timestamp`]); the name is in the type, so
//! that two times of different clocks cannot be subtracted by accident. A [`Stamp`] is such a time together with
//! the [`TimestampPoint`] where it was taken. The rest are lengths of time, rates, sizes, code points and ranges of addresses,
//! each with the way people write it (`45ms`, `100Mbit`, `64B`, `ef`, `192.0.2.0/24`), and [`random`], the integer stream that every seed
//! replays. Sentences about numbers of things have [`counted`] and [`was`].
//!
//! ```compile_fail
//! use romer_units::{Responder, Sender, Timestamp};
//! let left = Timestamp::<Sender>::from_nanos(1_000);
//! let arrived = Timestamp::<Responder>::from_nanos(1_500);
//! let delay = arrived - left; // different clocks: only `romer_clock::across` relates them
//! ```
//!
//! The same clock is no obstacle:
//!
//! ```
//! use romer_units::{Duration, Sender, Timestamp};
//! let left = Timestamp::<Sender>::from_nanos(1_000);
//! let back = Timestamp::<Sender>::from_nanos(2_500);
//! assert_eq!(back - left, Duration::from_nanos(1_500));
//! ```
#![forbid(unsafe_code)]

mod direction;
mod dscp;
mod ecn;
mod prefix;
mod quantity;
pub mod random;
mod rate;
mod size;
mod sum;
mod time;
mod words;

pub use direction::Direction;
pub use dscp::Dscp;
pub use ecn::Ecn;
pub use prefix::Prefix;
pub use quantity::QuantityError;
pub use rate::{Layer, LineRate, Rate};
pub use size::{FrameSize, Size};
pub use sum::saturating_sum;
pub use time::{
    Arrival, Clock, Departure, Duration, Monotonic, Responder, Sender, Stamp, Timestamp, TimestampPoint,
};
pub use words::{counted, counted_as, excerpt, was};
