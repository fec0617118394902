"""Python's things as JSON can have them: right, or refused with what, where and why.

Tables hand over numbers of numpy, moments of pandas, and NaN for what is missing. What is missing is null, never a number; what JSON has no
word for (infinity, bytes) is an :class:`jurybox.Error` that names the item, and nothing that was changed on its way.
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

#: Fields that are times: a server asks for their zone.
TIMES = ("due", "observed_at")


def as_json(body: object) -> str:
    """A body as it is sent. Items and verdicts have been made plain before; the rest are names and a few numbers."""
    try:
        return json.dumps(body, allow_nan=False, default=plain)
    except (TypeError, ValueError):
        return json.dumps(plain(body), allow_nan=False)


def item_of(thing: Any) -> dict[str, Any]:
    """An item to add or to rank."""
    one = _mapping(thing, "an item", "id and scores")
    one["id"] = id_of(one.get("id"), "id")
    where = f"item `{one['id']}`"
    if one.get("scores") is not None:
        if not isinstance(one["scores"], Mapping):
            raise Error(f"{where}: its scores are {_shown(one['scores'])}, and not by evaluator", code="score", value=one["scores"])
        one["scores"] = {str(name): score_of(score, where, str(name)) for name, score in one["scores"].items()}
    return _fields(one, where)


def verdict_of(thing: Any) -> dict[str, Any]:
    """A verdict to take in."""
    one = _mapping(thing, "a verdict", "id, item, reviewer and reward")
    for name in ("id", "item", "revises"):
        if name in ("id", "item") or not _is_missing(one.get(name)):
            one[name] = id_of(one.get(name), name)
    where = f"verdict on `{one['item']}`"
    if "reward" in one:
        reward = one["reward"]
        if _is_missing(reward):
            if _is_missing(one.get("label")):
                raise Error(f"{where}: its reward is missing; leave out what has no verdict yet", code="reward", value=reward)
            del one["reward"]
        else:
            one["reward"] = _finite(reward, f"{where}: reward", code="reward")
    return _fields(one, where)


def score_of(score: Any, where: str, evaluator: str) -> float | None:
    """A score; none where it is missing."""
    if _is_missing(score):
        return None
    return _finite(score, f"{where}, evaluator `{evaluator}`", code="score", evaluator=evaluator)


def id_of(given: Any, name: str = "item") -> str:
    """A name as text; a number that names something by its digits, be it stored as a float."""
    if isinstance(given, str):
        return _whole_letters(str(given), f"{name}=")
    if isinstance(given, (UUID, datetime.date)) and not _is_missing(given):
        return str(plain(given))
    if isinstance(given, (Integral, np.integer)) and not isinstance(given, (bool, np.bool_)):
        return str(int(given))
    if isinstance(given, (float, np.floating)) and float(given).is_integer():
        # From there on two whole numbers are one float, and the id of one item that of another.
        if abs(float(given)) >= 2.0 ** (np.finfo(np.asarray(given).dtype).nmant + 1):
            raise Error(f"{name}= is {_shown(given)}: a float has no room for such an id; pass it as text or as a whole number", code="id", value=given)
        return str(int(given))
    what = "is missing" if _is_missing(given) else f"is {_shown(given)}"
    raise Error(f"{name}= {what}: an id is text or a whole number", code="id", value=given)


def ids_of(given: Any) -> list[str]:
    """Names of items; one alone is the name of one, not a list of its letters."""
    return [id_of(given)] if isinstance(given, (str, bytes)) else [id_of(one) for one in given]


def plain(value: Any, where: str = "") -> Any:
    """Any value as JSON has it; what is missing (NaN, NaT, NA) is null."""
    if value is None or type(value) is bool:
        return value
    if isinstance(value, str):
        return _whole_letters(str(value), where)
    if _is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.timedelta64):  # a whole number to numpy, and to nobody who reads it without its unit
        _no_word(value, where)
    if isinstance(value, (Integral, np.integer)):
        return _in_64_bits(int(value), where)
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
    _no_word(value, where)


def _fields(one: dict[str, Any], where: str) -> dict[str, Any]:
    """The other fields: times as text with their zone, and everything else as JSON has it."""
    for name, value in one.items():
        if name in TIMES and isinstance(value, (datetime.date, np.datetime64)) and not _is_missing(value):
            if getattr(value, "tzinfo", None) is None:
                raise Error(
                    f"{where}: {name} = {value} has no time zone; say which, such as by tz_localize('UTC') or datetime.timezone.utc", code="time", value=value
                )
            one[name] = plain(value)
        elif name != "scores":
            one[name] = plain(value, f"{where}: {name}")
    return one


def _mapping(thing: Any, what: str, of: str) -> dict[str, Any]:
    if not isinstance(thing, Mapping):
        raise Error(f"{what} is {_shown(thing)}: pass mappings with {of}; those of a frame are frame.to_dict('records')", code="not-a-mapping", value=thing)
    return {str(name): value for name, value in thing.items()}


def _finite(given: Any, where: str, *, code: str, evaluator: str | None = None) -> float:
    try:
        found = number(given)
    except TypeError:
        raise Error(f"{where}: {_shown(given)} is not a number", code=code, value=given, evaluator=evaluator) from None
    if not np.isfinite(found):
        raise Error(f"{where}: {_shown(given)} is no finite number, and cannot be sent", code=code, value=given, evaluator=evaluator)
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
    """A series or an index, of whatever library; a frame is none, and would be the names of its columns."""
    return isinstance(value, Iterable) and hasattr(value, "to_numpy") and not hasattr(value, "columns")


def _whole_letters(text: str, where: str) -> str:
    """Text that can be sent: half of a letter cannot, and a server would refuse all that is sent with it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"{where or 'text'} has half of a letter (a lone surrogate) at {error.start}, and cannot be sent; mend it, such as by text.encode('utf-8', 'replace').decode()"
        raise Error(message, code="not-utf8", value=text) from None
    return text


def _in_64_bits(whole: int, where: str) -> int:
    if not -(1 << 63) <= whole < 1 << 64:
        # Its digits may be more than Python is willing to write.
        raise Error(f"{where or 'a number'}: a whole number of {whole.bit_length()} bits has no room in 64; pass it as text", code="json")
    return whole


def _key(key: Any, where: str) -> str:
    made = plain(key, where)
    return made if isinstance(made, str) else json.dumps(made)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # whatever a stranger's object does when it is shown
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"


def _no_word(value: Any, where: str) -> NoReturn:
    raise Error(f"{where or 'a value'}: {_shown(value)} ({type(value).__name__}) is nothing that JSON has a word for", code="json", value=value)
