//! The machine of a validation.

use serde::Serialize;

/// Where and how it was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Machine {
    pub(crate) started_unix_s: u64,
    pub(crate) ended_unix_s: u64,
    pub(crate) software: &'static str,
    pub(crate) kernel: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) clock_source: String,
    /// Whether by root, and so with real-time threads, or in a user namespace.
    pub(crate) root: bool,
    pub(crate) runs: u32,
    pub(crate) probes: u64,
}
