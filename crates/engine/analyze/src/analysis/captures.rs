//! Two captures of one stream: packets are found again by their content.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use romer_exchange::capture::{self, Captured, Flow};
use romer_exchange::csv::Shape;
use romer_exchange::packed::Records;
use romer_record::RoundTrip;
use romer_record::document::ProbeDirection;
use romer_record::warning::MeasurementWarning;
use romer_session::association;
use romer_units::{TimestampPoint, counted_as};

use super::capture_flows;
use super::capture_steps::{Matched, as_taken, take_out};
use super::error::AnalysisError;
use super::known::Known;
use super::packets::Packets;
use super::request::FlowChoice;
use super::rows::{LogPresence, time};
use super::table::{About, Table, open};

/// A packet that was sent so much later than the least pass over the path is not the same, though its content is.
const LONGEST_NS: i64 = 60_000_000_000;

/// Conversations that a message lists, at the most.
const LISTED: usize = 12;

/// A flow and the one that answers it, by their packets that both captures have: the fuller one, and how many each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Conversation {
    flow: Flow,
    there: usize,
    back: usize,
}

impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, other) = (SocketAddr::from(self.flow.source), SocketAddr::from(self.flow.destination));
        write!(f, "{one}-{other} ({} packets, {} back)", self.there, self.back)
    }
}

/// Those that both captures have, the one with the most packets there and back first.
fn conversations(flows: &BTreeMap<Flow, usize>) -> Vec<Conversation> {
    let of = |(flow, count): (&Flow, &usize)| {
        let back = flows.get(&flow.back()).copied().unwrap_or(0);
        let fuller = *count > back || (*count == back && *flow <= flow.back());
        fuller.then_some(Conversation { flow: *flow, there: *count, back })
    };
    let mut all: Vec<Conversation> = flows.iter().filter_map(of).collect();
    all.sort_by_key(|one| (std::cmp::Reverse((one.there + one.back, one.there)), one.flow));
    all
}

/// As a message lists them.
fn listed(all: &[Conversation]) -> String {
    let shown = all.iter().zip(1..).take(LISTED).map(|(one, number)| format!("{number}: {one}"));
    let mut words: Vec<String> = shown.collect();
    if all.len() > LISTED {
        words.push(format!("and {} more", all.len() - LISTED));
    }
    words.join("; ")
}

impl FlowChoice {
    fn select(self, all: &[Conversation]) -> Option<&Conversation> {
        match self {
            Self::Number(number) => all.get(number.checked_sub(1)?),
            Self::Ends(flow) => all.iter().find(|one| one.flow == flow || one.flow == flow.back()),
        }
    }
}

/// The packets of a stream that two captures have.
pub(super) struct CommonPackets {
    /// From the place of the first capture to that of the second.
    pub(super) there: Table,
    /// The stream that answers it, if there is one.
    pub(super) back: Option<Table>,
    /// Steps of the capturing hosts' clocks, which are out of the stamps.
    pub(super) known: Vec<Known>,
}

/// A flow as both captures have it: what each packet is told from others by.
type Key = (u64, u16);

/// Which of a packet's features are compared: addresses that were translated change its identification seldom, tunnels
/// do.
#[derive(Clone, Copy)]
enum By {
    ContentAndIdentification,
    Content,
}

impl By {
    fn key(self, packet: &Captured) -> Key {
        match self {
            Self::ContentAndIdentification => (packet.content, packet.identification),
            Self::Content => (packet.content, 0),
        }
    }
}

/// The stream that is meant by `choice`, or the one with the most packets there and back.
pub(super) fn read(
    near: &Path,
    far: &Path,
    choice: Option<FlowChoice>,
) -> Result<CommonPackets, AnalysisError> {
    let (mut a, mut b) = (load(near, usize::MAX)?, load(far, usize::MAX)?);
    // What one of them has of no more than the beginning is found in the other by that.
    if let Some(least) = [a.least_kept, b.least_kept].into_iter().flatten().min() {
        (a, b) = (load(near, least)?, load(far, least)?);
    }
    for (capture, path) in [(&a, near), (&b, far)] {
        if capture.packets.is_empty() {
            let others = capture.others.saturating_add(capture.aside);
            return Err(AnalysisError::Line { path: path.into(), line: 1, why: no_udp(others) });
        }
    }
    let refuse = |why: String| AnalysisError::Line { path: far.into(), line: 1, why };
    let translated = capture_flows::match_flows([&mut a.packets, &mut b.packets]);
    let both = |by: By| matched(&a.packets, &b.packets, by);
    let (exact, loose) = (both(By::ContentAndIdentification), both(By::Content));
    let total = |flows: &BTreeMap<Flow, usize>| flows.values().sum::<usize>();
    // Where the identification tells packets apart without losing any, it is heeded.
    let (by, flows) = if 10 * total(&exact) >= 9 * total(&loose) && total(&exact) > 0 {
        (By::ContentAndIdentification, exact)
    } else {
        (By::Content, loose)
    };
    let all = conversations(&flows);
    let Some(fullest) = all.first() else {
        return Err(refuse(format!(
            "no UDP packet of {} is in it; are they captures of one stream?",
            romer_report::escape::terminal(&near.to_string_lossy())
        )));
    };
    let chosen = match choice {
        None => fullest,
        Some(choice) => {
            choice.select(&all).ok_or_else(|| AnalysisError::Flow { choice, there: listed(&all) })?
        }
    };
    let is_answered = chosen.back > 0;
    let (chosen, others) = (chosen.flow, all.len() - 1);
    let way = |packet: &Captured| match packet.flow {
        flow if flow == chosen => Some(false),
        flow if flow == chosen.back() => Some(true),
        _ => None,
    };
    let match_all = |a: &capture::Capture, b: &capture::Capture| {
        Matched::detect([&a.packets, &b.packets], |packet| (packet.flow, by.key(packet)), way)
    };
    let mut pairs = match_all(&a, &b);
    let sorted = as_taken([&mut a.packets, &mut b.packets], &pairs);
    if sorted.iter().any(Option::is_some) {
        pairs = match_all(&a, &b);
    }
    let known = take_out([&mut a.packets, &mut b.packets], &pairs, is_answered);
    let shared = |flow: Flow| flows.get(&flow).copied().unwrap_or(0);
    let of = |packets: &[Captured], flow: Flow| -> Vec<Captured> {
        packets.iter().filter(|packet| packet.flow == flow).copied().collect()
    };
    let near_ways =
        [chosen, chosen.back()].map(|flow| Pair::match_packets(of(&a.packets, flow), &b.packets, by));
    let flow = if is_forward(&near_ways) { chosen } else { chosen.back() };
    let there = Pair::match_packets(of(&a.packets, flow), &b.packets, by);
    let back = Pair::match_packets(of(&b.packets, flow.back()), &a.packets, by);
    let mut notes =
        vec![MeasurementWarning::FlowCompared { flow: flow.to_string(), packets: shared(flow) as u64 }];
    if others > 0 && choice.is_none() {
        notes.push(MeasurementWarning::OtherFlows { others: others as u64, flows: listed(&all) });
    }
    let name = |flow: Flow| translated.iter().find(|(_, of)| **of == flow).map(|(name, _)| *name);
    if let Some(name) = name(flow) {
        notes.push(MeasurementWarning::FlowTranslated { flow: name.to_string() });
    }
    notes.extend(left_out(a.aside.max(b.aside)));
    for ((capture, path), sorted) in [(&a, near), (&b, far)].into_iter().zip(sorted) {
        notes.extend(oddities(capture, path));
        notes.extend(sorted.map(|size_ns| was_sorted(path, size_ns)));
    }
    let there = there.table(notes).ok_or_else(|| {
        refuse(
            "its packets go only from its place to that of the other; name them the other way round".into(),
        )
    })?;
    Ok(CommonPackets { there, back: back.table(Vec::new()), known })
}

/// A capture, its packets told apart by the first `most` octets of their payloads.
fn load(path: &Path, most: usize) -> Result<capture::Capture, AnalysisError> {
    let mut file = open(path, Records::Uncounted)?;
    let budget = file.get_ref().budget();
    capture::read_beginnings(&mut file, most, association::begins, |packets| budget.admit(packets)).map_err(
        |capture::CaptureFault::Record { record, why }| AnalysisError::Record {
            path: path.into(),
            record,
            why: file.get_ref().refusal().map_or(why, ToString::to_string),
        },
    )
}

/// Why a capture of so many packets, none of which is of a stream of UDP, is none to compare.
fn no_udp(others: u64) -> String {
    format!(
        "{}: captures are compared by the UDP packets of a stream, and no other kind is (ICMP echoes, TCP); send one over the path meanwhile, \
         such as romer measure does, and capture that",
        match others {
            0 => "no packet is in it".into(),
            _ => format!(
                "no UDP packet is in it, and {}",
                counted_as(others, "of another kind", "of other kinds")
            ),
        }
    )
}

/// That a session's own packets are left out, of which there are so many.
fn left_out(packets: u64) -> Option<MeasurementWarning> {
    (packets > 0).then_some(MeasurementWarning::AssociationPacketsIgnored { packets })
}

/// That a capture's packets stand in another order than that in which they were taken.
fn was_sorted(path: &Path, step_ns: i64) -> MeasurementWarning {
    MeasurementWarning::CaptureSorted { file: file_name(path), step_ns }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn oddities(capture: &capture::Capture, path: &Path) -> Vec<MeasurementWarning> {
    let file = || file_name(path);
    let mut warnings = Vec::new();
    if capture.truncated {
        warnings.push(MeasurementWarning::CaptureTruncated { file: file() });
    }
    if capture.snapped > 0 {
        warnings.push(MeasurementWarning::CaptureSnapped { file: file(), packets: capture.snapped });
    }
    warnings
}

/// How many packets of each flow of the first capture are in the second.
fn matched(a: &[Captured], b: &[Captured], by: By) -> BTreeMap<Flow, usize> {
    let mut there: HashMap<Key, usize> = HashMap::new();
    for packet in b {
        *there.entry(by.key(packet)).or_default() += 1;
    }
    let mut flows = BTreeMap::new();
    for packet in a {
        if let Some(left) = there.get_mut(&by.key(packet)).filter(|left| **left > 0) {
            *left -= 1;
            *flows.entry(packet.flow).or_default() += 1;
        }
    }
    flows
}

/// A flow in both captures, its packets in the order in which the near one saw them.
struct Pair {
    /// A packet of the near capture, with those of the far one that are the same.
    packets: Vec<(Captured, Vec<Captured>)>,
    /// Of the near packets, those that others of them are the same as.
    alike: usize,
}

impl Pair {
    fn match_packets(mut near: Vec<Captured>, far: &[Captured], by: By) -> Self {
        near.sort_by_key(|packet| packet.at_ns);
        let mut there: HashMap<Key, Vec<Captured>> = HashMap::new();
        for packet in far {
            there.entry(by.key(packet)).or_default().push(*packet);
        }
        let mut here: HashMap<Key, usize> = HashMap::new();
        for packet in &near {
            *here.entry(by.key(packet)).or_default() += 1;
        }
        let mut seen: HashMap<Key, usize> = HashMap::new();
        let packets = near
            .into_iter()
            .map(|packet| {
                let key = by.key(&packet);
                let place = seen.entry(key).or_default();
                let all = there.get(&key).map_or(&[][..], Vec::as_slice);
                // Content that comes again is matched in order; of content that is single, the further ones are copies.
                let same = match here.get(&key) {
                    Some(1) => all.to_vec(),
                    _ => all.get(*place).copied().into_iter().collect(),
                };
                *place += 1;
                (packet, same)
            })
            .collect();
        let alike = here.values().filter(|count| **count > 1).sum();
        Self { packets, alike }
    }

    /// The least of far minus near over the packets in both.
    fn min_difference(&self) -> Option<i64> {
        self.packets.iter().flat_map(|(near, far)| far.iter().map(|far| far.at_ns - near.at_ns)).min()
    }

    /// When the near place had each packet that both have, with what the far clock showed beyond that.
    fn moments(&self) -> Vec<(i64, i64)> {
        let moment =
            |(near, far): &(Captured, Vec<Captured>)| Some((near.at_ns, far.first()?.at_ns - near.at_ns));
        self.packets.iter().filter_map(moment).collect()
    }

    /// Its rows: of packets that went from the one place to the other. Packets before the first and after the last that both captures have may have been outside the far one's time, and are left out.
    fn table(&self, mut notes: Vec<MeasurementWarning>) -> Option<Table> {
        let first = self.packets.iter().position(|(_, far)| !far.is_empty())?;
        let last = self.packets.iter().rposition(|(_, far)| !far.is_empty())?;
        let outside = self.packets.len() - (last + 1 - first);
        if outside > 0 {
            notes.push(MeasurementWarning::CaptureEdgesIgnored { packets: outside as u64 });
        }
        if let (true, Some((one, _))) = (self.alike > 0, self.packets.first()) {
            notes.push(MeasurementWarning::PacketsIndistinguishable {
                flow: one.flow.to_string(),
                packets: self.alike as u64,
                flow_packets: self.packets.len() as u64,
            });
        }
        let least = self.min_difference().unwrap_or(0);
        let mut rows = Vec::with_capacity(last + 1 - first);
        for ((near, far), sequence) in self.packets[first..=last].iter().zip(0u64..) {
            rows.extend(packet_rows(near, far, sequence, least));
        }
        let about = About {
            notes,
            place: Some(TimestampPoint::Kernel),
            protocol: "UDP packets as two captures have them".into(),
            dscp: self.packets.get(first).map(|(packet, _)| packet.tos >> 2),
            ..About::default()
        };
        let packets = Packets::of_rows(rows);
        Some(Table {
            shape: Shape::OneWay,
            packets,
            responder_log: LogPresence::Complete,
            set_back: Vec::new(),
            about,
        })
    }
}

/// Whether the first flow goes from the near place to the far one. The hops that are left say it; where there is no router
/// between, that no packet arrives before it was sent: there and back together take longer than nothing, on whatever
/// clocks. That is asked of packets that are neighbours in time, for clocks drift apart by more than a round trip in the length
/// of a capture.
fn is_forward([first, second]: &[Pair; 2]) -> bool {
    let hops = |pair: &Pair| {
        pair.packets.iter().find_map(|(near, far)| Some(i16::from(near.ttl) - i16::from(far.first()?.ttl)))
    };
    match (hops(first), hops(second)) {
        (Some(hops), _) if hops != 0 => hops > 0,
        (_, Some(hops)) if hops != 0 => hops < 0,
        _ => {
            let [first, second] = [first, second].map(Pair::moments);
            there_and_back(&first, &second).is_none_or(|length| length >= 0)
        }
    }
}

/// The median of how long there and back take together, where both `there` and `back` are moments by the near clock, in order,
/// with what the far clock shows beyond it: of each of `back` between two of `there`, with what these show at its moment on the
/// line between them, so that the clocks' rates do not matter. Where no packet is between two others, the least of the one and the most of the other.
fn there_and_back(there: &[(i64, i64)], back: &[(i64, i64)]) -> Option<i64> {
    let mut lengths = Vec::new();
    let mut next = 0;
    for (at, ahead) in back {
        while there.get(next).is_some_and(|(moment, _)| moment <= at) {
            next += 1;
        }
        let Some([before, after]) =
            next.checked_sub(1).and_then(|place| there.get(place..=next)).and_then(<[_]>::first_chunk)
        else {
            continue;
        };
        let (passed, apart) = (i128::from(at - before.0), i128::from(after.0 - before.0).max(1));
        let moved = i128::from(after.1 - before.1) * passed / apart;
        lengths.push(i128::from(before.1) + moved - i128::from(*ahead));
    }
    let middle = lengths.len() / 2;
    if lengths.is_empty() {
        let least = there.iter().map(|(_, ahead)| ahead).min()?;
        return Some(least.saturating_sub(*back.iter().map(|(_, ahead)| ahead).max()?));
    }
    let (_, median, _) = lengths.select_nth_unstable(middle);
    i64::try_from(*median).ok()
}

fn packet_rows(near: &Captured, far: &[Captured], sequence: u64, least: i64) -> Vec<RoundTrip> {
    let lost = RoundTrip {
        way: ProbeDirection::Forward,
        sequence,
        size: near.size,
        t1: romer_record::Stamps { kernel: time(Some(near.at_ns)), ..Default::default() },
        ..RoundTrip::default()
    };
    let mut arrived: Vec<&Captured> =
        far.iter().filter(|far| far.at_ns - near.at_ns - least <= LONGEST_NS).collect();
    arrived.sort_by_key(|packet| packet.at_ns);
    if arrived.is_empty() {
        return vec![lost];
    }
    let row = |(far, copy): (&Captured, u32)| {
        let mut row = RoundTrip {
            copy,
            forward_copy: copy,
            seen_by_responder: true,
            forward_ttl: Some(far.ttl),
            forward_tos: Some(far.tos),
            ..lost
        };
        row.t2.kernel = time(Some(far.at_ns));
        row
    };
    arrived.into_iter().zip(0..).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_is_answered_goes_before_one_with_more_packets_one_way() {
        let flow = |source: u16, destination: u16| {
            let end = |port: u16| (std::net::Ipv4Addr::LOCALHOST.into(), port);
            Flow { source: end(source), destination: end(destination) }
        };
        let flows = BTreeMap::from([
            (flow(1, 2), 590),
            (flow(2, 1), 574),
            (flow(3, 4), 3),
            (flow(4, 3), 600),
            (flow(5, 6), 700),
        ]);
        let all = conversations(&flows);
        let found: Vec<_> = all.iter().map(|one| (one.flow, one.there, one.back)).collect();
        assert_eq!(found, [(flow(1, 2), 590, 574), (flow(5, 6), 700, 0), (flow(4, 3), 600, 3)]);
        assert_eq!(conversations(&BTreeMap::new()), []);
        // Each is chosen by its number or by its ends, in either order.
        for (text, wanted) in [("1", flow(1, 2)), ("3", flow(4, 3)), ("127.0.0.1:3-127.0.0.1:4", flow(4, 3))]
        {
            let choice: FlowChoice = text.parse().unwrap();
            assert_eq!(choice.select(&all).unwrap().flow, wanted);
            assert_eq!(choice.to_string(), text);
        }
        for text in ["4", "127.0.0.1:1-127.0.0.1:3"] {
            assert_eq!(text.parse::<FlowChoice>().unwrap().select(&all), None, "{text}");
        }
        for text in
            ["", "0", "-1", "127.0.0.1:1", "127.0.0.1-127.0.0.1", "a:1-b:2", "127.0.0.1:1-127.0.0.1:70000"]
        {
            assert!(
                text.parse::<FlowChoice>().unwrap_err().to_string().contains("is no flow; write"),
                "{text}"
            );
        }
        assert!("[::1]:5-[::2]:6".parse::<FlowChoice>().is_ok());
    }

    #[test]
    fn the_way_there_is_told_whatever_the_clocks_do() {
        // 600 s, a packet each 100 ms and its answer after 4 ms of 10 there and back.
        for (rate_ppm, step) in
            [(0, 0), (30, 0), (-30, 0), (500, 0), (-500, 0), (3, 20_000_000), (3, -20_000_000)]
        {
            let clock = |at: i64| at / 1_000_000 * rate_ppm + if at > 300_000_000_000 { step } else { 0 };
            let there: Vec<(i64, i64)> = (0..6_000)
                .map(|n| n * 100_000_000)
                .map(|at| (at, 6_000_000 + clock(at + 6_000_000)))
                .collect();
            let back: Vec<(i64, i64)> = (0..6_000)
                .map(|n| n * 100_000_000 + 10_000_000)
                .map(|at| (at, clock(at - 4_000_000) - 4_000_000))
                .collect();
            let length = there_and_back(&there, &back).unwrap();
            assert!((9_900_000..10_100_000).contains(&length), "{rate_ppm} {step}: {length}");
            let mirrored = there_and_back(&back, &there).unwrap();
            assert!((-10_100_000..-9_900_000).contains(&mirrored), "{rate_ppm} {step}: {mirrored}");
        }
        assert_eq!(there_and_back(&[(0, 5), (10, 7)], &[(20, 3)]), Some(2));
        assert_eq!(there_and_back(&[(0, 5)], &[]), None);
    }
}
