//! Files that are either whole or not there: written beside their place, synced, then renamed.
//!
//! What is no ordinary file stays what it is: a device or a pipe is written to, a link leads to the
//! file that is replaced.

use crate::error::{Error, Result};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// How the name of a file begins while it is being written; a kill leaves it behind.
const UNFINISHED: &str = ".unfinished-";
/// Links that are followed before they are taken for a circle.
const MOST_LINKS: usize = 40;
/// Leftovers of other processes that are passed over in search of a free name.
const MOST_LEFTOVERS: usize = 10_000;

/// Puts `content` at `path`, replacing what was there, so that a reader never sees half of it.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let written = match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(found) if !found.is_file() => write_through(path, content),
        _ => end_of_links(path).and_then(|place| replace(&place, content)),
    };
    written.map_err(|source| Error::File { path: path.into(), source: explain(source) })
}

/// Refuses a folder in which nothing can be written; leaves nothing there.
pub fn check_writable(folder: &Path) -> Result<()> {
    let tried = create_unfinished(folder).and_then(|(path, _)| fs::remove_file(path));
    tried.map_err(|source| Error::File { path: folder.into(), source: explain(source) })
}

/// Says what is wrong with a full disk or a quota; other failures speak for themselves.
pub fn explain(source: io::Error) -> io::Error {
    let what = match source.kind() {
        io::ErrorKind::StorageFull => "the disk is full",
        io::ErrorKind::QuotaExceeded => "the quota is used up",
        io::ErrorKind::FileTooLarge => "larger than files may be here",
        _ => return source,
    };
    io::Error::new(source.kind(), what)
}

/// Whether an entry of a folder is what a killed writer left.
pub fn is_unfinished(name: &str) -> bool {
    name.starts_with(UNFINISHED)
}

/// Removes what killed writers left in a folder.
pub fn remove_unfinished(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if is_unfinished(&entry.file_name().to_string_lossy()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A device or a pipe keeps nothing that could be replaced.
fn write_through(path: &Path, content: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(content)
}

/// Where a chain of links ends, whether or not something is there.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&place) {
            Ok(target) => place = folder_of(&place).join(target),
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let (unfinished, mut file) = create_unfinished(folder_of(path))?;
    let written = file.write_all(content).and_then(|()| {
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        sync_folder(folder_of(path))
    });
    if written.is_err() {
        // The disk may be full: give back what the attempt took.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// A file that nobody had before: what lies in the way, a planted link too, is passed over.
fn create_unfinished(folder: &Path) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    for _ in 0..MOST_LEFTOVERS {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{UNFINISHED}{}-{count}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (path, file)),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name to write it under"))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A rename is on the disk only once its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n_entries(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("front.json");
        write(&path, b"a long first version").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(n_entries(folder.path()), 1);
    }

    #[test]
    fn a_failed_write_keeps_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("front.json");
        fs::create_dir(&path).unwrap();
        let error = write(&path, b"new").unwrap_err().to_string();
        assert!(error.contains("front.json") && error.contains("directory"), "{error}");
        let error = write(&folder.path().join("missing/front.json"), b"new").unwrap_err();
        assert!(error.to_string().contains("missing/front.json"), "{error}");
        assert_eq!(n_entries(folder.path()), 1);
    }

    #[test]
    fn names_in_the_way_are_passed_over_and_leftovers_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for count in 0..200 {
            let name = format!("{UNFINISHED}{}-{count}", std::process::id());
            fs::write(folder.path().join(name), "half").unwrap();
        }
        write(&folder.path().join("front.json"), b"whole").unwrap();
        assert_eq!(fs::read(folder.path().join("front.json")).unwrap(), b"whole");
        remove_unfinished(folder.path());
        assert_eq!(n_entries(folder.path()), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_and_their_targets_are_replaced() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("elsewhere")).unwrap();
        fs::write(at("elsewhere/target"), "old").unwrap();
        symlink("elsewhere/target", at("second")).unwrap();
        symlink("second", at("first")).unwrap();
        symlink("elsewhere/new", at("dangling")).unwrap();
        symlink("circle", at("circle")).unwrap();
        write(&at("first"), b"new").unwrap();
        write(&at("dangling"), b"newer").unwrap();
        assert_eq!(fs::read(at("elsewhere/target")).unwrap(), b"new");
        assert_eq!(fs::read(at("elsewhere/new")).unwrap(), b"newer");
        for name in ["first", "second", "dangling"] {
            assert!(fs::symlink_metadata(at(name)).unwrap().is_symlink(), "{name} was replaced");
        }
        assert!(write(&at("circle"), b"").unwrap_err().to_string().contains("circle"));
    }

    #[cfg(unix)]
    #[test]
    fn planted_links_are_never_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("front.json"), folder.path().join("victim"));
        fs::write(&victim, "precious").unwrap();
        let names = (0..200).map(|count| format!("{}-{count}", std::process::id()));
        for name in names.chain(["front.json".into()]) {
            let planted = folder.path().join(format!("{UNFINISHED}{name}"));
            std::os::unix::fs::symlink(&victim, planted).unwrap();
        }
        write(&path, b"content").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert_eq!(fs::read(&path).unwrap(), b"content");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    /// Reached through links of our own, so that a mistake here would cost a link, not a device.
    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_to_and_a_full_disk_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let [null, full] = ["null", "full"].map(|name| {
            let link = folder.path().join(name);
            std::os::unix::fs::symlink(format!("/dev/{name}"), &link).unwrap();
            link
        });
        write(&null, &[0; 100]).unwrap();
        let error = write(&full, &[0; 100]).unwrap_err().to_string();
        assert!(error.ends_with("full: the disk is full"), "{error}");
        assert!(null.is_symlink() && full.is_symlink());
        assert_eq!(n_entries(folder.path()), 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_is_written_to() {
        use std::{io::Read, os::unix::fs::FileTypeExt};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        // Open for both, so that neither side waits for the other.
        let mut reader = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        write(&path, b"content").unwrap();
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        let mut read = [0; 7];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"content");
    }
}
