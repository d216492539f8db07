//! The last word of a conversation, which must not be lost with a connection either.

use super::{Action, Message, Server, State};

impl Server {
    /// All records are here: sends them and the totals. A sender that hangs up once it has them may ask for the totals again
    /// until then; the conversation with any other is over.
    pub fn finish(&mut self) -> Vec<Action> {
        let State::Finishing { deadline } = self.state else { return Vec::new() };
        let mut actions = self.drain();
        actions.push(Action::Send(Message::End(self.totals.clone())));
        if self.hangs_up {
            self.state = State::Finished { deadline };
        } else {
            actions.push(Action::Close);
            self.state = State::Over;
        }
        actions
    }

    /// Whether the last word is said, so that nothing is to come after what was said already.
    pub fn has_finished(&self) -> bool {
        matches!(self.state, State::Finished { .. })
    }

    /// Whether what happens does not concern the session any more.
    pub(super) fn has_ended(&self) -> bool {
        self.is_over() || self.has_finished()
    }
}

#[cfg(test)]
mod tests {
    use romer_record::document::{ClockSync, ProbeDirection};
    use romer_record::log::ResponderRecord;

    use super::super::super::{
        ClientHello, ClockIdentity, Decoder, FEATURES, Inbox, Request, Resume, ServerHello, VERSION, hex,
    };
    use super::super::Limits;
    use super::*;
    use romer_units::{Monotonic, Timestamp};

    const NOW: Timestamp<Monotonic> = Timestamp::from_nanos(1);

    /// The last word states the clock of the host at the end, with the largest bound of its error while the session ran.
    #[test]
    fn last_word_states_the_clock() {
        let mut server = server();
        for bound_ns in [3, 9, 5] {
            server.on_clock_bound(bound_ns);
        }
        server.on_clock_sync(ClockSync { maximum_error_ns: Some(5), ..ClockSync::default() });
        let clock = server.totals.clock_sync.clone().unwrap();
        assert_eq!((clock.maximum_error_ns, clock.largest_error_bound_ns), (Some(5), Some(9)));
        let mut frame = Vec::new();
        Message::End(server.totals.clone()).encode(&mut frame);
        let mut decoder = Decoder::default();
        decoder.extend(&frame);
        assert_eq!(decoder.next().unwrap(), Some(Message::End(server.totals)));
    }

    fn server() -> Server {
        let clock = ClockIdentity { boot_id: "b".into(), realtime_minus_boottime_ns: 0 };
        let welcome = ServerHello {
            kernel_stamps: true,
            features: FEATURES.map(str::to_owned).to_vec(),
            ..ServerHello::new("romer", clock.clone(), 862)
        };
        let features = welcome.features.clone();
        let mut server = Server::new(Limits::default(), welcome, [7; 16], NOW).with_resumption([9; 16]);
        say(
            &mut server,
            &Message::Hello(ClientHello { version: VERSION, software: "t".into(), clock, features }),
        );
        server
    }

    fn say(server: &mut Server, message: &Message) -> Vec<Action> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        server.on_bytes(&bytes, false, NOW)
    }

    fn session() -> Server {
        let mut server = server();
        let direction = ProbeDirection::RoundTrip;
        let request = Request {
            ssid: 5,
            interval_ns: 10_000_000,
            count: 3,
            payload_octets: 44,
            direction,
            stream: None,
        };
        say(&mut server, &Message::Request(request));
        server.on_associated("192.0.2.1:9".parse().unwrap(), NOW);
        for sequence in 0..3 {
            server.on_record(ResponderRecord { sequence, ..ResponderRecord::default() });
        }
        server
    }

    /// What a sender hears of these actions.
    fn heard(actions: &[Action]) -> Vec<Message> {
        let (mut decoder, mut messages) = (Decoder::default(), Vec::new());
        for action in actions {
            match action {
                Action::Send(message) => messages.push(message.clone()),
                Action::Repeat(frames) => {
                    decoder.extend(frames);
                    while let Some(message) = decoder.next().unwrap() {
                        messages.push(message);
                    }
                }
                _ => {}
            }
        }
        messages
    }

    /// The connection breaks off where the sender has heard what `inbox` counts, and the session goes on over another.
    fn resumed(server: &mut Server, inbox: &Inbox) -> Vec<Message> {
        assert!(server.on_lost_connection(NOW));
        let resume = Resume { secret: hex([9; 16]), heard: inbox.heard(), silent_ns: 0 };
        let mut other = self::server();
        assert_eq!(say(&mut other, &Message::Resume(resume.clone())), [Action::Resume(resume.clone())]);
        assert!(server.is_shown(&resume));
        let actions = server.resume(&mut other, &resume, [5; 16], NOW).unwrap();
        heard(&actions[1..])
    }

    #[test]
    fn whatever_of_the_last_words_comes_before_the_connection_breaks_the_rest_comes_over_another() {
        // The log, what became of the sending, and the totals.
        for come in 0..=3 {
            let mut server = session();
            assert_eq!(say(&mut server, &Message::Stop), [Action::Finish]);
            let mut said = server.on_departed(0);
            said.extend(server.finish());
            let mut messages = heard(&said);
            assert_eq!((messages.len(), said.len()), (3, 3), "it does not hang up: {said:?}");
            messages.truncate(come);
            let mut inbox = Inbox::default();
            messages.iter().for_each(|message| inbox.take(message));
            messages.extend(resumed(&mut server, &inbox));
            messages.retain(|message| !matches!(message, Message::End(_)));
            messages.extend(heard(&say(&mut server, &Message::Stop)));
            let [Message::Departed(_), Message::Log(log), Message::End(end)] = &messages[..] else {
                panic!("{come}: {messages:?}")
            };
            assert_eq!((log.len(), end.received, end.records_lost), (3, 3, 0), "{come}");
            // What happens meanwhile concerns nobody any more, and a sign of life is given.
            assert!(server.on_record(ResponderRecord::default()).is_empty() && server.finish().is_empty());
            assert!(matches!(heard(&say(&mut server, &Message::Ask))[..], [Message::Heard(_)]));
        }
    }

    #[test]
    fn an_order_that_is_repeated_is_carried_out_once() {
        let mut lost = session();
        assert!(resumed(&mut lost, &Inbox::default()).is_empty());
        assert_eq!(say(&mut lost, &Message::Stop), [Action::Finish], "what did not come is carried out");
        assert!(resumed(&mut lost, &Inbox::default()).is_empty());
        assert!(say(&mut lost, &Message::Stop).is_empty(), "it is finishing");
        assert!(matches!(heard(&lost.finish())[..], [Message::Log(_), Message::End(_)]));
    }

    #[test]
    fn who_has_said_its_last_word_waits_for_the_sender_to_hang_up_no_longer_than_for_a_session_that_finishes()
    {
        let mut server = session();
        say(&mut server, &Message::Stop);
        server.finish();
        assert!(server.has_finished() && !server.is_over());
        let deadline = server.deadline().unwrap();
        assert_eq!(server.on_time(deadline), [Action::Close]);
        assert!(server.is_over());
    }
}
