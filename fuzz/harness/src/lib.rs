//! What every fuzz target does with its bytes.
//!
//! A [`Target`] has a harness, which takes any bytes and asserts what must hold for them, and seeds, from
//! which a fuzzer starts. The fuzzer's binary (`fuzz/fuzz_targets`) calls [`run`]; `cargo test` replays the
//! corpus (`fuzz/corpus/NAME`) and mutations of it without a fuzzer.
//!
//! A new target is a module with two functions, `run(&[u8])` and `seeds() -> Vec<Seed>`; a line with its cost in
//! [`TARGETS`]; and `cargo run -p romer-fuzz-harness --example seed_corpus`, which writes its seeds.
#![forbid(unsafe_code)]

mod analysis;
mod arrivals;
mod association;
mod bench_plan;
mod captures;
mod console_body;
mod control;
mod control_conversation;
mod control_request;
mod csv_table;
mod ethernet_frame;
mod irtt;
mod json;
mod log_entries;
pub mod mutate;
mod one_way_probes;
mod packet_log;
mod packets_file;
mod ping;
mod qtcp_files;
mod qtcp_live;
mod quantity;
mod rates;
mod reflector_machine;
mod rsvp;
mod run_documents;
mod scenario;
mod scratch;
mod script;
mod sender_returns;
mod stamp_reflector;
mod stamp_sender;
mod target;
mod test_frame;
mod trace;
mod traffic;

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
    /// How many times longer one input takes than one of most targets: so many times fewer mutations are replayed.
    pub cost: u64,
}

impl Target {
    /// The folder of its corpus.
    pub fn corpus(&self) -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "..", "corpus", self.name].iter().collect()
    }
}

macro_rules! targets {
    ($($name:ident: $cost:literal),* $(,)?) => {
        &[$(Target { name: stringify!($name), run: $name::run, seeds: $name::seeds, cost: $cost }),*]
    };
}

/// Every target, and its cost.
pub const TARGETS: &[Target] = targets! {
    ethernet_frame: 1,
    stamp_sender: 1,
    stamp_reflector: 1,
    quantity: 1,
    log_entries: 1,
    packet_log: 1,
    control_conversation: 1,
    association: 1,
    reflector_machine: 1,
    rsvp: 2,
    sender_returns: 1,
    one_way_probes: 1,
    target: 1,
    test_frame: 1,
    scenario: 1,
    trace: 1,
    arrivals: 1,
    analysis: 500,
    bench_plan: 50,
    captures: 1,
    console_body: 20,
    control_request: 5,
    csv_table: 1,
    irtt: 5,
    packets_file: 50,
    ping: 50,
    qtcp_files: 2,
    qtcp_live: 1,
    rates: 1,
    run_documents: 100,
    traffic: 20,
};

/// What a refusal is: one line, that a terminal can show, of at most `longest` octets.
fn assert_message(error: &impl core::fmt::Display, longest: usize) {
    let message = error.to_string();
    assert!(!message.chars().any(char::is_control), "control characters in {message:?}");
    assert!(message.len() <= longest, "{} octets: {message}", message.len());
}

/// The documents that `run_documents` changes are read by the types as they are today.
///
/// # Panics
/// Where they are not.
pub fn assert_documents_current() {
    run_documents::assert_current();
}

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
