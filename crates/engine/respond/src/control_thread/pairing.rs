//! The protection of control connections, and what takes keys from it.

use std::sync::Arc;

use romer_endpoint::byte_stream::Protection;
use romer_endpoint::tls::NoProbeKey;
use romer_endpoint::tls::pairing::PairingRefusal;
use romer_session::control::{Action, ComplaintCode, Message, PairProof, PairShare, PairStep, ProtocolError};
use romer_wire::pattern::Carrier;
use romer_wire::stamp::Key;

use super::ControlThread;
use crate::messages::Command;

impl ControlThread {
    /// Refuses the conversation over connection `index`, of which something has come, if what protects it is not enough.
    pub(super) fn check_channel(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        if std::mem::replace(&mut connection.is_checked, true) {
            return;
        }
        let Some(stream) = &connection.stream else { return };
        let admitted = self.links.channel.admit(stream.protection(), connection.peer, connection.home);
        if let Err(reason) = admitted {
            connection.server.refuse_connection(reason);
        }
    }

    /// Has the probes of a session of round trips authenticated by key material of its connection, which the answer confirms.
    pub(super) fn authenticate(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let protection = connection.stream.as_ref().map(|stream| stream.protection());
        let key = match protection {
            Some(Protection::Tls { probe_key, .. }) if connection.key.is_none() => Key::new(&probe_key).ok(),
            _ => None,
        };
        let session = connection.session.as_mut();
        let session = session.filter(|session| session.damage.carrier == Some(Carrier::Stamp));
        let answer = match (key, session) {
            (Some(key), Some(session)) => {
                session.damage.carrier = Some(Carrier::AuthenticatedStamp);
                let session = session.number;
                self.order(Command::Authenticate { session, key: Arc::new(key) });
                Message::Authenticate
            }
            _ => Message::Complaint(ProtocolError {
                code: ComplaintCode::State,
                message: NoProbeKey.to_string(),
            }),
        };
        self.carry_out(index, vec![Action::Send(answer)]);
    }

    /// Answers a step of a pairing.
    pub(super) fn pair(&mut self, index: usize, step: &PairStep) {
        let answer = self.try_pair(index, step);
        let actions = self.connections[index].server.on_paired(answer);
        self.carry_out(index, actions);
    }

    fn try_pair(&mut self, index: usize, step: &PairStep) -> Result<Message, String> {
        let connection = &mut self.connections[index];
        let address = connection.peer.to_string();
        let protection = connection.stream.as_ref().map(|stream| stream.protection());
        let Some(Protection::Tls { peer: Some(fingerprint), exported, .. }) = protection else {
            return Err("pairing needs a TLS connection and a key of the initiator".into());
        };
        let channel = &self.links.channel;
        let Some(mut window) = channel.pairing() else { return Err(PairingRefusal::Closed.to_string()) };
        match step {
            PairStep::Share(PairShare { share }) => {
                let (share, proofs) =
                    window.begin(&address, &exported, share).map_err(|refusal| refusal.to_string())?;
                connection.pairing = Some(proofs);
                Ok(Message::PairShare(PairShare { share }))
            }
            PairStep::Proof(PairProof { proof }) => {
                let proofs = connection.pairing.take().filter(|proofs| proofs.verifies_initiator(proof));
                let Some(proofs) = proofs.filter(|_| window.succeed(&address)) else {
                    window.fail(&address);
                    return Err("the code is wrong or no longer valid".into());
                };
                let is_saved = channel.remember_paired(connection.peer, fingerprint);
                window.report(&address, fingerprint, is_saved);
                Ok(Message::PairProof(PairProof { proof: proofs.of_responder() }))
            }
        }
    }
}
