//! Whether the kernel stamps packets here, and how far from its stamps a program's own would lie.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use romer_host::HostError;
use romer_host::clock::monotonic_now;
use romer_host::pacing::Pacer;
use romer_host::socket::{
    Outgoing, ReceiveBatch, Sent, SocketOptions, StampingSocket, TransmitEvents, Waker, wait_any,
};
use romer_metrics::summary;
use romer_record::document::{DoctorFinding, Summary};
use romer_units::Duration;

use crate::finding::{WithValue, good, limited, missing};
use crate::rights::Rights;

const NAME: &str = "kernel_stamps";
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
            NAME,
            format!("Cannot send datagrams over loopback: {error}."),
            "Kernel time stamps were not tested, and a responder on this host is unreachable.",
            rights.command("ip link set lo up"),
        ),
    }
}

fn judge_exchange(exchange: &Exchange) -> DoctorFinding {
    let Exchange { sent, received, .. } = *exchange;
    let unstamped = |stamps: &[i64], of: u32| of.saturating_sub(u32::try_from(stamps.len()).unwrap_or(of));
    let (no_departure, no_arrival) =
        (unstamped(&exchange.departures, sent), unstamped(&exchange.arrivals, received));
    let (departure, arrival) = (summary(&exchange.departures), summary(&exchange.arrivals));
    let finding = if sent > received {
        limited(
            NAME,
            format!("{} of {sent} datagrams over loopback were lost.", sent - received),
            "This host drops packets itself, which count as losses of the path.",
            "Check packet filters on the loopback interface, and free memory.",
        )
    } else if no_departure == sent || no_arrival == received {
        missing(
            NAME,
            format!(
                "Kernel time stamps for {} departures and {} arrivals of {sent}.",
                sent - no_departure,
                received - no_arrival
            ),
            "Delays use user-space time stamps, which include scheduling delays.",
            "Run romer on the host itself: this sandbox has no kernel time stamps.",
        )
    } else if no_departure + no_arrival > 0 {
        limited(
            NAME,
            format!(
                "Of {sent} datagrams, {no_departure} had no departure time stamp and {no_arrival} no arrival time stamp."
            ),
            "Packets without a kernel time stamp are counted, and excluded from delays.",
            "Try again: time stamps are lost on a host without free memory or processor time.",
        )
    } else {
        good(
            NAME,
            format!(
                "Kernel (SO_TIMESTAMPING) time stamps for all {sent} datagrams over loopback. User-space time stamps \
                 would add {} on arrival and {} on departure.",
                middle_and_tail(&arrival),
                middle_and_tail(&departure)
            ),
            "Delays do not include scheduling delays of romer.",
        )
    };
    let finding = finding
        .value("sent", sent)
        .value("received", received)
        .value("missing_departures", no_departure)
        .value("missing_arrivals", no_arrival);
    [("departure", departure), ("arrival", arrival)].into_iter().fold(finding, |finding, (name, error)| {
        finding
            .value(&format!("{name}_error_p50_ns"), error.median)
            .value(&format!("{name}_error_p99_ns"), error.p99)
    })
}

fn middle_and_tail(error: &Summary) -> String {
    let text = |value: Option<f64>| {
        value.map_or_else(|| "?".into(), |value| Duration::from_nanos_f64(value).rounded())
    };
    format!("{} (p99 {})", text(error.median), text(error.p99))
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::document::CheckVerdict;

    fn exchange_of(sent: u32, received: u32, departures: usize, arrivals: usize) -> Exchange {
        Exchange { sent, received, departures: vec![1_000; departures], arrivals: vec![30_000; arrivals] }
    }

    #[test]
    fn each_way_of_missing_stamps_is_told_from_the_others() {
        for (exchange, verdict, says) in [
            (exchange_of(200, 200, 200, 200), CheckVerdict::Good, "all 200 datagrams"),
            (
                exchange_of(200, 200, 198, 200),
                CheckVerdict::Limited,
                "2 had no departure time stamp and 0 no arrival",
            ),
            (exchange_of(200, 200, 200, 0), CheckVerdict::Missing, "200 departures and 0 arrivals"),
            (exchange_of(200, 200, 0, 200), CheckVerdict::Missing, "0 departures and 200 arrivals"),
            (exchange_of(200, 150, 200, 150), CheckVerdict::Limited, "50 of 200 datagrams"),
        ] {
            let finding = judge_exchange(&exchange);
            assert_eq!(finding.verdict, verdict, "{finding:?}");
            assert!(finding.observed.contains(says), "{}", finding.observed);
        }
    }

    #[test]
    fn a_loopback_that_does_not_work_is_a_finding() {
        let error = HostError::Unsuitable("network is unreachable");
        let finding = evaluate(&Err(error), &Rights::of_anybody());
        assert_eq!(finding.verdict, CheckVerdict::Missing);
        assert_eq!(finding.fix.unwrap(), "sudo ip link set lo up");
    }

    #[test]
    fn datagrams_over_loopback_are_counted_one_by_one() {
        let exchange = exchange(20).unwrap();
        assert_eq!((exchange.sent, exchange.received), (20, 20));
        assert!(exchange.departures.len() <= 20 && exchange.arrivals.len() <= 20);
    }
}
