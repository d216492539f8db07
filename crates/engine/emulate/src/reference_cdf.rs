//! The distribution of delay that a scenario asks for, where it has one.

use romer_impair::config::Model;
use romer_impair::{Config, PortId};

/// Steps of the distribution function.
const STEPS: u32 = 500;

/// What arrives at `port` is held so long: nanoseconds, and the share that is held no longer, both ascending. `None`
/// where there is no one distribution: with states, flows, a timeline or recorded fates.
pub fn delay_distribution(config: &Config, port: PortId) -> Option<Vec<(f64, f64)>> {
    if !config.flows.is_empty() || !config.timeline.is_empty() {
        return None;
    }
    let path = config.base.paths[port.index()].first()?.as_ref()?;
    let Model::Plain(delay) = &path.delay else { return None };
    if path.trace.is_some() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a delay is below an hour")]
    let fixed = delay.fixed as f64;
    let Some(variable) = &delay.variable else {
        return Some(vec![(fixed, 0.0), (fixed, 1.0)]);
    };
    let law = variable.law();
    let inner = (0..STEPS).map(|step| (f64::from(step) + 0.5) / f64::from(STEPS));
    // The ends lie further out than a law without bounds would have them drawn.
    let shares = std::iter::once(1e-4).chain(inner).chain([0.9999]);
    Some(shares.map(|share| (fixed + law.draw(share), share)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_theory_is_that_of_the_scenario_and_there_is_none_with_states() {
        let of = |text: &str| {
            let config = crate::read_scenario(text, "s").unwrap().scenario.config;
            delay_distribution(&config, PortId::A)
        };
        let uniform = of(
            "[a_to_b.delay]\nfixed = \"1ms\"\nvariable = { model = \"uniform\", low = \"0us\", high = \"100us\" }\n",
        );
        let uniform = uniform.unwrap();
        assert!(uniform.iter().all(|(nanos, share)| (nanos - 1e6 - 1e5 * share).abs() < 1.0));
        assert!(uniform.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
        assert_eq!(of("[a_to_b.delay]\nfixed = \"1ms\"\n").unwrap(), [(1e6, 0.0), (1e6, 1.0)]);
        let states = "[a_to_b.delay]\nmodel = \"markov\"\nstep = \"packets\"\ntransition = [[0.5, 0.5], [0.5, 0.5]]\n\
                      state = [{ duration = 1, fixed = \"1ms\" }, { duration = 1, fixed = \"2ms\" }]\n";
        assert_eq!(of(states), None);
    }
}
