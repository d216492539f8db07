//! What can be asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::header::IF_MATCH;
use axum::http::{Method, StatusCode};
use romer_record::benchmark::Benchmark;
use romer_record::comparison::Comparison;
use romer_record::doctor::Doctor;
use romer_record::document::ProbeDirection;
use romer_record::emulation::Emulation as EmulationDocument;
use romer_record::run_list::RunListEntry;
use romer_units::Duration;
use schemars::JsonSchema;

use super::{AnswerKind, Call, Endpoint, Handler, HandlerReply, SchemaOf};
use crate::app::{App, EmulationRequest, Interface, ServerInfo};
use crate::benchmark_job::{BenchmarkJob, BenchmarkRequest, Preview};
use crate::emulation::{ActiveScenario, Emulation, EmulationStatus};
use crate::history::Applied;
use crate::interval_store::Interval;
use crate::loop_job::{self, LoopJob, LoopOfRun};
use crate::measurement_job::{self, Job, MeasurementRequest};
use crate::problem::Problem;
use crate::runs::delays::{self, DelaysOverTime};
use crate::runs::exports::{self, Qtcp, Which};
use crate::runs::{self, RunDocuments};
use crate::samples;
use crate::scenario::{self, PresetShown, ScenarioForms, ScenarioRequest};
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
            ..file(
                "/api/openapi.json",
                "openapi",
                "OpenAPI description of this interface.",
                "application/json",
                |app, _| {
                    let content = app.openapi.clone().into_bytes();
                    Ok(HandlerReply::File { kind: "application/json", content, name: None })
                },
            )
        },
        act(
            "/api/session",
            "openSession",
            "Open a browser session; the answer sets its cookie.",
            |app, _| Ok(HandlerReply::Cookie(app.session_cookie())),
        ),
        get::<ServerInfo>("/api/about", "about", "Version, host and rights of this server.", |app, _| {
            HandlerReply::json(&app.about())
        }),
        get::<Doctor>("/api/doctor", "doctor", "Check this machine (takes about 1 s).", |app, _| {
            HandlerReply::json(&app.doctor())
        }),
        get::<Vec<Interface>>(
            "/api/interfaces",
            "interfaces",
            "Interfaces usable as ports, also in named network namespaces.",
            |app, _| HandlerReply::json(&app.interfaces()),
        ),
    ];
    table.extend(emulating());
    table.extend(measuring());
    table.extend(benchmarking());
    table.extend(looping());
    table.extend(run_endpoints());
    table
}

fn emulating() -> Vec<Endpoint> {
    vec![
        get::<Vec<PresetShown>>("/api/presets", "presets", "Scenario presets.", |_, _| {
            HandlerReply::json(&scenario::presets())
        }),
        get::<ActiveScenario>(
            "/api/scenario",
            "scenario",
            "Current scenario, with its entity tag.",
            |app, _| in_force(&*app.emulation()?),
        ),
        get::<BTreeMap<String, String>>(
            "/api/scenario/files",
            "scenarioFiles",
            "Files of the current scenario, as text by name.",
            |app, _| HandlerReply::json(&app.emulation()?.files()),
        ),
        Endpoint {
            body: Some(schema::<ScenarioRequest>()),
            answer: AnswerKind::Json(schema::<ActiveScenario>()),
            ..endpoint(
                Method::PUT,
                "/api/scenario",
                "putScenario",
                "Replace the current scenario. If-Match: its entity tag, or * for any.",
                put_scenario,
            )
        },
        post::<ScenarioRequest, ScenarioForms>(
            "/api/scenario/check",
            "checkScenario",
            "Check a scenario without applying it.",
            |app, call| {
                let held = app.held_files();
                HandlerReply::json(
                    &scenario::read(strict_json::read::<ScenarioRequest>(&call.body)?, &held)?.shown(),
                )
            },
        ),
        get::<Vec<Applied>>(
            "/api/scenario/history",
            "history",
            "Scenarios applied so far, newest first.",
            |app, _| HandlerReply::json(&app.emulation()?.history()),
        ),
        get::<BTreeMap<String, String>>(
            "/api/scenario/history/{id}/files",
            "historyFiles",
            "Files of an earlier scenario, as text by name.",
            history_files,
        ),
        get::<WithWarningText<EmulationDocument>>(
            "/api/statistics",
            "statistics",
            "Statistics of the emulation up to now (romer/emulation/1).",
            |app, _| {
                let emulation = app.emulation()?;
                let snapshot = emulation.snapshot()?;
                HandlerReply::json(&WithWarningText(emulation.document(&snapshot)))
            },
        ),
        act(
            "/api/statistics/reset",
            "resetStatistics",
            "Reset the delay summaries; the packet counters continue.",
            |app, _| app.emulation()?.reset().map(|()| HandlerReply::Nothing),
        ),
        Endpoint {
            answer: AnswerKind::Events,
            handler: Handler::Events,
            ..endpoint(
                Method::GET,
                "/api/events",
                "events",
                "Live state of the emulation and jobs, as server-sent events.",
                |_, _| Ok(HandlerReply::Nothing),
            )
        },
        Endpoint {
            query: &[
                ("packets", false, "Maximum number of packets, 1 to 10000 (default 1000)."),
                ("every", false, "Sample every nth packet (default 1: all)."),
                ("wait", false, "Maximum wait for the packets, with unit, up to 20s (default 2s)."),
            ],
            ..file(
                "/api/samples",
                "samples",
                "Packets emulated from now on, as CSV with one row per packet or duplicate.",
                "text/csv",
                samples,
            )
        },
        get::<EmulationStatus>("/api/emulation", "emulation", "Status of the emulation.", |app, _| {
            HandlerReply::json(&app.emulation()?.standing())
        }),
        Endpoint {
            status: 201,
            ..post::<EmulationRequest, EmulationStatus>(
                "/api/emulation",
                "startEmulation",
                "Start an emulation between two ports.",
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
                "Store the emulation as a run (default true). Emulations of romer emulate are stored \
                 by its option --out.",
            )],
            ..act(
                "/api/emulation/stop",
                "stopEmulation",
                "End the emulation; the answer is its final statistics (romer/emulation/1).",
                stop_emulation,
            )
        },
        Endpoint {
            answer: AnswerKind::Json(schema::<EmulationStatus>()),
            status: 200,
            ..act(
                "/api/emulation/pass",
                "passThrough",
                "Disable all impairments (master switch off); the scenario is stored.",
                |app, _| HandlerReply::json(&app.switch(true)?),
            )
        },
        Endpoint {
            answer: AnswerKind::Json(schema::<EmulationStatus>()),
            status: 200,
            ..act(
                "/api/emulation/impair",
                "impairAgain",
                "Enable the impairments of the stored scenario again (master switch on).",
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
            "Benchmarks started by this server, newest first.",
            |app, _| HandlerReply::json(&app.benchmarks.list()),
        ),
        Endpoint {
            status: 201,
            ..post::<BenchmarkRequest, BenchmarkJob>(
                "/api/benchmarks",
                "startBenchmark",
                "Start a benchmark from a plan.",
                |app, call| {
                    let job = app.plans.start(&app.benchmarks, &app.runs, &strict_json::read(&call.body)?)?;
                    HandlerReply::json_with(StatusCode::CREATED, &job, None)
                },
            )
        },
        post::<BenchmarkRequest, Preview>(
            "/api/benchmarks/check",
            "checkBenchmark",
            "Check a plan and forecast its trials and duration, without running it.",
            |app, call| HandlerReply::json(&app.plans.preview(&strict_json::read(&call.body)?)?),
        ),
        get::<BenchmarkJob>("/api/benchmarks/{id}", "benchmark", "Status of a benchmark.", |app, call| {
            HandlerReply::json(&app.benchmarks.get(number(call)?)?)
        }),
        Endpoint {
            answer: AnswerKind::Json(schema::<BenchmarkJob>()),
            status: 200,
            ..act(
                "/api/benchmarks/{id}/stop",
                "stopBenchmark",
                "Stop a benchmark; completed trials are stored.",
                |app, call| HandlerReply::json(&app.benchmarks.stop(number(call)?)?),
            )
        },
        get::<WithWarningText<Benchmark>>(
            "/api/benchmarks/{id}/document",
            "benchmarkDocument",
            "Results of a finished benchmark (romer/benchmark/1).",
            |app, call| HandlerReply::json(&WithWarningText(&*benchmark_result(app, call)?)),
        ),
        file(
            "/api/benchmarks/{id}/report.html",
            "benchmarkReport",
            "HTML report of a finished benchmark.",
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
            "Measurements started by this server, newest first.",
            |app, _| HandlerReply::json(&app.measurements.list()),
        ),
        Endpoint {
            status: 201,
            ..post::<MeasurementRequest, Job>(
                "/api/measurements",
                "startMeasurement",
                "Start a measurement.",
                |app, call| {
                    let job = app.measure(strict_json::read(&call.body)?)?;
                    HandlerReply::json_with(StatusCode::CREATED, &job, None)
                },
            )
        },
        get::<Job>("/api/measurements/{id}", "measurement", "Status of a measurement.", |app, call| {
            HandlerReply::json(&app.measurements.get(number(call)?)?)
        }),
        get::<Vec<Interval>>(
            "/api/measurements/{id}/intervals",
            "measurementIntervals",
            "Last 1,200 intervals of each stream of a measurement, for charts.",
            |app, call| HandlerReply::json(&app.measurements.get(number(call)?)?.watched.all()),
        ),
        Endpoint {
            answer: AnswerKind::Json(schema::<Job>()),
            status: 200,
            ..act(
                "/api/measurements/{id}/stop",
                "stopMeasurement",
                "Stop a measurement; its results up to now are stored.",
                |app, call| HandlerReply::json(&app.measurements.stop(number(call)?)?),
            )
        },
    ]
}

fn looping() -> Vec<Endpoint> {
    vec![
        get::<Vec<LoopJob>>(
            "/api/loops",
            "loops",
            "Closed loops started by this server, newest first.",
            |app, _| HandlerReply::json(&app.loops.list()),
        ),
        Endpoint {
            status: 201,
            ..post::<MeasurementRequest, LoopJob>(
                "/api/loops",
                "startLoop",
                "Start a closed loop with a measurement of one target. Fields that do not apply: trace, limits, comment, \
                 stamp, log_at_end, emulated.",
                |app, call| {
                    let job = loop_job::start(&app.loops, &app.runs, strict_json::read(&call.body)?)?;
                    HandlerReply::json_with(StatusCode::CREATED, &job, None)
                },
            )
        },
        Endpoint {
            status: 201,
            ..post::<LoopOfRun, LoopJob>(
                "/api/loops/from-run",
                "startLoopFromRun",
                "Start a closed loop with a finished run.",
                |app, call| {
                    let request = strict_json::read::<LoopOfRun>(&call.body)?;
                    let job = loop_job::start_of_run(&app.loops, &app.runs, &request)?;
                    HandlerReply::json_with(StatusCode::CREATED, &job, None)
                },
            )
        },
        get::<LoopJob>("/api/loops/{id}", "loop", "Status of a closed loop.", |app, call| {
            HandlerReply::json(&app.loops.get(number(call)?)?)
        }),
        Endpoint {
            answer: AnswerKind::Json(schema::<LoopJob>()),
            status: 200,
            ..act(
                "/api/loops/{id}/stop",
                "stopLoop",
                "Stop a closed loop. Results up to now are stored.",
                |app, call| HandlerReply::json(&app.loops.stop(number(call)?)?),
            )
        },
    ]
}

fn run_endpoints() -> Vec<Endpoint> {
    vec![
        get::<Vec<RunListEntry>>("/api/runs", "runs", "Runs, newest first.", |app, _| {
            HandlerReply::json(&runs::list(&app.runs)?)
        }),
        get::<RunDocuments>("/api/runs/{name}", "run", "Documents of a run.", |app, call| {
            HandlerReply::json(&runs::open(&app.runs, name(call))?)
        }),
        Endpoint {
            status: 204,
            ..endpoint(Method::DELETE, "/api/runs/{name}", "deleteRun", "Delete a run.", |app, call| {
                if measurement_job::is_written(&app.measurements, name(call)) {
                    let detail = "the run is being measured; stop it first";
                    return Err(Problem::conflict("running", detail));
                }
                if loop_job::is_used(&app.loops, name(call)) {
                    let detail = "a closed loop uses the run; stop the loop first";
                    return Err(Problem::conflict("running", detail));
                }
                runs::delete(&app.runs, name(call)).map(|()| HandlerReply::Nothing)
            })
        },
        file(
            "/api/runs/{name}/report.html",
            "report",
            "HTML report of a run.",
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
        Endpoint {
            query: &[
                ("stream", false, "Stream number, from 0 (default 0)."),
                (
                    "every",
                    false,
                    "Length of a bin, with unit; a run has at most 2000 bins (default: 240 bins).",
                ),
            ],
            ..get::<DelaysOverTime>(
                "/api/runs/{name}/delays",
                "delaysOverTime",
                "Delays of a measurement over time, in bins.",
                delays_over_time,
            )
        },
        get::<BTreeMap<String, String>>(
            "/api/runs/{name}/scenario/files",
            "loopScenarioFiles",
            "Files of the scenario of a closed loop, as text by name.",
            |app, call| HandlerReply::json(&runs::scenario_files(&app.runs, name(call))?),
        ),
        file(
            "/api/runs/{name}/measurement.json",
            "measurementDocument",
            "Results of a measurement (romer/measurement/1; of several streams, romer/measurements/1).",
            "application/json",
            |app, call| saved(call, "application/json", ".json", exports::document(&app.runs, name(call))?),
        ),
        file(
            "/api/runs/{name}/packets.parquet",
            "packetsParquet",
            "Packets of all streams, as a Parquet file.",
            PARQUET,
            |app, call| saved(call, PARQUET, ".parquet", exports::parquet(&app.runs, name(call))?),
        ),
        file(
            "/api/runs/{name}/frames.pcapng",
            "frames",
            "Frames of a run, as a pcapng file, if the run stores them.",
            PCAPNG,
            |app, call| saved(call, PCAPNG, ".pcapng", exports::frames(&app.runs, name(call))?),
        ),
        packets(
            "/api/runs/{name}/packets.csv",
            "packets",
            "Packets of a stream, as CSV; the last column states whether each was received or lost.",
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
            "Packets of a stream and direction, as a Qtcp .raw file.",
            "text/plain",
            |app, call| of_qtcp(app, call, Qtcp::Raw, "raw"),
        ),
        packets(
            "/api/runs/{name}/packets.log",
            "packetsLog",
            "Packets of a stream and direction, as a Qtcp .log file (normalised, skew removed).",
            "text/plain",
            |app, call| of_qtcp(app, call, Qtcp::Log, "log"),
        ),
        packets(
            "/api/runs/{name}/packets.sta",
            "packetsSta",
            "Statistics of a stream and direction, as a Qtcp .sta file.",
            "text/plain",
            |app, call| of_qtcp(app, call, Qtcp::Sta, "sta"),
        ),
        Endpoint {
            query: &[
                ("a", true, "Name of run A, the reference."),
                ("b", true, "Name of run B; differences are B minus A."),
                ("by", false, "Metric that decides the verdict: delay_ns.median, loss.ratio, ..."),
                ("stream_a", false, "Stream number in run A, from 0 (default 0)."),
                ("stream_b", false, "Stream number in run B, from 0 (default 0)."),
            ],
            ..get::<WithWarningText<Comparison>>(
                "/api/comparison",
                "comparison",
                "Differences between two runs, with confidence intervals (romer/comparison/1).",
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
            ("stream", false, "Stream number, from 0 (default 0)."),
            ("direction", false, "forward or reverse; needed if the run has both directions."),
        ],
        ..file(path, id, summary, kind, handler)
    }
}

fn delays_over_time(app: &App, call: &Call) -> Result<HandlerReply, Problem> {
    let every = match call.query.get("every").map(|text| text.parse::<Duration>()) {
        None => None,
        Some(Ok(every)) if every > Duration::ZERO => Some(every),
        Some(_) => return Err(Problem::unprocessable("query", "every is a time above 0 with a unit: 500ms")),
    };
    HandlerReply::json(&delays::over_time(&app.runs, name(call), stream(call)?, every)?)
}

/// The stream that a query means.
fn stream(call: &Call) -> Result<u16, Problem> {
    let parsed = call.query.get("stream").map_or(Ok(0), |text| text.parse::<u16>());
    parsed.map_err(|_| Problem::unprocessable("stream", "stream is a number from 0"))
}

/// The packets that a query means.
fn which(call: &Call) -> Result<Which, Problem> {
    let stream = stream(call)?;
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

/// A file that is saved under the run's name; those of a loop's runs have a dash in the place of the slash.
fn saved(call: &Call, kind: &'static str, ending: &str, content: Vec<u8>) -> Result<HandlerReply, Problem> {
    let name = name(call).replace('/', "-");
    Ok(HandlerReply::File { kind, content, name: Some(format!("{name}{ending}")) })
}

fn name(call: &Call) -> &str {
    call.path.get("name").map_or("", String::as_str)
}

fn number(call: &Call) -> Result<u64, Problem> {
    let text = call.path.get("id").map_or("", String::as_str);
    text.parse().map_err(|_| {
        Problem::not_found(
            "measurements, benchmarks and loops have numbers; the list has those that there are",
        )
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
    let given = strict_json::read::<ScenarioRequest>(&call.body)?;
    let expected = if expected.trim() == "*" { None } else { Some(emulation.version_of(expected)) };
    let ended_passing = emulation.standing().impairments_off;
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
