//! `romer calibrate --common-event`: two clocks compared by events that both hosts stamp.

use std::path::{Path, PathBuf};

use romer_calibrate::{
    EventSource, EventStamp, STAMPS_HEADER, compare_clocks, listen, send_common_packets, stamps,
};
use romer_record::Exit;
use romer_record::calibration::{COMMON_EVENTS, CommonEvents};
use romer_report::escape;
use romer_store::untrusted;

use crate::args::CalibrateArgs;
use crate::failure::Failure;
use crate::{output, signals};

/// Octets of a file of stamps at most: that of a million events.
const MAX_FILE_OCTETS: u64 = 100 << 20;

/// Listens, sends, or compares, as `given` says, and returns the exit code.
pub(super) fn run(arguments: &CalibrateArgs, given: &[PathBuf]) -> Result<Exit, Failure> {
    let is = |path: &Path, word: &str| path.as_os_str() == word;
    if let ([_], Some(_)) = (given, &arguments.output.json) {
        return Err(Failure::usage(
            "no JSON document (--json): only the comparison of two files has one; write --common-event FILE FILE",
        ));
    }
    match given {
        [word] if is(word, "listen") => stamp(arguments),
        [word] if is(word, "send") => {
            if arguments.pps.is_some() {
                return Err(Failure::usage(
                    "a pulse cannot be sent (--pps): each host has its own source; use --common-event listen",
                ));
            }
            let stop = signals::interruption()?;
            send_common_packets(arguments.group, arguments.interface.as_deref(), arguments.events, &stop)?;
            Ok(Exit::Success)
        }
        [first, second] => compare(arguments, [first, second]),
        _ => Err(Failure::usage(
            "unknown request (--common-event): it takes listen, send, or the files of two hosts; write for example --common-event a.csv \
             b.csv",
        )),
    }
}

/// Writes the stamps of this host to standard output.
fn stamp(arguments: &CalibrateArgs) -> Result<Exit, Failure> {
    let source = arguments.pps.clone().map_or_else(
        || EventSource::Packets { group: arguments.group, interface: arguments.interface.clone() },
        EventSource::Pulses,
    );
    output::check_open(true)?;
    let stop = signals::interruption()?;
    let line = |text: &str| output::print(&format!("{text}\n"));
    let mut take = |stamp: EventStamp| line(&stamp.to_line());
    listen(&source, arguments.events, &stop, || line(STAMPS_HEADER), &mut take)?;
    output::refusal().map_or(Ok(Exit::Success), Err)
}

/// Compares the stamps of two hosts.
fn compare(arguments: &CalibrateArgs, files: [&Path; 2]) -> Result<Exit, Failure> {
    output::read_from(files);
    arguments.output.check()?;
    let read = |file: &Path| -> Result<Vec<EventStamp>, Failure> {
        let shown = escape::terminal(&file.to_string_lossy());
        let text = untrusted::read_text(file, MAX_FILE_OCTETS).map_err(|error| {
            Failure::environment(format!(
                "cannot read the stamps ({shown}): {error}; check its path and rights"
            ))
        })?;
        stamps(&text).map_err(|error| {
            Failure::with_exit(Exit::BadData, format!("bad file of stamps ({shown}): {error}"))
        })
    };
    let [first, second] = [read(files[0])?, read(files[1])?];
    let found = compare_clocks([&first, &second]).map_err(|error| {
        Failure::with_exit(Exit::BadData, format!("no clocks can be compared (--common-event): {error}"))
    })?;
    if !arguments.output.is_silent() {
        output::print_summary(&romer_report::calibration::common_event_text(
            &found,
            &output::style(arguments.output.color),
        ));
    }
    let within_bounds = found.is_within_bounds();
    let document = CommonEvents {
        schema: COMMON_EVENTS.into(),
        files: files.map(|file| file.to_string_lossy().into_owned()),
        clocks: found,
        within_bounds,
    };
    output::write_json(arguments.output.json.as_deref(), &document, arguments.output.force)?;
    Ok(if within_bounds == Some(false) { Exit::LimitFailed } else { Exit::Success })
}
