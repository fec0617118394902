"""Long tables of grades made wide: one row per item, one column per evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import number
from ._errors import Error
from ._frames import Given, Pandas, given


def wide(grades: Any, *, item: str, evaluator: str, score: str, repeated: str = "refuse") -> Any:
    """One row per item and one column per evaluator, from a table with one row per grade.

    LLM judges are logged like this: who graded which answer with what. A grade that is not there is a missing score. Items and
    evaluators keep the order in which they first appear; the result is a frame of the same kind.

    Parameters
    ----------
    grades : a frame of pandas, polars or pyarrow
    item, evaluator, score : its columns
    repeated : what to do where an evaluator graded an item more than once: ``"refuse"``, ``"mean"``, ``"first"`` or ``"last"``

    >>> import jurybox as jb, polars as pl
    >>> grades = pl.DataFrame({"answer": [1, 1, 2], "judge": ["a", "b", "a"], "grade": [0.9, 0.4, 0.7]})
    >>> jb.wide(grades, item="answer", evaluator="judge", score="grade").to_dicts()
    [{'answer': 1, 'a': 0.9, 'b': 0.4}, {'answer': 2, 'a': 0.7, 'b': None}]
    """
    if repeated not in ("refuse", "mean", "first", "last"):
        raise Error(f"repeated={repeated!r}: it is one of refuse, mean, first and last", code="repeated", value=repeated)
    rows = given(grades)
    if not rows.is_frame:
        raise Error("wide takes a frame: read the files first", code="source")
    for name in (item, evaluator, score):
        if name not in [known for known, *_ in rows.columns()]:
            raise Error(f"there is no column `{name}`", code="unknown-column", column=name)
    items, first_rows = _places(_cells(rows, item), item)
    judges, first_judges = _places(_cells(rows, evaluator), evaluator)
    names = [str(_cells(rows, evaluator)[row]) for row in first_judges]
    if item in names:
        raise Error(f"an evaluator is named as the column of items: `{item}`", code="duplicate-column", column=item)
    if len(set(names)) < len(names):
        raise Error("two evaluators have the same name as text", code="duplicate-column")
    table = np.full((len(first_rows), len(names)), np.nan)
    count = np.zeros(table.shape, dtype=np.int64)
    for row, cell in enumerate(_cells(rows, score)):
        try:
            grade = number(cell)
        except TypeError:
            raise Error(
                f"row {row + 1}, column `{score}`: {cell!r} is not a number", code="not-a-number", column=score, row=row + 1, value=cell
            ) from None
        if np.isnan(grade):
            continue
        at = items[row], judges[row]
        if count[at] and repeated == "refuse":
            raise Error(
                f"row {row + 1}: `{names[judges[row]]}` has graded this item before; say by repeated= what that means",
                code="repeated",
                evaluator=names[judges[row]],
                row=row + 1,
            )
        if repeated == "mean" and count[at]:
            table[at] += (grade - table[at]) / (count[at] + 1)
        elif repeated != "first" or not count[at]:
            table[at] = grade
        count[at] += 1
    return _frame(rows, item, np.asarray(first_rows), names, table)


def _cells(rows: Given, name: str) -> Any:
    native = rows._series(name) if isinstance(rows, Pandas) else rows.native[name]
    to_list = getattr(native, "to_list", None) or getattr(native, "to_pylist", None) or native.tolist
    return to_list()


def _places(cells: Any, name: str) -> tuple[list[int], list[int]]:
    """For each cell the number of its value, and for each value the row where it first appears."""
    known: dict[Any, int] = {}
    places, first = [], []
    for row, cell in enumerate(cells):
        if cell is None or cell != cell:
            raise Error(f"row {row + 1}: there is no `{name}`", code="no-value", column=name, row=row + 1)
        if cell not in known:
            known[cell] = len(known)
            first.append(row)
        places.append(known[cell])
    return places, first


def _frame(rows: Given, item: str, first: Any, names: list[str], table: Any) -> Any:
    """The items as they stood in the frame, with a column of scores for each evaluator."""
    native = rows.native
    if isinstance(rows, Pandas):
        import pandas as pd

        frame = native.iloc[first, [rows.names.index(item)]].reset_index(drop=True)
        return pd.concat([frame, pd.DataFrame(table, columns=names)], axis=1)
    module = type(native).__module__.split(".")[0]
    if module == "polars":
        import polars as pl

        scores = pl.DataFrame(table, schema=names, orient="row").with_columns(pl.all().fill_nan(None))
        return native.select(item)[first].hstack(scores)
    if module == "pyarrow":
        import pyarrow as pa

        frame = pa.table(native).select([item]).take(pa.array(first))
        for at, name in enumerate(names):
            frame = frame.append_column(name, pa.array(table[:, at], mask=np.isnan(table[:, at])))
        return frame
    raise Error(f"wide knows no frames of {module}: make one of pandas, polars or pyarrow of it", code="source")


