//! `--metrics`: the metrics of a running command over HTTP.

use std::net::SocketAddr;

use romer_telemetry::{MetricsServer, Registry};

use crate::failure::Failure;

/// Metrics, and the server of them.
#[derive(Debug)]
pub(crate) struct Exporter {
    pub(crate) registry: Registry,
    server: MetricsServer,
}

impl Exporter {
    /// Serves metrics on `listen`.
    ///
    /// # Errors
    /// A failure of the environment where the address cannot be bound.
    pub(crate) fn start(listen: SocketAddr) -> Result<Self, Failure> {
        let registry = Registry::new();
        let server = MetricsServer::start(listen, &registry).map_err(|error| {
            Failure::environment(format!(
                "cannot listen on this address (--metrics {listen}): {error}; choose another, or end the program that listens there"
            ))
        })?;
        Ok(Self { registry, server })
    }

    /// A line for users.
    pub(crate) fn text(&self) -> String {
        let is_own = self.server.address().ip().is_loopback();
        let readers = if is_own { "" } else { ", without a password for all who reach it" };
        format!("metrics at {}{readers}", self.server.url())
    }
}
