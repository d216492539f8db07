//! The measurement that would settle what a model leaves unknown.

use romer_record::fidelity::{DirectionModel, MeasurementPlan, ModelParameter, PlanReason};

/// A parameter is known well enough if its interval is within this share of its value on either side.
const SUFFICIENT: f64 = 0.25;
/// How much longer the next measurement is at most.
const LONGEST: f64 = 100.0;
/// How much longer where the measurement does not bound a parameter, or a model failed.
const UNBOUNDED: f64 = 10.0;
/// How much nearer to each other packets are, to find a correlation time.
const NEARER: f64 = 10.0;
/// The shortest spacing that is proposed, in nanoseconds.
const SHORTEST_SPACING: f64 = 1e6;

/// `None` where every parameter is known well enough.
pub fn plan(directions: &[DirectionModel]) -> Option<MeasurementPlan> {
    let mut reasons = Vec::new();
    let spacings = directions.iter().map(|model| model.supported.spacing_ns);
    let spacing = spacings.clone().map(|[low, _]| low).fold(f64::INFINITY, f64::min);
    // The upper end of the range is a tenth of the run.
    let duration = spacings.map(|[_, high]| high * 10.0).fold(0.0, f64::max);
    let (mut nearer, mut longer) = (1.0_f64, 1.0_f64);
    for model in directions {
        let direction = model.direction.clone();
        if model.supported.is_correlation_time_bound && spacing > SHORTEST_SPACING {
            nearer = NEARER;
            reasons.push(PlanReason::CorrelationTime { direction: direction.clone() });
        }
        if model.replaced.is_some() {
            longer = longer.max(UNBOUNDED);
            reasons.push(PlanReason::Misfit { direction: direction.clone() });
        }
        for parameter in &model.parameters {
            let factor = factor(parameter);
            let is_bound = model.supported.is_correlation_time_bound && parameter.name.starts_with("delay.");
            if factor > 1.0 && !is_bound {
                longer = longer.max(factor);
                reasons.push(PlanReason::Parameter {
                    direction: direction.clone(),
                    name: parameter.name.clone(),
                });
            }
        }
    }
    let plan = MeasurementPlan {
        spacing_ns: (spacing / nearer).max(SHORTEST_SPACING.min(spacing)),
        duration_ns: duration * longer,
        reasons,
    };
    (!plan.reasons.is_empty()).then_some(plan)
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

    /// An unknown correlation time needs nearer packets, a wide interval a longer run, and what is known needs nothing.
    #[test]
    fn plans_settle_what_is_unknown() {
        let bad = |low, high| ModelParameter {
            name: "loss.bad_ns".into(),
            value: 2e8,
            interval: Some([low, high]),
        };
        assert_eq!(plan(&[model(vec![bad(1.8e8, 2.2e8)], false)]), None);
        // Half of the value on either side is twice too wide: four times as long.
        let wide = plan(&[model(vec![bad(1e8, 3e8)], false)]).unwrap();
        assert!(
            (wide.duration_ns - 4.0 * 60e9).abs() < 1.0 && (wide.spacing_ns - 20e6).abs() < 1.0,
            "{wide:?}"
        );
        let near = plan(&[model(Vec::new(), true)]).unwrap();
        assert!((near.duration_ns - 60e9).abs() < 1.0 && (near.spacing_ns - 2e6).abs() < 1.0, "{near:?}");
    }
}
