//! Markers told apart by shape as well as colour.

use super::picture::{Colour, Picture, Place, WHITE};
use std::f64::consts::{FRAC_PI_2, TAU};

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// A Pareto-optimal point of ours.
    Star,
    /// A dominated point of ours.
    Square,
    /// The oracle.
    Diamond,
    /// A point of the paper's method.
    Disc,
    /// A dominated point of the paper's method.
    Ring,
    /// A baseline of the paper.
    Cross,
    /// The random policy.
    Triangle,
    /// A triangle on its tip.
    Wedge,
    /// Upright strokes.
    Plus,
    /// Six corners.
    Hexagon,
}

impl Marker {
    /// Draws it about `2 * radius` wide, with a white rim against what lies below.
    pub(crate) fn draw(self, picture: &mut Picture, at: Place, radius: f64, colour: Colour) {
        let shape = |picture: &mut Picture, size: f64, colour: Colour| match self {
            Self::Star => picture.area(&star(at, size * 1.35), colour),
            Self::Square => picture.area(&polygon(at, 4, size * 1.1, FRAC_PI_2 / 2.0), colour),
            Self::Diamond => picture.area(&polygon(at, 4, size * 1.3, 0.0), colour),
            Self::Triangle => picture.area(&polygon(at, 3, size * 1.2, -FRAC_PI_2), colour),
            Self::Hexagon => picture.area(&polygon(at, 6, size * 1.15, 0.0), colour),
            Self::Wedge => picture.area(&polygon(at, 3, size * 1.2, FRAC_PI_2), colour),
            Self::Disc | Self::Ring => picture.disc(at, size, colour),
            Self::Cross | Self::Plus => {}
        };
        if self == Self::Cross {
            let (x, y, arm) = (at.0, at.1, radius * 0.75);
            picture.line(&[(x - arm, y - arm), (x + arm, y + arm)], colour, 1.25);
            picture.line(&[(x - arm, y + arm), (x + arm, y - arm)], colour, 1.25);
            return;
        }
        if self == Self::Plus {
            let (x, y, arm) = (at.0, at.1, radius * 1.05);
            picture.line(&[(x - arm, y), (x + arm, y)], colour, 2.0);
            picture.line(&[(x, y - arm), (x, y + arm)], colour, 2.0);
            return;
        }
        shape(picture, radius + 1.0, WHITE);
        shape(picture, radius, colour);
        if self == Self::Ring {
            shape(picture, radius - 1.5, WHITE);
        }
    }
}

fn polygon((x, y): Place, n_corners: usize, radius: f64, turn: f64) -> Vec<Place> {
    (0..n_corners)
        .map(|corner| turn + TAU * corner as f64 / n_corners as f64)
        .map(|angle| (x + radius * angle.cos(), y + radius * angle.sin()))
        .collect()
}

fn star((x, y): Place, radius: f64) -> Vec<Place> {
    (0..10)
        .map(|corner| {
            let reach = if corner % 2 == 0 { radius } else { radius * 0.42 };
            let angle = TAU * f64::from(corner) / 10.0 - FRAC_PI_2;
            (x + reach * angle.cos(), y + reach * angle.sin())
        })
        .collect()
}
