//! How a session outlives its connection: the sender's address changed, or something on the way forgot it.
//!
//! Whoever says something that must not be lost keeps it until the other end has said that it has come
//! ([`Kept`], [`Inbox`]). A sender whose connection is no more opens another, from the address that it has now, shows
//! the session's secret, and says how much it has heard; then it proves the address of its test packets again, by a
//! new token.

use std::collections::VecDeque;

use super::message::{Message, Received, Resume, unhex};
use crate::association::Token;

impl Message {
    /// Whether the responder says this only once, so that it must not be lost with a connection.
    pub const fn is_kept(&self) -> bool {
        matches!(
            self,
            Self::Log(_)
                | Self::Departures(_)
                | Self::Departed(_)
                | Self::Events(_)
                | Self::Cards(_)
                | Self::Damaged(_)
        )
    }

    /// Records of packets that it carries.
    fn records(&self) -> u64 {
        let records = match self {
            Self::Log(records) => records.len(),
            Self::Departures(records) => records.len(),
            // A packet whose card stamp is lost has the kernel's.
            _ => 0,
        };
        u64::try_from(records).unwrap_or(u64::MAX)
    }
}

impl Resume {
    /// Whether it shows `secret`. The time this takes says nothing of it.
    pub fn shows(&self, secret: Token) -> bool {
        // One comparison of all bits at once, not octet by octet.
        unhex(&self.secret).is_some_and(|shown| u128::from_ne_bytes(shown) ^ u128::from_ne_bytes(secret) == 0)
    }
}

/// What was said and has perhaps not come.
#[derive(Debug)]
pub(super) struct Kept {
    /// Number of the first message in the queue, from 0.
    first: u64,
    queue: VecDeque<One>,
    /// Messages at the head of the queue whose frame is gone.
    gone: usize,
    octets: usize,
    most_octets: usize,
    most_messages: usize,
}

#[derive(Debug)]
struct One {
    /// The frame; `None` where there was no room for it any more.
    frame: Option<Box<[u8]>>,
    records: u64,
}

/// What is to be said again over a new connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Again {
    /// Number of the first message that is said again.
    pub(super) first: u64,
    /// The frames from that one on.
    pub(super) frames: Vec<u8>,
    /// Records for which there was no room.
    pub(super) lost: u64,
}

impl Kept {
    /// Nothing yet, and room for `most_octets` of frames, of `most_messages`. A sender that has acknowledged less than the latest
    /// of these cannot resume.
    pub(super) const fn new(most_octets: usize, most_messages: usize) -> Self {
        Self { first: 0, queue: VecDeque::new(), gone: 0, octets: 0, most_octets, most_messages }
    }

    /// `message` is being said.
    pub(super) fn store(&mut self, message: &Message) {
        let mut frame = Vec::new();
        message.encode(&mut frame);
        self.octets += frame.len();
        self.queue.push_back(One { frame: Some(frame.into()), records: message.records() });
        self.drop_frames(self.most_octets);
        while self.queue.len() > self.most_messages {
            self.forget_first();
        }
    }

    /// Drops frames until at most `most` octets of them are left. The oldest go first, so that what is left hangs together.
    pub(super) fn drop_frames(&mut self, most: usize) {
        while self.octets > most {
            let Some(one) = self.queue.get_mut(self.gone) else { break };
            self.octets -= one.frame.take().map_or(0, |frame| frame.len());
            self.gone += 1;
        }
    }

    /// Octets of frames that are kept, and of memory that holds them.
    pub(super) const fn octets(&self) -> usize {
        self.octets
    }

    /// Octets of memory, including those of the queue.
    pub(super) fn memory(&self) -> usize {
        self.octets + self.queue.len() * size_of::<One>()
    }

    /// Forgets the oldest message. Gives the records in it where its frame was gone.
    fn forget_first(&mut self) -> Option<u64> {
        let one = self.queue.pop_front()?;
        self.first += 1;
        self.gone = self.gone.saturating_sub(1);
        match one.frame {
            Some(frame) => {
                self.octets -= frame.len();
                None
            }
            None => Some(one.records),
        }
    }

    /// The other end has heard so many messages in all. Gives whether that can be.
    pub(super) fn heard(&mut self, messages: u64) -> bool {
        let last = self.first.saturating_add(u64::try_from(self.queue.len()).unwrap_or(u64::MAX));
        if !(self.first..=last).contains(&messages) {
            return false;
        }
        while self.first < messages {
            self.forget_first();
        }
        true
    }

    /// What the other end has not heard; `None` where it claims to have heard what was not said.
    pub(super) fn again(&mut self, heard: u64) -> Option<Again> {
        if !self.heard(heard) {
            return None;
        }
        let mut lost = 0;
        while self.gone > 0 {
            lost += self.forget_first().unwrap_or(0);
        }
        let frames = self.queue.iter().filter_map(|one| one.frame.as_deref()).flatten().copied().collect();
        Some(Again { first: self.first, frames, lost })
    }
}

/// Counts what the responder says only once, at the end that hears it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inbox {
    heard: u64,
    said: u64,
}

impl Inbox {
    /// So many messages have come, and the responder was informed of them.
    pub const fn after(heard: u64) -> Self {
        Self { heard, said: heard }
    }

    /// `message` has come.
    pub fn take(&mut self, message: &Message) {
        self.heard = self.heard.saturating_add(u64::from(message.is_kept()));
    }

    /// What the responder is owed: how far it has been heard, if that is news.
    pub fn owed(&mut self) -> Option<Message> {
        let news = self.heard > self.said;
        self.said = self.heard;
        news.then_some(Message::Received(Received { messages: self.heard }))
    }

    /// Messages that have come.
    pub const fn heard(&self) -> u64 {
        self.heard
    }

    /// The session continues over a new connection, on which the message with number `first` comes next, of at most `most`. Returns
    /// `false`, and changes nothing, where the number is beyond these or that message has come already.
    #[must_use]
    pub fn resumed(&mut self, first: u64, most: u64) -> bool {
        let is_possible = (self.heard..=most).contains(&first);
        if is_possible {
            self.heard = first;
            self.said = first;
        }
        is_possible
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decoder, hex};
    use super::*;
    use proptest::prelude::*;
    use romer_record::log::ResponderRecord;

    fn log(sequence: u64) -> Message {
        Message::Log(vec![ResponderRecord { sequence, ..ResponderRecord::default() }])
    }

    proptest! {
        /// Connections break at any moment, with any number of messages on their way that never come; acknowledgements
        /// are as late as they like.
        #[test]
        fn everything_is_heard_once_and_in_order_over_however_many_connections(
            steps in prop::collection::vec((0u8..4, 0usize..5), 1..80),
        ) {
            let mut kept = Kept::new(1 << 20, 1 << 10);
            let mut inbox = Inbox::default();
            let mut on_the_way: VecDeque<Message> = VecDeque::new();
            let (mut said, mut heard) = (0, Vec::new());
            let take = |message: Message, inbox: &mut Inbox, heard: &mut Vec<u64>| {
                inbox.take(&message);
                if let Message::Log(records) = message {
                    heard.push(records[0].sequence);
                }
            };
            for (step, number) in steps {
                match step {
                    0 => {
                        kept.store(&log(said));
                        on_the_way.push_back(log(said));
                        said += 1;
                    }
                    1 => {
                        for _ in 0..number {
                            if let Some(message) = on_the_way.pop_front() {
                                take(message, &mut inbox, &mut heard);
                            }
                        }
                    }
                    2 => {
                        if let Some(Message::Received(received)) = inbox.owed() {
                            prop_assert!(kept.heard(received.messages));
                        }
                    }
                    _ => {
                        on_the_way.clear();
                        let again = kept.again(inbox.heard()).unwrap();
                        prop_assert_eq!((again.lost, again.first), (0, inbox.heard()));
                        prop_assert!(inbox.resumed(again.first, said));
                        let mut decoder = Decoder::default();
                        decoder.extend(&again.frames);
                        while let Some(message) = decoder.next().unwrap() {
                            on_the_way.push_back(message);
                        }
                    }
                }
            }
            for message in on_the_way {
                take(message, &mut inbox, &mut heard);
            }
            prop_assert_eq!(heard, (0..said).collect::<Vec<u64>>());
        }

        #[test]
        fn only_the_secret_itself_is_shown(secret: Token, other: Token) {
            let resume = |secret| Resume { secret, heard: 0, silent_ns: 0 };
            prop_assert!(resume(hex(secret)).shows(secret));
            prop_assume!(secret != other);
            prop_assert!(!resume(hex(other)).shows(secret));
            prop_assert!(!resume(hex(secret)[1..].to_owned()).shows(secret));
        }
    }

    #[test]
    fn what_there_was_no_room_for_is_counted_and_the_rest_hangs_together() {
        let mut frame = Vec::new();
        log(0).encode(&mut frame);
        let mut kept = Kept::new(3 * frame.len(), 100);
        for sequence in 0..5 {
            kept.store(&log(sequence));
        }
        let again = kept.again(1).unwrap();
        // Message 0 came; of 0 and 1 the frames are gone.
        assert_eq!((again.first, again.lost, again.frames.len()), (2, 1, 3 * frame.len()));
    }

    /// A number beyond what can have been sent is refused, and the count of messages does not overflow.
    #[test]
    fn impossible_next_messages() {
        let mut inbox = Inbox::after(3);
        assert!(!inbox.resumed(u64::MAX, 10) && !inbox.resumed(11, 10) && !inbox.resumed(2, 10));
        assert_eq!(inbox.heard(), 3);
        assert!(inbox.resumed(10, 10));
        assert_eq!(inbox.heard(), 10);
        assert!(inbox.resumed(u64::MAX, u64::MAX));
        inbox.take(&log(0));
        assert_eq!(inbox.heard(), u64::MAX);
    }

    /// The queue has a bound though nobody acknowledges and no frame is left.
    #[test]
    fn unacknowledged_messages_are_bounded() {
        let mut kept = Kept::new(0, 100);
        (0..1_000).for_each(|sequence| kept.store(&log(sequence)));
        assert_eq!((kept.queue.len(), kept.gone, kept.octets), (100, 100, 0));
        assert!(kept.again(899).is_none(), "what came then is forgotten");
        assert_eq!(kept.again(950).map(|again| (again.first, again.lost)), Some((1_000, 50)));
    }

    #[test]
    fn nobody_has_heard_what_was_not_said_or_unheard_what_was() {
        let mut kept = Kept::new(1_000, 100);
        kept.store(&log(0));
        assert!(kept.again(2).is_none() && !kept.heard(u64::MAX));
        assert!(kept.heard(1));
        assert!(!kept.heard(0) && kept.again(0).is_none());
    }
}
