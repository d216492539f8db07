//! The charts as files of their own.

use crate::chart::{Shape, Theme, draw, rooms};
use crate::figure::{Figure, figures};
use crate::{ReportError, Stream};

/// One chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// What it shows, as part of a file's name: `delay-round-trip`.
    pub name: &'static str,
    /// What it shows, as a title.
    pub title: String,
    /// What to know when reading it.
    pub caption: String,
    /// The whole SVG document, dark on white, without references to anything outside.
    pub svg: String,
}

/// Every chart that the stream's data allow; those over time need its passages.
///
/// # Errors
/// [`ReportError::Chart`].
pub fn charts(stream: &Stream<'_>) -> Result<Vec<Chart>, ReportError> {
    alone(figures(stream))
}

/// Figures as files of their own.
pub(crate) fn alone(figures: Vec<Figure>) -> Result<Vec<Chart>, ReportError> {
    let rooms = rooms(&figures);
    figures.into_iter().zip(rooms).map(|(figure, room)| one(figure, room)).collect()
}

fn one(figure: Figure, room: u32) -> Result<Chart, ReportError> {
    let svg = draw(&figure, room, Shape::Wide, Theme::Alone)?;
    Ok(Chart { name: figure.name, title: figure.title, caption: figure.caption, svg })
}
