//! An array of numpy's that others may write to while it is read: whoever wants its numbers gets copies.
#![expect(unsafe_code, reason = "somebody else's memory is read; each use says why that is sound")]

use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A two-dimensional array of doubles, in whatever order it lies in memory.
pub(crate) struct SharedArray {
    /// Keeps the memory.
    _owner: Py<PyArray2<f64>>,
    first: *mut f64,
    /// From one row, and one column, to the next, in numbers.
    steps: [isize; 2],
    width: usize,
}

// SAFETY: the pointer is read through in `copy` alone, which any thread may do at any time.
unsafe impl Send for SharedArray {}
// SAFETY: as above.
unsafe impl Sync for SharedArray {}

impl SharedArray {
    /// None where the numbers do not lie as doubles do.
    pub(crate) fn of(array: &Bound<'_, PyArray2<f64>>) -> Option<SharedArray> {
        let size = size_of::<f64>().cast_signed();
        let (first, width, bytes) = (array.data(), array.shape()[1], array.strides());
        let aligned = first.is_aligned() && bytes.iter().all(|step| step % size == 0);
        (aligned && !array.is_empty()).then(|| {
            let steps = [bytes[0] / size, bytes[1] / size];
            SharedArray { _owner: array.clone().unbind(), first, steps, width }
        })
    }

    /// A copy of rows that are there, as they are now.
    pub(crate) fn copy(&self, rows: Range<usize>) -> Vec<f64> {
        let mut copied = Vec::with_capacity(rows.len() * self.width);
        for row in rows {
            for column in 0..self.width {
                let step = row.cast_signed() * self.steps[0] + column.cast_signed() * self.steps[1];
                // SAFETY: the array has such a row and column, so this is inside of its memory, aligned, and there as long as its owner.
                // Whoever writes to it meanwhile races with a load that may race: it gives what was there before or after.
                let bits =
                    unsafe { AtomicU64::from_ptr(self.first.offset(step).cast()) }.load(Ordering::Relaxed);
                copied.push(f64::from_bits(bits));
            }
        }
        copied
    }
}
