//! The receiver of a test.

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::SystemTime;

use romer_endpoint::EndpointError;
use romer_host::HostError;
use romer_host::clock::monotonic_now;
use romer_host::socket::{MAX_WAITED, ReceiveBatch, SocketOptions, StampingSocket, wait_any};
use romer_host::stream;
use romer_qtcp_protocol::{
    HEADER_LEN, MAX_PACKETS, Packet, Quota, Receiver, ReceiverEnd, ReceiverMessage, ReceiverPlan,
    ReceiverStep, SenderMessage, Taken, TestOffer,
};
use romer_record::qtcp::QtcpReservation;
use romer_rsvp::ReceiverAction;
use romer_session::network::ClientNetwork;
use romer_store::memory;
use romer_units::{Duration, Monotonic, Timestamp};

use crate::console::{Console, Key, Notice, ReservationEvent};
use crate::control::Conversation;
use crate::error::QtcpError;
use crate::reserve::ReceiverReservation;

/// The longest wait without a look at the user.
const SLICE: Duration = Duration::from_millis(100);
/// Batches of a socket before the other sockets and the user are looked at.
const ROUNDS: usize = 16;
/// Connections that have not offered a test yet. Beyond it, the network that has most of them loses its oldest.
const MAX_STRANGERS: usize = 8;
/// How long such a connection may take.
const OFFER_TIMEOUT: Duration = Duration::from_secs(10);
/// Programs that wait for the calibration.
const MAX_WAITING: usize = 8;
/// New connections before anything else is looked at.
const MAX_ACCEPTED: usize = 64;
/// Lines of the control connection before anything else is looked at.
const MAX_LINES: usize = 1_024;
/// Packets behind the last one that arrived of which time stamps are stored: queues of the path may hold that many.
const QUEUED: u64 = 1 << 16;
/// Octets of the receive buffer that is requested.
const RECEIVE_BUFFER: u32 = 16 << 20;

/// What is received, and where.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveOptions {
    /// The port for UDP and TCP; 0 lets the system choose both.
    pub port: u16,
    /// The test.
    pub plan: ReceiverPlan,
}

/// A packet that arrived. Departures are units of 100 ns on the sender's clock, arrivals nanoseconds on this host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub sequence: u64,
    /// Octets of UDP payload.
    pub size: u32,
    /// Departure as the packet states it.
    pub sent: i64,
    /// Departure by the program's time stamp.
    pub user: i64,
    /// Arrival by the kernel's time stamp, if it took one.
    pub kernel_arrival_ns: Option<i64>,
    /// Arrival by the program's time stamp.
    pub user_arrival_ns: i64,
}

/// What a receiver has of a test.
#[derive(Clone, Debug)]
pub struct Received {
    /// Why it ended.
    pub end: ReceiverEnd,
    /// Whether the sender ended it before it had sent what it announced.
    pub is_cut_short: bool,
    /// The packets in order of arrival, copies included.
    pub arrivals: Vec<Arrival>,
    /// How much later than the program's time stamp the kernel's was taken at the sender, by sequence number; as far as it is known.
    pub offsets: Vec<Option<u32>>,
    /// The number after the last packet that should have arrived.
    pub expected: u64,
    /// The session, if anything arrived.
    pub session: Option<u64>,
    /// What the sender announced.
    pub offer: Option<TestOffer>,
    /// Where packets came from.
    pub address: Option<SocketAddr>,
    /// Datagrams that this host dropped.
    pub host_drops: u64,
    /// Datagrams that do not belong to the test.
    pub ignored: u64,
    /// What is known of the reservation, if the sender requested one.
    pub reservation: Option<QtcpReservation>,
    /// When the receiver was ready.
    pub started: SystemTime,
    /// When the test ended.
    pub ended: SystemTime,
}

/// Runs the receiver of a test to its end.
///
/// # Errors
/// [`QtcpError`].
pub fn receive(options: &ReceiveOptions, console: &mut dyn Console) -> Result<Received, QtcpError> {
    let mut session = Session::open(options, console)?;
    let started = SystemTime::now();
    session.console.show(Notice::WaitingForSender);
    let end = session.run();
    // The reservation is removed, whatever the end.
    let reservation = session.reservation.take().map(ReceiverReservation::stop);
    let end = end?;
    let drops = session.sockets.iter().filter_map(|socket| socket.kernel_drops().ok()).map(u64::from);
    Ok(Received {
        end,
        is_cut_short: session.machine.is_cut_short(),
        expected: session.machine.expected(),
        session: session.machine.session(),
        offer: session.machine.offer(),
        address: session.address,
        host_drops: drops.sum(),
        ignored: session.ignored,
        reservation,
        started,
        ended: SystemTime::now(),
        arrivals: session.arrivals,
        offsets: session.offsets,
    })
}

/// A connection that has not offered a test.
struct Stranger {
    conversation: Conversation,
    network: ClientNetwork,
    since: Timestamp<Monotonic>,
}

struct Session<'a> {
    console: &'a mut dyn Console,
    machine: Receiver,
    sockets: Vec<StampingSocket>,
    listeners: Vec<TcpListener>,
    strangers: Vec<Stranger>,
    /// Connections of programs that wait for the calibration.
    waiting: Vec<Conversation>,
    control: Option<Conversation>,
    reservation: Option<ReceiverReservation>,
    batch: ReceiveBatch,
    arrivals: Vec<Arrival>,
    offsets: Vec<Option<u32>>,
    address: Option<SocketAddr>,
    /// Copies that are still recorded.
    copies_left: u64,
    /// Packets of which there is memory, copies included.
    most_arrivals: u64,
    ignored: u64,
    has_ended: bool,
}

impl<'a> Session<'a> {
    fn open(options: &ReceiveOptions, console: &'a mut dyn Console) -> Result<Self, QtcpError> {
        let plan = options.plan;
        let most_arrivals = most_arrivals(&plan, memory::available())?;
        let mut arrivals: Vec<Arrival> = Vec::new();
        let mut room = MAX_PACKETS;
        if let Quota::Packets(_) = plan.quota {
            room = requested(&plan);
            let octets = room.saturating_mul(memory::OF_A_ROW);
            arrivals
                .try_reserve_exact(usize::try_from(room).unwrap_or(usize::MAX))
                .map_err(|_| QtcpError::LogBuffer { octets })?;
        }
        let mut sockets = Vec::new();
        let mut listeners = Vec::new();
        let mut is_unstamped = false;
        let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        for address in any.map(|ip| SocketAddr::new(ip, options.port)) {
            // The port that the system chose for one family and protocol is used for the others.
            let port = sockets.first().map(|socket: &StampingSocket| socket.local_address().port());
            let address = SocketAddr::new(address.ip(), port.unwrap_or(address.port()));
            match open_at(address) {
                Ok((socket, listener)) => {
                    is_unstamped |= !socket.has_kernel_stamps();
                    sockets.push(socket);
                    listeners.push(listener);
                }
                // A host without IPv6.
                Err(_) if address.is_ipv6() && !sockets.is_empty() => {}
                Err(error) => {
                    return Err(EndpointError::host(
                        "listen at",
                        address.to_string(),
                        "use a free port on both hosts (-p)",
                        error,
                    )
                    .into());
                }
            }
        }
        if is_unstamped {
            console.show(Notice::NoKernelStamps);
        }
        Ok(Self {
            console,
            machine: Receiver::new(plan),
            sockets,
            listeners,
            strangers: Vec::new(),
            waiting: Vec::new(),
            control: None,
            reservation: None,
            batch: ReceiveBatch::new(64, HEADER_LEN),
            arrivals,
            offsets: Vec::new(),
            address: None,
            copies_left: room,
            most_arrivals,
            ignored: 0,
            has_ended: false,
        })
    }

    fn run(&mut self) -> Result<ReceiverEnd, QtcpError> {
        loop {
            let now = monotonic_now();
            if self.console.is_interrupted() {
                self.machine.end_by(ReceiverEnd::Interrupted, now);
            }
            while let Some(key) = self.console.key() {
                if matches!(key, Key::Line(line) if line.trim() == "q") {
                    self.machine.end_by(ReceiverEnd::Keyboard, now);
                }
            }
            // Before the packets that depend on it: after a pause of the host both have arrived.
            self.poll_reservation();
            self.read_packets()?;
            self.accept();
            self.read_control();
            self.announce_calibration();
            match self.machine.poll(monotonic_now()) {
                ReceiverStep::Wait(until) => self.wait(until)?,
                ReceiverStep::Write(message) => {
                    self.has_ended = true;
                    if let Some(control) = &mut self.control {
                        control.write(&message);
                    }
                }
                ReceiverStep::Ended(end) => return Ok(end),
            }
        }
    }

    fn wait(&self, until: Option<Timestamp<Monotonic>>) -> Result<(), QtcpError> {
        let left = until.map_or(SLICE, |until| (until - monotonic_now()).min(SLICE));
        let sockets = self.sockets.iter().map(AsFd::as_fd);
        let listeners = self.listeners.iter().map(AsFd::as_fd);
        let strangers = self.strangers.iter().map(|stranger| stranger.conversation.as_fd());
        let waiting = self.waiting.iter().map(AsFd::as_fd);
        let control = self.control.iter().map(AsFd::as_fd);
        let all: Vec<BorrowedFd<'_>> = sockets
            .chain(listeners)
            .chain(strangers)
            .chain(waiting)
            .chain(control)
            .take(MAX_WAITED)
            .collect();
        wait_any(&all, None, Some(left)).map_err(|error| host("wait for packets at", error))?;
        Ok(())
    }

    fn read_packets(&mut self) -> Result<(), QtcpError> {
        for place in 0..self.sockets.len() {
            for _ in 0..ROUNDS {
                let count = self.sockets[place]
                    .receive_batch(&mut self.batch)
                    .map_err(|error| host("receive packets at", error))?;
                self.take_batch();
                if count < self.batch.capacity() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Records the packets of the batch.
    fn take_batch(&mut self) {
        let now = monotonic_now();
        for datagram in self.batch.iter() {
            let Some(packet) = Packet::read(datagram.payload) else {
                self.ignored += 1;
                continue;
            };
            let taken = self.machine.packet(&packet, now);
            match taken {
                Taken::Termination => continue,
                Taken::Ignored => {
                    self.ignored += 1;
                    continue;
                }
                Taken::Duplicate if self.copies_left == 0 => {
                    self.ignored += 1;
                    continue;
                }
                Taken::Duplicate => self.copies_left -= 1,
                Taken::New => {}
            }
            self.address.get_or_insert(datagram.peer);
            if self.arrivals.len() as u64 >= self.most_arrivals || self.arrivals.try_reserve(1).is_err() {
                self.machine.end_by(ReceiverEnd::LogFull, now);
                continue;
            }
            self.arrivals.push(Arrival {
                sequence: packet.sequence,
                size: u32::try_from(datagram.length).unwrap_or(u32::MAX),
                sent: packet.sent,
                user: packet.user,
                kernel_arrival_ns: datagram.kernel.map(|stamp| stamp.as_nanos()),
                user_arrival_ns: datagram.user.as_nanos(),
            });
            // The first dot is shown with the first packet.
            if taken == Taken::New && self.machine.received() % 100 == 1 {
                self.console.show(Notice::Dot);
            }
        }
    }

    fn accept(&mut self) {
        let now = monotonic_now();
        for listener in &self.listeners {
            for _ in 0..MAX_ACCEPTED {
                let Ok((stream, peer)) = listener.accept() else { break };
                let Ok(conversation) = Conversation::new(stream) else { continue };
                let network = ClientNetwork::from_address(peer.ip());
                self.strangers.push(Stranger { conversation, network, since: now });
                if self.strangers.len() > MAX_STRANGERS {
                    let networks: Vec<_> = self.strangers.iter().map(|stranger| stranger.network).collect();
                    self.strangers.remove(most_crowded(&networks));
                }
            }
        }
        for mut stranger in std::mem::take(&mut self.strangers) {
            let Some(line) = stranger.conversation.next_line() else {
                if stranger.conversation.is_open() && now - stranger.since < OFFER_TIMEOUT {
                    self.strangers.push(stranger);
                }
                continue;
            };
            let offer = match line.parse() {
                Ok(SenderMessage::Test(offer)) => offer,
                Ok(SenderMessage::Await) => {
                    self.await_calibration(stranger.conversation);
                    continue;
                }
                _ => continue,
            };
            let answer = self.machine.offered(offer, now);
            if answer == ReceiverMessage::Busy {
                stranger.conversation.write(&answer);
                stranger.conversation.finish();
                continue;
            }
            // The sender announces its flow as soon as it reads the answer.
            let can_reserve = self.reserve(&offer, &stranger.conversation);
            stranger.conversation.write(&answer);
            if !can_reserve {
                stranger.conversation.write(&ReceiverMessage::CannotReserve);
            }
            self.control = Some(stranger.conversation);
        }
    }

    /// Reserves what the sender requests, in place of what an earlier one did. Whether this host can.
    fn reserve(&mut self, offer: &TestOffer, control: &Conversation) -> bool {
        if let Some(earlier) = self.reservation.take() {
            earlier.stop();
        }
        let (Some(service), Ok([local, peer])) = (offer.service, control.addresses()) else { return true };
        let (reservation, error) = ReceiverReservation::start(service, local, peer.ip().to_canonical());
        self.reservation = Some(reservation);
        let can_reserve = error.is_none();
        if let Some(error) = error {
            self.console.show_reservation(&ReservationEvent::Cannot(error));
        }
        can_reserve
    }

    fn poll_reservation(&mut self) {
        // What the sender removes after the end is no loss.
        let Some(reservation) = self.reservation.as_mut().filter(|_| !self.has_ended) else { return };
        for event in reservation.poll(monotonic_now()) {
            if let ReservationEvent::Receiver(ReceiverAction::ReservationError(source, error)) = &event
                && reservation.refused(*source, error)
                && let Some(control) = &mut self.control
            {
                control.write(&ReceiverMessage::Refused(*error));
            }
            self.console.show_reservation(&event);
        }
    }

    /// Lets a program wait for the calibration, if not too many do.
    fn await_calibration(&mut self, mut program: Conversation) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push(program);
        } else {
            program.write(&ReceiverMessage::Busy);
            program.finish();
        }
    }

    /// Answers those who wait for the calibration, once it is complete. Who writes something else or closes its connection waits no
    /// more.
    fn announce_calibration(&mut self) {
        self.waiting.retain_mut(|waiting| waiting.next_line().is_none() && waiting.is_open());
        if self.machine.is_calibrated() {
            for mut waiting in self.waiting.drain(..) {
                waiting.write(&ReceiverMessage::Calibrated);
                waiting.finish();
            }
        }
    }

    fn read_control(&mut self) {
        let Some(control) = &mut self.control else { return };
        control.flush();
        for _ in 0..MAX_LINES {
            let Some(line) = control.next_line() else {
                if !control.is_open() {
                    self.lose_control();
                }
                return;
            };
            let Ok(message) = line.parse::<SenderMessage>() else {
                self.lose_control();
                return;
            };
            if let SenderMessage::Stamps { first, offsets } = &message {
                store(&mut self.offsets, *first, offsets, self.machine.expected().saturating_add(QUEUED));
            }
            self.machine.message(&message, monotonic_now());
            self.has_ended |= matches!(message, SenderMessage::Done { .. });
        }
    }

    fn lose_control(&mut self) {
        self.control = None;
        self.machine.control_lost();
        if !self.has_ended {
            self.console.show(Notice::ControlLost);
        }
    }
}

/// Packets that the receiver expects, calibration packets included; of a time, none.
fn requested(plan: &ReceiverPlan) -> u64 {
    match plan.quota {
        Quota::Packets(packets) => packets.saturating_add(plan.calibration).min(MAX_PACKETS),
        Quota::Time(_) => 0,
    }
}

/// The packets of which this host has memory, with `available` octets of it (`None`: unknown), until they are evaluated.
fn most_arrivals(plan: &ReceiverPlan, available: Option<u64>) -> Result<u64, QtcpError> {
    let most = available.map_or(u64::MAX, |octets| octets / memory::OF_A_ROW);
    let requested = requested(plan);
    if requested > most {
        return Err(QtcpError::LogBuffer { octets: requested.saturating_mul(memory::OF_A_ROW) });
    }
    Ok(most)
}

/// The place of the oldest connection of the network that has most of them. Connections are in order of age.
fn most_crowded(networks: &[ClientNetwork]) -> usize {
    let count = |network: ClientNetwork| networks.iter().filter(|other| **other == network).count();
    let places = networks.iter().enumerate();
    places.max_by_key(|(place, network)| (count(**network), Reverse(*place))).map_or(0, |(place, _)| place)
}

/// Stores the offsets of consecutive packets from number `first` on, of those below `expected`.
fn store(known: &mut Vec<Option<u32>>, first: u64, offsets: &[Option<u32>], expected: u64) {
    let room = expected.saturating_sub(first);
    let offsets = offsets.get(..usize::try_from(room).unwrap_or(usize::MAX)).unwrap_or(offsets);
    if offsets.is_empty() {
        return;
    }
    let begin = usize::try_from(first).unwrap_or(usize::MAX);
    let Some(end) = begin.checked_add(offsets.len()) else { return };
    if known.len() < end {
        known.resize(end, None);
    }
    if let Some(places) = known.get_mut(begin..end) {
        places.copy_from_slice(offsets);
    }
}

/// Opens a port for packets, with kernel time stamps if the system takes them, and for control connections.
fn open_at(address: SocketAddr) -> Result<(StampingSocket, TcpListener), HostError> {
    let stamped = SocketOptions { receive_buffer: RECEIVE_BUFFER, ..SocketOptions::default() };
    let plain = SocketOptions { kernel_stamps: false, ..stamped.clone() };
    let socket =
        StampingSocket::bind(address, &stamped).or_else(|_| StampingSocket::bind(address, &plain))?;
    let listener = stream::listen(socket.local_address())?;
    Ok((socket, listener))
}

fn host(what: &'static str, error: HostError) -> QtcpError {
    EndpointError::host(what, "receiver", "see `romer doctor`", error).into()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpStream;

    use super::*;

    /// Offsets have the places of their packets; those of packets that did not arrive take no memory.
    #[test]
    fn offsets_have_places() {
        let mut known = Vec::new();
        store(&mut known, 2, &[Some(5), None], 10);
        store(&mut known, 0, &[Some(1)], 10);
        assert_eq!(known, [Some(1), None, Some(5), None]);
        store(&mut known, MAX_PACKETS - 1, &[Some(9)], 10);
        store(&mut known, u64::MAX, &[Some(9)], 10);
        assert_eq!(known.len(), 4);
        store(&mut known, 4, &[Some(6), Some(7), Some(8)], 5);
        assert_eq!(known[4..], [Some(6)]);
    }
    /// A crowd replaces its own connections, and the oldest first; those of other networks stay.
    #[test]
    fn crowds_replace_their_own() {
        let crowded = |networks: &[u8]| {
            let network = |third: &u8| ClientNetwork::from_address(Ipv4Addr::new(192, 0, *third, 1).into());
            most_crowded(&networks.iter().map(network).collect::<Vec<_>>())
        };
        assert_eq!(crowded(&[1, 1, 1, 2]), 0);
        assert_eq!(crowded(&[2, 1, 3, 1, 1]), 1);
        assert_eq!(crowded(&[3, 2, 1]), 0, "the oldest of all, if no network has more");
    }

    /// A log that does not fit into the memory of the host is refused; a test of a time ends when the memory is full.
    #[test]
    fn logs_fit_into_memory() {
        let plan = |quota| ReceiverPlan { calibration: 10, quota, kernel_stamps: true, wait: true };
        let packets = plan(Quota::Packets(90));
        assert_eq!(most_arrivals(&packets, Some(100 * memory::OF_A_ROW)).unwrap(), 100);
        let refused = most_arrivals(&packets, Some(100 * memory::OF_A_ROW - 1));
        assert!(matches!(refused, Err(QtcpError::LogBuffer { octets }) if octets == 100 * memory::OF_A_ROW));
        let time = plan(Quota::Time(Duration::from_secs(1)));
        assert_eq!(most_arrivals(&time, Some(memory::OF_A_ROW)).unwrap(), 1);
        assert_eq!(most_arrivals(&packets, None).unwrap(), u64::MAX);
    }

    /// A user who enters nothing.
    struct Nobody;

    impl Console for Nobody {
        fn show(&mut self, _: Notice) {}

        fn show_reservation(&mut self, _: &ReservationEvent) {}

        fn key(&mut self) -> Option<Key> {
            None
        }

        fn is_interrupted(&self) -> bool {
            false
        }
    }

    /// A sender that writes without end does not keep the receiver from packets and its user: a turn reads a bounded number of lines,
    /// and later turns read the rest.
    #[test]
    fn lines_of_a_turn_are_bounded() {
        let plan =
            ReceiverPlan { calibration: 0, quota: Quota::Packets(10), kernel_stamps: true, wait: true };
        let mut console = Nobody;
        let mut session = Session::open(&ReceiveOptions { port: 0, plan }, &mut console).unwrap();
        let port = session.sockets[0].local_address().port();
        let mut sender = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let offer = "TEST session=0123456789abcdef size=64 calibration=0 packets=9 rate=3000 depth=64\n";
        let lines = format!("{offer}{}DONE\n", "MEASURING\n".repeat(MAX_LINES));
        sender.write_all(lines.as_bytes()).unwrap();
        while session.control.is_none() {
            session.accept();
        }
        session.read_control();
        assert!(!session.has_ended);
        while !session.has_ended {
            session.read_control();
        }
        assert!(session.control.is_some(), "the connection is open");
    }
}
