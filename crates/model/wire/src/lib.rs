//! Frames and probes as bytes.
//!
//! Each protocol has two faces. A *view* ([`ethernet::Frame`], [`ipv4::Packet`], [`ipv6::Packet`],
//! [`udp::Datagram`]) is laid on bytes that came from anywhere: making one checks every length once and
//! either says what is wrong or gives accessors that cannot fail. A *Repr* ([`ethernet::Repr`],
//! [`ipv4::Repr`], [`ipv6::Repr`], [`udp::Repr`], [`stamp::SenderPacket`], [`stamp::ReflectorPacket`],
//! the values of [`stamp::tlv`]) holds the fields of a legal header, and emits it. [`oneway_probe`] is romer's own probe
//! for payloads that are too short for the others, and [`test_frame`] what a benchmark writes into its frames.
//!
//! No function of this crate panics, whatever the bytes; the property tests of each module and the fuzz
//! targets hold it to that. Nothing here reads a clock: where a time of day is needed to choose an era
//! ([`ntp`]), it is an argument.
#![forbid(unsafe_code)]

mod bytes;
pub mod checksum;
pub mod dissect;
pub mod ethernet;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod neighbour;
pub mod ntp;
pub mod oneway_probe;
pub mod pattern;
pub mod pcapng;
pub mod segmentation;
pub mod stamp;
pub mod test_frame;
pub mod transport;
pub mod udp;
