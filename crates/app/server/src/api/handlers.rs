//! What can be asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::header::IF_MATCH;
use axum::http::{Method, StatusCode};
use romer_record::benchmark::Benchmark;
use romer_record::comparison::Comparison;
use romer_record::document::{Doctor, ProbeDirection};
use romer_record::emulation::Emulation as EmulationDocument;
use romer_units::Duration;
use schemars::JsonSchema;

use super::{AnswerKind, Call, Endpoint, Handler, HandlerReply, SchemaOf};
use crate::app::{About, App, Interface, Start};
use crate::benchmark_job::{BenchmarkJob, Planned, Preview};
use crate::emulation::{Emulation, InForce, Standing};
use crate::history::Applied;
use crate::interval_store::Interval;
use crate::measurement_job::{self, Asked, Job};
use crate::problem::Problem;
use crate::runs::exports::{self, Qtcp, Which};
use crate::runs::{self, Listed, Opened};
use crate::samples;
use crate::scenario::{self, Given, PresetShown, ScenarioForms};
use crate::strict_json;
use crate::warning_text::WithWarningText;

type Handling = fn(&App, &Call) -> Result<HandlerReply, Problem>;

fn schema<T: JsonSchema>() -> SchemaOf {
    |generator| generator.subschema_for::<T>()
}

fn endpoint(
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: Handling,
) -> Endpoint {
    Endpoint {
        method,
        path,
        id,
        summary,
        open: false,
        query: &[],
        body: None,
        status: 200,
        answer: AnswerKind::Nothing,
        handler: Handler::Blocking(handler),
    }
}

fn get<T: JsonSchema>(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: Handling,
) -> Endpoint {
    Endpoint { answer: AnswerKind::Json(schema::<T>()), ..endpoint(Method::GET, path, id, summary, handler) }
}

fn file(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    kind: &'static str,
    handler: Handling,
) -> Endpoint {
    Endpoint { answer: AnswerKind::File(kind), ..endpoint(Method::GET, path, id, summary, handler) }
}

fn post<B: JsonSchema, T: JsonSchema>(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    handler: Handling,
) -> Endpoint {
    Endpoint {
        body: Some(schema::<B>()),
        answer: AnswerKind::Json(schema::<T>()),
        ..endpoint(Method::POST, path, id, summary, handler)
    }
}

fn act(path: &'static str, id: &'static str, summary: &'static str, handler: Handling) -> Endpoint {
    Endpoint { status: 204, ..endpoint(Method::POST, path, id, summary, handler) }
}

/// All of it.
pub(super) fn table() -> Vec<Endpoint> {
    let mut table = vec![
        Endpoint {
            open: true,
            ..file("/api/openapi.json", "openapi", "This description.", "application/json", |app, _| {
                let content = app.openapi.clone().into_bytes();
                Ok(HandlerReply::File { kind: "application/json", content, name: None })
            })
        },
        act(
            "/api/session",
            "openSession",
            "Open a session of a browser: the answer sets a cookie.",
            |app, _| Ok(HandlerReply::Cookie(app.session_cookie())),
        ),
        get::<About>("/api/about", "about", "What this server is and may do.", |app, _| {
            HandlerReply::json(&app.about())
        }),
        get::<Doctor>("/api/doctor", "doctor", "Examine the machine, for about a second.", |app, _| {
            HandlerReply::json(&app.doctor())
        }),
        get::<Vec<Interface>>(
            "/api/interfaces",
            "interfaces",
            "Interfaces that can be ports, also of other namespaces.",
            |app, _| HandlerReply::json(&app.interfaces()),
        ),
    ];
    table.extend(emulating());
    table.extend(measuring());
    table.extend(benchmarking());
    table.extend(run_endpoints());
    table
}

fn emulating() -> Vec<Endpoint> {
    vec![
        get::<Vec<PresetShown>>("/api/presets", "presets", "Scenarios that come with romer.", |_, _| {
            HandlerReply::json(&scenario::presets())
        }),
        get::<InForce>(
            "/api/scenario",
            "scenario",
            "The scenario in force, with its entity tag.",
            |app, _| in_force(&*app.emulation()?),
        ),
        get::<BTreeMap<String, String>>(
            "/api/scenario/files",
            "scenarioFiles",
            "The files that the scenario in force names, each with its text.",
            |app, _| HandlerReply::json(&app.emulation()?.files()),
        ),
        Endpoint {
            body: Some(schema::<Given>()),
            answer: AnswerKind::Json(schema::<InForce>()),
            ..endpoint(
                Method::PUT,
                "/api/scenario",
                "putScenario",
                "Put another scenario in force; If-Match names the one that is known (or * for any).",
                put_scenario,
            )
        },
        post::<Given, ScenarioForms>(
            "/api/scenario/check",
            "checkScenario",
            "Read a scenario without putting it in force.",
            |app, call| {
                let held = app.held_files();
                HandlerReply::json(&scenario::read(strict_json::read::<Given>(&call.body)?, &held)?.shown())
            },
        ),
        get::<Vec<Applied>>(
            "/api/scenario/history",
            "history",
            "Scenarios that were in force, newest first.",
            |app, _| HandlerReply::json(&app.emulation()?.history()),
        ),
        get::<BTreeMap<String, String>>(
            "/api/scenario/history/{id}/files",
            "historyFiles",
            "The files that one of those named, each with its text.",
            history_files,
        ),
        get::<WithWarningText<EmulationDocument>>(
            "/api/statistics",
            "statistics",
            "The fate of the packets so far.",
            |app, _| {
                let emulation = app.emulation()?;
                let snapshot = emulation.snapshot()?;
                HandlerReply::json(&WithWarningText(emulation.document(&snapshot)))
            },
        ),
        act(
            "/api/statistics/reset",
            "resetStatistics",
            "Begin the summaries anew; the counts go on.",
            |app, _| app.emulation()?.reset().map(|()| HandlerReply::Nothing),
        ),
        Endpoint {
            answer: AnswerKind::Events,
            handler: Handler::Events,
            ..endpoint(
                Method::GET,
                "/api/events",
                "events",
                "What happens, as server-sent events.",
                |_, _| Ok(HandlerReply::Nothing),
            )
        },
        Endpoint {
            query: &[
                ("packets", false, "How many, from 1 to 10000; 1000 where nothing is said."),
                ("every", false, "Only packets with an ordinal that is a multiple of this; default 1."),
                ("wait", false, "How long to wait for them, up to 20s; 2s where nothing is said."),
            ],
            ..file(
                "/api/samples",
                "samples",
                "Packets from now on, a line for each and for each copy.",
                "text/csv",
                samples,
            )
        },
        get::<Standing>("/api/emulation", "emulation", "The emulation of this server.", |app, _| {
            HandlerReply::json(&app.emulation()?.standing())
        }),
        Endpoint {
            status: 201,
            ..post::<Start, Standing>(
                "/api/emulation",
                "startEmulation",
                "Start to emulate between two ports.",
                |app, call| {
                    let started = app.start_emulation(strict_json::read(&call.body)?)?;
                    HandlerReply::json_with(StatusCode::CREATED, &started, None)
                },
            )
        },
        Endpoint {
            answer: AnswerKind::Json(schema::<WithWarningText<EmulationDocument>>()),
            status: 200,
            query: &[(
                "keep",
                false,
                "Whether it is stored as a run (default true). An emulation of romer emulate is \
                 kept by its --out.",
            )],
            ..act(
                "/api/emulation/stop",
                "stopEmulation",
                "End the emulation, and give the fate of the packets.",
                stop_emulation,
            )
        },
        Endpoint {
            answer: AnswerKind::Json(schema::<Standing>()),
            status: 200,
            ..act(
                "/api/emulation/pass",
                "passThrough",
                "Let everything pass through untouched; the scenario is kept.",
                |app, _| HandlerReply::json(&app.switch(true)?),
            )
        },
        Endpoint {
            answer: AnswerKind::Json(schema::<Standing>()),
            status: 200,
            ..act(
                "/api/emulation/impair",
                "impairAgain",
                "Put the scenario in force again that was kept while everything passed through.",
                |app, _| HandlerReply::json(&app.switch(false)?),
            )
        },
    ]
}

fn benchmarking() -> Vec<Endpoint> {
    vec![
        get::<Vec<BenchmarkJob>>(
            "/api/benchmarks",
            "benchmarks",
            "Benchmarks that were started here, newest first.",
            |app, _| HandlerReply::json(&app.benchmarks.list()),
        ),
        Endpoint {
            status: 201,
            ..post::<Planned, BenchmarkJob>(
                "/api/benchmarks",
                "startBenchmark",
                "Start a benchmark by its plan.",
                |app, call| {
                    let job = app.plans.start(&app.benchmarks, &app.runs, &strict_json::read(&call.body)?)?;
                    HandlerReply::json_with(StatusCode::CREATED, &job, None)
                },
            )
        },
        post::<Planned, Preview>(
            "/api/benchmarks/check",
            "checkBenchmark",
            "Read a plan, and forecast its trials and duration, without running it.",
            |app, call| HandlerReply::json(&app.plans.preview(&strict_json::read(&call.body)?)?),
        ),
        get::<BenchmarkJob>("/api/benchmarks/{id}", "benchmark", "One of them.", |app, call| {
            HandlerReply::json(&app.benchmarks.get(number(call)?)?)
        }),
        Endpoint {
            answer: AnswerKind::Json(schema::<BenchmarkJob>()),
            status: 200,
            ..act(
                "/api/benchmarks/{id}/stop",
                "stopBenchmark",
                "End one early; what was found is kept.",
                |app, call| HandlerReply::json(&app.benchmarks.stop(number(call)?)?),
            )
        },
        get::<WithWarningText<Benchmark>>(
            "/api/benchmarks/{id}/document",
            "benchmarkDocument",
            "What a benchmark that is over has found.",
            |app, call| HandlerReply::json(&WithWarningText(&*benchmark_result(app, call)?)),
        ),
        file(
            "/api/benchmarks/{id}/report.html",
            "benchmarkReport",
            "The same as a page of its own.",
            "text/html; charset=utf-8",
            |app, call| {
                let content = romer_report::benchmark::page(&*benchmark_result(app, call)?).into_bytes();
                Ok(HandlerReply::File { kind: "text/html; charset=utf-8", content, name: None })
            },
        ),
    ]
}

fn benchmark_result(app: &App, call: &Call) -> Result<Arc<Benchmark>, Problem> {
    let none = || Problem::not_found("the benchmark has found nothing yet; wait until it ends");
    app.benchmarks.result(number(call)?)?.ok_or_else(none)
}

fn measuring() -> Vec<Endpoint> {
    vec![
        get::<Vec<Job>>(
            "/api/measurements",
            "measurements",
            "Measurements that were started here, newest first.",
            |app, _| HandlerReply::json(&app.measurements.list()),
        ),
        Endpoint {
            status: 201,
            ..post::<Asked, Job>("/api/measurements", "startMeasurement", "Start to measure.", |app, call| {
                let job = app.measure(strict_json::read(&call.body)?)?;
                HandlerReply::json_with(StatusCode::CREATED, &job, None)
            })
        },
        get::<Job>("/api/measurements/{id}", "measurement", "One of them.", |app, call| {
            HandlerReply::json(&app.measurements.get(number(call)?)?)
        }),
        get::<Vec<Interval>>(
            "/api/measurements/{id}/intervals",
            "measurementIntervals",
            "What came of its last intervals, 1,200 of each stream: what the curves of a page show.",
            |app, call| HandlerReply::json(&app.measurements.get(number(call)?)?.watched.all()),
        ),
        Endpoint {
            answer: AnswerKind::Json(schema::<Job>()),
            status: 200,
            ..act(
                "/api/measurements/{id}/stop",
                "stopMeasurement",
                "End it early; what was measured is kept.",
                |app, call| HandlerReply::json(&app.measurements.stop(number(call)?)?),
            )
        },
    ]
}

fn run_endpoints() -> Vec<Endpoint> {
    vec![
        get::<Vec<Listed>>("/api/runs", "runs", "Runs, newest first.", |app, _| {
            HandlerReply::json(&runs::list(&app.runs)?)
        }),
        get::<Opened>("/api/runs/{name}", "run", "A run with its documents.", |app, call| {
            HandlerReply::json(&runs::open(&app.runs, name(call))?)
        }),
        Endpoint {
            status: 204,
            ..endpoint(Method::DELETE, "/api/runs/{name}", "deleteRun", "Take a run away.", |app, call| {
                if measurement_job::is_written(&app.measurements, name(call)) {
                    let detail = "the run is being measured; stop it first";
                    return Err(Problem::conflict("running", detail));
                }
                runs::delete(&app.runs, name(call)).map(|()| HandlerReply::Nothing)
            })
        },
        file(
            "/api/runs/{name}/report.html",
            "report",
            "The report of a run, a page of its own.",
            "text/html; charset=utf-8",
            |app, call| {
                let page = runs::report(&app.runs, name(call))?;
                Ok(HandlerReply::File {
                    kind: "text/html; charset=utf-8",
                    content: page.into_bytes(),
                    name: None,
                })
            },
        ),
        file(
            "/api/runs/{name}/measurement.json",
            "measurementDocument",
            "The document of a measurement, romer/measurement/1; of several streams, romer/measurements/1.",
            "application/json",
            |app, call| saved(call, "application/json", ".json", exports::document(&app.runs, name(call))?),
        ),
        file(
            "/api/runs/{name}/packets.parquet",
            "packetsParquet",
            "The packets of all streams, as they are kept.",
            PARQUET,
            |app, call| saved(call, PARQUET, ".parquet", exports::parquet(&app.runs, name(call))?),
        ),
        file(
            "/api/runs/{name}/frames.pcapng",
            "frames",
            "The frames of a run that keeps them.",
            PCAPNG,
            |app, call| saved(call, PCAPNG, ".pcapng", exports::frames(&app.runs, name(call))?),
        ),
        packets(
            "/api/runs/{name}/packets.csv",
            "packets",
            "The packets of a stream, and in the last column the fate of each.",
            "text/csv",
            |app, call| {
                let which = which(call)?;
                let content = exports::packets(&app.runs, name(call), which)?;
                saved(call, "text/csv", &format!("-{}.csv", which.stream), content)
            },
        ),
        packets(
            "/api/runs/{name}/packets.raw",
            "packetsRaw",
            "The packets of a stream and way as Qtcp logs them.",
            "text/plain",
            |app, call| of_qtcp(app, call, Qtcp::Raw, "raw"),
        ),
        packets(
            "/api/runs/{name}/packets.log",
            "packetsLog",
            "The same normalised and without skew, as Qtcp converts them.",
            "text/plain",
            |app, call| of_qtcp(app, call, Qtcp::Log, "log"),
        ),
        packets(
            "/api/runs/{name}/packets.sta",
            "packetsSta",
            "What Qtcp says of them.",
            "text/plain",
            |app, call| of_qtcp(app, call, Qtcp::Sta, "sta"),
        ),
        Endpoint {
            query: &[
                ("a", true, "The run that is compared with."),
                ("b", true, "The run that is compared."),
                ("by", false, "The figure of the verdict: delay_ns.median, loss.ratio, ..."),
                ("stream_a", false, "Which of its streams, from 0; the first."),
                ("stream_b", false, "Which of its streams, from 0; the first."),
            ],
            ..get::<WithWarningText<Comparison>>(
                "/api/comparison",
                "comparison",
                "The difference of two runs, with intervals.",
                |app, call| {
                    let of = |key: &str| {
                        let missing = || Problem::bad("query", format!("the query has no {key}; name a run"));
                        call.query.get(key).map(String::as_str).ok_or_else(missing)
                    };
                    let by = call.query.get("by").map(String::as_str);
                    let stream = |key: &str| {
                        let none =
                            || Problem::unprocessable("query", format!("{key} is no number of a stream"));
                        call.query.get(key).map_or(Ok(0), |text| text.parse::<usize>().map_err(|_| none()))
                    };
                    let [a, b] = [(of("a")?, stream("stream_a")?), (of("b")?, stream("stream_b")?)];
                    HandlerReply::json(&WithWarningText(runs::compare(&app.runs, a, b, by)?))
                },
            )
        },
    ]
}

const PCAPNG: &str = "application/vnd.tcpdump.pcap";
const PARQUET: &str = "application/vnd.apache.parquet";

/// A file of the packets of a stream.
fn packets(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    kind: &'static str,
    handler: Handling,
) -> Endpoint {
    Endpoint {
        query: &[
            ("stream", false, "Which stream, from 0."),
            ("direction", false, "forward or reverse, of a run in both directions."),
        ],
        ..file(path, id, summary, kind, handler)
    }
}

/// The packets that a query means.
fn which(call: &Call) -> Result<Which, Problem> {
    let stream = match call.query.get("stream").map(|text| text.parse::<u16>()) {
        None => 0,
        Some(Ok(stream)) => stream,
        Some(Err(_)) => return Err(Problem::unprocessable("stream", "stream is a number from 0")),
    };
    let way = match call.query.get("direction").map(String::as_str) {
        None => None,
        Some("forward") => Some(ProbeDirection::Forward),
        Some("reverse") => Some(ProbeDirection::Reverse),
        Some(_) => return Err(Problem::unprocessable("direction", "direction is forward or reverse")),
    };
    Ok(Which { stream, way })
}

fn of_qtcp(app: &App, call: &Call, file: Qtcp, ending: &str) -> Result<HandlerReply, Problem> {
    let which = which(call)?;
    let content = exports::qtcp(&app.runs, name(call), which, file)?;
    saved(call, "text/plain", &format!("-{}.{ending}", which.stream), content)
}

/// A file that is saved under the run's name.
fn saved(call: &Call, kind: &'static str, ending: &str, content: Vec<u8>) -> Result<HandlerReply, Problem> {
    Ok(HandlerReply::File { kind, content, name: Some(format!("{}{ending}", name(call))) })
}

fn name(call: &Call) -> &str {
    call.path.get("name").map_or("", String::as_str)
}

fn number(call: &Call) -> Result<u64, Problem> {
    let text = call.path.get("id").map_or("", String::as_str);
    text.parse().map_err(|_| {
        Problem::not_found("measurements and benchmarks have numbers; the list has those that there are")
    })
}

fn history_files(app: &App, call: &Call) -> Result<HandlerReply, Problem> {
    let version = call.path.get("id").and_then(|text| text.parse().ok());
    let files = app.emulation()?.files_of(version.unwrap_or(0));
    HandlerReply::json(&files.ok_or_else(|| {
        Problem::not_found("no scenario with this number is remembered; the history has those that are")
    })?)
}

fn in_force(emulation: &Emulation) -> Result<HandlerReply, Problem> {
    let in_force = emulation.in_force();
    let tag = emulation.tag(in_force.version);
    HandlerReply::json_with(StatusCode::OK, &in_force, Some(tag))
}

fn put_scenario(app: &App, call: &Call) -> Result<HandlerReply, Problem> {
    let emulation = app.emulation()?;
    let Some(expected) = call.headers.get(IF_MATCH).and_then(|value| value.to_str().ok()) else {
        let detail = "say which scenario you know: If-Match with the entity tag of GET, or * for any";
        return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, "if-match", detail));
    };
    let given = strict_json::read::<Given>(&call.body)?;
    let expected = if expected.trim() == "*" { None } else { Some(emulation.version_of(expected)) };
    let ended_passing = emulation.standing().passing;
    let in_force = emulation.apply(given, expected)?;
    app.hub.send("scenario", &in_force);
    if ended_passing {
        app.hub.send("emulation", &emulation.standing());
    }
    let tag = emulation.tag(in_force.version);
    HandlerReply::json_with(StatusCode::OK, &in_force, Some(tag))
}

fn stop_emulation(app: &App, call: &Call) -> Result<HandlerReply, Problem> {
    let keep = match call.query.get("keep").map(String::as_str) {
        None | Some("true") => true,
        Some("false") => false,
        Some(_) => return Err(Problem::unprocessable("query", "keep is neither true nor false")),
    };
    HandlerReply::json(&WithWarningText(app.stop_emulation(keep)?))
}

fn samples(app: &App, call: &Call) -> Result<HandlerReply, Problem> {
    fn parameter<T: std::str::FromStr>(
        call: &Call,
        key: &str,
        otherwise: T,
        fits: fn(&T) -> bool,
    ) -> Result<T, Problem> {
        let Some(text) = call.query.get(key) else { return Ok(otherwise) };
        let wrong = || Problem::unprocessable("query", format!("{key} is out of its range, or has no unit"));
        text.parse().ok().filter(fits).ok_or_else(wrong)
    }
    let packets = parameter(call, "packets", 1_000, |number| (1..=samples::MAX_PACKETS).contains(number))?;
    let every = parameter(call, "every", std::num::NonZeroU32::MIN, |_| true)?;
    let fits = |wait: &Duration| *wait >= Duration::ZERO && wait.to_std() <= samples::MAX_WAIT;
    let wait = parameter(call, "wait", Duration::from_secs(2), fits)?;
    let table = samples::table(&*app.emulation()?, packets, every, wait.to_std())?;
    Ok(HandlerReply::File { kind: "text/csv", content: table.into_bytes(), name: Some("samples.csv".into()) })
}
