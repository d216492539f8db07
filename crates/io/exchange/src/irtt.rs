//! What `irtt client -o FILE` writes (`FILE.json.gz`, unless it is asked not to compress it): a JSON document with four stamps
//! a packet.
//!
//! irtt takes its stamps in the program, each on the wall clock, on a monotonic clock, or on both. Where both are there,
//! a stamp is the monotonic one, moved so that the first packet's is its wall clock's: differences are then free of what
//! the wall clock was set by meanwhile. Delays of a duplicate are not in the file, only their number.
//!
//! The server tells with each reply which of the last 64 packets it had (`--stats=window` or `both`, the default): by that
//! irtt knows on which way a packet was lost, unless it was among the last ones or in a long gap.
//!
//! What is written has changed: `lost` is a word since 0.9.0 and was `true` or `false` before, as the manual has it still;
//! `version` is there since 0.9.0; `start_time` is a text in 0.9.0, and a stamp as those of packets in others. All are read.

use romer_record::warning::MeasurementWarning;
use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, SeqAccess, Visitor};
use thiserror::Error;

use crate::csv::Row;

/// The most round trips that a file may hold.
const MAX_PACKETS: usize = 50_000_000;

/// Why a file is not read.
#[derive(Debug, Error)]
pub enum IrttFault {
    /// It is no such document.
    #[error("{why}")]
    Document {
        /// Its line, from 1.
        line: u64,
        /// `WHY; what to do`.
        why: String,
    },
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// A packet that did not come back, and what irtt knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// On the way to the server.
    There,
    /// On the way back.
    Back,
    /// It is not known where.
    Unknown,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The packets, by number; stamps t1 to t4, nanoseconds.
    pub rows: Vec<(Row, Option<Loss>)>,
    /// When it began (RFC 3339), as the file says; empty where it says so by a stamp only.
    pub started: String,
    /// The server's address.
    pub remote: String,
    /// The client's name of itself.
    pub host: String,
    /// irtt's version; empty where the file does not tell it (before 0.9.0).
    pub version: String,
    /// Between departures, as asked for, nanoseconds.
    pub interval_ns: i64,
    /// Octets of UDP payload.
    pub length: u32,
    /// The service octet that was asked for.
    pub tos: u8,
    /// Duplicates, of which nothing else is told.
    pub duplicates: u64,
    /// Losses of which the server's count tells how many there were on each way, and not which.
    pub counted: Option<CountedLosses>,
    /// What a reader should know.
    pub notes: Vec<MeasurementWarning>,
}

/// How many packets were lost on each way, all losses counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedLosses {
    /// On the way to the server.
    pub there: u64,
    /// On the way back.
    pub back: u64,
    /// Those of them of which it is not known which they are.
    pub unnamed: u64,
    /// Lost behind the last reply: nothing tells on which way.
    pub unknown: u64,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Document {
    #[serde(default)]
    version: Version,
    #[serde(default)]
    system_info: SystemInfo,
    config: Config,
    #[serde(default)]
    stats: Stats,
    #[serde(default, deserialize_with = "trips")]
    round_trips: Vec<RoundTripEntry>,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
struct Version {
    #[serde(default)]
    irtt: String,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
struct SystemInfo {
    #[serde(default)]
    hostname: String,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Config {
    #[serde(default)]
    remote_address: String,
    params: Params,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Params {
    #[serde(default)]
    interval: i64,
    #[serde(default)]
    length: u32,
    #[serde(default)]
    dscp: u8,
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
struct Stats {
    #[serde(default)]
    start_time: Start,
    #[serde(default)]
    duplicates: u64,
    /// How many the server had received when it sent the last reply that came (`--stats=count` or `both`).
    #[serde(default)]
    server_packets_received: Option<u64>,
}

/// When it began, as a text or, where it is a stamp like those of packets, not: the first packet's departure tells that as well.
#[derive(Deserialize)]
#[serde(untagged)]
enum Start {
    Text(String),
    Stamp(IgnoredAny),
}

impl Default for Start {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RoundTripEntry {
    seqno: u64,
    #[serde(default, deserialize_with = "lost")]
    lost: Option<Loss>,
    timestamps: Timestamps,
}

/// The round trips, of which there may be none: no more than [`MAX_PACKETS`] and one are kept, however many there are.
fn trips<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RoundTripEntry>, D::Error> {
    struct Told;

    impl<'de> Visitor<'de> for Told {
        type Value = Vec<RoundTripEntry>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("`round_trips` to be a list")
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut trips = Vec::new();
            while trips.len() <= MAX_PACKETS {
                match list.next_element()? {
                    Some(trip) => trips.push(trip),
                    None => return Ok(trips),
                }
            }
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(trips)
        }
    }

    deserializer.deserialize_any(Told)
}

/// What became of a packet, as a word or, in old files, as a truth value.
fn lost<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Loss>, D::Error> {
    struct Told;

    impl Visitor<'_> for Told {
        type Value = Option<Loss>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("`lost` to be false, true, true_up or true_down")
        }

        fn visit_bool<E: de::Error>(self, lost: bool) -> Result<Self::Value, E> {
            Ok(lost.then_some(Loss::Unknown))
        }

        fn visit_str<E: de::Error>(self, lost: &str) -> Result<Self::Value, E> {
            match lost {
                "false" | "" => Ok(None),
                "true" => Ok(Some(Loss::Unknown)),
                "true_up" => Ok(Some(Loss::There)),
                "true_down" => Ok(Some(Loss::Back)),
                other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
            }
        }
    }

    deserializer.deserialize_any(Told)
}

/// irtt writes the client's of every packet, lost or not. So a row takes at least 39 octets of the file.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Timestamps {
    client: Ends,
    #[serde(default)]
    server: Ends,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(expecting = "an object")]
struct Ends {
    #[serde(default)]
    receive: Stamp,
    #[serde(default)]
    send: Stamp,
    #[serde(default)]
    midpoint: Option<Stamp>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(expecting = "an object")]
struct Stamp {
    wall: Option<i64>,
    monotonic: Option<i64>,
}

/// Reads a whole file.
///
/// # Errors
/// [`IrttFault`] where it is not what irtt writes, or holds no packet.
pub fn read(inner: impl Read) -> Result<Recording, IrttFault> {
    let document: Document = serde_json::from_reader(inner).map_err(|error| {
        if error.is_io() {
            return IrttFault::Io(error.into());
        }
        let empty = error.is_eof() && (error.line(), error.column()) == (1, 0);
        let why = if empty {
            "the file is empty; name one that `irtt client -o` wrote to its end".into()
        } else if error.is_data() {
            format!("it is JSON, but not what `irtt client -o` writes: {error}; name such a file, or a run's folder")
        } else {
            format!("it is not whole JSON: {error}; name a file that `irtt client -o` wrote to its end")
        };
        IrttFault::Document { line: u64::try_from(error.line()).unwrap_or(1).max(1), why }
    })?;
    let trips = document.round_trips;
    let refuse = |why: String| Err(IrttFault::Document { line: 1, why });
    if trips.is_empty() {
        return refuse(
            "it holds no round trips (`round_trips` is missing or empty), and the statistics alone give no analysis; give the file \
             as `irtt client -o` wrote it"
                .into(),
        );
    }
    if trips.len() > MAX_PACKETS {
        return refuse(format!("it holds more than {MAX_PACKETS} round trips; measure in parts"));
    }
    let length = document.config.params.length;
    let mut clocks = [Origin::default(), Origin::default()];
    let (mut rows, mut midpoints) = (Vec::with_capacity(trips.len()), 0u64);
    for trip in &trips {
        let (client, server) = (trip.timestamps.client, trip.timestamps.server);
        let at = |origin: &mut Origin, stamp: Stamp| origin.time(stamp);
        let (there, back) = match server.midpoint {
            Some(midpoint) => {
                midpoints += 1;
                (midpoint, midpoint)
            }
            None => (server.receive, server.send),
        };
        let stamps = [
            at(&mut clocks[0], client.send),
            at(&mut clocks[1], there),
            at(&mut clocks[1], back),
            at(&mut clocks[0], client.receive),
        ];
        // What did not come back is lost, whether the file says so or not.
        let loss = trip.lost.or(stamps[3].is_none().then_some(Loss::Unknown)).filter(|_| stamps[3].is_none());
        rows.push((Row { sequence: trip.seqno, size: length, stamps, user: [None; 4] }, loss));
    }
    rows.sort_by_key(|(row, _)| row.sequence);
    let counted = document.stats.server_packets_received.and_then(|received| by_count(&mut rows, received));
    let mut notes = Vec::from_iter(untold(&rows, counted));
    if midpoints > 0 {
        notes.push(MeasurementWarning::ServerTimeStampsMidpoint);
    }
    if document.stats.duplicates > 0 {
        notes.push(MeasurementWarning::DuplicatesNotListed { duplicates: document.stats.duplicates });
    }
    Ok(Recording {
        rows,
        started: match document.stats.start_time {
            Start::Text(text) => text,
            Start::Stamp(_) => String::new(),
        },
        remote: document.config.remote_address,
        host: document.system_info.hostname,
        version: document.version.irtt,
        interval_ns: document.config.params.interval.max(0),
        length,
        tos: document.config.params.dscp,
        duplicates: document.stats.duplicates,
        counted,
        notes,
    })
}

/// Finds by the server's count on which way packets were lost of which irtt does not say it: names it where all were lost on one
/// way, and gives the numbers where some were lost on each. The count is that of the last reply that came: what left after its packet
/// is not in it. Nothing follows from a count that does not fit, as where packets were copied on the way to the server.
fn by_count(rows: &mut [(Row, Option<Loss>)], received: u64) -> Option<CountedLosses> {
    let counted = rows.iter().rposition(|(_, loss)| loss.is_none())? + 1;
    let (within, behind) = rows.split_at_mut(counted);
    let those = |rows: &[(Row, Option<Loss>)], which: Loss| {
        rows.iter().filter(|(_, loss)| *loss == Some(which)).count() as u64
    };
    let unnamed = those(within, Loss::Unknown);
    let there = (within.len() as u64).checked_sub(received).filter(|_| received > 0)?;
    let unnamed_there = there.checked_sub(those(within, Loss::There)).filter(|there| *there <= unnamed)?;
    if unnamed == 0 {
        return None;
    }
    let one_way = match (unnamed_there, unnamed - unnamed_there) {
        (_, 0) => Some(Loss::There),
        (0, _) => Some(Loss::Back),
        _ => None,
    };
    if let Some(way) = one_way {
        let unknown = within.iter_mut().filter(|(_, loss)| *loss == Some(Loss::Unknown));
        unknown.for_each(|(_, loss)| *loss = Some(way));
        return None;
    }
    let lost = |way: Loss| those(within, way) + those(behind, way);
    Some(CountedLosses {
        there: lost(Loss::There) + unnamed_there,
        back: lost(Loss::Back) + unnamed - unnamed_there,
        unnamed,
        unknown: those(behind, Loss::Unknown),
    })
}

/// Of how many losses the file does not say on which way they were.
fn untold(rows: &[(Row, Option<Loss>)], by_count: Option<CountedLosses>) -> Option<MeasurementWarning> {
    if let Some(CountedLosses { there, back, unnamed, unknown }) = by_count {
        let (forward, reverse, by_count) = (there, back, true);
        return Some(MeasurementWarning::LossDirectionsUnknown {
            forward,
            reverse,
            unnamed,
            unknown,
            by_count,
        });
    }
    let those = |which: Loss| rows.iter().filter(|(_, loss)| *loss == Some(which)).count() as u64;
    let (forward, reverse, unknown) = (those(Loss::There), those(Loss::Back), those(Loss::Unknown));
    let (unnamed, by_count) = (0, false);
    (unknown > 0).then_some(MeasurementWarning::LossDirectionsUnknown {
        forward,
        reverse,
        unnamed,
        unknown,
        by_count,
    })
}

/// Where a monotonic clock stands to the wall clock.
#[derive(Default)]
struct Origin(Option<i64>);

impl Origin {
    fn time(&mut self, stamp: Stamp) -> Option<i64> {
        match (stamp.monotonic.filter(|time| *time != 0), stamp.wall.filter(|time| *time != 0)) {
            (Some(monotonic), wall) => {
                let origin =
                    *self.0.get_or_insert_with(|| wall.map_or(0, |wall| wall.saturating_sub(monotonic)));
                monotonic.checked_add(origin)
            }
            (None, wall) => wall,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(trips: &str) -> String {
        format!(
            "{{\"version\":{{\"irtt\":\"0.9.0\"}},\"config\":{{\"remote_address\":\"h:2112\",\"params\":{{\"interval\":10000000,\
             \"length\":172,\"dscp\":184}}}},\"round_trips\":[{trips}]}}"
        )
    }

    const TRIP: &str = "{\"seqno\":0,\"lost\":\"false\",\"timestamps\":{\"client\":{\"send\":{\"wall\":1000,\"monotonic\":10},\
        \"receive\":{\"wall\":1900,\"monotonic\":310}},\"server\":{\"receive\":{\"wall\":5000,\"monotonic\":70},\
        \"send\":{\"wall\":5020,\"monotonic\":90}}}}";

    /// What a packet takes in memory is bounded by what it takes in the file: none has less than its number and a place for stamps.
    #[test]
    fn rows_are_bounded_by_octets() {
        let least = "{\"seqno\":0,\"timestamps\":{\"client\":{}}}";
        assert_eq!(read(document(&[least; 9].join(",")).as_bytes()).unwrap().rows.len(), 9);
        for shorter in ["{}", "{\"seqno\":0}", "{\"seqno\":0,\"timestamps\":{}}", "[]", "null", "0", "\"\""] {
            assert!(shorter.len() < least.len());
            assert!(
                matches!(read(document(shorter).as_bytes()), Err(IrttFault::Document { .. })),
                "{shorter}"
            );
        }
    }

    #[test]
    fn intervals_are_those_of_the_monotonic_clock_though_the_wall_clock_was_set() {
        let found = read(document(TRIP).as_bytes()).unwrap();
        // The wall clock went 600 ns too far between sending and receiving.
        assert_eq!(found.rows[0].0.stamps, [Some(1000), Some(5000), Some(5020), Some(1300)]);
        assert_eq!((found.interval_ns, found.length, found.tos), (10_000_000, 172, 184));
    }

    #[test]
    fn a_loss_is_told_with_its_way_where_irtt_knows_it() {
        let lost = |way: &str, number: u64| {
            format!(
                "{{\"seqno\":{number},\"lost\":\"{way}\",\"timestamps\":{{\"client\":{{\"send\":{{\"wall\":7,\"monotonic\":20}}}}}}}}"
            )
        };
        let trips = [TRIP.into(), lost("true_up", 1), lost("true_down", 2), lost("true", 3)].join(",");
        let found = read(document(&trips).as_bytes()).unwrap();
        let losses: Vec<_> = found.rows.iter().map(|(_, loss)| *loss).collect();
        assert_eq!(losses, [None, Some(Loss::There), Some(Loss::Back), Some(Loss::Unknown)]);
        assert_eq!(found.rows[3].0.stamps, [Some(1010), None, None, None]);
    }

    #[test]
    fn old_files_say_of_a_packet_only_whether_it_was_lost() {
        // As irtt 0.1.0 wrote it, and as the manual has it: no version, truth values, a start with two clocks.
        let lost = |number: u64| {
            format!(
                "{{\"seqno\":{number},\"lost\":true,\"timestamps\":{{\"client\":{{\"receive\":{{}},\"send\":{{\"wall\":7,\
                 \"monotonic\":20}}}},\"server\":{{\"receive\":{{}},\"send\":{{}}}}}}}}"
            )
        };
        let text = format!(
            "{{\"config\":{{\"params\":{{\"interval\":10000000,\"length\":48}}}},\"stats\":{{\"start_time\":\
             {{\"wall\":1508180723502727340,\"monotonic\":2776704}}}},\"round_trips\":[{},{}]}}",
            TRIP.replace("\"false\"", "false"),
            lost(1)
        );
        let found = read(text.as_bytes()).unwrap();
        let losses: Vec<_> = found.rows.iter().map(|(_, loss)| *loss).collect();
        assert_eq!(losses, [None, Some(Loss::Unknown)]);
        assert_eq!((found.version.as_str(), found.started.as_str()), ("", ""));
        assert!(
            matches!(
                found.notes[..],
                [MeasurementWarning::LossDirectionsUnknown { unknown: 1, by_count: false, .. }]
            ),
            "{:?}",
            found.notes
        );
    }

    #[test]
    fn a_packet_without_a_stamp_of_its_return_is_lost_whatever_the_file_says() {
        let trips = [TRIP, "{\"seqno\":1,\"timestamps\":{\"client\":{\"send\":{\"wall\":7}}}}"];
        let found = read(document(&trips.join(",")).as_bytes()).unwrap();
        assert_eq!(found.rows[1].1, Some(Loss::Unknown));
        let came = TRIP.replace("\"false\"", "\"true_up\"");
        assert_eq!(read(document(&came).as_bytes()).unwrap().rows[0].1, None);
    }

    /// `--stats=count`: the server's count tells how many were lost on each way, and which, where all were lost on one.
    #[test]
    fn server_count_divides_losses() {
        let lost = |number: u64| {
            format!(
                "{{\"seqno\":{number},\"lost\":\"true\",\"timestamps\":{{\"client\":{{\"send\":{{\"wall\":7,\"monotonic\":20}}}}}}}}"
            )
        };
        let came = |number: u64| TRIP.replace("\"seqno\":0", &format!("\"seqno\":{number}"));
        // Of six packets the second, third and fifth are lost, and a seventh behind the last reply.
        let trips = [came(0), lost(1), lost(2), came(3), lost(4), came(5), lost(6)].join(",");
        let found = |received: u64| {
            let stats = format!("\"stats\":{{\"server_packets_received\":{received}}},\"round_trips\"");
            let found = read(document(&trips).replace("\"round_trips\"", &stats).as_bytes()).unwrap();
            let losses: Vec<_> = [1, 2, 4, 6].iter().map(|n| found.rows[*n].1.unwrap()).collect();
            (found.counted, losses)
        };
        use Loss::{Back, There, Unknown};
        assert_eq!(found(3), (None, vec![There, There, There, Unknown]));
        assert_eq!(found(6), (None, vec![Back, Back, Back, Unknown]));
        let counted = CountedLosses { there: 1, back: 2, unnamed: 3, unknown: 1 };
        assert_eq!(found(5), (Some(counted), vec![Unknown; 4]));
        // No count, and more than were sent up to the last reply.
        for unfit in [0, 2, 7] {
            assert_eq!(found(unfit), (None, vec![Unknown; 4]), "{unfit}");
        }
    }

    #[test]
    fn what_is_not_irtts_is_refused() {
        for (text, part) in [
            (String::new(), "the file is empty"),
            (document(TRIP)[..120].to_owned(), "not whole JSON"),
            ("{\"schema\":\"romer/measurement/1\"}".into(), "not what `irtt client -o` writes"),
            (document(""), "no round trip"),
            (document(&TRIP.replace("\"false\"", "\"maybe\"")), "expected `lost` to be false, true, true_up"),
            (document(&TRIP.replace("\"false\"", "1")), "expected `lost` to be false, true, true_up"),
            ("[1,2]".into(), "not what `irtt client -o` writes"),
        ] {
            let why = read(text.as_bytes()).unwrap_err().to_string();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
