//! Reserves the granted rate of each session in the reply limit of its address.

use std::net::IpAddr;

use romer_host::clock;

use super::ReflectorThread;

/// How many packets a second are kept for a session that was granted `rate`, which comes to be answered where `answered`: what was
/// granted is a whole number, which may be less than one too few.
pub(super) const fn share(rate: u64, answered: bool) -> u64 {
    if answered && rate > 0 { rate.saturating_add(1) } else { 0 }
}

impl ReflectorThread {
    /// Keeps its share for a session that comes from the host at `peer`.
    pub(super) fn keep_share(&mut self, session: u32, peer: IpAddr) {
        let Some(state) = self.sessions.get_mut(&session).filter(|state| state.share > 0) else { return };
        let is_kept = self.reflector.reserve(peer, state.share, clock::monotonic_now());
        state.share_of = is_kept.then_some(peer);
    }

    /// Keeps it no more.
    pub(super) fn give_back_share(&mut self, session: u32) {
        let Some(state) = self.sessions.get_mut(&session) else { return };
        if let Some(peer) = state.share_of.take() {
            self.reflector.give_back(peer, state.share, clock::monotonic_now());
        }
    }
}
