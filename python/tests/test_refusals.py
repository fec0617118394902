"""Invalid arguments are errors that name the argument, before anything changes; control
characters from outside are escaped."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pandas as pd
import pytest
from conftest import command, made_up

import jurybox as jb


@pytest.fixture
def posts() -> pl.DataFrame:
    scores, rewards = made_up(400, 2, missing=0.0)
    return pl.DataFrame(scores, schema=["spam", "abuse"]).with_columns(verdict=rewards)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -float("inf"), 1e101, 10**400, "0.5", None])
def test_weights_that_nothing_can_be_ranked_by(posts: pl.DataFrame, weight: Any, tmp_path: Path) -> None:
    posts.write_csv(tmp_path / "posts.csv")
    for data in (posts, posts.to_pandas(), tmp_path / "posts.csv"):
        for call in (lambda: jb.rank(data, k=1, weights={"spam": weight}), lambda: jb.replay(data, reward="verdict", weights={"spam": weight})):
            with pytest.raises(jb.Error, match="`spam`") as caught:
                call()
            assert caught.value.code == "unusable-number"
    if isinstance(weight, float):
        import subprocess

        for asked in (["rank"], ["replay", "--reward", "verdict"]):
            done = subprocess.run([command(), *asked, tmp_path / "posts.csv", f"--weights=spam={weight}"], capture_output=True, text=True, check=False)
            assert done.returncode != 0 and "must be a number within ±1e100" in done.stderr, done.stderr


def receipts() -> list[dict[str, Any]]:
    return jb.Jury(["spam", "abuse"], "eps-greedy", eps=0.5).round(np.eye(2), 2).to_dicts()


@pytest.mark.parametrize(
    ("flag", "explored"), [(True, True), (np.bool_(False), False), (0, False), (1, True), (np.int64(1), True), (0.0, False)]
)
def test_flags_of_picks(flag: Any, explored: bool) -> None:
    rows = [{**row, "explored": flag} for row in receipts()]
    assert jb.Picks.from_dicts(rows).explored.tolist() == [explored, explored]


@pytest.mark.parametrize("flag", ["false", "0", "", None, 2, float("nan"), [], [0], "True"])
def test_what_is_no_flag_of_picks(flag: Any) -> None:
    with pytest.raises(jb.Error, match="pick 0, `explored`") as caught:
        jb.Picks.from_dicts([{**row, "explored": flag} for row in receipts()])
    assert caught.value.code == "receipt"


@pytest.mark.parametrize(
    ("field", "value"),
    [("item", -1), ("item", 1 << 70), ("at", -1), ("at", "soon"), ("probability", "half"), ("scores", [1, 2]), ("scores", {"spam": "x"}), ("advice", 3)],
)
def test_other_fields_of_picks(field: str, value: Any) -> None:
    with pytest.raises(jb.Error, match="pick 0, "):
        jb.Picks.from_dicts([{**row, field: value} for row in receipts()])


def test_counts_are_whole_numbers(posts: pl.DataFrame) -> None:
    jury = jb.Jury(["spam", "abuse"])
    fitted = jury.fit()
    scores = np.eye(2)
    for count in (-1, 1.9, 1 << 70, "2", np.float64(2.0)):
        for call in (
            lambda count: jb.rank(posts, k=count),
            lambda count: jb.rank(posts, seed=count, k=1),
            lambda count: jb.rank(posts, threads=count, k=1),
            lambda count: jb.pick(posts.with_row_index("post"), count, id="post", state=jury),
            lambda count: jb.pick(posts.with_row_index("post"), 1, id="post", state=jury, at=count),
            lambda count: jb.learn(posts, at=count),
            lambda count: jb.replay(posts, reward="verdict", runs=count),
            lambda count: jb.replay(posts, reward="verdict", k=count),
            lambda count: jury.round(scores, count),
            lambda count: jury.round(scores, 1, at=count),
            lambda count: jury.choose(scores, 1, seed=count),
            lambda count: jury.probabilities(scores, count),
            lambda count: jury.observe(scores, at=count),
            lambda count: jury.learn(scores, [0.0, 1.0], at=count),
            lambda count: fitted.choose(scores, 1, at=count),
            lambda count: jb.Jury(["spam"], seed=count),
        ):
            with pytest.raises(jb.Error) as caught:
                call(count)
            assert caught.value.code == "whole-number", caught.value
    assert jury.seen["items"] == 0
    assert len(jb.rank(posts, k=np.int32(3), ignore="verdict")) == 3


def test_numbers_that_are_too_large_are_refused_as_such() -> None:
    jury = jb.Jury(["spam"])
    jury.observe([[0.5]])
    for rewards in ([10**400], [-(10**400)], [1e300]):
        with pytest.raises(jb.Error):
            jury.learn([[0.5]], rewards)
    with pytest.raises(jb.Error):
        jury.round([[10**400]], 1)
    with pytest.raises(jb.Error):
        jb.Jury(["spam"], "eps-greedy", eps=10**400)
    assert jury.seen["used"] == 0


def test_options_that_picks_have_no_use_for(posts: pl.DataFrame) -> None:
    jury = jb.Jury(["spam", "abuse"])
    picks = jb.pick(posts.with_row_index("post"), 5, id="post", state=jury)
    keys = {"id": "post", "reward": "verdict", "state": jury}
    for name, value in {"policy": "esag", "round": "post", "at": 3, "drop": "spam", "evaluators": ["spam"], "ignore": "abuse", "long": "a,b,c", "eps": 1}.items():
        with pytest.raises(jb.Error, match=f"{name}=") as caught:
            jb.learn(picks=picks, **keys, **{name: value})
        assert caught.value.code == "two-ways"
    with pytest.raises(jb.Error, match="verdicts="):
        jb.learn(posts, reward="verdict", verdicts=posts)
    assert jury.seen["used"] == 0


ESCAPE = "spam\x1b[31m\u202e"


def test_what_a_terminal_would_obey_is_shown(tmp_path: Path) -> None:
    scores, rewards = made_up(200, 2, missing=0.0)
    frame = pl.DataFrame(scores, schema=[ESCAPE, "abuse"]).with_columns(verdict=rewards)
    jury = jb.learn(frame, reward="verdict")
    frame.with_columns(post=pl.lit(ESCAPE)).write_csv(tmp_path / "posts.csv")
    rows = jb.rank(tmp_path / "posts.csv", k=2, ignore="verdict")
    shown = [repr(jury), repr(jury.fit()), repr(rows), str(rows)]
    for document in (jb.report(frame, reward="verdict"), jb.replay(frame, reward="verdict", runs=2, policies=["average"])):
        shown += [str(document), repr(document)]
    with pytest.raises(jb.Error) as caught:
        jb.rank(frame, k=1, weights={ESCAPE: float("nan")})
    shown += [str(caught.value), repr(caught.value), str(pickle.loads(pickle.dumps(caught.value)))]
    assert caught.value.evaluator == ESCAPE  # attributes have the original text
    with pytest.warns(jb.DataWarning, match="there is no column") as told:
        jury.values({"abuse": [0.1]})
    shown += [str(one.message) for one in told]
    with pytest.raises(jb.Error) as caught:
        jury.values({"other": [0.1]})
    shown.append(str(caught.value))
    with pytest.warns(jb.DataWarning) as told:
        jb.rank(frame.rename({"abuse": "score"}).with_columns(pl.lit("0.5").alias(ESCAPE + "2")), k=1)
    shown += [str(one.message) for one in told]
    for text in shown:
        assert "\x1b" not in text and "\u202e" not in text, repr(text)
    assert "\\u001b" in repr(jury) and "\\u001b" in repr(rows)


class Meanwhile:
    """Scores that change the jury's evaluators while they are read."""

    def __init__(self, scores: list[float], jury: jb.Jury) -> None:
        self.scores, self.jury = scores, jury

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.jury.set_evaluators(["abuse", "spam"])
        return np.array(self.scores)


def test_evaluators_that_change_meanwhile_keep_their_scores() -> None:
    for call in ("round", "choose"):
        jury = jb.Jury(["spam", "abuse"])
        picks = getattr(jury, call)({"spam": Meanwhile([1.0, 2.0], jury), "abuse": [10.0, 20.0]}, 2)
        assert picks.evaluators == ["abuse", "spam"]
        assert sorted(picks.scores.tolist()) == [[10.0, 1.0], [20.0, 2.0]]
    jury = jb.Jury(["spam", "abuse"], "lin-ucb")
    jury.learn({"spam": Meanwhile([1.0, 0.0], jury), "abuse": [0.0, 0.0]}, [1.0, 0.0])
    expected = jb.Jury(["abuse", "spam"], "lin-ucb")
    expected.learn([[0.0, 1.0], [0.0, 0.0]], [1.0, 0.0])
    assert jury.weights() == expected.weights()


def test_rows_are_pickled_with_their_types() -> None:
    table = pa.table({"post": ["a", None], "spam": pa.array([1, None], pa.int8()), "day": pa.array([1, 2], pa.timestamp("us")), "list": [[1], []]})
    rows = jb.Rows.from_arrow(table)
    again = pickle.loads(pickle.dumps(rows))
    assert again.to_arrow().equals(table) and again.to_dicts() == rows.to_dicts()
    assert copy.deepcopy(rows).to_arrow().equals(table)
    empty = pickle.loads(pickle.dumps(jb.Rows.from_arrow(table.slice(0, 0))))
    assert len(empty) == 0 and empty.columns == rows.columns
    with pytest.raises(jb.Error, match="rows are damaged"):
        jb.Rows._from_bytes(b"nothing")


def test_a_stream_may_need_other_threads() -> None:
    """One batch is made by a thread that needs the interpreter."""

    def batches() -> Iterator[pa.RecordBatch]:
        made: list[pa.RecordBatch] = []
        thread = threading.Thread(target=lambda: made.append(pa.record_batch({"spam": [1.0]})))
        thread.start()
        thread.join(timeout=30)
        assert made
        yield made[0]

    reader = pa.RecordBatchReader.from_batches(pa.schema([("spam", pa.float64())]), batches())
    assert jb.Rows.from_arrow(reader)["spam"] == [1.0]
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    slow = duckdb.sql("select count(*) as many from range(30000) a, range(20000) b where (a.range * b.range) % 7 = 3")
    assert len(jb.Rows.from_arrow(slow)) == 1
    done.set()
    thread.join()
    assert len(ticks) > 10  # other threads could not run while the interpreter was held


def test_a_batch_is_learnt_whole_or_not_at_all() -> None:
    from jurybox.sklearn import JuryRegressor

    scores, rewards = made_up(100, 3, missing=0.0)
    regressor = JuryRegressor().partial_fit(scores, rewards)
    before = regressor.jury_.to_json()
    with pytest.raises(jb.Error):
        regressor.partial_fit(scores, np.where(np.arange(100) == 99, 1e200, rewards))
    assert regressor.jury_.to_json() == before


@pytest.mark.filterwarnings("ignore:.*does not learn from rewards")
def test_no_prediction_is_infinite() -> None:
    from jurybox.sklearn import JuryRegressor

    scores, rewards = made_up(100, 3, missing=0.0)
    nothing = np.full((2, 3), np.nan)
    for policy in ("adaptive", "esag", "average", "lin-ucb"):
        found = JuryRegressor(policy).fit(scores, rewards).predict(np.vstack([scores, nothing]))
        assert np.isfinite(found[:-2]).all() and not np.isinf(found).any(), policy


def test_pandas_warnings_come_once(posts: pl.DataFrame) -> None:
    frame = posts.to_pandas().assign(score=posts["spam"].to_numpy())
    with pytest.warns(jb.DataWarning) as told:
        jb.rank(frame, k=1, ignore="verdict")
    assert len(told) == 1 and told[0].filename == __file__  # warnings point at the caller


def test_what_a_notebook_trips_over_says_what_to_do() -> None:
    frame = pd.DataFrame({"post": ["a", "b", "c"], "spam": [0.1, "N/A", 0.9], "abuse": [0.5, 0.2, 0.9]}).set_index("post")
    for call in (lambda: jb.rank(frame, k=1, id="post"), lambda: jb.learn(frame, id="post"), lambda: jb.pick(frame, k=1, id="post", state=jb.Jury(["spam", "abuse"]))):
        with pytest.raises(jb.Error, match=r"`post` is the index of this frame, not a column: pass frame.reset_index\(\)") as caught:
            call()
        assert (caught.value.code, caught.value.column) == ("unknown-column", "post")
    with pytest.raises(jb.Error, match="item 1, evaluator `spam`: 'N/A' is not a number; text is only accepted in columns of frames"):
        jb.learn(frame).predict(frame.to_numpy())


@pytest.mark.parametrize("made", [pd.DataFrame, lambda columns: pd.DataFrame(columns, dtype=object), pl.DataFrame, pa.table], ids=["pandas", "objects", "polars", "pyarrow"])
def test_what_a_jury_learns_from_it_can_be_asked_about(made: Any) -> None:
    draws = np.random.default_rng(5)
    spam, abuse = draws.uniform(size=60), draws.uniform(size=60)
    text = {"spam": [f"{x:.17g}" for x in spam], "abuse": [f"{100 * x:.15g}%" for x in abuse]}
    text["spam"][3], text["abuse"][5] = "N/A", ""
    numbers = {"spam": np.where(np.arange(60) == 3, np.nan, spam), "abuse": np.where(np.arange(60) == 5, np.nan, abuse)}
    verdict = {"verdict": (spam > 0.5).astype(float)}
    frame = made({**text, **verdict})
    jury = jb.learn(frame, reward="verdict")
    asked = [jury.values, jury.fit().values, lambda rows: jury.predict(rows)[0], lambda rows: jury.contributions(rows)[1], lambda rows: jury.probabilities(rows, 3)]
    for ask in asked:
        np.testing.assert_allclose(ask(frame), ask(made({**numbers, **verdict})), rtol=1e-12)
    assert jury.choose(frame, 3, seed=1).items.tolist() == jury.choose(numbers, 3, seed=1).items.tolist()
    with pytest.raises(jb.Error, match="column `spam`") as caught:
        jury.values(made({**text, "spam": ["much"] * 60}))
    assert caught.value.code == "odd-cells"


@pytest.mark.parametrize("given", [3, "0,1", (0,), (0, 1, 2), ("low", "high")], ids=str)
def test_a_range_is_two_numbers(posts: pl.DataFrame, given: Any) -> None:
    log = posts.with_columns(p=0.5)
    calls = (lambda: jb.replay(log, reward="verdict", probability="p", reward_range=given), lambda: jb.prevalence(log, reward="verdict", probability="p", reward_range=given))
    for call in calls:
        with pytest.raises(jb.Error, match="reward_range = ") as caught:
            call()
        assert caught.value.code == "two-numbers"


def test_a_range_may_be_any_two_numbers(posts: pl.DataFrame) -> None:
    log = posts.with_columns(p=1.0)
    ranges = ((0, 3), [0, 3], np.array([0.0, 3.0]))
    found = [jb.prevalence(log, reward="verdict", probability="p", reward_range=given).to_dict() for given in ranges]
    assert found[0] == found[1] == found[2]


def test_weights_are_numbers_by_name(posts: pl.DataFrame) -> None:
    for call in (lambda weights: jb.rank(posts, k=3, weights=weights, ignore="verdict"), lambda weights: jb.replay(posts, reward="verdict", weights=weights, runs=1)):
        for given in ([1.0, 2.0], 3, "spam=1"):
            with pytest.raises(jb.Error, match="weights = ") as caught:
                call(given)
            assert caught.value.code == "weights"
    series = jb.rank(posts, k=3, weights=pd.Series({"spam": 1.0, "abuse": 2.0}), ignore="verdict")
    assert series.equals(jb.rank(posts, k=3, weights={"spam": 1.0, "abuse": 2.0}, ignore="verdict"))


def test_columns_of_pandas_with_odd_names() -> None:
    scores = pd.DataFrame(np.random.default_rng(1).uniform(size=(9, 3)))
    assert list(jb.rank(scores, k=2, evaluators=0, policy="average").index) == list(scores[0].nlargest(2).index)
    found = jb.rank(pd.concat({"judges": scores}, axis=1), k=2, policy="average")
    assert list(found.columns)[:2] == [("rank", ""), ("score", "")]


def test_frames_without_rows_are_refused_as_such() -> None:
    rows = pd.DataFrame({"post": ["a", "b"], "spam": [0.1, 0.2], "p": [0.5, 0.5], "verdict": [0.0, 1.0]})
    for frame in (rows, rows.astype({"post": object}), rows.convert_dtypes(dtype_backend="pyarrow"), pl.from_pandas(rows), pa.Table.from_pandas(rows)):
        for call in (
            lambda data: jb.rank(data, k=1, id="post"),
            lambda data: jb.pick(data, k=1, id="post", state=jb.Jury(["spam"]), ignore=["p", "verdict"]),
            lambda data: jb.learn(data, reward="verdict", id="post"),
            lambda data: jb.report(data, reward="verdict", id="post"),
            lambda data: jb.replay(data, reward="verdict", id="post"),
            lambda data: jb.prevalence(data, reward="verdict", probability="p", id="post"),
        ):
            with pytest.raises(jb.Error) as caught:
                call(frame[:0] if not isinstance(frame, pa.Table) else frame.slice(0, 0))
            assert caught.value.code == "no-rows", type(frame)
