//! The files of Qtcp: `.raw` and `.log` hold a line for each packet that arrived, `.sta` the counts.
//!
//! A line of `.raw` and `.log` is `sent:received:latency:size:sequence`, whole numbers in decimal; the first three are in
//! units of 100 ns, the size in octets (Appendix C). `.raw` has the stamps as they were taken, unless it was written
//! after normalisation; `.log` has them normalised ([`normalise`], Appendix A) and without the clocks' skew
//! ([`corrected`]). A line `0:0:LATENCY:SIZE:SEQUENCE` with a latency above zero stands for a lost packet ("dummy
//! entries"). A `.sta` file has lines `key: value`, with a line for each lost packet's number ([`sta`]).

mod diagnostics;
mod entry;
mod normalize;
mod numbers;
mod read;
mod record;
#[cfg(test)]
mod reference;
mod spread;
pub mod sta;
mod stream;
pub mod summary;
pub mod unit;
mod validate;
mod write;

pub use diagnostics::Notes;
pub use entry::{Entry, TOO_SMALL, UNIT_NS};
pub use normalize::{corrected, is_normalised, normalise};
pub use read::{FileContent, Options, examine, read};
pub use spread::Spread;
pub use stream::{Record, Records};
pub use validate::Validation;
pub use write::{Lines, Selection, write};
