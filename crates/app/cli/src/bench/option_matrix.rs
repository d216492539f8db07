//! Which options can be combined: an option that would have no effect is an error.

use super::stream::StreamArgument;
use crate::args::{DisciplineName, ProcedureArgs, SearchName};
use crate::failure::Failure;

/// The first option that would have no effect beside the others, as it is written, and why.
fn ineffective(asked: &ProcedureArgs) -> Option<(String, &'static str)> {
    let device = asked.shared().1?;
    let mut profile = false;
    let mut weighted = false;
    match asked {
        ProcedureArgs::Throughput(own) if own.exceed_ratio.is_some() && own.how != Some(SearchName::Mlr) => {
            return Some(("--exceed-ratio".to_owned(), "only --search mlr forgives bad trials"));
        }
        ProcedureArgs::Policing(own) => profile = own.profile.is_some(),
        ProcedureArgs::Priority(own) => weighted = own.discipline == Some(DisciplineName::Weighted),
        _ => {}
    }
    let judged = matches!(asked, ProcedureArgs::Policing(_) | ProcedureArgs::Priority(_));
    let claims = &device.claims;
    let marked =
        [&claims.markings, &claims.vlans, &claims.priorities, &claims.ecns].iter().any(|all| !all.is_empty());
    if claims.require_verdicts && !marked && !judged {
        let why = "there is no claim to decide (--expect-marking and others)";
        return Some(("--require-verdicts".to_owned(), why));
    }
    let streams = &device.frames.streams;
    let has_own = |stream: &StreamArgument| stream.options.profile.is_some();
    if profile && !streams.is_empty() && streams.iter().all(has_own) {
        return Some(("--profile".to_owned(), "every stream has a profile of its own (--stream profile=)"));
    }
    let said = |key: &str, is_it: &dyn Fn(&StreamArgument) -> bool| {
        let (number, stream) = streams.iter().enumerate().find(|(_, stream)| is_it(stream))?;
        Some(format!("--stream name={},{key}=", named(&stream.options.name, number)))
    };
    if let Some(flag) = said("weight", &|stream| stream.has_weight && !weighted) {
        return Some((flag, "only priority --discipline weighted weighs streams"));
    }
    if let Some(flag) = said("expect", &|stream| stream.options.expect_drop && judged) {
        return Some((
            flag,
            "this procedure judges what it passes of each stream by a profile or a discipline",
        ));
    }
    let policing = matches!(asked, ProcedureArgs::Policing(_));
    let flag = said("profile", &|stream| has_own(stream) && !policing)?;
    Some((flag, "only the procedure policing judges a policer"))
}

/// The name of a stream, which is its number where none was given.
pub(super) fn named(given: &str, number: usize) -> String {
    if given.is_empty() { number.to_string() } else { given.to_owned() }
}

/// Refuses what would have no effect beside the others.
///
/// # Errors
/// The first option that would have none, with why.
pub(super) fn check(asked: &ProcedureArgs) -> Result<(), Failure> {
    ineffective(asked).map_or(Ok(()), |(flag, why)| {
        Err(Failure::usage(format!("an argument does not apply ({flag}): {why}; leave it out")))
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::bench::options::options;
    use crate::bench::{ParsedWords, procedures};

    /// Every option of `romer bench`, a value for it that is not what is so without it, and words that it needs beside it.
    const SAMPLES: [(&str, &[&str]); 48] = [
        ("tx", &["--tx=x"]),
        ("rx", &["--rx=y"]),
        ("source", &["--source=198.18.0.9"]),
        ("destination", &["--destination=198.19.0.9"]),
        ("next-hop", &["--next-hop=02:00:00:00:00:09"]),
        ("frame-sizes", &["--frame-sizes=100"]),
        ("imix", &["--imix=simple"]),
        ("loads", &["--loads=37%"]),
        ("line-rate", &["--line-rate=7Mbit"]),
        ("loss-ratio", &["--loss-ratio=1%"]),
        ("search", &["--search=mlr"]),
        ("exceed-ratio", &["--exceed-ratio=10%", "--search=mlr"]),
        ("stream", &["--stream=name=z,dscp=ef"]),
        ("resolution", &["--resolution=3%"]),
        ("trial", &["--trial=7s"]),
        ("search-trial", &["--search-trial=3s"]),
        ("repeat", &["--repeat=3"]),
        ("settle", &["--settle=5s"]),
        ("patience", &["--patience=7s"]),
        ("case", &["--case=a=true"]),
        ("case-time", &["--case-time=7s"]),
        ("reset", &["--reset=reload"]),
        ("dut-label", &["--dut-label=model=R"]),
        ("skip-self-test", &["--skip-self-test"]),
        ("subtract-baseline", &["--subtract-baseline"]),
        ("seed", &["--seed=1,1,1,1,1,1"]),
        ("dry-run", &["--dry-run"]),
        ("profile", &["--profile=625pps,21"]),
        ("discipline", &["--discipline=fifo", "--capacity=1Mbit"]),
        ("capacity", &["--capacity=2Mbit", "--discipline=strict"]),
        ("expect-marking", &["--expect-marking=cs0=ef"]),
        ("expect-vlan", &["--expect-vlan=untagged=10"]),
        ("expect-priority", &["--expect-priority=untagged=3"]),
        ("expect-ecn", &["--expect-ecn=not-ect=ce"]),
        ("allow-anomalies", &["--allow-anomalies=order"]),
        ("excess-marking", &["--excess-marking=cs0=cs1"]),
        ("require-verdicts", &["--require-verdicts", "--expect-marking=cs0=cs0"]),
        ("limit", &["--limit=loss_ratio<=1%"]),
        ("html", &["--html=x"]),
        ("svg", &["--svg=x"]),
        ("pcapng", &["--pcapng=x"]),
        ("pcapng-trial", &["--pcapng-trial=2", "--pcapng=x"]),
        ("resume", &["--resume=x"]),
        ("out", &["--out=x"]),
        ("json", &["--json=x"]),
        ("force", &["--force"]),
        ("quiet", &["--quiet"]),
        ("color", &["--color=always"]),
    ];
    /// Options that say where results go, and how they are shown: they change nothing of what is asked for.
    const OUTWARD: [&str; 13] = [
        "dry-run",
        "require-verdicts",
        "limit",
        "html",
        "svg",
        "pcapng",
        "pcapng-trial",
        "resume",
        "out",
        "json",
        "force",
        "quiet",
        "color",
    ];

    /// What the words come to, in words: all that the trials depend on, and how patient they are.
    fn plan_text(procedure: &str, words: &[&str]) -> Result<String, String> {
        let base =
            ["--tx=a", "--rx=b", "--source=198.18.0.2", "--destination=198.19.0.2", "--seed=1,2,3,4,5,6"];
        let needed: &[&str] = match procedure {
            "policing" => &["--profile=625pps,20"],
            "priority" => &["--discipline=strict", "--capacity=1Mbit"],
            "reset" => &["--reset=reboot"],
            _ => &[],
        };
        let flag = |word: &str| word.split('=').next().unwrap().to_owned();
        let said = |word: &&&str| !words.iter().any(|other| flag(other) == flag(word));
        let mut all = vec![procedure];
        all.extend(base.iter().chain(needed).filter(said).copied());
        all.extend(words);
        let read = ParsedWords::parse(all.iter().map(OsString::from))
            .map_err(|failure| failure.text().to_owned())?;
        let ParsedWords::Procedure(asked) = read else { panic!("{all:?}") };
        let options = options(&asked).map_err(|failure| failure.text().to_owned())?;
        Ok(format!("{:?} {} {}", options.settings(), options.patience, options.case_time))
    }

    /// Every option of a procedure has an effect on it, and every other option is unknown to it.
    #[test]
    fn options_have_an_effect() {
        let mut refusals = 0;
        for procedure in procedures::procedures() {
            let plain = plan_text(procedure.get_name(), &[]).unwrap();
            let known: Vec<&str> = procedure.get_arguments().filter_map(clap::Arg::get_long).collect();
            for long in &known {
                let is_sampled = SAMPLES.iter().any(|(name, _)| name == long);
                assert!(is_sampled, "{long} is in no table: has it an effect?");
            }
            for (name, words) in SAMPLES {
                let limit: &[&str] = match procedure.get_name() {
                    "throughput" | "back-to-back" | "recovery" => &["--limit=throughput_percent>=1%"],
                    "reset" => &["--limit=reset_by_loss_ns<1s"],
                    _ => words,
                };
                let words = if name == "limit" { limit } else { words };
                let with = plan_text(procedure.get_name(), words);
                if known.contains(&name) {
                    let with = with.unwrap();
                    let changes = with != plain || OUTWARD.contains(&name);
                    assert!(changes, "{}: --{name} has no effect", procedure.get_name());
                } else {
                    let text = with.unwrap_err();
                    assert!(text.starts_with("unknown option (--"), "{text}");
                    assert!(text.contains("; use it with `romer bench ") && !text.contains('\n'), "{text}");
                    refusals += 1;
                }
            }
        }
        // What a self-test has no use for alone is more than twenty.
        assert!(refusals > 80, "{refusals}");
    }

    #[test]
    fn verdicts_are_required_of_claims_only() {
        for procedure in ["latency", "load-sweep", "throughput", "reset"] {
            let text = plan_text(procedure, &["--require-verdicts"]).unwrap_err();
            assert!(
                text.starts_with(
                    "an argument does not apply (--require-verdicts): there is no claim to decide"
                ),
                "{text}"
            );
            assert!(plan_text(procedure, &["--require-verdicts", "--expect-ecn=not-ect=not-ect"]).is_ok());
        }
        assert!(
            plan_text("policing", &["--require-verdicts"]).is_ok()
                && plan_text("priority", &["--require-verdicts"]).is_ok()
        );
    }

    #[test]
    fn the_self_test_of_the_manual_has_all_that_it_needs() {
        let manual = include_str!("../../../../../docs/reference/bench-plan.md");
        let (_, command) = manual.split_once("`romer bench self-test --tx ").unwrap();
        let command = command.split_once('`').unwrap().0;
        for flag in ["--rx ", "--source ", "--destination "] {
            assert!(command.contains(flag), "{command}");
        }
    }

    #[test]
    fn a_limit_on_what_is_not_found_is_refused_before_the_benchmark() {
        let text = plan_text("throughput", &["--limit=loss_ratio<=1%"]).unwrap_err();
        assert!(
            text.contains("(--limit loss_ratio<=1%): throughput measures throughput_percent, "),
            "{text}"
        );
    }

    #[test]
    fn what_a_stream_says_has_an_effect_or_is_refused() {
        let weight = ["--stream=name=v,weight=3", "--stream=name=w"];
        let text = plan_text("load-sweep", &weight).unwrap_err();
        assert!(
            text.starts_with("an argument does not apply (--stream name=v,weight=): only priority"),
            "{text}"
        );
        let strict = ["--discipline=strict", "--capacity=1Mbit"];
        assert!(plan_text("priority", &[&weight[..], &strict].concat()).is_err());
        let weighted = ["--discipline=weighted", "--capacity=1Mbit"];
        assert!(plan_text("priority", &[&weight[..], &weighted].concat()).is_ok());
        assert!(
            "name=p,protocol=ip,ports=5001".parse::<StreamArgument>().unwrap_err().contains("has no ports")
        );
        assert!("name=p,ports=5001,protocol=tcp".parse::<StreamArgument>().is_ok());
    }
}
