//! The report as one page: nothing fetched from anywhere, readable in light and dark, on a telephone, on paper and
//! without its script, which adds hovering and zooming and lets the data be saved.

mod data;
mod everything;
mod overlay;
mod overview;

pub use overlay::{MAX_RUNS as MAX_OVERLAID_RUNS, overlay};

use crate::chart::{Theme, draw, rooms};
use crate::escape::markup;
use crate::figure::{Figure, Shape, figures};
use crate::input::{ReportError, Stream};
use crate::words;
use romer_record::document::Measurement;
use serde_json::Value;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page of a run. What came from outside is escaped, and the page's policy besides forbids to fetch
/// anything and to run any script but the one that is named by its hash.
///
/// A long run stays small: of a series over time at most 8,000 points are drawn (4,000 on paper), spread by rank within
/// short stretches and with what stands apart, so that the picture is as dense as that of all, and no outlier disappears;
/// captions say so. An hour's page is as large as a minute's, about a megabyte.
///
/// # Errors
/// [`ReportError::Chart`].
pub fn report(streams: &[Stream<'_>]) -> Result<String, ReportError> {
    let mut targets: Vec<String> = streams.iter().map(|stream| markup(&stream.measurement.target)).collect();
    targets.dedup();
    let measurements: Vec<&Measurement> = streams.iter().map(|stream| stream.measurement).collect();
    let (mut drawn, mut body) = (Vec::new(), String::new());
    let slowest = slowest(&measurements);
    if streams.len() > 1 {
        overview::streams(&measurements, &mut body);
    }
    for (index, stream) in streams.iter().enumerate() {
        let figures = if slowest.contains(&index) { figures(stream) } else { Vec::new() };
        body.push_str(&format!("<article id=\"stream-{index}\">\n"));
        article(stream, &words::heading(&measurements, index), &figures, &mut drawn, &mut body)?;
        body.push_str("</article>\n");
    }
    body.push_str("<section id=\"data\"><h2>Download data</h2></section>\n");
    let software = streams.first().map_or("", |stream| stream.measurement.metadata.software.as_str());
    let software = if software.is_empty() { "Rømer".to_owned() } else { markup(software) };
    // Of a file that others wrote nothing was measured here, and there may be nothing beside the page.
    let are_files = measurements.iter().all(|m| m.source.is_some());
    let (made, from) = if are_files {
        ("Analysed", "the files named above")
    } else {
        ("Measured", "the packet log (packets.parquet) in the same folder")
    };
    let footer = format!("{made} with {software}. All values can be recomputed from {from}.");
    let of = if are_files { "" } else { "Path to " };
    let title = format!("{of}{}", targets.join(", "));
    Ok(page(&title, &body, &footer, &data::document(streams), drawn))
}

/// A page of ours: its title, its body and what stands at its foot, all as markup; and the data that its script draws.
pub(crate) fn page(title: &str, body: &str, footer: &str, document: &Value, drawn: Vec<Value>) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src '{}'\">\n\
         <title>{title} – Rømer</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\
         <footer>{footer}</footer>\n\
         </main>\n<script type=\"application/json\" id=\"document\">{}</script>\n\
         <script type=\"application/json\" id=\"figures\">{}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        script_hash(),
        data::in_page(document),
        data::in_page(&Value::Array(drawn)),
    )
}

/// By what a policy lets the script of our pages run, and no other: `sha256-...`, without its quotes.
pub fn script_hash() -> String {
    format!("sha256-{}", base64(&Sha256::digest(SCRIPT)))
}

/// Streams whose figures one page has: some 300 kB each.
const MOST_DRAWN: usize = 16;

/// Those whose figures are drawn: all, or the ones whose slowest hundredth is slowest.
fn slowest(measurements: &[&Measurement]) -> Vec<usize> {
    let slow = |m: &Measurement| {
        [&m.round_trip, &m.forward, &m.reverse]
            .into_iter()
            .filter_map(|way| way.delay_ns.p99)
            .fold(0.0, f64::max)
    };
    let mut places: Vec<usize> = (0..measurements.len()).collect();
    if places.len() > MOST_DRAWN {
        places.sort_by(|a, b| slow(measurements[*b]).total_cmp(&slow(measurements[*a])));
        places.truncate(MOST_DRAWN);
    }
    places
}

fn article(
    stream: &Stream<'_>,
    target: &str,
    figures: &[Figure],
    drawn: &mut Vec<Value>,
    page: &mut String,
) -> Result<(), ReportError> {
    let m = stream.measurement;
    overview::heading(m, target, page);
    page.push_str("<div class=\"pair\">\n");
    overview::findings(m, page);
    overview::limits(m, page);
    overview::voice(m, page);
    page.push_str("</div>\n");
    overview::table(m, page);
    overview::warnings(m, page);
    charts(figures, drawn, page)?;
    if figures.is_empty() {
        page.push_str(&format!(
            "<p>No charts: only the {MOST_DRAWN} streams with the highest delays have charts. \
             <code>romer report RUN --svg FOLDER</code> draws all.</p>\n"
        ));
    }
    everything::packets(m, page);
    everything::statistics(m, page);
    page.push_str("<div class=\"pair\">\n");
    overview::accuracy(m, page);
    overview::setup(m, page);
    page.push_str("</div>\n");
    Ok(())
}

/// Draws figures into the page, and keeps them for the page's script.
pub(crate) fn charts(
    figures: &[Figure],
    drawn: &mut Vec<Value>,
    page: &mut String,
) -> Result<(), ReportError> {
    if figures.is_empty() {
        return Ok(());
    }
    page.push_str("<div class=\"charts\">\n");
    figures.iter().zip(rooms(figures)).try_for_each(|(figure, room)| chart(figure, room, drawn, page))?;
    page.push_str("</div>\n");
    Ok(())
}

fn chart(figure: &Figure, room: u32, drawn: &mut Vec<Value>, page: &mut String) -> Result<(), ReportError> {
    let number = drawn.len();
    drawn.push(data::figure(figure));
    page.push_str(&format!(
        "<section><h2>{}</h2>\n<figure data-figure=\"{number}\">\n",
        markup(&figure.title)
    ));
    for (class, shape) in [("wide", Shape::Wide), ("narrow", Shape::Narrow)] {
        page.push_str(&format!("<div class=\"{class}\">{}</div>\n", draw(figure, room, shape, Theme::Page)?));
    }
    let caption: Vec<String> = [figure.caption.clone(), figure.sampled().unwrap_or_default()]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    if !caption.is_empty() {
        page.push_str(&format!("<figcaption>{}</figcaption>\n", markup(&caption.join(" "))));
    }
    page.push_str("</figure></section>\n");
    Ok(())
}

/// Octets in base 64 (RFC 4648), as a policy names a hash.
fn base64(octets: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in octets.chunks(3) {
        let part = |place: usize| u32::from(chunk.get(place).copied().unwrap_or(0));
        let bits = part(0) << 16 | part(1) << 8 | part(2);
        for place in 0..4 {
            let letter = LETTERS[usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or(0)];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn base_64_is_that_of_the_rfc() {
        for (octets, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(super::base64(octets.as_bytes()), text);
        }
    }
}
