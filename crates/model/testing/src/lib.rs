//! What the tests of several crates share without a computer: captures built octet by octet ([`pcap`]), a [`stream`] of a run, and a check of
//! documents against their JSON schemas ([`schema`]). Only tests depend on it; its functions panic where a test fails.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "the helpers of tests fail as the tests do"
)]

mod made_up;
pub mod pcap;
pub mod schema;

pub use made_up::stream;
