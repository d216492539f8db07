//! The receiver of a session: it reserves for each sender that announces a flow.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use romer_units::Duration;
use romer_units::random::Seed;

use crate::adspec::Adspec;
use crate::delay_bound::delay_bound;
use crate::end::End;
use crate::error_code::ErrorCode;
use crate::flowspec::{Flowspec, QosService};
use crate::message::{Flow, Forwarded, Kind, Message, Packet, SenderDescriptor, SenderReference};
use crate::node::{Arrival, Discard, Envelope, Outgoing};
use crate::object::{Confirm, ErrorSpec, Filter, Hop, RefreshPeriod, Session};
use crate::soft_state::{Moment, RefreshTimes, lifetime};
use crate::tspec::Tspec;

/// The most senders for which a receiver reserves.
pub const MOST_SENDERS: usize = 64;

/// What a receiver reserves.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiverConfig {
    /// The session; its flags have no meaning here.
    pub session: Session,
    /// The receiver's address.
    pub address: Ipv4Addr,
    /// The service, or the best one that the sender offers.
    pub service: Option<QosService>,
    /// Whether to request a confirmation.
    pub confirm: bool,
    /// The MTU of the receiver's interface, in octets of IP packet.
    pub mtu: u32,
    /// The refresh period.
    pub period: RefreshPeriod,
    /// How long the receiver waits for a sender before it reports that there is none.
    pub wait: Duration,
}

/// Places where the path does not support what is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breaks {
    /// Some hop does not support integrated services: the break bit of the path, or a TTL that routers without RSVP have
    /// reduced.
    pub path: bool,
    /// Some hop does not support the service.
    pub service: bool,
}

/// A flow and its path, as the receiver sees them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathReport {
    /// The flow's source.
    pub source: Filter,
    /// The traffic that the sender announces.
    pub tspec: Tspec,
    /// The request.
    pub flowspec: Flowspec,
    /// The path MTU, if the sender requested the properties of the path.
    pub mtu: Option<u32>,
    /// The number of routers that support integrated services, if the sender requested the properties of the path.
    pub hops: Option<u32>,
    /// Where the path does not support the request.
    pub breaks: Breaks,
    /// The largest queueing delay of guaranteed service (RFC 2212); `None` for controlled load, and if some hop does not
    /// support the service.
    pub delay_bound: Option<Duration>,
}

/// What a receiver does.
#[derive(Clone, Debug, PartialEq)]
pub enum ReceiverAction {
    /// Send a packet.
    Send(Outgoing),
    /// A sender announces a flow, or its announcement has changed. The receiver reserves.
    Path(PathReport),
    /// A sender announces a flow for which the service cannot be requested, because it does not offer it or because its
    /// traffic has no legal request.
    NotOffered(Filter),
    /// The reservation for the source is in place up to this node.
    Confirmed(Filter, Ipv4Addr),
    /// A node on the path refused the reservation for the source. The receiver continues to request it.
    ReservationError(Filter, ErrorSpec),
    /// The sender, or a node on the path, removed the flow.
    PathTorn(Filter),
    /// The flow was not announced again within its lifetime.
    PathExpired(Filter),
    /// There was no flow within [`ReceiverConfig::wait`]. The receiver continues to wait.
    NoPath,
    /// A packet was ignored, or one could not be sent.
    Discarded(Discard),
}

#[derive(Clone, Debug)]
struct PathState {
    hop: Hop,
    session: Session,
    sender: SenderDescriptor,
    breaks_path: bool,
    flowspec: Option<Flowspec>,
    confirmed: bool,
    expires: Moment,
    refresh_at: Moment,
}

/// The receiver of one session. Its calls are those of [`End`].
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    own: Hop,
    refreshes: RefreshTimes,
    paths: BTreeMap<Filter, PathState>,
    gives_up_at: Option<Moment>,
    stopped: bool,
}

impl Receiver {
    /// A receiver that starts now. `None` if no node can have the address.
    pub fn start(config: ReceiverConfig, seed: Seed, now: Moment) -> Option<Self> {
        Some(Self {
            own: Hop::new(config.address, 0)?,
            refreshes: RefreshTimes::new(config.period, seed),
            paths: BTreeMap::new(),
            gives_up_at: Some(now + config.wait),
            stopped: false,
            config,
        })
    }

    /// The sources for which the receiver requests a reservation.
    pub fn requests(&self) -> impl Iterator<Item = (Filter, Flowspec)> {
        self.paths.iter().filter_map(|(source, state)| Some((*source, state.flowspec?)))
    }

    fn announced(&mut self, announced: Announcement, now: Moment) -> Vec<ReceiverAction> {
        self.gives_up_at = None;
        let Announcement { session, hop, sender, breaks_path, expires } = announced;
        let source = sender.template;
        if let Some(state) = self.paths.get_mut(&source) {
            let unchanged = state.hop == hop && state.sender == sender && state.breaks_path == breaks_path;
            if unchanged {
                state.expires = expires;
                return Vec::new();
            }
        } else if self.paths.len() >= MOST_SENDERS {
            let error = ErrorSpec::new(self.config.address, ErrorCode::TABLE_FULL);
            let reference = SenderReference { template: source, tspec: Some(sender.tspec), adspec: None };
            let report =
                Message::PathErr { session, error, sender: Some(reference), forwarded: Forwarded::new() };
            let report = send(self.config.address, hop.address(), report);
            return vec![report, ReceiverAction::Discarded(Discard::TableFull)];
        }
        let report = self.report(&sender, breaks_path);
        let refresh_at = self.refreshes.next(now);
        let flowspec = report.map(|report| report.flowspec);
        let confirmed = false;
        let state = PathState { hop, session, sender, breaks_path, flowspec, confirmed, expires, refresh_at };
        let mut actions = vec![report.map_or(ReceiverAction::NotOffered(source), ReceiverAction::Path)];
        actions.extend(request(&self.config, self.own, source, &state));
        self.paths.insert(source, state);
        actions
    }

    /// The service to request of a sender with these properties of the path.
    fn service(&self, adspec: Option<&Adspec>) -> Option<QosService> {
        let offered = |service: &QosService| adspec.is_none_or(|adspec| adspec.offers(*service));
        match self.config.service {
            Some(service) => Some(service).filter(offered),
            None => [QosService::Guaranteed, QosService::ControlledLoad].into_iter().find(offered),
        }
    }

    /// What the receiver requests, with the path MTU as the packet size (RFC 2210 section 3.2.1).
    fn report(&self, sender: &SenderDescriptor, breaks_path: bool) -> Option<PathReport> {
        let adspec = sender.adspec.as_ref();
        let service = self.service(adspec)?;
        let mtu = adspec.map(|adspec| adspec.mtu(service).min(self.config.mtu));
        let tspec = sender.tspec.with_packet_size_limit(mtu.unwrap_or(self.config.mtu));
        let flowspec = match service {
            QosService::Guaranteed => Flowspec::guaranteed(tspec, tspec.rate(), 0).ok()?,
            QosService::ControlledLoad => Flowspec::controlled_load(tspec),
        };
        let breaks = Breaks {
            path: breaks_path || adspec.is_some_and(Adspec::is_broken),
            service: adspec.is_some_and(|adspec| adspec.is_service_broken(service)),
        };
        let terms = adspec.and_then(Adspec::error_terms).filter(|_| breaks == Breaks::default());
        Some(PathReport {
            source: sender.template,
            tspec: sender.tspec,
            flowspec,
            mtu,
            hops: adspec.map(|adspec| adspec.hops(service)),
            breaks,
            delay_bound: terms.and_then(|terms| delay_bound(&flowspec, &terms)),
        })
    }
}

impl End for Receiver {
    type Action = ReceiverAction;

    fn deadline(&self) -> Option<Moment> {
        let states = self.paths.values().flat_map(|state| [state.expires, state.refresh_at]);
        states.chain(self.gives_up_at).min()
    }

    fn expire(&mut self, now: Moment) -> Vec<ReceiverAction> {
        let mut actions = Vec::new();
        if self.gives_up_at.is_some_and(|at| at <= now) {
            self.gives_up_at = None;
            actions.push(ReceiverAction::NoPath);
        }
        self.paths.retain(|source, state| {
            let lives = now < state.expires;
            if !lives {
                actions.push(ReceiverAction::PathExpired(*source));
            }
            lives
        });
        for (source, state) in &mut self.paths {
            if state.refresh_at <= now {
                state.refresh_at = self.refreshes.next(now);
                actions.extend(request(&self.config, self.own, *source, state));
            }
        }
        actions
    }

    fn receive(&mut self, arrival: &Arrival<'_>, now: Moment) -> Vec<ReceiverAction> {
        if self.stopped {
            return Vec::new();
        }
        let mut actions = self.expire(now);
        let Packet { send_ttl, message } = match Packet::parse(arrival.octets) {
            Ok(packet) => packet,
            Err(rejection) => {
                let key = self.config.session.key();
                let own = rejection.session().is_some_and(|session| session.key() == key);
                if own && rejection.kind() == Some(Kind::Path) {
                    let report = rejection.report(self.config.address);
                    actions.extend(report.map(|(to, report)| send(self.config.address, to, report)));
                }
                actions.push(ReceiverAction::Discarded(Discard::Rejected(rejection)));
                return actions;
            }
        };
        if message.session().key() != self.config.session.key() {
            return actions;
        }
        match message {
            Message::Path { session, hop, period, sender, .. } => {
                let breaks_path = arrival.ttl != send_ttl;
                let expires = now + lifetime(period);
                let announced = Announcement { session, hop, sender, breaks_path, expires };
                actions.extend(self.announced(announced, now));
            }
            Message::PathTear { hop, sender, .. } => {
                let source = sender.template;
                if self.paths.get(&source).is_some_and(|state| state.hop == hop) {
                    self.paths.remove(&source);
                    actions.push(ReceiverAction::PathTorn(source));
                }
            }
            Message::ResvErr { error, flow, .. } => {
                let failed = |source: &&Filter| flow.is_none_or(|flow| flow.filter == **source);
                let sources = self.paths.keys().filter(failed);
                actions.extend(sources.map(|source| ReceiverAction::ReservationError(*source, error)));
            }
            Message::ResvConf { error, confirm, flows, .. } if confirm.0 == self.config.address => {
                for flow in flows.iter() {
                    if let Some(state) = self.paths.get_mut(&flow.filter)
                        && !state.confirmed
                    {
                        state.confirmed = true;
                        actions.push(ReceiverAction::Confirmed(flow.filter, error.node));
                    }
                }
            }
            _ => {}
        }
        actions
    }

    fn stop(&mut self) -> Vec<ReceiverAction> {
        self.stopped = true;
        self.gives_up_at = None;
        let paths = core::mem::take(&mut self.paths);
        let tear = |(source, state): (Filter, PathState)| {
            let flow = Flow { flowspec: Some(state.flowspec?), filter: source };
            let hop = Hop::new(self.config.address, state.hop.handle())?;
            let (session, forwarded) = (state.session, Forwarded::new());
            let message = Message::ResvTear { session, hop, flows: flow.into(), forwarded };
            Some(send(self.config.address, state.hop.address(), message))
        };
        paths.into_iter().filter_map(tear).collect()
    }

    fn sent_packet(action: ReceiverAction) -> Result<Outgoing, ReceiverAction> {
        match action {
            ReceiverAction::Send(packet) => Ok(packet),
            other => Err(other),
        }
    }
}

/// A Path message.
struct Announcement {
    session: Session,
    hop: Hop,
    sender: SenderDescriptor,
    breaks_path: bool,
    expires: Moment,
}

fn send(source: Ipv4Addr, destination: Ipv4Addr, message: Message) -> ReceiverAction {
    let sealed = Envelope::of_host(source, destination).seal(message);
    sealed.map_or_else(ReceiverAction::Discarded, ReceiverAction::Send)
}

/// The Resv message for `source`, if there is a request.
fn request(config: &ReceiverConfig, own: Hop, source: Filter, state: &PathState) -> Option<ReceiverAction> {
    let flow = Flow { flowspec: state.flowspec?, filter: source };
    let message = Message::Resv {
        session: state.session,
        hop: Hop::new(own.address(), state.hop.handle())?,
        period: config.period,
        confirm: (config.confirm && !state.confirmed).then_some(Confirm(config.address)),
        flows: flow.into(),
        forwarded: Forwarded::new(),
    };
    Some(send(config.address, state.hop.address(), message))
}
