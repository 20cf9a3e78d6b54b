//! What every command shares: where text goes, how numbers are printed, how mistakes are told.

use crate::exit::ExitCode;
use anyhow::{Context, ensure};
use cgcmarl::{checkpoint::atomic, error::Error};
use clap::ValueEnum;
use std::{io::Write, path::Path};

/// Most threads that are started.
const MAX_THREADS: usize = 1024;

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Writes to standard output; a closed pipe is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout().lock(), "{}", text.trim_end()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("standard output")
        }
        _ => Ok(()),
    }
}

/// Writes a remark to standard error.
pub(crate) fn remark(text: &str) {
    // Nobody may be listening.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Tells a mistake and gives the exit code for it.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    remark(&format!("error: {}", told(error)));
    ExitCode::from(2)
}

/// An error with its causes, those left out that it tells itself.
fn told(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .reduce(
            |told, cause| {
                if told.ends_with(&cause) { told } else { format!("{told}: {cause}") }
            },
        )
        .unwrap_or_default()
}

/// Refuses a folder for results that is something else, or where nothing can be written, before any work
/// is done for it.
pub(crate) fn check_folder(path: &Path) -> anyhow::Result<()> {
    ensure!(!path.exists() || path.is_dir(), "{} is not a directory", path.display());
    let nearest = path.ancestors().find(|folder| folder.is_dir());
    check_writable(nearest.unwrap_or(Path::new(".")))
}

/// Refuses a folder that is there and in which nothing can be written.
pub(crate) fn check_writable(folder: &Path) -> anyhow::Result<()> {
    Ok(atomic::check_writable(folder)?)
}

/// Refuses a file for results that could not be written, before any work is done for it.
pub(crate) fn check_file(path: &Path) -> anyhow::Result<()> {
    ensure!(!path.is_dir(), "{} is a directory", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        let shown = path.display();
        ensure!(folder.is_dir(), "{shown}: there is no directory {}", folder.display());
    }
    // A device or a pipe is written to as it is.
    let is_replaced = !path.exists() || path.is_file();
    if is_replaced { check_writable(folder.unwrap_or(Path::new("."))) } else { Ok(()) }
}

/// Refuses to replace a file that is not what this command writes; one of its own it may.
pub(crate) fn check_replaced(
    path: &Path,
    is_own: impl Fn(&[u8]) -> bool,
    kind: &str,
) -> anyhow::Result<()> {
    check_file(path)?;
    if path.is_file() {
        let content = std::fs::read(path).with_context(|| path.display().to_string())?;
        let shown = path.display();
        ensure!(is_own(&content), "{shown} exists and is no {kind}; choose another name");
    }
    Ok(())
}

/// Splits `key=value` words.
pub(crate) fn overrides(words: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    words
        .iter()
        .map(|word| match word.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => {
                let reason = "settings are written key=value, such as agents=6";
                Err(Error::setting("argument", word, reason).into())
            }
        })
        .collect()
}

/// Number of threads: as given, else one per core.
pub(crate) fn threads(given: Option<usize>) -> anyhow::Result<usize> {
    match given {
        Some(threads) if !(1..=MAX_THREADS).contains(&threads) => {
            let reason = format!("must be 1 to {MAX_THREADS}");
            Err(Error::setting("--threads", threads, reason).into())
        }
        Some(threads) => Ok(threads),
        None => Ok(cores()),
    }
}

/// Number of cores.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let file = || Error::file("front.json")(std::io::Error::other("the disk is full"));
        assert_eq!(told(&file().into()), "front.json: the disk is full");
        let error = anyhow::Error::from(file()).context("run");
        assert_eq!(told(&error), "run: front.json: the disk is full");
        assert_eq!(told(&anyhow::anyhow!("first").context("second")), "second: first");
    }
}
