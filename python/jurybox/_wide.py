"""`wide`: long tables of grades as one row per item and one column per evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._errors import Error
from ._frames import Pandas
from ._long_frames import cells, first_values, keys, places, taken
from ._sources import Source
from ._table_options import Missing, file_options, table_options, warn
from ._tables import table_source


def wide(
    grades: Any, *, item: str, evaluator: str, score: str, repeated: str = "mean", decimal: str | None = None, na: Missing = None
) -> Any:
    """One row per item and one column per evaluator, from a frame with one row per grade.

    This is what ``long=`` makes of files. LLM judges are often logged like this: who graded which
    answer with what. An absent grade is a missing score, and grades may be written as ``4/5``.
    Items and evaluators keep the order in which they first appear. Other columns stay, with the
    first value for each item. The result is a frame of the same kind.

    Parameters
    ----------
    grades : a frame of pandas, polars or pyarrow
    item, evaluator, score : its columns
    repeated : what to do if an evaluator graded an item more than once: ``"mean"`` with a warning,
        ``"refuse"``, ``"first"`` or ``"last"``
    decimal, na : as for `rank`, for grades that are text

    >>> import jurybox as jb, polars as pl
    >>> grades = pl.DataFrame({"answer": [1, 1, 2], "judge": ["a", "b", "a"], "grade": [0.9, 0.4, 0.7]})
    >>> jb.wide(grades, item="answer", evaluator="judge", score="grade").to_dicts()
    [{'answer': 1, 'a': 0.9, 'b': 0.4}, {'answer': 2, 'a': 0.7, 'b': None}]
    """
    if repeated not in ("refuse", "mean", "first", "last"):
        raise Error(f"repeated={repeated!r}: expected refuse, mean, first or last", code="repeated", value=repeated)
    rows = table_source(grades)
    if not rows.is_frame:
        raise Error("wide needs a frame: read the files first, or rank them with long=", code="source")
    columns = rows.names
    for name in (item, evaluator, score):
        if name not in columns:
            raise Error(f"there is no column `{name}`", code="unknown-column", column=name)
    numbers, warned = _grades(rows, score, file_options(decimal=decimal, na=na))
    items, judges = keys(cells(rows, item), item), keys(cells(rows, evaluator), evaluator)
    named = np.array([one is not None and other is not None for one, other in zip(items, judges, strict=True)], dtype=bool)
    if not named.all():
        rest = len(named) - int(named.sum())
        first = int(np.flatnonzero(~named)[0]) + 1
        warned.append(f"{rest} {'row' if rest == 1 else 'rows'} without an item or an evaluator left out, the first in row {first}")
    numbered, first_rows = places(items, named)
    seats, first_judges = places(judges, named)
    if not first_rows:
        raise Error("no row has both an item and an evaluator", code="no-rows")
    names = [str(judges[row]) for row in first_judges]
    others = [name for name in columns if name not in (item, evaluator, score)]
    twice = next((name for name in names if name == item or name in others), None)
    if twice is not None:
        raise Error(f"an evaluator has the name of another column: `{twice}`", code="duplicate-column", column=twice)
    table = _table(numbers, numbered, seats, (len(first_rows), len(names)), names, repeated, warned)
    fronts = [(item, np.asarray(first_rows))]
    for name in others:
        values, contradicted = first_values(rows, name, numbered, first_rows)
        if contradicted:
            others_say = f"{contradicted} {'row' if contradicted == 1 else 'rows'}"
            warned.append(f"column `{name}` differs in {others_say} of the same item: the first value is used")
        fronts.append((name, values))
    warn(warned)
    return _frame(rows, fronts, names, table)


def _grades(rows: Source, score: str, files: dict[str, Any]) -> tuple[Any, list[str]]:
    """The grades as numbers, by the rules for columns of tables; NaN if missing."""
    ask = table_options([score], files=files)
    found = _core.rank(
        rows.export_needed(ask, None), ask, 1, 0, False, True, None, False, None, None, {}, {}, {score: 1.0}, False, None, 0, None
    )  # fmt: skip
    return found["score"], [*rows.warnings, *found["warnings"]]


def _table(
    numbers: Any, places: list[int], seats: list[int], shape: tuple[int, int], names: list[str], repeated: str, warned: list[str]
) -> Any:
    table = np.full(shape, np.nan)
    sums: dict[tuple[int, int], tuple[float, int]] = {}
    for row, grade in enumerate(numbers.tolist()):
        at = places[row], seats[row]
        if at[0] < 0 or grade != grade:
            continue
        known = table[at]
        if known != known or repeated == "last":
            table[at] = grade
        elif repeated == "mean":
            sum, count = sums.get(at, (float(known), 1))
            sums[at] = sum + grade, count + 1
        elif repeated == "refuse":
            raise Error(
                f"row {row + 1}: `{names[at[1]]}` has graded this item before; say by repeated= which grade counts",
                code="repeated",
                evaluator=names[at[1]],
                row=row + 1,
            )
    for at, (sum, count) in sums.items():
        table[at] = sum / count
    if sums:
        warned.append(f"repeated grades, replaced by their mean: {len(sums)}")
    return table


def _frame(rows: Source, fronts: list[tuple[str, Any]], names: list[str], table: Any) -> Any:
    """The items as a frame of the same kind, with a column of scores for each evaluator."""
    native = rows.native
    if isinstance(rows, Pandas):
        import pandas as pd

        made = [taken(rows, name, at) for name, at in fronts]
        return pd.concat([*made, pd.DataFrame(table, columns=names)], axis=1)
    module = type(native).__module__.split(".")[0]
    if module == "polars":
        import polars as pl

        scores = pl.DataFrame(table, schema=names, orient="row").with_columns(pl.all().fill_nan(None))
        return pl.DataFrame([taken(rows, name, at) for name, at in fronts]).hstack(scores)
    if module == "pyarrow":
        import pyarrow as pa

        frame = pa.table({name: taken(rows, name, at) for name, at in fronts})
        for at, name in enumerate(names):
            frame = frame.append_column(name, pa.array(table[:, at], mask=np.isnan(table[:, at])))
        return frame
    raise Error(f"wide does not support frames of {module}: convert it to pandas, polars or pyarrow", code="source")
