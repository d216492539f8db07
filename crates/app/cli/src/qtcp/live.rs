//! The live tests of `romer qtcp`: `-t` and `-r`.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};

use romer_analyze::qtcp::method;
use romer_endpoint::circumstances;
use romer_endpoint::names::{Family, Target};
use romer_exchange::qtcp::{Selection, normalise, write};
use romer_host::clock::monotonic_now;
use romer_host::ending;
use romer_qtcp::{
    Console, Evaluation, Key, Notice, QtcpError, ReceiveOptions, ReservationEvent, SendOptions,
    ServiceOptions, evaluate, receive, send, service_level,
};
use romer_qtcp_protocol::{
    DEFAULT_PACKETS, DEFAULT_PORT, MAX_PACKETS, Quota, ReceiverPlan, ReservationPlan, SenderPlan,
};
use romer_record::Exit;
use romer_record::qtcp::{QtcpReceiverEnd, QtcpSenderEnd};
use romer_record::service::Service;
use romer_report::escape;
use romer_rsvp::{PayloadTraffic, QosService, ReceiverAction, SenderAction, Tspec};
use romer_traffic::TokenBucket;

use crate::args::{QtcpArgs, ServiceArg};
use crate::failure::Failure;
use crate::qtcp::summary::{notes, receiver_summary, sender_summary};
use crate::reservation::{self, LineLimit, Words, precise};
use crate::{confinement, marks, output, signals};

/// Payload of a packet in octets (Qtcp, option `-l`).
const DEFAULT_PAYLOAD: u32 = 1_472;
/// Token rate in octets per second (Qtcp, option `-R`).
const DEFAULT_RATE: u64 = 100_000;
/// Octets of a line of standard input that are read; `c` and `q` are two.
const MAX_LINE: usize = 64;

impl From<QtcpError> for Failure {
    fn from(error: QtcpError) -> Self {
        Self::with_exit(error.exit(), error)
    }
}

/// Sends a test to `target`.
pub(super) fn transmit(target: &Target, arguments: &QtcpArgs) -> Result<Exit, Failure> {
    let service = requested_service(arguments)?;
    let plan = sender_plan(arguments, service)?;
    let service = service.map(|service| service_options(arguments, &plan, service)).transpose()?;
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
    let mut addresses = target.addresses(Family::Any, port)?;
    if service.is_some() {
        addresses.retain(SocketAddr::is_ipv4);
    }
    if addresses.is_empty() {
        return Err(Failure::usage(format!(
            "no IPv4 address (-t {}): RSVP reserves for IPv4 addresses; give one, or remove -S and -v",
            escape::terminal(&target.text)
        )));
    }
    let mut terminal = Terminal::start(arguments)?;
    confinement::start(&confinement::of_end([arguments.json.as_deref().map(Path::new)]));
    let options = SendOptions { addresses, plan, compressible: arguments.compressible, service };
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
    let named = arguments.files.iter().flat_map(|prefix| files(prefix)).collect::<Vec<_>>();
    let written = named.iter().map(String::as_str).chain(arguments.json.as_deref());
    confinement::start(&confinement::of_end(written.map(|file| Some(Path::new(file)))));
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

/// The service that is requested, if one is.
fn requested_service(arguments: &QtcpArgs) -> Result<Option<QosService>, Failure> {
    let service = match arguments.service {
        Some(ServiceArg::Guaranteed) => Some(QosService::Guaranteed),
        Some(ServiceArg::ControlledLoad) => Some(QosService::ControlledLoad),
        None => arguments.reserve_only.then_some(QosService::Guaranteed),
    };
    let options = [
        ("-e", arguments.shape),
        ("-m", arguments.min_policed.is_some()),
        ("-M", arguments.max_datagram.is_some()),
        ("--marks", arguments.marks.is_some()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if service.is_none() => Err(Failure::usage(format!(
            "no service ({option}): the option describes a service or its reservation; add one, e.g. -S GR"
        ))),
        _ => Ok(service),
    }
}

/// What is announced of a flow of this plan, and how it is marked.
fn service_options(
    arguments: &QtcpArgs,
    plan: &SenderPlan,
    service: QosService,
) -> Result<ServiceOptions, Failure> {
    let size = u64::from(plan.size);
    let [min_policed, max_datagram] =
        [arguments.min_policed, arguments.max_datagram].map(|given| given.unwrap_or(size));
    if max_datagram < size {
        return Err(Failure::usage(format!(
            "largest datagram too small (-M {max_datagram}): packets have {size} bytes (-l); use -M {size} or more"
        )));
    }
    let octets = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let traffic = PayloadTraffic {
        payload: plan.size,
        rate: precise(plan.bucket.bits_per_second() / 8),
        bucket: precise(plan.bucket.depth()),
        policed_unit: octets(min_policed),
        packet_size: octets(max_datagram),
    };
    let tspec = Tspec::prorated(&traffic).map_err(|error| {
        Failure::usage(format!(
            "the traffic cannot be announced (-R, -B, -m {min_policed}, -M {max_datagram}): {error}; use -m {size} and -M {size}"
        ))
    })?;
    let table = marks::table(arguments.marks.as_deref())?;
    let levels = [service_level(service), Service::NonConforming];
    Ok(ServiceOptions { service, tspec, marks: levels.map(|level| table.marks(level)) })
}

fn sender_plan(arguments: &QtcpArgs, service: Option<QosService>) -> Result<SenderPlan, Failure> {
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
        shape: arguments.shape || service != Some(QosService::ControlledLoad),
        reservation: service.map(|service| ReservationPlan { service, only: arguments.reserve_only }),
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

/// The terminal of a test.
struct Terminal {
    /// Whether standard output has words.
    has_words: bool,
    is_quiet: bool,
    /// Whether a line of dots has begun.
    has_dots: bool,
    /// Whether the sender waits for its reservation.
    waits: bool,
    /// Bounds the lines about reservations.
    lines: LineLimit,
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
            waits: !arguments.no_wait,
            lines: LineLimit::new(monotonic_now()),
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

    /// A line that the user must see.
    fn prompt(&mut self, text: &str) {
        if self.has_words {
            self.line(text);
        } else {
            output::eprint_line(text);
        }
    }

    /// What the user reads of a reservation. What becomes the error of the program is left out.
    fn words(&self, event: &ReservationEvent) -> Vec<Words> {
        let note = |text: String| vec![Words::Note(text)];
        match event {
            ReservationEvent::Announced { source, receiver, tspec, mtu } => {
                let line = Words::Line(reservation::announcement(*source, &receiver.to_string(), tspec));
                let fragments = reservation::fragments_note(tspec.packet_size(), *mtu);
                std::iter::once(line).chain(fragments.map(Words::Note)).collect()
            }
            ReservationEvent::Sender(SenderAction::NoReservation) if !self.waits => note(
                "no receiver has reserved within 30 s; the test continues without a reservation (-W)".into(),
            ),
            ReservationEvent::Sender(action) => reservation::sender_words(action).into_iter().collect(),
            ReservationEvent::Receiver(ReceiverAction::NoPath) => note(
                "no flow was announced within 30 s; check that no firewall or router drops IP protocol 46"
                    .into(),
            ),
            ReservationEvent::Receiver(action) => reservation::receiver_words(action),
            ReservationEvent::Failure(failure) => note(failure.to_string()),
            ReservationEvent::Refused(error) => note(format!("the reservation is refused: {error}")),
            ReservationEvent::ReceiverCannot if !self.waits => {
                note("the receiver cannot reserve; the test continues without a reservation (-W)".into())
            }
            ReservationEvent::ReceiverCannot => Vec::new(),
            ReservationEvent::Cannot(error) => {
                note(format!("{error}; the test continues without a reservation"))
            }
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
            Notice::Prompt => self.prompt("Calibration complete. Type 'c' to continue."),
            Notice::Holding => self.prompt("Holding the reservation. Press return to remove it."),
            Notice::ControlLost => {
                self.note(
                    "the control connection failed; the test continues, and q and return end a receiver",
                );
            }
            Notice::NoControl => self.note("no control connection; the test continues without it (-W)"),
            Notice::NoKernelStamps => self.note("the kernel does not stamp packets; the program does"),
        }
    }

    fn show_reservation(&mut self, event: &ReservationEvent) {
        let words = self.words(event);
        for words in self.lines.select(words) {
            match words {
                Words::Line(text) => self.line(&text),
                Words::Note(text) => self.note(&text),
            }
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

    /// Lines are read whole, long ones are cut, and the end is reported once.
    #[test]
    fn lines_are_keys() {
        let (sender, keys) = mpsc::sync_channel(10);
        read_lines(format!("q\n{}\nrest", "x".repeat(1_000)).as_bytes(), &sender);
        drop(sender);
        let keys: Vec<Key> = keys.iter().collect();
        assert_eq!(keys, [Key::Line("q".into()), Key::Line("x".repeat(MAX_LINE)), Key::End]);
    }
}
