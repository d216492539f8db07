//! Time stamps of network cards for reflected packets.

use romer_endpoint::card;
use romer_host::socket::Datagram;
use romer_record::log::{CardMoment, ResponderRecord};

use super::{Departing, PENDING, ReflectorThread, ThreadEvent};

impl ReflectorThread {
    /// Takes a datagram's stamp of the network card that it came through.
    pub(super) fn arrived_by_card(&mut self, session: u32, sequence: u64, datagram: &Datagram<'_>) {
        if let Some((card, time)) = card::of_arrival(&self.links.cards, datagram) {
            let record = card::record(sequence, CardMoment::ArrivedThere, card::told_by(datagram));
            self.unplaced.push(session, record, card, time);
        }
    }

    /// The same of a request, and remembers its reply `id`, whose stamp comes later.
    pub(super) fn expect_card(
        &mut self,
        index: usize,
        id: u32,
        session: u32,
        record: &ResponderRecord,
        datagram: &Datagram<'_>,
    ) {
        self.arrived_by_card(session, record.sequence, datagram);
        let slot = usize::try_from(id).unwrap_or(0) % PENDING;
        if let Some(room) = self.ports[index].departing.get_mut(slot) {
            *room = record.t3_user_ns.map(|_| Departing {
                id,
                session,
                sequence: record.sequence,
                arrival_ns: card::told_by(datagram),
                interface: datagram.interface,
            });
        }
    }

    /// Takes the cards' stamps among the events at hand.
    pub(super) fn collect_card_stamps(&mut self, index: usize) {
        for stamp in self.events.card_stamps() {
            let slot = usize::try_from(stamp.id).unwrap_or(0) % PENDING;
            let Some(room) = self.ports[index].departing.get_mut(slot) else { return };
            let Some(departed) = room.take_if(|departing| departing.id == stamp.id) else { continue };
            if let Some(card) = card::of_index(&self.links.cards, departed.interface) {
                let record = card::record(departed.sequence, CardMoment::LeftThere, departed.arrival_ns);
                self.unplaced.push(departed.session, record, card.clone(), stamp.card);
            }
        }
    }

    /// Hands over the stamps whose time on this host's clock is known. One that finds no room is left out: its packet has
    /// the kernel's.
    pub(super) fn settle(&mut self) {
        let backlog = &mut self.backlog;
        self.unplaced.settle(|session, card| {
            backlog.push(ThreadEvent::Card { session, card });
        });
    }

    /// The same of all that there are.
    pub(super) fn settle_all(&mut self) {
        let backlog = &mut self.backlog;
        self.unplaced.settle_all(|session, card| {
            backlog.push(ThreadEvent::Card { session, card });
        });
    }
}
