//! Checks of every request before it is handled: host, origin, content type and size.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN, RANGE, TRANSFER_ENCODING,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri, request};

use crate::problem::Problem;

/// Octets of a body.
pub(crate) const LARGEST_BODY: usize = 16 << 20;
/// Octets of a path with its query.
const LONGEST_PATH: usize = 8 << 10;

/// Names by which the server is called, and how it is reached.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// Host names that are allowed besides its own addresses.
    pub(crate) hosts: Vec<String>,
    pub(crate) tls: bool,
}

/// The two ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
}

/// A header that may be there once.
fn once<'h>(headers: &'h HeaderMap, name: &axum::http::HeaderName) -> Result<Option<&'h str>, Problem> {
    let mut all = headers.get_all(name).iter();
    let first = all.next();
    if all.next().is_some() {
        return Err(Problem::bad("header", format!("the header {name} is there twice")));
    }
    first
        .map(|value| {
            value.to_str().map_err(|_| Problem::bad("header", format!("the header {name} is not ASCII")))
        })
        .transpose()
}

/// Looks at the head of a request.
///
/// # Errors
/// 400, 403, 405, 413, 414, 415, 416 or 421.
pub(crate) fn check(head: &request::Parts, names: &Names, ends: Ends) -> Result<(), Problem> {
    let host = host(head, names, ends)?;
    if matches!(head.method, Method::TRACE | Method::CONNECT) {
        return Err(Problem::method("GET, HEAD, POST, PUT, DELETE"));
    }
    origin(head, &host, names.tls)?;
    if head.method == Method::OPTIONS {
        return Err(Problem::method("GET, HEAD, POST, PUT, DELETE"));
    }
    path(&head.uri)?;
    let ranges = once(&head.headers, &RANGE)?;
    if ranges.is_some_and(|ranges| ranges.contains(',')) {
        let detail = "several ranges are requested; request one, or the whole";
        return Err(Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", detail));
    }
    body(head)
}

/// The host that is meant: of the request line, else of the header.
fn host(head: &request::Parts, names: &Names, ends: Ends) -> Result<String, Problem> {
    let header = once(&head.headers, &HOST)?;
    let Some(header) = header.filter(|host| !host.is_empty()) else {
        return Err(Problem::bad("host", "the header Host is missing"));
    };
    let line = head.uri.authority().map(axum::http::uri::Authority::as_str);
    for given in [Some(header), line].into_iter().flatten() {
        if !is_ours(given, names, ends) {
            let detail =
                "this name is not one of the server's; call it by its address, or start it with --host NAME";
            return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", detail));
        }
    }
    Ok(header.to_ascii_lowercase())
}

fn is_ours(given: &str, names: &Names, ends: Ends) -> bool {
    let given = given.to_ascii_lowercase();
    let standard = if names.tls { 443 } else { 80 };
    let (name, port) = match given.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => match port.parse::<u16>() {
            Ok(port) => (name, port),
            Err(_) => return false,
        },
        _ => (given.as_str(), standard),
    };
    if names.hosts.iter().any(|host| host.eq_ignore_ascii_case(name)) {
        // A name may be reached through a forwarded port.
        return true;
    }
    if port != ends.local.port() {
        return false;
    }
    let local = ends.local.ip().to_canonical();
    let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    match literal.parse::<IpAddr>() {
        Ok(address) => !address.is_unspecified() && address.to_canonical() == local,
        Err(_) => name == "localhost" && local.is_loopback(),
    }
}

/// What changes something, and all of the interface, is for pages of our own and for programs.
fn origin(head: &request::Parts, host: &str, tls: bool) -> Result<(), Problem> {
    let changes = !matches!(head.method, Method::GET | Method::HEAD);
    let is_page = !changes && !head.uri.path().starts_with("/api/");
    let refused = || {
        let detail =
            "the request comes from a page of another site (cross-origin), which may not ask for this";
        Problem::new(StatusCode::FORBIDDEN, "cross-origin", detail)
    };
    let site = axum::http::HeaderName::from_static("sec-fetch-site");
    match once(&head.headers, &site)? {
        Some("same-origin" | "none") => {}
        Some(_) if is_page => {}
        Some(_) => return Err(refused()),
        None => {}
    }
    let Some(origin) = once(&head.headers, &ORIGIN)? else { return Ok(()) };
    let scheme = if tls { "https://" } else { "http://" };
    let same = origin.to_ascii_lowercase().strip_prefix(scheme).is_some_and(|rest| rest == host);
    if same || is_page { Ok(()) } else { Err(refused()) }
}

fn path(uri: &Uri) -> Result<(), Problem> {
    let whole = uri.path_and_query().map_or("", |path| path.as_str());
    if whole.len() > LONGEST_PATH {
        let detail = "the address is longer than 8 KiB";
        return Err(Problem::new(StatusCode::URI_TOO_LONG, "address", detail));
    }
    let lower = whole.to_ascii_lowercase();
    if lower.contains("%00") {
        return Err(Problem::bad("address", "the address has a NUL"));
    }
    let query = uri.query().unwrap_or_default();
    if query.split('&').any(|pair| {
        pair.split('=').next().is_some_and(|key| key.eq_ignore_ascii_case("token") || key == "access_token")
    }) {
        let detail = "a token stands in the address, where logs and histories would keep it; send it as \
                      Authorization: Bearer TOKEN";
        return Err(Problem::bad("token-in-address", detail));
    }
    Ok(())
}

fn body(head: &request::Parts) -> Result<(), Problem> {
    let length = once(&head.headers, &CONTENT_LENGTH)?;
    let coded = once(&head.headers, &TRANSFER_ENCODING)?;
    let octets = match length.map(str::parse::<u64>) {
        None => None,
        Some(Ok(octets)) => Some(octets),
        Some(Err(_)) => return Err(Problem::bad("header", "Content-Length is no number")),
    };
    if octets.is_some_and(|octets| octets > LARGEST_BODY as u64) {
        return Err(too_large());
    }
    let has_body = coded.is_some() || octets.is_some_and(|octets| octets > 0);
    if !has_body {
        return Ok(());
    }
    // The body stays unread, with what would follow it.
    let unsupported =
        |detail| Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", detail).ends_connection();
    if once(&head.headers, &CONTENT_ENCODING)?.is_some_and(|coding| coding != "identity") {
        return Err(unsupported("bodies are taken as they are; send it without Content-Encoding"));
    }
    let kind = once(&head.headers, &CONTENT_TYPE)?.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(unsupported(
            "bodies are application/json only; send it with Content-Type: application/json",
        ));
    }
    Ok(())
}

/// A request whose body is framed by its length and by chunks; its connection ends.
pub(crate) fn framed_twice() -> Problem {
    Problem::bad("header", "both Content-Length and Transfer-Encoding are there; send one of them")
        .ends_connection()
}

pub(crate) fn too_large() -> Problem {
    let limit = LARGEST_BODY >> 20;
    let detail = format!(
        "the body is larger than {limit} MiB, the quota of one request; nothing of it is kept, so that all {limit} MiB are \
         left: send less, or name the file on the command line (romer emulate --scenario)"
    );
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn names(hosts: &[&str], tls: bool) -> Names {
        Names { hosts: hosts.iter().map(|&host| host.into()).collect(), tls }
    }

    fn ends(local: &str) -> Ends {
        Ends { local: local.parse().unwrap(), peer: "127.0.0.1:1".parse().unwrap() }
    }

    fn status(head: request::Builder, names: &Names, local: &str) -> u16 {
        let (head, ()) = head.body(()).unwrap().into_parts();
        check(&head, names, ends(local)).map_or_else(|problem| problem.status(), |()| 200)
    }

    #[test]
    fn the_server_answers_to_its_own_names_only() {
        let none = names(&[], false);
        let local = "127.0.0.1:8800";
        let of = |host: &str, local: &str| status(Request::get("/").header(HOST, host), &none, local);
        for host in ["127.0.0.1:8800", "localhost:8800", "LOCALHOST:8800"] {
            assert_eq!(of(host, local), 200, "{host}");
        }
        assert_eq!(of("[::1]:8800", "[::1]:8800"), 200);
        assert_eq!(of("192.0.2.1:8800", "192.0.2.1:8800"), 200);
        assert_eq!(of("127.0.0.1:8800", "[::ffff:127.0.0.1]:8800"), 200);
        for host in ["evil.example", "evil.example:8800", "0.0.0.0:8800", "127.0.0.1", "127.0.0.1:80", "a:b"]
        {
            assert_eq!(of(host, local), 421, "{host}");
        }
        assert_eq!(of("localhost:8800", "192.0.2.1:8800"), 421);
        assert_eq!(status(Request::get("/"), &none, local), 400);
        let named = names(&["lab.example"], false);
        assert_eq!(status(Request::get("/").header(HOST, "lab.example"), &named, local), 200);
        let absolute = Request::get("http://evil.example/").header(HOST, "localhost:8800");
        assert_eq!(status(absolute, &none, local), 421);
    }

    #[test]
    fn pages_of_other_sites_may_not_ask() {
        let none = names(&[], false);
        let put = |name: &str, value: &str| {
            let head = Request::put("/api/scenario").header(HOST, "localhost:8800").header(name, value);
            status(head, &none, "127.0.0.1:8800")
        };
        assert_eq!(put("origin", "http://localhost:8800"), 200);
        assert_eq!(put("sec-fetch-site", "same-origin"), 200);
        for (name, value) in [
            ("origin", "https://evil"),
            ("origin", "null"),
            ("origin", "https://localhost:8800"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert_eq!(put(name, value), 403, "{name}: {value}");
        }
        let link = Request::get("/").header(HOST, "localhost:8800").header("sec-fetch-site", "cross-site");
        assert_eq!(status(link, &none, "127.0.0.1:8800"), 200);
        let read =
            Request::get("/api/runs").header(HOST, "localhost:8800").header("sec-fetch-site", "cross-site");
        assert_eq!(status(read, &none, "127.0.0.1:8800"), 403);
    }
}
