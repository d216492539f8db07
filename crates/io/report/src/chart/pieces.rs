//! What plotters writes a line each of, in a few paths.

use std::fmt::Write;

/// Gathers runs of equal circles, upright lines and rectangles into one path each, every piece told by how far it is from the one
/// before: what is drawn in order of time is short so.
pub(super) fn join(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len() / 4);
    let mut last = (0, 0);
    let mut open: Option<(String, String)> = None;
    for line in svg.lines() {
        let Some(piece) = Piece::read(line) else {
            close(&mut out, &mut open);
            out.push_str(line);
            out.push('\n');
            continue;
        };
        if open.as_ref().is_none_or(|(of, _)| *of != piece.attributes) {
            close(&mut out, &mut open);
            open = Some((piece.attributes, String::new()));
            last = (0, 0);
        }
        if let Some((_, path)) = &mut open {
            // The first is from nothing, which is where it is.
            let (x, y) = (piece.from.0 - last.0, piece.from.1 - last.1);
            let apart = if y < 0 { "" } else { " " };
            let _ = write!(path, "m{x}{apart}{y}{}", piece.drawn);
            last = piece.to;
        }
    }
    close(&mut out, &mut open);
    out
}

fn close(out: &mut String, open: &mut Option<(String, String)>) {
    if let Some((attributes, path)) = open.take() {
        let _ = writeln!(out, "<path {attributes} d=\"{path}\"/>");
    }
}

/// What is drawn many times.
struct Piece {
    /// How.
    attributes: String,
    /// From where.
    from: (i32, i32),
    /// What, from there on.
    drawn: String,
    /// Where the pen is afterwards.
    to: (i32, i32),
}

impl Piece {
    fn read(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let value = |name: &str| {
            let at = line.find(&format!(" {name}=\""))? + name.len() + 3;
            line.get(at..)?.split('"').next()
        };
        let number = |name: &str| value(name)?.parse::<i32>().ok();
        if line.starts_with("<circle ") {
            let from = (number("cx")?, number("cy")?);
            let attributes = format!(
                "stroke=\"{}\" stroke-width=\"{}\" opacity=\"{}\" fill=\"none\" stroke-linecap=\"round\"",
                value("fill")?,
                2 * number("r")?,
                value("opacity")?
            );
            return Some(Self { attributes, from, drawn: "h0".into(), to: from });
        }
        if line.starts_with("<polyline ") {
            let mut points = value("points")?.split_whitespace().map(|point| {
                let (x, y) = point.split_once(',')?;
                Some((x.parse::<i32>().ok()?, y.parse::<i32>().ok()?))
            });
            let (from, to) = (points.next()??, points.next()??);
            let attributes = format!(
                "stroke=\"{}\" stroke-width=\"{}\" opacity=\"{}\" fill=\"none\"",
                value("stroke")?,
                value("stroke-width")?,
                value("opacity")?
            );
            let upright = from.0 == to.0 && points.next().is_none();
            return upright.then(|| Self { attributes, from, drawn: format!("v{}", to.1 - from.1), to });
        }
        if line.starts_with("<rect ") {
            let from = (number("x")?, number("y")?);
            let attributes = format!("fill=\"{}\" opacity=\"{}\"", value("fill")?, value("opacity")?);
            let (width, height) = (number("width")?, number("height")?);
            return Some(Self {
                attributes,
                from,
                drawn: format!("h{width}v{height}h{}z", -width),
                to: from,
            });
        }
        None
    }
}
