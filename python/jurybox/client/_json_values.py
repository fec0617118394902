"""Conversion of Python values to JSON, for requests to a server.

Frames contain numbers of numpy, timestamps of pandas, and NaN for missing values, which becomes
null. Values that JSON lacks (infinity, bytes) are a :class:`jurybox.Error` that names the item;
nothing is changed silently.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral
from typing import Any, NoReturn
from uuid import UUID

import numpy as np

from .._arrays import number
from .._errors import Error

#: Fields with times, which the server wants with a time zone.
TIMES = ("due", "observed_at")


def as_json(body: object) -> str:
    """The body as JSON. Items and verdicts were converted before; this converts the rest."""
    try:
        return json.dumps(body, allow_nan=False, default=plain)
    except (TypeError, ValueError):
        return json.dumps(plain(body), allow_nan=False)


def item_of(thing: Any) -> dict[str, Any]:
    """An item to add or rank, converted."""
    one = _mapping(thing, "an item", "id and scores")
    one["id"] = id_of(one.get("id"), "id")
    where = f"item `{one['id']}`"
    if one.get("scores") is not None:
        if not isinstance(one["scores"], Mapping):
            raise Error(f"{where}: its scores are {_shown(one['scores'])}, not a mapping by evaluator", code="score", value=one["scores"])
        one["scores"] = {str(name): score_of(score, where, str(name)) for name, score in one["scores"].items()}
    return _fields(one, where)


def verdict_of(thing: Any) -> dict[str, Any]:
    """A verdict to send, converted."""
    one = _mapping(thing, "a verdict", "id, item, reviewer and reward")
    for name in ("id", "item", "revises"):
        if name in ("id", "item") or not _is_missing(one.get(name)):
            one[name] = id_of(one.get(name), name)
    where = f"verdict on `{one['item']}`"
    if "reward" in one:
        reward = one["reward"]
        if _is_missing(reward):
            if _is_missing(one.get("label")):
                raise Error(f"{where}: its reward is missing; leave out items without a verdict", code="reward", value=reward)
            del one["reward"]
        else:
            one["reward"] = _finite(reward, f"{where}: reward", code="reward")
    return _fields(one, where)


def score_of(score: Any, where: str, evaluator: str) -> float | None:
    """A score as a float; None if missing."""
    if _is_missing(score):
        return None
    return _finite(score, f"{where}, evaluator `{evaluator}`", code="score", evaluator=evaluator)


def id_of(given: Any, name: str = "item") -> str:
    """An id as text. Whole numbers, also those stored as floats, become their digits."""
    if isinstance(given, str):
        return _encodable(str(given), f"{name}=")
    if isinstance(given, (UUID, datetime.date)) and not _is_missing(given):
        return str(plain(given))
    if isinstance(given, (Integral, np.integer)) and not isinstance(given, (bool, np.bool_)):
        return str(int(given))
    if isinstance(given, (float, np.floating)) and float(given).is_integer():
        # Beyond this, two whole numbers share one float, and ids could be confused.
        if abs(float(given)) >= 2.0 ** (np.finfo(np.asarray(given).dtype).nmant + 1):
            raise Error(f"{name}= is {_shown(given)}: a float cannot hold this id exactly; pass it as text or as a whole number", code="id", value=given)
        return str(int(given))
    what = "is missing" if _is_missing(given) else f"is {_shown(given)}"
    raise Error(f"{name}= {what}: an id is text or a whole number", code="id", value=given)


def ids_of(given: Any) -> list[str]:
    """Ids as a list; a single id is a list of one."""
    return [id_of(given)] if isinstance(given, (str, bytes)) else [id_of(one) for one in given]


def plain(value: Any, where: str = "") -> Any:
    """Any value for JSON; missing values (NaN, NaT, NA) become null."""
    if value is None or type(value) is bool:
        return value
    if isinstance(value, str):
        return _encodable(str(value), where)
    if _is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.timedelta64):  # a whole number to numpy, meaningless without its unit
        _not_json(value, where)
    if isinstance(value, (Integral, np.integer)):
        return _fits_64_bits(int(value), where)
    if isinstance(value, (float, np.floating, Decimal)):
        return _finite(value, where or "a number", code="json")
    if isinstance(value, Mapping):
        return {_key(key, where): plain(each, f"{where}.{key}") for key, each in value.items()}
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return plain(value[()], where)
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)) or _is_column(value):
        return [plain(each, f"{where}[{at}]") for at, each in enumerate(value)]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value))
    if isinstance(value, UUID):
        return str(value)
    _not_json(value, where)


def _fields(one: dict[str, Any], where: str) -> dict[str, Any]:
    """Converts the other fields in place; times become text with their zone."""
    for name, value in one.items():
        if name in TIMES and isinstance(value, (datetime.date, np.datetime64)) and not _is_missing(value):
            if getattr(value, "tzinfo", None) is None:
                raise Error(
                    f"{where}: {name} = {value} has no time zone; add it, such as by tz_localize('UTC') or datetime.timezone.utc", code="time", value=value
                )
            one[name] = plain(value)
        elif name != "scores":
            one[name] = plain(value, f"{where}: {name}")
    return one


def _mapping(thing: Any, what: str, of: str) -> dict[str, Any]:
    if not isinstance(thing, Mapping):
        raise Error(f"{what} is {_shown(thing)}: pass mappings with {of}; for a frame, frame.to_dict('records')", code="not-a-mapping", value=thing)
    return {str(name): value for name, value in thing.items()}


def _finite(given: Any, where: str, *, code: str, evaluator: str | None = None) -> float:
    try:
        found = number(given)
    except TypeError:
        raise Error(f"{where}: {_shown(given)} is not a number", code=code, value=given, evaluator=evaluator) from None
    if not np.isfinite(found):
        raise Error(f"{where}: {_shown(given)} is not a finite number, and cannot be sent", code=code, value=given, evaluator=evaluator)
    return found


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, np.datetime64) and bool(np.isnat(value))


def _is_column(value: Any) -> bool:
    """Whether a value is a series or index. A frame is not: iterating it gives column names."""
    return isinstance(value, Iterable) and hasattr(value, "to_numpy") and not hasattr(value, "columns")


def _encodable(text: str, where: str) -> str:
    """The text, unless it has a lone surrogate, for which the server would refuse the whole
    request."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"{where or 'text'} has a lone surrogate at {error.start} and cannot be sent; replace it, such as by text.encode('utf-8', 'replace').decode()"
        raise Error(message, code="not-utf8", value=text) from None
    return text


def _fits_64_bits(whole: int, where: str) -> int:
    if not -(1 << 63) <= whole < 1 << 64:
        # Python may refuse to print very long integers.
        raise Error(f"{where or 'a number'}: a whole number of {whole.bit_length()} bits does not fit in 64; pass it as text", code="json")
    return whole


def _key(key: Any, where: str) -> str:
    made = plain(key, where)
    return made if isinstance(made, str) else json.dumps(made)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # a foreign object's repr may fail in any way
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"


def _not_json(value: Any, where: str) -> NoReturn:
    raise Error(f"{where or 'a value'}: {_shown(value)} ({type(value).__name__}) cannot be written as JSON", code="json", value=value)
