//! The plan in TOML.

use std::collections::{BTreeMap, BTreeSet};

use romer_scenario::ScenarioError;
use romer_scenario::reader::{Item, Read, SourceText, TableReader, scalar};
use romer_units::Duration;
use thiserror::Error;
use toml::de::DeValue;

use super::types::{Agent, Group, Limits, OptionValue, PLAN_SCHEMA, Plan, Retention, Shape, Traffic};
use crate::token::Token;

/// The most octets of a plan in TOML: some hundred thousand agents.
pub const MAX_PLAN_OCTETS: u64 = 16 << 20;
/// Agents of a site in a full mesh, unless the group says so.
const REPRESENTATIVES: usize = 10;
/// Pairs between two sites, unless the group says so.
const PAIRS_BETWEEN_SITES: usize = 2;
/// The most representatives, and pairs between two sites.
const MOST_CHOSEN: u64 = 1_000;
/// Octets of the longest address: the longest name of a host (RFC 1035, 253) and a port.
const MAX_ADDRESS: usize = 260;
/// The largest UDP payload over IPv4, bytes (RFC 768, RFC 791).
const MAX_PAYLOAD: u64 = 65_507;
/// The shortest and the longest interval between two probes, nanoseconds.
const INTERVALS: (i64, i64) = (10_000, 3_600_000_000_000);
/// The shortest and the longest time between two runs, nanoseconds: 1 s and 366 days.
const RUNS: (i64, i64) = (1_000_000_000, 366 * DAY_NS);
/// The shortest and the longest time for which data are kept, nanoseconds: a minute and 100 years.
const AGES: (i64, i64) = (60_000_000_000, 36_500 * DAY_NS);
/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400_000_000_000;
/// The smallest spool, bytes: a few minutes of an agent.
const LEAST_SPOOL: u64 = 1_000_000;
/// What names all agents in a list.
const EVERYONE: &str = "*";
/// What precedes the name of a site in a list of agents.
const SITE_PREFIX: &str = "site:";

/// Reads a plan in TOML; `file` is its name for errors.
///
/// Lists of agents may name sites (`site:NAME`) and all agents (`*`); the plan has the agents themselves.
///
/// # Errors
/// What is wrong, with the line and the column.
pub fn parse(text: &str, file: &str) -> Result<Plan, ScenarioError> {
    let source = SourceText { text, file, document: "the plan" };
    let document = source.parse()?;
    let mut top = TableReader::new(source, document.get_ref(), "", 0);
    top.has(&["limits", "retention"]);
    let schema_item = top.get("schema");
    let schema =
        schema_item.as_ref().map_or(Ok(u64::from(PLAN_SCHEMA)), |item| item.whole(0, u32::MAX.into()))?;
    let schema = u32::try_from(schema).unwrap_or(u32::MAX);
    if let (Err(why), Some(item)) = (crate::rows::check_schema(schema, PLAN_SCHEMA), schema_item) {
        return Err(item.error(format!("is not read: {why}")));
    }
    let tenant = name_of(&top.need("tenant")?)?;
    let revision = top.need("revision")?.whole(0, i64::MAX.unsigned_abs())?;
    let limits = match top.get("limits") {
        Some(item) => {
            let mut table = item.table()?;
            let limits = read_limits(&mut table, Limits::default())?;
            table.finish()?;
            limits
        }
        None => Limits::default(),
    };
    let retention = top.get("retention").map_or(Ok(Retention::default()), |item| read_retention(&item))?;
    let traffic = named(&top.need("traffic")?, read_traffic)?;
    let agents = read_sites(&top.need("site")?, limits)?;
    let names = Names { agents: &agents, traffic: &traffic };
    let groups = named(&top.need("group")?, |item| read_group(item, &names))?;
    top.finish()?;
    let groups = groups.into_iter().map(|(name, (traffic, shape))| Group { name, traffic, shape }).collect();
    Ok(Plan { schema, tenant, revision, limits, retention, traffic, agents, groups })
}

/// A name.
fn name_of(item: &Item<'_>) -> Read<Token> {
    let text = item.string("a name")?;
    Token::new(text).map_err(|why| item.error(why.to_string()))
}

/// The entries of a table whose keys are names.
fn named_entries<'t>(table: TableReader<'t>) -> impl Iterator<Item = Read<(Token, Item<'t>)>> {
    table.entries().into_iter().map(|(key, value)| match Token::new(key.get_ref().as_ref()) {
        Ok(name) => Ok((name, value)),
        Err(why) => Err(value.error(format!("has a key that is no name: {why}"))),
    })
}

/// A table of names, each of whose values is read by `read`.
fn named<T>(item: &Item<'_>, mut read: impl FnMut(&Item<'_>) -> Read<T>) -> Read<BTreeMap<Token, T>> {
    let mut found = BTreeMap::new();
    for entry in named_entries(item.table()?) {
        let (name, value) = entry?;
        found.insert(name, read(&value)?);
    }
    if found.is_empty() {
        return Err(item.error("is empty; write at least one table of this name"));
    }
    Ok(found)
}

/// The limits of a table; those that it does not have are `others`.
fn read_limits(table: &mut TableReader<'_>, others: Limits) -> Read<Limits> {
    let probes = table.get("probes_per_second").map(|item| item.whole(1, 10_000_000)).transpose()?;
    let bytes = table.get("bytes_per_second").map(|item| item.octets(1, 1 << 40)).transpose()?;
    Ok(Limits {
        probes_per_second: probes.unwrap_or(others.probes_per_second),
        bytes_per_second: bytes.unwrap_or(others.bytes_per_second),
    })
}

fn read_retention(item: &Item<'_>) -> Read<Retention> {
    let mut table = item.table()?;
    let defaults = Retention::default();
    let mut age = |key: &'static str, default: Duration| -> Read<Duration> {
        let nanos = table.get(key).map(|item| item.time(AGES.0, AGES.1)).transpose()?;
        Ok(nanos.map_or(default, Duration::from_nanos))
    };
    let rows_ns = age("rows", defaults.rows_ns)?;
    let sums_ns = age("sums", defaults.sums_ns)?;
    let spool_ns = age("spool", defaults.spool_ns)?;
    let spool_bytes = table.get("spool_size").map(|item| item.octets(LEAST_SPOOL, 1 << 50)).transpose()?;
    table.finish()?;
    Ok(Retention { rows_ns, sums_ns, spool_ns, spool_bytes: spool_bytes.unwrap_or(defaults.spool_bytes) })
}

fn read_traffic(item: &Item<'_>) -> Read<Traffic> {
    const EVERY: Duration = Duration::from_secs(3_600);
    let mut table = item.table()?;
    let interval = table.need("interval")?.time(INTERVALS.0, INTERVALS.1)?;
    let size = table.need("size")?.whole(1, MAX_PAYLOAD)?;
    let every = table.get("every").map(|item| item.time(RUNS.0, RUNS.1)).transpose()?;
    let every_ns = every.map_or(EVERY, Duration::from_nanos);
    let duration = table.get("duration");
    let duration_ns = duration.as_ref().map(|item| item.time(RUNS.0, RUNS.1)).transpose()?;
    let duration_ns = duration_ns.map(Duration::from_nanos);
    if let Some((item, length)) = duration.zip(duration_ns)
        && length > every_ns
    {
        return Err(
            item.error(format!("is longer than every ({every_ns}); runs do not overlap, lengthen every"))
        );
    }
    let mut options = BTreeMap::new();
    for (key, value) in table.entries() {
        let name = key.get_ref().replace('_', "-");
        let is_option = |octet: u8| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'-';
        if name.is_empty() || name.starts_with('-') || !name.bytes().all(is_option) {
            return Err(value.error("is no option of romer measure; see romer measure --help"));
        }
        if options.insert(name, option(&value)?).is_some() {
            return Err(value.error("is given twice, with - and with _; remove one of them"));
        }
    }
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    Ok(Traffic { interval_ns: Duration::from_nanos(interval), size, every_ns, duration_ns, options })
}

/// The value of an option.
fn option(item: &Item<'_>) -> Read<OptionValue> {
    let wrong =
        || item.error("is no value of an option; write a text, a number, true, false, or a list of texts");
    match item.value() {
        DeValue::Boolean(flag) => Ok(OptionValue::Flag(*flag)),
        DeValue::Array(_) => {
            let parts = item.list()?;
            parts
                .iter()
                .map(|part| scalar(part.value()).ok_or_else(wrong))
                .collect::<Read<_>>()
                .map(OptionValue::Values)
        }
        value => scalar(value).map(OptionValue::Value).ok_or_else(wrong),
    }
}

/// The agents of all sites.
fn read_sites(item: &Item<'_>, limits: Limits) -> Read<BTreeMap<Token, Agent>> {
    let mut agents: BTreeMap<Token, Agent> = BTreeMap::new();
    for entry in named_entries(item.table()?) {
        let (site, value) = entry?;
        let mut table = value.table()?;
        let here = table.need("agents")?;
        for entry in named_entries(here.table()?) {
            let (name, value) = entry?;
            if let Some(other) = agents.get(&name) {
                let why = format!("is also an agent of the site {}; use another name", other.site);
                return Err(value.error(why));
            }
            agents.insert(name, read_agent(&value, &site, limits)?);
        }
        table.finish()?;
    }
    if agents.is_empty() {
        return Err(item.error("has no agents; write [site.NAME.agents]"));
    }
    Ok(agents)
}

/// An agent: its address, or a table with its address and its limits.
fn read_agent(item: &Item<'_>, site: &Token, limits: Limits) -> Read<Agent> {
    let site = site.clone();
    if item.is_text() {
        return Ok(Agent { site, address: address(item)?, limits: None });
    }
    let mut table = item.table()?;
    let address = address(&table.need("address")?)?;
    let own = read_limits(&mut table, limits)?;
    table.finish()?;
    Ok(Agent { site, address, limits: Some(own).filter(|own| *own != limits) })
}

fn address(item: &Item<'_>) -> Read<String> {
    let text = item.string("HOST, HOST:PORT or [IPV6]:PORT")?;
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    if text.is_empty() || text.len() > MAX_ADDRESS || text.starts_with('-') || !text.chars().all(is_plain) {
        let shown = romer_units::excerpt(text, 60);
        return Err(item.error(format!("is {shown:?}; write HOST, HOST:PORT or [IPV6]:PORT")));
    }
    Ok(text.to_owned())
}

/// The names to which groups refer.
struct Names<'p> {
    agents: &'p BTreeMap<Token, Agent>,
    traffic: &'p BTreeMap<Token, Traffic>,
}

fn read_group(item: &Item<'_>, names: &Names<'_>) -> Read<(Token, Shape)> {
    #[derive(Clone, Copy)]
    enum Kind {
        Mesh,
        Star,
        Pairs,
    }
    let mut table = item.table()?;
    let kind =
        table.need("kind")?.word(&[("mesh", Kind::Mesh), ("star", Kind::Star), ("pairs", Kind::Pairs)])?;
    let traffic = match table.get("traffic") {
        Some(item) => names.traffic(&item)?,
        None => {
            let mut all = names.traffic.keys();
            match (all.next(), all.next()) {
                (Some(only), None) => only.clone(),
                _ => {
                    return Err(
                        table.error("has no traffic, and the plan has several; write traffic = \"NAME\"")
                    );
                }
            }
        }
    };
    let shape = match kind {
        Kind::Mesh => {
            let members = names.several(&table.need("members")?)?;
            let mut number = |key: &'static str, default: usize| -> Read<usize> {
                let number = table.get(key).map(|item| item.whole(1, MOST_CHOSEN)).transpose()?;
                Ok(number.and_then(|number| usize::try_from(number).ok()).unwrap_or(default))
            };
            let representatives = number("representatives", REPRESENTATIVES)?;
            let pairs_between_sites = number("pairs_between_sites", PAIRS_BETWEEN_SITES)?;
            Shape::Mesh { members, representatives, pairs_between_sites }
        }
        Kind::Star => Shape::Star {
            centres: names.several(&table.need("centres")?)?,
            members: names.several(&table.need("members")?)?,
        },
        Kind::Pairs => Shape::Pairs { pairs: names.pairs(&table.need("pairs")?)? },
    };
    table.finish()?;
    Ok((traffic, shape))
}

impl Names<'_> {
    fn traffic(&self, item: &Item<'_>) -> Read<Token> {
        let name = name_of(item)?;
        if self.traffic.contains_key(&name) {
            return Ok(name);
        }
        Err(item.error(unknown("traffic", &name, self.traffic.keys())))
    }

    /// The agents of a list, which has at least one.
    fn several(&self, item: &Item<'_>) -> Read<BTreeSet<Token>> {
        let mut found = BTreeSet::new();
        for one in item.list()? {
            let text = one.string("\"AGENT\", \"site:NAME\" or \"*\"")?;
            if text == EVERYONE {
                found.extend(self.agents.keys().cloned());
            } else if let Some(site) = text.strip_prefix(SITE_PREFIX) {
                let of_site = self.agents.iter().filter(|(_, agent)| agent.site.as_str() == site);
                let names: Vec<&Token> = of_site.map(|(name, _)| name).collect();
                if names.is_empty() {
                    let shown = romer_units::excerpt(site, 60);
                    return Err(one.error(unknown(
                        "site",
                        &shown,
                        self.agents.values().map(|agent| &agent.site),
                    )));
                }
                found.extend(names.into_iter().cloned());
            } else {
                found.insert(self.agent(&one)?);
            }
        }
        if found.is_empty() {
            return Err(item.error("is empty; name at least one agent"));
        }
        Ok(found)
    }

    fn agent(&self, item: &Item<'_>) -> Read<Token> {
        let name = name_of(item)?;
        if self.agents.contains_key(&name) {
            return Ok(name);
        }
        Err(item.error(unknown("agent", &name, self.agents.keys())))
    }

    fn pairs(&self, item: &Item<'_>) -> Read<Vec<[Token; 2]>> {
        let mut pairs = Vec::new();
        for pair in item.list()? {
            let ends = pair.list()?;
            let [one, other] = &ends[..] else {
                return Err(pair.error("is no pair; write [\"AGENT\", \"AGENT\"]"));
            };
            let (one, other) = (self.agent(one)?, self.agent(other)?);
            if one == other {
                return Err(pair.error(format!("is a pair of {one} with itself; name two agents")));
            }
            pairs.push([one, other]);
        }
        if pairs.is_empty() {
            return Err(item.error("is empty; write at least one pair [\"AGENT\", \"AGENT\"]"));
        }
        Ok(pairs)
    }
}

/// A name that the plan does not have.
#[derive(Debug, Error)]
enum UnknownName {
    #[error("is {name:?}, and the plan has no such {what}; did you mean {near}?")]
    Mistyped { name: String, what: &'static str, near: String },
    #[error("is {name:?}, and the plan has no such {what}; add it, or use another name")]
    Missing { name: String, what: &'static str },
}

/// That the plan does not have something, with the nearest name that it has.
fn unknown<'n>(
    what: &'static str,
    name: &(impl core::fmt::Display + ?Sized),
    known: impl Iterator<Item = &'n Token>,
) -> String {
    let name = name.to_string();
    let near = romer_scenario::nearest(&name, known.map(Token::as_str)).map(str::to_owned);
    match near {
        Some(near) => UnknownName::Mistyped { name, what, near }.to_string(),
        None => UnknownName::Missing { name, what }.to_string(),
    }
}
