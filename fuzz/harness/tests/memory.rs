//! How much memory one input may take. Alone in its program, because it measures all that the program allocates.

use std::fs;

use peak_alloc::PeakAlloc;
use romer_fuzz_harness::TARGETS;
use romer_fuzz_harness::mutate::Mutations;
use romer_units::random::Seed;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The most that one input may take while it is looked at. Inputs have at most some kilobytes: a reader that takes their claims for
/// what they are allocates gigabytes.
const MOST_MEGABYTES: f32 = 64.0;
/// Mutations of each target, divided by its cost.
const ROUNDS: u64 = 20_000;

/// Memory follows what an input holds, and not what it claims to hold.
#[test]
fn memory_of_each_input_is_bounded() {
    for target in TARGETS {
        let entries = fs::read_dir(target.corpus()).expect("the corpus can be listed");
        let mut paths: Vec<_> =
            entries.map(|entry| entry.expect("the corpus can be listed").path()).collect();
        paths.sort();
        let files: Vec<Vec<u8>> =
            paths.iter().map(|path| fs::read(path).expect("the corpus can be read")).collect();
        let mutations = (0..ROUNDS.div_ceil(target.cost))
            .map(|ordinal| Mutations::new(Seed([3, 1, 4, 1, 5, 9])).nth(ordinal, &files));
        for input in files.iter().cloned().chain(mutations) {
            MEMORY.reset_peak_usage();
            let before = MEMORY.current_usage_as_mb();
            (target.run)(&input);
            let taken = MEMORY.peak_usage_as_mb() - before;
            assert!(taken <= MOST_MEGABYTES, "{} takes {taken} MB for {input:02x?}", target.name);
        }
    }
}
