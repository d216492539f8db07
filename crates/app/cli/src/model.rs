//! `romer model`: a measured path as a scenario, and a scenario beside what was measured.

use std::path::Path;

use romer_analyze::WAITING_TIME;
use romer_analyze::evaluate::Evaluated;
use romer_emulate::Opened;
use romer_emulate::model_fit::{self, ModelKind};
use romer_emulate::predictive_check::{self, MeasuredStream, Question};
use romer_impair::Config;
use romer_loop::path_model;
use romer_record::Exit;
use romer_record::document::DelayKind;
use romer_record::fidelity::{Fidelity, FidelityVerdict, MODEL, PathModel};
use romer_record::warning::ModelWarning;
use romer_report::escape;
use romer_report::warning::Text as _;
use romer_units::Duration;

use crate::args::ModelArgs;
use crate::failure::Failure;
use crate::{compare, output};

/// Does what is asked, and gives the exit code.
pub(crate) fn run(arguments: &ModelArgs) -> Result<Exit, Failure> {
    output::read_from([arguments.run.as_path()].into_iter().chain(arguments.against.as_deref()));
    arguments.output.check()?;
    if arguments.write.is_none() && arguments.against.is_none() {
        return Err(Failure::usage(
            "missing option (--write, --against): one is needed; use --write FILE.toml to make a scenario, or --against \
             FILE.toml|PRESET to check one",
        ));
    }
    let streams = compare::with_packets(&arguments.run)?;
    match (&arguments.write, &arguments.against) {
        (Some(file), _) => write(arguments, file, &streams),
        (None, Some(scenario)) => against(arguments, scenario, &streams),
        (None, None) => Ok(Exit::Success),
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
    let found = compare(&opened.scenario.config, streams, arguments.allow, true);
    if !arguments.output.quiet && !arguments.output.json_to_stdout() {
        output::print_summary(&romer_report::fidelity::text(&found, &output::style(arguments.output.color)));
    }
    document(arguments, &found)?;
    let shown = escape::terminal(&scenario.to_string_lossy());
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
            "not consistent with the scenario (--against {scenario}): {differ}; compare the columns \"expected range\" and \"measured\""
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
            escape::terminal(&scenario.to_string_lossy())
        )));
    }
    // A file before a preset of its name.
    let name = scenario.to_str().filter(|_| !scenario.exists());
    match name.map(|name| (name, romer_scenario::preset(name))) {
        Some((name, Ok(_))) => Ok(romer_emulate::open_preset(name)?),
        Some((name, Err(why))) if !name.contains(['/', '.']) => Err(Failure::usage(format!(
            "no such scenario (--against {}): no file, and {why}",
            escape::terminal(name)
        ))),
        _ => Ok(romer_emulate::open_scenario(scenario)?),
    }
}

fn write(arguments: &ModelArgs, file: &Path, streams: &[Evaluated]) -> Result<Exit, Failure> {
    let force = arguments.output.force;
    let shown = escape::terminal(&file.to_string_lossy());
    output::check_target(file.to_str(), force)?;
    let stream = streams
        .get(usize::from(arguments.stream))
        .ok_or_else(|| Failure::no_stream(arguments.stream, "the run", streams.len()))?;
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("model");
    let run = arguments.run.to_string_lossy();
    let kind = if arguments.trace { ModelKind::Trace } else { ModelKind::Models };
    let modelled = path_model::fit(stream, &run, stem, kind, arguments.only_udp, arguments.allow)?;
    let misfits: Vec<ModelWarning> = modelled
        .misfits()
        .into_iter()
        .map(|direction| ModelWarning::Misfit { direction, is_trace: arguments.trace })
        .collect();
    let fitted = modelled.fitted;
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut files: Vec<_> =
        fitted.files.iter().map(|(name, text)| (folder.join(name), text.as_str())).collect();
    for (path, _) in &files {
        output::check_target(path.to_str(), force)?;
    }
    files.push((file.into(), fitted.text.as_str()));
    for (path, text) in &files {
        let path = path
            .to_str()
            .ok_or_else(|| Failure::usage(format!("the file name is not valid UTF-8 ({shown})")))?;
        output::write_document(path, text, force)?;
    }
    let plan = arguments.plan.then(|| model_fit::plan(&fitted.directions)).flatten();
    let mut model = PathModel {
        schema: MODEL.into(),
        run: run.into_owned(),
        directions: fitted.directions,
        scenario: fitted.text,
        check: Some(modelled.check),
        held_out: modelled.held_out,
        plan,
        warnings: fitted.warnings,
    };
    if !arguments.output.quiet && !arguments.output.json_to_stdout() {
        let mut text = format!("Wrote {shown}.\n");
        for warning in &model.warnings {
            text.push_str(&format!("Note: {}\n", escape::terminal(&warning.text())));
        }
        text.push('\n');
        text.push_str(&romer_report::path_model::text(&model, &output::style(arguments.output.color)));
        if arguments.plan {
            let style = output::style(arguments.output.color);
            text.push_str(&romer_report::path_model::plan(model.plan.as_ref(), &style));
        }
        for misfit in &misfits {
            text.push_str(&format!("Warning: {}\n", escape::terminal(&misfit.text())));
        }
        output::print_summary(&text);
    }
    let has_failed = !misfits.is_empty();
    model.warnings.extend(misfits);
    document(arguments, &model)?;
    if has_failed && arguments.limit.is_some() {
        let why = format!(
            "the scenario does not reproduce the measurement (--limit fidelity): {shown}; compare the checks above"
        );
        return Err(Failure::with_exit(Exit::LimitFailed, why));
    }
    Ok(Exit::Success)
}

fn document(arguments: &ModelArgs, document: &impl serde::Serialize) -> Result<(), Failure> {
    let Some(file) = &arguments.output.json else { return Ok(()) };
    let text = output::document_text(document)?;
    output::write_document(file, &text, arguments.output.force)
}
