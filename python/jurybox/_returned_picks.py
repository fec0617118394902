"""Picks read back from dicts or frames, for learning from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._core import Picks
from ._errors import Error
from ._records import REQUIRED_FIELDS, dicts_of, receipts_in
from ._tables import columns_of

#: Fields with lists, which not every policy writes.
_LISTS = ("advice", "bonus", "contexts")


def read(given: Any, evaluators: Sequence[str]) -> Picks | None:
    """The picks in dicts or a frame of them; None if the argument holds scores.

    Rows that `jurybox.pick` returned are refused: `jurybox.learn` recognizes each of their
    verdicts, and this would not.
    """
    rows = dicts_of(given)
    if rows is not None:
        _refuse_receipts((name for row in rows for name in row), evaluators)
        return Picks.from_dicts(_tidied(rows)) if rows[0].keys() >= REQUIRED_FIELDS else None
    if isinstance(given, Mapping):
        _refuse_receipts(given, evaluators)
        return Picks.from_dicts(_tidied(_transposed(given))) if given.keys() >= REQUIRED_FIELDS else None
    columns = columns_of(given)
    if columns is None:
        return None
    _refuse_receipts(columns, evaluators)
    return Picks.from_dicts(_rows(given)) if columns.keys() >= REQUIRED_FIELDS else None


def _refuse_receipts(names: Iterable[Any], evaluators: Sequence[str]) -> None:
    column = receipts_in(names)
    if column is not None and column not in evaluators:
        raise Error(
            f"these are picks of jurybox.pick, with receipts in `{column}`: learn them by jurybox.learn(picks=frame, id=..., reward=..., "
            "state=jury), which learns each verdict once; a list of dicts works like a frame",
            code="are-picks", column=column,
        )  # fmt: skip


def _transposed(columns: Mapping[Any, Any]) -> list[dict[Any, Any]]:
    cells = {name: list(column) for name, column in columns.items()}
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def _rows(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame as dicts."""
    import narwhals.stable.v2 as nw

    return _tidied(nw.from_native(frame, eager_only=True).rows(named=True))


def _tidied(rows: Iterable[Mapping[Any, Any]]) -> list[dict[Any, Any]]:
    """The rows with the field types that `Picks.to_dicts` writes."""
    return [{name: _cell(name, cell) for name, cell in row.items()} for row in rows]


def _cell(name: Any, cell: Any) -> Any:
    """A field in its original type. A database without lists may have stored them as JSON, and a
    frame has NaN where a pick had no list."""
    if name not in (*_LISTS, "scores"):
        return cell
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except ValueError:
            return cell  # refused by the reader
    if name == "scores":
        return cell
    return None if cell is None or isinstance(cell, float) else list(cell)
