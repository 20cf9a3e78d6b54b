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
}

impl Labels {
    /// Nothing is taken yet inside left, top, right, bottom.
    pub(crate) fn new((left, top, right, bottom): (f64, f64, f64, f64)) -> Self {
        Self { bounds: Box2 { left, top, right, bottom }, taken: vec![] }
    }

    /// Keeps labels away from a point.
    pub(crate) fn avoid(&mut self, at: Place, radius: f64) {
        self.taken.push(Box2::around(at, radius, radius));
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
        let (half_width, half_height) = (text_width(text, font) / 2.0 + 1.5, font.size * 0.58);
        for distance in [10.0, 16.0, 24.0, 34.0, 46.0, 60.0, 76.0] {
            for (right, down) in DIRECTIONS {
                let x = at.0 + right * (distance + half_width - 4.0);
                let y = at.1 + down * (distance + half_height - 4.0);
                let place = Box2::around((x, y), half_width, half_height);
                if !self.fits(&place) {
                    continue;
                }
                if distance > 16.0 {
                    let near = (x - right * half_width, y - down * half_height);
                    picture.line(&[at, near], font.colour, 0.5);
                }
                picture.text((x, y), text, font, Anchor::Middle);
                self.taken.push(place);
                return true;
            }
        }
        false
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

/// Where to look for room first: below right, then around.
const DIRECTIONS: [(f64, f64); 8] = [
    (0.0, 1.0),
    (0.0, -1.0),
    (1.0, 0.0),
    (-1.0, 0.0),
    (0.8, 0.8),
    (-0.8, 0.8),
    (0.8, -0.8),
    (-0.8, -0.8),
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
        crowd.iter().for_each(|at| labels.avoid(*at, 5.0));
        for at in &crowd {
            assert!(labels.write(&mut picture, *at, "λ=0.05", Font::new(10.0, BLACK)));
        }
        let boxes = &labels.taken[9..];
        for (index, first) in boxes.iter().enumerate() {
            assert!(boxes[index + 1..].iter().all(|second| !first.touches(second)));
        }
    }
}
