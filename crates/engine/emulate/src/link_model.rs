//! A scenario from the recorded rates of a link.
//!
//! | recording | in the scenario |
//! | --- | --- |
//! | table of rates by time | a rate, and a timeline of its changes that repeats |
//! | mahimahi trace | the trace |
//!
//! A recording says nothing of delay, loss and queue. The scenario has neither delay nor loss, and the queue of a recorded link.

use std::fmt::Write as _;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use romer_exchange::content::Content;
use romer_exchange::csv::Fault;
use romer_exchange::packed::{Records, Refusal, Source};
use romer_exchange::rates::{self, RateTable};
use romer_impair::trace::{self, Opportunities, Trace};
use romer_record::fidelity::{LinkModel, LinkRecording};
use romer_record::warning::ModelWarning;
use romer_scenario::{LARGEST, quoted};
use romer_units::Duration;

use crate::error::EmulateError;
use crate::model_fit::{DIRECTIONS, Fitted, TABLES};
use crate::predictive_check::real;
use crate::scenario::LARGEST_TRACE;

/// The queue before a recorded link: that of a mahimahi trace.
const QUEUE: &str = "1MiB";
/// Bits that leave at a moment of a mahimahi trace.
const OPPORTUNITY_BITS: f64 = 12_000.0;
/// A link that carries nothing, bit/s: what has begun to leave ends at the next rate.
const NOTHING: u64 = 1;

/// The recorded rates of one direction.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkRecord {
    /// A table of rates by time.
    Rates(RateTable),
    /// A mahimahi trace, and its text.
    Mahimahi(Opportunities, String),
}

/// A scenario of a link, with what is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkScenario {
    /// The scenario. It has no direction that was fitted.
    pub fitted: Fitted,
    /// Each direction of which rates were recorded.
    pub links: Vec<LinkModel>,
}

impl LinkRecord {
    /// The rates in a file. `None` if it holds something else.
    ///
    /// # Errors
    /// A file of rates that cannot be read, or a wrong line in it.
    pub fn read(path: &Path) -> Result<Option<Self>, EmulateError> {
        // Of a file that cannot be read, the reader of packets says so.
        match Content::from_path(path).ok().flatten() {
            Some(Content::Rates) => Self::read_rates(path).map(Some),
            Some(Content::Mahimahi) => Self::read_mahimahi(path).map(Some),
            Some(Content::Ping) | None => Ok(None),
        }
    }

    fn read_rates(path: &Path) -> Result<Self, EmulateError> {
        const WHAT: &str = "rate table";
        let file = Source::open(path, Records::Lines).map_err(|error| unread(WHAT, path, &error))?;
        let table = rates::read(BufReader::new(file)).map_err(|fault| match fault {
            Fault::Io(error) => unread(WHAT, path, &error),
            Fault::Line { line, why } => {
                let path = PathBuf::from(format!("{}:{line}", path.display()));
                EmulateError::Content { what: WHAT, path, why }
            }
        })?;
        Ok(Self::Rates(table))
    }

    fn read_mahimahi(path: &Path) -> Result<Self, EmulateError> {
        const WHAT: &str = "mahimahi trace";
        let content = |why: String| EmulateError::Content { what: WHAT, path: path.into(), why };
        let mut octets = Vec::new();
        Source::open(path, Records::Lines)
            .and_then(|file| file.take(LARGEST_TRACE + 1).read_to_end(&mut octets))
            .map_err(|error| unread(WHAT, path, &error))?;
        if octets.len() as u64 > LARGEST_TRACE {
            return Err(content(format!(
                "it is larger than {} MiB, which no scenario reads; cut it",
                LARGEST_TRACE >> 20
            )));
        }
        let text = romer_scenario::named_file(&octets).map_err(content)?;
        match trace::read_mahimahi(&text).map_err(|why| content(why.to_string()))? {
            Trace::Opportunities(opportunities) => Ok(Self::Mahimahi(opportunities, text)),
            Trace::ByPacket(_) | Trace::ByTime { .. } => Err(content("it has no moments".into())),
        }
    }

    fn duration_ns(&self) -> i64 {
        match self {
            Self::Rates(table) => table.duration_ns,
            Self::Mahimahi(opportunities, _) => opportunities.period(),
        }
    }

    fn model(&self, direction: &str) -> LinkModel {
        let duration = real(self.duration_ns());
        let (recording, bits, outage) = match self {
            Self::Rates(table) => {
                let bits = spans(table).map(|(span, rate)| span / 1e9 * whole(rate)).sum::<f64>();
                (LinkRecording::Rates, bits, longest_outage(table))
            }
            Self::Mahimahi(opportunities, _) => (
                LinkRecording::Mahimahi,
                whole(opportunities.count()) * OPPORTUNITY_BITS,
                real(opportunities.longest_gap()),
            ),
        };
        LinkModel {
            direction: direction.into(),
            recording,
            duration_ns: duration,
            mean_bit_per_s: bits / (duration / 1e9),
            longest_outage_ns: outage,
        }
    }
}

fn unread(what: &'static str, path: &Path, source: &io::Error) -> EmulateError {
    match Refusal::from_error(source) {
        Some(why) => EmulateError::Content { what, path: path.into(), why: why.to_string() },
        None => EmulateError::NoFile {
            what,
            path: path.into(),
            why: format!("{source}; check its path and rights"),
        },
    }
}

/// How long each rate of a table holds, nanoseconds, and the rate in bit/s.
fn spans(table: &RateTable) -> impl Iterator<Item = (f64, u64)> {
    let ends = table.steps.iter().skip(1).map(|step| step.at_ns).chain([table.duration_ns]);
    table.steps.iter().zip(ends).map(|(step, end)| (real(end - step.at_ns), step.bit_per_s))
}

/// The longest time without any rate, nanoseconds.
fn longest_outage(table: &RateTable) -> f64 {
    let outages = spans(table).scan(0.0, |outage, (span, rate)| {
        *outage = if rate == 0 { *outage + span } else { 0.0 };
        Some(*outage)
    });
    outages.fold(0.0, f64::max)
}

/// Makes the scenario of a link by the recorded rates of both directions, forward and reverse, which are called `name`. Its files beside
/// it begin with `stem`. With `only_udp` all other packets pass at once.
///
/// # Errors
/// In words, where the scenario language cannot express it.
pub fn model(
    name: &str,
    stem: &str,
    only_udp: bool,
    records: [Option<&LinkRecord>; 2],
) -> Result<LinkScenario, String> {
    let tables = records.map(|record| match record {
        Some(LinkRecord::Rates(table)) => Some(table),
        _ => None,
    });
    if only_udp && tables.iter().any(Option::is_some) {
        return Err(
            "packets of one kind (--only-udp) cannot have rates that change by a table; leave it out, or give a mahimahi trace".into()
        );
    }
    let mut fitted =
        Fitted { text: String::new(), files: Vec::new(), directions: Vec::new(), warnings: Vec::new() };
    let flow = if only_udp { "[[flow]]\nmatch = { protocol = \"udp\" }\n" } else { "" };
    let _ = write!(
        fitted.text,
        "[about]\ntitle = {}\nsource = \"romer model\"\n{flow}",
        quoted(&format!("Recorded: {name}"))
    );
    let mut links = Vec::new();
    for ((direction, called, table), record) in DIRECTIONS.into_iter().zip(records) {
        let Some(record) = record else { continue };
        let setting = if only_udp { format!("flow.{table}") } else { table.to_owned() };
        match record {
            LinkRecord::Rates(rates) => {
                let first = rates.steps.first().map_or(0, |step| step.bit_per_s);
                let _ = writeln!(fitted.text, "[{table}]\nrate = {}", rate(first));
            }
            LinkRecord::Mahimahi(_, text) => {
                let file = format!("{stem}.{table}.mahimahi");
                let _ = writeln!(fitted.text, "[{setting}.trace]\nfile = \"{file}\"\nformat = \"mahimahi\"");
                fitted.files.push((file, text.clone()));
            }
        }
        links.push(record.model(called));
        fitted.warnings.push(ModelWarning::RatesOnly { direction, setting });
    }
    timeline(tables, &mut fitted.text)?;
    fitted.config()?;
    Ok(LinkScenario { fitted, links })
}

/// The changes of the rates, in order of time.
fn timeline(tables: [Option<&RateTable>; 2], text: &mut String) -> Result<(), String> {
    let mut durations = tables.into_iter().flatten().map(|table| table.duration_ns);
    let Some(duration) = durations.next() else { return Ok(()) };
    if let Some(other) = durations.next().filter(|other| *other != duration) {
        let [one, other] = [duration, other].map(Duration::from_nanos);
        return Err(format!(
            "the rates last {one} forward and {other} in reverse, and the timeline repeats both at once; give tables of the same duration"
        ));
    }
    let changes = |(table, name): (Option<&RateTable>, &'static str)| {
        let steps = table.map_or(&[][..], |table| table.steps.as_slice());
        let changed = steps.windows(2).filter(|pair| pair[0].bit_per_s != pair[1].bit_per_s);
        changed.map(|pair| (pair[1].at_ns, name, pair[1].bit_per_s)).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = tables.into_iter().zip(TABLES).flat_map(changes).collect();
    all.sort_by_key(|(at, ..)| *at);
    for step in all.chunk_by(|a, b| a.0 == b.0) {
        let at = step.first().map_or(0, |(at, ..)| *at);
        let _ = writeln!(text, "[[timeline]]\nat = \"{}\"", Duration::from_nanos(at));
        for (_, name, bit_per_s) in step {
            let _ = writeln!(text, "{name}.rate = {}", rate(*bit_per_s));
        }
    }
    if !all.is_empty() {
        let _ = writeln!(text, "[timeline_repeat]\nevery = \"{}\"", Duration::from_nanos(duration));
    }
    if text.len() as u64 > LARGEST {
        return Err(format!(
            "the table has {} changes of the rate, and a scenario has at most {} MiB; average the rates over longer times, or cut the table",
            all.len(),
            LARGEST >> 20
        ));
    }
    Ok(())
}

fn rate(bit_per_s: u64) -> String {
    let limit = bit_per_s.max(NOTHING);
    format!("{{ limit = \"{limit}bit\", layer = \"l3\", queue = {{ bytes = \"{QUEUE}\" }} }}")
}

#[expect(clippy::cast_precision_loss, reason = "rates and counts of a table are below 2^53")]
const fn whole(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use romer_impair::{Engine, Limits, Packet, PortId};
    use romer_record::document::ProbeDirection;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn record(name: &str, text: &str) -> LinkRecord {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        LinkRecord::read(&file).unwrap().unwrap()
    }

    /// Arrivals per second of packets of 1,000 octets of IP, 2,000 of them a second.
    fn carried(scenario: &LinkScenario, seconds: usize) -> Vec<u64> {
        let mut engine = Engine::new(scenario.fitted.config().unwrap(), Limits::growing(), 0);
        let mut carried = vec![0; seconds];
        let mut count = |engine: &mut Engine, until: i64| {
            while let Some(outcome) = engine.poll(until) {
                let second = usize::try_from(outcome.time / SECOND).unwrap();
                if let Some(of_it) = carried.get_mut(second).filter(|_| outcome.lost.is_none()) {
                    *of_it += 1;
                }
            }
        };
        for number in 0..2_000 * u32::try_from(seconds).unwrap() {
            let at = i64::from(number) * 500_000;
            count(&mut engine, at - 1);
            engine.admit(&Packet::new(number, PortId::A, 1_018, at));
        }
        count(&mut engine, i64::try_from(seconds).unwrap() * SECOND - 1);
        carried
    }

    /// The scenario carries the rates of the table, nothing where the rate is 0, and begins again at the end.
    #[test]
    fn rates_are_carried() {
        let table = record("r.csv", "time_s,rate_bit_per_s\n0,8e6\n1,0\n2,0\n3,4e6\n");
        let scenario = model("a \"link\"", "m", false, [Some(&table), None]).unwrap();
        let found = carried(&scenario, 6);
        for (second, (found, expected)) in found.iter().zip([1_000, 0, 0, 500, 1_000, 0_u64]).enumerate() {
            assert!(found.abs_diff(expected) <= 12, "{second}: {found} and not {expected}");
        }
        assert_eq!(scenario.fitted.text.matches("[[timeline]]").count(), 2, "{}", scenario.fitted.text);
        let [link] = &scenario.links[..] else { panic!("{:?}", scenario.links) };
        assert_eq!((link.duration_ns, link.longest_outage_ns, link.mean_bit_per_s), (4e9, 2e9, 3e6));
        let warning =
            ModelWarning::RatesOnly { direction: ProbeDirection::Forward, setting: "a_to_b".into() };
        assert_eq!(scenario.fitted.warnings, [warning]);
    }

    /// A mahimahi trace is kept as it is, for all packets or for those of one kind, beside a table of the other direction.
    #[test]
    fn mahimahi_is_kept() {
        let trace = record("link.up", "0\n0\n1\n900\n1000\n");
        let table = record("down.csv", "time_ms,rate_mbit_per_s\n0,1\n500,2\n");
        let scenario = model("link", "m", false, [Some(&trace), Some(&table)]).unwrap();
        assert_eq!(
            scenario.fitted.files,
            [("m.a_to_b.mahimahi".to_owned(), "0\n0\n1\n900\n1000\n".to_owned())]
        );
        let [up, down] = &scenario.links[..] else { panic!("{:?}", scenario.links) };
        assert_eq!((up.recording, down.recording), (LinkRecording::Mahimahi, LinkRecording::Rates));
        assert_eq!((up.mean_bit_per_s, up.longest_outage_ns), (60_000.0, 899e6));
        let config = scenario.fitted.config().unwrap();
        assert!(config.base.paths[0][0].as_ref().unwrap().trace.is_some());
        assert!(config.base.paths[1][0].as_ref().unwrap().rate.is_some());
        let udp = model("link", "m", true, [Some(&trace), None]).unwrap();
        assert!(udp.fitted.text.contains("[flow.a_to_b.trace]"), "{}", udp.fitted.text);
    }

    #[test]
    fn inexpressible_links_are_refused() {
        fn refusal(only_udp: bool, records: [Option<&LinkRecord>; 2]) -> String {
            model("link", "m", only_udp, records).unwrap_err()
        }
        let one = record("one.csv", "time_s,rate_bit_per_s\n0,8e6\n1,0\n");
        let other = record("other.csv", "time_s,rate_bit_per_s\n0,8e6\n2,0\n");
        assert!(refusal(true, [Some(&one), None]).contains("--only-udp"));
        assert!(refusal(false, [Some(&one), Some(&other)]).contains("2s forward and 4s in reverse"));
        let row = |n: u32| format!("{n},{}\n", n % 2);
        let many = format!("time_s,rate_bit_per_s\n{}", (0..20_000).map(row).collect::<String>());
        assert!(refusal(false, [Some(&record("many.csv", &many)), None]).contains("19999 changes"));
    }

    /// A wrong line is named; files of packets are left to others.
    #[test]
    fn other_files_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            LinkRecord::read(&file)
        };
        assert!(read("sequence,size,sent_ns,received_ns\n0,44,1,2\n").unwrap().is_none());
        let why = read("time_s,rate_bit_per_s\n0,1\n1,-1\n").unwrap_err().to_string();
        assert!(why.contains("x:3): the rate is no number"), "{why}");
        let why = read("5\n4\n").unwrap_err().to_string();
        assert!(why.contains("mahimahi trace cannot be used") && why.contains("line 2"), "{why}");
    }
}
