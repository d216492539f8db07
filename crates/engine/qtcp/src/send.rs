//! The sender of a test.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::SystemTime;

use romer_endpoint::EndpointError;
use romer_exchange::qtcp::UNIT_NS;
use romer_host::HostError;
use romer_host::clock::{monotonic_now, realtime_now, rfc3339};
use romer_host::host_info::unspecified;
use romer_host::pacing::Pacer;
use romer_host::socket::{Outgoing, PathErrorKind, SocketOptions, StampingSocket, TransmitEvents, wait_any};
use romer_host::stream::{self, Origin};
use romer_qtcp_protocol::message::STAMPS_PER_LINE;
use romer_qtcp_protocol::{
    HEADER_LEN, Packet, PacketKind, ReceiverMessage, Sender, SenderEnd, SenderInput, SenderMessage,
    SenderPlan, SenderStep,
};
use romer_record::SOFTWARE;
use romer_record::qtcp::{QTCP_SENDER, QtcpSender, QtcpSenderEnd};
use romer_rsvp::SenderAction;
use romer_units::{Dscp, Duration, Monotonic, Timestamp};

use crate::console::{Console, Key, Notice, ReservationEvent};
use crate::control::Conversation;
use crate::error::{NoAnswer, NoReservation, PathMtu, QtcpError, Rejection};
use crate::marking::Marking;
use crate::outcome::{sent, traffic};
use crate::payload::{fill, filling};
use crate::reserve::{SenderReservation, ServiceOptions};

/// The longest wait without a look at the user and the control connection.
const SLICE: Duration = Duration::from_millis(50);
/// Before a departure that is nearer than this nobody waits for the control connection.
const NEAR: Duration = Duration::from_millis(20);
/// Before a departure that is nearer than this there is no time to look at anything else ...
const TOO_NEAR: Duration = Duration::from_micros(200);
/// ... but after this many packets.
const BURST: u32 = 64;
/// Lines of the control connection before anything else is looked at: a receiver writes two in a test.
const MAX_LINES: usize = 16;
/// Between two attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(1);
/// How long the kernel's last time stamps may take.
const LAST_STAMPS: Duration = Duration::from_millis(200);
/// How long the control connection may take to transfer the time stamps and `DONE`, and after an interruption.
const TRANSFER: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(1)];
/// How long the receiver may then take to close the connection, and after an interruption.
const CLOSING: [Duration; 2] = [Duration::from_secs(2), Duration::from_millis(500)];
/// Departures whose time stamps may be outstanding.
const OUTSTANDING: usize = 1 << 16;
/// A departure whose kernel time stamp is unknown.
const UNKNOWN: u32 = u32::MAX;
/// The number by which time stamps of termination packets are known.
const TERMINATION_ID: u32 = u32::MAX;

/// What is sent, and where.
#[derive(Clone, Debug)]
pub struct SendOptions {
    /// The addresses of the receiver, in the order in which they are tried; at least one.
    pub addresses: Vec<SocketAddr>,
    /// The traffic.
    pub plan: SenderPlan,
    /// Payloads of zeros, which are easy to compress.
    pub compressible: bool,
    /// The service of the reservation that the plan names; `None` is best effort.
    pub service: Option<ServiceOptions>,
}

/// Runs the sender of a test to its end.
///
/// # Errors
/// [`QtcpError`].
pub fn send(options: &SendOptions, console: &mut dyn Console) -> Result<QtcpSender, QtcpError> {
    let Some(address) = options.addresses.first().copied() else {
        return Err(EndpointError::Usage("no address (-t): the receiver has none; give one".into()).into());
    };
    let reservation = options.service.as_ref().map(SenderReservation::open).transpose()?;
    console.show(Notice::WaitingForReceiver);
    let session = Session {
        options,
        console,
        machine: Sender::new(options.plan, monotonic_now()),
        address,
        attempts: 0,
        control: None,
        had_control: false,
        lost_control: false,
        attempted: None,
        no_answer: NoAnswer::Silent,
        wants_stamps: false,
        stamps: vec![0; OUTSTANDING],
        offsets: Vec::new(),
        reservation,
        marking: options.service.map(|service| Marking::new(service.marks)),
        confirmations: Confirmations::default(),
        rejection: Rejection::Unexplained,
        first: [None; 2],
        last: None,
        latest: Duration::ZERO,
        measured: 0,
    };
    session.run()
}

/// What the user entered that matters at the prompt.
#[derive(Debug, Default)]
struct Confirmations {
    continues: bool,
    has_ended: bool,
    is_prompted: bool,
    /// Whether a reservation is held, which any line ends.
    holds: bool,
}

/// The socket of the packets, and what fills them.
struct Transmitter {
    socket: StampingSocket,
    events: TransmitEvents,
    pacer: Pacer,
    payload: Vec<u8>,
    filling: Vec<u8>,
}

struct Session<'a> {
    options: &'a SendOptions,
    console: &'a mut dyn Console,
    machine: Sender,
    address: SocketAddr,
    attempts: usize,
    control: Option<Conversation>,
    had_control: bool,
    lost_control: bool,
    attempted: Option<Timestamp<Monotonic>>,
    no_answer: NoAnswer,
    wants_stamps: bool,
    /// The program's time stamps of the latest departures, by sequence number.
    stamps: Vec<i64>,
    /// How much later the kernel's are, by sequence number.
    offsets: Vec<u32>,
    reservation: Option<SenderReservation>,
    /// `None` without a service.
    marking: Option<Marking>,
    confirmations: Confirmations,
    rejection: Rejection,
    /// The first departure of both phases, and of the measured one.
    first: [Option<Timestamp<Monotonic>>; 2],
    last: Option<Timestamp<Monotonic>>,
    latest: Duration,
    measured: u64,
}

impl Session<'_> {
    /// Runs the test. Its reservation is removed, whatever its end.
    fn run(mut self) -> Result<QtcpSender, QtcpError> {
        let result = self.exchange();
        if let Some(reservation) = &mut self.reservation {
            reservation.stop();
        }
        result
    }

    fn exchange(&mut self) -> Result<QtcpSender, QtcpError> {
        let started = SystemTime::now();
        let mut transmitter: Option<Transmitter> = None;
        let mut next = None;
        loop {
            let now = monotonic_now();
            if self.console.is_interrupted() {
                self.machine.handle(SenderInput::Interrupted, now);
            }
            self.read_keys(now);
            self.read_control(now);
            self.poll_reservation(now);
            if let Some(transmitter) = &mut transmitter {
                self.read_events(transmitter, now)?;
            }
            match next.take().unwrap_or_else(|| self.machine.poll(monotonic_now())) {
                SenderStep::Wait(_) if self.machine.is_waiting() && self.control.is_none() => {
                    self.connect()?;
                }
                SenderStep::Wait(until) => self.wait(until)?,
                SenderStep::Write(message) => {
                    if let Some(control) = &mut self.control {
                        control.write(&message);
                    }
                }
                SenderStep::Prompt => {
                    self.confirmations.is_prompted = true;
                    self.console.show(Notice::Prompt);
                }
                SenderStep::Reserve => {
                    let transmitter = self.opened(&mut transmitter)?;
                    let port = transmitter.socket.local_address().port();
                    self.reserve(port)?;
                }
                SenderStep::Hold => {
                    self.confirmations =
                        Confirmations { is_prompted: true, holds: true, ..Confirmations::default() };
                    self.console.show(Notice::Holding);
                }
                SenderStep::Send { due, kind, sequence } => {
                    let transmitter = self.opened(&mut transmitter)?;
                    next = self.send_packets(transmitter, due, kind, sequence)?;
                }
                SenderStep::Ended(end) => {
                    self.finish(transmitter.as_mut(), end)?;
                    return self.outcome(end, started, transmitter.as_ref());
                }
            }
        }
    }

    fn read_keys(&mut self, now: Timestamp<Monotonic>) {
        while let Some(key) = self.console.key() {
            match key {
                Key::Line(line) if line.trim() == "c" || self.confirmations.holds => {
                    self.confirmations.continues = true;
                }
                Key::Line(_) => {}
                Key::End => self.confirmations.has_ended = true,
            }
        }
        if !self.confirmations.is_prompted {
            return;
        }
        if self.confirmations.continues {
            self.confirmations.is_prompted = false;
            self.machine.handle(SenderInput::Continue, now);
        } else if self.confirmations.has_ended {
            self.confirmations.is_prompted = false;
            self.machine.handle(SenderInput::NobodyContinues, now);
        }
    }

    /// Tries the next address. After each was tried, the test may go on without a control connection.
    fn connect(&mut self) -> Result<(), QtcpError> {
        let addresses = &self.options.addresses;
        let now = monotonic_now();
        if let Some(last) = self.attempted.filter(|_| self.attempts.is_multiple_of(addresses.len()))
            && now - last < RETRY_INTERVAL
        {
            return self.sleep(RETRY_INTERVAL - (now - last));
        }
        if let Some(address) = addresses.get(self.attempts % addresses.len()) {
            self.address = *address;
        }
        self.attempts += 1;
        self.attempted = Some(now);
        let connected = stream::connect(self.address, &Origin::default(), CONNECT_TIMEOUT);
        match connected.and_then(Conversation::new) {
            Ok(mut control) => {
                control.write(&SenderMessage::Test(self.options.plan.offer()));
                self.control = Some(control);
            }
            Err(error) => {
                self.no_answer = NoAnswer::Failed(self.address, error.to_string());
                if self.attempts.is_multiple_of(self.options.addresses.len()) {
                    self.machine.handle(SenderInput::NoControl, monotonic_now());
                }
            }
        }
        if !self.machine.is_waiting() {
            self.console.show(Notice::NoControl);
        }
        Ok(())
    }

    fn read_control(&mut self, now: Timestamp<Monotonic>) {
        let Some(control) = &mut self.control else { return };
        control.flush();
        for _ in 0..MAX_LINES {
            let Some(line) = control.next_line() else {
                if !control.is_open() {
                    self.no_answer = NoAnswer::Closed(self.address);
                    self.lose_control();
                }
                return;
            };
            match line.parse::<ReceiverMessage>() {
                Ok(ReceiverMessage::Ready { kernel_stamps }) => {
                    self.had_control = true;
                    self.wants_stamps = kernel_stamps;
                    self.machine.handle(SenderInput::Ready, now);
                }
                // It is no answer to a sender.
                Ok(ReceiverMessage::Calibrated) => {}
                Ok(ReceiverMessage::Busy) => self.machine.handle(SenderInput::Busy, now),
                Ok(ReceiverMessage::Refused(error)) => {
                    if let Some(reservation) = &mut self.reservation
                        && reservation.refused(&error)
                    {
                        self.console.show_reservation(&ReservationEvent::Refused(error));
                    }
                }
                Ok(ReceiverMessage::CannotReserve) => {
                    if let Some(reservation) = &mut self.reservation {
                        reservation.receiver_cannot();
                        self.console.show_reservation(&ReservationEvent::ReceiverCannot);
                        self.machine.handle(SenderInput::NoReservation, now);
                    }
                }
                Ok(ReceiverMessage::Ended { .. }) => self.machine.handle(SenderInput::ReceiverEnded, now),
                Err(error) => {
                    self.no_answer = NoAnswer::Failed(self.address, error.to_string());
                    self.lose_control();
                    return;
                }
            }
        }
    }

    /// Announces the flow from `port`.
    fn reserve(&mut self, port: u16) -> Result<(), QtcpError> {
        if let Some(reservation) = &mut self.reservation {
            for event in reservation.start(port, self.address)? {
                self.console.show_reservation(&event);
            }
        }
        Ok(())
    }

    fn poll_reservation(&mut self, now: Timestamp<Monotonic>) {
        let Some(reservation) = &mut self.reservation else { return };
        for event in reservation.poll(now) {
            match event {
                ReservationEvent::Sender(SenderAction::Reserved(_)) => {
                    self.machine.handle(SenderInput::Reserved, now);
                }
                ReservationEvent::Sender(SenderAction::NoReservation) => {
                    self.machine.handle(SenderInput::NoReservation, now);
                }
                _ => {}
            }
            self.console.show_reservation(&event);
        }
    }

    fn lose_control(&mut self) {
        self.control = None;
        if self.had_control && !self.lost_control {
            self.lost_control = true;
            self.console.show(Notice::ControlLost);
        }
    }

    /// Waits for the control connection, and for what the caller looks at after this.
    fn wait(&mut self, until: Option<Timestamp<Monotonic>>) -> Result<(), QtcpError> {
        let left = until.map_or(SLICE, |until| (until - monotonic_now()).min(SLICE));
        self.sleep(left)
    }

    fn sleep(&mut self, time: Duration) -> Result<(), QtcpError> {
        let control: Vec<BorrowedFd<'_>> = self.control.iter().map(AsFd::as_fd).collect();
        wait_any(&control, None, Some(time)).map_err(|error| self.host("wait for", error))?;
        Ok(())
    }

    fn host(&self, what: &'static str, error: HostError) -> QtcpError {
        EndpointError::host(what, self.address.to_string(), "see `romer doctor`", error).into()
    }

    /// The transmitter, which is opened first if there is none.
    fn opened<'t>(
        &mut self,
        transmitter: &'t mut Option<Transmitter>,
    ) -> Result<&'t mut Transmitter, QtcpError> {
        let opened = match transmitter.take() {
            Some(opened) => opened,
            None => self.open()?,
        };
        Ok(transmitter.insert(opened))
    }

    fn open(&mut self) -> Result<Transmitter, QtcpError> {
        let any = SocketAddr::new(unspecified(self.address), 0);
        let marks = self.options.service.map(|service| service.marks[0]);
        let stamped = SocketOptions {
            dont_fragment: true,
            path_errors: true,
            dscp: marks.map_or(Dscp::DEFAULT, |marks| marks.dscp),
            priority: marks.map(|marks| marks.priority),
            ..SocketOptions::default()
        };
        let socket = match StampingSocket::bind(any, &stamped) {
            Ok(socket) => socket,
            Err(_) => {
                self.console.show(Notice::NoKernelStamps);
                let plain = SocketOptions { kernel_stamps: false, ..stamped };
                StampingSocket::bind(any, &plain).map_err(|error| self.host("open a socket to", error))?
            }
        };
        let plan = &self.options.plan;
        let size = usize::try_from(plan.size).unwrap_or(usize::MAX);
        Ok(Transmitter {
            socket,
            events: TransmitEvents::new(256),
            pacer: Pacer::start(plan.bucket.interval(plan.size)),
            payload: vec![0; size],
            filling: if self.options.compressible { Vec::new() } else { filling(plan.session, size) },
        })
    }

    /// Sends the packet that is due, and those after it for which there is no time to look at anything else. Gives a step that the
    /// machine gives only once, if it came to one.
    fn send_packets(
        &mut self,
        transmitter: &mut Transmitter,
        mut due: Timestamp<Monotonic>,
        mut kind: PacketKind,
        mut sequence: u64,
    ) -> Result<Option<SenderStep>, QtcpError> {
        if due - monotonic_now() > NEAR {
            self.wait(Some(due - NEAR))?;
            return Ok(None);
        }
        for _ in 0..BURST {
            if !self.send_packet(transmitter, due, kind, sequence)? {
                return Ok(None);
            }
            let now = monotonic_now();
            match self.machine.poll(now) {
                SenderStep::Send { due: next, kind: next_kind, sequence: next_sequence }
                    if next - now < TOO_NEAR =>
                {
                    (due, kind, sequence) = (next, next_kind, next_sequence);
                }
                step @ (SenderStep::Write(_)
                | SenderStep::Prompt
                | SenderStep::Reserve
                | SenderStep::Hold) => return Ok(Some(step)),
                SenderStep::Send { .. } | SenderStep::Wait(_) | SenderStep::Ended(_) => break,
            }
        }
        Ok(None)
    }

    /// Sends one packet; whether it left.
    fn send_packet(
        &mut self,
        transmitter: &mut Transmitter,
        due: Timestamp<Monotonic>,
        kind: PacketKind,
        sequence: u64,
    ) -> Result<bool, QtcpError> {
        let wake = transmitter.pacer.wait_until(due);
        fill(&mut transmitter.payload, &transmitter.filling, sequence);
        let user = realtime_now().as_nanos() / UNIT_NS;
        let packet = Packet { kind, sequence, sent: user, user, session: self.options.plan.session };
        if let Some(header) = transmitter.payload.first_chunk_mut::<HEADER_LEN>() {
            packet.write(header);
        }
        if let Some(marking) = &mut self.marking {
            let marked = marking.apply(&transmitter.socket, self.machine.conforms(wake.at));
            marked.map_err(|error| self.host("mark packets to", error))?;
        }
        let is_termination = kind == PacketKind::Termination;
        let id = if is_termination { TERMINATION_ID } else { u32::try_from(sequence).unwrap_or(0) };
        let outgoing = Outgoing::new(&transmitter.payload, self.address, id);
        match transmitter.socket.send(&outgoing) {
            Ok(_) => {
                self.machine.sent(wake.at);
                if !is_termination {
                    if let Some(marking) = &mut self.marking {
                        marking.sent();
                    }
                    self.note_departure(kind, sequence, user, wake.at, wake.late);
                }
                Ok(true)
            }
            Err(error) if is_full(&error) => {
                self.sleep(Duration::from_millis(1))?;
                Ok(false)
            }
            Err(error) if error.is_too_long() => Err(self.too_large(0)),
            Err(error) if error.errno() == Some(HostError::UNTAKEN) => {
                self.machine.handle(SenderInput::Rejected, monotonic_now());
                Ok(false)
            }
            Err(error) => Err(self.host("send to", error)),
        }
    }

    fn note_departure(
        &mut self,
        kind: PacketKind,
        sequence: u64,
        user: i64,
        at: Timestamp<Monotonic>,
        late: Duration,
    ) {
        let place = usize::try_from(sequence).unwrap_or(0);
        if let Some(stamp) = self.stamps.get_mut(place % OUTSTANDING) {
            *stamp = user;
        }
        if self.wants_stamps {
            self.offsets.resize(place + 1, UNKNOWN);
        }
        self.first[0].get_or_insert(at);
        if kind == PacketKind::Measured {
            self.first[1].get_or_insert(at);
            self.measured += 1;
        }
        self.last = Some(at);
        self.latest = self.latest.max(late);
        if self.machine.packets().is_multiple_of(100) {
            self.console.show(Notice::Dot);
        }
    }

    fn too_large(&self, mtu: u32) -> QtcpError {
        QtcpError::TooLarge { size: self.options.plan.size, mtu: PathMtu(mtu) }
    }

    /// Takes the kernel's time stamps, and the errors of the path.
    fn read_events(
        &mut self,
        transmitter: &mut Transmitter,
        now: Timestamp<Monotonic>,
    ) -> Result<(), QtcpError> {
        loop {
            let count = transmitter.socket.transmit_events(&mut transmitter.events);
            if count.map_err(|error| self.host("read the time stamps of packets to", error))? == 0 {
                return Ok(());
            }
            for stamp in transmitter.events.stamps() {
                let place = usize::try_from(stamp.id).unwrap_or(usize::MAX);
                let user = self.stamps.get(place % OUTSTANDING).copied().unwrap_or(0);
                let offset = u32::try_from(stamp.kernel.as_nanos() / UNIT_NS - user);
                if let (Some(known), Ok(offset)) = (self.offsets.get_mut(place), offset) {
                    *known = offset;
                }
            }
            for error in transmitter.events.path_errors() {
                let by = error.reporter;
                self.rejection = match error.kind {
                    PathErrorKind::TooLong { mtu } => return Err(self.too_large(mtu)),
                    PathErrorKind::PortUnreachable => Rejection::PortClosed(by),
                    PathErrorKind::Unreachable => {
                        Rejection::Unreachable(by, error.icmp_type, error.icmp_code)
                    }
                    PathErrorKind::TimeExceeded | PathErrorKind::Other => continue,
                };
                self.machine.handle(SenderInput::Rejected, now);
            }
        }
    }

    /// Transfers the time stamps and `DONE`, and closes the control connection.
    fn finish(&mut self, transmitter: Option<&mut Transmitter>, end: SenderEnd) -> Result<(), QtcpError> {
        let hurry = usize::from(end == SenderEnd::Interrupted);
        if let Some(transmitter) = transmitter {
            let deadline = monotonic_now() + LAST_STAMPS;
            while self.wants_stamps && self.offsets.last() == Some(&UNKNOWN) && monotonic_now() < deadline {
                self.read_events(transmitter, monotonic_now())?;
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        let Some(mut control) = self.control.take() else { return Ok(()) };
        for (line, first) in self.offsets.chunks(STAMPS_PER_LINE).zip((0..).step_by(STAMPS_PER_LINE)) {
            let offsets =
                line.iter().map(|offset| Some(*offset).filter(|offset| *offset != UNKNOWN)).collect();
            control.write(&SenderMessage::Stamps { first, offsets });
        }
        control.write(&SenderMessage::Done { packets: Some(self.machine.packets()) });
        let pause = || std::thread::sleep(std::time::Duration::from_millis(5));
        let deadline = monotonic_now() + TRANSFER[hurry];
        while !control.flush() && monotonic_now() < deadline {
            pause();
        }
        control.finish();
        // Closed with unread octets, it would be reset, and DONE might be lost.
        let deadline = monotonic_now() + CLOSING[hurry];
        while control.is_open() && monotonic_now() < deadline {
            if control.next_line().is_none() {
                pause();
            }
        }
        Ok(())
    }

    fn outcome(
        &self,
        end: SenderEnd,
        started: SystemTime,
        transmitter: Option<&Transmitter>,
    ) -> Result<QtcpSender, QtcpError> {
        let address = self.address;
        let packets = self.machine.packets();
        let end = match end {
            SenderEnd::AllSent => QtcpSenderEnd::AllSent,
            SenderEnd::ReceiverEnded => QtcpSenderEnd::ReceiverEnded,
            SenderEnd::Interrupted => QtcpSenderEnd::Interrupted,
            SenderEnd::Rejected => {
                return Err(QtcpError::Rejected { address, why: self.rejection, packets });
            }
            SenderEnd::NobodyContinued => return Err(QtcpError::NobodyContinued),
            SenderEnd::NoReceiver => {
                return Err(QtcpError::NoReceiver { address, why: self.no_answer.clone() });
            }
            SenderEnd::Busy => return Err(QtcpError::Busy { address }),
            SenderEnd::Released => QtcpSenderEnd::Released,
            SenderEnd::NoReservation => {
                let missing = self.reservation.as_ref().map(SenderReservation::missing);
                let why = missing.unwrap_or(NoReservation::Silent);
                return Err(QtcpError::NoReservation { address, why });
            }
        };
        let size = self.options.plan.size;
        Ok(QtcpSender {
            schema: QTCP_SENDER.into(),
            software: SOFTWARE.into(),
            address: address.to_string(),
            session: format!("{:016x}", self.options.plan.session),
            started: rfc3339(started),
            ended: rfc3339(SystemTime::now()),
            partial: !matches!(end, QtcpSenderEnd::AllSent | QtcpSenderEnd::Released),
            end,
            requested: traffic(&self.options.plan.offer()),
            all: sent(packets, size, self.first[0], self.last),
            measured: sent(self.measured, size, self.first[1], self.last),
            control: self.had_control && !self.lost_control,
            kernel_stamps: transmitter.is_some_and(|transmitter| transmitter.socket.has_kernel_stamps()),
            max_departure_error_ns: self.latest.as_nanos(),
            traffic_control: self.marking.map(|marking| marking.document(self.options.plan.shape)),
            reservation: self.reservation.as_ref().map(|reservation| reservation.record().clone()),
        })
    }
}

/// Whether a queue of this host is full, so that the packet can be sent later.
fn is_full(error: &HostError) -> bool {
    let would_block =
        matches!(error, HostError::System { source, .. } if source.kind() == std::io::ErrorKind::WouldBlock);
    would_block || error.errno() == Some(HostError::NO_ROOM)
}
