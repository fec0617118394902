//! Reads at given positions of a file that many threads share.

use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::Bytes;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

/// A shared file handle with the file's length. Every reader has its own position.
#[derive(Debug, Clone)]
pub(super) struct PositionedFile {
    file: Arc<File>,
    length: u64,
}

impl PositionedFile {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(PositionedFile { file: Arc::new(file), length })
    }

    /// A reader that starts at byte `at`.
    pub(super) fn from(&self, at: u64) -> PositionedReader {
        PositionedReader { file: self.file.clone(), at }
    }
}

/// A reader with its own position in the shared file.
#[derive(Debug)]
pub(super) struct PositionedReader {
    file: Arc<File>,
    at: u64,
}

impl Read for PositionedReader {
    #[cfg(unix)]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use std::os::unix::fs::FileExt;
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }

    #[cfg(windows)]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use std::os::windows::fs::FileExt;
        let read = self.file.seek_read(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for PositionedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for PositionedFile {
    type T = BufReader<PositionedReader>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        // A small buffer: page headers are a few dozen bytes.
        Ok(BufReader::with_capacity(512, self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} of a file of {}", self.length)));
        }
        let mut bytes = Vec::with_capacity(length);
        self.from(start).take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() == length {
            Ok(bytes.into())
        } else {
            Err(ParquetError::EOF(format!("{} of {length} bytes at {start}", bytes.len())))
        }
    }
}
