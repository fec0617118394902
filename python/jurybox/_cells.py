"""What the columns of frames hold, and their cells as arrays that can cross the border."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._arrays import number
from ._errors import Error


def holds(numbers: bool | None) -> str:
    return "empty" if numbers is None else "number" if numbers else "text"


#: What `infer_dtype` calls the cells of a column of objects that are numbers.
_OF_NUMBERS = ("floating", "integer", "mixed-integer-float", "decimal", "boolean")


def objects_numeric(series: Any) -> bool | None:
    """Whether the cells of a column of objects are numbers, all that are there; None where there are none."""
    from pandas.api.types import infer_dtype

    kind = infer_dtype(series, skipna=True)
    if kind == "empty":
        return None
    return kind in _OF_NUMBERS or (kind.startswith("mixed") and all(_is_number(cell) for cell in series))


def _is_number(cell: Any) -> bool:
    try:
        number(cell)
    except TypeError:
        return False
    return True


def whole_objects(cells: Any) -> tuple[Any, Any]:
    """The whole numbers of a column of objects, with what is missing among them; nothing where some are others."""
    missing = np.array([cell_text(cell) is None for cell in cells], dtype=bool)
    there = [0 if gone else cell for cell, gone in zip(cells, missing, strict=True)]
    if not all(isinstance(cell, (int, np.integer)) and not isinstance(cell, bool) and abs(int(cell)) < 1 << 63 for cell in there):
        return None, None
    return np.array([int(cell) for cell in there], dtype=np.int64), missing


#: Words for a score that is missing; the library knows more, and this is only a question of what to tell.
_MISSING = ("", "-", "?", "na", "n/a", "nan", "none", "null")


def _reads_as_number(cell: str) -> bool:
    """Whether text is a number as people write it: with a decimal comma, as a share."""
    bare = cell.strip().removesuffix("%")
    for way in (bare, bare.replace(",", ".")):
        try:
            float(way)
        except ValueError:
            continue
        return True
    return False


def odd_among_numbers(head: Sequence[Any], whole: Callable[[], Sequence[Any]], na: Sequence[str]) -> tuple[int, str | None] | None:
    """How many cells of a column that is no column of numbers are none, and the first of them, where its first cells would make it
    one in CSV: at least half of those that are there are numbers. Nothing where they would not; and text of whole numbers that are all
    different may as well be names."""
    missing = {*_MISSING, *(word.strip().lower() for word in na)}

    def there(cell: Any) -> bool:
        return cell_text(cell) is not None and str(cell).strip().lower() not in missing

    def reads(cell: Any) -> bool:
        return _reads_as_number(cell) if isinstance(cell, str) else _is_number(cell)

    seen = [cell for cell in head if there(cell)]
    numbers = [cell for cell in seen if reads(cell)]
    if not numbers or 2 * len(numbers) < len(seen):
        return None
    names = [cell.strip() for cell in numbers if isinstance(cell, str) and cell.strip().lstrip("+-").isdigit()]
    if len(names) == len(numbers) == len(set(names)):
        return None
    odd = [cell for cell in whole() if there(cell) and not reads(cell)]
    return len(odd), str(odd[0]) if odd else None


def pandas_numeric(dtype: Any) -> bool | None:
    if isinstance(dtype, np.dtype):
        return dtype.kind in "fiub"
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return pandas_numeric(categories.dtype)
    # Timestamps of pyarrow have a kind of their own, decimals are objects to numpy.
    if getattr(dtype, "kind", "O") in "fiub":
        return True
    arrow = getattr(dtype, "pyarrow_dtype", None)
    return arrow is not None and bool(arrow_numeric(arrow))


def pandas_numbers(series: Any, name: str) -> tuple[Any, Any]:
    """A column of scores or rewards: an array in one piece, and what is missing."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return in_one_piece(series.to_numpy()), None
    if pandas_numeric(dtype):
        try:
            return in_one_piece(series.to_numpy(dtype="float64", na_value=np.nan)), None
        except TypeError:
            pass  # categories, which know no na_value
    cells = series.to_numpy()
    if any(isinstance(cell, str) for cell in cells):
        return [cell_text(cell) for cell in cells], None  # numbers as people write them
    made = np.empty(len(cells), dtype=np.float64)
    for row, cell in enumerate(cells):
        try:
            made[row] = number(cell)
        except TypeError:
            raise Error(
                f"row {row + 1}, column `{name}`: {cell!r} is not a number", code="not-a-number", column=name, row=row + 1, value=cell
            ) from None
    return made, None


def pandas_key(series: Any) -> tuple[Any, Any]:
    """A column that names items, rounds or groups: whole numbers as they are, everything else as text."""
    kind = getattr(series.dtype, "kind", "O")
    if kind in "iu" and isinstance(series.dtype, np.dtype):
        return in_one_piece(series.to_numpy()), None
    if kind in "iu":
        missing = series.isna().to_numpy()
        return in_one_piece(series.to_numpy(dtype="uint64" if kind == "u" else "int64", na_value=0)), missing
    if kind == "f" and isinstance(series.dtype, np.dtype):
        return in_one_piece(series.to_numpy()), None
    return [cell_text(cell) for cell in series.tolist()], None


def pandas_bystander(series: Any) -> tuple[Any, Any]:
    """A column that is only written out: flags as flags, numbers as numbers, everything else as text."""
    if getattr(series.dtype, "kind", "O") != "b":
        return pandas_key(series)
    if isinstance(series.dtype, np.dtype):
        return np.ascontiguousarray(series.to_numpy()), None
    return np.ascontiguousarray(series.to_numpy(dtype=bool, na_value=False)), np.ascontiguousarray(series.isna().to_numpy())


def cell_text(cell: Any) -> str | None:
    if isinstance(cell, str):
        return cell
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell):
        return None
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    isoformat = getattr(cell, "isoformat", None)
    return str(isoformat() if callable(isoformat) else cell)


def in_one_piece(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same numbers in one piece, aligned, in this machine's order of bytes, of a width that Arrow has; copied only if need be."""
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    elif array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    return np.require(array, dtype=array.dtype.newbyteorder("="), requirements=["C", "A"])


def polars_numeric(dtype: Any) -> bool | None:
    import polars as pl

    if dtype == pl.Null:
        return None
    return bool(dtype.is_numeric() or dtype == pl.Boolean)


def arrow_numeric(kind: Any) -> bool | None:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return arrow_numeric(kind.value_type)
    if pa.types.is_null(kind):
        return None
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))
