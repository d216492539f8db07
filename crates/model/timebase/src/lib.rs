//! What two clocks allow to be said of a delay.
//!
//! The stamps of a round trip are on two clocks, and their types keep them apart. [`relate`] brings them
//! together: it turns the rows of a packet log into the passages of each direction, with delays that say no more
//! than the clocks allow. Where both ends read one clock a delay is absolute; where the offset is not known it is
//! the part above the minimum, and the offset has the bounds that causality gives: no packet arrives before it
//! was sent. The round trip needs no offset, because each of its differences is on one clock.
//!
//! This is the only crate that subtracts times of two clocks, and it does so in one function
//! (`clocks::across`). A network card's clock is a third kind: [`card`] carries its stamps over to its own host's clock before
//! they become rows.
#![forbid(unsafe_code)]

mod arrivals;
mod bunches;
pub mod calibration;
pub mod card;
mod causality;
pub mod causes;
mod clocks;
pub mod dropped;
mod due;
pub mod instrument;
mod location;
mod numbers;
mod pretended;
mod rejected;
mod relate;
mod selection;
pub mod skew;
pub mod steps;
mod under_step;
mod watched;

pub use arrivals::ArrivalsSeen;
pub use bunches::{Bunches, CardEvidence, bunches};
pub use clocks::offset_bounds;
pub use location::{
    LocationDifferences, LocationSeries, LocationShapes, LocationThinning, location_errors, put_together,
};
pub use numbers::{Numbering, ReplyNumbers};
pub use pretended::{FoundOut, PretendedClock};
pub use rejected::{FalseUnit, Fractions, Rejected, RejectedStamps, StampCheck};
pub use relate::{FarLog, Related, Relating, relate};
pub use selection::{Selection, Tallies};
pub use watched::WatchedDelays;
