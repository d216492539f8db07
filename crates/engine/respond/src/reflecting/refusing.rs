//! Replies that this host refuses to send, and those that the responder does not make, because more came than it answers.

use romer_host::HostError;
use romer_host::clock;
use romer_host::socket::{Datagram, Sent};
use romer_units::{Monotonic, Timestamp};

use super::associating::Owner;
use super::{Note, Reflecting};
use crate::refusals::OVER_THE_RATE;

impl Reflecting {
    /// Whether a reply of `owner` was `sent`: its session is told of those that were not.
    pub(super) fn told_sent(&mut self, owner: Option<Owner>, sent: &Result<Sent, HostError>) {
        let Some(Owner::Session(session)) = owner else { return };
        let Some(state) = self.sessions.get_mut(&session) else { return };
        match sent {
            Ok(_) => state.refusals.sent(),
            Err(error) => {
                let now = clock::monotonic_now();
                let others = state.refusals.refuse(error.errno().unwrap_or(0), now, now);
                if let Some(refused) = others {
                    // Where there is no room even for that, the records tell of each.
                    self.backlog.tell(Note::Refused { session, refused });
                }
            }
        }
    }

    /// A datagram was refused because its address sends more than it may. Where it is a session's probe, that is no loss of the
    /// path: the log of the session has that it came and was not answered. Of a flood so many are told as would have been
    /// answered, and no more.
    pub(super) fn tell_over_the_rate(&mut self, datagram: &Datagram<'_>, now: Timestamp<Monotonic>) {
        if !self.is_proved(datagram.peer) || !self.telling.admit(datagram.peer.ip(), false, now) {
            return;
        }
        let Some((ssid, sequence)) = self.reflector.numbers(datagram.payload) else { return };
        let Some(owner @ Owner::Session(session)) = self.owner(datagram.peer, ssid) else { return };
        let Some(state) = self.sessions.get_mut(&session) else { return };
        if let Some(refused) = state.refusals.refuse(OVER_THE_RATE, now, now) {
            self.backlog.tell(Note::Refused { session, refused });
        }
        let record = self.record(owner, sequence, datagram, None);
        self.hand_over(record);
    }

    /// Tells of the refusals that are over.
    pub(super) fn tell_refusals(&mut self, now: Timestamp<Monotonic>) {
        for (session, state) in &mut self.sessions {
            if let Some(refused) = state.refusals.over(now) {
                self.backlog.tell(Note::Refused { session: *session, refused });
            }
        }
    }
}
