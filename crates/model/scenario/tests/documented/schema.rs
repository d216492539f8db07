//! `docs/scenario.schema.json` against the reader.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{follows, keys, read, words};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../../docs/scenario.schema.json")).unwrap()
}

/// Every key and every word that the schema has, below `schema`.
fn of_schema(schema: &Value, keys: &mut BTreeSet<String>, words: &mut BTreeSet<String>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match schema {
        Value::Array(schemas) => schemas.iter().for_each(|schema| of_schema(schema, keys, words)),
        Value::Object(members) => {
            for (name, inner) in members {
                match name.as_str() {
                    "const" => drop(words.insert(text(inner))),
                    "enum" => words.extend(inner.as_array().unwrap().iter().map(text)),
                    "properties" => {
                        keys.extend(inner.as_object().unwrap().keys().cloned());
                        inner.as_object().unwrap().values().for_each(|schema| of_schema(schema, keys, words));
                    }
                    _ => of_schema(inner, keys, words),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn the_schema_has_the_keys_and_words_of_the_reader_and_no_other() {
    let (mut found_keys, mut found_words) = (BTreeSet::new(), BTreeSet::new());
    of_schema(&schema(), &mut found_keys, &mut found_words);
    assert_eq!(found_keys, keys().into_iter().map(Into::into).collect::<BTreeSet<String>>());
    // What the reader asks for by name may look like a list's word.
    let words: BTreeSet<String> = words().into_iter().map(Into::into).collect();
    let beside =
        |words: BTreeSet<String>| -> Vec<String> { words.difference(&found_keys).cloned().collect() };
    assert_eq!(beside(found_words), beside(words));
}

#[test]
fn what_has_another_form_is_refused_by_the_schema_as_by_the_reader() {
    for text in [
        "a_to_c.loss={probability=0.1}",
        "seed=[1,2,3,4,5]",
        "seed=[1,2,3,4,5,4294967296]",
        "generator=\"dice\"",
        "about.year=\"1998\"",
        "about.author=\"me\"",
        "a_to_b=1",
        "a_to_b.los={probability=0.1}",
        "a_to_b.loss=0.1",
        "a_to_b.loss={}",
        "a_to_b.loss={probability=1.1}",
        "a_to_b.loss={probability=\"1\"}",
        "a_to_b.loss={probability=0.1, correlation=0.2}",
        "a_to_b.loss={model=\"correlated\", probability=0.1}",
        "a_to_b.loss={model=\"gilbert-elliott\", p=0.1}",
        "a_to_b.loss={model=\"four-state\", p13=0.1}",
        "a_to_b.duplicate={model=\"gilbert-elliott\", p=0.1, r=0.2}",
        "a_to_b.duplicate={probability=0.1, delay=5}",
        "a_to_b.reorder={probability=0.1, displacement={model=\"uniform\", low=1}}",
        "a_to_b.reorder={probability=0.1, displacement={model=\"uniform\", low=1, high=65536}}",
        "a_to_b.corrupt={probability=0.1, bits=65}",
        "a_to_b.corrupt={probability=0.1, repair_checksum=1}",
        "a_to_b.corrupt={model=\"markov\", step=\"packets\", transition=[[1]], state=[{duration=1, probability=1}]}",
        "a_to_b.delay.fixed=30",
        "a_to_b.delay.fixed=\"30\"",
        "a_to_b.delay.fixed=\"-1ms\"",
        "a_to_b.delay.order=\"any\"",
        "a_to_b.delay.model=\"normal\"",
        "a_to_b.delay.variable={model=\"normal\", mean=\"1ms\"}",
        "a_to_b.delay.variable={model=\"gamma\", scale=\"1ms\", shape=0}",
        "a_to_b.delay.variable={model=\"correlated\", distribution={model=\"none\"}, coefficient=0.5}",
        "a_to_b.loss={model=\"markov\", step=\"packets\", transition=[[1]], state=[]}",
        "a_to_b.loss={model=\"markov\", step=\"octets\", transition=[[1]], state=[{duration=1, probability=1}]}",
        "a_to_b.loss={model=\"markov\", step=\"packets\", transition=[[1]], state=[{duration=0, probability=1}]}",
        "a_to_b.rate={limit=\"1Mbit\"}",
        "a_to_b.rate={limit=\"1Mbit\", layer=\"l4\"}",
        "a_to_b.rate={limit=\"none\", layer=\"l2\"}",
        "a_to_b.rate={limit=\"1Mbit\", layer=\"l2\", queue={bytes=65536}}",
        "a_to_b.rate={limit=\"1Mbit\", layer=\"l2\", queue={discipline=\"codel\", low=\"16KiB\"}}",
        "a_to_b.trace={file=\"link.up\", format=\"mahimahi\", by=\"time\"}",
        "a_to_b.trace={file=\"link.up\", format=\"pham\"}",
        "trace={file=\"both.csv\", format=\"mahimahi\"}",
        "[[flow]]\na_to_b.delay.fixed=\"1ms\"",
        "[[flow]]\nmatch={dscp=64}\na_to_b.delay.fixed=\"1ms\"",
        "[[flow]]\nmatch={protocol=\"quic\"}\na_to_b.delay.fixed=\"1ms\"",
        "[[flow]]\nmatch={port=53}\na_to_b.delay.fixed=\"1ms\"",
        "[[timeline]]\na_to_b.delay.fixed=\"1ms\"",
        "[[timeline]]\nat=5\na_to_b.delay.fixed=\"1ms\"",
        "[[timeline]]\nat=\"1s\"\na_to_b.delay.fixed=\"1ms\"\n[timeline_repeat]",
    ] {
        read(text).expect_err(text);
        assert_ne!(follows::faults(text), [""; 0], "{text}");
    }
}
