//! What is asked much of, and what is to cost little.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration as StdDuration;

use anyhow::Result;

use super::SuiteRun;
use crate::page;
use crate::scale::emulated::{self, Alone, Resident, Testbed};
use crate::scale::fast::{self, Fast};
use crate::scale::frames;
use crate::scale::many;
use crate::scale::voice::{self, CostOwner};
use crate::steal_log::{Condition, during};

/// How often, at the most.
const RUNS: u32 = 3;
/// How long 100,000 probes a second are sent, and how long iperf 2 does the same.
const FAST: StdDuration = StdDuration::from_secs(10);
const FAST_PEER: StdDuration = StdDuration::from_secs(2);
/// How long one target, and many, are measured.
const MANY: StdDuration = StdDuration::from_secs(10);
/// How long a voice stream is looked at.
const VOICE: StdDuration = StdDuration::from_secs(60);
const VOICE_LONG: StdDuration = StdDuration::from_secs(3_600);

/// Carries out what the plan wants of it.
pub(super) fn carry_out(bench: &mut SuiteRun<'_>) -> Result<()> {
    if bench.plan.emulate {
        for run in 1..=bench.plan.runs.min(RUNS) {
            bench.begin(run);
            bench.emulated()?;
        }
        bench.results.emulation.engine = emulated::costs();
    }
    let Some(program) = bench.plan.program.clone() else { return Ok(()) };
    for run in 1..=bench.plan.runs.min(RUNS) {
        if bench.plan.fast || bench.plan.many || bench.plan.bench {
            bench.begin(run);
        }
        if bench.plan.fast {
            bench.fast(&program)?;
        }
        if bench.plan.many {
            bench.many(&program)?;
        }
        if bench.plan.bench {
            bench.frames(&program)?;
        }
    }
    if bench.plan.voice {
        bench.begin(1);
        bench.voice(&program)?;
    }
    if bench.plan.bench {
        bench.begin(1);
        bench.sweep(&program)?;
    }
    Ok(())
}

impl SuiteRun<'_> {
    /// The emulator, what its ends do without it, and its memory.
    fn emulated(&mut self) -> Result<()> {
        self.rest();
        let interrupted = self.interrupted;
        let line = Testbed::make()?;
        let ([paced, unpaced], _, host) = during(Condition::Idle, || emulated::alone(&line, interrupted))?;
        let alone = Alone {
            circumstances: self.circumstances(Condition::Idle, host),
            offered_pps: paced.0.pps,
            sent: paced.0.frames,
            came: paced.1,
            most_pps: unpaced.0.pps,
        };
        (self.say)(&page::progress_alone(&alone));
        self.results.emulation.alone.push(alone);
        let mut links = HashMap::new();
        for case in emulated::cases() {
            self.check_interrupt()?;
            let link = match links.entry((case.octets, case.pps, case.table.ways())) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(emulated::link(&line, &case, interrupted)?),
            };
            let (found, _, host) = during(Condition::Idle, || emulated::run(&line, &case, interrupted))?;
            let one = found.judged(&case, link, self.circumstances(Condition::Idle, host));
            (self.say)(&page::progress_emulated(&one));
            self.results.emulation.emulated.push(one);
        }
        let Some(program) = self.plan.program.clone() else { return Ok(()) };
        self.check_interrupt()?;
        let ((sent, memory), _, host) =
            during(Condition::Idle, || emulated::resident(&line, &program, interrupted))?;
        let circumstances = self.circumstances(Condition::Idle, host);
        let resident = Resident { circumstances, offered_pps: sent.pps, memory };
        (self.say)(&page::progress_resident(&resident));
        self.results.emulation.resident.push(resident);
        Ok(())
    }

    fn fast(&mut self, program: &std::path::Path) -> Result<()> {
        self.check_interrupt()?;
        self.rest();
        let (hosts, interrupted) = (self.hosts, self.interrupted);
        let (found, _, host) = during(Condition::Idle, || fast::run(hosts, program, FAST, interrupted))?;
        let (counts, [sender, responder], [sender_cpu_ratio, responder_cpu_ratio]) = found;
        let (iperf_sent, iperf_lost) = fast::peer(hosts, FAST_PEER)?;
        let asked = FAST.as_nanos() / u128::from(fast::INTERVAL.as_nanos().unsigned_abs());
        let run = Fast {
            circumstances: self.circumstances(Condition::Idle, host),
            requested: u64::try_from(asked).unwrap_or(u64::MAX),
            counts,
            sender,
            responder,
            sender_cpu_ratio,
            responder_cpu_ratio,
            iperf_sent,
            iperf_lost,
        };
        (self.say)(&page::progress_fast(&run));
        self.results.fast.push(run);
        Ok(())
    }

    fn many(&mut self, program: &std::path::Path) -> Result<()> {
        let (hosts, interrupted) = (self.hosts, self.interrupted);
        if self.far_addresses.is_empty() {
            self.far_addresses = hosts.add_far_addresses(many::TARGETS)?;
        }
        let targets = self.far_addresses.clone();
        let mut pair = Vec::new();
        for targets in [&targets[..1], &targets[..]] {
            self.check_interrupt()?;
            self.rest();
            let (found, _, host) =
                during(Condition::Watched, || many::run(hosts, program, targets, MANY, interrupted))?;
            let many = found.judged(self.circumstances(Condition::Watched, host));
            (self.say)(&page::progress_many(&many));
            pair.push(many);
        }
        if let Ok(pair) = <[_; 2]>::try_from(pair) {
            self.results.many.push(pair);
        }
        Ok(())
    }

    fn frames(&mut self, program: &std::path::Path) -> Result<()> {
        self.check_interrupt()?;
        self.rest();
        let (hosts, interrupted) = (self.hosts, self.interrupted);
        let (found, _, host) = during(Condition::Idle, || frames::run(hosts, program, interrupted))?;
        let circumstances = self.circumstances(Condition::Idle, host);
        let run = found.beside(circumstances, frames::trafgen(hosts)?, frames::iperf3(hosts)?);
        (self.say)(&page::progress_frames(&run));
        self.results.frames.push(run);
        Ok(())
    }

    fn sweep(&mut self, program: &std::path::Path) -> Result<()> {
        self.check_interrupt()?;
        self.rest();
        let interrupted = self.interrupted;
        let ((found, seconds), _, host) = during(Condition::Idle, || frames::sweep(program, interrupted))?;
        let sweep = frames::swept(&found, seconds, self.circumstances(Condition::Idle, host));
        (self.say)(&page::progress_sweep(&sweep));
        self.results.sweep = Some(sweep);
        Ok(())
    }

    fn voice(&mut self, program: &std::path::Path) -> Result<()> {
        let length = if self.plan.long { VOICE_LONG } else { VOICE };
        let (hosts, interrupted) = (self.hosts, self.interrupted);
        for of in CostOwner::ALL {
            self.check_interrupt()?;
            self.rest();
            let length = if of == CostOwner::RoundTrips { length } else { VOICE };
            let (found, _, host) =
                during(Condition::Idle, || voice::run(hosts, program, of, length, interrupted))?;
            let voice = found.judged(self.circumstances(Condition::Idle, host))?;
            (self.say)(&page::progress_voice(&voice));
            self.results.voice.push(voice);
        }
        Ok(())
    }
}
