//! Scenarios as the interface speaks of them: TOML as in a file, or the same as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use axum::http::StatusCode;
use romer_scenario::{LARGEST, PRESETS, Scenario, ScenarioError};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value, json};
use toml::de::{DeTable, DeValue};

use crate::problem::{FieldError, Problem};
use crate::scenario_diagnostics;
use crate::strict_json::DEEPEST;
use crate::warning_text::ExplainedWarning;
use romer_record::warning::EmulationWarning;

/// The name under which a scenario's text is told.
const NAME: &str = "scenario";
/// Octets of files with which a scenario is read again for what else is wrong.
const MENDED: usize = 64 << 10;
/// The keys of a scenario in the order in which people read them.
const ORDER: [&str; 17] = [
    "about",
    "seed",
    "generator",
    "a_to_b",
    "b_to_a",
    "loss",
    "duplicate",
    "reorder",
    "delay",
    "corrupt",
    "rate",
    "trace",
    "model",
    "step",
    "flow",
    "timeline",
    "timeline_repeat",
];

/// A scenario in a request.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a text as \"toml\" or an object as \"scenario\"")]
#[schemars(transform = crate::request_defaults::may_be_left_out)]
pub(crate) struct ScenarioRequest {
    /// Text of a scenario file (TOML). Either this or `scenario`.
    #[serde(default)]
    pub(crate) toml: Option<String>,
    /// Scenario as JSON, with the keys of a scenario file. Either this or `toml`.
    #[serde(default, deserialize_with = "object")]
    pub(crate) scenario: Option<Map<String, Value>>,
    /// Texts of the files that the scenario uses, by name.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
}

/// A scenario as JSON; of a text it is said where that goes.
fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Map<String, Value>>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Object(object) => Ok(Some(object)),
        Value::String(_) => {
            Err(D::Error::custom("\"scenario\" is an object, and this is a text; send a text as \"toml\""))
        }
        _ => Err(D::Error::custom("\"scenario\" is an object with the keys of a scenario file")),
    }
}

/// A scenario that was read.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioDocument {
    pub(crate) scenario: Scenario,
    pub(crate) toml: String,
    pub(crate) files: BTreeMap<String, String>,
}

/// A scenario as TOML and as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ScenarioForms {
    /// Scenario as TOML.
    pub(crate) toml: String,
    /// Scenario as JSON.
    pub(crate) scenario: Map<String, Value>,
    /// Files that the scenario uses.
    pub(crate) files: Vec<NamedFile>,
    /// Notes and warnings about the scenario.
    pub(crate) notes: Vec<ExplainedWarning<EmulationWarning>>,
}

/// A file that a scenario uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct NamedFile {
    /// Name of the file in the scenario.
    pub(crate) name: String,
    /// Size, bytes.
    pub(crate) octets: usize,
}

/// A scenario preset.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct PresetShown {
    /// Name, for `--preset`.
    name: String,
    /// Title.
    title: Option<String>,
    /// Publication of the values.
    source: Option<String>,
    /// Year of publication.
    year: Option<u64>,
    /// Properties that the preset does not model.
    note: Option<String>,
    /// Scenario as TOML.
    toml: String,
    /// Scenario as JSON.
    scenario: Map<String, Value>,
}

/// Reads a scenario; `held` are files that the server has from before.
///
/// # Errors
/// 422 for whatever is wrong with the scenario, with the field and, of a text, the place; 400 where it is not said in one
/// of both ways; 413 where it is too large.
pub(crate) fn read(
    given: ScenarioRequest,
    held: &BTreeMap<String, String>,
) -> Result<ScenarioDocument, Problem> {
    let is_text = given.toml.is_some();
    let text = match (given.toml, given.scenario) {
        (Some(text), None) => text,
        (None, Some(scenario)) => text_of(&scenario)?,
        _ => return Err(Problem::bad("fields", "send either \"toml\" or \"scenario\"")),
    };
    if text.len() as u64 > LARGEST {
        let detail = format!("the scenario is larger than {} KiB", LARGEST >> 10);
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail));
    }
    let mut files = BTreeMap::new();
    let mut load = |name: &str| {
        let text = given.files.get(name).or_else(|| held.get(name));
        let text = text
            .ok_or_else(|| format!("names the file {name:?}, which was not sent with it; send its text"))?;
        files.insert(name.to_owned(), text.clone());
        romer_scenario::named_file(text.as_bytes())
    };
    match romer_scenario::parse(&text, NAME, &mut load) {
        Ok(scenario) => Ok(ScenarioDocument { scenario, toml: text, files }),
        Err(error) => {
            let problem = refusal(&error, is_text);
            // A long file is not read again and again.
            let octets: usize = files.values().map(String::len).sum();
            let others = if octets > MENDED { Vec::new() } else { others(&text, &error, &files) };
            Err(others.iter().fold(problem, |problem, other| problem.about(place_of(other, false))))
        }
    }
}

/// What is wrong besides the first fault of a text. Its places are lost on the way.
fn others(text: &str, first: &ScenarioError, files: &BTreeMap<String, String>) -> Vec<ScenarioError> {
    let read = |scenario: &Map<String, Value>| {
        let mut load = |name: &str| {
            let text = files.get(name).ok_or_else(|| "is not there".to_owned())?;
            romer_scenario::named_file(text.as_bytes())
        };
        let text = text_of(scenario).ok()?;
        romer_scenario::parse(&text, NAME, &mut load).err()
    };
    scenario_diagnostics::others(&json_of(text), first, &read)
}

fn refusal(error: &ScenarioError, is_text: bool) -> Problem {
    let place =
        if is_text { format!(" (line {}, column {})", error.line, error.column) } else { String::new() };
    let problem = Problem::unprocessable("scenario", format!("{}{place}: {}", error.what, error.why));
    problem.about(place_of(error, is_text))
}

fn place_of(error: &ScenarioError, is_text: bool) -> FieldError {
    FieldError {
        field: error.what.clone(),
        detail: error.why.clone(),
        line: is_text.then_some(error.line),
        column: is_text.then_some(error.column),
    }
}

impl ScenarioDocument {
    /// In both forms.
    pub(crate) fn shown(&self) -> ScenarioForms {
        ScenarioForms::read(&self.toml, &self.files, &self.scenario.notes)
    }
}

impl ScenarioForms {
    /// A text in both forms.
    pub(crate) fn read(text: &str, files: &BTreeMap<String, String>, notes: &[EmulationWarning]) -> Self {
        let files = files.iter().map(|(name, text)| NamedFile { name: name.clone(), octets: text.len() });
        Self {
            toml: text.into(),
            scenario: json_of(text),
            files: files.collect(),
            notes: notes.iter().cloned().map(Into::into).collect(),
        }
    }

    /// The same of an emulation that goes by `seed`: where the scenario names another, that is noted. Six zeros name
    /// none.
    pub(crate) fn of_run(mut self, seed: [u32; 6]) -> Self {
        let words = self.scenario.get("seed").and_then(Value::as_array);
        let named: Vec<u64> = words.into_iter().flatten().filter_map(Value::as_u64).collect();
        if named.iter().any(|word| *word != 0) && named != seed.map(u64::from) {
            let [goes, named] = [seed.map(u64::from).to_vec(), named]
                .map(|words| words.iter().map(u64::to_string).collect::<Vec<_>>().join(","));
            self.notes.push(EmulationWarning::SeedOfStart { seed: goes, scenario_seed: named }.into());
        }
        self
    }
}

/// What comes with romer.
pub(crate) fn presets() -> Vec<PresetShown> {
    PRESETS
        .iter()
        .map(|preset| {
            let about = preset.scenario().map(|scenario| scenario.about).unwrap_or_default();
            PresetShown {
                name: preset.name.into(),
                title: about.title,
                source: about.source,
                year: about.year,
                note: about.note,
                toml: preset.text.into(),
                scenario: json_of(preset.text),
            }
        })
        .collect()
}

/// A TOML text as JSON; nothing where it is no TOML.
pub(crate) fn json_of(text: &str) -> Map<String, Value> {
    match DeTable::parse(text) {
        Ok(table) => table_of(table.get_ref()),
        Err(_) => Map::new(),
    }
}

fn table_of(table: &DeTable<'_>) -> Map<String, Value> {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), value_of(value.get_ref()))).collect()
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace(['_', '+'], "");
            i64::from_str_radix(&digits, number.radix()).map_or(Value::Null, |number| json!(number))
        }
        DeValue::Float(number) => number
            .as_str()
            .replace('_', "")
            .parse::<f64>()
            .ok()
            .and_then(Number::from_f64)
            .map_or(Value::Null, Value::Number),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(list) => list.iter().map(|item| value_of(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(table_of(table)),
    }
}

/// A scenario in JSON as the text of a file.
fn text_of(scenario: &Map<String, Value>) -> Result<String, Problem> {
    let mut text = String::new();
    write_table(&mut text, "", scenario, 0)?;
    Ok(text)
}

fn place(key: &str) -> usize {
    ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len())
}

fn in_order(table: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = table.iter().filter(|(_, value)| !value.is_null()).collect();
    entries.sort_by_key(|(key, _)| place(key));
    entries
}

/// Plain values first, then tables under headers of their own; what lies deeper is written in line.
fn write_table(
    text: &mut String,
    name: &str,
    table: &Map<String, Value>,
    depth: usize,
) -> Result<(), Problem> {
    let entries = in_order(table);
    let has_header = |key: &str, value: &Value| {
        let table_inside = value.is_object() && depth < 2;
        let listed = depth == 0 && is_list_of_tables(value);
        (table_inside && key != "match") || listed
    };
    for (key, value) in entries.iter().filter(|(key, value)| !has_header(key, value)) {
        let _ = write!(text, "{} = ", key_of(key));
        write_value(text, value, &full(name, key), 0)?;
        text.push('\n');
    }
    for (key, value) in entries.iter().filter(|(key, value)| has_header(key, value)) {
        let full = full(name, &key_of(key));
        match value {
            Value::Object(inner) => {
                let only_tables = depth == 0
                    && !inner.is_empty()
                    && inner.iter().all(|(key, value)| value.is_object() && key != "match");
                if !only_tables {
                    header(text, &format!("[{full}]"));
                }
                write_table(text, &full, inner, depth + 1)?;
            }
            Value::Array(list) => {
                for inner in list.iter().filter_map(Value::as_object) {
                    header(text, &format!("[[{full}]]"));
                    write_table(text, &full, inner, depth)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_list_of_tables(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_object))
}

fn header(text: &mut String, header: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(header);
    text.push('\n');
}

fn full(name: &str, key: &str) -> String {
    if name.is_empty() { key.into() } else { format!("{name}.{key}") }
}

fn key_of(key: &str) -> String {
    let bare =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if bare { key.into() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn write_value(text: &mut String, value: &Value, name: &str, depth: usize) -> Result<(), Problem> {
    if depth > DEEPEST {
        return Err(Problem::unprocessable("scenario", format!("{name} is nested too deeply")));
    }
    match value {
        Value::Null => {
            let detail = format!("{name} has a list with null in it; leave it out");
            return Err(Problem::unprocessable("scenario", detail));
        }
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => {
                let _ = write!(text, "{whole}");
            }
            (None, Some(real)) => {
                let _ = write!(text, "{real:?}");
            }
            _ => text.push('0'),
        },
        Value::String(string) => text.push_str(&quoted(string)),
        Value::Array(list) => {
            text.push('[');
            for (number, item) in list.iter().enumerate() {
                if number > 0 {
                    text.push_str(", ");
                }
                write_value(text, item, name, depth + 1)?;
            }
            text.push(']');
        }
        Value::Object(table) => {
            text.push_str("{ ");
            for (number, (key, value)) in in_order(table).into_iter().enumerate() {
                if number > 0 {
                    text.push_str(", ");
                }
                let _ = write!(text, "{} = ", key_of(key));
                write_value(text, value, name, depth + 1)?;
            }
            text.push_str(" }");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_json(value: &Value) -> ScenarioRequest {
        ScenarioRequest { scenario: value.as_object().cloned(), ..ScenarioRequest::default() }
    }

    fn reading(given: ScenarioRequest) -> Result<ScenarioDocument, Problem> {
        read(given, &BTreeMap::new())
    }

    /// Every preset is unchanged by a conversion to JSON and back.
    #[test]
    fn presets_survive_json() {
        for preset in PRESETS {
            let json = json_of(preset.text);
            let back =
                reading(ScenarioRequest { scenario: Some(json.clone()), ..ScenarioRequest::default() })
                    .unwrap();
            assert_eq!(back.scenario.config, preset.scenario().unwrap().config, "{}", preset.name);
            assert_eq!(json_of(&back.toml), json, "{}", preset.name);
        }
    }

    /// Flows, timelines and chains are unchanged by a conversion to JSON and back.
    #[test]
    fn structures_survive_json() {
        let text = r#"
            [a_to_b.loss]
            model = "markov"
            step = "time"
            transition = [[0.5, 0.5], [1.0, 0.0]]
            state = [{ duration = "5s", probability = 0.0 }, { duration = "1s", probability = 1.0 }]
            [[flow]]
            match = { dscp = 46, protocol = "udp" }
            [flow.a_to_b.delay]
            fixed = "30ms"
            variable = { model = "normal", mean = "50us", stddev = "10us" }
            [[timeline]]
            at = "10s"
            ramp = "5s"
            [timeline.b_to_a.loss]
            probability = 0.5
            [timeline_repeat]
            every = "60s"
        "#;
        let first =
            reading(ScenarioRequest { toml: Some(text.into()), ..ScenarioRequest::default() }).unwrap();
        let second =
            reading(ScenarioRequest { scenario: Some(json_of(text)), ..ScenarioRequest::default() }).unwrap();
        assert_eq!(first.scenario.config, second.scenario.config, "{}", second.toml);
    }

    /// A seed that differs from that of the run is recognised.
    #[test]
    fn foreign_seeds_are_recognised() {
        let of =
            |text: &str| ScenarioForms::read(text, &BTreeMap::new(), &[]).of_run([1, 2, 3, 4, 5, 6]).notes;
        let [seed, scenario_seed] = ["1,2,3,4,5,6", "1,2,3,4,5,7"].map(str::to_owned);
        let expected = EmulationWarning::SeedOfStart { seed, scenario_seed };
        assert_eq!(of("seed = [1, 2, 3, 4, 5, 7]\n"), [expected.into()]);
        for same in ["", "seed = [1, 2, 3, 4, 5, 6]\n", "seed = [0, 0, 0, 0, 0, 0]\n"] {
            assert_eq!(of(same), [], "{same}");
        }
    }

    /// A sent file may use any line ending, and is never unpacked.
    #[test]
    fn sent_files_may_use_any_line_end() {
        let sent = |text: &str| {
            let files = BTreeMap::from([("t.csv".to_owned(), text.to_owned())]);
            let toml = Some("[trace]\nfile = \"t.csv\"\nformat = \"pham\"\n".to_owned());
            reading(ScenarioRequest { toml, files, ..ScenarioRequest::default() })
        };
        let lines = sent("1,0,0,0,1000\n2,1,0,0,7\n").unwrap();
        let returns = sent("1,0,0,0,1000\r2,1,0,0,7\r").unwrap();
        assert_eq!(returns.scenario.config, lines.scenario.config);
        assert_eq!(returns.files["t.csv"], "1,0,0,0,1000\r2,1,0,0,7\r", "it is kept as it was sent");
        for packed in ["\u{1f}\u{8b}\u{8}\0", "\u{1f}\u{fffd}\u{8}\0"] {
            let problem = sent(packed).unwrap_err();
            assert_eq!(problem.status(), 422);
            let told = serde_json::to_string(&problem).unwrap();
            assert!(told.contains("compressed by gzip") && told.contains("gunzip"), "{told}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_field() {
        let unknown = reading(of_json(&json!({"a_to_b": {"los": {}}}))).unwrap_err();
        assert_eq!(unknown.status(), 422);
        let text = serde_json::to_string(&unknown).unwrap();
        assert!(text.contains("did you mean loss") && text.contains("\"field\":\"a_to_b.los\""), "{text}");
        let range = reading(of_json(&json!({"a_to_b": {"loss": {"probability": 150}}}))).unwrap_err();
        assert_eq!(range.status(), 422);
        let text = serde_json::to_string(&range).unwrap();
        assert!(text.contains("a_to_b.loss.probability") && text.contains("from 0 to 1"), "{text}");
        let toml = ScenarioRequest {
            toml: Some("seed = [1]\n[a_to_b.loss]\nprobability = 2".into()),
            ..ScenarioRequest::default()
        };
        assert!(serde_json::to_string(&reading(toml).unwrap_err()).unwrap().contains("line"));
        // One code for all that is wrong with a scenario, with its place in the text.
        for (text, line, column) in [
            ("[a_to_b.los]\nprobability = 0.5", 1, 9),
            ("[a_to_b.delay]\nfixed = \"10\"", 2, 9),
            ("[a_to_b.delay]\nfixed 10", 2, 7),
        ] {
            let problem = reading(ScenarioRequest { toml: Some(text.into()), ..ScenarioRequest::default() })
                .unwrap_err();
            assert_eq!(problem.status(), 422, "{text}");
            let told = serde_json::to_value(&problem).unwrap();
            let place = (&told["errors"][0]["line"], &told["errors"][0]["column"]);
            assert_eq!(place, (&json!(line), &json!(column)), "{text}: {told}");
        }
        let neither = reading(ScenarioRequest::default()).unwrap_err();
        assert_eq!(neither.status(), 400);
        let file = reading(of_json(&json!({"trace": {"file": "../../etc/passwd", "format": "pham"}})));
        assert_eq!(file.unwrap_err().status(), 422);
    }

    /// All errors are reported, and nothing that is valid.
    #[test]
    fn all_errors_and_only_errors() {
        let wrong = json!({
            "a_to_b": {
                "loss": {"model": "markov", "step": "packets", "transition": [[0.5, 0.4], [0.2, 0.2]],
                         "state": [{"duration": 0, "probability": 0.0}, {"duration": 1, "probability": 7}]},
                "delay": {"fixed": "20", "variable": {"model": "uniform", "low": "1", "high": "2ms"}},
                "reorder": {"probability": 0.1, "displacement": {"model": "uniform", "low": 1, "high": 3}},
                "rate": {"limit": "10Mbit", "layer": "l9", "queue": {"bytes": "64KiB"}},
            },
            "b_to_a": {"duplicate": {"model": "bernouli", "probability": 4}, "los": {}},
            "flow": [{"match": {"dscp": 46}, "a_to_b": {"corrupt": {"probability": -1}}}],
        });
        let problem = reading(of_json(&wrong)).unwrap_err();
        let told = serde_json::to_value(&problem).unwrap();
        let mut fields: Vec<_> =
            told["errors"].as_array().unwrap().iter().map(|error| error["field"].as_str().unwrap()).collect();
        fields.sort_unstable();
        let expected = [
            "a_to_b.delay.fixed",
            "a_to_b.delay.variable.low",
            "a_to_b.loss.state[1].duration",
            "a_to_b.loss.state[2].probability",
            "a_to_b.loss.transition",
            "a_to_b.rate.layer",
            "b_to_a.duplicate.model",
            "b_to_a.los",
            "flow[1].a_to_b.corrupt.probability",
        ];
        assert_eq!(fields, expected);
    }

    #[test]
    fn one_fault_is_told_once_wherever_it_is() {
        for (value, field) in [
            (json!({"a_to_b": {"delay": {"fixed": "20"}}}), "a_to_b.delay.fixed"),
            (
                json!({"a_to_b": {"delay": {"variable": {"model": "uniform", "low": "5ms", "high": "1ms"}}}}),
                "high",
            ),
            (
                json!({"a_to_b": {"loss": {"model": "markov", "transition": [[1]], "state": [{"duration": 1, "probability": 0}]}}}),
                "loss",
            ),
            (json!({"seed": [1, 2]}), "seed"),
            (json!({"a_to_b": {"loss": 3}}), "a_to_b.loss"),
            (json!({"timeline": [{"a_to_b": {}}]}), "timeline[1]"),
        ] {
            let told = serde_json::to_value(reading(of_json(&value)).unwrap_err()).unwrap();
            let errors = told["errors"].as_array().unwrap();
            assert_eq!(errors.len(), 1, "{told}");
            assert!(errors[0]["field"].as_str().unwrap().contains(field) || field == "high", "{told}");
        }
    }

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(|number| json!(number)),
            (-1e12..1e12).prop_map(|number: f64| json!(number)),
            ".{0,12}".prop_map(Value::String),
        ]
    }

    proptest! {
        /// Any JSON is converted to TOML of the same meaning.
        #[test]
        fn json_and_toml_are_equal(
            value in leaf().prop_recursive(4, 24, 4, |inner| prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                proptest::collection::btree_map("[a-z_]{1,6}|match|flow", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ])
        ) {
            let scenario: Map<String, Value> = [("flow".to_owned(), value)].into_iter().collect();
            let text = text_of(&scenario).unwrap();
            prop_assert_eq!(json_of(&text), scenario, "{}", text);
        }
    }
}
