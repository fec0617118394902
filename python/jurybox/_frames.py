"""Frames as table sources: which columns the compiled part gets, and results as the same kind of
frame.

Frames of pandas, polars and pyarrow are handled directly, without copies where possible; others
through narwhals. Only needed columns are handed over, and the best rows are taken from the caller's
own frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._column_export import (
    NO_SCORE,
    arrow_looked_at,
    cell_text,
    pandas_passthrough,
    pandas_first,
    pandas_key,
    pandas_numbers,
    pandas_numeric,
    readable,
    whole_objects,
    bounds_checked,
)
from ._errors import Error
from ._sources import INSPECTED_ROWS, RESULT_COLUMNS, Source, free_name, listed, without_prefix


class Pandas(Source):
    """A pandas DataFrame. Columns are handed over one by one: exporting a whole frame needs
    pyarrow, and fails if one column is mixed."""

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._names = [str(readable(str(name))) for name in native.columns]

    @property
    def names(self) -> list[str]:
        return self._names

    def export_needed(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        try:
            return super().export_needed(asked, state, whole=whole, also=also)
        except Error as error:
            if error.code == "unknown-column" and error.column in self.native.index.names:
                message = f"`{error.column}` is the index of this frame, not a column: pass frame.reset_index()"
                raise Error(message, code=error.code, column=error.column) from None
            raise

    def _series(self, name: str) -> Any:
        return self.native.iloc[:, self.names.index(name)]

    def export_first(self) -> tuple[str, Any]:
        head = self.native.iloc[:INSPECTED_ROWS]
        return "frame-columns", [(name, *pandas_first(head.iloc[:, at])) for at, name in enumerate(self.names)]

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        made = []
        for name in names:
            series = self._series(name)
            as_key = name in (asked["key"], asked.get("reviewer"), *asked.get("context", ())) or name in asked.get("id", ()) or name in asked.get("apart", ()) or without_prefix(name) in RESULT_COLUMNS
            values, missing = pandas_key(series) if as_key else pandas_numbers(series, name)
            made.append((name, values, missing))
        return "frame-columns", made

    def export_rows(self, needed: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        made = []
        for name in self.names:
            series = self._series(name)
            # Flags and whole numbers rank like other scores, and keep their type in the output
            # file.
            kind = getattr(series.dtype, "kind", "O")
            numbers = name in needed and name != asked["key"] and without_prefix(name) not in RESULT_COLUMNS and kind not in "iub"
            values, missing = whole_objects(series.to_numpy()) if numbers and series.dtype == object else (None, None)
            if values is None:
                values, missing = pandas_numbers(series, name) if numbers else pandas_passthrough(series)
            made.append((name, values, missing))
        return "frame-columns", made

    def export_all(self) -> tuple[str, Any]:
        made = []
        for at, name in enumerate(self.names):
            series = self.native.iloc[:, at]
            numbers = pandas_numeric(series.dtype) and getattr(series.dtype, "kind", "O") not in "iu"
            values, missing = pandas_numbers(series, name) if numbers else pandas_key(series)
            made.append((name, values, missing))
        return "columns", made

    def from_core(self, rows: _core.Rows) -> Any:
        return rows.to_pandas()

    def take(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        native = self.native
        # Pandas cannot take rows of columns in foreign byte order.
        foreign = [at for at, dtype in enumerate(native.dtypes) if isinstance(dtype, np.dtype) and not dtype.isnative]
        if foreign:
            native = native.astype({native.columns[at]: native.dtypes.iloc[at].newbyteorder("=") for at in foreign})
        frame = native.copy(deep=False) if rows is None else _pandas_taken(native, rows)
        levels = frame.columns.nlevels
        for at, (name, values) in enumerate(front.items()):
            free: Any = free_name(self.names, name)
            # With several column levels a name is a tuple; ours have text in the first level only.
            frame.insert(at, free if levels == 1 else (free, *[""] * (levels - 1)), values)
        return frame


def _pandas_taken(frame: Any, rows: np.ndarray[Any, Any]) -> Any:
    """Rows of a frame. Pandas cannot take rows of some pyarrow types; pyarrow takes those, as
    another type meanwhile."""
    kinds = [getattr(dtype, "pyarrow_dtype", None) for dtype in frame.dtypes]
    odd = [at for at, kind in enumerate(kinds) if kind is not None and takeable_type(kind) != kind]
    taken = frame.iloc[:, [at for at in range(len(kinds)) if at not in odd]].iloc[rows].copy()
    for at in odd:
        column = frame.iloc[:, at].array
        cells = column.__arrow_array__().cast(takeable_type(kinds[at])).take(rows).cast(kinds[at])
        taken.insert(at, frame.columns[at], type(column)(cells), allow_duplicates=True)
    return taken


class Polars(Source):
    """A polars DataFrame, handed over without a copy."""

    @property
    def names(self) -> list[str]:
        return list(self.native.columns)

    def export_first(self) -> tuple[str, Any]:
        import polars as pl

        def may_be_scores(dtype: Any) -> bool:
            return dtype.is_numeric() or dtype in (pl.Boolean, pl.String, pl.Categorical, pl.Enum, pl.Object, pl.Null)

        head = self.native.head(INSPECTED_ROWS)
        others = [name for name, dtype in head.schema.items() if not may_be_scores(dtype)]
        head = head.with_columns(pl.lit(NO_SCORE).alias(name) for name in others)
        return "frame-stream", self._with_known_types(head, head.columns)

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        return "frame-stream", self._with_known_types(self.native.select(list(names)), names)

    def export_rows(self, needed: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        return "frame-stream", self._with_known_types(self.native, needed)

    def _with_known_types(self, frame: Any, needed: Sequence[str]) -> Any:
        """The frame without types that Arrow lacks: needed numbers become doubles, everything
        else text."""
        import polars as pl

        made = []
        for name, dtype in frame.schema.items():
            if "128" in str(dtype) and not dtype.is_decimal():
                made.append(frame[name].cast(pl.Float64 if name in needed else pl.String))
            elif dtype == pl.Object:
                made.append(pl.Series(name, [readable(cell_text(cell)) for cell in frame[name].to_list()], dtype=pl.String))
            elif dtype == pl.Null:
                made.append(frame[name].cast(pl.String))
        return frame.with_columns(made) if made else frame

    def take(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        import polars as pl

        frame = self.native if rows is None else self.native[rows]
        names = self.native.columns
        made = [pl.Series(free_name(names, name), listed(values)) for name, values in front.items()]
        return pl.DataFrame(made).hstack(frame) if made else frame

    def from_core(self, rows: _core.Rows) -> Any:
        return rows.to_polars()


class Arrow(Source):
    """A pyarrow table or record batch."""

    def __init__(self, native: Any) -> None:
        super().__init__(bounds_checked(native))

    @property
    def names(self) -> list[str]:
        return list(self.native.schema.names)

    def export_first(self) -> tuple[str, Any]:
        import pyarrow as pa

        head = self.native.slice(0, INSPECTED_ROWS)
        kinds = zip(head.schema, head.columns, strict=True)
        columns = [column if arrow_looked_at(field.type) else pa.array([NO_SCORE] * head.num_rows) for field, column in kinds]
        return "frame-stream", pa.Table.from_arrays(columns, names=self.names)

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        return "frame-stream", self.native.select(list(names))

    def take(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        import pyarrow as pa

        frame = self.native if rows is None else takeable(self.native).take(pa.array(rows))
        names = self.native.schema.names
        for at, (name, values) in enumerate(front.items()):
            frame = frame.add_column(at, free_name(names, name), pa.array(listed(values)))
        return frame

    def from_core(self, rows: _core.Rows) -> Any:
        return rows.to_arrow()


def takeable(table: Any) -> Any:
    """The table with types of which pyarrow can take rows; it cannot of string views and run-end
    encoding."""
    import pyarrow as pa

    schema = pa.schema([field.with_type(takeable_type(field.type)) for field in table.schema], metadata=table.schema.metadata)
    if schema == table.schema:
        return table
    columns = [_plain_column(table.column(at), field.type) for at, field in enumerate(schema)]
    return type(table).from_arrays(columns, schema=schema)


def takeable_type(type_: Any) -> Any:
    """A type that holds the same values and of which pyarrow can take rows."""
    import pyarrow as pa

    if pa.types.is_run_end_encoded(type_):
        type_ = type_.value_type
    plain = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    return plain.get(str(type_), type_)


def _plain_column(column: Any, type_: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(column.type):
        column = pc.call_function("run_end_decode", [column])
    return column.cast(type_)


class Other(Source):
    """A frame of another library that narwhals supports."""

    def __init__(self, native: Any, frame: Any) -> None:
        super().__init__(native)
        self.frame = frame

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def export_first(self) -> tuple[str, Any]:
        return Arrow(self.frame.head(INSPECTED_ROWS).to_arrow()).export_first()

    def export_all(self) -> tuple[str, Any]:
        return "stream", self.frame.to_arrow()

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        return "frame-stream", self.frame.select(list(names)).to_arrow()

    def take(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        import narwhals.stable.v2 as nw

        frame = self.frame if rows is None else self.frame[rows.tolist()]
        names = list(frame.columns)
        backend = frame.implementation
        made = [nw.new_series(free_name(names, name), listed(values), backend=backend) for name, values in front.items()]
        return frame.with_columns(*made).select([series.name for series in made] + names).to_native()
