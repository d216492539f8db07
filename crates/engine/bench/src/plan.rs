//! The settings of a benchmark in words, so that it is resumed only with unchanged settings.

use std::collections::BTreeMap;

use romer_method::campaign::Procedure;
use romer_method::mlr;
use romer_method::policing::{Profile, TokenUnit};
use romer_method::priority::Discipline;
use romer_method::search::Goal;

use crate::options::{AddressRange, BenchOptions, Claims, Field, Protocol, StreamOptions};

impl BenchOptions {
    /// All settings that the trials depend on, by the option that says it: two benchmarks in which all of it is
    /// the same ask for the same trials.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let frames = self.frames.iter().map(ToString::to_string);
        let labels = self.labels.iter().map(|(key, value)| format!("{key}={value}"));
        let all =
            [
                ("procedure", self.name.to_owned()),
                ("trials", trials(&self.procedure)),
                ("tx", self.tx.to_string()),
                ("rx", self.rx.to_string()),
                ("source", self.source.to_string()),
                ("destination", self.destination.to_string()),
                ("next-hop", self.next_hop.map_or_else(|| "resolved".into(), |mac| mac.to_string())),
                ("line-rate", format!("{} bit/s", self.line.bits())),
                ("stream", listed(self.streams.iter().map(stream))),
                ("frame-sizes", listed(frames)),
                ("repeat", self.repeats.to_string()),
                ("settle", self.settle.to_string()),
                ("reset", self.reset.clone().unwrap_or_else(|| "none".into())),
                (
                    "case",
                    listed(self.cases.iter().map(|case| {
                        format!("{}={}", case.name, case.command.as_deref().unwrap_or_default())
                    })),
                ),
                ("claims", claims(&self.claims)),
                ("dut-label", listed(labels)),
                ("skip-self-test", self.self_test.is_none().to_string()),
                ("subtract-baseline", self.subtract_baseline.to_string()),
                ("seed", self.seed.to_string()),
            ];
        all.into_iter().map(|(name, words)| (name.to_owned(), words)).collect()
    }
}

fn listed(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    if all.is_empty() { "none".into() } else { all.join(", ") }
}

/// A share in percent, with all digits that tell it from another.
fn percent(share: f64) -> String {
    let digits = format!("{:.9}", share * 100.0);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn trials(procedure: &Procedure) -> String {
    match procedure {
        Procedure::Sweep { loads, length } => {
            format!("{} for {} each", listed(loads.iter().map(|load| percent(*load))), length.readable())
        }
        Procedure::Throughput(goal) => searched(goal),
        Procedure::Mlr(mlr::SearchPlan { goals, loads, width, first_length }) => {
            let goals = goals.iter().map(|goal| {
                format!(
                    "trial={},sum={},loss={},exceed={}",
                    goal.final_length.readable(),
                    goal.length_sum.readable(),
                    percent(goal.loss_ratio),
                    percent(goal.exceed_ratio)
                )
            });
            let [least, most] = loads.map(percent);
            format!(
                "from={least},to={most},width={},first={}: {}",
                percent(*width),
                first_length.readable(),
                listed(goals)
            )
        }
        Procedure::BackToBack { goal, limits } => {
            format!("longest={},step={}: {}", limits.longest.readable(), limits.step, searched(goal))
        }
        Procedure::Recovery { goal, lengths: [over, under] } => {
            format!("overload={},after={}: {}", over.readable(), under.readable(), searched(goal))
        }
        Procedure::Reset { load, length } => format!("{} for {}", percent(*load), length.readable()),
        Procedure::FrameLoss { step, most, length } => {
            format!("from {} down by {} for {} each", percent(*most), percent(*step), length.readable())
        }
    }
}

fn searched(goal: &Goal) -> String {
    format!(
        "from={},to={},resolution={},loss={},short={},full={}",
        percent(goal.least),
        percent(goal.most),
        percent(goal.resolution),
        percent(goal.loss_ratio),
        goal.short.readable(),
        goal.full.readable()
    )
}

/// A stream as its option says it, with everything that is left out there.
fn stream(stream: &StreamOptions) -> String {
    let protocol = match stream.protocol {
        Protocol::Udp => "udp",
        Protocol::Tcp => "tcp",
        Protocol::Ip => "ip",
    };
    let mut words = format!(
        "name={},share={},weight={},protocol={protocol},dscp={},ecn={},source-ports={}-{},ports={}-{},pace={}",
        stream.name,
        percent(stream.share),
        stream.weight,
        stream.dscp,
        stream.ecn.bits(),
        stream.source_ports.start(),
        stream.source_ports.end(),
        stream.destination_ports.start(),
        stream.destination_ports.end(),
        stream.pace
    );
    if let Some(tag) = stream.tag {
        words += &format!(",vlan={},pcp={}", tag.vlan(), tag.priority());
    }
    let range = |range: AddressRange| format!("{}-{}", range.first(), range.nth(range.count() - 1));
    for (key, found) in [("source", stream.source), ("destination", stream.destination)] {
        if let Some(found) = found {
            words += &format!(",{key}={}", range(found));
        }
    }
    if let Some(frames) = &stream.frames {
        words += &format!(",frames={frames}");
    }
    if let Some(profile) = &stream.profile {
        words += &format!(",profile={}", bucket(profile));
    }
    if stream.expect_drop {
        words += ",expect=drop";
    }
    words
}

fn claims(claims: &Claims) -> String {
    let profile = claims.profile.map(|profile| format!("a profile of {}", bucket(&profile)));
    let scheduler = claims
        .scheduler
        .map(|(discipline, capacity)| format!("{} of {capacity} bit/s", discipline_name(discipline)));
    let markings = claims.markings.iter().map(|claim| match claim.field {
        Field::CodePoint => claim.to_string(),
        field => format!("{} {claim}", field.name()),
    });
    let excess = claims.excess.iter().map(|claim| format!("excess {claim}"));
    let allowed = claims.allowed.iter().map(|anomaly| format!("{anomaly} allowed"));
    listed(profile.into_iter().chain(scheduler).chain(markings).chain(excess).chain(allowed))
}

/// A discipline as plans name it.
const fn discipline_name(discipline: Discipline) -> &'static str {
    match discipline {
        Discipline::Strict => "strict",
        Discipline::Weighted => "weighted",
        Discipline::Fifo => "fifo",
        Discipline::FifoOctets => "fifo-octets",
    }
}

/// What a policer lets through, in words.
fn bucket(profile: &Profile) -> String {
    let unit = match profile.unit {
        TokenUnit::Frames => "frames",
        TokenUnit::Octets => "octets",
    };
    format!("{} {unit} a second and {} at once", profile.rate, profile.depth)
}

#[cfg(test)]
mod tests {
    use romer_method::Frames;
    use romer_method::schedule::Pace;
    use romer_units::{Duration, FrameSize};

    use super::*;
    use crate::simulated::sweep;

    #[test]
    fn what_was_asked_is_told_in_words_that_people_write() {
        let streams = vec![StreamOptions {
            name: "voice".into(),
            share: 0.333,
            pace: Pace::Gap(Duration::from_micros(100)),
            frames: FrameSize::new(512).map(Frames::Size),
            destination: AddressRange::new("198.19.0.2".parse().unwrap(), "198.19.0.9".parse().unwrap()),
            ..StreamOptions::default()
        }];
        let settings = BenchOptions { streams, ..sweep(&[0.1, 0.333]) }.settings();
        assert_eq!(settings["trials"], "10 %, 33.3 % for 1 s each");
        assert_eq!(settings["frame-sizes"], "128 B");
        assert_eq!(settings["case"], "baseline=");
        assert_eq!(
            settings["stream"],
            "name=voice,share=33.3 %,weight=1,protocol=udp,dscp=cs0,ecn=0,source-ports=50000-50000,ports=50001-50001,\
             pace=gap:100us,destination=198.19.0.2-198.19.0.9,frames=512 B"
        );
        for words in settings.values() {
            assert!(!words.contains('{') && !words.contains("Some(") && !words.contains('"'), "{words}");
        }
    }

    #[test]
    fn whatever_differs_is_told_otherwise() {
        let first = sweep(&[0.1]);
        let others = [
            sweep(&[0.100_001]),
            sweep(&[0.1, 0.2]),
            BenchOptions { repeats: 2, ..sweep(&[0.1]) },
            BenchOptions {
                streams: vec![StreamOptions { weight: 2.0, ..StreamOptions::default() }],
                ..sweep(&[0.1])
            },
            BenchOptions {
                streams: vec![StreamOptions { pace: Pace::Burst(2), ..StreamOptions::default() }],
                ..sweep(&[0.1])
            },
        ];
        for other in others {
            let differ =
                first.settings().iter().filter(|(key, words)| other.settings()[*key] != **words).count();
            assert_eq!(differ, 1, "{:?}", other.settings());
        }
    }
}
