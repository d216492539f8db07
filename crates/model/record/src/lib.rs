//! What is kept.
//!
//! [`log`] is the packet log while it is being written: one [`log::Entry`] for each thing that happened to a
//! probe, in the order in which it became known. [`assemble`] joins the entries of one stream by sequence number
//! into [`RoundTrip`]s, the rows of the finished log; every statistic can be computed again from these.
//! [`OneWaySingleton`] is one packet's way in one direction, the singleton that metrics are made of. [`document`] holds
//! the JSON documents that other programs rely on ([`respond`] the responder's, [`calibration`] the one of the tool's
//! own error, [`emulation`] the emulator's, [`noise`] those of cross traffic, [`qtcp`] those of a live Qtcp test,
//! [`benchmark`] the benchmark's, [`doctor`] that of the machine), and [`manifest`] what a run folder says about itself. [`metric`] names the numbers of a
//! measurement, [`quantity`] those of a benchmark, [`service`] the levels of marks, [`refusal`] why a responder refuses a session, and
//! [`plausible`] the times that are believed.
#![forbid(unsafe_code)]

mod assemble;
pub mod benchmark;
pub mod calibration;
mod card;
pub mod clock_proof;
pub mod closed_loop;
pub mod comparison;
pub mod concatenation;
pub mod doctor;
pub mod document;
pub mod emulation;
pub mod event;
mod exit;
pub mod fidelity;
pub mod finding;
mod incomplete;
pub mod limit;
pub mod log;
pub mod manifest;
pub mod metric;
pub mod noise;
pub mod note;
pub mod plausible;
mod port_direction;
mod probe_direction;
pub mod qtcp;
pub mod quantity;
pub mod refusal;
pub mod respond;
pub mod run_list;
pub mod service;
mod singleton;
mod summary;
pub mod voice;
pub mod warning;

pub use assemble::{assemble, assemble_as};
pub use exit::Exit;
pub use singleton::{Fate, Leaving, OneWaySingleton, RoundTrip, Stamps};

/// Name and version of this program, as documents, files and the control channel have it.
pub const SOFTWARE: &str = concat!("romer ", env!("CARGO_PKG_VERSION"));

/// The JSON schema of every document, by the name that stands in its `schema` field (`romer/NAME/1`).
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("measurement", schemars::schema_for!(document::Measurement)),
        ("measurements", schemars::schema_for!(document::Measurements)),
        ("comparison", schemars::schema_for!(comparison::Comparison)),
        ("concatenation", schemars::schema_for!(concatenation::Concatenation)),
        ("demo", schemars::schema_for!(document::Demo)),
        ("benchmark", schemars::schema_for!(benchmark::Benchmark)),
        ("benchmark-forecast", schemars::schema_for!(benchmark::BenchmarkForecast)),
        ("benchmark-plan", schemars::schema_for!(benchmark::BenchmarkPlan)),
        ("calibration", schemars::schema_for!(calibration::CalibrationRecord)),
        ("clock-proof", schemars::schema_for!(clock_proof::ClockProof)),
        ("common-events", schemars::schema_for!(calibration::CommonEvents)),
        ("doctor", schemars::schema_for!(doctor::Doctor)),
        ("emulated", schemars::schema_for!(emulation::Emulated)),
        ("emulation", schemars::schema_for!(emulation::Emulation)),
        ("fidelity", schemars::schema_for!(fidelity::Fidelity)),
        ("model", schemars::schema_for!(fidelity::PathModel)),
        ("loop", schemars::schema_for!(closed_loop::ClosedLoop)),
        ("manifest", schemars::schema_for!(manifest::Manifest)),
        ("noise-sink", schemars::schema_for!(noise::NoiseSink)),
        ("noise-source", schemars::schema_for!(noise::NoiseSource)),
        ("qtcp-receiver", schemars::schema_for!(qtcp::QtcpReceiver)),
        ("qtcp-sender", schemars::schema_for!(qtcp::QtcpSender)),
        ("respond", schemars::schema_for!(respond::Respond)),
        ("runs", schemars::schema_for!(run_list::RunList)),
        ("stream", schemars::schema_for!(document::StreamLine)),
        ("two-rates", schemars::schema_for!(calibration::TwoRuns)),
    ]
}

/// The JSON schema of each family of warnings, notes, events and findings, with the family's name, for the reference.
pub fn warning_families() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("Measurements", schemars::schema_for!(warning::MeasurementWarning)),
        ("Comparisons", schemars::schema_for!(warning::ComparisonWarning)),
        ("Concatenations", schemars::schema_for!(warning::ConcatenationWarning)),
        ("Models", schemars::schema_for!(warning::ModelWarning)),
        ("Comparisons with a scenario", schemars::schema_for!(warning::FidelityWarning)),
        ("Emulations", schemars::schema_for!(warning::EmulationWarning)),
        ("Refits", schemars::schema_for!(warning::RefitEvent)),
        ("Benchmarks", schemars::schema_for!(warning::BenchmarkWarning)),
        ("Qtcp files", schemars::schema_for!(warning::QtcpNote)),
        ("Notes of a running measurement", schemars::schema_for!(note::Notice)),
        ("Events of a benchmark", schemars::schema_for!(benchmark::BenchmarkEventKind)),
        ("Findings", schemars::schema_for!(finding::Pattern)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema of each code states its severity, which every code has.
    #[test]
    fn schema_has_severities() {
        for (family, schema) in warning_families() {
            let variants = schema.get("oneOf").and_then(|all| all.as_array()).expect(family);
            for variant in variants {
                let code = &variant["properties"]["code"]["const"];
                let severity = &variant["properties"]["severity"]["const"];
                assert!(code.is_string() && severity.is_string(), "{family}: {variant}");
                assert!(variant["description"].is_string(), "{code} is described");
            }
        }
    }
}
