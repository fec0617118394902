"""Picks passed back as dicts, frames and lists, from other evaluators, or twice."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jurybox as jb

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table.from_pylist}


def desk(policy: str = "lin-ucb") -> tuple[jb.Jury, jb.Picks]:
    jury = jb.Jury(["a", "b"], policy, seed=3)
    scores = np.random.default_rng(5).uniform(size=(40, 2))
    scores[3, 1] = np.nan
    return jury, jury.round(scores, k=6) + jury.round(scores[::-1], k=6)


@pytest.mark.parametrize("kind", ["dicts", *FRAMES])
@pytest.mark.parametrize("policy", ["lin-ucb", "eps-greedy(eps=0.9)", "exp4p(horizon=100)"])
def test_picks_are_learnt_by_their_receipts_in_whatever_shape(kind: str, policy: str) -> None:
    jury, picks = desk(policy)
    rewards = np.linspace(0, 1, len(picks))
    twin = copy.copy(jury)
    expected = twin.learn(picks, rewards)
    dicts = picks.to_dicts()
    learnt = jury.learn(dicts if kind == "dicts" else FRAMES[kind](dicts), rewards)
    assert learnt == expected and jury.to_json() == twin.to_json()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_of_picks_is_refused_with_what_to_do(frame) -> None:
    data = frame({"post": ["x", "y", "z"], "a": [0.1, 0.9, 0.5], "b": [0.3, 0.4, 0.2]})
    jury = jb.Jury(["a", "b"], "lin-ucb")
    picks = jb.pick(data, 2, id="post", state=jury)
    before = jury.to_json()
    with pytest.raises(jb.Error, match=r"jurybox.learn\(picks=frame, id=") as refused:
        jury.learn(picks, [1.0, 0.0])
    assert (refused.value.code, refused.value.column) == ("are-picks", "receipt") and jury.to_json() == before


def test_a_column_named_receipt_may_be_an_evaluator() -> None:
    jury = jb.Jury(["receipt"], "lin-ucb")
    assert jury.learn(pd.DataFrame({"receipt": [0.1, 0.2]}), [1.0, 0.0]).used == 2


def test_picks_of_another_jury_are_told_of_by_name() -> None:
    _, picks = desk()
    other = jb.Jury(["b", "c"], "lin-ucb")
    with pytest.warns(jb.DataWarning, match="missing: scores of `c`; not used: scores of `a`"):
        other.learn(picks, [1.0] * len(picks))
    before = other.to_json()
    with warnings.catch_warnings(), pytest.raises(jb.DataWarning):
        warnings.simplefilter("error")
        other.learn(picks, [1.0] * len(picks))
    assert other.to_json() == before, "whoever makes errors of warnings is left with the jury as it was"
    with pytest.raises(jb.Error, match="scored by a, b, not by x"):
        jb.Jury(["x"], "lin-ucb").learn(picks, [1.0] * len(picks))


def test_the_same_picks_count_as_often_as_they_come() -> None:
    jury, picks = desk()
    rewards = [1.0] * len(picks)
    jury.learn(picks, rewards)
    once = jury.seen["used"]
    assert (jury + copy.copy(jury)).seen["used"] == 2 * once
    jury.learn(picks, rewards)
    assert jury.seen["used"] == 2 * once
    for told in (jb.merge.__doc__, jb.Jury.learn.__doc__):
        assert told is not None and ("twice" in told or "counts again" in told)


@pytest.mark.filterwarnings("ignore:.* are not among the picks:jurybox.DataWarning")
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_several_frames_of_picks_are_one(frame) -> None:
    def hour(number: int):
        rng = np.random.default_rng(number)
        return frame({"post": [f"{number}-{i}" for i in range(20)], "a": rng.uniform(size=20), "b": rng.uniform(size=20)})

    found = frame({"post": [f"{number}-{i}" for number in (1, 2) for i in range(20)], "verdict": [i % 3 for i in range(40)]})
    apart, together = jb.Jury(["a", "b"], "lin-ucb"), jb.Jury(["a", "b"], "lin-ucb")
    for jury in (apart, together):
        rounds = [jb.pick(hour(number), 4, id="post", state=jury) for number in (1, 2)]
    jb.learn(picks=rounds, verdicts=found, id="post", reward="verdict", state=together)
    for one in rounds:
        jb.learn(picks=one, verdicts=found, id="post", reward="verdict", state=apart)
    assert together.seen["used"] == 8 and together.to_json() == apart.to_json()
    with pytest.raises(jb.Error, match=r"several tables.*concat"):
        jb.rank([hour(1), hour(2)], 3)


def test_picks_can_be_gone_over() -> None:
    _, picks = desk()
    assert [int(one.items[0]) for one in picks] == picks.items.tolist()
    assert sum(picks, picks[:0]) == picks
