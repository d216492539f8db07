//! Clocks and the kernel.

use romer_record::doctor::{CheckVerdict, KernelClock};

use super::statement::Statement;
use crate::sentence::{length, list};

/// Consequence of a clock that is not synchronised.
pub(super) const DRIFT: &str = "STAMP packets report this, and one-way delays between hosts (relative to their minimum) drift with the \
                                clock. Round trips, and two ends on one host, are not affected.";

pub(super) fn synchronisation(clock: &KernelClock, is_good: bool) -> Statement {
    let daemons = list(&clock.sync_daemons);
    let sources = sources(clock);
    if !clock.synchronised {
        let observed = if daemons.is_empty() {
            "The kernel reports the clock as unsynchronised.".to_owned()
        } else {
            format!(
                "The kernel reports the clock as unsynchronised, although {daemons} is running. {sources}"
            )
        };
        return Statement::new(observed, DRIFT);
    }
    let by = if daemons.is_empty() { String::new() } else { format!(" (by {daemons})") };
    let bound = length(clock.maximum_error_ns);
    let consequence = if is_good {
        "Wall-clock times are correct to that bound, and STAMP packets report it."
    } else {
        "Wall-clock times may be wrong by that much, and STAMP packets report it. Round trips, and one-way delays relative to their \
         minimum, are not affected."
    };
    Statement::new(format!("The clock is synchronised{by}; maximum error {bound}. {sources}"), consequence)
}

/// The source of the clock, its state, and the bound of its error that a measurement uses.
fn sources(clock: &KernelClock) -> String {
    let mut sentences = Vec::new();
    if let Some(chrony) = &clock.chrony {
        let reference = if chrony.stratum == 0 { "no reference" } else { chrony.reference.as_str() };
        sentences.push(format!("chronyd follows {reference} (stratum {}).", chrony.stratum));
    }
    if let Some(ptp) = &clock.ptp {
        let state = ptp.port_state.as_deref().unwrap_or("unknown");
        sentences.push(format!("ptp4l is in state {state}, with an offset of {}.", length(ptp.offset_ns)));
    }
    if let Some(pps) = &clock.pps {
        let disciplines = if pps.signal { "disciplines" } else { "does not discipline" };
        let sources = if pps.sources.is_empty() { "none".into() } else { pps.sources.join(", ") };
        sentences.push(format!("Pulse per second: {sources}; it {disciplines} the kernel's clock."));
    }
    sentences.push(match (clock.error_bound_ns, clock.unconfirmed_bound_ns) {
        (Some(bound), _) => format!("Bound of its error: {}.", length(bound)),
        (None, Some(bound)) if clock.chronyd_steers == Some(false) => format!(
            "chronyd states a bound of {}, but of a clock that it does not steer (-x). Measurements do not use it.",
            length(bound)
        ),
        (None, Some(bound)) => format!(
            "chronyd states a bound of {}, but does not report the clock to the kernel as synchronised. Measurements do not use it.",
            length(bound)
        ),
        (None, None) => "No daemon states a bound of its error.".into(),
    });
    sentences.join(" ")
}

/// With the time for one reading and the step of the clock, nanoseconds.
pub(super) fn source(source: Option<&str>, times_ns: [i64; 2], is_good: bool) -> Statement {
    let [read, step] = times_ns.map(length);
    let source = source.unwrap_or("unknown");
    let consequence = if is_good {
        "The cost of reading the clock is negligible."
    } else {
        "Each user-space time stamp costs a system call, and the sender is less punctual."
    };
    Statement::new(format!("Clock source: {source}; reading takes {read}, resolution {step}."), consequence)
}

pub(super) fn kernel(
    release: Option<&str>,
    oldest: &str,
    error: Option<&str>,
    verdict: CheckVerdict,
) -> Statement {
    let required = format!("romer requires Linux {oldest} or later.");
    let Some(release) = release else { return Statement::unknown(error.unwrap_or_default(), &required) };
    let observed = format!("Linux {release}; romer requires {oldest} or later.");
    match verdict {
        CheckVerdict::Good => {
            Statement::new(observed, "The kernel has the features that romer uses; see the other findings.")
        }
        CheckVerdict::Limited => Statement::new(format!("Unknown kernel release {release}."), required),
        CheckVerdict::Missing => Statement::new(observed, "Kernel time stamps or the rootless lab may fail."),
    }
}

pub(super) fn time_namespace(offset_ns: Option<i64>) -> Statement {
    const SAME: &str = "romer in other namespaces of this host reads the same clock.";
    match offset_ns {
        None => Statement::new("This kernel has no time namespaces.", SAME),
        Some(0) => Statement::new("No clock offset in this time namespace.", SAME),
        Some(offset) => Statement::new(
            format!("The time namespace of this process shifts its clocks by {}.", length(offset)),
            "romer outside of it on this host is treated as another host: one-way delays between the two are relative to their \
             minimum.",
        ),
    }
}
