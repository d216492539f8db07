//! The round trip by in-packet stamps, beside the kernel's stamps of sockets and those of user space, of the same probes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use romer_bpf::stamper::{PacketStamper, StampingEnd};
use romer_endpoint::in_packet::atomic_ahead;
use romer_host::link::Network;
use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket, TransmitEvents};
use romer_host::{HostError, host_info, netns};
use romer_metrics::summary;
use romer_units::Duration;
use romer_wire::stamp::in_packet::{InPacketStamps, SHORTEST, emit};
use serde::Serialize;

use crate::hosts::{FAR, Hosts, NEAR};
use crate::romer_runner::Interrupted;

/// Port of the echo.
const PORT: u16 = 7_007;
/// A reply that takes longer is lost.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);
/// The longest wait for a datagram between two looks at the time.
const WAIT: Duration = Duration::from_millis(20);
/// Probes between two looks at the interrupt.
const BLOCK: u32 = 1_000;

/// Round trips of the same probes by each kind of stamps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Stamped {
    /// Probes.
    pub(crate) probes: u32,
    /// Probes without a reply.
    pub(crate) lost: u32,
    /// Datagrams that a kernel of the two hosts dropped because of a wrong checksum.
    pub(crate) checksum_errors: u64,
    /// Round trips by in-packet stamps.
    pub(crate) program: Deviation,
    /// By the kernel's stamps of the sockets (SO_TIMESTAMPING).
    pub(crate) kernel: Deviation,
    /// By user space.
    pub(crate) user: Deviation,
}

impl Stamped {
    /// Interquartile range by in-packet stamps, divided by that of user space.
    pub(crate) fn ratio(&self) -> f64 {
        self.program.iqr_ns / self.user.iqr_ns
    }
}

/// A distribution of round trips, without the time at the echo.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Deviation {
    pub(crate) count: u64,
    pub(crate) p50_ns: f64,
    pub(crate) iqr_ns: f64,
    pub(crate) stddev_ns: f64,
    pub(crate) max_ns: f64,
}

impl Deviation {
    fn from_values(values: &[i64]) -> Option<Self> {
        let summary = summary(values);
        Some(Self {
            count: summary.count,
            p50_ns: summary.median?,
            iqr_ns: summary.iqr?,
            stddev_ns: summary.stddev?,
            max_ns: summary.max?,
        })
    }
}

/// An arrival and a departure at one end, as its socket and its program saw them.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    departure: Stamps,
    arrival: Stamps,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stamps {
    kernel: Option<i64>,
    user: Option<i64>,
}

/// A round trip: away from one end, less the stay at the other.
fn round_trip(near: &Moments, far: &Moments, stamp: impl Fn(&Stamps) -> Option<i64>) -> Option<i64> {
    let away = stamp(&near.arrival)? - stamp(&near.departure)?;
    Some(away - (stamp(&far.departure)? - stamp(&far.arrival)?))
}

/// Sends `probes` to an echo of UDP on the far host. `None` where the kernel takes no program from this user. The links have no
/// offloads of checksums afterwards: each is computed by the sender and verified by the receiver.
pub(crate) fn run(
    hosts: &Hosts,
    probes: u32,
    interrupted: &AtomicBool,
    say: &impl Fn(&str),
) -> Result<Option<Stamped>> {
    Network::open(Some(&hosts.near))?.disable_offloads("v0")?;
    Network::open(Some(&hosts.far))?.disable_offloads("v1")?;
    let target = SocketAddr::from((FAR, PORT));
    let near = socket(&hosts.near, (NEAR, 0).into())?;
    let far = socket(&hosts.far, target)?;
    let programs = [
        (&hosts.near, StampingEnd::Initiator, near.local_address(), "v0"),
        (&hosts.far, StampingEnd::Responder, target, "v1"),
    ]
    .map(|(host, end, own, link)| -> Result<PacketStamper, HostError> {
        netns::with_namespace(host, || {
            PacketStamper::attach(end, &[own], atomic_ahead(), &[link.to_owned()])
        })?
    });
    let [initiator, responder] = programs;
    let _programs = match (initiator, responder) {
        (Ok(initiator), Ok(responder)) => [initiator, responder],
        (Err(error), _) | (_, Err(error)) => {
            say(&format!("note: the kernel does not stamp packets here ({error}): it is left out"));
            return Ok(None);
        }
    };
    let before = checksum_errors(hosts)?;
    let stop = AtomicBool::new(false);
    let (sent, echoed) = std::thread::scope(|scope| {
        let echo = scope.spawn(|| echo(&far, probes, &stop));
        let sent = send_all(&near, target, probes, interrupted);
        stop.store(true, Ordering::Release);
        let echoed = echo.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the echo has failed")));
        (sent, echoed)
    });
    let (sent, echoed) = (sent?, echoed?);
    let pairs = || sent.moments.iter().zip(&echoed);
    let by = |stamp: fn(&Stamps) -> Option<i64>| -> Result<Deviation> {
        let trips: Vec<i64> = pairs().filter_map(|(near, far)| round_trip(near, far, stamp)).collect();
        Deviation::from_values(&trips).context("no probe was answered")
    };
    let found = Stamped {
        probes,
        lost: sent.lost,
        checksum_errors: checksum_errors(hosts)? - before,
        program: Deviation::from_values(&sent.by_program).context("no probe has in-packet stamps")?,
        kernel: by(|stamps| stamps.kernel)?,
        user: by(|stamps| stamps.user)?,
    };
    say(&crate::page::in_packet::progress(&found));
    Ok(Some(found))
}

fn socket(host: &str, address: SocketAddr) -> Result<StampingSocket> {
    let options = SocketOptions::default();
    netns::with_namespace(host, || StampingSocket::bind(address, &options))?.context("cannot open a socket")
}

/// Datagrams that both hosts have dropped because of a wrong checksum.
fn checksum_errors(hosts: &Hosts) -> Result<u64> {
    let of = |host: &str| anyhow::Ok(netns::with_namespace(host, host_info::udp_checksum_errors)??);
    Ok(of(&hosts.near)? + of(&hosts.far)?)
}

/// What the near end saw.
struct Near {
    moments: Vec<Moments>,
    by_program: Vec<i64>,
    lost: u32,
}

fn send_all(
    socket: &StampingSocket,
    target: SocketAddr,
    probes: u32,
    interrupted: &AtomicBool,
) -> Result<Near> {
    let count = usize::try_from(probes)?;
    let mut near =
        Near { moments: vec![Moments::default(); count], by_program: Vec::with_capacity(count), lost: 0 };
    let mut request = [0; SHORTEST];
    emit(&mut request);
    let (mut batch, mut events) = (ReceiveBatch::new(1, SHORTEST), TransmitEvents::new(64));
    for number in 0..probes {
        if number % BLOCK == 0 && interrupted.load(Ordering::Relaxed) {
            bail!(Interrupted);
        }
        request[..4].copy_from_slice(&number.to_be_bytes());
        let sent = socket.send(&Outgoing::new(&request, target, number)).context("cannot send a probe")?;
        let deadline = Instant::now() + PATIENCE;
        let mut returned = None;
        while returned.is_none() && Instant::now() < deadline {
            socket.wait(Some(WAIT))?;
            if socket.receive_batch(&mut batch)? > 0 {
                returned = batch.iter().next().filter(|datagram| datagram.payload[..4] == request[..4]).map(
                    |datagram| {
                        let kernel = datagram.kernel.map(|at| at.as_nanos());
                        let user = Some(datagram.user.as_nanos());
                        (Stamps { kernel, user }, InPacketStamps::parse(datagram.payload))
                    },
                );
            }
            note_departures(socket, &mut events, &mut near.moments)?;
        }
        let Some((arrival, stamps)) = returned else {
            near.lost += 1;
            continue;
        };
        if let Some(moments) = near.moments.get_mut(usize::try_from(number)?) {
            moments.departure.user = Some(sent.user.as_nanos());
            moments.arrival = arrival;
        }
        if let Some(InPacketStamps { t1: Some(t1), t2: Some(t2), t3: Some(t3), t4: Some(t4) }) = stamps {
            near.by_program.push((t4 - t1) - (t3 - t2));
        }
    }
    Ok(near)
}

/// Returns every datagram as it came.
fn echo(socket: &StampingSocket, probes: u32, stop: &AtomicBool) -> Result<Vec<Moments>> {
    let mut moments = vec![Moments::default(); usize::try_from(probes)?];
    let (mut batch, mut events) = (ReceiveBatch::new(1, SHORTEST), TransmitEvents::new(64));
    while !stop.load(Ordering::Acquire) {
        socket.wait(Some(WAIT))?;
        if socket.receive_batch(&mut batch)? > 0 {
            for datagram in batch.iter() {
                let number = datagram.payload.first_chunk().map_or(0, |first| u32::from_be_bytes(*first));
                let sent = socket.send(&Outgoing::new(datagram.payload, datagram.peer, number))?;
                if let Some(moments) = moments.get_mut(usize::try_from(number)?) {
                    moments.departure.user = Some(sent.user.as_nanos());
                    moments.arrival.user = Some(datagram.user.as_nanos());
                    moments.arrival.kernel = datagram.kernel.map(|at| at.as_nanos());
                }
            }
        }
        note_departures(socket, &mut events, &mut moments)?;
    }
    Ok(moments)
}

/// Notes the kernel's stamps of departures that have come meanwhile.
fn note_departures(
    socket: &StampingSocket,
    events: &mut TransmitEvents,
    moments: &mut [Moments],
) -> Result<()> {
    while socket.transmit_events(events)? > 0 {
        for stamp in events.stamps() {
            if let Some(moments) = moments.get_mut(usize::try_from(stamp.id)?) {
                moments.departure.kernel = Some(stamp.kernel.as_nanos());
            }
        }
    }
    Ok(())
}
