//! Singletons to samples to statistics.
//!
//! A singleton is one packet's [`OneWaySingleton`](romer_record::OneWaySingleton); a sample is a sequence of numbers taken from
//! the singletons of one direction by a stated rule (`delays`, [`ipdv`], [`pdv`], the [`jitter`]s, ...); a
//! statistic is a number computed from a sample ([`summary`], [`histogram`], loss, reordering). [`direction`]
//! puts all of them into the document that other programs read. [`findings`] looks for what no figure shows.
//!
//! Three rules hold throughout. Packets are counted by their first copy. A packet that came after the waiting
//! time is lost to every statistic but `late` (RFC 7680 section 2.4). What the data do not allow to be known is
//! `None`; nothing is ever NaN or infinite.
#![forbid(unsafe_code)]

mod autocorrelation;
pub mod bootstrap;
pub mod concatenation;
mod direction;
mod distance;
pub mod findings;
mod header_counters;
mod histogram;
mod interval;
mod ipdv_interval;
pub mod jitter;
mod loss;
mod marking;
mod mean_deviation;
pub mod minimum_interval;
mod reordering;
mod sample;
mod sort;
mod summary;
mod value;
pub mod voice;
mod whole_numbers;

pub use autocorrelation::autocorrelation;
pub use direction::{DirectionContext, KnownLost, Part, PartResult, direction};
pub use distance::{Distance, Distances, distances, kolmogorov_smirnov, wasserstein};
pub use header_counters::{dscp_received, ecn_received, ttl};
pub use histogram::histogram;
pub use interval::student_975;
pub use ipdv_interval::ipdv_figures;
pub use loss::{LossPattern, loss_pattern, losses_by_cause, wilson_interval};
pub use marking::{Markings, markings};
pub use mean_deviation::deviations;
pub use reordering::{ReorderedPacket, reordering};
pub use sample::{
    delays, duplicate_spacings, in_order_of_arrival, inter_arrivals, inter_departures, ipdv, pdv, received,
    sent,
};
pub use sort::{nearly_ascending, put_in_order, settle_by_key};
pub use summary::{
    INTERVAL_METHOD, SKETCH_ABOVE, SKETCH_ERROR, described, of_neighbours, stddev_population, summary,
};
pub use value::{Value, Whole};
pub use whole_numbers::WholeNumbers;
