//! Assigns packets to sessions. A session proves its address by an association, and its address may change.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use romer_endpoint::card;
use romer_host::clock;
use romer_host::socket::Datagram;
use romer_record::log::ResponderRecord;
use romer_session::association::Token;
use romer_units::Duration;

use super::ReflectorThread;
use crate::messages::{SendPath, ThreadEvent};

/// So many addresses of a session are remembered: for who makes more mappings than that while it has no conversation, the last.
const MOST_MOVES: usize = 16;
/// The least time between two changes of a session's address, while its conversation goes on over one connection. A change that
/// comes earlier is dropped: senders repeat their associations.
const BETWEEN_CHANGES: Duration = Duration::from_secs(1);

/// Whose a reply is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// This session's.
    Session(u32),
    /// Of a sender at this address, which may be a session's of this number.
    Unproved(SocketAddr, u16),
}

impl ReflectorThread {
    /// Whose a request of this number is from there, if it is any session's or may turn out to be.
    pub(super) fn owner(&self, peer: SocketAddr, ssid: u16) -> Option<Owner> {
        let proved = self.proved.get(&(peer, ssid)).copied().map(Owner::Session);
        proved.or_else(|| self.unclaimed.may_be_claimed(ssid).then_some(Owner::Unproved(peer, ssid)))
    }

    /// Tells the control thread a record, or keeps it until somebody proves to be whose it is.
    pub(super) fn hand_over(&mut self, record: Option<(Owner, ResponderRecord)>) {
        self.hand_over_as(record, true);
    }

    /// The same of a packet that has come for the `first` time, or again.
    pub(super) fn hand_over_as(&mut self, record: Option<(Owner, ResponderRecord)>, first: bool) {
        let Some((owner, mut record)) = record else { return };
        let session = match owner {
            Owner::Session(session) => session,
            Owner::Unproved(peer, ssid) => match self.proved.get(&(peer, ssid)) {
                // It was proved while the transmit stamp was waited for.
                Some(session) => *session,
                None => return self.unclaimed.store(peer, ssid, record),
            },
        };
        if let (Owner::Unproved(..), Some(state)) = (owner, self.sessions.get_mut(&session)) {
            record.sequence = state.numbers.come(record.sequence);
        }
        if !self.backlog.push(ThreadEvent::Record { session, record, first })
            && let Some(state) = self.sessions.get_mut(&session)
        {
            state.lost += 1;
        }
    }

    /// Whether a session waits for an association with this token from the host of `peer`.
    pub(super) fn expects(&self, token: Token, peer: SocketAddr) -> bool {
        let expected = self.tokens.get(&token);
        expected.is_some_and(|(_, expected)| expected.to_canonical() == peer.ip().to_canonical())
    }

    /// An association has arrived by port `index`: the address of its session is proved.
    pub(super) fn associate(&mut self, index: usize, token: Token, datagram: &Datagram<'_>) {
        let peer = datagram.peer;
        let Some((session, _)) = self.tokens.get(&token).copied().filter(|_| self.expects(token, peer))
        else {
            return;
        };
        let Some(state) = self.sessions.get_mut(&session) else { return };
        let before = state.address;
        let is_changed = before != Some(peer);
        let arrived = clock::monotonic_now();
        // The control thread works on each change, and on a conversation that goes on over another connection.
        if is_changed && !state.may_not_know && state.next_change.is_some_and(|next| arrived < next) {
            return;
        }
        let mut path = None;
        if let (Some(options), true) = (&state.sends, is_changed) {
            // Without a way to there, the next association may find one.
            let Ok(socket) = self.ports[index].socket.receiver_from(peer, options) else { return };
            let socket = Arc::new(socket);
            state.sender = Some((index, Arc::clone(&socket)));
            let from = datagram.answered_from();
            let card = card::of_index(&self.links.cards, datagram.interface).cloned();
            path = Some(Box::new(SendPath { socket, to: peer, from, card }));
        }
        let now = datagram.kernel.unwrap_or(datagram.user).as_nanos();
        let ssid = state.ssid;
        let claimed = if is_changed { self.unclaimed.claim(peer, ssid) } else { Vec::new() };
        let has_moved = is_changed && before.is_some();
        let moved = has_moved.then(|| {
            let first = claimed.iter().map(|far| far.t2_kernel_ns.unwrap_or(far.t2_user_ns));
            let first = first.chain(state.elsewhere).chain([now]).min().unwrap_or(now);
            [state.heard.min(first), first]
        });
        let ago = |at: i64| Duration::from_nanos(now.saturating_sub(at).max(0));
        let meanwhile = if has_moved {
            let (numbers, last) = (&state.numbers, state.proved_by);
            let is_missing = |sent: u64| {
                let whole = numbers.extended(sent);
                whole >= last && !numbers.may_have_come(whole)
            };
            self.unclaimed.claim_between((peer, ssid), [state.proved_at, now], is_missing)
        } else {
            Vec::new()
        };
        let mut others: BTreeMap<SocketAddr, u64> = BTreeMap::new();
        meanwhile.iter().for_each(|(from, _)| *others.entry(*from).or_default() += 1);
        let others = others.into_iter().collect();
        let earlier = state.moves.iter().copied().filter(|_| state.may_not_know);
        let moves = earlier.chain(moved.map(|times| (peer, times)));
        let moves = moves.map(|(address, times)| (address, times.map(ago))).collect();
        let is_news = is_changed || state.may_not_know;
        let note = is_news.then(|| ThreadEvent::Associated { session, address: peer, moves, others, path });
        if note.is_some_and(|note| self.links.notes.try_send(note).is_err()) {
            let claimed = claimed.into_iter().map(|record| (peer, record));
            meanwhile
                .into_iter()
                .chain(claimed)
                .for_each(|(from, record)| self.unclaimed.store(from, ssid, record));
            return;
        }
        state.address = Some(peer);
        if has_moved {
            state.next_change = Some(arrived + BETWEEN_CHANGES);
        }
        state.elsewhere = None;
        state.heard = now;
        if let Some(times) = moved {
            state.moves.push_back((peer, times));
            let too_many = state.moves.len().saturating_sub(MOST_MOVES);
            state.moves.drain(..too_many);
        }
        state.may_not_know = false;
        (state.proved_at, state.proved_by) = (now, state.numbers.highest());
        if let Some(before) = before {
            self.disprove(session, before, ssid);
        }
        self.proved.insert((peer, ssid), session);
        for record in meanwhile.into_iter().map(|(_, record)| record).chain(claimed) {
            self.hand_over(Some((Owner::Unproved(peer, ssid), record)));
        }
        if is_news {
            self.links.control_waker.wake();
        }
    }

    /// `session` of this number is at `address` no more. Where another has proved the same since, it stays proved.
    pub(super) fn disprove(&mut self, session: u32, address: SocketAddr, ssid: u16) {
        if self.proved.get(&(address, ssid)) == Some(&session) {
            self.proved.remove(&(address, ssid));
        }
    }
}
