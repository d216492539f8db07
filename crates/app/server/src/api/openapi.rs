//! The description of the interface (OpenAPI 3.1), made from the table and the types.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{AnswerKind, Endpoint, handlers};
use crate::emulation::EmulationSample;
use crate::problem::Problem;

/// The whole document.
pub(crate) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = SchemaGenerator::new(settings.for_serialize());
    let problem = generator.subschema_for::<Problem>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in handlers::table() {
        let operation = operation(&endpoint, &problem, &mut generator);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_ascii_lowercase()] = operation;
    }
    // The event that is sent each second.
    let tick = generator.subschema_for::<EmulationSample>().to_value();
    paths["/api/events"]["get"]["responses"]["200"]["content"]["text/event-stream"]["x-tick"] = tick;
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Rømer",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "HTTP interface of `romer console` and `romer emulate --api`. Every request except those for \
                the page and this document must have the token that romer printed at its start.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }, { "session": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
                "session": { "type": "apiKey", "in": "cookie", "name": "romer_session" },
            },
        },
    })
}

fn path_parameter(name: &str) -> &'static str {
    if name == "name" {
        "Name of the run, from GET /api/runs. The runs of a closed loop are NAME/path and NAME/emulated."
    } else {
        "Identifier, from the list of these resources."
    }
}

fn operation(endpoint: &Endpoint, problem: &Value, generator: &mut SchemaGenerator) -> Value {
    let content = match &endpoint.answer {
        AnswerKind::Json(schema) => Some(("application/json", schema(generator).to_value())),
        AnswerKind::File(kind) => Some((*kind, json!({ "type": "string" }))),
        AnswerKind::Events => Some(("text/event-stream", json!({ "type": "string" }))),
        AnswerKind::Nothing => None,
    };
    let mut good = json!({ "description": "Success." });
    if let Some((kind, schema)) = content {
        let kind = kind.split(';').next().unwrap_or(kind);
        good["content"] = json!({ kind: { "schema": schema } });
    }
    let refused = json!({
        "description": "Rejected. The body states the cause and the remedy.",
        "content": { "application/problem+json": { "schema": problem } },
    });
    let mut operation = json!({
        "operationId": endpoint.id,
        "summary": endpoint.summary,
        "responses": { endpoint.status.to_string(): good, "4XX": refused, "503": refused },
    });
    let mut parameters: Vec<Value> = endpoint
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            json!({ "name": name, "in": "path", "required": true, "description": path_parameter(name),
                    "schema": { "type": "string" } })
        })
        .collect();
    parameters.extend(endpoint.query.iter().map(|(name, required, description)| {
        json!({ "name": name, "in": "query", "required": required, "description": description,
                "schema": { "type": "string" } })
    }));
    if endpoint.method == "PUT" {
        parameters.push(json!({ "name": "If-Match", "in": "header", "required": true,
                                "description": "Entity tag of the scenario to replace, from GET /api/scenario; * for any.",
                                "schema": { "type": "string" } }));
    }
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some(body) = endpoint.body {
        let schema = body(generator).to_value();
        operation["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    if endpoint.open {
        operation["security"] = json!([]);
    }
    operation
}
