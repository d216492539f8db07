//! What is measured, in which order: everything once a run, so that what is to be compared is measured side by side.

mod scale;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use anyhow::{Context, Result, bail};
use romer_host::steal_monitor::Gaps;
use romer_respond::Responder;

use crate::circumstances::Circumstances;
use crate::figures::{Figures, Lateness, Timed, untouched};
use crate::hosts::Hosts;
use crate::page;
use crate::parameters::{INTERVAL, PEER_SIZE, WAKES};
use crate::peers::sockperf::Manner;
use crate::peers::{self, PeerSummary, Server, ditg, iperf, irtt, sockperf, stamp_suite};
use crate::results::{Results, Tool, Trips, Wakes, Without};
use crate::romer_runner::{self, Interrupted, RoundTrips, wake_errors};
use crate::steal_log::{Condition, HostGaps, during, quiet};
use tempfile::TempDir;

/// The sizes of Chen et al. 2013, in octets of IP packet.
pub(crate) const SIZES: [u32; 3] = [64, 512, 1_500];

/// What is to be measured.
#[derive(Clone, Debug)]
pub(crate) struct Suite {
    pub(crate) runs: u32,
    pub(crate) probes: u64,
    pub(crate) tables: bool,
    pub(crate) wakes: bool,
    pub(crate) peers: bool,
    pub(crate) fast: bool,
    pub(crate) many: bool,
    pub(crate) voice: bool,
    pub(crate) bench: bool,
    pub(crate) emulate: bool,
    /// How long the machine is given to become quiet before each measurement.
    pub(crate) patience: StdDuration,
    /// A voice stream of an hour.
    pub(crate) long: bool,
    /// `romer` itself, where it was found.
    pub(crate) program: Option<PathBuf>,
    /// stamp-suite, where it was found.
    pub(crate) stamp_suite: Option<PathBuf>,
}

impl Suite {
    /// Whether anything is to be measured by `romer` as a program of its own.
    pub(crate) fn needs_program(&self) -> bool {
        self.peers || self.fast || self.many || self.voice || self.bench || self.emulate
    }

    /// Whether anything is to be measured in each state of the machine.
    fn has_tables(&self) -> bool {
        self.tables || self.wakes || self.peers
    }
}

/// A plan that is being forwarded out.
pub(crate) struct SuiteRun<'a> {
    pub(crate) plan: &'a Suite,
    pub(crate) hosts: &'a Hosts,
    pub(crate) interrupted: &'a Arc<AtomicBool>,
    pub(crate) say: &'a dyn Fn(&str),
    results: Results,
    run: u32,
    load_average: f64,
    quiet: bool,
    /// Further addresses of the far host, once they are there.
    far_addresses: Vec<Ipv4Addr>,
}

/// Carries out `plan`. Gives what was measured.
pub(crate) fn carry_out(
    plan: &Suite,
    hosts: &Hosts,
    interrupted: &Arc<AtomicBool>,
    say: &dyn Fn(&str),
) -> Result<Results> {
    let results = Results::default();
    let mut bench = SuiteRun {
        plan,
        hosts,
        interrupted,
        say,
        results,
        run: 0,
        load_average: 0.0,
        quiet: false,
        far_addresses: Vec::new(),
    };
    if plan.has_tables() {
        bench.tables()?;
    }
    scale::carry_out(&mut bench)?;
    Ok(bench.results)
}

impl SuiteRun<'_> {
    fn tables(&mut self) -> Result<()> {
        let _responder: Responder = romer_runner::respond(self.hosts)?;
        let _servers = if self.plan.peers { Some(Servers::start(self.plan, self.hosts)?) } else { None };
        for run in 1..=self.plan.runs {
            self.begin(run);
            for condition in Condition::ALL {
                self.rest();
                self.round_trips(condition)?;
                self.wake_errors(condition)?;
            }
        }
        Ok(())
    }

    /// Begins a run.
    fn begin(&mut self, run: u32) {
        self.run = run;
        self.load_average = load_average();
        (self.say)(&format!("run {run} of {}, load average {:.2}", self.plan.runs, self.load_average));
    }

    /// Waits until the machine has come to rest.
    fn rest(&mut self) {
        self.quiet = quiet(self.plan.patience, self.interrupted);
        if !self.quiet {
            (self.say)("  note: other programs of this machine did not come to rest; going on all the same");
        }
    }

    fn round_trips(&mut self, condition: Condition) -> Result<()> {
        let sizes: &[u32] = match (self.plan.tables, self.plan.peers) {
            (true, _) => &SIZES,
            (false, true) => &[PEER_SIZE],
            (false, false) => &[],
        };
        for octets in sizes {
            self.ours(condition, *octets)?;
            if self.plan.peers && *octets == PEER_SIZE {
                self.peers(condition)?;
            }
        }
        Ok(())
    }

    fn ours(&mut self, condition: Condition, octets: u32) -> Result<()> {
        self.check_interrupt()?;
        let (rows, gaps, host) = during(condition, || {
            romer_runner::measure(self.hosts, self.plan.probes, INTERVAL, octets, self.interrupted)
        })?;
        let found = RoundTrips::from_rows(&rows);
        for (tool, sample) in [(Tool::RomerKernel, &found.kernel), (Tool::RomerUser, &found.user)] {
            let ways = (tool == Tool::RomerKernel).then_some([&found.forward, &found.reverse]);
            let [forward, reverse] =
                ways.map_or([None, None], |ways| ways.map(|delays| Figures::from_values(delays)));
            let lost = found.incomplete;
            let sample = Sample { tool, octets, values: sample, gaps: &gaps, host, lost };
            self.keep(condition, &sample, [forward, reverse])?;
        }
        Ok(())
    }

    fn peers(&mut self, condition: Condition) -> Result<()> {
        for tool in Tool::ALL {
            self.check_interrupt()?;
            let (told, gaps, host) = during(condition, || self.ask(tool))?;
            let Some(told) = told else { continue };
            let without_gaps = (host.during && !told.timed.is_empty()).then(|| {
                let rest = untouched(&gaps, &told.timed);
                Without {
                    touched: (told.timed.len() - rest.len()) as u64,
                    figures: Figures::from_values(&rest),
                }
            });
            // sockperf leaves out the beginning and the end of its run, of which it tells nothing.
            let whole = !matches!(tool, Tool::SockperfPingPong | Tool::SockperfUnderLoad);
            let trips = Trips {
                circumstances: self.circumstances(condition, host),
                tool,
                packet_octets: PEER_SIZE,
                incomplete: if whole { self.plan.probes.saturating_sub(told.figures.count) } else { 0 },
                figures: told.figures,
                without_gaps,
                forward: None,
                reverse: None,
            };
            (self.say)(&page::progress_trips(&trips));
            self.results.round_trips.push(trips);
        }
        Ok(())
    }

    /// What another program tells; `None` where it is not there, or is not another program.
    fn ask(&self, tool: Tool) -> Result<Option<PeerSummary>> {
        let (hosts, probes) = (self.hosts, self.plan.probes);
        let manner = match tool {
            Tool::SockperfUnderLoad => Manner::UnderLoad,
            _ => Manner::PingPong,
        };
        let told = match tool {
            Tool::RomerKernel | Tool::RomerUser => return Ok(None),
            Tool::RomerProgram => {
                let Some(program) = &self.plan.program else { return Ok(None) };
                peers::program(hosts, program, probes, INTERVAL, PEER_SIZE)
            }
            Tool::Ping => peers::ping(hosts, probes, INTERVAL, PEER_SIZE),
            Tool::Irtt => irtt::irtt(hosts, probes, INTERVAL, PEER_SIZE),
            Tool::SockperfPingPong | Tool::SockperfUnderLoad => {
                sockperf::sockperf(hosts, manner, probes, INTERVAL, PEER_SIZE)
            }
            Tool::StampSuite => {
                let Some(program) = &self.plan.stamp_suite else { return Ok(None) };
                stamp_suite::stamp_suite(hosts, program, probes, INTERVAL, PEER_SIZE)
            }
            Tool::Ditg => ditg::ditg(hosts, probes, INTERVAL, PEER_SIZE),
            Tool::Iperf => iperf::iperf(hosts, probes, INTERVAL, PEER_SIZE),
        };
        told.map(Some)
    }

    fn keep(
        &mut self,
        condition: Condition,
        sample: &Sample<'_>,
        [forward, reverse]: [Option<Figures>; 2],
    ) -> Result<()> {
        let values: Vec<i64> = sample.values.iter().map(|value| value.nanos).collect();
        let Some(figures) = Figures::from_values(&values) else {
            bail!("no packet of {} came back", sample.tool.name());
        };
        let without_gaps = sample.host.during.then(|| {
            let rest = untouched(sample.gaps, sample.values);
            Without { touched: (values.len() - rest.len()) as u64, figures: Figures::from_values(&rest) }
        });
        let trips = Trips {
            circumstances: self.circumstances(condition, sample.host),
            tool: sample.tool,
            packet_octets: sample.octets,
            incomplete: sample.lost,
            figures,
            without_gaps,
            forward,
            reverse,
        };
        (self.say)(&page::progress_trips(&trips));
        self.results.round_trips.push(trips);
        Ok(())
    }

    fn wake_errors(&mut self, condition: Condition) -> Result<()> {
        if !self.plan.wakes {
            return Ok(());
        }
        for (interval, thousandth) in WAKES {
            self.check_interrupt()?;
            let probes = (self.plan.probes * thousandth / 1_000).max(1);
            let (rows, gaps, host) = during(condition, || {
                romer_runner::measure(self.hosts, probes, interval, SIZES[0], self.interrupted)
            })?;
            let errors = wake_errors(&rows);
            let all: Vec<i64> = errors.iter().map(|error| error.nanos).collect();
            let untouched = untouched(&gaps, &errors);
            let Some(figures) = Lateness::from_values(&all) else { bail!("no probe was sent") };
            let without_gaps = host.during.then(|| Without {
                touched: (all.len() - untouched.len()) as u64,
                figures: Lateness::from_values(&untouched),
            });
            let wakes = Wakes {
                circumstances: self.circumstances(condition, host),
                interval_ns: interval.as_nanos(),
                figures,
                without_gaps,
                all,
                untouched,
            };
            (self.say)(&page::progress_wakes(&wakes));
            self.results.wake_errors.push(wakes);
        }
        Ok(())
    }

    fn circumstances(&self, condition: Condition, host: HostGaps) -> Circumstances {
        Circumstances { run: self.run, condition, load_average: self.load_average, quiet: self.quiet, host }
    }

    fn check_interrupt(&self) -> Result<()> {
        if self.interrupted.load(Ordering::Acquire) { Err(Interrupted.into()) } else { Ok(()) }
    }
}

/// The far ends of other programs.
struct Servers {
    _folder: TempDir,
    _servers: Vec<Server>,
}

impl Servers {
    fn start(plan: &Suite, hosts: &Hosts) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder for logs")?;
        let mut servers = vec![
            irtt::serve(hosts)?,
            iperf::serve(hosts, PEER_SIZE)?,
            sockperf::serve(hosts)?,
            ditg::serve(hosts, folder.path())?,
        ];
        if let Some(program) = &plan.stamp_suite {
            servers.push(stamp_suite::serve(hosts, program)?);
        }
        Ok(Self { _folder: folder, _servers: servers })
    }
}

/// A sample that is to be kept.
struct Sample<'a> {
    tool: Tool,
    octets: u32,
    values: &'a [Timed],
    gaps: &'a [Gaps],
    host: HostGaps,
    lost: u64,
}

/// Load average over a minute; 0 where the system does not say.
fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}
