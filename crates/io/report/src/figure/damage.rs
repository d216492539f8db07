//! Where the flipped bits of damaged probes are.

use romer_record::document::{Damage, DamagedProbes, Measurement};

use super::drawing::{Axis, Figure, Ink, Labels, Layer};
use crate::number::counted;
use crate::table::MeasuredPath;

/// Flipped bits by their position in the UDP payload, of each direction that has any.
pub(super) fn positions(m: &Measurement) -> Option<Figure> {
    m.damage.as_deref().and_then(of_damage)
}

#[expect(clippy::cast_precision_loss, reason = "a payload has at most 2^19 bits")]
fn of_damage(damage: &Damage) -> Option<Figure> {
    let ways = [(MeasuredPath::Forward, &damage.forward), (MeasuredPath::Reverse, &damage.reverse)];
    let (mut layers, mut legend, mut captions) = (Vec::new(), Vec::new(), Vec::new());
    let (mut end, mut top): (f64, f64) = (0.0, 0.0);
    for (way, damaged) in ways {
        let Some(damaged) = damaged.as_ref().filter(|damaged| !damaged.bit_positions.is_empty()) else {
            continue;
        };
        let width = f64::from(damaged.bits_per_bin);
        let bars: Vec<([f64; 4], f64)> = damaged
            .bit_positions
            .iter()
            .enumerate()
            .filter(|(_, bits)| **bits > 0)
            .map(|(bin, bits)| ([bin as f64 * width, (bin + 1) as f64 * width, 0.0, *bits as f64], OPACITY))
            .collect();
        end = end.max(damaged.bit_positions.len() as f64 * width);
        top = bars.iter().map(|(bar, _)| bar[3]).fold(top, f64::max);
        let ink: Ink = way.into();
        layers.push(Layer::Bars(ink, bars));
        legend.push((way.name().to_owned(), ink));
        captions.push(caption(way, damaged));
    }
    layers.first()?;
    Some(Figure {
        name: "damage",
        title: "Flipped bits of damaged probes".into(),
        caption: captions.join(" "),
        x: Axis { title: "bit of the UDP payload".into(), from: 0.0, to: end, labels: Labels::Numbers },
        y: Axis { title: "flipped bits".into(), from: 0.0, to: 1.08 * top, labels: Labels::Numbers },
        layers,
        legend,
    })
}

/// Of bars that may lie over each other.
const OPACITY: f64 = 0.7;

/// How many probes are damaged, and of how many the damage is not located.
fn caption(way: MeasuredPath, damaged: &DamagedProbes) -> String {
    let elsewhere = damaged.flipped_bits.first().copied().unwrap_or(0);
    let probes = counted(damaged.probes, "damaged probe", "damaged probes");
    format!("{}: {probes}, {elsewhere} of them in the headers or fields.", way.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A direction has its bars where its bits are, and without damage there is no figure.
    #[test]
    fn bars_are_at_the_bits() {
        let mut damaged = DamagedProbes::default();
        damaged.add([400].into_iter());
        damaged.add([400, 500].into_iter());
        damaged.add([].into_iter());
        assert!(of_damage(&Damage::default()).is_none());
        let damage = Damage { forward: Some(damaged), reverse: Some(DamagedProbes::default()) };
        let figure = of_damage(&damage).unwrap();
        let [Layer::Bars(_, bars)] = &figure.layers[..] else { panic!("{figure:?}") };
        let sides: Vec<[f64; 4]> = bars.iter().map(|(bar, _)| *bar).collect();
        assert_eq!(sides, [[400.0, 401.0, 0.0, 2.0], [500.0, 501.0, 0.0, 1.0]]);
        assert!(figure.caption.contains("3 damaged probes, 1 of them"), "{}", figure.caption);
    }
}
