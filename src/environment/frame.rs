//! The frame in which a region sees the world: one of the eight symmetries of the square, chosen by
//! the region itself, so that what it sees is the same however the world is turned.

use super::{
    Pose, View,
    symmetry::{SQUARE, transform},
};
use serde::{Deserialize, Serialize};
use std::{cell::Cell, cmp::Ordering};

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
    /// under which the region's row is the largest; of equal rows that under which the whole state is, which
    /// tells apart what a region that looks the same under two symmetries cannot.
    pub(crate) fn of_region(
        self,
        view: &dyn View,
        (state, members): (&[f32], &[usize]),
        displacement: [f32; 2],
        frame: usize,
    ) -> usize {
        let row = |symmetry, row: &mut Vec<f32>| {
            row.resize(view.spec().region_width, 0.0);
            view.posed_row(state, members, Pose { symmetry, reversed: false }, row);
        };
        let world = |symmetry| {
            let mut world = state.to_vec();
            view.transform_state(symmetry, &mut world);
            world
        };
        self.symmetry(displacement, frame, row, world)
    }

    /// [`Self::of_region`] by what is told of rows, and of the world where rows are equal.
    pub(crate) fn symmetry(
        self,
        displacement: [f32; 2],
        frame: usize,
        row: impl FnMut(usize, &mut Vec<f32>),
        world: impl Fn(usize) -> Vec<f32>,
    ) -> usize {
        let [x, y] = displacement;
        let octant = match self {
            Self::World => return frame,
            _ if x == 0.0 || y == 0.0 || x.abs() == y.abs() => largest(displacement, row, world),
            _ => {
                usize::from(x < 0.0) + 2 * usize::from(y < 0.0) + 4 * usize::from(x.abs() < y.abs())
            }
        };
        if frame == 1 { mirrored(octant) } else { octant }
    }
}

thread_local! {
    /// The rows that are compared.
    static ROWS: Cell<[Vec<f32>; 2]> = const { Cell::new([const { Vec::new() }; 2]) };
}

/// A symmetry followed by a flip of what is then y.
fn mirrored(symmetry: usize) -> usize {
    // Where x and y were exchanged at the end, y is the former x.
    symmetry ^ if symmetry & 4 == 4 { 1 } else { 2 }
}

/// Of the symmetries that bring the displacement ahead and to the left, that of the largest row, and of
/// equal rows that of the largest world.
fn largest(
    displacement: [f32; 2],
    mut row: impl FnMut(usize, &mut Vec<f32>),
    world: impl Fn(usize) -> Vec<f32>,
) -> usize {
    let is_ahead = |symmetry: &usize| {
        let [x, y] = transform(*symmetry, displacement);
        x >= y && y >= 0.0
    };
    let [mut largest, mut other] = ROWS.take();
    let mut best = None;
    for symmetry in (0..SQUARE).filter(is_ahead) {
        row(symmetry, &mut other);
        let is_larger = best.is_none_or(|best| match other.partial_cmp(&largest) {
            Some(Ordering::Equal) => world(symmetry) > world(best),
            order => order == Some(Ordering::Greater),
        });
        if is_larger {
            std::mem::swap(&mut largest, &mut other);
            best = Some(symmetry);
        }
    }
    ROWS.set([largest, other]);
    best.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displacement_is_brought_ahead_and_to_the_left() {
        for symmetry in 0..SQUARE {
            let displacement = transform(symmetry, [0.7_f32, 0.2]);
            let no_tie = |_: usize, _: &mut Vec<f32>| unreachable!("no tie");
            let no_world = |_: usize| unreachable!("no tie");
            let octant = Frame::Octant.symmetry(displacement, 0, no_tie, no_world);
            assert_eq!(transform(octant, displacement), [0.7, 0.2]);
            let mirror = Frame::Cone.symmetry(displacement, 1, no_tie, no_world);
            assert_eq!(transform(mirror, displacement), [0.7, -0.2]);
        }
    }

    #[test]
    fn a_tie_goes_to_the_largest_row_and_of_equal_rows_to_the_largest_world() {
        for turned in 0..SQUARE {
            let displacement = transform(turned, [0.7_f32, 0.0]);
            let seen = |symmetry: usize| transform(symmetry, transform(turned, [0.3_f32, -0.1]));
            let row = |symmetry: usize, row: &mut Vec<f32>| {
                row.clear();
                row.extend(seen(symmetry));
            };
            let no_world = |_: usize| unreachable!("rows differ");
            let symmetry = Frame::Octant.symmetry(displacement, 0, row, no_world);
            assert_eq!(seen(symmetry), [0.3, 0.1]);
            let same_row = |_: usize, row: &mut Vec<f32>| *row = vec![0.5];
            let world = |symmetry: usize| seen(symmetry).to_vec();
            let symmetry = Frame::Octant.symmetry(displacement, 0, same_row, world);
            assert_eq!(seen(symmetry), [0.3, 0.1]);
        }
    }
}
