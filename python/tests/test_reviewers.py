"""Verdicts with reviewers, and columns with groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jurybox as jb


def rows(many: int = 300) -> dict[str, list[object]]:
    """Evaluator `a` is good in one language and `b` in the other; reviewer `bob` is three marks
    more severe than the others."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=many), rng.normal(size=many)
    language = np.array(["de", "fr"])[np.arange(many) % 2]
    who = np.array(["ann", "bob", "cid"])[np.arange(many) // 2 % 3]
    verdict = np.where(language == "de", a, b) + 0.3 * rng.normal(size=many) - np.where(who == "bob", 3.0, 0.0)
    return {"a": a.tolist(), "b": b.tolist(), "language": language.tolist(), "who": who.tolist(), "verdict": verdict.tolist()}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_name_reviewers_and_groups(frame):
    data = frame(rows())
    jury = jb.learn(data, reward="verdict", reviewer="who", context="language", policy="adaptive")
    standings = jury.reviewers(["ann", "bob", "nobody"])
    assert set(standings) == {"ann", "bob"}
    mean, low, high = standings["bob"]["severity"]
    assert low < -3 < high and low < mean < high < -2
    assert standings["bob"]["labels"] == 100 and standings["ann"]["weight"] > 0.5
    # The state knows the context column: its text is read as groups without a warning.
    ranked = jb.rank(frame({"a": [3.0, 0.0, 3.0], "b": [0.0, 3.0, 0.0], "language": ["de", "fr", "fr"]}), 3, state=jury)
    assert list(ranked["language"]) == ["de", "fr", "fr"] or list(ranked["language"]) == ["fr", "de", "fr"]
    assert "reviewers" in jb.report(data, reward="verdict", reviewer="who", ignore="language").to_dict()


def test_a_jury_is_told_who_judged():
    data, jury = rows(), jb.Jury(["a", "b"], "adaptive")
    scores = np.column_stack([data["a"], data["b"]])
    jury.observe(scores)
    before = jury.to_json()
    with pytest.raises(jb.Error, match="2 reviewers for 300 items"):
        jury.learn(scores, data["verdict"], reviewers=["ann", "bob"])
    assert jury.to_json() == before
    who = [None if at == 7 else name for at, name in enumerate(data["who"])]
    jury.learn(scores, data["verdict"], reviewers=who)
    assert jury.reviewers(["bob"])["bob"]["severity"][2] < -2


@pytest.mark.parametrize("made", [list, np.array, pd.Series, pl.Series, pa.array])
def test_a_name_that_ends_as_a_number_does_is_a_name(made):
    data, jury = rows(), jb.Jury(["a", "b"], "adaptive")
    scores = np.column_stack([data["a"], data["b"]])
    names = {"ann": "judge-2", "bob": "judge-2.0", "cid": None}
    jury.observe(scores)
    jury.learn(scores, data["verdict"], reviewers=[names[who] for who in data["who"]])
    told = jury.reviewers(made(["judge-2.0", "judge-2"]))
    assert set(told) == {"judge-2", "judge-2.0"}
    assert told["judge-2.0"]["severity"][2] < told["judge-2"]["severity"][1]


def test_reviewers_go_with_rewards():
    with pytest.raises(jb.Error, match="reviewer= names the column of reviewers"):
        jb.learn(pl.DataFrame(rows()), reviewer="who")
    with pytest.raises(jb.Error, match="adaptive"):
        jb.learn(pl.DataFrame(rows()), reward="verdict", ignore="who", context="language", policy="lin-ucb")


def test_a_policy_that_does_not_tell_reviewers_apart_says_so(tmp_path):
    data = pd.DataFrame(rows()).drop(columns="language")
    told = "`lin-ucb` does not distinguish reviewers: `who` is ignored"
    with pytest.warns(jb.DataWarning, match=told):
        jury = jb.learn(data, reward="verdict", reviewer="who", policy="lin-ucb")
    with pytest.warns(jb.DataWarning, match="`lin-ucb` does not distinguish reviewers: reviewers= is ignored"):
        jury.learn(data[["a", "b"]], data["verdict"], reviewers=data["who"])
    picks = jb.pick(data.drop(columns=["verdict", "who"]).assign(post=range(len(data))), 5, id="post", state=jury)
    judged = pd.DataFrame({"post": picks["post"], "verdict": 1.0, "who": "ann"})
    with pytest.warns(jb.DataWarning, match=told):
        jb.learn(picks=picks, verdicts=judged, id="post", reward="verdict", reviewer="who", state=jury)


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_of_reviewers_where_they_are_told_apart_or_nobody_is_named():
    data, jury = rows(), jb.Jury(["a", "b"], "adaptive")
    scores = np.column_stack([data["a"], data["b"]])
    jury.observe(scores)
    jury.learn(scores, data["verdict"], reviewers=data["who"])
    jb.Jury(["a", "b"], "lin-ucb").learn(scores, data["verdict"], reviewers=[None] * len(scores))
