//! Ports over virtual links: every kind of frame comes through octet for octet, what the kernel drops is counted, an
//! interface that goes down or away is told, and the host is left as it was, also by a kill.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod host;
mod transfer;
mod xdp;

/// Runs the test of this name with every right over the network that it makes.
#[macro_export]
macro_rules! in_network {
    ($name:literal) => {
        |test: fn()| {
            let path = concat!(module_path!(), "::", $name);
            // Within the program, a test is called by its path without the crate.
            romer_testnet::namespace::with_network(path.split_once("::").unwrap().1, test);
        }
    };
}
