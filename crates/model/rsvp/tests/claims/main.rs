//! Claims about messages and machines: test vectors, mutated octets, single situations, and soft state under loss.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod admission;
mod common;
mod endings;
mod errors;
mod mutations;
mod simulation;
mod vectors;
