"""Conversion of scores and rewards to numpy arrays of doubles.

``None``, ``NaN``, ``pandas.NA`` and masked values are missing scores. Text in columns of frames is
read as `rank` and `learn` read it, so that a jury accepts the same rows it learnt from. In arrays,
lists and mappings text is an error, even if it would read as a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from ._errors import Error

Doubles = np.ndarray[Any, np.dtype[np.float64]]


def scores(given: Any, names: Sequence[str], contexts: Sequence[int] = ()) -> Doubles:
    """The scores as C-contiguous doubles: one row per item, one column per evaluator, NaN if
    missing. Columns in ``contexts`` hold group numbers."""
    width = len(names)
    table = _by_name(given, names, contexts)
    if table is not None:
        return table
    array = _array(given, "scores")
    if contexts and array.dtype.kind in "OUT" and array.ndim == 2:
        array = _grouped(array if array.dtype.kind == "O" else np.asarray(given, dtype=object), contexts)
    if array.ndim != 2:
        raise Error(
            f"scores have {array.ndim} dimension{'' if array.ndim == 1 else 's'}: pass one row per item and one column for each of "
            f"{', '.join(names)}",
            code="shape",
        )
    if array.shape[1] != width:
        raise Error(f"the round has {array.shape[1]} scores, but the jury has {width} evaluators", code="width")
    return _doubles(array, lambda at: {"item": int(at[0]), "evaluator": names[int(at[1])], "column": names[int(at[1])]})


def numbers(given: Any, what: str) -> Doubles:
    """A one-dimensional array of numbers; ``what`` names them in errors."""
    column = _column_of(given)
    array = _array(given if column is None else column, what)
    if array.ndim != 1:
        raise Error(f"{what} have {array.ndim} dimensions: pass one number for each item", code="shape")
    if array.dtype.kind in "OUT" and (text := next((cell for cell in array.tolist() if isinstance(cell, str)), None)) is not None:
        raise Error(f"{what} are numbers, such as 1 for harmful and 0 for fine; {text!r} is not a number", code="score", value=text)
    return _doubles(array, lambda at: {"item": int(at[0])})


def rows(given: Any, of: int, what: str) -> list[int]:
    """Row numbers from a mask with one flag for each of ``of`` rows, or from the numbers
    themselves."""
    array = _array(given, what)
    if array.ndim != 1:
        raise Error(f"{what} has {array.ndim} dimensions: pass a mask, or the numbers of rows", code="shape")
    if array.dtype.kind == "b":
        if len(array) != of:
            raise Error(f"{what} has {len(array)} flags for {of} rows", code="shape")
        return [int(row) for row in np.flatnonzero(array)]
    if array.size == 0:
        return []
    if array.dtype.kind not in "iu":
        raise Error(f"{what} is neither a mask nor the numbers of rows", code="shape")
    for row in array:
        if not 0 <= row < of:
            raise Error(f"{what}: there is no row {row} among {of}", code="shape", item=int(row))
    numbers = [int(row) for row in array]
    twice = next((row for at, row in enumerate(numbers) if row in numbers[:at]), None) if len(set(numbers)) < len(numbers) else None
    if twice is not None:
        raise Error(f"{what} names row {twice} twice; a mask has bools, not 0 and 1", code="shape", item=twice)
    return numbers


def _by_name(given: Any, names: Sequence[str], contexts: Sequence[int]) -> Doubles | None:
    """Scores given by name: in a frame, as columns by name, or as one mapping per item. None for
    anything else."""
    frame = False
    if isinstance(given, Mapping):
        columns: Mapping[Any, Any] = given
    elif isinstance(given, (list, tuple)) and given and all(isinstance(row, Mapping) for row in given):
        known = set().union(*given)
        columns = {name: [row.get(name) for row in given] for name in names if name in known}
    else:
        from ._tables import columns_of

        found = columns_of(given)
        if found is None:
            return None
        columns, frame = found, True
    here = _evaluators_with_column(names, columns)
    first = _array(columns[here[0]], f"`{here[0]}`")
    table = np.full((len(first) if first.ndim else 0, len(names)), np.nan)
    del first  # with many rows it takes as much memory as any column
    for name in here:
        if names.index(name) in contexts:
            column = _groups_of(given, name) if frame else _groups(_as_sequence(columns[name]))
        else:
            column = _array(columns[name], f"`{name}`")
        if column.ndim != 1 or len(column) != len(table):
            raise Error(f"`{name}` has other items than `{here[0]}`", code="shape", evaluator=name, column=name)
        if frame and column.dtype.kind in "OUT" and any(isinstance(cell, str) for cell in column.tolist()):
            column = _read_as_table(given, name)
        if type(column) is np.ndarray and column.dtype == np.float64:
            table[:, names.index(name)] = column
            continue
        table[:, names.index(name)] = _doubles(column, lambda row, name=name: {"item": int(row[0]), "evaluator": name, "column": name})
    return table


def _grouped(array: np.ndarray[Any, Any], contexts: Sequence[int]) -> np.ndarray[Any, Any]:
    """The array with names of groups replaced by their numbers in the context columns. Numbers
    stay: an unnamed group is a number."""
    made = array.copy()
    for at in (at for at in contexts if at < array.shape[1]):
        cells = array[:, at].tolist()
        codes = _groups([cell if isinstance(cell, str) else None for cell in cells])
        made[:, at] = [code if isinstance(cell, str) else cell for cell, code in zip(cells, codes.tolist(), strict=True)]
    return made


def _as_sequence(cells: Any) -> Any:
    return cells if isinstance(cells, (list, tuple, np.ndarray)) else list(cells)


def _groups(cells: Any) -> Doubles:
    """The group numbers of cells that name groups."""
    from . import _core
    from ._column_export import PIECE, cell_text

    made = np.empty(len(cells), dtype=np.float64)
    # In pieces, because the names of all rows at once would take more memory than the column.
    for at in range(0, len(made), PIECE):
        made[at : at + PIECE] = _core.group_codes([cell_text(cell) for cell in cells[at : at + PIECE]])
    return made


def _groups_of(frame: Any, name: str) -> Doubles:
    """The group numbers of a frame's column, as `learn` reads them for every column type."""
    from . import _core
    from ._tables import frame_source

    return _core.group_codes_of_column(frame_source(frame).export([name], {"key": name}), name)


def _read_as_table(frame: Any, name: str) -> Doubles:
    """A text column of a frame as numbers, by the same rules as columns of tables; its warnings
    are passed on."""
    from . import _core
    from ._table_options import table_options, warn
    from ._tables import table_source

    rows, ask = table_source(frame), table_options([name])
    found = _core.rank(rows.export_needed(ask, None), ask, 1, 0, False, True, None, False, None, None, {}, {}, {name: 1.0}, False, None, 0, None)
    # The level of whoever called `scores`: through `warn`, this function and `_by_name`.
    warn([*rows.warnings, *found["warnings"]], stacklevel=5)
    read: Doubles = found["score"]
    return read


def _evaluators_with_column(names: Sequence[str], known: Mapping[Any, Any]) -> list[str]:
    """The evaluators that have a column. The scores of the others are missing, with a warning,
    as everywhere."""
    here = [name for name in names if name in known]
    if not here:
        raise Error(f"no evaluator has a column: looked for {', '.join(names)}", code="none-of-the-evaluators")
    if len(here) < len(names):
        from ._table_options import warn

        gone = (name for name in names if name not in known)
        # The level of whoever called `scores`: through `warn`, this function and `_by_name`.
        warn((f"there is no column `{name}`: its scores are missing" for name in gone), stacklevel=5)
    return here


def _column_of(given: Any) -> Any:
    """The values of a series of any library; None if it is not a series."""
    if isinstance(given, (np.ndarray, list, tuple)):
        return None
    import narwhals.stable.v2 as nw

    series = nw.from_native(given, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return None
    # Numpy has no 128-bit integers.
    return (series.cast(nw.Float64()) if series.dtype in (nw.Int128, nw.UInt128) else series).to_numpy()


def _array(given: Any, what: str) -> np.ndarray[Any, Any]:
    if isinstance(given, np.ndarray):
        return given
    column = _column_of(given)
    if column is not None:
        return np.asarray(column)
    try:
        return np.asarray(given)
    except (ValueError, TypeError) as error:
        raise Error(f"{what} cannot be converted to an array: {error}", code="shape") from None


def _doubles(array: np.ndarray[Any, Any], where: Any) -> Doubles:
    """The array as doubles. ``where`` maps an index to the facts of an error there."""
    kind = array.dtype.kind
    masked = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    plain = np.asarray(array)
    if kind in "fiub":
        with np.errstate(over="ignore"):
            made = np.array(plain, dtype=np.float64, order="C")
    elif kind == "O":
        made = np.empty(plain.shape, dtype=np.float64)
        for at in np.ndindex(plain.shape):
            if masked is not None and masked[at]:
                continue
            try:
                made[at] = number(plain[at])
            except TypeError:
                facts = where(at)
                name = facts.get("evaluator")
                by = f", evaluator `{name}`" if name else ""
                text = "; text is only accepted in columns of frames, and missing scores are None or NaN" if isinstance(plain[at], str) else ""
                raise Error(
                    f"item {facts['item']}{by}: {plain[at]!r} is not a number{text}", code="score", value=plain[at], **facts
                ) from None
    else:
        raise Error(f"scores must be numbers; these are of type {array.dtype}", code="score")
    if masked is not None:
        made[masked] = np.nan
    return made


def number(cell: Any) -> float:
    """The cell as a float, NaN if missing; a TypeError for anything else."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return float("nan")
    # Numpy counts complex numbers and time spans as numbers; scores cannot be either.
    if not isinstance(cell, (Real, Decimal, np.number, np.bool_)) or isinstance(cell, (np.complexfloating, np.timedelta64)):
        raise TypeError
    try:
        return float(cell)
    except OverflowError:
        return float("inf")  # refused later as too large
    except ValueError:
        return float("nan")  # a signalling NaN of Decimal
