//! The reflector in the kernel beside the thread of the responder.

use super::table::{Out, head, row, us};
use crate::reflect::Reflected;

/// The run in a line.
pub(crate) fn progress_reflected(run: &Reflected) -> String {
    format!(
        "  reflect  {} probes to each: {} us in the kernel ({}), {} us by the thread, factor {:.3}; {} and {} lost",
        run.probes,
        us(run.kernel.p50_ns),
        run.mode,
        us(run.user_space.p50_ns),
        run.ratio(),
        run.lost[1],
        run.lost[0],
    )
}

/// The section.
pub(crate) fn reflected(out: &mut Out, run: Option<&Reflected>) {
    let Some(run) = run else { return };
    out.push_str(
        "\n## Reflection in the kernel\n\nRound trips as a blocking socket sees them, from the send call to the return of the receive call. \
         Each probe to the thread of `romer respond` is followed by one to `romer respond --in-kernel`, with all limits in \
         effect.\n",
    );
    head(out, 1, &["replies by", "probes", "without a reply", "p50", "p99", "longest"]);
    for (name, trips, lost) in [
        ("the thread".to_owned(), &run.user_space, run.lost[0]),
        (format!("the kernel ({})", run.mode), &run.kernel, run.lost[1]),
    ] {
        let cells = [
            name,
            run.probes.to_string(),
            lost.to_string(),
            us(trips.p50_ns),
            us(trips.p99_ns),
            us(trips.max_ns),
        ];
        row(out, cells.iter().map(String::as_str));
    }
}
