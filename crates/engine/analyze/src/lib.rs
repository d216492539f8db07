//! Packet logs, captures and files of other tools become measurement documents.
//!
//! [`evaluate`] makes the document of a stream from its manifest and its rows, the same at the end of a run and whenever the run
//! is read again ([`reading`]); [`analysis`] does so for captures and for files of other tools; [`measured`]
//! reads what is to be compared, of any of these kinds; [`qtcp`] converts the files of Qtcp.
//!
//! ```
//! use romer_analyze::analysis::{Analysis, analyze};
//!
//! // A packet every 20 ms, each of which takes 5 ms; one does not arrive.
//! let mut log = String::from("sequence,size,sent_ns,received_ns\n");
//! for number in 0..100_i64 {
//!     let sent = 1_700_000_000_000_000_000 + number * 20_000_000;
//!     let received = if number == 50 { String::new() } else { (sent + 5_000_000).to_string() };
//!     log.push_str(&format!("{number},172,{sent},{received}\n"));
//! }
//! let file = std::env::temp_dir().join(format!("romer-analyze-{}.csv", std::process::id()));
//! std::fs::write(&file, log)?;
//! let evaluated = analyze(&Analysis::new(&file, "romer analyze".into()));
//! std::fs::remove_file(&file)?;
//! let packets = evaluated?.measurement.forward.packets;
//! assert_eq!((packets.received, packets.lost), (Some(99), Some(1)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod analysis;
pub mod call;
pub mod evaluate;
pub mod export;
pub mod limits;
pub mod measured;
pub mod outcomes;
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
