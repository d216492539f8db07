//! Packets and control lines of live Qtcp tests, and the receiver that they arrive at.

use romer_qtcp_protocol::{
    HEADER_LEN, LineBuffer, Packet, Quota, Receiver, ReceiverMessage, ReceiverPlan, SenderMessage,
};
use romer_units::{Monotonic, Timestamp};

use crate::{Seed, assert_message};

/// The longest message of an error.
const LONGEST_MESSAGE: usize = 100;

pub(crate) fn run(octets: &[u8]) {
    let now = Timestamp::<Monotonic>::from_nanos(0);
    let plan = ReceiverPlan { calibration: 0, quota: Quota::Packets(100), kernel_stamps: true, wait: false };
    let mut receiver = Receiver::new(plan);
    for datagram in octets.chunks(HEADER_LEN) {
        let Some(packet) = Packet::read(datagram) else { continue };
        let mut written = [0; HEADER_LEN];
        packet.write(&mut written);
        // The arrival time stamp is not read.
        assert_eq!((&written[..24], &written[32..]), (&datagram[..24], &datagram[32..HEADER_LEN]));
        receiver.packet(&packet, now);
    }
    let mut lines = LineBuffer::default();
    lines.push(octets);
    let end = loop {
        match lines.next_line() {
            Ok(Some(line)) => message(&line, &mut receiver, now),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    end.iter().for_each(|error| assert_message(error, LONGEST_MESSAGE));
    receiver.poll(now);
    assert!(receiver.received() <= receiver.expected());
}

/// A line is a message that is written as it is read, or an error.
fn message(line: &str, receiver: &mut Receiver, now: Timestamp<Monotonic>) {
    match line.parse::<SenderMessage>() {
        Ok(message) => {
            assert_eq!(message.to_string().parse(), Ok(message.clone()));
            match message {
                SenderMessage::Test(offer) => drop(receiver.offered(offer, now).to_string()),
                other => receiver.message(&other, now),
            }
        }
        Err(error) => assert_message(&error, LONGEST_MESSAGE),
    }
    if let Ok(message) = line.parse::<ReceiverMessage>() {
        assert_eq!(message.to_string().parse(), Ok(message));
    }
}

/// A header with this kind and number.
fn header(kind: u8, sequence: u64) -> Vec<u8> {
    let mut octets = vec![b'Q', b'T', b'C', b'P', 1, kind, 0, 0];
    octets.extend([sequence, 17, 0, 16, 5].iter().flat_map(|number: &u64| number.to_be_bytes()));
    octets
}

pub(crate) fn seeds() -> Vec<Seed> {
    vec![
        Seed::new("empty", []),
        Seed::new("measured", header(1, 7)),
        Seed::new("calibration", header(0, 0)),
        Seed::new("termination", [header(1, 0), header(2, 9)].concat()),
        Seed::new("largest_number", header(1, u64::MAX)),
        Seed::new("short", &header(1, 7)[..47]),
        Seed::new(
            "offer",
            "TEST session=0123456789abcdef size=64 calibration=9 packets=20 rate=3000 depth=64\n",
        ),
        Seed::new("stamps", "CALIBRATED\nMEASURING\nSTAMPS 0 12 - 7\nDONE packets=3\r\n"),
        Seed::new("receiver", "READY stamps=kernel\nBUSY\nENDED received=9\n"),
        Seed::new("endless", [b'x'; 2_100]),
    ]
}
