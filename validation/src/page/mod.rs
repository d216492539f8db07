//! The results as a person reads them: lines while it goes on, and the page at the end.

pub(crate) mod analyse;
pub(crate) mod clock;
pub(crate) mod closed_loop;
mod emulated;
pub(crate) mod in_packet;
pub(crate) mod reflect;
pub(crate) mod reservation;
mod scale;
mod table;

use romer_units::Duration;

use crate::figures::{Figures, Lateness, median};
use crate::machine::Machine;
use crate::parameters::{INTERVAL, PEER_SIZE, WAKES};
use crate::results::{Claim, Results, Tool, Trips, Wakes, Without};
use crate::steal_log::{Condition, HostGaps, KEPT, STOLEN};
pub(crate) use emulated::{progress_alone, progress_emulated, progress_resident};
pub(crate) use scale::{progress_fast, progress_frames, progress_many, progress_sweep, progress_voice};
use table::{Out, head, line, percent, row, us};

/// A sample of round trips in a line.
pub(crate) fn progress_trips(trips: &Trips) -> String {
    let Figures { min_ns, mean_ns, max_ns, stddev_ns, .. } = trips.figures;
    format!(
        "  {:<8} {:<21} {:>5} B   min {:>6}  mean {:>6}  max {:>7}  std {:>7} us{}{}",
        trips.circumstances.condition.name(),
        trips.tool.name(),
        trips.packet_octets,
        us(min_ns),
        us(mean_ns),
        us(max_ns),
        us(stddev_ns),
        trips.without_gaps.as_ref().map_or_else(String::new, |without| format!(
            "   without {} at gaps: std {}",
            without.touched,
            without.figures.map_or_else(|| "-".into(), |figures| us(figures.stddev_ns))
        )),
        host(&trips.circumstances.host),
    )
}

/// A sample of wake errors in a line.
pub(crate) fn progress_wakes(wakes: &Wakes) -> String {
    format!(
        "  {:<8} wake error, every {:<5}          p50 {:>6}  p99 {:>6}  max {:>7} us{}{}",
        wakes.circumstances.condition.name(),
        Duration::from_nanos(wakes.interval_ns).to_string(),
        us(wakes.figures.p50_ns),
        us(wakes.figures.p99_ns),
        us(wakes.figures.max_ns),
        wakes.without_gaps.as_ref().map_or_else(String::new, |without| format!(
            "   without {} at gaps: p99 {}",
            without.touched,
            without.figures.map_or_else(|| "-".into(), |figures| us(figures.p99_ns))
        )),
        host(&wakes.circumstances.host),
    )
}

fn host(host: &HostGaps) -> String {
    format!(
        "   [gaps {}, {}, cpu {:.0} %]",
        host.count,
        percent(host.stolen_ratio),
        host.cpu_busy_ratio * 100.0
    )
}

/// A claim's figure beside its limit.
pub(crate) fn verdict(claim: &Claim) -> String {
    let shown = |value: f64| match claim.unit {
        "ns" => format!("{} us", us(value)),
        "kib" => format!("{value:.0} KiB"),
        "percent" => format!("{value:.2} %"),
        "ppm" => format!("{value:.4} ppm"),
        "seconds" => format!("{value:.0} s"),
        "ratio" if value < 10.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    };
    let limit = match (claim.at_least, claim.at_most) {
        (Some(least), Some(most)) => format!("{} to {}", shown(least), shown(most)),
        (Some(limit), _) => format!("at least {}", shown(limit)),
        (_, Some(limit)) => format!("at most {}", shown(limit)),
        (None, None) => String::new(),
    };
    format!("{} ({limit})", shown(claim.figure))
}

/// The page.
pub(crate) fn page(machine: &Machine, results: &Results, claims: &[Claim]) -> String {
    let mut out = String::from(
        "# How large romer's own error is\n\nWritten by `make bench`; `validation/README.md` says how it is \
         measured and how to read it. All times in microseconds.\n\n",
    );
    about(&mut out, machine, results);
    verdicts(&mut out, claims);
    tables(&mut out, results);
    ways(&mut out, results);
    peers(&mut out, results);
    wakes(&mut out, results);
    scale::fast(&mut out, results);
    scale::many(&mut out, results);
    scale::voice(&mut out, results);
    scale::frames(&mut out, results);
    scale::sweep(&mut out, results);
    emulated::emulated(&mut out, results);
    if let Some(clocks) = &results.clocks {
        clock::clocks(&mut out, clocks);
    }
    reflect::reflected(&mut out, results.reflected.as_ref());
    in_packet::stamped(&mut out, results.stamped.as_ref());
    analyse::analysed(&mut out, &results.analysed);
    if let Some(loops) = &results.loops {
        closed_loop::loops(&mut out, loops);
    }
    if let Some(found) = &results.reservations {
        reservation::reservations(&mut out, found);
    }
    if let Some(held) = &results.held {
        reservation::held(&mut out, held);
    }
    gaps(&mut out, results);
    out
}

fn about(out: &mut Out, machine: &Machine, results: &Results) {
    let loads: Vec<f64> = results
        .circumstances()
        .fold(Vec::new(), |mut loads: Vec<(u32, f64)>, one| {
            if loads.last().is_none_or(|last| last.0 != one.run) {
                loads.push((one.run, one.load_average));
            }
            loads
        })
        .into_iter()
        .map(|(_, load)| load)
        .collect();
    let runs = machine.runs as usize;
    let loads: Vec<String> = loads.iter().take(runs).map(|load| format!("{load:.2}")).collect();
    row(out, ["", ""]);
    row(out, ["---", "---"]);
    let root = if machine.root {
        "root: named network namespaces, a real-time thread sends"
    } else {
        "no root: a user namespace, no real-time thread"
    };
    let seconds = machine.ended_unix_s.saturating_sub(machine.started_unix_s);
    for (name, value) in [
        ("software", machine.software.to_owned()),
        ("kernel", machine.kernel.clone()),
        ("processor", format!("{} cores, {}", machine.cores, machine.processor)),
        ("clock source", machine.clock_source.clone()),
        ("rights", root.to_owned()),
        (
            "runs",
            format!(
                "{}, {seconds} s; samples of round trips are of {} probes {INTERVAL} apart; of the emulator and of 100,000 probes a \
                 second there are three runs",
                machine.runs, machine.probes
            ),
        ),
        ("load average before each run", loads.join(", ")),
    ] {
        row(out, [name, &value]);
    }
}

fn verdicts(out: &mut Out, claims: &[Claim]) {
    out.push_str("\n## Claims\n");
    head(out, 1, &["claim", "figures", "the one nearest to the limit, or beyond it", "verdict"]);
    for group in claims.chunk_by(|a, b| a.claim == b.claim) {
        let room = |claim: &&Claim| match (claim.at_least, claim.at_most) {
            (Some(least), Some(most)) => (claim.figure - least).min(most - claim.figure),
            (Some(limit), _) => claim.figure / limit,
            // A limit of nothing has no share of itself.
            (_, Some(limit)) if claim.figure > 0.0 => limit / claim.figure,
            (_, Some(_)) => f64::INFINITY,
            (None, None) => f64::INFINITY,
        };
        let Some(worst) = group.iter().min_by(|a, b| room(a).total_cmp(&room(b))) else { continue };
        let held = if group.iter().all(|claim| claim.passed) { "held" } else { "**not held**" };
        let nearest = format!("{}: {}", worst.subject, verdict(worst));
        row(out, [worst.claim.as_str(), &group.len().to_string(), &nearest, held]);
    }
}

fn cells(figures: Option<Figures>) -> [String; 4] {
    figures.map_or_else(
        || std::array::from_fn(|_| "-".to_owned()),
        |figures| [figures.min_ns, figures.mean_ns, figures.max_ns, figures.stddev_ns].map(us),
    )
}

/// The medians over the runs, and those without the packets that a gap touched.
fn medians(trips: &[&Trips]) -> (Option<Figures>, Option<Without<Figures>>) {
    let all: Vec<Figures> = trips.iter().map(|trips| trips.figures).collect();
    let without: Vec<Without<Figures>> = trips.iter().filter_map(|trips| trips.without_gaps).collect();
    let figures: Vec<Figures> = without.iter().filter_map(|one| one.figures).collect();
    let touched = without.iter().map(|one| one.touched).sum();
    let without = (!without.is_empty()).then(|| Without { touched, figures: Figures::medians(&figures) });
    (Figures::medians(&all), without)
}

const TABLES: [(Condition, &str); 3] = [
    (Condition::Idle, "Table I: idle"),
    (
        Condition::Watched,
        "Table I, watched: idle but for a monitor behind all other threads, so that no core sleeps",
    ),
    (Condition::Busy, "Table II: every core busy"),
];

fn tables(out: &mut Out, results: &Results) {
    if results.sizes().is_empty() {
        return;
    }
    out.push_str(
        "\n## Chen et al. 2013's tables in our numbers\n\nRound trip (t4 - t1) - (t3 - t2); each figure the median of its \
         value in the runs. The deviation divides by n, as the seed's footnote has it. *Without gaps*: of the packets \
         in whose time the host took no core away.\n",
    );
    for (condition, title) in TABLES {
        let sizes: Vec<u32> = results
            .sizes()
            .into_iter()
            .filter(|octets| !results.trips(Tool::RomerKernel, condition, *octets).is_empty())
            .collect();
        if sizes.is_empty() {
            continue;
        }
        line(out, format_args!("\n### {title}"));
        let names = [
            "IP packet",
            "stamps",
            "min",
            "mean",
            "max",
            "std",
            "packets at gaps",
            "without gaps: mean",
            "max",
            "std",
        ];
        head(out, 2, &names);
        for octets in sizes {
            for (tool, stamps) in [(Tool::RomerUser, "user"), (Tool::RomerKernel, "kernel")] {
                let (figures, without) = medians(&results.trips(tool, condition, octets));
                let [min, mean, max, std] = cells(figures);
                let (touched, [_, mean_without, max_without, std_without]) = apart(without);
                let size = format!("{octets} B");
                row(
                    out,
                    [
                        size.as_str(),
                        stamps,
                        &min,
                        &mean,
                        &max,
                        &std,
                        &touched,
                        &mean_without,
                        &max_without,
                        &std_without,
                    ],
                );
            }
        }
        let factors: Vec<String> = results
            .sizes()
            .iter()
            .filter_map(|octets| Some(format!("{octets} B: {:.0}", results.factor(condition, *octets)?)))
            .collect();
        line(out, format_args!("\nUser deviation over kernel deviation: {}.", factors.join(", ")));
    }
}

fn apart(without: Option<Without<Figures>>) -> (String, [String; 4]) {
    without.map_or_else(
        || ("not watched".to_owned(), cells(None)),
        |without| (without.touched.to_string(), cells(without.figures)),
    )
}

fn ways(out: &mut Out, results: &Results) {
    let mut rows = Vec::new();
    for condition in Condition::ALL {
        for octets in results.sizes() {
            let trips = results.trips(Tool::RomerKernel, condition, octets);
            let of = |pick: fn(&Trips) -> Option<Figures>| {
                Figures::medians(&trips.iter().filter_map(|trips| pick(trips)).collect::<Vec<_>>())
            };
            if let (Some(forward), Some(reverse)) = (of(|trips| trips.forward), of(|trips| trips.reverse)) {
                rows.push((condition, octets, forward, reverse));
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    out.push_str(
        "\n## One way\n\nBetween two stamps of the kernel, medians of the runs. Both ends read one clock here. The sender's own \
         call carries the packet up to the arrival stamp at the other end, so that nothing waits for another core: what \
         is left is the work of the driver, a little slower on a core that has just woken, and where an interrupt or \
         the host comes in between, that. Where the forward way takes ten microseconds more than the way back, a thread \
         is being woken within the send call (README.md, \"What it has taught\").\n",
    );
    head(out, 2, &["", "IP packet", "forward mean", "max", "std", "reverse mean", "max", "std"]);
    for (condition, octets, forward, reverse) in rows {
        let ([_, a, b, c], [_, d, e, f]) = (cells(Some(forward)), cells(Some(reverse)));
        let size = format!("{octets} B");
        row(out, [condition.name(), &size, &a, &b, &c, &d, &e, &f]);
    }
}

fn peers(out: &mut Out, results: &Results) {
    let measured = |tool| Condition::ALL.iter().any(|c| !results.trips(tool, *c, PEER_SIZE).is_empty());
    if !measured(Tool::Ping) {
        return;
    }
    line(
        out,
        format_args!(
            "\n## Others over the same path\n\nIP packets of {PEER_SIZE} octets, {INTERVAL} apart, in turn with ours \
             in the same runs; medians of the runs. Every deviation divides by n (ping's mdev does so too). `romer \
             measure` is the program that users have, in a process of its own; it is to agree with the engine in this \
             process. D-ITG tells round trips with the time at its receiver and in whole microseconds; sockperf those of \
             the middle of its run, under load with every packet answered; iperf 2 tells one way, in whole microseconds \
             (--trip-times); stamp-suite and irtt subtract the time at the far end."
        ),
    );
    for condition in Condition::ALL {
        line(out, format_args!("\n### {}", condition.name()));
        let names = [
            "program",
            "packets",
            "missing",
            "min",
            "mean",
            "max",
            "std",
            "packets at gaps",
            "std without gaps",
        ];
        head(out, 1, &names);
        for tool in Tool::ALL {
            let trips = results.trips(tool, condition, PEER_SIZE);
            let (Some(figures), without) = medians(&trips) else { continue };
            let [min, mean, max, std] = cells(Some(figures));
            let (touched, [.., std_without]) = apart(without);
            let count = figures.count.to_string();
            let lost = trips.iter().map(|trips| trips.incomplete).sum::<u64>().to_string();
            row(out, [tool.name(), &count, &lost, &min, &mean, &max, &std, &touched, &std_without]);
        }
    }
}

fn wakes(out: &mut Out, results: &Results) {
    if results.wake_errors.is_empty() {
        return;
    }
    out.push_str(
        "\n## Wake error of the sender\n\nHow long after its deadline the sender was awake, all runs together.\n",
    );
    let names =
        ["", "interval", "probes", "p50", "p99", "max", "probes at gaps", "without gaps: p50", "p99", "max"];
    head(out, 2, &names);
    for condition in Condition::ALL {
        for (interval, _) in WAKES {
            let Some((all, without)) = results.wakes(condition, interval) else { continue };
            let cells = |figures: Option<Lateness>| {
                figures.map_or_else(
                    || std::array::from_fn(|_| "-".to_owned()),
                    |figures| [figures.p50_ns, figures.p99_ns, figures.max_ns].map(us),
                )
            };
            let [p50, p99, max]: [String; 3] = cells(Some(all));
            let watched = condition != Condition::Idle;
            let [p50_without, p99_without, max_without]: [String; 3] =
                cells(without.figures.filter(|_| watched));
            let touched = if watched { without.touched.to_string() } else { "not watched".to_owned() };
            let (interval, count) = (interval.to_string(), all.count.to_string());
            row(
                out,
                [
                    condition.name(),
                    &interval,
                    &count,
                    &p50,
                    &p99,
                    &max,
                    &touched,
                    &p50_without,
                    &p99_without,
                    &max_without,
                ],
            );
        }
    }
}

fn gaps(out: &mut Out, results: &Results) {
    line(
        out,
        format_args!(
            "\n## What the host took away\n\nTimes of at least {STOLEN} at once in which a core ran no thread of this \
             system, and those in which threads had it for more than {KEPT} at once although no thread of a \
             measurement needs so long (then the host had it, or another program of this machine), as the monitors \
             saw them in the same runs. Idle: right before and after each measurement, because a monitor would end \
             the idleness; there the wake errors above are those of all probes."
        ),
    );
    head(
        out,
        2,
        &[
            "",
            "run",
            "gaps",
            "share of the time",
            "longest",
            "steal counter, ms",
            "cores busy",
            "quiet before",
        ],
    );
    for condition in Condition::ALL {
        let mut runs: Vec<(u32, bool, Vec<HostGaps>)> = Vec::new();
        for one in results.circumstances() {
            if one.condition != condition {
                continue;
            }
            match runs.iter_mut().find(|(run, ..)| *run == one.run) {
                Some((.., seen)) => seen.push(one.host),
                None => runs.push((one.run, one.quiet, vec![one.host])),
            }
        }
        for (run, quiet, seen) in runs {
            let of = |pick: fn(&HostGaps) -> f64| {
                median(&seen.iter().map(pick).collect::<Vec<_>>()).unwrap_or_default()
            };
            let longest = seen.iter().map(|host| host.longest_ns).max().map_or(0, |longest| longest / 1_000);
            let confessed: i64 = seen.iter().map(|host| host.confessed_ns).sum();
            row(
                out,
                [
                    condition.name(),
                    &run.to_string(),
                    &seen.iter().map(|host| host.count).sum::<u64>().to_string(),
                    &percent(of(|host| host.stolen_ratio)),
                    &longest.to_string(),
                    &(confessed / 1_000_000).to_string(),
                    &format!("{:.0} %", of(|host| host.cpu_busy_ratio) * 100.0),
                    if quiet { "yes" } else { "no" },
                ],
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::{trips, wakes as wakes_of};

    fn machine() -> Machine {
        Machine {
            started_unix_s: 100,
            ended_unix_s: 160,
            software: "romer 0",
            kernel: "6.1".into(),
            processor: "a processor".into(),
            cores: 2,
            clock_source: "tsc".into(),
            root: true,
            runs: 1,
            probes: 10,
        }
    }

    #[test]
    fn times_are_shown_in_microseconds_with_about_three_digits() {
        let shown: Vec<String> = [0.0, 254.0, 9_994.0, 9_996.0, 99_960.0, 1_234_567.0].map(us).into();
        assert_eq!(shown, ["0.00", "0.25", "9.99", "10.0", "100", "1235"]);
    }

    #[test]
    fn every_row_of_every_table_has_as_many_cells_as_its_heading() {
        let mut results = Results::default();
        for condition in Condition::ALL {
            for (tool, deviation) in
                [(Tool::RomerKernel, 100.0), (Tool::RomerUser, 4_000.0), (Tool::Ping, 9_000.0)]
            {
                let mut one = trips(1, condition, tool, deviation);
                one.packet_octets = PEER_SIZE;
                one.forward = Some(one.figures);
                one.reverse = Some(one.figures);
                results.round_trips.push(one);
            }
            results.wake_errors.push(wakes_of(1, condition, vec![10, 20, 30_000], vec![10, 20]));
        }
        let claims = results.claims();
        let text = page(&machine(), &results, &claims);
        let lines: Vec<&str> = text.lines().collect();
        let mut columns = 0;
        let mut rows = 0;
        for pair in lines.windows(2) {
            let bars = |line: &str| line.matches('|').count();
            if pair[1].starts_with("| ---") {
                columns = bars(pair[0]);
            }
            if pair[1].starts_with('|') {
                rows += usize::from(pair[0].starts_with('|'));
                if pair[0].starts_with('|') {
                    assert_eq!(bars(pair[1]), columns, "{}", pair[1]);
                }
            }
        }
        assert!(rows > 30, "{text}");
        for title in
            ["Table I: idle", "Table II: every core busy", "Others over", "Wake error", "host took away"]
        {
            assert!(text.contains(title), "{title}");
        }
        assert!(text.contains("512 B: 40."), "the factor");
        assert!(!text.contains("**not held**"));
    }

    #[test]
    fn what_was_not_measured_is_not_shown() {
        let results = Results::default();
        let text = page(&machine(), &results, &results.claims());
        assert!(!text.contains("Table I") && !text.contains("Wake error") && !text.contains("Others over"));
    }

    #[test]
    fn a_broken_claim_says_figure_and_limit() {
        let mut results = Results::default();
        results.round_trips.push(trips(1, Condition::Busy, Tool::RomerKernel, 3_456.0));
        let claims = results.claims();
        assert_eq!(verdict(&claims[0]), "3.46 us (at most 2.00 us)");
        assert!(page(&machine(), &results, &claims).contains("**not held**"));
    }

    #[test]
    fn progress_says_what_was_found_and_what_is_left_without_gaps() {
        let text = progress_trips(&trips(1, Condition::Busy, Tool::RomerKernel, 150.0));
        assert!(text.contains("std    0.15 us") && text.contains("without 1 at gaps"), "{text}");
        let text = progress_wakes(&wakes_of(1, Condition::Idle, vec![50; 10], vec![50; 10]));
        assert!(text.contains("every 20ms") && !text.contains("at gaps"), "{text}");
    }
}
