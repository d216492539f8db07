//! The moments of findings, for marks in the charts over time.

use romer_metrics::received;
use romer_record::document::Measurement;
use romer_record::finding::{Finding, Pattern};

use super::drawing::{Ink, Layer};
use super::ranks::as_float;
use super::stretches::marks;
use super::times::Times;
use crate::finding::name;
use crate::input::Singletons;
use crate::table::{self, MeasuredPath};

/// What a chart of delays shows of the findings in `ways`: marks at its upper edge, and their name.
pub(super) fn layer(
    m: &Measurement,
    singletons: &Singletons<'_>,
    times: &Times,
    ways: &[MeasuredPath],
) -> Option<(Layer, String)> {
    let mut moments = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let several = table::ways(m).len() > 1;
    for way in ways {
        let of_way: Vec<&Finding> = m.findings.iter().filter(|finding| is_of(finding, *way)).collect();
        if of_way.is_empty() {
            continue;
        }
        let packets = packets(singletons, *way);
        for finding in of_way {
            let found: Vec<f64> = sequences(finding, &packets)
                .into_iter()
                .filter_map(|number| times.of_probe(number))
                .collect();
            let direction = if several { format!(", {}", way.name()) } else { String::new() };
            let name = format!("{}{direction}", name(&finding.pattern).to_lowercase());
            if !found.is_empty() && !names.contains(&name) {
                names.push(name);
            }
            moments.extend(found);
        }
    }
    (!moments.is_empty()).then(|| (Layer::Top(Ink::Found, marks(moments)), names.join("; ")))
}

fn is_of(finding: &Finding, way: MeasuredPath) -> bool {
    MeasuredPath::from(finding.direction) == way
}

/// A packet that arrived.
struct ArrivedPacket {
    /// When it left, nanoseconds after the first departure of its direction.
    departure: i64,
    sequence: u64,
    delay: f64,
}

/// The packets of a direction in order of departure.
fn packets(singletons: &Singletons<'_>, way: MeasuredPath) -> Vec<ArrivedPacket> {
    let departures =
        singletons.singletons(way).iter().filter_map(|singleton| Some(singleton.departure?.as_nanos()));
    let Some(first) = departures.min() else { return Vec::new() };
    let mut packets: Vec<ArrivedPacket> = received(singletons.singletons(way))
        .filter_map(|singleton| {
            Some(ArrivedPacket {
                departure: singleton.departure?.as_nanos().saturating_sub(first),
                sequence: singleton.sequence,
                delay: as_float(singleton.delay?.as_nanos()),
            })
        })
        .collect();
    packets.sort_by_key(|packet| packet.departure);
    packets
}

/// The packets at which a finding is marked; none of one that holds throughout.
fn sequences(finding: &Finding, packets: &[ArrivedPacket]) -> Vec<u64> {
    match finding.pattern {
        Pattern::PeriodicDelaySpikes { period_ns, phase_ns, height_ns, .. } if period_ns > 0.0 => {
            spikes(packets, period_ns, phase_ns, height_ns)
        }
        _ => {
            let at = finding
                .at_ns
                .and_then(|at| packets.get(packets.partition_point(|packet| packet.departure < at)));
            at.map(|packet| packet.sequence).into_iter().collect()
        }
    }
}

/// Of each period the slowest packet, where it is nearer to the height of a spike than to the median.
fn spikes(packets: &[ArrivedPacket], period: f64, phase: f64, height: f64) -> Vec<u64> {
    let mut delays: Vec<f64> = packets.iter().map(|packet| packet.delay).collect();
    delays.sort_unstable_by(f64::total_cmp);
    let Some(median) = super::ranks::at(&delays, 0.5) else { return Vec::new() };
    // A period reaches from half before the moment that is due to half behind it.
    let cycle = |packet: &ArrivedPacket| ((as_float(packet.departure) - phase) / period + 0.5).floor();
    packets
        .chunk_by(|a, b| cycle(a) >= cycle(b))
        .filter_map(|period| period.iter().max_by(|a, b| a.delay.total_cmp(&b.delay)))
        .filter(|packet| packet.delay - median > height / 2.0)
        .map(|packet| packet.sequence)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::document::ProbeDirection;

    /// A spike is marked at its slowest packet, once a period, and a period without one has no mark.
    #[test]
    fn each_spike_has_one_mark() {
        let packet = |sequence: u64| {
            // Ten packets a period: spikes at 3 and 23, none at 13.
            let delay = match sequence {
                3 | 23 => 30.0,
                4 | 24 => 20.0,
                _ => 10.0,
            };
            ArrivedPacket { departure: i64::try_from(sequence).unwrap() * 100, sequence, delay }
        };
        let packets: Vec<ArrivedPacket> = (0..30).map(packet).collect();
        assert_eq!(spikes(&packets, 1_000.0, 300.0, 20.0), [3, 23]);
        assert_eq!(spikes(&packets, 1_000.0, 300.0, 90.0), [0_u64; 0]);
        assert_eq!(spikes(&[], 1_000.0, 300.0, 20.0), [0_u64; 0]);
    }

    /// What begins at a moment is marked at the first packet from then on.
    #[test]
    fn a_moment_is_marked_at_its_packet() {
        let packets: Vec<ArrivedPacket> = (0..5)
            .map(|n| ArrivedPacket { departure: n * 10, sequence: n.unsigned_abs(), delay: 1.0 })
            .collect();
        let finding = |at_ns| Finding {
            direction: ProbeDirection::Forward,
            at_ns,
            until_ns: None,
            false_alarm_probability: None,
            pattern: Pattern::RouteChange { ttl_from: 64, ttl_to: 63, delay_step_ns: None },
        };
        assert_eq!(sequences(&finding(Some(15)), &packets), [2]);
        assert_eq!(sequences(&finding(Some(99)), &packets), [0_u64; 0]);
        assert_eq!(sequences(&finding(None), &packets), [0_u64; 0]);
    }
}
