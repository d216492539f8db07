//! `--metrics` and `--otlp`: the metrics of a running command.

use std::net::SocketAddr;

use romer_telemetry::{MetricsServer, OtlpPush, OtlpUrl, Registry};

use crate::args::ExporterArgs;
use crate::failure::Failure;

/// Metrics, and who gets them.
#[derive(Debug)]
pub(crate) struct Exporter {
    pub(crate) registry: Registry,
    _server: Option<MetricsServer>,
    _push: Option<OtlpPush>,
    lines: Vec<String>,
}

impl Exporter {
    /// Serves metrics and pushes them as the arguments say; `None` where they say neither.
    ///
    /// # Errors
    /// A failure of the environment where the address cannot be bound, or the name not be resolved.
    pub(crate) fn start(arguments: &ExporterArgs) -> Result<Option<Self>, Failure> {
        let (listen, otlp) = (arguments.metrics, arguments.otlp.as_ref());
        if listen.is_none() && otlp.is_none() {
            return Ok(None);
        }
        let registry = Registry::new();
        let serve = |address: SocketAddr| {
            MetricsServer::start(address, &registry).map_err(|error| {
                Failure::environment(format!(
                    "cannot listen on this address (--metrics {address}): {error}; choose another, or end the program that listens there"
                ))
            })
        };
        let push = |url: &OtlpUrl| {
            OtlpPush::start(url, &registry).map_err(|error| {
                Failure::environment(format!(
                    "cannot push metrics (--otlp {url}): {error}; check the name of the collector"
                ))
            })
        };
        let server = listen.map(serve).transpose()?;
        let pushing = otlp.map(push).transpose()?;
        let served = server.as_ref().map(|server| {
            let readers = if server.address().ip().is_loopback() {
                ""
            } else {
                ", without a password for all who reach it"
            };
            format!("metrics at {}{readers}", server.url())
        });
        let pushed = otlp.map(|url| format!("metrics are pushed to {url}"));
        let lines = served.into_iter().chain(pushed).collect();
        Ok(Some(Self { registry, _server: server, _push: pushing, lines }))
    }

    /// Lines for users, each with its end.
    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
