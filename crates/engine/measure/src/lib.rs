//! Measure and respond: the session machines of the model, driven by real sockets and clocks, kept by the store.
//!
//! [`respond`] is the reflector with its control channel; [`measure`] runs streams of probes against reflectors
//! and keeps what happened in a run folder; [`evaluate`] makes the measurement document of a stream from its
//! manifest and its rows, the same at the end of a run and whenever the run is read again ([`reading`]).

pub mod analysis;
mod byte_stream;
pub mod call;
mod card;
mod circumstances;
mod error;
pub mod evaluate;
pub mod export;
mod interface;
pub mod key;
pub mod limits;
#[cfg(test)]
mod made_up;
pub mod measure;
pub mod names;
mod occurrences;
mod overflow;
mod pulse;
pub mod qtcp;
mod queues;
pub mod reading;
pub mod respond;
mod shell;
mod threads;

pub use error::MeasureError;
pub use shell::shell;
pub use threads::ThreadOptions;

/// Name and version of this program, as documents and the control channel give it.
pub const SOFTWARE: &str = concat!("romer ", env!("CARGO_PKG_VERSION"));

/// Six fresh words from the kernel, for the seed of a run.
pub fn random_words() -> [u32; 6] {
    std::array::from_fn(|_| u32::from_ne_bytes(circumstances::random()))
}
