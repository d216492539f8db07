//! Singletons: from probe records to the singletons of each direction and of the round trip.
//!
//! [`relate()`] converts the rows of a packet log to the singletons of each direction. A [`Selection`] says which of the
//! time stamps of a moment is used. A singleton has a fate (arrived, late, lost, not known) and a delay. On one clock
//! the delay is absolute. On two clocks it is the part above the minimum, and [`correct_clocks`] removes from it what
//! [`romer_clock`] estimates of their error. The delay of a round trip needs no offset, because each of its
//! differences is on one clock.
//!
//! Before that, a stage can withdraw packets that were not sent ([`withdraw_unsent`], [`dropped`]) or reject false
//! stamps ([`StampCheck`]). After it, [`instrument`] finds packets that the measuring host dropped, [`causes`] names
//! the events behind losses, and [`calibration`] subtracts the error of the tool.
//!
//! ```
//! use romer_singletons::{ResponderLog, Selection, relate};
//! use romer_record::manifest::{ClockRelation, StampRequest};
//! use romer_record::{Fate, RoundTrip, Stamps};
//! use romer_units::{Clock, Duration, Timestamp};
//!
//! fn user<C: Clock>(nanos: i64) -> Stamps<C> {
//!     Stamps { user: Some(Timestamp::from_nanos(nanos)), ..Stamps::default() }
//! }
//! // Two probes by one clock. The second did not arrive at the responder, which has a log.
//! let first = RoundTrip {
//!     t1: user(0),
//!     t2: user(5_000),
//!     t3: user(6_000),
//!     t4: user(10_000),
//!     returned: true,
//!     seen_by_responder: true,
//!     ..RoundTrip::default()
//! };
//! let second = RoundTrip { sequence: 1, t1: user(1_000_000), ..RoundTrip::default() };
//! let rows = [first, second];
//! let selection = Selection::choose(&rows, StampRequest::Best, true);
//! let waiting_time = Duration::from_secs(2);
//! let related = relate(&rows, &selection, ClockRelation::Shared, waiting_time, ResponderLog::Complete);
//! assert_eq!(related.forward[0].delay, Some(Duration::from_nanos(5_000)));
//! assert_eq!(related.reverse[0].delay, Some(Duration::from_nanos(4_000)));
//! assert_eq!(related.round_trip[0].delay, Some(Duration::from_nanos(9_000)));
//! assert_eq!(related.forward[1].fate, Fate::Lost);
//! ```
#![forbid(unsafe_code)]

mod arrivals;
mod bunches;
pub mod calibration;
mod causality;
pub mod causes;
mod clocks;
mod delays;
pub mod dropped;
mod due;
pub mod instrument;
mod link;
mod location;
mod neighbours;
mod numbers;
mod quick;
mod rejected;
mod relate;
mod selection;
mod single;
mod synchronised;
mod under_step;
mod unsent;
mod watched;

pub use arrivals::ArrivalsSeen;
pub use bunches::{CardEvidence, CoalescedArrivals, bunches};
pub use clocks::{Corrected, correct_clocks, correct_clocks_by};
pub use link::UNWATCHED;
pub use location::{
    LocationDifferences, LocationSeries, LocationShapes, LocationThinning, location_errors, put_together,
};
pub use numbers::ReplyNumbers;
pub use quick::DelayOutliers;
pub use rejected::{Fractions, Rejected, RejectedStamps, StampCheck};
pub use relate::{Relating, ResponderLog, StreamSingletons, relate};
pub use selection::{Selection, Tallies};
pub use unsent::withdraw_unsent;
pub use watched::WatchedDelays;
