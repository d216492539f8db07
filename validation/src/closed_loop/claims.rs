//! What is claimed of the closed loop.

use super::{LoopPath, Loops};
use crate::results::Claim;

impl Loops {
    /// Each path is emulated within the bounds at each spacing.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        let claim = |path: &LoopPath| {
            let outside: usize = path.cells.iter().map(|cell| cell.outside.len()).sum();
            let figure = f64::from(u32::try_from(outside).unwrap_or(u32::MAX));
            let claim = "closed loop: figures of the emulated path outside their bounds, at spacings of 1, 5, 20 and 100 ms";
            Claim::at_most(claim, path.path.clone(), figure, 0.0).in_units("count")
        };
        self.paths.iter().map(claim).collect()
    }
}
