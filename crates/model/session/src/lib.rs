//! The protocols, as state machines: events in, actions out; the time is an argument, sockets are elsewhere.
//!
//! - [`sender`]: [`sender::Departures`] makes the probes of one stream, [`sender::ReplyMatcher`] knows their
//!   reflections (RFC 8762).
//! - [`reflector`]: the stateless Session-Reflector, its admission rules and its counters; [`limit`] is its
//!   token bucket for each address prefix.
//! - [`send_limit`]: what a responder sends of its own, in packets and in bits.
//! - [`control`]: the messages of the control channel and both ends' machines, by which the responder's own log
//!   comes back to the sender.
//! - [`network`]: the prefixes by which shares are counted.
//! - [`recent`]: which of the latest numbers have come.
//! - [`route`]: the search for the routers on the way.
//! - [`association`]: the datagram with which a sender proves the address of its test packets.
#![forbid(unsafe_code)]

pub mod association;
pub mod control;
pub mod limit;
pub mod network;
pub mod recent;
pub mod reflector;
pub mod route;
pub mod send_limit;
pub mod sender;
