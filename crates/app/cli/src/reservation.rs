//! The words of reservations, which `romer rsvp` and `romer qtcp` share.

use romer_host::clock::monotonic_now;
use romer_rsvp::{Breaks, Filter, Flowspec, Moment, PathReport, ReceiverAction, SenderAction, Tspec};
use romer_units::{Duration, counted};

/// Lines that messages may cause in a second: anybody can send them.
const MOST_LINES: u32 = 20;

/// Octets of the headers of IPv4 and UDP.
const IP_AND_UDP: u32 = 28;

/// What the user reads of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// A line of the result.
    Line(String),
    /// A note.
    Note(String),
}

/// What a sender announces, to whom.
pub(crate) fn announcement(source: Filter, receiver: &str, tspec: &Tspec) -> String {
    format!(
        "announcing {} > {receiver}: {} bytes/s, bursts of {} bytes, packets of {} bytes",
        shown(source),
        tspec.rate(),
        tspec.bucket(),
        tspec.packet_size()
    )
}

/// The note of a flow that announces packets longer than the MTU.
pub(crate) fn fragments_note(packet_size: u32, mtu: u32) -> Option<String> {
    (packet_size > mtu).then(|| {
        format!(
            "packets of {packet_size} bytes exceed the MTU of {mtu} bytes and are fragmented; only the first fragment has the UDP port \
             by which routers find the reservation; use payloads of {} bytes or less",
            mtu.saturating_sub(IP_AND_UDP)
        )
    })
}

/// The words of a sender's action; none of packets, of messages of other programs, and of a missing reservation, for which the
/// caller has its own.
pub(crate) fn sender_words(action: &SenderAction) -> Option<Words> {
    Some(match action {
        SenderAction::Reserved(flowspec) => Words::Line(format!("reserved: {}", described(flowspec))),
        SenderAction::PathError(error) => Words::Note(error.to_string()),
        SenderAction::ReservationTorn => Words::Line("the reservation was removed".into()),
        SenderAction::ReservationExpired => {
            Words::Line("the reservation has ended: no refresh arrives".into())
        }
        SenderAction::Send(_) | SenderAction::NoReservation | SenderAction::Discarded(_) => return None,
    })
}

/// The words of a receiver's action; none of packets, of messages of other programs, and of a missing flow.
pub(crate) fn receiver_words(action: &ReceiverAction) -> Vec<Words> {
    let words = match action {
        ReceiverAction::Path(report) => return path_words(report),
        ReceiverAction::NotOffered(source) => {
            Words::Note(format!("{} does not offer the service: nothing is reserved", shown(*source)))
        }
        ReceiverAction::Confirmed(source, node) => {
            Words::Line(format!("reserved for {}, confirmed by {node}", shown(*source)))
        }
        ReceiverAction::ReservationError(source, error) => {
            Words::Note(format!("no reservation for {}: {error}", shown(*source)))
        }
        ReceiverAction::PathTorn(source) => Words::Line(format!("the flow {} has ended", shown(*source))),
        ReceiverAction::PathExpired(source) => {
            Words::Line(format!("the flow {} has ended: no refresh arrives", shown(*source)))
        }
        ReceiverAction::Send(_) | ReceiverAction::NoPath | ReceiverAction::Discarded(_) => {
            return Vec::new();
        }
    };
    vec![words]
}

fn path_words(report: &PathReport) -> Vec<Words> {
    let bound = report.delay_bound.map(|bound| format!("; queueing delay at most {}", bound.rounded()));
    let mut words = vec![Words::Line(format!(
        "reserving for {}: {}{}",
        shown(report.source),
        described(&report.flowspec),
        bound.unwrap_or_default()
    ))];
    let Breaks { path, service } = report.breaks;
    if path {
        words.push(Words::Note("a router on the path has no RSVP: the reservation has a gap there".into()));
    }
    if service {
        words.push(Words::Note(format!(
            "a router on the path does not support {}: the reservation has a gap there",
            report.flowspec.service()
        )));
    }
    words
}

/// The nearest double-precision number.
#[expect(clippy::cast_precision_loss, reason = "a TSpec has single precision")]
pub(crate) const fn precise(value: u64) -> f64 {
    value as f64
}

fn shown(source: Filter) -> String {
    format!("{}:{}", source.address(), source.port())
}

/// A request as text.
fn described(flowspec: &Flowspec) -> String {
    let tspec = flowspec.tspec();
    format!(
        "{}, {} bytes/s, bursts of {} bytes, packets of at most {} bytes",
        flowspec.service(),
        flowspec.rate(),
        tspec.bucket(),
        tspec.packet_size()
    )
}

/// Bounds the lines that are shown in a second.
#[derive(Debug)]
pub(crate) struct LineLimit {
    since: Moment,
    shown: u32,
    left_out: u64,
}

impl LineLimit {
    pub(crate) const fn new(now: Moment) -> Self {
        Self { since: now, shown: 0, left_out: 0 }
    }

    /// Whether a line is shown at `now`: with it, how many were left out since the last one.
    fn admit(&mut self, now: Moment) -> Option<u64> {
        if now - self.since >= Duration::from_secs(1) {
            (self.since, self.shown) = (now, 0);
        }
        if self.shown >= MOST_LINES {
            self.left_out += 1;
            return None;
        }
        self.shown += 1;
        Some(std::mem::take(&mut self.left_out))
    }

    /// Those of `words` that may be shown now, with a note about lines that were left out before.
    pub(crate) fn select(&mut self, words: Vec<Words>) -> Vec<Words> {
        let now = monotonic_now();
        let mut selected = Vec::new();
        for one in words {
            let Some(left_out) = self.admit(now) else { continue };
            if left_out > 0 {
                let lines = counted(left_out, "line");
                selected.push(Words::Note(format!("too many messages arrive: {lines} left out")));
            }
            selected.push(one);
        }
        selected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flood of messages makes 20 lines a second, and the next line is preceded by the number of those left out.
    #[test]
    fn lines_of_a_second_are_bounded() {
        let at = |millis: i64| Moment::from_nanos(millis * 1_000_000);
        let mut lines = LineLimit::new(at(0));
        let shown = (0..1_000).filter(|millis| lines.admit(at(*millis)).is_some()).count();
        assert_eq!(shown, 20);
        assert_eq!([1_000, 1_001].map(|millis| lines.admit(at(millis))), [Some(980), Some(0)]);
        assert_eq!((0..30).filter(|_| lines.admit(at(1_500)).is_some()).count(), 18);
        assert_eq!(lines.admit(at(3_000)), Some(12));
    }
}
