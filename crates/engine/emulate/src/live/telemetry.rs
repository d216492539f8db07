//! The ledger of a bridge as metrics.

use romer_impair::{Cause, Ledger};
use romer_telemetry::{EmulatorMetrics, PacketFate, PortMetrics, Registry};

use super::control::Control;
use super::statistics::Snapshot;

/// Has each scrape of `registry` read the ledger of the bridge. When the bridge has ended, its last counts remain.
pub fn publish(control: &Control, registry: &Registry) {
    let metrics = EmulatorMetrics::new(registry);
    let ports = ["a", "b"].map(|port| metrics.port(port));
    ports.iter().for_each(|port| export(&Ledger::default(), port));
    let control = control.clone();
    registry.on_scrape(move || {
        if let Ok(snapshot) = control.snapshot() {
            for (port, direction) in ports.iter().zip(&snapshot.directions) {
                export(&direction.ledger, port);
            }
        }
    });
}

/// Sets the metrics of [`publish`] to a snapshot, such as that of the end.
pub fn publish_snapshot(snapshot: &Snapshot, registry: &Registry) {
    let metrics = EmulatorMetrics::new(registry);
    for (port, direction) in ["a", "b"].into_iter().zip(&snapshot.directions) {
        export(&direction.ledger, &metrics.port(port));
    }
}

/// Sets the metrics of a port to its ledger.
fn export(ledger: &Ledger, port: &PortMetrics) {
    port.set_packets(PacketFate::Received, "", ledger.received);
    port.set_packets(PacketFate::Duplicated, "", ledger.duplicates_created);
    port.set_packets(PacketFate::Transmitted, "", ledger.transmitted);
    for cause in Cause::ALL {
        port.set_packets(PacketFate::Dropped, cause.name(), ledger.lost_for(cause));
    }
    port.set_queued(ledger.queued);
}

#[cfg(test)]
mod tests {
    use romer_telemetry::Format;

    use super::*;

    /// The metrics of a ledger balance as the ledger does.
    #[test]
    fn metrics_balance() {
        let mut ledger =
            Ledger { received: 20, duplicates_created: 3, transmitted: 15, queued: 2, ..Ledger::default() };
        ledger.lost[Cause::Model.index()] = 4;
        ledger.lost[Cause::Kernel.index()] = 2;
        assert!(ledger.balances());
        let registry = Registry::new();
        export(&ledger, &EmulatorMetrics::new(&registry).port("a"));
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        let sum = |parts: &[&str]| -> u64 {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let wanted = lines.filter(|line| parts.iter().any(|part| line.contains(part)));
            wanted.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
        };
        let came = sum(&["fate=\"received\"", "fate=\"duplicated\""]);
        let left = sum(&["fate=\"transmitted\"", "fate=\"dropped\"", "romer_emulator_queued_packets"]);
        assert_eq!((came, left), (23, 23), "{text}");
    }
}
