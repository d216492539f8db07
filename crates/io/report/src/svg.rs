//! The charts as files of their own.

use crate::chart::{Theme, draw, rooms};
use crate::figure::{Figure, Shape, figures};
use crate::input::{ReportError, Stream};
use crate::words::Words;

/// One chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// What it shows, as part of a file's name: `delay-round-trip`.
    pub name: &'static str,
    /// What it shows, as a title.
    pub title: String,
    /// What to know when reading it.
    pub caption: String,
    /// The whole SVG document, dark on white, without references to anything outside. Its title names the path as well, and its
    /// description the axes and what the marks mean.
    pub svg: String,
}

/// Every chart that the stream's data allow; those over time need its singletons.
///
/// # Errors
/// [`ReportError::Chart`].
pub fn charts(stream: &Stream<'_>) -> Result<Vec<Chart>, ReportError> {
    let m = stream.measurement;
    let when = Words::PAGE.moment(&m.started);
    let path = format!("Path to {}", m.target);
    let of = if when.is_empty() { path } else { format!("{path}, {when}") };
    alone(figures(stream), &of)
}

/// Figures of that as files of their own.
pub(crate) fn alone(figures: Vec<Figure>, of: &str) -> Result<Vec<Chart>, ReportError> {
    let rooms = rooms(&figures);
    figures.into_iter().zip(rooms).map(|(figure, room)| one(figure, room, of)).collect()
}

fn one(figure: Figure, room: u32, of: &str) -> Result<Chart, ReportError> {
    let svg = draw(&figure, room, Shape::Wide, Theme::Alone(of))?;
    Ok(Chart { name: figure.name, title: figure.title, caption: figure.caption, svg })
}
