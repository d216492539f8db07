//! `romer emulate --offline`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use romer_emulate::{Arrival, Arrivals, EmulateError, Opened, TooLong, offline};
use romer_impair::{Headers, PortId};
use romer_record::Exit;
use romer_record::emulation::{EmulatedPacket, Emulation};
use romer_report::escape;
use romer_report::warning::Text as _;
use romer_scenario::Scenario;
use romer_store::untrusted;
use romer_units::random::Seed;
use romer_units::{Duration, Rate};
use romer_wire::ip::protocol::UDP;

use super::run_folder::RunFolder;
use super::text;
use crate::args::{EmulateArgs, OfflineArgs};
use crate::failure::Failure;
use crate::output;

/// Emulates in virtual time, and gives the exit code.
pub(super) fn run(arguments: &EmulateArgs) -> Result<Exit, Failure> {
    let wanted = &arguments.output;
    let Some(arrivals) = &arguments.files.arrivals else {
        return Err(Failure::usage(
            "missing option --arrivals FILE (arriving packets): --offline needs it; e.g. --arrivals packets.csv",
        ));
    };
    let departures = arguments.files.departures.as_deref();
    if departures.is_none() && arguments.samples.out.is_none() {
        return Err(Failure::usage(
            "missing option --departures FILE or --out DIR (results): --offline needs one; e.g. --departures out.csv",
        ));
    }
    let json = wanted.json.as_deref();
    if let Some(departures) = departures
        && json == Some(departures)
    {
        return Err(Failure::usage(format!(
            "options cannot be combined (--departures, --json): both write to {departures}; name another file \
             for one of them"
        )));
    }
    output::check_target(departures, wanted.force)?;
    output::check_target(json, wanted.force)?;
    let files = &arguments.files;
    if files.scenario.is_none() && files.preset.is_none() && !arguments.impairments.is_any() {
        return Err(Failure::usage(
            "missing scenario (--scenario, --preset): --offline needs one, or impairments such as --delay; e.g. --preset demo",
        ));
    }
    let opened = super::scenario(arguments)?;
    let seed = seed(arguments, &opened)?;
    let arrivals = arrived(arrivals, &arguments.files)?;
    let kept = RunFolder::make(arguments.samples.out.as_deref(), wanted.force, &opened.text, seed)?;
    let emulated =
        |out: &mut dyn Write| offline::run(&opened.scenario, &opened.text, seed, &arrivals, &mut { out });
    let samples = kept.as_ref().map(|kept| kept.samples().to_string_lossy().into_owned());
    let mut done = None;
    // Twice where both are asked for: the same seed gives the same lines.
    for (target, force) in departures
        .map(|file| (file, wanted.force))
        .into_iter()
        .chain(samples.as_deref().map(|file| (file, true)))
    {
        output::write_with(target, force, |out| {
            done = Some(emulated(out)?);
            Ok(())
        })?;
    }
    let Some(document) = done else { return Ok(Exit::Success) };
    output::write_json(json, &document, wanted.force)?;
    let mut words = summary(&document);
    if let Some(kept) = &kept {
        kept.finish(&document, Some(&opened.scenario.config), false)?;
        words.push_str(&kept.text());
    }
    if !wanted.quiet {
        if departures == Some("-") || wanted.json_to_stdout() {
            words.lines().for_each(output::eprint_line);
        } else {
            output::print(&words);
        }
    }
    Ok(Exit::Success)
}

/// Prints a table of the presets.
pub(super) fn list() -> Result<Exit, Failure> {
    let mut rows = vec![["name", "delay", "jitter", "loss", "rate", "year", "source"].map(str::to_owned)];
    for preset in romer_scenario::PRESETS {
        let scenario = preset.scenario().map_err(Failure::own)?;
        let [delay, jitter, loss, rate] = figures(&scenario, preset.text)?;
        // A source begins with who published it.
        let source = scenario.about.source.unwrap_or_default();
        let publisher = source.split(',').next().unwrap_or_default().to_owned();
        let year = scenario.about.year.map_or_else(String::new, |year| year.to_string());
        rows.push([preset.name.to_owned(), delay, jitter, loss, rate, year, publisher]);
    }
    let mut text = String::from(
        "Of packets every 20 ms, a to b / b to a: median delay, mean absolute difference of consecutive delays (jitter), loss\n\n",
    );
    text.push_str(&aligned(&rows));
    output::print(&text);
    Ok(Exit::Success)
}

/// Rows with their columns below each other, two spaces apart.
fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// Delay, jitter and loss of a minute of voice in virtual time, and the rate limit, of both directions.
fn figures(scenario: &Scenario, text: &str) -> Result<[String; 4], Failure> {
    const PACKETS: i64 = 3_000;
    const INTERVAL_NS: i64 = 20_000_000;
    const FRAME_BYTES: u32 = 218;
    let packets = (0..PACKETS)
        .flat_map(|number| PortId::BOTH.map(|port| Arrival::new(number * INTERVAL_NS, port, FRAME_BYTES)))
        .collect();
    let headers = vec![Headers { protocol: Some(UDP), ..Headers::default() }];
    let arrivals = Arrivals { packets, headers, ..Arrivals::default() };
    let mut departures = Vec::new();
    let seed = Seed([1, 2, 3, 4, 5, 6]);
    let emulated = offline::run(scenario, text, seed, &arrivals, &mut departures).map_err(Failure::own)?;
    let departures = romer_emulate::read_departures(Path::new("-"), departures.as_slice(), usize::MAX)?;
    let ways = [&emulated.a_to_b, &emulated.b_to_a];
    let delay = ways.map(|way| way.total_delay_ns.median.map_or_else(|| "?".into(), rounded));
    let jitter = departures
        .packets
        .each_ref()
        .map(|packets| jitter(packets).map_or_else(|| "?".into(), Duration::rounded));
    let loss = ways.map(|way| format!("{:.1} %", way.loss_ratio().unwrap_or(0.0) * 100.0));
    let rate = scenario.config.base.paths.each_ref().map(|paths| {
        let limit = paths.iter().flatten().find_map(|path| path.rate);
        limit.map_or_else(|| "unlimited".to_owned(), |rate| rate_text(rate.limit))
    });
    Ok([delay, jitter, loss, rate].map(both))
}

/// The mean absolute difference of the delays of consecutive packets.
fn jitter(packets: &[EmulatedPacket]) -> Option<Duration> {
    let firsts = packets.iter().filter(|packet| packet.copy == 0);
    let delays: Vec<(u64, i64)> = firsts
        .filter_map(|packet| Some((packet.ordinal, packet.departure_ns? - packet.arrival_ns)))
        .collect();
    let differences: Vec<i64> = delays
        .windows(2)
        .filter_map(|pair| match pair {
            [(before, a), (ordinal, b)] if before + 1 == *ordinal => Some((b - a).abs()),
            _ => None,
        })
        .collect();
    let sum: i64 = differences.iter().sum();
    let count = i64::try_from(differences.len()).unwrap_or(i64::MAX);
    sum.checked_div(count).map(Duration::from_nanos)
}

/// A value of each direction; one if they are equal.
fn both([forward, reverse]: [String; 2]) -> String {
    if forward == reverse { forward } else { format!("{forward} / {reverse}") }
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn rate_text(limit: Rate) -> String {
    match limit {
        Rate::Bits(bits) if bits < 1_000_000 => format!("{} kbit/s", bits as f64 / 1e3),
        Rate::Bits(bits) => format!("{} Mbit/s", bits as f64 / 1e6),
        Rate::Packets(packets) => format!("{packets} packets/s"),
    }
}

fn rounded(nanos: f64) -> String {
    Duration::from_nanos_f64(nanos).rounded()
}

pub(super) fn open(arguments: &EmulateArgs) -> Result<Opened, Failure> {
    match (&arguments.files.scenario, &arguments.files.preset) {
        (Some(file), _) => Ok(romer_emulate::open_scenario(file)?),
        (None, Some(name)) => Ok(romer_emulate::open_preset(name)?),
        (None, None) => Err(Failure::usage(
            "missing option (--scenario FILE.toml, --preset NAME): no network to emulate; give one of them",
        )),
    }
}

/// The seed of the command line, else the scenario's, else a random one.
pub(super) fn seed(arguments: &EmulateArgs, opened: &Opened) -> Result<Seed, Failure> {
    Ok(romer_emulate::choose_seed(&opened.scenario.config, arguments.impairments.seed, "--seed")?)
}

/// The arrivals of a table or a capture, which are told by how they begin.
fn arrived(path: &Path, asked: &OfflineArgs) -> Result<Arrivals, Failure> {
    /// pcap with microseconds or nanoseconds, written on either kind of machine, and pcapng.
    const CAPTURES: [[u8; 4]; 5] = [
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0x0a, 0x0d, 0x0d, 0x0a],
    ];
    let mut file = opened_file(path)?;
    let failed = |source| EmulateError::File { action: "reading", path: path.into(), source };
    let begin = file.fill_buf().map_err(failed)?;
    if let Some(words) = romer_scenario::compressed(begin) {
        let why = format!("it {words}");
        return Err(EmulateError::Content { what: "the arrivals", path: path.into(), why }.into());
    }
    let too_long =
        TooLong { mtu: asked.mtu.unwrap_or(TooLong::MTU), segment: asked.segment, skip: asked.skip };
    if CAPTURES.iter().any(|magic| begin.starts_with(magic)) {
        return Ok(romer_emulate::read_capture(path, file, too_long)?);
    }
    let of_captures = [("--mtu", asked.mtu.is_some()), ("--segment", asked.segment), ("--skip", asked.skip)];
    if let Some((flag, _)) = of_captures.into_iter().find(|(_, is_given)| *is_given) {
        let shown = escape::terminal(&path.to_string_lossy());
        return Err(Failure::usage(format!(
            "an argument does not apply ({flag}): {shown} is a table, which has the size of each packet, not a capture; leave it \
             out"
        )));
    }
    Ok(romer_emulate::read_arrivals(path, file)?)
}

fn opened_file(path: &Path) -> Result<BufReader<File>, Failure> {
    let failed = |source| EmulateError::File { action: "reading", path: path.into(), source };
    if path.is_dir() {
        let why = "it is a directory; name a file".into();
        return Err(EmulateError::NoFile { what: "the arrivals", path: path.into(), why }.into());
    }
    Ok(BufReader::with_capacity(1 << 16, untrusted::open_input(path).map_err(failed)?))
}

/// The counters and delays of both directions.
fn summary(document: &Emulation) -> String {
    let mut text = String::new();
    for (name, direction) in [("a to b", &document.a_to_b), ("b to a", &document.b_to_a)] {
        if direction.received > 0 {
            text.push_str(&text::lines(name, direction));
        }
    }
    let seed = Seed(document.seed);
    let _ = writeln!(text, "seed {seed} ({}); give it with --seed to repeat the run", document.generator);
    for warning in &document.warnings {
        let _ = writeln!(text, "note: {}", escape::terminal(&warning.text()));
    }
    text
}
