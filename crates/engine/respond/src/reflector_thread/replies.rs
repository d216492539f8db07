//! Replies: build and send them, and keep each until its transmit time stamp is known.

use romer_host::HostError;
use romer_host::clock;
use romer_host::socket::{Datagram, Outgoing, Sent};
use romer_session::reflector::{Answer, Written};
use romer_units::Dscp;

use super::ReflectorThread;
use super::session_lookup::Owner;

impl ReflectorThread {
    /// Answers a request that came to port `index`.
    pub(super) fn reply(&mut self, index: usize, answer: &Answer<'_>, datagram: &Datagram<'_>) {
        let port = &mut self.ports[index];
        let id = port.next_id;
        port.next_id = port.next_id.wrapping_add(1);
        let owner = self.owner(datagram.peer, answer.ssid());
        let Some((mut written, mut sent)) = self.send_reply(index, id, answer, datagram, false) else {
            return self.pass_over(owner, answer.sequence(), datagram);
        };
        // A session is told what is too long for the way back. Nobody else can be, and expects an answer as it was.
        let is_told = matches!(owner, Some(Owner::Session(_)));
        if !is_told
            && sent.as_ref().is_err_and(HostError::is_too_long)
            && let Some(again) = self.send_reply(index, id, answer, datagram, true)
        {
            (written, sent) = again;
        }
        match &sent {
            Ok(_) => self.reflector.on_reflected(&written),
            Err(_) => self.not_sent += 1,
        }
        self.told_sent(owner, &sent);
        let sent = sent.ok().map(|sent| sent.user);
        let record = owner.and_then(|owner| self.record(owner, answer.sequence(), datagram, sent));
        if let Some((Owner::Session(session), record)) = record {
            self.expect_card(index, id, session, &record, datagram);
        }
        self.await_stamp(index, id, record, &written, sent.is_some());
    }

    /// Writes a reply and sends it, in fragments if need be and it may.
    fn send_reply(
        &mut self,
        index: usize,
        id: u32,
        answer: &Answer<'_>,
        datagram: &Datagram<'_>,
        may_fragment: bool,
    ) -> Option<(Written, Result<Sent, HostError>)> {
        let departs = clock::realtime_now();
        let written = answer.write(departs.on(), self.error, &mut self.reply)?;
        let outgoing = Outgoing {
            payload: &self.reply[..written.octets],
            to: datagram.peer,
            from: datagram.answered_from(),
            // What the request asked for, or its own code point, without its ECN bits: what comes back was marked alike.
            tos: written.dscp.map(Dscp::tos).or(datagram.tos.map(|tos| tos & 0b1111_1100)),
            ttl: None,
            id,
            may_fragment,
        };
        Some((written, self.ports[index].socket.send(&outgoing)))
    }
}
