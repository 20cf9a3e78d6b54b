//! Append-only files that can be cut back to where a checkpoint was taken.

use crate::checkpoint::atomic::explain;
use crate::error::{Error, Result};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::Write,
    path::{Path, PathBuf},
};

/// A file that only grows, owned by one process at a time.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Log {
    /// Opens a log at its end, making it if need be; refuses one that another process writes.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file =
            OpenOptions::new().append(true).create(true).open(path).map_err(Error::file(path))?;
        // A file system without locks is not a reason to refuse.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let path = path.display();
            return Err(Error::Refused(format!("{path} is being written by another cgcmarl")));
        }
        let length = file.metadata().map_err(Error::file(path))?.len();
        Ok(Self { path: path.into(), file, length })
    }

    /// Bytes so far.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Adds bytes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(explain).map_err(Error::file(&self.path))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(explain).map_err(Error::file(&self.path))
    }

    /// Forgets everything after a length; a log that is shorter has lost lines.
    pub(super) fn cut_back(&mut self, length: u64) -> Result<()> {
        if self.length < length {
            let message = format!(
                "{} bytes long, but the checkpoint was taken when it had {length}: lines are missing",
                self.length
            );
            return Err(Error::format(&self.path, None, message));
        }
        self.file.set_len(length).map_err(Error::file(&self.path))?;
        self.length = length;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_grows_and_is_cut_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut log = Log::open(&path).unwrap();
        log.append(b"one\n").unwrap();
        log.append(b"two\nhal").unwrap();
        log.cut_back(4).unwrap();
        log.append(b"2\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\n2\n");
        let error = log.cut_back(100).unwrap_err().to_string();
        assert!(error.contains("6 bytes long, but"), "{error}");
    }

    #[test]
    fn two_writers_are_one_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let first = Log::open(&path).unwrap();
        let error = Log::open(&path).unwrap_err().to_string();
        assert!(error.ends_with("is being written by another cgcmarl"), "{error}");
        drop(first);
        Log::open(&path).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_named() {
        let mut log = Log::open(Path::new("/dev/full")).unwrap();
        let error = log.append(b"line\n").unwrap_err().to_string();
        assert!(error.starts_with("/dev/full: the disk is full"), "{error}");
    }
}
