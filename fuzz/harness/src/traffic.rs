//! Traffic expressions, departure jitter and IMIX genomes, and the schedules that they make.

use romer_traffic::{DepartureJitter, Imix, Limit, Request, Schedule, TrafficModel};
use romer_units::Duration;

use crate::{Seed, assert_message};

/// The longest message: what was written is cut before it is shown.
const LONGEST_MESSAGE: usize = 1_000;
/// Departures of a schedule that are looked at.
const DEPARTURES: usize = 2_000;
/// The largest payload of UDP over IPv6.
const LARGEST_PAYLOAD: u32 = 65_527;

/// The first line is the model, the second the jitter.
pub(crate) fn run(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    let mut lines = text.split('\n');
    let (model, jitter) = (lines.next().unwrap_or_default(), lines.next());
    if let Err(error) = model.parse::<Imix>() {
        assert_message(&error, LONGEST_MESSAGE);
    }
    let jitter = match jitter.map(str::parse::<DepartureJitter>) {
        Some(Err(error)) => return assert_message(&error, LONGEST_MESSAGE),
        Some(Ok(jitter)) => Some(jitter),
        None => None,
    };
    let model = match model.parse::<TrafficModel>() {
        Ok(model) => model,
        Err(error) => return assert_message(&error, LONGEST_MESSAGE),
    };
    // A trace is written for people: control characters of its file's name are escaped.
    if !matches!(model, TrafficModel::Trace { .. }) {
        let written = model.to_string();
        assert_eq!(written.parse().ok().as_ref(), Some(&model), "{written:?} reads as another model");
    }
    for limit in [Limit::Count(1_000), Limit::Duration(Duration::from_secs(1))] {
        for interval in [None, Some(Duration::from_millis(1)), Some(Duration::from_millis(20))] {
            let request = Request { interval, jitter, ..Request::new(model.clone(), limit) };
            match Schedule::new(&request) {
                Ok(schedule) => assert_sound(schedule),
                Err(error) => assert_message(&error, LONGEST_MESSAGE),
            }
        }
    }
}

/// Departures come in order of time, with sizes that UDP can carry.
fn assert_sound(schedule: Schedule) {
    let mut last = Duration::ZERO;
    for departure in schedule.take(DEPARTURES) {
        assert!(departure.offset >= last, "{departure:?} is before {last}");
        assert!(departure.size <= LARGEST_PAYLOAD, "{departure:?}");
        last = departure.offset;
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    [
        ("empty", ""),
        ("periodic", "periodic"),
        ("poisson", "poisson"),
        ("g711", "g711"),
        ("melp_jitter", "melp\nuniform:0ms,2ms"),
        ("normal_jitter", "opus\nnormal:1ms,200us"),
        ("tick", "g729\ntick:10ms"),
        ("talkspurt", "talkspurt:p59@g729"),
        ("onoff", "onoff:1s,2s@g711"),
        ("onoff_of_ages", "onoff:1ms,100000000s"),
        ("onoff_mixture", "onoff:=1ms,0.5*1s+0.5*9000000000s"),
        ("token_bucket", "token-bucket:100kB,10kB"),
        ("imix_simple", "imix:simple"),
        ("imix_genome", "imix:AAAGG,A=64B,G=1020B"),
        ("imix_run_length", "imix:20(abcd)5(ggga)"),
        ("imix_mtu", "imix:aaz,z=1518B"),
        ("imix_empty_group", "imix:18446744073709551615()a"),
        ("imix_huge_group", "imix:18446744073709551615(a)"),
        ("imix_many_groups", "imix:4096(a)4096(b)4096(c)4096(d)"),
        ("trace", "trace:departures.csv"),
        ("trace_long_name", &format!("trace:{}", "\u{1}".repeat(300))),
        ("jitter_of_hours", "periodic\nexponential:1h"),
        ("jitter_reversed", "periodic\nuniform:2ms,1ms"),
        ("control_characters", "per\u{1b}[31modic\n\u{7}"),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into()
}
