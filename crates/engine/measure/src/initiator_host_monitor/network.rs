//! What changes of this host's network: its interfaces, addresses and routes, and with them the ways of the streams.

use std::net::IpAddr;
use std::time::Instant;

use romer_endpoint::host_events::covers;
use romer_endpoint::host_monitor::{HostChange, LinkNews};
use romer_endpoint::interface::{LinkState, LinkTransition};
use romer_host::{HostError, clock, host_info};
use romer_record::event::{EventDetail, EventKind, EventLocation};

use super::InitiatorHostMonitor;
use crate::no_route;

impl InitiatorHostMonitor {
    pub(super) fn look_at_network(&mut self) {
        let before = std::mem::replace(&mut self.looked, Instant::now());
        let mut changes = self.host.network_changes();
        let states = self.links.iter().filter_map(|link| self.host.link(&link.name));
        changes.extend(states.filter(|news| self.is_news(news)).map(HostChange::Link));
        if changes.is_empty() {
            return;
        }
        for change in changes {
            match change {
                HostChange::Link(LinkNews { name, state, mtu }) => self.link(&name, state, mtu),
                HostChange::Address { address, added } => self.address(address, added),
                HostChange::Route { to, prefix, gateway: Some(gateway), added } => {
                    self.route(to, prefix, gateway, added);
                }
                HostChange::Route { gateway: None, .. } => {}
                HostChange::Missed => {
                    self.note(None, EventDetail::NetworkChanges, EventLocation::Sender);
                }
            }
        }
        for index in 0..self.ways.len() {
            self.way(index, before);
        }
        self.follow_links();
    }

    /// Whether an interface is not as it was known.
    fn is_news(&self, news: &LinkNews) -> bool {
        self.links.iter().any(|link| link.name == news.name && link.tidings != news.state)
    }

    pub(super) fn link(&mut self, name: &str, tidings: LinkState, mtu: Option<u32>) {
        let Some(index) = self.links.iter().position(|link| link.name == name) else { return };
        let link = &mut self.links[index];
        let Some(mut deeds) = tidings.deeds_since(link.tidings) else { return };
        let is_another = link.tidings.index != 0 && tidings.index != 0 && tidings.index != link.tidings.index;
        let mtu_before = link.mtu;
        (link.tidings, link.mtu) = (tidings, mtu.or(link.mtu));
        if is_another {
            self.links[index].is_left = !self.follow_interface(name);
        }
        if self.links[index].is_left {
            // For what was to come it stays down.
            deeds.retain(|deed| deed.kind != EventKind::LinkUp);
        }
        let was_down = std::mem::take(&mut self.links[index].was_down);
        for deed in deeds {
            let place = if was_down && deed.kind == EventKind::LinkDown {
                let no_carrier = no_route::lacks_carrier(name);
                let detail = EventDetail::InterfaceDownBefore { interface: name.to_owned(), no_carrier };
                self.note(None, detail, EventLocation::Sender)
            } else {
                self.note_link(name, deed)
            };
            if deed.kind == EventKind::LinkDown {
                self.links[index].down = place;
                continue;
            }
            let now = self.event(place).map(|event| event.at_ns);
            if let Some(down) = self.event(self.links[index].down) {
                down.until_ns = now;
            }
        }
        if let (Some(before), Some(now)) = (mtu_before, mtu)
            && before != now
        {
            let event = self.host.mtu_event(name, before, now);
            self.keep(None, event);
        }
    }

    /// Another interface has come that is called as one that was asked for. Gives whether the streams that are bound to that go on
    /// by this one.
    fn follow_interface(&mut self, name: &str) -> bool {
        let bound = self.ways.iter().filter(|way| way.shared.interface.as_deref() == Some(name));
        let followed: Vec<Result<(), HostError>> = bound.map(|way| way.shared.follow_interface()).collect();
        let Some(first) = followed.into_iter().reduce(Result::and) else { return true };
        let error = first.err().map(|error| error.to_string());
        let goes_on = error.is_none();
        let detail = EventDetail::InterfaceReplaced { interface: name.to_owned(), error };
        self.note(None, detail, EventLocation::Sender);
        goes_on
    }

    /// Notes what an interface did: now, or, where nobody has looked for long, at some moment of that time.
    fn note_link(&mut self, name: &str, deed: LinkTransition) -> Option<usize> {
        let event = self.host.link_event(name, deed);
        self.keep(None, event)
    }

    fn address(&mut self, address: IpAddr, added: bool) {
        let mut is_ours = false;
        for way in &mut self.ways {
            is_ours |= way.bound.or(way.source) == Some(address);
            if way.bound == Some(address) {
                way.is_homeless = !added;
            }
        }
        if is_ours && !added {
            let place = self.note(None, EventDetail::AddressRemoved { address }, EventLocation::Sender);
            self.away.insert(address, place);
        } else if added && let Some(place) = self.away.remove(&address) {
            // It was nobody's meanwhile: what came for it was dropped by this host.
            let now = (clock::monotonic_now() - self.host.start()).as_nanos();
            if let Some(gone) = self.event(place) {
                gone.until_ns = Some(now);
            }
        }
    }

    fn route(&mut self, to: IpAddr, prefix: u8, gateway: IpAddr, added: bool) {
        let concerned: Vec<usize> = (0..self.ways.len())
            .filter(|way| covers(to, prefix, self.ways[*way].shared.target.ip()))
            .collect();
        for way in concerned {
            let event = self.host.route_event((to, prefix), gateway, added);
            self.keep(Some(way), event);
        }
    }

    /// Asks again for the way to the target of a stream.
    fn way(&mut self, index: usize, looked: Instant) {
        let target = self.ways[index].shared.target;
        let now = host_info::route_to(target).ok();
        let (source, mtu) = (now.as_ref().map(|route| route.source), now.as_ref().map(|route| route.mtu));
        let way = &mut self.ways[index];
        let before = (way.source, way.mtu);
        if (source, mtu) == before {
            return;
        }
        if way.source != source {
            way.before_change = Some(looked);
        }
        (way.source, way.mtu) = (source, mtu);
        way.shared.leaves_from(source);
        if let Some(route) = now {
            way.interface = way.shared.interface.clone().or(route.interface);
        }
        let target = target.ip();
        let detail = match (before.0, source) {
            (Some(_), None) => EventDetail::NoRoute { target },
            (None, Some(address)) => EventDetail::RouteRestored { target, address },
            (Some(address_before), Some(address)) if address_before != address => {
                EventDetail::SourceChanged { target, address, address_before }
            }
            _ => return,
        };
        self.note(Some(index), detail, EventLocation::Sender);
    }
}
