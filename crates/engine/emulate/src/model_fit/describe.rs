//! What was chosen, as the document of a model has it.

use romer_fit::choice::{Choice, DelayModel};
use romer_fit::{Estimate, Series};
use romer_record::fidelity::{DirectionModel, ModelCandidate, ModelParameter};

/// Figures in which families deviated, by the families' names.
pub(super) type Misfits = std::collections::BTreeMap<String, String>;

/// Families, candidates and parameters. Of relative delays the base delay of a bottleneck is unknown and left out.
pub(super) fn choice(
    choice: &Choice,
    misfits: &Misfits,
    series: &Series,
    are_relative: bool,
    model: &mut DirectionModel,
) {
    model.delays = series.delays().len() as u64;
    model.delay = name(choice).into();
    model.candidates = candidates(choice, misfits);
    let mut add = |name: String, estimate: Estimate, scale: f64| {
        let interval = estimate.interval.map(|ends| ends.map(|end| end * scale));
        model.parameters.push(ModelParameter { name, value: estimate.value * scale, interval });
    };
    if let Some(bottleneck) = &choice.bottleneck {
        add("bottleneck.rate_bit_per_s".into(), bottleneck.rate, 1.0);
        if !are_relative {
            add("bottleneck.base_ns".into(), bottleneck.base, 1e9);
        }
        if let Some(buffer) = bottleneck.buffer {
            add("bottleneck.buffer_ns".into(), buffer, 1e9);
        }
    }
    match &choice.delay {
        DelayModel::Correlated(time) => add("delay.correlation_time_ns".into(), time.time, 1e9),
        DelayModel::Regimes(regimes) => {
            for (number, regime) in (1..).zip(&regimes.regimes) {
                let name = |what: &str| format!("regime_{number}.{what}");
                add(name("sojourn_ns"), regime.sojourn, 1e9);
                add(name("loss_ratio"), regime.loss_ratio, 1.0);
                add(name("correlation_time_ns"), regime.correlation_time, 1e9);
                add(name("share"), Estimate { value: regime.share, interval: None }, 1.0);
            }
            model.loss = "regimes".into();
            return;
        }
        DelayModel::Unknown | DelayModel::Constant => {}
    }
    model.loss = choice.loss.family.name().into();
    if let Some(states) = choice.loss.states {
        add("loss.good_ns".into(), states.good, 1e9);
        add("loss.bad_ns".into(), states.bad, 1e9);
        add("loss.good_ratio".into(), states.loss_good, 1.0);
        add("loss.bad_ratio".into(), states.loss_bad, 1.0);
    }
}

/// The family of the delay.
const fn name(choice: &Choice) -> &'static str {
    if choice.bottleneck.is_some() { "bottleneck" } else { choice.delay.name() }
}

/// A trace, and the families that were compared before, which it replaces if they were refused.
pub(super) fn trace(
    compared: Option<&Choice>,
    misfits: &Misfits,
    series: &Series,
    model: &mut DirectionModel,
) {
    model.delays = series.delays().len() as u64;
    model.delay = "trace".into();
    model.loss = "trace".into();
    model.replaced = compared.filter(|choice| choice.is_refused()).map(|choice| name(choice).into());
    model.candidates = compared.map(|choice| candidates(choice, misfits)).unwrap_or_default();
}

fn candidates(choice: &Choice, misfits: &Misfits) -> Vec<ModelCandidate> {
    let one = |(place, candidate): (usize, &romer_fit::choice::Candidate)| ModelCandidate {
        family: candidate.name.clone(),
        held_out_log_likelihood: Some(candidate.held_out()).filter(|sum| sum.is_finite()),
        is_chosen: place == choice.chosen,
        misfit: misfits.get(&candidate.name).cloned(),
    };
    choice.candidates.iter().enumerate().map(one).collect()
}
