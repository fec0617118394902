"""Typical uses of the package, for type checkers; this file is not run."""

from typing import assert_type

import numpy as np
import polars as pl
from numpy.typing import NDArray

import jurybox as jb


def frames(frame: pl.DataFrame) -> None:
    assert_type(jb.rank(frame, 20, policy="esag", current_round=True), pl.DataFrame)
    assert_type(jb.rank("posts.csv"), jb.Rows)
    jury = jb.learn(frame, reward="verdict", state="model.json")
    assert_type(jury, jb.Jury)
    assert_type(jb.merge(jury, "model.json") + jury, jb.Jury)
    jb.report(frame).save("report.html")
    assert_type(jb.prevalence(frame, reward="verdict", probability="p", reward_range=(0, 1)), jb.Prevalence)
    jb.replay(frame, reward="verdict", policies=[jb.policies.eps_greedy(eps=0.1), "average"])


def rounds(scores: NDArray[np.float64]) -> None:
    jury = jb.Jury(["toxicity", "spam"], policy="adaptive", seed=7, forget=True)
    picks = jury.round(scores, k=10, new=np.ones(len(scores), dtype=bool))
    assert_type(picks, jb.Picks)
    assert_type(picks.items, NDArray[np.int64])
    learnt = jury.learn(picks[:5], [1.0] * 5)
    assert_type(learnt.used, int)
    assert_type(jury.weights(), dict[str, float])
    assert_type(jury.weights(level=0.9), dict[str, tuple[float, float, float]])
    assert_type(jury.seen["rounds"], int)
    assert_type(jury.alarms()[0]["since"], int)
    assert_type(jury.fit().to_sql("postgresql"), str)
    try:
        jury.round(scores, 0)
    except jb.Error as error:
        assert_type(error.item, int | None)
