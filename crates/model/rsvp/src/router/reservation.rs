//! Reservation state and admission.

use crate::error_code::ErrorCode;
use crate::flowspec::Flowspec;
use crate::message::{Flow, Forwarded, Message};
use crate::node::{Arrival, Discard};
use crate::object::{Confirm, ErrorSpec, Hop, RefreshPeriod, Session, Style};
use crate::router::{Actions, FlowKey, Reserved, Router, RouterAction};
use crate::soft_state::{Moment, lifetime};

/// A Resv message without its flow descriptors.
pub(super) struct Request<'a> {
    pub(super) session: Session,
    pub(super) hop: Hop,
    pub(super) period: RefreshPeriod,
    pub(super) confirm: Option<Confirm>,
    pub(super) forwarded: Forwarded,
    pub(super) arrival: Arrival<'a>,
}

impl Router {
    /// Each flow descriptor is a request of its own (RFC 2205 section 3.1.8).
    pub(super) fn receive_reservations(
        &mut self,
        request: &Request<'_>,
        flows: &[Flow],
        now: Moment,
        actions: &mut Actions,
    ) {
        for flow in flows {
            match self.reserve(request, flow, now, actions) {
                Ok(()) => {}
                Err(Refusal::Report(code, in_place)) => {
                    self.refuse(request, flow, code, in_place, actions);
                }
                Err(Refusal::Ignore) => actions.push(RouterAction::Discarded(Discard::NoState)),
            }
        }
    }

    fn reserve(
        &mut self,
        request: &Request<'_>,
        flow: &Flow,
        now: Moment,
        actions: &mut Actions,
    ) -> Result<(), Refusal> {
        let session = request.session.key();
        let key = FlowKey { session, source: flow.filter };
        let Some(state) = self.flows.get(&key) else {
            let has_session = self.flows.keys().any(|key| key.session == session);
            let code = if has_session { ErrorCode::NO_SENDER } else { ErrorCode::NO_PATH };
            return Err(Refusal::Report(code, false));
        };
        if state.leaves != request.arrival.interface {
            return Err(Refusal::Ignore);
        }
        let in_place = state.reserved.is_some();
        self.admit(key, state.leaves, &flow.flowspec).map_err(|code| Refusal::Report(code, in_place))?;

        let fresh_refresh = self.refreshes.next(now);
        let state = self.flows.get_mut(&key).ok_or(Refusal::Ignore)?;
        let former = state.reserved.take();
        let changed_rate = former.as_ref().is_none_or(|former| former.flowspec != flow.flowspec);
        let changed = changed_rate
            || former.as_ref().is_none_or(|former| {
                former.forwarded != request.forwarded
                    || (request.confirm.is_some() && former.confirm != request.confirm)
            });
        state.reserved = Some(Reserved {
            flowspec: flow.flowspec,
            next: request.hop,
            confirm: request.confirm,
            forwarded: request.forwarded.clone(),
            expires: now + lifetime(request.period),
            refresh_at: former.filter(|_| !changed).map_or(fresh_refresh, |former| former.refresh_at),
        });
        if changed_rate {
            actions.extend(state.reservation().map(RouterAction::Install));
        }
        if changed {
            self.send_reservation(key, actions);
        }
        Ok(())
    }

    /// Admission control: packets fit the MTU, and all rates together fit the interface.
    fn admit(&self, key: FlowKey, interface: usize, flowspec: &Flowspec) -> Result<(), ErrorCode> {
        let limits = self.interface(interface).ok_or(ErrorCode::BANDWIDTH)?;
        if flowspec.tspec().packet_size() > limits.mtu {
            return Err(ErrorCode::MTU);
        }
        let former = self.flows.get(&key).and_then(|state| state.reservation());
        let rate = f64::from(flowspec.rate());
        // A smaller request than the former one is never refused (RFC 2212, "Invocation Information").
        if former.is_some_and(|former| rate <= f64::from(former.flowspec.rate())) {
            return Ok(());
        }
        let others = self.reservations().filter(|other| other.interface == interface && other.flow != key);
        let reserved: f64 = others.map(|other| f64::from(other.flowspec.rate())).sum();
        if reserved + rate > limits.reservable { Err(ErrorCode::BANDWIDTH) } else { Ok(()) }
    }

    /// Reports a refused request to the next hop. The reservation in place stays as it is.
    fn refuse(
        &self,
        request: &Request<'_>,
        flow: &Flow,
        code: ErrorCode,
        in_place: bool,
        actions: &mut Actions,
    ) {
        let Some(interface) = self.interface(request.arrival.interface) else { return };
        let hop = interface.address;
        let message = Message::ResvErr {
            session: request.session,
            hop,
            error: ErrorSpec { in_place, ..ErrorSpec::new(hop.address(), code) },
            style: Style::FIXED_FILTER,
            flow: Some(Flow { flowspec: Some(flow.flowspec), filter: flow.filter }),
            forwarded: request.forwarded.clone(),
        };
        self.send_to(request.arrival.interface, request.hop.address(), message, actions);
    }

    /// Sends the flow's Resv message to the previous hop, if there is a reservation.
    pub(super) fn send_reservation(&self, key: FlowKey, actions: &mut Actions) {
        let Some(state) = self.flows.get(&key) else { return };
        let Some(reserved) = &state.reserved else { return };
        let Some(hop) = self.upstream_hop(key) else { return };
        let message = Message::Resv {
            session: state.session,
            hop,
            period: self.refreshes.period(),
            confirm: reserved.confirm,
            flows: Flow { flowspec: reserved.flowspec, filter: key.source }.into(),
            forwarded: reserved.forwarded.clone(),
        };
        self.send_to(state.arrives, state.previous.address(), message, actions);
    }

    /// This router as the next hop of the flow's previous hop, with the handle that this one gave.
    fn upstream_hop(&self, key: FlowKey) -> Option<Hop> {
        let state = self.flows.get(&key)?;
        Hop::new(self.interface(state.arrives)?.address.address(), state.previous.handle())
    }

    pub(super) fn receive_reservation_tear(
        &mut self,
        session: Session,
        flows: &[Flow<Option<Flowspec>>],
        forwarded: &Forwarded,
        arrival: &Arrival<'_>,
        actions: &mut Actions,
    ) -> Result<(), Discard> {
        let mut result = Err(Discard::NoState);
        for flow in flows {
            let key = FlowKey { session: session.key(), source: flow.filter };
            let state = self.flows.get(&key).filter(|state| state.leaves == arrival.interface);
            if state.is_some_and(|state| state.reserved.is_some()) {
                self.remove_reservation(key, forwarded.clone(), actions);
                result = Ok(());
            }
        }
        result
    }

    /// Removes the flow's reservation, here and upstream.
    pub(super) fn remove_reservation(&mut self, key: FlowKey, forwarded: Forwarded, actions: &mut Actions) {
        let hop = self.upstream_hop(key);
        let Some(state) = self.flows.get_mut(&key) else { return };
        actions.extend(state.reservation().map(RouterAction::Remove));
        let (Some(reserved), Some(hop)) = (state.reserved.take(), hop) else { return };
        let (session, arrives, previous) = (state.session, state.arrives, state.previous);
        let flows = Flow { flowspec: Some(reserved.flowspec), filter: key.source }.into();
        let message = Message::ResvTear { session, hop, flows, forwarded };
        self.send_to(arrives, previous.address(), message, actions);
    }

    /// Forwards the error to the next hop that reserves for its flow.
    pub(super) fn forward_reservation_error(
        &self,
        mut message: Message,
        actions: &mut Actions,
    ) -> Result<(), Discard> {
        let Message::ResvErr { session, hop, flow: Some(flow), .. } = &mut message else {
            return Err(Discard::NoState);
        };
        let key = FlowKey { session: session.key(), source: flow.filter };
        let state = self.flows.get(&key).ok_or(Discard::NoState)?;
        let next = state.reserved.as_ref().ok_or(Discard::NoState)?.next;
        *hop = self.interface(state.leaves).ok_or(Discard::NoState)?.address;
        self.send_to(state.leaves, next.address(), message, actions);
        Ok(())
    }

    /// Forwards the confirmation towards the receiver, and requests it no more.
    pub(super) fn forward_confirmation(
        &mut self,
        message: Message,
        actions: &mut Actions,
    ) -> Result<(), Discard> {
        let Message::ResvConf { session, confirm: Confirm(receiver), flows, .. } = &message else {
            return Err(Discard::NoState);
        };
        let mut known = false;
        for flow in flows.iter() {
            let key = FlowKey { session: session.key(), source: flow.filter };
            if let Some(reserved) = self.flows.get_mut(&key).and_then(|state| state.reserved.as_mut())
                && reserved.confirm == Some(Confirm(*receiver))
            {
                reserved.confirm = None;
                known = true;
            }
        }
        let (receiver, known) = (*receiver, known && !self.is_own(*receiver));
        let leaves = self.route(receiver).filter(|_| known).ok_or(Discard::NoState)?;
        self.send_to(leaves, receiver, message, actions);
        Ok(())
    }
}

/// Why a request has no effect.
enum Refusal {
    /// The error, and whether an earlier reservation is in place.
    Report(ErrorCode, bool),
    /// It is no request of a next hop of the flow.
    Ignore,
}
