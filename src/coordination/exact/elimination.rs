//! Bucket elimination: maximising variables out one by one, exactly.
//!
//! Complexity: the size of the largest table that appears, `|A|^(width+1)`.

use super::factor_model::FactorModel;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The factors a variable was in when it was maximised out, to decode it later.
#[derive(Clone, Debug)]
struct Step {
    variable: usize,
    utilities: Vec<f64>,
    scopes: Vec<Vec<usize>>,
    tables: Vec<Vec<f64>>,
}

/// One cell of a new table, and the entries of older tables that it is made of.
struct Cell {
    /// The value of each variable of the new table, and how many it has.
    values: Vec<usize>,
    n_values: Vec<usize>,
    /// The entry of each older table, at value 0 of the variable that is maximised out.
    entries: Vec<usize>,
    /// How far each older table's entry moves with each variable.
    strides: Vec<Vec<usize>>,
}

impl Cell {
    fn first(n_values: Vec<usize>, strides: Vec<Vec<usize>>) -> Self {
        let (values, entries) = (vec![0; n_values.len()], vec![0; strides.len()]);
        Self { values, n_values, entries, strides }
    }

    /// Goes on to the next cell, the last variable running fastest.
    fn advance(&mut self) {
        for axis in (0..self.values.len()).rev() {
            if self.values[axis] + 1 < self.n_values[axis] {
                self.values[axis] += 1;
                let entries = self.entries.iter_mut().zip(&self.strides);
                entries.for_each(|(entry, strides)| *entry += strides[axis]);
                return;
            }
            let last = std::mem::take(&mut self.values[axis]);
            let entries = self.entries.iter_mut().zip(&self.strides);
            entries.for_each(|(entry, strides)| *entry -= strides[axis] * last);
        }
    }
}

/// Variables that were maximised out, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elimination {
    steps: Vec<Step>,
    n_values: Vec<usize>,
}

impl Elimination {
    /// Maximises out every variable if no table exceeds `max_entries` and all of them
    /// together stay below `max_work`; else leaves the model as it is.
    pub(crate) fn all(
        model: &mut FactorModel,
        max_entries: usize,
        max_work: usize,
    ) -> Option<Self> {
        let order = order(model, max_entries, max_work)?;
        let mut done = Self { steps: Vec::new(), n_values: model.n_values() };
        for variable in order {
            done.eliminate(model, variable);
        }
        Some(done)
    }

    /// Maximises out the variables whose new table is no larger than those it replaces.
    pub(crate) fn cheap(model: &mut FactorModel) -> Self {
        let mut done = Self { steps: Vec::new(), n_values: model.n_values() };
        loop {
            let before = done.steps.len();
            for variable in 0..model.n_variables() {
                if model.utilities[variable].len() > 1 && done.is_cheap(model, variable) {
                    done.eliminate(model, variable);
                }
            }
            if done.steps.len() == before {
                return done;
            }
        }
    }

    /// Whether the table without the variable is no larger than the tables with it.
    fn is_cheap(&self, model: &FactorModel, variable: usize) -> bool {
        let with: Vec<&Vec<usize>> =
            model.scopes.iter().filter(|scope| scope.contains(&variable)).collect();
        let size = |scope: &mut dyn Iterator<Item = usize>| {
            scope.map(|v| self.n_values[v] as f64).product::<f64>()
        };
        let union: BTreeSet<usize> = with.iter().copied().flatten().copied().collect();
        let removed: f64 = with.iter().map(|scope| size(&mut scope.iter().copied())).sum();
        size(&mut union.into_iter().filter(|&v| v != variable)) <= removed
    }

    /// Maximises one variable out; it is left with one value of no payoff.
    fn eliminate(&mut self, model: &mut FactorModel, variable: usize) {
        let mut step = Step {
            variable,
            utilities: std::mem::replace(&mut model.utilities[variable], vec![0.0]),
            scopes: Vec::new(),
            tables: Vec::new(),
        };
        let mut index = 0;
        while index < model.scopes.len() {
            if model.scopes[index].contains(&variable) {
                step.scopes.push(model.scopes.swap_remove(index));
                step.tables.push(model.tables.swap_remove(index));
            } else {
                index += 1;
            }
        }
        let union: BTreeSet<usize> = step.scopes.iter().flatten().copied().collect();
        let scope: Vec<usize> = union.into_iter().filter(|&v| v != variable).collect();
        let table = self.maximise(&step, &scope);
        match *scope {
            [] => model.utilities[variable][0] += table[0],
            [v] => model.utilities[v].iter_mut().zip(&table).for_each(|(u, x)| *u += x),
            _ => {
                model.scopes.push(scope);
                model.tables.push(table);
            }
        }
        self.steps.push(step);
    }

    /// The table over `scope` of the best value of the step's variable.
    fn maximise(&self, step: &Step, scope: &[usize]) -> Vec<f64> {
        let size: usize = scope.iter().map(|&v| self.n_values[v]).product();
        let strides: Vec<Vec<usize>> = step.scopes.iter().map(|s| self.strides(s, scope)).collect();
        let own: Vec<usize> =
            step.scopes.iter().map(|s| self.strides(s, &[step.variable])[0]).collect();
        let n_values = scope.iter().map(|&v| self.n_values[v]).collect();
        let mut cell = Cell::first(n_values, strides);
        let mut result = Vec::with_capacity(size);
        for _ in 0..size {
            let best =
                step.utilities.iter().enumerate().fold(f64::NEG_INFINITY, |best, (a, &u)| {
                    let factors = step.tables.iter().zip(&cell.entries).zip(&own);
                    let value = u + factors
                        .map(|((table, &entry), &stride)| table[entry + a * stride])
                        .sum::<f64>();
                    if value > best { value } else { best }
                });
            result.push(best);
            cell.advance();
        }
        result
    }

    /// The stride of each of `variables` in a table over `scope`; 0 where it does not appear.
    fn strides(&self, scope: &[usize], variables: &[usize]) -> Vec<usize> {
        let stride = |variable: &usize| {
            scope
                .iter()
                .position(|v| v == variable)
                .map_or(0, |slot| scope[slot + 1..].iter().map(|&v| self.n_values[v]).product())
        };
        variables.iter().map(stride).collect()
    }

    /// Gives every eliminated variable its best value, the last one first.
    pub(crate) fn decode(&self, action: &mut [usize]) {
        for step in self.steps.iter().rev() {
            action[step.variable] = 0;
            let value = |a: usize| {
                let factors = step.scopes.iter().zip(&step.tables).map(|(scope, table)| {
                    let at = scope.iter().fold(0, |at, &v| {
                        at * self.n_values[v] + if v == step.variable { a } else { action[v] }
                    });
                    table[at]
                });
                step.utilities[a] + factors.sum::<f64>()
            };
            let best = (0..step.utilities.len())
                .fold((0, f64::NEG_INFINITY), |best, a| {
                    let value = value(a);
                    if value > best.1 { (a, value) } else { best }
                })
                .0;
            action[step.variable] = best;
        }
    }
}

/// What it costs to maximise out a variable.
#[derive(Clone, Copy)]
struct Cost {
    /// Pairs of neighbours that become joined.
    fill_in: f64,
    /// Entries of the table with the variable and all its neighbours.
    n_entries: f64,
}

impl Cost {
    fn of(variable: usize, neighbours: &[BTreeSet<usize>], n_values: &[usize]) -> Self {
        let near = &neighbours[variable];
        let joined: usize = near.iter().map(|&u| neighbours[u].intersection(near).count()).sum();
        let fill_in = near.len() * near.len().saturating_sub(1) - joined;
        let size: f64 = near.iter().map(|&u| n_values[u] as f64).product();
        Self { fill_in: fill_in as f64, n_entries: size * n_values[variable] as f64 }
    }

    fn order(&self, other: &Self) -> Ordering {
        let fill_in = self.fill_in.total_cmp(&other.fill_in);
        fill_in.then(self.n_entries.total_cmp(&other.n_entries))
    }
}

/// A greedy elimination order: fewest new neighbours, then smallest table. `None` beyond limits.
fn order(model: &FactorModel, max_entries: usize, max_work: usize) -> Option<Vec<usize>> {
    let n_values = model.n_values();
    let mut neighbours = vec![BTreeSet::new(); model.n_variables()];
    for scope in &model.scopes {
        for &v in scope {
            neighbours[v].extend(scope.iter().copied().filter(|&other| other != v));
        }
    }
    let mut costs: Vec<Cost> =
        (0..model.n_variables()).map(|v| Cost::of(v, &neighbours, &n_values)).collect();
    let mut left: BTreeSet<usize> = (0..model.n_variables()).filter(|&v| n_values[v] > 1).collect();
    let mut order = Vec::with_capacity(left.len());
    let mut work = 0.0;
    while let Some(&next) = left.iter().min_by(|&&x, &&y| costs[x].order(&costs[y])) {
        let n_entries = costs[next].n_entries;
        work += n_entries;
        if n_entries > max_entries as f64 || work > max_work as f64 {
            return None;
        }
        left.remove(&next);
        order.push(next);
        for v in join_neighbours(&mut neighbours, next) {
            costs[v] = Cost::of(v, &neighbours, &n_values);
        }
    }
    Some(order)
}

/// Joins the neighbours of a variable to each other in its stead; returns whose cost changed.
fn join_neighbours(neighbours: &mut [BTreeSet<usize>], variable: usize) -> BTreeSet<usize> {
    let near = std::mem::take(&mut neighbours[variable]);
    let mut changed = near.clone();
    for &v in &near {
        neighbours[v].remove(&variable);
        neighbours[v].extend(near.iter().copied().filter(|&u| u != v));
        changed.extend(&neighbours[v]);
    }
    changed
}
