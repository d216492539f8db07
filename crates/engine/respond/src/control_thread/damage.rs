//! Damaged probes of sessions that request their counts.

use romer_endpoint::damage::{DamageMonitor, WatchedProbes};
use romer_session::control::Action;
use romer_wire::pattern::Pattern;

use super::ControlThread;

/// Most sessions of which damage is counted at one time: each has a thread and a packet socket.
const MOST_MONITORS: usize = 64;

impl ControlThread {
    /// Begins to count the damaged probes of the session of connection `index`, once. Without the right to, they are not counted,
    /// which the initiator learns at the end.
    pub(super) fn count_damage(&mut self, index: usize, tag: u32) {
        let monitors =
            self.connections.iter().filter_map(|(_, one)| one.session.as_ref()?.damage.monitor.as_ref());
        let has_room = monitors.count() < MOST_MONITORS;
        let port = self.welcome.test_port;
        let connection = &mut self.connections[index];
        let is_ipv6 = connection.peer.to_canonical().is_ipv6();
        let Some(session) = &mut connection.session else { return };
        if session.damage.pattern.is_some() {
            return;
        }
        let pattern = Pattern::new(tag);
        session.damage.pattern = Some(pattern);
        if let Some(carrier) = session.damage.carrier
            && has_room
        {
            let probes = WatchedProbes { pattern, carrier, is_ipv6, port };
            session.damage.monitor = DamageMonitor::start(probes).ok();
        }
    }

    /// What the session of connection `index`, which ends, is told of its damaged probes: nothing if it did not request them.
    pub(super) fn report_damage(&mut self, index: usize) -> Vec<Action> {
        let connection = &mut self.connections[index];
        let Some(session) = &mut connection.session else { return Vec::new() };
        if session.damage.pattern.is_none() || session.damage.carrier.is_none() {
            return Vec::new();
        }
        let damaged = session.damage.monitor.take().and_then(DamageMonitor::finish);
        connection.server.on_damaged(damaged)
    }
}
