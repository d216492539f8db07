//! A bridge between two hosts: what goes through it, what the scenario does to it, and that every packet is accounted
//! for, whatever happens.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod kills;
mod live;
mod planes;
mod quiet;
mod replay;
