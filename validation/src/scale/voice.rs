//! What a voice stream costs, at both ends, beside irtt at the same pace.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration as StdDuration;

use anyhow::{Context, Result};
use romer_units::Duration;
use serde::Serialize;

use super::process::share;
use super::{Usage, measure, respond, watched};
use crate::circumstances::Circumstances;
use crate::hosts::{FAR, Hosts};
use crate::peers::irtt;

/// Time between two packets of MELP frames, bundled by two.
const INTERVAL: Duration = Duration::from_millis(45);
/// Octets of the STAMP packet that measures their round trip, with its headers.
const OCTETS: u32 = 72;
/// What is left out at the start: the conversation, and the first looks.
const START: StdDuration = StdDuration::from_secs(2);

/// Whose cost it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CostOwner {
    /// romer, round trips.
    RoundTrips,
    /// romer, one way.
    Forward,
    Irtt,
}

impl CostOwner {
    pub(crate) const ALL: [Self; 3] = [Self::RoundTrips, Self::Forward, Self::Irtt];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RoundTrips => "`romer measure`, round trips",
            Self::Forward => "`romer measure`, one way",
            Self::Irtt => "irtt",
        }
    }
}

/// What a stream cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Voice {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    pub(crate) of: CostOwner,
    /// How long it was looked at.
    pub(crate) seconds: f64,
    /// Shares of a core.
    pub(crate) sender_ratio: f64,
    pub(crate) responder_ratio: f64,
    /// Processor time of the sender over an hour at this pace, with what its beginning and end took.
    pub(crate) sender_hour_s: f64,
}

/// The looks at both ends.
pub(crate) struct VoiceUsage {
    of: CostOwner,
    length: StdDuration,
    looks: [Vec<Usage>; 2],
}

/// Sends for `length`.
pub(crate) fn run(
    hosts: &Hosts,
    program: &Path,
    of: CostOwner,
    length: StdDuration,
    interrupted: &AtomicBool,
) -> Result<VoiceUsage> {
    let looks = if of == CostOwner::Irtt {
        let server = irtt::serve(hosts)?;
        let count = length.as_nanos() / u128::from(INTERVAL.as_nanos().unsigned_abs().max(1));
        let client = irtt::silent(hosts, u64::try_from(count).unwrap_or(u64::MAX), INTERVAL, OCTETS)?;
        watched(client, &server, interrupted)?
    } else {
        let listen = format!("{FAR}:862");
        let responder = respond(hosts, program, &["--listen", &listen])?;
        let folder = tempfile::tempdir().context("cannot make a folder for the run")?;
        let (length_text, target) = (format!("{}ms", length.as_millis()), FAR.to_string());
        let direction = if of == CostOwner::Forward { "forward" } else { "round-trip" };
        let arguments = ["--traffic", "melp", "--direction", direction, "--duration", &length_text, &target];
        watched(measure(hosts, program, &folder.path().join("run"), &arguments)?, &responder, interrupted)?
    };
    Ok(VoiceUsage { of, length, looks })
}

impl VoiceUsage {
    /// What is to be kept of it.
    pub(crate) fn judged(&self, circumstances: Circumstances) -> Result<Voice> {
        let [sender, responder] = &self.looks;
        let of = |looks: &[Usage]| share(looks, START, self.length).context("a program ended too early");
        let (sender_ratio, responder_ratio) = (of(sender)?, of(responder)?);
        let watched = self.length.saturating_sub(START).as_secs_f64();
        let all = sender.last().map_or(StdDuration::ZERO, |last| last.cpu).as_secs_f64();
        let apart = (all - sender_ratio * watched).max(0.0);
        Ok(Voice {
            circumstances,
            of: self.of,
            seconds: watched,
            sender_ratio,
            responder_ratio,
            sender_hour_s: apart + sender_ratio * 3_600.0,
        })
    }
}
