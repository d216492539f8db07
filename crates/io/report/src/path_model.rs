//! A model of a measured path on a terminal: the families, why they were chosen, their parameters and their range.

use romer_record::fidelity::{
    DirectionModel, Fidelity, FidelityVerdict, HeldOutCheck, LinkModel, LinkRecording, MeasurementPlan,
    ModelCandidate, ModelParameter, PathModel, PlanReason,
};
use romer_units::Duration;

use crate::number::{NO_BREAK, capital, percent, time};
use crate::text::{TextStyle, wrap};
use crate::{escape, fidelity};

/// The widest that prose is set.
const WIDEST: usize = 110;

/// `model` for a terminal. The text ends with a newline.
pub fn text(model: &PathModel, style: &TextStyle) -> String {
    let width = style.width.clamp(40, WIDEST);
    let mut text = String::new();
    for link in &model.links {
        text.push_str(&paragraph(&recorded(link, style.unicode), width));
    }
    if model.parts.is_empty() && model.links.is_empty() {
        text.push_str(&directions(&model.directions, style));
    }
    text.push_str(&checks(model.check.as_ref(), &model.held_out, style));
    for part in &model.parts {
        let [at, duration] = [part.at_ns, part.duration_ns].map(Duration::from_nanos);
        text.push_str(&paragraph(&format!("{}, starts at {at}, lasts {duration}:", part.run), width));
        text.push('\n');
        text.push_str(&directions(&part.directions, style));
        text.push_str(&checks(Some(&part.check), &part.held_out, style));
        text.push('\n');
    }
    text
}

/// A sentence in lines, without characters that a terminal obeys.
fn paragraph(words: &str, width: usize) -> String {
    wrap(&escape::terminal(words), width).join("\n").replace(NO_BREAK, " ") + "\n"
}

/// The families of each direction, why they were chosen, their parameters and their range.
fn directions(directions: &[DirectionModel], style: &TextStyle) -> String {
    let width = style.width.clamp(40, WIDEST);
    let mut lines = Vec::new();
    for direction in directions {
        lines.extend(wrap(&escape::terminal(&sentence(direction, style.unicode)), width));
        lines.extend(candidates(direction));
        for parameter in &direction.parameters {
            lines.extend(
                wrap(&parameter_words(parameter, style.unicode), width - 2).iter().map(|line| indented(line)),
            );
        }
        lines.extend(wrap(&supported(direction, style.unicode), width - 2).iter().map(|line| indented(line)));
        lines.push(String::new());
    }
    lines.join("\n").replace(NO_BREAK, " ") + "\n"
}

/// The measurement, and held-out stretches of it, compared with what the scenario predicts.
fn checks(check: Option<&Fidelity>, held_out: &[HeldOutCheck], style: &TextStyle) -> String {
    let width = style.width.clamp(40, WIDEST);
    let mut text = String::new();
    if let Some(check) = check {
        text.push_str("Check against the source measurement:\n\n");
        text.push_str(&fidelity::text(check, style));
    }
    for check in held_out.iter().filter(|check| !check.fidelity.directions.is_empty()) {
        let heading = format!(
            "Check of models of one half of the run against every {} packet of the other half:",
            if check.every == 2 { "2nd".to_owned() } else { format!("{}th", check.every) }
        );
        text.push('\n');
        text.push_str(&wrap(&heading, width).join("\n"));
        text.push_str("\n\n");
        let has_failed =
            check.fidelity.directions.iter().any(|direction| direction.verdict == FidelityVerdict::Differs);
        if has_failed {
            text.push_str(&fidelity::text(&check.fidelity, style));
            continue;
        }
        for direction in &check.fidelity.directions {
            let words = format!("{}: {}", capital(&direction.direction), direction.text);
            text.push_str(&wrap(&escape::terminal(&words), width).join("\n"));
            text.push('\n');
        }
    }
    text
}

/// The recorded rates of one direction.
fn recorded(link: &LinkModel, unicode: bool) -> String {
    let what = match link.recording {
        LinkRecording::Rates => "a table of rates",
        LinkRecording::Mahimahi => "a mahimahi trace",
    };
    let outage = if link.longest_outage_ns > 0.0 {
        format!("; no packet leaves for up to {}", time(link.longest_outage_ns, unicode))
    } else {
        String::new()
    };
    format!(
        "{}: {what} over {}, which repeats; {} on average{outage}.",
        capital(&link.direction),
        time(link.duration_ns, unicode),
        rate(link.mean_bit_per_s)
    )
}

/// The measurements that would determine what is unknown. The text ends with a newline.
pub fn plan(plans: &[MeasurementPlan], style: &TextStyle) -> String {
    let width = style.width.clamp(40, WIDEST);
    if plans.is_empty() {
        return "\nPlan: no further measurement is needed; each interval is within 25 % of its parameter.\n"
            .into();
    }
    let mut lines = vec![String::new(), "Plan: what is still unknown, and how to measure it:".into()];
    for plan in plans {
        for reason in &plan.reasons {
            let words = format!("- {}", escape::terminal(&reason_words(reason)));
            let wrapped = wrap(&words, width - 2);
            lines.extend(wrapped.into_iter().enumerate().map(|(place, line)| match place {
                0 => line,
                _ => indented(&line),
            }));
        }
        let command =
            ["romer", "measure", "TARGET"].map(str::to_owned).into_iter().chain(plan.options.clone());
        lines.push(indented(&escape::terminal(&escape::shell(&command.collect::<Vec<_>>()))));
    }
    lines.join("\n").replace(NO_BREAK, " ") + "\n"
}

/// What a measurement would determine, and by what.
fn reason_words(reason: &PlanReason) -> String {
    match reason {
        PlanReason::CorrelationTime { direction } => {
            format!("{direction}: the correlation time of delays, by a shorter packet spacing")
        }
        PlanReason::Parameter { direction, name } => {
            format!("{direction}: a narrower interval of {}, by a longer run", parameter_name(name))
        }
        PlanReason::Rate { direction } => {
            format!("{direction}: the rate of the narrowest link, by packets in pairs or trains")
        }
        PlanReason::Misfit { direction } => {
            format!("{direction}: what no family of models reproduces, by a longer run")
        }
    }
}

fn indented(line: &str) -> String {
    format!("  {line}")
}

fn sentence(model: &DirectionModel, unicode: bool) -> String {
    let spacing = time(model.supported.spacing_ns[0], unicode);
    let delay = match model.delay.as_str() {
        "constant" => "a constant delay".to_owned(),
        "independent" => format!("delays that are independent at a spacing of {spacing}"),
        "correlated" => "delays that are correlated in time".to_owned(),
        "regimes" => "delay and loss by a chain of regimes in time".to_owned(),
        "bottleneck" => "a bottleneck with a rate, behind delays by cross-traffic".to_owned(),
        "trace" => "the recorded delays and losses, by time".to_owned(),
        _ => "no known delay".to_owned(),
    };
    let loss = match model.loss.as_str() {
        "none" => ", no loss",
        "bernoulli" => ", independent losses",
        "bursts" => ", losses in bursts",
        "gilbert" | "gilbert-elliott" => ", losses in bursts that lose a part of the packets",
        _ => "",
    };
    let why = match (&model.replaced, model.candidates.len()) {
        (Some(_), _) => "; no family of models reproduces the measurement",
        (None, 1..) if model.delay == "trace" => {
            "; in one trace with a run that no family of models reproduces"
        }
        (None, 0 | 1) => "",
        (None, _) => "; the smallest of the families that predict held-out blocks of time best",
    };
    let has_spikes = model.parameters.iter().any(|parameter| parameter.name == "spikes.period_ns");
    let spikes = if has_spikes { ", periodic delay spikes" } else { "" };
    format!("{}: {delay}{spikes}{loss}{why}.", capital(&model.direction))
}

/// The name of a figure of the check, as text.
fn figure_words(figure: &str) -> String {
    figure.replace("_ns.", " ").replace("_ratio", "").replace(['_', '.'], " ")
}

/// The families with their likelihoods, if there is more than one.
fn candidates(model: &DirectionModel) -> Vec<String> {
    if model.candidates.len() < 2 {
        return Vec::new();
    }
    let longest = model.candidates.iter().map(|one| one.family.chars().count()).max().unwrap_or(0);
    let heading = format!("  {:longest$}  held-out log-likelihood", "family");
    let line = |one: &ModelCandidate| {
        let value = one.held_out_log_likelihood.map_or_else(|| "n/a".into(), |value| format!("{value:.1}"));
        let mark = match &one.misfit {
            Some(figure) if one.is_chosen && model.delay != "trace" => {
                format!("  chosen; its check fails: {}", figure_words(figure))
            }
            Some(figure) => format!("  refused: {}", figure_words(figure)),
            None if one.is_chosen => "  chosen".to_owned(),
            None if one.held_out_log_likelihood.is_none() => "  too few packets in a block".to_owned(),
            None => String::new(),
        };
        format!("  {:longest$}  {value:>23}{mark}", one.family)
    };
    std::iter::once(heading).chain(model.candidates.iter().map(line)).collect()
}

fn parameter_words(parameter: &ModelParameter, unicode: bool) -> String {
    let is_time = parameter.name.ends_with("_ns");
    let is_rate = parameter.name.ends_with("_bit_per_s");
    let value = |value: f64| match (is_time, is_rate) {
        (true, _) => time(value, unicode),
        (_, true) => rate(value),
        _ => percent(value),
    };
    let interval = match parameter.interval {
        Some([low, high]) if low < high => format!(" (95 %: {} to {})", value(low), value(high)),
        Some(_) => String::new(),
        None if parameter.name.ends_with("share") => String::new(),
        None => " (not bounded by the measurement)".to_owned(),
    };
    format!("{}: {}{interval}", parameter_name(&parameter.name), value(parameter.value))
}

fn rate(bit_per_s: f64) -> String {
    match bit_per_s {
        low if low < 1e6 => format!("{:.1} kbit/s", low / 1e3),
        high => format!("{:.3} Mbit/s", high / 1e6),
    }
}

/// The name in words, without its unit.
fn parameter_name(name: &str) -> String {
    let plain =
        |name: &str| name.trim_end_matches("_ns").trim_end_matches("_bit_per_s").replace(['.', '_'], " ");
    let known = match name {
        "loss.probability" => "loss ratio",
        "loss.good_ns" => "loss, mean time in the good state",
        "loss.bad_ns" => "loss, mean time in the bad state",
        "loss.good_ratio" => "loss ratio in the good state",
        "loss.bad_ratio" => "loss ratio in the bad state",
        "bottleneck.base_ns" => "bottleneck base delay",
        "spikes.period_ns" => "period of the delay spikes",
        "spikes.height_ns" => "height of the delay spikes",
        _ => match name.split_once('.') {
            Some((regime, "sojourn_ns")) => return format!("{}, mean duration", plain(regime)),
            Some((regime, "share")) => return format!("{}, share of the time", plain(regime)),
            _ => return plain(name),
        },
    };
    known.to_owned()
}

fn supported(model: &DirectionModel, unicode: bool) -> String {
    let range = model.supported;
    let [low, high] = range.spacing_ns.map(|spacing| time(spacing, unicode));
    let [small, large] = range.size_octets;
    let sizes = if small == large { format!("{small} bytes") } else { format!("{small} to {large} bytes") };
    let bound = if range.is_correlation_time_bound {
        "; unknown: whether delays are independent at shorter spacings"
    } else {
        ""
    };
    format!(
        "supported by the measurement: packet spacings of {low} to {high}, {sizes}, load up to {}{bound}",
        rate(range.load_bit_per_s)
    )
}

#[cfg(test)]
mod tests {
    use romer_record::fidelity::{MODEL, ModelPart, Supported};

    use super::*;

    fn direction() -> DirectionModel {
        DirectionModel {
            direction: "forward".into(),
            packets: 1_000,
            delay: "correlated".into(),
            loss: "bursts".into(),
            replaced: None,
            candidates: [("independent + bursts", 0.0, false), ("correlated + bursts", 81.25, true)]
                .map(|(family, value, is_chosen)| ModelCandidate {
                    family: family.into(),
                    held_out_log_likelihood: Some(value),
                    is_chosen,
                    misfit: None,
                })
                .into(),
            loss_ratio: Some(0.01),
            loss_ratio_interval: None,
            parameters: [
                ("delay.correlation_time_ns", 50e6),
                ("loss.bad_ns", 20e6),
                ("regime_1.sojourn_ns", 2e9),
            ]
            .map(|(name, value)| ModelParameter {
                name: name.into(),
                value,
                interval: Some([value * 0.8, value * 1.2]),
            })
            .into(),
            delays: 990,
            reordered_ratio: None,
            duplicated_ratio: None,
            supported: Supported {
                spacing_ns: [20e6, 2e9],
                size_octets: [172, 172],
                load_bit_per_s: 68_800.0,
                is_correlation_time_bound: true,
            },
        }
    }

    /// The text names the family, why it was chosen, its parameters with intervals, and the range; no line is too wide.
    #[test]
    fn choice_is_explained() {
        let mut model = PathModel {
            schema: MODEL.into(),
            run: "run".into(),
            directions: vec![direction()],
            links: Vec::new(),
            parts: Vec::new(),
            scenario: String::new(),
            check: None,
            held_out: Vec::new(),
            plan: Vec::new(),
            warnings: Vec::new(),
        };
        let style = TextStyle { color: false, unicode: true, width: 80 };
        let found = text(&model, &style);
        for part in [
            "Forward: delays that are correlated in time, losses in bursts; the smallest of the families",
            "81.2  chosen",
            "delay correlation time: 50.0 ms (95 %: 40.0 ms to 60.0 ms)",
            "loss, mean time in the bad state: 20.0 ms (95 %: 16.0 ms to 24.0 ms)",
            "regime 1, mean duration: 2.00 s (95 %: 1.60 s to 2.40 s)",
            "172 bytes",
            "load up to 68.8 kbit/s",
            "whether delays are independent at shorter spacings",
        ] {
            assert!(found.replace("\n  ", " ").replace('\n', " ").contains(part), "{part}:\n{found}");
        }
        assert!(found.lines().all(|line| line.chars().count() <= 80), "{found}");
        let plan = MeasurementPlan {
            options: ["--traffic", "onoff:1s,0.5*2s+0.5*4s", "--interval", "2ms"].map(str::to_owned).into(),
            spacing_ns: 2e6,
            duration_ns: 60e9,
            reasons: vec![
                PlanReason::CorrelationTime { direction: "forward".into() },
                PlanReason::Rate { direction: "forward".into() },
            ],
        };
        assert_eq!(
            super::plan(&[plan], &style),
            "\nPlan: what is still unknown, and how to measure it:\n\
             - forward: the correlation time of delays, by a shorter packet spacing\n\
             - forward: the rate of the narrowest link, by packets in pairs or trains\n  \
             romer measure TARGET --traffic 'onoff:1s,0.5*2s+0.5*4s' --interval 2ms\n"
        );
        assert!(super::plan(&[], &style).contains("no further measurement"));
        // A family that cannot be fitted says why, and a check that compares nothing has no heading.
        model.directions[0].candidates.push(ModelCandidate {
            family: "regimes 2".into(),
            held_out_log_likelihood: None,
            is_chosen: false,
            misfit: None,
        });
        let fidelity = Fidelity {
            schema: romer_record::fidelity::FIDELITY.into(),
            method: String::new(),
            directions: Vec::new(),
            warnings: Vec::new(),
        };
        model.held_out.push(HeldOutCheck { every: 2, fidelity });
        let found = text(&model, &style);
        assert!(
            found.contains("n/a  too few packets in a block") && !found.contains("Check of models"),
            "{found}"
        );
        model.directions[0].delay = "bottleneck".into();
        model.directions[0].parameters.push(ModelParameter {
            name: "bottleneck.rate_bit_per_s".into(),
            value: 5e6,
            interval: Some([4.9e6, 5.1e6]),
        });
        let found = text(&model, &style).replace("\n  ", " ").replace('\n', " ");
        for part in [
            "Forward: a bottleneck with a rate",
            "bottleneck rate: 5.000 Mbit/s (95 %: 4.900 Mbit/s to 5.100 Mbit/s)",
        ] {
            assert!(found.contains(part), "{part}:\n{found}");
        }
        model.directions[0].replaced = Some("correlated".into());
        model.directions[0].candidates[1].misfit = Some("delay_ns.p99".into());
        model.directions[0].delay = "trace".into();
        model.directions[0].loss = "trace".into();
        let found = text(&model, &style).replace('\n', " ");
        assert!(found.contains("no family of models reproduces the measurement"), "{found}");
        model.directions[0].replaced = None;
        let found = text(&model, &style).replace("\n  ", " ").replace('\n', " ");
        assert!(found.contains("in one trace with a run"), "{found}");
    }

    /// Recorded rates have a sentence, and each of several runs has its name, its time and its own check.
    #[test]
    fn links_and_parts_are_listed() {
        let check = Fidelity {
            schema: romer_record::fidelity::FIDELITY.into(),
            method: String::new(),
            directions: Vec::new(),
            warnings: Vec::new(),
        };
        let part = |run: &str, at_ns: i64| ModelPart {
            run: run.into(),
            at_ns,
            duration_ns: 60_000_000_000,
            directions: vec![direction()],
            check: check.clone(),
            held_out: Vec::new(),
        };
        let mut model = PathModel {
            schema: MODEL.into(),
            run: "day, night".into(),
            directions: Vec::new(),
            links: Vec::new(),
            parts: vec![part("day", 0), part("ni\u{1b}ght", 60_000_000_000)],
            scenario: String::new(),
            check: None,
            held_out: Vec::new(),
            plan: Vec::new(),
            warnings: Vec::new(),
        };
        let style = TextStyle { color: false, unicode: true, width: 80 };
        let found = text(&model, &style);
        assert!(found.starts_with("day, starts at 0ns, lasts 60s:\n\nForward: delays"), "{found}");
        assert!(found.contains("ght, starts at 60s, lasts 60s:\n") && !found.contains('\u{1b}'), "{found}");
        assert_eq!(found.matches("Check against the source measurement").count(), 2, "{found}");
        model.parts.clear();
        model.links.push(LinkModel {
            direction: "forward".into(),
            recording: LinkRecording::Rates,
            duration_ns: 4e9,
            mean_bit_per_s: 3e6,
            longest_outage_ns: 2e9,
        });
        let found = text(&model, &style).replace('\n', " ");
        assert!(found.starts_with("Forward: a table of rates over 4"), "{found}");
        assert!(
            found.contains("which repeats; 3.000 Mbit/s on average; no packet leaves for up to 2"),
            "{found}"
        );
    }
}
