//! Sends events of this host to the sessions that they concern.

use std::net::SocketAddr;

use romer_endpoint::host_events::{covers, too_long};
use romer_endpoint::overflow::Overflow;
use romer_endpoint::responder_host_monitor::Occurrence;
use romer_endpoint::threads::{STOOD_STILL, TOO_LATE};
use romer_host::{HostError, clock, host_info};
use romer_record::event::{Event, EventDetail, Unsent};
use romer_session::control::Action;
use romer_session::send_limit::{OPEN_NETWORK_BITS, OPEN_TOTAL_BITS};

use super::ControlThread;
use crate::send_errors::{OVER_THE_BITS, OVER_THE_RATE, Refused};

impl ControlThread {
    /// Tells all senders what has happened to this host, as far as it concerns them. For who `ends` all is looked at once more.
    pub(super) fn tell_occurrences(&mut self, ends: bool) {
        let mut all = self.look_at_clock_sync(ends);
        let connections = &self.connections;
        let used = || {
            let sessions = self.by_session.values().filter_map(|index| connections.get(*index));
            sessions.filter_map(|one| one.interface.as_deref())
        };
        all.extend(self.occurrences.look(used()));
        // To ask which interfaces are used takes as long as there are sessions.
        if ends || self.new_interface || clock::monotonic_now() >= self.next_look {
            self.new_interface = false;
            all.extend(self.occurrences.look_at_queues(used(), ends));
        }
        if all.is_empty() {
            return;
        }
        let sessions: Vec<usize> = self.by_session.values().copied().collect();
        for Occurrence { interface, address, route, event } in all {
            for index in sessions.iter().copied() {
                let Some(connection) = self.connections.get(index) else { continue };
                if (interface.is_some() && interface != connection.interface)
                    || (address.is_some() && address != connection.home)
                    || route.is_some_and(|(to, prefix)| !covers(to, prefix, connection.peer))
                {
                    continue;
                }
                self.send_event(index, &event);
            }
        }
    }

    /// The changes of the synchronisation of this host's clock, if a look is due or a session `ends`. All sessions get the bound of
    /// its error.
    fn look_at_clock_sync(&mut self, ends: bool) -> Vec<Occurrence> {
        let has_sessions = !self.by_session.is_empty();
        let Some(changes) = self.occurrences.look_at_clock_sync(has_sessions, ends) else {
            return Vec::new();
        };
        if let Some(bound_ns) = self.occurrences.clock_error_bound_ns() {
            for index in self.by_session.values().copied() {
                if self.connections.get(index).is_some() {
                    self.connections[index].server.on_clock_bound(bound_ns);
                }
            }
        }
        changes
    }

    /// Tells the sender of a session of an event.
    fn send_event(&mut self, index: usize, event: &Event) {
        self.serve(index, |thread| {
            let actions = thread.connections[index].server.on_event(event.clone());
            if !actions.is_empty() {
                thread.carry_out(index, actions);
            }
        });
    }

    /// Tells all who send to here what found a full socket: whose it was is not known.
    pub(super) fn tell_overflow(&mut self, overflow: &Overflow) {
        let event = self.occurrences.overflowed(overflow);
        let sessions: Vec<usize> = self.by_session.values().copied().collect();
        for index in sessions {
            self.send_event(index, &event);
        }
    }

    /// Tells of probes or replies that this host refused to send.
    pub(super) fn refused(&mut self, index: usize, refused: Refused) -> Vec<Action> {
        let Refused { count, errno, since, until } = refused;
        let connection = &self.connections[index];
        let is_own = connection.session.as_ref().is_some_and(|session| session.stream.is_some());
        let unsent = Unsent { packets: count, replies: !is_own };
        let peer = connection.peer;
        let mut mtu = None;
        let detail = if errno == STOOD_STILL {
            EventDetail::TooLate { unsent, late_ns: TOO_LATE.as_nanos() }
        } else if errno == OVER_THE_BITS {
            EventDetail::OpenLimit { unsent, network_bps: OPEN_NETWORK_BITS, total_bps: OPEN_TOTAL_BITS }
        } else if errno == OVER_THE_RATE {
            let limits = &self.limits;
            let packets_per_second =
                if is_own { limits.own_packets_per_second } else { limits.packets_per_second };
            EventDetail::RateLimit { unsent, target: peer, packets_per_second }
        } else if errno == HostError::TOO_LONG {
            let takes_now = host_info::route_to(SocketAddr::new(peer, 0)).ok().map(|route| route.mtu);
            // By the time of this look the way may take more again.
            mtu = [takes_now, connection.refused_over].into_iter().flatten().min();
            too_long(unsent, peer, mtu, host_info::packet_too_big_handling().ok())
        } else if errno == HostError::NO_ROOM {
            EventDetail::InterfaceRefused { unsent, errno }
        } else {
            let unusable_interfaces = Vec::new();
            EventDetail::SystemRefused { unsent, target: peer, link: None, errno, unusable_interfaces }
        };
        let event = self.occurrences.note_between(detail, [since, until]);
        self.connections[index].refused_over = mtu.or(self.connections[index].refused_over);
        self.connections[index].server.on_event(Event { mtu, ..event })
    }
}
