//! Path state.

use crate::error_code::ErrorCode;
use crate::message::{Forwarded, Message, SenderDescriptor, SenderReference};
use crate::node::{Arrival, Discard, Envelope};
use crate::object::{ErrorSpec, Hop, RefreshPeriod, Session};
use crate::router::{Actions, FlowKey, FlowState, Router, RouterAction, seal};
use crate::soft_state::{Moment, lifetime};

/// A Path message.
pub(super) struct Announcement {
    pub(super) session: Session,
    pub(super) hop: Hop,
    pub(super) period: RefreshPeriod,
    pub(super) sender: SenderDescriptor,
    pub(super) forwarded: Forwarded,
    /// Routers without RSVP have reduced the TTL.
    pub(super) breaks_path: bool,
}

impl Router {
    pub(super) fn receive_path(
        &mut self,
        announced: Announcement,
        arrival: &Arrival<'_>,
        now: Moment,
        actions: &mut Actions,
    ) -> Result<(), Discard> {
        let Announcement { session, hop, period, sender, forwarded, breaks_path } = announced;
        let destination = session.destination();
        let routed = self.route(destination).filter(|leaves| *leaves != arrival.interface);
        let leaves = routed.filter(|_| !self.is_own(destination)).ok_or(Discard::NoRoute(destination))?;
        let ttl = arrival.ttl.checked_sub(1).filter(|ttl| *ttl > 0).ok_or(Discard::Ttl)?;
        let key = FlowKey { session: session.key(), source: sender.template };
        let former = self.flows.get(&key);
        let refused = if former.is_some() { None } else { self.refusal(&key) };
        if let Some(code) = refused {
            let node = self.interface(arrival.interface).map(|from| from.address.address());
            let error = ErrorSpec::new(node.ok_or(Discard::NoState)?, code);
            let reference =
                SenderReference { template: sender.template, tspec: Some(sender.tspec), adspec: None };
            let report =
                Message::PathErr { session, error, sender: Some(reference), forwarded: Forwarded::new() };
            self.send_to(arrival.interface, hop.address(), report, actions);
            return if code == ErrorCode::TABLE_FULL { Err(Discard::TableFull) } else { Ok(()) };
        }
        let changed = former.is_none_or(|former| {
            let places = (former.previous, former.arrives, former.leaves, former.session);
            places != (hop, arrival.interface, leaves, session)
                || former.sender != sender
                || former.breaks_path != breaks_path
                || former.forwarded != forwarded
        });
        let moved =
            former.is_some_and(|former| former.previous != hop || former.arrives != arrival.interface);
        let refresh_at = match former {
            Some(former) if !changed => former.refresh_at,
            _ => self.refreshes.next(now),
        };
        let reserved = self.flows.remove(&key).and_then(|former| former.reserved);
        let state = FlowState {
            session,
            previous: hop,
            arrives: arrival.interface,
            leaves,
            ttl,
            sender,
            breaks_path,
            forwarded,
            expires: now + lifetime(period),
            refresh_at,
            reserved,
        };
        self.flows.insert(key, state);
        if changed {
            self.send_path(key, actions);
        }
        if moved {
            // The new previous hop needs the reservation at once (RFC 2205 section 3.6).
            self.send_reservation(key, actions);
        }
        Ok(())
    }

    /// Why no state of a new flow can be created.
    fn refusal(&self, new: &FlowKey) -> Option<ErrorCode> {
        let (destination, protocol, port) = new.session;
        let conflicts = |key: &FlowKey| {
            key.session.0 == destination && key.session.1 == protocol && (key.session.2 == 0) != (port == 0)
        };
        if self.flows.keys().any(conflicts) {
            return Some(ErrorCode::DESTINATION_PORTS);
        }
        let mixed = |key: &FlowKey| {
            key.session == new.session
                && key.source.address() == new.source.address()
                && (key.source.port() == 0) != (new.source.port() == 0)
        };
        if self.flows.keys().any(mixed) {
            return Some(ErrorCode::SENDER_PORTS);
        }
        (self.flows.len() >= self.config.most_flows).then_some(ErrorCode::TABLE_FULL)
    }

    /// Sends the flow's Path message to the next hop, with what this hop adds to the ADSPEC.
    pub(super) fn send_path(&self, key: FlowKey, actions: &mut Actions) {
        let Some(state) = self.flows.get(&key) else { return };
        let Some(interface) = self.interface(state.leaves) else { return };
        let mut sender = state.sender.clone();
        if let Some(adspec) = &mut sender.adspec {
            if state.breaks_path {
                adspec.mark_broken();
            }
            adspec.compose(&interface.element(sender.tspec.packet_size()));
        }
        let message = Message::Path {
            // This router polices, so that no later one has to.
            session: state.session.with_e_police(false),
            hop: interface.address,
            period: self.refreshes.period(),
            sender,
            forwarded: state.forwarded.clone(),
        };
        seal(state.downstream(key), message, actions);
    }

    pub(super) fn receive_path_tear(
        &mut self,
        key: FlowKey,
        hop: Hop,
        forwarded: Forwarded,
        actions: &mut Actions,
    ) -> Result<(), Discard> {
        self.flows.get(&key).filter(|state| state.previous == hop).ok_or(Discard::NoState)?;
        self.remove_path(key, forwarded, actions);
        Ok(())
    }

    /// Removes the flow and its reservation, here and downstream.
    pub(super) fn remove_path(&mut self, key: FlowKey, forwarded: Forwarded, actions: &mut Actions) {
        let Some(state) = self.flows.remove(&key) else { return };
        actions.extend(state.reservation().map(RouterAction::Remove));
        let Some(interface) = self.interface(state.leaves) else { return };
        let message = Message::PathTear {
            session: state.session,
            hop: interface.address,
            sender: SenderReference { template: key.source, tspec: Some(state.sender.tspec), adspec: None },
            forwarded,
        };
        seal(state.downstream(key), message, actions);
    }

    /// Forwards the error to the previous hop. It changes no state.
    pub(super) fn forward_path_error(&self, message: Message, actions: &mut Actions) -> Result<(), Discard> {
        let Message::PathErr { session, sender: Some(sender), .. } = &message else {
            return Err(Discard::NoState);
        };
        let key = FlowKey { session: session.key(), source: sender.template };
        let state = self.flows.get(&key).ok_or(Discard::NoState)?;
        self.send_to(state.arrives, state.previous.address(), message, actions);
        Ok(())
    }
}

impl FlowState {
    /// The envelope of Path and PathTear messages: from the sender to the destination (RFC 2205 section 3.1.3).
    const fn downstream(&self, key: FlowKey) -> Envelope {
        Envelope {
            interface: self.leaves,
            source: key.source.address(),
            destination: key.session.0,
            ttl: self.ttl,
        }
    }
}
