//! What `--traffic` and the arguments beside it ask for.

use std::io::Read;
use std::path::Path;

use romer_record::Exit;
use romer_store::untrusted;
use romer_traffic::{Limit, Request, Trace, TrafficModel};
use romer_units::Duration;
use romer_units::random::Seed;

use crate::args::TrafficArgs;
use crate::failure::Failure;

/// How long is measured when nothing is said.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// The same of messages, of which there is one in five seconds.
const MESSAGES_DURATION: Duration = Duration::from_secs(120);
/// The largest trace that is read, in octets.
const MAX_TRACE_OCTETS: u64 = 64 << 20;

/// The trace that the arguments name. Its reading may wait for the writer of a pipe.
pub(crate) fn trace(arguments: &TrafficArgs) -> Result<Option<Trace>, Failure> {
    arguments.model.trace_file().map(read).transpose()
}

/// The schedule that the arguments ask for, with their `trace` and `seed`.
pub(crate) fn request(arguments: &TrafficArgs, trace: Option<Trace>, seed: Seed) -> Request {
    let limit = match (arguments.count, arguments.duration, &trace) {
        (Some(count), _, _) => Limit::Count(count),
        (None, Some(duration), _) => Limit::Duration(duration),
        (None, None, Some(trace)) => Limit::Count(trace.len()),
        (None, None, None) if arguments.model == TrafficModel::Messages => Limit::Duration(MESSAGES_DURATION),
        (None, None, None) => Limit::Duration(DEFAULT_DURATION),
    };
    Request {
        interval: arguments.interval,
        bundle: arguments.bundle,
        seed,
        jitter: arguments.departure_jitter,
        trace,
        ..Request::new(arguments.model.clone(), limit)
    }
}

/// Reads the trace in `file`.
pub(crate) fn read(file: &str) -> Result<Trace, Failure> {
    let refused = |error: std::io::Error| {
        Failure::environment(format!("cannot read the trace ({file}): {error}; name a file that can be read"))
    };
    let too_large = || {
        let text =
            format!("the trace is too large ({file}): more than 64 MiB are not read; cut it into parts");
        Failure::with_exit(Exit::BadData, text)
    };
    let open = untrusted::open_input(Path::new(file)).map_err(refused)?;
    if open.metadata().map_err(refused)?.len() > MAX_TRACE_OCTETS {
        return Err(too_large());
    }
    // A pipe tells its length only by ending.
    let mut bytes = Vec::new();
    open.take(MAX_TRACE_OCTETS + 1).read_to_end(&mut bytes).map_err(refused)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_TRACE_OCTETS) {
        return Err(too_large());
    }
    Trace::parse(&bytes).map_err(|error| {
        Failure::with_exit(Exit::BadData, format!("bad trace ({file}:{}): {}", error.line, error.fault))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_is_not_there_or_bad_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let text = |failure: Failure| format!("{failure:?}");
        let absent = text(read(&path("absent.csv")).unwrap_err());
        assert!(absent.contains("exit: Environment") && absent.contains("absent.csv"), "{absent}");
        assert!(text(read(folder.path().to_str().unwrap()).unwrap_err()).contains("exit: Environment"));
        std::fs::write(path("bad.csv"), "offset_ns,size\n0,44\nlater,44\n").unwrap();
        let bad = text(read(&path("bad.csv")).unwrap_err());
        assert!(bad.contains("exit: BadData") && bad.contains("bad.csv:3"), "{bad}");
        std::fs::File::create(path("large.csv")).unwrap().set_len(MAX_TRACE_OCTETS + 1).unwrap();
        let large = text(read(&path("large.csv")).unwrap_err());
        assert!(large.contains("exit: BadData") && large.contains("64 MiB"), "{large}");
        std::fs::write(path("good.csv"), "offset_ns,size\n0,44\n5,44\n").unwrap();
        assert_eq!(read(&path("good.csv")).unwrap().len(), 2);
    }
}
