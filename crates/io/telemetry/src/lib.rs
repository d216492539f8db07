//! Metrics of a running romer, as Prometheus and OpenMetrics read them over HTTP.
//!
//! The parts of a program hold handles to counters, gauges and histograms, and change them as packets pass. A scrape reads
//! them, and blocks none of these parts.
//!
//! - [`Registry`] holds the metrics of a program; [`Family`] is one metric with its labels.
//! - [`Counter`], [`Gauge`] and [`Histogram`] are the cells that change. Memory is bounded whatever is counted.
//! - [`ProbeMetrics`], [`AgentMetrics`], [`ResponderMetrics`] and [`EmulatorMetrics`] are the metrics of romer: their names, labels
//!   and help.
//! - [`Format`] is a representation: Prometheus text, OpenMetrics text, or Prometheus protobuf with native histograms.
//! - [`MetricsServer`] serves them at `/metrics`, to `GET` and `HEAD` only, with a limit of connections, octets and time.
//! - [`OtlpPush`] pushes them to an OpenTelemetry collector.
//!
//! ```
//! use romer_telemetry::{Format, ProbeMetrics, Registry};
//!
//! let registry = Registry::new();
//! let target = ProbeMetrics::new(&registry).target("far.example.net");
//! target.observe_round_trip(12_300_000);
//! let text = String::from_utf8(registry.encode(Format::Text))?;
//! assert!(text.contains("romer_round_trip_seconds_count{target=\"far.example.net\"} 1\n"));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```

mod agent;
mod emulator;
mod format;
mod histogram;
mod otlp;
mod probes;
mod protobuf;
mod registry;
mod responder;
mod server;
mod text;

pub use agent::{AgentMetrics, RunOutcome};
pub use emulator::{EmulatorMetrics, PacketFate, PortMetrics};
pub use format::Format;
pub use histogram::{Histogram, HistogramValues, SCHEMA};
pub use otlp::{OtlpPush, OtlpUrl, PUSH_INTERVAL, PUSH_TIMEOUT};
pub use probes::{ProbeMetrics, Reference, TargetMetrics, Way};
pub use registry::{Counter, Family, Gauge, Registry, Spec};
pub use responder::{PacketOutcome, ResponderMetrics, SessionOutcome};
pub use server::{HEAD_OCTETS, MAX_CONNECTIONS, MetricsServer, REQUEST_TIMEOUT};
