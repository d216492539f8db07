//! What may keep a port of the tester from carrying frames.

use std::fmt;

use romer_host::link::{Link, Network};
use romer_host::netns::with_namespace;
use romer_host::watch::{NetworkChange, Watch};
use romer_port::PortName;
use romer_record::benchmark::{PortCondition, PortState};

/// Watches whether a port is switched off on this host.
#[derive(Debug)]
pub(crate) struct PortWatch {
    /// The index of its interface.
    index: u32,
    /// `None` where the kernel reports no changes.
    watch: Option<Watch>,
}

impl PortWatch {
    pub(crate) fn new(port: &PortName, index: u32) -> Self {
        let watch = match port.namespace() {
            Some(namespace) => with_namespace(namespace, Watch::new).and_then(|watch| watch),
            None => Watch::new(),
        };
        Self { index, watch: watch.ok() }
    }

    /// Whether it was switched off since the last call.
    pub(crate) fn was_off(&mut self) -> bool {
        let changes = self.watch.as_mut().map(Watch::changes).unwrap_or_default();
        changes.iter().any(|change| {
            matches!(change, NetworkChange::Link { interface, on: false, .. } if *interface == self.index)
        })
    }
}

/// A port that carries no frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFault {
    /// Which.
    pub port: PortName,
    /// Why.
    pub state: PortState,
}

impl PortFault {
    /// What is wrong with a port whose interface had this index when it was opened.
    pub(crate) fn find(port: &PortName, index: u32) -> Option<Self> {
        let links = Network::open(port.namespace()).and_then(|network| network.links());
        let state = state(port.interface(), index, &links.unwrap_or_default())?;
        Some(Self { port: port.clone(), state })
    }

    /// The port and its state, as documents have them.
    pub(crate) fn condition(&self) -> PortCondition {
        let interface = self.port.interface();
        let command = match &self.state {
            PortState::Down => Some(format!("link set {interface} up")),
            PortState::NoCarrier => None,
            PortState::Renamed { name } => Some(format!("link set {name} name {interface}")),
            PortState::Gone => Some("link".to_owned()),
        };
        PortCondition {
            port: self.port.to_string(),
            state: self.state.clone(),
            command: command.map(|arguments| self.port.ip(&arguments)),
        }
    }
}

impl fmt::Display for PortFault {
    /// With what a user can do about it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.condition(), f)
    }
}

/// The same, of the interfaces that there are.
fn state(name: &str, index: u32, links: &[Link]) -> Option<PortState> {
    let Some(link) = links.iter().find(|link| link.index == index) else { return Some(PortState::Gone) };
    if link.name != name {
        return Some(PortState::Renamed { name: link.name.clone() });
    }
    match (link.up, link.running) {
        (_, true) => None,
        (true, false) => Some(PortState::NoCarrier),
        (false, false) => Some(PortState::Down),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, name: &str, [up, running]: [bool; 2]) -> Link {
        Link {
            index,
            name: name.into(),
            mac: None,
            mtu: 1_500,
            up,
            running,
            kind: None,
            alias: None,
            controller: None,
            lower: None,
            remote: None,
        }
    }

    /// A port is known by its interface's index, so that one that was renamed or replaced is not taken for it.
    #[test]
    fn port_is_known_by_index() {
        let found = |links: &[Link]| state("t0", 7, links);
        assert_eq!(found(&[link(7, "t0", [true, true])]), None);
        assert_eq!(found(&[link(7, "t0", [false, false])]), Some(PortState::Down));
        assert_eq!(found(&[link(7, "t0", [true, false])]), Some(PortState::NoCarrier));
        assert_eq!(found(&[link(7, "x", [true, true])]), Some(PortState::Renamed { name: "x".into() }));
        assert_eq!(found(&[link(8, "t0", [true, true])]), Some(PortState::Gone));
        assert_eq!(found(&[]), Some(PortState::Gone));
    }
}
