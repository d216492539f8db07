//! What several commands take.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;

use clap::Args;
use romer_analyze::analysis::FlowChoice;
use romer_analyze::call;
use romer_clock::skew::Method;
use romer_endpoint::ThreadOptions;
use romer_endpoint::tls::{ChannelOptions, TlsFiles};
use romer_host::thread::{Policy, RealTime};
use romer_record::document::{Measurement, Synchronisation};
use romer_record::manifest::{ClockStatement, SkewRequest};
use romer_record::voice::{Scale, VoiceRequest};
use romer_telemetry::OtlpUrl;
use romer_units::Duration;
use serde::Serialize;

use crate::failure::Failure;
use crate::formats::Format;
use crate::output::{self, Color};
use crate::values;

/// Headings of the help.
pub(super) const OUTPUT: &str = "Output";
pub(super) const CAPTURES: &str = "Captures of one stream, at both ends";
pub(super) const CLOCK: &str = "Clock";
pub(super) const VOICE: &str = "Voice";
pub(super) const ADVANCED: &str = "Advanced";
pub(super) const CHANNEL: &str = "Control channel";

/// Two captures of one stream.
#[derive(Clone, Debug, Args)]
pub(crate) struct CaptureArgs {
    /// Capture at the sender
    #[arg(long, help_heading = CAPTURES, value_name = "FILE", requires = "capture_b")]
    pub(crate) capture_a: Option<PathBuf>,
    /// Capture at the receiver
    #[arg(long, help_heading = CAPTURES, value_name = "FILE", requires = "capture_a")]
    pub(crate) capture_b: Option<PathBuf>,
    /// Flow of the captures: its number in the list, or its two ends [default: the largest]
    #[arg(long, help_heading = CAPTURES, hide_short_help = true, value_name = "N|ADDR:PORT-ADDR:PORT", requires = "capture_a", value_parser = values::parsed::<FlowChoice>, allow_hyphen_values = true)]
    pub(crate) flow: Option<FlowChoice>,
}

/// Where the document of a command goes, and whether text is printed.
#[derive(Debug, Args)]
pub(crate) struct DocumentArgs {
    /// Write the results as JSON; - is standard output
    #[arg(long, help_heading = OUTPUT, value_name = "FILE", value_parser = Format::DOCUMENT.target())]
    pub(crate) json: Option<String>,
    /// Overwrite existing output
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub(crate) force: bool,
    /// Print no text summary
    #[arg(long, short, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
}

impl DocumentArgs {
    /// Whether the document goes to standard output.
    pub(crate) fn json_to_stdout(&self) -> bool {
        self.json.as_deref() == Some("-")
    }

    /// Whether no text goes to standard output.
    pub(crate) fn is_silent(&self) -> bool {
        self.quiet || self.json_to_stdout()
    }

    /// Refuses what could not be written, before the work for it is done.
    ///
    /// # Errors
    /// A standard output that is wanted and is not there; or a file that cannot be made ([`output::check_target`]).
    pub(crate) fn check(&self) -> Result<(), Failure> {
        output::check_json(self.json.as_deref(), self.quiet, self.force)
    }

    /// Prints `text`, unless the document goes to standard output or no text is wanted, and writes the document.
    ///
    /// # Errors
    /// The file cannot be written ([`output::write_json`]).
    pub(crate) fn write(&self, text: &str, document: &impl Serialize) -> Result<(), Failure> {
        if !self.is_silent() {
            output::print(text);
        }
        output::write_json(self.json.as_deref(), document, self.force)
    }
}

/// Where the results of a command go, and the colour of its summary.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    #[command(flatten)]
    document: DocumentArgs,
    /// Colour of the summary
    #[arg(long, help_heading = OUTPUT, value_name = "WHEN", default_value = "auto", hide_short_help = true)]
    pub(crate) color: Color,
}

impl Deref for OutputArgs {
    type Target = DocumentArgs;

    fn deref(&self) -> &DocumentArgs {
        &self.document
    }
}

/// Where the metrics of a running command go.
#[derive(Debug, Args)]
pub(crate) struct ExporterArgs {
    /// Serve metrics to Prometheus, on an address or on a port of 127.0.0.1 [default port: 9862]
    ///
    /// Text, OpenMetrics, and protobuf with native histograms, at /metrics. There is neither TLS nor a password.
    #[arg(long, help_heading = OUTPUT, hide_short_help = true, value_name = "ADDR:PORT", value_parser = values::metrics, allow_hyphen_values = true)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Push metrics to an OpenTelemetry collector, such as http://127.0.0.1:4318
    ///
    /// OTLP over HTTP, every 10 s and at the end. There is no TLS: push to a collector on this host.
    #[arg(long, help_heading = OUTPUT, hide_short_help = true, value_name = "URL", value_parser = values::parsed::<OtlpUrl>)]
    pub(crate) otlp: Option<OtlpUrl>,
}

/// What is stated of the two clocks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ClocksArgs {
    /// Relation of the two clocks: auto, synchronised, synchronised:BOUND, shared or unknown [default: auto]
    ///
    /// auto: as both hosts state it. synchronised: the clocks differ by at most BOUND, or by the sum of the error bounds that the time
    /// daemons of both hosts state; one-way delays are absolute, with that error. shared: both time stamps are of one clock. unknown:
    /// one-way delays are differences from the smallest one.
    #[arg(long, help_heading = CLOCK, hide_short_help = true, value_name = "RELATION", value_parser = values::parsed::<ClockStatement>)]
    pub(crate) clocks: Option<ClockStatement>,
    /// Known offset of the clocks (receiver of the forward packets minus sender), subtracted from one-way delays
    ///
    /// With --clocks synchronised.
    #[arg(long, help_heading = CLOCK, hide_short_help = true, value_name = "D", value_parser = values::clock_offset, allow_hyphen_values = true)]
    pub(crate) clock_offset: Option<Duration>,
}

impl ClocksArgs {
    /// What is stated, and the known offset.
    ///
    /// # Errors
    /// An offset without synchronised clocks.
    pub(crate) fn statement(&self) -> Result<(ClockStatement, Duration), Failure> {
        let statement = self.clocks.unwrap_or_default();
        if self.clock_offset.is_some() && !matches!(statement, ClockStatement::Synchronised { .. }) {
            return Err(Failure::usage(
                "an offset is known of synchronised clocks only (--clock-offset): add --clocks synchronised:BOUND, with the bound of \
                 its error",
            ));
        }
        Ok((statement, self.clock_offset.unwrap_or(Duration::ZERO)))
    }

    /// Whether the time stamps of a packet log are of one clock, or else the synchronisation of its two clocks.
    ///
    /// # Errors
    /// As [`statement`](Self::statement); or no bound is stated, which a packet log does not have.
    pub(crate) fn of_log(&self) -> Result<(bool, Option<Synchronisation>), Failure> {
        let (statement, offset) = self.statement()?;
        match statement {
            ClockStatement::Auto | ClockStatement::Unknown => Ok((false, None)),
            ClockStatement::Shared => Ok((true, None)),
            ClockStatement::Synchronised { bound: Some(bound) } => {
                Ok((false, Some(Synchronisation::by_user(bound.as_nanos(), offset.as_nanos()))))
            }
            ClockStatement::Synchronised { bound: None } => Err(Failure::usage(
                "a packet log does not state the error of its clocks (--clocks synchronised): add the bound, for example \
                 --clocks synchronised:1ms",
            )),
        }
    }
}

/// How the clocks of both ends are related, where they are not one.
#[derive(Clone, Debug, Args)]
pub(crate) struct SkewArgs {
    #[command(flatten)]
    pub(crate) stated: ClocksArgs,
    /// Estimator of the clock skew [default: best; analyze: that of the run]
    ///
    /// none, least-squares, least-absolute, least-absolute-jumps, hull, khlifi or khlifi:WINDOW,WEIGHT, piecewise, best.
    #[arg(long, help_heading = CLOCK, hide_short_help = true, value_name = "METHOD", value_parser = values::parsed::<Method>)]
    pub(crate) skew: Option<Method>,
    /// Minimum delay of each direction, which narrows the bounds of the clock offset
    #[arg(long, help_heading = CLOCK, hide_short_help = true, value_name = "D", value_parser = values::path_minimum, allow_hyphen_values = true)]
    pub(crate) path_minimum: Option<Duration>,
}

impl SkewArgs {
    /// As the engine takes it, with this number of calibration packets.
    pub(crate) fn request(&self, calibration: Option<u64>) -> Result<SkewRequest, Failure> {
        let method = self.skew.unwrap_or_default();
        check_calibration(method, calibration)?;
        Ok(SkewRequest {
            method: method.to_string(),
            calibration,
            path_minimum_ns: self.path_minimum.map(Duration::as_nanos),
            synchronisation: None,
        })
    }
}

/// Refuses calibration packets where the method has no use for them.
///
/// # Errors
/// A use of the program that is wrong.
pub(crate) fn check_calibration(method: Method, calibration: Option<u64>) -> Result<(), Failure> {
    if calibration.is_none() || method.takes_calibration() {
        return Ok(());
    }
    let why = match method {
        Method::None => "leaves the clocks as they are, so that there is no line to fit",
        _ => "follows the clocks through the whole run",
    };
    Err(Failure::usage(format!(
        "calibration packets are of no use (--calibration): {method} {why}; \
         choose --skew least-squares, least-absolute, least-absolute-jumps or hull, or leave it out"
    )))
}

/// The telephone call that a stream is.
#[derive(Clone, Debug, Args)]
pub(crate) struct VoiceArgs {
    /// Codec of the call: g711, g711-no-plc, g729, g723.1, gsm-efr, melp, opus, amr-wb[:RATE] or evs[:RATE] [default: that
    /// of the traffic model; other streams are not rated]
    #[arg(long, help_heading = VOICE, hide_short_help = true, value_name = "CODEC", value_parser = values::codec, allow_hyphen_values = true)]
    pub(crate) codec: Option<String>,
    /// Length of the receiver's jitter buffer, such as 60ms, at least one frame [default: the length with the highest R]
    #[arg(long, help_heading = VOICE, hide_short_help = true, value_name = "D", value_parser = romer_record::voice::jitter_buffer, allow_hyphen_values = true)]
    pub(crate) jitter_buffer: Option<Duration>,
    /// Equipment impairment factor of the codec without loss, 0 to 132 [default: the value of G.113]
    #[arg(long, help_heading = VOICE, hide_short_help = true, value_name = "IE", value_parser = values::ie, allow_hyphen_values = true)]
    pub(crate) voice_ie: Option<f64>,
    /// Packet-loss robustness factor of the codec [default: the value of G.113]
    #[arg(long, help_heading = VOICE, hide_short_help = true, value_name = "BPL", value_parser = values::bpl, allow_hyphen_values = true)]
    pub(crate) voice_bpl: Option<f64>,
    /// Scale of --voice-ie and --voice-bpl: narrowband (G.107), wideband (G.107.1) or fullband (G.107.2) [default: the codec's]
    #[arg(long, help_heading = VOICE, hide_short_help = true, value_name = "SCALE", value_parser = values::parsed::<Scale>, requires = "voice_ie")]
    pub(crate) voice_scale: Option<Scale>,
}

impl VoiceArgs {
    /// As the engine takes it.
    pub(crate) fn request(&self) -> VoiceRequest {
        VoiceRequest {
            codec_name: self.codec.clone(),
            ie: self.voice_ie,
            bpl: self.voice_bpl,
            scale: self.voice_scale,
            jitter_buffer_ns: self.jitter_buffer.map(Duration::as_nanos),
        }
    }

    /// Whether anything was stated.
    pub(crate) fn is_given(&self) -> bool {
        self.request() != VoiceRequest::default()
    }

    /// Refuses what contradicts the streams that are rated.
    ///
    /// # Errors
    /// A use of the program that is wrong.
    pub(crate) fn check<'m>(
        &self,
        streams: impl IntoIterator<Item = &'m Measurement>,
    ) -> Result<(), Failure> {
        let request = self.request();
        streams.into_iter().try_for_each(|m| call::codec_of(&request, m).map(drop).map_err(Failure::usage))
    }
}

/// What protects the control channel.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ChannelArgs {
    /// Permit a control channel without TLS; both ends need this option
    ///
    /// Whoever reads such a channel can take over its sessions. Between two ends on one host there is no TLS anyway, unless the
    /// responder requires it.
    #[arg(long, help_heading = CHANNEL, hide_short_help = true, conflicts_with_all = ["tls_key", "tls_cert", "tls_ca"])]
    pub(crate) insecure: bool,
    /// Private key of --tls-cert, in PEM (mode 0600) [default: a key that is made once for each user]
    #[arg(long, help_heading = CHANNEL, hide_short_help = true, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Certificate of this end and those of its authorities, in PEM
    #[arg(long, help_heading = CHANNEL, hide_short_help = true, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Trust certificates of these authorities (PEM), instead of known peers
    #[arg(long, help_heading = CHANNEL, hide_short_help = true, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,
}

impl ChannelArgs {
    /// The files of certificates.
    pub(crate) fn files(&self) -> TlsFiles {
        TlsFiles {
            key: self.tls_key.clone(),
            certificate: self.tls_cert.clone(),
            authority: self.tls_ca.clone(),
        }
    }

    /// How an initiator protects its control channels.
    pub(crate) fn options(&self) -> ChannelOptions {
        if self.insecure { ChannelOptions::Plain } else { ChannelOptions::Tls(self.files()) }
    }
}

/// Where a run is kept.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// Folder of the run [default: new, under $XDG_STATE_HOME/romer/runs]
    #[arg(long, help_heading = OUTPUT, value_name = "DIR", value_parser = Format::FOLDER.path())]
    pub(crate) out: Option<PathBuf>,
}

/// How the threads that send and receive are run. Each is refused where the rights for it are missing; `romer doctor`
/// says which are there.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ThreadArgs {
    /// Run the threads that send and receive on this processor, numbered from 0
    #[arg(long, help_heading = ADVANCED, hide_short_help = true, value_name = "N", value_parser = values::cpu, allow_hyphen_values = true)]
    pub(crate) cpu: Option<u16>,
    /// Real-time priority (SCHED_FIFO) also for the receiving threads, except busy-polling ones; fails if not permitted
    #[arg(long, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) realtime: bool,
    /// Lock romer's memory, so that it is not paged out
    #[arg(long, help_heading = ADVANCED, hide_short_help = true)]
    pub(crate) lock_memory: bool,
    /// Move the interrupts of the network cards to this processor, preferably not the one of --cpu
    ///
    /// They are restored at exit, also if romer is killed. This needs root, and one romer per host at a time.
    #[arg(long, help_heading = ADVANCED, hide_short_help = true, value_name = "N", value_parser = values::cpu, allow_hyphen_values = true)]
    pub(crate) irq_cpu: Option<u16>,
}

impl From<ThreadArgs> for ThreadOptions {
    fn from(arguments: ThreadArgs) -> Self {
        let realtime = if arguments.realtime { RealTime::Required } else { RealTime::Never };
        let policy = Policy { cpu: arguments.cpu, realtime };
        Self { policy, lock_memory: arguments.lock_memory, irq_cpu: arguments.irq_cpu }
    }
}

/// Where stamps are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StampPlace {
    /// Kernel if both ends support it, else user; never nic
    Best,
    /// Network card, or the kernel for packets that the card does not stamp; needs root
    Nic,
    /// Kernel
    Kernel,
    /// Program
    User,
    /// Programs of the kernel at both ends, which write t1 to t4 into the packets; needs root and Linux 6.6
    InPacket,
}
