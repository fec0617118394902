"""Rows of `jurybox.pick` passed back as dicts, database rows, named tuples or columns by name."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jurybox as jb

RNG = np.random.default_rng(8)
DESK = pd.DataFrame({"post": range(100, 140), "a": RNG.uniform(size=40), "b": RNG.uniform(size=40), "language": ["de", "fr"] * 20})
FOUND = {post: float(at % 3) for at, post in enumerate(DESK["post"])}


def picked(policy: str = "eps-greedy(eps=0.5)") -> tuple[jb.Jury, pd.DataFrame]:
    jury = jb.Jury(["a", "b"], policy, seed=2)
    return jury, jb.pick(DESK, 8, id="post", state=jury, seed=2)


def rows_of_sqlite(frame: pd.DataFrame) -> list[Any]:
    database = sqlite3.connect(":memory:")
    frame.to_sql("picks", database, index=False)
    database.row_factory = sqlite3.Row
    return database.execute("SELECT * FROM picks").fetchall()


SHAPES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "records": lambda frame: frame.to_dict("records"),
    "polars": lambda frame: pl.from_pandas(frame).to_dicts(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame).to_pylist(),
    "sqlite": rows_of_sqlite,
    "tuples": lambda frame: list(frame.itertuples(index=False)),
    "columns": lambda frame: frame.to_dict("list"),
    "rounds": lambda frame: [frame[:3].to_dict("records"), frame[3:].to_dict("records")],
    "other order": lambda frame: [dict(reversed(row.items())) for row in frame.to_dict("records")],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("beside", [False, True])
def test_rows_one_by_one_are_learnt_by_their_receipts(shape: str, beside: bool) -> None:
    expected, picks = picked()
    jb.learn(picks=picks.assign(verdict=picks["post"].map(FOUND)), id="post", reward="verdict", state=expected)
    jury, picks = picked()
    if beside:
        verdicts = [{"post": post, "verdict": FOUND[post]} for post in picks["post"]]
        jb.learn(picks=SHAPES[shape](picks), verdicts=verdicts, id="post", reward="verdict", state=jury)
    else:
        told = picks.assign(verdict=picks["post"].map(FOUND))
        jb.learn(picks=SHAPES[shape](told), id="post", reward="verdict", state=jury)
    assert expected.seen["used"] > 0 and jury.to_json() == expected.to_json()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "rounds"])
def test_a_jury_does_not_learn_them_without_their_receipts(shape: str) -> None:
    jury, picks = picked("lin-ucb")
    before = jury.to_json()
    with pytest.raises(jb.Error, match=r"jurybox.learn\(picks=") as refused:
        jury.learn(SHAPES[shape](picks), [1.0] * len(picks))
    assert refused.value.code == "are-picks" and jury.to_json() == before


def test_rows_that_are_none_are_refused_with_what_to_do() -> None:
    jury, picks = picked()
    with pytest.raises(jb.Error, match=r"rows of jurybox.pick: learn them by jurybox.learn\(picks=rows"):
        jb.Picks.from_dicts(picks.to_dict("records"))
    with pytest.raises(jb.Error, match=r"of a jury's own round: learn them by jury.learn"):
        jb.learn(picks=jury.round(DESK[["a", "b"]], k=3).to_dicts(), id="post", reward="verdict", state=jury)
    with pytest.raises(jb.Error, match="`post` is not a column"):
        jb.learn(picks={"post": "p1"}, id="post", reward="verdict", state=jury)


@pytest.mark.parametrize("verdicts", [[], (), [[]], [[], []]])
def test_a_day_without_verdicts_is_an_empty_table_of_them(verdicts: Any) -> None:
    expected, picks = picked()
    jb.learn(picks=picks, verdicts=pd.DataFrame({"post": [], "verdict": []}), id="post", reward="verdict", state=expected)
    jury, picks = picked()
    jb.learn(picks=picks, verdicts=verdicts, id="post", reward="verdict", state=jury)
    assert jury.seen["used"] == 0 and jury.to_json() == expected.to_json()


@pytest.mark.parametrize("shape", [lambda frame: frame, lambda frame: frame.to_dict("records")])
def test_rounds_without_rows_are_ignored(shape: Callable[[pd.DataFrame], Any]) -> None:
    expected, picks = picked()
    verdicts = pd.DataFrame({"post": picks["post"], "verdict": picks["post"].map(FOUND)})
    jb.learn(picks=picks, verdicts=verdicts, id="post", reward="verdict", state=expected)
    jury, picks = picked()
    jb.learn(picks=[[], shape(picks)], verdicts=[shape(verdicts), []], id="post", reward="verdict", state=jury)
    assert expected.seen["used"] > 0 and jury.to_json() == expected.to_json()


@pytest.mark.parametrize("shape", ["records", "columns", "json"])
def test_what_to_dicts_wrote_may_have_gone_through_a_frame_or_a_database(shape: str) -> None:
    import copy
    import json

    jury = jb.Jury(["a", "b"], "exp4p(horizon=100)", seed=2)
    picks = jury.round(DESK[["a", "b"]], k=6)
    twin = copy.copy(jury)
    twin.learn(picks, [1.0, 0.0] * 3)
    frame = pd.DataFrame(picks.to_dicts())
    rows: Any = frame.to_dict("list") if shape == "columns" else frame.to_dict("records")
    if shape == "json":
        rows = [{name: json.dumps(cell) if isinstance(cell, (dict, list)) else cell for name, cell in row.items()} for row in picks.to_dicts()]
    jury.learn(rows, [1.0, 0.0] * 3)
    assert jury.to_json() == twin.to_json()


def test_a_group_is_no_score_of_another_jury() -> None:
    grouped = jb.Jury(["a", "b"], context="language", seed=1)
    picks = grouped.round(DESK[["a", "b", "language"]], k=5)
    assert picks.contexts == ["language"] and jb.Picks.from_dicts(picks.to_dicts()) == picks
    plain = jb.Jury(["a", "b", "language"])
    before = plain.to_json()
    for shape in (picks, picks.to_dicts(), pl.DataFrame(picks.to_dicts())):
        with pytest.raises(jb.Error, match="`language` is a context of these picks and an evaluator of this jury, and a context is not a score"):
            plain.learn(shape, [1.0] * 5)
    scores = jb.Jury(["a", "b", "language"], "lin-ucb").round(RNG.uniform(size=(9, 3)), k=5)
    with pytest.raises(jb.Error, match="`language` is an evaluator of these picks and a context of this jury"):
        grouped.learn(scores, [1.0] * 5)
    assert plain.to_json() == before
    with pytest.raises(jb.Error, match="other evaluators|evaluators differ"):
        _ = picks + scores
    with pytest.warns(jb.DataWarning, match="not used: scores of `language`"):
        jb.Jury(["a", "b"], "lin-ucb").learn(picks, [1.0] * 5)


def test_picks_that_an_earlier_version_stored_are_learnt() -> None:
    """Picks of earlier versions do not record which columns are contexts."""
    expected = jb.Jury(["a", "b"], context="language", seed=1)
    picks = expected.round(DESK[["a", "b", "language"]], k=5)
    jury = pickle.loads(pickle.dumps(expected))
    expected.learn(picks, [1.0, 0.0, 1.0, 0.0, 1.0])
    make, parts = picks.__reduce__()
    unpickled = make(*parts[:5])
    written = [{name: cell for name, cell in row.items() if name != "contexts"} for row in picks.to_dicts()]
    mixed = [unpickled[:2] + picks[2:], [*written[:2], *picks.to_dicts()[2:]]]
    shapes: list[Any] = [unpickled, pickle.loads(pickle.dumps(unpickled)), written, pl.DataFrame(written), *mixed]
    for shape in shapes:
        twin = pickle.loads(pickle.dumps(jury))
        twin.learn(shape, [1.0, 0.0, 1.0, 0.0, 1.0])
        assert twin.to_json() == expected.to_json()
    assert (unpickled[:2] + picks[2:]) == (picks[:2] + unpickled[2:]) == picks
    assert pickle.loads(pickle.dumps(picks)) == picks
