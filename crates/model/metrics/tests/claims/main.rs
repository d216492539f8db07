//! What the statistics claim, held against vectors, laws and simulated truth.

mod common;
mod coverage;
mod jitter_vectors;
mod properties;
