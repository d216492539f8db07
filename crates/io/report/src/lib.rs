//! A run as a person or a program reads it.
//!
//! Everything here is a pure function from the measurement document, and for charts and tables of packets from the
//! singletons behind it: [`text`] is the summary on a terminal, [`html`] the page that is kept
//! with the run, [`svg`] its charts as files of their own, [`comparison`] what differs between two measurements,
//! [`closed_loop`] a measured path beside the emulation of its model, [`concatenation`] what two networks in series add up to,
//! [`emulation`] the page of an emulator's run, [`doctor`] what a machine can do.
//!
//! What came from outside (a target's name, a comment, what a responder says of itself) is never printed raw:
//! [`escape`] makes control characters visible on a terminal and markup harmless in a page.
#![forbid(unsafe_code)]

mod alike;
pub mod benchmark;
pub mod calibration;
pub mod causes;
mod chart;
pub mod closed_loop;
pub mod comparison;
pub mod concatenation;
pub mod doctor;
pub mod emulation;
pub mod escape;
pub mod event;
pub mod fidelity;
mod figure;
mod finding;
pub mod html;
mod input;
pub mod live;
mod many;
pub mod note;
mod number;
pub mod path_model;
mod refusal;
pub mod replies;
mod sentence;
mod setup;
mod sure;
pub mod svg;
mod table;
pub mod text;
mod voice;
pub mod warning;
mod words;

pub use input::{ReportError, Singletons, Stream};
pub use number::{count, maybe_time, percent, signed_time};
pub use sentence::unless_set;
pub use words::limit_value;
