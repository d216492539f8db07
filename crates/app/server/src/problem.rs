//! How a request fails: a problem document (RFC 9457), and never with status 500.

use axum::body::Body;
use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use romer_report::escape::terminal;
use schemars::JsonSchema;
use serde::Serialize;

/// The media type of problem documents.
const PROBLEM: &str = "application/problem+json";

/// An error: cause, place and remedy.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(rename = "Problem")]
pub(crate) struct Problem(Box<ProblemDetails>);

/// A problem document (RFC 9457).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct ProblemDetails {
    /// Stable identifier of the kind of error, below `about:blank#`.
    #[serde(rename = "type")]
    kind: String,
    /// Kind of error, as text.
    title: String,
    /// HTTP status code of the response.
    status: u16,
    /// Cause in this case, and remedy.
    detail: String,
    /// Invalid fields of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
    /// Current resource, if another client changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<serde_json::Value>,
    #[serde(skip)]
    header: Option<(HeaderName, String)>,
}

/// An error in one field of a document.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FieldError {
    /// Path of the field: `a_to_b.loss.probability`.
    pub(crate) field: String,
    /// Cause, and permitted values.
    pub(crate) detail: String,
    /// Line in the TOML text, from 1; `null` if the scenario was sent as JSON.
    pub(crate) line: Option<usize>,
    /// Column in that line, from 1.
    pub(crate) column: Option<usize>,
}

impl Problem {
    /// Of this status, in words. Control characters of what was sent are escaped: such documents are shown in terminals too.
    pub(crate) fn new(status: StatusCode, kind: &str, detail: impl Into<String>) -> Self {
        Self(Box::new(ProblemDetails {
            kind: format!("about:blank#{kind}"),
            title: status.canonical_reason().unwrap_or("Problem").into(),
            status: status.as_u16(),
            detail: terminal(&detail.into()),
            errors: Vec::new(),
            current: None,
            header: None,
        }))
    }

    pub(crate) fn bad(kind: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, kind, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    pub(crate) fn conflict(kind: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, kind, detail)
    }

    pub(crate) fn unprocessable(kind: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, kind, detail)
    }

    /// What the machine or its owner does not allow now: no fault of the request, nor of romer.
    pub(crate) fn unavailable(kind: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail)
    }

    pub(crate) fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "token", detail)
            .with_header(WWW_AUTHENTICATE, "Bearer realm=\"romer\"")
    }

    pub(crate) fn too_many() -> Self {
        let detail = "too many wrong tokens from this address; wait a second";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-attempts", detail).with_header(RETRY_AFTER, "1")
    }

    pub(crate) fn method(allowed: &str) -> Self {
        let detail = format!("this resource answers {allowed} only");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail).with_header(ALLOW, allowed)
    }

    /// The same, about one field.
    pub(crate) fn about(mut self, error: FieldError) -> Self {
        let FieldError { field, detail, line, column } = error;
        self.0.errors.push(FieldError { field: terminal(&field), detail: terminal(&detail), line, column });
        self
    }

    /// The same, with what is there now.
    pub(crate) fn with_current(mut self, current: serde_json::Value) -> Self {
        self.0.current = Some(current);
        self
    }

    fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        self.0.header = Some((name, value.into()));
        self
    }

    /// The same, and nothing more is read from who asked.
    pub(crate) fn ends_connection(self) -> Self {
        self.with_header(CONNECTION, "close")
    }

    /// Whether it names fields.
    pub(crate) fn has_fields(&self) -> bool {
        !self.0.errors.is_empty()
    }

    /// What it was this time.
    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The status of the answer.
    #[cfg(test)]
    pub(crate) fn status(&self) -> u16 {
        self.0.status
    }

    /// As the octets of an answer that ends its connection, for what has not become a request.
    pub(crate) fn into_message(self) -> Vec<u8> {
        let (status, title) = (self.0.status, self.0.title.clone());
        let text = serde_json::to_string(&self).unwrap_or_default();
        let length = text.len();
        let kind = PROBLEM;
        format!(
            "HTTP/1.1 {status} {title}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        )
        .into_bytes()
    }

    /// As an answer.
    pub(crate) fn into_response(self) -> Response<Body> {
        let text = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::BAD_REQUEST);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        if let Some((name, value)) = self.0.header
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            headers.insert(name, value);
        }
        response
    }
}
