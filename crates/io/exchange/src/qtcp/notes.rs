//! What a reader of a `.raw` should know.

use romer_units::{Duration, counted};

use super::UNIT_NS;

/// What was noticed while reading, in numbers; [`Notes::words`] says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Dummy entries, which stand for lost packets.
    pub dummies: u64,
    /// Lines whose latency is not received minus sent.
    pub mismatches: u64,
    /// Of these the latency was taken, and not the receive stamp.
    pub trusted: bool,
    /// Latencies below zero: the receiver's clock is behind.
    pub negative: u64,
    /// Lines that repeat a number.
    pub duplicates: u64,
    /// Lines that were sent before the line before: the first of them, from 1, and by how many units of 100 ns.
    pub sent_back: Option<(u64, i64)>,
    /// Packets that arrived after one with a higher number.
    pub reordered: u64,
    /// Lines that were received before the line before though they have a higher number: the first of them, from 1, and
    /// by how many units of 100 ns. A clock that was set.
    pub received_back: Option<(u64, i64)>,
    /// The numbers went on from 0 at 2^32.
    pub wrapped: bool,
    /// The octet at which a cut last line begins, which was dropped.
    pub cut: Option<u64>,
    /// Octets of zero at the end, which were dropped.
    pub zeros: u64,
}

impl Notes {
    /// Sentences for the user, each without a full stop.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut say = |number: u64, text: &dyn Fn() -> String| {
            if number > 0 {
                words.push(text());
            }
        };
        say(self.dummies, &|| match self.dummies {
            1 => "1 dummy entry stands for a lost packet and is in no average".to_owned(),
            several => format!("{several} dummy entries stand for lost packets and are in no average"),
        });
        say(self.mismatches, &|| {
            let (are, they) =
                if self.mismatches == 1 { ("latency is", "it was") } else { ("latencies are", "they were") };
            let taken = if self.trusted {
                "taken as stated (--trust-latency), and the receive stamps for wrong"
            } else {
                "computed again from the stamps"
            };
            format!("{} {are} not received minus sent: {they} {taken}", self.mismatches)
        });
        say(self.negative, &|| {
            let are = if self.negative == 1 { "latency is" } else { "latencies are" };
            format!(
                "{} raw {are} below zero: the receiver's clock is behind the sender's, which normalisation removes",
                self.negative
            )
        });
        say(self.duplicates, &|| match self.duplicates {
            1 => "1 line repeats a sequence number: a duplicate".to_owned(),
            several => format!("{several} lines repeat a sequence number: duplicates"),
        });
        say(self.reordered, &|| {
            format!("{} arrived after one with a higher number: reordered", counted(self.reordered, "packet"))
        });
        words.extend(self.step_words().into_iter().flatten());
        if self.wrapped {
            words.push("the sequence numbers wrapped at 2^32 and were continued".into());
        }
        if let Some(octet) = self.cut {
            words.push(format!("1 partial record at octet {octet} was dropped"));
        }
        if self.zeros > 0 {
            let octets = if self.zeros == 1 {
                "octet of zero at the end was"
            } else {
                "octets of zero at the end were"
            };
            words.push(format!("{} {octets} dropped", self.zeros));
        }
        words
    }

    /// Where the units of the stamps are `unit_ns` nanoseconds and not 100, the steps are that much larger or smaller.
    #[must_use]
    pub fn from_units(self, unit_ns: i64) -> Self {
        let scaled = |step: Option<(u64, i64)>| {
            step.map(|(line, units)| (line, units.saturating_mul(unit_ns).div_euclid(UNIT_NS)))
        };
        Self { sent_back: scaled(self.sent_back), received_back: scaled(self.received_back), ..self }
    }

    /// Takes out what is known of steps of the sender's clock and the receiver's, and gives the sentences: for whom takes
    /// such steps out of the stamps.
    pub fn take_steps(&mut self) -> [Option<String>; 2] {
        let words = self.step_words();
        (self.sent_back, self.received_back) = (None, None);
        words
    }

    fn step_words(&self) -> [Option<String>; 2] {
        [(self.sent_back, "sender's"), (self.received_back, "receiver's")].map(|(step, whose)| {
            step.map(|(line, units)| {
                format!(
                    "the {whose} clock stepped back by {} at line {line}: least-absolute-jumps (-k 3) compensates for such \
                     steps; without it the latencies on both sides of that line do not compare",
                    Duration::from_nanos(units.saturating_mul(UNIT_NS))
                )
            })
        })
    }
}
