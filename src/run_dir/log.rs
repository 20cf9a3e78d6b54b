//! Append-only files that can be cut back to where a checkpoint was taken.

use crate::checkpoint::atomic::explain;
use crate::error::{Error, Result};
use crc32fast::Hasher;
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

/// A file that only grows, owned by one process at a time.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    kept: Prefix,
}

/// The first part of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prefix {
    /// In bytes.
    pub(super) length: u64,
    /// Its checksum.
    pub(super) crc32: u32,
}

impl Prefix {
    fn extend(&mut self, bytes: &[u8]) {
        let mut hasher = Hasher::new_with_initial(self.crc32);
        hasher.update(bytes);
        self.crc32 = hasher.finalize();
        self.length += bytes.len() as u64;
    }
}

impl Log {
    /// Opens a log, making it if need be; refuses one that another process writes. What it held
    /// before stays until it is cut back.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path);
        let file = file.map_err(explain).map_err(Error::file(path))?;
        // A file system without locks is not a reason to refuse.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(Error::Busy(path.into()));
        }
        Ok(Self { path: path.into(), file, kept: Prefix::default() })
    }

    /// Everything up to its end, once it was cut back.
    pub(super) fn kept(&self) -> Prefix {
        self.kept
    }

    /// Adds bytes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(explain).map_err(Error::file(&self.path))?;
        self.kept.extend(bytes);
        Ok(())
    }

    /// Waits until everything is on the disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(explain).map_err(Error::file(&self.path))
    }

    /// Its first bytes, at most so many.
    pub(super) fn prefix(&self, length: u64) -> Result<Prefix> {
        let read = || -> io::Result<Prefix> {
            let (mut file, mut found) = (&self.file, Prefix::default());
            file.rewind()?;
            let mut buffer = vec![0; 1 << 16];
            while found.length < length {
                let room = (length - found.length).min(buffer.len() as u64) as usize;
                let n = file.read(&mut buffer[..room])?;
                if n == 0 {
                    break;
                }
                found.extend(&buffer[..n]);
            }
            Ok(found)
        };
        read().map_err(Error::file(&self.path))
    }

    /// Its first bytes, which a checkpoint knows by their number and, unless it is an old one, by
    /// their checksum.
    pub(super) fn known(&self, length: u64, crc32: Option<u32>) -> Result<Prefix> {
        let found = self.prefix(length)?;
        let problem = if found.length < length {
            format!(
                "{} bytes long, but the checkpoint was taken when it had {length}: lines are missing",
                found.length
            )
        } else if crc32.is_some_and(|crc32| crc32 != found.crc32) {
            "was changed since the checkpoint was taken: put back what was there to go on".into()
        } else {
            return Ok(found);
        };
        Err(Error::format(&self.path, None, problem))
    }

    /// Forgets everything after its first part.
    pub(super) fn cut_back(&mut self, kept: Prefix) -> Result<()> {
        self.file.set_len(kept.length).map_err(Error::file(&self.path))?;
        self.kept = kept;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(content: &[u8]) -> (tempfile::TempDir, PathBuf, Log) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        std::fs::write(&path, content).unwrap();
        let log = Log::open(&path).unwrap();
        (folder, path, log)
    }

    #[test]
    fn a_log_grows_and_is_cut_back() {
        let (_folder, path, mut log) = log(b"one\ntwo\nhal");
        log.cut_back(log.known(4, None).unwrap()).unwrap();
        log.append(b"2\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one\n2\n");
        assert_eq!(log.kept(), Prefix { length: 6, crc32: crc32fast::hash(b"one\n2\n") });
        let error = log.known(100, None).unwrap_err().to_string();
        assert!(error.contains("6 bytes long, but"), "{error}");
    }

    #[test]
    fn what_was_changed_before_the_checkpoint_is_noticed() {
        let (_folder, path, log) = log(&b"a line\n".repeat(20_000));
        let before = log.prefix(u64::MAX).unwrap();
        assert_eq!(log.known(before.length, Some(before.crc32)).unwrap(), before);
        let mut edited = std::fs::read(&path).unwrap();
        edited[100_000] ^= 1;
        std::fs::write(&path, &edited).unwrap();
        let error = log.known(before.length, Some(before.crc32)).unwrap_err().to_string();
        assert!(error.contains("metrics.jsonl: was changed since"), "{error}");
        // A checkpoint of an older version knows the length only.
        assert_eq!(log.known(before.length, None).unwrap().length, before.length);
    }

    #[test]
    fn two_writers_are_one_too_many() {
        let (_folder, path, first) = log(b"");
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
