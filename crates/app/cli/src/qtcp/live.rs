//! The live tests of `romer qtcp`: `-t` and `-r`.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};

use romer_analyze::qtcp::method;
use romer_endpoint::circumstances;
use romer_endpoint::names::{Family, Target};
use romer_exchange::qtcp::{Selection, normalise, write};
use romer_host::ending;
use romer_qtcp::{
    Console, Evaluation, Key, Notice, QtcpError, ReceiveOptions, SendOptions, evaluate, receive, send,
};
use romer_qtcp_protocol::{DEFAULT_PACKETS, DEFAULT_PORT, MAX_PACKETS, Quota, ReceiverPlan, SenderPlan};
use romer_record::Exit;
use romer_record::qtcp::{
    QtcpReceived, QtcpReceiver, QtcpReceiverEnd, QtcpSender, QtcpSenderEnd, QtcpSent, QtcpStamps,
};
use romer_report::escape;
use romer_traffic::TokenBucket;
use romer_units::{Duration, counted};

use crate::args::QtcpArgs;
use crate::failure::Failure;
use crate::{output, signals};

/// Payload of a packet in octets (Qtcp, option `-l`).
const DEFAULT_PAYLOAD: u32 = 1_472;
/// Token rate in octets per second (Qtcp, option `-R`).
const DEFAULT_RATE: u64 = 100_000;
/// Ranges of lost numbers that the terminal shows.
const MAX_RANGES: usize = 200;
/// Octets of a line of standard input that are read; `c` and `q` are two.
const MAX_LINE: usize = 64;

impl From<QtcpError> for Failure {
    fn from(error: QtcpError) -> Self {
        Self::with_exit(error.exit(), error)
    }
}

/// Sends a test to `target`.
pub(super) fn transmit(target: &Target, arguments: &QtcpArgs) -> Result<Exit, Failure> {
    refuse_reservation(arguments)?;
    let plan = sender_plan(arguments)?;
    let port = match (target.port, arguments.port) {
        (Some(_), Some(_)) => {
            return Err(Failure::usage(format!(
                "port given twice (-t {}, -p): the address has one; remove one",
                escape::terminal(&target.text)
            )));
        }
        (one, other) => one.or(other).unwrap_or(DEFAULT_PORT),
    };
    output::check_json(arguments.json.as_deref(), arguments.quiet, arguments.force)?;
    let addresses = target.addresses(Family::Any, port)?;
    let mut terminal = Terminal::start(arguments)?;
    let options = SendOptions { addresses, plan, compressible: arguments.compressible };
    let outcome = send(&options, &mut terminal);
    terminal.end_line();
    let document = outcome?;
    if terminal.has_words {
        output::print(&output::to_ascii(&sender_summary(&document)));
    }
    output::write_json(arguments.json.as_deref(), &document, arguments.force)?;
    Ok(if document.end == QtcpSenderEnd::Interrupted { Exit::Interrupted } else { Exit::Success })
}

/// Receives a test, and writes its files.
pub(super) fn run_receiver(arguments: &QtcpArgs) -> Result<Exit, Failure> {
    let calibration = arguments.calibration.unwrap_or(0);
    let quota = arguments.quota.unwrap_or(Quota::Packets(DEFAULT_PACKETS));
    check_packets(calibration, quota)?;
    output::check_json(arguments.json.as_deref(), arguments.quiet, arguments.force)?;
    let files = |prefix: &str| ["sta", "raw", "log"].map(|ending| format!("{prefix}.{ending}"));
    if let Some(prefix) = &arguments.files {
        for file in files(prefix) {
            output::check_target(Some(&file), arguments.force)?;
        }
    }
    let mut terminal = Terminal::start(arguments)?;
    let plan =
        ReceiverPlan { calibration, quota, kernel_stamps: !arguments.user_stamps, wait: !arguments.no_wait };
    let options = ReceiveOptions { port: arguments.port.unwrap_or(DEFAULT_PORT), plan };
    let outcome = receive(&options, &mut terminal);
    terminal.end_line();
    let received = outcome?;
    let _evaluating = ending::Stage::begin(ending::EVALUATION);
    let evaluation = evaluate(&received, method(arguments.skew), calibration, arguments.user_stamps);
    if terminal.has_words {
        let summary = receiver_summary(&evaluation, arguments.no_losses);
        output::print(&output::to_ascii(&summary));
    }
    if !arguments.quiet {
        for note in notes(&evaluation.document) {
            output::eprint_line(&format!("note: {note}"));
        }
    }
    if let Some(prefix) = &arguments.files {
        write_files(files(prefix), &evaluation, arguments)?;
    }
    output::write_json(arguments.json.as_deref(), &evaluation.document, arguments.force)?;
    Ok(match evaluation.document.end {
        QtcpReceiverEnd::Interrupted | QtcpReceiverEnd::SenderStopped => Exit::Interrupted,
        QtcpReceiverEnd::Quota
        | QtcpReceiverEnd::Termination
        | QtcpReceiverEnd::Done
        | QtcpReceiverEnd::Keyboard
        | QtcpReceiverEnd::LogFull => Exit::Success,
    })
}

/// Refuses what only a reservation could use.
fn refuse_reservation(arguments: &QtcpArgs) -> Result<(), Failure> {
    let options = [
        ("-S", arguments.service.is_some()),
        ("-e", arguments.shape),
        ("-v", arguments.reserve_only),
        ("-m", arguments.min_policed.is_some()),
        ("-M", arguments.max_datagram.is_some()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::usage(format!(
            "option not available ({option}): it describes an RSVP reservation, and this version makes none; remove -S, -e, -v, -m \
             and -M"
        ))),
        None => Ok(()),
    }
}

fn sender_plan(arguments: &QtcpArgs) -> Result<SenderPlan, Failure> {
    let size = arguments.payload.unwrap_or(DEFAULT_PAYLOAD);
    let depth = arguments.depth.unwrap_or(size.into());
    if depth < u64::from(size) {
        return Err(Failure::usage(format!(
            "token bucket too small (-B {depth}): a packet of {size} bytes (-l) needs as many tokens; use -B {size} or more"
        )));
    }
    let calibration = arguments.calibration.unwrap_or(0);
    let quota = arguments.quota.unwrap_or(Quota::Packets(DEFAULT_PACKETS));
    check_packets(calibration, quota)?;
    let rate = arguments.rate.unwrap_or(DEFAULT_RATE);
    let bucket =
        TokenBucket::new(rate, depth).ok_or_else(|| Failure::own("a token bucket is out of range"))?;
    Ok(SenderPlan {
        session: u64::from_be_bytes(circumstances::random()),
        size,
        bucket,
        calibration,
        quota,
        pause: !arguments.no_pause,
        wait: !arguments.no_wait,
    })
}

/// Refuses more packets than a log has.
fn check_packets(calibration: u64, quota: Quota) -> Result<(), Failure> {
    let measured = match quota {
        Quota::Packets(packets) => packets,
        Quota::Time(_) => 1,
    };
    if calibration.saturating_add(measured) > MAX_PACKETS {
        return Err(Failure::usage(format!(
            "too many packets (-c {calibration}, -n): a test has at most {MAX_PACKETS}; use smaller numbers"
        )));
    }
    Ok(())
}

/// Writes the .sta, .raw and .log files.
fn write_files(
    [sta, raw, log]: [String; 3],
    evaluation: &Evaluation,
    arguments: &QtcpArgs,
) -> Result<(), Failure> {
    let force = arguments.force;
    let Evaluation { raw: packets, log: logged, statistics, .. } = evaluation;
    output::write_document(&sta, &statistics.text(logged), force)?;
    let mut packets = packets.clone();
    if arguments.normalised {
        normalise(&mut packets);
    }
    output::write_with(&raw, force, |out| write(out, &packets, &[], Selection::default()))?;
    let selection = Selection { dummies: arguments.dummies, every: arguments.every };
    output::write_with(&log, force, |out| write(out, logged, &statistics.lost, selection))?;
    Ok(())
}

fn sender_summary(document: &QtcpSender) -> String {
    let calibration = document.all.packets - document.measured.packets;
    let mut text = format!("Sent {}", counted(document.measured.packets, "packet"));
    if calibration > 0 {
        text.push_str(&format!(" after {}", counted(calibration, "calibration packet")));
    }
    match document.measured {
        QtcpSent {
            duration_ns: Some(time),
            rate_octets_per_s: Some(rate),
            rate_packets_per_s: Some(packets),
            ..
        } => {
            text.push_str(&format!(
                " in {}: {:.3} kB/s, {packets:.2} packets/s\n",
                Duration::from_nanos(time).rounded(),
                rate / 1_000.0
            ));
        }
        _ => text.push_str("\nTime interval too short for valid measurement.\n"),
    }
    match document.end {
        QtcpSenderEnd::AllSent => {}
        QtcpSenderEnd::ReceiverEnded => {
            text.push_str("The receiver ended the test before all packets were sent.\n");
        }
        QtcpSenderEnd::Interrupted => text.push_str("Partial: the test was interrupted.\n"),
    }
    text
}

fn receiver_summary(evaluation: &Evaluation, no_losses: bool) -> String {
    let document = &evaluation.document;
    let mut text = format!("Received {} buffers\n", document.all.packets);
    if document.calibration_packets > 0 {
        text.push_str(&phase("all packets", &document.all));
        text.push_str(&phase("without calibration", &document.measured));
    } else {
        text.push_str(&phase("all packets", &document.all));
    }
    if let Some(skew) = document.skew_ppm {
        text.push_str(&format!("skew {skew:+.3} ppm removed ({})\n", document.skew_method));
    }
    let lost = &evaluation.statistics.lost;
    if !no_losses && !lost.is_empty() {
        text.push_str(&format!("Dropped packets: {}\n", ranges(lost)));
    }
    match document.end {
        QtcpReceiverEnd::Keyboard => text.push_str("Partial: the user ended the test.\n"),
        QtcpReceiverEnd::Interrupted => text.push_str("Partial: the test was interrupted.\n"),
        QtcpReceiverEnd::LogFull => text.push_str("Partial: there was no memory for further packets.\n"),
        QtcpReceiverEnd::SenderStopped => {
            text.push_str("Partial: the sender ended the test before all packets were sent.\n");
        }
        QtcpReceiverEnd::Quota | QtcpReceiverEnd::Termination | QtcpReceiverEnd::Done => {}
    }
    text
}

/// A line about a phase.
fn phase(name: &str, received: &QtcpReceived) -> String {
    let QtcpReceived { packets, duplicated, lost, loss_ratio, rate_octets_per_s, queuing_delay_ns } =
        *received;
    let mut text = format!("{name}: {packets} received, {lost} lost");
    if let Some(ratio) = loss_ratio {
        text.push_str(&format!(" ({:.2} %)", ratio * 100.0));
    }
    if duplicated > 0 {
        text.push_str(&format!(", {duplicated} duplicated"));
    }
    if let Some(rate) = rate_octets_per_s {
        text.push_str(&format!(", {:.3} kB/s", rate / 1_000.0));
    }
    if let Some(delay) = queuing_delay_ns {
        let [median, p99, max] =
            [delay.median, delay.p99, delay.max].map(|nanos| Duration::from_nanos_f64(nanos).rounded());
        text.push_str(&format!("; queuing delay median {median}, p99 {p99}, max {max}"));
    }
    text + "\n"
}

/// Ascending numbers, as `5, 9-12`.
fn ranges(numbers: &[u64]) -> String {
    let runs: Vec<&[u64]> = numbers.chunk_by(|one, next| one.checked_add(1) == Some(*next)).collect();
    let shown = runs.iter().take(MAX_RANGES).filter_map(|run| match (run.first()?, run.last()?) {
        (first, last) if first == last => Some(first.to_string()),
        (first, last) => Some(format!("{first}-{last}")),
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    let more: usize = runs.iter().skip(MAX_RANGES).map(|run| run.len()).sum();
    if more > 0 {
        text.push_str(&format!(" and {more} more, listed in the .sta file (-f)"));
    }
    text
}

/// What a reader should know before using the figures.
fn notes(document: &QtcpReceiver) -> Vec<String> {
    let mut notes = document.skew_notes.clone();
    let stated = document.calibration_packets;
    if let Some(announced) = document.announced.as_ref().map(|traffic| traffic.calibration_packets)
        && announced != stated
    {
        notes.push(format!(
            "the sender sends {}, and -c states {stated}: state the same number on both hosts",
            counted(announced, "calibration packet")
        ));
    }
    if document.host_drops > 0 {
        notes.push(format!(
            "this host dropped {} because its receive buffer was full or their checksum was wrong; they count as lost",
            counted(document.host_drops, "datagram")
        ));
    }
    let is_stamped = [document.departure_stamps, document.arrival_stamps] == [QtcpStamps::Kernel; 2];
    let by_user = [document.departure_stamps, document.arrival_stamps] == [QtcpStamps::User; 2];
    if document.all.packets > 0 && !is_stamped && !by_user {
        notes.push(format!(
            "departures have the time stamps of the {}, arrivals those of the {}: the kernel's are not known of all packets",
            place(document.departure_stamps),
            place(document.arrival_stamps)
        ));
    }
    notes
}

const fn place(stamps: QtcpStamps) -> &'static str {
    match stamps {
        QtcpStamps::Kernel => "kernel",
        QtcpStamps::Packet => "packets",
        QtcpStamps::User => "program",
    }
}

/// The terminal of a test.
struct Terminal {
    /// Whether standard output has words.
    has_words: bool,
    is_quiet: bool,
    /// Whether a line of dots has begun.
    has_dots: bool,
    keys: Receiver<Key>,
    interrupted: Arc<AtomicBool>,
}

impl Terminal {
    fn start(arguments: &QtcpArgs) -> Result<Self, Failure> {
        let interrupted = signals::interruption()?;
        // Nobody reads ahead: what is entered without end takes no memory.
        let (sender, keys) = mpsc::sync_channel(1);
        std::thread::spawn(move || read_lines(io::stdin().lock(), &sender));
        Ok(Self {
            has_words: !arguments.quiet && arguments.json.as_deref() != Some("-"),
            is_quiet: arguments.quiet,
            has_dots: false,
            keys,
            interrupted,
        })
    }

    /// Ends a line of dots.
    fn end_line(&mut self) {
        if std::mem::take(&mut self.has_dots) {
            output::print("\n");
        }
    }

    fn line(&mut self, text: &str) {
        if self.has_words {
            self.end_line();
            output::print(&format!("{text}\n"));
        }
    }

    fn note(&mut self, text: &str) {
        if !self.is_quiet {
            self.end_line();
            output::eprint_line(&format!("note: {text}"));
        }
    }
}

impl Console for Terminal {
    fn show(&mut self, notice: Notice) {
        match notice {
            Notice::WaitingForReceiver => self.line("Initiated QoS connection. Waiting for receiver."),
            Notice::WaitingForSender => self.line("Waiting for QoS sender to initiate QoS connection."),
            Notice::Dot if self.has_words => {
                self.has_dots = true;
                output::print(".");
            }
            Notice::Dot => {}
            Notice::Prompt => {
                const PROMPT: &str = "Calibration complete. Type 'c' to continue.";
                if self.has_words {
                    self.line(PROMPT);
                } else {
                    output::eprint_line(PROMPT);
                }
            }
            Notice::ControlLost => {
                self.note("the control connection failed; the test goes on, and q and return end a receiver");
            }
            Notice::NoControl => self.note("no control connection; the test goes on without it (-W)"),
            Notice::NoKernelStamps => self.note("the kernel does not stamp packets; the program does"),
        }
    }

    fn key(&mut self) -> Option<Key> {
        self.keys.try_recv().ok()
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Acquire)
    }
}

/// Sends each line of `input`, cut to [`MAX_LINE`], and its end.
fn read_lines(input: impl Read, keys: &SyncSender<Key>) {
    let mut line = Vec::new();
    for octet in io::BufReader::new(input).bytes() {
        match octet {
            Ok(b'\n') => {
                let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
                if keys.send(Key::Line(text)).is_err() {
                    return;
                }
            }
            Ok(octet) if line.len() < MAX_LINE => line.push(octet),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    // A receiver that is gone needs no end.
    let _ = keys.send(Key::End);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in a row are one range, and a long list is cut.
    #[test]
    fn lost_numbers_are_ranges() {
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[0, 1, 5, 9, 10, 11]), "0-1, 5, 9-11");
        let many: Vec<u64> = (0..MAX_RANGES as u64 + 3).map(|n| n * 2).collect();
        assert!(ranges(&many).ends_with("396, 398 and 3 more, listed in the .sta file (-f)"));
    }

    /// Lines are read whole, long ones are cut, and the end is reported once.
    #[test]
    fn lines_are_keys() {
        let (sender, keys) = mpsc::sync_channel(10);
        read_lines(format!("q\n{}\nrest", "x".repeat(1_000)).as_bytes(), &sender);
        drop(sender);
        let keys: Vec<Key> = keys.iter().collect();
        assert_eq!(keys, [Key::Line("q".into()), Key::Line("x".repeat(MAX_LINE)), Key::End]);
    }

    /// A summary has the rate, or says why there is none.
    #[test]
    fn sender_states_its_rate() {
        let phase = QtcpSent {
            packets: 101,
            duration_ns: Some(2_000_000_000),
            rate_octets_per_s: Some(3_200.0),
            rate_packets_per_s: Some(50.0),
        };
        let mut document = QtcpSender {
            schema: String::new(),
            software: String::new(),
            address: String::new(),
            session: String::new(),
            started: String::new(),
            ended: String::new(),
            partial: false,
            end: QtcpSenderEnd::AllSent,
            requested: romer_record::qtcp::QtcpTraffic {
                payload_octets: 64,
                token_rate_octets_per_s: 3_200,
                bucket_depth_octets: 64,
                calibration_packets: 100,
                packets: Some(101),
                duration_ns: None,
            },
            all: QtcpSent { packets: 201, ..phase },
            measured: phase,
            control: true,
            kernel_stamps: true,
            max_departure_error_ns: 0,
        };
        assert_eq!(
            sender_summary(&document),
            "Sent 101 packets after 100 calibration packets in 2.00 s: 3.200 kB/s, 50.00 packets/s\n"
        );
        document.measured = QtcpSent { packets: 1, ..QtcpSent::default() };
        assert!(sender_summary(&document).contains("Time interval too short for valid measurement."));
    }
}
