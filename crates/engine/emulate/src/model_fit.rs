//! A scenario from a measurement: what the path did, so that it can be done again.
//!
//! | what | how |
//! | --- | --- |
//! | delay | the delays themselves, as an empirical distribution; where successive ones are alike, a Gaussian copula of first order with the normal scores' autocorrelation |
//! | loss | none; Bernoulli; or Gilbert-Elliott's two states (p: from an arrived packet to a lost one, r: back) where losses follow each other more or less than chance would have it |
//! | reordering | displacement by as many packets as RFC 4737's extents say |
//! | duplication | Bernoulli, with the copies' median distance |
//!
//! Where the delays of a direction are unknown, half of each round trip is used, and the scenario says so. Reordering of an unknown
//! order is not modelled. Delays of packets that were displaced or late are left out: another stage makes them. Alternatively the very fates
//! and delays are kept, packet by packet ([`ModelKind::Trace`]).

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use romer_impair::Nanos;
use romer_metrics::{reordering, wilson_interval};
use romer_record::document::ProbeDirection;
use romer_record::fidelity::DirectionModel;
use romer_record::warning::ModelWarning;
use romer_record::{Fate, Passage};
use romer_units::{Duration, Timestamp};

use crate::predictive_check::{count, quantile, real};

/// How the path is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// By distributions and chances.
    Models,
    /// Packet by packet, in a circle.
    Trace,
}

/// What a scenario is made of.
#[derive(Clone, Debug)]
pub struct FitInput<'a> {
    /// What the run is called.
    pub run: &'a str,
    /// From sender to responder, and back; each in order of sequence and copy.
    pub ways: [&'a [Passage]; 2],
    /// There and back, in order of sequence and copy.
    pub round_trip: &'a [Passage],
    /// Whether the order in which packets arrived is known, of each of the two ways.
    pub ordered: [bool; 2],
    /// Whether the delays are absolute.
    pub absolute: bool,
    /// How to keep it.
    pub kind: ModelKind,
    /// How the files beside the scenario are to begin.
    pub stem: &'a str,
    /// The year that the scenario names.
    pub year: u64,
    /// Whether only UDP is to be treated so, and all else to pass at once.
    pub only_udp: bool,
}

/// A scenario with its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The scenario.
    pub text: String,
    /// Files that it names, to stand beside it: name and content.
    pub files: Vec<(String, String)>,
    /// What was found, by direction.
    pub directions: Vec<DirectionModel>,
    /// What a reader should know.
    pub warnings: Vec<ModelWarning>,
}

/// Makes the scenario.
///
/// # Errors
/// In words, where there is nothing to make it of.
pub fn fit(source: &FitInput<'_>) -> Result<Fitted, String> {
    let mut fitted =
        Fitted { text: head(source), files: Vec::new(), directions: Vec::new(), warnings: Vec::new() };
    let mut are_relative = false;
    let tables =
        [(ProbeDirection::Forward, "forward", "a_to_b"), (ProbeDirection::Reverse, "reverse", "b_to_a")];
    for ((direction, name, table), (passages, ordered)) in
        tables.into_iter().zip(source.ways.into_iter().zip(source.ordered))
    {
        if passages.iter().any(|passage| passage.fate == Fate::Unknown) {
            fitted.warnings.push(ModelWarning::FatesUnknown { direction, setting: table.into() });
        }
        if passages.is_empty() {
            continue;
        }
        let delays = DelaySource::from_passages(passages, source.round_trip);
        let setting = table.to_owned();
        match delays {
            DelaySource::OneWay => are_relative |= !source.absolute,
            DelaySource::HalfRoundTrip => {
                fitted.warnings.push(ModelWarning::DelaysHalved { direction, setting });
            }
            DelaySource::None => fitted.warnings.push(ModelWarning::DelaysUnknown { direction, setting }),
        }
        let way = DirectionFit { table, passages, ordered, delays, source };
        match source.kind {
            ModelKind::Models => {
                if !ordered && passages.iter().any(|passage| passage.fate == Fate::Arrived) {
                    let setting = table.to_owned();
                    fitted.warnings.push(ModelWarning::OrderUnknown { direction, setting });
                }
                way.models(name, &mut fitted);
            }
            ModelKind::Trace => way.trace(name, &mut fitted),
        }
    }
    if fitted.directions.is_empty() {
        return Err("there are no packets in any direction".into());
    }
    if are_relative {
        fitted.warnings.push(ModelWarning::DelaysRelative);
    }
    Ok(fitted)
}

fn head(source: &FitInput<'_>) -> String {
    let quoted = |text: &str| -> String {
        text.chars().filter(|c| !c.is_control()).flat_map(char::escape_default).collect()
    };
    let flow = if source.only_udp { "[[flow]]\nmatch = { protocol = \"udp\" }\n" } else { "" };
    format!(
        "# Made by `romer model` from a measurement.\n[about]\ntitle = \"Measured: {}\"\nsource = \"romer model\"\n\
         year = {}\n{flow}",
        quoted(source.run),
        source.year
    )
}

/// What the path carried and a host dropped unread is not.
const fn is_lost(passage: &Passage) -> bool {
    !matches!(passage.fate, Fate::Arrived | Fate::InstrumentDrop)
}

/// What the delays of a direction are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DelaySource {
    /// Its own.
    OneWay,
    /// Half of each round trip: its own are unknown.
    HalfRoundTrip,
    /// Nothing.
    None,
}

impl DelaySource {
    /// Of a direction with these packets.
    fn from_passages(passages: &[Passage], round_trip: &[Passage]) -> Self {
        let has = |passages: &[Passage]| passages.iter().any(|passage| passage.delay.is_some());
        if has(passages) || !passages.iter().any(|passage| passage.fate == Fate::Arrived) {
            Self::OneWay
        } else if has(round_trip) {
            Self::HalfRoundTrip
        } else {
            Self::None
        }
    }
}

/// Half of a round trip.
fn half(passage: &Passage) -> Option<Duration> {
    passage.delay.map(|delay| Duration::from_nanos(delay.as_nanos() / 2))
}

/// First copies of what says something of the path.
fn firsts(passages: &[Passage]) -> impl Iterator<Item = &Passage> {
    passages.iter().filter(|passage| passage.copy == 0 && passage.fate != Fate::InFlight)
}

struct DirectionFit<'a> {
    table: &'static str,
    passages: &'a [Passage],
    /// Whether the order in which the packets arrived is known.
    ordered: bool,
    delays: DelaySource,
    source: &'a FitInput<'a>,
}

impl DirectionFit<'_> {
    fn models(&self, name: &str, fitted: &mut Fitted) {
        let (table, header) = (self.table, self.header());
        let mut model = self.blank(name);
        let text = &mut fitted.text;
        self.loss(&mut model, text);
        self.copies(&mut model, text);
        let displaced = if self.ordered { self.order(&mut model, text) } else { HashSet::new() };
        let is_halved = self.delays == DelaySource::HalfRoundTrip;
        let (of, delay): (_, fn(&Passage) -> Option<Duration>) =
            if is_halved { (self.source.round_trip, half) } else { (self.passages, |passage| passage.delay) };
        let mut delays: Vec<(Nanos, f64)> = Vec::new();
        for passage in firsts(of).filter(|passage| is_halved || !displaced.contains(&passage.sequence)) {
            if let (Fate::Arrived, Some(delay), Some(departure)) =
                (passage.fate, delay(passage), passage.departure)
            {
                delays.push((departure.as_nanos(), real(delay.as_nanos().max(0))));
            }
        }
        delays.sort_by_key(|(departure, _)| *departure);
        let series: Vec<f64> = delays.into_iter().map(|(_, delay)| delay).collect();
        model.delays = series.len() as u64;
        if series.len() >= 2 {
            let least = series.iter().copied().fold(f64::INFINITY, f64::min);
            let file = format!("{}.{table}.delays", self.source.stem);
            let mut content = String::from("delay_ns\n");
            for delay in &series {
                let _ = writeln!(content, "{:.0}", delay - least);
            }
            model.delay_correlation = correlation(&series);
            let what = if is_halved {
                "halves of round trips, because one-way delays are unknown"
            } else {
                "delays"
            };
            let _ = writeln!(
                text,
                "[{header}.delay] # {} {what}; median {}",
                series.len(),
                Duration::from_nanos_f64(median(&series))
            );
            let fixed = if self.source.absolute || is_halved { least } else { 0.0 };
            let _ = writeln!(text, "fixed = \"{}\"", Duration::from_nanos_f64(fixed));
            let empirical = format!("{{ model = \"empirical\", file = \"{file}\" }}");
            if model.delay_correlation == 0.0 {
                let _ = writeln!(text, "variable = {empirical}");
            } else {
                let coefficient = model.delay_correlation;
                let _ = writeln!(
                    text,
                    "variable = {{ model = \"correlated\", of = {empirical}, coefficient = {coefficient:.4} }}"
                );
            }
            // Measured delays kept order already, or it is the reorder stage that breaks it.
            text.push_str("order = \"fifo\"\n");
            fitted.files.push((file, content));
        }
        fitted.directions.push(model);
    }

    fn trace(&self, name: &str, fitted: &mut Fitted) {
        let mut model = self.blank(name);
        let lost = self.firsts().filter(|passage| is_lost(passage)).count();
        self.ratio_of_loss(&mut model, lost);
        let is_halved = self.delays == DelaySource::HalfRoundTrip;
        let halves: HashMap<u64, Duration> = if is_halved {
            firsts(self.source.round_trip)
                .filter_map(|passage| Some((passage.sequence, half(passage)?)))
                .collect()
        } else {
            HashMap::new()
        };
        let known = |passage: &Passage| passage.delay.or_else(|| halves.get(&passage.sequence).copied());
        let least = self.passages.iter().filter_map(known).min();
        // A packet that arrived without a known delay has that of the packet before it.
        let mut last = least.unwrap_or(Duration::ZERO);
        let file = format!("{}.{}.csv", self.source.stem, self.table);
        let stamps =
            if self.table == "a_to_b" { "t1_ns,t2_ns,t3_ns,t4_ns" } else { "t3_ns,t4_ns,t1_ns,t2_ns" };
        let mut content = format!("sequence,size,{stamps}\n");
        for passage in self.passages.iter().filter(|passage| passage.fate.is_observed()) {
            last = known(passage).unwrap_or(last);
            let departure = passage.departure.map(Timestamp::as_nanos);
            // A departure on an unusable clock is that of a packet that took this delay.
            let before_arrival = || passage.arrival.map(|arrival| arrival.as_nanos() - last.as_nanos());
            let departure = if is_halved { before_arrival().or(departure) } else { departure };
            let Some(departure) = departure else { continue };
            let arrival = if passage.fate == Fate::Arrived {
                (departure + last.as_nanos()).to_string()
            } else {
                String::new()
            };
            let _ = writeln!(content, "{},{},{departure},{arrival},,", passage.sequence, passage.size);
            model.delays += u64::from(known(passage).is_some());
        }
        let fixed = least.filter(|_| self.source.absolute || is_halved).unwrap_or(Duration::ZERO);
        let what =
            if is_halved { " # halves of round trips, because one-way delays are unknown" } else { "" };
        let _ = writeln!(
            fitted.text,
            "[{}.trace]{what}\nfile = \"{file}\"\nformat = \"measurement\"\nby = \"packet\"\nfixed = \"{}\"\n\
             order = \"independent\"",
            self.header(),
            Duration::from_nanos_f64(real(fixed.as_nanos().max(0)))
        );
        fitted.files.push((file, content));
        fitted.directions.push(model);
    }

    /// Its table in the scenario.
    fn header(&self) -> String {
        format!("{}{}", if self.source.only_udp { "flow." } else { "" }, self.table)
    }

    /// First copies of what says something of the path.
    fn firsts(&self) -> impl Iterator<Item = &Passage> {
        firsts(self.passages)
    }

    fn blank(&self, name: &str) -> DirectionModel {
        DirectionModel {
            direction: name.into(),
            packets: self.firsts().count() as u64,
            loss: "none".into(),
            loss_ratio: None,
            loss_ratio_interval: None,
            p: None,
            p_interval: None,
            r: None,
            r_interval: None,
            delays: 0,
            delay_correlation: 0.0,
            reordered_ratio: None,
            duplicated_ratio: None,
        }
    }

    fn ratio_of_loss(&self, model: &mut DirectionModel, lost: usize) {
        let sent = self.firsts().count();
        model.loss_ratio = Some(count(lost) / count(sent.max(1)));
        model.loss_ratio_interval = wilson_interval(lost, sent);
    }

    fn loss(&self, model: &mut DirectionModel, text: &mut String) {
        let header = self.header();
        let fates: Vec<bool> = self.firsts().map(is_lost).collect();
        let lost = fates.iter().filter(|lost| **lost).count();
        self.ratio_of_loss(model, lost);
        if lost == 0 {
            return;
        }
        let pairs = |before: bool, after: bool| {
            fates.windows(2).filter(|pair| pair[0] == before && pair[1] == after).count()
        };
        let (into, stay_good) = (pairs(false, true), pairs(false, false));
        let (out_of, stay_bad) = (pairs(true, false), pairs(true, true));
        let ratio = model.loss_ratio.unwrap_or(0.0);
        let bounds = |interval: Option<[f64; 2]>| {
            interval.map_or(String::new(), |[low, high]| format!("{low:.5} to {high:.5}"))
        };
        // Whether a loss tells of the next: chi-squared of the two by two table, one degree of freedom, at 5 %.
        if chi_squared([[stay_good, into], [out_of, stay_bad]]) < 3.841 || out_of == 0 || into == 0 {
            model.loss = "bernoulli".into();
            let _ = writeln!(
                text,
                "[{header}.loss] # {lost} of {}; 95 %: {}\nmodel = \"bernoulli\"\nprobability = {ratio:.6}",
                fates.len(),
                bounds(model.loss_ratio_interval)
            );
            return;
        }
        model.loss = "gilbert-elliott".into();
        let (p, r) = (count(into) / count(into + stay_good), count(out_of) / count(out_of + stay_bad));
        (model.p, model.r) = (Some(p), Some(r));
        model.p_interval = wilson_interval(into, into + stay_good);
        model.r_interval = wilson_interval(out_of, out_of + stay_bad);
        let _ = writeln!(
            text,
            "[{header}.loss] # {lost} of {}; 95 %: p {}, r {}\nmodel = \"gilbert-elliott\"\np = {p:.6}\nr = {r:.6}",
            fates.len(),
            bounds(model.p_interval),
            bounds(model.r_interval)
        );
    }

    fn copies(&self, model: &mut DirectionModel, text: &mut String) {
        let arrived = self.firsts().filter(|passage| passage.fate == Fate::Arrived).count();
        let mut spacings = Vec::new();
        let mut doubled = HashSet::new();
        for pair in self.passages.windows(2).filter(|pair| pair[0].sequence == pair[1].sequence) {
            doubled.insert(pair[0].sequence);
            if let (Some(first), Some(second)) = (pair[0].delay, pair[1].delay) {
                spacings.push(real((second - first).as_nanos().max(0)));
            }
        }
        model.duplicated_ratio = (arrived > 0).then(|| count(doubled.len()) / count(arrived));
        let Some(ratio) = model.duplicated_ratio.filter(|ratio| *ratio > 0.0) else { return };
        let _ = writeln!(
            text,
            "[{}.duplicate]\nmodel = \"bernoulli\"\nprobability = {ratio:.6}\ndelay = \"{}\"",
            self.header(),
            Duration::from_nanos_f64(median(&spacings))
        );
    }

    /// The reorder stage; the packets that it displaced.
    fn order(&self, model: &mut DirectionModel, text: &mut String) -> HashSet<u64> {
        let reordered = reordering(self.passages);
        let arrived = self.firsts().filter(|passage| passage.fate == Fate::Arrived).count();
        model.reordered_ratio = (arrived > 0).then(|| count(reordered.len()) / count(arrived));
        let mut extents: Vec<u64> = reordered.iter().map(|packet| packet.extent.clamp(1, 65_535)).collect();
        extents.sort_unstable();
        if let (Some(ratio), false) = (model.reordered_ratio, extents.is_empty()) {
            // All but the rarest tenth on either side.
            let at = |tenths: usize| extents[(extents.len() - 1) * tenths / 10];
            let _ = writeln!(
                text,
                "[{}.reorder] # {} of {arrived}\nmodel = \"bernoulli\"\nprobability = {ratio:.6}\n\
                 displacement = {{ model = \"uniform\", low = {}, high = {} }}",
                self.header(),
                reordered.len(),
                at(1),
                at(9)
            );
        }
        reordered.iter().map(|packet| packet.sequence).collect()
    }
}

/// Pearson's statistic of a table of two by two.
fn chi_squared(table: [[usize; 2]; 2]) -> f64 {
    let [[a, b], [c, d]] = table.map(|row| row.map(count));
    let product = (a + b) * (c + d) * (a + c) * (b + d);
    if product > 0.0 { (a * d - b * c).powi(2) * (a + b + c + d) / product } else { 0.0 }
}

/// The autocorrelation of first order of the normal scores, by way of the ranks (Spearman); 0 where chance alone would
/// give as much (95 %).
fn correlation(series: &[f64]) -> f64 {
    if series.len() < 20 {
        return 0.0;
    }
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by(|a, b| series[*a].total_cmp(&series[*b]));
    let mut ranks = vec![0.0; series.len()];
    let mut at = 0;
    while at < order.len() {
        // Equal values share the mean of their ranks.
        let same = order[at..].iter().take_while(|place| series[**place] <= series[order[at]]).count();
        let mean = count(2 * at + same - 1) / 2.0;
        order[at..at + same].iter().for_each(|place| ranks[*place] = mean);
        at += same;
    }
    let mean = count(series.len() - 1) / 2.0;
    let spread: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    let pairs: f64 = ranks.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if spread <= 0.0 {
        return 0.0;
    }
    let spearman = pairs / spread;
    if spearman.abs() < 1.96 / count(series.len()).sqrt() {
        return 0.0;
    }
    // Spearman's of two normal numbers with correlation c is (6/pi) asin(c/2).
    (2.0 * (std::f64::consts::PI * spearman / 6.0).sin()).clamp(-0.99, 0.99)
}

fn median(series: &[f64]) -> f64 {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

#[cfg(test)]
mod tests {
    use romer_impair::{Engine, Headers, Limits, Packet, PortId};

    use super::*;

    /// What a scenario makes of packets every 20 ms.
    fn passages(text: &str, packets: u32) -> Vec<Passage> {
        let config = crate::read_scenario(text, "s").unwrap().scenario.config;
        let mut engine = Engine::new(config, Limits::growing(), 0);
        let mut arrivals = vec![Vec::new(); packets as usize];
        let at = |number: u32| i64::from(number) * 20_000_000;
        for number in 0..=packets {
            let now = if number == packets { Nanos::MAX } else { at(number) - 1 };
            while let Some(outcome) = engine.poll(now) {
                arrivals[outcome.slot as usize].push(outcome.time);
            }
            if number < packets {
                engine.admit(&Packet::new(number, PortId::A, 100, at(number)));
            }
        }
        let mut passages = Vec::new();
        for (number, arrivals) in (0..packets).zip(&mut arrivals) {
            arrivals.sort_unstable();
            let row = |copy: usize, arrival: Option<Nanos>| Passage {
                sequence: number.into(),
                copy: u32::try_from(copy).unwrap(),
                size: 54,
                fate: if arrival.is_some() { Fate::Arrived } else { Fate::Lost },
                departure: Some(Timestamp::from_nanos(at(number))),
                arrival: arrival.map(Timestamp::from_nanos),
                delay: arrival.map(|arrival| Duration::from_nanos(arrival - at(number))),
                ttl: None,
                tos: None,
                leaving: romer_record::Leaving::UNKNOWN,
            };
            if arrivals.is_empty() {
                passages.push(row(0, None));
            }
            passages.extend(arrivals.iter().enumerate().map(|(copy, arrival)| row(copy, Some(*arrival))));
        }
        passages
    }

    fn fitted(passages: &[Passage], kind: ModelKind) -> Fitted {
        fit(&FitInput {
            run: "here \"x\"",
            ways: [passages, &[]],
            round_trip: &[],
            ordered: [true; 2],
            absolute: true,
            kind,
            stem: "m",
            year: 2026,
            only_udp: false,
        })
        .unwrap()
    }

    /// The scenario that was made, with its files.
    fn read(fitted: &Fitted) -> romer_impair::Config {
        let mut load = |name: &str| {
            let found = fitted.files.iter().find(|(file, _)| file == name);
            found.map(|(_, content)| content.clone()).ok_or_else(|| "is not there".to_owned())
        };
        romer_scenario::parse(&fitted.text, "m.toml", &mut load)
            .unwrap_or_else(|why| panic!("{why}\n{}", fitted.text))
            .config
    }

    const PATH: &str = "seed = [1, 2, 3, 4, 5, 6]\n\
        [a_to_b.loss]\nmodel = \"gilbert-elliott\"\np = 0.02\nr = 0.4\n\
        [a_to_b.duplicate]\nmodel = \"bernoulli\"\nprobability = 0.02\ndelay = \"3ms\"\n\
        [a_to_b.reorder]\nmodel = \"bernoulli\"\nprobability = 0.03\n\
        displacement = { model = \"uniform\", low = 2, high = 2 }\n\
        [a_to_b.delay]\nfixed = \"20ms\"\nvariable = { model = \"gamma\", shape = 2, scale = \"3ms\" }\n";

    #[test]
    fn a_path_is_found_again_in_its_model_and_the_model_makes_it_anew() {
        let passages = passages(PATH, 20_000);
        let fitted = fitted(&passages, ModelKind::Models);
        let model = &fitted.directions[0];
        assert_eq!(model.loss, "gilbert-elliott");
        for (found, interval, truth) in [(model.p, model.p_interval, 0.02), (model.r, model.r_interval, 0.4)]
        {
            // The interval of 95 % for this seed; the estimate within five of its half widths for any.
            let [low, high] = interval.unwrap();
            assert!((found.unwrap() - truth).abs() < 2.5 * (high - low), "{model:?}");
        }
        assert!((model.duplicated_ratio.unwrap() - 0.02).abs() < 0.006, "{model:?}");
        assert!((model.reordered_ratio.unwrap() - 0.03).abs() < 0.006, "{model:?}");
        // Emulated again, the model gives what was measured.
        let config = read(&fitted);
        let short = &passages[..2_000];
        let question = crate::predictive_check::Question {
            config: &config,
            headers: Headers::default(),
            streams: vec![crate::predictive_check::MeasuredStream { forward: short, reverse: &[] }],
            absolute: true,
            waiting: 2_000_000_000,
            allowed: 0,
            seeks_allowance: false,
        };
        let found = crate::predictive_check::fidelity(&question);
        for figure in &found.directions[0].figures[..8] {
            assert!(figure.p_value > 1e-3, "{figure:?}");
        }
    }

    #[test]
    fn losses_that_know_nothing_of_each_other_and_paths_that_lose_nothing_are_told() {
        let text = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.loss]\nmodel = \"bernoulli\"\nprobability = 0.05\n";
        assert_eq!(fitted(&passages(text, 5_000), ModelKind::Models).directions[0].loss, "bernoulli");
        let nothing = fitted(&passages("", 100), ModelKind::Models);
        assert_eq!(nothing.directions[0].loss, "none");
        assert_eq!(
            read(&nothing).base.paths[0][0].as_ref().unwrap().loss,
            romer_impair::config::Model::default()
        );
        assert!(
            fit(&FitInput {
                run: "x",
                ways: [&[], &[]],
                round_trip: &[],
                ordered: [true; 2],
                absolute: true,
                kind: ModelKind::Models,
                stem: "m",
                year: 2026,
                only_udp: false,
            })
            .is_err()
        );
    }

    #[test]
    fn only_udp_is_treated_so_where_that_is_asked_for() {
        let passages = passages(PATH, 300);
        for kind in [ModelKind::Models, ModelKind::Trace] {
            let ways = [passages.as_slice(), &[]];
            let source = FitInput {
                run: "x",
                ways,
                round_trip: &[],
                ordered: [true; 2],
                absolute: true,
                kind,
                stem: "m",
                year: 2026,
                only_udp: true,
            };
            let config = read(&fit(&source).unwrap());
            assert_eq!(config.flows[0].protocol, Some(17));
            let [all, udp] = [0, 1].map(|flow| config.base.paths[0][flow].clone().unwrap());
            assert_eq!((all.longest_hold(), all.trace.clone()), (0, None));
            assert!(udp.longest_hold() > 20_000_000, "{udp:?}");
        }
    }

    #[test]
    fn delays_that_are_alike_are_alike_again() {
        let text = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.delay]\norder = \"independent\"\nvariable = { model = \
                    \"correlated\", of = { model = \"exponential\", mean = \"1ms\" }, coefficient = 0.7 }\n";
        let model = fitted(&passages(text, 5_000), ModelKind::Models);
        let found = model.directions[0].delay_correlation;
        // About five standard deviations of 5,000 values.
        assert!((found - 0.7).abs() < 0.06, "{found}");
        read(&model);
    }

    /// Where the delays of a direction are unknown, the scenario has half of each round trip, and says so; an unknown order is no
    /// reordering.
    #[test]
    fn unknown_delays_are_halves_of_round_trips() {
        let text = "seed = [1, 2, 3, 4, 5, 6]\n[a_to_b.delay]\nfixed = \"40ms\"\norder = \"independent\"\n\
                    variable = { model = \"exponential\", mean = \"30ms\" }\n";
        let round_trip = passages(text, 400);
        let unknown: Vec<Passage> =
            round_trip.iter().map(|passage| Passage { delay: None, ..*passage }).collect();
        let of = |round_trip: &[Passage], kind| {
            fit(&FitInput {
                run: "x",
                ways: [&unknown, &unknown],
                round_trip,
                ordered: [true, false],
                absolute: true,
                kind,
                stem: "m",
                year: 2026,
                only_udp: false,
            })
            .unwrap()
        };
        let tables = [(ProbeDirection::Forward, "a_to_b"), (ProbeDirection::Reverse, "b_to_a")];
        let no_order =
            ModelWarning::OrderUnknown { direction: ProbeDirection::Reverse, setting: "b_to_a".into() };
        let halved = tables
            .map(|(direction, setting)| ModelWarning::DelaysHalved { direction, setting: setting.into() });
        let models = of(&round_trip, ModelKind::Models);
        assert_eq!(models.warnings, [&halved[..], std::slice::from_ref(&no_order)].concat());
        let config = read(&models);
        let least = round_trip.iter().filter_map(|passage| passage.delay).min().unwrap();
        for port in 0..2 {
            let romer_impair::config::Model::Plain(delay) =
                &config.base.paths[port][0].as_ref().unwrap().delay
            else {
                panic!("{}", models.text)
            };
            assert_eq!(delay.fixed, least.as_nanos() / 2);
        }
        assert!(models.text.contains("[b_to_a.delay] # 400 halves of round trips"), "{}", models.text);
        assert!(models.text.contains("[a_to_b.reorder]"), "{}", models.text);
        assert!(!models.text.contains("[b_to_a.reorder]"), "{}", models.text);
        let trace = of(&round_trip, ModelKind::Trace);
        let config = read(&trace);
        let Some(romer_impair::trace::Trace::ByPacket(entries)) =
            config.base.paths[1][0].as_ref().unwrap().trace.as_deref()
        else {
            panic!("{}", trace.text)
        };
        assert_eq!(entries.iter().filter(|entry| entry.lost).count(), 0, "none was lost");
        // Without a round trip there is no delay, and that is said.
        let nothing = of(&[], ModelKind::Models);
        let none = tables
            .map(|(direction, setting)| ModelWarning::DelaysUnknown { direction, setting: setting.into() });
        assert_eq!(nothing.warnings, [&none[..], &[no_order]].concat());
        assert!(!nothing.text.contains(".delay]"), "{}", nothing.text);
    }

    /// Packets of which it is unknown where they were lost are lost forward, and the scenario says so.
    #[test]
    fn unknown_losses_are_forward() {
        let lost: Vec<Passage> = passages(PATH, 300);
        let unknown: Vec<Passage> = lost
            .iter()
            .map(|one| Passage {
                fate: if one.fate == Fate::Lost { Fate::Unknown } else { one.fate },
                ..*one
            })
            .collect();
        let [known, unknown] = [&lost, &unknown].map(|passages| fitted(passages, ModelKind::Models));
        let warning =
            ModelWarning::FatesUnknown { direction: ProbeDirection::Forward, setting: "a_to_b".into() };
        assert!(lost.iter().any(|one| one.fate == Fate::Lost));
        assert_eq!(unknown.text, known.text);
        assert!(unknown.warnings.contains(&warning) && !known.warnings.contains(&warning));
    }

    #[test]
    fn a_trace_replays_the_very_fates() {
        let passages = passages(PATH, 300);
        let fitted = fitted(&passages, ModelKind::Trace);
        let config = read(&fitted);
        let Some(romer_impair::trace::Trace::ByPacket(entries)) =
            config.base.paths[0][0].as_ref().unwrap().trace.as_deref()
        else {
            panic!("a trace by packets: {}", fitted.text)
        };
        assert_eq!(entries.len(), 300);
        let lost: Vec<bool> = entries.iter().map(|entry| entry.lost).collect();
        let truth: Vec<bool> =
            passages.iter().filter(|p| p.copy == 0).map(|p| p.fate == Fate::Lost).collect();
        assert_eq!(lost, truth);
    }
}
