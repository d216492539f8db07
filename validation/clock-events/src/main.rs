//! The same as `romer-validation -- clock-events`, without the packages that send packets.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use clap::Parser;
use romer_clock_events::{Plan, run};

/// Compares the estimate of the clocks with the truth of simulated runs.
#[derive(Debug, Parser)]
struct Arguments {
    /// Plays of each row.
    #[arg(long, default_value_t = 200)]
    plays: u32,
    /// Seed of the first play.
    #[arg(long, default_value_t = 1)]
    first_seed: u32,
    /// Only rows whose name contains this (repeatable).
    #[arg(long = "row", value_name = "TEXT")]
    rows: Vec<String>,
    /// Methods of `--skew` (repeatable); the first is the reference.
    #[arg(long = "method", value_name = "METHOD", default_value = "best")]
    methods: Vec<String>,
    /// Threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Folder of `clock-events.md` and `clock-events.csv`.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// File with the outcome of each play.
    #[arg(long, value_name = "FILE")]
    plays_file: Option<PathBuf>,
}

fn main() -> ExitCode {
    match carry_out(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn carry_out(arguments: &Arguments) -> Result<()> {
    let plan = Plan {
        plays: arguments.plays,
        first_seed: arguments.first_seed,
        rows: arguments.rows.clone(),
        methods: arguments.methods.clone(),
        threads: arguments.threads,
    };
    let results = run(&plan, &AtomicBool::new(false), &|line| {
        let _ = writeln!(std::io::stdout(), "{line}");
    })?;
    match &arguments.out {
        Some(folder) => results.write(folder)?,
        None => drop(writeln!(std::io::stdout(), "\n{}", results.page())),
    }
    if let Some(file) = &arguments.plays_file {
        std::fs::write(file, results.plays_csv())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}
