//! Several measurements as one scenario: their models follow one another in a timeline, each for as long as its measurement lasted.
//!
//! A timeline neither begins nor ends a trace. If the models of a direction fail in one measurement, the direction has the recorded delays and
//! losses of all of them, in one trace.

use romer_impair::Nanos;
use romer_record::OneWaySingleton;
use romer_units::{Clock, Duration, Timestamp};

use super::text::{DelaySource, head};
use super::{FitInput, Fitted, ModelKind, Modelled, TABLES, Way, checked, fit, settled};

/// The shortest part of a timeline, nanoseconds.
const SHORTEST_PART: Nanos = 1_000_000;

/// One of several measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// When it begins in the timeline.
    pub at: Duration,
    /// How long it lasts.
    pub duration: Duration,
    /// Its model by itself, with its checks.
    pub modelled: Modelled,
}

/// A scenario of several measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// The scenario. Its directions are those of the parts.
    pub fitted: Fitted,
    /// The measurements, in order of time.
    pub parts: Vec<Part>,
}

/// Fits and checks each measurement as [`model`](super::model) does, and joins the models.
///
/// # Errors
/// In words, where there is nothing to make a scenario of, or a scenario cannot express it.
pub fn sequence(sources: &[FitInput<'_>]) -> Result<Sequence, String> {
    let Some(first) = sources.first() else { return Err("there is no measurement".into()) };
    if sources.iter().any(|source| source.only_udp) {
        return Err("packets of one kind (--only-udp) cannot change over time".into());
    }
    let present = |source: &FitInput<'_>| source.ways.map(|way| !way.is_empty());
    if let Some(other) = sources.iter().find(|source| present(source) != present(first)) {
        return Err(format!("{} and {} have packets of different directions", first.run, other.run));
    }
    let stems: Vec<String> =
        (1..).zip(sources).map(|(number, source)| format!("{}.{number}", source.stem)).collect();
    let sources: Vec<FitInput<'_>> =
        sources.iter().zip(&stems).map(|(source, stem)| FitInput { stem, ..source.clone() }).collect();
    let mut ways: Vec<[Way; 2]> =
        sources.iter().map(|source| [Way::new(source.kind), Way::new(source.kind)]).collect();
    let mut modelled = Vec::new();
    for (source, ways) in sources.iter().zip(&mut ways) {
        modelled.push(settled(source, ways)?);
    }
    let traced = [0, 1].map(|way| ways.iter().any(|ways| ways[way].kind == ModelKind::Trace));
    for ((source, ways), modelled) in sources.iter().zip(&mut ways).zip(&mut modelled) {
        let mut are_changed = [false; 2];
        for ((way, is_changed), is_traced) in ways.iter_mut().zip(&mut are_changed).zip(traced) {
            if is_traced && way.kind == ModelKind::Models {
                way.kind = ModelKind::Trace;
                *is_changed = true;
            }
        }
        if are_changed != [false; 2] {
            modelled.update(checked(source, ways, are_changed)?, are_changed);
        }
    }
    let mut at = 0;
    let mut parts = Vec::new();
    for (source, modelled) in sources.iter().zip(modelled) {
        let duration = duration(source);
        parts.push(Part { at: Duration::from_nanos(at), duration: Duration::from_nanos(duration), modelled });
        at += duration;
    }
    let fitted = join(first, &sources, &parts, traced)?;
    fitted.config()?;
    Ok(Sequence { fitted, parts })
}

/// How long a measurement lasts: from its first departure to its last, and the mean time between two.
fn duration(source: &FitInput<'_>) -> Nanos {
    let of = |singletons: &[OneWaySingleton]| {
        let departures = || singletons.iter().filter_map(|one| Some(one.departure?.as_nanos()));
        let span = departures().max()?.saturating_sub(departures().min()?);
        let gaps = i64::try_from(departures().count()).unwrap_or(i64::MAX).saturating_sub(1);
        Some(span.saturating_add(span.checked_div(gaps).unwrap_or(0)))
    };
    let all = source.ways.into_iter().chain([source.round_trip]);
    all.filter_map(of).max().unwrap_or(0).max(SHORTEST_PART)
}

/// The scenario of all parts; directions that are `traced` have one trace.
fn join(
    first: &FitInput<'_>,
    sources: &[FitInput<'_>],
    parts: &[Part],
    traced: [bool; 2],
) -> Result<Fitted, String> {
    let names: Vec<&str> = sources.iter().map(|source| source.run).collect();
    let names = names.join(", ");
    let whole = FitInput { run: &names, ..first.clone() };
    let mut joined =
        Fitted { text: String::new(), files: Vec::new(), directions: Vec::new(), warnings: Vec::new() };
    for part in parts {
        let fitted = &part.modelled.fitted;
        joined.directions.extend(fitted.directions.iter().cloned());
        joined.files.extend(fitted.files.iter().cloned());
        for warning in &fitted.warnings {
            if !joined.warnings.contains(warning) {
                joined.warnings.push(warning.clone());
            }
        }
    }
    joined.text = head(&whole, &joined.directions);
    if traced.contains(&true) {
        let trace = trace(&whole, sources, parts, traced)?;
        stages(&trace.text).iter().for_each(|stage| joined.text.push_str(&stage.in_table("")));
        joined.files.extend(trace.files);
    }
    let is_modelled = first.ways.iter().zip(traced).any(|(way, is_traced)| !way.is_empty() && !is_traced);
    if is_modelled {
        let texts: Vec<(Duration, &str)> =
            parts.iter().map(|part| (part.at, part.modelled.fitted.text.as_str())).collect();
        let end = parts.last().map_or(Duration::ZERO, |last| last.at + last.duration);
        joined.text.push_str(&timeline(&texts, traced, end));
    }
    let text = &joined.text;
    joined.files.retain(|(name, _)| text.contains(&format!("\"{name}\"")));
    Ok(joined)
}

/// The stages of each part, the first from the start on and the others from their moments on; at the `end` the first part begins again.
/// Directions that are `traced` are left out.
fn timeline(parts: &[(Duration, &str)], traced: [bool; 2], end: Duration) -> String {
    let mut text = String::new();
    // Stages that hold at the end of a part, those included that do nothing.
    let mut known: Vec<(usize, &str)> = Vec::new();
    for (number, (at, fitted)) in parts.iter().enumerate() {
        let stages: Vec<Stage<'_>> =
            stages(fitted).into_iter().filter(|stage| !traced[stage.direction]).collect();
        let table = if number == 0 { "" } else { "timeline." };
        if number > 0 {
            text.push_str(&format!("[[timeline]]\nat = \"{at}\"\n"));
        }
        for (direction, name) in &known {
            if !stages.iter().any(|stage| (stage.direction, stage.name) == (*direction, *name)) {
                text.push_str(&format!("[{table}{}.{name}]\n{}\n", TABLES[*direction], nothing(name)));
            }
        }
        for stage in stages {
            text.push_str(&stage.in_table(table));
            if !known.contains(&(stage.direction, stage.name)) {
                known.push((stage.direction, stage.name));
            }
        }
    }
    text.push_str(&format!("[timeline_repeat]\nevery = \"{end}\"\n"));
    text
}

/// What a stage has that does nothing.
fn nothing(stage: &str) -> &'static str {
    match stage {
        "delay" => "fixed = \"0s\"",
        "rate" => "limit = \"none\"",
        _ => "model = \"none\"",
    }
}

/// A stage of a direction in the text of a scenario that romer made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage<'a> {
    direction: usize,
    name: &'a str,
    /// From the name of its table on, without the bracket before it.
    text: &'a str,
}

impl Stage<'_> {
    /// The stage in another table, such as `timeline.`.
    fn in_table(&self, table: &str) -> String {
        format!("[{table}{}", self.text)
    }
}

/// The stages in the text of a scenario that romer made: each begins with its table at the beginning of a line.
fn stages(text: &str) -> Vec<Stage<'_>> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_start = |table: &str| {
            let rest = line.strip_prefix('[').and_then(|line| line.strip_prefix(table));
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let direction = TABLES.iter().position(|table| is_start(table));
        starts.extend(direction.map(|direction| (at, direction)));
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    let stage = |((start, direction), end): (&(usize, usize), usize)| {
        let text = text.get(start + 1..end)?;
        let name = text.split_once(']')?.0.split_once('.')?.1;
        Some(Stage { direction: *direction, name, text })
    };
    starts.iter().zip(ends).filter_map(stage).collect()
}

/// The recorded delays and losses of all measurements, one after another, of the directions that are `traced`.
fn trace(
    whole: &FitInput<'_>,
    sources: &[FitInput<'_>],
    parts: &[Part],
    traced: [bool; 2],
) -> Result<Fitted, String> {
    let mut ways = [Vec::new(), Vec::new()];
    let mut round_trip = Vec::new();
    let mut sequence = 0;
    for (source, part) in sources.iter().zip(parts) {
        for (way, singletons) in ways.iter_mut().enumerate().filter(|(way, _)| traced[*way]) {
            let kind =
                |source: &FitInput<'_>| DelaySource::from_singletons(source.ways[way], source.round_trip);
            if kind(source) != kind(whole) {
                return Err(format!(
                    "the delays of {} and {} are not of one kind: one has one-way delays and the other round trips only",
                    sources.first().map_or("", |first| first.run),
                    source.run
                ));
            }
            singletons.extend(moved(source.ways[way], part.at, sequence));
        }
        round_trip.extend(moved(source.round_trip, part.at, sequence));
        let numbers = source.ways.into_iter().chain([source.round_trip]).flatten();
        let greatest = numbers.map(|singleton| singleton.sequence).max().unwrap_or(0);
        sequence = greatest.saturating_add(sequence).saturating_add(1);
    }
    let all = FitInput {
        ways: [&ways[0], &ways[1]],
        round_trip: &round_trip,
        absolute: sources.iter().all(|source| source.absolute),
        kind: ModelKind::Trace,
        ..whole.clone()
    };
    fit(&all, &mut [Way::new(ModelKind::Trace), Way::new(ModelKind::Trace)], false)
}

/// Singletons that begin `at` a moment, with greater numbers.
fn moved(
    singletons: &[OneWaySingleton],
    at: Duration,
    sequence: u64,
) -> impl Iterator<Item = OneWaySingleton> {
    let departures = singletons.iter().filter_map(|one| Some(one.departure?.as_nanos()));
    let arrivals = || singletons.iter().filter_map(|one| Some(one.arrival?.as_nanos())).min();
    let origin = departures.min().or_else(arrivals).unwrap_or(0);
    let by = at.as_nanos().saturating_sub(origin);
    singletons.iter().map(move |singleton| OneWaySingleton {
        sequence: singleton.sequence.saturating_add(sequence),
        departure: singleton.departure.map(|time| later(time, by)),
        arrival: singleton.arrival.map(|time| later(time, by)),
        ..*singleton
    })
}

fn later<C: Clock>(time: Timestamp<C>, by: Nanos) -> Timestamp<C> {
    Timestamp::from_nanos(time.as_nanos().saturating_add(by))
}

#[cfg(test)]
mod tests {
    use romer_record::Fate;

    use super::super::tests::{input, run, singletons};
    use super::*;
    use crate::predictive_check::{count, real};

    const SEED: &str = "seed = [1, 2, 3, 4, 5, 6]\n";
    const NIGHT: &str = "[a_to_b.loss]\nprobability = 0.1\n[a_to_b.delay]\nfixed = \"50ms\"\n";
    const DAY: &str = "[a_to_b.delay]\nfixed = \"20ms\"\n";

    /// Measurements of the night and of the day, 2,000 packets each 20 ms.
    fn nights_and_days(kind: ModelKind) -> Sequence {
        let [night, day] = [NIGHT, DAY].map(|text| singletons(&format!("{SEED}{text}"), 2_000));
        sequence(&[input(&night, kind), FitInput { run: "day", ..input(&day, kind) }]).unwrap()
    }

    /// The median delay in milliseconds and the loss ratio of packets.
    fn figures(singletons: &[OneWaySingleton]) -> (f64, f64) {
        let mut delays: Vec<i64> = singletons.iter().filter_map(|one| Some(one.delay?.as_nanos())).collect();
        delays.sort_unstable();
        let lost = singletons.iter().filter(|one| one.fate == Fate::Lost).count();
        let [lost, all] = [lost, singletons.len()].map(count);
        (real(delays[delays.len() / 2]) / 1e6, lost / all)
    }

    /// Each part has its delay and loss for as long as its measurement lasted, and the timeline repeats. The loss of 2,000 packets with a
    /// probability of 0.1 is within six standard deviations of two draws.
    fn assert_follows(sequence: &Sequence) {
        let found = run(sequence.fitted.config().unwrap(), 6_000, 20_000_000);
        for (number, part) in found.chunks(2_000).take(3).enumerate() {
            let (delay, loss) = figures(part);
            let (expected, ratio) = if number % 2 == 0 { (50.0, 0.1) } else { (20.0, 0.0) };
            assert!((delay - expected).abs() < 0.1, "{number}: {delay} ms");
            assert!((loss - ratio).abs() <= 0.6 * ratio, "{number}: {loss}");
        }
    }

    #[test]
    fn models_follow_one_another() {
        let found = nights_and_days(ModelKind::Models);
        let text = &found.fitted.text;
        assert!(
            text.contains("[[timeline]]\nat = \"40s\"\n[timeline.a_to_b.loss]\nmodel = \"none\"\n"),
            "{text}"
        );
        assert!(text.contains("[timeline_repeat]\nevery = \"80s\"\n"), "{text}");
        assert!(text.contains("title = \"Measured: here \\\"x\\\", day\""), "{text}");
        assert_eq!(found.parts.len(), 2);
        assert_follows(&found);
    }

    /// Where the models fail in one measurement, the others join its trace and keep the families that were compared for them. Nothing of
    /// theirs was refused.
    #[test]
    fn joined_traces_keep_candidates() {
        let failing = singletons(super::super::tests::SAWTOOTH, 1_500);
        let day = singletons(&format!("{SEED}{DAY}"), 1_500);
        let found = sequence(&[
            input(&failing, ModelKind::Models),
            FitInput { run: "day", ..input(&day, ModelKind::Models) },
        ]);
        let found = found.unwrap();
        let [failed, joined] =
            [0, 1].map(|part: usize| found.parts[part].modelled.fitted.directions[0].clone());
        assert_eq!([&failed.delay, &joined.delay], ["trace", "trace"]);
        assert!(
            failed.replaced.is_some() && failed.candidates.iter().any(|one| one.misfit.is_some()),
            "{failed:#?}"
        );
        assert!(joined.replaced.is_none() && !joined.candidates.is_empty(), "{joined:#?}");
        assert!(joined.candidates.iter().all(|one| one.misfit.is_none()), "{joined:#?}");
    }

    /// Traces become one trace, without a timeline.
    #[test]
    fn traces_are_joined() {
        let found = nights_and_days(ModelKind::Trace);
        let text = &found.fitted.text;
        assert!(!text.contains("timeline") && text.matches("[a_to_b.trace]").count() == 1, "{text}");
        let [(name, content)] = &found.fitted.files[..] else { panic!("{:?}", found.fitted.files) };
        assert_eq!((name.as_str(), content.lines().count()), ("m.a_to_b.csv", 4_001));
        assert_follows(&found);
    }

    /// Regimes end where a part has none, and its chains of single stages are read.
    #[test]
    fn stages_begin_and_end() {
        let regimes = "[about]\ntitle = \"x\"\n[a_to_b.regimes] # 9 delays\nstep = \"10ms\"\ntransition = [[0.9, 0.1], [0.5, 0.5]]\nstate = [\n  \
                       { delay = { fixed = \"1ms\" } },\n  { loss = { probability = 1 } },\n]\n[b_to_a.delay]\nfixed = \"3ms\"\n";
        let chain = "[a_to_b.loss]\nmodel = \"markov\"\nstep = \"time\"\ntransition = [[0.98, 0.02], [0.02, 0.98]]\nstate = [\n  \
                     { duration = \"1s\", probability = 0 },\n  { duration = \"1s\", probability = 1 },\n]\n[a_to_b.delay]\nfixed = \"2ms\"\n";
        let [second, third] = [1, 2].map(Duration::from_secs);
        let parts = [(Duration::ZERO, regimes), (second, chain), (third, regimes)];
        let text = timeline(&parts, [false, false], Duration::from_secs(3));
        assert!(text.starts_with("[a_to_b.regimes] # 9 delays\n"), "{text}");
        let read = |text: &str| romer_scenario::parse(text, "m", &mut |_| Err("there is none".into()));
        let config = read(&text).unwrap_or_else(|why| panic!("{why}\n{text}")).config;
        let paths = |step: usize| {
            config.timeline[step].setting.paths.each_ref().map(|paths| paths[0].clone().unwrap())
        };
        assert!(paths(0)[0].regimes.is_none() && paths(1)[0].regimes.is_some());
        assert_eq!(paths(0)[1].delay, romer_impair::Path::default().delay);
        assert_eq!(config.repeat, Some(3_000_000_000));
        // A direction with a trace is left out.
        let text = timeline(&parts, [true, false], Duration::from_secs(3));
        assert!(!text.contains("a_to_b") && text.contains("[timeline.b_to_a.delay]"), "{text}");
    }

    #[test]
    fn inexpressible_parts_are_refused() {
        let day = singletons(&format!("{SEED}{DAY}"), 200);
        let source = input(&day, ModelKind::Models);
        let udp = FitInput { only_udp: true, ..source.clone() };
        assert!(sequence(&[udp.clone(), udp]).unwrap_err().contains("--only-udp"));
        let other = FitInput { ways: [&[], &day], run: "other", ..source.clone() };
        assert!(
            sequence(&[source, other]).unwrap_err().contains("other have packets of different directions")
        );
    }
}
