//! Where the time stamps were taken, which are missing, and what that means for the delays.

use romer_record::document::{DelayDefinition, DelaySpan, Measurement, NoDelay, ProbeDirection};
use romer_units::TimestampPoint;

use super::Words;
use crate::number::count;
use crate::table::MeasuredPath;

/// The four time stamps of a round trip.
const NAMES: [&str; 4] = ["t1 (sent)", "t2 (received)", "t3 (replied)", "t4 (returned)"];

impl Words {
    /// What delays span.
    pub(crate) fn delay_definition(self, m: &Measurement) -> Option<String> {
        let each = |one: &DelayDefinition| {
            let baseline = one.baseline_ns.map_or_else(String::new, |nanos| {
                format!(", minus the calibrated baseline of {}", self.time(nanos))
            });
            format!("{}: {}{baseline}", MeasuredPath::from(one.direction).name(), span(m, one))
        };
        let all: Vec<String> = m.stamps.delay_definition.iter().map(each).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Where the time stamps were taken.
    pub(crate) fn stamps(self, m: &Measurement) -> String {
        let s = &m.stamps;
        let all = [s.sender_departure, s.responder_arrival, s.responder_departure, s.sender_arrival];
        let taken = match m.traffic.direction {
            ProbeDirection::Forward => 0..2,
            ProbeDirection::Reverse => 2..4,
            ProbeDirection::RoundTrip | ProbeDirection::Both => 0..4,
        };
        if m.source.is_some() && all.iter().all(Option::is_none) {
            return format!("Read from the file, which does not state where they were taken.{}", missing(m));
        }
        let places: Vec<String> = taken.clone().map(|moment| self.place(m, moment, all[moment])).collect();
        let is_same = all[taken.clone()].iter().all(|place| place.is_some() && *place == all[taken.start]);
        let mut text = match places.first() {
            Some(place) if is_same => format!("All {place}."),
            _ => {
                let each = taken.zip(&places).map(|(moment, place)| format!("{} {place}", NAMES[moment]));
                format!("{}.", each.collect::<Vec<_>>().join(", "))
            }
        };
        text.push_str(&missing(m));
        if let Some(error) = m.stamps.nic.as_ref().map(|nic| nic.error_ns) {
            text.push_str(&format!(
                " Conversion from the clock of the network card to that of the host: error up to {}.",
                self.time(f64::from(error))
            ));
        }
        text
    }

    /// Where one of the four was taken; of a moment that no packet had, that.
    fn place(self, m: &Measurement, moment: usize, place: Option<TimestampPoint>) -> String {
        let none = |count: Option<u64>| count == Some(0);
        let (forward, reverse, both) = (&m.forward.packets, &m.reverse.packets, &m.round_trip.packets);
        let is_without_packets = [
            none(forward.sent) || none(both.sent),
            none(forward.received),
            none(reverse.sent),
            none(reverse.received) || none(both.received),
        ];
        match place {
            // Of what was read from files the captures alone say so.
            Some(TimestampPoint::Kernel) if m.source.is_some() => "from the captures".into(),
            Some(TimestampPoint::Kernel) => "from the kernel, at the driver".into(),
            Some(TimestampPoint::Nic) => "from the network card".into(),
            Some(TimestampPoint::Program) => "from an eBPF program".into(),
            Some(TimestampPoint::User) => "from user space, so that scheduling delay is included".into(),
            None if is_without_packets[moment] && moment % 2 == 1 => "none (nothing received)".into(),
            None if is_without_packets[moment] => "none (nothing sent)".into(),
            None => "not reported".into(),
        }
    }

    /// The error of user-space time stamps; `None` where both kinds are not at hand.
    pub(crate) fn location_error(self, m: &Measurement) -> Option<String> {
        let (initiator, responder) = (&m.location_error_ns.sender, &m.location_error_ns.responder);
        let all = [&initiator.departure, &responder.arrival, &responder.departure, &initiator.arrival];
        let each: Vec<String> = NAMES
            .iter()
            .zip(all)
            .filter_map(|(name, error)| {
                let (median, p99) = (error.median?, error.p99?);
                Some(format!("{name} {} (p99 {})", self.time(median), self.time(p99)))
            })
            .collect();
        (!each.is_empty()).then(|| {
            format!(
                "Error of user-space time stamps against kernel time stamps, median: {}.",
                each.join(", ")
            )
        })
    }
}

/// Time stamps that are missing, if any are.
fn missing(m: &Measurement) -> String {
    let (stamps, missing) = (&m.stamps, &m.stamps.missing);
    let missing = [
        ("t1", stamps.sender_departure, missing.sender_departure),
        ("t2", stamps.responder_arrival, missing.responder_arrival),
        ("t3", stamps.responder_departure, missing.responder_departure),
        ("t4", stamps.sender_arrival, missing.sender_arrival),
    ];
    let those = |of_card: bool| -> Option<String> {
        let those =
            missing.iter().filter(|(_, place, n)| *n > 0 && (*place == Some(TimestampPoint::Nic)) == of_card);
        let those: Vec<String> = those.map(|(name, _, n)| format!("{} {name}", count(*n))).collect();
        (!those.is_empty()).then(|| those.join(", "))
    };
    let left_out = those(false)
        .map_or_else(String::new, |those| format!(" Missing: {those}; these packets have no delay."));
    let stood_in = those(true).map_or_else(String::new, |those| {
        format!(" Missing from the network card: {those}; the kernel's are used for these packets.")
    });
    format!("{left_out}{stood_in}")
}

/// From where to where a delay is measured.
fn span(m: &Measurement, one: &DelayDefinition) -> String {
    let stamp = |place: Option<TimestampPoint>| match place {
        Some(TimestampPoint::Kernel) if m.source.is_some() => "the stamp of the capture".to_owned(),
        Some(place) => format!("the {place} stamp"),
        None if m.source.is_some() => "the stamp in the file".to_owned(),
        None => "the stamp that the reflector reports".to_owned(),
    };
    let [from, to] = match one.direction {
        ProbeDirection::Reverse => ["responder", "sender"],
        _ => ["sender", "responder"],
    };
    match one.span {
        DelaySpan::OneWay { departure, arrival, includes_responder } => {
            let responder = if includes_responder { ", including the time in the responder" } else { "" };
            format!(
                "from {} of the {from}'s departure to {} of the {to}'s arrival{responder}",
                stamp(departure),
                stamp(arrival)
            )
        }
        DelaySpan::RoundTrip => "(t4-t1)-(t3-t2), without the time in the responder".into(),
        DelaySpan::RoundTripWithResponder => "t4-t1, including the time in the responder".into(),
        DelaySpan::None { reason } => format!("no delay, because {}", no_delay(reason)),
    }
}

const fn no_delay(reason: NoDelay) -> &'static str {
    match reason {
        NoDelay::NothingArrived => "nothing is known to have arrived",
        NoDelay::ResponderStampsUnusable => "the time stamps of the responder are unusable",
        NoDelay::ClocksUnrelated => "the two clocks cannot be related",
        NoDelay::ArrivalsUnknown => "the responder does not report t2",
        NoDelay::DeparturesUnknown => "the responder does not report t3",
    }
}
