//! Conversations that are refused for their connection, and those that pair.

use super::super::message::{ComplaintCode, ConnectionRefusal, Message, PairStep};
use super::{Action, Server, State, complain};

impl Server {
    /// The conversation is refused for this reason, whatever is said first.
    pub const fn refuse_connection(&mut self, reason: ConnectionRefusal) {
        self.refusal = Some(reason);
    }

    /// Whether it may be the connection of a pairing: who is not paired is refused everything else.
    pub(super) fn may_pair(&self) -> bool {
        self.refusal.is_none_or(|reason| reason == ConnectionRefusal::NotPaired)
    }

    pub(super) fn refuse(&mut self, actions: &mut Vec<Action>) {
        let reason = self.refusal.unwrap_or(ConnectionRefusal::Unprotected);
        let code = match reason {
            ConnectionRefusal::Unprotected => ComplaintCode::Unprotected,
            ConnectionRefusal::NotPaired => ComplaintCode::NotPaired,
        };
        self.answered = true;
        actions.push(complain(code, reason.to_string()));
        self.close(actions);
    }

    pub(super) fn pair(&mut self, step: PairStep, actions: &mut Vec<Action>) {
        self.answered = true;
        self.state = State::Pairing;
        actions.push(Action::Pair(step));
    }

    /// The answer to [`Action::Pair`]: a message, or in words why the pairing has failed.
    pub fn on_paired(&mut self, answer: Result<Message, String>) -> Vec<Action> {
        if self.is_over() {
            return Vec::new();
        }
        let goes_on = matches!(answer, Ok(Message::PairShare(_)));
        let answer = answer.map_or_else(|why| complain(ComplaintCode::Pairing, why), Action::Send);
        let mut actions = vec![answer];
        if !goes_on {
            self.close(&mut actions);
        }
        actions
    }
}

#[cfg(test)]
mod tests {
    use romer_units::{Monotonic, Timestamp};

    use super::super::super::{ClientHello, ClockIdentity, PairProof, PairShare, ServerHello, VERSION};
    use super::super::Limits;
    use super::*;

    const NOW: Timestamp<Monotonic> = Timestamp::from_nanos(1);

    fn server() -> Server {
        let clock = ClockIdentity { boot_id: "b".into(), realtime_minus_boottime_ns: 0 };
        Server::new(Limits::default(), ServerHello::new("romer", clock, 862), [7; 16], NOW)
    }

    fn say(server: &mut Server, message: &Message) -> Vec<Action> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        server.on_bytes(&bytes, false, NOW)
    }

    fn hello() -> Message {
        let clock = ClockIdentity { boot_id: "a".into(), realtime_minus_boottime_ns: 0 };
        Message::Hello(ClientHello { version: VERSION, software: "t".into(), clock, features: Vec::new() })
    }

    fn share() -> Message {
        Message::PairShare(PairShare { share: "41".repeat(33) })
    }

    /// A connection that is refused gets the reason as its only answer, and is not counted as one without a request.
    #[test]
    fn refused_connections_hear_why() {
        for (message, reason, code) in [
            (hello(), ConnectionRefusal::Unprotected, ComplaintCode::Unprotected),
            (share(), ConnectionRefusal::Unprotected, ComplaintCode::Unprotected),
            (Message::Stop, ConnectionRefusal::NotPaired, ComplaintCode::NotPaired),
        ] {
            let mut server = server();
            server.refuse_connection(reason);
            let actions = say(&mut server, &message);
            let [Action::Send(Message::Complaint(complaint)), Action::Close] = &actions[..] else {
                panic!("{actions:?}")
            };
            assert_eq!(complaint.code, code);
            assert!(server.is_over() && server.fruitless().is_none());
        }
    }

    /// A pairing has two steps, in this order, instead of a greeting; a failure ends it.
    #[test]
    fn pairing_has_two_steps() {
        let proof = PairProof { proof: "00".repeat(16) };
        let mut server = server();
        assert!(matches!(&say(&mut server, &share())[..], [Action::Pair(PairStep::Share(_))]));
        assert!(matches!(&server.on_paired(Ok(share()))[..], [Action::Send(Message::PairShare(_))]));
        let untimely = say(&mut server, &hello());
        assert!(matches!(&untimely[..], [Action::Send(Message::Complaint(_))]), "{untimely:?}");
        let actions = say(&mut server, &Message::PairProof(proof.clone()));
        assert_eq!(actions, [Action::Pair(PairStep::Proof(proof.clone()))]);
        let actions = server.on_paired(Ok(Message::PairProof(proof.clone())));
        assert_eq!(actions, [Action::Send(Message::PairProof(proof.clone())), Action::Close]);
        assert!(server.is_over() && server.on_paired(Ok(share())).is_empty());

        let mut server = self::server();
        server.refuse_connection(ConnectionRefusal::NotPaired);
        assert!(matches!(&say(&mut server, &share())[..], [Action::Pair(_)]), "who is not paired may be");

        let mut server = self::server();
        let early = say(&mut server, &Message::PairProof(proof));
        assert!(matches!(&early[..], [Action::Send(Message::Complaint(_))]), "{early:?}");
        say(&mut server, &share());
        let actions = server.on_paired(Err("wrong code".into()));
        assert!(
            matches!(&actions[..], [Action::Send(Message::Complaint(c)), Action::Close] if c.code == ComplaintCode::Pairing)
        );
    }
}
