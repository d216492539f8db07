//! A scenario of a measured stream.

use romer_analyze::WAITING_TIME;
use romer_analyze::evaluate::Evaluated;
use romer_emulate::model_fit::{self, FitInput, ModelKind, Modelled};
use romer_impair::Headers;
use romer_record::document::{DelayKind, ProbeDirection};
use romer_record::fidelity::{MODEL, MeasurementPlan, PathModel};
use romer_record::warning::ModelWarning;
use romer_units::Duration;
use romer_wire::ip::protocol::UDP;

use crate::error::LoopError;

/// A scenario of the path that `stream` measured, the run `run`, with its checks. Its files beside it begin with `stem`. Hosts and links
/// outside the path may have added up to `allowed` to a delay.
///
/// # Errors
/// [`LoopError::NoScenario`].
pub fn fit(
    stream: &Evaluated,
    run: &str,
    stem: &str,
    kind: ModelKind,
    only_udp: bool,
    allowed: Duration,
) -> Result<Modelled, LoopError> {
    let source = FitInput { only_udp, ..source(stream, run, stem, kind, allowed) };
    model_fit::model(&source).map_err(|why| LoopError::NoScenario { run: run.to_owned(), why })
}

/// The document of the scenario that was made of the run `run`, with proposed measurements.
pub fn document(modelled: &Modelled, run: &str, plan: Vec<MeasurementPlan>) -> PathModel {
    let Modelled { fitted, check, held_out } = modelled;
    PathModel {
        schema: MODEL.into(),
        run: run.to_owned(),
        directions: fitted.directions.clone(),
        links: Vec::new(),
        parts: Vec::new(),
        scenario: fitted.text.clone(),
        check: Some(check.clone()),
        held_out: held_out.clone(),
        plan,
        warnings: fitted.warnings.clone(),
    }
}

/// The warnings that checks refuse the scenario in these directions.
pub fn misfit_warnings(directions: &[ProbeDirection], kind: ModelKind) -> Vec<ModelWarning> {
    let is_trace = kind == ModelKind::Trace;
    directions.iter().map(|direction| ModelWarning::Misfit { direction: *direction, is_trace }).collect()
}

/// What a scenario is made of, for all packets.
pub fn source<'a>(
    stream: &'a Evaluated,
    run: &'a str,
    stem: &'a str,
    kind: ModelKind,
    allowed: Duration,
) -> FitInput<'a> {
    let started = stream.measurement.started.get(..4).and_then(|year| year.parse().ok());
    FitInput {
        run,
        ways: [&stream.related.forward, &stream.related.reverse],
        round_trip: &stream.related.round_trip,
        findings: &stream.measurement.findings,
        ordered: [&stream.measurement.forward, &stream.measurement.reverse]
            .map(|direction| direction.packets.reordered.is_some()),
        absolute: stream.measurement.forward.delay_kind != Some(DelayKind::Variable),
        kind,
        stem,
        year: started.unwrap_or(2026),
        only_udp: false,
        headers: headers(std::slice::from_ref(stream)),
        waiting: WAITING_TIME.as_nanos(),
        allowed: allowed.as_nanos(),
    }
}

/// The headers of the probes of these streams, by which flows of a scenario match them.
pub fn headers(streams: &[Evaluated]) -> Headers {
    let dscp = streams.first().and_then(|stream| stream.measurement.forward.dscp.sent);
    Headers { protocol: Some(UDP), dscp, ethertype: Some(0x0800), ..Headers::default() }
}
