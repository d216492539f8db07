//! The sender of a flow: it announces the flow and waits for its reservation.

use core::net::Ipv4Addr;

use romer_units::Duration;
use romer_units::random::Seed;

use crate::adspec::Adspec;
use crate::end::End;
use crate::error_code::ErrorCode;
use crate::flowspec::Flowspec;
use crate::message::{Flow, Forwarded, Kind, Message, Packet, SenderDescriptor, SenderReference};
use crate::node::{Arrival, Discard, Envelope, Outgoing};
use crate::object::{Confirm, ErrorSpec, Filter, Hop, RefreshPeriod, Session};
use crate::soft_state::{Moment, RefreshTimes, lifetime};
use crate::tspec::Tspec;

/// What a sender announces.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    /// The flow's destination, with the flag `E_Police` unless the sender polices its own traffic.
    pub session: Session,
    /// The flow's source. Its address is that of the interface.
    pub source: Filter,
    /// The flow's traffic.
    pub tspec: Tspec,
    /// The services that receivers may request.
    pub adspec: Option<Adspec>,
    /// The refresh period.
    pub period: RefreshPeriod,
    /// How long the sender waits for a reservation before it reports that there is none.
    pub wait: Duration,
}

/// What a sender does.
#[derive(Clone, Debug, PartialEq)]
pub enum SenderAction {
    /// Send a packet.
    Send(Outgoing),
    /// There is a reservation, or it has changed.
    Reserved(Flowspec),
    /// A node on the path reports an error.
    PathError(ErrorSpec),
    /// The receiver, or a node on the path, removed the reservation.
    ReservationTorn,
    /// The reservation was not refreshed within its lifetime.
    ReservationExpired,
    /// There was no reservation within [`SenderConfig::wait`]. The sender continues to announce its flow.
    NoReservation,
    /// A packet was ignored, or one could not be sent.
    Discarded(Discard),
}

#[derive(Clone, Copy, Debug)]
struct Reservation {
    flowspec: Flowspec,
    expires: Moment,
}

/// The sender of one flow.
///
/// [`Sender::start`] gives the first actions. The other calls are those of [`End`].
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    hop: Hop,
    refreshes: RefreshTimes,
    /// `None` after the end.
    refresh_at: Option<Moment>,
    gives_up_at: Option<Moment>,
    reservation: Option<Reservation>,
}

impl Sender {
    /// A sender that starts now. `None` if no node can have the source address.
    pub fn start(config: SenderConfig, seed: Seed, now: Moment) -> Option<(Self, Vec<SenderAction>)> {
        let hop = Hop::new(config.source.address(), 0)?;
        let mut refreshes = RefreshTimes::new(config.period, seed);
        let refresh_at = Some(refreshes.next(now));
        let gives_up_at = Some(now + config.wait);
        let sender = Self { config, hop, refreshes, refresh_at, gives_up_at, reservation: None };
        let actions = vec![sender.path()];
        Some((sender, actions))
    }

    /// The reservation in place.
    pub fn reservation(&self) -> Option<Flowspec> {
        self.reservation.map(|reservation| reservation.flowspec)
    }

    fn send(to: Envelope, message: Message) -> SenderAction {
        to.seal(message).map_or_else(SenderAction::Discarded, SenderAction::Send)
    }
    fn send_downstream(&self, message: Message) -> SenderAction {
        let Self { config: SenderConfig { source, session, .. }, .. } = self;
        Self::send(Envelope::of_host(source.address(), session.destination()), message)
    }
    fn path(&self) -> SenderAction {
        let SenderConfig { session, source, tspec, ref adspec, period, .. } = self.config;
        let sender = SenderDescriptor { template: source, tspec, adspec: adspec.clone() };
        self.send_downstream(Message::Path {
            session,
            hop: self.hop,
            period,
            sender,
            forwarded: Forwarded::new(),
        })
    }

    fn reply(&self, destination: Ipv4Addr, message: Message) -> SenderAction {
        Self::send(Envelope::of_host(self.hop.address(), destination), message)
    }
    /// The sender is the last node that reserves, so it confirms.
    fn confirmation(&self, session: Session, confirm: Confirm, flow: Flow) -> SenderAction {
        let error = ErrorSpec::new(self.hop.address(), ErrorCode::CONFIRMATION);
        let (flows, forwarded) = (flow.into(), Forwarded::new());
        self.reply(confirm.0, Message::ResvConf { session, error, confirm, flows, forwarded })
    }
}

impl End for Sender {
    type Action = SenderAction;

    fn deadline(&self) -> Option<Moment> {
        let expires = self.reservation.map(|reservation| reservation.expires);
        self.refresh_at.map(|at| [expires, self.gives_up_at].into_iter().flatten().fold(at, Moment::min))
    }

    fn expire(&mut self, now: Moment) -> Vec<SenderAction> {
        let mut actions = Vec::new();
        let Some(refresh_at) = self.refresh_at else { return actions };
        if self.reservation.is_some_and(|reservation| reservation.expires <= now) {
            self.reservation = None;
            actions.push(SenderAction::ReservationExpired);
        }
        if self.gives_up_at.is_some_and(|at| at <= now) {
            self.gives_up_at = None;
            actions.push(SenderAction::NoReservation);
        }
        if refresh_at <= now {
            self.refresh_at = Some(self.refreshes.next(now));
            actions.push(self.path());
        }
        actions
    }

    fn receive(&mut self, arrival: &Arrival<'_>, now: Moment) -> Vec<SenderAction> {
        if self.refresh_at.is_none() {
            return Vec::new();
        }
        let mut actions = self.expire(now);
        let message = match Packet::parse(arrival.octets) {
            Ok(packet) => packet.message,
            Err(rejection) => {
                let key = self.config.session.key();
                let own = rejection.session().is_some_and(|session| session.key() == key);
                if own && rejection.kind() == Some(Kind::Resv) {
                    let report = rejection.report(self.hop.address());
                    actions.extend(report.map(|(to, report)| self.reply(to, report)));
                }
                actions.push(SenderAction::Discarded(Discard::Rejected(rejection)));
                return actions;
            }
        };
        if message.session().key() != self.config.session.key() {
            return actions;
        }
        let source = self.config.source;
        match message {
            Message::Resv { session, period, confirm, flows, .. } => {
                let Some(flow) = flows.iter().find(|flow| flow.filter == source) else { return actions };
                let expires = now + lifetime(period);
                let reservation = Reservation { flowspec: flow.flowspec, expires };
                let former = self.reservation.replace(reservation);
                self.gives_up_at = None;
                if former.is_none_or(|former| former.flowspec != flow.flowspec) {
                    actions.push(SenderAction::Reserved(flow.flowspec));
                }
                actions.extend(confirm.map(|confirm| self.confirmation(session, confirm, *flow)));
            }
            Message::ResvTear { flows, .. }
                if flows.iter().any(|flow| flow.filter == source) && self.reservation.take().is_some() =>
            {
                actions.push(SenderAction::ReservationTorn);
            }
            Message::PathErr { error, sender, .. }
                if sender.as_ref().is_none_or(|sender| sender.template == source) =>
            {
                actions.push(SenderAction::PathError(error));
            }
            _ => {}
        }
        actions
    }

    fn stop(&mut self) -> Vec<SenderAction> {
        if self.refresh_at.take().is_none() {
            return Vec::new();
        }
        self.reservation = None;
        let SenderConfig { session, source, tspec, .. } = self.config;
        let sender = SenderReference { template: source, tspec: Some(tspec), adspec: None };
        let forwarded = Forwarded::new();
        vec![self.send_downstream(Message::PathTear { session, hop: self.hop, sender, forwarded })]
    }

    fn sent_packet(action: SenderAction) -> Result<Outgoing, SenderAction> {
        match action {
            SenderAction::Send(packet) => Ok(packet),
            other => Err(other),
        }
    }
}
