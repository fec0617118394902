"""Tables of all kinds: what was given, which of its columns cross the border, and results as the same kind of table.

Frames of pandas, polars and pyarrow are known by name, because each has a way that costs nothing; others go by narwhals. Only the
columns that are needed cross, and winners are taken from the caller's own frame.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._cells import (
    NO_SCORE,
    arrow_looked_at,
    cell_text,
    pandas_bystander,
    pandas_first,
    pandas_key,
    pandas_numbers,
    pandas_numeric,
    readable,
    whole_objects,
    within_its_bytes,
)
from ._errors import Error

#: What results are written as; never evaluators unless a person says so.
OURS = ("rank", "score", "value", "probability", "explored", "picked_at", "round", "row", "receipt")

#: How many rows are looked at to tell what columns hold, as of files.
FIRST = 1000


def _is_of(given: Any, module: str, name: str) -> bool:
    """Whether something is of a class, without importing its module: whoever has one has imported it."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(given, getattr(loaded, name, ()))


def _is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))


class Given:
    """Rows that were handed over."""

    #: Whether results are to be rows of the caller's own frame.
    is_frame = True

    #: What was taken as what, where that was decided here.
    said: str | None = None

    def __init__(self, native: Any) -> None:
        self.native = native
        #: What a person should know of that.
        self.warned: list[str] = []

    def source(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        """What is handed to the compiled part: all columns that are needed, and ``also`` some, and no others; or ``whole`` rows, to be
        written out."""
        if state is not None:
            asked = {**asked, "context": list(dict.fromkeys([*asked["context"], *state._contexts()]))}
        needed, _, self.said, self.warned = _core.needed([self.first()], dict(asked), state)
        needed = list(dict.fromkeys([*needed, *also]))
        return self.whole(needed, asked) if whole else self.export(needed, asked)

    def whole(self, needed: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        """As `export`, of all columns: for the file that results are written to."""
        return self.export(self.names, asked)

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        raise NotImplementedError

    def first(self) -> tuple[str, Any]:
        """The first rows of every column: all that crosses before it is known which are needed."""
        raise NotImplementedError

    def all_columns(self) -> tuple[str, Any]:
        """All of it, for the compiled part: where rows will become others."""
        return "stream", self.native

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        raise NotImplementedError

    def rows(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        """Some of its rows (all, in their order, where none are named), with columns put before the others."""
        raise NotImplementedError

    def result(self, rows: _core.Rows) -> Any:
        """Rows that the compiled part made, as whoever handed these over would have them."""
        return rows


class Paths(Given):
    """Files, by their names and patterns."""

    is_frame = False

    def source(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        return "paths", self.native


class Stream(Given):
    """Anything that streams Arrow: a relation of DuckDB, `Rows`, a reader."""

    is_frame = False

    def source(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        return "stream", self.native


class Pandas(Given):
    """A DataFrame of pandas. Its columns cross one by one: the export of a whole frame would need pyarrow, and fail for all of
    it where one column is mixed."""

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._names = [str(readable(str(name))) for name in native.columns]

    @property
    def names(self) -> list[str]:
        return self._names

    def source(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        try:
            return super().source(asked, state, whole=whole, also=also)
        except Error as error:
            if error.code == "unknown-column" and error.column in self.native.index.names:
                message = f"`{error.column}` is the index of this frame, and no column: pass frame.reset_index()"
                raise Error(message, code=error.code, column=error.column) from None
            raise

    def _series(self, name: str) -> Any:
        return self.native.iloc[:, self.names.index(name)]

    def first(self) -> tuple[str, Any]:
        head = self.native.iloc[:FIRST]
        return "frame-columns", [(name, *pandas_first(head.iloc[:, at])) for at, name in enumerate(self.names)]

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        made = []
        for name in names:
            series = self._series(name)
            as_key = name in (asked["key"], asked.get("reviewer"), *asked.get("context", ())) or name in asked.get("id", ()) or name in asked.get("apart", ()) or bare(name) in OURS
            values, missing = pandas_key(series) if as_key else pandas_numbers(series, name)
            made.append((name, values, missing))
        return "frame-columns", made

    def whole(self, needed: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        made = []
        for name in self.names:
            series = self._series(name)
            # Flags and whole numbers are scores like any other to whoever ranks by them, and stay what they are in the file.
            kind = getattr(series.dtype, "kind", "O")
            numbers = name in needed and name != asked["key"] and bare(name) not in OURS and kind not in "iub"
            values, missing = whole_objects(series.to_numpy()) if numbers and series.dtype == object else (None, None)
            if values is None:
                values, missing = pandas_numbers(series, name) if numbers else pandas_bystander(series)
            made.append((name, values, missing))
        return "frame-columns", made

    def all_columns(self) -> tuple[str, Any]:
        made = []
        for at, name in enumerate(self.names):
            series = self.native.iloc[:, at]
            numbers = pandas_numeric(series.dtype) and getattr(series.dtype, "kind", "O") not in "iu"
            values, missing = pandas_numbers(series, name) if numbers else pandas_key(series)
            made.append((name, values, missing))
        return "columns", made

    def result(self, rows: _core.Rows) -> Any:
        return rows.to_pandas()

    def rows(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        native = self.native
        # Pandas cannot take rows of columns in another machine's order of bytes.
        foreign = [at for at, dtype in enumerate(native.dtypes) if isinstance(dtype, np.dtype) and not dtype.isnative]
        if foreign:
            native = native.astype({native.columns[at]: native.dtypes.iloc[at].newbyteorder("=") for at in foreign})
        frame = native.copy(deep=False) if rows is None else _pandas_taken(native, rows)
        levels = frame.columns.nlevels
        for at, (name, values) in enumerate(front.items()):
            free: Any = free_name(self.names, name)
            # Names of several levels are tuples, of ours only the first has a word.
            frame.insert(at, free if levels == 1 else (free, *[""] * (levels - 1)), values)
        return frame


def _pandas_taken(frame: Any, rows: np.ndarray[Any, Any]) -> Any:
    """Rows of a frame. Of some types of pyarrow pandas can take none: their columns are taken by pyarrow, as another type meanwhile."""
    kinds = [getattr(dtype, "pyarrow_dtype", None) for dtype in frame.dtypes]
    odd = [at for at, kind in enumerate(kinds) if kind is not None and takeable_type(kind) != kind]
    taken = frame.iloc[:, [at for at in range(len(kinds)) if at not in odd]].iloc[rows].copy()
    for at in odd:
        column = frame.iloc[:, at].array
        cells = column.__arrow_array__().cast(takeable_type(kinds[at])).take(rows).cast(kinds[at])
        taken.insert(at, frame.columns[at], type(column)(cells), allow_duplicates=True)
    return taken


class Polars(Given):
    """A DataFrame of polars: its chunks cross as they are."""

    @property
    def names(self) -> list[str]:
        return list(self.native.columns)

    def first(self) -> tuple[str, Any]:
        import polars as pl

        def may_be_scores(dtype: Any) -> bool:
            return dtype.is_numeric() or dtype in (pl.Boolean, pl.String, pl.Categorical, pl.Enum, pl.Object, pl.Null)

        head = self.native.head(FIRST)
        others = [name for name, dtype in head.schema.items() if not may_be_scores(dtype)]
        head = head.with_columns(pl.lit(NO_SCORE).alias(name) for name in others)
        return "frame-stream", self._with_known_types(head, head.columns)

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        return "frame-stream", self._with_known_types(self.native.select(list(names)), names)

    def whole(self, needed: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        return "frame-stream", self._with_known_types(self.native, needed)

    def _with_known_types(self, frame: Any, needed: Sequence[str]) -> Any:
        """The same frame, where Arrow has no such type, with doubles of the numbers that are needed, and text of everything else."""
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

    def rows(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        import polars as pl

        frame = self.native if rows is None else self.native[rows]
        names = self.native.columns
        made = [pl.Series(free_name(names, name), _listed(values)) for name, values in front.items()]
        return pl.DataFrame(made).hstack(frame)

    def result(self, rows: _core.Rows) -> Any:
        return rows.to_polars()


class Arrow(Given):
    """A table or a batch of pyarrow."""

    def __init__(self, native: Any) -> None:
        super().__init__(within_its_bytes(native))

    @property
    def names(self) -> list[str]:
        return list(self.native.schema.names)

    def first(self) -> tuple[str, Any]:
        import pyarrow as pa

        head = self.native.slice(0, FIRST)
        kinds = zip(head.schema, head.columns, strict=True)
        columns = [column if arrow_looked_at(field.type) else pa.array([NO_SCORE] * head.num_rows) for field, column in kinds]
        return "frame-stream", pa.Table.from_arrays(columns, names=self.names)

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        return "frame-stream", self.native.select(list(names))

    def rows(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        import pyarrow as pa

        frame = self.native if rows is None else takeable(self.native).take(pa.array(rows))
        names = self.native.schema.names
        for at, (name, values) in enumerate(front.items()):
            frame = frame.add_column(at, free_name(names, name), pa.array(_listed(values)))
        return frame

    def result(self, rows: _core.Rows) -> Any:
        return rows.to_arrow()


def takeable(table: Any) -> Any:
    """The same table in types that pyarrow can take rows of: it cannot of views and of runs."""
    import pyarrow as pa

    schema = pa.schema([field.with_type(takeable_type(field.type)) for field in table.schema], metadata=table.schema.metadata)
    if schema == table.schema:
        return table
    columns = [_plain_column(table.column(at), field.type) for at, field in enumerate(schema)]
    return type(table).from_arrays(columns, schema=schema)


def takeable_type(type_: Any) -> Any:
    """The type of pyarrow that can hold the same, and of which rows can be taken."""
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


class Other(Given):
    """A frame of another library that narwhals knows."""

    def __init__(self, native: Any, frame: Any) -> None:
        super().__init__(native)
        self.frame = frame

    @property
    def names(self) -> list[str]:
        return list(self.frame.columns)

    def first(self) -> tuple[str, Any]:
        return Arrow(self.frame.head(FIRST).to_arrow()).first()

    def all_columns(self) -> tuple[str, Any]:
        return "stream", self.frame.to_arrow()

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        return "frame-stream", self.frame.select(list(names)).to_arrow()

    def rows(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        import narwhals.stable.v2 as nw

        frame = self.frame if rows is None else self.frame[rows.tolist()]
        names = list(frame.columns)
        backend = frame.implementation
        made = [nw.new_series(free_name(names, name), _listed(values), backend=backend) for name, values in front.items()]
        return frame.with_columns(*made).select([series.name for series in made] + names).to_native()


class Grades(Given):
    """A frame whose rows are grades: the rows of results are others, made of them."""

    is_frame = False

    def __init__(self, frame: Given) -> None:
        super().__init__(frame.native)
        self.frame = frame

    def source(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        return self.frame.all_columns()

    def result(self, rows: _core.Rows) -> Any:
        return self.frame.result(rows)


def given(data: Any, *, long: Any = None) -> Given:
    """What kind of rows these are, where they are grades if so."""
    rows = _given(data)
    return Grades(rows) if long is not None and rows.is_frame else rows


def _given(data: Any) -> Given:
    native: Any = data
    if _is_path(data):
        return Paths([os.fspath(data)])
    if isinstance(data, (list, tuple)) and data and all(_is_path(one) for one in data):
        return Paths([os.fspath(one) for one in data])
    if _is_of(data, "pandas", "DataFrame"):
        return Pandas(data)
    if _is_of(data, "polars", "LazyFrame"):
        return Polars(native.collect())
    if _is_of(data, "polars", "DataFrame"):
        return Polars(data)
    if _is_of(data, "pyarrow", "Table") or _is_of(data, "pyarrow", "RecordBatch"):
        return Arrow(data)
    import narwhals.stable.v2 as nw

    if isinstance(data, (nw.DataFrame, nw.LazyFrame)):
        return _given(data.to_native())
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return Other(data, frame)
    if _is_of(data, "pandas", "Series") or _is_of(data, "polars", "Series"):
        raise Error("this is one column, and no table: pass a frame, such as its to_frame()", code="source")
    if hasattr(data, "__arrow_c_stream__"):
        return Stream(data)
    raise Error(
        f"{type(data).__module__}.{type(data).__qualname__} is no table: pass a frame of pandas, polars or pyarrow, a DuckDB relation, "
        "anything that streams Arrow, or the names of files",
        code="source",
    )


def columns_of(data: Any) -> Mapping[str, Any] | None:
    """The columns of a frame by name, as things that numpy takes; None where it is no frame."""
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    if _is_of(data, "pandas", "DataFrame"):
        names = [str(name) for name in data.columns]
        _once_each(names)
        return {name: _PandasColumn(data, at) for at, name in enumerate(names)}
    if _is_of(data, "pyarrow", "Table"):
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
    """A column that is made an array when it is asked for."""

    def __init__(self, frame: Any, at: int) -> None:
        self.frame, self.at = frame, at

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        series = self.frame.iloc[:, self.at]
        if pandas_numeric(series.dtype) and not isinstance(series.dtype, np.dtype):
            return np.asarray(series.to_numpy(dtype="float64", na_value=np.nan))
        return np.asarray(series.to_numpy())


def bare(name: str) -> str:
    """A name without what is put before it where a table has one like it."""
    while name.startswith("jurybox_"):
        name = name.removeprefix("jurybox_")
    return name


def free_name(taken: Iterable[str], name: str) -> str:
    """A name that the table does not use already."""
    names = set(taken)
    while name in names:
        name = f"jurybox_{name}"
    return name


def _listed(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ma.MaskedArray) else values
