"""Recognizing the kind of table that a caller passed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._column_export import pandas_numeric
from ._errors import Error
from ._frames import Arrow, Other, Pandas, Polars
from ._records import Records
from ._sources import Paths, Source, Stream, is_of, is_path


def table_source(data: Any, *, long: Any = None) -> Source:
    """The source for any kind of rows; with ``long``, for items made from grades."""
    rows = frame_source(data)
    if long is None or not rows.is_frame:
        return rows
    from ._long_frames import LongFrame

    return LongFrame(rows, *long)


def frame_source(data: Any) -> Source:
    native: Any = data
    if is_path(data):
        return Paths([os.fspath(data)])
    if isinstance(data, (list, tuple)) and data and all(is_path(one) for one in data):
        return Paths([os.fspath(one) for one in data])
    if is_of(data, "pandas", "DataFrame"):
        return Pandas(data)
    if is_of(data, "polars", "LazyFrame"):
        return Polars(native.collect())
    if is_of(data, "polars", "DataFrame"):
        return Polars(data)
    if is_of(data, "pyarrow", "Table") or is_of(data, "pyarrow", "RecordBatch"):
        return Arrow(data)
    import narwhals.stable.v2 as nw

    if isinstance(data, (nw.DataFrame, nw.LazyFrame)):
        return frame_source(data.to_native())
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return Other(data, frame)
    if isinstance(data, (list, tuple)) and data and all(columns_of(one) is not None for one in data if not is_path(one)):
        raise Error("these are several tables: join them first, such as by pandas.concat or polars.concat", code="source")
    if is_of(data, "pandas", "Series") or is_of(data, "polars", "Series"):
        raise Error("this is a single column, not a table: pass a frame, such as its to_frame()", code="source")
    if hasattr(data, "__arrow_c_stream__"):
        return Stream(data)
    raise Error(
        f"{type(data).__module__}.{type(data).__qualname__} is not a table: pass a frame of pandas, polars or pyarrow, a DuckDB relation, "
        "anything that streams Arrow, or the names of files",
        code="source",
    )


def returned_source(data: Any, names: Sequence[str]) -> Source:
    """A source for picks or verdicts: a table, several frames of one kind, or rows one by one.
    An empty list is a table without rows, with these columns."""
    if isinstance(data, (list, tuple)):
        data = [one for one in data if not (isinstance(one, (list, tuple)) and not one)]
        if not data:
            return Records({name: [] for name in names})
    return Records.of(data) or table_source(one_frame(data))


def one_frame(data: Any) -> Any:
    """Several frames of one kind as one; anything else unchanged."""
    if not isinstance(data, (list, tuple)) or not data or any(is_path(one) for one in data):
        return data
    if all(is_of(one, "pandas", "DataFrame") for one in data):
        import pandas as pd

        return pd.concat(data, ignore_index=True)
    if all(is_of(one, "polars", "DataFrame") for one in data):
        import polars as pl

        return pl.concat(data, how="diagonal_relaxed")
    if all(is_of(one, "pyarrow", "Table") for one in data):
        import pyarrow as pa

        return pa.concat_tables(data, promote_options="permissive")
    return data


def columns_of(data: Any) -> Mapping[str, Any] | None:
    """The columns of a frame by name, as objects that numpy accepts; None if it is not a frame."""
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    if is_of(data, "pandas", "DataFrame"):
        names = [str(name) for name in data.columns]
        _once_each(names)
        return {name: _PandasColumn(data, at) for at, name in enumerate(names)}
    if is_of(data, "pyarrow", "RecordBatch"):
        import pyarrow as pa

        data = pa.Table.from_batches([data])
    if is_of(data, "polars", "Series") and hasattr(data.dtype, "fields"):
        data = data.struct.unnest()
    if is_of(data, "pyarrow", "Table"):
        _once_each(data.schema.names)
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    return {name: frame[name] for name in frame.columns}


def _once_each(names: Sequence[str]) -> None:
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise Error(f"two columns are named `{twice}`", code="duplicate-column", column=twice)


class _PandasColumn:
    """A column that becomes an array when it is used."""

    def __init__(self, frame: Any, at: int) -> None:
        self.frame, self.at = frame, at

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        series = self.frame.iloc[:, self.at]
        if pandas_numeric(series.dtype) and not isinstance(series.dtype, np.dtype):
            return np.asarray(series.to_numpy(dtype="float64", na_value=np.nan))
        return np.asarray(series.to_numpy())
