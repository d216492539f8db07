//! A UDP socket whose datagrams are stamped by the kernel where they leave and where they arrive.
//!
//! Every datagram has a user stamp as well, taken right before the send call or right after the receive call.
//! Transmit stamps come back later through the socket's error queue; each is known by the `id` that the sender
//! gave. Nothing here blocks but [`StampingSocket::wait`] and [`wait_any`], and nothing is allocated by sending or
//! receiving.
//!
//! ```
//! use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket, TransmitEvents};
//! # fn main() -> Result<(), romer_host::HostError> {
//! let options = SocketOptions::default();
//! let (one, other) = (
//!     StampingSocket::bind("127.0.0.1:0".parse().unwrap(), &options)?,
//!     StampingSocket::bind("127.0.0.1:0".parse().unwrap(), &options)?,
//! );
//! let sent = one.send(&Outgoing::new(b"probe", other.local_address(), 7))?;
//!
//! let mut batch = ReceiveBatch::new(32, 2_048);
//! other.wait(None)?;
//! other.receive_batch(&mut batch)?;
//! let datagram = batch.iter().next().unwrap();
//! assert_eq!((datagram.payload, datagram.peer), (&b"probe"[..], one.local_address()));
//! assert!(datagram.user >= sent.user);
//!
//! let mut events = TransmitEvents::new(64);
//! while one.transmit_events(&mut events)? == 0 {
//!     one.wait(None)?;
//! }
//! assert_eq!(events.stamps()[0].id, 7);
//! # Ok(())
//! # }
//! ```

mod address;
mod control;
mod events;
mod identity;
mod receive;
mod send;
mod stamping;
mod tap;
#[cfg(test)]
mod tests;
mod wait;

pub use events::{CardTransmitStamp, PathError, PathErrorKind, QUOTED, TransmitEvents, TransmitStamp};
pub use receive::{Datagram, ReceiveBatch};
pub use send::{Outgoing, Sent, Source};
pub use stamping::{SocketOptions, StampingSocket};
pub use tap::{Mark, PacketTap, TappedPacket};
pub(crate) use wait::poll_until;
pub use wait::{MAX_WAITED, Ready, Waker, wait_any};
