//! Writes the seeds of every fuzz target into its corpus. Files that are there under other names stay.

use std::{fs, io};

use romer_fuzz_harness::TARGETS;

fn main() -> io::Result<()> {
    for target in TARGETS {
        fs::create_dir_all(target.corpus())?;
        for seed in (target.seeds)() {
            fs::write(target.corpus().join(seed.name), seed.octets)?;
        }
    }
    Ok(())
}
