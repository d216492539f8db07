//! `docs/reference/scenario.md` against the reader: its examples are read, it names every key and word that the reader knows and no
//! other, and its ranges and defaults are the reader's. `docs/scenario.schema.json` too: it has the reader's keys and words,
//! takes what the reader takes, and refuses what has another form.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

#[path = "../follows/mod.rs"]
mod follows;
mod schema;

use std::collections::BTreeSet;

use romer_scenario::{Scenario, parse};

const PAGE: &str = include_str!("../../../../../docs/reference/scenario.md");
/// Where keys and words stand in the reader's sources.
const READER: [&str; 2] = [include_str!("../../src/lib.rs"), include_str!("../../src/stages.rs")];
/// Keys that the reader has in a list, and not beside the call that asks for them.
const BESIDES: [&str; 2] = ["a_to_b", "b_to_a"];

/// Reads a scenario with the files that the page names; what is taken is as the schema says.
fn read(text: &str) -> Result<Scenario, String> {
    parse(text, "s.toml", &mut |file| match file {
        "delays.txt" => Ok("delay_ms\n20\n25.5\n21\n".into()),
        "link.up" => Ok("0\n5\n5\n20\n".into()),
        "packets.csv" => {
            let header = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns";
            Ok(format!("{header}\n0,172,1000,500,600,1900\n1,172,2000,1700,1800,3000\n"))
        }
        "both.csv" => {
            Ok("port,loss,duplication,reorder_distance,delay_us\n1,0,1,0,30000\n2,1,0,0,0\n".into())
        }
        "evening.toml" => Ok("a_to_b.delay.fixed=\"40ms\"\n".into()),
        other => Err(format!("is not there: {other}")),
    })
    .map_err(|error| error.to_string())
    .inspect(|_| assert_eq!(follows::faults(text), [""; 0], "{text}"))
}

/// What stands between two marks, wherever it does.
fn between<'t>(text: &'t str, open: &str, close: char) -> Vec<&'t str> {
    text.split(open).skip(1).filter_map(|rest| Some(rest.split_once(close)?.0)).collect()
}

fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || b"_-".contains(&c))
}

/// Every key that the reader asks a table for.
fn keys() -> BTreeSet<&'static str> {
    let asks = ["get(\"", "need(\"", "take(\"", "time(\"", "text(\""];
    let found = READER.iter().flat_map(|source| asks.iter().flat_map(|ask| between(source, ask, '"')));
    found.filter(|key| is_word(key)).chain(BESIDES).collect()
}

/// Every word that a key may have as its value: the reader lists them as `("word", meaning)`.
fn words() -> BTreeSet<&'static str> {
    let lists = READER.iter().flat_map(|source| source.split("(\"").skip(1));
    lists.filter_map(|rest| Some(rest.split_once("\", ")?.0)).filter(|word| is_word(word)).collect()
}

/// What the page has in backticks.
fn code() -> BTreeSet<&'static str> {
    let prose = PAGE.split("```").step_by(2).flat_map(|text| text.split('`').skip(1).step_by(2));
    prose.collect()
}

/// The rows of the tables of keys: key, value, and what holds without it, beneath a heading.
fn rows() -> Vec<(&'static str, Vec<&'static str>)> {
    let (mut heading, mut of_keys, mut rows) = ("", false, Vec::new());
    for line in PAGE.lines() {
        if let Some(words) = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
        {
            heading = words;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match cells[..] {
            ["", first, .., ""] if first.starts_with("key") => of_keys = true,
            ["", first, .., ""] if of_keys && !first.starts_with("---") => rows.push((heading, cells)),
            ["", _, .., ""] => {}
            _ => of_keys = false,
        }
    }
    rows
}

/// The row of a key beneath a heading.
fn row(heading: &str, key: &str) -> String {
    let key = format!("`{key}`");
    let found = rows().into_iter().find(|(under, cells)| *under == heading && cells[1].contains(&key));
    found.unwrap_or_else(|| panic!("no row of {key} beneath {heading}")).1.join("|")
}

#[test]
fn every_example_of_the_page_is_read() {
    let examples: Vec<&str> =
        PAGE.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect();
    assert!(examples.len() > 10, "one for each table");
    for example in examples {
        let scenario = read(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
        assert!(
            !scenario.notes.contains(&romer_record::warning::EmulationWarning::ScenarioEmpty),
            "{example}"
        );
    }
}

#[test]
fn every_key_and_word_that_the_reader_knows_is_named() {
    let (keys, words, code) = (keys(), words(), code());
    assert!(keys.len() > 60 && words.len() > 35, "{keys:?} {words:?}");
    let unnamed: Vec<&&str> = keys.iter().filter(|key| !code.contains(*key)).collect();
    assert!(unnamed.is_empty(), "keys that docs/reference/scenario.md does not name: {unnamed:?}");
    let named = |word: &str| {
        let quoted = format!("\"{word}\"");
        code.iter().any(|code| code.contains(&quoted)) || keys.contains(word)
    };
    let unnamed: Vec<&&str> = words.iter().filter(|word| !named(word)).collect();
    assert!(unnamed.is_empty(), "words that docs/reference/scenario.md does not name: {unnamed:?}");
}

#[test]
fn no_key_is_named_that_the_reader_does_not_know() {
    let keys = keys();
    let rows = rows();
    assert!(rows.len() > 40, "{}", rows.len());
    for (heading, cells) in rows {
        let unknown: Vec<&str> =
            cells[1].split('`').skip(1).step_by(2).filter(|key| !keys.contains(key)).collect();
        assert!(unknown.is_empty(), "beneath {heading}: {unknown:?}");
    }
}

const RATE: &str = "a_to_b.rate={limit=\"9Mbit\", layer=\"l2\", queue={";
const CHAIN: &str = "a_to_b.loss={model=\"markov\", transition=[[1]], ";

/// Heading, key, what its row says of the range, the scenario around the value, values within and beyond.
type Range = (&'static str, &'static str, &'static str, String, [&'static str; 2], [&'static str; 2]);

fn ranges() -> Vec<Range> {
    let at = |text: &str| text.to_owned();
    let hour = ["\"0s\"", "\"1h\""];
    let beyond = ["\"-1ns\"", "\"3600.000000001s\""];
    let delay = |text: &str| format!("a_to_b.delay={{{text}}}");
    let law = |text: &str| delay(&format!("variable={{{text}}}"));
    vec![
        (
            "Top level",
            "seed",
            "from 0 to 4294967295",
            at("seed=[1,2,3,4,5,@]"),
            ["0", "4294967295"],
            ["-1", "4294967296"],
        ),
        ("Top level", "about", "1900 to 2200", at("about.year=@"), ["1900", "2200"], ["1899", "2201"]),
        (
            "loss",
            "probability",
            "probability",
            at("a_to_b.loss.probability=@"),
            ["0", "\"100%\""],
            ["-0.1", "\"101%\""],
        ),
        (
            "loss",
            "correlation",
            "-1 to 1",
            at("a_to_b.loss={model=\"correlated\", probability=0.5, correlation=@}"),
            ["-1", "1"],
            ["-1.1", "1.1"],
        ),
        ("duplicate", "delay", "0s to 1h", at("a_to_b.duplicate={probability=1, delay=@}"), hour, beyond),
        (
            "reorder",
            "displacement",
            "whole numbers from 0 to 65535",
            at("a_to_b.reorder={probability=1, displacement={model=\"uniform\", low=0, high=@}}"),
            ["0", "65535"],
            ["-1", "65536"],
        ),
        (
            "reorder",
            "displacement",
            "from 0 to 65535, rounded",
            at("a_to_b.reorder={probability=1, displacement={model=\"normal\", mean=@, stddev=1}}"),
            ["0.0", "65535"],
            ["-0.5", "65536"],
        ),
        (
            "reorder",
            "flush",
            "1us to 1h",
            at("a_to_b.reorder={probability=1, flush=@}"),
            ["\"1us\"", "\"1h\""],
            ["\"999ns\"", "\"61m\""],
        ),
        ("delay", "fixed", "0s to 1h", delay("fixed=@"), hour, beyond),
        ("delay", "variable", "table", law("model=\"uniform\", low=\"0s\", high=@"), hour, beyond),
        (
            "delay",
            "variable",
            "table",
            law("model=\"pareto\", scale=@, shape=1"),
            ["\"1ns\"", "\"1h\""],
            ["\"0s\"", "\"2h\""],
        ),
        (
            "delay",
            "variable",
            "table",
            law("model=\"exponential\", mean=@"),
            ["\"1ns\"", "\"1h\""],
            ["\"0s\"", "\"2h\""],
        ),
        (
            "delay",
            "variable",
            "table",
            law("model=\"gamma\", scale=\"1ms\", shape=@"),
            ["0.001", "1000000"],
            ["0.0009", "1000001"],
        ),
        (
            "corrupt",
            "bits",
            "1 to 64",
            at("a_to_b.corrupt={probability=1, bits=@}"),
            ["1", "64"],
            ["0", "65"],
        ),
        (
            "rate",
            "bytes",
            "64B to 4GiB",
            format!("{RATE}bytes=@}}}}"),
            ["\"64B\"", "\"4GiB\""],
            ["\"63B\"", "\"5GiB\""],
        ),
        (
            "rate",
            "low",
            "1B to `bytes`",
            format!("{RATE}discipline=\"red\", low=@, high=\"64KiB\"}}}}"),
            ["\"1B\"", "\"65535B\""],
            ["\"0B\"", "\"64KiB\""],
        ),
        (
            "rate",
            "high",
            "1B to `bytes`",
            format!("{RATE}discipline=\"red\", low=\"1B\", high=@}}}}"),
            ["\"2B\"", "\"64KiB\""],
            ["\"1B\"", "\"65537B\""],
        ),
        (
            "rate",
            "target",
            "1us to 1h, target below interval",
            format!("{RATE}discipline=\"codel\", target=@, interval=\"1h\"}}}}"),
            ["\"1us\"", "\"59m\""],
            ["\"999ns\"", "\"1h\""],
        ),
        (
            "rate",
            "weight",
            "0 to 1",
            format!("{RATE}discipline=\"red\", weight=@}}}}"),
            ["0", "1"],
            ["-0.1", "1.1"],
        ),
        (
            "Markov chains",
            "duration",
            "1 to 1099511627776 packets",
            format!("{CHAIN}step=\"packets\", state=[{{duration=@, probability=1}}]}}"),
            ["1", "1099511627776"],
            ["0", "1099511627777"],
        ),
        (
            "Markov chains",
            "duration",
            "from 1us to 1d",
            format!("{CHAIN}step=\"time\", state=[{{duration=@, probability=1}}]}}"),
            ["\"1us\"", "\"1d\""],
            ["\"999ns\"", "\"25h\""],
        ),
        (
            "Markov chains",
            "initial",
            "from 1",
            format!("{CHAIN}initial=@, step=\"packets\", state=[{{duration=1, probability=1}}]}}"),
            ["1", "1"],
            ["0", "2"],
        ),
        (
            "Recorded networks",
            "fixed",
            "0s to 1h",
            at("a_to_b.trace={file=\"packets.csv\", format=\"measurement\", fixed=@}"),
            hour,
            beyond,
        ),
        ("Flows", "dscp", "0 to 63", at("[[flow]]\nmatch.dscp=@\na_to_b={}"), ["0", "63"], ["-1", "64"]),
        (
            "Flows",
            "protocol",
            "0 to 255",
            at("[[flow]]\nmatch.protocol=@\na_to_b={}"),
            ["0", "255"],
            ["-1", "256"],
        ),
        (
            "Flows",
            "source_port",
            "0 to 65535",
            at("[[flow]]\nmatch.source_port=@\na_to_b={}"),
            ["0", "65535"],
            ["-1", "65536"],
        ),
        (
            "Flows",
            "vlan",
            "0 to 4095",
            at("[[flow]]\nmatch.vlan=@\na_to_b={}"),
            ["0", "4095"],
            ["-1", "4096"],
        ),
        (
            "Flows",
            "ethertype",
            "0 to 65535",
            at("[[flow]]\nmatch.ethertype=@\na_to_b={}"),
            ["0", "65535"],
            ["-1", "65536"],
        ),
        (
            "Changes over time",
            "at",
            "0s to 365d",
            at("[[timeline]]\nat=@"),
            ["\"0s\"", "\"365d\""],
            ["\"-1s\"", "\"366d\""],
        ),
        (
            "Changes over time",
            "ramp",
            "0s to 365d",
            at("[[timeline]]\nat=\"1s\"\nramp=@"),
            ["\"0s\"", "\"365d\""],
            ["\"-1s\"", "\"366d\""],
        ),
        (
            "Changes over time",
            "every",
            "to 365d, longer than the timeline",
            at("[[timeline]]\nat=\"1s\"\n[timeline_repeat]\nevery=@"),
            ["\"2s\"", "\"365d\""],
            ["\"1s\"", "\"366d\""],
        ),
    ]
}

#[test]
fn the_ranges_are_those_of_the_page() {
    for (heading, key, words, around, within, beyond) in ranges() {
        assert!(row(heading, key).contains(words), "{heading}: {key} is not said to be {words}");
        for value in within {
            let text = around.replace('@', value);
            assert!(read(&text).is_ok(), "{:?}\n{text}", read(&text).err());
        }
        for value in beyond {
            let text = around.replace('@', value);
            assert!(read(&text).is_err(), "{text}");
        }
    }
}

#[test]
fn what_is_left_out_is_what_the_page_says() {
    let rate = "limit=\"9Mbit\", layer=\"l2\"";
    let chain = "model=\"markov\", step=\"packets\", transition=[[0,1],[1,0]], state=[{duration=1, probability=0}, {duration=2, probability=1}]";
    let measured = "file=\"packets.csv\", format=\"measurement\"";
    let whole = [
        ("Top level", "generator", "`\"counter\"`", String::new(), "generator=\"counter\"".to_owned()),
        (
            "loss",
            "model",
            "`\"bernoulli\"`",
            "a_to_b.loss={probability=1}".into(),
            "a_to_b.loss={model=\"bernoulli\", probability=1}".into(),
        ),
        (
            "loss",
            "loss_good",
            "|0 and 1|",
            "a_to_b.loss={model=\"gilbert-elliott\", p=0.1, r=0.2}".into(),
            "a_to_b.loss={model=\"gilbert-elliott\", p=0.1, r=0.2, loss_good=0, loss_bad=1}".into(),
        ),
        (
            "duplicate",
            "delay",
            "|0s|",
            "a_to_b.duplicate={probability=1}".into(),
            "a_to_b.duplicate={probability=1, delay=\"0s\"}".into(),
        ),
        (
            "reorder",
            "displacement",
            "|one packet|",
            "a_to_b.reorder={probability=1}".into(),
            "a_to_b.reorder={probability=1, displacement={model=\"uniform\", low=1, high=1}}".into(),
        ),
        (
            "reorder",
            "flush",
            "|100ms|",
            "a_to_b.reorder={probability=1}".into(),
            "a_to_b.reorder={probability=1, flush=\"100ms\"}".into(),
        ),
        (
            "delay",
            "fixed",
            "|0s|",
            "a_to_b.delay={}".into(),
            "a_to_b.delay={fixed=\"0s\", variable={model=\"none\"}}".into(),
        ),
        (
            "delay",
            "order",
            "|`\"exact\"`|",
            "a_to_b.delay={}".into(),
            "a_to_b.delay={order=\"exact\"}".into(),
        ),
        (
            "corrupt",
            "bits",
            "|1|",
            "a_to_b.corrupt={probability=1}".into(),
            "a_to_b.corrupt={probability=1, bits=1}".into(),
        ),
        (
            "corrupt",
            "repair_checksum",
            "|`false`|",
            "a_to_b.corrupt={probability=1}".into(),
            "a_to_b.corrupt={probability=1, repair_checksum=false}".into(),
        ),
        (
            "rate",
            "queue",
            "|64 KiB, tail drop|",
            format!("a_to_b.rate={{{rate}}}"),
            format!("a_to_b.rate={{{rate}, queue={{bytes=\"64KiB\", discipline=\"tail-drop\"}}}}"),
        ),
        (
            "rate",
            "low",
            "|an eighth and three eighths of `bytes`|",
            format!("{RATE}discipline=\"red\"}}}}"),
            format!("{RATE}discipline=\"red\", low=\"8KiB\", high=\"24KiB\"}}}}"),
        ),
        (
            "rate",
            "probability",
            "|0.1|",
            format!("{RATE}discipline=\"red\"}}}}"),
            format!("{RATE}discipline=\"red\", probability=0.1}}}}"),
        ),
        (
            "rate",
            "weight",
            "|0.002|",
            format!("{RATE}discipline=\"red\"}}}}"),
            format!("{RATE}discipline=\"red\", weight=0.002}}}}"),
        ),
        (
            "rate",
            "target",
            "|5ms and 100ms|",
            format!("{RATE}discipline=\"codel\"}}}}"),
            format!("{RATE}discipline=\"codel\", target=\"5ms\", interval=\"100ms\"}}}}"),
        ),
        (
            "Markov chains",
            "initial",
            "|1|",
            format!("a_to_b.loss={{{chain}}}"),
            format!("a_to_b.loss={{{chain}, initial=1}}"),
        ),
        (
            "Recorded networks",
            "by",
            "|`\"packet\"`|",
            format!("a_to_b.trace={{{measured}}}"),
            format!("a_to_b.trace={{{measured}, by=\"packet\"}}"),
        ),
        (
            "Recorded networks",
            "fixed",
            "|0s|",
            format!("a_to_b.trace={{{measured}}}"),
            format!("a_to_b.trace={{{measured}, fixed=\"0s\"}}"),
        ),
        (
            "Recorded networks",
            "direction",
            "|forward in `a_to_b`, reverse in `b_to_a`|",
            format!("b_to_a.trace={{{measured}}}"),
            format!("b_to_a.trace={{{measured}, direction=\"reverse\"}}"),
        ),
        (
            "Recorded networks",
            "order",
            "|`\"fifo\"`; with mahimahi that of delay|",
            format!("a_to_b.trace={{{measured}}}"),
            format!("a_to_b.trace={{{measured}, order=\"fifo\"}}"),
        ),
        (
            "Changes over time",
            "ramp",
            "|0s|",
            "[[timeline]]\nat=\"1s\"\na_to_b.loss.probability=1".into(),
            "[[timeline]]\nat=\"1s\"\nramp=\"0s\"\na_to_b.loss.probability=1".into(),
        ),
    ];
    for (heading, key, words, without, with) in whole {
        let row = row(heading, key);
        assert!(row.contains(words), "{heading}: {words} is not in {row}");
        let (without, with) = (read(&without).map(|s| s.config), read(&with).map(|s| s.config));
        assert_eq!(without.expect(key), with.expect(key), "{heading}: {key}");
    }
}

#[test]
fn what_is_needed_is_refused_where_it_is_missing() {
    for (heading, key, without) in [
        ("loss", "probability", "a_to_b.loss={}"),
        ("loss", "correlation", "a_to_b.loss={model=\"correlated\", probability=0.1}"),
        ("loss", "p", "a_to_b.loss={model=\"gilbert-elliott\"}"),
        ("loss", "p13", "a_to_b.loss={model=\"four-state\"}"),
        (
            "reorder",
            "displacement",
            "a_to_b.reorder={probability=1, displacement={model=\"normal\", mean=1}}",
        ),
        ("delay", "variable", "a_to_b.delay.variable={mean=\"1ms\"}"),
        ("rate", "limit", "a_to_b.rate={layer=\"l2\"}"),
        ("rate", "layer", "a_to_b.rate={limit=\"1Mbit\"}"),
        (
            "Markov chains",
            "step",
            "a_to_b.loss={model=\"markov\", transition=[[1]], state=[{duration=1, probability=1}]}",
        ),
        ("Markov chains", "state", "a_to_b.loss={model=\"markov\", step=\"packets\", transition=[[1]]}"),
        (
            "Markov chains",
            "duration",
            "a_to_b.loss={model=\"markov\", step=\"packets\", transition=[[1]], state=[{probability=1}]}",
        ),
        (
            "Markov chains",
            "transition",
            "a_to_b.loss={model=\"markov\", step=\"packets\", state=[{duration=1, probability=1}]}",
        ),
        ("Recorded networks", "file", "a_to_b.trace={format=\"mahimahi\"}"),
        ("Recorded networks", "format", "a_to_b.trace={file=\"link.up\"}"),
        ("Changes over time", "at", "[[timeline]]\na_to_b.delay.fixed=\"1ms\""),
        ("Changes over time", "every", "[[timeline]]\nat=\"1s\"\n[timeline_repeat]"),
    ] {
        assert!(row(heading, key).contains("required"), "{heading}: {key}");
        let error = read(without).expect_err(without);
        assert!(error.contains("has no"), "{without}: {error}");
    }
}
