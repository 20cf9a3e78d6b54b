//! Points of the plane sorted into square cells, so that neighbours are found without looking at all.
//!
//! The grid only proposes: whoever asks measures each proposed point in its own precision, so its
//! answers are those of looking at every point, ties included.

/// Points of a cell, on average.
const POINTS_PER_CELL: f64 = 2.0;
/// Distances to what was not proposed are told shorter by this share, more than any rounding of those
/// who measure in `f32`.
const SLACK: f64 = 1e-5;

/// A distance, or its square, and the number of a point.
pub type Found = (f64, usize);

/// No point.
pub const NONE: Found = (f64::INFINITY, usize::MAX);

/// Points by cells. Points that are not finite are nowhere, and never proposed.
#[derive(Clone, Debug, Default)]
pub struct CellGrid {
    points: Vec<[f64; 2]>,
    origin: [f64; 2],
    /// Side of a cell.
    side: f64,
    /// Cells along each axis.
    shape: [usize; 2],
    /// Where the points of each cell begin in `order`; cells row by row.
    starts: Vec<usize>,
    order: Vec<usize>,
}

impl CellGrid {
    /// Takes in points in place of those before.
    ///
    /// Complexity: O(n).
    pub fn fill(&mut self, points: impl Iterator<Item = [f64; 2]>) {
        self.points.clear();
        self.points.extend(points);
        self.span();
        let n_cells = self.shape[0] * self.shape[1];
        self.starts.clear();
        self.starts.resize(n_cells + 2, 0);
        let present = |point: &[f64; 2]| point.iter().all(|c| c.is_finite());
        for point in self.points.iter().filter(|point| present(point)) {
            let cell = self.index(self.cell(*point));
            self.starts[cell + 2] += 1;
        }
        (2..n_cells + 2).for_each(|cell| self.starts[cell] += self.starts[cell - 1]);
        self.order.clear();
        self.order.resize(self.starts[n_cells + 1], 0);
        for number in 0..self.points.len() {
            if present(&self.points[number]) {
                let cell = self.index(self.cell(self.points[number]));
                self.order[self.starts[cell + 1]] = number;
                self.starts[cell + 1] += 1;
            }
        }
        self.starts.truncate(n_cells + 1);
    }

    /// Sets the place, number and size of the cells.
    fn span(&mut self) {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        let mut n_present = 0_usize;
        for point in self.points.iter().filter(|point| point.iter().all(|c| c.is_finite())) {
            n_present += 1;
            for axis in [0, 1] {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
        (self.origin, self.side, self.shape) = ([0.0; 2], 1.0, [1, 1]);
        let extent = [high[0] - low[0], high[1] - low[1]];
        let longest = extent[0].max(extent[1]);
        if n_present == 0 || !longest.is_finite() || longest <= 0.0 {
            self.origin = if n_present == 0 { [0.0; 2] } else { low };
            return;
        }
        let n_cells = (n_present as f64 / POINTS_PER_CELL).max(1.0);
        // A thin crowd has a row of cells, as long as there may be cells.
        let side = (extent[0] * extent[1] / n_cells).sqrt().max(longest / n_cells);
        (self.origin, self.side) = (low, side);
        self.shape = extent.map(|length| (length / side) as usize + 1);
    }

    /// The cell of a point, or the nearest to it.
    fn cell(&self, point: [f64; 2]) -> [usize; 2] {
        let along = |axis: usize| {
            let place = (point[axis] - self.origin[axis]) / self.side;
            (place.max(0.0) as usize).min(self.shape[axis] - 1)
        };
        [along(0), along(1)]
    }

    fn index(&self, [column, row]: [usize; 2]) -> usize {
        row * self.shape[0] + column
    }

    /// Points of a row of cells, from one column to another.
    fn stretch(&self, row: usize, columns: std::ops::RangeInclusive<usize>) -> &[usize] {
        let first = self.starts[self.index([*columns.start(), row])];
        let end = self.starts[self.index([*columns.end(), row]) + 1];
        &self.order[first..end]
    }

    /// Writes the points nearest to a place, nearest first, as many as `found` is long; ties go to the
    /// lower number, and [`NONE`] stands where there are too few. `distance` measures a point by its
    /// number; who is infinitely far is left out.
    pub fn nearest(&self, from: [f64; 2], found: &mut [Found], distance: impl Fn(usize) -> f64) {
        self.search(from, found, distance, |clear| clear);
    }

    /// [`Self::nearest`] by squares of distances.
    pub fn nearest_by_square(
        &self,
        from: [f64; 2],
        found: &mut [Found],
        square: impl Fn(usize) -> f64,
    ) {
        self.search(from, found, square, |clear| clear * clear);
    }

    fn search(
        &self,
        from: [f64; 2],
        found: &mut [Found],
        key: impl Fn(usize) -> f64,
        key_of: impl Fn(f64) -> f64,
    ) {
        found.fill(NONE);
        self.visit_squares(from, |points, clear| {
            for &point in points {
                keep_nearest(found, key(point), point);
            }
            clear.is_some_and(|clear| found.last().is_none_or(|last| last.0 < key_of(clear)))
        });
    }

    /// Visits points in growing squares around a place. At the end of each square `visit` hears how far
    /// from the place all others are, at least, and says whether that will do.
    fn visit_squares(&self, from: [f64; 2], mut visit: impl FnMut(&[usize], Option<f64>) -> bool) {
        let [column, row] = self.cell(from);
        let furthest = self.shape[0].max(self.shape[1]);
        for ring in 0..furthest {
            let left = column.saturating_sub(ring);
            let right = (column + ring).min(self.shape[0] - 1);
            let bottom = row.saturating_sub(ring);
            let top = (row + ring).min(self.shape[1] - 1);
            for line in bottom..=top {
                if line.abs_diff(row) == ring {
                    visit(self.stretch(line, left..=right), None);
                    continue;
                }
                for edge in [column.checked_sub(ring), Some(column + ring)] {
                    if let Some(edge) = edge.filter(|&edge| edge < self.shape[0]) {
                        visit(self.stretch(line, edge..=edge), None);
                    }
                }
            }
            let clear = self.clearance(from, [left, bottom], [right, top]);
            if clear == f64::INFINITY || visit(&[], Some(clear)) {
                return;
            }
        }
    }

    /// How far everything outside a square of cells is from a place, at least.
    fn clearance(&self, from: [f64; 2], low: [usize; 2], high: [usize; 2]) -> f64 {
        let mut clear = f64::INFINITY;
        for axis in [0, 1] {
            let edge = |cell: usize| self.origin[axis] + cell as f64 * self.side;
            if low[axis] > 0 {
                clear = clear.min(from[axis] - edge(low[axis]));
            }
            if high[axis] + 1 < self.shape[axis] {
                clear = clear.min(edge(high[axis] + 1) - from[axis]);
            }
        }
        if clear == f64::INFINITY {
            clear
        } else {
            (clear * (1.0 - SLACK) - SLACK * self.side).max(0.0)
        }
    }

    /// Lists the pairs of points that are nearer than about a distance, and perhaps some others: each
    /// once, the lower number first, in rising order.
    pub fn near_pairs(&self, distance: f64, pairs: &mut Vec<[usize; 2]>) {
        pairs.clear();
        let reach = distance * (1.0 + SLACK) + SLACK * self.side;
        for (number, &[x, y]) in self.points.iter().enumerate() {
            if !(x.is_finite() && y.is_finite()) {
                continue;
            }
            let [left, bottom] = self.cell([x - reach, y - reach]);
            let [right, top] = self.cell([x + reach, y + reach]);
            let start = pairs.len();
            for row in bottom..=top {
                let later = self.stretch(row, left..=right).iter().filter(|&&other| other > number);
                pairs.extend(later.map(|&other| [number, other]));
            }
            pairs[start..].sort_unstable();
        }
    }
}

/// Keeps the nearest of what is offered, nearest first; ties go to the lower number.
#[inline]
pub fn keep_nearest(nearest: &mut [Found], distance: f64, number: usize) {
    let Some(mut place) = nearest.len().checked_sub(1) else { return };
    let offered = (distance, number);
    if !(distance < f64::INFINITY && offered < nearest[place]) {
        return;
    }
    while place > 0 && offered < nearest[place - 1] {
        nearest[place] = nearest[place - 1];
        place -= 1;
    }
    nearest[place] = offered;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distance(a: [f64; 2], b: [f64; 2]) -> f32 {
        let (dx, dy) = (a[0] as f32 - b[0] as f32, a[1] as f32 - b[1] as f32);
        (dx * dx + dy * dy).sqrt()
    }

    fn nearest(grid: &CellGrid, points: &[[f64; 2]], from: [f64; 2], k: usize) -> Vec<Found> {
        let mut found = vec![(0.0, 0); k];
        grid.nearest(from, &mut found, |point| f64::from(distance(from, points[point])));
        let mut by_square = vec![(0.0, 0); k];
        grid.nearest_by_square(from, &mut by_square, |point| {
            f64::from(distance(from, points[point])).powi(2)
        });
        assert!(found.iter().zip(&by_square).all(|(a, b)| a.1 == b.1), "{found:?} {by_square:?}");
        found
    }

    fn by_all(points: &[[f64; 2]], from: [f64; 2], k: usize) -> Vec<Found> {
        let present = points.iter().enumerate().filter(|(_, p)| p.iter().all(|c| c.is_finite()));
        let mut all: Vec<_> = present.map(|(i, &p)| (f64::from(distance(from, p)), i)).collect();
        all.sort_by(|a, b| a.partial_cmp(b).unwrap());
        all.resize(all.len().max(k), NONE);
        all.truncate(k);
        all
    }

    /// Points on a coarse lattice (many ties and equal places), some of them anywhere, far or nowhere.
    fn crowd() -> impl Strategy<Value = Vec<[f64; 2]>> {
        let lattice = || (-6_i32..6).prop_map(|c| f64::from(c) * 0.25);
        let point = prop_oneof![
            6 => [lattice(), lattice()],
            6 => [-3.0..3.0_f64, -3.0..3.0_f64],
            1 => [-40.0..40.0_f64, 0.5..0.6_f64],
            1 => Just([f64::INFINITY, 0.0]),
            1 => Just([0.0, f64::NAN]),
        ];
        prop::collection::vec(point, 0..120)
    }

    proptest! {
        #[test]
        fn the_nearest_are_those_of_looking_at_all(
            points in crowd(),
            from in [-5.0..5.0_f64, -5.0..5.0_f64],
            k in 0_usize..9,
        ) {
            let mut grid = CellGrid::default();
            grid.fill(points.iter().copied());
            prop_assert_eq!(nearest(&grid, &points, from, k), by_all(&points, from, k));
            for &from in points.iter().filter(|p| p.iter().all(|c| c.is_finite())).take(8) {
                prop_assert_eq!(nearest(&grid, &points, from, k), by_all(&points, from, k));
            }
        }

        #[test]
        fn no_near_pair_is_missed_and_none_is_listed_twice(points in crowd(), reach in 0.0..1.0_f64) {
            let (mut grid, mut pairs) = (CellGrid::default(), vec![[7, 7]]);
            grid.fill(points.iter().copied());
            grid.near_pairs(reach, &mut pairs);
            prop_assert!(pairs.windows(2).all(|two| two[0] < two[1]));
            prop_assert!(pairs.iter().all(|[a, b]| a < b && *b < points.len()));
            for a in 0..points.len() {
                for b in a + 1..points.len() {
                    let near = f64::from(distance(points[a], points[b])) <= reach;
                    prop_assert!(!near || pairs.binary_search(&[a, b]).is_ok(), "{} {}", a, b);
                }
            }
        }
    }

    #[test]
    fn a_crowd_is_asked_about_its_neighbourhood_only() {
        let points: Vec<[f64; 2]> =
            (0..2500_i32).map(|i| [f64::from(i % 50), f64::from(i / 50)]).collect();
        let mut grid = CellGrid::default();
        grid.fill(points.iter().copied());
        let (n_visited, from) = (std::cell::Cell::new(0), [20.3, 31.4]);
        grid.nearest(from, &mut [NONE; 4], |point| {
            n_visited.set(n_visited.get() + 1);
            f64::from(distance(from, points[point]))
        });
        assert!((4..80).contains(&n_visited.get()), "{}", n_visited.get());
    }
}
