//! Resumption of sessions whose control connection was interrupted.

use std::net::SocketAddr;

use romer_endpoint::circumstances::random;
use romer_host::clock;
use romer_host::poller::Interest;
use romer_record::event::{Event, EventDetail, EventLocation, OtherSource, OtherSources};
use romer_record::refusal::{LimitScope, Refusal};
use romer_session::control::{Action, Resume, SILENCE};
use romer_session::network::ClientNetwork;
use romer_units::Duration;

use super::ControlThread;
use super::connection::{Connection, Moved};
use super::quotas::Allocation;
use crate::messages::Command;

/// Addresses that are named of those that a session was at for a moment.
const MOST_NAMED: usize = 4;

impl ControlThread {
    /// The connection is no more. A session may go on over another one.
    pub(super) fn lose(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.outbox.clear();
        connection.stream = None;
        let now = clock::monotonic_now();
        if connection.server.on_lost_connection(now) {
            self.account(index, now);
        } else {
            self.close(index);
        }
    }

    /// A session of which `resume` shows the secret goes on over connection `from`, if there is one.
    pub(super) fn resume(&mut self, from: usize, resume: &Resume) {
        if let Err(reason) = self.try_resume(from, resume) {
            let actions = self.connections[from].server.refuse_resumption(reason);
            self.carry_out(from, actions);
        }
    }

    fn try_resume(&mut self, from: usize, resume: &Resume) -> Result<(), Refusal> {
        let now = clock::monotonic_now();
        let shows = |one: &Connection| !one.is_closing() && one.server.is_shown(resume);
        let shown = self.connections.iter().find(|(_, one)| shows(one)).map(|(index, _)| index);
        let index = shown.filter(|index| *index != from).ok_or(Refusal::NoSession)?;
        let peer = self.connections[from].peer;
        self.check_move(index, ClientNetwork::from_address(peer))?;
        let number = self.connections[index].number().ok_or(Refusal::NoSession)?;
        let [own, other] = self.connections.pair([index, from]).ok_or(Refusal::NoSession)?;
        let token = random();
        let resumed = own.server.resume(&mut other.server, resume, token, now);
        let Ok(mut actions) = resumed else {
            self.account(index, now);
            return resumed.map(drop);
        };
        let silent = Duration::from_nanos(resume.silent_ns).clamp(Duration::ZERO, SILENCE);
        // Where an earlier move was never proved, it began then.
        let before = own.moved.take().map_or(own.peer, |moved| moved.before);
        own.moved = Some(Moved { before, silent, at: now });
        own.stream = other.stream.take();
        own.interest = Interest::Nothing;
        own.outbox.clear();
        own.peer = peer;
        other.outbox.clear();
        self.close(from);
        self.account(index, now);
        self.make_room(index, now);
        self.order(Command::Move { session: number, token, peer });
        // What came with the question is heard as well.
        actions.extend(self.connections[index].server.on_bytes(&[], false, now));
        self.carry_out(index, actions);
        Ok(())
    }

    /// Refuses a session that goes on in `network` where that, or all networks together, would use more than they may have.
    fn check_move(&self, index: usize, network: ClientNetwork) -> Result<(), Refusal> {
        let Connection { counted, holding, in_use, .. } = self.connections[index];
        let own = if counted.has(network) { in_use } else { Allocation::default() };
        let [most_of_one, most_of_all] = self.most();
        let exceeds = |others: Allocation, most| holding.has_some_of(others.plus(holding).minus(most));
        if exceeds(self.in_use.network(network).minus(own), most_of_one) {
            Err(Refusal::Moved { scope: LimitScope::Network })
        } else if exceeds(self.in_use.all().minus(in_use), most_of_all) {
            Err(Refusal::Moved { scope: LimitScope::All })
        } else {
            Ok(())
        }
    }

    /// Tells that probes of a session came from other addresses before it was found where it is now: how many from each.
    pub(super) fn tell_others(&mut self, index: usize, others: &[(SocketAddr, u64)]) -> Vec<Action> {
        if others.is_empty() {
            return Vec::new();
        }
        let named = others.iter().take(MOST_NAMED);
        let named =
            named.map(|(address, packets)| OtherSource { address: address.to_string(), packets: *packets });
        let more = u64::try_from(others.len().saturating_sub(MOST_NAMED)).unwrap_or(u64::MAX);
        let sources = OtherSources { sources: named.collect(), more };
        let event = self.occurrences.note(EventDetail::ReceivedFromOthers { others: sources });
        let all = others.iter().map(|(_, count)| *count).sum();
        self.connections[index].server.on_event(Event {
            location: EventLocation::Path,
            datagrams: Some(all),
            ..event
        })
    }

    /// Tells both ends that the session has moved, and for how long its probes may have been lost.
    pub(super) fn tell_moved(&mut self, index: usize, moved: &Moved, address: SocketAddr) -> Vec<Action> {
        let now = address.ip().to_canonical();
        let event = if now == moved.before {
            self.occurrences.note(EventDetail::ConnectionReplaced { address: now })
        } else {
            let detail = EventDetail::SenderMoved {
                address: now,
                address_before: moved.before,
                by_nat: false,
                others: None,
            };
            let length = moved.silent + (clock::monotonic_now() - moved.at);
            let event = self.occurrences.note_over(detail, length);
            // Whether that host has another address, or a NAT on the way, is not known here.
            Event { location: EventLocation::Path, ..event }
        };
        self.connections[index].server.on_event(event)
    }
}
