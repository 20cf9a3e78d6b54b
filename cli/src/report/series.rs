//! Points of a front with their bars, joined where they belong to one model, and the axes they need.

use super::{
    axis::Axis,
    markers::Marker,
    picture::{Colour, Picture, Place},
};
use cgcmarl::evaluation::Estimate;

/// Ratio of the most to the fewest collisions from which the axis is logarithmic.
const LOGARITHMIC_FROM: f64 = 4.0;

/// One point with its bars.
pub(crate) struct Mark {
    pub(crate) coverage: Estimate,
    pub(crate) collisions: Estimate,
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
    place: &dyn Fn(&Mark) -> Place,
) -> Vec<(Place, Place)> {
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
        let [left, right] = mark.collisions.interval().map(|value| horizontal.place(value));
        let [low, high] = mark.coverage.interval().map(|value| vertical.place(100.0 * value));
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

/// Collisions on an inverted axis, logarithmic where they differ by much.
pub(crate) fn collision_axis(series: &[&Series], floor: Option<f64>, start: f64, end: f64) -> Axis {
    let values = || {
        let marks = series.iter().flat_map(|one| &one.marks);
        marks.map(|mark| mark.collisions.mean).chain(floor)
    };
    let most = values().fold(0.0, f64::max).max(1e-6);
    let fewest = values().filter(|value| *value > 0.0).fold(most, f64::min);
    if most / fewest > LOGARITHMIC_FROM {
        let margin = (most / fewest).powf(0.07);
        return Axis::logarithmic((fewest / margin, most * margin), start, end);
    }
    let margin = 0.1 * (most - fewest).max(0.1 * most);
    Axis::linear(((fewest - margin).max(0.0), most + margin), start, end)
}

/// Coverage in percent, with room for labels.
pub(crate) fn coverage_axis(series: &[&Series], start: f64, end: f64) -> Axis {
    let values = || series.iter().flat_map(|one| &one.marks).map(|mark| 100.0 * mark.coverage.mean);
    let (least, most) = (values().fold(100.0, f64::min), values().fold(0.0, f64::max));
    let margin = 0.1 * (most - least).max(2.0);
    // Room below for labels; a little above 100 % so that markers there are whole.
    let low = if least < 40.0 { 0.0 } else { least - 1.6 * margin };
    Axis::linear((low, (most + margin).min(100.0 + 0.04 * (100.0 - low))), start, end)
}
