//! A file of metrics that may still be written, read bit by bit: every line once, none of them kept.

use super::curve::Curves;
use cgcmarl::run_dir::RunDir;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// Longest line; a run's lines have about a thousand bytes.
const MOST_LINE: usize = 256 * 1024;
/// As many bytes before the end of what was read tell whether the file is still the same.
const MOST_TAIL: usize = 256;

/// A file of metrics, and the curves of what was read of it.
pub(crate) struct MetricsFile {
    path: PathBuf,
    offset: u64,
    tail: Vec<u8>,
    curves: Curves,
}

impl MetricsFile {
    /// That of a run; nothing of it was read yet.
    pub(crate) fn of(run: &RunDir) -> Self {
        Self::new(&run.file("metrics.jsonl"))
    }

    fn new(path: &Path) -> Self {
        Self { path: path.into(), offset: 0, tail: vec![], curves: Curves::default() }
    }

    /// The curves of every whole line so far. A file that cannot be read has none, one that was cut back or
    /// replaced is read from its beginning.
    pub(crate) fn curves(&mut self) -> &Curves {
        if self.read_on().is_err() {
            *self = Self::new(&self.path);
        }
        &self.curves
    }

    fn read_on(&mut self) -> io::Result<()> {
        let mut file = File::open(&self.path)?;
        if !self.is_same(&mut file)? {
            *self = Self::new(&self.path);
        }
        file.seek(SeekFrom::Start(self.offset))?;
        // What is written meanwhile is read next time.
        let end = file.metadata()?.len();
        let mut reader = BufReader::new(file).take(end.saturating_sub(self.offset));
        let mut line = vec![];
        while let Some(n_bytes) = next_line(&mut reader, &mut line)? {
            self.offset += n_bytes;
            self.tail = line[line.len().saturating_sub(MOST_TAIL)..].to_vec();
            if let Ok(value) = serde_json::from_slice(&line) {
                self.curves.add(&value);
            }
        }
        Ok(())
    }

    /// Whether the file still has, where we stopped, what we read there last.
    fn is_same(&self, file: &mut File) -> io::Result<bool> {
        let n_bytes = self.tail.len() as u64;
        if file.metadata()?.len() < self.offset {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(self.offset - n_bytes))?;
        let mut found = vec![];
        file.take(n_bytes).read_to_end(&mut found)?;
        Ok(found == self.tail)
    }
}

/// Reads a line with its end and tells its length; nothing where the last one is not whole yet. Of a line that is
/// too long only the end is kept, which is no JSON.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<u64>> {
    line.clear();
    let mut n_bytes = 0;
    loop {
        let n_read = reader.by_ref().take(MOST_LINE as u64).read_until(b'\n', line)?;
        n_bytes += n_read as u64;
        if line.ends_with(b"\n") {
            return Ok(Some(n_bytes));
        }
        if n_read == 0 {
            return Ok(None);
        }
        if line.len() >= MOST_LINE {
            line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::curve::Curve, *};
    use std::{fs, io::Write};

    fn points(file: &mut MetricsFile) -> Vec<(f64, f64)> {
        file.curves().beginning("loss").flat_map(Curve::points).collect()
    }

    fn append(path: &Path, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn every_whole_line_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut file = MetricsFile::new(&path);
        assert_eq!(points(&mut file), []);
        append(&path, "{\"step\":1,\"loss\":2}\n{\"step\":2,\"lo");
        assert_eq!(points(&mut file), [(1.0, 2.0)]);
        append(&path, "ss\":3}\nnonsense\n{\"step\":3,\"loss\":4}\n");
        assert_eq!(points(&mut file), [(1.0, 2.0), (2.0, 3.0), (3.0, 4.0)]);
        assert_eq!(points(&mut file).len(), 3);
    }

    #[test]
    fn a_file_that_was_cut_back_or_replaced_is_read_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut file = MetricsFile::new(&path);
        append(&path, "{\"step\":1,\"loss\":2}\n{\"step\":2,\"loss\":3}\n");
        assert_eq!(points(&mut file).len(), 2);
        fs::write(&path, "{\"step\":1,\"loss\":2}\n").unwrap();
        assert_eq!(points(&mut file), [(1.0, 2.0)]);
        // Cut back and grown beyond where we were, between two looks.
        fs::write(&path, "{\"step\":1,\"loss\":5}\n{\"step\":2,\"loss\":6}\n").unwrap();
        assert_eq!(points(&mut file), [(1.0, 5.0), (2.0, 6.0)]);
        fs::remove_file(&path).unwrap();
        assert_eq!(points(&mut file), []);
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        append(&path, &"x".repeat(5 * MOST_LINE));
        let mut reader = BufReader::new(File::open(&path).unwrap());
        let mut line = vec![];
        assert_eq!(next_line(&mut reader, &mut line).unwrap(), None);
        assert!(line.capacity() <= 2 * MOST_LINE, "{}", line.capacity());
        append(&path, "\n{\"step\":1,\"loss\":2}\n");
        assert_eq!(points(&mut MetricsFile::new(&path)), [(1.0, 2.0)]);
    }
}
