//! What a chart consists of.

use std::ops::Range;

use super::stretches::Mark;
use super::thin::{Cloud, MOST_POINTS};
use crate::number::count;
use crate::table::MeasuredPath;

/// A chart's proportions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// For screens and paper.
    Wide,
    /// For telephones.
    Narrow,
}

impl Shape {
    /// The most points of a series.
    pub(crate) fn most_points(self) -> usize {
        match self {
            Self::Wide => 4_000,
            Self::Narrow => 1_500,
        }
    }
}

/// Where values beyond an axis are drawn, as captions say it.
pub(crate) const BEYOND: &str = "in the strip at the top (logarithmic)";

/// Colours by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Text,
    Grid,
    Forward,
    Reverse,
    RoundTrip,
    Lost,
    Found,
}

impl From<MeasuredPath> for Ink {
    fn from(way: MeasuredPath) -> Self {
        match way {
            MeasuredPath::Forward => Self::Forward,
            MeasuredPath::Reverse => Self::Reverse,
            MeasuredPath::RoundTrip => Self::RoundTrip,
        }
    }
}

/// An axis from one value to another.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) title: String,
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) labels: Labels,
}

/// What stands at an axis's marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    Numbers,
    /// The values are logarithms (base 10) of nanoseconds.
    Decades,
    /// The values are logarithms (base 10) of shares.
    Shares,
    /// Strips one above the other, evenly from 0 to 1, each with an axis of its own: the logarithm (base 10) of a share, from
    /// `lowest` to 0 ([`super::strips::edges`]).
    Rows {
        rows: usize,
        lowest: i32,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Layer {
    Points(Ink, Cloud),
    Line(Ink, Vec<(f64, f64)>),
    /// Filled from the axis up to the line.
    Area(Ink, Vec<(f64, f64)>),
    /// Marks at the lower axis.
    Below(Ink, Vec<Mark>),
    /// Marks at the upper end of the vertical axis.
    Top(Ink, Vec<Mark>),
    /// Values beyond the upper end of the axis, which are drawn in a strip above it.
    Above(Ink, Vec<(f64, f64)>),
    /// Rectangles with their opacity: left, right, bottom, top.
    Bars(Ink, Vec<([f64; 4], f64)>),
    /// Those of a strip, with what they stand for.
    Strip(Ink, Vec<Column>),
}

#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) layers: Vec<Layer>,
    pub(crate) legend: Vec<(String, Ink)>,
}

impl Figure {
    /// How many strips there are instead of a whole chart.
    pub(crate) fn rows(&self) -> Option<usize> {
        match self.y.labels {
            Labels::Rows { rows, .. } => Some(rows),
            _ => None,
        }
    }

    /// The greatest value that lies beyond the vertical axis, if any does.
    pub(crate) fn most_beyond(&self) -> Option<f64> {
        let beyond = self.layers.iter().flat_map(|layer| match layer {
            Layer::Above(_, marks) => &marks[..],
            _ => &[],
        });
        beyond.map(|(_, y)| *y).reduce(f64::max).filter(|most| *most > self.y.to)
    }

    /// How many points are drawn where a series has at most so many, of how many, and how many of the longest series.
    fn counted(&self, most: usize) -> (usize, usize, usize) {
        let (mut drawn, mut of, mut longest) = (0, 0, 0);
        for layer in &self.layers {
            if let Layer::Points(_, cloud) = layer {
                let points = cloud.thinned(most).drawn();
                (drawn, of, longest) = (drawn + points, of + cloud.of, longest.max(points));
            }
        }
        (drawn, of, longest)
    }

    /// What is drawn of how much, and what marks mean, for a chart that has no page around it.
    pub(crate) fn alone(&self, most: usize) -> String {
        let mut words = Vec::from_iter(Some(self.caption.clone()).filter(|caption| !caption.is_empty()));
        let (drawn, of, _) = self.counted(most);
        if drawn < of {
            words.push(format!("Thinned to {} of {} points.", count(drawn as u64), count(of as u64)));
        }
        words.join(" ")
    }

    /// That not all points are drawn, and which are, where that is so.
    pub(crate) fn sampled(&self) -> Option<String> {
        let (drawn, of, longest) = self.counted(MOST_POINTS);
        let paper = Shape::Wide.most_points();
        let fewer = if longest > paper {
            format!(" (in print up to {} a series)", count(paper as u64))
        } else {
            String::new()
        };
        let lines = self.layers.iter().any(|layer| match layer {
            Layer::Points(_, cloud) => !cloud.thinned(MOST_POINTS).far.is_empty(),
            _ => false,
        });
        let extremes = if lines {
            "extremes are always drawn, as the ends of thin lines"
        } else {
            "extremes are always drawn"
        };
        (drawn < of).then(|| {
            format!("Thinned to {} of {} points{fewer}; {extremes}.", count(drawn as u64), count(of as u64))
        })
    }
}

/// A column of a strip: where it is drawn and how dark, and what it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) across: Range<f64>,
    pub(crate) up: Range<f64>,
    pub(crate) opacity: f64,
    pub(crate) marked: usize,
    pub(crate) of: usize,
    /// The greatest share of its moments.
    pub(crate) worst: f64,
}
