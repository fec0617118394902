//! Parquet on its way out.

use crate::column::Slab;
use crate::error::Error;
use crate::write::{Aside, Sink};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::io;
use std::path::{Path, PathBuf};

/// The most bytes of a row group that is being written.
const LARGEST: usize = 64 << 20;

pub(super) struct ParquetSink {
    path: PathBuf,
    /// Until the first slab, which tells the types.
    aside: Option<Aside>,
    writer: Option<ArrowWriter<Aside>>,
}

impl ParquetSink {
    pub(super) fn new(aside: Aside) -> Self {
        ParquetSink { path: aside.path().into(), aside: Some(aside), writer: None }
    }
}

impl Sink for ParquetSink {
    fn write(&mut self, slab: &Slab) -> Result<(), Error> {
        let refused = |e: ParquetError| failed(&self.path, e);
        let arrays =
            slab.batch().map_err(|e| Error::Parquet { path: self.path.clone(), reason: e.to_string() })?;
        if let Some(aside) = self.aside.take() {
            let level = ZstdLevel::try_new(3).map_err(refused)?;
            let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
            let begun = ArrowWriter::try_new(aside, arrays.schema(), Some(properties));
            self.writer = Some(begun.map_err(refused)?);
        }
        match &mut self.writer {
            Some(writer) => {
                writer.write(&arrays).map_err(refused)?;
                // A row group is held until it is whole: of long texts a million rows would be too much.
                if writer.in_progress_size() >= LARGEST { writer.flush().map_err(refused) } else { Ok(()) }
            }
            None => Ok(()),
        }
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        match self.writer {
            Some(writer) => writer.into_inner().map_err(|e| failed(&self.path, e))?.finish(),
            None => Ok(()),
        }
    }
}

/// The system's word, where it was the system that refused.
fn failed(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => Error::io(path, "write", *cause),
            Err(cause) => Error::Io { path: path.into(), doing: "write", source: io::Error::other(cause) },
        },
        other => Error::Io { path: path.into(), doing: "write", source: io::Error::other(other) },
    }
}
