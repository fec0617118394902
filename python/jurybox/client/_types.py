"""What is sent to a server and what it answers, as types."""

from __future__ import annotations

from typing import Any, TypedDict


class Rejected(TypedDict):
    """What was not taken in, and why."""

    id: str
    why: str


class ItemsAnswer(TypedDict):
    """What became of items."""

    accepted: int
    updated: int
    unchanged: int
    rejected: list[Rejected]


class VerdictsAnswer(TypedDict):
    """What became of verdicts."""

    accepted: int
    repeated: int
    rejected: list[Rejected]


class _Claim(TypedDict):
    item: str
    token: int
    until: str


class Claim(_Claim, total=False):
    """An item that a reviewer was given. A key with the role ``review`` alone is not told ``rank``, ``value``, ``probability`` and ``random_check``."""

    rank: int
    value: float | None
    probability: float
    random_check: bool
    payload: Any


class _Verdict(TypedDict):
    id: str
    item: str
    reviewer: str


class Verdict(_Verdict, total=False):
    """A verdict to take in: with a ``reward``, or with a ``label`` of the queue's scale."""

    reward: float
    token: int | None
    label: str | None
    source: str
    revises: str | None
    observed_at: str | None


class Webhook(TypedDict, total=False):
    """Where else a queue's log is told, and how that stands; ``secret`` only in the answer that made it."""

    name: str
    url: str
    made: str
    seen: int
    behind: int
    failures: int
    why: str | None
    failing_since: str | None
    next_try: str | None
    off: bool
    secret: str
