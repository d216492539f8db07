//! The traffic of a plan as options of `romer measure`.

use std::ffi::OsString;

use romer_fleet::Token;
use romer_fleet::plan::{OptionValue, Plan, Traffic};
use romer_record::Exit;
use romer_scenario::nearest;

use crate::agent;
use crate::args::{self, Command, Invocation, MeasureArgs};
use crate::failure::Failure;

/// Options that a traffic has as keys of its own, or that contradict these.
const OF_THE_PLAN: [&str; 6] = ["interval", "size", "duration", "count", "packet-size", "rate"];

/// Refuses a plan with a traffic that `romer measure` does not accept. `shown` is the name of its file.
pub(super) fn check(plan: &Plan, shown: &str) -> Result<(), Failure> {
    for (name, traffic) in &plan.traffic {
        arguments(name, traffic, &["localhost".into()], shown)?;
    }
    Ok(())
}

/// The arguments of `romer measure` for a traffic and its targets. `shown` is the name of the plan for errors.
pub(super) fn arguments(
    name: &Token,
    traffic: &Traffic,
    targets: &[String],
    shown: &str,
) -> Result<Box<MeasureArgs>, Failure> {
    let fault = |what: String| {
        Failure::with_exit(Exit::BadData, format!("the traffic {name} cannot be used ({shown}): {what}"))
    };
    let words = words(traffic, targets).map_err(fault)?;
    match args::read(words.into_iter().map(OsString::from)) {
        Ok(Invocation::Run(args::Cli { command: Command::Measure(arguments), .. })) => Ok(arguments),
        Ok(_) => Err(Failure::own("the options of a traffic are those of another command (fleet)")),
        Err(failure) => Err(fault(failure.text().to_owned())),
    }
}

/// The command of a run with a traffic, without where it is saved. An error says what is wrong with an option, and what to do.
pub(super) fn words(traffic: &Traffic, targets: &[String]) -> Result<Vec<String>, String> {
    let known = agent::measurement_options();
    let own = |(option, _): &&(String, bool)| !OF_THE_PLAN.contains(&option.as_str());
    let mut words = vec![
        "romer".to_owned(),
        "measure".to_owned(),
        "--quiet".to_owned(),
        format!("--interval={}ns", traffic.interval_ns.as_nanos()),
        format!("--size={}", traffic.size),
        format!("--duration={}ns", traffic.run_length().as_nanos()),
    ];
    for (option, value) in &traffic.options {
        let Some((_, takes_value)) = known.iter().filter(own).find(|(known, _)| known == option) else {
            let options = known.iter().filter(own).map(|(known, _)| known.as_str());
            return Err(nearest(option, options).map_or_else(
                || format!("it cannot have the option {option}; see `romer measure --help` for the options"),
                |near| format!("it cannot have the option {option}; did you mean {near}?"),
            ));
        };
        let with_value = |value: &String| format!("--{option}={value}");
        match value {
            OptionValue::Flag(flag) if *takes_value => {
                return Err(format!("{option} takes a text or a number, and not {flag}; write its value"));
            }
            OptionValue::Flag(true) => words.push(format!("--{option}")),
            OptionValue::Flag(false) => {}
            OptionValue::Value(value) => words.push(with_value(value)),
            OptionValue::Values(values) => words.extend(values.iter().map(with_value)),
        }
    }
    words.push("--".to_owned());
    words.extend(targets.iter().cloned());
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use romer_units::Duration;

    use super::*;

    fn traffic(options: &[(&str, OptionValue)]) -> Traffic {
        Traffic {
            interval_ns: Duration::from_millis(20),
            size: 172,
            every_ns: Duration::from_secs(600),
            duration_ns: Some(Duration::from_secs(60)),
            options: options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    /// The example of the packages has options that `romer measure` accepts.
    #[test]
    fn example_is_accepted() {
        let text = include_str!("../../../../../packaging/fleet.toml");
        let plan = romer_fleet::plan::parse(text, "fleet.toml").unwrap();
        check(&plan, "fleet.toml").unwrap();
        let voice = &plan.traffic["voice"];
        let read = arguments(&"voice".parse().unwrap(), voice, &["h".into()], "fleet.toml").unwrap();
        assert_eq!((read.traffic.size, read.targets.len()), (Some(172), 1));
    }

    /// Options of the plan, unknown options and wrong values are refused, with the name of the traffic.
    #[test]
    fn wrong_options_are_refused() {
        let value = |text: &str| OptionValue::Value(text.into());
        for (options, said) in [
            (vec![("count", value("5"))], "it cannot have the option count"),
            (vec![("out", value("/tmp"))], "it cannot have the option out"),
            (vec![("stamp-onli", OptionValue::Flag(true))], "did you mean stamp-only?"),
            (vec![("dscp", OptionValue::Flag(true))], "dscp takes a text or a number"),
            (vec![("dscp", value("none of them"))], "(--dscp)"),
        ] {
            let failure =
                arguments(&"t".parse().unwrap(), &traffic(&options), &["h".into()], "p").unwrap_err();
            let text = failure.text();
            assert!(text.starts_with("the traffic t cannot be used (p): ") && text.contains(said), "{text}");
            assert_eq!(failure.exit(), Exit::BadData);
        }
        let read = arguments(&"t".parse().unwrap(), &traffic(&[]), &["h".into()], "p").unwrap();
        assert_eq!(read.traffic.size, Some(172));
    }
}
