//! What the tests of several crates share to meet the kernel: network namespaces that end with their test
//! ([`namespace`]), virtual links between them ([`link`]), and frames to send over these ([`frames`]). Only tests depend
//! on it; its functions panic where a test fails.
#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "the helpers of tests fail as the tests do"
)]

pub mod frames;
pub mod link;
pub mod namespace;
