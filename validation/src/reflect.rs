//! The round trip that a user sees, with replies from the kernel and from the thread of the responder, in one run: each probe of
//! one is followed by a probe of the other.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, bail};
use romer_host::netns;
use romer_respond::{RespondOptions, Responder};
use romer_units::Prefix;
use romer_wire::stamp::{BASE, ErrorEstimate, SenderPacket, TimestampFormat, WireTime};
use serde::Serialize;

use crate::figures::Lateness;
use crate::hosts::{FAR, Hosts, NEAR};
use crate::romer_runner::Interrupted;

/// Ports of the two responders: by their thread, and in the kernel.
const PORTS: [u16; 2] = [862, 8_620];
/// A reply that takes longer is lost.
const PATIENCE: StdDuration = StdDuration::from_secs(1);
/// Probes between two looks at the interrupt.
const BLOCK: u64 = 1_000;

/// Round trips of both, as a blocking socket sees them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Reflected {
    /// Probes to each.
    pub(crate) probes: u64,
    /// Where the program in the kernel was: `xdp-native` or `xdp-generic`.
    pub(crate) mode: String,
    /// Replies by the thread of the responder, from the send call to the return of the receive call.
    pub(crate) user_space: Lateness,
    /// The same in the kernel.
    pub(crate) kernel: Lateness,
    /// Probes without a reply: by the thread, in the kernel.
    pub(crate) lost: [u64; 2],
    /// Replies that the program counted.
    pub(crate) counted: u64,
}

impl Reflected {
    /// Median in the kernel, divided by that of the thread.
    pub(crate) fn ratio(&self) -> f64 {
        self.kernel.p50_ns / self.user_space.p50_ns
    }
}

/// Sends `probes` to each of two responders on the far host. `None` where the kernel takes no program from this user.
pub(crate) fn run(
    hosts: &Hosts,
    probes: u64,
    interrupted: &AtomicBool,
    say: &impl Fn(&str),
) -> Result<Option<Reflected>> {
    let allowed: Prefix = format!("{NEAR}/24").parse().map_err(anyhow::Error::msg)?;
    // All limits are in effect.
    let start = |place: usize, in_kernel| {
        let options = RespondOptions {
            listen: vec![(FAR, PORTS[place]).into()],
            control: vec![(FAR, 8_862 + u16::try_from(place)?).into()],
            allow: vec![allowed],
            least_ttl: 64,
            rate: 10_000_000,
            in_kernel,
            ..RespondOptions::default()
        };
        anyhow::Ok(netns::with_namespace(&hosts.far, || Responder::start(&options))?)
    };
    let by_thread = start(0, false)?.context("cannot start the responder")?;
    let in_kernel = match start(1, true)? {
        Ok(responder) => responder,
        Err(error) => {
            say(&format!("note: the kernel does not reflect here ({error}): it is left out"));
            return Ok(None);
        }
    };
    let mode = in_kernel.kernel_interfaces().map(|(_, mode)| mode.to_owned()).next().unwrap_or_default();
    let sockets = [socket(hosts, PORTS[0])?, socket(hosts, PORTS[1])?];
    let mut trips = [Vec::new(), Vec::new()];
    let mut lost = [0; 2];
    for sequence in 0..probes {
        if sequence % BLOCK == 0 && interrupted.load(Ordering::Relaxed) {
            bail!(Interrupted);
        }
        let request = request(u32::try_from(sequence % (1 << 32))?)?;
        for ((socket, trips), lost) in sockets.iter().zip(&mut trips).zip(&mut lost) {
            match round_trip(socket, &request)? {
                Some(length) => trips.push(i64::try_from(length.as_nanos())?),
                None => *lost += 1,
            }
        }
    }
    let [user_space, kernel] = trips.map(|trips| Lateness::from_values(&trips));
    let (Some(user_space), Some(kernel)) = (user_space, kernel) else { bail!("no probe was answered") };
    let counted = in_kernel.totals().in_kernel.reflected;
    drop((by_thread, in_kernel));
    let found = Reflected { probes, mode, user_space, kernel, lost, counted };
    say(&crate::page::reflect::progress_reflected(&found));
    Ok(Some(found))
}

/// A socket of the near host, connected to this port of the far one.
fn socket(hosts: &Hosts, port: u16) -> Result<UdpSocket> {
    let far = SocketAddr::from((FAR, port));
    let socket =
        netns::with_namespace(&hosts.near, || UdpSocket::bind((NEAR, 0)))?.context("cannot open a socket")?;
    socket.connect(far).context("cannot connect a socket")?;
    socket.set_read_timeout(Some(PATIENCE)).context("cannot set a timeout")?;
    Ok(socket)
}

fn request(sequence: u32) -> Result<[u8; BASE]> {
    let error = ErrorEstimate::new(false, TimestampFormat::Ntp, 32, 1).context("no valid error estimate")?;
    // Nobody reads its time of departure: the round trip is measured by one clock here.
    let packet = SenderPacket { sequence, timestamp: WireTime(0), error, ssid: None };
    let mut octets = [0; BASE];
    packet.emit(&mut octets)?;
    Ok(octets)
}

/// Sends a request and waits for the reply of its sequence number; `None` where none comes.
fn round_trip(socket: &UdpSocket, request: &[u8]) -> Result<Option<StdDuration>> {
    let mut reply = [0; 2 * BASE];
    let begin = Instant::now();
    socket.send(request).context("cannot send a probe")?;
    loop {
        match socket.recv(&mut reply) {
            // One that was given up may still come.
            Ok(_) if reply.get(..4) != request.get(..4) => {}
            Ok(_) => return Ok(Some(begin.elapsed())),
            Err(_) => return Ok(None),
        }
    }
}
