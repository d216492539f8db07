//! The report as one page: no script, nothing fetched from anywhere, readable in light and dark, on a telephone and
//! on paper.

mod everything;
mod overview;

use crate::chart::{Shape, Theme, draw};
use crate::escape::markup;
use crate::figure::{Figure, figures};
use crate::words::Words;
use crate::{ReportError, Stream};

const STYLE: &str = include_str!("style.css");
const WORDS: Words = Words { unicode: true };

/// The page of a run. What came from outside is escaped, and the page's policy forbids scripts and fetching besides.
///
/// A long run stays small: of a series over time at most 4,000 points are drawn, the least and the greatest of
/// each bucket, so that no outlier disappears; an hour's page is as large as a minute's, about half a megabyte.
///
/// # Errors
/// [`ReportError::Chart`].
pub fn report(streams: &[Stream<'_>]) -> Result<String, ReportError> {
    let targets: Vec<String> = streams.iter().map(|stream| markup(&stream.measurement.target)).collect();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Path to {} – Rømer</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        targets.join(", ")
    );
    for stream in streams {
        article(stream, &mut page)?;
    }
    let software = streams.first().map_or("", |stream| stream.measurement.metadata.software.as_str());
    page.push_str(&format!(
        "<footer>Measured with {}. Every number here can be computed again from the packet log beside this page.</footer>\n\
         </main>\n</body>\n</html>\n",
        if software.is_empty() { "Rømer".to_owned() } else { markup(software) }
    ));
    Ok(page)
}

fn article(stream: &Stream<'_>, page: &mut String) -> Result<(), ReportError> {
    let m = stream.measurement;
    page.push_str("<article>\n");
    overview::heading(m, page);
    overview::warnings(m, page);
    overview::table(m, page);
    overview::limits(m, page);
    for figure in figures(stream) {
        chart(&figure, page)?;
    }
    overview::trust(m, page);
    everything::packets(m, page);
    everything::statistics(m, page);
    overview::circumstances(m, page);
    page.push_str("</article>\n");
    Ok(())
}

fn chart(figure: &Figure, page: &mut String) -> Result<(), ReportError> {
    page.push_str(&format!("<section><h2>{}</h2>\n<figure>\n", markup(&figure.title)));
    for (class, shape) in [("wide", Shape::Wide), ("narrow", Shape::Narrow)] {
        page.push_str(&format!("<div class=\"{class}\">{}</div>\n", draw(figure, shape, Theme::Page)?));
    }
    if !figure.caption.is_empty() {
        page.push_str(&format!("<figcaption>{}</figcaption>\n", markup(&figure.caption)));
    }
    page.push_str("</figure></section>\n");
    Ok(())
}
