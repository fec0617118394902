"""The dicts that juries give."""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = ["Alarm", "Seen", "Standing"]


class Alarm(TypedDict):
    """An evaluator that is not what it was; where ``evaluator`` is None, it is the rewards that changed. It changed between the times ``since`` and
    ``until``."""

    evaluator: str | None
    statistic: Literal["spread", "agreement", "reward", "slope", "varying"]
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
    ignored_rewards: int
    out_of_range: int
    latest: int | None


class Standing(TypedDict):
    """How a reviewer judges, beside the others."""

    #: Verdicts that it rests on.
    labels: int
    #: Mean, low and high of how far their verdicts lie above those that others would give the same items, in units of the reward.
    severity: tuple[float, float, float]
    #: The same of how far a verdict is from telling what an item is worth, beside the middle reviewer: 2 is twice as noisy.
    noise: tuple[float, float, float]
    #: What a verdict of theirs counts for, beside one of the middle reviewer.
    weight: float
