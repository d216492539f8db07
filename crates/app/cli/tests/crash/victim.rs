//! A measurement that is going to be killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::common::process::romer;

/// When it is killed, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment {
    /// After its start.
    AfterTheStart(u64),
    /// After it has told that the last probe was sent.
    AfterTheLastProbe(u64),
}

/// What the measurement had told to be safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// Probes.
    pub(crate) sent: u64,
    /// Entries of the packet log.
    pub(crate) entries: u64,
}

/// A measurement, and who listens to it.
pub(crate) struct Victim {
    child: Child,
    listener: JoinHandle<Acknowledged>,
    all_sent: Receiver<()>,
}

impl Victim {
    /// Measures with `probes` probes to the responder at `there`, into `folder`.
    pub(crate) fn start(there: &str, folder: &Path, probes: u64) -> Self {
        let mut command =
            romer(["measure", there, "--json-lines", "--json-lines-interval", "20ms", "--quiet"]);
        command.args([
            "--interval",
            "1ms",
            "--waiting-time",
            "20ms",
            "--count",
            &probes.to_string(),
            "--out",
        ]);
        let mut child = command
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let (tell, all_sent) = channel();
        let listener = std::thread::spawn(move || {
            let mut acknowledged = Acknowledged::default();
            for line in whole_lines(lines) {
                if line["type"] != "interval" {
                    continue;
                }
                acknowledged.sent = acknowledged.sent.max(line["durable_sent"].as_u64().unwrap());
                acknowledged.entries = acknowledged.entries.max(line["durable_entries"].as_u64().unwrap());
                if line["sent"] == probes {
                    let _ = tell.send(());
                }
            }
            acknowledged
        });
        Self { child, listener, all_sent }
    }

    /// Lets it end, which it does well.
    pub(crate) fn left_alone(mut self) -> Acknowledged {
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.listener.join().unwrap()
    }

    /// Kills it at `moment`, if it has not ended by then.
    pub(crate) fn killed(mut self, moment: Moment) -> Acknowledged {
        let micros = match moment {
            Moment::AfterTheStart(micros) => micros,
            Moment::AfterTheLastProbe(micros) => {
                // An error is its end: then there is nobody to kill.
                let _ = self.all_sent.recv();
                micros
            }
        };
        std::thread::sleep(Duration::from_micros(micros));
        // It may have ended, which is as good.
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        assert!(matches!(status.code(), None | Some(0)), "{status:?} before it was killed");
        self.listener.join().unwrap()
    }
}

/// The lines that were written whole: the kill may have cut the last.
fn whole_lines(mut input: impl BufRead) -> impl Iterator<Item = Value> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        input.read_line(&mut line).unwrap();
        line.ends_with('\n')
            .then(|| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    })
}
