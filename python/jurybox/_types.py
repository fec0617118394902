"""Types of the dicts that juries return."""

from __future__ import annotations

from typing import Literal, TypedDict

__all__ = ["Alarm", "Seen", "Standing"]


class Alarm(TypedDict):
    """A confirmed change of an evaluator, or of the rewards if ``evaluator`` is None, between
    the times ``since`` and ``until``."""

    evaluator: str | None
    statistic: Literal["spread", "agreement", "reward", "slope", "varying"]
    since: int
    until: int
    before: float
    after: float
    confidence: float


class Seen(TypedDict):
    """Counts of what a jury has seen."""

    rounds: int
    items: int
    missing: int
    clamped: int
    used: int
    ignored_rewards: int
    out_of_range: int
    latest: int | None


class Standing(TypedDict):
    """A reviewer's severity and noise compared with the other reviewers."""

    #: The number of verdicts these figures rest on.
    labels: int
    #: Mean, low and high of how much higher their verdicts are than those of others on the same
    #: items, in units of the reward.
    severity: tuple[float, float, float]
    #: Mean, low and high of their noise relative to the median reviewer: 2 is twice as noisy.
    noise: tuple[float, float, float]
    #: The weight of one verdict relative to one of the median reviewer.
    weight: float
