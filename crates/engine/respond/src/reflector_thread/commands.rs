//! Commands of the control thread: open, move and close sessions.

use std::collections::VecDeque;

use romer_host::clock;
use romer_units::{Duration, saturating_sum};

use super::super::receive_buffer;
use super::super::send_errors::SendErrors;
use super::super::tx_stamp_timeout;
use super::sequence::SequenceWindow;
use super::{Command, ReflectedSession, ReflectorThread, reply_quota};

/// How long what had come to the sockets by then is read before a session ends whose packets may be among it, at the most: on a
/// machine that gives this thread a tenth of a processor, all that the kernel holds.
const READ_OUT: Duration = Duration::from_secs(10);

impl ReflectorThread {
    pub(super) fn obey(&mut self, order: Command) {
        match order {
            Command::Open { session, token, ssid, peer, probes, sends, rate } => {
                self.tokens.insert(token, (session, peer));
                let drops_before = self.unread();
                let state = ReflectedSession {
                    ssid,
                    key: None,
                    address: None,
                    next_change: None,
                    numbers: SequenceWindow::default(),
                    proved_at: 0,
                    proved_by: 0,
                    rate,
                    share: reply_quota::share(rate, probes.is_none()),
                    share_of: None,
                    lost: 0,
                    drops_before,
                    flush: false,
                    flush_after: clock::monotonic_now(),
                    flush_read_to: 0,
                    flush_by: clock::monotonic_now(),
                    sends,
                    sender: None,
                    heard: 0,
                    elsewhere: None,
                    moves: VecDeque::new(),
                    may_not_know: false,
                    refusals: SendErrors::default(),
                };
                self.unclaimed.open(ssid);
                self.sessions.insert(session, state);
                self.keep_share(session, peer);
                if let Some((probes, most)) = probes {
                    self.expected.expect(session, peer, probes, most);
                }
                self.make_room();
            }
            Command::Authenticate { session, key } => {
                if let Some(state) = self.sessions.get_mut(&session) {
                    state.key = Some(key);
                }
            }
            Command::Move { session, token, peer } => {
                self.tokens.retain(|_, (owner, _)| *owner != session);
                self.tokens.insert(token, (session, peer));
                self.expected.follow(session, peer);
                if let Some(state) = self.sessions.get_mut(&session) {
                    state.may_not_know = true;
                }
                self.give_back_share(session);
                self.keep_share(session, peer);
            }
            Command::Flush { session } => {
                if let Some(state) = self.sessions.get_mut(&session) {
                    state.flush = true;
                    state.flush_read_to = clock::realtime_now().as_nanos();
                    state.flush_by = clock::monotonic_now() + READ_OUT;
                    if !self.links.cards.is_empty() {
                        state.flush_after = clock::monotonic_now() + tx_stamp_timeout::NIC_STAMP_TIMEOUT;
                    }
                }
            }
            Command::Close { session } => {
                self.tokens.retain(|_, (owner, _)| *owner != session);
                self.expected.forget(session, clock::monotonic_now());
                self.give_back_share(session);
                if let Some(ReflectedSession { ssid, address, .. }) = self.sessions.remove(&session) {
                    self.unclaimed.close(ssid);
                    if let Some(address) = address {
                        self.disprove(session, address, ssid);
                    }
                    self.make_room();
                }
            }
        }
    }

    /// Has the test sockets hold what the sessions send in a second, and not much besides.
    fn make_room(&self) {
        let granted = saturating_sum(self.sessions.values().map(|session| session.rate));
        for port in &self.ports {
            // What the system refuses stays as it is: what finds the socket full is counted.
            let _ = port.socket.ask_receive_buffer(receive_buffer(granted));
        }
    }
}
