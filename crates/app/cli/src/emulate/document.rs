//! What the command line asks for, as a scenario file says it.

use romer_impair::config::Model;
use romer_impair::{Config, Decision};
use romer_units::{Duration, Rate};

pub(super) fn scenario(config: &Config) -> String {
    let seed = config.seed.map_or([1; 6], |seed| seed.0).map(|word| word.to_string()).join(", ");
    let mut text = format!("seed = [{seed}]\n");
    for (port, name) in ["a_to_b", "b_to_a"].into_iter().enumerate() {
        let Some(path) = config.base.paths[port].first().and_then(Option::as_ref) else { continue };
        if let Model::Plain(Decision::Bernoulli { probability }) = &path.loss
            && *probability > 0.0
        {
            text.push_str(&format!("[{name}.loss]\nmodel = \"bernoulli\"\nprobability = {probability:?}\n"));
        }
        if let Model::Plain(delay) = &path.delay
            && delay.fixed > 0
        {
            text.push_str(&format!("[{name}.delay]\nfixed = \"{}\"\n", Duration::from_nanos(delay.fixed)));
        }
        if let Some(rate) = &path.rate {
            let limit = match rate.limit {
                Rate::Bits(bits) => format!("{bits}bit"),
                Rate::Packets(packets) => format!("{packets}pps"),
            };
            let layer = rate.layer;
            text.push_str(&format!("[{name}.rate]\nlimit = \"{limit}\"\nlayer = \"{layer}\"\n"));
        }
    }
    text
}
