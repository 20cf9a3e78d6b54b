//! Labels that do not cover each other or the points they name.

use super::{
    picture::{Anchor, Font, Picture, Place},
    render::text_width,
};

#[derive(Clone, Copy, Debug)]
struct Box2 {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Box2 {
    fn around((x, y): Place, half_width: f64, half_height: f64) -> Self {
        Self {
            left: x - half_width,
            top: y - half_height,
            right: x + half_width,
            bottom: y + half_height,
        }
    }

    fn touches(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Keeps account of what is taken inside some bounds.
pub(crate) struct Labels {
    bounds: Box2,
    taken: Vec<Box2>,
    lines: Vec<Box2>,
}

impl Labels {
    /// Nothing is taken yet inside left, top, right, bottom.
    pub(crate) fn new((left, top, right, bottom): (f64, f64, f64, f64)) -> Self {
        Self { bounds: Box2 { left, top, right, bottom }, taken: vec![], lines: vec![] }
    }

    /// Keeps labels away from a point.
    pub(crate) fn avoid(&mut self, at: Place, radius: f64) {
        self.taken.push(Box2::around(at, radius, radius));
    }

    /// Keeps labels off a line where there is room elsewhere.
    pub(crate) fn avoid_line(&mut self, from: Place, to: Place) {
        let n_pieces = ((to.0 - from.0).hypot(to.1 - from.1) / 4.0).ceil().max(1.0);
        for piece in 0..=n_pieces as usize {
            let share = piece as f64 / n_pieces;
            let at = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            self.lines.push(Box2::around(at, 1.5, 1.5));
        }
    }

    /// Writes a label as near to its point as there is room, with a leader line where it is far;
    /// leaves it out where there is no room at all.
    pub(crate) fn write(
        &mut self,
        picture: &mut Picture,
        at: Place,
        text: &str,
        font: Font,
    ) -> bool {
        let half = (text_width(text, font) / 2.0 + 1.5, font.size * 0.58);
        let found = self.room(at, half, true).or_else(|| self.room(at, half, false));
        let Some(((x, y), is_far)) = found else { return false };
        if is_far {
            let edge =
                (x - (x - at.0).clamp(-half.0, half.0), y - (y - at.1).clamp(-half.1, half.1));
            picture.line(&[at, edge], font.colour, 0.5);
        }
        picture.text((x, y), text, font, Anchor::Middle);
        self.taken.push(Box2::around((x, y), half.0, half.1));
        true
    }

    /// The nearest free place for a label, and whether it is so far that it needs a leader line.
    fn room(&self, at: Place, half: (f64, f64), off_lines: bool) -> Option<(Place, bool)> {
        for distance in [9.0, 13.0, 18.0, 24.0, 32.0, 42.0, 54.0, 68.0] {
            for (right, down) in DIRECTIONS {
                let x = at.0 + right * (distance + half.0 - 4.0);
                let y = at.1 + down * (distance + half.1 - 4.0);
                let place = Box2::around((x, y), half.0, half.1);
                let crosses = off_lines && self.lines.iter().any(|line| line.touches(&place));
                if self.fits(&place) && !crosses {
                    return Some(((x, y), distance > 18.0));
                }
            }
        }
        None
    }

    fn fits(&self, place: &Box2) -> bool {
        let b = &self.bounds;
        let inside = place.left >= b.left
            && place.right <= b.right
            && place.top >= b.top
            && place.bottom <= b.bottom;
        inside && !self.taken.iter().any(|taken| taken.touches(place))
    }
}

/// Where to look for room first: beside the bars rather than on them.
const DIRECTIONS: [(f64, f64); 12] = [
    (0.9, 0.9),
    (-0.9, 0.9),
    (0.9, -0.9),
    (-0.9, -0.9),
    (0.6, 1.3),
    (-0.6, 1.3),
    (0.6, -1.3),
    (-0.6, -1.3),
    (0.0, 1.0),
    (0.0, -1.0),
    (1.0, 0.0),
    (-1.0, 0.0),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::picture::BLACK;

    #[test]
    fn labels_of_a_crowd_do_not_touch() {
        let mut picture = Picture::new(300.0, 300.0);
        let mut labels = Labels::new((0.0, 0.0, 300.0, 300.0));
        let crowd: Vec<Place> =
            (0..9).map(|i| (150.0 + f64::from(i) * 3.0, 150.0 - f64::from(i))).collect();
        for at in &crowd {
            labels.avoid(*at, 5.0);
        }
        for at in &crowd {
            assert!(labels.write(&mut picture, *at, "λ=0.05", Font::new(10.0, BLACK)));
        }
        let boxes = &labels.taken[9..];
        for (index, first) in boxes.iter().enumerate() {
            assert!(boxes[index + 1..].iter().all(|second| !first.touches(second)));
        }
    }
}
