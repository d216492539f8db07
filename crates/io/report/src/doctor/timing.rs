//! Time stamps, departures and processors.

use romer_record::doctor::{Facts, LoopbackExchange, SchedulingClass, StolenTime};

use super::statement::Statement;
use crate::sentence::{length, share};

/// Consequence of interruptions.
pub(super) const TAILS: &str = "Medians are reliable. High quantiles, maximum and standard deviation may be caused by the host, not by \
                                the path.";
/// Consequence of their absence.
pub(super) const TRUE_TAILS: &str = "Tails of measured delays are those of the path.";
/// A smaller share of other programs is not mentioned.
const OTHERS_RATIO: f64 = 0.001;

pub(super) fn kernel_stamps(facts: &Facts<LoopbackExchange>) -> Statement {
    let facts = match facts {
        Facts::Known(facts) => facts,
        Facts::Unknown { error } => {
            return Statement::new(
                format!("Cannot send datagrams over loopback: {error}."),
                "Kernel time stamps were not tested, and a responder on this host is unreachable.",
            );
        }
    };
    let LoopbackExchange { sent, received, missing_departures, missing_arrivals, .. } = *facts;
    if sent > received {
        Statement::new(
            format!("{} of {sent} datagrams over loopback were lost.", sent - received),
            "This host drops packets itself, which count as losses of the path.",
        )
    } else if missing_departures == sent || missing_arrivals == received {
        let departures = sent.saturating_sub(missing_departures);
        let arrivals = received.saturating_sub(missing_arrivals);
        Statement::new(
            format!("Kernel time stamps for {departures} departures and {arrivals} arrivals of {sent}."),
            "Delays use user-space time stamps, which include scheduling delays.",
        )
    } else if missing_departures > 0 || missing_arrivals > 0 {
        Statement::new(
            format!(
                "Of {sent} datagrams, {missing_departures} had no departure time stamp and {missing_arrivals} no arrival time stamp."
            ),
            "Packets without a kernel time stamp are counted, and excluded from delays.",
        )
    } else {
        Statement::new(
            format!(
                "Kernel (SO_TIMESTAMPING) time stamps for all {sent} datagrams over loopback. User-space time stamps would add {} on \
                 arrival and {} on departure.",
                middle_and_tail([facts.arrival_error_p50_ns, facts.arrival_error_p99_ns]),
                middle_and_tail([facts.departure_error_p50_ns, facts.departure_error_p99_ns])
            ),
            "Delays do not include scheduling delays of romer.",
        )
    }
}

fn middle_and_tail(nanos: [Option<f64>; 2]) -> String {
    let text = |nanos: Option<f64>| {
        nanos.map_or_else(|| "?".into(), |nanos| romer_units::Duration::from_nanos_f64(nanos).rounded())
    };
    let [median, p99] = nanos.map(text);
    format!("{median} (p99 {p99})")
}

/// The observation of a check for interruptions.
pub(super) fn stolen(stolen: &StolenTime) -> String {
    let observed = length(stolen.observed_ns);
    let mut text = if stolen.gaps == 0 {
        format!("No interruption of 1 µs or more in {observed}.")
    } else {
        format!(
            "Hypervisor and interrupts took {} of the processor time in {observed}; longest interruption {}.",
            share(stolen.stolen_ratio),
            length(stolen.longest_ns)
        )
    };
    if stolen.other_programs_ratio > OTHERS_RATIO {
        text.push_str(&format!(" Other programs took {}.", share(stolen.other_programs_ratio)));
    }
    text
}

/// With the median and the 99 % quantile of the lateness.
pub(super) fn pacing(
    scheduling: SchedulingClass,
    deadlines: u64,
    late_ns: [i64; 2],
    is_good: bool,
) -> Statement {
    const RECORDED: &str = "The actual departure of each packet is recorded, so delays are correct; the traffic is less regular than \
                            requested.";
    let priority = match scheduling {
        SchedulingClass::RealTime => "with real-time priority",
        SchedulingClass::Preferred => "with raised priority",
        SchedulingClass::Ordinary => "with ordinary priority",
    };
    let [p50, p99] = late_ns.map(length);
    let observed = format!(
        "The sender runs {priority}; lateness of {deadlines} deadlines 1 ms apart: median {p50}, p99 {p99}."
    );
    let consequence = match (scheduling, is_good) {
        (_, true) => "Packets leave on schedule.".to_owned(),
        (SchedulingClass::Ordinary, false) => format!("Other programs can delay departures. {RECORDED}"),
        (_, false) => format!("Some packets leave late. {RECORDED}"),
    };
    Statement::new(observed, consequence)
}

/// With a quota of processor time and its period, nanoseconds.
pub(super) fn cores(cores: u64, quota_ns: Option<(i64, i64)>) -> Statement {
    let number = if cores == 1 { "one core".into() } else { format!("{cores} cores") };
    if let Some((quota, period)) = quota_ns {
        let (quota, period) = (length(quota), length(period));
        return Statement::new(
            format!(
                "This process may use {number}, but only {quota} in total per {period} (control group limit)."
            ),
            "When that is used up, all threads stall until the period ends: departures are late, and user-space time stamps and tails \
             are affected.",
        );
    }
    let consequence = if cores > 1 {
        "Sender and receiver do not wait for each other."
    } else {
        "Other programs disturb the sender, and the sender disturbs the receiver."
    };
    Statement::new(format!("This process may use {number}."), consequence)
}

pub(super) fn affinity(usable: usize, online: u64, isolated: &str, is_good: bool) -> Statement {
    let is_all = u64::try_from(usable).is_ok_and(|usable| usable >= online);
    let may = match (is_all, usable) {
        (true, 1) => "This process may use the only processor.".to_owned(),
        (true, all) => format!("This process may use all {all} processors."),
        (false, some) => format!("This process may use {some} of {online} processors."),
    };
    let isolated = match isolated {
        "" => String::new(),
        list => format!(" Isolated from ordinary programs: processor {list}."),
    };
    let consequence = if is_good {
        "Use --cpu N to pin the threads that send and receive to a processor without other programs and without the interrupts of \
         the interface."
    } else {
        "All threads of romer share that processor: sender and receiver delay each other."
    };
    Statement::new(format!("{may}{isolated}"), consequence)
}

pub(super) fn real_time(error: Option<&str>) -> Statement {
    match error {
        None => Statement::new(
            "Real-time scheduling (SCHED_FIFO) is available.",
            "The sending thread and the emulator use it by default, with --realtime also the receiving threads.",
        ),
        Some(error) => Statement::new(
            format!("Real-time scheduling is not available: {error}."),
            "With --realtime romer exits with code 4; other programs can delay departures.",
        ),
    }
}

pub(super) fn locked_memory(can_lock: bool, limit_octets: Option<u64>) -> Statement {
    if can_lock {
        return Statement::new(
            "romer can lock its memory.",
            "Use --lock-memory on a host that is short of memory.",
        );
    }
    let observed = match limit_octets {
        Some(octets) => format!("This user may lock only {} KiB of memory.", octets >> 10),
        None => "This user may not lock memory.".to_owned(),
    };
    Statement::new(
        observed,
        "With --lock-memory romer exits with code 4; on a host that is short of memory, a page fault may delay a measurement.",
    )
}

/// With the name of the deepest idle state, and its wake-up latency in nanoseconds.
pub(super) fn idle(deepest: Option<(&str, i64)>, governor: Option<&str>, is_good: bool) -> Statement {
    let state = match deepest {
        Some((name, wake)) => format!("Deepest idle state {name}: wake-up latency {}.", length(wake)),
        None => "Idle states are not controlled here (a hypervisor may).".to_owned(),
    };
    let speed = match governor {
        Some(governor) => format!("Frequency governor: {governor}."),
        None => "Frequency scaling is not controlled here.".to_owned(),
    };
    let consequence = if is_good {
        "Idle states have little effect on measurements."
    } else {
        "Waking up or speeding up delays time stamps: user-space time stamps by that much, kernel time stamps by less."
    };
    Statement::new(format!("{state} {speed}"), consequence)
}
