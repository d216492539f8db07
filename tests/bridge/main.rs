//! A bridge between two hosts: what goes through it, what the scenario does to it, and that every packet is accounted
//! for, whatever happens.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

#[path = "../kernel-beliefs/context.rs"]
#[expect(dead_code, reason = "shared with the tests of beliefs, which use all of it")]
mod context;
#[path = "../ports/frames.rs"]
mod frames;
mod kills;
#[path = "../ports/link.rs"]
#[expect(dead_code, reason = "shared with the tests of ports, which use all of it")]
mod link;
mod live;
mod planes;
mod quiet;
mod replay;
