//! `romer qtcp --flows`: the flows that the kernel of this host treats by themselves.

use std::net::{IpAddr, SocketAddr};

use romer_host::flows::{CONTROLLED_LOAD, GUARANTEED, QueuedFlow, queued_flows};
use romer_record::Exit;
use romer_record::service::Service;
use romer_report::count;
use romer_units::counted;

use crate::failure::Failure;
use crate::output;

/// Prints the flows.
///
/// # Errors
/// The kernel does not list them.
pub(super) fn list() -> Result<Exit, Failure> {
    let flows = queued_flows().map_err(|error| {
        Failure::environment(format!(
            "cannot list the queueing disciplines of this host (system): {error}; see whether `tc qdisc show` works here"
        ))
    })?;
    output::print(&text(&flows));
    Ok(Exit::Success)
}

fn text(flows: &[QueuedFlow]) -> String {
    if flows.is_empty() {
        return "no flow: romer shapes and reserves none on this host\n".into();
    }
    flows.iter().map(line).collect()
}

fn line(flow: &QueuedFlow) -> String {
    let service = match flow.service {
        Some(GUARANTEED) => Service::Guaranteed.name(),
        Some(CONTROLLED_LOAD) => Service::ControlledLoad.name(),
        _ => "no service",
    };
    let of = &flow.selection;
    format!(
        "{}: {} > {}: {service}, {} bytes/s, {} bytes, {} sent, {} dropped\n",
        flow.interface,
        end(of.source, of.source_port),
        end(Some(of.destination), of.destination_port),
        count(flow.octets_per_second.into()),
        count(flow.octets),
        counted(flow.packets.into(), "packet"),
        count(flow.dropped.into()),
    )
}

/// An end of a flow; `*` stands for any address or port.
fn end(address: Option<IpAddr>, port: Option<u16>) -> String {
    match (address, port) {
        (Some(address), Some(port)) => SocketAddr::new(address, port).to_string(),
        (Some(address), None) => format!("{address}:*"),
        (None, Some(port)) => format!("*:{port}"),
        (None, None) => "*".into(),
    }
}

#[cfg(test)]
mod tests {
    use romer_host::flows::Selection;

    use super::*;

    /// A line has both ends, the service, the rate and what was sent.
    #[test]
    fn flows_are_lines() {
        let flow = QueuedFlow {
            interface: "r1".into(),
            selection: Selection {
                protocol: Some(17),
                source: Some([198, 18, 0, 2].into()),
                source_port: Some(5_003),
                destination: [198, 19, 0, 2].into(),
                destination_port: Some(5_004),
            },
            service: Some(GUARANTEED),
            octets_per_second: 4_313,
            octets: 92,
            packets: 1,
            dropped: 0,
        };
        assert_eq!(
            text(std::slice::from_ref(&flow)),
            "r1: 198.18.0.2:5003 > 198.19.0.2:5004: guaranteed, 4313 bytes/s, 92 bytes, 1 packet sent, 0 dropped\n"
        );
        let open = Selection { source: None, source_port: None, destination_port: None, ..flow.selection };
        let other = QueuedFlow { selection: open, service: None, ..flow };
        assert!(text(&[other]).starts_with("r1: * > 198.19.0.2:*: no service, "));
        assert!(text(&[]).starts_with("no flow: "));
    }
}
