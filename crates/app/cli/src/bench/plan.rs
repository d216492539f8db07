//! A benchmark's plan: the options in a file.
//!
//! The keys of the file are the names of the options (with `-` or `_`), their values what the options take; an array
//! repeats an option or, of lists and a seed, joins their parts. `[[stream]]` and `[[case]]` are tables, `[dut]` the labels. What
//! the command line says as well counts instead of the file.

use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::Path;

use romer_record::Exit;
use romer_scenario::reader::scalar;
use romer_scenario::{is_utf16, nearest};
use romer_store::untrusted;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::spans::Places;
use super::stream::KEYS;
use super::{ParsedWords, procedures};
use crate::failure::Failure;
use crate::toml_values::{first_line, line_and_column};

/// Octets of the largest plan.
const MAX_PLAN_OCTETS: u64 = 1 << 20;
/// Options that say where results go belong to the command line.
const NOT_IN_A_PLAN: [&str; 12] = [
    "html",
    "svg",
    "json",
    "pcapng",
    "pcapng-trial",
    "out",
    "resume",
    "force",
    "quiet",
    "color",
    "help",
    "dry-run",
];
/// The most values of a plan: reading each of them takes its time.
const MOST_VALUES: usize = 1_024;
/// Lists whose parts an option takes in one value.
pub(super) const JOINED: [&str; 3] = ["frame-sizes", "loads", "seed"];
/// Options that take numbers without a unit.
pub(super) const UNITLESS_OPTIONS: [&str; 3] = ["frame-sizes", "repeat", "seed"];

/// An option of the plan, and where it stands.
pub(super) struct PlanOption {
    pub(super) option: String,
    pub(super) value: Option<String>,
    pub(super) place: Range<usize>,
    /// Of a table, its keys as the option has them, and where their values stand; of a list that is joined, its values.
    parts: Vec<(String, Range<usize>)>,
}

impl PlanOption {
    /// Where that stands which a refusal is about: the key that it names, or all of it.
    fn refused(&self, why: &str) -> Range<usize> {
        self.part(|(name, _)| why.contains(&format!("): {name}: ")))
    }

    /// How many values it has.
    fn values(&self) -> usize {
        let is_joined = JOINED.contains(&self.option.as_str());
        self.value.as_ref().filter(|_| is_joined).map_or(1, |value| value.split(',').count())
    }

    /// Where the first such part stands, or where all does.
    pub(super) fn part(&self, is_it: impl Fn(&&(String, Range<usize>)) -> bool) -> Range<usize> {
        self.parts.iter().find(is_it).map_or(&self.place, |(_, place)| place).clone()
    }
}

/// What a plan and the words behind its name on the command line come to.
pub(super) fn arguments(path: &str, given: &[String]) -> Result<(ParsedWords, Places), Failure> {
    let shown = romer_report::escape::terminal(path);
    let text =
        untrusted::read_named(Path::new(path), MAX_PLAN_OCTETS).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => Failure::with_exit(
                Exit::BadData,
                format!("a plan is too long ({shown}): {error}; name a plan of a benchmark"),
            ),
            io::ErrorKind::InvalidInput => {
                Failure::environment(format!("a plan cannot be read ({shown}): {error}; name a file"))
            }
            _ => Failure::environment(format!(
                "a plan cannot be read ({shown}): {error}; check its path and rights"
            )),
        })?;
    parse(&text, &shown, given)
}

/// What the text of a plan, `shown` by this name, and the words behind it come to.
pub(super) fn parse(text: &[u8], shown: &str, given: &[String]) -> Result<(ParsedWords, Places), Failure> {
    let fault = |place: Range<usize>, why: &str, mend: &str| {
        faulty(text, shown, place.start, &format!("{why}; {mend}"))
    };
    let other = if is_utf16(text) { "this is UTF-16" } else { "this is no UTF-8" };
    let utf8 = std::str::from_utf8(text)
        .map_err(|error| fault(error.valid_up_to()..0, other, "write the file in UTF-8"))?;
    let table = DeTable::parse(utf8).map_err(|error| {
        let why = first_line(error.message());
        let (why, mend) = match romer_scenario::first_of_two(utf8, &error) {
            Some(line) => (format!("{why}, given first on line {line}"), "leave one out"),
            None => (why, "write TOML"),
        };
        fault(error.span().unwrap_or(0..0), &why, mend)
    })?;
    let mut options = procedures::options();
    options.retain(|(name, _)| is_in_a_plan(name));
    let known: Vec<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
    let mut procedure = None;
    let mut found = Vec::new();
    let mut seen: Vec<(String, Range<usize>)> = Vec::new();
    for (key, value) in table.into_inner() {
        let name = key.get_ref().replace('_', "-");
        let place = key.span();
        if let Some((_, before)) = seen.iter().find(|(other, _)| *other == name) {
            let later = if before.start > place.start { before.clone() } else { place };
            let why = format!(
                "{:?} is given twice, once with - and once with _",
                utf8.get(later.clone()).unwrap_or_default()
            );
            return Err(fault(later, &why, "leave one out"));
        }
        seen.push((name.clone(), place.clone()));
        match name.as_str() {
            "procedure" => procedure = Some((scalar(value.get_ref()), value.span())),
            "stream" => tables(&value, "stream", &mut found, &fault, |table| stream(table, &fault))?,
            "case" => tables(&value, "case", &mut found, &fault, |table| case(table, &place, &fault))?,
            "dut" => labels(&value, &mut found, &fault)?,
            name if known.contains(&name) => {
                let takes_value = procedures::takes_a_value(&options, name);
                option((key.get_ref(), takes_value), &value, &mut found, &fault)?;
            }
            _ => {
                let keys = known.iter().copied().chain(["procedure", "stream", "case", "dut"]);
                let mend = nearest(&name, keys).map_or_else(
                    || "see `romer bench --help` for the options".into(),
                    |near| format!("did you mean {}?", as_written(near, key.get_ref())),
                );
                return Err(fault(place, &format!("there is no key {:?}", key.get_ref()), &mend));
            }
        }
    }
    let mut values = 0;
    let beyond = found.iter().find(|one| {
        values += one.values();
        values > MOST_VALUES
    });
    if let Some(one) = beyond {
        let why = format!("the plan has more than {MOST_VALUES} values");
        return Err(fault(one.place.clone(), &why, "write fewer, or several plans"));
    }
    let (procedure, at) = procedure.unwrap_or((None, 0..0));
    let procedure = procedure.ok_or_else(|| {
        fault(at.clone(), "the plan has no procedure", "write procedure = \"throughput\" or another")
    })?;
    if procedure.ends_with(".toml") {
        return Err(fault(at, "a plan is no procedure", "write procedure = \"throughput\" or another"));
    }
    if procedures::procedures().iter().all(|known| known.get_name() != procedure) {
        let refused = procedures::no_procedure(&procedure);
        let (why, mend) =
            refused.text().rsplit_once("; ").unwrap_or((refused.text(), "see `romer bench --help`"));
        return Err(fault(at, why, mend));
    }
    found.retain(|one| is_own(given, one));
    let places = Places { text: text.to_vec(), shown: shown.to_owned(), found, procedure: at };
    assemble(given, &procedure, &places, &fault).map(|read| (read, places))
}

/// A fault of a plan, which stands from this octet on.
pub(super) fn faulty(text: &[u8], shown: &str, from: usize, what: &str) -> Failure {
    let (line, column) = line_and_column(text, from);
    let text = format!("the plan cannot be used ({shown}:{line}:{column}): {what}");
    Failure::with_exit(Exit::BadData, text).at(line, column)
}

/// Whether what the plan says counts: the command line, in these words, does not say otherwise.
fn is_own(given: &[String], one: &PlanOption) -> bool {
    let flag = format!("--{}", one.option);
    !given.iter().any(|word| *word == flag || word.starts_with(&format!("{flag}=")))
}

/// Reads the options of the file with the command line's; where they cannot be read, those of the file one by one, so that a
/// fault has its place.
fn assemble(
    given: &[String],
    procedure: &str,
    places: &Places,
    fault: &dyn Fn(Range<usize>, &str, &str) -> Failure,
) -> Result<ParsedWords, Failure> {
    let found = &places.found;
    let begin = OsString::from(procedure);
    let word = |option: &str, value: &str| OsString::from(format!("--{option}={value}"));
    let words = |one: &PlanOption| match &one.value {
        Some(value) => word(&one.option, value),
        None => OsString::from(format!("--{}", one.option)),
    };
    let given = given.iter().map(OsString::from);
    let all = [begin.clone()].into_iter().chain(found.iter().map(words)).chain(given);
    let failure = match ParsedWords::parse(all) {
        Ok(read) => return Ok(read),
        Err(failure) => failure,
    };
    let alone = |word: OsString| ParsedWords::parse([begin.clone(), word]);
    for one in found {
        if let Err(failure) = alone(words(one)) {
            let text = failure.text().to_owned();
            let (why, mend) = text.rsplit_once("; ").unwrap_or((&text, "see `romer bench --help`"));
            let is_bad = |value: &str| alone(word(&one.option, value)).is_err();
            // Of a list the value that is none, where others are (a single number is no seed, whichever it is).
            let place =
                if one.parts.iter().any(|(value, _)| JOINED.contains(&one.option.as_str()) && !is_bad(value))
                {
                    one.part(|(value, _)| is_bad(value))
                } else {
                    one.refused(&text)
                };
            return Err(fault(place, why, mend));
        }
    }
    Err(places.locate(failure))
}

/// Whether a plan may say what the option of this name says.
pub(super) fn is_in_a_plan(option: &str) -> bool {
    !NOT_IN_A_PLAN.contains(&option)
}

type Fault<'a> = &'a dyn Fn(Range<usize>, &str, &str) -> Failure;

/// Takes an option, of which is known whether it takes a value.
fn option(
    (key, takes_value): (&str, bool),
    value: &Spanned<DeValue<'_>>,
    found: &mut Vec<PlanOption>,
    fault: Fault<'_>,
) -> Result<(), Failure> {
    let place = value.span();
    let name = &key.replace('_', "-");
    let wrong = || {
        fault(place.clone(), &format!("{name} is a text, a number or an array of them"), "write it in quotes")
    };
    let is_number = |value: &DeValue<'_>| {
        let DeValue::String(text) = value else { return false };
        !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit())
    };
    // A text alone is as it would be on the command line, and the page writes it so.
    let mut parts = value.get_ref().as_array().into_iter().flatten();
    let quoted = parts.find(|part| is_number(part.get_ref()));
    if let Some(quoted) = quoted.filter(|_| UNITLESS_OPTIONS.contains(&name.as_str())) {
        return Err(fault(quoted.span(), &format!("{key} has a number in quotes"), "write it without them"));
    }
    let whole = |value| (value, place.clone(), Vec::new());
    let values = match value.get_ref() {
        DeValue::Boolean(said) if takes_value => {
            let why = format!("{key} takes a text or a number, and not {said}");
            return Err(fault(place, &why, "write what it is to be"));
        }
        DeValue::Boolean(true) => vec![whole(None)],
        DeValue::Boolean(false) => Vec::new(),
        DeValue::Array(parts) => {
            let parts = parts
                .iter()
                .map(|part| scalar(part.get_ref()).map(|value| (value, part.span())).ok_or_else(wrong))
                .collect::<Result<Vec<_>, _>>()?;
            if JOINED.contains(&name.as_str()) {
                let all: Vec<&str> = parts.iter().map(|(value, _)| value.as_str()).collect();
                vec![(Some(all.join(",")), place.clone(), parts)]
            } else {
                parts.into_iter().map(|(value, place)| (Some(value), place, Vec::new())).collect()
            }
        }
        value => vec![whole(Some(scalar(value).ok_or_else(wrong)?))],
    };
    found.extend(values.into_iter().map(|(value, place, parts)| PlanOption {
        option: name.clone(),
        value,
        place,
        parts,
    }));
    Ok(())
}

/// The name of a key in the manner in which another is written: with `_`, unless that has `-`.
fn as_written(name: &str, other: &str) -> String {
    if other.contains('-') { name.to_owned() } else { name.replace('-', "_") }
}

/// An array of tables, each an option.
fn tables(
    value: &Spanned<DeValue<'_>>,
    name: &'static str,
    found: &mut Vec<PlanOption>,
    fault: Fault<'_>,
    read: impl Fn(&DeTable<'_>) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let wrong =
        || fault(value.span(), &format!("{name} is not a list of tables"), &format!("write [[{name}]]"));
    let DeValue::Array(all) = value.get_ref() else { return Err(wrong()) };
    for one in all.iter() {
        let DeValue::Table(table) = one.get_ref() else { return Err(wrong()) };
        let first = table.iter().map(|(key, _)| key.span()).min_by_key(|place| place.start);
        let place = first.unwrap_or_else(|| one.span());
        let parts = table.iter().map(|(key, value)| (key.get_ref().replace('_', "-"), value.span()));
        found.push(PlanOption {
            option: name.into(),
            value: Some(read(table)?),
            place,
            parts: parts.collect(),
        });
    }
    Ok(())
}

fn stream(table: &DeTable<'_>, fault: Fault<'_>) -> Result<String, Failure> {
    let mut parts = Vec::new();
    for (key, value) in table.iter() {
        let name = key.get_ref().replace('_', "-");
        if !KEYS.contains(&name.as_str()) {
            let mend = nearest(&name, KEYS).map_or_else(
                || format!("write one of {}", KEYS.join(", ")),
                |near| format!("did you mean {}?", as_written(near, key.get_ref())),
            );
            return Err(fault(key.span(), &format!("a stream has no key {:?}", key.get_ref()), &mend));
        }
        let text = scalar(value.get_ref()).ok_or_else(|| {
            fault(value.span(), &format!("{name} is a text or a number"), "write it in quotes")
        })?;
        parts.push(format!("{name}={text}"));
    }
    Ok(parts.join(","))
}

fn case(table: &DeTable<'_>, place: &Range<usize>, fault: Fault<'_>) -> Result<String, Failure> {
    let (mut name, mut command) = (None, None);
    for (key, value) in table.iter() {
        match key.get_ref().as_ref() {
            "name" => name = scalar(value.get_ref()),
            "command" => command = scalar(value.get_ref()),
            other => {
                let why = format!("a case has no key {other:?}");
                return Err(fault(key.span(), &why, "write name and command"));
            }
        }
    }
    match (name, command) {
        (Some(name), Some(command)) => Ok(format!("{name}={command}")),
        _ => Err(fault(
            place.clone(),
            "a case has a name and a command, both texts",
            "write name = and command =",
        )),
    }
}

fn labels(
    value: &Spanned<DeValue<'_>>,
    found: &mut Vec<PlanOption>,
    fault: Fault<'_>,
) -> Result<(), Failure> {
    let DeValue::Table(table) = value.get_ref() else {
        return Err(fault(value.span(), "dut is not a table", "write [dut] and labels below it"));
    };
    for (key, value) in table.iter() {
        let DeValue::String(text) = value.get_ref() else {
            return Err(fault(value.span(), "a label is a text", "write it in quotes"));
        };
        let value = Some(format!("{}={text}", key.get_ref()));
        found.push(PlanOption { option: "dut-label".into(), value, place: key.span(), parts: Vec::new() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::of_page;

    #[test]
    fn the_plan_of_the_documentation_is_one() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/bench-plan.md");
        let text = std::fs::read_to_string(root).unwrap();
        let (_, plan) = text.split_once("```toml\n").unwrap();
        let (plan, _) = plan.split_once("```").unwrap();
        let asked = of_page(plan).map_err(|fault| fault.text).unwrap();
        // Three sizes, six loads, two cases, ten times.
        assert_eq!(romer_bench::forecast(&asked.options).trials, 3 * 6 * 2 * 10);
        assert_eq!(asked.limits.len(), 1);
    }

    /// The reference names every key that a plan and a stream may have.
    #[test]
    fn plan_keys_are_documented() {
        const PAGE: &str = include_str!("../../../../../docs/reference/bench-plan.md");
        const SCHEMA: &str = include_str!("../../../../../docs/plan.schema.json");
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let keys = |properties: &serde_json::Value| -> Vec<String> {
            properties.as_object().unwrap().keys().cloned().collect()
        };
        let plan = keys(&schema["properties"]);
        let stream = keys(&schema["properties"]["stream"]["items"]["properties"]);
        assert!(plan.len() > 40 && stream.len() > 12, "{plan:?} {stream:?}");
        for key in plan.iter().chain(&stream) {
            let named = ["-", "_"].map(|mark| format!("`{}`", key.replace(['-', '_'], mark)));
            assert!(named.iter().any(|key| PAGE.contains(key)), "{key}");
        }
    }

    #[test]
    fn what_has_no_effect_is_refused_with_its_place() {
        let fault = |rest: &str| {
            let plan = format!(
                "procedure = \"latency\"\n{rest}source = \"192.0.2.1\"\ndestination = \"192.0.2.9\"\n"
            );
            of_page(&plan).map(|_| ()).unwrap_err()
        };
        let profile = fault("profile = \"625pps,20\"\n");
        assert!(
            profile.text.contains(
                "(plan:2:11): unknown option (--profile): it is not an option of `romer bench latency`"
            ) && profile.text.ends_with("; use it with `romer bench policing`"),
            "{}",
            profile.text
        );
        assert_eq!(profile.place, Some((2, 11)));
        let late = fault("trial = \"1s\"\nsearch_trial = \"1s\"\n");
        assert!(late.text.contains("(plan:3:16): unknown option (--search-trial)"), "{}", late.text);
    }

    #[test]
    fn a_port_that_is_not_there_is_named_before_addresses_are_missed() {
        let plan = "procedure = \"throughput\"\ntx = \"nowhere0\"\nrx = \"nowhere1\"\n";
        let fault = of_page(plan).map(|_| ()).unwrap_err();
        assert!(fault.text.contains("(nowhere0)") && !fault.text.contains("--source"), "{}", fault.text);
    }
}
