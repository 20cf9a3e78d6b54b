//! A trained policy that acts in many states at once.

use crate::failure::refused;
use cgcmarl::{
    Environment,
    environment::{Batch, Policy as Acting},
    graph::JointAction,
};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2, ndarray::Array2};
use pyo3::{Bound, PyResult, Python, pyclass, pymethods};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
};

/// What a decision is made with; kept between calls.
struct Desk {
    policy: Box<dyn Acting>,
    actions: Vec<JointAction>,
    slots: Vec<usize>,
}

/// A frozen policy.
#[pyclass(frozen, module = "cgcmarl._native")]
pub(crate) struct Policy {
    environment: Box<dyn Environment>,
    desk: Mutex<Desk>,
}

impl Policy {
    pub(crate) fn new(environment: Box<dyn Environment>, policy: Box<dyn Acting>) -> Self {
        let desk = Desk { policy, actions: Vec::new(), slots: Vec::new() };
        Self { environment, desk: Mutex::new(desk) }
    }
}

#[pymethods]
impl Policy {
    /// One joint action for each row of states.
    fn act<'py>(
        &self,
        py: Python<'py>,
        states: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let spec = self.environment.view().spec();
        let (n_agents, width) = (spec.n_agents(), spec.state_width);
        let states = states.as_array();
        let n = states.nrows();
        if states.ncols() != width {
            let text = format!("a state has {width} numbers, not {}", states.ncols());
            return Err(refused(text));
        }
        let states = states.as_standard_layout();
        let rows = states.as_slice().unwrap_or_default();
        if let Some(at) = rows.iter().position(|number| !number.is_finite()) {
            let text = format!("states[{}, {}] is {}", at / width, at % width, rows[at]);
            return Err(refused(text));
        }
        let chosen = py.detach(|| {
            let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
            let Desk { policy, actions, slots } = &mut *desk;
            actions.resize_with(n, JointAction::new);
            slots.clear();
            slots.extend(0..n);
            let batch = Batch { view: self.environment.view(), states: rows, slots };
            // Numbers that no state of the task has may lead anywhere.
            catch_unwind(AssertUnwindSafe(|| policy.act(batch, actions))).ok()?;
            Some(actions.iter().flatten().map(|&action| action as i64).collect::<Vec<_>>())
        });
        let chosen = chosen.ok_or_else(|| refused("states: not all are states of this task"))?;
        let chosen = Array2::from_shape_vec((n, n_agents), chosen)
            .map_err(|error| refused(error.to_string()))?;
        Ok(chosen.into_pyarray(py))
    }
}
