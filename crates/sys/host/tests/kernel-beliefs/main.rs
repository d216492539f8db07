//! What romer relies on the kernel for, each belief pinned by a test that says who relies on it.
//!
//! Where a test fails, this kernel is not the one that romer was written for, and what it names must be looked at
//! again. Beliefs about links and namespaces need rights over a network: as root they are tested in namespaces of
//! this machine, else in a user namespace, in which this program runs the one test again. Beliefs about what an
//! ordinary user may do are tested as one, which root becomes for the purpose. None is ever left out.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod namespaces;
mod pacing;
mod queues;
mod raw;
mod raw_ipv4;
mod stamps;
mod wire;
