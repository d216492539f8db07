//! `romer respond`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use romer_endpoint::ThreadOptions;
use romer_endpoint::tls::ResponderChannelOptions;
use romer_endpoint::tls::pairing::PairingNews;
use romer_host::service_manager::{InheritedSockets, ServiceManager};
use romer_record::Exit;
use romer_record::respond::Respond;
use romer_report::warning::Text;
use romer_respond::{Key, ReplyFormat, RespondOptions, Responder, Totals};
use romer_telemetry::ResponderMetrics;
use romer_units::counted;

use crate::args::{RespondArgs, StampPlace, TimestampsArg};
use crate::failure::Failure;
use crate::telemetry::Exporter;
use crate::{confinement, output, signals};

/// How often the signals are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Answers until it is ended, and gives the exit code.
pub(crate) fn run(arguments: &RespondArgs) -> Result<Exit, Failure> {
    if arguments
        .listen
        .iter()
        .chain(&arguments.control)
        .any(|address| address.port() == 0 && !address.ip().is_loopback())
    {
        return Err(Failure::usage(
            "a fixed port is required (--listen, --control): 0 selects a random one; give a number from 1 to 65535",
        ));
    }
    for (flag, addresses) in [("--listen", &arguments.listen), ("--control", &arguments.control)] {
        let twice = addresses.iter().enumerate().find(|(place, address)| {
            address.port() != 0 && addresses.iter().take(*place).any(|other| other == *address)
        });
        if let Some((_, address)) = twice {
            return Err(Failure::usage(format!(
                "address given twice ({flag} {address}): only one socket can listen there; remove one"
            )));
        }
    }
    let wildcard = arguments.listen.iter().any(|address| address.ip().is_unspecified());
    let named = [
        (arguments.in_kernel, "--in-kernel", "reflect"),
        (arguments.in_packet, "--in-packet", "stamp packets"),
    ];
    if let Some((_, option, task)) = named.into_iter().find(|(given, ..)| *given && wildcard) {
        return Err(Failure::usage(format!(
            "no single address ({option}): --listen has a wildcard; give the addresses of the interfaces that are to {task}",
        )));
    }
    if arguments.stamp == StampPlace::InPacket {
        return Err(Failure::usage(
            "no time stamps of a responder (--stamp in-packet): programs write them into the packets; use --in-packet",
        ));
    }
    output::check_target(arguments.json.as_deref(), arguments.force)?;
    let inherited = InheritedSockets::from_environment().map_err(Failure::environment)?;
    let are_given = !arguments.listen.is_empty() || !arguments.control.is_empty();
    if are_given && !inherited.is_empty() {
        return Err(Failure::usage(
            "addresses are given twice (--listen, --control): the service manager passed sockets (LISTEN_FDS); set the \
             addresses in the socket unit only",
        ));
    }
    let mut manager = ServiceManager::from_environment();
    let (ending, reload) = signals::serving(&manager)?;
    let asked = signals::asking()?;
    let exporter = Exporter::start(&arguments.exporter)?;
    let metrics = exporter.as_ref().map(|exporter| ResponderMetrics::new(&exporter.registry));
    let options = RespondOptions {
        listen: arguments.listen.clone(),
        control: arguments.control.clone(),
        kernel_stamps: arguments.stamp != StampPlace::User,
        card_stamps: arguments.stamp == StampPlace::Nic,
        allow: arguments.allow.clone(),
        rate: arguments.rate,
        threads: if arguments.realtime_if_permitted {
            ThreadOptions::in_lab()
        } else {
            arguments.threads.into()
        },
        key: key(arguments.key_file.as_deref(), arguments.quiet)?,
        stateful: arguments.stateful,
        sessions: arguments.sessions,
        least_ttl: arguments.min_ttl.unwrap_or(0),
        format: match arguments.timestamps {
            TimestampsArg::Ntp => ReplyFormat::Ntp,
            TimestampsArg::Ptp => ReplyFormat::Ptp,
            TimestampsArg::AsRequested => ReplyFormat::AsRequested,
        },
        in_kernel: arguments.in_kernel,
        in_packet: arguments.in_packet,
        in_packet_ports: arguments.rule.clone(),
        symmetric_only: arguments.symmetric_only,
        channel: ResponderChannelOptions {
            tls: Some(arguments.channel.files()),
            accepts_plain: arguments.channel.insecure,
            paired_only: arguments.paired_only,
            pairs: arguments.pair,
        },
    };
    let responder = Responder::start_on(&options, inherited)?;
    let confined = confinement::start(&confinement::of_responder(arguments));
    if !arguments.quiet {
        for shortcoming in responder.shortcomings() {
            output::eprint_line(&format!("note: {}", shortcoming.text()));
        }
        if let Some(why) = responder.key_not_saved() {
            output::eprint_line(&format!(
                "note: the key of this responder cannot be saved ({why}): initiators cannot recognise it after a restart"
            ));
        }
        let list = |addresses: &[std::net::SocketAddr]| {
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let mut text = format!(
            "responding: test packets at UDP {}, control at TCP {}\n",
            list(responder.test_addresses()),
            list(responder.control_addresses())
        );
        for (interface, mode) in responder.kernel_interfaces() {
            text.push_str(&format!("reflecting in the kernel: {interface} ({mode})\n"));
        }
        for interface in responder.stamping_interfaces() {
            text.push_str(&format!("stamping packets in the kernel: {interface}\n"));
        }
        if let Some(exporter) = &exporter {
            text.push_str(&exporter.text());
        }
        // Whoever reads the totals from standard output gets nothing else after the addresses.
        if arguments.json.as_deref() != Some("-") {
            if let Some(fingerprint) = responder.fingerprint() {
                text.push_str(&format!("key: {fingerprint}\n"));
            }
            text.push_str(&confined);
        }
        // In one piece: who reads the first line may read no more.
        output::print(&text);
    }
    manager.ready();
    while !ending.has_come() {
        if let Some(metrics) = &metrics {
            responder.totals().export(metrics);
        }
        if responder.has_failed() {
            return Err(Failure::own("a thread of the responder has ended (respond): see the message above"));
        }
        if asked.swap(false, Ordering::AcqRel)
            && let Err(failure) = write_totals(&responder.document(), arguments.json.as_deref())
        {
            // The server goes on; its code at the end is its own.
            failure.report();
        }
        if reload.swap(false, Ordering::AcqRel) {
            manager.reloading();
            replace_key(&responder, arguments);
            manager.ready();
        }
        for news in responder.take_pairing_news() {
            output::eprint_line(&pairing_text(&news));
        }
        if !responder.is_stuck() {
            manager.alive();
        }
        for stuck in responder.stuck() {
            let [thread, seconds] =
                [stuck.thread.to_owned(), (stuck.time.as_nanos() / 1_000_000_000).to_string()];
            output::eprint_line(&format!(
                "warning: a thread is stuck ({thread}): no progress for {seconds} s"
            ));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    manager.stopping();
    let (totals, document, unfinished) = responder.finish();
    if let Some(metrics) = &metrics {
        totals.export(metrics);
    }
    // The last push.
    drop(exporter);
    if !arguments.quiet {
        output::eprint_line(&totals_text(&totals));
    }
    if arguments.json.is_some() {
        write_totals(&document, arguments.json.as_deref())?;
    }
    if !unfinished.is_empty() {
        return Err(Failure::own(format!(
            "threads of the responder did not end within 4 s ({}): exit without them",
            unfinished.join(", ")
        )));
    }
    Ok(ending.exit())
}

/// What has happened to the pairing, in a line.
fn pairing_text(news: &PairingNews) -> String {
    match news {
        PairingNews::Code(code) => {
            format!("pairing code: {code} (type it at `romer pair` on the other host)")
        }
        PairingNews::Failed(address) => format!("pairing with {address} failed"),
        PairingNews::Paired { address, fingerprint, is_saved: true } => {
            format!("paired with {address} ({fingerprint})")
        }
        PairingNews::Paired { address, fingerprint, is_saved: false } => {
            format!(
                "paired with {address} ({fingerprint}), until this responder ends: known_peers cannot be written"
            )
        }
        PairingNews::Closed => "pairing is closed".into(),
    }
}

/// Reads the key file again. If that fails, the responder keeps its key.
fn replace_key(responder: &Responder, arguments: &RespondArgs) {
    match key(arguments.key_file.as_deref(), arguments.quiet) {
        Ok(Some(key)) => {
            responder.replace_key(key);
            if !arguments.quiet {
                output::eprint_line("note: the key file was read again (SIGHUP)");
            }
        }
        Ok(None) => {
            output::eprint_line("warning: nothing to reload (SIGHUP): the responder has no --key-file");
        }
        Err(failure) => {
            // The server goes on; its code at the end is its own.
            failure.and_then("the responder keeps its key").report();
        }
    }
}

/// The key of `--key-file`, if one is given.
pub(crate) fn key(file: Option<&Path>, quiet: bool) -> Result<Option<Arc<Key>>, Failure> {
    let Some(file) = file else { return Ok(None) };
    let read = romer_endpoint::key::read(file)?;
    if let Some(note) = read.note.filter(|_| !quiet) {
        output::eprint_line(&format!("note: {note}"));
    }
    Ok(Some(read.key))
}

/// Writes the document to `file`, or as a line to standard error.
fn write_totals(document: &Respond, file: Option<&str>) -> Result<(), Failure> {
    let line = serde_json::to_string(document).map_err(Failure::own)?;
    match file {
        None => output::eprint_line(&line),
        // What is there is our own of an earlier time, or was to be replaced.
        Some(file) => output::write_document(file, &format!("{line}\n"), true)?,
    }
    Ok(())
}

/// The totals in a line.
fn totals_text(totals: &Totals) -> String {
    let counts = &totals.reflector;
    let probes = &totals.probes;
    let in_kernel = &totals.in_kernel;
    let held_back = probes.over_packets + probes.over_network_bits + probes.over_total_bits;
    let mut text = format!(
        "{} probes received, {} reflected, {} ({})",
        counts.received.saturating_sub(counts.associations)
            + totals.one_way.received
            + in_kernel.reflected
            + in_kernel.rate_limited,
        counts.reflected + in_kernel.reflected,
        counted(totals.sessions, "session"),
        counted(counts.associations, "association packet")
    );
    for (count, what) in [
        (in_kernel.reflected, "reflected in the kernel"),
        (counts.too_short, "too short"),
        (counts.bad_source, "with an invalid source address"),
        (counts.looped, "looped back"),
        (counts.not_request, "replies, not requests"),
        (counts.not_allowed, "not allowed"),
        (counts.rate_limited + in_kernel.rate_limited, "over the rate limit"),
        (counts.nonzero_mbz, "with nonzero reserved bytes"),
        (counts.bad_error_estimate, "with an invalid error estimate"),
        (counts.below_min_ttl, "below the minimum TTL"),
        (counts.not_authentic, "not authentic"),
        (counts.replayed, "replayed"),
        (counts.table_full, "dropped, session table full"),
        (counts.tlvs_malformed, "with malformed TLVs"),
        (counts.tlvs_not_authentic, "with TLVs that are not authentic"),
        (totals.refused_proofs, "senders without the key"),
        (totals.refused_sessions.all(), "sessions refused"),
        (totals.refused_sessions.invalid_message, "control connections with invalid messages"),
        (totals.refused_sessions.no_request, "control connections without a request"),
        (totals.failed_conversations, "control connections closed by an internal error"),
        (totals.failed_iterations, "datagrams and turns dropped by an internal error"),
        (totals.evicted_sessions, "idle sessions evicted"),
        (totals.one_way.elsewhere, "probes from an address outside their session"),
        (totals.one_way.bad_tag, "with a session identifier and a wrong tag"),
        (totals.one_way.after_end, "probes of ended sessions"),
        (totals.not_sent, "replies not sent"),
        (held_back, "probes suppressed by the send limits"),
        (totals.kernel_drops, "dropped by the kernel"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}
