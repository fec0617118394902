"""Picks that come back as rows, of a database or of a frame, to be learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._core import Picks
from ._errors import Error
from ._given import bare
from ._tables import columns_of

#: What `Picks.to_dicts` writes of every pick.
_WRITTEN = {"item", "at", "probability", "explored", "scores"}

#: Lists of numbers, which not every policy writes.
_LISTS = ("advice", "bonus")


def read(given: Any, evaluators: Sequence[str]) -> Picks | None:
    """Picks that were handed over as dicts, or as a frame of them; None where these are scores.

    What `jurybox.pick` gave is refused: `jurybox.learn` knows each of its verdicts again, and this would not.
    """
    if isinstance(given, (list, tuple)):
        dicts = bool(given) and isinstance(given[0], Mapping) and given[0].keys() >= _WRITTEN
        return Picks.from_dicts(given) if dicts else None
    if isinstance(given, Mapping):
        return None
    columns = columns_of(given)
    if columns is None:
        return None
    here = {bare(name): name for name in columns}
    column = here.get("receipt")
    if column is not None and column not in evaluators:
        raise Error(
            f"these are picks of jurybox.pick, with their receipts in `{column}`: learn them by jurybox.learn(picks=frame, id=..., reward=..., "
            "state=jury), which reads the receipts, and learns each verdict once",
            code="are-picks", column=column,
        )  # fmt: skip
    return Picks.from_dicts(_rows(given)) if columns.keys() >= _WRITTEN else None


def _rows(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame as the dicts that it was made of. A frame has a cell everywhere, also where a pick had no such list."""
    import narwhals.stable.v2 as nw

    found = nw.from_native(frame, eager_only=True).rows(named=True)
    return [{name: _list(cell) if name in _LISTS else cell for name, cell in row.items()} for row in found]


def _list(cell: Any) -> list[Any] | None:
    return None if cell is None or isinstance(cell, float) else list(cell)
