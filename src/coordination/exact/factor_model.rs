//! A factor graph in full precision that can be reduced: what the proofs work on.

use crate::coordination::{FactorTables, Problem};
use crate::graph::CoordinationGraph;

/// Factors over variables; values carry the index they had at first.
#[derive(Clone, Debug, Default)]
pub(crate) struct FactorModel {
    /// Payoff of each remaining value of each variable.
    pub utilities: Vec<Vec<f64>>,
    pub scopes: Vec<Vec<usize>>,
    /// Row-major, the last variable of the scope running fastest.
    pub tables: Vec<Vec<f64>>,
}

impl FactorModel {
    pub(crate) fn from_tables(graph: &CoordinationGraph, tables: &FactorTables) -> Self {
        let wide = |row: &[f32]| row.iter().map(|&x| f64::from(x)).collect();
        Self {
            utilities: (0..graph.n_agents()).map(|agent| wide(tables.agent(agent))).collect(),
            scopes: graph.regions().map(<[usize]>::to_vec).collect(),
            tables: (0..graph.n_regions()).map(|region| wide(tables.region(region))).collect(),
        }
    }

    pub(crate) fn from_problem(problem: &Problem) -> Self {
        let mut model = Self::from_tables(&problem.graph, &problem.tables);
        let mut rest = problem.payoffs.as_slice();
        for table in &mut model.tables {
            let (own, others) = rest.split_at(table.len());
            table.copy_from_slice(own);
            rest = others;
        }
        model
    }

    pub(crate) fn n_variables(&self) -> usize {
        self.utilities.len()
    }

    pub(crate) fn n_values(&self) -> Vec<usize> {
        self.utilities.iter().map(Vec::len).collect()
    }

    /// The sum of all factors.
    pub(crate) fn value(&self, action: &[usize]) -> f64 {
        let alone: f64 = self.utilities.iter().zip(action).map(|(u, &a)| u[a]).sum();
        let together: f64 = self
            .scopes
            .iter()
            .zip(&self.tables)
            .map(|(scope, table)| {
                table[scope.iter().fold(0, |at, &v| at * self.utilities[v].len() + action[v])]
            })
            .sum();
        alone + together
    }

    /// The largest number of which every finite payoff is a multiple, if it is worth knowing; two
    /// different values of the model are at least this far apart.
    pub(crate) fn quantum(&self) -> f64 {
        const SCALE: f64 = 1_048_576.0;
        let mut divisor = 0_u64;
        for &payoff in self.utilities.iter().chain(&self.tables).flatten() {
            let scaled = (payoff * SCALE).abs();
            if scaled == f64::INFINITY || scaled == 0.0 {
                continue;
            }
            if scaled.fract() != 0.0 || scaled > 1e15 {
                return 0.0;
            }
            let (mut x, mut y) = (divisor, scaled as u64);
            while y > 0 {
                (x, y) = (y, x % y);
            }
            divisor = x;
        }
        divisor as f64 / SCALE
    }

    /// The model of the kept values only; `kept` lists them for each variable.
    pub(crate) fn restricted(&self, kept: &[Vec<usize>]) -> Self {
        let utilities = self
            .utilities
            .iter()
            .zip(kept)
            .map(|(row, kept)| kept.iter().map(|&a| row[a]).collect())
            .collect();
        let tables = self
            .scopes
            .iter()
            .zip(&self.tables)
            .map(|(scope, table)| self.restrict_table(scope, table, kept))
            .collect();
        Self { utilities, scopes: self.scopes.clone(), tables }
    }

    fn restrict_table(&self, scope: &[usize], table: &[f64], kept: &[Vec<usize>]) -> Vec<f64> {
        let mut entries = vec![0];
        for &variable in scope {
            let n = self.utilities[variable].len();
            entries = entries
                .iter()
                .flat_map(|&at| kept[variable].iter().map(move |&a| at * n + a))
                .collect();
        }
        entries.into_iter().map(|at| table[at]).collect()
    }

    /// Moves every factor that depends on one open variable only into its utilities, joins
    /// factors of the same open scope and drops constants; returns their sum.
    pub(crate) fn simplify(&mut self) -> f64 {
        let mut constant = 0.0;
        let mut joined = std::collections::BTreeMap::<Vec<usize>, Vec<f64>>::new();
        let scopes = std::mem::take(&mut self.scopes);
        for (scope, table) in scopes.into_iter().zip(std::mem::take(&mut self.tables)) {
            let open: Vec<usize> =
                scope.into_iter().filter(|&v| self.utilities[v].len() > 1).collect();
            match open.as_slice() {
                [] => constant += table[0],
                [v] => self.utilities[*v].iter_mut().zip(&table).for_each(|(u, x)| *u += x),
                _ => {
                    let (scope, table) = sorted(&open, table, &self.n_values());
                    match joined.entry(scope) {
                        std::collections::btree_map::Entry::Vacant(place) => {
                            place.insert(table);
                        }
                        std::collections::btree_map::Entry::Occupied(mut place) => {
                            place.get_mut().iter_mut().zip(&table).for_each(|(to, x)| *to += x);
                        }
                    }
                }
            }
        }
        (self.scopes, self.tables) = joined.into_iter().unzip();
        constant
    }
}

/// The same factor with its variables in rising order.
fn sorted(scope: &[usize], table: Vec<f64>, n_values: &[usize]) -> (Vec<usize>, Vec<f64>) {
    if scope.is_sorted() {
        return (scope.to_vec(), table);
    }
    let mut order: Vec<usize> = (0..scope.len()).collect();
    order.sort_unstable_by_key(|&slot| scope[slot]);
    let mut strides = vec![1; scope.len()];
    for slot in (0..scope.len() - 1).rev() {
        strides[slot] = strides[slot + 1] * n_values[scope[slot + 1]];
    }
    let mut entries = vec![0];
    for &slot in &order {
        entries = entries
            .iter()
            .flat_map(|&at| (0..n_values[scope[slot]]).map(move |a| (at, a)))
            .map(|(at, a)| at + a * strides[slot])
            .collect();
    }
    (order.iter().map(|&slot| scope[slot]).collect(), entries.iter().map(|&at| table[at]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantum_divides_every_payoff() {
        let model = |table: &[f64]| FactorModel {
            utilities: vec![vec![0.0, f64::NEG_INFINITY]],
            scopes: vec![vec![0]],
            tables: vec![table.to_vec()],
        };
        assert_eq!(model(&[1.5, -2.25]).quantum(), 0.75);
        assert_eq!(model(&[0.1, 1.0]).quantum(), 0.0);
    }

    #[test]
    fn simplifying_keeps_the_value() {
        let mut model = FactorModel {
            utilities: vec![vec![0.5, 1.0], vec![2.0], vec![0.0, 3.0, 4.0]],
            scopes: vec![vec![2, 0], vec![1, 0], vec![0, 2], vec![1]],
            tables: vec![
                (0..6).map(f64::from).collect(),
                vec![7.0, 9.0],
                (0..6).map(|x| f64::from(x * x)).collect(),
                vec![11.0],
            ],
        };
        let before = model.clone();
        let constant = model.simplify();
        assert_eq!(model.scopes, [vec![0, 2]]);
        for action in [[0, 0, 0], [1, 0, 2], [0, 0, 1]] {
            assert_eq!(before.value(&action), constant + model.value(&action), "{action:?}");
        }
    }
}
