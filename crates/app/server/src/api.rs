//! The interface: a table of what can be asked for, from which both the routes and their description are made.

mod handlers;
mod openapi;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use axum::routing::{MethodFilter, MethodRouter, on};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use schemars::{Schema, SchemaGenerator};
use serde::Serialize;

use crate::app::App;
use crate::problem::Problem;
use crate::request_guard::{self, LARGEST_BODY};

pub(crate) use openapi::document;

/// How long a body may take to come.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A request, as handlers see it.
pub(crate) struct Call {
    pub(crate) path: BTreeMap<String, String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What a handler answers.
pub(crate) enum HandlerReply {
    /// A document, with its entity tag.
    Json {
        status: StatusCode,
        text: Vec<u8>,
        tag: Option<String>,
    },
    /// A file, with the name under which it is saved where it is to be.
    File {
        kind: &'static str,
        content: Vec<u8>,
        name: Option<String>,
    },
    /// Nothing, with a cookie.
    Cookie(String),
    Nothing,
}

impl HandlerReply {
    pub(crate) fn json<T: Serialize>(what: &T) -> Result<Self, Problem> {
        Self::json_with(StatusCode::OK, what, None)
    }

    pub(crate) fn json_with<T: Serialize>(
        status: StatusCode,
        what: &T,
        tag: Option<String>,
    ) -> Result<Self, Problem> {
        let text = serde_json::to_vec(what).map_err(|error| {
            Problem::unavailable("document", format!("the answer cannot be written: {error}"))
        })?;
        Ok(Self::Json { status, text, tag })
    }

    fn into_response(self) -> Response<Body> {
        let (status, kind, content) = match &self {
            Self::Json { status, .. } => (*status, "application/json", true),
            Self::File { kind, .. } => (StatusCode::OK, *kind, true),
            Self::Cookie(_) | Self::Nothing => (StatusCode::NO_CONTENT, "", false),
        };
        let mut headers = HeaderMap::new();
        let mut put = |name, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        };
        put(CACHE_CONTROL, "no-store".into());
        if content {
            put(CONTENT_TYPE, kind.into());
        }
        let body = match self {
            Self::Json { text, tag, .. } => {
                if let Some(tag) = tag {
                    put(ETAG, format!("\"{tag}\""));
                }
                Body::from(text)
            }
            Self::File { content, name, .. } => {
                if let Some(name) = name {
                    put(CONTENT_DISPOSITION, disposition(&name));
                }
                Body::from(content)
            }
            Self::Cookie(cookie) => {
                put(SET_COOKIE, cookie);
                Body::empty()
            }
            Self::Nothing => Body::empty(),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

/// Under which name a file is saved: RFC 6266, with the name in full (RFC 8187) for those who read that.
fn disposition(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._ ".contains(c) { c } else { '_' };
    let shown: String = name.chars().map(plain).collect();
    let mut whole = String::new();
    for octet in name.bytes() {
        if octet.is_ascii_alphanumeric() || b"-._".contains(&octet) {
            whole.push(char::from(octet));
        } else {
            whole.push_str(&format!("%{octet:02X}"));
        }
    }
    format!("attachment; filename=\"{shown}\"; filename*=UTF-8''{whole}")
}

/// A type's schema.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What an answer is, for the description.
pub(crate) enum AnswerKind {
    Json(SchemaOf),
    File(&'static str),
    Events,
    Nothing,
}

/// Who answers.
enum Handler {
    /// A function that may block.
    Blocking(fn(&App, &Call) -> Result<HandlerReply, Problem>),
    /// The stream of events.
    Events,
}

/// One thing that can be asked for.
pub(crate) struct Endpoint {
    method: Method,
    path: &'static str,
    /// Its name for programs.
    id: &'static str,
    /// What it does, in a sentence.
    summary: &'static str,
    /// Whether it needs no token.
    open: bool,
    /// Parameters of the query: name, whether it must be there, what it is.
    query: &'static [(&'static str, bool, &'static str)],
    body: Option<SchemaOf>,
    status: u16,
    answer: AnswerKind,
    handler: Handler,
}

/// Whether a path can be asked for without a token.
pub(crate) fn is_open(path: &str) -> bool {
    !path.starts_with("/api/")
        || handlers::table().iter().any(|endpoint| endpoint.open && endpoint.path == path)
}

/// The routes of the table.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let mut paths: BTreeMap<&'static str, (MethodRouter, Vec<String>)> = BTreeMap::new();
    for endpoint in handlers::table() {
        let app = Arc::clone(app);
        let filter = match endpoint.method {
            Method::PUT => MethodFilter::PUT,
            Method::POST => MethodFilter::POST,
            Method::DELETE => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        let path = endpoint.path;
        let method = endpoint.method.to_string();
        let handler = Arc::new(endpoint.handler);
        let takes_body = endpoint.body.is_some();
        let route =
            on(filter, move |parameters: Result<RawPathParams, RawPathParamsRejection>, request: Request| {
                let (app, handler) = (Arc::clone(&app), Arc::clone(&handler));
                async move {
                    let answer = match parameters {
                        Ok(parameters) => respond(&app, &handler, &parameters, takes_body, request).await,
                        Err(_) => Err(Problem::not_found(
                            "no name here is percent-encoded like this: it is not UTF-8",
                        )),
                    };
                    answer.unwrap_or_else(Problem::into_response)
                }
            });
        let entry = paths.entry(path).or_default();
        entry.0 = std::mem::take(&mut entry.0).merge(route);
        entry.1.push(method);
    }
    let mut router = Router::new();
    for (path, (route, methods)) in paths {
        let allowed = methods.join(", ");
        let refuse = move || {
            let problem = Problem::method(&allowed);
            async move { problem.into_response() }
        };
        router = router.route(path, route.fallback(refuse));
    }
    router
}

async fn respond(
    app: &Arc<App>,
    handler: &Handler,
    parameters: &RawPathParams,
    takes_body: bool,
    request: Request,
) -> Result<Response<Body>, Problem> {
    let path = parameters.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (head, body) = request.into_parts();
    let query = query(head.uri.query().unwrap_or_default())?;
    match handler {
        Handler::Events => {
            let last = head.headers.get("last-event-id").and_then(|value| value.to_str().ok());
            Ok(app.hub.stream(last.and_then(|last| last.parse().ok())))
        }
        Handler::Blocking(work) => {
            // A body that nobody takes is neither waited for nor held: its connection ends after the answer.
            let body = if takes_body { collect(body).await? } else { Bytes::new() };
            let call = Call { path, query, headers: head.headers, body };
            let (app, work) = (Arc::clone(app), *work);
            let answered = tokio::task::spawn_blocking(move || work(&app, &call)).await;
            // A task that panicked has said so; what remains is a fault of romer's, for which there is no 500.
            let lost =
                |_| Problem::unavailable("fault", "romer has failed here; please report what it printed");
            answered.map_err(lost)?.map(HandlerReply::into_response)
        }
    }
}

async fn collect(body: Body) -> Result<Bytes, Problem> {
    let whole = Limited::new(body, LARGEST_BODY).collect();
    match tokio::time::timeout(BODY_TIMEOUT, whole).await {
        Err(_) => {
            let detail = "the body did not come within 10 s";
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "slow", detail))
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(request_guard::too_large()),
        Ok(Err(_)) => Err(Problem::bad("body", "the body broke off, or its chunks are wrong")),
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
    }
}

/// The pairs of a query, percent-decoded.
fn query(text: &str) -> Result<BTreeMap<String, String>, Problem> {
    let mut pairs = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(key), Some(value)) = (decoded(key), decoded(value)) else {
            return Err(Problem::bad("address", "the query is not percent-encoded UTF-8"));
        };
        if pairs.insert(key.clone(), value).is_some() {
            let shown = romer_units::excerpt(&key, 60);
            return Err(Problem::bad("address", format!("{shown:?} appears in the query twice")));
        }
    }
    Ok(pairs)
}

fn decoded(text: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'+' => b' ',
            b'%' => {
                let digit = |octet: Option<u8>| octet.and_then(|octet| char::from(octet).to_digit(16));
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            octet => octet,
        });
    }
    String::from_utf8(octets).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_and_odd_ones_refused() {
        let read = query("a=1&by=delay_ns.p99&x=%2F+y").unwrap();
        assert_eq!(read["x"], "/ y");
        for odd in ["a=%zz", "a=%ff", "a=%", "a=1&a=2"] {
            assert_eq!(query(odd).unwrap_err().status(), 400, "{odd}");
        }
    }
}
