//! Which option goes with which procedure: what would have no effect is refused.

use super::stream::StreamArgument;
use crate::args::ProcedureName::{
    self, BackToBack, Latency, LoadSweep, Policing, Priority, Recovery, Reset, SelfTest, Throughput,
};
use crate::args::{BenchArgs, DisciplineName, SearchName};
use crate::failure::Failure;

/// Whether a procedure searches for a load.
pub(super) const fn searches(name: ProcedureName) -> bool {
    matches!(name, Throughput | BackToBack | Recovery)
}

/// An option that only some procedures have a use for.
struct Applies {
    flag: &'static str,
    given: fn(&BenchArgs) -> bool,
    of: fn(ProcedureName) -> bool,
    /// Why it has no effect on the others, of which `self-test` may be told otherwise.
    why: &'static str,
}

/// What every procedure but the test of the tester takes.
const fn tests_a_device(name: ProcedureName) -> bool {
    !matches!(name, SelfTest)
}

/// Whether the loads are the user's to choose.
const fn has_loads(name: ProcedureName) -> bool {
    matches!(name, LoadSweep | Latency | Policing | Priority | Reset)
}

const SEARCHES: &str = "only throughput, back-to-back and recovery search for a load";
const OWN_FRAMES: &str = "a self-test sends frames of 64 octets in one stream of its own";
const NO_DEVICE: &str = "a self-test has no device";

/// All of them; an option that is not here goes with every procedure.
const TABLE: [Applies; 30] = [
    Applies {
        flag: "--frame-sizes",
        given: |a| a.load.frame_sizes.is_some(),
        of: tests_a_device,
        why: OWN_FRAMES,
    },
    Applies { flag: "--imix", given: |a| a.load.imix.is_some(), of: tests_a_device, why: OWN_FRAMES },
    Applies { flag: "--stream", given: |a| !a.load.streams.is_empty(), of: tests_a_device, why: OWN_FRAMES },
    Applies {
        flag: "--loads",
        given: |a| a.load.loads.is_some(),
        of: has_loads,
        why: "this procedure chooses its own loads",
    },
    Applies { flag: "--loss-ratio", given: |a| a.load.loss_ratio.is_some(), of: searches, why: SEARCHES },
    Applies { flag: "--resolution", given: |a| a.load.resolution.is_some(), of: searches, why: SEARCHES },
    Applies {
        flag: "--search-trial",
        given: |a| a.trials.search_trial.is_some(),
        of: searches,
        why: SEARCHES,
    },
    Applies {
        flag: "--search",
        given: |a| a.load.search.is_some(),
        of: |name| matches!(name, Throughput),
        why: "only a throughput is searched for in several ways",
    },
    Applies {
        flag: "--exceed-ratio",
        given: |a| a.load.exceed_ratio.is_some(),
        of: |name| matches!(name, Throughput),
        why: "only --search mlr forgives bad trials",
    },
    Applies {
        flag: "--repeat",
        given: |a| a.trials.repeat.is_some(),
        of: tests_a_device,
        why: "a self-test makes each test once, and again only where it was not held",
    },
    Applies { flag: "--case", given: |a| !a.trials.cases.is_empty(), of: tests_a_device, why: NO_DEVICE },
    Applies {
        flag: "--case-time",
        given: |a| a.trials.case_time.is_some(),
        of: tests_a_device,
        why: NO_DEVICE,
    },
    Applies {
        flag: "--dut-label",
        given: |a| !a.trials.labels.is_empty(),
        of: tests_a_device,
        why: NO_DEVICE,
    },
    Applies {
        flag: "--reset",
        given: |a| a.trials.reset.is_some(),
        of: |name| matches!(name, Reset),
        why: "only the procedure reset resets the device",
    },
    Applies {
        flag: "--skip-self-test",
        given: |a| a.trials.skip_self_test,
        of: tests_a_device,
        why: "the test of the tester is what was asked for",
    },
    Applies {
        flag: "--subtract-baseline",
        given: |a| a.trials.subtract_baseline,
        of: tests_a_device,
        why: "a self-test finds the baseline",
    },
    Applies {
        flag: "--profile",
        given: |a| a.claims.profile.is_some(),
        of: |name| matches!(name, Policing),
        why: "only the procedure policing judges a policer",
    },
    Applies {
        flag: "--discipline",
        given: |a| a.claims.discipline.is_some(),
        of: |name| matches!(name, Priority),
        why: "only the procedure priority judges a scheduler",
    },
    Applies {
        flag: "--capacity",
        given: |a| a.claims.capacity.is_some(),
        of: |name| matches!(name, Priority),
        why: "only the procedure priority judges a scheduler",
    },
    Applies {
        flag: "--expect-marking",
        given: |a| !a.claims.markings.is_empty(),
        of: tests_a_device,
        why: NO_DEVICE,
    },
    Applies {
        flag: "--expect-vlan",
        given: |a| !a.claims.vlans.is_empty(),
        of: tests_a_device,
        why: NO_DEVICE,
    },
    Applies {
        flag: "--expect-priority",
        given: |a| !a.claims.priorities.is_empty(),
        of: tests_a_device,
        why: NO_DEVICE,
    },
    Applies {
        flag: "--expect-ecn",
        given: |a| !a.claims.ecns.is_empty(),
        of: tests_a_device,
        why: NO_DEVICE,
    },
    Applies { flag: "--allow", given: |a| !a.claims.allow.is_empty(), of: tests_a_device, why: NO_DEVICE },
    Applies {
        flag: "--excess-marking",
        given: |a| !a.claims.excess.is_empty(),
        of: |name| matches!(name, Policing),
        why: "only the procedure policing judges a policer",
    },
    Applies {
        flag: "--require-verdicts",
        given: |a| a.claims.require_verdicts,
        of: tests_a_device,
        why: NO_DEVICE,
    },
    Applies {
        flag: "--limit",
        given: |a| !a.claims.limit.is_empty(),
        of: tests_a_device,
        why: "a self-test has claims and no results",
    },
    Applies {
        flag: "--svg",
        given: |a| a.svg.is_some(),
        of: tests_a_device,
        why: "a self-test has no figures",
    },
    Applies {
        flag: "--pcapng",
        given: |a| a.pcapng.is_some(),
        of: tests_a_device,
        why: "a self-test keeps no frames",
    },
    Applies {
        flag: "--resume",
        given: |a| a.resume.is_some(),
        of: tests_a_device,
        why: "a self-test is made anew",
    },
];

/// The first option that would have no effect on the procedure, as it is written, and why.
pub(super) fn ineffective(arguments: &BenchArgs, name: ProcedureName) -> Option<(String, &'static str)> {
    if let Some(row) = TABLE.iter().find(|row| (row.given)(arguments) && !(row.of)(name)) {
        return Some((row.flag.to_owned(), row.why));
    }
    if arguments.load.exceed_ratio.is_some() && arguments.load.search != Some(SearchName::Mlr) {
        return Some(("--exceed-ratio".to_owned(), "only --search mlr forgives bad trials"));
    }
    let claims = &arguments.claims;
    let marked =
        [&claims.markings, &claims.vlans, &claims.priorities, &claims.ecns].iter().any(|all| !all.is_empty());
    if claims.require_verdicts && !marked && !matches!(name, Policing | Priority) {
        let why = "no claim is asked for that could be left open (--expect-marking and its like)";
        return Some(("--require-verdicts".to_owned(), why));
    }
    let streams = &arguments.load.streams;
    let has_own = |stream: &StreamArgument| stream.options.profile.is_some();
    if arguments.claims.profile.is_some() && !streams.is_empty() && streams.iter().all(has_own) {
        return Some(("--profile".to_owned(), "every stream has a profile of its own (--stream profile=)"));
    }
    let said = |key: &str, is_it: &dyn Fn(&StreamArgument) -> bool| {
        let (number, stream) = streams.iter().enumerate().find(|(_, stream)| is_it(stream))?;
        Some(format!("--stream name={},{key}=", named(&stream.options.name, number)))
    };
    let weighted = arguments.claims.discipline == Some(DisciplineName::Weighted);
    if let Some(flag) = said("weight", &|stream| stream.has_weight && !weighted) {
        return Some((flag, "only priority --discipline weighted weighs streams"));
    }
    let judged = matches!(name, Policing | Priority);
    if let Some(flag) = said("expect", &|stream| stream.options.expect_drop && judged) {
        return Some((
            flag,
            "this procedure judges what it passes of each stream by a profile or a discipline",
        ));
    }
    let flag = said("profile", &|stream| has_own(stream) && name != Policing)?;
    Some((flag, "only the procedure policing judges a policer"))
}

/// The name of a stream, which is its number where none was given.
pub(super) fn named(given: &str, number: usize) -> String {
    if given.is_empty() { format!("stream {number}") } else { given.to_owned() }
}

/// Refuses what would have no effect on the procedure.
///
/// # Errors
/// The first option that would have none, with why.
pub(super) fn check(arguments: &BenchArgs, name: ProcedureName) -> Result<(), Failure> {
    ineffective(arguments, name).map_or(Ok(()), |(flag, why)| {
        Err(Failure::usage(format!("an argument does not apply ({flag}): {why}; leave it out")))
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _, ValueEnum as _};

    use super::*;
    use crate::args::{Cli, Command, Wish};
    use crate::bench::options;

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
        ("allow", &["--allow=order"]),
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

    fn parsed(words: &[&str]) -> BenchArgs {
        let read = Cli::try_parse_from(["romer", "bench"].iter().chain(words));
        let Command::Bench(arguments) = read.unwrap_or_else(|error| panic!("{words:?}: {error}")).command
        else {
            panic!("it is a benchmark")
        };
        *arguments
    }

    /// What the words come to, in words: all that the trials depend on, and how patient they are.
    fn asked(procedure: ProcedureName, words: &[&str]) -> Result<String, String> {
        let name = procedure.to_possible_value().unwrap().get_name().to_owned();
        let base =
            ["--tx=a", "--rx=b", "--source=198.18.0.2", "--destination=198.19.0.2", "--seed=1,2,3,4,5,6"];
        let needed: &[&str] = match procedure {
            Policing => &["--profile=625pps,20"],
            Priority => &["--discipline=strict", "--capacity=1Mbit"],
            Reset => &["--reset=reboot"],
            _ => &[],
        };
        let flag = |word: &str| word.split('=').next().unwrap().to_owned();
        let said = |word: &&&str| !words.iter().any(|other| flag(other) == flag(word));
        let mut all = vec![name.as_str()];
        all.extend(base.iter().chain(needed).filter(said).copied());
        all.extend(words);
        let arguments = parsed(&all);
        assert_eq!(arguments.wish, Some(Wish::Procedure(procedure)));
        let options = options(&arguments, procedure).map_err(|failure| failure.text().to_owned())?;
        Ok(format!("{:?} {} {}", options.asked(), options.patience, options.case_time))
    }

    #[test]
    fn every_option_has_an_effect_on_a_procedure_or_is_refused_with_it() {
        let cli = Cli::command();
        let bench = cli.find_subcommand("bench").unwrap();
        let known: Vec<&str> = bench.get_arguments().filter_map(clap::Arg::get_long).collect();
        for long in &known {
            let is_sampled = SAMPLES.iter().any(|(name, _)| name == long);
            assert!(is_sampled || *long == "help", "{long} is in no table: has it an effect?");
        }
        let mut refusals = 0;
        for procedure in ProcedureName::value_variants() {
            let plain = asked(*procedure, &[]).unwrap();
            for (name, words) in SAMPLES {
                assert!(known.contains(&name), "there is no --{name}");
                let flag = format!("--{name}");
                let applies = TABLE.iter().find(|row| {
                    row.flag == flag
                        || flag.starts_with(&format!("{}-trial", row.flag)) && row.flag == "--pcapng"
                });
                let applies = applies.is_none_or(|row| (row.of)(*procedure));
                let limit: &[&str] = match procedure {
                    Throughput | BackToBack | Recovery => &["--limit=throughput_percent>=1%"],
                    Reset => &["--limit=reset_by_loss_ns<1s"],
                    _ => words,
                };
                match asked(*procedure, if name == "limit" { limit } else { words }) {
                    Ok(with) => {
                        assert!(applies, "{procedure:?} takes {flag}");
                        let changes = with != plain || OUTWARD.contains(&name);
                        assert!(changes, "{procedure:?}: {flag} has no effect");
                    }
                    Err(text) => {
                        assert!(!applies, "{procedure:?} {flag}: {text}");
                        assert!(text.starts_with("an argument does not apply (--"), "{text}");
                        assert!(text.ends_with("; leave it out") && !text.contains('\n'), "{text}");
                        refusals += 1;
                    }
                }
            }
        }
        // What a self-test has no use for alone is more than twenty.
        assert!(refusals > 80, "{refusals}");
    }

    #[test]
    fn verdicts_are_required_of_claims_only() {
        for procedure in [Latency, LoadSweep, Throughput, Reset] {
            let text = asked(procedure, &["--require-verdicts"]).unwrap_err();
            assert!(
                text.starts_with("an argument does not apply (--require-verdicts): no claim is asked for"),
                "{text}"
            );
            assert!(asked(procedure, &["--require-verdicts", "--expect-ecn=not-ect=not-ect"]).is_ok());
        }
        assert!(
            asked(Policing, &["--require-verdicts"]).is_ok()
                && asked(Priority, &["--require-verdicts"]).is_ok()
        );
    }

    #[test]
    fn a_scheduler_is_of_the_procedure_priority_whatever_else_is_said_of_it() {
        for words in
            [&["--capacity=1Mbit"][..], &["--capacity=1Mbit", "--discipline=fifo"], &["--discipline=fifo"]]
        {
            let text = asked(Latency, words).unwrap_err();
            assert!(
                text.starts_with("an argument does not apply (--")
                    && text.contains("only the procedure priority"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_self_test_of_the_manual_has_all_that_it_needs() {
        let manual = include_str!("../../../../../docs/BENCHMARK.md");
        let (_, command) = manual.split_once("`romer bench self-test --tx ").unwrap();
        let command = command.split_once('`').unwrap().0;
        for flag in ["--rx ", "--source ", "--destination "] {
            assert!(command.contains(flag), "{command}");
        }
    }

    #[test]
    fn a_limit_on_what_is_not_found_is_refused_before_the_benchmark() {
        let text = asked(Throughput, &["--limit=loss_ratio<=1%"]).unwrap_err();
        assert!(text.contains("(--limit loss_ratio<=1%): throughput finds throughput_percent, "), "{text}");
    }

    #[test]
    fn what_a_stream_says_has_an_effect_or_is_refused() {
        let weight = ["--stream=name=v,weight=3", "--stream=name=w"];
        let text = asked(LoadSweep, &weight).unwrap_err();
        assert!(
            text.starts_with("an argument does not apply (--stream name=v,weight=): only priority"),
            "{text}"
        );
        let strict = ["--discipline=strict", "--capacity=1Mbit"];
        assert!(asked(Priority, &[&weight[..], &strict].concat()).is_err());
        let weighted = ["--discipline=weighted", "--capacity=1Mbit"];
        assert!(asked(Priority, &[&weight[..], &weighted].concat()).is_ok());
        assert!(
            "name=p,protocol=ip,ports=5001".parse::<StreamArgument>().unwrap_err().contains("has no ports")
        );
        assert!("name=p,ports=5001,protocol=tcp".parse::<StreamArgument>().is_ok());
    }
}
