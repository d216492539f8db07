//! TLS 1.3 of the control channel, and trust in the other end.
//!
//! Each end has one key for a long time ([`identity`]) and proves it in the handshake. An initiator knows responders by the
//! fingerprints of their keys ([`known_peers`]): a responder that it meets for the first time is accepted and remembered, and a
//! changed key is refused. [`pairing`] proves with a short code, read from one screen and typed at the other, that no third party is
//! between the two. With certificates of an authority ([`TlsFiles::authority`]) that authority decides instead.

mod accepting;
mod certificates;
mod connecting;
mod error;
mod files;
pub mod identity;
pub mod known_peers;
pub mod pairing;
mod session;
mod stream;
mod verifier;

pub use accepting::{ResponderChannel, ResponderChannelOptions};
pub use connecting::{Channel, ChannelOptions, PeerChannel, Unverified};
pub use error::{ChannelError, NoProbeKey, tls_fault};
pub use files::{TlsFiles, state_folder};
pub use stream::ChannelStream;
