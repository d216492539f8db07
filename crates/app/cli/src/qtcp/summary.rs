//! What the ends of a live test print.

use romer_qtcp::Evaluation;
use romer_record::qtcp::{
    QtcpReceived, QtcpReceiver, QtcpReceiverEnd, QtcpReservation, QtcpReservationState, QtcpSender,
    QtcpSenderEnd, QtcpSent, QtcpStamps,
};
use romer_report::warning::Text;
use romer_units::{Duration, counted};

/// Ranges of lost numbers that the terminal shows.
const MAX_RANGES: usize = 200;

/// What a sender prints at its end.
pub(super) fn sender_summary(document: &QtcpSender) -> String {
    let mut text = match &document.reservation {
        Some(_) if document.all.packets == 0 => "No packets were sent.\n".to_owned(),
        _ => sent_summary(document),
    };
    if let Some(control) = &document.traffic_control
        && control.non_conforming_packets > 0
    {
        let packets = counted(control.non_conforming_packets, "packet");
        text.push_str(&format!("{packets} did not conform to the token bucket.\n"));
    }
    text.extend(document.reservation.as_ref().map(reservation_summary));
    match document.end {
        QtcpSenderEnd::AllSent | QtcpSenderEnd::Released => {}
        QtcpSenderEnd::ReceiverEnded => {
            text.push_str("The receiver ended the test before all packets were sent.\n");
        }
        QtcpSenderEnd::Interrupted => text.push_str("Partial: the test was interrupted.\n"),
    }
    text
}

/// A line about a reservation.
fn reservation_summary(reservation: &QtcpReservation) -> String {
    let rate = reservation.rate_octets_per_s.map_or_else(String::new, |rate| format!(", {rate:.1} bytes/s"));
    let bound = reservation.path.and_then(|path| path.delay_bound_ns).map_or_else(String::new, |nanos| {
        format!(", queueing delay at most {}", Duration::from_nanos(nanos).rounded())
    });
    let state = match reservation.state {
        QtcpReservationState::Reserved => return format!("Reserved: {}{rate}{bound}\n", reservation.service),
        QtcpReservationState::Requested => {
            return format!("Requested, not confirmed: {}{rate}{bound}\n", reservation.service);
        }
        QtcpReservationState::Lost => "it was removed, or not refreshed, before the end",
        QtcpReservationState::None => "none arrived in time",
        QtcpReservationState::Unavailable => "an end of the test cannot reserve",
    };
    format!("No reservation: {state}\n")
}

/// What was sent, at which rate.
fn sent_summary(document: &QtcpSender) -> String {
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
    text
}

/// What a receiver prints at its end.
pub(super) fn receiver_summary(evaluation: &Evaluation, no_losses: bool) -> String {
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
    text.extend(document.reservation.as_ref().map(reservation_summary));
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
pub(super) fn notes(document: &QtcpReceiver) -> Vec<String> {
    let mut notes: Vec<String> = document.skew_notes.iter().map(Text::text).collect();
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
            "departures have the time stamps of the {}, arrivals those of the {}: kernel time stamps are missing for some packets",
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

#[cfg(test)]
mod tests {
    use romer_record::service::Service;

    use super::*;

    /// Numbers in a row are one range, and a long list is cut.
    #[test]
    fn lost_numbers_are_ranges() {
        assert_eq!(ranges(&[5]), "5");
        assert_eq!(ranges(&[0, 1, 5, 9, 10, 11]), "0-1, 5, 9-11");
        let many: Vec<u64> = (0..MAX_RANGES as u64 + 3).map(|n| n * 2).collect();
        assert!(ranges(&many).ends_with("396, 398 and 3 more, listed in the .sta file (-f)"));
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
            traffic_control: None,
            reservation: None,
        };
        assert_eq!(
            sender_summary(&document),
            "Sent 101 packets after 100 calibration packets in 2.00 s: 3.200 kB/s, 50.00 packets/s\n"
        );
        document.measured = QtcpSent { packets: 1, ..QtcpSent::default() };
        assert!(sender_summary(&document).contains("Time interval too short for valid measurement."));
        document.reservation = Some(QtcpReservation {
            state: QtcpReservationState::Reserved,
            rate_octets_per_s: Some(4_312.5),
            ..QtcpReservation::new(Service::Guaranteed)
        });
        assert!(sender_summary(&document).ends_with("measurement.\nReserved: guaranteed, 4312.5 bytes/s\n"));
        document.all = QtcpSent::default();
        assert_eq!(
            sender_summary(&document),
            "No packets were sent.\nReserved: guaranteed, 4312.5 bytes/s\n"
        );
    }
}
