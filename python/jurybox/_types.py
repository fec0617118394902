"""The dicts that juries give."""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = ["Alarm", "Seen"]


class Alarm(TypedDict):
    """An evaluator that is not what it was; where ``evaluator`` is None, it is the rewards that changed. It changed between the times ``since`` and
    ``until``."""

    evaluator: str | None
    reading: Literal["spread", "agreement", "reward", "slope"]
    since: int
    until: int
    before: float
    after: float
    confidence: float


class Seen(TypedDict):
    """How much a jury has seen."""

    rounds: int
    items: int
    missing: int
    clamped: int
    used: int
    passed_over: int
    outside: int
    latest: int | None
