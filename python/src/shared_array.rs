//! A numpy array that other threads may write to: its numbers are copied out with atomic loads.
#![expect(unsafe_code, reason = "somebody else's memory is read; each use says why that is sound")]

use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A two-dimensional array of doubles, in any memory layout.
pub(crate) struct SharedArray {
    /// Keeps the memory alive.
    _owner: Py<PyArray2<f64>>,
    first: *mut f64,
    /// The distance from one row, and from one column, to the next, counted in doubles.
    steps: [isize; 2],
    width: usize,
}

// SAFETY: the memory at the pointer is only read, in `copy`, by atomic loads, which any thread may
// do at any time.
unsafe impl Send for SharedArray {}
// SAFETY: `copy` takes `&self` and only loads atomically, so threads may share the array.
unsafe impl Sync for SharedArray {}

impl SharedArray {
    /// None if the array is empty, or its numbers do not lie at multiples of a double's size.
    pub(crate) fn of(array: &Bound<'_, PyArray2<f64>>) -> Option<SharedArray> {
        let size = size_of::<f64>().cast_signed();
        let (first, width, bytes) = (array.data(), array.shape()[1], array.strides());
        let aligned = first.is_aligned() && bytes.iter().all(|step| step % size == 0);
        (aligned && !array.is_empty()).then(|| {
            let steps = [bytes[0] / size, bytes[1] / size];
            SharedArray { _owner: array.clone().unbind(), first, steps, width }
        })
    }

    /// A copy of the present values of these rows. The rows must exist.
    pub(crate) fn copy(&self, rows: Range<usize>) -> Vec<f64> {
        let mut copied = Vec::with_capacity(rows.len() * self.width);
        for row in rows {
            for column in 0..self.width {
                let step = row.cast_signed() * self.steps[0] + column.cast_signed() * self.steps[1];
                // SAFETY: `row` and `column` are within the array, so the address is inside its
                // memory; `of` checked the alignment, and `_owner` keeps the memory. Concurrent
                // writes race only with an atomic load, which returns the old or the new number.
                let bits =
                    unsafe { AtomicU64::from_ptr(self.first.offset(step).cast()) }.load(Ordering::Relaxed);
                copied.push(f64::from_bits(bits));
            }
        }
        copied
    }
}
