"""Items that appear several times, recognized by their ids of any type."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import jurybox as jb


def backlog(items: int = 60, times: int = 10) -> pd.DataFrame:
    """Items with random scores, which are scored anew each time."""
    rng = np.random.default_rng(3)
    scores, verdict = rng.normal(size=(items, 3)), (rng.random(items) < 0.4).astype(float)
    which = np.tile(np.arange(items), times)
    columns = {f"e{j}": scores[which, j] + 1e-3 * rng.normal(size=items * times) for j in range(3)}
    return pd.DataFrame({"item": [f"p{i}" for i in which], **columns, "verdict": verdict[which]})


def test_items_that_come_again_are_known_by_their_ids_in_frames_as_in_files(tmp_path: Path) -> None:
    frame = backlog()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for rows in (frame, pa.Table.from_pandas(frame), str(tmp_path / "rows.csv")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jb.DataWarning)
            replay = jb.replay(rows, reward="verdict", id="item", folds=5, k=6, runs=1, policies="adaptive")
            report = jb.report(rows, reward="verdict", id="item")
        assert replay["repeated_items"] == report["repeated_items"] == 60
        assert any("60 items have several rows" in line for line in replay["warnings"])
        assert any("60 items have several rows" in line for line in report["warnings"])


@pytest.mark.parametrize("end", ["csv", "jsonl", "parquet"])
def test_columns_of_every_kind_are_written(end: str, tmp_path: Path) -> None:
    rows = 8
    table = pa.table({
        "post": [f"p{i}" for i in range(rows)],
        "a": np.arange(rows) / rows,
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int32()), pa.array([1.5])),
        "union": pa.UnionArray.from_sparse(pa.array([0] * rows, pa.int8()), [pa.array([7] * rows)]),
        "views": pa.array([[1]] * rows, pa.list_view(pa.int64())),
    })  # fmt: skip
    out = tmp_path / f"top.{end}"
    jb.rank(table, k=3, evaluators=["a"], out=str(out))
    if end == "csv":
        assert out.read_text().splitlines()[1].endswith(",1.5,7,[1]")


@pytest.mark.parametrize("where", ["pandas", "nullable", "objects", "polars", "pyarrow", "csv", "parquet"])
def test_ids_that_a_float_has_no_room_for_are_refused(where: str, tmp_path: Path) -> None:
    # 2^53 + 4 is picked; the verdict is on 2^53 + 5, which is the same double.
    first = 2**53
    frame = pd.DataFrame({"post": [first + 1, first + 4, first + 8], "a": [0.1, 0.9, 0.2], "b": [0.1, 0.9, 0.2]})
    jury = jb.Jury(["a", "b"], "lin-ucb")
    picks = jb.pick(frame, k=1, id="post", state=jury)
    assert picks["post"].tolist() == [first + 4]
    verdicts = pd.DataFrame({"post": [first + 5, None], "verdict": [1.0, None]})
    assert verdicts["post"].dtype == float
    given: Any = {
        "pandas": lambda: verdicts,
        "nullable": lambda: verdicts.astype({"post": "Float64"}),
        "objects": lambda: verdicts.astype({"post": object}),
        "polars": lambda: pl.from_pandas(verdicts),
        "pyarrow": lambda: pa.Table.from_pandas(verdicts),
        "csv": lambda: tmp_path / "verdicts.csv",
        "parquet": lambda: tmp_path / "verdicts.parquet",
    }[where]()
    verdicts.to_csv(tmp_path / "verdicts.csv", index=False)
    verdicts.to_parquet(tmp_path / "verdicts.parquet")
    with pytest.raises(jb.Error, match=r"row 1: the id 9007199254740996.* in column `post` .* as text or as int64") as caught:
        jb.learn(picks=picks, verdicts=given, id="post", reward="verdict", state=jury)
    assert (caught.value.code, caught.value.column, caught.value.row) == ("rounded-id", "post", 1)
    assert jury.seen["used"] == 0
    # Whole numbers and text are exact.
    whole = pd.DataFrame({"post": pd.array([first + 4, None], dtype="Int64"), "verdict": [1.0, None]})
    for right in (whole, whole.astype({"post": "string"}), pl.from_pandas(whole)):
        copy = pickle.loads(pickle.dumps(jury))
        jb.learn(picks=picks, verdicts=right, id="post", reward="verdict", state=copy)
        assert copy.seen["used"] == 1
    # Such ids are refused when picking, too.
    with pytest.raises(jb.Error, match="row 2: the id 9007199254740996") as caught:
        jb.pick(frame.astype({"post": float}).iloc[[0, 1]].assign(post=[7.0, float(first + 4)]), k=1, id="post", state=jury)
    assert caught.value.code == "rounded-id"
    grades = pd.DataFrame({"item": [7.0, float(first + 4)], "judge": ["x", "y"], "grade": [1, 2]})
    with pytest.raises(jb.Error, match="row 2, column `item`") as caught:
        jb.wide(grades, item="item", evaluator="judge", score="grade")
    assert caught.value.code == "rounded-id"
