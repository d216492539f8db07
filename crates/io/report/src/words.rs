//! What a measurement says, in sentences; the same on a terminal and in a page.

mod pace;
mod stamps;

use std::net::SocketAddr;

use romer_record::document::{
    CalibrationPhase, DelayKind, Direction, HopAnswer, Limit, Measurement, Metadata, Packets, Summary,
    Traffic,
};
use romer_record::event::Event;
use romer_record::manifest::CutShort;
use romer_record::metric;
use romer_units::Dscp;

use crate::causes;
use crate::number::{NO_BREAK, Unit, absent, count, counted, percent, time};
use crate::sure;
use crate::table::{Way, ways};
pub(crate) use pace::pace;
use pace::skew;

/// Routers that are named of a long way: half of them at its beginning, half at its end.
const ROUTERS: usize = 4;

/// Fewer delays than this have none that is slower than 99 % of them.
const ENOUGH_FOR_P99: u64 = 100;

/// Sentences, with or without characters beyond ASCII. Nothing in them is escaped yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    pub(crate) unicode: bool,
}

impl Words {
    fn time(self, nanos: f64) -> String {
        time(nanos, self.unicode)
    }
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    pub(crate) fn time_of(self, nanos: i64) -> String {
        self.time(nanos as f64)
    }

    /// Why a run is a part only.
    pub(crate) fn ending(self, m: &Measurement) -> &'static str {
        match m.cut_short {
            Some(CutShort::Interrupted) => "the run was interrupted",
            Some(CutShort::FarEndGone) => "the far end went away before the end",
            Some(CutShort::FarEndExcess) => "the far end sent more than its probes can make",
            Some(CutShort::NoWay) if refused_all(departures(m)) => {
                "this host had no way to the far end, and nothing left it"
            }
            Some(CutShort::NoWay) => "this host had no way to the far end any more",
            Some(CutShort::Killed) => "the program of the run was killed, or had no room left to write in",
            None if m.sent_nothing() || refused_all(departures(m)) => "nothing was sent",
            None if !m.not_logged.is_empty() => "this host's packet log was not kept whole",
            None if m.far_log_complete == Some(false) => "the far end's log did not come back whole",
            None => "it did not end as asked",
        }
    }

    /// What happened, and when.
    pub(crate) fn event(self, event: &Event) -> String {
        let [from, until] = event.window();
        if from < until {
            let (from, until) = (self.time_of(from), self.time_of(until));
            return format!("at some moment from {from} to {until} after the start: {}", event.detail);
        }
        format!("{} after the start: {}", self.time_of(until), event.detail)
    }

    /// The way to the target as it was found first, where it was looked for.
    pub(crate) fn route(self, metadata: &Metadata) -> Option<String> {
        let hops = metadata.route.as_ref()?;
        let has_start = hops.iter().any(|hop| hop.at_start.is_some());
        let answers: Vec<Option<&HopAnswer>> =
            hops.iter().map(|hop| if has_start { &hop.at_start } else { &hop.at_end }.as_ref()).collect();
        let Some(end) = answers.iter().rposition(Option::is_some) else {
            return Some("nobody on the way answered".into());
        };
        let reached = answers[end].is_some_and(|answer| answer.target);
        let routers = if reached { &answers[..end] } else { &answers[..=end] };
        let mut named: Vec<&str> = routers
            .iter()
            .map(|answer| answer.map_or("(silent)", |answer| answer.address.as_str()))
            .collect();
        if named.len() > ROUTERS {
            let dots = if self.unicode { "…" } else { "..." };
            named.splice(ROUTERS / 2..named.len() - ROUTERS / 2, [dots]);
        }
        let by = named.join(", ");
        let count = counted(u64::try_from(end + 1).unwrap_or(u64::MAX), "hop", "hops");
        Some(match (reached, routers.is_empty()) {
            (true, true) => "the target is the first hop".into(),
            (true, false) => format!("{count}: {by}, then the target"),
            (false, _) => format!("{by}, then nobody answered"),
        })
    }

    /// What the packets were that were sent to fit the clocks by.
    pub(crate) fn calibration_phase(self, phase: &CalibrationPhase) -> String {
        let ways = [("there", &phase.forward), ("back", &phase.reverse), ("round trip", &phase.round_trip)];
        let each = |(name, way): (&str, &Direction)| {
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
            "the first {} of each direction were sent to fit the clocks by, and are in no figure, loss or rating above: {}",
            counted(phase.packets, "packet", "packets"),
            ways.join("; ")
        )
    }

    /// The result in one or two sentences.
    pub(crate) fn verdict(self, m: &Measurement) -> String {
        let verdict = match m.round_trip.packets.sent {
            Some(sent) => self.round_trip(m, sent),
            None => self.one_way(m),
        };
        [unsent(departures(m)), Some(verdict)].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    fn round_trip(self, m: &Measurement, sent: u64) -> String {
        let (to, from) = match m.source {
            Some(_) => (String::new(), String::new()),
            None => (format!(" to {}", target(m)), format!(" from {}", target(m))),
        };
        if sent == 0 {
            return format!("No probe was sent{to}.");
        }
        if m.round_trip.packets.received.unwrap_or(0) == 0 {
            let causes = causes::appended(&m.round_trip);
            if sent == 1 {
                return format!("The only probe{to} did not come back{causes}.");
            }
            return format!("None of {}{to} came back{causes}.", counted(sent, "probe", "probes"));
        }
        let delay = &m.round_trip.delay_ns;
        let to = if m.stamps.round_trip_includes_responder {
            format!("{to}, with the time that the responder took to answer,")
        } else {
            to
        };
        let middle = match (sure::median(delay, "probe", self.unicode), delay.p99) {
            (Some(median), Some(_)) if delay.count > 1 => {
                format!("The round trip{to} takes {median}; {}.", self.most(delay, "are back"))
            }
            (Some(median), _) => format!("The round trip{to} takes {median}."),
            _ => format!("Probes come back{from}, but their stamps are missing."),
        };
        let leg = match (m.forward.packets.lost, m.reverse.packets.lost) {
            // What came back too late may have taken its time at the far end.
            (Some(0), Some(0)) => "",
            (Some(0), Some(_)) => ", all on the way back",
            (Some(_), Some(0)) => ", all on the way there",
            (Some(_), Some(_)) => ", on both ways",
            _ => "",
        };
        format!("{middle} {}", self.losses(&m.round_trip, sent, "probe", leg))
    }

    /// How many were lost, and how many of them in a row where that is no chance.
    fn losses(self, direction: &Direction, sent: u64, one: &str, leg: &str) -> String {
        let lost = loss_sentence(direction, sent, one, leg);
        let outage = self.outage(direction, sent);
        outage.map_or_else(|| lost.clone(), |outage| format!("{lost} {outage}"))
    }

    /// The longest loss period and when it was, where independent losses, as many of them, would have one as long less than once
    /// in a hundred such runs.
    #[expect(clippy::cast_precision_loss, reason = "a bound of a probability")]
    fn outage(self, direction: &Direction, sent: u64) -> Option<String> {
        let longest = direction.loss.longest?;
        let by_chance = (sent as f64).ln() + longest.packets as f64 * direction.loss.ratio?.ln();
        if by_chance > 0.01_f64.ln() {
            return None;
        }
        let when = match longest.at_ns {
            None => String::new(),
            Some(0) => ", beginning with the first packet".to_owned(),
            Some(at) => format!(", beginning {} after the first packet", self.time_of(at)),
        };
        let long = longest.duration_ns.filter(|nanos| *nanos > 0);
        let long = long.map_or_else(String::new, |nanos| format!(" ({})", self.time_of(nanos)));
        Some(format!("{} packets in a row were lost{long}{when}.", count(longest.packets)))
    }

    /// Of packets that go one way, or one way each.
    fn one_way(self, m: &Measurement) -> String {
        let ways: Vec<String> = [Way::Forward, Way::Reverse]
            .into_iter()
            .filter(|way| ways(m).contains(way))
            .map(|way| self.way(m, way))
            .collect();
        if ways.is_empty() { format!("Nothing was measured ({}).", target(m)) } else { ways.join(" ") }
    }

    fn way(self, m: &Measurement, way: Way) -> String {
        let direction = way.of(m);
        let name = match (way, &m.source) {
            (_, Some(_)) if way.title(m) == "one way" => "One way".to_owned(),
            (Way::Forward, Some(_)) => "The way there".into(),
            (_, Some(_)) => "The way back".into(),
            (Way::Forward, None) => format!("The way to {}", target(m)),
            (_, None) => format!("The way from {}", target(m)),
        };
        let sent = direction.packets.sent;
        if sent == Some(0) {
            return format!("{name}: no packet was sent.");
        }
        if direction.packets.received.is_none() && direction.delay_ns.count == 0 {
            let sent = sent.map_or_else(String::new, |sent| format!(", of {} sent,", count(sent)));
            return format!("{name}: what arrived{sent} is not known.");
        }
        if direction.packets.received == Some(0) {
            let of =
                sent.map_or_else(String::new, |sent| format!(" of {}", counted(sent, "packet", "packets")));
            return format!("{name}: none{of} arrived{}.", causes::appended(direction));
        }
        let delay = &direction.delay_ns;
        let figures = match (direction.delay_kind, delay.median, delay.p99) {
            (Some(DelayKind::Variable), ..) if delay.count == 1 => {
                "of one delay nothing can be said, the whole of it not being known.".into()
            }
            (Some(DelayKind::Variable), Some(_), Some(_)) => {
                let most = self.most(delay, "of the packets arrive");
                format!("{most} of the quickest; the whole delay is not known.")
            }
            (_, Some(_), Some(_)) => {
                let median = sure::median(delay, "packet", self.unicode).unwrap_or_default();
                let most = match delay.count {
                    0 | 1 => String::new(),
                    _ => format!("; {}", self.most(delay, "arrive")),
                };
                format!("a packet takes {median}{most}.")
            }
            _ => "packets arrive, but their stamps are missing.".into(),
        };
        let loss = match (sent, direction.packets.received) {
            (Some(sent), _) => format!(" {}", self.losses(direction, sent, "packet", "")),
            (None, Some(received)) => {
                let arrived = counted(received, "packet", "packets");
                format!(" At least {arrived} arrived; how many were sent is not known.")
            }
            (None, None) => String::new(),
        };
        format!("{name}: {figures}{loss}")
    }

    /// How long nearly all took: `99 % arrive within 2.75 ms`; of so few that there is no slowest hundredth, all of them:
    /// `all 11 arrive within 2.75 ms`.
    fn most(self, delay: &Summary, arrive: &str) -> String {
        let within = |nanos: Option<f64>| self.time(nanos.unwrap_or_default());
        if delay.count >= ENOUGH_FOR_P99 {
            return format!("99{NO_BREAK}% {arrive} within {}", within(delay.p99));
        }
        let all = if delay.count == 2 { "both".to_owned() } else { format!("all {}", count(delay.count)) };
        format!("{all} {arrive} within {}", within(delay.max))
    }

    /// What was sent: `poisson 20 ms apart on average, 44 B of payload (72 B of IP)`.
    pub(crate) fn traffic(self, t: &Traffic) -> String {
        let pace = self.pace(t);
        let ip = t.packet_octets.map_or_else(String::new, |octets| format!(" ({octets}{NO_BREAK}B of IP)"));
        let sizes = match (t.payload_octets_min, t.payload_octets_max) {
            (Some(least), Some(most)) => format!(
                "{least} to {most}{NO_BREAK}B of payload, {}{NO_BREAK}B on average{ip}",
                t.payload_octets
            ),
            _ => format!("{}{NO_BREAK}B of payload{ip}", t.payload_octets),
        };
        let mut text = format!("{}{pace}, {sizes}", t.model);
        if let Some(jitter) = &t.departure_jitter {
            text.push_str(&format!(", departures perturbed by {jitter}"));
        }
        if let Some(dscp) = t.dscp.filter(|dscp| *dscp != 0) {
            text.push_str(&format!(", DSCP {}", dscp_name(dscp)));
        }
        if let Some(ecn) = t.ecn.as_deref().filter(|ecn| *ecn != "not-ect") {
            text.push_str(&format!(", ECN {ecn}"));
        }
        if let Some(seed) = t.seed {
            text.push_str(&format!(", seed {}", seed.map(|word| word.to_string()).join(",")));
        }
        text
    }

    /// ` every 20 ms`; nothing where it is not known.
    fn pace(self, t: &Traffic) -> String {
        const UNEVEN: [&str; 6] = ["poisson", "im", "talkspurt", "onoff", "trace", "token-bucket"];
        let every = self.time_of(t.interval_ns);
        let kind = t.model.split(':').next().unwrap_or_default();
        match t.interval_ns {
            0 => String::new(),
            _ if UNEVEN.contains(&kind) => format!(" {every} apart on average"),
            _ => format!(" every {every}"),
        }
    }

    /// `500 sent, 497 arrived, 3 lost (0.60 %), 1 late, 2 duplicated, 4 out of order`.
    pub(crate) fn packets(self, direction: &Direction, way: Way) -> String {
        let p = &direction.packets;
        let mut parts = Vec::new();
        parts.push(
            p.sent.map_or_else(|| "sent: not known".to_owned(), |sent| format!("{} sent", count(sent))),
        );
        parts.push(match (p.received, p.lost) {
            (None, _) | (Some(0), None) => "arrived: not known".to_owned(),
            (Some(received), Some(_)) => format!("{} arrived", count(received)),
            // Those whose reflection, or whose record, did not come back may have arrived as well.
            (Some(received), None) => format!("at least {} arrived", count(received)),
        });
        match (p.lost, direction.loss.ratio) {
            (Some(lost), Some(ratio)) if lost > 0 => {
                parts.push(format!("{} lost ({})", count(lost), percent(ratio)));
            }
            (Some(lost), _) => parts.push(format!("{} lost", count(lost))),
            (None, _) => parts.push(p.lost_at_least.map_or_else(
                || "losses not known for this direction".to_owned(),
                |least| format!("at least {} lost", count(least)),
            )),
        }
        for (number, what) in [
            (p.instrument_drops, "dropped by the measuring host"),
            (p.in_flight, "in flight at the end"),
            (p.late, "late"),
            (p.duplicated, "duplicated"),
            (p.reordered, "out of order"),
            (p.corrupted, "damaged"),
            (
                p.not_sent,
                if way == Way::Reverse { "not sent by the far host" } else { "not sent by this host" },
            ),
        ] {
            if let Some(number) = number.filter(|number| *number > 0) {
                parts.push(format!("{} {what}", count(number)));
            }
        }
        parts.join(", ")
    }

    /// What the one-way figures mean.
    pub(crate) fn clock(self, m: &Measurement) -> String {
        let clock = &m.clock;
        let one_way = m.forward.delay_ns.count.max(m.reverse.delay_ns.count);
        if clock.method == "shared" && one_way > 0 {
            return "Both ends read one clock: one-way delays are the whole delays.".into();
        }
        let round_trip = m.round_trip.delay_ns.count > 0;
        if clock.method == "shared" {
            let what = if round_trip { "one-way delays" } else { "delays" };
            return format!("Both ends read one clock. There are no {what}.");
        }
        let mut text = match (m.forward.delay_kind, m.reverse.delay_kind) {
            (Some(DelayKind::Variable), _) | (_, Some(DelayKind::Variable)) if !round_trip => {
                "The two clocks' offset is not known: delays are the part above the least one."
            }
            (Some(DelayKind::Variable), _) | (_, Some(DelayKind::Variable)) => {
                "The two clocks' offset is not known: forward and reverse are the part of the delay above its \
                 least value. The round trip does not depend on it."
            }
            (None, None) if !round_trip => "There are no delays.",
            (None, None) => "There are no one-way delays; the round trip does not depend on the other clock.",
            _ => "The clocks of the two ends have been related; one-way delays are absolute.",
        }
        .to_owned();
        if m.traffic.direction.is_one_way() && clock.offset_bounds_ns.is_none() {
            text = text.replace(" The round trip does not depend on it.", "");
            text = text.replace("; the round trip does not depend on the other clock", "");
        }
        if let Some([low, high]) = clock.offset_bounds_ns {
            // What drifts or is set lies elsewhere later.
            text.push_str(&format!(
                " At the first packet the responder's clock minus this one lay within {} (causality alone, no symmetry assumed).",
                bounds([low, high], self.unicode)
            ));
        }
        let one_way_file = m.source.is_some() && m.traffic.direction.is_one_way();
        text.push_str(&skew(clock, one_way_file));
        text
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
            metric::Unit::Score => format!("{value:.2}"),
            _ => value.to_string(),
        }
    }

    /// What the tool itself adds.
    pub(crate) fn calibration(self, m: &Measurement) -> Option<String> {
        let calibration = m.calibration.as_ref()?;
        let baseline = calibration.baseline_ns?;
        let above = calibration
            .uncertainty_ns
            .map_or_else(String::new, |above| format!(" and up to {} more", self.time(above)));
        let state = if calibration.subtracted { "is subtracted here" } else { "is not subtracted here" };
        Some(format!(
            "Of a round trip {}{above} are the tool's own, as calibrated on this machine; the floor {state}.",
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

/// How many of how many were lost, and where: `leg` is for several.
fn loss_sentence(direction: &Direction, sent: u64, one: &str, leg: &str) -> String {
    let Some(lost) = direction.packets.lost else { return "How many were lost is not known.".into() };
    let judged = sent.saturating_sub(direction.packets.in_flight.unwrap_or(0));
    let of = counted(judged, one, &format!("{one}s"));
    if lost == 0 && judged == 1 {
        return format!("The only {one} was not lost.");
    }
    if lost == 0 {
        return format!("None of {of} was lost.");
    }
    let share = direction.loss.ratio.map_or_else(String::new, |ratio| format!(" ({})", percent(ratio)));
    let was = if lost == 1 { "was" } else { "were" };
    let leg = if lost == 1 { leg.strip_prefix(", all").map_or("", |_| leg_of_one(leg)) } else { leg };
    format!("{} of {of} {was} lost{share}{leg}{}.", count(lost), causes::appended(direction))
}

/// The counts of what was to leave the one end and the other.
fn departures(m: &Measurement) -> impl Iterator<Item = (&Packets, &'static str)> {
    let is_round_trip = m.round_trip.packets.sent.is_some();
    let there = if is_round_trip { &m.round_trip } else { &m.forward };
    let theirs = (!is_round_trip).then_some((&m.reverse.packets, "the far end"));
    [Some((&there.packets, "this host")), theirs].into_iter().flatten()
}

/// Whether something was to leave, and all of it was refused.
fn refused_all<'a>(departures: impl Iterator<Item = (&'a Packets, &'static str)>) -> bool {
    let counts: Vec<_> =
        departures.filter_map(|(packets, _)| Some((packets.sent?, packets.not_sent?))).collect();
    counts.iter().all(|(sent, _)| *sent == 0) && counts.iter().any(|(_, not_sent)| *not_sent > 0)
}

/// That more than half of what was due did not leave, where something did: all else is of the rest.
fn unsent<'a>(departures: impl Iterator<Item = (&'a Packets, &'static str)>) -> Option<String> {
    let of = |(packets, end): (&Packets, &str)| {
        let (sent, not_sent) = (packets.sent?, packets.not_sent?);
        (sent > 0 && not_sent > sent).then(|| {
            format!(
                "Only {} of {} left {end}.",
                count(sent),
                counted(sent.saturating_add(not_sent), "probe", "probes")
            )
        })
    };
    let words: Vec<String> = departures.filter_map(of).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn leg_of_one(leg: &str) -> &'static str {
    if leg.ends_with("back") { ", on the way back" } else { ", on the way there" }
}

/// `[7.000 s, 7.012 s]`: both ends with the digits that tell them apart.
fn bounds([low, high]: [i64; 2], unicode: bool) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a nanosecond in a hundred days")]
    let (low, high) = (low as f64, high as f64);
    let unit = Unit::of(low.abs().max(high.abs()));
    let apart = unit.decimals_for(high - low).max(unit.decimals(low.abs().max(high.abs())));
    let show = |nanos| format!("{}{NO_BREAK}{}", unit.number(nanos, apart), unit.name(unicode));
    format!("[{}, {}]", show(low), show(high))
}

fn dscp_name(value: u8) -> String {
    Dscp::new(value).map_or_else(|| value.to_string(), |dscp| dscp.to_string())
}

/// What a stream is called: its target, and its number where others of the same run go to the same target.
pub(crate) fn heading<'a, M: std::borrow::Borrow<Measurement> + 'a>(
    measurements: &'a [M],
    index: usize,
) -> String {
    let Some(m) = measurements.get(index).map(std::borrow::Borrow::borrow) else { return String::new() };
    let same = measurements.iter().filter(|other| (*other).borrow().target == m.target).count();
    if same > 1 { format!("{}, stream {index}", m.target) } else { m.target.clone() }
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
    use romer_record::document::{ClockEvent, Hop, LossPeriod};

    use super::*;

    #[test]
    fn what_did_not_leave_is_not_told_as_refused() {
        let mut direction = Direction::default();
        (direction.packets.sent, direction.packets.not_sent) = (Some(9), Some(3));
        let told = |way| Words { unicode: false }.packets(&direction, way);
        assert!(told(Way::Forward).ends_with(", 3 not sent by this host"), "{}", told(Way::Forward));
        assert!(told(Way::Reverse).ends_with(", 3 not sent by the far host"), "{}", told(Way::Reverse));
    }

    #[test]
    fn where_most_of_what_was_due_did_not_leave_the_first_sentence_says_so() {
        let packets =
            |sent, not_sent| Packets { sent: Some(sent), not_sent: Some(not_sent), ..Packets::default() };
        let told =
            |[there, back]: [Packets; 2]| unsent([(&there, "this host"), (&back, "the far end")].into_iter());
        assert_eq!(told([packets(500, 500), packets(0, 9)]), None);
        assert_eq!(
            told([packets(400, 600), packets(1, 2)]).as_deref(),
            Some("Only 400 of 1000 probes left this host. Only 1 of 3 probes left the far end.")
        );
        let refused = |sent, not_sent| refused_all([(&packets(sent, not_sent), "this host")].into_iter());
        assert!(refused(0, 9) && !refused(0, 0) && !refused(1, 9));
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
            may_be: None,
            direction: Some(way.into()),
            size_ns: Some(-1_000_000),
            size_interval_ns: None,
        };
        let say = |event| Words { unicode: false }.event_by_itself(&event).replace(NO_BREAK, " ");
        assert_eq!(say(event("clock-step", "both", None)), "clock-step of -1.00 ms, 30.0 s after the start");
        assert_eq!(
            say(event("slew", "both", Some(35_000_000_000))),
            "slew of -1.00 ms, from 30.0 s to 35.0 s after the start"
        );
        assert_eq!(
            say(event("path-change", "reverse", None)),
            "path-change of -1.00 ms, reverse, 30.0 s after the start"
        );
    }

    #[test]
    fn the_longest_outage_is_told_with_its_moment_where_it_is_no_chance() {
        let told = |packets, at_s: i64, sent: u64, lost: u64| {
            let mut direction = Direction::default();
            direction.loss.ratio = Some(lost as f64 / sent as f64);
            let at_ns = Some(at_s * 1_000_000_000);
            direction.loss.longest =
                Some(LossPeriod { packets, sequence: 400_000, at_ns, duration_ns: Some(200_000_000) });
            Words { unicode: true }.outage(&direction, sent).map(|said| said.replace(NO_BREAK, " "))
        };
        assert_eq!(
            told(200, 400, 1_000_000, 1_200).as_deref(),
            Some("200 packets in a row were lost (200 ms), beginning 400 s after the first packet.")
        );
        assert_eq!(
            told(4, 0, 1_000, 20).as_deref(),
            Some("4 packets in a row were lost (200 ms), beginning with the first packet.")
        );
        assert_eq!(told(2, 400, 1_000_000, 1_200), None, "of so many two come together by chance");
        assert_eq!(told(10, 0, 10, 10), None, "all were lost");
        assert_eq!(Words { unicode: true }.outage(&Direction::default(), 9), None);
    }

    #[test]
    fn of_so_few_that_there_is_no_slowest_hundredth_all_are_told() {
        let told = |count, arrive| {
            let delay = Summary { count, p99: Some(2.7e6), max: Some(2.75e6), ..Summary::default() };
            Words { unicode: true }.most(&delay, arrive).replace(NO_BREAK, " ")
        };
        assert_eq!(told(2, "arrive"), "both arrive within 2.75 ms");
        assert_eq!(told(11, "of the packets arrive"), "all 11 of the packets arrive within 2.75 ms");
        assert_eq!(told(99, "are back"), "all 99 are back within 2.75 ms");
        assert_eq!(told(100, "are back"), "99 % are back within 2.70 ms");
    }

    #[test]
    fn the_ends_of_bounds_can_be_told_apart() {
        let say = |ends| bounds(ends, true).replace(NO_BREAK, " ");
        assert_eq!(say([7_000_000_000, 7_000_120_000]), "[7.000000 s, 7.000120 s]");
        assert_eq!(say([-1_500_000, 2_500_000]), "[-1.50 ms, 2.50 ms]");
        assert_eq!(say([7_000_000_000, 7_000_000_000]), "[7.00 s, 7.00 s]");
    }

    #[test]
    fn a_route_is_told_in_a_line_however_long_it_is() {
        let (router, target) = (|address| Some((address, false)), Some(("192.0.2.1", true)));
        assert_eq!(route(&[]).unwrap(), "nobody on the way answered");
        assert_eq!(route(&[target]).unwrap(), "the target is the first hop");
        assert_eq!(route(&[router("a"), None, target]).unwrap(), "3 hops: a, (silent), then the target");
        assert_eq!(route(&[None, router("b")]).unwrap(), "(silent), b, then nobody answered");
        let long: Vec<_> = ["a", "b", "c", "d", "e"].map(router).into_iter().chain([target]).collect();
        assert_eq!(route(&long).unwrap(), "6 hops: a, b, ..., d, e, then the target");
        assert_eq!(Words { unicode: false }.route(&Metadata::default()), None);
    }
}
