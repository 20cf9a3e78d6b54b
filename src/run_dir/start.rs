//! Where a run may begin: at a free place, or at one that holds only a beginning that was cut short.

use super::{
    argument,
    files::{CHECKPOINTS, CONFIG, EVENTS, MANIFEST, METRICS},
};
use crate::{
    checkpoint::atomic::is_unfinished,
    error::{Error, Result},
};
use std::{fs, path::Path};

/// Refuses a place that holds anything that a beginning would destroy.
pub(super) fn refuse_occupied(path: &Path) -> Result<()> {
    let shown = path.display();
    let elsewhere = "choose another place with `--out DIR`";
    if path.exists() && !path.is_dir() {
        return Err(Error::Refused(format!("{shown} is not a directory: {elsewhere}")));
    }
    if is_cut_short(path) || names(path).is_empty() {
        return Ok(());
    }
    let has_checkpoint = !names(&path.join(CHECKPOINTS)).is_empty();
    Err(Error::Refused(match (path.join(CONFIG).exists(), has_checkpoint) {
        (true, true) => format!(
            "{shown} already holds a run: continue it with `cgcmarl resume {}`, or {elsewhere}",
            argument(path)
        ),
        (true, false) => format!("{shown} already holds a run: {elsewhere}"),
        (false, _) => format!("{shown} exists and is not empty: {elsewhere}"),
    }))
}

/// Whether a process began a run here and was stopped before its first checkpoint: there is nothing
/// that a new beginning would not write again.
pub(super) fn is_cut_short(path: &Path) -> bool {
    let found = names(path);
    // The folder is made first and the configuration last, so that one of the user's own is never taken for ours.
    let begun = path.join(CHECKPOINTS).is_dir()
        && (!path.join(CONFIG).exists() || path.join(MANIFEST).exists());
    begun && found.iter().all(|name| is_of_a_beginning(path, name))
}

/// What someone should do about such a place.
pub(super) fn cut_short(path: &Path) -> Error {
    Error::Refused(format!(
        "{} was stopped before its first checkpoint: begin it again with `cgcmarl train --out {}` and its settings",
        path.display(),
        argument(path)
    ))
}

fn is_of_a_beginning(path: &Path, name: &str) -> bool {
    let found = fs::symlink_metadata(path.join(name));
    let is_file = found.as_ref().is_ok_and(fs::Metadata::is_file);
    match name {
        CONFIG | MANIFEST => is_file,
        METRICS | EVENTS => is_file && found.is_ok_and(|found| found.len() == 0),
        CHECKPOINTS => {
            found.is_ok_and(|found| found.is_dir())
                && names(&path.join(name)).iter().all(|name| is_unfinished(name))
        }
        _ => is_unfinished(name),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
