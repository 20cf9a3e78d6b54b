//! Points of a front with their bars, joined where they belong to one model, and the axes they need.

use super::{
    axis::Axis,
    markers::Marker,
    picture::{Colour, Picture, Place},
};
use cgcmarl::{environment::Better, evaluation::Estimate};

/// Ratio of the largest to the smallest number from which an axis of costs is logarithmic.
const LOGARITHMIC_FROM: f64 = 4.0;

/// One point with its bars, in the units in which it is shown.
pub(crate) struct Mark {
    pub(crate) horizontal: Estimate,
    pub(crate) vertical: Estimate,
    pub(crate) marker: Marker,
    pub(crate) colour: Colour,
    pub(crate) label: Option<String>,
}

/// A group of points, joined by a line where they belong to one model.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) marks: Vec<Mark>,
    pub(crate) joined: bool,
    pub(crate) dashed: bool,
}

/// Draws a series and says where its lines run.
pub(crate) fn draw_series(
    picture: &mut Picture,
    series: &Series,
    horizontal: &Axis,
    vertical: &Axis,
) -> Vec<(Place, Place)> {
    let place = |mark: &Mark| place(mark, horizontal, vertical);
    let places: Vec<Place> = series.marks.iter().map(place).collect();
    let Some(colour) = series.marks.first().map(|mark| mark.colour) else { return vec![] };
    match (series.joined, series.dashed) {
        (true, true) => picture.dashes(&places, colour, 1.0, 5.0),
        (true, false) => picture.line(&places, colour, 1.5),
        (false, _) => {}
    }
    let mut lines: Vec<(Place, Place)> =
        places.windows(2).filter(|_| series.joined).map(|pair| (pair[0], pair[1])).collect();
    for mark in series.marks.iter().filter(|mark| mark.marker != Marker::Cross) {
        let (x, y) = place(mark);
        let [left, right] = mark.horizontal.interval().map(|value| horizontal.place(value));
        let [low, high] = mark.vertical.interval().map(|value| vertical.place(value));
        for (from, to) in [((left, y), (right, y)), ((x, low), (x, high))] {
            picture.line(&[from, to], mark.colour, 0.75);
            lines.push((from, to));
        }
    }
    for (mark, place) in series.marks.iter().zip(places) {
        mark.marker.draw(picture, place, 4.5, mark.colour);
    }
    lines
}

/// Where a point lies.
pub(crate) fn place(mark: &Mark, horizontal: &Axis, vertical: &Axis) -> Place {
    (horizontal.place(mark.horizontal.mean), vertical.place(mark.vertical.mean))
}

/// The axis of a cost from left to right, what is better to the right; logarithmic where positive
/// numbers differ by much.
pub(crate) fn cost_axis(
    series: &[&Series],
    floor: Option<f64>,
    better: Better,
    (left, right): (f64, f64),
) -> Axis {
    let (start, end) = if better == Better::Lower { (right, left) } else { (left, right) };
    let marks = || series.iter().flat_map(|one| &one.marks);
    let values = || finite(marks().map(|mark| mark.horizontal.mean).chain(floor));
    let (least, most) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if least > most {
        return Axis::linear((0.0, 1.0), start, end);
    }
    if least < 0.0 {
        let margin = 0.1 * (most - least).max(0.1 * most.abs().max(least.abs()));
        return Axis::linear((least - margin, most + margin), start, end);
    }
    let most = most.max(1e-6);
    let fewest = values().filter(|value| *value > 0.0).fold(most, f64::min);
    if most / fewest > LOGARITHMIC_FROM {
        let margin = (most / fewest).powf(0.07);
        return Axis::logarithmic((fewest / margin, most * margin), start, end);
    }
    let margin = 0.1 * (most - fewest).max(0.1 * most);
    Axis::linear(((fewest - margin).max(0.0), most + margin), start, end)
}

/// The axis of an objective from bottom to top, what is better above, with room for labels; its
/// range is what the metric can be, in the unit in which it is shown.
pub(crate) fn objective_axis(
    series: &[&Series],
    better: Better,
    [lowest, highest]: [f64; 2],
    (bottom, top): (f64, f64),
) -> Axis {
    let (start, end) = if better == Better::Higher { (bottom, top) } else { (top, bottom) };
    let marks = || series.iter().flat_map(|one| &one.marks);
    let values = || finite(marks().map(|mark| mark.vertical.mean));
    let (least, most) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    if least > most {
        let is_known = lowest.is_finite() && highest.is_finite();
        return Axis::linear(if is_known { (lowest, highest) } else { (0.0, 1.0) }, start, end);
    }
    let range = highest - lowest;
    let small = if range.is_finite() { 0.02 * range } else { 0.02 * most.abs().max(least.abs()) };
    let margin = 0.1 * (most - least).max(small);
    // Room below for labels; a little beyond the possible so that markers there are whole.
    let is_low = range.is_finite() && least - lowest < 0.4 * range;
    let low = if is_low { lowest } else { least - 1.6 * margin };
    let high = if highest.is_finite() {
        (most + margin).min(highest + 0.04 * (highest - low))
    } else {
        most + margin
    };
    Axis::linear((low, high), start, end)
}

/// Numbers that can be reckoned with: ratios and differences of them are finite, too.
fn finite(values: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    values.filter(|value| value.is_finite()).map(|value| value.clamp(-1e300, 1e300))
}
