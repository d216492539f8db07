//! What both ends of a session share: addresses and names, keys, threads and their priority, time stamps of network cards,
//! what is known of the host's clock, the monitor that reports what happens to the host during a run, cross traffic, and ends of RSVP flows.

pub mod byte_stream;
pub mod card;
pub mod circumstances;
mod error;
pub mod host_events;
pub mod interface;
pub mod key;
pub mod names;
pub mod noise;
pub mod overflow;
pub mod queues;
pub mod rsvp;
pub mod scheduling_watch;
pub mod threads;

pub use error::EndpointError;
pub use threads::ThreadOptions;

/// Six fresh words from the kernel, for the seed of a run.
pub fn random_words() -> [u32; 6] {
    std::array::from_fn(|_| u32::from_ne_bytes(circumstances::random()))
}
