//! The frame in which a region sees the world: one of the eight symmetries of the square, chosen by
//! the region itself, so that what it sees is the same however the world is turned.

use super::{
    Pose, View,
    symmetry::{SQUARE, transform},
};
use serde::{Deserialize, Serialize};

/// How much of the square's symmetry a frame takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// Nothing: the world as it is, or under any symmetry.
    #[default]
    World,
    /// The second member lies within 45° of straight ahead (to the right of the first); the mirror
    /// image is a frame too.
    Cone,
    /// The second member lies ahead and to the left, at most 45° off: one frame is left.
    Octant,
}

impl Frame {
    /// Frames of a region.
    pub(crate) const fn n_frames(self) -> usize {
        match self {
            Self::World => SQUARE,
            Self::Cone => 2,
            Self::Octant => 1,
        }
    }

    /// How a region finds its frames, for readers of a trained network.
    pub fn words(self) -> &'static str {
        match self {
            Self::World => "frame f is symmetry f",
            Self::Cone => {
                "frame 0 is the symmetry under which the second member lies ahead of the first and to \
                 the left, at most 45 degrees off (displacement x >= y >= 0); where several are, that \
                 of the largest row, compared number by number from the front, and of equal rows that \
                 of the largest state; frame 1 is frame 0 followed by a flip of what is then y"
            }
            Self::Octant => {
                "frame 0 is the symmetry under which the second member lies ahead of the first and to \
                 the left, at most 45 degrees off (displacement x >= y >= 0); where several are, that \
                 of the largest row, compared number by number from the front, and of equal rows that \
                 of the largest state"
            }
        }
    }

    /// The symmetry that takes the world into a frame of a region whose first two members are
    /// `displacement` apart. Where several do (a displacement along an axis or a diagonal), the one
    /// under which what `look` writes is the largest: the region's row and, behind it, the whole state,
    /// which tells apart what a region that looks the same under two symmetries cannot.
    pub(crate) fn symmetry(
        self,
        displacement: [f32; 2],
        frame: usize,
        look: impl FnMut(usize, &mut Vec<f32>),
    ) -> usize {
        let [x, y] = displacement;
        let octant = match self {
            Self::World => return frame,
            _ if x == 0.0 || y == 0.0 || x.abs() == y.abs() => largest(displacement, look),
            _ => {
                usize::from(x < 0.0) + 2 * usize::from(y < 0.0) + 4 * usize::from(x.abs() < y.abs())
            }
        };
        if frame == 1 { mirrored(octant) } else { octant }
    }
}

/// A symmetry followed by a flip of what is then y.
fn mirrored(symmetry: usize) -> usize {
    // Where x and y were exchanged at the end, y is the former x.
    symmetry ^ if symmetry & 4 == 4 { 1 } else { 2 }
}

/// Writes a region's row under a symmetry and the whole state behind it, for [`Frame::symmetry`].
pub(crate) fn write_look(
    view: &dyn View,
    (state, members): (&[f32], &[usize]),
    symmetry: usize,
    seen: &mut Vec<f32>,
) {
    let width = view.spec().region_width;
    seen.resize(width + state.len(), 0.0);
    let (row, world) = seen.split_at_mut(width);
    view.posed_row(state, members, Pose { symmetry, reversed: false }, row);
    world.copy_from_slice(state);
    view.transform_state(symmetry, world);
}

/// Of the symmetries that bring the displacement ahead and to the left, that of the largest look.
fn largest(displacement: [f32; 2], mut look: impl FnMut(usize, &mut Vec<f32>)) -> usize {
    let is_ahead = |symmetry: &usize| {
        let [x, y] = transform(*symmetry, displacement);
        x >= y && y >= 0.0
    };
    let (mut best, mut largest, mut other) = (0, Vec::new(), Vec::new());
    for symmetry in (0..SQUARE).filter(is_ahead) {
        look(symmetry, &mut other);
        if largest.is_empty() || other.partial_cmp(&largest) == Some(std::cmp::Ordering::Greater) {
            std::mem::swap(&mut largest, &mut other);
            best = symmetry;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displacement_is_brought_ahead_and_to_the_left() {
        for symmetry in 0..SQUARE {
            let displacement = transform(symmetry, [0.7_f32, 0.2]);
            let no_tie = |_: usize, _: &mut Vec<f32>| unreachable!("no tie");
            let octant = Frame::Octant.symmetry(displacement, 0, no_tie);
            assert_eq!(transform(octant, displacement), [0.7, 0.2]);
            let mirror = Frame::Cone.symmetry(displacement, 1, no_tie);
            assert_eq!(transform(mirror, displacement), [0.7, -0.2]);
        }
    }

    #[test]
    fn a_tie_goes_to_the_largest_look() {
        for turned in 0..SQUARE {
            let displacement = transform(turned, [0.7_f32, 0.0]);
            let seen = |symmetry: usize| transform(symmetry, transform(turned, [0.3_f32, -0.1]));
            let row = |symmetry: usize, row: &mut Vec<f32>| {
                row.clear();
                row.extend(seen(symmetry));
            };
            let symmetry = Frame::Octant.symmetry(displacement, 0, row);
            assert_eq!(seen(symmetry), [0.3, 0.1]);
        }
    }
}
