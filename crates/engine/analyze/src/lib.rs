//! Packet logs, captures and files of other tools become measurement documents.
//!
//! [`evaluate`] makes the document of a stream from its manifest and its rows, the same at the end of a run and whenever the run
//! is read again ([`reading`]); [`analysis`] does so for captures and for files of other tools; [`qtcp`] converts the files of Qtcp.

pub mod analysis;
pub mod call;
pub mod evaluate;
pub mod export;
pub mod limits;
pub mod qtcp;
pub mod reading;

use romer_units::Duration;

use evaluate::Evaluated;

/// How long a packet is waited for before it counts as lost, unless the user says otherwise.
pub const WAITING_TIME: Duration = Duration::from_secs(2);

/// The report of `streams` as a page. A chart that cannot be drawn leaves a page that says so.
pub fn page(streams: &[Evaluated]) -> String {
    let streams: Vec<_> = streams.iter().map(Evaluated::for_report).collect();
    romer_report::html::report(&streams).unwrap_or_else(|error| {
        let text = romer_report::escape::markup(&error.to_string());
        format!("<!doctype html><meta charset=\"utf-8\"><title>romer</title><p>{text}</p>")
    })
}
