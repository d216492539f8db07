//! `romer respond`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use romer_measure::respond::{Key, ReplyFormat, RespondOptions, Responder, Totals};
use romer_record::respond::Respond;

use crate::args::{RespondArgs, StampPlace, TimestampsArg};
use crate::failure::Failure;
use crate::{output, signals};

/// How often the signals are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Answers until it is ended, and gives the exit code.
pub(crate) fn run(arguments: &RespondArgs) -> Result<u8, Failure> {
    if arguments
        .listen
        .iter()
        .chain(&arguments.control)
        .any(|address| address.port() == 0 && !address.ip().is_loopback())
    {
        return Err(Failure::usage(
            "a server needs a fixed port (--listen, --control): 0 leaves it to chance; write a number from 1 to 65535",
        ));
    }
    for (flag, addresses) in [("--listen", &arguments.listen), ("--control", &arguments.control)] {
        let twice = addresses.iter().enumerate().find(|(place, address)| {
            address.port() != 0 && addresses.iter().take(*place).any(|other| other == *address)
        });
        if let Some((_, address)) = twice {
            return Err(Failure::usage(format!(
                "an address is given twice ({flag} {address}): only one can listen there; leave one out"
            )));
        }
    }
    output::check_target(arguments.json.as_deref(), arguments.force)?;
    let [interrupted, terminated] = signals::ending()?;
    let asked = signals::asking()?;
    let responder = Responder::start(&RespondOptions {
        listen: arguments.listen.clone(),
        control: arguments.control.clone(),
        kernel_stamps: arguments.stamp != StampPlace::User,
        card_stamps: arguments.stamp == StampPlace::Nic,
        allow: arguments.allow.clone(),
        rate: arguments.rate,
        threads: arguments.threads.into(),
        key: key(arguments.key_file.as_deref(), arguments.quiet)?,
        stateful: arguments.stateful,
        sessions: arguments.sessions,
        least_ttl: arguments.min_ttl.unwrap_or(0),
        format: match arguments.timestamps {
            TimestampsArg::Ntp => ReplyFormat::Ntp,
            TimestampsArg::Ptp => ReplyFormat::Ptp,
            TimestampsArg::AsRequested => ReplyFormat::AsRequested,
        },
        symmetric_only: arguments.symmetric_only,
    })?;
    if !arguments.quiet {
        for shortcoming in responder.shortcomings() {
            output::eprint_line(&format!("note: {shortcoming}"));
        }
        let list = |addresses: &[std::net::SocketAddr]| {
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        output::print(&format!(
            "responding: test packets at UDP {}, control at TCP {}\n",
            list(responder.test_addresses()),
            list(responder.control_addresses())
        ));
    }
    while !interrupted.load(Ordering::Acquire) && !terminated.load(Ordering::Acquire) {
        if responder.has_failed() {
            return Err(Failure::own("a thread of the responder has ended (respond): it said why above"));
        }
        if asked.swap(false, Ordering::AcqRel)
            && let Err(failure) = tell(&responder.document(), arguments.json.as_deref())
        {
            // The server goes on; its code at the end is its own.
            failure.report();
        }
        for stuck in responder.stuck() {
            let [thread, seconds] =
                [stuck.thread.to_owned(), (stuck.time.as_nanos() / 1_000_000_000).to_string()];
            output::eprint_line(&format!(
                "warning: a thread is stuck ({thread}): it has been at one piece of work for {seconds} s"
            ));
        }
        std::thread::sleep(LOOK);
    }
    let (totals, document, unfinished) = responder.finish();
    if !arguments.quiet {
        output::eprint_line(&words(&totals));
    }
    if !arguments.quiet || arguments.json.is_some() {
        tell(&document, arguments.json.as_deref())?;
    }
    if !unfinished.is_empty() {
        return Err(Failure::own(format!(
            "threads of the responder did not end within 4 s ({}): the program ends without them",
            unfinished.join(", ")
        )));
    }
    Ok(if interrupted.load(Ordering::Acquire) { 130 } else { 0 })
}

/// The key of `--key-file`, if one is given.
pub(crate) fn key(file: Option<&Path>, quiet: bool) -> Result<Option<Arc<Key>>, Failure> {
    let Some(file) = file else { return Ok(None) };
    let read = romer_measure::key::read(file)?;
    if let Some(note) = read.note.filter(|_| !quiet) {
        output::eprint_line(&format!("note: {note}"));
    }
    Ok(Some(read.key))
}

/// Gives the document to `file`, or as a line to standard error.
fn tell(document: &Respond, file: Option<&str>) -> Result<(), Failure> {
    let line = serde_json::to_string(document).map_err(Failure::own)?;
    match file {
        None => output::eprint_line(&line),
        // What is there is our own of an earlier time, or was to be replaced.
        Some(file) => output::write_document(file, &format!("{line}\n"), true)?,
    }
    Ok(())
}

/// The totals in a line.
fn words(totals: &Totals) -> String {
    let counts = &totals.reflector;
    let probes = &totals.probes;
    let held_back = probes.over_packets + probes.over_network_bits + probes.over_total_bits;
    let mut text = format!(
        "{} received, {} reflected, {} sessions",
        counts.received + totals.one_way.received,
        counts.reflected,
        totals.sessions
    );
    for (count, what) in [
        (counts.too_short, "too short"),
        (counts.bad_source, "from a bad source"),
        (counts.looped, "from ourselves"),
        (counts.not_request, "replies, not requests"),
        (counts.not_allowed, "not allowed"),
        (counts.rate_limited, "over the rate"),
        (counts.nonzero_mbz, "with octets that must be zero"),
        (counts.bad_error_estimate, "with a bad error estimate"),
        (counts.too_far, "from too far away"),
        (counts.not_authentic, "not authentic"),
        (counts.replayed, "replayed"),
        (counts.table_full, "of sessions without a place"),
        (counts.tlvs_malformed, "with malformed TLVs"),
        (counts.tlvs_not_authentic, "with TLVs that are not authentic"),
        (totals.refused_proofs, "senders without the key"),
        (totals.refused_sessions.all(), "sessions not granted"),
        (totals.refused_sessions.not_understood, "conversations not understood"),
        (totals.refused_sessions.nothing_asked, "conversations that asked for nothing"),
        (totals.failed_conversations, "conversations closed because of a fault of romer"),
        (totals.failed_turns, "datagrams and turns given up because of a fault of romer"),
        (totals.made_room, "idle sessions that made room"),
        (totals.one_way.elsewhere, "probes from another address than their session's"),
        (totals.one_way.mistagged, "with a session's identifier and a wrong tag"),
        (totals.one_way.after_end, "probes of sessions that had ended"),
        (totals.not_sent, "replies not sent"),
        (held_back, "probes held back by the limits of what is sent"),
        (totals.kernel_drops, "dropped by the kernel"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}
