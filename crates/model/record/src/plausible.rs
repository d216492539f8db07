//! The times that are believed of what comes from outside: from a far end, or from a run's folder. What lies beyond is refused where it
//! comes in, so that the difference of two differences of times that passed fits into 64 bits.

use core::ops::Range;

use crate::document::ClockSync;
use crate::event::Event;
use crate::log::{Card, Entry, ResponderDeparture, ResponderRecord};
use crate::manifest::{Manifest, Stream};

/// Moments of a host's real-time clock, nanoseconds after 1970-01-01: the years 1957 to 2102. Time stamps of NTP lie
/// within 68 years of now. The range is one of 2^62 nanoseconds.
pub const MOMENTS: Range<i64> = -(3 << 57)..(1 << 62) - (3 << 57);
/// Lengths, and times after some beginning, nanoseconds: less than 146 years, which is all of [`MOMENTS`].
pub const SPANS: Range<i64> = -(1 << 62) + 1..1 << 62;
/// The longest payload of UDP, octets: the length of a datagram is a field of 16 bits.
const LONGEST_PAYLOAD: u32 = u16::MAX as u32;

fn is_moment(nanos: i64) -> bool {
    MOMENTS.contains(&nanos)
}

fn is_span(nanos: i64) -> bool {
    SPANS.contains(&nanos)
}

impl ResponderRecord {
    /// Whether its times are moments of a clock.
    pub fn is_plausible(&self) -> bool {
        let Self { sequence: _, t2_user_ns, t2_kernel_ns, t3_user_ns, t3_kernel_ns, ttl: _, tos: _ } = self;
        is_moment(*t2_user_ns)
            && [t2_kernel_ns, t3_user_ns, t3_kernel_ns].into_iter().flatten().copied().all(is_moment)
    }
}

impl ResponderDeparture {
    /// Whether its times are moments of a clock, and its size is one of a datagram.
    pub fn is_plausible(&self) -> bool {
        let Self { sequence: _, size, wake_error_ns, user_ns, kernel_ns, refused: _ } = self;
        *size <= LONGEST_PAYLOAD
            && is_span(*wake_error_ns)
            && is_moment(*user_ns)
            && kernel_ns.is_none_or(is_moment)
    }
}

impl Card {
    /// Whether its times are moments of a clock.
    pub fn is_plausible(&self) -> bool {
        is_moment(self.arrival_ns) && is_moment(self.card_ns)
    }
}

impl Entry {
    /// Whether its times are moments of a clock.
    pub fn is_plausible(&self) -> bool {
        match self {
            Self::Sent { sequence: _, size: _, wake_error_ns, user_ns } => {
                is_span(*wake_error_ns) && is_moment(*user_ns)
            }
            Self::SentStamp { sequence: _, kernel_ns } => is_moment(*kernel_ns),
            Self::NotSent { sequence: _, size: _, errno: _, user_ns } => is_moment(*user_ns),
            Self::Returned { user_ns, kernel_ns, told_t2_ns, told_t3_ns, .. } => {
                is_moment(*user_ns)
                    && [kernel_ns, told_t2_ns, told_t3_ns].into_iter().flatten().copied().all(is_moment)
            }
            Self::Came { user_ns, kernel_ns, .. } => is_moment(*user_ns) && kernel_ns.is_none_or(is_moment),
            Self::Far(far) => far.is_plausible(),
            Self::FarSent(sent) => sent.is_plausible(),
            Self::Card(card) => card.is_plausible(),
        }
    }
}

impl Event {
    /// Whether its times are moments of a clock, its lengths shorter than all of them, and the names in it are names.
    pub fn is_plausible(&self) -> bool {
        let spans = [Some(self.at_ns), self.until_ns, self.duration_ns, self.detection_latency_ns];
        let detail =
            self.detail.as_ref().is_none_or(|detail| detail.kind() == self.kind && detail.is_plausible());
        let step = self.step.is_none_or(|step| {
            let [low, high] = step.size_interval_ns.unwrap_or([step.size_ns; 2]);
            [step.size_ns, low, high].into_iter().all(is_span)
                && is_moment(step.before_ns)
                && is_moment(step.after_ns)
        });
        step && detail && is_moment(self.clock_ns) && spans.into_iter().flatten().all(is_span)
    }
}

impl ClockSync {
    /// Whether what it states of errors are lengths of time.
    pub fn is_plausible(&self) -> bool {
        let chrony = self.chrony.as_ref().map(|chrony| [chrony.offset_ns, chrony.bound_ns]);
        let updated = self.chrony.as_ref().and_then(|chrony| chrony.updated_ns);
        let interval = self.chrony.as_ref().and_then(|chrony| chrony.update_interval_ns);
        let others = [
            self.ptp.as_ref().map(|ptp| ptp.offset_ns),
            self.pps.as_ref().map(|pps| pps.jitter_ns),
            interval,
        ];
        let stated = [self.estimated_error_ns, self.maximum_error_ns, self.largest_error_bound_ns];
        let mut spans = stated.into_iter().chain(others).flatten().chain(chrony.into_iter().flatten());
        spans.all(is_span) && updated.is_none_or(is_moment)
    }
}

impl Stream {
    /// The first of its fields that states a time which cannot be.
    pub fn implausible(&self) -> Option<&'static str> {
        let traffic = &self.traffic;
        let metadata = &self.metadata;
        let clocks = [
            Some(&metadata.clock_sync),
            metadata.clock_sync_end.as_ref(),
            metadata.responder_clock_sync.as_ref(),
            metadata.responder_clock_sync_end.as_ref(),
        ];
        let checks = [
            (is_span(traffic.interval_ns), "traffic.interval_ns"),
            (traffic.duration_ns.is_none_or(is_span), "traffic.duration_ns"),
            (is_span(traffic.waiting_time_ns), "traffic.waiting_time_ns"),
            (self.skew.path_minimum_ns.is_none_or(is_span), "skew.path_minimum_ns"),
            (clocks.into_iter().flatten().all(ClockSync::is_plausible), "metadata"),
            (self.events.iter().all(Event::is_plausible), "events"),
        ];
        checks.into_iter().find(|(is_plausible, _)| !is_plausible).map(|(_, field)| field)
    }
}

impl Manifest {
    /// Where the first time stands that cannot be: the number of the stream, and the field.
    pub fn implausible(&self) -> Option<(usize, &'static str)> {
        self.streams.iter().enumerate().find_map(|(number, stream)| Some((number, stream.implausible()?)))
    }
}

#[cfg(test)]
mod tests {
    use crate::event::{ClockStep, EventKind, EventLocation};
    use crate::log::CardMoment;

    use super::*;

    /// The difference of two differences of moments fits into 64 bits, and so does a moment after a length.
    #[test]
    fn differences_of_differences_fit() {
        let (least, most) = (MOMENTS.start, MOMENTS.end - 1);
        let widest = most.checked_sub(least).unwrap();
        assert!(SPANS.contains(&widest) && SPANS.contains(&-widest));
        assert!(widest.checked_sub(-widest).is_some());
        assert!(most.checked_add(SPANS.end - 1).is_some() && least.checked_add(SPANS.start).is_some());
        // A host without a battery begins in 1970, and the year 2100 has to be had.
        assert!(MOMENTS.contains(&0) && MOMENTS.contains(&4_102_444_800_000_000_000));
    }

    /// A time beyond the range is found in whichever field it stands.
    #[test]
    fn extremes_of_every_field() {
        for extreme in [i64::MIN, i64::MAX, MOMENTS.start - 1, MOMENTS.end] {
            let some = Some(extreme);
            let far = [
                ResponderRecord { t2_user_ns: extreme, ..ResponderRecord::default() },
                ResponderRecord { t2_kernel_ns: some, ..ResponderRecord::default() },
                ResponderRecord { t3_user_ns: some, ..ResponderRecord::default() },
                ResponderRecord { t3_kernel_ns: some, ..ResponderRecord::default() },
            ];
            assert!(
                far.into_iter().all(|far| !far.is_plausible() && !Entry::Far(far).is_plausible()),
                "{extreme}"
            );
            let sent = [
                ResponderDeparture { user_ns: extreme, ..ResponderDeparture::default() },
                ResponderDeparture { kernel_ns: some, ..ResponderDeparture::default() },
            ];
            assert!(sent.into_iter().all(|sent| !Entry::FarSent(sent).is_plausible()), "{extreme}");
            let card = Card { sequence: 1, moment: CardMoment::Left, arrival_ns: 0, card_ns: 0, error_ns: 0 };
            assert!(card.is_plausible());
            for card in [Card { arrival_ns: extreme, ..card }, Card { card_ns: extreme, ..card }] {
                assert!(!Entry::Card(card).is_plausible(), "{extreme}");
            }
        }
        for size in [LONGEST_PAYLOAD, LONGEST_PAYLOAD + 1] {
            assert_eq!(
                ResponderDeparture { size, ..ResponderDeparture::default() }.is_plausible(),
                size == LONGEST_PAYLOAD
            );
        }
        let usual = Event::new(EventKind::ClockStep, EventLocation::Responder, 1, 2);
        assert!(usual.is_plausible());
        for extreme in [i64::MIN, i64::MAX, SPANS.start - 1, SPANS.end] {
            assert!(
                !ResponderDeparture { wake_error_ns: extreme, ..ResponderDeparture::default() }
                    .is_plausible(),
                "{extreme}"
            );
            let step = ClockStep { size_ns: 1, size_interval_ns: None, before_ns: 1, after_ns: 2 };
            let steps = [
                ClockStep { size_ns: extreme, ..step },
                ClockStep { size_interval_ns: Some([extreme, 1]), ..step },
                ClockStep { size_interval_ns: Some([1, extreme]), ..step },
                ClockStep { before_ns: extreme, ..step },
                ClockStep { after_ns: extreme, ..step },
            ];
            let mut events = steps.map(|step| Event { step: Some(step), ..usual.clone() }).to_vec();
            events.extend([
                Event { at_ns: extreme, ..usual.clone() },
                Event { until_ns: Some(extreme), ..usual.clone() },
                Event { duration_ns: Some(extreme), ..usual.clone() },
                Event { clock_ns: extreme, ..usual.clone() },
                Event { detection_latency_ns: Some(extreme), ..usual.clone() },
            ]);
            assert!(events.iter().all(|event| !event.is_plausible()), "{extreme}");
        }
    }
}
