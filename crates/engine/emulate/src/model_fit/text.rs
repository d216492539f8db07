//! The text of a scenario that a measurement makes: its head, and the models of delay and loss of each direction, or the recorded ones.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use romer_fit::bottleneck::{Bottleneck, Evidence};
use romer_fit::choice::{Choice, DelayModel, choose};
use romer_fit::loss::LossFamily;
use romer_fit::regimes::Regimes;
use romer_fit::{Observation, Scores, Series};
use romer_impair::Nanos;
use romer_metrics::bootstrap::{Statistic, resampled};
use romer_metrics::{autocorrelation, reordering, sent, wilson_interval};
use romer_record::document::ProbeDirection;
use romer_record::fidelity::{DirectionModel, Supported};
use romer_record::{Fate, OneWaySingleton};
use romer_units::{Duration, Timestamp};

use super::spikes::{Course, Spikes};
use super::{FitInput, Fitted, TABLES, Way, describe};
use crate::predictive_check::{count, quantile, real};

/// Steps of a chain in the mean time that a state lasts: so many make the time as good as exponential.
const STEPS_OF_SOJOURN: f64 = 50.0;
/// Octets of an IP packet around the payload of UDP over IPv4.
const IP_AND_UDP: u32 = 28;
/// The shortest step of a chain and the shortest correlation time, in seconds.
const SHORTEST: f64 = 1e-6;
/// The shortest step of regimes, in seconds.
const SHORTEST_STEP: f64 = 1e-3;
/// The least standard deviation of interpolated delays, as a share of the measured one: the tolerance of a reproduced delay.
const LEAST_KEPT: f64 = 0.95;
/// The longest time that a scenario may state for delays and spacings, in seconds.
const LONGEST_TIME: f64 = 3_600.0;

/// What stands before the directions.
pub(super) fn head(source: &FitInput<'_>, directions: &[DirectionModel]) -> String {
    let flow = if source.only_udp { "[[flow]]\nmatch = { protocol = \"udp\" }\n" } else { "" };
    format!(
        "# Made by `romer model` from a measurement.\n[about]\ntitle = {}\nsource = \"romer model\"\n\
         year = {}\n{}{flow}",
        romer_scenario::quoted(&format!("Measured: {}", source.run)),
        source.year,
        supported(directions)
    )
}

/// The table of the traffic that the measurement supports in both directions.
fn supported(directions: &[DirectionModel]) -> String {
    let all = || directions.iter().map(|model| model.supported);
    let [low, high] = [
        all().map(|one| one.spacing_ns[0]).fold(0.0, f64::max),
        all().map(|one| one.spacing_ns[1]).fold(f64::INFINITY, f64::min),
    ];
    let load = all().map(|one| one.load_bit_per_s).fold(f64::INFINITY, f64::min);
    let small = all().map(|one| one.size_octets[0]).max().unwrap_or(0);
    let large = all().map(|one| one.size_octets[1]).min().unwrap_or(0);
    let mut text = String::new();
    if low >= 1.0 && low <= high && high.is_finite() {
        let [low, high] = [low, high].map(|nanos| time((nanos / 1e9).min(LONGEST_TIME)));
        let _ = writeln!(text, "min_spacing = \"{low}\"\nmax_spacing = \"{high}\"");
    }
    if small > 0 && small <= large {
        let _ = writeln!(text, "min_size = \"{small}B\"\nmax_size = \"{large}B\"");
    }
    if load >= 1.0 && load.is_finite() {
        let _ = writeln!(text, "max_load = \"{load:.0}bit\"");
    }
    if text.is_empty() { text } else { format!("[about.supported]\n{text}") }
}

/// What the path carried and a host dropped unread is not.
const fn is_lost(singleton: &OneWaySingleton) -> bool {
    !matches!(singleton.fate, Fate::Arrived | Fate::InstrumentDrop)
}

/// What the delays of a direction are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DelaySource {
    /// Its own.
    OneWay,
    /// Half of each round trip: its own are unknown.
    HalfRoundTrip,
    /// Nothing.
    None,
}

impl DelaySource {
    /// Of a direction with these packets.
    pub(super) fn from_singletons(singletons: &[OneWaySingleton], round_trip: &[OneWaySingleton]) -> Self {
        let has =
            |singletons: &[OneWaySingleton]| singletons.iter().any(|singleton| singleton.delay.is_some());
        if has(singletons) || !singletons.iter().any(|singleton| singleton.fate == Fate::Arrived) {
            Self::OneWay
        } else if has(round_trip) {
            Self::HalfRoundTrip
        } else {
            Self::None
        }
    }

    /// What a comment in the scenario calls the delays.
    const fn text(self) -> &'static str {
        match self {
            Self::HalfRoundTrip => "halves of round trips, because one-way delays are unknown",
            Self::OneWay | Self::None => "delays",
        }
    }
}

/// Half of a round trip.
fn half(singleton: &OneWaySingleton) -> Option<Duration> {
    singleton.delay.map(|delay| Duration::from_nanos(delay.as_nanos() / 2))
}

/// The departure of the first packet that says something of the path.
pub(super) fn first_departure(singletons: &[OneWaySingleton]) -> Option<Nanos> {
    firsts(singletons).filter_map(|singleton| singleton.departure).min().map(Timestamp::as_nanos)
}

/// First copies of what says something of the path.
fn firsts(singletons: &[OneWaySingleton]) -> impl Iterator<Item = &OneWaySingleton> {
    singletons.iter().filter(|singleton| singleton.copy == 0 && singleton.fate != Fate::InFlight)
}

/// One direction of a measurement, of which a part of the scenario is made.
pub(super) struct DirectionFit<'a> {
    pub(super) table: &'static str,
    pub(super) singletons: &'a [OneWaySingleton],
    /// Whether the order in which the packets arrived is known.
    pub(super) ordered: bool,
    pub(super) delays: DelaySource,
    /// Whether the singletons are a part of the measurement, to which the families of the whole are fitted again.
    pub(super) is_part: bool,
    pub(super) source: &'a FitInput<'a>,
}

impl DirectionFit<'_> {
    /// Adds models of delay and loss, of the families in `way`.
    pub(super) fn models(&self, name: &str, way: &mut Way, fitted: &mut Fitted) {
        let mut model = self.blank(name);
        let mut text = String::new();
        self.copies(&mut model, &mut text);
        let displaced = if self.ordered { self.order(&mut model, &mut text) } else { HashSet::new() };
        let series = self.series(&displaced);
        let first = first_departure(self.singletons).unwrap_or(0);
        model.supported = self.supported(&series);
        if way.choice.is_none() {
            way.spikes = self.spikes(&series, first);
        }
        let mut rest = way.spikes.as_ref().map(|spikes| spikes.without(&series, first));
        let mut choice = self.choice(way, rest.as_ref().unwrap_or(&series));
        if way.spikes.is_some() && matches!(choice.delay, DelayModel::Regimes(_)) {
            // A scenario has one chain for the delay: that of the regimes, which then have the spikes.
            (way.spikes, way.choice, rest) = (None, None, None);
            way.misfits.clear();
            choice = self.choice(way, &series);
        }
        fitted.text.push_str(&text);
        describe::choice(&choice, &way.misfits, &series, !self.is_absolute(), &mut model);
        model.parameters.extend(way.spikes.iter().flat_map(Spikes::parameters));
        if !self.is_part {
            self.loss_interval(&choice, &mut model);
        }
        model.supported.is_correlation_time_bound =
            matches!(&choice.delay, DelayModel::Correlated(time) if time.is_bound);
        let before_transmission = |series: &Series| {
            choice.bottleneck.as_ref().map_or_else(|| series.clone(), |bottleneck| bottleneck.waiting(series))
        };
        let waiting = before_transmission(&series);
        if let DelayModel::Regimes(regimes) = &choice.delay {
            self.regimes(regimes, &waiting, fitted);
        } else {
            self.loss(&choice, &waiting, &mut fitted.text);
            match (&way.spikes, rest) {
                (Some(spikes), Some(rest)) => {
                    let course = spikes.course(&waiting, first);
                    self.spiky_delay(&choice, &before_transmission(&rest), spikes, &course, fitted);
                }
                _ => self.delay(&choice, &waiting, fitted),
            }
        }
        if let Some(bottleneck) = &choice.bottleneck {
            self.rate(bottleneck, &mut fitted.text);
            if bottleneck.evidence == Evidence::Dispersion {
                model.supported.load_bit_per_s = model.supported.load_bit_per_s.max(bottleneck.rate.value);
            }
        }
        fitted.directions.push(model);
    }

    /// The families in `way`, fitted to a series; chosen by it where there are none yet, or they are refused.
    fn choice(&self, way: &mut Way, series: &Series) -> Choice {
        match way.choice.take() {
            Some(choice) if self.is_part => {
                let refitted = choice.refitted(series);
                way.choice = Some(choice);
                refitted
            }
            Some(choice) if choice.is_refused() => way.choice.insert(choice.with_best(series)).clone(),
            Some(choice) => way.choice.insert(choice).clone(),
            None => way.choice.insert(choose(series)).clone(),
        }
    }

    /// The spikes that the findings have of a series that begins with the departure `first`.
    fn spikes(&self, series: &Series, first: Nanos) -> Option<Spikes> {
        let (direction, singletons) = match self.delays {
            DelaySource::OneWay if self.table == TABLES[0] => (ProbeDirection::Forward, self.singletons),
            DelaySource::OneWay => (ProbeDirection::Reverse, self.singletons),
            DelaySource::HalfRoundTrip => (ProbeDirection::RoundTrip, self.source.round_trip),
            DelaySource::None => return None,
        };
        let origin = sent(singletons).filter_map(|singleton| singleton.departure).min()?.as_nanos();
        Spikes::new(self.source.findings, direction, origin, series, first)
    }

    /// What each first copy showed, in order of departure. Delays of `displaced` packets are unknown.
    fn series(&self, displaced: &HashSet<u64>) -> Series {
        let is_halved = self.delays == DelaySource::HalfRoundTrip;
        let there_and_back: HashMap<u64, &OneWaySingleton> = if is_halved {
            firsts(self.source.round_trip).map(|singleton| (singleton.sequence, singleton)).collect()
        } else {
            HashMap::new()
        };
        let one = |singleton: &OneWaySingleton| {
            let other = there_and_back.get(&singleton.sequence);
            let departure = singleton.departure.or_else(|| other?.departure)?.as_nanos();
            let known = if is_halved { other.and_then(|other| half(other)) } else { singleton.delay };
            let is_known =
                singleton.fate == Fate::Arrived && (is_halved || !displaced.contains(&singleton.sequence));
            // Halves of round trips are no times on a path, so their sizes show nothing.
            let size = (!is_halved).then(|| singleton.size.saturating_add(IP_AND_UDP));
            Some((departure, size, is_lost(singleton), known.filter(|_| is_known)))
        };
        let all: Vec<_> = self.firsts().filter_map(one).collect();
        let first = all.iter().map(|(departure, ..)| *departure).min().unwrap_or(0);
        let observation =
            |(departure, size, is_lost, delay): (Nanos, Option<u32>, bool, Option<Duration>)| Observation {
                at: real(departure - first) / 1e9,
                size,
                is_lost,
                delay: delay.map(|delay| real(delay.as_nanos().max(0)) / 1e9),
            };
        Series::new(all.into_iter().map(observation).collect())
    }

    fn loss(&self, choice: &Choice, series: &Series, text: &mut String) {
        let header = self.header();
        let (lost, sent) = (series.lost(), series.observations().len());
        match (choice.loss.family, choice.loss.states) {
            (LossFamily::None, _) => {}
            (_, None) => {
                let _ = writeln!(
                    text,
                    "[{header}.loss] # {lost} of {sent}\nmodel = \"bernoulli\"\nprobability = {:.6}",
                    choice.loss.ratio
                );
            }
            (_, Some(states)) => {
                let _ = writeln!(
                    text,
                    "[{header}.loss] # {lost} of {sent}; a good state of {} and a bad one of {} on average\n\
                     model = \"markov\"\nstep = \"time\"",
                    time(states.good.value),
                    time(states.bad.value)
                );
                let leaves = 1.0 / STEPS_OF_SOJOURN;
                let _ = writeln!(
                    text,
                    "transition = [[{:.2}, {leaves:.2}], [{leaves:.2}, {:.2}]]\nstate = [",
                    1.0 - leaves,
                    1.0 - leaves
                );
                for (mean, loss) in [(states.good, states.loss_good), (states.bad, states.loss_bad)] {
                    let duration = time((mean.value / STEPS_OF_SOJOURN).max(SHORTEST));
                    let _ =
                        writeln!(text, "  {{ duration = \"{duration}\", probability = {:.6} }},", loss.value);
                }
                text.push_str("]\n");
            }
        }
    }

    fn delay(&self, choice: &Choice, series: &Series, fitted: &mut Fitted) {
        let delays = series.delays();
        let Some(least) = delays.iter().copied().reduce(f64::min) else { return };
        let header = self.header();
        let _ = writeln!(
            fitted.text,
            "[{header}.delay] # {} {}; median {}",
            delays.len(),
            self.delays.text(),
            time(median(&delays))
        );
        for key in self.delay_keys(choice, &delays, least, fitted) {
            let _ = writeln!(fitted.text, "{key}");
        }
    }

    /// The keys of a delay: its fixed part and, if it is no constant, its variable part.
    fn delay_keys(&self, choice: &Choice, delays: &[f64], least: f64, fitted: &mut Fitted) -> Vec<String> {
        // Without its transmission, a delay that is hardly longer can be less than 0.
        let fixed = time(if self.is_absolute() { least.max(0.0) } else { 0.0 });
        let mut keys = vec![format!("fixed = \"{fixed}\"")];
        if let DelayModel::Correlated(correlation) = &choice.delay {
            let time = (!correlation.is_bound).then_some(correlation.time.value);
            keys.push(format!("variable = {}", self.variable(delays, least, time, "", fitted)));
        }
        keys
    }

    /// The usual delay, and spikes in a chain in time.
    fn spiky_delay(
        &self,
        choice: &Choice,
        rest: &Series,
        spikes: &Spikes,
        course: &Course,
        fitted: &mut Fitted,
    ) {
        let delays = rest.delays();
        let Some(least) = delays.iter().copied().reduce(f64::min) else { return };
        let usual = self.delay_keys(choice, &delays, least, fitted).join(", ");
        let base = if self.is_absolute() { 0.0 } else { least };
        // The delays within a spike are alike, those of two spikes are not.
        let correlation = spikes.period.value / romer_fit::correlated::INDEPENDENT_FROM;
        let mut states = vec![(course.before, usual.clone())];
        for (number, delays) in (1..).zip(&course.delays) {
            let keys = match delays.iter().copied().reduce(f64::min) {
                None => usual.clone(),
                Some(least) => {
                    let name = format!(".spike{number}");
                    let fixed = time((least - base).max(0.0));
                    let variable = self.variable(delays, least, Some(correlation), &name, fitted);
                    format!("fixed = \"{fixed}\", variable = {variable}")
                }
            };
            states.push((course.bin, keys));
        }
        states.push((course.after, usual));
        let count = states.len();
        let row = |from: usize| {
            let to = |place: usize| if place == (from + 1) % count { "1" } else { "0" };
            format!("[{}]", (0..count).map(to).collect::<Vec<_>>().join(", "))
        };
        let _ = writeln!(
            fitted.text,
            "[{}.delay] # {} {}; median {}; spikes of {} every {}\nmodel = \"markov\"\nstep = \"time\"\n\
             transition = [{}]\nstate = [",
            self.header(),
            delays.len(),
            self.delays.text(),
            time(median(&delays)),
            time(spikes.height.value),
            time(spikes.period.value),
            (0..count).map(row).collect::<Vec<_>>().join(", ")
        );
        for (duration, keys) in states {
            let _ =
                writeln!(fitted.text, "  {{ duration = \"{}\", {keys} }},", Duration::from_nanos(duration));
        }
        fitted.text.push_str("]\n");
    }

    /// The rate behind the delay. Sizes are those of IP packets.
    fn rate(&self, bottleneck: &Bottleneck, text: &mut String) {
        let from = match bottleneck.evidence {
            Evidence::Dispersion => "from packets that departed close to each other",
            Evidence::Size => "from the delays of packets of different sizes",
        };
        let _ = writeln!(
            text,
            "[{}.rate] # {from}\nlimit = \"{:.0}bit\"\nlayer = \"l3\"\nqueue = {{ bytes = \"{:.0}B\" }}",
            self.header(),
            bottleneck.rate.value.max(1.0),
            bottleneck.queue
        );
    }

    /// A law of delays, in a file of its own: with a correlation time in seconds, or as independent as packet order allows.
    fn variable(
        &self,
        delays: &[f64],
        least: f64,
        correlation: Option<f64>,
        name: &str,
        fitted: &mut Fitted,
    ) -> String {
        let file = format!("{}.{}{name}.delays", self.source.stem, self.table);
        let mut content = String::from("delay_ns\n");
        for delay in delays {
            let _ = writeln!(content, "{:.0}", (delay - least) * 1e9);
        }
        let law = format!("{{ model = \"empirical\", file = \"{file}\" }}");
        fitted.files.push((file, content));
        let correlation = correlation.map_or_else(
            || "coefficient = 0".to_owned(),
            |seconds| format!("time = \"{}\"", time(seconds.clamp(SHORTEST, LONGEST_TIME))),
        );
        format!("{{ model = \"correlated\", distribution = {law}, {correlation} }}")
    }

    /// A chain over regimes; each has the delays of the packets that are most probably in it.
    fn regimes(&self, regimes: &Regimes, series: &Series, fitted: &mut Fitted) {
        let scores = Scores::new(&series.delays());
        let states = regimes.decode(series.observations(), &scores);
        let regimes = regimes.with_step_from(SHORTEST_STEP);
        let rows: Vec<String> = regimes.transition.iter().map(|row| row_of(row)).collect();
        let _ = writeln!(
            fitted.text,
            "[{}.regimes] # {} {}\nstep = \"{}\"\ntransition = [{}]\nstate = [",
            self.header(),
            series.delays().len(),
            self.delays.text(),
            time(regimes.step),
            rows.join(", ")
        );
        let base = if self.is_absolute() {
            0.0
        } else {
            series.delays().into_iter().reduce(f64::min).unwrap_or(0.0)
        };
        for (number, regime) in regimes.regimes.iter().enumerate() {
            let in_it = states.iter().zip(series.observations()).filter(|(state, _)| **state == number);
            let delays: Vec<f64> = in_it.filter_map(|(_, one)| one.delay).collect();
            let mut stages = Vec::new();
            if regime.loss_ratio.value > 0.0 {
                stages.push(format!("loss = {{ probability = {:.6} }}", regime.loss_ratio.value));
            }
            if let Some(least) = delays.iter().copied().reduce(f64::min) {
                let mut delay = format!("delay = {{ fixed = \"{}\"", time((least - base).max(0.0)));
                if delays.len() > 1 {
                    let correlation = match regime.correlation_time.value {
                        known if known > 0.0 => known,
                        _ => regimes.step / romer_fit::correlated::INDEPENDENT_FROM,
                    };
                    let name = format!(".{}", number + 1);
                    let variable = self.variable(&delays, least, Some(correlation), &name, fitted);
                    let _ = write!(delay, ", variable = {variable}");
                }
                delay.push_str(" }");
                stages.push(delay);
            }
            let _ = writeln!(fitted.text, "  {{ {} }},", stages.join(", "));
        }
        fitted.text.push_str("]\n");
    }

    /// Adds the recorded delays and losses.
    pub(super) fn trace(&self, name: &str, way: &Way, fitted: &mut Fitted) {
        let mut model = self.blank(name);
        let series = self.series(&HashSet::new());
        model.supported = self.supported(&series);
        describe::trace(way.choice.as_ref(), &way.misfits, &series, &mut model);
        self.ratio_of_loss(&mut model);
        model.duplicated_ratio = self.duplicates().0;
        let is_halved = self.delays == DelaySource::HalfRoundTrip;
        let halves: HashMap<u64, Duration> = if is_halved {
            firsts(self.source.round_trip)
                .filter_map(|singleton| Some((singleton.sequence, half(singleton)?)))
                .collect()
        } else {
            HashMap::new()
        };
        let known = |singleton: &OneWaySingleton| {
            singleton.delay.or_else(|| halves.get(&singleton.sequence).copied())
        };
        let least = self.singletons.iter().filter_map(known).min();
        // A packet that arrived without a known delay has that of the packet before it.
        let mut last = least.unwrap_or(Duration::ZERO);
        let file = format!("{}.{}.csv", self.source.stem, self.table);
        let stamps =
            if self.table == "a_to_b" { "t1_ns,t2_ns,t3_ns,t4_ns" } else { "t3_ns,t4_ns,t1_ns,t2_ns" };
        let mut content = format!("sequence,size,{stamps}\n");
        for singleton in self.singletons.iter().filter(|singleton| singleton.fate.is_observed()) {
            last = known(singleton).unwrap_or(last);
            let departure = singleton.departure.map(Timestamp::as_nanos);
            // A departure on an unusable clock is that of a packet that took this delay.
            let before_arrival = || singleton.arrival.map(|arrival| arrival.as_nanos() - last.as_nanos());
            let departure = if is_halved { before_arrival().or(departure) } else { departure };
            let Some(departure) = departure else { continue };
            let arrival = if singleton.fate == Fate::Arrived {
                (departure + last.as_nanos()).to_string()
            } else {
                String::new()
            };
            let _ = writeln!(content, "{},{},{departure},{arrival},,", singleton.sequence, singleton.size);
        }
        let fixed = least.filter(|_| self.is_absolute()).unwrap_or(Duration::ZERO);
        let between = if is_smooth(&series.delays()) { "linear" } else { "hold" };
        let _ = writeln!(
            fitted.text,
            "[{}.trace] # {} {}\nfile = \"{file}\"\nformat = \"measurement\"\nby = \"time\"\nbetween = \"{between}\"\n\
             fixed = \"{}\"",
            self.header(),
            series.delays().len(),
            self.delays.text(),
            Duration::from_nanos_f64(real(fixed.as_nanos().max(0)))
        );
        if self.ordered {
            let reordered = reordering(self.singletons).len();
            if reordered > 0 {
                let _ = writeln!(fitted.text, "order = \"independent\" # {reordered} packets were reordered");
            }
            model.reordered_ratio = self.ratio_of_arrived(reordered);
        }
        fitted.files.push((file, content));
        fitted.directions.push(model);
    }

    fn is_absolute(&self) -> bool {
        self.source.absolute || self.delays == DelaySource::HalfRoundTrip
    }

    /// Its table in the scenario.
    fn header(&self) -> String {
        format!("{}{}", if self.source.only_udp { "flow." } else { "" }, self.table)
    }

    /// First copies of what says something of the path.
    fn firsts(&self) -> impl Iterator<Item = &OneWaySingleton> {
        firsts(self.singletons)
    }

    fn blank(&self, name: &str) -> DirectionModel {
        DirectionModel {
            direction: name.into(),
            packets: self.firsts().count() as u64,
            delay: "unknown".into(),
            loss: "none".into(),
            replaced: None,
            candidates: Vec::new(),
            loss_ratio: None,
            loss_ratio_interval: None,
            parameters: Vec::new(),
            delays: 0,
            reordered_ratio: None,
            duplicated_ratio: None,
            supported: Supported::default(),
        }
    }

    /// The traffic of the measurement, whose packets are in `series`.
    fn supported(&self, series: &Series) -> Supported {
        let sizes = || self.firsts().map(|singleton| singleton.size.saturating_add(IP_AND_UDP));
        let octets: f64 = sizes().map(f64::from).sum();
        let (duration, spacing) = (series.duration(), series.spacing(0.05));
        Supported {
            spacing_ns: [spacing, spacing.max(duration / 10.0)].map(|seconds| seconds * 1e9),
            size_octets: [sizes().min().unwrap_or(0), sizes().max().unwrap_or(0)],
            load_bit_per_s: if duration > 0.0 { octets * 8.0 / duration } else { 0.0 },
            is_correlation_time_bound: false,
        }
    }

    fn ratio_of_loss(&self, model: &mut DirectionModel) {
        let sent = self.firsts().count();
        let lost = self.firsts().filter(|singleton| is_lost(singleton)).count();
        model.loss_ratio = Some(count(lost) / count(sent.max(1)));
        model.loss_ratio_interval = wilson_interval(lost, sent);
    }

    /// The loss ratio with its interval: losses that are not independent need blocks.
    fn loss_interval(&self, choice: &Choice, model: &mut DirectionModel) {
        self.ratio_of_loss(model);
        if matches!(choice.loss.family, LossFamily::None | LossFamily::Bernoulli) {
            return;
        }
        let fates: Vec<f64> =
            self.firsts().map(|singleton| if is_lost(singleton) { 1.0 } else { 0.0 }).collect();
        let drawn = resampled(&fates, &[Statistic::Mean], 2).and_then(|mut drawn| drawn.pop());
        if let Some(mut drawn) = drawn {
            drawn.sort_by(f64::total_cmp);
            model.loss_ratio_interval = Some([quantile(&drawn, 0.025), quantile(&drawn, 0.975)]);
        }
    }

    fn arrived(&self) -> usize {
        self.firsts().filter(|singleton| singleton.fate == Fate::Arrived).count()
    }

    fn ratio_of_arrived(&self, packets: usize) -> Option<f64> {
        let arrived = self.arrived();
        (arrived > 0).then(|| count(packets) / count(arrived))
    }

    /// The share of packets that were duplicated, and how much later than the packet each copy arrived, nanoseconds.
    fn duplicates(&self) -> (Option<f64>, Vec<f64>) {
        let mut spacings = Vec::new();
        let mut doubled = HashSet::new();
        for pair in self.singletons.windows(2).filter(|pair| pair[0].sequence == pair[1].sequence) {
            doubled.insert(pair[0].sequence);
            if let (Some(first), Some(second)) = (pair[0].delay, pair[1].delay) {
                spacings.push(real((second - first).as_nanos().max(0)));
            }
        }
        (self.ratio_of_arrived(doubled.len()), spacings)
    }

    fn copies(&self, model: &mut DirectionModel, text: &mut String) {
        let (ratio, spacings) = self.duplicates();
        model.duplicated_ratio = ratio;
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
        let packets = reordering(self.singletons);
        let reordered: HashSet<u64> = packets.iter().map(|packet| packet.sequence).collect();
        model.reordered_ratio = self.ratio_of_arrived(reordered.len());
        let (Some(ratio), false) = (model.reordered_ratio, reordered.is_empty()) else { return reordered };
        // The delay of displaced packets is that of the others and the time for which they waited. Where delays are unknown, it is that in
        // which the packets depart that overtook them.
        let (displaced, usual) = if self.delays == DelaySource::OneWay {
            let delays = |is_displaced: bool| {
                let of = self.firsts().filter(|one| reordered.contains(&one.sequence) == is_displaced);
                let delays: Vec<f64> =
                    of.filter_map(|singleton| Some(real(singleton.delay?.as_nanos()))).collect();
                moments(&delays)
            };
            (delays(true), delays(false))
        } else {
            let spacing = self.series(&HashSet::new()).spacing(0.5) * 1e9;
            let extent = |extent: u64| real(i64::try_from(extent).unwrap_or(i64::MAX));
            let waits: Vec<f64> = packets.iter().map(|packet| extent(packet.extent) * spacing).collect();
            (moments(&waits), (0.0, 0.0))
        };
        // A uniform time with these moments.
        let (wait, half) = (displaced.0 - usual.0, (3.0 * (displaced.1 - usual.1).max(0.0)).sqrt());
        let [low, high] = [wait - half, wait + half].map(|nanos| time(nanos.max(0.0) / 1e9));
        let _ = writeln!(
            text,
            "[{}.reorder] # {} of {}\nmodel = \"bernoulli\"\nprobability = {ratio:.6}\n\
             displacement = {{ model = \"time\", low = \"{low}\", high = \"{high}\" }}",
            self.header(),
            reordered.len(),
            self.arrived(),
        );
        reordered
    }
}

/// Whether lines between successive delays keep the variation of the delays. Halfway on average, an interpolated delay has the variance
/// (2 + r) / 3 of theirs, where r is the correlation of successive delays.
fn is_smooth(delays: &[f64]) -> bool {
    let delays: Vec<Option<f64>> = delays.iter().copied().map(Some).collect();
    let correlation = autocorrelation(&delays, &[1])[0].unwrap_or(1.0);
    ((2.0 + correlation) / 3.0).sqrt() >= LEAST_KEPT
}

/// The mean and the variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let of = count(values.len().max(1));
    let mean = values.iter().sum::<f64>() / of;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / of)
}

fn median(series: &[f64]) -> f64 {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// A row of transition probabilities. Rounded, it must still have the sum 1.
fn row_of(row: &[f64]) -> String {
    let rounded: Vec<f64> = row.iter().map(|p| (p * 1e9).round() / 1e9).collect();
    let own = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(place, _)| place);
    let others: f64 = rounded.iter().enumerate().filter(|(place, _)| *place != own).map(|(_, p)| p).sum();
    let cell = |(place, p): (usize, &f64)| format!("{:.9}", if place == own { 1.0 - others } else { *p });
    format!("[{}]", rounded.iter().enumerate().map(cell).collect::<Vec<_>>().join(", "))
}

/// Seconds as a scenario writes them.
fn time(seconds: f64) -> Duration {
    Duration::from_nanos_f64((seconds * 1e9).round())
}
