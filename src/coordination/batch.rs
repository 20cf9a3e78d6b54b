//! Decisions of many environments at once, on threads if wanted.

use super::{Coordination, Coordinator, FactorTables};
use crate::graph::{CoordinationGraph, JointAction};
use rayon::prelude::*;

/// One decision of a batch.
pub struct BatchItem<'a> {
    /// Who is coupled to whom.
    pub graph: &'a CoordinationGraph,
    /// What is worth how much.
    pub tables: &'a FactorTables,
    /// Where the joint action is written.
    pub action: &'a mut JointAction,
}

/// One coordinator per environment, so that neither threads nor neighbours change a result.
#[derive(Clone, Debug)]
pub struct Batch<C> {
    prototype: C,
    coordinators: Vec<C>,
}

impl<C: Coordinator + Clone> Batch<C> {
    /// Coordinates every environment as the prototype would.
    pub fn new(prototype: C) -> Self {
        Self { prototype, coordinators: Vec::new() }
    }

    /// Makes decision `i` with coordinator `i`; `threads` shares them among rayon's threads.
    pub fn coordinate(
        &mut self,
        items: &mut [BatchItem],
        threads: bool,
        answers: &mut Vec<Coordination>,
    ) {
        let n = items.len().max(self.coordinators.len());
        self.coordinators.resize(n, self.prototype.clone());
        let decide = |(coordinator, item): (&mut C, &mut BatchItem)| {
            coordinator.coordinate(item.graph, item.tables, item.action)
        };
        if threads {
            let work = self.coordinators.par_iter_mut().zip(items.par_iter_mut());
            work.map(decide).collect_into_vec(answers);
        } else {
            answers.clear();
            answers.extend(self.coordinators.iter_mut().zip(items).map(decide));
        }
    }
}
