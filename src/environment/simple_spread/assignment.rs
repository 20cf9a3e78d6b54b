//! Optimal assignment of agents to landmarks (the Hungarian method).

/// Solves assignment problems of one size; its buffers are reused.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    n: usize,
    row_price: Vec<f64>,
    column_price: Vec<f64>,
    /// Row of each column, counted from 1; 0 is none. Entry 0 is the row being placed.
    row_of: Vec<usize>,
    previous: Vec<usize>,
    slack: Vec<f64>,
    done: Vec<bool>,
}

impl Assignment {
    /// A solver of n×n problems.
    pub(super) fn new(n: usize) -> Self {
        let (prices, links) = (vec![0.0; n + 1], vec![0; n + 1]);
        Self {
            n,
            row_price: prices.clone(),
            column_price: prices.clone(),
            row_of: links.clone(),
            previous: links,
            slack: prices,
            done: vec![false; n + 1],
        }
    }

    /// Writes the column of each row so that the sum of `cost(row, column)` is smallest.
    ///
    /// Complexity: O(n³), by shortest augmenting paths.
    pub(super) fn solve(&mut self, cost: impl Fn(usize, usize) -> f64, column_of: &mut [usize]) {
        self.row_price.fill(0.0);
        self.column_price.fill(0.0);
        self.row_of.fill(0);
        for row in 1..=self.n {
            let free = self.search(row, &cost);
            self.augment(free);
        }
        for column in 1..=self.n {
            column_of[self.row_of[column] - 1] = column - 1;
        }
    }

    /// Grows a tree of tight edges from a row until it reaches a free column.
    fn search(&mut self, row: usize, cost: &impl Fn(usize, usize) -> f64) -> usize {
        self.row_of[0] = row;
        self.slack.fill(f64::INFINITY);
        self.done.fill(false);
        let mut column = 0;
        while self.row_of[column] != 0 {
            self.done[column] = true;
            let (row, mut step, mut next) = (self.row_of[column], f64::INFINITY, 0);
            for other in (1..=self.n).filter(|&other| !self.done[other]) {
                let reduced =
                    cost(row - 1, other - 1) - self.row_price[row] - self.column_price[other];
                if reduced < self.slack[other] {
                    self.slack[other] = reduced;
                    self.previous[other] = column;
                }
                if self.slack[other] < step {
                    (step, next) = (self.slack[other], other);
                }
            }
            self.reprice(step);
            column = next;
        }
        column
    }

    fn reprice(&mut self, step: f64) {
        for column in 0..=self.n {
            if self.done[column] {
                self.row_price[self.row_of[column]] += step;
                self.column_price[column] -= step;
            } else {
                self.slack[column] -= step;
            }
        }
    }

    /// Shifts the rows along the path that ends in a free column.
    fn augment(&mut self, mut column: usize) {
        while column != 0 {
            let previous = self.previous[column];
            self.row_of[column] = self.row_of[previous];
            column = previous;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Streams};

    #[test]
    fn a_known_problem() {
        let cost = [[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]];
        let mut columns = [9; 3];
        Assignment::new(3).solve(|row, column| cost[row][column], &mut columns);
        assert_eq!(columns, [1, 0, 2]); // 1 + 2 + 2
    }

    #[test]
    fn as_good_as_trying_every_permutation() {
        fn best(cost: &[Vec<f64>], row: usize, free: &mut Vec<usize>) -> f64 {
            if row == cost.len() {
                return 0.0;
            }
            let mut smallest = f64::INFINITY;
            for index in 0..free.len() {
                let column = free.remove(index);
                smallest = smallest.min(cost[row][column] + best(cost, row + 1, free));
                free.insert(index, column);
            }
            smallest
        }
        let mut rng = Streams::new(4).rng(Purpose::Problem, 1);
        let mut solver = Assignment::new(6);
        for _ in 0..50 {
            let cost: Vec<Vec<f64>> =
                (0..6).map(|_| (0..6).map(|_| rng.uniform()).collect()).collect();
            let mut columns = [0; 6];
            solver.solve(|row, column| cost[row][column], &mut columns);
            let total: f64 = columns.iter().enumerate().map(|(row, &c)| cost[row][c]).sum();
            let optimum = best(&cost, 0, &mut (0..6).collect());
            assert!((total - optimum).abs() < 1e-12, "{total} {optimum}");
        }
    }
}
