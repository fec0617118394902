"""Columns of frames as arrays that the compiled part can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._arrays import number
from ._errors import Error


#: Results of pandas' `infer_dtype` for object columns of numbers.
_OF_NUMBERS = ("floating", "integer", "mixed-integer-float", "decimal")

#: Rows that are converted to text at a time.
PIECE = 1 << 14

#: Placeholder for cells that cannot be scores, such as dates and lists.
NO_SCORE = "no score"


def pandas_first(series: Any) -> tuple[Any, Any]:
    """The first cells of a column, for deciding its role: numbers and flags unchanged, the rest
    as text."""
    kind = getattr(series.dtype, "kind", "O")
    if series.dtype == object:
        return _objects(series)
    if kind in "iub":
        return pandas_passthrough(series)
    if pandas_numeric(series.dtype):
        return pandas_numbers(series, str(series.name))
    arrow = getattr(series.dtype, "pyarrow_dtype", None)
    if kind in "mMc" or (arrow is not None and not arrow_looked_at(arrow)):
        return [NO_SCORE] * len(series), None
    try:
        return [readable(cell_text(cell)) for cell in series.tolist()], None
    except UnicodeDecodeError:  # the text is not UTF-8; an error only if the column is used
        return [NO_SCORE] * len(series), None


def _objects(series: Any) -> tuple[Any, Any]:
    """The cells of an object column as flags or numbers if all are such, otherwise as text."""
    from pandas.api.types import infer_dtype

    kind, cells = infer_dtype(series, skipna=True), series.to_numpy()
    if kind == "boolean":
        missing = np.array([cell_text(cell) is None for cell in cells], dtype=bool)
        return np.array([not gone and bool(cell) for cell, gone in zip(cells, missing, strict=True)], dtype=bool), missing
    if kind in _OF_NUMBERS or kind.startswith("mixed"):
        values, missing = whole_objects(cells)
        values = _numbers_or_text(series) if values is None else values
        return ([readable(cell) for piece in values for cell in piece] if isinstance(values, Text) else values), missing
    return [readable(cell_text(cell)) for cell in cells], None


class Text:
    """A column converted to text piece by piece, so that not all strings exist at once."""

    def __init__(self, series: Any) -> None:
        self.series = series

    def __len__(self) -> int:
        return len(self.series)

    def __iter__(self) -> Iterator[list[str | None]]:
        return ([cell_text(cell) for cell in piece] for piece in _pieces(self.series))


def _pieces(series: Any) -> Iterator[list[Any]]:
    for at in range(0, len(series), PIECE):
        piece = series.iloc[at : at + PIECE]
        try:
            yield piece.tolist()
        except UnicodeDecodeError:
            raise _not_text(series, at) from None


def _not_text(series: Any, at: int) -> Error:
    """The error for the first cell from row ``at`` on that is not UTF-8."""
    row = next((row for row in range(at, len(series)) if not _is_text(series.iloc[row : row + 1])), at) + 1
    message = f"row {row}, column `{series.name}`: not valid UTF-8; decode text in another encoding first, or leave the column out"
    return Error(message, code="not-utf8", column=str(series.name), row=row)


def _is_text(series: Any) -> bool:
    try:
        series.tolist()
    except UnicodeDecodeError:
        return False
    return True


def _numbers_or_text(series: Any) -> Any:
    """An object column as numbers if all cells are numbers, otherwise as text."""
    made = np.empty(len(series), dtype=np.float64)
    for at, piece in enumerate(_pieces(series)):
        try:
            made[at * PIECE : at * PIECE + len(piece)] = [number(cell) for cell in piece]
        except TypeError:
            return Text(series)
    return made


def whole_objects(cells: Any) -> tuple[Any, Any]:
    """An object column of whole numbers, with a mask of missing cells; ``(None, None)`` if it
    holds anything else."""
    missing = np.array([cell_text(cell) is None for cell in cells], dtype=bool)
    there = [0 if gone else cell for cell, gone in zip(cells, missing, strict=True)]
    if not all(isinstance(cell, (int, np.integer)) and not isinstance(cell, bool) and abs(int(cell)) < 1 << 63 for cell in there):
        return None, None
    return np.array([int(cell) for cell in there], dtype=np.int64), missing


def pandas_numeric(dtype: Any) -> bool | None:
    if isinstance(dtype, np.dtype):
        return dtype.kind in "fiub"
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        return pandas_numeric(categories.dtype)
    # pyarrow's timestamps have their own kind, and its decimals are objects to numpy.
    if getattr(dtype, "kind", "O") in "fiub":
        return True
    arrow = getattr(dtype, "pyarrow_dtype", None)
    return arrow is not None and bool(arrow_numeric(arrow))


def pandas_numbers(series: Any, name: str) -> tuple[Any, Any]:
    """A column of scores or rewards as a contiguous array, and a mask of missing cells or None."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return in_one_piece(series.to_numpy()), None
    if pandas_numeric(dtype):
        try:
            return in_one_piece(series.to_numpy(dtype="float64", na_value=np.nan)), None
        except TypeError:
            pass  # categories, which do not accept na_value
    if getattr(dtype, "kind", "O") in "mMc" and len(series):
        cell = series.iloc[0]
        raise Error(f"row 1, column `{name}`: {cell!r} is not a number", code="not-a-number", column=name, row=1, value=cell)
    return _numbers_or_text(series), None


def pandas_key(series: Any) -> tuple[Any, Any]:
    """A column of item, round or group names: whole numbers unchanged, everything else as text."""
    kind = getattr(series.dtype, "kind", "O")
    if kind in "iu" and isinstance(series.dtype, np.dtype):
        return in_one_piece(series.to_numpy()), None
    if kind in "iu":
        missing = series.isna().to_numpy()
        return in_one_piece(series.to_numpy(dtype="uint64" if kind == "u" else "int64", na_value=0)), missing
    if kind == "f" and isinstance(series.dtype, np.dtype):
        return in_one_piece(series.to_numpy()), None
    strings = _strings_of_arrow(series)
    return (Text(series) if strings is None else strings), None


def _strings_of_arrow(series: Any) -> Any:
    """The strings of a pandas column stored by pyarrow, as a table that streams them without a
    copy; None unless stored in one chunk."""
    import pandas as pd

    # A column without rows has no chunk.
    if not len(series) or not isinstance(series.array, pd.arrays.ArrowExtensionArray):
        return None
    import pyarrow as pa

    chunks = series.array.__arrow_array__()
    plain = pa.types.is_string(chunks.type) or pa.types.is_large_string(chunks.type)
    return bounds_checked(pa.table({str(readable(str(series.name))): chunks})) if plain and chunks.num_chunks == 1 else None


def bounds_checked(table: Any) -> Any:
    """The pyarrow table, unless a column points outside its own memory, which is an error. Only
    pyarrow knows how long that memory is. Whether text is UTF-8 is checked later, and only in
    columns that are used."""
    import pyarrow as pa

    for name, column in zip(table.schema.names, table.columns, strict=True):
        for piece in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            try:
                _as_bytes(piece).validate(full=piece.type.num_fields > 0 or not _fixed_width(piece.type))
            except pa.ArrowException as error:
                if "UTF8" not in str(error):
                    raise Error(f"column `{name}` is damaged: {error}", code="arrow", column=name) from None
    return table


def _as_bytes(array: Any) -> Any:
    """A text array as the bytes it consists of; other arrays unchanged."""
    import pyarrow as pa

    bytes_of = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}.get(array.type)
    return array if bytes_of is None else array.view(bytes_of)


def _fixed_width(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))


def pandas_passthrough(series: Any) -> tuple[Any, Any]:
    """A column that is only written to output: flags and numbers unchanged, everything else as
    text."""
    if getattr(series.dtype, "kind", "O") != "b":
        return pandas_key(series)
    if isinstance(series.dtype, np.dtype):
        return np.ascontiguousarray(series.to_numpy()), None
    return np.ascontiguousarray(series.to_numpy(dtype=bool, na_value=False)), np.ascontiguousarray(series.isna().to_numpy())


def readable(text: str | None) -> str | None:
    """The text with lone surrogates escaped, for columns that are only looked at."""
    return text if text is None or text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def cell_text(cell: Any) -> str | None:
    if isinstance(cell, str):
        return cell
    as_py = getattr(cell, "as_py", None)
    if callable(as_py):  # a pyarrow scalar
        return cell_text(as_py())
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell):
        return None
    if isinstance(cell, (bool, np.bool_)):
        return "true" if cell else "false"
    if isinstance(cell, (bytes, bytearray, memoryview)):
        return bytes(cell).hex()
    isoformat = getattr(cell, "isoformat", None)
    return str(isoformat() if callable(isoformat) else cell)


def in_one_piece(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array contiguous, aligned, in native byte order and of a width that Arrow has; copied
    only if necessary."""
    if array.dtype.kind == "b":
        array = array.view(np.uint8)
    elif array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    return np.require(array, dtype=array.dtype.newbyteorder("="), requirements=["C", "A"])


def arrow_numeric(kind: Any) -> bool | None:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return arrow_numeric(kind.value_type)
    if pa.types.is_null(kind):
        return None
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def arrow_looked_at(kind: Any) -> bool:
    """Whether a pyarrow column of this type may hold scores."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return arrow_looked_at(kind.value_type)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return text or arrow_numeric(kind) is not False
