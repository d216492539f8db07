//! What both ends of a session share: addresses and names, keys, TLS and pairing, threads and their priority, time stamps of network cards,
//! what is known of the host's clock, the monitor that reports what happens to the host during a run, counts of damaged probes,
//! cross traffic, marks of packets beyond a traffic profile, and ends of RSVP flows.
//!
//! ```
//! use std::net::SocketAddr;
//!
//! use romer_endpoint::names::{Family, Target};
//!
//! let target: Target = "[::1]:8862".parse()?;
//! let addresses = target.addresses(Family::Any, 862)?;
//! assert_eq!(addresses, ["[::1]:862".parse::<SocketAddr>()?], "the port is that of the test packets");
//! assert!(target.addresses(Family::V4, 862).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod byte_stream;
pub mod card;
pub mod circumstances;
pub mod clock_sync;
pub mod damage;
mod error;
pub mod fingerprint;
pub mod host_events;
pub mod host_monitor;
pub mod in_packet;
pub mod interface;
pub mod key;
pub mod names;
pub mod noise;
pub mod overflow;
pub mod queues;
pub mod remarking;
pub mod responder_host_monitor;
pub mod rsvp;
pub mod scheduling_watch;
pub mod threads;
pub mod tls;

pub use error::EndpointError;
pub use threads::ThreadOptions;

/// Six fresh words from the kernel, for the seed of a run.
pub fn random_words() -> [u32; 6] {
    std::array::from_fn(|_| u32::from_ne_bytes(circumstances::random()))
}
