//! What every fuzz target does with its bytes.
//!
//! A [`Target`] has a harness, which takes any bytes and asserts what must hold for them, and seeds, from
//! which a fuzzer starts. The fuzzer's binaries (`fuzz/fuzz_targets`) call [`run`]; `cargo test` replays the
//! corpus (`fuzz/corpus/NAME`) and mutations of it without a fuzzer.
//!
//! A new target is a module with two functions, `run(&[u8])` and `seeds() -> Vec<Seed>`; a line in
//! [`TARGETS`]; a file in `fuzz/fuzz_targets` with its `[[bin]]` in `fuzz/Cargo.toml`; and `cargo run -p
//! romer-fuzz-harness --example seed_corpus`, which writes its seeds.
#![forbid(unsafe_code)]

mod arrivals;
mod association;
mod control_conversation;
mod ethernet_frame;
mod log_entries;
pub mod mutate;
mod one_way_probes;
mod packet_log;
mod quantity;
mod reflector_machine;
mod scenario;
mod script;
mod sender_returns;
mod stamp_reflector;
mod stamp_sender;
mod target;
mod test_frame;
mod trace;

use std::path::PathBuf;

/// A file of the corpus: its name, which says what it shows, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The file's name.
    pub name: &'static str,
    /// Its content.
    pub octets: Vec<u8>,
}

impl Seed {
    fn new(name: &'static str, octets: impl Into<Vec<u8>>) -> Self {
        Self { name, octets: octets.into() }
    }
}

/// Something to throw bytes at.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: of the binary, and of the folder of its corpus.
    pub name: &'static str,
    /// Takes any bytes; panics where what must hold for them does not.
    pub run: fn(&[u8]),
    /// Bytes to start from, one for each thing worth reaching.
    pub seeds: fn() -> Vec<Seed>,
}

impl Target {
    /// The folder of its corpus.
    pub fn corpus(&self) -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "..", "corpus", self.name].iter().collect()
    }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "ethernet_frame", run: ethernet_frame::run, seeds: ethernet_frame::seeds },
    Target { name: "stamp_sender", run: stamp_sender::run, seeds: stamp_sender::seeds },
    Target { name: "stamp_reflector", run: stamp_reflector::run, seeds: stamp_reflector::seeds },
    Target { name: "quantity", run: quantity::run, seeds: quantity::seeds },
    Target { name: "log_entries", run: log_entries::run, seeds: log_entries::seeds },
    Target { name: "packet_log", run: packet_log::run, seeds: packet_log::seeds },
    Target {
        name: "control_conversation",
        run: control_conversation::run,
        seeds: control_conversation::seeds,
    },
    Target { name: "association", run: association::run, seeds: association::seeds },
    Target { name: "reflector_machine", run: reflector_machine::run, seeds: reflector_machine::seeds },
    Target { name: "sender_returns", run: sender_returns::run, seeds: sender_returns::seeds },
    Target { name: "one_way_probes", run: one_way_probes::run, seeds: one_way_probes::seeds },
    Target { name: "target", run: target::run, seeds: target::seeds },
    Target { name: "test_frame", run: test_frame::run, seeds: test_frame::seeds },
    Target { name: "scenario", run: scenario::run, seeds: scenario::seeds },
    Target { name: "trace", run: trace::run, seeds: trace::seeds },
    Target { name: "arrivals", run: arrivals::run, seeds: arrivals::seeds },
];

/// Runs the harness of the target called `name` on `octets`.
///
/// # Panics
/// Where there is no such target, or where something that must hold for `octets` does not.
pub fn run(name: &str, octets: &[u8]) {
    match TARGETS.iter().find(|target| target.name == name) {
        Some(target) => (target.run)(octets),
        None => panic!("there is no fuzz target called {name}"),
    }
}
