//! In-packet stamps beside those of sockets and user space.

use super::table::{Out, head, row, us};
use crate::in_packet::Stamped;

/// The run in a line.
pub(crate) fn progress(run: &Stamped) -> String {
    format!(
        "  in-packet  {} probes: deviation of the round trip {} us by in-packet stamps, {} us by the kernel, {} us by user space; \
         {} lost, {} wrong checksums",
        run.probes,
        us(run.program.stddev_ns),
        us(run.kernel.stddev_ns),
        us(run.user.stddev_ns),
        run.lost,
        run.checksum_errors,
    )
}

/// The section.
pub(crate) fn stamped(out: &mut Out, run: Option<&Stamped>) {
    let Some(run) = run else { return };
    out.push_str(
        "\n## In-packet time stamps\n\nRound trips of the same probes to an echo of UDP, without the time at the echo, by three kinds of \
         stamps at both ends. The kernels compute and verify every checksum.\n",
    );
    let names = ["stamps", "probes", "p50", "interquartile range", "standard deviation", "longest"];
    head(out, 1, &names);
    for (name, trips) in [
        ("in-packet (tcx programs)", &run.program),
        ("kernel (SO_TIMESTAMPING)", &run.kernel),
        ("user space", &run.user),
    ] {
        let cells = [
            name.to_owned(),
            trips.count.to_string(),
            us(trips.p50_ns),
            us(trips.iqr_ns),
            us(trips.stddev_ns),
            us(trips.max_ns),
        ];
        row(out, cells.iter().map(String::as_str));
    }
    out.push_str(&format!(
        "\n{} probes, {} without a reply; {} datagrams dropped because of a wrong checksum.\n",
        run.probes, run.lost, run.checksum_errors
    ));
}
