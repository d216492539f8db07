//! Builds the requested procedure from the arguments.

use romer_bench::Forecast;
use romer_bench::options::{BenchOptions, Case, Claims, Field, MarkingClaim, StreamOptions};
use romer_method::bursts::Limits;
use romer_method::campaign::Procedure;
use romer_method::priority::{Discipline, competing};
use romer_method::search::Goal;
use romer_method::{Frames, mlr};
use romer_record::warning::BenchmarkWarning;
use romer_units::{Duration, FrameSize, LineRate};

use crate::args::{FrameArgs, ProcedureArgs, SearchArgs, SearchName};
use crate::failure::Failure;

/// The load at which a device is reset, where none is given.
const RESET_LOAD: f64 = 0.5;
/// The least load that a search tries.
const MIN_LOAD: f64 = 0.001;
/// The greatest load that can be asked for.
const MAX_LOAD: f64 = 2.0;

/// To how much of the line rate a throughput is found, where nothing is said.
const RESOLUTION: f64 = 0.005;

/// What a search is to find, in trials of this length at the end.
fn goal(search: &SearchArgs, length: Duration) -> Goal {
    let tenth = Duration::from_nanos(length.as_nanos() / 10).max(Duration::from_millis(1));
    let resolution = search.resolution.unwrap_or(RESOLUTION);
    Goal {
        loss_ratio: search.loss_ratio.unwrap_or(0.0),
        least: MIN_LOAD.max(resolution),
        most: 1.0,
        resolution,
        short: search.search_trial.unwrap_or(tenth).min(length),
        full: length,
    }
}

/// The criterion of a search.
fn criterion_text(goal: &Goal) -> String {
    let loss = if goal.loss_ratio > 0.0 {
        format!("a loss ratio of at most {}", goal.loss_ratio)
    } else {
        "no frame lost".to_owned()
    };
    format!(
        "highest load with {loss}, in trials of {}, resolution {} % of the line rate",
        goal.full.readable(),
        format!("{:.3}", goal.resolution * 100.0).trim_end_matches('0').trim_end_matches('.')
    )
}

/// The procedure, its name and its criterion.
///
/// # Errors
/// An argument does not go with the procedure.
pub(super) fn procedure(
    asked: &ProcedureArgs,
    default_loads: &[f64],
) -> Result<(&'static str, Procedure, String), Failure> {
    let length = asked.run().trial;
    let loads = || asked.loads().map_or_else(|| default_loads.to_vec(), |loads| loads.0.clone());
    let sweep = |name, words: &str| (name, Procedure::Sweep { loads: loads(), length }, words.to_owned());
    Ok(match asked {
        ProcedureArgs::Throughput(own) if own.how == Some(SearchName::Mlr) => {
            let Goal { loss_ratio, least, resolution, short, .. } = goal(&own.search, length);
            let goal = mlr::Goal {
                final_length: length,
                length_sum: length,
                loss_ratio,
                exceed_ratio: own.exceed_ratio.unwrap_or(0.0).min(0.99),
            };
            let words = format!(
                "multiple loss ratio search (draft-ietf-bmwg-mlrsearch-15): trials of {}, a loss ratio of at most {}, \
                 {} of failed trials tolerated, bounds within {:.3} %",
                length.readable(),
                goal.loss_ratio,
                goal.exceed_ratio,
                resolution * 100.0
            );
            let plan = mlr::SearchPlan {
                goals: vec![goal],
                loads: [least, 1.0],
                width: resolution,
                first_length: short,
            };
            ("throughput", Procedure::Mlr(plan), words)
        }
        ProcedureArgs::Throughput(own) => {
            let goal = goal(&own.search, length);
            ("throughput", Procedure::Throughput(goal), criterion_text(&goal))
        }
        ProcedureArgs::LoadSweep(_) => sweep("load-sweep", "offered vs. forwarded load"),
        ProcedureArgs::Latency(_) => sweep(
            "latency",
            "latency of every frame at each load; RFC 2544 section 26.2 measures one frame only",
        ),
        ProcedureArgs::SelfTest(_) => sweep("self-test", "tests of the tester itself"),
        ProcedureArgs::Policing(_) => {
            sweep("policing", "verdict of a token bucket on every frame; at most one in a thousand wrong")
        }
        ProcedureArgs::Priority(_) => {
            sweep("priority", "share of each class, within 5 % of the capacity (RFC 4689)")
        }
        ProcedureArgs::FrameLoss(_) => {
            let words = "from 100 % of the line rate in steps of 10 % until two trials without loss; RFC 2544 section 26.3";
            ("frame-loss", Procedure::FrameLoss { step: 0.1, most: 1.0, length }, words.into())
        }
        ProcedureArgs::BackToBack(own) => {
            let goal = goal(&own.search, length);
            let line = asked.run().line_rate;
            let limits = Limits { longest: length.min(Duration::from_secs(30)), step: 1, line };
            let words = format!(
                "longest burst at line rate without loss, up to {}; before it: {}",
                limits.longest.readable(),
                criterion_text(&goal)
            );
            ("back-to-back", Procedure::BackToBack { goal, limits }, words)
        }
        ProcedureArgs::Reset(own) => {
            let load = match own.loads.as_ref().map(|loads| loads.0.as_slice()) {
                None => RESET_LOAD,
                Some([load]) => *load,
                Some(_) => {
                    return Err(Failure::usage(
                        "there are several loads (--loads): a device is reset at one; write one, such as 50%",
                    ));
                }
            };
            let words = format!(
                "reset at {:.1} % of the line: from the frames that are lost, and from when they were sent (RFC 6201)",
                load * 100.0
            );
            ("reset", Procedure::Reset { load, length }, words)
        }
        ProcedureArgs::Recovery(own) => {
            let goal = goal(&own.search, length);
            let words = format!(
                "110 % of the throughput for {}, then half of it: from there to the last loss (RFC 2544 section \
                 26.5); before it: {}",
                length.readable(),
                criterion_text(&goal)
            );
            ("recovery", Procedure::Recovery { goal, lengths: [length, length] }, words)
        }
    })
}

/// The loads, where none are given: 10 % to 95 % by 5 % (Chadda 2004); of a scheduler, below, at and over what its line
/// carries, and where each class competes with the next. With them, that some of these cannot be offered.
pub(super) fn default_loads(
    claims: &Claims,
    line: LineRate,
    (streams, frames): (&[StreamOptions], &[Frames]),
    real_line: bool,
) -> (Vec<f64>, Option<BenchmarkWarning>) {
    if streams.iter().all(|stream| stream.pace.is_fixed()) {
        // There is but one load: theirs.
        return (vec![1.0], None);
    }
    let Some((discipline, capacity)) = claims.scheduler else {
        return ((2..=19).map(|twentieth: u8| f64::from(twentieth) / 20.0).collect(), None);
    };
    // Of a load of layer 1, so much is frames; of the smallest the least.
    let framed = |frames: &Frames| 1.0 - f64::from(FrameSize::OVERHEAD) / frames.mean_on_the_line();
    let least = frames
        .iter()
        .map(|all| {
            streams
                .iter()
                .map(|stream| stream.share * framed(stream.frames.as_ref().unwrap_or(all)))
                .sum::<f64>()
        })
        .fold(1.0, f64::min);
    #[expect(clippy::cast_precision_loss, reason = "bits a second, far below 2^53")]
    let at = capacity / (line.bits() as f64 * least.max(1e-6));
    let most = if real_line { 1.0 } else { MAX_LOAD };
    let mut times = vec![0.5, 1.0, 1.5];
    if discipline == Discipline::Strict {
        times.extend(competing(&streams.iter().map(|stream| stream.share).collect::<Vec<_>>()));
        times.sort_by(f64::total_cmp);
    }
    let greatest = times.iter().copied().fold(0.0, f64::max);
    let mut loads: Vec<f64> = times.into_iter().map(|times| (at * times).min(most)).collect();
    loads.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    let left_out = (at * greatest > most + 1e-9).then(|| BenchmarkWarning::LoadsAboveLine {
        line_ratio: most,
        capacity_ratio: most / at,
        max_load_ratio: greatest,
    });
    (loads, left_out)
}

/// Refuses sizes that no stream would have, and loads that no stream would follow.
pub(super) fn check_streams(
    asked: &ProcedureArgs,
    given: &FrameArgs,
    streams: &[StreamOptions],
) -> Result<(), Failure> {
    if streams.iter().all(|stream| stream.frames.is_some()) {
        let flag = [("--frame-sizes", given.frame_sizes.is_some()), ("--imix", given.imix.is_some())];
        if let Some((flag, _)) = flag.into_iter().find(|(_, given)| *given) {
            return Err(Failure::usage(format!(
                "an argument does not apply ({flag}): every stream has sizes of its own; leave it out, or leave out frame-size= or \
                 imix= of a stream"
            )));
        }
    }
    let Some(fixed) = streams.iter().find(|stream| stream.pace.is_fixed()) else { return Ok(()) };
    let all = streams.iter().all(|stream| stream.pace.is_fixed());
    if asked.search().is_some() || (all && matches!(asked, ProcedureArgs::FrameLoss(_))) {
        return Err(Failure::usage(format!(
            "a pace does not apply (--stream name={},pace=): it says itself how much is sent, and this procedure chooses the load; \
             give another, such as pace=burst:16",
            fixed.name
        )));
    }
    if all && asked.loads().is_some() {
        return Err(Failure::usage(
            "an argument does not apply (--loads): the streams' paces say themselves how much is sent; leave it out, or give \
             another pace",
        ));
    }
    Ok(())
}

/// Refuses a trial of which frames are wanted (`--pcapng-trial`) and which there will not be; what is to be known of it where
/// only the trials before it tell whether there will be one. `made`: trials of a benchmark that goes on.
pub(super) fn check_capture(
    options: &BenchOptions,
    forecast: &Forecast,
    made: u64,
) -> Result<Option<String>, Failure> {
    let Some(number) = options.capture else { return Ok(None) };
    let most = forecast.trials;
    if number > most || number <= made {
        return Err(Failure::usage(format!(
            "no such trial (--pcapng-trial {number}): remaining trials are {} to {most}{}; choose one of them",
            made + 1,
            if forecast.asks.is_empty() { " at most" } else { "" }
        )));
    }
    Ok((forecast.asks.is_empty() && number > 1).then(|| {
        format!(
            "there may be no trial {number} (--pcapng-trial): the number of trials depends on their results, and is at most {most}"
        )
    }))
}

/// Refuses claims about markings that no trial can test: of a case that there is not, or of what nothing is sent with; and of what
/// exceeds a profile, that it comes out as what does not.
pub(super) fn check_markings(
    claims: &Claims,
    cases: &[Case],
    streams: &[StreamOptions],
) -> Result<(), Failure> {
    let expected = claims.markings.iter().map(|claim| (flag_of(claim.field), claim));
    for (flag, claim) in expected.chain(claims.excess.iter().map(|claim| ("--excess-marking", claim))) {
        let unknown = claim.case.as_ref().filter(|of| !cases.iter().any(|case| case.name == **of));
        if unknown.is_some() {
            let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            return Err(Failure::usage(format!(
                "no such case ({flag} {claim}): the cases are {}; use one of them",
                names.join(", ")
            )));
        }
        let MarkingClaim { field, sent, out, .. } = claim;
        if !streams.iter().any(|stream| field.of_stream(stream) == *sent) {
            let (what, key) = match field {
                Field::CodePoint => ("the code point", "dscp"),
                Field::Vlan => ("the VLAN", "vlan"),
                Field::Priority => ("the priority", "pcp"),
                Field::Ecn => ("the ECN", "ecn"),
            };
            let mend = if sent == Field::UNTAGGED {
                "add one without vlan= and pcp=".to_owned()
            } else {
                format!("add one with --stream {key}={sent}")
            };
            return Err(Failure::usage(format!(
                "claim without a stream ({flag} {sent}={out}): no stream is sent with {what} {sent}; {mend}, or remove the claim"
            )));
        }
    }
    if let Some(refused) = contradiction(&claims.markings).or_else(|| contradiction(&claims.excess)) {
        let flags = refused.map(|claim| {
            if claims.excess.contains(claim) { "--excess-marking" } else { flag_of(claim.field) }
        });
        let [one, other] = refused;
        return Err(Failure::usage(format!(
            "two claims contradict each other ({} {one}, {} {other}): in one case, such frames have one marking at the output; \
             remove one claim",
            flags[0], flags[1]
        )));
    }
    let same = claims.excess.iter().find(|excess| {
        let of = |case: &&Case| excess.is_of(&case.name);
        let conforming = |case: &Case| {
            excess
                .sent
                .parse()
                .is_ok_and(|sent| claims.conforming(&case.name, sent).to_string() == excess.out)
        };
        cases.iter().filter(of).any(conforming)
    });
    match same {
        Some(claim) => Err(Failure::usage(format!(
            "packets in and out of profile could not be distinguished (--excess-marking {claim}): both are {} at the output; name the \
             code point that the policer gives to excess packets",
            claim.out
        ))),
        None => Ok(()),
    }
}

/// Two claims of the same frames in the same case that cannot both hold.
fn contradiction(claims: &[MarkingClaim]) -> Option<[&MarkingClaim; 2]> {
    let is_against = |one: &MarkingClaim, other: &MarkingClaim| {
        let same_case = match (&one.case, &other.case) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        same_case && (one.field, &one.sent) == (other.field, &other.sent) && one.out != other.out
    };
    let mut pairs =
        claims.iter().enumerate().flat_map(|(n, one)| claims[..n].iter().map(move |other| [other, one]));
    pairs.find(|[one, other]| is_against(one, other))
}

/// The option that claims something of a field.
const fn flag_of(field: Field) -> &'static str {
    match field {
        Field::CodePoint => "--expect-marking",
        Field::Vlan => "--expect-vlan",
        Field::Priority => "--expect-priority",
        Field::Ecn => "--expect-ecn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_trial_can_test_is_no_claim() {
        let cases = [Case { name: "remark".into(), command: None }];
        let check = |of: Option<&str>, sent: &str| {
            let claim = MarkingClaim {
                case: of.map(str::to_owned),
                field: Field::CodePoint,
                sent: sent.into(),
                out: "ef".into(),
            };
            let claims = Claims { markings: vec![claim], ..Claims::default() };
            check_markings(&claims, &cases, &[StreamOptions::default()]).map_err(|one| one.text().to_owned())
        };
        assert_eq!((check(None, "cs0"), check(Some("remark"), "cs0")), (Ok(()), Ok(())));
        assert!(check(Some("remrak"), "cs0").unwrap_err().contains("the cases are remark"));
        assert!(check(None, "cs1").unwrap_err().contains("no stream is sent with the code point cs1"));
        let excess = |out: &str, markings| {
            let claim =
                MarkingClaim { case: None, field: Field::CodePoint, sent: "cs0".into(), out: out.into() };
            let claims = Claims { excess: vec![claim], markings, ..Claims::default() };
            check_markings(&claims, &cases, &[StreamOptions::default()]).map_err(|one| one.text().to_owned())
        };
        assert_eq!(excess("cs1", Vec::new()), Ok(()));
        assert!(excess("cs0", Vec::new()).unwrap_err().contains("(--excess-marking cs0=cs0): both are cs0"));
    }

    #[test]
    fn claims_that_cannot_both_hold_are_refused() {
        let cases = ["a", "b"].map(|name| Case { name: name.into(), command: None });
        let check = |claims: &Claims| {
            check_markings(claims, &cases, &[StreamOptions::default()]).map_err(|one| one.text().to_owned())
        };
        for field in [Field::CodePoint, Field::Vlan, Field::Priority, Field::Ecn] {
            let sent = field.of_stream(&StreamOptions::default());
            let two = |of: [Option<&str>; 2], outs: [&str; 2]| {
                let claim = |place: usize| MarkingClaim {
                    case: of[place].map(str::to_owned),
                    field,
                    sent: sent.clone(),
                    out: outs[place].into(),
                };
                check(&Claims { markings: vec![claim(0), claim(1)], ..Claims::default() })
            };
            let told = two([None, Some("b")], ["1", "2"]).unwrap_err();
            let flag = flag_of(field);
            let refused = format!("two claims contradict each other ({flag} {sent}=1, {flag} b:{sent}=2): ");
            assert!(told.starts_with(&refused), "{told}");
            assert_eq!(two([Some("a"), Some("b")], ["1", "2"]), Ok(()), "each is of a case of its own");
            assert_eq!(two([None, None], ["1", "1"]), Ok(()));
        }
        let claim = |out: &str| MarkingClaim {
            case: None,
            field: Field::CodePoint,
            sent: "cs0".into(),
            out: out.into(),
        };
        let told =
            check(&Claims { excess: vec![claim("cs1"), claim("cs2")], ..Claims::default() }).unwrap_err();
        assert!(told.contains("(--excess-marking cs0=cs1, --excess-marking cs0=cs2)"), "{told}");
    }

    #[test]
    fn a_scheduler_is_judged_by_streams_of_chance_unless_another_pace_is_given() {
        use clap::Parser as _;
        use romer_method::schedule::Pace;

        use crate::args::{Cli, Command};

        let paces = |procedure: &str, streams: &[&str]| {
            let words = ["romer", "bench", procedure];
            let streams = streams.iter().flat_map(|stream| ["--stream", *stream]);
            let read = Cli::try_parse_from(words.into_iter().chain(streams)).unwrap();
            let Command::Bench(arguments) = read.command else { panic!("it is a benchmark") };
            let asked = arguments.procedure.expect("it has a procedure");
            let streams = super::super::options::streams(&asked, asked.shared().1.unwrap()).unwrap();
            streams.into_iter().map(|stream| stream.pace).collect::<Vec<_>>()
        };
        let (even, chance) = (Pace::Constant, Pace::Poisson);
        assert_eq!(paces("priority", &["name=a", "name=b,pace=constant", "name=c"]), [chance, even, chance]);
        assert_eq!(paces("priority", &["name=a"]), [even], "one stream has nobody to be in step with");
        assert_eq!(paces("load-sweep", &["name=a", "name=b"]), [even, even]);
    }

    #[test]
    fn a_scheduler_is_tried_below_at_and_over_its_capacity() {
        let claims = Claims { scheduler: Some((Discipline::Strict, 5e6)), ..Claims::default() };
        let line = LineRate::new(10_000_000).unwrap();
        let frames = [64, 1_004].map(|size| Frames::Size(FrameSize::new(size).unwrap()));
        let streams = vec![StreamOptions::default()];
        let loads = |claims, real| default_loads(claims, line, (&streams, &frames), real).0;
        // 5 Mbit/s of frames of 64 octets are 6.5625 Mbit/s with preamble and gap.
        let found = loads(&claims, false);
        for (load, wanted) in found.iter().zip([0.328_125, 0.656_25, 0.984_375]) {
            assert!((load - wanted).abs() < 1e-9, "{found:?}");
        }
        assert_eq!(found.len(), 3);
        assert_eq!(loads(&Claims::default(), true).len(), 18);
        let slow = LineRate::new(5_000_000).unwrap();
        let (bounded, left_out) = default_loads(&claims, slow, (&streams, &frames), true);
        assert_eq!(bounded.last(), Some(&1.0), "a real line has no more");
        assert_eq!(bounded.len(), 2);
        let left_out = left_out.unwrap();
        let BenchmarkWarning::LoadsAboveLine { capacity_ratio, .. } = left_out else {
            panic!("{left_out:?}")
        };
        assert!((capacity_ratio - 0.762).abs() < 5e-4, "{capacity_ratio}");
        let all = default_loads(&claims, line, (&streams, &frames), false);
        assert_eq!(all.1, None);
        // Two classes compete where the half of one has no room: at four thirds of the capacity.
        let two = vec![StreamOptions { share: 0.5, ..StreamOptions::default() }; 2];
        let (found, _) = default_loads(&claims, line, (&two, &frames), false);
        assert_eq!(found.len(), 4);
        assert!((found[2] - 0.656_25 * 4.0 / 3.0).abs() < 1e-9, "{found:?}");
    }
}
