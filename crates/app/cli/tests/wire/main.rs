//! What arrives at a responder from those who mean it no good, or do not mean it at all: rows of tables, random
//! datagrams, floods. The senders run on host A of a laboratory, where they may use any port and any address.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

#[path = "../common/mod.rs"]
mod common;
mod control;
mod datagrams;
mod hostile;
mod keys;
mod loops;
mod sessions;
mod table;
mod tap;
