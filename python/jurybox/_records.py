"""Picks and verdicts given as rows one by one: dicts, named tuples, or rows of sqlite3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._arrays import number
from ._column_export import cell_text, readable
from ._errors import Error
from ._sources import INSPECTED_ROWS, RESULT_COLUMNS, Source, without_prefix

#: The fields that `Picks.to_dicts` always writes.
REQUIRED_FIELDS = {"item", "at", "probability", "explored", "scores"}


def dicts_of(given: Any) -> list[Mapping[Any, Any]] | None:
    """Rows with named fields as dicts: mappings, rows of sqlite3, named tuples. None for
    anything else."""
    if not isinstance(given, (list, tuple)) or not given or _dict_of(given[0]) is None:
        return None
    rows = [_dict_of(row) for row in given]
    return None if any(row is None for row in rows) else [row for row in rows if row is not None]


def _dict_of(row: Any) -> Mapping[Any, Any] | None:
    if isinstance(row, Mapping):
        return row
    as_dict: Any = getattr(row, "_asdict", None)
    names: Any = getattr(row, "keys", None)
    if isinstance(row, tuple) and as_dict is not None:
        found = as_dict()
        return found if isinstance(found, Mapping) else None
    if type(row).__module__ == "sqlite3" and names is not None:
        return {name: row[name] for name in names()}
    return None


def receipts_in(names: Iterable[Any]) -> str | None:
    """The column with the receipts of `jurybox.pick`; None if there is none."""
    return next((str(name) for name in names if without_prefix(str(name)) == "receipt"), None)


class Records(Source):
    """A table of rows with named fields, or of columns by name."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        super().__init__(columns)

    @classmethod
    def of(cls, given: Any) -> Records | None:
        """The table in an argument; None if it is neither rows with named fields nor columns by
        name."""
        if isinstance(given, Mapping):
            return cls({str(name): _column(name, cells) for name, cells in given.items()})
        rows = dicts_of(given)
        if rows is None and isinstance(given, (list, tuple)) and given:
            # Lists of rows of several rounds are joined.
            several = [dicts_of(some) for some in given]
            rows = None if any(some is None for some in several) else [row for some in several for row in some or ()]
        if rows is None:
            return None
        if rows[0].keys() >= REQUIRED_FIELDS and receipts_in(rows[0]) is None:
            raise Error("these are picks of a jury's own round: learn them by jury.learn(rows, rewards)", code="not-picks")
        names = dict.fromkeys(name for row in rows for name in row)
        return cls({str(name): [row.get(name) for row in rows] for name in names})

    @property
    def names(self) -> list[str]:
        return list(self.native)

    def export_first(self) -> tuple[str, Any]:
        return "frame-columns", [(name, _cells(cells[:INSPECTED_ROWS]), None) for name, cells in self.native.items()]

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        named = {asked["key"], asked.get("reviewer"), *asked.get("context", ())}
        return "frame-columns", [(name, _cells(self.native[name], name in named or without_prefix(name) in RESULT_COLUMNS), None) for name in names]


def _column(name: Any, cells: Any) -> list[Any]:
    if isinstance(cells, (str, bytes, Mapping)) or not isinstance(cells, Iterable):
        raise Error(f"`{name}` is not a column: pass one dict for each row, or a list of cells for each column", code="source", column=str(name))
    return list(cells)


def _cells(cells: Sequence[Any], text: bool = False) -> Any:
    """Numbers if all cells are numbers, otherwise text; with ``text``, always text."""
    if not text:
        try:
            return np.array([number(cell) for cell in cells], dtype=np.float64)
        except TypeError:
            pass
    return [readable(cell_text(cell)) for cell in cells]
