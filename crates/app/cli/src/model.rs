//! `romer model`: a measured path as a scenario, and a scenario beside what was measured.

mod input;

use std::path::Path;

use romer_analyze::WAITING_TIME;
use romer_analyze::evaluate::Evaluated;
use romer_emulate::Opened;
use romer_emulate::link_model::{self, LinkScenario};
use romer_emulate::model_fit::{self, ModelKind, Part, Sequence};
use romer_emulate::predictive_check::{self, MeasuredStream, Question};
use romer_impair::Config;
use romer_loop::{LoopError, path_model};
use romer_record::Exit;
use romer_record::document::{DelayKind, ProbeDirection};
use romer_record::fidelity::{
    DirectionModel, Fidelity, FidelityVerdict, MODEL, MeasurementPlan, ModelPart, PathModel,
};
use romer_report::escape;
use romer_report::warning::Text as _;
use romer_units::Duration;

use crate::args::ModelArgs;
use crate::failure::Failure;
use crate::output;
use input::{MeasuredRun, ModelInput, RecordedLink};

/// Does what is asked, and gives the exit code.
pub(crate) fn run(arguments: &ModelArgs) -> Result<Exit, Failure> {
    output::read_from(input::paths(arguments));
    arguments.output.check()?;
    if arguments.write.is_none() && arguments.against.is_none() {
        return Err(Failure::usage(
            "missing option (--write, --against): one is needed; use --write FILE.toml to make a scenario, or --against \
             FILE.toml|PRESET to check one",
        ));
    }
    let input = ModelInput::read(arguments)?;
    match (&arguments.write, &arguments.against, &input) {
        (Some(file), ..) => write(arguments, file, &input),
        (None, Some(scenario), ModelInput::Runs(runs)) => match &runs[..] {
            [run] => against(arguments, scenario, &run.streams),
            _ => Err(Failure::usage(format!(
                "too many inputs (--against): a scenario is compared with one run, and {} are given; compare each by itself",
                runs.len()
            ))),
        },
        (None, Some(_), ModelInput::Link(link)) => Err(Failure::usage(format!(
            "nothing to compare (--against): {} has the rates of a link and no packets; measure through the emulator, and compare that \
             run",
            escape::terminal(&link.name)
        ))),
        (None, None, _) => Ok(Exit::Success),
    }
}

/// What `config` makes one expect, beside what these streams, measured at once, were. Hosts and path around the emulator may have
/// added up to `allowed`; `seeks_allowance` says whether to look for a larger allowance that would explain a difference.
pub(crate) fn compare(
    config: &Config,
    streams: &[Evaluated],
    allowed: Duration,
    seeks_allowance: bool,
) -> Fidelity {
    let absolute = streams.iter().all(|stream| {
        [&stream.measurement.forward, &stream.measurement.reverse]
            .iter()
            .all(|direction| direction.delay_kind != Some(DelayKind::Variable))
    });
    predictive_check::fidelity(&Question {
        config,
        headers: path_model::headers(streams),
        streams: streams
            .iter()
            .map(|stream| MeasuredStream {
                forward: &stream.related.forward,
                reverse: &stream.related.reverse,
            })
            .collect(),
        absolute,
        waiting: WAITING_TIME.as_nanos(),
        allowed: allowed.as_nanos(),
        seeks_allowance,
        fit: None,
    })
}

fn against(arguments: &ModelArgs, scenario: &Path, streams: &[Evaluated]) -> Result<Exit, Failure> {
    let opened = open(scenario)?;
    let found = compare(&opened.scenario.config, streams, arguments.allowance, true);
    if !arguments.output.is_silent() {
        output::print_summary(&romer_report::fidelity::text(&found, &output::style(arguments.output.color)));
    }
    output::write_json(arguments.output.json.as_deref(), &found, arguments.output.force)?;
    let shown = escape::path(scenario);
    pass(&found, &shown).map_err(|why| Failure::with_exit(Exit::LimitFailed, why))
}

/// Success if each direction is consistent with the scenario.
fn pass(found: &Fidelity, scenario: &str) -> Result<Exit, String> {
    let names = |verdict: FidelityVerdict| -> String {
        let those = found.directions.iter().filter(|direction| direction.verdict == verdict);
        those.map(|direction| direction.direction.as_str()).collect::<Vec<_>>().join(" and ")
    };
    let (differ, too_few) = (names(FidelityVerdict::Differs), names(FidelityVerdict::TooFew));
    if !differ.is_empty() {
        return Err(format!(
            "not consistent with the scenario (--against {scenario}): {differ}; compare the columns \"accepted range\" and \"measured\""
        ));
    }
    if !too_few.is_empty() {
        return Err(format!(
            "no verdict (--against {scenario}): too few packets ({too_few}); measure longer, or with a smaller --interval"
        ));
    }
    if found.directions.is_empty() {
        return Err(format!(
            "no verdict (--against {scenario}): no direction has packets with a known fate; measure with a romer responder"
        ));
    }
    Ok(Exit::Success)
}

fn open(scenario: &Path) -> Result<Opened, Failure> {
    if scenario.is_dir() {
        return Err(Failure::usage(format!(
            "not a scenario (--against {}): it is a folder, and a scenario is a file; to compare two runs, use `romer compare RUN RUN`",
            escape::path(scenario)
        )));
    }
    Ok(romer_emulate::open_named(scenario, "--against")?)
}

/// A scenario with the document of it.
struct Made {
    /// Files that the scenario names: name and content.
    files: Vec<(String, String)>,
    model: PathModel,
    /// Directions that a check refuses.
    misfits: Vec<ProbeDirection>,
}

/// The scenario of one run.
fn of_run(arguments: &ModelArgs, run: &MeasuredRun, stem: &str) -> Result<Made, Failure> {
    let stream = run.stream(arguments.stream_number)?;
    let modelled =
        path_model::fit(stream, &run.name, stem, kind(arguments), arguments.only_udp, arguments.allowance)?;
    let plan = plan(arguments, &modelled.fitted.directions, &[stream]);
    Ok(Made {
        model: path_model::document(&modelled, &run.name, plan),
        misfits: modelled.misfits(),
        files: modelled.fitted.files,
    })
}

/// The scenario of several runs, one after another.
fn of_runs(arguments: &ModelArgs, runs: &[MeasuredRun], stem: &str) -> Result<Made, Failure> {
    if arguments.only_udp {
        return Err(Failure::usage(format!(
            "options cannot be combined (--only-udp, {} runs): a timeline changes the stages of all packets, not of one flow; leave it out, or \
             model one run",
            runs.len()
        )));
    }
    let mut sources = Vec::new();
    let mut streams = Vec::new();
    for run in runs {
        let stream = run.stream(arguments.stream_number)?;
        streams.push(stream);
        sources.push(path_model::source(stream, &run.name, stem, kind(arguments), arguments.allowance));
    }
    let names = runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", ");
    let Sequence { fitted, parts } =
        model_fit::sequence(&sources).map_err(|why| LoopError::NoScenario { run: names.clone(), why })?;
    let mut misfits: Vec<ProbeDirection> = Vec::new();
    for direction in parts.iter().flat_map(|part| part.modelled.misfits()) {
        if !misfits.contains(&direction) {
            misfits.push(direction);
        }
    }
    let part = |(run, part): (&MeasuredRun, Part)| ModelPart {
        run: run.name.clone(),
        at_ns: part.at.as_nanos(),
        duration_ns: part.duration.as_nanos(),
        directions: part.modelled.fitted.directions,
        check: part.modelled.check,
        held_out: part.modelled.held_out,
    };
    let model = PathModel {
        schema: MODEL.into(),
        run: names,
        directions: Vec::new(),
        links: Vec::new(),
        parts: runs.iter().zip(parts).map(part).collect(),
        scenario: fitted.text,
        check: None,
        held_out: Vec::new(),
        plan: plan(arguments, &fitted.directions, &streams),
        warnings: fitted.warnings,
    };
    Ok(Made { files: fitted.files, model, misfits })
}

/// The scenario of a link.
fn of_link(arguments: &ModelArgs, link: &RecordedLink, stem: &str) -> Result<Made, Failure> {
    let of_packets = [
        ("--trace", arguments.trace),
        ("--limit", arguments.limit.is_some()),
        ("--plan", arguments.plan),
        ("--stream-number", arguments.stream_number != 0),
        ("--allowance", arguments.allowance != Duration::ZERO),
        ("--clocks", arguments.clocks.clocks.is_some()),
    ];
    if let Some((option, _)) = of_packets.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!(
            "{option} is for measured packets ({}): these are the rates of a link; leave it out",
            escape::terminal(&link.name)
        )));
    }
    let records = [Some(&link.forward), link.reverse.as_ref()];
    let LinkScenario { fitted, links } = link_model::model(&link.name, stem, arguments.only_udp, records)
        .map_err(|why| {
            Failure::with_exit(
                Exit::BadData,
                format!("cannot make a scenario ({}): {why}", escape::terminal(&link.name)),
            )
        })?;
    let model = PathModel {
        schema: MODEL.into(),
        run: link.name.clone(),
        directions: fitted.directions,
        links,
        parts: Vec::new(),
        scenario: fitted.text,
        check: None,
        held_out: Vec::new(),
        plan: Vec::new(),
        warnings: fitted.warnings,
    };
    Ok(Made { files: fitted.files, model, misfits: Vec::new() })
}

/// The proposed measurements, which have the traffic of the first of these streams; none unless they are requested.
fn plan(
    arguments: &ModelArgs,
    directions: &[DirectionModel],
    streams: &[&Evaluated],
) -> Vec<MeasurementPlan> {
    match streams.first() {
        Some(stream) if arguments.plan => model_fit::plan(directions, &stream.measurement.traffic),
        _ => Vec::new(),
    }
}

fn kind(arguments: &ModelArgs) -> ModelKind {
    if arguments.trace { ModelKind::Trace } else { ModelKind::Models }
}

fn write(arguments: &ModelArgs, file: &Path, input: &ModelInput) -> Result<Exit, Failure> {
    let force = arguments.output.force;
    let shown = escape::path(file);
    output::check_target(file.to_str(), force)?;
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("model");
    let Made { files, mut model, misfits } = match input {
        ModelInput::Link(link) => of_link(arguments, link, stem)?,
        ModelInput::Runs(runs) => match &runs[..] {
            [run] => of_run(arguments, run, stem)?,
            runs => of_runs(arguments, runs, stem)?,
        },
    };
    let misfits = path_model::misfit_warnings(&misfits, kind(arguments));
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut targets: Vec<_> = files.iter().map(|(name, text)| (folder.join(name), text.as_str())).collect();
    for (path, _) in &targets {
        output::check_target(path.to_str(), force)?;
    }
    targets.push((file.into(), model.scenario.as_str()));
    for (path, text) in &targets {
        let path = path
            .to_str()
            .ok_or_else(|| Failure::usage(format!("the file name is not valid UTF-8 ({shown})")))?;
        output::write_document(path, text, force)?;
    }
    if !arguments.output.is_silent() {
        let mut text = format!("Wrote {shown}.\n");
        for warning in &model.warnings {
            text.push_str(&format!("Note: {}\n", escape::terminal(&warning.text())));
        }
        text.push('\n');
        text.push_str(&romer_report::path_model::text(&model, &output::style(arguments.output.color)));
        if arguments.plan {
            let style = output::style(arguments.output.color);
            text.push_str(&romer_report::path_model::plan(&model.plan, &style));
        }
        for misfit in &misfits {
            text.push_str(&format!("Warning: {}\n", escape::terminal(&misfit.text())));
        }
        output::print_summary(&text);
    }
    let has_failed = !misfits.is_empty();
    model.warnings.extend(misfits);
    output::write_json(arguments.output.json.as_deref(), &model, force)?;
    if has_failed && arguments.limit.is_some() {
        let why = format!(
            "the scenario does not reproduce the measurement (--limit fidelity): {shown}; compare the checks above"
        );
        return Err(Failure::with_exit(Exit::LimitFailed, why));
    }
    Ok(Exit::Success)
}
