"""Table sources: the common interface of frames, files and streams, and the latter two, which
the compiled part reads alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core

#: Columns that results have; they become evaluators only if named.
RESULT_COLUMNS = ("rank", "score", "value", "probability", "explored", "picked_at", "round", "row", "receipt")

#: Rows that are inspected to tell what columns hold.
INSPECTED_ROWS = 1000


def is_of(given: Any, module: str, name: str) -> bool:
    """Whether a value is of a class, without importing its module: without that import there are
    no instances."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(given, getattr(loaded, name, ()))


def is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))


class Source:
    """Rows that the caller passed. Subclasses know one kind of them."""

    #: Whether results are rows of the caller's own frame.
    is_frame = True

    #: A line on the role of each column, if it was decided here.
    columns_note: str | None = None

    def __init__(self, native: Any) -> None:
        self.native = native
        #: Warnings of that decision.
        self.warnings: list[str] = []

    def export_needed(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        """The source for the compiled part: the columns it needs and those in ``also``; with
        ``whole``, complete rows for an output file."""
        if state is not None:
            asked = {**asked, "context": list(dict.fromkeys([*asked["context"], *state.contexts]))}
        needed, _, self.columns_note, self.warnings = _core.columns_needed([self.export_first()], dict(asked), state)
        needed = list(dict.fromkeys([*needed, *also]))
        return self.export_rows(needed, asked) if whole else self.export(needed, asked)

    def export_rows(self, needed: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        """Like `export`, with all columns, for an output file."""
        return self.export(self.names, asked)

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        raise NotImplementedError

    def export_first(self) -> tuple[str, Any]:
        """The first rows of all columns, for deciding which are needed."""
        raise NotImplementedError

    def export_all(self) -> tuple[str, Any]:
        """All columns, for making items from grades."""
        return "stream", self.native

    def export(self, names: Sequence[str], asked: Mapping[str, Any]) -> tuple[str, Any]:
        raise NotImplementedError

    def take(self, rows: np.ndarray[Any, Any] | None, front: Mapping[str, Any]) -> Any:
        """Some rows (all in order if None), with the columns in ``front`` before the others."""
        raise NotImplementedError

    def from_core(self, rows: _core.Rows) -> Any:
        """Rows that the compiled part made, in the caller's kind of frame."""
        return rows


class Paths(Source):
    """Files, by names and patterns."""

    is_frame = False

    def export_needed(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        return "paths", self.native


class Stream(Source):
    """Any object that streams Arrow, such as a DuckDB relation, `Rows` or a reader."""

    is_frame = False

    def export_needed(self, asked: Mapping[str, Any], state: _core.Jury | None, *, whole: bool = False, also: Sequence[str] = ()) -> tuple[str, Any]:
        return "stream", self.native


def without_prefix(name: str) -> str:
    """The name without the prefix that `free_name` adds."""
    while name.startswith("jurybox_"):
        name = name.removeprefix("jurybox_")
    return name


def free_name(taken: Iterable[str], name: str) -> str:
    """The name, prefixed with ``jurybox_`` until no column has it."""
    names = set(taken)
    while name in names:
        name = f"jurybox_{name}"
    return name


def listed(values: Any) -> Any:
    return values.tolist() if isinstance(values, np.ma.MaskedArray) else values
