//! Names of the figures of a loop.

/// A figure as the summary of a measurement calls it.
pub(crate) fn label(figure: &str) -> String {
    match figure {
        "jitter_ns.delay_difference.mean" => "|IPDV| mean".into(),
        "loss.ratio" => "loss".into(),
        "reordering.ratio" => "reordering".into(),
        "voice.mos" => "MOS".into(),
        "wasserstein_ns" => "Wasserstein".into(),
        "kolmogorov_smirnov" => "KS".into(),
        "autocorrelation" => "autocorrelation".into(),
        _ => figure.replace("_ns.", " "),
    }
}
