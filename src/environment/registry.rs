//! The list of tasks: those built in, and those that a user's own program adds.

use super::{Task, capture, predator_prey, simple_spread, simple_tag, task::AnyTask, warehouse};
use crate::error::{Error, Result, closest};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// To add a task: its folder beside this file, and its line here.
fn built_in() -> Vec<Arc<dyn AnyTask>> {
    vec![
        Arc::new(simple_spread::SimpleSpreadTask),
        Arc::new(predator_prey::PredatorPreyTask),
        Arc::new(capture::CaptureTask),
        Arc::new(simple_tag::SimpleTagTask),
        Arc::new(warehouse::WarehouseTask),
    ]
}

static TASKS: LazyLock<RwLock<Vec<Arc<dyn AnyTask>>>> = LazyLock::new(|| RwLock::new(built_in()));

/// Adds a task of the user's own; one of the same name is replaced.
pub fn register(task: impl Task) {
    let mut tasks = TASKS.write().unwrap_or_else(PoisonError::into_inner);
    tasks.retain(|known| known.name() != Task::name(&task));
    tasks.push(Arc::new(task));
}

/// Names of all tasks, those built in first.
pub fn tasks() -> Vec<String> {
    let tasks = TASKS.read().unwrap_or_else(PoisonError::into_inner);
    tasks.iter().map(|task| task.name().to_owned()).collect()
}

/// The task of a name; an unknown one suggests the nearest.
pub(super) fn find_task(name: &str) -> Result<Arc<dyn AnyTask>> {
    let tasks = TASKS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(task) = tasks.iter().find(|task| task.name() == name) {
        return Ok(Arc::clone(task));
    }
    let nearest = closest(tasks.iter().map(|task| task.name()), name)
        .map_or(String::new(), |name| format!("did you mean `{name}`? "));
    let all: Vec<_> = tasks.iter().map(|task| format!("`{}`", task.name())).collect();
    let reason = format!("{nearest}there are {}; see `cgcmarl tasks`", all.join(", "));
    Err(Error::setting("task", name, reason))
}
