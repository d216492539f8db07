//! The page: built from `console/`, committed there in its built form, and part of the program.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Response};

use crate::problem::Problem;

macro_rules! asset {
    ($path:literal, $kind:literal) => {
        ($path, $kind, include_bytes!(concat!("../../../../console/dist", $path)))
    };
}

/// Path, kind, content.
const ASSETS: &[(&str, &str, &[u8])] = &[
    asset!("/index.html", "text/html; charset=utf-8"),
    asset!("/app.js", "text/javascript; charset=utf-8"),
    asset!("/app.css", "text/css; charset=utf-8"),
    asset!("/icon.svg", "image/svg+xml"),
];

/// Serves a file of the page; nothing else is there, and no file system behind it.
pub(crate) async fn serve(request: Request) -> Response<Body> {
    let path = request.uri().path();
    let path = if path == "/" { "/index.html" } else { path };
    if path == "/api" || path.starts_with("/api/") {
        let detail = "the interface has no such path; /api/openapi.json lists all paths";
        return Problem::not_found(detail).into_response();
    }
    let Some((_, kind, content)) = ASSETS.iter().find(|(known, ..)| *known == path) else {
        return Problem::not_found("there is nothing at this address; the page is at /").into_response();
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Problem::method("GET, HEAD").into_response();
    }
    // Of a HEAD, the length is that of the body which is not sent.
    let mut response = Response::new(Body::from(*content));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
