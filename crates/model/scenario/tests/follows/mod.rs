//! Scenarios compared with `docs/scenario.schema.json`.

use romer_testing::schema;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

/// What is not in a scenario's text as the schema says.
pub(crate) fn faults(text: &str) -> Vec<String> {
    let document = DeTable::parse(text).unwrap();
    let root = serde_json::from_str(include_str!("../../../../../docs/scenario.schema.json")).unwrap();
    schema::faults(&table(document.get_ref()), &root, |pattern, text| {
        regex_lite::Regex::new(pattern).unwrap().is_match(text)
    })
}

fn table(of: &DeTable<'_>) -> Value {
    of.iter().map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref()))).collect()
}

fn json(of: &DeValue<'_>) -> Value {
    match of {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => {
            i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).unwrap().into()
        }
        DeValue::Float(number) => number.as_str().replace('_', "").parse::<f64>().unwrap().into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Datetime(moment) => moment.to_string().into(),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(inner) => table(inner),
    }
}
