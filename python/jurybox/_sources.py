"""Rows that were handed over: what is asked of any kind of them, and files and streams, which are read by the compiled part alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core

#: What results are written as; never evaluators unless a person says so.
OURS = ("rank", "score", "value", "probability", "explored", "picked_at", "round", "row", "receipt")

#: How many rows are looked at to tell what columns hold, as of files.
FIRST = 1000


def is_of(given: Any, module: str, name: str) -> bool:
    """Whether something is of a class, without importing its module: whoever has one has imported it."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(given, getattr(loaded, name, ()))


def is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))


class Source:
    """Rows that were handed over."""

    #: Whether results are to be rows of the caller's own frame.
    is_frame = True

    #: What was taken as what, where that was decided here.
    said: str | None = None

    def __init__(self, native: Any) -> None:
        self.native = native
        #: What a person should know of that.
        self.warnings: list[str] = []

    def export_needed(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        """What is handed to the compiled part: all columns that are needed, and ``also`` some, and no others; or ``whole`` rows, to be
        written out."""
        if state is not None:
            asked = {**asked, "context": list(dict.fromkeys([*asked["context"], *state.contexts]))}
        needed, _, self.columns_note, self.warnings = _core.columns_needed([self.export_first()], dict(asked), state)
        needed = list(dict.fromkeys([*needed, *also]))
        return self.export_rows(needed, asked) if whole else self.export(needed, asked)

    def export_rows(self, needed: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        """As `export`, of all columns: for the file that results are written to."""
        return self.export(self.names, asked)

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        raise NotImplementedError

    def export_first(self) -> tuple[str, Any]:
        """The first rows of every column: all that crosses before it is known which are needed."""
        raise NotImplementedError

    def export_all(self) -> tuple[str, Any]:
        """All of it, for the compiled part: where rows will become others."""
        return "stream", self.native

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        raise NotImplementedError

    def take(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        """Some of its rows (all, in their order, where none are named), with columns put before the others."""
        raise NotImplementedError

    def from_core(self, rows: _core.Rows) -> Any:
        """Rows that the compiled part made, as whoever handed these over would have them."""
        return rows


class Paths(Source):
    """Files, by their names and patterns."""

    is_frame = False

    def export_needed(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        return "paths", self.native


class Stream(Source):
    """Anything that streams Arrow: a relation of DuckDB, `Rows`, a reader."""

    is_frame = False

    def export_needed(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        return "stream", self.native


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


def listed(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ma.MaskedArray) else values
