//! The figures that lead a summary, one line a direction, and what is remarkable about the losses.

use romer_record::document::{DelayKind, DirectionResults, Measurement, Packets, Summary};
use romer_record::warning::MeasurementWarning;

use super::Words;
use crate::causes;
use crate::number::{capital, count, counted, percent};
use crate::sure;
use crate::table::{MeasuredPath, ways};

/// Fewer delays than this have no 99th percentile that differs from the maximum.
const ENOUGH_FOR_P99: u64 = 100;

/// That round trips include the responder's processing time: all of them, or those without its time stamps.
fn includes_responder(m: &Measurement) -> Option<String> {
    const INCLUDING: &str = "including the responder's processing time";
    let of_some = |warning: &MeasurementWarning| match warning {
        MeasurementWarning::ResponderTimeStampsAbsent { replies, .. } => {
            Some(format!("{} of {} {INCLUDING}", count(*replies), count(m.round_trip.delay_ns.count)))
        }
        _ => None,
    };
    if m.stamps.round_trip_includes_responder {
        return Some(INCLUDING.into());
    }
    m.warnings.iter().find_map(of_some)
}

impl Words {
    /// One line a direction: median, 99th percentile, loss. Before them, if most of what was due was not sent, that.
    pub(crate) fn figures(self, m: &Measurement) -> Vec<String> {
        let mut lines: Vec<String> = unsent(departures(m)).into_iter().collect();
        let ways = ways(m);
        lines.extend(ways.iter().map(|way| self.line(m, *way)));
        if ways.is_empty() {
            lines.push("Nothing was measured.".into());
        }
        lines
    }

    fn line(self, m: &Measurement, way: MeasuredPath) -> String {
        let direction = way.results(m);
        let mut notes = Vec::new();
        if direction.delay_kind == Some(DelayKind::Variable) {
            notes.push("above min".to_owned());
        }
        notes.extend(Some(m).filter(|_| way == MeasuredPath::RoundTrip).and_then(includes_responder));
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        let delay = match (direction.delay_kind, direction.delay_ns.count) {
            // Above the minimum a single delay is zero.
            (Some(DelayKind::Variable), 1) => [Some("delay unknown (1 packet)".to_owned()), None],
            _ => [self.median(&direction.delay_ns), self.highest(&direction.delay_ns)],
        };
        let figures =
            delay.into_iter().flatten().chain([loss(direction, way)]).collect::<Vec<_>>().join(", ");
        format!("{}{notes}: {figures}", capital(way.title(m)))
    }

    fn median(self, delay: &Summary) -> Option<String> {
        let name = if delay.count == 1 { "delay" } else { "median" };
        sure::median(delay, self.unicode).map(|median| format!("{name} {median}"))
    }

    /// `p99 2.75 ms`; of too few for a percentile the maximum.
    fn highest(self, delay: &Summary) -> Option<String> {
        let time = |name: &str, nanos: Option<f64>| nanos.map(|nanos| format!("{name} {}", self.time(nanos)));
        match delay.count {
            0 | 1 => None,
            few if few < ENOUGH_FOR_P99 => time("max", delay.max),
            _ => time("p99", delay.p99),
        }
    }

    /// What is remarkable about the losses of each direction, with its name where there are several: causes, and a burst that is
    /// too long for independent losses.
    pub(crate) fn losses(self, m: &Measurement) -> Vec<(Option<&'static str>, String)> {
        let ways = ways(m);
        let one = |way: &MeasuredPath| {
            let direction = way.results(m);
            // Of a round trip whose two directions are known, they have it all.
            if *way == MeasuredPath::RoundTrip
                && m.forward.packets.lost.is_some()
                && m.reverse.packets.lost.is_some()
            {
                return None;
            }
            let causes = Some(causes::listed(direction)).filter(|causes| !causes.is_empty());
            let parts: Vec<String> = self.burst(direction).into_iter().chain(causes).collect();
            let name = (ways.len() > 1).then_some(way.name());
            (!parts.is_empty()).then(|| (name, parts.join("; ")))
        };
        ways.iter().filter_map(one).collect()
    }

    /// The longest loss period and when it was, where as many independent losses would have one as long less than once in a
    /// hundred such runs.
    #[expect(clippy::cast_precision_loss, reason = "a bound of a probability")]
    fn burst(self, direction: &DirectionResults) -> Option<String> {
        let longest = direction.loss.longest?;
        let sent = direction.packets.sent?;
        let by_chance = (sent as f64).ln() + longest.packets as f64 * direction.loss.ratio?.ln();
        if by_chance > 0.01_f64.ln() {
            return None;
        }
        let long = longest.duration_ns.filter(|nanos| *nanos > 0);
        let long = long.map_or_else(String::new, |nanos| format!(" ({})", self.time_of(nanos)));
        let at = longest.at_ns.map_or_else(String::new, |at| format!(" at {}", self.moment_of(at)));
        Some(format!("longest burst {} packets{long}{at}", count(longest.packets)))
    }
}

/// `loss 2.69 % (6/223)`, as far as it is known.
fn loss(direction: &DirectionResults, way: MeasuredPath) -> String {
    let packets = &direction.packets;
    let (received, sent) = (packets.received.unwrap_or(0), packets.sent);
    if sent == Some(0) {
        return "no packet was sent".into();
    }
    let judged = sent.map(|sent| sent.saturating_sub(packets.in_flight.unwrap_or(0)));
    let text = match (packets.lost, judged, packets.lost_at_least) {
        (Some(lost), Some(judged), _) => {
            let ratio = direction.loss.ratio.map_or_else(|| "unknown".to_owned(), percent);
            format!("loss {ratio} ({}/{})", count(lost), count(judged))
        }
        (None, _, Some(least)) if least > 0 => {
            format!("at least {} lost", counted(least, "packet", "packets"))
        }
        _ => "loss unknown".into(),
    };
    let known = packets.received > Some(0) || packets.received.is_some() && packets.lost.is_some();
    match (direction.delay_ns.count, received, way) {
        (0, _, _) if !known => {
            let sent = sent.map_or_else(String::new, |sent| format!("{} sent, ", count(sent)));
            format!("{sent}arrivals unknown")
        }
        (0, 0, MeasuredPath::RoundTrip) => format!("no reply received, {text}"),
        (0, 0, _) => format!("no packet arrived, {text}"),
        (0, ..) => format!("no delay (time stamps missing), {text}"),
        _ => text,
    }
}

/// The counts of what was to leave the one end and the other.
pub(super) fn departures(m: &Measurement) -> impl Iterator<Item = (&Packets, &'static str)> {
    let is_round_trip = m.round_trip.packets.sent.is_some();
    let initiator = if is_round_trip { &m.round_trip } else { &m.forward };
    let responder = (!is_round_trip).then_some((&m.reverse.packets, "the responder"));
    [Some((&initiator.packets, "this host")), responder].into_iter().flatten()
}

/// Whether something was to leave, and all of it was refused.
pub(super) fn refused_all<'a>(departures: impl Iterator<Item = (&'a Packets, &'static str)>) -> bool {
    let counts: Vec<_> =
        departures.filter_map(|(packets, _)| Some((packets.sent?, packets.not_sent?))).collect();
    counts.iter().all(|(sent, _)| *sent == 0) && counts.iter().any(|(_, not_sent)| *not_sent > 0)
}

/// That more than half of what was due did not leave, where something did: all else is of the rest.
fn unsent<'a>(departures: impl Iterator<Item = (&'a Packets, &'static str)>) -> Option<String> {
    let of = |(packets, end): (&Packets, &str)| {
        let (sent, not_sent) = (packets.sent?, packets.not_sent?);
        (sent > 0 && not_sent > sent).then(|| {
            let due = counted(sent.saturating_add(not_sent), "probe", "probes");
            format!("Only {} of {due} left {end}.", count(sent))
        })
    };
    let words: Vec<String> = departures.filter_map(of).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use romer_record::document::LossPeriod;

    use super::*;
    use crate::number::NO_BREAK;

    #[test]
    fn most_of_what_was_due_unsent() {
        let packets =
            |sent, not_sent| Packets { sent: Some(sent), not_sent: Some(not_sent), ..Packets::default() };
        let told = |[initiator, responder]: [Packets; 2]| {
            unsent([(&initiator, "this host"), (&responder, "the responder")].into_iter())
        };
        assert_eq!(told([packets(500, 500), packets(0, 9)]), None);
        assert_eq!(
            told([packets(400, 600), packets(1, 2)]).as_deref(),
            Some("Only 400 of 1000 probes left this host. Only 1 of 3 probes left the responder.")
        );
        let refused = |sent, not_sent| refused_all([(&packets(sent, not_sent), "this host")].into_iter());
        assert!(refused(0, 9) && !refused(0, 0) && !refused(1, 9));
    }

    /// A burst that independent losses would hardly have is named with its length and moment.
    #[test]
    fn longest_loss_burst() {
        let told = |packets, at_s: i64, sent: u64, lost: u64| {
            let mut direction = DirectionResults::default();
            direction.packets.sent = Some(sent);
            direction.loss.ratio = Some(lost as f64 / sent as f64);
            let at_ns = Some(at_s * 1_000_000_000);
            direction.loss.longest =
                Some(LossPeriod { packets, sequence: 400_000, at_ns, duration_ns: Some(200_000_000) });
            Words { unicode: true }.burst(&direction).map(|said| said.replace(NO_BREAK, " "))
        };
        assert_eq!(
            told(200, 400, 1_000_000, 1_200).as_deref(),
            Some("longest burst 200 packets (200 ms) at t = 400 s")
        );
        assert_eq!(told(4, 0, 1_000, 20).as_deref(), Some("longest burst 4 packets (200 ms) at t = 0 s"));
        assert_eq!(told(2, 400, 1_000_000, 1_200), None, "of so many two come together by chance");
        assert_eq!(told(10, 0, 10, 10), None, "all were lost");
        assert_eq!(Words { unicode: true }.burst(&DirectionResults::default()), None);
    }

    /// Fewer than a hundred delays have a maximum in place of a 99th percentile.
    #[test]
    fn maximum_of_few() {
        let told = |count| {
            let delay = Summary { count, p99: Some(2.7e6), max: Some(2.75e6), ..Summary::default() };
            Words { unicode: true }.highest(&delay).map(|text| text.replace(NO_BREAK, " "))
        };
        assert_eq!(told(1), None);
        assert_eq!(told(99).as_deref(), Some("max 2.75 ms"));
        assert_eq!(told(100).as_deref(), Some("p99 2.70 ms"));
    }

    /// What is not known of a direction is not shown as zero.
    #[test]
    fn loss_as_far_as_known() {
        let told = |packets: Packets, delays, way| {
            let mut direction = DirectionResults { packets, ..DirectionResults::default() };
            direction.delay_ns.count = delays;
            let judged = direction.packets.sent.unwrap_or(0) as f64;
            direction.loss.ratio = direction.packets.lost.map(|lost| lost as f64 / judged);
            loss(&direction, way).replace(NO_BREAK, " ")
        };
        let packets = |sent, received, lost| Packets { sent, received, lost, ..Packets::default() };
        assert_eq!(told(packets(Some(4), Some(3), Some(1)), 3, MeasuredPath::Forward), "loss 25.0 % (1/4)");
        assert_eq!(
            told(packets(Some(4), Some(0), Some(4)), 0, MeasuredPath::RoundTrip),
            "no reply received, loss 100 % (4/4)"
        );
        assert_eq!(told(packets(Some(4), None, None), 0, MeasuredPath::Forward), "4 sent, arrivals unknown");
        assert_eq!(
            told(packets(Some(4), Some(2), Some(2)), 0, MeasuredPath::Reverse),
            "no delay (time stamps missing), loss 50.0 % (2/4)"
        );
        assert_eq!(told(packets(None, Some(9), None), 9, MeasuredPath::Reverse), "loss unknown");
        assert_eq!(told(packets(Some(0), Some(0), Some(0)), 0, MeasuredPath::Reverse), "no packet was sent");
        let least = Packets { lost_at_least: Some(2), ..packets(Some(9), Some(7), None) };
        assert_eq!(told(least, 7, MeasuredPath::Forward), "at least 2 packets lost");
    }
}
