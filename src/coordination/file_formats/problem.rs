//! A coordination problem that came from a file: a graph, payoffs in full precision, and its value.

use crate::coordination::FactorTables;
use crate::error::{Error, Result};
use crate::graph::{CoordinationGraph, JointAction};
use std::path::Path;

/// No declared table, and no sum of tables, may be larger than this many entries.
pub(crate) const MAX_ENTRIES: usize = 1 << 27;

/// No variable may have more values, so that a short file cannot ask for much memory.
pub(crate) const MAX_VALUES: usize = 1 << 16;

/// Factors over variables, to maximise the sum of; every factor is a region.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Who shares which factor.
    pub graph: CoordinationGraph,
    /// Payoffs, rounded to `f32`.
    pub tables: FactorTables,
    /// The same region payoffs as read, one after the other.
    pub payoffs: Vec<f64>,
}

impl Problem {
    /// Reads `.fgq.gz`, `.LG` (log-UAI) or UAI, by the ending of the name.
    pub fn read(path: &Path, evidence: Option<&Path>) -> Result<Self> {
        let mut problem = if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("gz")) {
            super::fgq::read(path)?
        } else {
            super::uai::read(path)?
        };
        if let Some(evidence) = evidence {
            super::uai::read_evidence(evidence, problem.tables.n_actions())?
                .into_iter()
                .for_each(|(variable, value)| problem.observe(variable, value));
        }
        Ok(problem)
    }

    /// The problem of these factors; `payoffs` holds their tables in order.
    pub(crate) fn new(
        path: &Path,
        n_actions: &[usize],
        scopes: &[Vec<usize>],
        payoffs: Vec<f64>,
    ) -> Result<Self> {
        let graph = CoordinationGraph::new(n_actions.len(), scopes)
            .map_err(|error| Error::format(path, None, error.to_string()))?;
        let mut tables = FactorTables::with_domains(&graph, n_actions);
        let flat = tables.regions_mut();
        assert_eq!(flat.len(), payoffs.len(), "one payoff per table entry");
        flat.iter_mut().zip(&payoffs).for_each(|(to, &x)| *to = x as f32);
        Ok(Self { graph, tables, payoffs })
    }

    /// Forbids every other value of a variable.
    pub fn observe(&mut self, variable: usize, value: usize) {
        for (action, payoff) in self.tables.agent_mut(variable).iter_mut().enumerate() {
            *payoff = if action == value { 0.0 } else { f32::NEG_INFINITY };
        }
    }

    /// The sum of all factors in full precision.
    pub fn value(&self, action: &JointAction) -> f64 {
        let alone: f64 =
            action.iter().enumerate().map(|(i, &a)| f64::from(self.tables.agent(i)[a])).sum();
        let mut start = 0;
        let together: f64 = self
            .graph
            .regions()
            .enumerate()
            .map(|(region, members)| {
                let payoff = self.payoffs[start + self.tables.entry(members, action)];
                start += self.tables.region(region).len();
                payoff
            })
            .sum();
        alone + together
    }
}

impl Problem {
    /// [`crate::coordination::upper_bound`] in the precision of the file.
    pub fn upper_bound(&self, sweeps: usize, known: f64) -> f64 {
        crate::coordination::exact::bound_of(
            crate::coordination::exact::FactorModel::from_problem(self),
            sweeps,
            known,
        )
    }
}

/// Entries of a table over these members; refuses overflow and absurd sizes.
pub(crate) fn table_size(
    path: &Path,
    line: Option<usize>,
    n_actions: &[usize],
    scope: &[usize],
) -> Result<usize> {
    scope
        .iter()
        .try_fold(1_usize, |size, &variable| size.checked_mul(n_actions[variable]))
        .filter(|&size| size <= MAX_ENTRIES)
        .ok_or_else(|| {
            let message = format!("the factor over {scope:?} has more than {MAX_ENTRIES} entries");
            Error::format(path, line, message)
        })
}
