//! What happens to this host is told to whom it concerns.

use std::io;
use std::net::SocketAddr;

use romer_endpoint::occurrences::{Occurrence, covers, shorter_by};
use romer_endpoint::overflow::Overflow;
use romer_endpoint::threads::{STOOD_STILL, too_late};
use romer_host::{HostError, clock, host_info};
use romer_record::event::{Event, EventKind};
use romer_session::control::Action;
use romer_session::send_limit::{OPEN_NETWORK_BITS, OPEN_TOTAL_BITS};
use romer_units::counted_as;

use super::Controlling;
use crate::refusals::{OVER_THE_BITS, OVER_THE_RATE, Refused};

impl Controlling {
    /// Tells all senders what has happened to this host, as far as it concerns them. For who `ends` all is looked at once more.
    pub(super) fn tell_occurrences(&mut self, ends: bool) {
        let connections = &self.connections;
        let used = || {
            let sessions = self.by_session.values().filter_map(|index| connections.get(*index));
            sessions.filter_map(|one| one.interface.as_deref())
        };
        let mut all = self.occurrences.look(used());
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
        let [one, several] = if is_own { ["probe", "probes"] } else { ["reply", "replies"] };
        let those = counted_as(count, one, several);
        let mut mtu = None;
        let detail = if errno == STOOD_STILL {
            format!("the responder did not send {those}: {}", too_late("the responder", count, " there"))
        } else if errno == OVER_THE_BITS {
            format!(
                "the responder did not send {those}: open to all, it sends at most {} Mbit/s to one network (/24 or /56) and {} \
                 Mbit/s in total; start it with --key-file or --allow, or ask for fewer or smaller packets",
                OPEN_NETWORK_BITS / 1_000_000,
                OPEN_TOTAL_BITS / 1_000_000
            )
        } else if errno == OVER_THE_RATE && is_own {
            format!(
                "the responder did not send {those}: it sends at most {} packets/s to one network (/24 or /56), with bursts of a \
                 second's worth (--rate there)",
                self.limits.own_packets_per_second
            )
        } else if errno == OVER_THE_RATE {
            format!(
                "the responder did not send {those}: more came from {} than the {} a second that it answers one address \
                 (--rate there)",
                connection.peer, self.limits.packets_per_second
            )
        } else if errno == HostError::TOO_LONG {
            let peer = connection.peer;
            let takes_now = host_info::route_to(SocketAddr::new(peer, 0)).ok().map(|route| route.mtu);
            // By the time of this look the way may take more again.
            mtu = [takes_now, connection.refused_over].into_iter().flatten().min();
            let takes = shorter_by(peer, mtu, host_info::packet_too_big_handling().ok());
            format!("the responder's host did not send {those}: too long for the path to {peer}{takes}")
        } else {
            let why = io::Error::from_raw_os_error(errno);
            let hint = match why.kind() {
                io::ErrorKind::ConnectionRefused => {
                    "; an ICMP message reported that nothing receives earlier ones, as from a NAT whose mapping has expired"
                }
                _ if errno == HostError::NO_ROOM => {
                    "; its interface did not take them: its queue is full, it has no carrier, or the other end of a virtual link \
                     refuses them, as for the length"
                }
                _ => "",
            };
            format!("the responder's host did not send {those}: {why}{hint}")
        };
        let event = self.occurrences.note_between(EventKind::NotSent, detail, [since, until]);
        self.connections[index].refused_over = mtu.or(self.connections[index].refused_over);
        self.connections[index].server.on_event(Event { mtu, ..event })
    }
}
