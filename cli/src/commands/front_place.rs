//! Where a front may go: nothing that took longer to play, or belongs to something else, is lost to it.

use super::output::check_folder;
use anyhow::{bail, ensure};
use cgcmarl::{Model, evaluation::Front, run_dir::files::FRONT_JSON};
use std::path::Path;

/// What is known of a front before it is played.
pub(super) struct Coming<'a> {
    /// The model it is of, where it is of one.
    pub(super) model: Option<u32>,
    /// Name of the task.
    pub(super) task: &'a str,
    /// Who learned.
    pub(super) algorithm: &'a str,
    /// What the environment is, in full.
    pub(super) environment: &'a serde_json::Value,
    /// Points, and episodes of each.
    pub(super) extent: (usize, usize),
}

impl<'a> Coming<'a> {
    /// A front that was played.
    pub(super) fn of(front: &'a Front, model: Option<u32>) -> Self {
        let Front { task, algorithm, environment, .. } = front;
        Self { model, task, algorithm, environment, extent: front.extent() }
    }

    /// Refuses a folder that is another run, or whose front would be lost to this one.
    pub(super) fn check(&self, folder: &Path) -> anyhow::Result<()> {
        check_folder(folder)?;
        let shown = folder.display();
        if let Ok(model) = Model::open(folder) {
            let is_its = self.model == Some(model.fingerprint());
            ensure!(is_its, "{shown} is a run of another model; choose another folder");
        }
        let file = folder.join(FRONT_JSON);
        if !file.exists() {
            return Ok(());
        }
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let Ok(earlier) = serde_json::from_str::<Front>(&text) else {
            bail!(
                "{} exists and is no front of this program; choose another folder",
                file.display()
            );
        };
        let is_alike = earlier.task == self.task
            && earlier.algorithm == self.algorithm
            && (earlier.environment.is_null() || earlier.environment == *self.environment);
        ensure!(is_alike, "{shown} holds a front of something else; choose another folder");
        let ((points, episodes), (new_points, new_episodes)) = (earlier.extent(), self.extent);
        ensure!(
            !is_less(self.extent, earlier.extent()),
            "{shown} holds a front of {points} points with {episodes} episodes each, this one has {new_points} with {new_episodes}; choose another folder"
        );
        Ok(())
    }
}

/// Whether one front has fewer points or episodes than another.
pub(super) fn is_less(new: (usize, usize), earlier: (usize, usize)) -> bool {
    new.0 < earlier.0 || new.1 < earlier.1
}

/// That a run keeps a front that has more than a new one.
pub(super) fn kept(folder: &Path, earlier: (usize, usize), new: (usize, usize)) -> String {
    format!(
        "{} keeps its front of {} points with {} episodes each; --out DIR saves this one of {} with {}",
        folder.display(),
        earlier.0,
        earlier.1,
        new.0,
        new.1
    )
}
