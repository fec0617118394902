//! A per-thread pool of memory for decompressed pages.
//!
//! Fresh memory for large pages is slow, because the kernel clears it first. So the memory of a
//! page returns to the pool when its last reference is dropped.

use ::parquet::errors::{ParquetError, Result};
use bytes::Bytes;
use std::sync::{Arc, Mutex, PoisonError};
use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

/// A thread's memory for pages, and its decompressor.
#[derive(Default)]
pub(super) struct PageMemory {
    /// Running sums for the rows of a unit.
    pub(super) sums: Vec<Vec<f64>>,
    free: FreeBuffers,
    zstd: Option<Decompressor<'static>>,
}

type FreeBuffers = Arc<Mutex<Vec<Vec<u8>>>>;

/// Bytes that return to the pool when dropped.
struct PooledBytes {
    bytes: Vec<u8>,
    free: FreeBuffers,
}

impl AsRef<[u8]> for PooledBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for PooledBytes {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.bytes));
    }
}

impl PageMemory {
    /// Decompresses a zstd page into pooled memory, at most `limit` bytes.
    pub(super) fn unpacked(&mut self, packed: &[u8], limit: usize) -> Result<Bytes> {
        let size = get_frame_content_size(packed).ok().flatten();
        let size = size.and_then(|size| usize::try_from(size).ok()).map_or(limit, |size| size.min(limit));
        let mut bytes = self.free(size);
        let failed = |e| ParquetError::External(Box::new(e));
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(Decompressor::new().map_err(failed)?),
        };
        zstd.decompress_to_buffer(packed, &mut bytes).map_err(failed)?;
        Ok(Bytes::from_owner(PooledBytes { bytes, free: self.free.clone() }))
    }

    /// Takes memory for `size` bytes from the pool: the smallest buffer that is large enough, else
    /// the largest one, which grows. Without any, memory is allocated.
    fn free(&self, size: usize) -> Vec<u8> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let fit = |at: &usize| {
            let room = free[*at].capacity();
            if room >= size { (0, room) } else { (1, usize::MAX - room) }
        };
        let best = (0..free.len()).min_by_key(fit);
        let mut bytes = best.map_or_else(Vec::new, |at| free.swap_remove(at));
        bytes.clear();
        bytes.reserve_exact(size);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_and_oversized_or_damaged_pages_are_refused() {
        let mut memory = PageMemory::default();
        let text = b"all the same, all the same, all the same".repeat(100);
        let packed = zstd::bulk::compress(&text, 3).unwrap();
        let first = memory.unpacked(&packed, 1 << 20).unwrap();
        let place = first.as_ptr();
        assert_eq!(*first, *text);
        let second = memory.unpacked(&packed, 1 << 20).unwrap();
        assert_ne!(second.as_ptr(), place, "the first page is still in use");
        drop(first);
        assert_eq!(memory.unpacked(&packed, 1 << 20).unwrap().as_ptr(), place);
        assert!(PageMemory::default().unpacked(&packed, 1000).is_err());
        assert!(memory.unpacked(&packed[..packed.len() / 2], 1 << 20).is_err());
    }
}
