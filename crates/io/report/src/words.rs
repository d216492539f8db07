//! What a measurement says, in sentences; the same on a terminal and in a page.

mod figures;
mod pace;
mod stamps;

use std::net::SocketAddr;

use romer_record::document::{
    CalibrationPhase, DelayKind, DirectionResults, HopAnswer, Limit, Measurement, Metadata, Synchronisation,
    SynchronisationSource, Traffic,
};
use romer_record::event::Event;
use romer_record::manifest::EarlyEnd;
use romer_record::metric;
use romer_units::Dscp;

use crate::alike::groups;
use crate::number::{NO_BREAK, TimeScale, absent, count, counted, percent, three_digits, time};
use crate::sentence::Text;
use crate::setup::is_of_setup;
use crate::table::MeasuredPath;
use figures::{departures, refused_all};
pub(crate) use pace::pace;
use pace::skew;

/// Routers that are named of a long way: half of them at its beginning, half at its end.
const ROUTERS: usize = 4;

/// The value of a limit on a measurement in its unit, for an error message.
pub fn limit_value(limit: &Limit) -> Option<String> {
    Some(Words { unicode: false }.limit_value(limit)?.replace(NO_BREAK, " "))
}

/// Sentences, with or without characters beyond ASCII. Nothing in them is escaped yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    pub(crate) unicode: bool,
}

impl Words {
    /// Those of a page.
    pub(crate) const PAGE: Self = Self { unicode: true };

    fn time(self, nanos: f64) -> String {
        time(nanos, self.unicode)
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    pub(crate) fn time_of(self, nanos: i64) -> String {
        self.time(nanos as f64)
    }

    /// A moment after the first packet: `t = 12.0 s`.
    pub(crate) fn moment_of(self, nanos: i64) -> String {
        if nanos == 0 { format!("t = 0{NO_BREAK}s") } else { format!("t = {}", self.time_of(nanos)) }
    }

    /// Why a run is partial.
    pub(crate) fn ending(self, m: &Measurement) -> &'static str {
        match m.early_end {
            Some(EarlyEnd::Interrupted) => "interrupted by the user",
            Some(EarlyEnd::ResponderLost) => "the responder became unreachable",
            Some(EarlyEnd::ResponderFault) => "the responder broke the control protocol",
            Some(EarlyEnd::NoRoute) if refused_all(departures(m)) => {
                "no route to the responder, no probe was sent"
            }
            Some(EarlyEnd::NoRoute) => "the route to the responder was lost",
            Some(EarlyEnd::Killed) => "romer was killed or could not write to the disk",
            None if m.sent_nothing() || refused_all(departures(m)) => "no probe was sent",
            None if !m.not_logged.is_empty() => "the packet log of this host is incomplete",
            None if m.responder_log_complete == Some(false) => {
                "the packet log of the responder is incomplete"
            }
            None => "ended early",
        }
    }

    /// Events of the path, or those of the test setup; those that differ only in their numbers as one, counted.
    pub(crate) fn events(self, m: &Measurement, of_setup: bool) -> Vec<String> {
        let events: Vec<&Event> =
            m.events.iter().filter(|event| is_of_setup(event.kind) == of_setup).collect();
        let texts: Vec<String> = events.iter().map(|event| event.text()).collect();
        groups(texts.iter().map(String::as_str))
            .into_iter()
            .map(|(text, places)| self.event(&text, &places, &events))
            .collect()
    }

    /// What happened, and when: at one moment, or several times from the first to the last.
    fn event(self, text: &str, places: &[usize], events: &[&Event]) -> String {
        let windows = || places.iter().filter_map(|place| events.get(*place)).map(|event| event.window());
        let from = windows().map(|[from, _]| from).min().unwrap_or_default();
        let until = windows().map(|[_, until]| until).max().unwrap_or_default();
        let when = match places.len() {
            1 if from == until => self.moment_of(until),
            1 => format!("between {} and {}", self.moment_of(from), self.time_of(until)),
            times => format!("{times} times, {} to {}", self.moment_of(from), self.time_of(until)),
        };
        format!("{when}: {text}")
    }

    /// The way to the target as it was found first, where it was looked for.
    pub(crate) fn route(self, metadata: &Metadata) -> Option<String> {
        let hops = metadata.route.as_ref()?;
        let has_start = hops.iter().any(|hop| hop.at_start.is_some());
        let answers: Vec<Option<&HopAnswer>> =
            hops.iter().map(|hop| if has_start { &hop.at_start } else { &hop.at_end }.as_ref()).collect();
        let Some(end) = answers.iter().rposition(Option::is_some) else {
            return Some("no router answered".into());
        };
        let reached = answers[end].is_some_and(|answer| answer.target);
        let routers = if reached { &answers[..end] } else { &answers[..=end] };
        let mut named: Vec<&str> =
            routers.iter().map(|answer| answer.map_or("*", |answer| answer.address.as_str())).collect();
        if named.len() > ROUTERS {
            let dots = if self.unicode { "…" } else { "..." };
            named.splice(ROUTERS / 2..named.len() - ROUTERS / 2, [dots]);
        }
        let by = named.join(", ");
        let count = counted(u64::try_from(end + 1).unwrap_or(u64::MAX), "hop", "hops");
        Some(match (reached, routers.is_empty()) {
            (true, true) => "1 hop: target".into(),
            (true, false) => format!("{count}: {by}, target"),
            (false, _) => format!("{by}, then no answer"),
        })
    }

    /// What the packets were that were sent to fit the clocks by.
    pub(crate) fn calibration_phase(self, phase: &CalibrationPhase) -> String {
        let ways =
            [("forward", &phase.forward), ("reverse", &phase.reverse), ("round trip", &phase.round_trip)];
        let each = |(name, way): (&str, &DirectionResults)| {
            let sent = way.packets.sent.filter(|sent| *sent > 0)?;
            let lost = way.packets.lost.map_or_else(String::new, |lost| format!(", {} lost", count(lost)));
            let median = way
                .delay_ns
                .median
                .map_or_else(String::new, |median| format!(", median {}", self.time(median)));
            Some(format!("{name} {} sent{lost}{median}", count(sent)))
        };
        let ways: Vec<String> = ways.into_iter().filter_map(each).collect();
        format!(
            "calibration with the first {} of each direction, not in the figures, losses and ratings above: {}",
            counted(phase.packets, "packet", "packets"),
            ways.join("; ")
        )
    }

    /// What was sent: `poisson, mean interval 20 ms, 44 B payload (72 B IP packet)`.
    pub(crate) fn traffic(self, t: &Traffic) -> String {
        let pace = self.pace(t);
        let ip =
            t.packet_octets.map_or_else(String::new, |octets| format!(" ({octets}{NO_BREAK}B IP packet)"));
        let sizes = match (t.payload_octets_min, t.payload_octets_max) {
            (Some(least), Some(most)) => format!(
                "{least} to {most}{NO_BREAK}B payload, {}{NO_BREAK}B on average{ip}",
                t.payload_octets
            ),
            _ => format!("{}{NO_BREAK}B payload{ip}", t.payload_octets),
        };
        // A trace is named by its file, without the folders.
        let model = match t.model.strip_prefix("trace:") {
            Some(file) => format!("trace {}", file.rsplit('/').next().unwrap_or(file)),
            None => t.model.clone(),
        };
        let mut text = format!("{model}{pace}, {sizes}");
        if let Some(jitter) = &t.departure_jitter {
            text.push_str(&format!(", departures perturbed by {jitter}"));
        }
        if let Some(dscp) = t.dscp.filter(|dscp| *dscp != 0) {
            text.push_str(&format!(", DSCP {}", dscp_name(dscp)));
        }
        if let Some(ecn) = t.ecn.as_deref().filter(|ecn| *ecn != "not-ect") {
            text.push_str(&format!(", ECN {ecn}"));
        }
        if let Some(service) = t.service {
            text.push_str(&format!(", service {service}"));
        }
        if let Some(priority) = t.priority {
            text.push_str(&format!(", priority {priority}"));
        }
        if let Some(shaping) = &t.kernel_shaping {
            text.push_str(&format!(
                ", shaped by the kernel ({} on {})",
                shaping.discipline, shaping.interface
            ));
        }
        if let Some(seed) = t.seed {
            text.push_str(&format!(", seed {}", seed.map(|word| word.to_string()).join(",")));
        }
        text
    }

    /// `, every 20 ms`; nothing where it is not known.
    fn pace(self, t: &Traffic) -> String {
        const UNEVEN: [&str; 6] = ["poisson", "im", "talkspurt", "onoff", "trace", "token-bucket"];
        let every = self.time_of(t.interval_ns);
        let kind = t.model.split(':').next().unwrap_or_default();
        match t.interval_ns {
            0 => String::new(),
            _ if UNEVEN.contains(&kind) => format!(", mean interval {every}"),
            _ => format!(", every {every}"),
        }
    }

    /// `500 sent, 497 received, 3 lost, 1 late, 0 duplicates, 4 reordered`.
    pub(crate) fn packets(self, direction: &DirectionResults, way: MeasuredPath) -> String {
        let p = &direction.packets;
        let mut parts = Vec::new();
        parts.push(p.sent.map_or_else(|| "sent unknown".to_owned(), |sent| format!("{} sent", count(sent))));
        parts.push(match (p.received, p.lost) {
            (None, _) | (Some(0), None) => "received unknown".to_owned(),
            (Some(received), Some(_)) => format!("{} received", count(received)),
            // Those whose reflection, or whose record, did not come back may have arrived as well.
            (Some(received), None) => format!("at least {} received", count(received)),
        });
        parts.push(match (p.lost, p.lost_at_least) {
            (Some(lost), _) => format!("{} lost", count(lost)),
            (None, Some(least)) => format!("at least {} lost", count(least)),
            (None, None) => "loss unknown".to_owned(),
        });
        let sender =
            if way == MeasuredPath::Reverse { "not sent by the responder" } else { "not sent by this host" };
        for (number, one, many, is_zero_shown) in [
            (p.instrument_drops, "dropped by the measuring host", "dropped by the measuring host", false),
            (p.in_flight, "in flight at the end", "in flight at the end", false),
            (p.late, "late", "late", false),
            (p.duplicated, "duplicate", "duplicates", true),
            (p.reordered, "reordered", "reordered", true),
            (p.corrupted, "corrupted", "corrupted", false),
            (p.not_sent, sender, sender, false),
        ] {
            let is_shown = |number: &u64| *number > 0 || is_zero_shown && p.received > Some(0);
            parts.extend(number.filter(is_shown).map(|number| counted(number, one, many)));
        }
        parts.join(", ")
    }

    /// What the one-way figures mean.
    pub(crate) fn clock(self, m: &Measurement) -> String {
        let clock = &m.clock;
        let one_way = m.forward.delay_ns.count.max(m.reverse.delay_ns.count);
        if let Some(synchronised) = clock.synchronisation.filter(|_| clock.is_synchronised()) {
            return self.synchronised(&synchronised);
        }
        if clock.is_shared() && one_way > 0 {
            return "Both ends share one clock: one-way delays are absolute.".into();
        }
        let round_trip = m.round_trip.delay_ns.count > 0;
        if clock.is_shared() {
            let what = if round_trip { "one-way delays" } else { "delays" };
            return format!("Both ends share one clock. There are no {what}.");
        }
        let mut text = match (m.forward.delay_kind, m.reverse.delay_kind) {
            (Some(DelayKind::Variable), _) | (_, Some(DelayKind::Variable)) if !round_trip => {
                "The clock offset is unknown: delays are given above their minimum."
            }
            (Some(DelayKind::Variable), _) | (_, Some(DelayKind::Variable)) => {
                "The clock offset is unknown: one-way delays are given above their minimum. Round-trip delays do not depend on it."
            }
            (None, None) if !round_trip => "Not evaluated: there are no delays.",
            (None, None) => "There are no one-way delays. Round-trip delays do not depend on the clock offset.",
            _ => "The clock offset was determined: one-way delays are absolute.",
        }
        .to_owned();
        if m.traffic.direction.is_one_way() && clock.offset_bounds_ns.is_none() {
            text = text.replace(" Round-trip delays do not depend on it.", "");
            text = text.replace(" Round-trip delays do not depend on the clock offset.", "");
        }
        if let Some([low, high]) = clock.offset_bounds_ns {
            // What drifts or is set lies elsewhere later.
            text.push_str(&format!(
                " Clock offset (responder minus initiator) at the first packet: {} (bounds from causality only, no path symmetry \
                 assumed).",
                bounds([low, high], self.unicode)
            ));
        }
        let one_way_file = m.source.is_some() && m.traffic.direction.is_one_way();
        text.push_str(&skew(clock, one_way_file));
        text
    }

    /// What synchronised clocks mean for one-way delays.
    fn synchronised(self, stated: &Synchronisation) -> String {
        let time = |nanos: i64| self.time_of(nanos);
        let bound = time(stated.bound_ns);
        let who = match (stated.source, stated.initiator_bound_ns, stated.responder_bound_ns) {
            (SynchronisationSource::Hosts, Some(initiator), Some(responder)) => {
                format!("as both hosts state (initiator {}, responder {})", time(initiator), time(responder))
            }
            _ => "as stated with --clocks".to_owned(),
        };
        let offset = match stated.offset_ns {
            0 => String::new(),
            offset => format!(" The stated offset of {} is subtracted.", time(offset)),
        };
        format!(
            "Synchronised to within {bound}, {who}: one-way delays are absolute, with an error of at most {bound} from the \
             clocks.{offset}"
        )
    }

    /// A limit's measured value, in the unit of its number.
    pub(crate) fn limit_value(self, limit: &Limit) -> Option<String> {
        let unit = romer_record::limit::unit(&limit.limit).unwrap_or(metric::Unit::Count);
        Some(self.metric(unit, limit.value?))
    }

    /// A number of a measurement, in its unit.
    pub(crate) fn metric(self, unit: metric::Unit, value: f64) -> String {
        match unit {
            metric::Unit::Time => self.time(value),
            metric::Unit::Ratio => percent(value),
            metric::Unit::Factor => three_digits(value),
            metric::Unit::Score => format!("{value:.2}"),
            metric::Unit::RFactor => format!("{value:.1}"),
            _ => value.to_string(),
        }
    }

    /// What the tool itself adds.
    pub(crate) fn calibration(self, m: &Measurement) -> Option<String> {
        let calibration = m.calibration.as_ref()?;
        let baseline = calibration.baseline_ns?;
        let above = calibration.uncertainty_ns.map_or_else(String::new, |above| {
            format!(", and up to {} more in 99{NO_BREAK}% of the packets", self.time(above))
        });
        let state = if calibration.subtracted {
            "the minimum is subtracted here"
        } else {
            "nothing is subtracted here"
        };
        Some(format!(
            "romer itself adds at least {} to a round trip{above} (calibration of this machine); {state}.",
            self.time(baseline)
        ))
    }

    /// `2026-11-07 10:11:12 UTC` of an RFC 3339 time in UTC; anything else as it is.
    pub(crate) fn moment(self, rfc3339: &str) -> String {
        match (rfc3339.get(..10), rfc3339.get(11..19), rfc3339.ends_with('Z')) {
            (Some(day), Some(time), true) => format!("{day} {time} UTC"),
            _ => rfc3339.to_owned(),
        }
    }

    pub(crate) fn absent(self) -> &'static str {
        absent(self.unicode)
    }
}

/// `7.000 s to 7.012 s`: both ends with the digits that tell them apart.
fn bounds([low, high]: [i64; 2], unicode: bool) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a nanosecond in a hundred days")]
    let (low, high) = (low as f64, high as f64);
    let unit = TimeScale::for_nanos(low.abs().max(high.abs()));
    let apart = unit.decimals_for(high - low).max(unit.decimals(low.abs().max(high.abs())));
    let show = |nanos| format!("{}{NO_BREAK}{}", unit.number(nanos, apart), unit.name(unicode));
    format!("{} to {}", show(low), show(high))
}

pub(crate) fn dscp_name(value: u8) -> String {
    Dscp::new(value).map_or_else(|| value.to_string(), |dscp| dscp.to_string())
}

/// What a stream is called: its target, and its number where others of the same run go to the same target.
pub(crate) fn heading<'a, M: std::borrow::Borrow<Measurement> + 'a>(
    measurements: &'a [M],
    index: usize,
) -> String {
    let Some(m) = measurements.get(index).map(std::borrow::Borrow::borrow) else { return String::new() };
    let same = measurements.iter().filter(|other| (*other).borrow().target == m.target).count();
    if same > 1 { format!("{}, stream {index}", target(m)) } else { target(m) }
}

/// The target, with the address that was measured where the target is a name.
fn target(m: &Measurement) -> String {
    let address = m.address.as_ref().and_then(|address| address.parse::<SocketAddr>().ok());
    let address = address.map(|address| address.ip().to_string());
    match address.filter(|address| !m.target.contains(address)) {
        Some(address) => format!("{} ({address})", m.target),
        None => m.target.clone(),
    }
}

#[cfg(test)]
mod tests {
    use romer_record::document::{ClockEvent, Hop};
    use romer_record::service::{KernelShaping, Service};

    use super::*;

    #[test]
    fn what_did_not_leave_is_not_told_as_refused() {
        let mut direction = DirectionResults::default();
        (direction.packets.sent, direction.packets.not_sent) = (Some(9), Some(3));
        let told = |way| Words { unicode: false }.packets(&direction, way);
        assert!(
            told(MeasuredPath::Forward).ends_with(", 3 not sent by this host"),
            "{}",
            told(MeasuredPath::Forward)
        );
        assert!(
            told(MeasuredPath::Reverse).ends_with(", 3 not sent by the responder"),
            "{}",
            told(MeasuredPath::Reverse)
        );
    }

    fn route(answers: &[Option<(&str, bool)>]) -> Option<String> {
        let answer = |(address, target): (&str, bool)| HopAnswer { address: address.into(), target };
        let hops = answers.iter().zip(1..).map(|(found, hop)| Hop {
            hop,
            at_start: found.map(answer),
            at_end: None,
        });
        let metadata = Metadata { route: Some(hops.collect()), ..Metadata::default() };
        Words { unicode: false }.route(&metadata)
    }

    #[test]
    fn what_happened_to_a_clock_is_told_with_both_its_moments() {
        let event = |kind: &str, way: &str, until_ns| ClockEvent {
            at_ns: 30_000_000_000,
            until_ns,
            kind: kind.into(),
            alternative_kind: None,
            direction: Some(way.into()),
            size_ns: Some(-1_000_000),
            size_interval_ns: None,
        };
        let say = |event| Words { unicode: false }.event_by_itself(&event).replace(NO_BREAK, " ");
        assert_eq!(say(event("clock-step", "both", None)), "clock step of -1.00 ms at t = 30.0 s");
        assert_eq!(
            say(event("slew", "both", Some(35_000_000_000))),
            "clock slew of -1.00 ms from t = 30.0 s to 35.0 s"
        );
        assert_eq!(
            say(event("path-change", "reverse", None)),
            "path delay change of -1.00 ms, reverse, at t = 30.0 s"
        );
    }

    #[test]
    fn trace_is_named_by_its_file() {
        let traffic =
            Traffic { model: "trace:/a/b/packets.csv".into(), payload_octets: 60, ..Traffic::default() };
        let words = Words { unicode: false }.traffic(&traffic).replace(NO_BREAK, " ");
        assert_eq!(words, "trace packets.csv, 60 B payload");
    }

    /// Marks and shaping by the sending host are part of the traffic.
    #[test]
    fn traffic_has_its_marks_and_shaper() {
        let shaping = KernelShaping {
            discipline: "htb".into(),
            interface: "eth0".into(),
            octets_per_second: 26_500,
            depth_octets: 132,
            lead_ns: 16_000_000,
        };
        let traffic = Traffic {
            model: "token-bucket:16kBps,64B".into(),
            payload_octets: 64,
            dscp: Some(40),
            service: Some(Service::Guaranteed),
            priority: Some(5),
            kernel_shaping: Some(shaping),
            ..Traffic::default()
        };
        let words = Words { unicode: false }.traffic(&traffic).replace(NO_BREAK, " ");
        let marks = "DSCP cs5, service guaranteed, priority 5, shaped by the kernel (htb on eth0)";
        assert_eq!(words, format!("token-bucket:16kBps,64B, 64 B payload, {marks}"));
    }

    #[test]
    fn the_ends_of_bounds_can_be_told_apart() {
        let say = |ends| bounds(ends, true).replace(NO_BREAK, " ");
        assert_eq!(say([7_000_000_000, 7_000_120_000]), "7.000000 s to 7.000120 s");
        assert_eq!(say([-1_500_000, 2_500_000]), "-1.50 ms to 2.50 ms");
        assert_eq!(say([7_000_000_000, 7_000_000_000]), "7.00 s to 7.00 s");
    }

    #[test]
    fn a_route_is_told_in_a_line_however_long_it_is() {
        let (router, target) = (|address| Some((address, false)), Some(("192.0.2.1", true)));
        assert_eq!(route(&[]).unwrap(), "no router answered");
        assert_eq!(route(&[target]).unwrap(), "1 hop: target");
        assert_eq!(route(&[router("a"), None, target]).unwrap(), "3 hops: a, *, target");
        assert_eq!(route(&[None, router("b")]).unwrap(), "*, b, then no answer");
        let long: Vec<_> = ["a", "b", "c", "d", "e"].map(router).into_iter().chain([target]).collect();
        assert_eq!(route(&long).unwrap(), "6 hops: a, b, ..., d, e, target");
        assert_eq!(Words { unicode: false }.route(&Metadata::default()), None);
    }
}
