"""Frames with one row per grade, from which items are made; results keep the column types of the
frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._column_export import cell_text
from ._errors import Error
from ._frames import Pandas, takeable
from ._sources import Source, is_of


class LongFrame(Source):
    """A frame with one row per grade. Rows of results are items made from them."""

    is_frame = False

    def __init__(self, frame: Source, item: str, evaluator: str, score: str) -> None:
        super().__init__(frame.native)
        self.frame, self.item, self.graded = frame, item, (evaluator, score)

    def export_needed(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        return self.frame.export_all()

    def from_core(self, rows: _core.Rows) -> Any:
        """The resulting items as a frame of the same kind, with the id and other columns in
        their original types."""
        made = self.frame.from_core(rows)
        kept = [name for name in self.frame.names if name in rows.columns and name not in self.graded]
        if made is rows or self.item not in kept or all(_is_text(self.frame, name) for name in kept):
            return made
        native = self._native(rows[self.item], kept)
        return made if native is None else _replaced(made, native)

    def _native(self, items: Sequence[str], names: Sequence[str]) -> dict[str, Any] | None:
        """The original values of columns for these items; None if some item is not found in the
        frame."""
        column = _column(self.frame, self.item)
        try:
            values = column.unique(maintain_order=True).to_list()
            wanted = set(items)
            theirs = [value for value, key in zip(values, keys(values, self.item), strict=True) if key in wanted]
            here = np.flatnonzero(column.is_in(theirs).to_numpy())
        except TypeError:  # cells that cannot be compared, such as lists
            return None
        from ._tables import frame_source

        few = frame_source(self.frame.take(here, {}))
        names_of_items, judges = (keys(cells(few, name), name) for name in (self.item, self.graded[0]))
        numbers, first = places(names_of_items, [judge is not None for judge in judges])
        by_item = {names_of_items[row]: at for at, row in enumerate(first)}
        if any(item not in by_item for item in items):
            return None
        order = np.asarray([by_item[item] for item in items], dtype=np.int64)
        found = {}
        for name in names:
            rows, _ = (np.asarray(first), 0) if name == self.item else first_values(few, name, numbers, first)
            found[name] = taken(few, name, rows[order])
        return found


def _column(rows: Source, name: str) -> Any:
    """A column as a narwhals series."""
    import narwhals.stable.v2 as nw

    native = _series(rows, name)
    return nw.from_native(takeable_column(native) if is_of(native, "pyarrow", "ChunkedArray") else native, series_only=True)


def _series(rows: Source, name: str) -> Any:
    """A column in the frame's own library."""
    return rows._series(name) if isinstance(rows, Pandas) else rows.native[name]


def _is_text(rows: Source, name: str) -> bool:
    import narwhals.stable.v2 as nw

    return bool(_column(rows, name).dtype == nw.String)


def _replaced(frame: Any, columns: Mapping[str, Any]) -> Any:
    """The frame with some columns replaced."""
    if is_of(frame, "pandas", "DataFrame"):
        return frame.assign(**columns)
    if is_of(frame, "polars", "DataFrame"):
        return frame.with_columns(**columns)
    for name, column in columns.items():
        frame = frame.set_column(frame.schema.get_field_index(name), name, column)
    return frame


def cells(rows: Source, name: str) -> Any:
    """The cells of a column as Python objects."""
    native = _series(rows, name)
    to_list = getattr(native, "to_list", None) or getattr(native, "to_pylist", None) or native.tolist
    return to_list()


def taken(rows: Source, name: str, at: Any) -> Any:
    """Some cells of a column, in its own type."""
    if isinstance(rows, Pandas):
        return rows._series(name).iloc[at].reset_index(drop=True)
    if is_of(rows.native, "polars", "DataFrame"):
        return rows.native[name][at]
    import pyarrow as pa

    return takeable_column(pa.table(rows.native)[name]).take(pa.array(at))


def takeable_column(column: Any) -> Any:
    """The column in a type of which pyarrow can take rows."""
    import pyarrow as pa

    return takeable(pa.table({"": column})).column(0)


def keys(found: Sequence[Any], name: str) -> list[str | None]:
    """The text by which items and evaluators are identified. A float equals the same whole
    number, up to 2^53."""
    made: list[str | None] = []
    for row, cell in enumerate(found):
        whole = isinstance(cell, float) and cell.is_integer()
        if whole and abs(cell) >= 1 << 53:
            message = f"row {row + 1}, column `{name}`: {cell!r} is a float too large to be exact; read the column as text or as int64"
            raise Error(message, code="rounded-id", column=name, row=row + 1, value=cell)
        text = str(int(cell)) if whole else cell_text(cell)
        made.append(text if text is not None and text.strip() else None)
    return made


def places(found: Sequence[str | None], named: Any = None) -> tuple[list[int], list[int]]:
    """For each cell the number of its distinct value, and for each value its first row; -1 for
    rows left out."""
    known: dict[str, int] = {}
    numbers, first = [], []
    for row, key in enumerate(found):
        if key is None or (named is not None and not named[row]):
            numbers.append(-1)
            continue
        if key not in known:
            known[key] = len(known)
            first.append(row)
        numbers.append(known[key])
    return numbers, first


def first_values(rows: Source, name: str, numbers: Sequence[int], first: Sequence[int]) -> tuple[Any, int]:
    """For each item the first row with a value in the column (else its first row), and the
    number of rows that contradict it."""
    found: list[int | None] = [None] * len(first)
    texts = [cell_text(cell) or None for cell in cells(rows, name)]
    contradicted = 0
    for row, (place, cell) in enumerate(zip(numbers, texts, strict=True)):
        if place < 0 or cell is None:
            continue
        known = found[place]
        if known is None:
            found[place] = row
        else:
            contradicted += texts[known] != cell
    return np.asarray([first[at] if row is None else row for at, row in enumerate(found)]), contradicted
