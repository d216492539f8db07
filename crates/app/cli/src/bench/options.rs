//! The options of a benchmark, as the arguments say them.

use std::net::IpAddr;

use romer_bench::BenchError;
use romer_bench::options::{Anomaly, BenchOptions, Case, Claims, StreamOptions};
use romer_host::netns;
use romer_method::Frames;
use romer_method::policing::Profile;
use romer_method::priority::Discipline;
use romer_method::schedule::Pace;
use romer_port::PortName;
use romer_units::{Duration, FrameSize};

use super::lab_defaults::Lab;
use super::stream::StreamArgument;
use super::{option_matrix, request, values};
use crate::args::{
    AnomalyName, DeviceArgs, DisciplineName, PolicingArgs, PriorityArgs, ProcedureArgs, RunArgs,
};
use crate::failure::Failure;
use crate::measure::random_seed;

/// The sizes of RFC 2544 section 9.1.
const SIZES: [u32; 7] = [64, 128, 256, 512, 1_024, 1_280, 1_518];
/// How long a device settles where nothing is said (RFC 2544 section 23).
const SETTLE: Duration = Duration::from_secs(2);
/// How long a command that sets or resets the device may take, where nothing is said: as long as a large one reboots.
const CASE_TIME: Duration = Duration::from_secs(600);
/// How long each test of the tester itself sends, where trials are not shorter.
const SELF_TEST: Duration = Duration::from_millis(500);

/// A port that is not there would else be told as addresses that are missing: those of a laboratory are known by its ports.
fn look_at_ports(run: &RunArgs) -> Result<(), BenchError> {
    if run.source.is_some() && run.destination.is_some() {
        return Ok(());
    }
    for port in run.tx.iter().chain(&run.rx) {
        match romer_port::query_link(port) {
            Err(source) if !source.is_permission() => {
                return Err(BenchError::Port { port: port.clone(), source: Box::new(source) });
            }
            _ => {}
        }
    }
    Ok(())
}

impl From<AnomalyName> for Anomaly {
    fn from(name: AnomalyName) -> Self {
        match name {
            AnomalyName::Order => Self::Order,
            AnomalyName::Copies => Self::Copies,
        }
    }
}

/// What the arguments come to.
pub(super) fn options(asked: &ProcedureArgs) -> Result<BenchOptions, Failure> {
    let none = DeviceArgs::default();
    let (run, device) = asked.shared();
    let device = device.unwrap_or(&none);
    check_lengths(asked, device)?;
    option_matrix::check(asked)?;
    let missing = |flag: &str, what: &str, mend: &str| {
        Failure::usage(format!("missing option ({flag}): {what} is required; {mend}"))
    };
    let port = |port: &Option<PortName>, flag, what| {
        port.clone().ok_or_else(|| missing(flag, what, "give an interface, such as eth1 or NETNS/eth1"))
    };
    let tx = port(&run.tx, "--tx", "the transmit port")?;
    let rx = port(&run.rx, "--rx", "the receive port")?;
    romer_bench::check_ports(&tx, &rx)?;
    for port in [&tx, &rx] {
        // A laboratory that is not there would else be told as addresses that are missing.
        if port.namespace().is_some_and(|name| matches!(netns::exists(name), Ok(false))) {
            romer_port::query_link(port)
                .map_err(|source| BenchError::Port { port: port.clone(), source: Box::new(source) })?;
        }
    }
    let claims = claims(asked, device)?;
    look_at_ports(run)?;
    let is_v6 = |address: &Option<IpAddr>| address.is_some_and(|address| address.is_ipv6());
    let lab = Lab::find(&tx, &rx, is_v6(&run.source) || is_v6(&run.destination));
    if let (Some(_), Some(IpAddr::V6(destination))) = (lab, run.destination)
        && destination.is_unicast_link_local()
    {
        return Err(Failure::usage(format!(
            "nothing forwards to the destination (--destination): {destination} is an address of one link only; give one behind \
             the device, or leave it out"
        )));
    }
    let source = run.source.or_else(|| lab.map(|lab| lab.source));
    let destination = run.destination.or_else(|| lab.map(|lab| lab.destination));
    let streams = streams(asked, device)?;
    request::check_streams(asked, &device.frames, &streams)?;
    let frames = match (&device.frames.imix, &device.frames.frame_sizes) {
        (Some(imix), _) => vec![Frames::Mixture(imix.clone())],
        (None, Some(sizes)) => sizes.0.iter().copied().map(Frames::Size).collect(),
        (None, None) => SIZES.into_iter().filter_map(FrameSize::new).map(Frames::Size).collect(),
    };
    let virtual_line = romer_port::query_link(&tx).is_ok_and(|link| link.virtual_line);
    let (loads, left_out) =
        request::default_loads(&claims, run.line_rate, (&streams, &frames), !virtual_line);
    let notes = left_out.filter(|_| asked.loads().is_none()).into_iter().collect();
    let (name, procedure, criterion) = request::procedure(asked, &loads)?;
    let settle = settling_time(run.settle, lab.is_some(), &claims, &streams)?;
    let cases = if device.trials.cases.is_empty() {
        vec![Case { name: "baseline".into(), command: None }]
    } else {
        let case = |case: &values::CaseArgument| Case {
            name: case.name.clone(),
            command: Some(case.command.clone()),
        };
        device.trials.cases.iter().map(case).collect()
    };
    for (number, case) in cases.iter().enumerate() {
        if cases[..number].iter().any(|other| other.name == case.name) {
            return Err(Failure::usage(format!(
                "a case is given twice (--case {}): each has a name of its own; choose another",
                case.name
            )));
        }
    }
    request::check_markings(&claims, &cases, &streams)?;
    let labels = device.trials.labels.iter().map(|label| (label.key.clone(), label.value.clone()));
    let mut options = BenchOptions {
        name,
        virtual_line,
        tx,
        rx,
        source: source.ok_or_else(|| {
            missing("--source", "the source address of the frames", "give an address, such as 198.18.0.2")
        })?,
        destination: destination.ok_or_else(|| {
            missing(
                "--destination",
                "the destination address of the frames",
                "give an address, such as 198.19.0.2",
            )
        })?,
        next_hop: run.next_hop,
        line: run.line_rate,
        streams,
        frames,
        too_small: Vec::new(),
        procedure,
        criterion,
        repeats: device.trials.repeat.unwrap_or(1),
        settle,
        patience: run.patience,
        case_time: device.trials.case_time.unwrap_or(CASE_TIME),
        cases,
        reset: reset_command(asked)?,
        claims,
        labels: labels.collect(),
        self_test: (!device.trials.skip_self_test).then(|| SELF_TEST.min(run.trial)),
        subtract_baseline: device.trials.subtract_baseline,
        capture: device.output.pcapng.as_ref().map(|_| u64::from(device.output.pcapng_trial.unwrap_or(1))),
        seed: run.seed.unwrap_or_else(random_seed),
        notes,
    };
    options.fit_sizes();
    romer_bench::check(&options)?;
    options.notes.extend(romer_bench::volume_note(&options));
    for limit in &device.claims.limit {
        limit.check(&options.procedure, name).map_err(Failure::usage)?;
    }
    Ok(options)
}

/// The most values of an option that may be repeated: of every two of them it is looked whether they go together.
const MOST_REPEATED: usize = 1_000;

/// Refuses options that are given too often.
fn check_lengths(asked: &ProcedureArgs, device: &DeviceArgs) -> Result<(), Failure> {
    let (claims, trials) = (&device.claims, &device.trials);
    let excess = if let ProcedureArgs::Policing(own) = asked { own.excess.len() } else { 0 };
    for (flag, count, most) in [
        ("--stream", device.frames.streams.len(), romer_bench::MOST_STREAMS),
        ("--case", trials.cases.len(), MOST_REPEATED),
        ("--dut-label", trials.labels.len(), MOST_REPEATED),
        ("--expect-marking", claims.markings.len(), MOST_REPEATED),
        ("--expect-vlan", claims.vlans.len(), MOST_REPEATED),
        ("--expect-priority", claims.priorities.len(), MOST_REPEATED),
        ("--expect-ecn", claims.ecns.len(), MOST_REPEATED),
        ("--excess-marking", excess, MOST_REPEATED),
        ("--limit", claims.limit.len(), MOST_REPEATED),
    ] {
        if count > most {
            return Err(Failure::usage(format!(
                "an option is given too often ({flag}): {count} times are more than {most}; give it at most {most} times"
            )));
        }
    }
    Ok(())
}

/// How long a device settles: a policer's buckets are full at the beginning of each trial.
fn settling_time(
    asked: Option<Duration>,
    in_lab: bool,
    claims: &Claims,
    streams: &[StreamOptions],
) -> Result<Duration, Failure> {
    let usual = if in_lab { romer_lab::SETTLE } else { SETTLE };
    #[expect(clippy::cast_possible_truncation, reason = "rounded up to a millisecond; saturates")]
    let fills = |profile: &Profile| Duration::from_millis((profile.depth / profile.rate * 1e3).ceil() as i64);
    let own =
        streams.iter().filter_map(|stream| Some((fills(stream.profile.as_ref()?), "profile= of a stream")));
    let shared = claims.profile.iter().map(|profile| (fills(profile), "--profile"));
    let Some((full, whose)) = own.chain(shared).max_by_key(|(full, _)| *full) else {
        return Ok(asked.unwrap_or(usual));
    };
    match asked {
        Some(asked) if asked < full => Err(Failure::usage(format!(
            "the bucket would not be full again (--settle {asked}): that of {whose} takes {full} to fill, and every trial \
             begins with a full one; settle as long"
        ))),
        Some(asked) => Ok(asked),
        None => Ok(usual.max(full)),
    }
}

/// What resets the device, of the procedure that does.
fn reset_command(asked: &ProcedureArgs) -> Result<Option<String>, Failure> {
    let ProcedureArgs::Reset(own) = asked else { return Ok(None) };
    if own.reset.is_none() {
        return Err(Failure::usage(
            "missing option (--reset): the command that resets the device is required; give a shell command, such as \
             --reset 'ssh device reload'",
        ));
    }
    Ok(own.reset.clone())
}

/// The streams that were asked for; those without a share have what the others leave, each as much.
fn share_out(asked: &[StreamArgument]) -> Result<Vec<StreamOptions>, Failure> {
    /// Shares in percent have two digits or so.
    const ROUNDING: f64 = 1e-3;
    let stated: f64 = asked.iter().filter(|one| one.has_share).map(|one| one.options.share).sum();
    if stated > 1.0 + ROUNDING {
        return Err(Failure::usage(format!(
            "the shares of the streams sum to {:.1} % (--stream share=): the load is what all send together; write shares \
             whose sum is 100 % or less",
            stated * 100.0
        )));
    }
    let others = asked.iter().filter(|one| !one.has_share).count();
    #[expect(clippy::cast_precision_loss, reason = "some streams")]
    let each = (1.0 - stated).max(0.0) / others.max(1) as f64;
    if others > 0 && each <= 0.0 {
        return Err(Failure::usage(
            "a stream has no share (--stream share=): the others have all of the load; give each its own",
        ));
    }
    let shared = |one: &StreamArgument| StreamOptions {
        share: if one.has_share { one.options.share } else { each },
        ..one.options.clone()
    };
    Ok(asked.iter().map(shared).collect())
}

/// The streams, each with a name of its own.
pub(super) fn streams(asked: &ProcedureArgs, device: &DeviceArgs) -> Result<Vec<StreamOptions>, Failure> {
    let given = &device.frames.streams;
    if given.is_empty() {
        return Ok(vec![StreamOptions::default()]);
    }
    let mut streams = share_out(given)?;
    // Streams in step would meet a full queue in turns, or one of them always: a scheduler is judged by streams of chance.
    if matches!(asked, ProcedureArgs::Priority(_)) && streams.len() > 1 {
        for (stream, _) in streams.iter_mut().zip(given).filter(|(_, given)| !given.has_pace) {
            stream.pace = Pace::Poisson;
        }
    }
    for number in 0..streams.len() {
        streams[number].name = option_matrix::named(&streams[number].name, number);
        if streams[..number].iter().any(|other| other.name == streams[number].name) {
            return Err(Failure::usage(format!(
                "a stream is given twice (--stream name={}): each has a name of its own; choose another",
                streams[number].name
            )));
        }
    }
    Ok(streams)
}

/// What the device is held to.
fn claims(asked: &ProcedureArgs, device: &DeviceArgs) -> Result<Claims, Failure> {
    let (mut profile, mut excess, mut scheduler) = (None, Vec::new(), None);
    match asked {
        ProcedureArgs::Policing(own) => {
            profile = policer(own, &device.frames.streams)?;
            excess.clone_from(&own.excess);
        }
        ProcedureArgs::Priority(own) => scheduler = Some(discipline(own)?),
        _ => {}
    }
    let given = &device.claims;
    let markings = [&given.markings, &given.vlans, &given.priorities, &given.ecns];
    Ok(Claims {
        profile,
        scheduler,
        markings: markings.into_iter().flatten().cloned().collect(),
        excess,
        allowed: given.allow_anomalies.iter().map(|name| Anomaly::from(*name)).collect(),
    })
}

fn need(flag: &str, what: &str) -> Failure {
    Failure::usage(format!("missing option ({flag}): {what} is required; see --help for an example"))
}

/// What a policer lets through of the streams that have no profile of their own.
fn policer(own: &PolicingArgs, streams: &[StreamArgument]) -> Result<Option<Profile>, Failure> {
    if own.profile.is_some() {
        return Ok(own.profile);
    }
    let without = streams.iter().position(|stream| stream.options.profile.is_none());
    match without {
        Some(number) if streams.iter().any(|stream| stream.options.profile.is_some()) => {
            let stream = option_matrix::named(&streams[number].options.name, number);
            let what = format!("the profile of stream {stream}, which has no profile= of its own,");
            Err(need("--profile", &what))
        }
        None if !streams.is_empty() => Ok(None),
        _ => Err(need("--profile", "the profile of the policer")),
    }
}

/// How a scheduler serves its classes, and what its line carries in bits a second.
fn discipline(own: &PriorityArgs) -> Result<(Discipline, f64), Failure> {
    let name = own.discipline.ok_or_else(|| need("--discipline", "the scheduling discipline"))?;
    let capacity = own.capacity.ok_or_else(|| need("--capacity", "the line rate behind the scheduler"))?;
    let discipline = match name {
        DisciplineName::Strict => Discipline::Strict,
        DisciplineName::Weighted => Discipline::Weighted,
        DisciplineName::Fifo => Discipline::Fifo,
        DisciplineName::FifoOctets => Discipline::FifoOctets,
    };
    #[expect(clippy::cast_precision_loss, reason = "bits a second, far below 2^53")]
    Ok((discipline, capacity.bits() as f64))
}
