//! Two captures of one stream: packets are found again by their content.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use romer_exchange::capture::{self, Captured, Flow};
use romer_exchange::csv::Shape;
use romer_record::RoundTrip;
use romer_units::Place;

use super::AnalysisError;
use super::packets::Packets;
use super::table::{About, Far, Table, open, time};

/// A packet that was sent so much later than the least pass over the path is not the same, though its content is.
const LONGEST_NS: i64 = 60_000_000_000;

/// The packets of a stream that two captures have.
pub(super) struct Found {
    /// From the place of the first capture to that of the second.
    pub(super) there: Table,
    /// The stream that answers it, if there is one.
    pub(super) back: Option<Table>,
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

pub(super) fn read(near: &Path, far: &Path) -> Result<Found, AnalysisError> {
    let (a, b) = (load(near)?, load(far)?);
    let refuse = |why: String| AnalysisError::Line { path: far.into(), line: 1, why };
    let both = |by: By| matched(&a.packets, &b.packets, by);
    let (exact, loose) = (both(By::ContentAndIdentification), both(By::Content));
    let total = |flows: &BTreeMap<Flow, usize>| flows.values().sum::<usize>();
    // Where the identification tells packets apart without losing any, it is heeded.
    let (by, flows) = if 10 * total(&exact) >= 9 * total(&loose) && total(&exact) > 0 {
        (By::ContentAndIdentification, exact)
    } else {
        (By::Content, loose)
    };
    let Some(chosen) = fullest(&flows) else {
        return Err(refuse(format!(
            "no UDP packet of {} is in it; are they captures of one stream?",
            romer_report::escape::terminal(&near.to_string_lossy())
        )));
    };
    let shared = |flow: Flow| flows.get(&flow).copied().unwrap_or(0);
    let of = |packets: &[Captured], flow: Flow| -> Vec<Captured> {
        packets.iter().filter(|packet| packet.flow == flow).copied().collect()
    };
    let near_ways = [chosen, chosen.back()].map(|flow| Pair::of(of(&a.packets, flow), &b.packets, by));
    let flow = if is_forward(&near_ways) { chosen } else { chosen.back() };
    let there = Pair::of(of(&a.packets, flow), &b.packets, by);
    let back = Pair::of(of(&b.packets, flow.back()), &a.packets, by);
    let mut notes = vec![format!(
        "the stream is that of UDP packets {flow}: {} of them are in both captures",
        shared(flow)
    )];
    let others = flows.iter().filter(|(other, _)| **other != chosen && **other != chosen.back()).count();
    if others > 0 {
        notes.push(format!(
            "{others} more flows are in both captures: the one with the most packets was taken"
        ));
    }
    for (capture, path) in [(&a, near), (&b, far)] {
        notes.extend(oddities(capture, path));
    }
    let there = there.table(notes).ok_or_else(|| {
        refuse(
            "its packets go only from its place to that of the other; name them the other way round".into(),
        )
    })?;
    Ok(Found { there, back: back.table(Vec::new()) })
}

/// The flow of which most packets are in both captures, those of the flow that answers it among them; the fuller one of
/// the two.
fn fullest(flows: &BTreeMap<Flow, usize>) -> Option<Flow> {
    let both_ways = |(flow, count): &(&Flow, &usize)| {
        let answers = flows.get(&flow.back()).copied().unwrap_or(0);
        (**count + answers, **count)
    };
    flows.iter().max_by_key(both_ways).map(|(flow, _)| *flow)
}

fn load(path: &Path) -> Result<capture::Capture, AnalysisError> {
    capture::read(open(path)?).map_err(|capture::Fault::Record { record, why }| AnalysisError::Record {
        path: path.into(),
        record,
        why,
    })
}

fn oddities(capture: &capture::Capture, path: &Path) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut words = Vec::new();
    if capture.truncated {
        words.push(format!("{name}: its last packet is not whole and was left out: 1 truncated"));
    }
    if capture.snapped > 0 {
        words.push(format!(
            "{name}: of {} packets only the beginning was captured: packets whose beginnings are alike are matched in order",
            capture.snapped
        ));
    }
    words
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
}

impl Pair {
    fn of(mut near: Vec<Captured>, far: &[Captured], by: By) -> Self {
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
        Self { packets }
    }

    /// The least of far minus near over the packets in both.
    fn least(&self) -> Option<i64> {
        self.differences().min()
    }

    fn differences(&self) -> impl Iterator<Item = i64> {
        self.packets.iter().flat_map(|(near, far)| far.iter().map(|far| far.at_ns - near.at_ns))
    }

    /// Its rows: of packets that went from the one place to the other. Packets before the first and after the last that both captures have may have been outside the far one's time, and are left out.
    fn table(&self, mut notes: Vec<String>) -> Option<Table> {
        let first = self.packets.iter().position(|(_, far)| !far.is_empty())?;
        let last = self.packets.iter().rposition(|(_, far)| !far.is_empty())?;
        let outside = self.packets.len() - (last + 1 - first);
        if outside > 0 {
            notes.push(format!(
                "{outside} packets before the first and after the last that both captures have are left out: the other \
                 capture may not have run then"
            ));
        }
        let least = self.least().unwrap_or(0);
        let mut rows = Vec::with_capacity(last + 1 - first);
        for ((near, far), sequence) in self.packets[first..=last].iter().zip(0u64..) {
            rows.extend(packet_rows(near, far, sequence, least));
        }
        let about = About {
            notes,
            place: Some(Place::Kernel),
            protocol: "UDP packets as two captures have them".into(),
            dscp: self.packets.get(first).map(|(packet, _)| packet.tos >> 2),
            delays: Some("from the moment of the one capture to that of the other".into()),
            ..About::default()
        };
        let packets = Packets::of_rows(rows);
        Some(Table { shape: Shape::OneWay, packets, far_log: Far::Complete, about })
    }
}

/// Whether the first flow goes from the near place to the far one. The hops that are left say it; where there is no router
/// between, that no packet arrives before it was sent: there and back together take longer than nothing, on whatever
/// clocks.
fn is_forward([first, second]: &[Pair; 2]) -> bool {
    let hops = |pair: &Pair| {
        pair.packets.iter().find_map(|(near, far)| Some(i16::from(near.ttl) - i16::from(far.first()?.ttl)))
    };
    match (hops(first), hops(second)) {
        (Some(hops), _) if hops != 0 => hops > 0,
        (_, Some(hops)) if hops != 0 => hops < 0,
        _ => {
            let longest = second.differences().max();
            first.least().zip(longest).is_none_or(|(there, back)| there.saturating_sub(back) >= 0)
        }
    }
}

fn packet_rows(near: &Captured, far: &[Captured], sequence: u64, least: i64) -> Vec<RoundTrip> {
    let lost = RoundTrip {
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
        assert_eq!(fullest(&flows), Some(flow(1, 2)));
        assert_eq!(fullest(&BTreeMap::new()), None);
    }
}
