//! Files that are either whole or not there: written beside their place, synced, then renamed.

use crate::error::{Error, Result};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// What a file is called while it is being written; a kill leaves it behind, the next write removes it.
const UNFINISHED: &str = ".unfinished-";

/// Puts `content` at `path`, replacing what was there, so that a reader never sees half of it.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let unfinished = unfinished(path);
    let written = write_and_sync(&unfinished, content).and_then(|()| {
        fs::rename(&unfinished, path)?;
        sync_folder(path)
    });
    written.map_err(|source| {
        // The disk may be full: give back what the attempt took.
        let _ = fs::remove_file(&unfinished);
        Error::File { path: path.into(), source: explain(source) }
    })
}

/// Says what to do about a full disk or a quota; other failures speak for themselves.
pub fn explain(source: io::Error) -> io::Error {
    let what = match source.kind() {
        io::ErrorKind::StorageFull => "the disk is full",
        io::ErrorKind::QuotaExceeded => "the quota is used up",
        io::ErrorKind::FileTooLarge => "larger than files may be here",
        _ => return source,
    };
    let advice = format!("{what}; everything saved before is kept: free some space and resume");
    io::Error::new(source.kind(), advice)
}

/// Removes what killed writers left in a folder.
pub fn remove_unfinished(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{UNFINISHED}{name}"))
}

fn write_and_sync(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// A rename is on the disk only once its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if cfg!(unix) { File::open(folder.unwrap_or(Path::new(".")))?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("front.json");
        write(&path, b"a long first version").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("front.json");
        write(&path, b"good").unwrap();
        // A folder in the way of the unfinished file makes the write fail, even for root.
        fs::create_dir(unfinished(&path)).unwrap();
        let error = write(&path, b"new").unwrap_err().to_string();
        assert!(error.contains("front.json"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"good");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        std::os::unix::fs::symlink("/dev/full", unfinished(&path)).unwrap();
        let error = write(&path, &[0; 100]).unwrap_err().to_string();
        assert!(error.contains("model.safetensors: the disk is full"), "{error}");
        assert!(!path.exists());
    }
}
