//! `romer`: the command line.
//!
//! This crate reads arguments, calls the engines and prints. [`run`] is the whole program; [`check_plan`] is public for the
//! fuzz targets. Exit codes: 0 done; 1 a fault of romer itself; 2
//! usage; 3 bad data in a file; 4 environment or permission; 5 the other end refused or cannot be reached; 6 a
//! stated limit is broken; 130 interrupted.

mod after;
mod agent;
mod analyze;
mod args;
mod bench;
mod calibrate;
mod closed_loop;
mod command;
mod compare;
mod completions;
mod confinement;
mod console;
mod demo;
mod doctor;
mod emulate;
mod failure;
mod fleet;
mod formats;
mod help;
mod lab;
mod manual;
mod marks;
mod measure;
mod metrics;
mod model;
mod ndjson;
mod noise;
mod options_page;
mod output;
mod pair;
mod progress;
mod qtcp;
mod repeat;
mod report;
mod report_input;
mod reservation;
mod respond;
mod rsvp;
mod runs;
mod signals;
mod telemetry;
mod toml_values;
mod traffic;
mod tui;
mod values;

use romer_record::Exit;
use std::process::ExitCode;

use args::{Command, Invocation};

/// Runs the program with the arguments of this process.
pub fn run() -> ExitCode {
    // These must come first: they may not have threads when they make their namespaces.
    if let Some(code) = lab::holder().or_else(lab::guard).or_else(marks::guard).or_else(doctor::probe) {
        return code;
    }
    std::panic::set_hook(Box::new(failure::report_panic));
    std::panic::catch_unwind(dispatch).unwrap_or_else(|_| ExitCode::from(1))
}

/// Reads a benchmark plan as `romer bench PLAN.toml` and the console do, and runs nothing.
///
/// # Errors
/// What is wrong with it, in one line.
pub fn check_plan(text: &str) -> Result<(), String> {
    bench::of_page(text).map(|_| ()).map_err(|fault| fault.text)
}

fn dispatch() -> ExitCode {
    let code = invoke();
    match output::refusal() {
        Some(refusal) if code == ExitCode::SUCCESS => refusal.report(),
        _ => code,
    }
}

fn invoke() -> ExitCode {
    let arguments = match args::read(std::env::args_os()) {
        Ok(Invocation::Run(arguments)) => arguments,
        Ok(Invocation::Show(text)) => {
            output::print(&text);
            return ExitCode::SUCCESS;
        }
        Err(failure) => return failure.report(),
    };
    if arguments.no_confine {
        confinement::switch_off();
    }
    let outcome = match arguments.command {
        Command::Measure(arguments) => measure::run(&arguments),
        Command::Agent(arguments) => agent::run(&arguments),
        Command::Fleet(arguments) => fleet::run(&arguments),
        Command::Respond(arguments) => respond::run(&arguments),
        Command::Pair(arguments) => pair::run(&arguments),
        Command::Analyze(arguments) => analyze::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Runs(arguments) => runs::run(&arguments),
        Command::Qtcp(arguments) => qtcp::run(&arguments),
        Command::Rsvp(arguments) => rsvp::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::Model(arguments) => model::run(&arguments),
        Command::Loop(arguments) => closed_loop::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Noise(arguments) => noise::run(&arguments),
        Command::Console(arguments) => console::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Manual(arguments) => manual::run(&arguments),
        Command::Help(arguments) => help::run(&arguments),
        Command::Completions(arguments) => Ok(completions::run(&arguments)),
        Command::Version => {
            output::print(&args::version());
            Ok(Exit::Success)
        }
        Command::Calibrate(arguments) => calibrate::run(&arguments),
    };
    match outcome {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(failure) => failure.report(),
    }
}
