//! The measurement that would settle what a model leaves unknown.

use romer_record::document::Traffic;
use romer_record::fidelity::{DirectionModel, MeasurementPlan, ModelParameter, PlanReason};
use romer_units::Duration;

use super::repeated::Repeated;
use crate::predictive_check::real;

/// A parameter is known well enough if its interval is within this share of its value on either side.
const SUFFICIENT: f64 = 0.25;
/// How much longer the next measurement is at most.
const LONGEST: f64 = 100.0;
/// How much longer where the measurement does not bound a parameter, or a model failed.
const UNBOUNDED: f64 = 10.0;
/// The shortest spacing that is proposed, in nanoseconds. Packets that are nearer to each other show what pairs do.
pub(super) const SHORTEST_SPACING: f64 = 1e6;

/// The measurements that would determine what is unknown: none where every parameter is known well enough. They have the traffic of the
/// measured run, as far as what is unknown permits.
pub fn plan(directions: &[DirectionModel], traffic: &Traffic) -> Vec<MeasurementPlan> {
    let spacings = directions.iter().map(|model| model.supported.spacing_ns);
    let spacing = spacings.clone().map(|[low, _]| low).fold(f64::INFINITY, f64::min);
    // The upper end of the range is a tenth of the run.
    let duration = spacings.map(|[_, high]| high * 10.0).fold(0.0, f64::max);
    let repeated = Repeated::new(traffic, spacing);
    let (mut longer, mut nearer, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    let mut factor_of_duration = 1.0_f64;
    for model in directions {
        let direction = || model.direction.clone();
        let is_spaced = model.supported.spacing_ns[0] > SHORTEST_SPACING;
        if model.supported.is_correlation_time_bound && is_spaced {
            nearer.push(PlanReason::CorrelationTime { direction: direction() });
        }
        let has_failed = model.candidates.iter().any(|one| one.is_chosen && one.misfit.is_some());
        if model.replaced.is_some() || has_failed {
            factor_of_duration = factor_of_duration.max(UNBOUNDED);
            longer.push(PlanReason::Misfit { direction: direction() });
        }
        for parameter in &model.parameters {
            let factor = factor(parameter);
            let is_bound = model.supported.is_correlation_time_bound && parameter.name.starts_with("delay.");
            if factor > 1.0 && !is_bound {
                factor_of_duration = factor_of_duration.max(factor);
                longer.push(PlanReason::Parameter { direction: direction(), name: parameter.name.clone() });
            }
        }
        if model.delays > 0 && model.delay != "bottleneck" && is_spaced {
            pairs.push(PlanReason::Rate { direction: direction() });
        }
    }
    let proposals = [
        (repeated.clone(), duration * factor_of_duration, longer),
        (repeated.clone().nearer(), duration, nearer),
        (repeated.in_pairs(), duration, pairs),
    ];
    let plan = |(repeated, duration, reasons): (Repeated, f64, Vec<PlanReason>)| {
        let duration = Duration::from_nanos_f64((duration / 1e9).ceil().max(1.0) * 1e9);
        MeasurementPlan {
            options: repeated.options(duration),
            spacing_ns: real(repeated.mean().as_nanos()),
            duration_ns: real(duration.as_nanos()),
            reasons,
        }
    };
    proposals.into_iter().filter(|(_, _, reasons)| !reasons.is_empty()).map(plan).collect()
}

/// How many times longer a measurement would have to be: the width of an interval falls with the root of its length.
fn factor(parameter: &ModelParameter) -> f64 {
    let is_time = parameter.name.ends_with("_ns");
    match parameter.interval {
        Some([low, high]) if parameter.value > 0.0 => {
            let share = (high - low) / 2.0 / parameter.value;
            (share / SUFFICIENT).powi(2).clamp(1.0, LONGEST)
        }
        None if is_time && parameter.value > 0.0 => UNBOUNDED,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use romer_record::document::ProbeDirection;
    use romer_record::fidelity::Supported;

    use super::*;

    fn model(parameters: Vec<ModelParameter>, is_correlation_time_bound: bool) -> DirectionModel {
        DirectionModel {
            direction: "forward".into(),
            packets: 3_000,
            delay: "independent".into(),
            loss: "bursts".into(),
            replaced: None,
            candidates: Vec::new(),
            loss_ratio: None,
            loss_ratio_interval: None,
            parameters,
            delays: 3_000,
            reordered_ratio: None,
            duplicated_ratio: None,
            supported: Supported {
                spacing_ns: [20e6, 6e9],
                is_correlation_time_bound,
                ..Supported::default()
            },
        }
    }

    fn g711() -> Traffic {
        Traffic {
            direction: ProbeDirection::Both,
            model: "g711".into(),
            frames_per_packet: Some(2),
            interval_ns: 20_000_000,
            payload_octets: 172,
            ..Traffic::default()
        }
    }

    /// An unknown correlation time needs nearer packets, a wide interval a longer run, and the rate of a link pairs. Each has its own
    /// command, in which what is known needs nothing.
    #[test]
    fn plans_settle_what_is_unknown() {
        let bad = |low, high| ModelParameter {
            name: "loss.bad_ns".into(),
            value: 2e8,
            interval: Some([low, high]),
        };
        let in_pairs = |model: DirectionModel| DirectionModel {
            supported: Supported { spacing_ns: [1e5, 6e9], ..model.supported },
            ..model
        };
        assert!(plan(&[in_pairs(model(vec![bad(1.8e8, 2.2e8)], false))], &g711()).is_empty());
        // Half of the value on either side is twice too wide: four times as long.
        let plans = plan(&[model(vec![bad(1e8, 3e8)], true)], &g711());
        let commands: Vec<String> = plans.iter().map(|plan| plan.options.join(" ")).collect();
        assert_eq!(
            commands,
            [
                "--direction both --traffic g711 --duration 240s",
                "--direction both --traffic periodic --size 172 --interval 2ms --duration 60s",
                "--direction both --traffic g711 --departure-jitter tick:40ms --duration 60s",
            ]
        );
        let forward = || "forward".to_owned();
        let settled: Vec<PlanReason> = plans.into_iter().flat_map(|plan| plan.reasons).collect();
        assert_eq!(
            settled,
            [
                PlanReason::Parameter { direction: forward(), name: "loss.bad_ns".into() },
                PlanReason::CorrelationTime { direction: forward() },
                PlanReason::Rate { direction: forward() },
            ]
        );
        let bottleneck = DirectionModel { delay: "bottleneck".into(), ..model(Vec::new(), false) };
        assert!(plan(&[bottleneck], &g711()).is_empty());
    }
}
