//! By which interface this end reaches its sessions: looked up when an address is proved, and again from time to time.

use romer_host::host_info;
use romer_units::{Duration, Monotonic, Timestamp};

use super::connection::Reached;
use super::{ControlThread, ROUTES};

/// Between two look-ups of the route of a session, unless its host changes.
const ROUTE_LOOK: Duration = Duration::from_secs(3);

impl ControlThread {
    /// Looks up the routes that are due, as many as may be looked up now. The next call continues after them.
    pub(super) fn look_up_routes(&mut self, now: Timestamp<Monotonic>) {
        self.routes_left = ROUTES;
        let end = self.connections.end();
        let first = self.next_route.min(end);
        for index in (first..end).chain(0..first) {
            if self.routes_left == 0 {
                self.next_route = index;
                return;
            }
            self.look_up_route(index, now);
        }
    }

    /// Looks up by which interface this end reaches the session of connection `index`, if that is due and may be done now.
    pub(super) fn look_up_route(&mut self, index: usize, now: Timestamp<Monotonic>) {
        let Some(reached) = self.connections.get(index).and_then(|one| one.reached) else { return };
        if now < reached.due || self.routes_left == 0 {
            return;
        }
        self.routes_left -= 1;
        let interface = host_info::route_to(reached.address).ok().and_then(|route| route.interface);
        let connection = &mut self.connections[index];
        connection.reached = Some(Reached { due: now + ROUTE_LOOK, ..reached });
        // While there is no route, what is known of it is the best that there is.
        if interface.is_some() && interface != connection.interface {
            connection.interface = interface;
            self.new_interface = true;
        }
    }
}
