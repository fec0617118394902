"""Types of the requests and answers of a server."""

from __future__ import annotations

from typing import Any, TypedDict


class Rejected(TypedDict):
    """A rejected item or verdict, and the reason."""

    id: str
    why: str


class ItemsAnswer(TypedDict):
    """Counts of added items."""

    accepted: int
    updated: int
    unchanged: int
    rejected: list[Rejected]


class VerdictsAnswer(TypedDict):
    """Counts of sent verdicts."""

    accepted: int
    repeated: int
    rejected: list[Rejected]


class _Claim(TypedDict):
    item: str
    token: int
    until: str


class Claim(_Claim, total=False):
    """An item claimed by a reviewer. A key with only the role ``review`` does not see ``rank``,
    ``value``, ``probability`` and ``random_check``."""

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
    """A verdict to send, with a ``reward`` or a ``label`` of the queue's scale."""

    reward: float
    token: int | None
    label: str | None
    source: str
    revises: str | None
    observed_at: str | None


class Webhook(TypedDict, total=False):
    """A webhook and its state; ``secret`` only in the answer that made it."""

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
