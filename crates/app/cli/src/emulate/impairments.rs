//! The impairments of the command line, as a scenario file has them.

use romer_units::Rate;
use toml::{Table, Value};

use crate::args::ImpairmentArgs;
use crate::failure::Failure;

/// `scenario` with the impairments that are given, in both directions, also of its flows.
///
/// A probability or a rate replaces that of its stage. A delay replaces the fixed part, and a jitter the random part: in each
/// state, where the stage is a Markov chain.
///
/// # Errors
/// A queue without a rate.
pub(super) fn apply(scenario: &str, given: &ImpairmentArgs) -> Result<String, Failure> {
    let mut top = scenario.parse::<Table>().map_err(Failure::own)?;
    let mut has_rate = false;
    for direction in ["a_to_b", "b_to_a"] {
        let table = inner(&mut top, direction)?;
        has_rate |= apply_to(table, given)?;
    }
    if let Some(flows) = top.get_mut("flow").and_then(Value::as_array_mut) {
        for flow in flows.iter_mut().filter_map(Value::as_table_mut) {
            for direction in ["a_to_b", "b_to_a"] {
                if let Some(table) = flow.get_mut(direction).and_then(Value::as_table_mut) {
                    has_rate |= apply_to(table, given)?;
                }
            }
        }
    }
    if given.queue.is_some() && !has_rate {
        return Err(Failure::usage(
            "the queue has no rate (--queue): without a rate limit nothing waits; e.g. --rate 10Mbit --queue 64KiB",
        ));
    }
    toml::to_string(&top).map_err(Failure::own)
}

/// Applies the impairments to the stages of one direction. Returns whether it has a rate.
fn apply_to(direction: &mut Table, given: &ImpairmentArgs) -> Result<bool, Failure> {
    for (stage, probability) in
        [("loss", given.loss), ("duplicate", given.duplicate), ("reorder", given.reorder)]
    {
        if let Some(probability) = probability {
            let decision = [("probability".to_owned(), Value::Float(probability))];
            direction.insert(stage.into(), Value::Table(decision.into_iter().collect()));
        }
    }
    if given.delay.is_some() || given.jitter.is_some() {
        let stage = inner(direction, "delay")?;
        match stage.get_mut("state").and_then(Value::as_array_mut) {
            Some(states) => {
                states.iter_mut().filter_map(Value::as_table_mut).for_each(|state| delay(state, given));
            }
            None => delay(stage, given),
        }
    }
    if let Some(limit) = given.rate {
        let limit = match limit {
            Rate::Bits(bits) => format!("{bits}bit"),
            Rate::Packets(packets) => format!("{packets}pps"),
        };
        let stage = inner(direction, "rate")?;
        stage.insert("limit".into(), Value::String(limit));
        stage.entry("layer").or_insert_with(|| Value::String("l2".into()));
    }
    let Some(stage) = direction.get_mut("rate").and_then(Value::as_table_mut) else { return Ok(false) };
    if let Some(octets) = given.queue {
        inner(stage, "queue")?.insert("bytes".into(), Value::String(format!("{octets}B")));
    }
    Ok(true)
}

/// Sets the fixed and the random part of a delay.
fn delay(stage: &mut Table, given: &ImpairmentArgs) {
    if let Some(fixed) = given.delay {
        stage.insert("fixed".into(), Value::String(fixed.to_string()));
    }
    match given.jitter {
        Some(mean) if mean.as_nanos() > 0 => {
            let random = [("model", "exponential".to_owned()), ("mean", mean.to_string())];
            let random = random.map(|(key, value)| (key.to_owned(), Value::String(value)));
            stage.insert("variable".into(), Value::Table(random.into_iter().collect()));
        }
        Some(_) => {
            stage.remove("variable");
        }
        None => {}
    }
}

/// The table of this name, which is made where it is missing.
fn inner<'t>(table: &'t mut Table, key: &str) -> Result<&'t mut Table, Failure> {
    let value = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
    value.as_table_mut().ok_or_else(|| Failure::own(format!("{key} of the scenario is no table")))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use romer_impair::config::{Model, RateLimit};
    use romer_impair::{Decision, DelayDistribution, Path};
    use romer_units::{Layer, Rate};

    use super::*;

    #[derive(Debug, Parser)]
    struct Options {
        #[command(flatten)]
        impairments: ImpairmentArgs,
    }

    fn applied(scenario: &str, options: &str) -> Result<[Path; 2], String> {
        let given = Options::try_parse_from(["romer"].into_iter().chain(options.split_whitespace())).unwrap();
        let text = apply(scenario, &given.impairments).map_err(|failure| failure.text().to_owned())?;
        let opened = romer_emulate::read_scenario(&text, "the options").unwrap();
        let paths = opened.scenario.config.base.paths;
        Ok(paths.map(|paths| Path::clone(paths.first().and_then(Option::as_deref).unwrap())))
    }

    fn delays(path: &Path) -> Vec<(i64, Option<&DelayDistribution>)> {
        path.delay
            .all()
            .map(|delay| (delay.fixed, delay.variable.as_ref().map(|random| random.law())))
            .collect()
    }

    /// Without a scenario, each option is a stage of both directions.
    #[test]
    fn options_are_stages() {
        let options =
            "--delay 30ms --jitter 5ms --loss 1% --duplicate 2% --reorder 3% --rate 10Mbit --queue 20kB";
        for path in applied("", options).unwrap() {
            assert_eq!(path.loss, Model::Plain(Decision::Bernoulli { probability: 0.01 }));
            let duplicate = path.duplicate.all().next().unwrap();
            assert_eq!(duplicate.decision, Decision::Bernoulli { probability: 0.02 });
            let reorder = path.reorder.all().next().unwrap();
            assert_eq!(reorder.decision, Decision::Bernoulli { probability: 0.03 });
            assert_eq!(delays(&path), [(30_000_000, Some(&DelayDistribution::Exponential { mean: 5e6 }))]);
            let RateLimit { limit, layer, queue, .. } = path.rate.unwrap();
            assert_eq!((limit, layer, queue), (Rate::Bits(10_000_000), Layer::L2, 20_000));
        }
    }

    /// An option changes its own part of a scenario and leaves the others.
    #[test]
    fn options_keep_other_parts() {
        let scenario = "[a_to_b.loss]\nprobability = 0.5\n[a_to_b.delay]\nfixed = \"7ms\"\nvariable = { model = \
                        \"uniform\", low = \"0ms\", high = \"1ms\" }\n[a_to_b.rate]\nlimit = \"1Mbit\"\nlayer = \
                        \"l3\"\nqueue = { bytes = \"9kB\", discipline = \"codel\" }\n";
        let [changed, _] = applied(scenario, "--loss 2% --delay 9ms --rate 3Mbit").unwrap();
        let [before, _] = applied(scenario, "").unwrap();
        assert_eq!(changed.loss, Model::Plain(Decision::Bernoulli { probability: 0.02 }));
        let uniform = DelayDistribution::Uniform { low: 0.0, high: 1e6 };
        assert_eq!(delays(&changed), [(9_000_000, Some(&uniform))]);
        let limit = Rate::Bits(3_000_000);
        assert_eq!(changed.rate, before.rate.map(|rate| RateLimit { limit, ..rate }));
        let [calm, _] = applied(scenario, "--jitter 0ms").unwrap();
        assert_eq!(delays(&calm), [(7_000_000, None)]);
    }

    /// Every state of a chain gets the delay.
    #[test]
    fn delay_reaches_every_state() {
        let chain = "[a_to_b.delay]\nmodel = \"markov\"\nstep = \"packets\"\ntransition = [[0, 1], [1, 0]]\nstate = \
                     [{ duration = 1, fixed = \"1ms\" }, { duration = 2, fixed = \"2ms\" }]\n";
        let [path, _] = applied(chain, "--delay 4ms").unwrap();
        assert_eq!(delays(&path), [(4_000_000, None), (4_000_000, None)]);
    }

    /// A queue needs a rate; a scenario's own is enough.
    #[test]
    fn queue_needs_a_rate() {
        assert!(applied("", "--queue 64KiB").unwrap_err().contains("(--queue)"));
        let [path, _] =
            applied("[a_to_b.rate]\nlimit = \"1Mbit\"\nlayer = \"l3\"\n", "--queue 4KiB").unwrap();
        assert_eq!(path.rate.map(|rate| rate.queue), Some(4_096));
    }

    /// Every preset takes every option.
    #[test]
    fn presets_take_options() {
        let options =
            "--delay 30ms --jitter 5ms --loss 1% --duplicate 2% --reorder 3% --rate 10Mbit --queue 20kB";
        for preset in romer_scenario::PRESETS {
            for path in applied(preset.text, options).unwrap() {
                let loss = Model::Plain(Decision::Bernoulli { probability: 0.01 });
                assert_eq!(path.loss, loss, "{}", preset.name);
            }
        }
    }
}
