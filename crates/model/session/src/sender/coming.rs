//! What arrives of a one-way stream.

use core::net::SocketAddr;

use romer_record::document::Rejected;
use romer_wire::oneway_probe;

use super::{RejectReason, Settled};
use crate::recent::Recent;

/// A received one-way probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedProbe {
    /// Its whole number.
    pub sequence: u64,
    /// No copy of it has come before, as far as is remembered (the latest [`SPAN`](crate::recent::SPAN) numbers).
    pub first: bool,
}

/// The receiving end of a one-way stream: knows its probes, whatever else arrives. It takes a fixed amount of memory
/// (8 KiB) however long the stream is.
#[derive(Debug)]
pub struct OneWayReceiver {
    session: oneway_probe::Session,
    source: Option<SocketAddr>,
    most: u64,
    recent: Recent,
    distinct: u64,
    copies: u64,
    rejected: Rejected,
}

impl OneWayReceiver {
    /// The probes of `session`, at the most `most` of them. They come from `source`; `None` where the caller has seen
    /// to that already, as one must who may find them at a new port behind a NAT.
    pub fn new(session: oneway_probe::Session, source: Option<SocketAddr>, most: u64) -> Self {
        Self {
            session,
            source,
            most,
            recent: Recent::default(),
            distinct: 0,
            copies: 0,
            rejected: Rejected::default(),
        }
    }

    /// The session whose probes they are, and the highest number that has come.
    pub const fn session(&self) -> (oneway_probe::Session, Option<u64>) {
        (self.session, self.recent.latest())
    }

    /// A datagram arrived. Gives its number, or says why it is not one of this stream.
    ///
    /// # Errors
    /// [`RejectReason`], which is also counted.
    pub fn on_datagram(&mut self, payload: &[u8], source: SocketAddr) -> Result<ReceivedProbe, RejectReason> {
        match self.validate(payload, source) {
            Ok(sequence) => Ok(self.note(sequence)),
            Err(stray) => {
                stray.count(source, &mut self.rejected);
                Err(stray)
            }
        }
    }

    fn validate(&self, payload: &[u8], source: SocketAddr) -> Result<u64, RejectReason> {
        if let Some(ours) = self.source.filter(|ours| *ours != source) {
            return Err(RejectReason::of_source(source, ours));
        }
        let number = oneway_probe::number_of(payload).ok_or(RejectReason::Short)?;
        if number != self.session.number {
            return Err(RejectReason::Session);
        }
        // Its tag fits no number that is near, or one that was never to be sent.
        let sequence = self.session.read(payload, self.recent.latest()).ok_or(RejectReason::Sequence)?;
        if sequence < self.most { Ok(sequence) } else { Err(RejectReason::Sequence) }
    }

    fn note(&mut self, sequence: u64) -> ReceivedProbe {
        let first = self.recent.insert(sequence);
        self.distinct += u64::from(first);
        self.copies += u64::from(!first);
        ReceivedProbe { sequence, first }
    }

    /// Probes that have come, each counted once.
    pub const fn distinct(&self) -> u64 {
        self.distinct
    }
    /// Further copies of probes that had come, and probes that came so late that it is not known.
    pub const fn copies(&self) -> u64 {
        self.copies
    }
    /// Datagrams that were no probes of this stream.
    pub const fn rejected(&self) -> &Rejected {
        &self.rejected
    }

    /// The probes up to the highest number that has come, and those of them that have not.
    pub fn settled(&self) -> Settled {
        let probes = self.recent.latest().map_or(0, |latest| latest.saturating_add(1));
        Settled { probes, lost: probes.saturating_sub(self.distinct) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recent::SPAN;

    fn one_way() -> oneway_probe::Session {
        oneway_probe::Session {
            number: 9,
            key: oneway_probe::Key::new([3; 16]),
            direction: romer_units::Direction::Reverse,
        }
    }
    fn source() -> SocketAddr {
        "203.0.113.2:862".parse().unwrap()
    }
    fn come(comings: &mut OneWayReceiver, sequence: u64) -> Result<ReceivedProbe, RejectReason> {
        let mut payload = [0; 14];
        assert!(one_way().emit(sequence, &mut payload));
        comings.on_datagram(&payload, source())
    }

    #[test]
    fn copies_and_late_ones_are_told_from_first_arrivals() {
        let mut comings = OneWayReceiver::new(one_way(), Some(source()), u64::MAX);
        for (sequence, first) in [
            (2, true),
            (0, true),
            (2, false),
            (1, true),
            (0, false),
            (SPAN + 1, true),
            (1, false),
            (2, false),
            (3, true),
            (5 * SPAN, true),
            (5 * SPAN - 1, true),
            (5 * SPAN, false),
        ] {
            assert_eq!(come(&mut comings, sequence), Ok(ReceivedProbe { sequence, first }), "{sequence}");
        }
        assert_eq!((comings.distinct(), comings.copies()), (7, 5));
    }

    #[test]
    fn what_is_no_probe_of_the_stream_is_counted_by_its_fault() {
        let mut comings = OneWayReceiver::new(one_way(), Some(source()), 100);
        let mut probe = [0; 14];
        one_way().emit(5, &mut probe);
        let elsewhere = "203.0.113.2:863".parse().unwrap();
        assert_eq!(comings.on_datagram(&probe, elsewhere), Err(RejectReason::Port));
        let other_host = "203.0.113.3:862".parse().unwrap();
        assert_eq!(comings.on_datagram(&probe, other_host), Err(RejectReason::Address));
        assert_eq!(comings.on_datagram(&probe[..8], source()), Err(RejectReason::Short));
        assert_eq!(comings.on_datagram(&[1; 14], source()), Err(RejectReason::Session));
        probe[8] ^= 1;
        assert_eq!(comings.on_datagram(&probe, source()), Err(RejectReason::Sequence), "a forged tag");
        assert_eq!(come(&mut comings, 100), Err(RejectReason::Sequence), "one more than were to come");
        let causes = Rejected {
            address: 1,
            port: 1,
            size: 1,
            session: 1,
            sequence: 2,
            source: Some("203.0.113.2:863".into()),
            ..Rejected::default()
        };
        assert_eq!((comings.rejected(), comings.rejected().total()), (&causes, 6));
        assert_eq!((comings.distinct(), comings.settled()), (0, Settled::default()));
    }
}
