"""Arguments that all functions over tables share: the role of each column, how files are
written, and how messages are shown."""

from __future__ import annotations

import logging
import operator
import os
import warnings
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import DataWarning, Error

if TYPE_CHECKING:
    from ._sources import Source

Path = str | PathLike[str]
Names = str | Iterable[str] | None
Numbers = Mapping[str, float] | None
#: Words and numbers that mean "missing".
Missing = str | float | Iterable[str | float] | None
#: The columns of the item, of the evaluator, and of the grade.
Long = str | tuple[str, str, str] | None

logger = logging.getLogger("jurybox")


def table_options(
    evaluators: Names = None,
    id: Names = None,
    ignore: Names = None,
    invert: Names = None,
    reward: str | None = None,
    probability: str | None = None,
    key: str | None = None,
    threads: int | None = None,
    files: Mapping[str, Any] | None = None,
    reviewer: str | None = None,
    context: Names = None,
    label: Numbers = None,
    key_is_id: bool = False,
) -> dict[str, Any]:
    """The role of each column, as the compiled part expects it."""
    return {
        "evaluators": names(evaluators),
        "id": names(id),
        "ignore": names(ignore),
        "invert": names(invert),
        "reward": reward,
        "labels": _labels(label),
        "probability": probability,
        "key": key,
        "key_is_id": key_is_id,
        "reviewer": reviewer,
        "context": names(context),
        "threads": whole_or_none(threads, "threads"),
        "files": dict(files or file_options()),
    }


def file_options(
    input_format: str | None = None,
    delimiter: str | None = None,
    header: bool = True,
    decimal: str | None = None,
    na: Missing = None,
    long: Long = None,
) -> dict[str, Any]:
    """How files are written, as the compiled part expects it; invalid values are errors."""
    if input_format is not None and input_format.removeprefix(".") not in ("csv", "jsonl", "parquet"):
        raise Error(f"input_format={input_format!r}: expected csv, jsonl or parquet", code="input-format", value=input_format)
    if delimiter is not None and delimiter != "tab" and (len(delimiter.encode()) != 1 or delimiter in '"\n\r'):
        raise Error(f"delimiter={delimiter!r}: expected one character, such as ';', or 'tab'", code="delimiter", value=delimiter)
    if decimal is not None and decimal not in (",", "."):
        raise Error(f"decimal={decimal!r}: expected ',' or '.'", code="decimal", value=decimal)
    columns = tuple(part.strip() for part in long.split(",")) if isinstance(long, str) else long
    if columns is not None and len(columns) != 3:
        raise Error(f"long={long!r}: expected three columns: of the item, of the evaluator, and of the grade", code="long", value=str(long))
    missing = [] if na is None else [na] if isinstance(na, (str, int, float)) else list(na)
    return {
        "input_format": input_format,
        "delimiter": delimiter,
        "header": header,
        "decimal": decimal,
        "na": [_word(word) for word in missing],
        "long": columns,
    }


def _word(word: str | float) -> str:
    return word if isinstance(word, str) else repr(float(word)) if isinstance(word, float) else str(word)


def _labels(given: Numbers) -> list[tuple[str, float]]:
    try:
        return [(str(word), float(number)) for word, number in numbers(given, "label").items()]
    except (TypeError, ValueError):
        raise Error(f"label = {given!r}: expected a number for each word, such as {{'remove': 1, 'keep': 0}}", code="label", value=str(given)) from None


def whole(given: Any, name: str) -> int:
    """A whole number from 0 to 2^63 - 1; anything else is an error."""
    try:
        number = -1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 63:
        raise Error(f"{name} = {given!r}: expected a whole number from 0 to 2^63 - 1", code="whole-number", value=given)
    return number


def how_many(k: Any, min_reward: Any) -> tuple[int, float | None]:
    """The number of rows and the minimum reward. ``k`` defaults to 100, or to all rows if there
    is a minimum reward."""
    if min_reward is not None:
        try:
            min_reward = float(min_reward)
        except (TypeError, ValueError):
            raise Error(f"min_reward = {min_reward!r}: expected a number, the lowest expected reward", code="no-worth", value=min_reward) from None
    if k is None:
        return (100 if min_reward is None else (1 << 63) - 1), min_reward
    return whole(k, "k"), min_reward


def whole_or_none(given: Any, name: str) -> int | None:
    return None if given is None else whole(given, name)


def default_policy() -> str:
    """The policy of a jury for which none is named."""
    return _core.Jury(["anyone"]).policy


def names(given: Names) -> list[str]:
    """The names in a single name or a list. Pandas columns may have numbers for names."""
    if given is None:
        return []
    return [str(given)] if isinstance(given, (str, int)) else [str(name) for name in given]


def numbers(given: Numbers, name: str) -> dict[str, float]:
    """A dict of numbers by name."""
    try:
        return dict({} if given is None else given)
    except (TypeError, ValueError):
        raise Error(f"{name} = {given!r}: expected a number for each name, such as {{'spam': 0.5}}", code=name, value=str(given)) from None


def ends(given: Any, name: str) -> tuple[float, float] | None:
    """The lower and the upper end of a range."""
    if given is None:
        return None
    try:
        low, high = [float(end) for end in ([] if isinstance(given, str) else given)]
        return low, high
    except (TypeError, ValueError):
        raise Error(f"{name} = {given!r}: expected two numbers, the lowest and the highest, such as (0, 1)", code="two-numbers", value=str(given)) from None


def named(name: str | None) -> list[str]:
    return [] if name is None else [name]


def out_path(out: Path | None, *read: object) -> str | None:
    """The output path; an error if that file is also read."""
    if out is None:
        return None
    paths = [os.fspath(one) for one in read if isinstance(one, (str, PathLike))]
    _core.refuse_overwriting(paths, os.fspath(out))
    return os.fspath(out)


def log_notes(found: Mapping[str, Any], rows: Source | None = None) -> None:
    """Logs which columns were used as what, and what was done; problems with the data become
    warnings."""
    for line in found["columns"]:
        # Only the needed columns of a frame are handed over; its own note names all columns.
        note = line if rows is None or rows.columns_note is None else rows.columns_note
        logger.info("%s", _core.printable(note, True))
    for line in found["notes"]:
        logger.info("%s", _core.printable(line, True))
    warn([*(rows.warnings if rows is not None else []), *found["warnings"]], stacklevel=4)


def warn(lines: Iterable[str], stacklevel: int = 3) -> None:
    """Issues each warning once."""
    for line in dict.fromkeys(lines):
        warnings.warn(_core.printable(line, True), DataWarning, stacklevel=stacklevel)
