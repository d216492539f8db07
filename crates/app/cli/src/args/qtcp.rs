//! Arguments of `romer qtcp`.

use std::path::PathBuf;

use clap::Args;
use romer_endpoint::names::Target;
use romer_qtcp_protocol::Quota;
use romer_units::Duration;

use crate::formats::Format;
use crate::values;

/// Headings of the help.
const LIVE: &str = "Live test";
const SENDER: &str = "Sender (-t)";
const RECEIVER: &str = "Receiver (-r)";
const FILES: &str = "Files";

/// Service of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ServiceArg {
    /// Guaranteed service (RFC 2212)
    #[value(name = "GR")]
    Guaranteed,
    /// Controlled-load service (RFC 2211)
    #[value(name = "CL")]
    ControlledLoad,
}

/// Arguments of `romer qtcp`.
#[derive(Debug, Args)]
#[command(
    long_about = "Measure the queuing delay of a path as Qtcp does, and convert and collate files of Qtcp.\n\n\
        Live: start the receiver (-r) on one host, then the sender (-t) on another. UDP packets leave through a token bucket. The \
        receiver writes PREFIX.sta, PREFIX.raw and PREFIX.log (-f), and ends with its own number of packets, a termination packet, \
        DONE on the control connection, or q and return. With -S, the ends reserve with RSVP, and the sender waits for the \
        reservation.\n\n\
        Files: with -F, PREFIX.raw is normalised, corrected for the clock skew, and written \
        to PREFIX.log; no other file is changed. With -A, all .sta files of a folder are joined in one table. A \
        summary has the mean, the minimum and the maximum of each variable over files with equal settings (--by).\n\n\
        A line of .raw and .log is `sent:received:latency:size:sequence`, times in units of 100 ns. `romer report RUN \
        --qtcp PREFIX` writes such files of a run, and `romer analyze FILE.raw` computes everything else from them.\n\n\
        With -F, a .raw may have any length: it is read several times and never held in memory. With more than 1,048,576 packets, -k 2 \
        and -k 3 fit the skew to a sample, which is reported; -k 1 fits it to all.",
    after_help = "Examples:\n  romer qtcp -c1000 -f\"test\" -r\n  romer qtcp -l64 -R3 -c1000 -n1000 -t 192.0.2.2\n  \
        romer qtcp -l64 -R3 -S GR -t 192.0.2.2\n  \
        romer qtcp -F\"voice\" -c 1000\n  romer qtcp -F voice -k 1 -d -q 10 --force\n  \
        romer qtcp -F voice -k 0\n  \
        romer qtcp -A\"results\" --csv all.csv",
    group = clap::ArgGroup::new("what").required(true).args(["transmit", "receive", "prefix", "folder", "flows"])
)]
pub(crate) struct QtcpArgs {
    /// Send a test to the receiver at ADDR
    #[arg(short = 't', help_heading = LIVE, value_name = "ADDR", value_parser = values::parsed::<Target>)]
    pub(crate) transmit: Option<Target>,
    /// Receive a test
    #[arg(short = 'r', help_heading = LIVE)]
    pub(crate) receive: bool,
    /// Port of packets (UDP) and control (TCP), on both hosts [default: 5003]
    #[arg(short = 'p', help_heading = LIVE, value_name = "PORT", value_parser = values::qtcp_port, allow_hyphen_values = true,
        conflicts_with_all = ["prefix", "folder"])]
    pub(crate) port: Option<u16>,
    /// Packets, or seconds with an s, besides calibration [default: 2048]
    #[arg(short = 'n', help_heading = LIVE, value_name = "N|Ns", value_parser = values::qtcp_quota, allow_hyphen_values = true,
        conflicts_with_all = ["prefix", "folder"])]
    pub(crate) quota: Option<Quota>,
    /// Do not wait for the other end or a reservation; start the receiver first
    #[arg(short = 'W', help_heading = LIVE, conflicts_with_all = ["prefix", "folder"])]
    pub(crate) no_wait: bool,
    /// Payload of a packet in bytes, more than 48 [default: 1472]
    #[arg(short = 'l', help_heading = SENDER, value_name = "BYTES", value_parser = values::qtcp_payload, allow_hyphen_values = true,
        conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) payload: Option<u32>,
    /// Token bucket depth in bytes, at least -l [default: that of -l]
    #[arg(short = 'B', help_heading = SENDER, value_name = "BYTES", value_parser = values::qtcp_depth, allow_hyphen_values = true,
        conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) depth: Option<u64>,
    /// Token rate in 1000 bytes per second; in bytes with a B (4312B) [default: 100]
    #[arg(short = 'R', help_heading = SENDER, value_name = "N|NB", value_parser = values::qtcp_rate, allow_hyphen_values = true,
        conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) rate: Option<u64>,
    /// Continue after the calibration packets without a confirmation
    #[arg(short = 'y', help_heading = SENDER, conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) no_pause: bool,
    /// Send payloads that are easy to compress
    #[arg(short = 'i', help_heading = SENDER, hide_short_help = true, conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) compressible: bool,
    /// Reserve with RSVP: GR (guaranteed service, shaped) or CL (controlled load); needs CAP_NET_RAW at both ends
    #[arg(short = 'S', help_heading = SENDER, value_name = "SERVICE", conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) service: Option<ServiceArg>,
    /// Shape controlled load to the token rate; without, it is sent at once, and the excess is marked as non-conforming
    #[arg(short = 'e', help_heading = SENDER, hide_short_help = true, conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) shape: bool,
    /// Hold a reservation until return is pressed, and send no packets; of guaranteed service without -S
    #[arg(short = 'v', help_heading = SENDER, hide_short_help = true, conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) reserve_only: bool,
    /// Minimum policed size of the reservation, bytes of payload [default: that of -l]
    #[arg(short = 'm', help_heading = SENDER, hide_short_help = true, value_name = "BYTES", value_parser = values::qtcp_depth,
        allow_hyphen_values = true, conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) min_policed: Option<u64>,
    /// Largest datagram of the reservation, bytes of payload [default: that of -l]
    #[arg(short = 'M', help_heading = SENDER, hide_short_help = true, value_name = "BYTES", value_parser = values::qtcp_depth,
        allow_hyphen_values = true, conflicts_with_all = ["receive", "prefix", "folder"])]
    pub(crate) max_datagram: Option<u64>,
    /// Table of the marks of service levels, in TOML, instead of the defaults
    #[arg(long, help_heading = SENDER, hide_short_help = true, value_name = "FILE", requires = "transmit")]
    pub(crate) marks: Option<PathBuf>,
    /// Write PREFIX.sta, PREFIX.raw and PREFIX.log at the end
    #[arg(short = 'f', help_heading = RECEIVER, value_name = "PREFIX", value_parser = Format::QTCP_FILES.target(), conflicts_with_all = ["transmit", "prefix", "folder"])]
    pub(crate) files: Option<String>,
    /// Write the .raw file after normalisation
    #[arg(short = 'N', help_heading = RECEIVER, hide_short_help = true, requires = "files",
        conflicts_with_all = ["transmit", "prefix", "folder"])]
    pub(crate) normalised: bool,
    /// Do not list lost packets on the terminal
    #[arg(short = 'P', help_heading = RECEIVER, hide_short_help = true, conflicts_with_all = ["transmit", "prefix", "folder"])]
    pub(crate) no_losses: bool,
    /// Use the time stamps of the programs, not those of the kernels
    #[arg(short = 'u', help_heading = RECEIVER, hide_short_help = true, conflicts_with_all = ["transmit", "prefix", "folder"])]
    pub(crate) user_stamps: bool,
    /// Convert PREFIX.raw to PREFIX.log; the name may be given with its .raw
    #[arg(short = 'F', help_heading = FILES, value_name = "PREFIX")]
    pub(crate) prefix: Option<String>,
    /// Collate the .sta files of a folder
    #[arg(short = 'A', help_heading = FILES, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Calibration packets at the start, to which the skew is fitted [default: 0]
    #[arg(short = 'c', value_name = "N", value_parser = values::qtcp_calibration, allow_hyphen_values = true, conflicts_with = "folder")]
    pub(crate) calibration: Option<u64>,
    /// Skew correction: 0 none, 1 least squares, 2 least absolute deviation, 3 as 2 with clock steps
    #[arg(short = 'k', value_name = "0..3", value_parser = values::skew_number, default_value = "2",
        allow_hyphen_values = true, conflicts_with_all = ["folder", "transmit"])]
    pub(crate) skew: u8,
    /// Write a dummy entry for each lost packet to the .log: times of 0, and the maximum latency
    #[arg(short = 'd', hide_short_help = true, conflicts_with_all = ["folder", "transmit"])]
    pub(crate) dummies: bool,
    /// Write every Nth packet to the .log: those with a number divisible by N
    #[arg(short = 'q', hide_short_help = true, value_name = "N", value_parser = values::every_nth, default_value = "1", allow_hyphen_values = true,
        conflicts_with_all = ["folder", "transmit"])]
    pub(crate) every: u64,
    /// Unit of the time stamps in the .raw file [default: 100ns]
    #[arg(long, hide_short_help = true, value_name = "D", value_parser = values::stamp_unit, allow_hyphen_values = true,
        conflicts_with_all = ["folder", "transmit", "receive"])]
    pub(crate) unit: Option<Duration>,
    /// Accept packets of 48 bytes or less, which Qtcp cannot send
    #[arg(long, hide_short_help = true, conflicts_with_all = ["folder", "transmit", "receive"])]
    pub(crate) any_size: bool,
    /// If a latency is not received minus sent, use the latency and ignore the receive time stamp
    #[arg(long, hide_short_help = true, conflicts_with_all = ["folder", "transmit", "receive"])]
    pub(crate) trust_latency: bool,
    /// Also correct a skew above 500 ppm, which real clocks do not have
    #[arg(long, hide_short_help = true, conflicts_with_all = ["folder", "transmit", "receive"])]
    pub(crate) any_skew: bool,
    /// Also convert files that are already normalised
    #[arg(long, hide_short_help = true, conflicts_with_all = ["folder", "transmit", "receive"])]
    pub(crate) again: bool,
    /// Write the table as CSV; - is standard output
    #[arg(long, value_name = "FILE", value_parser = Format::TABLE.target(), conflicts_with_all = ["prefix", "transmit", "receive"])]
    pub(crate) csv: Option<String>,
    /// Keys of .sta files; files with equal values are repeats in the summary [default: service, size, token rate, bucket depth,
    /// calibration packets, as far as the files have them]
    #[arg(long, hide_short_help = true, value_name = "KEY,...", value_delimiter = ',', requires = "folder", conflicts_with_all = ["transmit", "receive"])]
    pub(crate) by: Vec<String>,
    /// Write the summary over repeats as CSV; - is standard output
    #[arg(long, hide_short_help = true, value_name = "FILE", value_parser = Format::TABLE.target(), requires = "folder", conflicts_with_all = ["transmit", "receive"])]
    pub(crate) summary_csv: Option<String>,
    /// Write the results of a live test as JSON; - is standard output
    #[arg(long, help_heading = LIVE, hide_short_help = true, value_name = "FILE", value_parser = Format::DOCUMENT.target(), conflicts_with_all = ["prefix", "folder"])]
    pub(crate) json: Option<String>,
    /// List the flows that romer shapes or reserves for on this host, with service, rate and bytes
    #[arg(long, hide_short_help = true, exclusive = true)]
    pub(crate) flows: bool,
    /// An option of Qtcp that its documentation does not explain
    #[arg(short = 'a', hide = true, value_name = "N", num_args = 0..=1, default_missing_value = "", allow_hyphen_values = true)]
    pub(crate) unexplained: Option<String>,
    /// Overwrite existing files
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    /// Print no text summary
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::args::{Command, Invocation, read};

    fn parsed(words: &str) -> Result<QtcpArgs, String> {
        match read(words.split(' ').map(OsString::from)) {
            Ok(Invocation::Run(cli)) => match cli.command {
                Command::Qtcp(arguments) => Ok(*arguments),
                other => panic!("{other:?}"),
            },
            Ok(Invocation::Show(_)) => panic!("{words}: help"),
            Err(failure) => Err(failure.text().to_owned()),
        }
    }

    /// The command lines of Qtcp's documentation are read, with values attached or separate.
    #[test]
    fn documented_lines_are_read() {
        let sender = parsed("romer qtcp -l64 -R3 -c1000 -n1000 -t 2.2.2.2").unwrap();
        assert_eq!((sender.payload, sender.rate, sender.calibration), (Some(64), Some(3_000), Some(1_000)));
        assert_eq!(sender.quota, Some(Quota::Packets(1_000)));
        let receiver = parsed("romer qtcp -ftest -c1000 -r").unwrap();
        assert!(receiver.receive && receiver.files.as_deref() == Some("test"));
        let timed = parsed("romer qtcp -n 3600s -R 4312B -B 200 -l 64 -y -i -W -t h -p 5004").unwrap();
        assert_eq!(timed.quota, Some(Quota::Time(Duration::from_secs(3_600))));
        assert_eq!((timed.rate, timed.depth, timed.port), (Some(4_312), Some(200), Some(5_004)));
    }

    /// Options of one end are refused at the other, and values out of range everywhere.
    #[test]
    fn wrong_lines_are_refused() {
        for (words, says) in [
            ("romer qtcp -r -l 64", "cannot be combined"),
            ("romer qtcp -t h -f x", "cannot be combined"),
            ("romer qtcp -t h -N", "cannot be combined"),
            ("romer qtcp -F x -l 64", "cannot be combined"),
            ("romer qtcp -r -N", "missing option (-f <PREFIX>)"),
            ("romer qtcp -t h -r", "cannot be combined"),
            ("romer qtcp -t h -k 1", "cannot be combined"),
            ("romer qtcp -F x -n 5", "cannot be combined"),
            ("romer qtcp -r --any-skew", "cannot be combined"),
            ("romer qtcp -t h -l 48", "(-l)"),
            ("romer qtcp -t h -n 0", "(-n)"),
            ("romer qtcp -t h -n 0s", "(-n)"),
            ("romer qtcp -t h -n s", "(-n)"),
            ("romer qtcp -t h -R 0", "(-R)"),
            ("romer qtcp -t h -R 3k", "(-R)"),
            ("romer qtcp -t h -p 0", "(-p)"),
            ("romer qtcp -t h -S XX", "(-S)"),
        ] {
            let why = parsed(words).unwrap_err();
            assert!(why.contains(says), "{words}: {why}");
        }
    }
}
