//! The files that a scenario names, each read once for each way in which it is used, and what else takes memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use romer_impair::trace::{self, By, Trace};
use thiserror::Error;

use crate::empirical;

/// How the caller hands over the text of a file that a scenario names; an error says why not, in words.
pub type Load<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// Ways in which one file may be used: traces of both directions by packet and by time, with two delays to add.
const MOST_WAYS: usize = 8;
/// Octets that are read of all files that a scenario names, those of a file once for each way.
pub const MOST_OCTETS: usize = 512 << 20;
/// Delays in time that a scenario may have: each has a table of some 32 KiB, which takes milliseconds to make.
const MOST_PROCESSES: usize = 128;
/// Delays in time of all scenarios together that the steps of a timeline name: tables of 128 MiB.
pub const MOST_STEP_PROCESSES: usize = 4_096;

/// Why a file is not used.
#[derive(Debug, Error)]
pub(crate) enum FileError {
    /// It cannot be read, or is not what it is used as.
    #[error("{0}")]
    Unfit(String),
    #[error("is used in more than {MOST_WAYS} ways; use it in fewer")]
    Ways,
    #[error("is too large together with the others: a scenario reads at most {} MiB; name fewer files", MOST_OCTETS >> 20)]
    Octets,
}

/// How a file is used as the trace of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceUse {
    Mahimahi,
    Measurement { reverse: bool, by: By, fixed: i64 },
}

/// What has been made of a file.
#[derive(Default)]
struct Uses {
    delays: Option<Arc<[f64]>>,
    traces: Vec<(TraceUse, Arc<Trace>)>,
}

pub(crate) struct Files<'l, 'c> {
    load: &'l mut Load<'c>,
    uses: BTreeMap<String, Uses>,
    octets: usize,
    processes: usize,
    /// Those of the scenarios that steps of the timeline name.
    step_processes: usize,
}

impl<'l, 'c> Files<'l, 'c> {
    pub(crate) fn new(load: &'l mut Load<'c>) -> Self {
        Self { load, uses: BTreeMap::new(), octets: 0, processes: 0, step_processes: 0 }
    }

    /// Counts one more delay in time.
    ///
    /// # Errors
    /// In words, where there are too many.
    pub(crate) fn count_process(&mut self) -> Result<(), String> {
        self.processes += 1;
        if self.processes > MOST_PROCESSES {
            return Err(format!("is one of more than {MOST_PROCESSES} delays in time; write fewer"));
        }
        Ok(())
    }

    /// Begins a scenario that a step of the timeline names, of which the delays in time count apart from those of the others, and
    /// gives the count of these, for [`Files::end_step`].
    pub(crate) fn begin_step(&mut self) -> usize {
        core::mem::take(&mut self.processes)
    }

    /// Ends it; `others` is the count from before.
    ///
    /// # Errors
    /// In words, where the steps have too many delays in time together.
    pub(crate) fn end_step(&mut self, others: usize) -> Result<(), String> {
        self.step_processes += core::mem::replace(&mut self.processes, others);
        if self.step_processes > MOST_STEP_PROCESSES {
            return Err(format!(
                "has, with those before it, more than {MOST_STEP_PROCESSES} delays in time; name fewer scenarios"
            ));
        }
        Ok(())
    }

    /// The text of a scenario that a step of the timeline names.
    pub(crate) fn scenario(&mut self, name: &str) -> Result<String, FileError> {
        let text = (self.load)(name).map_err(FileError::Unfit)?;
        self.count_octets(&text)?;
        Ok(text)
    }

    fn count_octets(&mut self, text: &str) -> Result<(), FileError> {
        self.octets += text.len();
        if self.octets > MOST_OCTETS { Err(FileError::Octets) } else { Ok(()) }
    }

    /// The text of a file, to be used in another way.
    fn text(&mut self, name: &str) -> Result<String, FileError> {
        let uses = self.uses.entry(name.to_owned()).or_default();
        if usize::from(uses.delays.is_some()) + uses.traces.len() >= MOST_WAYS {
            return Err(FileError::Ways);
        }
        let text = (self.load)(name).map_err(FileError::Unfit)?;
        self.count_octets(&text)?;
        Ok(text)
    }

    /// Measured delays, in order of size.
    pub(crate) fn delays(&mut self, name: &str) -> Result<Arc<[f64]>, FileError> {
        if let Some(delays) = self.uses.get(name).and_then(|uses| uses.delays.clone()) {
            return Ok(delays);
        }
        let delays = empirical::read(&self.text(name)?).map_err(FileError::Unfit)?;
        self.uses.entry(name.to_owned()).or_default().delays = Some(Arc::clone(&delays));
        Ok(delays)
    }

    /// The trace of a direction.
    pub(crate) fn trace(&mut self, name: &str, how: TraceUse) -> Result<Arc<Trace>, FileError> {
        let known = self.uses.get(name).and_then(|uses| uses.traces.iter().find(|(other, _)| *other == how));
        if let Some((_, trace)) = known {
            return Ok(Arc::clone(trace));
        }
        let text = self.text(name)?;
        let read = match how {
            TraceUse::Mahimahi => trace::read_mahimahi(&text),
            TraceUse::Measurement { reverse, by, fixed } => {
                trace::read_measurement(&text, reverse, by, fixed)
            }
        };
        let trace = Arc::new(read.map_err(|why| FileError::Unfit(why.to_string()))?);
        self.uses.entry(name.to_owned()).or_default().traces.push((how, Arc::clone(&trace)));
        Ok(trace)
    }

    /// The traces of both directions.
    pub(crate) fn traces(&mut self, name: &str) -> Result<[Arc<Trace>; 2], FileError> {
        trace::read_pham(&self.text(name)?).map_err(|why| FileError::Unfit(why.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However often a scenario mentions a file, it is read and kept once.
    #[test]
    fn mentions_share_a_file() {
        let mut reads = 0;
        let load: &mut Load<'_> = &mut |name| {
            reads += 1;
            Ok(if name == "delays" { "1ms\n2ms\n" } else { "1\n2\n" }.to_owned())
        };
        let mut files = Files::new(load);
        let first = files.delays("delays").unwrap();
        assert!((0..1_000).all(|_| Arc::ptr_eq(&files.delays("delays").unwrap(), &first)));
        let first = files.trace("link", TraceUse::Mahimahi).unwrap();
        assert!((0..1_000).all(|_| Arc::ptr_eq(&files.trace("link", TraceUse::Mahimahi).unwrap(), &first)));
        assert_eq!(reads, 2);
    }

    /// Each scenario of a step has the delays in time of a scenario, and all of them together have a limit.
    #[test]
    fn delays_in_time_of_steps_are_bounded() {
        let load: &mut Load<'_> = &mut |_| Err(String::new());
        let mut files = Files::new(load);
        files.count_process().unwrap();
        let mut step = || {
            let others = files.begin_step();
            (0..MOST_PROCESSES).for_each(|_| files.count_process().unwrap());
            files.end_step(others)
        };
        let full = MOST_STEP_PROCESSES / MOST_PROCESSES;
        assert!((0..full).all(|_| step().is_ok()));
        assert!(step().unwrap_err().contains("name fewer"));
        // Those of the scenario itself count on from where they were.
        (1..MOST_PROCESSES).for_each(|_| files.count_process().unwrap());
        files.count_process().unwrap_err();
    }

    /// A measurement is read once for each way, in few ways, and all files together have a limit.
    #[test]
    fn ways_and_octets_are_bounded() {
        let mut name = "m".to_owned();
        let measurement = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n0,44,1,2,,\n";
        let load: &mut Load<'_> = &mut |name| {
            Ok(if name == "m" {
                measurement.to_owned()
            } else {
                format!("1ms\n#{}", "x".repeat(MOST_OCTETS / 4))
            })
        };
        let mut files = Files::new(load);
        let ways: Vec<_> = (0..=8)
            .map(|fixed| files.trace(&name, TraceUse::Measurement { reverse: false, by: By::Packet, fixed }))
            .collect();
        assert!(ways[..8].iter().all(Result::is_ok), "{:?}", ways[0]);
        assert!(matches!(ways[8], Err(FileError::Ways)));
        // Another name of the same file makes no difference.
        let refused = (0..5).find_map(|_| {
            name.insert_str(0, "./");
            files.delays(&name).err()
        });
        assert!(matches!(refused, Some(FileError::Octets)));
    }
}
