//! Whether the kernel stamps packets here, and how far from its stamps a program's own would lie.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use romer_host::HostError;
use romer_host::clock::monotonic_now;
use romer_host::pacing::Pacer;
use romer_host::socket::{
    Outgoing, ReceiveBatch, Sent, SocketOptions, StampingSocket, TransmitEvents, Waker, wait_any,
};
use romer_metrics::summary;
use romer_record::doctor::{DoctorCheck, DoctorFinding, DoctorFix, Facts, LoopbackExchange};
use romer_units::Duration;

use crate::finding::{good, limited, missing};
use crate::rights::Rights;

/// Octets of payload: a STAMP test packet without more (RFC 8762, section 4.2.1).
const PAYLOAD: [u8; 44] = [0; 44];
/// How far apart the datagrams are. In between the receiver falls asleep, as it does when it waits for a path.
const INTERVAL: Duration = Duration::from_millis(1);
/// How long the last stamps may take; over loopback they are there when the send returns.
const STAMP_TIMEOUT: Duration = Duration::from_millis(100);

/// What came of sending datagrams to ourselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchange {
    sent: u32,
    received: u32,
    /// The kernel's departure stamp minus the program's, of every datagram that has one.
    departures: Vec<i64>,
    /// The program's arrival stamp minus the kernel's, of every datagram that has one.
    arrivals: Vec<i64>,
}

/// Sends `count` datagrams over loopback, over IPv4 or, where that is switched off, IPv6.
pub(crate) fn exchange(count: u32) -> Result<Exchange, HostError> {
    over(Ipv4Addr::LOCALHOST.into(), count)
        .or_else(|error| over(Ipv6Addr::LOCALHOST.into(), count).map_err(|_| error))
}

fn over(address: IpAddr, count: u32) -> Result<Exchange, HostError> {
    let options = SocketOptions::default();
    let open = || StampingSocket::bind(SocketAddr::new(address, 0), &options);
    let (sender, receiver, done) = (open()?, open()?, Waker::new()?);
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, sender.local_address(), &done));
        let sending = send(&sender, receiver.local_address(), count);
        done.wake();
        let received =
            receiving.join().unwrap_or(Err(HostError::Unsuitable("the receiving thread ended early")));
        let (mut exchange, (received, arrivals)) = (sending?, received?);
        exchange.received = received;
        exchange.arrivals = arrivals;
        Ok(exchange)
    })
}

/// Sends the datagrams and collects their departure stamps.
fn send(socket: &StampingSocket, to: SocketAddr, count: u32) -> Result<Exchange, HostError> {
    let mut sent: Vec<Sent> = Vec::with_capacity(count as usize);
    let mut departures = Vec::with_capacity(count as usize);
    let mut events = TransmitEvents::new(64);
    let mut pacer = Pacer::start(INTERVAL);
    let mut due = monotonic_now();
    for id in 0..count {
        due = due + INTERVAL;
        pacer.wait_until(due);
        sent.push(socket.send(&Outgoing::new(&PAYLOAD, to, id))?);
        collect(socket, &mut events, &sent, &mut departures)?;
    }
    let deadline = monotonic_now() + STAMP_TIMEOUT;
    while departures.len() < sent.len() && monotonic_now() < deadline {
        socket.wait(Some(deadline - monotonic_now()))?;
        collect(socket, &mut events, &sent, &mut departures)?;
    }
    Ok(Exchange { sent: count, departures, ..Exchange::default() })
}

fn collect(
    socket: &StampingSocket,
    events: &mut TransmitEvents,
    sent: &[Sent],
    departures: &mut Vec<i64>,
) -> Result<(), HostError> {
    while socket.transmit_events(events)? > 0 {
        for stamp in events.stamps() {
            if let Some(sent) = sent.get(stamp.id as usize) {
                departures.push(stamp.kernel.since(sent.user).as_nanos());
            }
        }
    }
    Ok(())
}

/// Counts what comes from `peer` until `done` is used, and takes its arrival stamps.
fn receive(socket: &StampingSocket, peer: SocketAddr, done: &Waker) -> Result<(u32, Vec<i64>), HostError> {
    use std::os::fd::AsFd;
    let (mut received, mut arrivals) = (0, Vec::new());
    let mut batch = ReceiveBatch::new(16, PAYLOAD.len());
    loop {
        let last = wait_any(&[socket.as_fd()], Some(done), None)?.woken();
        while socket.receive_batch(&mut batch)? > 0 {
            for datagram in batch.iter().filter(|datagram| datagram.peer == peer) {
                received += 1;
                arrivals.extend(datagram.kernel.map(|kernel| datagram.user.since(kernel).as_nanos()));
            }
        }
        if last {
            return Ok((received, arrivals));
        }
    }
}

/// What it means.
pub(crate) fn evaluate(exchange: &Result<Exchange, HostError>, rights: &Rights) -> DoctorFinding {
    match exchange {
        Ok(exchange) => judge_exchange(exchange),
        Err(error) => missing(
            DoctorCheck::KernelStamps(Facts::Unknown { error: error.to_string() }),
            rights.command(&["ip", "link", "set", "lo", "up"]),
        ),
    }
}

fn judge_exchange(exchange: &Exchange) -> DoctorFinding {
    let Exchange { sent, received, .. } = *exchange;
    let unstamped = |stamps: &[i64], of: u32| of.saturating_sub(u32::try_from(stamps.len()).unwrap_or(of));
    let (missing_departures, missing_arrivals) =
        (unstamped(&exchange.departures, sent), unstamped(&exchange.arrivals, received));
    let (departure, arrival) = (summary(&exchange.departures), summary(&exchange.arrivals));
    let check = DoctorCheck::KernelStamps(Facts::Known(LoopbackExchange {
        sent,
        received,
        missing_departures,
        missing_arrivals,
        departure_error_p50_ns: departure.median,
        departure_error_p99_ns: departure.p99,
        arrival_error_p50_ns: arrival.median,
        arrival_error_p99_ns: arrival.p99,
    }));
    if sent > received {
        limited(check, DoctorFix::CheckLoopback)
    } else if missing_departures == sent || missing_arrivals == received {
        missing(check, DoctorFix::RunOnHost)
    } else if missing_departures + missing_arrivals > 0 {
        limited(check, DoctorFix::TryAgain)
    } else {
        good(check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::command_of;
    use romer_record::doctor::CheckVerdict;

    fn exchange_of(sent: u32, received: u32, departures: usize, arrivals: usize) -> Exchange {
        Exchange { sent, received, departures: vec![1_000; departures], arrivals: vec![30_000; arrivals] }
    }

    /// Lost datagrams, missing time stamps and a lack of any have their own verdicts and fixes.
    #[test]
    fn missing_time_stamps() {
        for (exchange, verdict, fix) in [
            (exchange_of(200, 200, 200, 200), CheckVerdict::Good, None),
            (exchange_of(200, 200, 198, 200), CheckVerdict::Limited, Some(DoctorFix::TryAgain)),
            (exchange_of(200, 200, 200, 0), CheckVerdict::Missing, Some(DoctorFix::RunOnHost)),
            (exchange_of(200, 200, 0, 200), CheckVerdict::Missing, Some(DoctorFix::RunOnHost)),
            (exchange_of(200, 150, 200, 150), CheckVerdict::Limited, Some(DoctorFix::CheckLoopback)),
        ] {
            let finding = judge_exchange(&exchange);
            assert_eq!((finding.verdict, &finding.fix), (verdict, &fix), "{finding:?}");
        }
        let finding = judge_exchange(&exchange_of(200, 190, 188, 187));
        let DoctorCheck::KernelStamps(Facts::Known(facts)) = &finding.check else { panic!("{finding:?}") };
        assert_eq!((facts.missing_departures, facts.missing_arrivals), (12, 3));
        assert_eq!((facts.departure_error_p50_ns, facts.arrival_error_p99_ns), (Some(1e3), Some(3e4)));
    }

    #[test]
    fn a_loopback_that_does_not_work_is_a_finding() {
        let error = HostError::Unsuitable("network is unreachable");
        let finding = evaluate(&Err(error), &Rights::of_anybody());
        assert_eq!(finding.verdict, CheckVerdict::Missing);
        assert_eq!(command_of(&finding), "sudo ip link set lo up");
    }

    #[test]
    fn datagrams_over_loopback_are_counted_one_by_one() {
        let exchange = exchange(20).unwrap();
        assert_eq!((exchange.sent, exchange.received), (20, 20));
        assert!(exchange.departures.len() <= 20 && exchange.arrivals.len() <= 20);
    }
}
