//! Scenarios from measurements that the emulator's own engine made.

use romer_impair::{Engine, Limits, Packet, PortId};
use romer_metrics::reordering;
use romer_record::document::DelayKind;
use romer_record::finding::Pattern;
use romer_units::Duration;

use super::*;
use crate::predictive_check::quantile;

/// What a scenario makes of packets every 20 ms.
pub(super) fn singletons(text: &str, packets: u32) -> Vec<OneWaySingleton> {
    run(crate::read_scenario(text, "s").unwrap().scenario.config, packets, 20_000_000)
}

/// What a scenario makes of packets at a spacing.
pub(super) fn run(config: Config, packets: u32, spacing: Nanos) -> Vec<OneWaySingleton> {
    let frames: Vec<(Nanos, u32)> = (0..packets).map(|number| (i64::from(number) * spacing, 100)).collect();
    run_frames(config, &frames)
}

/// What a scenario makes of frames: their departures in order, and their octets.
fn run_frames(config: Config, frames: &[(Nanos, u32)]) -> Vec<OneWaySingleton> {
    /// Octets of a frame around the payload of UDP over IPv4: headers and check sequence.
    const AROUND: u32 = 46;
    let mut engine = Engine::new(config, Limits::growing(), 0);
    let mut arrivals = vec![Vec::new(); frames.len()];
    let mut last = 0;
    let mut take = |engine: &mut Engine, arrivals: &mut Vec<Vec<Nanos>>, now: Nanos| {
        while let Some(outcome) = engine.poll(now) {
            // On a wire, one packet follows another.
            last = outcome.time.max(last + 1);
            if outcome.lost.is_none() {
                arrivals[outcome.slot as usize].push(last);
            }
        }
    };
    for (number, (at, octets)) in (0..).zip(frames) {
        take(&mut engine, &mut arrivals, at - 1);
        engine.admit(&Packet::new(number, PortId::A, *octets, *at));
    }
    take(&mut engine, &mut arrivals, Nanos::MAX);
    let mut singletons = Vec::new();
    for ((number, (at, octets)), arrivals) in (0_u32..).zip(frames).zip(&mut arrivals) {
        arrivals.sort_unstable();
        let row = |copy: usize, arrival: Option<Nanos>| OneWaySingleton {
            sequence: number.into(),
            copy: u32::try_from(copy).unwrap(),
            size: octets - AROUND,
            fate: if arrival.is_some() { Fate::Arrived } else { Fate::Lost },
            departure: Some(Timestamp::from_nanos(*at)),
            arrival: arrival.map(Timestamp::from_nanos),
            delay: arrival.map(|arrival| Duration::from_nanos(arrival - at)),
            ttl: None,
            tos: None,
            leaving: romer_record::Leaving::UNKNOWN,
        };
        if arrivals.is_empty() {
            singletons.push(row(0, None));
        }
        singletons.extend(arrivals.iter().enumerate().map(|(copy, arrival)| row(copy, Some(*arrival))));
    }
    singletons
}

pub(super) fn input<'a>(singletons: &'a [OneWaySingleton], kind: ModelKind) -> FitInput<'a> {
    FitInput {
        run: "here \"x\"",
        ways: [singletons, &[]],
        round_trip: &[],
        findings: &[],
        ordered: [true; 2],
        absolute: true,
        kind,
        stem: "m",
        year: 2026,
        only_udp: false,
        headers: Headers::default(),
        waiting: 2_000_000_000,
        allowed: 0,
    }
}

/// Without a check.
fn fitted_from(source: &FitInput<'_>) -> Fitted {
    fit(source, &mut [Way::new(source.kind), Way::new(source.kind)], false).unwrap()
}

fn fitted(singletons: &[OneWaySingleton], kind: ModelKind) -> Fitted {
    fitted_from(&input(singletons, kind))
}

/// The scenario that was made, with its files.
fn read(fitted: &Fitted) -> Config {
    fitted.config().unwrap_or_else(|why| panic!("{why}\n{}", fitted.text))
}

fn parameter(model: &DirectionModel, name: &str) -> (f64, [f64; 2]) {
    let found = model.parameters.iter().find(|one| one.name == name);
    let found = found.unwrap_or_else(|| panic!("{name}: {model:?}"));
    (found.value, found.interval.unwrap_or([f64::NAN; 2]))
}

/// A run may have any name.
#[test]
fn names_of_runs_are_any_text() {
    let singletons = singletons("a_to_b.delay.fixed = \"1ms\"\n", 50);
    let source = FitInput { run: "größe \"\\", ..input(&singletons, ModelKind::Models) };
    let opened = fitted_from(&source).open().unwrap();
    assert_eq!(opened.scenario.about.title.as_deref(), Some("Measured: größe \"\\"));
}

const PATH: &str = "seed = [1, 2, 3, 4, 5, 6]\n\
    [a_to_b.loss]\nmodel = \"gilbert-elliott\"\np = 0.02\nr = 0.4\n\
    [a_to_b.duplicate]\nmodel = \"bernoulli\"\nprobability = 0.02\ndelay = \"3ms\"\n\
    [a_to_b.reorder]\nmodel = \"bernoulli\"\nprobability = 0.03\n\
    displacement = { model = \"uniform\", low = 2, high = 2 }\n\
    [a_to_b.delay]\nfixed = \"20ms\"\nvariable = { model = \"gamma\", shape = 2, scale = \"3ms\" }\n";

/// Every family is one that the emulator makes: losses in bursts with their times, reordering, duplication, and delay correlated in time are
/// found again, and the check of the scenario accepts its own measurement.
#[test]
fn a_path_is_found_again() {
    let text = "seed = [1, 2, 3, 4, 5, 6]\n\
        [a_to_b.loss]\nmodel = \"markov\"\nstep = \"time\"\ntransition = [[0.98, 0.02], [0.02, 0.98]]\n\
        state = [{ duration = \"40ms\", probability = 0 }, { duration = \"4ms\", probability = 1 }]\n\
        [a_to_b.duplicate]\nmodel = \"bernoulli\"\nprobability = 0.02\ndelay = \"3ms\"\n\
        [a_to_b.delay]\nfixed = \"20ms\"\nvariable = { model = \"correlated\", distribution = { model = \"gamma\", shape = 2, scale = \
        \"3ms\" }, time = \"100ms\" }\n";
    let singletons = singletons(text, 6_000);
    let modelled = model(&input(&singletons, ModelKind::Models)).unwrap();
    let model = &modelled.fitted.directions[0];
    assert_eq!((model.delay.as_str(), model.loss.as_str()), ("correlated", "bursts"), "{model:#?}");
    // The intervals of 95 % for this seed, twice as wide.
    for (name, truth) in [("delay.correlation_time_ns", 100e6), ("loss.good_ns", 2e9), ("loss.bad_ns", 200e6)]
    {
        let (value, [low, high]) = parameter(model, name);
        assert!((value - truth).abs() < high - low, "{name}: {value} {low} {high}");
    }
    assert!((model.duplicated_ratio.unwrap() - 0.02).abs() < 0.006, "{model:?}");
    assert!(modelled.misfits().is_empty(), "{:#?}", modelled.check);
    assert_eq!(modelled.held_out.iter().map(|check| check.every).collect::<Vec<_>>(), [2, 4]);
}

/// The fault of per-packet models: at a fifth and at five times the spacing of the probes the model has the delays of the path, and reorders
/// nothing.
#[test]
fn a_model_holds_at_other_spacings() {
    let text = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.delay]\nfixed = \"20ms\"\nvariable = { model = \"correlated\", distribution = { \
        model = \"gamma\", shape = 2, scale = \"5ms\" }, time = \"200ms\" }\n";
    let fitted = fitted(&singletons(text, 6_000), ModelKind::Models);
    let emulated = |text: &str, files: &Fitted, spacing: Nanos| {
        let config = if files.files.is_empty() {
            crate::read_scenario(text, "s").unwrap().scenario.config
        } else {
            read(files)
        };
        let (mut made, mut arrivals) = (Vec::new(), Vec::new());
        // Several seeds, because delays within 0.2 s are alike.
        for seed in 1..=8 {
            let config = Config { seed: Some(romer_units::random::Seed([seed; 6])), ..config.clone() };
            let singletons = run(config, u32::try_from(60_000_000_000 / spacing).unwrap(), spacing);
            made.extend(singletons.iter().filter_map(|one| Some(real(one.delay?.as_nanos()))));
            arrivals.extend(singletons.windows(2).map(|pair| pair[0].arrival <= pair[1].arrival));
        }
        assert!(arrivals.iter().all(|in_order| *in_order));
        made.sort_by(f64::total_cmp);
        [0.05, 0.5, 0.95].map(|p| quantile(&made, p))
    };
    let none =
        Fitted { text: String::new(), files: Vec::new(), directions: Vec::new(), warnings: Vec::new() };
    for spacing in [4_000_000, 20_000_000, 100_000_000] {
        let [path, model] = [emulated(text, &none, spacing), emulated("", &fitted, spacing)];
        for (path, model) in path.iter().zip(model) {
            assert!((path - model).abs() < 1e6_f64.max(0.05 * path), "{spacing}: {path} {model}");
        }
    }
}

/// A regime with losses is found again, and the check of the scenario accepts its own measurement. Packets on the way from one level of
/// delay to the other may be a regime of their own.
#[test]
fn regimes_are_found_again() {
    let text = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.regimes]\nstep = \"20ms\"\n\
        transition = [[0.99, 0.01], [0.04, 0.96]]\nstate = [\n\
        { delay = { fixed = \"10ms\", variable = { model = \"correlated\", distribution = { model = \"exponential\", mean = \"1ms\" }, \
        time = \"10ms\" } } },\n\
        { loss = { probability = 0.2 }, delay = { fixed = \"40ms\", variable = { model = \"correlated\", distribution = { model = \
        \"exponential\", mean = \"4ms\" }, time = \"10ms\" } } },\n]\n";
    let singletons = singletons(text, 6_000);
    let modelled = model(&input(&singletons, ModelKind::Models)).unwrap();
    let model = &modelled.fitted.directions[0];
    assert_eq!((model.delay.as_str(), model.loss.as_str()), ("regimes", "regimes"), "{model:#?}");
    let last = model.parameters.iter().filter(|one| one.name.ends_with(".sojourn_ns")).count();
    // The intervals of 95 % for this seed, twice as wide.
    for (name, truth) in [("sojourn_ns", 0.5e9), ("loss_ratio", 0.2)] {
        let (value, [low, high]) = parameter(model, &format!("regime_{last}.{name}"));
        assert!((value - truth).abs() < high - low, "{name}: {value} {low} {high}");
    }
    assert!(modelled.misfits().is_empty(), "{:#?}", modelled.check);
}

/// A path whose delays are independent and that reorders packets is modelled as such, and no trace is needed.
#[test]
fn independent_delays_are_reproduced() {
    let text = "seed = [1, 2, 3, 4, 5, 6]\n\
        [a_to_b.reorder]\nprobability = 0.03\ndisplacement = { model = \"time\", low = \"25ms\", high = \"55ms\" }\n\
        [a_to_b.delay]\nfixed = \"20ms\"\nvariable = { model = \"correlated\", distribution = { model = \"gamma\", shape = 2, scale = \
        \"3ms\" }, coefficient = 0 }\n";
    let singletons = singletons(text, 3_000);
    let modelled = model(&input(&singletons, ModelKind::Models)).unwrap();
    let direction = &modelled.fitted.directions[0];
    assert_eq!(direction.delay, "independent", "{direction:#?}");
    let time = parameter(direction, "delay.correlation_time_ns");
    assert!(time.0 < 1.0 && time.1[1] < 20e6, "{time:?}");
    assert!(modelled.misfits().is_empty(), "{:#?}", modelled.check);
}

/// Two packets of 1,028 octets at once every 40 ms.
fn pairs() -> Vec<(Nanos, u32)> {
    (0..1_500)
        .flat_map(|number| [(number * 40_000_000, 1_046), (number * 40_000_000 + 50_000, 1_046)])
        .collect()
}

/// Pairs of packets through a rate: the scenario has the rate, within 1 %, and delays that are shorter by the transmission. Its check accepts
/// the measurement, it supports load up to the rate, and it carries that: of a greater load, the rate within 1 %.
#[test]
fn a_rate_is_found_again() {
    const LIMIT: f64 = 5e6;
    let text = "seed = [1, 2, 3, 4, 5, 6]\n\
        [a_to_b.delay]\nfixed = \"20ms\"\nvariable = { model = \"correlated\", distribution = { model = \"gamma\", shape = 2, scale = \
        \"2ms\" }, time = \"200ms\" }\n\
        [a_to_b.rate]\nlimit = \"5Mbit\"\nlayer = \"l3\"\nqueue = { bytes = \"128KiB\" }\n";
    let singletons = run_frames(crate::read_scenario(text, "s").unwrap().scenario.config, &pairs());
    let modelled = model(&input(&singletons, ModelKind::Models)).unwrap();
    let model = &modelled.fitted.directions[0];
    assert_eq!((model.delay.as_str(), model.loss.as_str()), ("bottleneck", "none"), "{model:#?}");
    let (rate, _) = parameter(model, "bottleneck.rate_bit_per_s");
    assert!((rate / LIMIT - 1.0).abs() < 0.01, "{model:#?}");
    assert!((model.supported.load_bit_per_s - rate).abs() < 1.0, "{model:#?}");
    let config = read(&modelled.fitted);
    let path = config.base.paths[0][0].as_ref().unwrap();
    let limit = path.rate.as_ref().map(|rate| rate.limit);
    assert!(
        matches!(limit, Some(romer_units::Rate::Bits(bits)) if (4_950_000..=5_050_000).contains(&bits)),
        "{}",
        modelled.fitted.text
    );
    assert!(modelled.misfits().is_empty(), "{:#?}", modelled.check);
    let load: Vec<(Nanos, u32)> = (0..8_000).map(|number| (number * 1_000_000, 1_046)).collect();
    let arrivals: Vec<Nanos> =
        run_frames(config, &load).iter().filter_map(|one| Some(one.arrival?.as_nanos())).collect();
    let [first, last] = [arrivals[0], arrivals[arrivals.len() - 1]];
    let carried =
        real(i64::try_from(arrivals.len()).unwrap() - 1) * 1_028.0 * 8.0 / (real(last - first) / 1e9);
    assert!((carried / rate - 1.0).abs() < 0.01, "{carried} bit/s of {rate}");
}

/// Where no family reproduces the delays before a rate, the best one stays, and its checks fail: a trace would have no rate.
#[test]
fn a_rate_is_kept_where_models_fail() {
    let text = format!(
        "{SAWTOOTH}[a_to_b.rate]\nlimit = \"5Mbit\"\nlayer = \"l3\"\nqueue = {{ bytes = \"128KiB\" }}\n"
    );
    let singletons = run_frames(crate::read_scenario(&text, "s").unwrap().scenario.config, &pairs());
    let modelled = model(&input(&singletons, ModelKind::Models)).unwrap();
    let model = &modelled.fitted.directions[0];
    assert_eq!((model.delay.as_str(), &model.replaced), ("bottleneck", &None), "{model:#?}");
    let (rate, _) = parameter(model, "bottleneck.rate_bit_per_s");
    assert!((rate / 5e6 - 1.0).abs() < 0.01, "{model:#?}");
    assert!(model.candidates.iter().any(|one| one.misfit.is_some()), "{model:#?}");
    assert_eq!(modelled.misfits(), [ProbeDirection::Forward]);
}

#[test]
fn independent_losses_and_no_losses_are_named() {
    let text = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.loss]\nmodel = \"bernoulli\"\nprobability = 0.05\n";
    assert_eq!(fitted(&singletons(text, 5_000), ModelKind::Models).directions[0].loss, "bernoulli");
    let nothing = fitted(&singletons("", 100), ModelKind::Models);
    // 54 octets of payload every 20 ms, for 2 s.
    let supported =
        "[about.supported]\nmin_spacing = \"20ms\"\nmax_spacing = \"198ms\"\nmin_size = \"82B\"\n";
    assert!(nothing.text.contains(supported), "{}", nothing.text);
    assert_eq!(
        (nothing.directions[0].loss.as_str(), nothing.directions[0].delay.as_str()),
        ("none", "constant")
    );
    assert_eq!(
        read(&nothing).base.paths[0][0].as_ref().unwrap().loss,
        romer_impair::config::Model::default()
    );
    assert!(model(&input(&[], ModelKind::Models)).is_err());
}

#[test]
fn only_udp_is_impaired_if_requested() {
    let singletons = singletons(PATH, 300);
    for kind in [ModelKind::Models, ModelKind::Trace] {
        let config = read(&fitted_from(&FitInput { only_udp: true, ..input(&singletons, kind) }));
        assert_eq!(config.flows[0].protocol, Some(17));
        let [all, udp] = [0, 1].map(|flow| config.base.paths[0][flow].clone().unwrap());
        assert_eq!((all.longest_hold(), all.trace.clone()), (0, None));
        assert!(udp.longest_hold() > 20_000_000, "{udp:?}");
    }
}

/// Spikes of 30 ms every 2.03 s are a chain with their period, which its interval of 95 % holds for this seed, and the rest has the correlation
/// time of the path. At 5 ms spacing the emulation has spikes with the period and the height of the path's.
#[test]
fn spikes_keep_their_period() {
    let variable = "variable = { model = \"correlated\", distribution = { model = \"gamma\", shape = 2, scale = \"1ms\" }, time = \"200ms\" }";
    let text = format!(
        "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.delay]\nmodel = \"markov\"\nstep = \"time\"\ntransition = [[0, 1], [1, 0]]\nstate = [\n\
         {{ duration = \"1970ms\", fixed = \"20ms\", {variable} }},\n{{ duration = \"60ms\", fixed = \"50ms\", {variable} }},\n]\n"
    );
    let singletons = singletons(&text, 6_000);
    let periodic = |singletons: &[OneWaySingleton]| {
        let found = romer_metrics::findings::findings(singletons, &[], &[], DelayKind::Absolute);
        let is_periodic = |finding: &Finding| matches!(finding.pattern, Pattern::PeriodicDelaySpikes { .. });
        found.into_iter().filter(is_periodic).collect::<Vec<_>>()
    };
    let findings = periodic(&singletons);
    let source = FitInput { findings: &findings, ..input(&singletons, ModelKind::Models) };
    let modelled = model(&source).unwrap();
    let direction = &modelled.fitted.directions[0];
    assert_eq!(direction.delay, "correlated", "{direction:#?}\n{:#?}", modelled.fitted.text);
    let (period, [low, high]) = parameter(direction, "spikes.period_ns");
    assert!(low <= 2.03e9 && 2.03e9 <= high && high - low < 0.1 * period, "{direction:#?}");
    // Above the usual delay of one packet, the slowest of three has more.
    let (height, _) = parameter(direction, "spikes.height_ns");
    assert!((28e6..36e6).contains(&height), "{direction:#?}");
    // Spikes that were not taken out would make delays alike for shorter.
    let (time, [low, high]) = parameter(direction, "delay.correlation_time_ns");
    assert!((time - 200e6).abs() < high - low, "{direction:#?}");
    assert!(modelled.misfits().is_empty(), "{:#?}", modelled.check);
    let emulated = run(read(&modelled.fitted), 24_000, 5_000_000);
    let found = periodic(&emulated);
    let is_same = |finding: &Finding| match finding.pattern {
        Pattern::PeriodicDelaySpikes { period_ns, height_ns, strength_ratio, .. } => {
            (period_ns - 2.03e9).abs() < 20e6 && (20e6..40e6).contains(&height_ns) && strength_ratio > 0.9
        }
        _ => false,
    };
    assert!(found.iter().any(is_same), "{found:#?}\n{}", modelled.fitted.text);
}

/// A delay that rises for a second and falls at once: no process that looks alike in both directions of time.
pub(super) const SAWTOOTH: &str = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.delay]\nfixed = \"20ms\"\n\
    [[timeline]]\nat = \"10ms\"\nramp = \"900ms\"\na_to_b.delay.fixed = \"320ms\"\n\
    [[timeline]]\nat = \"950ms\"\nramp = \"400ms\"\na_to_b.delay.fixed = \"20ms\"\n\
    [timeline_repeat]\nevery = \"1500ms\"\n";

/// Where the models of one direction fail, the other direction keeps the families that were compared for it, and its checks.
#[test]
fn other_direction_keeps_its_candidates() {
    let failing = singletons(SAWTOOTH, 1_500);
    let steady = singletons("seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.delay]\nfixed = \"20ms\"\n", 1_500);
    let source = FitInput { ways: [&failing, &steady], ..input(&failing, ModelKind::Models) };
    let modelled = model(&source).unwrap();
    let [failed, kept] = &modelled.fitted.directions[..] else { panic!("{modelled:#?}") };
    assert_eq!([&failed.delay, &kept.delay], ["trace", "constant"]);
    assert!(!kept.candidates.is_empty(), "{kept:#?}");
    let names = |fidelity: &Fidelity| -> Vec<String> {
        fidelity.directions.iter().map(|one| one.direction.clone()).collect()
    };
    assert_eq!(names(&modelled.check), ["forward", "reverse"]);
    // A trace has no held-out parts.
    assert_eq!(
        modelled.held_out.iter().map(|check| names(&check.fidelity)).collect::<Vec<_>>(),
        [["reverse"], ["reverse"]]
    );
    let alone = model(&FitInput { ways: [&[], &steady], ..source }).unwrap();
    assert_eq!(modelled.check.directions[1], alone.check.directions[0]);
}

/// Where no family reproduces the delays, the recorded ones are replayed, and the check of these passes.
#[test]
fn a_trace_replaces_models_that_fail() {
    let singletons = singletons(SAWTOOTH, 3_000);
    let modelled = model(&input(&singletons, ModelKind::Models)).unwrap();
    let direction = &modelled.fitted.directions[0];
    assert_eq!(direction.delay, "trace", "{direction:#?}");
    assert!(direction.replaced.is_some() && !direction.candidates.is_empty(), "{direction:#?}");
    assert!(direction.candidates.iter().any(|one| one.misfit.is_some()), "{direction:#?}");
    assert!(modelled.fitted.text.contains("between = \"linear\""), "{}", modelled.fitted.text);
    assert!(modelled.misfits().is_empty(), "{:#?}", modelled.check);
    assert!(modelled.held_out.is_empty());
}

/// Where the delays of a direction are unknown, the scenario has half of each round trip, and says so; an unknown order is no
/// reordering.
#[test]
fn unknown_delays_are_halves_of_round_trips() {
    let text = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.delay]\nfixed = \"40ms\"\norder = \"independent\"\n\
                variable = { model = \"exponential\", mean = \"30ms\" }\n";
    let round_trip = singletons(text, 400);
    let unknown: Vec<OneWaySingleton> =
        round_trip.iter().map(|singleton| OneWaySingleton { delay: None, ..*singleton }).collect();
    let of = |round_trip: &[OneWaySingleton], kind| {
        fitted_from(&FitInput {
            ways: [&unknown, &unknown],
            round_trip,
            ordered: [true, false],
            ..input(&[], kind)
        })
    };
    let tables = [(ProbeDirection::Forward, "a_to_b"), (ProbeDirection::Reverse, "b_to_a")];
    let no_order =
        ModelWarning::OrderUnknown { direction: ProbeDirection::Reverse, setting: "b_to_a".into() };
    let halved =
        tables.map(|(direction, setting)| ModelWarning::DelaysHalved { direction, setting: setting.into() });
    let models = of(&round_trip, ModelKind::Models);
    assert_eq!(models.warnings, [&halved[..], std::slice::from_ref(&no_order)].concat());
    let config = read(&models);
    let least = round_trip.iter().filter_map(|singleton| singleton.delay).min().unwrap();
    for port in 0..2 {
        let romer_impair::config::Model::Plain(delay) = &config.base.paths[port][0].as_ref().unwrap().delay
        else {
            panic!("{}", models.text)
        };
        assert_eq!(delay.fixed, least.as_nanos() / 2);
    }
    assert!(models.text.contains("[b_to_a.delay] # 400 halves of round trips"), "{}", models.text);
    assert!(models.text.contains("[a_to_b.reorder]"), "{}", models.text);
    // A packet that is overtaken waits for at least the 20 ms between two.
    let romer_impair::config::Model::Plain(reorder) = &config.base.paths[0][0].as_ref().unwrap().reorder
    else {
        panic!("{}", models.text)
    };
    assert!(
        matches!(reorder.displacement, romer_impair::config::Displacement::Time { high, .. } if high >= 20_000_000),
        "{}",
        models.text
    );
    assert!(!models.text.contains("[b_to_a.reorder]"), "{}", models.text);
    let trace = of(&round_trip, ModelKind::Trace);
    let config = read(&trace);
    let Some(romer_impair::trace::Trace::ByTime { entries, .. }) =
        config.base.paths[1][0].as_ref().unwrap().trace.as_deref()
    else {
        panic!("{}", trace.text)
    };
    assert_eq!(entries.iter().filter(|entry| entry.lost).count(), 0, "none was lost");
    // Without a round trip there is no delay, and that is said.
    let nothing = of(&[], ModelKind::Models);
    let none =
        tables.map(|(direction, setting)| ModelWarning::DelaysUnknown { direction, setting: setting.into() });
    assert_eq!(nothing.warnings, [&none[..], &[no_order]].concat());
    assert!(!nothing.text.contains(".delay]"), "{}", nothing.text);
}

/// Packets of which it is unknown where they were lost are lost forward, and the scenario says so.
#[test]
fn unknown_losses_are_forward() {
    let lost: Vec<OneWaySingleton> = singletons(PATH, 300);
    let unknown: Vec<OneWaySingleton> = lost
        .iter()
        .map(|one| OneWaySingleton {
            fate: if one.fate == Fate::Lost { Fate::Unknown } else { one.fate },
            ..*one
        })
        .collect();
    let [known, unknown] = [&lost, &unknown].map(|singletons| fitted(singletons, ModelKind::Models));
    let warning = ModelWarning::FatesUnknown { direction: ProbeDirection::Forward, setting: "a_to_b".into() };
    assert!(lost.iter().any(|one| one.fate == Fate::Lost));
    assert_eq!(unknown.text, known.text);
    assert!(unknown.warnings.contains(&warning) && !known.warnings.contains(&warning));
}

/// A trace of unlike delays and of reordered packets does to the same packets what the path did.
#[test]
fn a_trace_replays_the_very_fates() {
    let singletons = singletons(PATH, 300);
    let fitted = fitted(&singletons, ModelKind::Trace);
    assert!(fitted.text.contains("between = \"hold\""), "{}", fitted.text);
    let config = read(&fitted);
    let replayed = run(config.clone(), 300, 20_000_000);
    let arrivals = |singletons: &[OneWaySingleton]| {
        singletons.iter().map(|one| (one.sequence, one.arrival)).collect::<Vec<_>>()
    };
    assert!(!reordering(&singletons).is_empty());
    assert_eq!(reordering(&replayed), reordering(&singletons));
    assert_eq!(arrivals(&replayed), arrivals(&singletons));
    let Some(romer_impair::trace::Trace::ByTime { entries, .. }) =
        config.base.paths[0][0].as_ref().unwrap().trace.as_deref()
    else {
        panic!("a trace by time: {}", fitted.text)
    };
    assert_eq!(entries.len(), 300);
    let lost: Vec<bool> = entries.iter().map(|entry| entry.lost).collect();
    let truth: Vec<bool> = singletons.iter().filter(|p| p.copy == 0).map(|p| p.fate == Fate::Lost).collect();
    assert_eq!(lost, truth);
}
