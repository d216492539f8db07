//! The packet log as other programs read and write it.
//!
//! A header line, then a line for each round trip: `sequence,size,t1_ns,t2_ns,t3_ns,t4_ns` and the program's own
//! stamps of the same moments, `user_t1_ns,user_t2_ns,user_t3_ns,user_t4_ns`. `t1` and `t4` are on the sender's
//! clock, `t2` and `t3` on the responder's; nanoseconds since 1970-01-01 UTC. An empty field is a packet that did
//! not get so far (or, more rarely, a stamp that is missing); duplicates repeat the sequence number.

use std::io::{self, Write};

use romer_record::document::StampPlaces;
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Place};

/// The header line.
pub const HEADER: &str = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns,user_t1_ns,user_t2_ns,user_t3_ns,user_t4_ns";

/// From which place each of the four stamps is taken; `None` for what the reflected packet tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// Left the sender.
    pub t1: Option<Place>,
    /// Arrived at the responder.
    pub t2: Option<Place>,
    /// Left the responder.
    pub t3: Option<Place>,
    /// Came back to the sender.
    pub t4: Option<Place>,
}

impl From<&StampPlaces> for Places {
    fn from(places: &StampPlaces) -> Self {
        Self {
            t1: places.sender_departure,
            t2: places.responder_arrival,
            t3: places.responder_departure,
            t4: places.sender_arrival,
        }
    }
}

/// Writes the round trips of one stream. Probes that the host itself refused to send are left out: a line for one
/// would be taken for a loss.
///
/// # Errors
/// Of `out`.
pub fn round_trips(out: &mut impl Write, rows: &[RoundTrip], places: Places) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    for row in rows.iter().filter(|row| !row.not_sent) {
        write!(out, "{},{}", row.sequence, row.size)?;
        let best = [
            nanos(&row.t1, places.t1),
            nanos(&row.t2, places.t2),
            nanos(&row.t3, places.t3),
            nanos(&row.t4, places.t4),
        ];
        let user = Some(Place::User);
        let by_program =
            [nanos(&row.t1, user), nanos(&row.t2, user), nanos(&row.t3, user), nanos(&row.t4, user)];
        for stamp in best.into_iter().chain(by_program) {
            match stamp {
                Some(stamp) => write!(out, ",{stamp}")?,
                None => out.write_all(b",")?,
            }
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn nanos<C: Clock>(stamps: &Stamps<C>, place: Option<Place>) -> Option<i64> {
    stamps.at(place).map(|stamp| stamp.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_units::Timestamp;

    #[test]
    fn a_loss_is_an_empty_field_and_a_duplicate_repeats_its_number() {
        let mut back = RoundTrip { sequence: 0, size: 44, returned: true, ..RoundTrip::default() };
        back.t1.kernel = Some(Timestamp::from_nanos(100));
        back.t1.user = Some(Timestamp::from_nanos(90));
        back.t2.told = Some(Timestamp::from_nanos(-5));
        back.t3.told = Some(Timestamp::from_nanos(7));
        back.t4.kernel = Some(Timestamp::from_nanos(300));
        let mut lost = RoundTrip { sequence: 1, size: 44, ..RoundTrip::default() };
        lost.t1.kernel = Some(Timestamp::from_nanos(1_100));
        let refused = RoundTrip { sequence: 2, not_sent: true, ..RoundTrip::default() };
        let rows = [back, RoundTrip { copy: 1, ..back }, lost, refused];
        let kernel = Some(Place::Kernel);
        let mut out = Vec::new();
        round_trips(&mut out, &rows, Places { t1: kernel, t2: None, t3: None, t4: kernel }).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("{HEADER}\n0,44,100,-5,7,300,90,,,\n0,44,100,-5,7,300,90,,,\n1,44,1100,,,,,,,\n")
        );
    }
}
