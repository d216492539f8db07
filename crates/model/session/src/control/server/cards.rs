//! Stamps of the responder's network cards: they become known after the records of their packets, and go the same way.

use romer_record::log::Card;

use super::{Action, Message, Server};

impl Server {
    /// A stamp of a network card, of a packet of this session, became known. A sender that does not know such stamps is
    /// not told; what does not fit is left out, and the packet has the kernel's stamp.
    pub fn on_card(&mut self, card: Card) -> Vec<Action> {
        if self.has_ended() || self.request.is_none() || !self.takes_cards {
            return Vec::new();
        }
        if self.cards.len() >= self.limits.buffered_records {
            return Vec::new();
        }
        self.cards.push(card);
        if 2 * self.cards.len() >= self.limits.buffered_records { self.drain() } else { Vec::new() }
    }

    /// All that are held, as messages.
    pub(super) fn drained_cards(&mut self) -> Vec<Message> {
        let cards = std::mem::take(&mut self.cards);
        cards.chunks(Message::RECORDS_IN_A_FRAME).map(|some| Message::Cards(some.to_vec())).collect()
    }
}
