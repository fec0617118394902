"""The dicts that juries give."""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = ["Alarm", "Seen"]


class Alarm(TypedDict):
    """An evaluator that is not what it was."""

    evaluator: str
    reading: Literal["spread", "agreement"]
    since: int
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
