//! The density of a law from its sample, by the distance to the nearest neighbours.

use crate::series::RESOLUTION;

/// Neighbours within the distance. More give a smoother density and less detail.
const NEIGHBOURS: usize = 10;

/// The density at each value of a sample.
#[derive(Clone, Debug)]
pub(crate) struct Density {
    /// Ascending.
    values: Vec<f64>,
    /// The log of the density at each.
    logs: Vec<f64>,
}

impl Density {
    /// Of k neighbours among n - 1 other values within the distance r, the density is exp(psi(k)) / (2 r (n - 1)) (Kozachenko and Leonenko
    /// 1987); psi(k) is ln(k - 1/2) within 0.01 from k = 5. The distance is at least [`RESOLUTION`], so that equal values have a density.
    /// With this distance the count is the random number, and psi(k + 1) has the right mean.
    pub(crate) fn new(sample: &[f64]) -> Self {
        let mut values = sample.to_vec();
        values.sort_by(f64::total_cmp);
        let others = (values.len().saturating_sub(1)).max(1) as f64;
        let log = |place: usize| {
            let value = values[place];
            let last = values.len() - 1;
            let reach = NEIGHBOURS.min(last);
            let first = place.saturating_sub(reach)..=place.min(last - reach);
            let distance = first
                .map(|first| (value - values[first]).max(values[first + reach] - value))
                .fold(f64::INFINITY, f64::min)
                .max(RESOLUTION);
            let from = values.partition_point(|other| *other < value - distance);
            let to = values.partition_point(|other| *other <= value + distance);
            let count = (to - from).saturating_sub(1) as f64;
            let count = if distance > RESOLUTION { count - 0.5 } else { count + 0.5 };
            (count / (2.0 * distance * others)).ln()
        };
        let logs = (0..values.len()).map(log).collect();
        Self { values, logs }
    }

    /// The log of the density at a value of the sample; at another value, that of the next larger one.
    pub(crate) fn log(&self, value: f64) -> f64 {
        let place = self.values.partition_point(|other| *other < value);
        self.logs.get(place).or(self.logs.last()).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;

    /// Of a sum of 4,000 logs of an exponential density the error is less than 1 % of the count, and an atom has the density of the
    /// resolution.
    #[test]
    fn an_exponential_density_is_estimated() {
        let random = RandomStream::new(Seed([4; 6]), [1, 1]);
        let sample: Vec<f64> = (0..4_000).map(|n| -0.01 * (1.0 - random.unit(n)).ln()).collect();
        let density = Density::new(&sample);
        let error: f64 =
            sample.iter().map(|value| density.log(*value) - (100.0_f64.ln() - 100.0 * value)).sum();
        assert!(error.abs() < 40.0, "{error}");
        let atom = Density::new(&[0.02; 500]);
        assert!((atom.log(0.02) - (0.5 / RESOLUTION).ln()).abs() < 0.01);
    }
}
