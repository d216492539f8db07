//! Traces: Pham 2004's fates, mahimahi's delivery opportunities, and packet logs of measurements.

use romer_impair::config::LONGEST_DELAY;
use romer_impair::trace::{Between, By, Trace, read_mahimahi, read_measurement, read_pham};

use crate::{Seed, assert_message};

/// The longest message: what was written is cut before it is shown.
const LONGEST_MESSAGE: usize = 1_000;

pub(crate) fn run(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    match read_pham(text) {
        Ok(traces) => traces.iter().for_each(|trace| assert_sound(trace)),
        Err(error) => assert_message(&error, LONGEST_MESSAGE),
    }
    match read_mahimahi(text) {
        Ok(trace) => assert_sound(&trace),
        Err(error) => assert_message(&error, LONGEST_MESSAGE),
    }
    for (reverse, by) in
        [(false, By::Packet), (true, By::Time(Between::Linear)), (true, By::Time(Between::Hold))]
    {
        match read_measurement(text, reverse, by, 1_000) {
            Ok(trace) => assert_sound(&trace),
            Err(error) => assert_message(&error, LONGEST_MESSAGE),
        }
    }
}

/// No trace holds a packet longer than anything may.
fn assert_sound(trace: &Trace) {
    assert!((0..=LONGEST_DELAY).contains(&trace.longest_delay()), "{}", trace.longest_delay());
}

pub(crate) fn seeds() -> Vec<Seed> {
    [
        ("empty", ""),
        ("pham", "1,0,1,0,30000\n2,1,0,2,0\n2,0,0,0,5\n"),
        ("pham_one_port", "1,0,0,0,1\n"),
        ("pham_comment", "# port,loss,dup,distance,delay\n1,0,0,0,1\r\n2,0,0,0,1\r\n"),
        ("pham_few_columns", "1,0,1,0\n"),
        ("pham_loss_maybe", "1,maybe,1,0,30000\n2,0,0,0,0\n"),
        ("pham_delay_too_long", "1,0,0,0,99999999999\n2,0,0,0,0\n"),
        ("pham_copies", "1,0,1000000000,0,0\n2,0,0,0,0\n"),
        ("mahimahi", "0\n5\n5\n20\n"),
        ("mahimahi_back", "10\n5\n"),
        ("mahimahi_period_of_nothing", "0\n"),
        ("mahimahi_far", "9223372036854775807\n"),
        ("measurement", "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n0,9,1000,500,600,1900\n1,9,2000,,,\n"),
        ("measurement_one_way", "sequence,size,sent_ns,received_ns\n0,44,1000,21000\n1,44,2000,\n"),
        ("measurement_reordered", "sequence,size,sent_ns,received_ns\n1,44,2000,9000\n0,44,1000,21000\n"),
        (
            "measurement_far",
            "sequence,size,sent_ns,received_ns\n0,44,-9223372036854775808,9223372036854775807\n",
        ),
        ("words", "a letter to a friend\n"),
        ("control_characters", "1,\u{1b}[31m,0,0,0\n"),
        ("decimal_comma", "1;0;0;0;1,5\n"),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into()
}
