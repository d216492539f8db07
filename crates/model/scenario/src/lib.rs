//! The user's files: what network to emulate.
//!
//! A scenario is a TOML document; [`parse`] makes it into a [`romer_impair::Config`], or tells what is wrong with its
//! file, line and column. This crate names files and never opens them: the caller gives it their text. [`PRESETS`]
//! are scenarios that come with romer, each with its source and year.
//!
//! ```
//! let text = "[a_to_b.loss]\nmodel = \"bernoulli\"\nprobability = \"1%\"\n";
//! let scenario = romer_scenario::parse(text, "s.toml", &mut |file| Err(format!("cannot be read: {file}")))?;
//! assert_eq!(scenario.config.seed, None, "the caller draws one and says it");
//! let wrong = romer_scenario::parse("[a_to_b.los]\n", "s.toml", &mut |_| Err(String::new())).unwrap_err();
//! assert_eq!(wrong.to_string(), "a_to_b.los (s.toml:1:9): unknown key \"los\"; did you mean loss?");
//! # Ok::<(), romer_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

mod empirical;
mod files;
mod preset;
pub mod reader;
mod repeated;
mod stages;

use std::sync::Arc;

use romer_impair::chain::{Chain, SHORTEST_STATE};
use romer_impair::config::{DEFAULT_FLUSH, LONGEST_DELAY, Match, Model, Order, Setting, TimelineStep};
use romer_impair::trace::{Between, By, Trace};
use romer_impair::{Config, Decision, Generator, Path};
use romer_record::warning::{Absorption, EmulationWarning};
use romer_units::random::Seed;
use romer_units::{Dscp, Rate};
use toml::de::{DeTable, DeValue};

use files::{Files, TraceUse};
pub use files::{Load, MOST_OCTETS, MOST_STEP_PROCESSES};
pub use preset::{PRESETS, Preset, preset};
use reader::{Item, Read, SourceText, TableReader};
pub use reader::{ScenarioError, nearest};
pub use repeated::first_of_two;

/// The most octets that a scenario's file may have.
pub const LARGEST: u64 = 1 << 20;

/// What a scenario is called in errors of the whole document.
const DOCUMENT: &str = "the scenario";

/// A scenario that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// For the engine. Without a seed (none written, or all zero) a random one is to be drawn and said.
    pub config: Config,
    /// What the `[about]` table says.
    pub about: About,
    /// What a reader of the results should know, in words.
    pub notes: Vec<EmulationWarning>,
}

/// Where a scenario comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// What it is.
    pub title: Option<String>,
    /// Who found its numbers.
    pub source: Option<String>,
    /// When.
    pub year: Option<u64>,
    /// What it leaves out.
    pub note: Option<String>,
    /// For which traffic its measurement supports it.
    pub supported: Supported,
}

/// For which traffic a measurement supports a scenario; what is `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supported {
    /// The least time between packets, nanoseconds.
    pub min_spacing: Option<i64>,
    /// The longest.
    pub max_spacing: Option<i64>,
    /// The shortest IP packets, octets.
    pub min_size: Option<u64>,
    /// The longest.
    pub max_size: Option<u64>,
    /// The highest load of IP packets.
    pub max_load: Option<Rate>,
}

/// Whether a file's octets begin as those of UTF-16 do.
pub fn is_utf16(octets: &[u8]) -> bool {
    octets.starts_with(&[0xff, 0xfe]) || octets.starts_with(&[0xfe, 0xff])
}

/// The text of a file's octets.
///
/// # Errors
/// In words, where it is not UTF-8.
pub fn decode(octets: &[u8]) -> Result<&str, String> {
    if is_utf16(octets) {
        return Err("is UTF-16; save it as UTF-8".into());
    }
    let text = core::str::from_utf8(octets)
        .map_err(|why| format!("is not UTF-8 at byte {}; save it as UTF-8", why.valid_up_to()))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// A text in quotation marks, as a string of a scenario; without its control characters.
///
/// ```
/// assert_eq!(romer_scenario::quoted("a \"b\" \\ c\n"), r#""a \"b\" \\ c""#);
/// ```
pub fn quoted(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// That a file begins as gzip's or zstd's do, in words; also one that a browser took for a text.
pub fn compressed(octets: &[u8]) -> Option<&'static str> {
    // As it is, as Latin-1, and with what is no UTF-8 replaced.
    const GZIP: [&[u8]; 3] = [&[0x1f, 0x8b], &[0x1f, 0xc2, 0x8b], &[0x1f, 0xef, 0xbf, 0xbd]];
    const ZSTD: [&[u8]; 3] =
        [&[0x28, 0xb5, 0x2f, 0xfd], &[0x28, 0xc2, 0xb5, 0x2f], &[0x28, 0xef, 0xbf, 0xbd, 0x2f]];
    let begins = |magics: [&[u8]; 3]| magics.iter().any(|magic| octets.starts_with(magic));
    if begins(GZIP) {
        return Some("is compressed by gzip; unpack it with gunzip");
    }
    begins(ZSTD).then_some("is compressed by zstd; unpack it with unzstd")
}

/// The text of a file that a scenario names, for [`parse`]; its lines may end with a carriage return alone.
///
/// # Errors
/// In words, where it is compressed or not UTF-8.
pub fn named_file(octets: &[u8]) -> Result<String, String> {
    if let Some(words) = compressed(octets) {
        return Err(words.into());
    }
    let text = decode(octets)?;
    Ok(if text.contains('\n') { text.to_owned() } else { text.replace('\r', "\n") })
}

/// Reads a scenario.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn parse(text: &str, file: &str, load: &mut Load<'_>) -> Read<Scenario> {
    let source = SourceText { text, file, document: DOCUMENT };
    let document = source.parse()?;
    let mut top = TableReader::new(source, document.get_ref(), "", 0);
    let about = about(&mut top)?;
    let generator = match top.get("generator") {
        Some(item) => item.word(&[
            ("counter", Generator::Counter),
            ("mrg", Generator::Mrg),
            ("mrg32k3a", Generator::Mrg32k3a),
        ])?,
        None => Generator::Counter,
    };
    let seed = seed(&mut top, generator)?;
    let mut base = Setting::default();
    let files = &mut Files::new(load);
    directions(&mut top, &mut base, 0, files)?;
    traces(&mut top, &mut base, files)?;
    let flows = flows(&mut top, &mut base, files)?;
    let (timeline, repeat) = timeline(&mut top, &base, files)?;
    top.finish()?;
    let config = Config { seed, generator, flows, base, timeline, repeat };
    let mut notes = notes(&config);
    notes.extend(unlevelled(document.get_ref()));
    Ok(Scenario { config, about, notes })
}

/// Notes of measured delays that nothing was added to: they count from the least one.
fn unlevelled(top: &DeTable<'_>) -> impl Iterator<Item = EmulationWarning> {
    fn inner<'t, 'd>(table: &'t DeTable<'d>, key: &str) -> Option<&'t DeTable<'d>> {
        match table.get(key)?.get_ref() {
            DeValue::Table(inner) => Some(inner),
            _ => None,
        }
    }
    ["a_to_b", "b_to_a"].into_iter().filter_map(move |direction| {
        let trace = inner(inner(top, direction)?, "trace")?;
        let measured = trace.get("format")?.get_ref().as_str() == Some("measurement");
        (measured && !trace.contains_key("fixed"))
            .then(|| EmulationWarning::TraceRelative { setting: format!("{direction}.trace") })
    })
}

fn about(top: &mut TableReader<'_>) -> Read<About> {
    let Some(item) = top.get("about") else { return Ok(About::default()) };
    let mut table = item.table()?;
    let mut text = |key: &'static str| -> Read<Option<String>> {
        table.get(key).map(|item| item.string("words").map(str::to_owned)).transpose()
    };
    let (title, source, note) = (text("title")?, text("source")?, text("note")?);
    let year = table.get("year").map(|item| item.whole(1_900, 2_200)).transpose()?;
    let supported = table.get("supported").map_or(Ok(Supported::default()), |item| supported(&item))?;
    table.finish()?;
    Ok(About { title, source, year, note, supported })
}

fn supported(item: &Item<'_>) -> Read<Supported> {
    let mut table = item.table()?;
    let time = |item: Item<'_>| item.time(0, LONGEST_DELAY);
    let size = |item: Item<'_>| item.octets(1, 65_535);
    let supported = Supported {
        min_spacing: table.get("min_spacing").map(time).transpose()?,
        max_spacing: table.get("max_spacing").map(time).transpose()?,
        min_size: table.get("min_size").map(size).transpose()?,
        max_size: table.get("max_size").map(size).transpose()?,
        max_load: table.get("max_load").map(|item| item.rate()).transpose()?,
    };
    table.finish()?;
    Ok(supported)
}

fn seed(top: &mut TableReader<'_>, generator: Generator) -> Read<Option<Seed>> {
    let Some(item) = top.get("seed") else { return Ok(None) };
    let words =
        item.list()?.iter().map(|word| word.whole(0, u64::from(u32::MAX))).collect::<Read<Vec<u64>>>()?;
    let words: Vec<u32> = words.into_iter().filter_map(|word| u32::try_from(word).ok()).collect();
    let seed = <[u32; 6]>::try_from(words).map(Seed).map_err(|words| {
        item.error(format!("has {} numbers; write six from 0 to 4294967295", words.len()))
    })?;
    if seed == Seed([0; 6]) {
        return Ok(None);
    }
    if !generator.accepts(seed) {
        let why = "has three numbers in its first or second half that are all 0 to this generator";
        return Err(item.error(format!("{why}, which then never leaves 0; write others")));
    }
    Ok(Some(seed))
}

/// Reads `a_to_b` and `b_to_a` into a setting's paths of one flow.
fn directions(
    table: &mut TableReader<'_>,
    setting: &mut Setting,
    flow: usize,
    files: &mut Files<'_, '_>,
) -> Read<()> {
    for (port, key) in ["a_to_b", "b_to_a"].into_iter().enumerate() {
        let Some(item) = table.get(key) else { continue };
        let mut direction = item.table()?;
        let slot = &mut setting.paths[port][flow];
        let mut path = match slot {
            Some(path) => Path::clone(path),
            None => Path { flush: DEFAULT_FLUSH, ..Path::default() },
        };
        let before = path.regimes.is_some().then(|| path.clone());
        stages::direction(&mut direction, &mut path, files)?;
        let regimes = direction.get("regimes");
        if regimes.is_none() && before.is_some_and(|before| before != path) {
            return Err(
                direction.error("changes a stage of a direction that has regimes; write its regimes, too")
            );
        }
        if let Some(item) = direction.get("trace") {
            let mut inner = item.table()?;
            let trace = one_trace(&mut inner, port == 1, files)?;
            if matches!(*trace, Trace::Opportunities(_)) && path.rate.is_some() {
                return Err(item.error("trace and rate both set the departure times; remove one"));
            }
            path.order = order(&mut inner, path.order, &trace)?;
            inner.finish()?;
            path.trace = Some(trace);
        } else if path.rate.is_some() && matches!(path.trace.as_deref(), Some(Trace::Opportunities(_))) {
            return Err(direction.error("rate and trace both set the departure times; remove one"));
        }
        without_models(&path, &direction)?;
        if let Some(item) = regimes {
            if path.trace.is_some() {
                return Err(
                    item.error("are for drawn fates, and the direction has a trace; take one of them out")
                );
            }
            let mut inner = item.table()?;
            let base = path.clone();
            path.regimes = stages::regimes(&mut inner, &base, files)?.map(Arc::new);
            inner.finish()?;
        } else if path.regimes.is_some() && path.trace.is_some() {
            return Err(direction.error("asks for a trace where regimes are; a trace cannot follow them"));
        }
        direction.finish()?;
        *slot = Some(Arc::new(path));
    }
    Ok(())
}

/// Fates that were recorded and fates that are drawn cannot both be.
fn without_models(path: &Path, table: &TableReader<'_>) -> Read<()> {
    let recorded = matches!(path.trace.as_deref(), Some(Trace::ByPacket(_) | Trace::ByTime { .. }));
    if !recorded {
        return Ok(());
    }
    let nothing = Path::default();
    let drawn = [
        ("loss", path.loss != nothing.loss),
        ("duplicate", path.duplicate != nothing.duplicate),
        ("reorder", path.reorder != nothing.reorder),
        ("delay", path.delay != nothing.delay),
    ];
    match drawn.iter().find(|(_, is)| *is) {
        Some((stage, _)) => {
            Err(table.error(format!("has a trace and {stage}, and both set the fate of packets; remove one")))
        }
        None => Ok(()),
    }
}

fn one_trace(table: &mut TableReader<'_>, reverse: bool, files: &mut Files<'_, '_>) -> Read<Arc<Trace>> {
    let file = table.need("file")?;
    let measured = table.need("format")?.word(&[("mahimahi", false), ("measurement", true)])?;
    let by = table.get("by");
    let by = by
        .map(|item| item.word(&[("packet", By::Packet), ("time", By::Time(Between::Linear))]))
        .transpose()?;
    let between = table.get("between");
    let between_rows = between
        .as_ref()
        .map(|item| item.word(&[("linear", Between::Linear), ("hold", Between::Hold)]))
        .transpose()?;
    let fixed = table.get("fixed");
    let direction = table.get("direction");
    let direction = direction.map(|item| item.word(&[("forward", false), ("reverse", true)])).transpose()?;
    let name = file.string("a file's name")?;
    let how = if measured {
        let fixed = fixed.map_or(Ok(0), |item| item.time(0, LONGEST_DELAY))?;
        let (reverse, mut by) = (direction.unwrap_or(reverse), by.unwrap_or(By::Packet));
        match (&mut by, between_rows) {
            (By::Time(between), Some(asked)) => *between = asked,
            (By::Packet, Some(_)) => {
                let why = "says what holds between rows, of which each packet has one of its own";
                return Err(table
                    .error(format!("has a key between, which {why}; write by = \"time\", or take it out")));
            }
            (_, None) => {}
        }
        TraceUse::Measurement { reverse, by, fixed }
    } else if by.is_some() || between.is_some() || fixed.is_some() || direction.is_some() {
        let why = "has the format mahimahi, with a time in each line: by, between, fixed and direction have no effect there";
        return Err(table.error(format!("{why}; take them out")));
    } else {
        TraceUse::Mahimahi
    };
    files.trace(name, how).map_err(|why| file.error(why.to_string()))
}

/// Recorded delays keep order as Pham 2004's queue does, unless something else is asked for.
fn order(table: &mut TableReader<'_>, otherwise: Order, trace: &Trace) -> Read<Order> {
    let asked = table.get("order").map(|item| item.word(&stages::ORDERS)).transpose()?;
    Ok(match trace {
        Trace::Opportunities(_) => asked.unwrap_or(otherwise),
        Trace::ByPacket(_) | Trace::ByTime { .. } => asked.unwrap_or(Order::Fifo),
    })
}

fn traces(top: &mut TableReader<'_>, base: &mut Setting, files: &mut Files<'_, '_>) -> Read<()> {
    let Some(item) = top.get("trace") else { return Ok(()) };
    let mut table = item.table()?;
    let file = table.need("file")?;
    table.need("format")?.word(&[("pham", ())])?;
    let traces = files.traces(file.string("a file's name")?).map_err(|why| file.error(why.to_string()))?;
    for (port, trace) in traces.into_iter().enumerate() {
        let Some(path) = &mut base.paths[port][0] else { continue };
        if path.trace.is_some() {
            return Err(
                table.error("is for both directions, and one of them has a trace of its own; take one out")
            );
        }
        let mut traced = Path::clone(path);
        traced.order = order(&mut table, traced.order, &trace)?;
        traced.trace = Some(trace);
        without_models(&traced, &table)?;
        *path = Arc::new(traced);
    }
    table.finish()
}

fn flows(top: &mut TableReader<'_>, base: &mut Setting, files: &mut Files<'_, '_>) -> Read<Vec<Match>> {
    let Some(item) = top.get("flow") else { return Ok(Vec::new()) };
    let list = item.list()?;
    if list.len() > MOST_FLOWS {
        return Err(item.error(format!("has {} flows; at most {MOST_FLOWS} are possible", list.len())));
    }
    let mut flows = Vec::new();
    for (flow, item) in (1..).zip(&list) {
        let mut table = item.table()?;
        let matches = table.need("match")?;
        let mut inner = matches.table()?;
        let covered = matching(&mut inner)?;
        inner.finish()?;
        if covered == Match::default() {
            return Err(matches.error("covers every packet; name what the flow's packets have"));
        }
        if let Some(why) = contradiction(&covered) {
            return Err(matches.error(format!("covers no packet: {why}")));
        }
        flows.push(covered);
        base.paths.iter_mut().for_each(|paths| paths.push(None));
        directions(&mut table, base, flow, files)?;
        if base.paths.iter().all(|paths| paths[flow].is_none()) {
            return Err(table.error("has no direction; add a_to_b or b_to_a"));
        }
        table.finish()?;
    }
    Ok(flows)
}

/// The most flows that are told apart.
const MOST_FLOWS: usize = 64;

fn matching(table: &mut TableReader<'_>) -> Read<Match> {
    let dscp = |item: Item<'_>| -> Read<u8> {
        if item.is_text() {
            return item
                .parsed::<Dscp>("a code point such as \"ef\", or a number from 0 to 63")
                .map(Dscp::value);
        }
        item.whole(0, 63).map(|number| u8::try_from(number).unwrap_or(63))
    };
    let protocol = |item: Item<'_>| -> Read<u8> {
        if item.is_text() {
            return item.word(&[("udp", 17), ("tcp", 6), ("icmp", 1), ("icmpv6", 58), ("sctp", 132)]);
        }
        item.whole(0, 255).map(|number| u8::try_from(number).unwrap_or(u8::MAX))
    };
    let word = |item: Item<'_>, high: u64| item.whole(0, high).map(|n| u16::try_from(n).unwrap_or(u16::MAX));
    let address = "an IP address or a range of them, such as \"192.0.2.1\" or \"192.0.2.0/24\"";
    Ok(Match {
        dscp: table.get("dscp").map(dscp).transpose()?,
        protocol: table.get("protocol").map(protocol).transpose()?,
        ethertype: table.get("ethertype").map(|item| word(item, 65_535)).transpose()?,
        vlan: table.get("vlan").map(|item| word(item, 4_095)).transpose()?,
        source: table.get("source").map(|item| item.parsed(address)).transpose()?,
        destination: table.get("destination").map(|item| item.parsed(address)).transpose()?,
        source_port: table.get("source_port").map(|item| word(item, 65_535)).transpose()?,
        destination_port: table.get("destination_port").map(|item| word(item, 65_535)).transpose()?,
    })
}

/// Why no packet can look like that, where none can.
fn contradiction(of: &Match) -> Option<&'static str> {
    const PORTS: [u8; 2] = [6, 17];
    const FAMILIES: [u16; 2] = [0x0800, 0x86dd];
    let has_ports = of.source_port.is_some() || of.destination_port.is_some();
    let families: Vec<usize> =
        [of.source, of.destination].into_iter().flatten().map(|range| usize::from(range.is_ipv6())).collect();
    let has_ip = has_ports || of.dscp.is_some() || of.protocol.is_some() || !families.is_empty();
    if has_ports && of.protocol.is_some_and(|protocol| !PORTS.contains(&protocol)) {
        Some("only UDP and TCP have ports; leave out the ports, or name one of these protocols")
    } else if families.first() != families.last() {
        Some("source and destination are of different families of addresses")
    } else if has_ip && of.ethertype.is_some_and(|kind| !FAMILIES.contains(&kind)) {
        Some(
            "frames of that ethertype hold no IP packet; leave out the ethertype, or what is asked of the packet",
        )
    } else if of
        .ethertype
        .is_some_and(|kind| families.first().is_some_and(|family| FAMILIES[*family] != kind))
    {
        Some("the ethertype is of the other family than the addresses; leave it out")
    } else {
        None
    }
}

/// The most steps in which a ramp goes, and the shortest of them.
const RAMP_STEPS: i64 = 1_000;
const RAMP_STEP: i64 = 1_000_000;
/// The most steps of a timeline, those of its ramps among them. Each holds a setting of its own, about 1 KiB.
const TIMELINE_STEPS: i64 = 65_536;
/// The latest moment of a timeline: a year.
const LATEST: i64 = 365 * 86_400_000_000_000;

fn timeline(
    top: &mut TableReader<'_>,
    base: &Setting,
    files: &mut Files<'_, '_>,
) -> Read<(Vec<TimelineStep>, Option<i64>)> {
    let mut steps = Vec::new();
    let (mut now, mut end, mut count) = (base.clone(), 0, 0);
    if let Some(item) = top.get("timeline") {
        for item in item.list()? {
            let mut table = item.table()?;
            let moment = table.need("at")?;
            let at = moment.time(0, LATEST)?;
            if at < end {
                return Err(
                    moment.error("is before the end of the previous step or its ramp; use a later time")
                );
            }
            let ramp = table.get("ramp").map_or(Ok(0), |item| item.time(0, LATEST))?;
            let number = (ramp / RAMP_STEP).clamp(1, RAMP_STEPS);
            count += number;
            if count > TIMELINE_STEPS {
                return Err(moment.error(format!(
                    "makes {count} steps of the timeline, of at most {TIMELINE_STEPS}: a ramp is a step for each millisecond, up to \
                     {RAMP_STEPS}; use fewer or shorter ramps"
                )));
            }
            let mut next = now.clone();
            match table.get("scenario") {
                Some(file) => {
                    if table.get("a_to_b").or_else(|| table.get("b_to_a")).is_some() {
                        return Err(file.error(
                            "names the stages of both directions, and the step has stages, too; write one of them",
                        ));
                    }
                    step_scenario(&file, &mut next, files)?;
                }
                None => directions(&mut table, &mut next, 0, files)?,
            }
            table.finish()?;
            for step in 1..number {
                let share = ratio(step, number);
                steps.push(TimelineStep {
                    at: at + ramp / number * step,
                    setting: between(&now, &next, share),
                });
            }
            end = at + ramp;
            steps.push(TimelineStep { at: end, setting: next.clone() });
            now = next;
        }
    }
    let Some(item) = top.get("timeline_repeat") else { return Ok((steps, None)) };
    let mut table = item.table()?;
    let every = table.need("every")?;
    let period = every.time(SHORTEST_STATE, LATEST)?;
    table.finish()?;
    if steps.is_empty() {
        return Err(every.error("repeats a timeline that has no steps; write [[timeline]] at = ..."));
    }
    if period <= end {
        return Err(every.error("is over before the timeline is; make it longer"));
    }
    Ok((steps, Some(period)))
}

/// What a scenario that a step of the timeline names cannot have: the whole scenario has one of each.
const OF_THE_WHOLE: [&str; 5] = ["seed", "generator", "flow", "timeline", "timeline_repeat"];

/// The stages of the scenario that a step of the timeline names, in place of all stages of packets that belong to no flow.
fn step_scenario(item: &Item<'_>, setting: &mut Setting, files: &mut Files<'_, '_>) -> Read<()> {
    let name = item.string("a file's name")?;
    let text = files.scenario(name).map_err(|why| item.error(why.to_string()))?;
    if text.len() as u64 > LARGEST {
        return Err(item.error(format!("is larger than {} KiB; make it smaller", LARGEST >> 10)));
    }
    let source = SourceText { text: &text, file: name, document: DOCUMENT };
    let document = source.parse()?;
    let mut top = TableReader::new(source, document.get_ref(), "", 0);
    about(&mut top)?;
    for key in OF_THE_WHOLE {
        if let Some(own) = top.get(key) {
            return Err(own.error(
                "is of a whole scenario, and this one is a step of a timeline, which has stages only; take it out",
            ));
        }
    }
    let mut own = Setting::default();
    let others = files.begin_step();
    directions(&mut top, &mut own, 0, files)?;
    traces(&mut top, &mut own, files)?;
    files.end_step(others).map_err(|why| item.error(why))?;
    top.finish()?;
    for (paths, own) in setting.paths.iter_mut().zip(own.paths) {
        if let (Some(path), Some(own)) = (paths.first_mut(), own.into_iter().next()) {
            *path = own;
        }
    }
    Ok(())
}

fn ratio(step: i64, number: i64) -> f64 {
    let real = |n: i64| f64::from(i32::try_from(n).unwrap_or(i32::MAX));
    real(step) / real(number)
}

fn between(from: &Setting, to: &Setting, share: f64) -> Setting {
    let mut mixed = from.clone();
    for (paths, others) in mixed.paths.iter_mut().zip(&to.paths) {
        for (path, other) in paths.iter_mut().zip(others) {
            if let (Some(from), Some(to)) = (path.as_ref(), other)
                && !Arc::ptr_eq(from, to)
            {
                *path = Some(Arc::new(from.between(to, share)));
            }
        }
    }
    mixed
}

/// The longest delay, nanoseconds.
const AN_HOUR: f64 = 3.6e12;

/// The octets of the longest frame of Ethernet as most links have it, with its check sequence.
const LONG_FRAME: u64 = 1_518;

/// A recorded link that lets nothing through for so long may be in another unit than milliseconds.
const LONG_SILENCE: i64 = 60_000_000_000;

/// What is to be known of a chain of losses that ends in a part of its states.
fn absorbed(setting: &str, chain: &Chain, states: &[Decision]) -> Vec<EmulationWarning> {
    let parts = chain.absorbing();
    let several = parts.len() > 1;
    let warning = |part: &Vec<usize>| {
        let shares = part.iter().map(|state| match &states[*state] {
            Decision::Bernoulli { probability } => Some(*probability),
            _ => None,
        });
        let shares = shares.collect::<Option<Vec<f64>>>();
        let of = |fold: fn(f64, f64) -> f64| shares.as_ref().and_then(|all| all.iter().copied().reduce(fold));
        EmulationWarning::ChainAbsorbed {
            setting: format!("{setting}.loss"),
            states: part.iter().map(|state| state + 1).collect(),
            certainty: match part.contains(&chain.initial()) {
                true => Absorption::Initial,
                false if several => Absorption::Possible,
                false => Absorption::Certain,
            },
            min_loss_ratio: of(f64::min),
            max_loss_ratio: of(f64::max),
        }
    };
    parts.iter().map(warning).collect()
}

fn notes(config: &Config) -> Vec<EmulationWarning> {
    let mut notes = Vec::new();
    let empty = Path::default();
    let is_empty =
        |path: &Arc<Path>| Path { flush: empty.flush, order: empty.order, ..path.as_ref().clone() } == empty;
    if config.paths().all(is_empty) {
        notes.push(EmulationWarning::ScenarioEmpty);
    }
    for (port, way) in ["a_to_b", "b_to_a"].into_iter().enumerate() {
        for (owner, path) in config.base.paths[port].iter().enumerate() {
            let Some(path) = path else { continue };
            // The first is of packets that belong to no flow.
            let name = if owner == 0 { way.to_owned() } else { format!("flow[{owner}].{way}") };
            match &path.regimes {
                None => path_notes(&name, path, &mut notes),
                Some(regimes) => {
                    for (state, path) in (1..).zip(regimes.states()) {
                        path_notes(&format!("{name}.regimes.state[{state}]"), path, &mut notes);
                    }
                    if regimes.states().iter().any(|path| path.order == Order::Exact) {
                        let setting = format!("{name}.regimes");
                        notes.push(EmulationWarning::StateChangesWait { setting });
                    }
                }
            }
        }
    }
    notes
}

/// What is to be known of one path.
fn path_notes(name: &str, path: &Path, notes: &mut Vec<EmulationWarning>) {
    if let Some(Trace::Opportunities(link)) = path.trace.as_deref()
        && link.silence() >= LONG_SILENCE
    {
        notes.push(EmulationWarning::TraceSilent {
            setting: format!("{name}.trace"),
            silence_ns: link.silence(),
        });
    }
    if let Model::Markov { chain, states } = &path.loss {
        notes.extend(absorbed(name, chain, states));
    }
    if let Some(rate) = path.rate.as_ref().filter(|rate| rate.queue < LONG_FRAME) {
        notes.push(EmulationWarning::QueueShort { setting: format!("{name}.rate"), queue_bytes: rate.queue });
    }
    let delay = || format!("{name}.delay");
    for variable in path.delay.all().filter_map(|delay| delay.variable.as_ref()) {
        let cut = variable.law().cut();
        if cut > 1e-6 {
            notes.push(EmulationWarning::DelayTruncated { setting: delay(), below_zero_ratio: cut });
        }
        let beyond = 1.0 - variable.law().share_up_to(AN_HOUR);
        if beyond > 1e-9 {
            notes.push(EmulationWarning::DelayLimited { setting: delay(), above_ratio: beyond });
        }
    }
    let lengths = path.delay.all().filter_map(|delay| delay.variable.as_ref()?.correlated_from());
    if let Some(length) = lengths.max_by(f64::total_cmp).filter(|_| path.order == Order::Exact) {
        notes.push(EmulationWarning::CorrelationRaised { setting: delay(), spacing_ns: length });
    }
    let processes = path.delay.all().filter_map(|delay| delay.variable.as_ref()?.process());
    let slowest = processes.filter_map(|process| Some((process.slowest()?, process.time())));
    if let Some((least, time)) = slowest.max() {
        notes.push(EmulationWarning::CorrelationTimeRaised {
            setting: delay(),
            requested_ns: time,
            similar_within_ns: least,
        });
    }
    if matches!(path.delay, Model::Markov { .. }) && path.order == Order::Exact {
        notes.push(EmulationWarning::StateChangesWait { setting: delay() });
    }
}
